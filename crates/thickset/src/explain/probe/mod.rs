//! How an attack evaluates an explanation: the importances and logits at its points, and the gradient in the points of a
//! function of the importances, in plain numbers.
//!
//! There are four probes. [`by_line`] serves contributions in dense layers with `ReLU`, without error, [`by_path`] integrated gradients of a chain of dense layers. [`by_tensor`] serves any explanation of any network. [`by_tile`] serves the gradient of a chain of
//! dense layers, a few rows at a time, without a tensor; it computes the same.

mod by_column;
mod by_line;
mod by_path;
mod by_tensor;
mod by_tile;

use thickset_engine::{Chain, Network, Output};

use self::by_column::ByColumn;
use self::by_line::ByLine;
use self::by_path::ByPath;
use self::by_tensor::ByTensor;
use self::by_tile::ByTile;
use super::contributions::line::Lines;
use super::reduce::ReductionConfig;
use super::{Binding, CheckedExplain};
use crate::Result;

/// Importances and logits of a network at some points, row-major.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelView {
    /// Reduced.
    pub importance: Vec<f64>,
    pub logits: Vec<f64>,
}

/// The gradient of a function of one row's importances: it is view the row's number and importances, and writes.
pub(crate) type RowGradient<'s> = dyn FnMut(usize, &[f64], &mut [f64]) + 's;

/// The explanation of the rows of one batch.
pub(crate) trait Probe {
    /// The importances and logits at one point of every row.
    fn evaluate(&mut self, points: &[f64], view: &mut ModelView);

    /// The same, and the gradient in the points of the function whose gradient in the importances is given.
    fn gradient(
        &mut self,
        points: &[f64],
        row_gradient: &mut RowGradient<'_>,
        view: &mut ModelView,
        gradient: &mut Vec<f64>,
    );
}

impl ReductionConfig {
    /// Whether importances are the sizes of single numbers, or those themselves; `None` where they are neither.
    fn is_absolute(self) -> Option<bool> {
        match self {
            Self::Absolute => Some(true),
            Self::Signed => Some(false),
            Self::ChannelSum | Self::NormalisedAbsolute => None,
        }
    }
}

impl CheckedExplain {
    /// The chain of a network, where it shows this explanation with the same bits as tensors do: what is measured does not depend on the way.
    pub(crate) fn same_bits_chain(&self, network: &Network) -> Option<Chain> {
        let gradient = self.config.explanation.behaviour().plain_gradient();
        gradient.and_then(|_| Chain::new(network))
    }

    /// What is differentiated, and whether importances are sizes, where they are the plain gradient's own numbers or their sizes.
    pub(crate) fn plain_gradient(&self) -> Option<(Output, bool)> {
        let of = self.config.explanation.behaviour().plain_gradient()?;
        if self.groups.is_some() {
            return None;
        }
        Some((of.into(), self.config.reduce.is_absolute()?))
    }

    /// A probe of a network; `chain` is that network's, if it is one.
    ///
    /// # Errors
    /// As for [`CheckedExplain::bind`].
    pub(crate) fn probe<'n>(
        &self,
        network: &'n Network,
        chain: Option<&'n Chain>,
        to: Binding<'_>,
    ) -> Result<Box<dyn Probe + 'n>> {
        let method = self.config.explanation.behaviour();
        if let (Some(config), Some(chain), Some(is_absolute)) = (
            method.contributions(),
            chain,
            self.config.reduce.is_absolute(),
        ) && let Some(lines) = Lines::new(network, &config.row(network.features()))
        {
            self.check_binding(network, to)?;
            let groups = self.groups.clone();
            return Ok(Box::new(ByLine::new(
                lines,
                chain,
                to.classes,
                ByColumn {
                    is_absolute,
                    groups,
                },
            )));
        }
        if let (Some(config), Some(chain), Some(is_absolute)) = (
            method.integrated_gradients(),
            chain,
            self.config.reduce.is_absolute(),
        ) {
            self.check_binding(network, to)?;
            let groups = self.groups.clone();
            let by_column = ByColumn {
                is_absolute,
                groups,
            };
            let probe = ByPath::new(config, chain, to.classes, by_column);
            return Ok(Box::new(probe));
        }
        if let (Some((of, is_absolute)), Some(chain)) = (self.plain_gradient(), chain) {
            self.check_binding(network, to)?;
            return Ok(Box::new(ByTile::new(chain, of, to.classes, is_absolute)));
        }
        Ok(Box::new(ByTensor {
            network,
            explainer: self.bind(network, to)?,
        }))
    }
}
