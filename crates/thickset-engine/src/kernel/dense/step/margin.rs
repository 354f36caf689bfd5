//! Losses of two classes, where the logits move with the rows as linear maps do, but at kinks.
//!
//! There the probability of a class is a function f of the margin `m = z_0 - z_1` alone, and its gradient in the input is `f' d`
//! with `d = ∇m`. So a loss with the slopes δ in the margin and `ḡ` in the gradient has the weights' gradients of
//!
//! ```text
//! sum over rows of  δ m + f' <ḡ, d>
//! ```
//!
//! at fixed δ and f', where δ has `f'' <ḡ, d>` in it. Both terms go through the same maps and gates, and biases are in the first
//! alone: it is as if `δ x + f' ḡ` went up the chain with δ times the biases. So all that the weights need is the way down that
//! d took, one way up, and one product of what both have beside them.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::Head;
use crate::kernel::dense::run::{Between, Kept, Ways};
use crate::kernel::storage::Stored;
use crate::kernel::{VectorLoop, vectorised};

/// The gradient of the margin in the rows, and what it means for the probability of each row's class.
pub(super) struct Margin<T> {
    /// `[rows, features]`
    gradient: Vec<T>,
    rows: Vec<RowSlopes>,
}

/// The first two derivatives of the probability of a row's class in the margin.
#[derive(Clone, Copy)]
struct RowSlopes {
    first: f64,
    second: f64,
}

impl RowSlopes {
    fn new(p: &[f64], class: usize) -> Self {
        let (of_class, other) = (p[class], p[1 - class]);
        let slope = of_class * other;
        Self {
            first: if class == 0 { slope } else { -slope },
            second: slope * (other - of_class),
        }
    }
}

/// A way up for a loss's slopes in margins and gradients together.
pub(super) struct Mixture<T> {
    input: Vec<T>,
    between: Between<T>,
    /// What the biases of each row count for.
    pub factors: Vec<T>,
}

impl<T: Stored> Margin<T> {
    /// With the way down, and the gradient of the probability.
    pub(super) fn new(
        kept: &Kept<T>,
        head: &Head,
        classes: &[usize],
    ) -> (Self, Between<T>, Vec<f64>) {
        let seeds = [T::ONE, T::from_f64(-1.0)].repeat(kept.rows());
        let (adjoints, gradient) = kept.down(&seeds, true);
        let rows = head.probabilities.chunks_exact(2).zip(classes);
        let margin = Self {
            gradient: gradient.unwrap_or_default(),
            rows: rows.map(|(p, class)| RowSlopes::new(p, *class)).collect(),
        };
        let mut value = vec![0.0; margin.gradient.len()];
        vectorised(OfProbability {
            margin: &margin,
            features: kept.features(),
            value: &mut value,
        });
        (margin, adjoints, value)
    }

    /// The slopes in the logits of a loss whose slopes in the gradient of the probability are these.
    pub(super) fn logit_slopes(&self, slopes: &[f64]) -> Vec<f64> {
        let mut of_logits = vec![0.0; 2 * self.rows.len()];
        vectorised(LogitSlopes {
            margin: self,
            slopes,
            of_logits: &mut of_logits,
        });
        of_logits
    }

    /// The way up of slopes in the margins and in the gradients of the probability.
    pub(super) fn mixture(&self, kept: &Kept<T>, factors: Vec<T>, slopes: &[f64]) -> Mixture<T> {
        let mut input = vec![T::default(); slopes.len()];
        vectorised(Mix {
            margin: self,
            x: kept.input(),
            factors: &factors,
            slopes,
            features: kept.features(),
            input: &mut input,
        });
        Mixture {
            between: kept.up_with_biases(&input, &factors),
            input,
            factors,
        }
    }
}

impl<T: Stored> Mixture<T> {
    /// With the way down from the margins.
    pub(super) fn ways<'a>(&'a self, adjoints: &'a Between<T>) -> Ways<'a, T> {
        Ways {
            adjoints,
            input: &self.input,
            between: &self.between,
        }
    }
}

/// `f' d` of every row.
struct OfProbability<'a, T> {
    margin: &'a Margin<T>,
    features: usize,
    value: &'a mut [f64],
}

impl<T: Stored> VectorLoop for OfProbability<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.margin.gradient.chunks_exact(self.features);
        let rows = rows.zip(self.value.chunks_exact_mut(self.features));
        for (row, (d, value)) in self.margin.rows.iter().zip(rows) {
            for (value, d) in value.iter_mut().zip(d) {
                *value = row.first * d.to_f64();
            }
        }
    }
}

/// `f'' <ḡ, d>` of every row, in the first logit and less it in the second.
struct LogitSlopes<'a, T> {
    margin: &'a Margin<T>,
    slopes: &'a [f64],
    of_logits: &'a mut [f64],
}

impl<T: Stored> VectorLoop for LogitSlopes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let features = self.slopes.len() / self.margin.rows.len().max(1);
        let rows = self.margin.gradient.chunks_exact(features);
        let rows = rows.zip(self.slopes.chunks_exact(features));
        let rows = rows.zip(self.of_logits.chunks_exact_mut(2));
        for (row, ((d, slopes), of_logits)) in self.margin.rows.iter().zip(rows) {
            let along = wide_dot(d, slopes);
            of_logits[0] = row.second * along;
            of_logits[1] = -of_logits[0];
        }
    }
}

/// `δ x + f' ḡ` of every row.
struct Mix<'a, T> {
    margin: &'a Margin<T>,
    x: &'a [T],
    factors: &'a [T],
    slopes: &'a [f64],
    features: usize,
    input: &'a mut [T],
}

impl<T: Stored> VectorLoop for Mix<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.x.chunks_exact(self.features);
        let rows = rows.zip(self.slopes.chunks_exact(self.features));
        let rows = rows.zip(self.input.chunks_exact_mut(self.features));
        let of_rows = self.margin.rows.iter().zip(self.factors);
        for ((row, factor), ((x, slopes), input)) in of_rows.zip(rows) {
            let factor = factor.to_f64();
            for ((input, x), slope) in input.iter_mut().zip(x).zip(slopes) {
                *input = T::from_f64(factor * x.to_f64() + row.first * slope);
            }
        }
    }
}

/// The sum of products, eight sums side by side whatever the registers.
#[inline(always)]
fn wide_dot<T: Stored>(a: &[T], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a.to_f64() * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a.to_f64() * b);
    sums.into_iter().chain(rest).sum()
}
