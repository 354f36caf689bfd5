//! Rows in brief, packed: about a hundred bytes each instead of four hundred, so that the list of a large audit stays small
//! beside the data itself.

use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::figure::{FIGURES, RowFigures};
use super::result::{AttackId, RowRecord};

/// Rows in order. Reads and writes as a sequence of [`RowRecord`]s.
///
/// Whole numbers are written seven bits a byte, the lowest first; fractions in their eight bytes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RowList {
    /// Shared by copies until one of them grows.
    bytes: Arc<Vec<u8>>,
    count: usize,
}

impl RowList {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a row at the end.
    pub fn push(&mut self, row: &RowRecord) {
        self.whole(row.row);
        self.maybe(row.label);
        self.index(row.class);
        self.index(row.probabilities.len());
        for probability in &row.probabilities {
            self.fraction(*probability);
        }
        for top in [&row.top, &row.attacked_top] {
            self.index(top.len());
            for feature in top {
                self.index(*feature);
            }
        }
        self.index(row.attack.place());
        self.maybe(row.first_change);
        self.fraction(row.precision);
        self.figures(&row.figures);
        self.count += 1;
    }

    /// Makes room for the rows of other lists.
    pub(super) fn reserve<'l>(&mut self, lists: impl Iterator<Item = &'l Self>) {
        let more = lists.map(|list| list.bytes.len()).sum();
        Arc::make_mut(&mut self.bytes).reserve_exact(more);
    }

    /// Adds the rows of another list, packed as they are.
    pub(super) fn append(&mut self, other: &Self) {
        Arc::make_mut(&mut self.bytes).extend_from_slice(&other.bytes);
        self.count += other.count;
    }

    /// The rows, unpacked one by one.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            bytes: &self.bytes,
            left: self.count,
        }
    }

    fn whole(&mut self, mut number: u64) {
        let bytes = Arc::make_mut(&mut self.bytes);
        while number >= MORE {
            bytes.push((number % MORE + MORE).to_le_bytes()[0]);
            number /= MORE;
        }
        bytes.push(number.to_le_bytes()[0]);
    }

    fn index(&mut self, index: usize) {
        self.whole(index as u64);
    }

    /// Whether there is one, then the number.
    fn maybe(&mut self, number: Option<usize>) {
        self.index(usize::from(number.is_some()));
        if let Some(number) = number {
            self.index(number);
        }
    }

    fn fraction(&mut self, number: f64) {
        Arc::make_mut(&mut self.bytes).extend(number.to_le_bytes());
    }

    /// How many there are, then the place in the table and the number of each.
    fn figures(&mut self, figures: &RowFigures) {
        self.index(figures.iter().count());
        for (figure, value) in figures.iter() {
            self.index(figure.place());
            self.fraction(value);
        }
    }
}

/// What a byte that others follow has added to its seven bits.
const MORE: u64 = 0x80;

/// The rows of a [`RowList`], one by one.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl Iter<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self
            .bytes
            .split_first_chunk()
            .expect("a list holds whole rows");
        self.bytes = rest;
        *taken
    }

    fn whole(&mut self) -> u64 {
        let (mut number, mut place) = (0, 1_u64);
        loop {
            let [byte] = self.take();
            number += u64::from(byte) % MORE * place;
            if u64::from(byte) < MORE {
                return number;
            }
            place = place.wrapping_mul(MORE);
        }
    }

    fn index(&mut self) -> usize {
        usize::try_from(self.whole()).expect("it was written from an index")
    }

    fn maybe(&mut self) -> Option<usize> {
        (self.whole() > 0).then(|| self.index())
    }

    fn fraction(&mut self) -> f64 {
        f64::from_le_bytes(self.take())
    }

    fn indices(&mut self) -> Vec<usize> {
        let count = self.index();
        (0..count).map(|_| self.index()).collect()
    }

    fn fractions(&mut self) -> Vec<f64> {
        let count = self.index();
        (0..count).map(|_| self.fraction()).collect()
    }

    fn figures(&mut self) -> RowFigures {
        let mut figures = RowFigures::default();
        for _ in 0..self.index() {
            let place = self.index();
            figures.set(FIGURES[place], self.fraction());
        }
        figures
    }
}

