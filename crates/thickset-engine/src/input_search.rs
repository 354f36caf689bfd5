//! Searches among inputs while the weights stand still, as adversarial training does inside of its steps.
//!
//! A search moves rows many times by gradients of a loss in them. [`Network::pass`] would record every one of these runs; here rows
//! go through a chain of dense layers in plain numbers, some rows through the whole search at a time.

use crate::Network;
use crate::Tensor;
use crate::kernel::input_search;

/// What searches for some of the rows: it is given the number of the first one, the rows, which it moves, and their gradients.
pub type SearchPart<'s> = dyn Fn(usize, &mut [f64], &mut dyn InputSlopes) + Sync + 's;

/// A chain of dense layers to search inputs of.
pub trait InputSearch {
    /// Whether there are [path gradients](InputSlopes::path_gradient): in piecewise linear chains of two or more maps.
    fn has_paths(&self) -> bool;

    /// Calls `search` for parts of the row-major rows, side by side where that pays. `passes` is about how many gradients a part asks
    /// for.
    fn run(&self, rows: &mut [f64], passes: usize, search: &SearchPart<'_>);
}

/// Gradients of a loss in the rows of one part. All slices are row-major.
pub trait InputSlopes {
    /// The gradient at `x`. `slopes` is given the logits there, `[rows, classes]`, and writes the loss's slopes in them over zeros.
    fn gradient(&mut self, x: &[f64], slopes: &mut dyn FnMut(&[f64], &mut [f64])) -> &[f64];

    /// The mean of the gradients of the logit of each row's class on the way from zero to `x`, at the middles of `steps` equal
    /// parts.
    ///
    /// # Panics
    /// If the chain has none.
    fn path_gradient(&mut self, x: &[f64], classes: &[usize], steps: usize) -> Vec<f64>;
}

impl Network {
    /// The search among inputs like those of `x`, where this network is a chain of few linear maps with ReLU or softplus and nothing
    /// is recorded of `x`. `None` for everything else; the caller then differentiates [`Network::logits`], which gives the same
    /// gradients up to rounding.
    #[must_use]
    pub fn input_search(&self, x: &Tensor<2>) -> Option<Box<dyn InputSearch>> {
        input_search(x, &self.tracked_chain_parts()?)
    }
}
