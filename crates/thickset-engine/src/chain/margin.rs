//! Rows of a chain side by side, where the output is a function of the margin between two classes.
//!
//! The products are those of a [tile](super::tile). What lies around them is done to eight rows at once, by the formulas of
//! [`RowSoftmax`](crate::kernel::RowSoftmax) for two classes. With `e = exp(z_other - z_top)`, the less probable class has
//! `q = e / (1 + e)`, the other one `1 / (1 + e)`.

#![expect(unsafe_code, reason = "conversions through pointers")]
#![expect(
    clippy::needless_range_loop,
    reason = "plain counters keep a loop in one function"
)]
#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::MarginTile;
use super::tile::{Maps, Run, last};
use crate::kernel::{
    ActivationState, LANES, LaneLoop, Lanes, Real, Register, Task, Vector, by_lanes, tile_rows,
};
use crate::{Output, interrupt};

/// A tile's room, and what was found of its rows.
pub(super) struct MarginRun<'m, T> {
    run: Run<'m, T>,
    features: usize,
    logits: Vec<Lanes>,
    gradient: Vec<Lanes>,
    curvature: Vec<Lanes>,
    /// `exp(z_other - z_top)` of each row.
    odds: Vec<Lanes>,
    /// The gradient in the logits.
    seeds: Vec<Lanes>,
}

impl<'m, T: Real> MarginRun<'m, T> {
    pub(super) fn new(of: &'m Maps<T>) -> Self {
        let mut run = Run::new(of);
        // Lanes beyond the last row are multiplied too, and should not be slow numbers.
        run.input.numbers().fill(T::default());
        last(&mut run.places).adjoint.numbers().fill(T::default());
        Self {
            run,
            features: of.features,
            logits: Vec::new(),
            gradient: Vec::new(),
            curvature: Vec::new(),
            odds: Vec::new(),
            seeds: Vec::new(),
        }
    }
}

impl<T: Real> MarginTile for MarginRun<'_, T> {
    fn run(&mut self, x: &[Lanes], output: Output, classes: &[Lanes]) {
        interrupt::check();
        let rows = classes.len() * LANES;
        assert!(rows <= tile_rows::<T>(), "the rows of a tile");
        assert_eq!(
            x.len(),
            classes.len() * self.features,
            "rows of whole features"
        );
        for of_rows in [&mut self.curvature, &mut self.odds] {
            of_rows.resize(classes.len(), [0.0; LANES]);
        }
        for of_classes in [&mut self.logits, &mut self.seeds] {
            of_classes.resize(classes.len() * 2, [0.0; LANES]);
        }
        self.gradient.resize(x.len(), [0.0; LANES]);
        T::vectorised(Enter {
            from: x,
            to: self.run.input.numbers(),
            width: self.features,
        });
        self.run.ascend(rows);
        T::vectorised(Leave {
            from: last(&mut self.run.places).activation.value.numbers(),
            to: &mut self.logits,
            width: 2,
        });
        for (odds, logits) in self.odds.iter_mut().zip(self.logits.as_chunks().0) {
            let [first, second]: &[Lanes; 2] = logits;
            // One after the other: these bits are those of the standard library.
            for (odds, (first, second)) in odds.iter_mut().zip(first.iter().zip(second)) {
                let (top, other) = if second > first {
                    (second, first)
                } else {
                    (first, second)
                };
                *odds = (other - top).exp();
            }
        }
        by_lanes(Heads {
            output,
            classes,
            logits: &self.logits,
            odds: &self.odds,
            seeds: &mut self.seeds,
            curvature: &mut self.curvature,
        });
        T::vectorised(Enter {
            from: &self.seeds,
            to: last(&mut self.run.places).adjoint.numbers(),
            width: 2,
        });
        self.run.descend(rows, ActivationState::pullback);
        T::vectorised(Leave {
            from: self.run.input.numbers(),
            to: &mut self.gradient,
            width: self.features,
        });
    }

    fn logits(&self) -> &[Lanes] {
        &self.logits
    }

    fn gradient(&self) -> &[Lanes] {
        &self.gradient
    }

    fn curvature(&self) -> &[Lanes] {
        &self.curvature
    }
}