impl Iterator for Iter<'_> {
    type Item = RowRecord;

    fn next(&mut self) -> Option<RowRecord> {
        self.left = self.left.checked_sub(1)?;
        // Fields are read in the order in which they are written here, which is that of `push`.
        Some(RowRecord {
            row: self.whole(),
            label: self.maybe(),
            class: self.index(),
            probabilities: self.fractions(),
            top: self.indices(),
            attacked_top: self.indices(),
            attack: AttackId::at(self.index()),
            first_change: self.maybe(),
            precision: self.fraction(),
            figures: self.figures(),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a RowList {
    type Item = RowRecord;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl Extend<RowRecord> for RowList {
    fn extend<T: IntoIterator<Item = RowRecord>>(&mut self, rows: T) {
        for row in rows {
            self.push(&row);
        }
    }
}

impl FromIterator<RowRecord> for RowList {
    fn from_iter<T: IntoIterator<Item = RowRecord>>(rows: T) -> Self {
        let mut list = Self::default();
        list.extend(rows);
        list
    }
}

impl fmt::Debug for RowList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

impl Serialize for RowList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.len()))?;
        for row in self {
            sequence.serialize_element(&row)?;
        }
        sequence.end()
    }
}

impl<'de> Deserialize<'de> for RowList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = RowList;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence of rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<RowList, A::Error> {
                let mut list = RowList::default();
                while let Some(row) = sequence.next_element::<RowRecord>()? {
                    list.push(&row);
                }
                Ok(list)
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::audit::figure;
    use crate::metric::thickness;
    use crate::registry::{Family, family};

    prop_compose! {
        fn any_row()(
            row in any::<u64>(),
            label in prop::option::of(any::<usize>()),
            class in any::<usize>(),
            probabilities in prop::collection::vec(any::<f64>(), 0..4),
            top in prop::collection::vec(any::<usize>(), 0..9),
            attacked_top in prop::collection::vec(0_usize..300, 0..9),
            attack in 0..family(Family::Attack).count(),
            first_change in prop::option::of(any::<usize>()),
            precision in any::<f64>(),
            values in prop::collection::vec(prop::option::of(any::<f64>()), FIGURES.len()),
        ) -> RowRecord {
            let mut figures = RowFigures::default();
            for (figure, value) in FIGURES.iter().zip(values) {
                if let Some(value) = value {
                    figures.set(figure, value);
                }
            }
            RowRecord {
                row, label, class, probabilities, top, attacked_top, first_change,
                attack: AttackId::at(attack),
                precision, figures,
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_out(rows in prop::collection::vec(any_row(), 0..6)) {
            let list: RowList = rows.iter().cloned().collect();
            prop_assert_eq!(list.len(), rows.len());
            // By their texts: a row with a figure that is no number is not equal to itself.
            let found: Vec<RowRecord> = list.iter().collect();
            prop_assert_eq!(format!("{found:?}"), format!("{rows:?}"));
        }
    }

    #[test]
    fn it_reads_and_writes_as_a_sequence_of_rows() {
        let row = RowRecord {
            row: 300,
            label: Some(1),
            class: 0,
            probabilities: vec![0.75, 0.25],
            top: vec![2, 130],
            attacked_top: vec![130, 0],
            precision: 0.5,
            attack: AttackId::at(0),
            first_change: None,
            figures: RowFigures::default()
                .with(&figure::noise::FIGURE, 1.0)
                .with(&thickness::FIGURE, 0.875),
        };
        let rows = vec![row.clone(), RowRecord { label: None, ..row }];
        let list: RowList = rows.iter().cloned().collect();
        let text = serde_json::to_string(&list).unwrap();
        assert_eq!(text, serde_json::to_string(&rows).unwrap());
        assert_eq!(serde_json::from_str::<RowList>(&text).unwrap(), list);
        let refused = serde_json::from_str::<RowList>("[{\"row\": 1}]").unwrap_err();
        assert!(
            refused.to_string().contains("missing field"),
            "got {refused}"
        );
        // Three whole numbers of two bytes (300 and twice 130), nine of one and three for the figures, another for the label
        // that is there, five fractions.
        assert_eq!(list.bytes.len(), 2 * (3 * 2 + 9 + 3 + 5 * 8) + 1);
    }
}
