//! Borders of segments within reach, and what is beyond those that are crossed together.

use super::{Row, Segments};
use crate::Result;
use crate::attack::threat::Norm;
use crate::certify::result::Counterexample;

/// A distance to a border may be this much smaller: scores are sums of few numbers of order 1 in `f32`.
pub(super) const SCORE_SLACK: f64 = 1e-5;

/// How far beyond a border a point is tried.
pub(super) const BEYOND: f64 = 1e-4;

/// A gate that can take over, and from how far.
#[derive(Clone, Debug)]
pub(super) struct Border {
    pub(super) gate: usize,
    pub(super) distance: f64,
    /// The move to the border, and just beyond.
    pub(super) way: Vec<f64>,
}

/// Some borders that are crossed together.
#[derive(Clone)]
pub(super) struct Crossing<'b> {
    pub(super) distance: f64,
    pub(super) borders: Vec<(usize, &'b Border)>,
}

impl Segments<'_> {
    /// Where a gate takes over, or where sparsemax begins to share; nothing where no move brings it nearer.
    pub(super) fn border(&self, x: &[f64], open: usize, gate: usize) -> Option<Border> {
        let difference: Vec<f64> = self
            .map_of(gate)
            .iter()
            .zip(self.map_of(open))
            .map(|(to, from)| to - from)
            .collect();
        let length = self.dual(&difference);
        if length == 0.0 {
            return None;
        }
        let ahead = self.score(open, x) - self.score(gate, x) - self.delta;
        let distance = (ahead / length - SCORE_SLACK).max(0.0);
        // The shortest way, over what can move.
        let beyond = (ahead / length).max(0.0) + BEYOND;
        let stays = self.asked.threat.immutable();
        let way = difference.iter().zip(stays).map(|(part, stays)| {
            match (stays, self.asked.threat.ball().norm) {
                (true, _) => 0.0,
                (false, Norm::L2) => beyond * part / length,
                (false, Norm::Linf) if *part == 0.0 => 0.0,
                (false, Norm::Linf) => beyond * part.signum(),
            }
        });
        Some(Border {
            gate,
            distance,
            way: way.collect(),
        })
    }

    /// All sets of crossings that fit into the ball, the empty one left out; nothing where there are too many.
    pub(super) fn crossings<'b>(&self, row: &'b Row) -> Option<Vec<Crossing<'b>>> {
        let ball = self.asked.threat.ball();
        let mut found = vec![Crossing {
            distance: 0.0,
            borders: Vec::new(),
        }];
        for (block, borders) in row.borders.iter().enumerate() {
            let before = found.len();
            for place in 0..before {
                for border in borders {
                    let distance = match ball.norm {
                        Norm::L2 => found[place].distance.hypot(border.distance),
                        Norm::Linf => found[place].distance.max(border.distance),
                    };
                    if distance > ball.radius {
                        continue;
                    }
                    if found.len() > self.asked.nodes {
                        return None;
                    }
                    let mut crossing = found[place].clone();
                    crossing.distance = distance;
                    crossing.borders.push((block, border));
                    found.push(crossing);
                }
            }
        }
        found.remove(0);
        found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        Some(found)
    }

    pub(super) fn opened(row: &Row, crossing: &Crossing<'_>) -> Vec<usize> {
        let mut open = row.open.clone();
        for (block, border) in &crossing.borders {
            open[*block] = border.gate;
        }
        open
    }

    pub(super) fn kept_beyond(&self, x: &[f64], row: &Row, crossing: &Crossing<'_>) -> usize {
        self.kept(x, &Self::opened(row, crossing), row.class, &row.salient)
    }

    /// The deployed model beyond some borders, where the class is held and the point lies in the threat set.
    pub(super) fn tried(
        &self,
        x: &[f64],
        row: &Row,
        crossing: &Crossing<'_>,
    ) -> Result<Option<Counterexample>> {
        let mut point = x.to_vec();
        for (_, border) in &crossing.borders {
            for (point, way) in point.iter_mut().zip(&border.way) {
                *point += way;
            }
        }
        let threat = self.asked.threat;
        let ball = threat.ball();
        // What is left of the ball goes to holding the class.
        let towards = self.gradient(&Self::opened(row, crossing), row.class);
        for share in [0.0, 0.5, 0.999] {
            let mut moved = point.clone();
            let left = match ball.norm {
                Norm::L2 => (ball.radius * ball.radius - crossing.distance * crossing.distance)
                    .max(0.0)
                    .sqrt(),
                Norm::Linf => (ball.radius - crossing.distance).max(0.0),
            };
            let length = self.dual(&towards).max(f64::MIN_POSITIVE);
            let read: Vec<bool> = self.read_by(crossing);
            for (feature, moved) in moved.iter_mut().enumerate() {
                if !threat.immutable()[feature] && !read[feature] {
                    *moved += share
                        * left
                        * match ball.norm {
                            Norm::L2 => towards[feature] / length,
                            Norm::Linf => towards[feature].signum(),
                        };
                }
            }
            threat.project(x, &mut moved);
            // Whole categories and numbers are made so; a point that falls back shows nothing.
            let searched = moved.clone();
            threat.settle(x, &searched, &mut moved);
            #[expect(clippy::cast_possible_truncation, reason = "models are given f32")]
            let moved: Vec<f64> = moved
                .into_iter()
                .map(|value| f64::from(value as f32))
                .collect();
            let size = ball.size(x, &moved);
            if size > ball.radius * (1.0 + 1e-6) {
                continue;
            }
            let (class, importance) = self.run(&moved, Some(row.class))?;
            if self.asked.hold && class != row.class {
                continue;
            }
            let kept = row.salient.kept(&importance)?;
            if kept < self.asked.k {
                return Ok(Some(Counterexample {
                    point: moved,
                    size,
                    kept,
                }));
            }
        }
        Ok(None)
    }

    /// The features that the crossed blocks read.
    pub(super) fn read_by(&self, crossing: &Crossing<'_>) -> Vec<bool> {
        let mut read = vec![false; self.features];
        for (block, _) in &crossing.borders {
            let start: usize = self.blocks[..*block].iter().sum();
            for gate in start..start + self.blocks[*block] {
                for (read, part) in read.iter_mut().zip(self.map_of(gate)) {
                    *read |= *part != 0.0;
                }
            }
        }
        read
    }
}
