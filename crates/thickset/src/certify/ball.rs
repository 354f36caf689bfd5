//! The least value of a linear function over a ball cut by half-spaces.
//!
//! For any multipliers `β >= 0`, every move d of the ball with `a_i.d + c_i >= 0` has
//! `q.d >= -Σ β_i c_i - r |q - Σ β_i a_i|`, in the norm dual to the ball's. So any multipliers prove a bound, and coordinate
//! ascent makes it a good one: each multiplier in turn is set to the best for the others as they are, in closed form for l2 and
//! at a breakpoint for l-infinity. What rounding could have added is taken off at the end.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use serde::{Deserialize, Serialize};

use super::half_space::HalfSpace;
use super::rounding::{SEARCH_UNIT, gamma};
use super::vector::{absolute_sum, add_scaled, dot};

/// How a move is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveNorm {
    /// By its Euclidean length.
    L2,
    /// By its largest entry.
    Linf,
}

impl MoveNorm {
    /// The size of a move.
    #[must_use]
    pub fn of(self, d: &[f64]) -> f64 {
        match self {
            Self::L2 => dot(d, d).sqrt(),
            Self::Linf => d.iter().fold(0.0, |most, value| value.abs().max(most)),
        }
    }

    /// The norm that bounds `q.d` by `|q| |d|`.
    pub(super) fn dual(self, q: &[f64]) -> f64 {
        match self {
            Self::L2 => dot(q, q).sqrt(),
            Self::Linf => absolute_sum(q),
        }
    }
}

/// Memory that [`least`] keeps between calls.
#[derive(Debug, Default)]
pub(super) struct Room {
    residual: Vec<f64>,
    multipliers: Vec<f64>,
    breakpoints: Vec<(f64, f64)>,
}

/// Gains below this share of the bound end the ascent.
const WORTH_A_SWEEP: f64 = 1e-7;

/// A lower bound of `q.d` over all d with `|d| <= radius` in all half-spaces; infinite where there is no such d.
#[inline(always)]
pub(super) fn least(
    norm: MoveNorm,
    q: &[f64],
    radius: f64,
    cuts: &[&HalfSpace],
    sweeps: usize,
    room: &mut Room,
) -> f64 {
    if cuts.is_empty() {
        let most = radius * norm.dual(q);
        return -most - gamma(q.len() + 8, SEARCH_UNIT) * most;
    }
    let mut ascent = Ascent::new(norm, q, radius, cuts.len(), room);
    let mut best = ascent.proved();
    for _ in 0..sweeps {
        for (place, cut) in cuts.iter().enumerate() {
            match norm {
                MoveNorm::L2 => ascent.improve_l2(place, cut),
                MoveNorm::Linf => ascent.improve_linf(place, cut),
            }
            if ascent.is_empty {
                return f64::INFINITY;
            }
        }
        let proved = ascent.proved();
        let gain = proved - best;
        best = best.max(proved);
        if gain.is_nan() || gain <= WORTH_A_SWEEP * radius {
            break;
        }
    }
    best
}

struct Ascent<'a> {
    norm: MoveNorm,
    radius: f64,
    room: &'a mut Room,
    /// `<residual, residual>`, for l2.
    square: f64,
    /// `Σ β c`.
    offsets: f64,
    /// What was added up on the way, in absolute values: it bounds the rounding.
    travelled: f64,
    steps: usize,
    is_empty: bool,
}

impl<'a> Ascent<'a> {
    #[inline(always)]
    fn new(norm: MoveNorm, q: &[f64], radius: f64, cuts: usize, room: &'a mut Room) -> Self {
        room.residual.clear();
        room.residual.extend_from_slice(q);
        room.multipliers.clear();
        room.multipliers.resize(cuts, 0.0);
        Self {
            norm,
            radius,
            square: dot(q, q),
            travelled: radius * norm.dual(q),
            room,
            offsets: 0.0,
            steps: 0,
            is_empty: false,
        }
    }

    /// The bound that the multipliers prove, rounding taken off.
    #[inline(always)]
    fn proved(&self) -> f64 {
        let size = match self.norm {
            MoveNorm::L2 => self.square.sqrt(),
            MoveNorm::Linf => absolute_sum(&self.room.residual),
        };
        let operations = self.room.residual.len() + 4 * self.steps + 8;
        -self.offsets - self.radius * size - gamma(operations, SEARCH_UNIT) * self.travelled
    }

