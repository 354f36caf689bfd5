//! A hidden layer on the way from the reference to a row.
//!
//! Between two kinks of the way every value goes on by its slope, so a unit keeps the value it had when its slope last changed, and the t at
//! which it will reach zero. Nothing is done for a unit whose slope does not change.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::matrix::Matrix;
use crate::certify::vector::add_scaled;

#[derive(Default)]
pub(super) struct Layer {
    /// Before the gates, each at its own t, which is in `since`.
    values: Vec<f64>,
    since: Vec<f64>,
    pub(super) slopes: Vec<f64>,
    /// 1 where the gate is open, else -1.
    sides: Vec<f64>,
    /// Where each value reaches zero if its slope stays; infinity if it does not.
    zeros: Vec<f64>,
    /// The score's, before the gates.
    pub(super) adjoints: Vec<f64>,
    /// The first of the zeros and its unit, while it is known.
    next: Option<(f64, usize)>,
}

impl Layer {
    /// At the reference, with slopes of zero.
    #[inline(always)]
    pub(super) fn start(&mut self, values: &[f64], adjoints: &[f64]) {
        self.values.clear();
        self.values.extend_from_slice(values);
        self.adjoints.clear();
        self.adjoints.extend_from_slice(adjoints);
        self.sides.clear();
        let side = |value: &f64| if *value > 0.0 { 1.0 } else { -1.0 };
        self.sides.extend(values.iter().map(side));
        for (numbers, with) in [
            (&mut self.since, 0.0),
            (&mut self.slopes, 0.0),
            (&mut self.zeros, f64::INFINITY),
        ] {
            numbers.clear();
            numbers.resize(values.len(), with);
        }
        self.next = None;
    }

    #[inline(always)]
    pub(super) fn is_open(&self, unit: usize) -> bool {
        self.sides[unit] > 0.0
    }

    /// Of each unit, a positive number where its gate is open.
    #[inline(always)]
    pub(super) fn open(&self) -> &[f64] {
        &self.sides
    }

    /// The slopes of the units change at t by so much.
    #[inline(always)]
    pub(super) fn bend(&mut self, changes: &[f64], at: f64) {
        self.next = None;
        let count = changes.len();
        let values = &mut self.values[..count];
        let since = &mut self.since[..count];
        let slopes = &mut self.slopes[..count];
        let zeros = &mut self.zeros[..count];
        let sides = &self.sides[..count];
        for unit in 0..count {
            let value = values[unit] + (at - since[unit]) * slopes[unit];
            let slope = slopes[unit] + changes[unit];
            let left = -value / slope;
            // Rounding may have carried a value beyond zero.
            let left = if left > 0.0 { left } else { 0.0 };
            let approaches = sides[unit] * slope < 0.0;
            zeros[unit] = if approaches { at + left } else { f64::INFINITY };
            values[unit] = value;
            slopes[unit] = slope;
            since[unit] = at;
        }
    }

    /// The first t at which a value reaches zero, and its unit.
    #[inline(always)]
    pub(super) fn next(&mut self) -> (f64, usize) {
        if let Some(next) = self.next {
            return next;
        }
        let next = earliest(&self.zeros);
        self.next = Some(next);
        next
    }

    /// Weights of the values behind these gates as weights of what the layer reads by `rows`.
    #[inline(always)]
    pub(super) fn pull_down(&self, rows: &Matrix, weights: &[f64], lower: &mut Vec<f64>) {
        lower.clear();
        lower.resize(rows.width, 0.0);
        for (unit, weight) in weights.iter().enumerate() {
            if self.is_open(unit) {
                add_scaled(lower, *weight, rows.row(unit));
            }
        }
    }

    /// Opens or closes a gate whose value reaches zero at t; gives whether it opened.
    #[inline(always)]
    pub(super) fn flip(&mut self, unit: usize, at: f64) -> bool {
        self.sides[unit] = -self.sides[unit];
        self.values[unit] = 0.0;
        self.since[unit] = at;
        self.zeros[unit] = f64::INFINITY;
        self.next = None;
        self.is_open(unit)
    }
}

/// The least number and the first place it stands at, in eight lanes.
#[inline(always)]
fn earliest(numbers: &[f64]) -> (f64, usize) {
    let least = |least: f64, number: f64| if number < least { number } else { least };
    let mut lanes = [f64::INFINITY; 8];
    let chunks = numbers.chunks_exact(8);
    let rest = chunks.remainder().iter().copied();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = least(*lane, *number);
        }
    }
    let first = lanes.into_iter().chain(rest).fold(f64::INFINITY, least);
    let place = numbers.iter().position(|number| *number <= first);
    (first, place.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reaches_zero_where_its_slope_leads() {
        let mut layer = Layer::default();
        layer.start(&[1.0, -1.0, 2.0], &[0.0; 3]);
        // 1 - 2 t, -1 + 4 t and 2 + t.
        layer.bend(&[-2.0, 4.0, 1.0], 0.0);
        assert_eq!(layer.next(), (0.25, 1));
        assert!(layer.flip(1, 0.25));
        assert_eq!(layer.next(), (0.5, 0));
        // From t = 0.3 the third falls by 10: 2.3 - 9 (t - 0.3).
        layer.bend(&[0.0, 0.0, -10.0], 0.3);
        assert_eq!(layer.next(), (0.5, 0));
        assert!(!layer.flip(0, 0.5));
        let (at, unit) = layer.next();
        assert!((at - (0.3 + 2.3 / 9.0)).abs() < 1e-15);
        assert_eq!(unit, 2);
    }

    #[test]
    fn the_earliest_is_the_first_of_equals() {
        let mut numbers = vec![f64::INFINITY; 21];
        assert!(earliest(&numbers).0.is_infinite());
        for place in [20, 9, 11] {
            numbers[place] = 0.5;
            let first = numbers.iter().position(|one| *one < 1.0).unwrap();
            assert_eq!(earliest(&numbers), (0.5, first));
        }
    }
}
