//! Asking for gradients, recording operations, and reading what came back.

use super::array::Array;
use super::primitive;
use super::tape::{Gradients, Node, Parents, Track, record};
use super::{Kind, Tensor};

impl<const D: usize> Tensor<D> {
    /// The same numbers, whose gradient will be asked for: what is computed from them is recorded.
    ///
    /// # Panics
    /// If the tensor is itself the result of something recorded.
    #[must_use]
    pub fn require_grad(mut self) -> Self {
        let node = self.track.get_or_insert_with(Node::leaf);
        assert!(
            node.is_leaf(),
            "gradients cannot be asked for in what was computed from other tensors"
        );
        self
    }

    /// Whether a gradient is asked for in this very tensor.
    #[must_use]
    pub fn is_require_grad(&self) -> bool {
        self.track.as_ref().is_some_and(|node| node.is_leaf())
    }

    /// Whether what is done with the tensor is recorded.
    #[must_use]
    pub fn is_autodiff(&self) -> bool {
        self.track.is_some()
    }

    /// The tensor itself: every tensor can be recorded, once [`Self::require_grad`] asks for it.
    #[must_use]
    pub fn autodiff(self) -> Self {
        self
    }

    /// The same numbers as a constant, of which nothing is recorded.
    #[must_use]
    pub fn without_autodiff(mut self) -> Self {
        self.track = None;
        self
    }

    /// As [`Self::without_autodiff`].
    #[must_use]
    pub fn detach(self) -> Self {
        self.without_autodiff()
    }

    /// The gradients of the sum of this tensor's numbers, in all tensors that they were asked for and that it depends on.
    #[must_use]
    pub fn backward(self) -> Gradients {
        let Self { array, track, .. } = self;
        let seed = primitive::full(array.shape, 1.0, array.dtype(), array.device());
        drop(array);
        Gradients::new(track, seed)
    }

    /// The gradient in this tensor, if it was asked for and what was differentiated depends on it.
    #[must_use]
    pub fn grad(&self, gradients: &Gradients) -> Option<Self> {
        let gradient = gradients.get(self.track.as_ref()?)?;
        Some(Self::constant(gradient.clone()))
    }

    /// The same, taken out.
    #[must_use]
    pub fn grad_remove(&self, gradients: &mut Gradients) -> Option<Self> {
        gradients.remove(self.track.as_ref()?).map(Self::constant)
    }

    /// Puts another gradient in its place.
    pub fn grad_replace(&self, gradients: &mut Gradients, gradient: Self) {
        if let Some(node) = &self.track {
            gradients.replace(node, gradient.array);
        }
    }

    pub(crate) fn into_parts(self) -> (Array, Track) {
        (self.array, self.track)
    }

    /// The result of an operation, recorded where one of the operands is. `backward` gets the gradient in the result and gives
    /// each parent its own; it must hold arrays alone, so that nodes can be dropped one by one.
    pub(crate) fn recorded(
        array: Array,
        parents: Vec<Track>,
        backward: impl Fn(Array, &mut Parents<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            track: record(parents, backward),
            ..Self::constant(array)
        }
    }
}

impl<const D: usize, K: Kind> Tensor<D, K> {
    /// A linear operation of this tensor, given its adjoint.
    pub(crate) fn linear<const E: usize>(
        self,
        forward: impl FnOnce(Array) -> Array,
        adjoint: impl Fn(Array) -> Array + Send + Sync + 'static,
    ) -> Tensor<E, K> {
        let Self { array, track, .. } = self;
        Tensor {
            track: record(vec![track], move |gradient, parents| {
                parents.give(0, adjoint(gradient));
            }),
            ..Tensor::constant(forward(array))
        }
    }
}
