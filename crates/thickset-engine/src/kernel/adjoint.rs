//! Recording linear, bilinear and trilinear operations for Burn's backward.
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

/// An operation of three tensors.
type Triple<B> = fn(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>) -> FloatTensor<B>;

/// A trilinear operation and its derivatives: of the gradient and the other two arguments, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Trilinear<B: Backend> {
    pub forward: Triple<B>,
    pub derivatives: [Triple<B>; 3],
}

/// What a trilinear operation keeps: an argument if one of the others needs a gradient.
#[derive(Clone, Debug)]
pub(crate) struct KeptTriple<B: Backend> {
    rule: Trilinear<B>,
    arguments: [Option<FloatTensor<B>>; 3],
}

#[derive(Debug)]
struct TrilinearBackward;

impl<B: Backend> Backward<B, 3> for TrilinearBackward {
    type State = KeptTriple<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = grads.consume::<B>(&ops.node);
        let KeptTriple { rule, arguments } = ops.state;
        for (place, node) in ops.parents.into_iter().enumerate() {
            let others = [[1, 2], [0, 2], [0, 1]][place].map(|other| arguments[other].clone());
            if let (Some(node), [Some(first), Some(second)]) = (node, others) {
                let derivative = (rule.derivatives[place])(gradient.clone(), first, second);
                grads.register::<B>(node.id, derivative);
            }
        }
    }
}

impl<B: Backend> Trilinear<B> {
    /// Applies the operation and records it.
    pub(crate) fn apply<C: CheckpointStrategy>(
        self,
        arguments: [FloatTensor<Autodiff<B, C>>; 3],
    ) -> FloatTensor<Autodiff<B, C>> {
        let tracked = [0, 1, 2].map(|place| arguments[place].is_tracked());
        let [first, second, third] = arguments;
        let (first, first_node) = first.into_parts();
        let (second, second_node) = second.into_parts();
        let (third, third_node) = third.into_parts();
        let nodes = [first_node, second_node, third_node];
        match TrilinearBackward
            .prepare::<C>(nodes)
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => {
                let kept = |argument: &FloatTensor<B>, others: [usize; 2]| {
                    let is_needed = others.iter().any(|&other| tracked[other]);
                    is_needed.then(|| argument.clone())
                };
                let arguments = [
                    kept(&first, [1, 2]),
                    kept(&second, [0, 2]),
                    kept(&third, [0, 1]),
                ];
                let forward = self.forward;
                let state = KeptTriple {
                    rule: self,
                    arguments,
                };
                prepared.finish(state, forward(first, second, third))
            }
            OpsKind::UnTracked(prepared) => prepared.finish((self.forward)(first, second, third)),
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
