//! What each encoded feature means: its original column, its unit and range, and which features move together.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::references::References;
use crate::{Error, Result};

/// The most features of a row of images or graphs; each has a name, and a layer of 64 outputs has 64 weights for it.
pub const MOST_FEATURES: usize = 1 << 20;

/// Refuses a row of more features than [`MOST_FEATURES`], before any of them is described; `sizes` are multiplied.
///
/// # Errors
/// If there are more.
pub fn check_features(path: &str, sizes: &[usize]) -> Result<()> {
    let features = sizes
        .iter()
        .fold(1_usize, |product, &size| product.saturating_mul(size));
    if features <= MOST_FEATURES {
        return Ok(());
    }
    Err(Error::TooManyFeatures {
        path: path.to_owned(),
        features,
        limit: MOST_FEATURES,
    })
}

/// What an encoded feature is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FeatureKind {
    /// A scaled number.
    Number,
    /// 1 if the column has one of these values, else 0.
    Level {
        /// The original values.
        values: Vec<String>,
    },
    /// 1 if the column's value is missing, else 0.
    Missing,
    /// A pixel.
    Pixel {
        /// 0 for grey; 0, 1, 2 for red, green, blue.
        channel: usize,
        /// From the top.
        row: usize,
        /// From the left.
        column: usize,
    },
    /// The weight of an undirected edge.
    Edge {
        /// The lower node.
        from: usize,
        /// The higher node.
        to: usize,
    },
}

/// One column of the encoded matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feature {
    /// Unique, readable: `age`, `education=Masters`.
    pub name: String,
    /// The column of the original table that it comes from; for images and graphs the name itself.
    pub column: String,
    /// The unit of the original values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
    /// What it is.
    #[serde(flatten)]
    pub kind: FeatureKind,
    /// Original value = `offset` + `factor` * encoded value.
    #[serde(with = "super::exact")]
    pub offset: f64,
    /// See `offset`; positive.
    #[serde(with = "super::exact")]
    pub factor: f64,
    /// The least encoded value of the training rows, or of the format.
    pub low: f32,
    /// The greatest encoded value.
    pub high: f32,
    /// The original values are whole numbers.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub integer: bool,
    /// Features with the same number are one column's one-hot code: exactly one of them is 1, or none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<usize>,
    /// A person cannot change it, so an attack must not.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub immutable: bool,
}

impl Feature {
    /// The value in original units.
    #[must_use]
    pub fn decode(&self, encoded: f32) -> f64 {
        let value = self.offset + self.factor * f64::from(encoded);
        if self.integer { value.round() } else { value }
    }

    /// The encoded value of an original one, without clipping.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are f32 by design"
    )]
    pub fn encode(&self, original: f64) -> f32 {
        ((original - self.offset) / self.factor) as f32
    }
}

/// The shape of one row beyond a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InputShape {
    /// Features in any order.
    Table,
    /// Planes of pixels, channel by channel, row by row.
    Image {
        /// 1 or 3.
        channels: usize,
        /// Rows of pixels.
        height: usize,
        /// Pixels in a row.
        width: usize,
    },
    /// The upper triangle of a symmetric weight matrix, row by row, without the diagonal.
    Graph {
        /// Number of nodes; there are `nodes * (nodes - 1) / 2` features.
        nodes: usize,
    },
    /// Two inputs of one shape, one after the other.
    Pair {
        /// The shape of each.
        of: Box<InputShape>,
    },
}

impl InputShape {
    /// Whether a row of this shape has so many features; a table's may have any number.
    #[must_use]
    pub fn fits(&self, features: usize) -> bool {
        match self {
            Self::Table => true,
            Self::Image {
                channels,
                height,
                width,
            } => {
                let plane = height.checked_mul(*width);
                plane.and_then(|plane| plane.checked_mul(*channels)) == Some(features)
            }
            Self::Graph { nodes } => {
                let twice = nodes.checked_mul(nodes.saturating_sub(1));
                twice.map(|twice| twice / 2) == Some(features)
            }
            Self::Pair { of } => features.is_multiple_of(2) && of.fits(features / 2),
        }
    }
}

impl fmt::Display for InputShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => formatter.write_str("a table"),
            Self::Image {
                channels,
                height,
                width,
            } => write!(formatter, "images of {channels} x {height} x {width}"),
            Self::Graph { nodes } => write!(formatter, "graphs of {nodes} nodes"),
            Self::Pair { of } => write!(formatter, "pairs of {of}"),
        }
    }
}

/// The features of a matrix, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// How a row is laid out.
    pub shape: InputShape,
    /// One a matrix column.
    pub features: Vec<Feature>,
    /// Rows to compare others with, where training rows of a table are known. A model's file holds them beside its encoding.
    #[serde(skip)]
    pub references: Option<References>,
}

