//! Where features and the layer behind their pieces can be at a time, over all moves.

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
        Self {
            ways,
            set,
            way: set
                .x
                .iter()
                .zip(ways.reference)
                .map(|(x, b)| x - b)
                .collect(),
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
        // Of falling and of rising: the sum of squared slopes, and of slopes times limits.
        let mut sums = vec![[0.0; 4]; outputs];
        for (feature, slopes) in slopes.0.iter().enumerate() {
            let (down, up) = (self.down[feature], self.up[feature]);
            if down <= 0.0 && up <= 0.0 {
                continue;
            }
            let range = self.pieces(feature, t, t);
            for (output, sums) in sums.iter_mut().enumerate() {
                let (least, most) = ends(slopes, range, output);
                let (rising, falling) = (most.max(0.0), (-least).max(0.0));
                let parts = [(rising * down, falling * up), (rising * up, falling * down)];
                let limits = [(down, up), (up, down)];
                for (side, ((a, b), (a_limit, b_limit))) in
                    parts.into_iter().zip(limits).enumerate()
                {
                    let slope = f64::max(
                        if a_limit > 0.0 { rising } else { 0.0 },
                        if b_limit > 0.0 { falling } else { 0.0 },
                    );
                    sums[2 * side] += slope * slope;
                    sums[2 * side + 1] += f64::max(a, b);
                }
            }
        }
        let size = |square: f64, boxed: f64| match self.set.norm {
            MoveNorm::L2 => t * f64::min(boxed, self.set.radius * square.sqrt()),
            MoveNorm::Linf => t * boxed,
        };
        sums.iter()
            .map(|sums| (size(sums[0], sums[1]), size(sums[2], sums[3])))
            .unzip()
    }

    /// How far kinks that only some moves reach can bend outputs with these slopes off their lines between two times.
    pub(super) fn bent(&self, slopes: &Slopes, outputs: usize, from: f64, to: f64) -> Vec<f64> {
        let mut bent = vec![0.0; outputs];
        for (feature, slopes) in slopes.0.iter().enumerate() {
            let range = self.pieces(feature, from, to);
            if range.first == range.last {
                continue;
            }
            let length = (to - from) * self.longest(feature);
            for (output, bent) in bent.iter_mut().enumerate() {
                // A function whose slope is between two numbers is at most so far from its chord.
                let (least, most) = ends(slopes, range, output);
                *bent += (most - least) * length / 4.0;
            }
        }
        bent
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
        let point: Vec<f64> = ways
            .reference
            .iter()
            .zip(&self.way)
            .map(|(b, way)| b + t * way)
            .collect();
        let middle = ways.pieces.values(ways.first, &point);
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

/// The least and the greatest slope of an output on some pieces.
pub(super) fn ends(slopes: &[Vec<f64>], range: PieceRange, output: usize) -> (f64, f64) {
    let first = slopes[range.first][output];
    let pieces = slopes[range.first..=range.last].iter().skip(1);
    pieces.fold((first, first), |(least, most), piece| {
        (least.min(piece[output]), most.max(piece[output]))
    })
}
