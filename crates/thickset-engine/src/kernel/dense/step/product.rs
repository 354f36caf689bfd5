//! The Hessian product of a training step, and what a loss's slope in it means for logits, gradient and weights.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::{Gradient, Head, seed_slopes};
use crate::Output;
use crate::kernel::dense::run::{Between, Kept, Ways};
use crate::kernel::dense::{narrowed, widened};
use crate::kernel::margin_product::Curvature;
use crate::kernel::storage::Stored;
use crate::kernel::{VectorLoop, sum_of_pairs, vectorised};

/// The products of all rows with their directions u.
pub(super) struct Product<T> {
    value: Vec<f64>,
    way: Way<T>,
}

/// How they came about.
enum Way<T> {
    /// Of two classes it is `κ <g, u> g`; see `kernel/margin_product.rs`.
    Margin(Vec<MarginRow>, Vec<f64>),
    /// Up along the directions, through the change of the seeds, and down.
    Chain {
        direction: Vec<T>,
        changes: Between<T>,
        /// The change of the logits.
        logits: Vec<f64>,
        adjoints: Between<T>,
    },
}

/// What the slope in a product is pulled back along, where it goes through the chain: the slopes and their way up, and the way
/// down of the slopes in the change of the logits.
pub(super) struct Pulled<T> {
    along: Vec<T>,
    changes: Between<T>,
    adjoints: Between<T>,
}

impl<T: Stored> Product<T> {
    pub(super) fn new(
        kept: &Kept<T>,
        head: &Head,
        gradient: &Gradient<T>,
        direction: Vec<f64>,
    ) -> Self {
        if head.classes == 2 {
            let rows = head.probabilities.chunks(2).zip(&gradient.classes);
            let mut rows: Vec<MarginRow> =
                rows.map(|(p, class)| MarginRow::new(p, *class)).collect();
            let mut value = vec![0.0; direction.len()];
            vectorised(Multiply {
                rows: &mut rows,
                features: kept.features(),
                gradient: &gradient.value,
                direction: &direction,
                product: &mut value,
            });
            let way = Way::Margin(rows, direction);
            return Self { value, way };
        }
        let direction = narrowed::<T>(&direction);
        let changes = kept.up(&direction);
        let logits = widened(&changes.last());
        let mut room = vec![0.0; head.classes];
        let seeds = head.by_class(&gradient.classes, [&logits], |softmax, hot, [v], out| {
            softmax.tilt_tangent(v, hot, &mut room, out);
        });
        let (adjoints, value) = kept.down(&narrowed::<T>(&seeds), true);
        Self {
            value: widened(&value.unwrap_or_default()),
            way: Way::Chain {
                direction,
                changes,
                logits,
                adjoints,
            },
        }
    }

    pub(super) fn value(&self) -> &[f64] {
        &self.value
    }

    /// The slopes in the logits of a loss whose slopes in the products are given; its slopes in the gradient are added to those
    /// given. And what the weights' gradients need, where there was a way through the chain.
    pub(super) fn pull_back(
        &self,
        kept: &Kept<T>,
        head: &Head,
        gradient: &Gradient<T>,
        (slopes, of_gradient): (&[f64], &mut [f64]),
    ) -> (Vec<f64>, Option<Pulled<T>>) {
        let logits = match &self.way {
            Way::Margin(rows, direction) => {
                let mut of_logits = vec![0.0; head.logits.len()];
                vectorised(PullBack {
                    rows,
                    features: kept.features(),
                    gradient: &gradient.value,
                    direction,
                    slopes,
                    of_gradient,
                    of_logits: &mut of_logits,
                });
                return (of_logits, None);
            }
            Way::Chain { logits, .. } => logits,
        };
        let along = narrowed::<T>(slopes);
        let changes = kept.up(&along);
        let in_seeds = widened(&changes.last());
        let classes = &gradient.classes;
        let of_changes = seed_slopes(head, classes, &in_seeds);
        let (adjoints, _) = kept.down(&narrowed::<T>(&of_changes), false);
        let mut room = [const { Vec::new() }; 3];
        for room in &mut room {
            room.resize(head.classes, 0.0);
        }
        let lists = [&logits[..], &in_seeds];
        let of_logits = head.by_class(classes, lists, |softmax, hot, [v, slopes], out| {
            let room = room.each_mut().map(|room| &mut room[..]);
            softmax.covariance_gradient_tangent(v, hot, slopes, room, out);
        });
        let pulled = Pulled {
            along,
            changes,
            adjoints,
        };
        (of_logits, Some(pulled))
    }

