//! Where features and the layer behind their pieces can be at a time, over all moves.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::super::move_set::MoveSet;
use super::super::pieces::{PieceRange, Slopes};
use super::super::{MoveNorm, SLACK};
use super::PieceWays;

/// What rounding can do to a pre-activation behind steep pieces, as a share of what is added up there.
const STEEP_SLACK: f64 = 1e-12;

/// One row's moves, as times go by.
pub(super) struct Timed<'w> {
    pub(super) ways: &'w PieceWays<'w>,
    pub(super) set: &'w MoveSet<'w>,
    /// The row less the reference.
    pub(super) way: Vec<f64>,
    /// How far each feature can move, down and up.
    pub(super) down: Vec<f64>,
    pub(super) up: Vec<f64>,
    pub(super) slack: Vec<f64>,
    /// The features that the way goes along or that can move. No other contributes anything.
    pub(super) active: Vec<usize>,
}

/// Bounds of some neurons at a time.
pub(super) struct AtTime {
    pub(super) t: f64,
    /// Along the way to the row itself.
    pub(super) middle: Vec<f64>,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

impl<'w> Timed<'w> {
    pub(super) fn new(ways: &'w PieceWays<'w>, set: &'w MoveSet<'w>) -> Self {
        let way: Vec<f64> = set
            .x
            .iter()
            .zip(ways.reference)
            .map(|(x, b)| x - b)
            .collect();
        let limit = |limit: f64| limit.clamp(0.0, set.radius);
        let down: Vec<f64> = set.low.iter().map(|low| limit(-low)).collect();
        let up: Vec<f64> = set.high.iter().map(|high| limit(*high)).collect();
        let sizes = set.x.iter().zip(ways.reference).zip(down.iter().zip(&up));
        let sizes: Vec<f64> = sizes
            .map(|((x, b), (down, up))| x.abs() + b.abs() + down.max(*up))
            .collect();
        let magnitudes = ways.pieces.magnitudes(ways.first, &sizes);
        let rest = magnitudes.iter().map(|magnitude| STEEP_SLACK * magnitude);
        let sizes = ways.start.iter().zip(ways.pieces.values(ways.first, set.x));
        let slack = rest
            .zip(sizes)
            .map(|(rest, (start, end))| rest + SLACK * (start.abs() + end.abs() + 1.0));
        let is_active =
            |&feature: &usize| way[feature] != 0.0 || down[feature] > 0.0 || up[feature] > 0.0;
        Self {
            ways,
            set,
            active: (0..way.len()).filter(is_active).collect(),
            way,
            down,
            up,
            slack: slack.collect(),
        }
    }

    /// Where a feature can be at a time.
    fn reach(&self, feature: usize, t: f64) -> (f64, f64) {
        let at = self.ways.reference[feature] + t * self.way[feature];
        (at - t * self.down[feature], at + t * self.up[feature])
    }

    /// Every piece that a feature can be on between two times.
    pub(super) fn pieces(&self, feature: usize, from: f64, to: f64) -> PieceRange {
        let (a, b) = (self.reach(feature, from), self.reach(feature, to));
        self.ways.pieces.range(feature, a.0.min(b.0), a.1.max(b.1))
    }

    /// By how much outputs with these slopes can fall and rise at a time, over all moves.
    pub(super) fn moved(&self, slopes: &Slopes, outputs: usize, t: f64) -> (Vec<f64>, Vec<f64>) {
        vectorised(Moved {
            timed: self,
            slopes,
            outputs,
            t,
        })
    }

