//! The head's operations where they are recorded, and what their backwards do.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;

use super::{HeadBackend, HeadGradients};

impl<B: HeadBackend + HeadGradients, C: CheckpointStrategy> HeadBackend for Autodiff<B, C> {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let (z, z_node) = z.into_parts();
        let (c, c_node) = c.into_parts();
        match CrossEntropy
            .prepare::<C>([z_node, c_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => {
                prepared.finish((z.clone(), c.clone()), B::cross_entropy(z, c))
            }
            OpsKind::UnTracked(prepared) => prepared.finish(B::cross_entropy(z, c)),
        }
    }

    fn loss_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let (z, z_node) = z.into_parts();
        let (c, c_node) = c.into_parts();
        match LossSeed
            .prepare::<C>([z_node, c_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish(z.clone(), B::loss_seed(z, c)),
            OpsKind::UnTracked(prepared) => prepared.finish(B::loss_seed(z, c)),
        }
    }

    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let (z, z_node) = z.into_parts();
        let (c, c_node) = c.into_parts();
        match Seed
            .prepare::<C>([z_node, c_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => {
                prepared.finish((z.clone(), c.clone()), B::probability_seed(z, c))
            }
            OpsKind::UnTracked(prepared) => prepared.finish(B::probability_seed(z, c)),
        }
    }

    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (z, z_node) = z.into_parts();
        let (v, v_node) = v.into_parts();
        let (c, c_node) = c.into_parts();
        match SeedTangent
            .prepare::<C>([z_node, v_node, c_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish(
                (z.clone(), v.clone(), c.clone()),
                B::probability_seed_tangent(z, v, c),
            ),
            OpsKind::UnTracked(prepared) => prepared.finish(B::probability_seed_tangent(z, v, c)),
        }
    }
}

#[derive(Debug)]
struct CrossEntropy;

impl<B: HeadGradients> Backward<B, 2> for CrossEntropy {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [in_logits, in_classes] = ops.parents;
        let g = grads.consume::<B>(&ops.node);
        let (z, c) = ops.state;
        if let Some(node) = in_classes {
            let gradient = B::cross_entropy_class_gradient(z.clone(), g.clone());
            grads.register::<B>(node.id, gradient);
        }
        if let Some(node) = in_logits {
            grads.register::<B>(node.id, B::cross_entropy_gradient(z, c, g));
        }
    }
}

#[derive(Debug)]
struct LossSeed;

impl<B: HeadBackend> Backward<B, 2> for LossSeed {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [in_logits, in_classes] = ops.parents;
        let h = grads.consume::<B>(&ops.node);
        if let Some(node) = in_classes {
            grads.register::<B>(node.id, B::float_neg(h.clone()));
        }
        if let Some(node) = in_logits {
            // The softmax has a symmetric Jacobian.
            grads.register::<B>(node.id, B::probability_seed(ops.state, h));
        }
    }
}

#[derive(Debug)]
struct Seed;

impl<B: HeadBackend + HeadGradients> Backward<B, 2> for Seed {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [in_logits, in_classes] = ops.parents;
        let h = grads.consume::<B>(&ops.node);
        let (z, c) = ops.state;
        if let Some(node) = in_classes {
            // The seed is linear in the classes, and its own adjoint.
            grads.register::<B>(node.id, B::probability_seed(z.clone(), h.clone()));
        }
        if let Some(node) = in_logits {
            grads.register::<B>(node.id, B::seed_gradient(z, c, h));
        }
    }
}

#[derive(Debug)]
struct SeedTangent;

impl<B: HeadBackend + HeadGradients> Backward<B, 3> for SeedTangent {
    type State = (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [in_logits, in_direction, in_classes] = ops.parents;
        let h = grads.consume::<B>(&ops.node);
        let (z, v, c) = ops.state;
        if let Some(node) = in_direction {
            let gradient = B::seed_gradient(z.clone(), c.clone(), h.clone());
            grads.register::<B>(node.id, gradient);
        }
        if let Some(node) = in_classes {
            // As the seed itself.
            let gradient = B::probability_seed_tangent(z.clone(), v.clone(), h.clone());
            grads.register::<B>(node.id, gradient);
        }
        if let Some(node) = in_logits {
            grads.register::<B>(node.id, B::seed_gradient_tangent(z, v, c, h));
        }
    }
}