/// Puts rows of so many numbers into a tile.
struct Enter<'a, T> {
    from: &'a [Lanes],
    to: &'a mut [T],
    width: usize,
}

impl<T: Real> Task<T> for Enter<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for (eight, from) in self.from.chunks_exact(self.width).enumerate() {
            for place in 0..self.width {
                let to = &mut self.to[place * tile_rows::<T>() + eight * LANES..][..LANES];
                // SAFETY: both are eight numbers.
                unsafe { V::narrow(from[place].as_ptr(), to.as_mut_ptr()) };
            }
        }
    }
}

/// Takes rows out of a tile.
struct Leave<'a, T> {
    from: &'a [T],
    to: &'a mut [Lanes],
    width: usize,
}

impl<T: Real> Task<T> for Leave<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for (eight, to) in self.to.chunks_exact_mut(self.width).enumerate() {
            for place in 0..self.width {
                let from = &self.from[place * tile_rows::<T>() + eight * LANES..][..LANES];
                // SAFETY: both are eight numbers.
                unsafe { V::widen(from.as_ptr(), to[place].as_mut_ptr()) };
            }
        }
    }
}

/// The seeds and what the Hessian needs, of every row.
struct Heads<'a> {
    output: Output,
    classes: &'a [Lanes],
    logits: &'a [Lanes],
    odds: &'a [Lanes],
    seeds: &'a mut [Lanes],
    curvature: &'a mut [Lanes],
}

impl LaneLoop for Heads<'_> {
    #[inline(always)]
    fn run<R: Register>(self) {
        let (zero, one, half) = (R::splat(0.0), R::splat(1.0), R::splat(0.5));
        let logits = self.logits.as_chunks::<2>().0.iter().zip(self.odds);
        let found = self.seeds.as_chunks_mut::<2>().0.iter_mut();
        let found = found.zip(self.curvature);
        for (((logits, odds), class), (seeds, curvature)) in logits.zip(self.classes).zip(found) {
            let [first, second] = [R::load(&logits[0]), R::load(&logits[1])];
            let (class, odds) = (R::load(class), R::load(odds));
            let sum = one + odds;
            let (top, other) = (one / sum, odds / sum);
            // 1 where the second class is the more probable one, and where the explained one is.
            let second_is_top = second.if_greater(first, one, zero);
            let apart = (second_is_top - class).abs();
            let is_top = half.if_greater(apart, one, zero);
            // For the explained class as the more probable one, then for the other way round.
            let (of_top, of_other) = match self.output {
                Output::Probability => {
                    let (of_top, of_other) = (top * other, other * (one - other));
                    (
                        is_top.if_greater(half, of_top, zero - of_top),
                        is_top.if_greater(half, zero - of_other, of_other),
                    )
                }
                Output::Logit => (is_top, one - is_top),
                Output::Loss => (
                    is_top.if_greater(half, zero - other, one - other),
                    is_top.if_greater(half, other, other - one),
                ),
            };
            second_is_top
                .if_greater(half, of_other, of_top)
                .store(&mut seeds[0]);
            second_is_top
                .if_greater(half, of_top, of_other)
                .store(&mut seeds[1]);
            let p = is_top.if_greater(half, top, other);
            let q = is_top.if_greater(half, other, top);
            // As in `head::curvature_ratio`.
            let (slope, ratio) = match self.output {
                Output::Probability => (p * q, (q - p) / (p * q)),
                Output::Logit => (one, zero),
                Output::Loss => (q, p / q),
            };
            let still = R::splat(f64::MIN_POSITIVE.next_down());
            slope.if_greater(still, ratio, zero).store(curvature);
        }
    }
}