    #[inline(always)]
    fn moved_wide(&self, slopes: &Slopes, outputs: usize, t: f64) -> (Vec<f64>, Vec<f64>) {
        // Of falling and of rising: the sum of squared slopes, and of slopes times limits.
        let zeros = || vec![0.0; outputs];
        let mut falls = (zeros(), zeros());
        let mut rises = (zeros(), zeros());
        let mut piece = PieceSlopes::default();
        for &feature in &self.active {
            let (down, up) = (self.down[feature], self.up[feature]);
            if down <= 0.0 && up <= 0.0 {
                continue;
            }
            piece.set(&slopes.0[feature], self.pieces(feature, t, t));
            for (sums, (a, b)) in [(&mut falls, (down, up)), (&mut rises, (up, down))] {
                // A limit that allows no move adds nothing.
                let allows = |limit: f64| f64::from(u8::from(limit > 0.0));
                let (with, against) = (allows(a), allows(b));
                let sums = sums.0.iter_mut().zip(&mut sums.1);
                for ((square, boxed), (least, most)) in sums.zip(piece.each()) {
                    let (rising, falling) = (most.max(0.0), (-least).max(0.0));
                    let slope = f64::max(with * rising, against * falling);
                    *square += slope * slope;
                    *boxed += f64::max(rising * a, falling * b);
                }
            }
        }
        let size = |(square, boxed): (f64, f64)| match self.set.norm {
            MoveNorm::L2 => t * f64::min(boxed, self.set.radius * square.sqrt()),
            MoveNorm::Linf => t * boxed,
        };
        let sizes = |sums: (Vec<f64>, Vec<f64>)| sums.0.into_iter().zip(sums.1).map(size).collect();
        (sizes(falls), sizes(rises))
    }

    /// How far kinks that only some moves reach can bend outputs with these slopes off their lines between two times.
    pub(super) fn bent(&self, slopes: &Slopes, outputs: usize, from: f64, to: f64) -> Vec<f64> {
        let mut bent = vec![0.0; outputs];
        let mut piece = PieceSlopes::default();
        for &feature in &self.active {
            let range = self.pieces(feature, from, to);
            if range.first == range.last {
                continue;
            }
            let length = (to - from) * self.longest(feature);
            piece.set(&slopes.0[feature], range);
            for (bent, (least, most)) in bent.iter_mut().zip(piece.each()) {
                // A function whose slope is between two numbers is at most so far from its chord.
                *bent += (most - least) * length / 4.0;
            }
        }
        bent
    }

    /// Whether slopes of a feature matter for where neurons can be: it can move, or it passes a kink.
    pub(super) fn is_felt(&self, feature: usize) -> bool {
        let range = self.all_pieces(feature);
        self.down[feature] > 0.0 || self.up[feature] > 0.0 || range.first < range.last
    }

    /// Every piece that a feature can be on at any time.
    pub(super) fn all_pieces(&self, feature: usize) -> PieceRange {
        self.pieces(feature, 0.0, 1.0)
    }

    /// The longest way of a feature.
    fn longest(&self, feature: usize) -> f64 {
        let way = self.way[feature];
        (way - self.down[feature])
            .abs()
            .max((way + self.up[feature]).abs())
    }

    /// The first layer behind the pieces at a time.
    pub(super) fn first_at(&self, t: f64) -> AtTime {
        let ways = self.ways;
        let mut middle = ways.start.clone();
        for &feature in &self.active {
            let at = ways.reference[feature];
            let to = at + t * self.way[feature];
            ways.pieces.add_change(&mut middle, feature, at, to);
        }
        let (fall, rise) = self.moved(&ways.pieces.slopes, middle.len(), t);
        AtTime {
            t,
            low: middle
                .iter()
                .zip(&fall)
                .map(|(at, fall)| at - fall)
                .collect(),
            high: middle
                .iter()
                .zip(&rise)
                .map(|(at, rise)| at + rise)
                .collect(),
            middle,
        }
    }
}

/// How far outputs move at a time.
struct Moved<'a> {
    timed: &'a Timed<'a>,
    slopes: &'a Slopes,
    outputs: usize,
    t: f64,
}

impl VectorLoop for Moved<'_> {
    type Output = (Vec<f64>, Vec<f64>);

    #[inline(always)]
    fn run(self) -> Self::Output {
        self.timed.moved_wide(self.slopes, self.outputs, self.t)
    }
}

/// The least and the greatest slope of each output on some pieces of a feature.
#[derive(Default)]
pub(super) struct PieceSlopes {
    least: Vec<f64>,
    most: Vec<f64>,
}

impl PieceSlopes {
    #[inline(always)]
    pub(super) fn set(&mut self, slopes: &[Vec<f64>], range: PieceRange) {
        self.least.clone_from(&slopes[range.first]);
        self.most.clone_from(&slopes[range.first]);
        for piece in &slopes[range.first..=range.last][1..] {
            for ((least, most), slope) in self.least.iter_mut().zip(&mut self.most).zip(piece) {
                *least = least.min(*slope);
                *most = most.max(*slope);
            }
        }
    }

    #[inline(always)]
    pub(super) fn each(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.least.iter().zip(&self.most);
        all.map(|(least, most)| (*least, *most))
    }
}