impl Schema {
    /// Number of features.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there is no feature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// Positions of the features by original column, in order of first appearance.
    #[must_use]
    pub fn by_column(&self) -> Vec<(&str, Vec<usize>)> {
        let mut columns: Vec<(&str, Vec<usize>)> = Vec::new();
        for (position, feature) in self.features.iter().enumerate() {
            // A recipe names a column once, so its features stand together and looking at the last is enough.
            match columns.last_mut() {
                Some((name, positions)) if *name == feature.column => positions.push(position),
                _ => columns.push((&feature.column, vec![position])),
            }
        }
        columns
    }

    /// The schema of a table of numbers that are used as they are, one feature a name.
    ///
    /// Every range is `0..=1` until rows are known; [`super::Dataset::from_rows`] learns it from the training rows.
    ///
    /// ```
    /// use thickset::data::{InputShape, Schema};
    ///
    /// let schema = Schema::table(&["age", "income"]);
    /// assert_eq!(schema.len(), 2);
    /// assert_eq!(schema.shape, InputShape::Table);
    /// assert_eq!(schema.features[1].name, "income");
    /// ```
    #[must_use]
    pub fn table(names: &[impl AsRef<str>]) -> Self {
        let number = |name: &str| Feature {
            name: name.to_owned(),
            column: name.to_owned(),
            unit: None,
            kind: FeatureKind::Number,
            offset: 0.0,
            factor: 1.0,
            low: 0.0,
            high: 1.0,
            integer: false,
            group: None,
            immutable: false,
        };
        Self {
            shape: InputShape::Table,
            features: names.iter().map(|name| number(name.as_ref())).collect(),
            references: None,
        }
    }

    /// The schema of rows of a shape of which nothing else is known. The features of a table are called `feature[0]` and so on.
    #[must_use]
    pub fn of_shape(shape: &InputShape, features: usize) -> Self {
        match shape {
            InputShape::Table => {
                let names = (0..features).map(|place| format!("feature[{place}]"));
                Self::table(&names.collect::<Vec<_>>())
            }
            InputShape::Image {
                channels,
                height,
                width,
            } => Self::image(*channels, *height, *width, 255.0),
            InputShape::Graph { nodes } => Self::graph(*nodes, -1.0, 1.0),
            InputShape::Pair { of } => Self::pair(&Self::of_shape(of, features / 2)),
        }
    }

    /// Whether each feature can be turned into original units and back.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let is_sound = |feature: &Feature| {
            feature.offset.is_finite()
                && feature.factor.is_finite()
                && feature.factor > 0.0
                && feature.low <= feature.high
        };
        match self.features.iter().find(|feature| !is_sound(feature)) {
            None => Ok(()),
            Some(feature) => Err(format!(
                "feature `{}` must have a finite scale and a range from low to high",
                feature.name
            )),
        }
    }

    /// The schema of images whose values are in `[0, 1]`, with originals `0..=white`.
    #[must_use]
    pub fn image(channels: usize, height: usize, width: usize, white: f64) -> Self {
        const COLOURS: [&str; 3] = ["red", "green", "blue"];
        let mut features = Vec::with_capacity(channels * height * width);
        for channel in 0..channels {
            for row in 0..height {
                for column in 0..width {
                    let plane = if channels == 1 {
                        "pixel"
                    } else {
                        COLOURS.get(channel).copied().unwrap_or("plane")
                    };
                    let name = format!("{plane}[{row},{column}]");
                    features.push(Feature {
                        column: name.clone(),
                        name,
                        unit: None,
                        kind: FeatureKind::Pixel {
                            channel,
                            row,
                            column,
                        },
                        offset: 0.0,
                        factor: white,
                        low: 0.0,
                        high: 1.0,
                        integer: true,
                        group: None,
                        immutable: false,
                    });
                }
            }
        }
        Self {
            shape: InputShape::Image {
                channels,
                height,
                width,
            },
            features,
            references: None,
        }
    }

    /// The schema of graphs whose edge weights lie in `low..=high` and are not scaled.
    #[must_use]
    pub fn graph(nodes: usize, low: f32, high: f32) -> Self {
        let mut features = Vec::with_capacity(nodes * nodes.saturating_sub(1) / 2);
        for from in 0..nodes {
            for to in from + 1..nodes {
                let name = format!("edge[{from},{to}]");
                features.push(Feature {
                    column: name.clone(),
                    name,
                    unit: None,
                    kind: FeatureKind::Edge { from, to },
                    offset: 0.0,
                    factor: 1.0,
                    low,
                    high,
                    integer: false,
                    group: None,
                    immutable: false,
                });
            }
        }
        Self {
            shape: InputShape::Graph { nodes },
            features,
            references: None,
        }
    }

    /// The schema of two inputs side by side: `left` and `right`.
    #[must_use]
    pub fn pair(of: &Self) -> Self {
        let side = |side: &str| {
            let of = of.features.iter().cloned();
            let side = side.to_owned();
            of.map(move |mut feature| {
                feature.name = format!("{side} {}", feature.name);
                feature.column = format!("{side} {}", feature.column);
                feature
            })
        };
        Self {
            shape: InputShape::Pair {
                of: Box::new(of.shape.clone()),
            },
            features: side("left").chain(side("right")).collect(),
            references: None,
        }
    }
}