    #[inline(always)]
    fn set(&mut self, place: usize, cut: &HalfSpace, multiplier: f64) {
        let change = multiplier - self.room.multipliers[place];
        if change == 0.0 {
            return;
        }
        add_scaled(&mut self.room.residual, -change, &cut.normal);
        self.square = dot(&self.room.residual, &self.room.residual);
        self.offsets += change * cut.offset;
        let size = match self.norm {
            MoveNorm::L2 => cut.length,
            MoveNorm::Linf => absolute_sum(&cut.normal),
        };
        self.travelled += change.abs() * (self.radius * size + cut.offset.abs());
        self.steps += 1;
        self.room.multipliers[place] = multiplier;
    }

    /// Where the ball does not meet the half-space, by more than rounding.
    #[inline(always)]
    fn misses(&self, cut: &HalfSpace, size: f64) -> bool {
        let rounding = gamma(self.room.residual.len() + 8, SEARCH_UNIT);
        cut.offset + self.radius * size * (1.0 + rounding) < 0.0
    }

    #[inline(always)]
    fn improve_l2(&mut self, place: usize, cut: &HalfSpace) {
        if self.misses(cut, cut.length) {
            self.is_empty = true;
            return;
        }
        if cut.has_no_direction() {
            return;
        }
        // The share of the radius at which the boundary lies.
        let share = cut.offset / (self.radius * cut.length);
        if share >= 1.0 || share <= -1.0 {
            return;
        }
        let before = self.room.multipliers[place];
        let along = dot(&self.room.residual, &cut.normal);
        let without = along + before * cut.square;
        let square = self.square + before * (along + without);
        // The part of q that no multiple of the normal takes away.
        let across = (square - without * without / cut.square).max(0.0);
        let shift = -share * (across / (1.0 - share * share)).sqrt();
        self.set(
            place,
            cut,
            ((without + cut.length * shift) / cut.square).max(0.0),
        );
    }

