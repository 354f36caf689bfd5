//! From a configuration to importances: an explanation, its reduction, and what an importance stands for.

use serde::{Deserialize, Serialize};
use thickset_engine::{Chain, Network, Tensor};

use super::contributions::ContributionsConfig;
use super::grad_input::GradInputConfig;
use super::reduce::{CheckedReduction, ReductionConfig};
use super::{Binding, Explainer, ExplanationConfig, ModelView};
use crate::check::{check_finite, check_length};
use crate::data::{InputShape, Schema};
use crate::host::read;
use crate::metric::ranking;
use crate::{Error, Result, Rows, Seed};

/// What an importance stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// An encoded feature, or a pixel.
    #[default]
    Feature,
    /// A column of the original table: the sum over its features.
    Column,
}

/// How predictions are explained: `{ explanation = { kind = "grad" }, reduce = "absolute", per = "feature" }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExplainConfig {
    /// The method.
    pub explanation: ExplanationConfig,
    /// How its attributions become importances.
    pub reduce: ReductionConfig,
    /// What an importance stands for.
    pub per: Per,
}

impl ExplainConfig {
    /// What the papers explain by for rows of this shape (R2ET, B.1.3): the absolute gradient for tables, as shares of its sum
    /// for grey images, summed over the channels of a pixel for colour images, and times the input for graphs. Pairs of
    /// colour images have no pixel of their own to sum for, and keep the absolute gradient.
    #[must_use]
    pub fn usual(shape: &InputShape) -> Self {
        let of_one = match shape {
            InputShape::Pair { of } => of,
            other => other,
        };
        match (of_one, shape) {
            (InputShape::Graph { .. }, _) => Self {
                explanation: GradInputConfig::default().into(),
                ..Self::default()
            },
            (InputShape::Image { channels: 1, .. }, _) => Self {
                reduce: ReductionConfig::NormalisedAbsolute,
                ..Self::default()
            },
            (InputShape::Image { .. }, InputShape::Image { .. }) => Self {
                reduce: ReductionConfig::ChannelSum,
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    /// What rows are explained by where nothing else is said: of a table whose typical row is known, signed contributions of its
    /// columns, which are reasons a person can be given; of all others what the papers explain by.
    #[must_use]
    pub fn for_schema(schema: &Schema) -> Self {
        // Of a single column there is nothing to rank.
        let is_table = schema.shape == InputShape::Table && schema.by_column().len() > 1;
        if is_table && schema.references.is_some() {
            return Self::contributions();
        }
        Self::usual(&schema.shape)
    }

    /// Signed contributions of a table's columns, compared with its typical row.
    #[must_use]
    pub fn contributions() -> Self {
        Self {
            explanation: ContributionsConfig::default().into(),
            reduce: ReductionConfig::Signed,
            per: Per::Column,
        }
    }

    /// Checks the settings, and that they fit rows of this schema.
    ///
    /// # Errors
    /// When a setting is out of range, or the reduction or the grouping does not fit the input.
    pub fn check(&self, schema: &Schema) -> Result<CheckedExplain> {
        let explanation = self.explanation.behaviour().check(schema)?;
        let of_units = self.explanation.behaviour().is_of_units();
        // A layer's units have no channels and no columns.
        let shape = if of_units {
            &InputShape::Table
        } else {
            &schema.shape
        };
        let reduction = self.reduce.check(shape)?;
        let mut names: Vec<String> = if reduction.merges() {
            let pixels = 0..schema.len() / reduction.merged();
            pixels.map(|pixel| pixel_name(schema, pixel)).collect()
        } else {
            schema.features.iter().map(|one| one.name.clone()).collect()
        };
        let mut groups = None;
        if of_units {
            names.clear();
        }
        if self.per == Per::Column {
            if of_units || reduction.merges() {
                return Err(Error::ReductionInput {
                    reduction: "per column",
                    expected: "an explanation of table features",
                    got: format!("`{}`, `{}`", self.explanation.kind(), self.reduce.kind()),
                });
            }
            let columns = schema.by_column();
            names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
            groups = Some(columns.into_iter().map(|(_, features)| features).collect());
        }
        Ok(CheckedExplain {
            config: Self {
                explanation,
                ..self.clone()
            },
            reduction,
            groups,
            names,
            features: schema.len(),
            is_pair: matches!(schema.shape, InputShape::Pair { .. }),
        })
    }
}

/// `pixel[3,4]` from the name of the pixel's first channel.
fn pixel_name(schema: &Schema, pixel: usize) -> String {
    let name = &schema.features[pixel].name;
    let place = name.find('[').map_or("", |start| &name[start..]);
    format!("pixel{place}")
}

/// A way to explain that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedExplain {
    pub(super) config: ExplainConfig,
    pub(super) reduction: CheckedReduction,
    /// The features of each column, when importances are columns'.
    pub(super) groups: Option<Vec<Vec<usize>>>,
    names: Vec<String>,
    features: usize,
    is_pair: bool,
}

/// Points in double precision to explain or attack, as searches move them.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// Row-major.
    pub values: &'a [f64],
    /// The numbers of the rows that the points belong to, which their random streams are named by.
    pub ids: &'a [u64],
}

impl<'a> Points<'a> {
    /// Refuses points that do not fit the network, or are not finite.
    pub(crate) fn check(&self, network: &Network) -> Result<()> {
        let features = network.features();
        if self.values.len() != self.ids.len() * features {
            return Err(Error::RowWidth {
                expected: features,
                got: self.values.len() / self.ids.len().max(1),
            });
        }
        check_finite("the rows", self.values)
    }

