//! Recording linear and bilinear operations for Burn's backward.
//!
//! A bilinear operation's derivative in one argument is another bilinear operation of the incoming gradient and the other
//! argument. So what it keeps is its arguments, and only those that a gradient will ask for.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend};

/// An operation of two tensors and a description of their shape.
type Pair<B, S> = fn(FloatTensor<B>, FloatTensor<B>, S) -> FloatTensor<B>;

/// A bilinear operation and its derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Bilinear<B: Backend, S> {
    pub forward: Pair<B, S>,
    /// Of the gradient and the right argument.
    pub left: Pair<B, S>,
    /// Of the left argument and the gradient.
    pub right: Pair<B, S>,
    pub shape: S,
}

/// What a bilinear operation keeps: an argument if the other needs a gradient.
#[derive(Clone, Debug)]
pub(crate) struct Kept<B: Backend, S> {
    rule: Bilinear<B, S>,
    left: Option<FloatTensor<B>>,
    right: Option<FloatTensor<B>>,
}

#[derive(Debug)]
struct BilinearBackward<S>(std::marker::PhantomData<S>);

impl<B: Backend, S: Copy + Send + std::fmt::Debug + 'static> Backward<B, 2>
    for BilinearBackward<S>
{
    type State = Kept<B, S>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [left_node, right_node] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let Kept { rule, left, right } = ops.state;
        if let (Some(node), Some(right)) = (left_node, right) {
            grads.register::<B>(node.id, (rule.left)(gradient.clone(), right, rule.shape));
        }
        if let (Some(node), Some(left)) = (right_node, left) {
            grads.register::<B>(node.id, (rule.right)(left, gradient, rule.shape));
        }
    }
}

impl<B: Backend, S: Copy + Send + std::fmt::Debug + 'static> Bilinear<B, S> {
    /// Applies the operation and records it.
    pub(crate) fn apply<C: CheckpointStrategy>(
        self,
        left: FloatTensor<Autodiff<B, C>>,
        right: FloatTensor<Autodiff<B, C>>,
    ) -> FloatTensor<Autodiff<B, C>> {
        let (left_tracked, right_tracked) = (left.is_tracked(), right.is_tracked());
        let (left, left_node) = left.into_parts();
        let (right, right_node) = right.into_parts();
        match BilinearBackward(std::marker::PhantomData)
            .prepare::<C>([left_node, right_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => {
                let kept = Kept {
                    left: right_tracked.then(|| left.clone()),
                    right: left_tracked.then(|| right.clone()),
                    rule: self.clone(),
                };
                prepared.finish(kept, (self.forward)(left, right, self.shape))
            }
            OpsKind::UnTracked(prepared) => {
                prepared.finish((self.forward)(left, right, self.shape))
            }
        }
    }
}

/// A linear operation as its backward sees it: the map it applies to the gradient and what that map needs.
#[derive(Clone, Debug)]
pub(crate) struct Linear<B: Backend, S> {
    pub adjoint: fn(FloatTensor<B>, S) -> FloatTensor<B>,
    pub with: S,
}

#[derive(Debug)]
struct LinearBackward<S>(std::marker::PhantomData<S>);

impl<B: Backend, S: Clone + Send + std::fmt::Debug + 'static> Backward<B, 1> for LinearBackward<S> {
    type State = Linear<B, S>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [node] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        if let Some(node) = node {
            grads.register::<B>(node.id, (ops.state.adjoint)(gradient, ops.state.with));
        }
    }
}

impl<B: Backend, S: Clone + Send + std::fmt::Debug + 'static> Linear<B, S> {
    /// Applies `forward` and records its adjoint.
    pub(crate) fn apply<C: CheckpointStrategy>(
        self,
        x: FloatTensor<Autodiff<B, C>>,
        forward: impl FnOnce(FloatTensor<B>) -> FloatTensor<B>,
    ) -> FloatTensor<Autodiff<B, C>> {
        let (x, node) = x.into_parts();
        match LinearBackward(std::marker::PhantomData)
            .prepare::<C>([node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish(self, forward(x)),
            OpsKind::UnTracked(prepared) => prepared.finish(forward(x)),
        }
    }
}