    /// The bound is concave and piecewise linear in one multiplier; its best is where the slope changes sign.
    fn improve_linf(&mut self, place: usize, cut: &HalfSpace) {
        let size = absolute_sum(&cut.normal);
        if self.misses(cut, size) {
            self.is_empty = true;
            return;
        }
        if cut.offset >= self.radius * size {
            return;
        }
        let before = self.room.multipliers[place];
        let mut slope = -cut.offset;
        let mut breakpoints = std::mem::take(&mut self.room.breakpoints);
        breakpoints.clear();
        for (residual, a) in self.room.residual.iter().zip(&cut.normal) {
            if *a == 0.0 {
                continue;
            }
            let at = residual / a + before;
            let step = self.radius * a.abs();
            if at > 0.0 {
                slope += step;
                breakpoints.push((at, 2.0 * step));
            } else {
                slope -= step;
            }
        }
        let mut multiplier = 0.0;
        if slope > 0.0 {
            breakpoints.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for (at, fall) in &breakpoints {
                multiplier = *at;
                slope -= fall;
                if slope <= 0.0 {
                    break;
                }
            }
        }
        self.room.breakpoints = breakpoints;
        self.set(place, cut, multiplier);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(norm: MoveNorm, q: &[f64], radius: f64, cuts: &[HalfSpace]) -> f64 {
        let cuts: Vec<&HalfSpace> = cuts.iter().collect();
        least(norm, q, radius, &cuts, 50, &mut Room::default())
    }

    #[test]
    fn without_cuts_it_is_the_dual_norm() {
        let q = [3.0, -4.0];
        assert!((bound(MoveNorm::L2, &q, 2.0, &[]) + 10.0).abs() < 1e-12);
        assert!((bound(MoveNorm::Linf, &q, 2.0, &[]) + 14.0).abs() < 1e-12);
    }

    #[test]
    fn one_cut_is_answered_exactly() {
        // The least of x over the unit disc with y >= 0.6 is -0.8; over the square it is -1.
        let cut = HalfSpace::new(vec![0.0, 1.0], -0.6, 0.0);
        let q = [1.0, 0.0];
        assert!((bound(MoveNorm::L2, &q, 1.0, std::slice::from_ref(&cut)) + 0.8).abs() < 1e-12);
        assert!((bound(MoveNorm::Linf, &q, 1.0, std::slice::from_ref(&cut)) + 1.0).abs() < 1e-12);
        // The least of x + y over the square with x - y >= 0.5 is -1.5.
        let cut = HalfSpace::new(vec![1.0, -1.0], -0.5, 0.0);
        assert!((bound(MoveNorm::Linf, &[1.0, 1.0], 1.0, &[cut]) + 1.5).abs() < 1e-12);
    }

    #[test]
    fn a_half_space_that_the_ball_misses_leaves_nothing() {
        let cut = HalfSpace::new(vec![1.0, 1.0], -1.5, 0.0);
        let nothing = bound(MoveNorm::L2, &[1.0, 0.0], 1.0, std::slice::from_ref(&cut));
        assert!(nothing.is_infinite());
        assert!(bound(MoveNorm::Linf, &[1.0, 0.0], 1.0, &[cut]).is_finite());
    }

    #[test]
    fn no_move_is_below_the_bound() {
        let mut stream = crate::Seed::new(3).stream("moves");
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            for _ in 0..200 {
                let mut draw =
                    |count: usize| -> Vec<f64> { (0..count).map(|_| stream.normal()).collect() };
                let q = draw(4);
                let cuts: Vec<HalfSpace> =
                    (0..3).map(|_| HalfSpace::new(draw(4), 0.3, 0.0)).collect();
                let low = bound(norm, &q, 1.0, &cuts);
                for _ in 0..100 {
                    let mut d = draw(4);
                    let size = norm.of(&d).max(1.0);
                    for value in &mut d {
                        *value /= size;
                    }
                    if cuts.iter().all(|cut| cut.at(&d) >= 0.0) {
                        assert!(dot(&q, &d) >= low, "{norm:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_half_space_without_direction_that_holds_takes_nothing_away() {
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            let everywhere = HalfSpace::new(vec![0.0, 0.0], 0.0, 0.0);
            let found = bound(norm, &[1.0, 0.0], 1.0, &[everywhere]);
            assert!((found + 1.0).abs() < 1e-12, "{norm:?}: {found}");
        }
    }

    #[test]
    fn the_more_a_multiplier_adds_the_more_rounding_is_taken_off() {
        let cut = HalfSpace::new(vec![4.0, 0.0], 2.0, 0.0);
        let mut room = Room::default();
        let mut ascent = Ascent::new(MoveNorm::L2, &[0.0, 0.0], 1.0, 1, &mut room);
        ascent.set(0, &cut, 3.0);
        // Three times the normal's length and the offset.
        assert!((ascent.travelled - 18.0).abs() < 1e-12);
    }

    #[test]
    fn how_long_the_normal_of_a_cut_is_does_not_matter() {
        // The least of x over the unit disc with y >= 0.6 is -0.8.
        for length in [0.5, 2.0] {
            let cut = HalfSpace::new(vec![0.0, length], -0.6 * length, 0.0);
            let found = bound(MoveNorm::L2, &[1.0, 0.0], 1.0, &[cut]);
            assert!((found + 0.8).abs() < 1e-12, "{length}: {found}");
        }
    }

    #[test]
    fn sizes_of_moves_and_of_what_they_are_multiplied_by() {
        let d = [3.0, -4.0];
        assert_eq!(vec![MoveNorm::L2.of(&d), MoveNorm::Linf.of(&d)], [5.0, 4.0]);
        assert_eq!(
            vec![MoveNorm::L2.dual(&d), MoveNorm::Linf.dual(&d)],
            [5.0, 7.0]
        );
    }

    #[test]
    fn a_multiplier_is_added_to_everything_that_its_cut_changes() {
        let cut = HalfSpace::new(vec![4.0, 1.0], 2.0, 0.0);
        for (norm, size) in [(MoveNorm::L2, 17.0_f64.sqrt()), (MoveNorm::Linf, 5.0)] {
            let mut room = Room::default();
            let mut ascent = Ascent::new(norm, &[1.0, 1.0], 2.0, 1, &mut room);
            let began = ascent.travelled;
            ascent.set(0, &cut, 3.0);
            ascent.set(0, &cut, 3.0);
            ascent.set(0, &cut, 1.0);
            assert_eq!(ascent.room.residual, [-3.0, 0.0]);
            assert_eq!(vec![ascent.square, ascent.offsets], [9.0, 2.0]);
            assert_eq!(
                (ascent.steps, &ascent.room.multipliers[..]),
                (2, &[1.0][..])
            );
            // Three up and two down, each by twice the normal's size and the offset.
            let travelled = began + 5.0 * (2.0 * size + 2.0);
            assert!((ascent.travelled - travelled).abs() < 1e-12);
            let rounding = gamma(2 + 4 * 2 + 8, SEARCH_UNIT) * travelled;
            assert!(rounding > 1e-13);
            assert!((ascent.proved() - (-2.0 - 6.0 - rounding)).abs() < 1e-14);
        }
    }

    #[test]
    fn what_rounding_can_add_is_taken_off_without_cuts_too() {
        let exact = -5000.0;
        let found = bound(MoveNorm::L2, &[3.0, -4.0], 1000.0, &[]);
        let rounding = gamma(10, SEARCH_UNIT) * 5000.0;
        assert!(rounding > 5e-12);
        assert!((found - (exact - rounding)).abs() < 1e-12, "{found}");
    }

    #[test]
    fn cuts_on_either_side_of_zero_are_answered_exactly_in_a_larger_ball() {
        let cut = |normal: [f64; 2], offset: f64| HalfSpace::new(normal.to_vec(), offset, 0.0);
        let cases = [
            // y >= 1.2 and y >= -1.2 in the disc of 2; y >= -1.2 leaves the least of x as it is.
            (MoveNorm::L2, [1.0, 0.0], vec![cut([0.0, 1.0], -1.2)], -1.6),
            (MoveNorm::L2, [0.0, 1.0], vec![cut([0.0, 1.0], 1.2)], -1.2),
            (MoveNorm::L2, [1.0, 0.0], vec![cut([0.0, 1.0], 1.2)], -2.0),
            // 3 x + 4 y over y >= -1.2: at (-1.6, -1.2).
            (MoveNorm::L2, [3.0, 4.0], vec![cut([0.0, 2.0], 2.4)], -9.6),
            (
                MoveNorm::L2,
                [1.0, 1.0],
                vec![cut([1.0, 0.0], -0.5), cut([0.0, 1.0], -0.25)],
                0.75,
            ),
            (
                MoveNorm::Linf,
                [1.0, 1.0],
                vec![cut([1.0, 0.0], -0.5), cut([0.0, 1.0], -0.25)],
                0.75,
            ),
            // In the square of 2, x + y >= -1 and x >= 0.5.
            (MoveNorm::Linf, [2.0, 1.0], vec![cut([1.0, 1.0], 1.0)], -3.0),
            (
                MoveNorm::Linf,
                [1.0, 2.0],
                vec![cut([1.0, 1.0], 1.0), cut([1.0, 0.0], -0.5)],
                -3.0,
            ),
            (
                MoveNorm::Linf,
                [3.0, -1.0],
                vec![cut([2.0, 0.0], 1.0)],
                -3.5,
            ),
            // A cut that holds everywhere in the ball.
            (
                MoveNorm::Linf,
                [3.0, -1.0],
                vec![cut([1.0, 1.0], 4.0)],
                -8.0,
            ),
            (MoveNorm::L2, [3.0, 4.0], vec![cut([0.0, 1.0], 2.0)], -10.0),
        ];
        for (norm, q, cuts, exact) in cases {
            let found = bound(norm, &q, 2.0, &cuts);
            assert!(
                found <= exact && found > exact - 1e-6,
                "{norm:?} {q:?}: {found} {exact}"
            );
        }
    }

    #[test]
    fn a_ball_that_touches_a_half_space_does_not_miss_it() {
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            let touching = HalfSpace::new(vec![0.0, 2.0], -4.0, 0.0);
            let found = bound(norm, &[0.0, 1.0], 2.0, &[touching]);
            assert!(found <= 2.0, "{norm:?}: {found}");
            let missed = HalfSpace::new(vec![0.0, 2.0], -4.0 - 1e-9, 0.0);
            assert!(bound(norm, &[0.0, 1.0], 2.0, &[missed]).is_infinite());
        }
    }

    #[test]
    fn cuts_that_share_a_direction_are_improved_in_turn() {
        // The least of x in the ball of 2 where y >= 0.8 and y + 2 z >= 2.5: at y = 0.8 and z = 0.85.
        let cuts = [
            HalfSpace::new(vec![0.0, 3.0, 0.0], -2.4, 0.0),
            HalfSpace::new(vec![0.0, 1.0, 2.0], -2.5, 0.0),
        ];
        let exact = -(4.0_f64 - 0.64 - 0.7225).sqrt();
        let found = bound(MoveNorm::L2, &[1.0, 0.0, 0.0], 2.0, &cuts);
        assert!(found <= exact && found > exact - 1e-5, "{found} {exact}");
    }

    #[test]
    fn in_the_largest_norm_the_best_multiplier_is_where_the_slope_turns() {
        // x + 2 y - z in the cube of 2 where x + y + z >= 0.5: at (0.5, -2, 2).
        let cut = HalfSpace::new(vec![1.0, 1.0, 1.0], -0.5, 0.0);
        let found = bound(MoveNorm::Linf, &[1.0, 2.0, -1.0], 2.0, &[cut]);
        assert!((found + 5.5).abs() < 1e-9, "{found}");
    }
}