    /// The points in parts of at most `count`.
    pub fn parts(&self, features: usize, count: usize) -> impl Iterator<Item = Points<'a>> {
        let values = self.values.chunks(count * features);
        values
            .zip(self.ids.chunks(count))
            .map(|(values, ids)| Points { values, ids })
    }

    /// The values and the numbers of the rows of so many features at these places.
    pub(crate) fn at(&self, features: usize, places: &[usize]) -> (Vec<f64>, Vec<u64>) {
        let values = places
            .iter()
            .flat_map(|place| &self.values[place * features..(place + 1) * features]);
        let ids = places.iter().map(|place| self.ids[*place]);
        (values.copied().collect(), ids.collect())
    }
}

/// What a model says of one row, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The class explained: the predicted one, unless another was asked for.
    pub class: usize,
    /// Of all classes.
    pub probabilities: Vec<f64>,
    /// The importances; their names are [`CheckedExplain::names`].
    pub importance: Vec<f64>,
}

/// Values of one chunk of rows: few enough to stay in a processor's cache, and to bound the memory of explanations that
/// run many copies of a row. Results do not depend on it.
const CHUNK_VALUES: usize = 1 << 16;

/// Most rows of a chunk.
const CHUNK_ROWS: usize = 256;

/// Rows of a chunk for rows of so many features.
pub(crate) fn chunk_rows(features: usize) -> usize {
    (CHUNK_VALUES / features.max(1)).clamp(1, CHUNK_ROWS)
}

impl CheckedExplain {
    /// The configuration it was made from, with everything that depends on the input filled in.
    #[must_use]
    pub fn config(&self) -> &ExplainConfig {
        &self.config
    }

    /// The features of each column, when importances are columns'.
    pub(crate) fn column_features(&self) -> Option<&[Vec<usize>]> {
        self.groups.as_deref()
    }

    /// Whether a row is two inputs, so that three predictions are kept under attack.
    pub(crate) fn is_pair(&self) -> bool {
        self.is_pair
    }

    /// What the importances are of; `unit[0]` and so on for a layer's units.
    #[must_use]
    pub fn names(&self, importances: usize) -> Vec<String> {
        if self.names.is_empty() {
            (0..importances)
                .map(|unit| format!("unit[{unit}]"))
                .collect()
        } else {
            self.names.clone()
        }
    }

    /// The features that importance `index` stands for, and only those.
    #[must_use]
    pub fn inputs(&self, index: usize) -> Vec<usize> {
        if let Some(groups) = &self.groups {
            return groups.get(index).cloned().unwrap_or_default();
        }
        let merged = self.reduction.merged();
        let pixels = self.features / merged;
        (0..merged)
            .map(|channel| channel * pixels + index)
            .collect()
    }

    /// Refuses classes that do not fit the rows or the network.
    pub(super) fn check_binding(&self, network: &Network, to: Binding<'_>) -> Result<()> {
        check_length("the classes to explain", to.classes, to.ids.len())?;
        if let Some(&got) = to.classes.iter().find(|class| **class >= network.classes()) {
            return Err(Error::IndexOutOfRange {
                what: "the class to explain",
                bound: network.classes(),
                got,
            });
        }
        if network.features() != self.features {
            return Err(Error::RowWidth {
                expected: network.features(),
                got: self.features,
            });
        }
        Ok(())
    }

    /// The explanation of the rows of one batch.
    ///
    /// # Errors
    /// When there are not as many classes as rows, or a class does not exist.
    pub fn bind(&self, network: &Network, to: Binding<'_>) -> Result<Explainer> {
        self.check_binding(network, to)?;
        let columns = self.groups.as_ref().map(|groups| {
            let mut matrix = vec![0.0; groups.len() * self.features];
            for (column, features) in groups.iter().enumerate() {
                for feature in features {
                    matrix[column * self.features + feature] = 1.0;
                }
            }
            network.tensor(matrix, [groups.len(), self.features])
        });
        Ok(Explainer::new(
            self.config.explanation.behaviour().bind(network, to),
            self.reduction,
            columns,
            to.classes.to_vec(),
        ))
    }

