//! Layers that run together with what alone reads them.

use super::{Node, Source};
use crate::kernel::JoinedPool;
use crate::layer::{Follower, Linearised, Part};
use crate::tensor::Tensor;

/// How a layer runs with those that follow it.
pub(super) enum Joined {
    /// By itself.
    Not,
    /// Together with what alone reads it, a channel affine and max pooling or one of the two; ReLU may follow the pooling. Its
    /// output is theirs.
    With(Box<Followers>),
    /// It is one of those: what it reads is its own output already.
    Done,
}

pub(super) struct Followers {
    affine: Option<[Tensor<2>; 2]>,
    pool: Option<JoinedPool>,
}

impl Joined {
    /// How each of some first layers runs. The last of them gives its own output, and lets that of the layer before it be read.
    /// Statistics are followed by themselves.
    pub(super) fn of(nodes: &[Node], with_statistics: bool) -> Vec<Self> {
        let mut readers = vec![0; nodes.len()];
        for source in nodes.iter().flat_map(|node| &node.inputs) {
            if let Source::Layer(read) = source {
                readers[*read] += 1;
            }
        }
        // The layer that alone reads this one.
        let follower = |place: usize| {
            let node = nodes[..nodes.len() - 1].get(place + 1)?;
            let is_alone = readers[place] == 1 && node.inputs == [Source::Layer(place)];
            is_alone.then_some(&*node.layer)
        };
        let mut joined: Vec<Self> = Vec::with_capacity(nodes.len());
        while joined.len() < nodes.len() {
            let place = joined.len();
            let layer = &nodes[place].layer;
            let (mut end, mut affine, mut pool) = (place, None, None);
            if let Some(next) = follower(end)
                && !(with_statistics && next.has_statistics())
                && let Some(numbers) = next.channel_affine()
                && layer.joins(Follower::ChannelAffine(numbers[0].dims()[1]))
            {
                affine = Some(numbers);
                end += 1;
            }
            if let Some(next) = follower(end)
                && let Some(shape) = next.pool()
                && layer.joins(Follower::Pool)
            {
                end += 1;
                let gated =
                    follower(end).is_some_and(|next| matches!(next.part(), Some(Part::Relu)));
                end += usize::from(gated);
                pool = Some(JoinedPool { shape, gated });
            }
            if end == place {
                joined.push(Self::Not);
            } else {
                joined.push(Self::With(Box::new(Followers { affine, pool })));
                joined.extend((place..end).map(|_| Self::Done));
            }
        }
        joined
    }

    /// Output and linearised layer where it does not run by itself.
    pub(super) fn linearise(
        self,
        node: &Node,
        inputs: &[Tensor<2>],
    ) -> Option<(Tensor<2>, Box<dyn Linearised>)> {
        match self {
            Self::Not => None,
            Self::With(with) => node.layer.linearise_joined(inputs, with.affine, with.pool),
            Self::Done => Some((inputs[0].clone(), Box::new(Identity))),
        }
    }
}

/// A layer that gives what it reads.
struct Identity;

impl Linearised for Identity {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        v[0].clone()
    }
}