    /// The ways whose products are the weights' gradients.
    pub(super) fn ways<'a>(&'a self, pulled: &'a Pulled<T>) -> impl Iterator<Item = Ways<'a, T>> {
        let Way::Chain {
            direction,
            changes,
            adjoints,
            ..
        } = &self.way
        else {
            unreachable!("only products through the chain are pulled back through it");
        };
        let from_product = Ways {
            adjoints,
            input: &pulled.along,
            between: &pulled.changes,
        };
        let from_direction = Ways {
            adjoints: &pulled.adjoints,
            input: direction,
            between: changes,
        };
        [from_product, from_direction].into_iter()
    }
}

/// One row of two classes.
#[derive(Clone, Copy)]
struct MarginRow {
    /// 1 where the class is the first one, else -1: how the margin changes with the first logit.
    side: f64,
    curvature: Curvature,
    /// `<g, u>`
    along: f64,
}

impl MarginRow {
    fn new(p: &[f64], class: usize) -> Self {
        Self {
            side: if class == 0 { 1.0 } else { -1.0 },
            curvature: Curvature::new(Output::Probability, p[class], p[1 - class]),
            along: 0.0,
        }
    }
}

/// `κ <g, u> g` of every row.
struct Multiply<'a> {
    rows: &'a mut [MarginRow],
    features: usize,
    gradient: &'a [f64],
    direction: &'a [f64],
    product: &'a mut [f64],
}

impl VectorLoop for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let features = self.features;
        let given = self.gradient.chunks_exact(features);
        let given = given.zip(self.direction.chunks_exact(features));
        let given = given.zip(self.product.chunks_exact_mut(features));
        for (row, ((g, u), product)) in self.rows.iter_mut().zip(given) {
            row.along = sum_of_pairs(g, u, |g, u| g * u);
            let factor = row.curvature.value * row.along;
            for (product, g) in product.iter_mut().zip(g) {
                *product = factor * g;
            }
        }
    }
}

/// The slopes in gradient and logits of a loss whose slopes `h` in the products are given: with `a = <g, u>` and `b = <h, g>` they are
/// those of `κ a b`.
struct PullBack<'a> {
    rows: &'a [MarginRow],
    features: usize,
    gradient: &'a [f64],
    direction: &'a [f64],
    slopes: &'a [f64],
    of_gradient: &'a mut [f64],
    of_logits: &'a mut [f64],
}

impl VectorLoop for PullBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let features = self.features;
        let given = self.gradient.chunks_exact(features);
        let given = given.zip(self.direction.chunks_exact(features));
        let given = given.zip(self.slopes.chunks_exact(features));
        let out = self.of_gradient.chunks_exact_mut(features);
        let out = out.zip(self.of_logits.chunks_exact_mut(2));
        for ((row, ((g, u), h)), (of_gradient, of_logits)) in self.rows.iter().zip(given).zip(out) {
            let across = sum_of_pairs(h, g, |h, g| h * g);
            let of_margin = row.side * row.curvature.slope * row.along * across;
            of_logits[0] = of_margin;
            of_logits[1] = -of_margin;
            let (along_u, along_h) = (
                row.curvature.value * across,
                row.curvature.value * row.along,
            );
            for ((sum, u), h) in of_gradient.iter_mut().zip(u).zip(h) {
                *sum += along_u * u + along_h * h;
            }
        }
    }
}
