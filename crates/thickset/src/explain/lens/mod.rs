//! What an attack looks through: the importances and logits at its points, and the pullback of a function of them, in plain
//! numbers.
//!
//! There are two. [`by_tensor`] asks any explanation of any network. [`by_tile`] asks the gradient of a chain of dense layers,
//! a few rows at a time, without a tensor; it sees the same.

mod by_tensor;
mod by_tile;

use thickset_engine::{Chain, Network};

use self::by_tensor::ByTensor;
use self::by_tile::ByTile;
use super::reduce::Reduction;
use super::{Binding, CheckedExplain, ExplanationConfig};
use crate::Result;

/// What a network says of points. All of it is row-major.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    /// Reduced.
    pub importance: Vec<f64>,
    pub logits: Vec<f64>,
}

/// The gradient of a function of one row's importances: it is shown the row's number and importances, and writes.
pub(crate) type Slope<'s> = dyn FnMut(usize, &[f64], &mut [f64]) + 's;

/// The explanation of the rows of one batch.
pub(crate) trait Lens {
    /// What the network says of a point of every row.
    fn look(&mut self, points: &[f64], shown: &mut Shown);

    /// The same, and the gradient in the points of the function whose slope is given.
    fn follow(
        &mut self,
        points: &[f64],
        slope: &mut Slope<'_>,
        shown: &mut Shown,
        gradient: &mut Vec<f64>,
    );
}

impl CheckedExplain {
    /// A lens on a network; `chain` is that network's, if it is one.
    ///
    /// # Errors
    /// As for [`CheckedExplain::bind`].
    pub(crate) fn lens<'n>(
        &self,
        network: &'n Network,
        chain: Option<&'n Chain>,
        to: Binding<'_>,
    ) -> Result<Box<dyn Lens + 'n>> {
        let is_absolute = match self.reduction {
            Reduction::Absolute => Some(true),
            Reduction::Signed => Some(false),
            Reduction::ChannelSum { .. } | Reduction::NormalisedAbsolute => None,
        };
        if let (ExplanationConfig::Grad(config), None, Some(chain), Some(is_absolute)) =
            (&self.config.explanation, &self.groups, chain, is_absolute)
        {
            self.check_binding(network, to)?;
            return Ok(Box::new(ByTile::new(
                chain,
                config.of.into(),
                to.classes,
                is_absolute,
            )));
        }
        Ok(Box::new(ByTensor {
            network,
            explainer: self.bind(network, to)?,
        }))
    }
}
