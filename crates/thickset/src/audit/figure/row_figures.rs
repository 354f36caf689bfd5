//! The figures that were measured at one row.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FIGURES, Figure};

/// A number for each figure that was measured; reads and writes as an object with the figures' keys. Keys of figures that
/// this version does not know are passed over.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct RowFigures([Option<f64>; FIGURES.len()]);

impl RowFigures {
    /// The number of a figure, if it was measured.
    #[must_use]
    pub fn get(&self, figure: &Figure) -> Option<f64> {
        self.0[figure.place()]
    }

    /// Sets the number of a figure.
    pub fn set(&mut self, figure: &Figure, value: f64) {
        self.0[figure.place()] = Some(value);
    }

    /// The same with one more figure.
    #[must_use]
    pub fn with(mut self, figure: &Figure, value: f64) -> Self {
        self.set(figure, value);
        self
    }

    /// The figures that were measured, in the table's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Figure, f64)> {
        let figures = FIGURES.iter().zip(self.0);
        figures.filter_map(|(figure, value)| Some((*figure, value?)))
    }
}

impl fmt::Debug for RowFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = self.iter().map(|(figure, value)| (figure.key, value));
        formatter.debug_map().entries(figures).finish()
    }
}

impl Serialize for RowFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (figure, value) in self.iter() {
            map.serialize_entry(figure.key, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RowFigures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map;
        impl<'de> Visitor<'de> for Map {
            type Value = RowFigures;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the figures of a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RowFigures, A::Error> {
                let mut figures = RowFigures::default();
                while let Some(key) = map.next_key::<String>()? {
                    match FIGURES.iter().find(|figure| figure.key == key) {
                        Some(figure) => figures.set(figure, map.next_value()?),
                        None => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(figures)
            }
        }
        deserializer.deserialize_map(Map)
    }
}