    /// How many importances a row of this network has.
    ///
    /// # Errors
    /// When the network is of other rows.
    pub fn importances(&self, network: &Network) -> Result<usize> {
        let one_row = Binding {
            classes: &[0],
            ids: &[0],
            seed: Seed::new(0),
        };
        let x = network.batch(&vec![0.0; network.features()]);
        let [_, importances] = self.bind(network, one_row)?.importance(network, x).dims();
        Ok(importances)
    }

    /// Explains the predicted class of every row. A row's result does not depend on the others.
    ///
    /// # Errors
    /// When rows do not fit the network, or something is not finite.
    pub fn attribute(
        &self,
        network: &Network,
        rows: Points<'_>,
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        self.attribute_of(network, rows, None, seed)
    }

    /// Explains these classes, one a row, such as those predicted before the rows moved.
    ///
    /// # Errors
    /// As for [`CheckedExplain::attribute`], and when classes do not fit the rows or the network.
    pub fn attribute_classes(
        &self,
        network: &Network,
        rows: Points<'_>,
        classes: &[usize],
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        check_length("the classes to explain", classes, rows.ids.len())?;
        self.attribute_of(network, rows, Some(classes), seed)
    }

    fn attribute_of(
        &self,
        network: &Network,
        rows: Points<'_>,
        given: Option<&[usize]>,
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        rows.check(network)?;
        let parts = rows.parts(network.features(), chunk_rows(network.features()));
        let parts = parts.map(|part| (network.batch(part.values), part.ids.to_vec()));
        self.attribute_parts(network, parts, given, seed)
    }

    /// Explains the predicted class of every row of a table, dataset or file, read chunk by chunk.
    ///
    /// # Errors
    /// As for [`CheckedExplain::attribute`].
    pub fn attribute_rows(
        &self,
        network: &Network,
        rows: &Rows<'_>,
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        rows.check(network)?;
        let parts = rows.parts(chunk_rows(network.features()));
        let parts = parts.map(|part| (part.tensor(network), part.ids()));
        self.attribute_parts(network, parts, None, seed)
    }

    /// Explains these classes, one a row, in the same way.
    ///
    /// # Errors
    /// As for [`CheckedExplain::attribute_classes`].
    pub fn attribute_rows_of(
        &self,
        network: &Network,
        rows: &Rows<'_>,
        classes: &[usize],
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        rows.check(network)?;
        check_length("the classes to explain", classes, rows.len())?;
        let parts = rows.parts(chunk_rows(network.features()));
        let parts = parts.map(|part| (part.tensor(network), part.ids()));
        self.attribute_parts(network, parts, Some(classes), seed)
    }

    fn attribute_parts(
        &self,
        network: &Network,
        parts: impl Iterator<Item = (Tensor<2>, Vec<u64>)>,
        given: Option<&[usize]>,
        seed: Seed,
    ) -> Result<Vec<Explained>> {
        let mut all = Vec::new();
        let chain = self.config.explanation.behaviour().contributions();
        let chain = chain.and_then(|_| network.chain());
        for (x, ids) in parts {
            let logits = read(network.logits(x.clone()));
            let classes = match given {
                Some(given) => given[all.len()..][..ids.len()].to_vec(),
                None => predicted(&logits, network.classes())?,
            };
            let binding = Binding {
                classes: &classes,
                ids: &ids,
                seed,
            };
            let importance = self.importances_of(network, chain.as_ref(), binding, &x)?;
            let width = importance.len() / ids.len().max(1);
            check_finite("the explanation", &importance)?;
            let probabilities = read(network.probabilities(x));
            for (row, &class) in classes.iter().enumerate() {
                let of_row = |values: &[f64], width: usize| values[row * width..][..width].to_vec();
                all.push(Explained {
                    class,
                    probabilities: of_row(&probabilities, network.classes()),
                    importance: of_row(&importance, width),
                });
            }
        }
        Ok(all)
    }
}

impl CheckedExplain {
    /// The importances of a batch; contributions by the fast path, where the network has one.
    fn importances_of(
        &self,
        network: &Network,
        chain: Option<&Chain>,
        to: Binding<'_>,
        x: &Tensor<2>,
    ) -> Result<Vec<f64>> {
        if chain.is_none() {
            return Ok(read(self.bind(network, to)?.importance(network, x.clone())));
        }
        let mut view = ModelView::default();
        self.probe(network, chain, to)?
            .evaluate(&read(x.clone()), &mut view);
        Ok(view.importance)
    }
}

/// The predicted class of each row.
pub(crate) fn predicted(logits: &[f64], classes: usize) -> Result<Vec<usize>> {
    logits.chunks(classes).map(ranking::largest).collect()
}
