//! The search: a block of rows at a time, so that the functions are asked about many points at once. Each row draws from a stream of
//! its own, so what is found of it does not depend on the block.

use super::result::{GradientFreeRow, PointOrigin};
use super::{Answers, GradientFreeConfig};
use crate::metric::precision_at_k;
use crate::metric::ranking::{TopK, largest};
use crate::{Error, Result, Stream};

/// Halvings of the way between a row and a point of another class.
const BOUNDARY_STEPS: usize = 6;

/// Points of another class that each row's boundary is looked for on the way to.
const BOUNDARY_POINTS: usize = 5;

/// The most points that a function is asked about at once.
const ASKED: usize = 4096;

/// What the model says of a row.
pub struct Base {
    pub probabilities: Vec<f64>,
    pub class: usize,
    pub top: TopK,
}

/// A row while it is searched around.
struct RowSearch<'r> {
    row: &'r [f32],
    base: &'r Base,
    stream: Stream,
    noise_shares: Vec<f64>,
    worst: Worst,
}

/// The worst point so far: by the share of the top-k set that it keeps, then by how near it is to losing one more.
struct Worst {
    share: f64,
    gap: f64,
    point: Vec<f32>,
    origin: PointOrigin,
    top: TopK,
}

/// Points, whose row each is around, and how it was come upon.
#[derive(Default)]
struct Points {
    values: Vec<f32>,
    owners: Vec<usize>,
    origins: Vec<PointOrigin>,
}

impl Points {
    fn push(&mut self, point: &[f32], owner: usize, origin: PointOrigin) {
        self.values.extend_from_slice(point);
        self.owners.push(owner);
        self.origins.push(origin);
    }

    fn each(&self, features: usize) -> impl Iterator<Item = (&[f32], usize, PointOrigin)> {
        let places = self.owners.iter().zip(&self.origins);
        let points = self.values.chunks_exact(features).zip(places);
        points.map(|(point, (&owner, &origin))| (point, owner, origin))
    }
}

/// What is searched: the functions, and all rows.
pub struct Search<'s, 'a> {
    pub answers: &'s mut Answers<'a>,
    pub config: &'s GradientFreeConfig,
    pub values: &'s [f32],
    pub movable: Vec<bool>,
    pub evaluations: usize,
}

impl<'s> Search<'s, '_> {
    fn features(&self) -> usize {
        self.movable.len()
    }

    /// What the model says of every row.
    pub fn bases(&mut self) -> Result<Vec<Base>> {
        let values = self.values;
        let tops = self.tops(values)?;
        let probabilities = self.probabilities(values)?;
        let pairs = probabilities.chunks(self.answers.classes).zip(tops);
        pairs
            .map(|(probabilities, (top, _))| {
                Ok(Base {
                    class: largest(probabilities)?,
                    probabilities: probabilities.to_vec(),
                    top,
                })
            })
            .collect()
    }

    /// How far the class's probability falls at each row when its top-k features become those of `absent`.
    pub fn comprehensiveness(&mut self, bases: &[Base], absent: &[f32]) -> Result<Vec<f64>> {
        let mut without = self.values.to_vec();
        for (row, base) in without.chunks_exact_mut(absent.len()).zip(bases) {
            for feature in base.top.iter() {
                row[feature] = absent[feature];
            }
        }
        let probabilities = self.probabilities(&without)?;
        let falls = probabilities.chunks(self.answers.classes).zip(bases);
        Ok(falls
            .map(|(without, base)| base.probabilities[base.class] - without[base.class])
            .collect())
    }

    /// Searches around the rows from `first` on, one a base; `ids` name their streams.
    pub fn block(
        &mut self,
        first: usize,
        ids: &[u64],
        bases: &'s [Base],
    ) -> Result<Vec<GradientFreeRow>> {
        let features = self.features();
        let values = self.values;
        let rows = values[first * features..].chunks_exact(features);
        let mut states: Vec<RowSearch<'_>> = rows
            .zip(ids.iter().zip(bases))
            .map(|(row, (&id, base))| RowSearch {
                row,
                base,
                stream: self.config.seed.stream_at("gradient-free", id),
                noise_shares: Vec::new(),
                worst: Worst {
                    share: 1.0,
                    gap: f64::INFINITY,
                    point: row.to_vec(),
                    origin: PointOrigin::Row,
                    top: base.top.clone(),
                },
            })
            .collect();
        let points = self.first_points(&mut states);
        let classes = self.classes(&points.values)?;
        let boundary = self.boundary(&states, &points, &classes)?;
        self.judge(&mut states, &points, &classes)?;
        let classes = self.classes(&boundary.values)?;
        self.judge(&mut states, &boundary, &classes)?;
        for round in 1..=self.config.rounds {
            let points = self.near(&mut states, round);
            let classes = self.classes(&points.values)?;
            self.judge(&mut states, &points, &classes)?;
        }
        let found = states.into_iter().zip(ids);
        Ok(found.map(|(state, &id)| state.finish(id)).collect())
    }

    /// Random neighbours, points on the sphere, and points on the way to other rows.
    fn first_points(&self, states: &mut [RowSearch<'_>]) -> Points {
        let (config, features) = (self.config, self.features());
        let mut points = Points::default();
        for (owner, state) in states.iter_mut().enumerate() {
            for _ in 0..config.noise_draws {
                let length = config.radius * state.stream.uniform();
                let point = self.around(state.row, length, &mut state.stream);
                points.push(&point, owner, PointOrigin::Noise);
            }
            for _ in 0..config.sphere_points {
                let point = self.around(state.row, config.radius, &mut state.stream);
                points.push(&point, owner, PointOrigin::Sphere);
            }
            let others = self.values.len() / features;
            for _ in 0..config.donors.min(others) {
                let donor = state.stream.below(others) * features;
                let point = self.towards(state.row, &self.values[donor..][..features]);
                points.push(&point, owner, PointOrigin::Donor);
            }
        }
        points
    }

    /// Points around the worst ones so far, nearer in every round.
    fn near(&self, states: &mut [RowSearch<'_>], round: usize) -> Points {
        let length = self.config.radius / f64::from(1_u32 << round.min(16));
        let mut points = Points::default();
        for (owner, state) in states.iter_mut().enumerate() {
            for _ in 0..self.config.round_points {
                let point = self.around(&state.worst.point, length, &mut state.stream);
                let point = self.towards(state.row, &point);
                points.push(&point, owner, PointOrigin::Near);
            }
        }
        points
    }

    /// Points between rows and points of another class, on the rows' side of the boundary.
    fn boundary(
        &mut self,
        states: &[RowSearch<'_>],
        points: &Points,
        classes: &[usize],
    ) -> Result<Points> {
        let features = self.features();
        let mut taken = vec![0; states.len()];
        let mut ways = Vec::new();
        for ((other, owner, _), &class) in points.each(features).zip(classes) {
            if class != states[owner].base.class && taken[owner] < BOUNDARY_POINTS {
                taken[owner] += 1;
                ways.push((owner, other, 0.0, 1.0));
            }
        }
        for _ in 0..BOUNDARY_STEPS {
            let middles = ways.iter().flat_map(|&(owner, other, inside, outside)| {
                between(states[owner].row, other, f64::midpoint(inside, outside))
            });
            let middles: Vec<f32> = middles.collect();
            let found = self.classes(&middles)?;
            for ((owner, _, inside, outside), class) in ways.iter_mut().zip(found) {
                let middle = f64::midpoint(*inside, *outside);
                let is_inside = class == states[*owner].base.class;
                *(if is_inside { inside } else { outside }) = middle;
            }
        }
        let mut made = Points::default();
        for (owner, other, inside, _) in ways {
            let point: Vec<f32> = between(states[owner].row, other, inside).collect();
            made.push(&point, owner, PointOrigin::Boundary);
        }
        Ok(made)
    }

    /// Compares the top-k sets of points with those of their rows. Only points that keep the prediction count, but for noise.
    fn judge(
        &mut self,
        states: &mut [RowSearch<'_>],
        points: &Points,
        classes: &[usize],
    ) -> Result<()> {
        let features = self.features();
        let mut asked = Points::default();
        let mut keeps = Vec::new();
        for ((point, owner, origin), &class) in points.each(features).zip(classes) {
            let is_kept = class == states[owner].base.class;
            if is_kept || origin == PointOrigin::Noise {
                asked.push(point, owner, origin);
                keeps.push(is_kept);
            }
        }
        let tops = self.tops(&asked.values)?;
        for (((point, owner, origin), is_kept), (top, importance)) in
            asked.each(features).zip(keeps).zip(tops)
        {
            let state = &mut states[owner];
            let share = precision_at_k::between(&state.base.top, &top)?;
            if origin == PointOrigin::Noise {
                state.noise_shares.push(share);
            }
            let gap = gap(&state.base.top, &top, &importance);
            let worst = &state.worst;
            let is_worse = share < worst.share || (share <= worst.share && gap < worst.gap);
            if is_kept && is_worse {
                state.worst = Worst {
                    share,
                    gap,
                    point: point.to_vec(),
                    origin,
                    top,
                };
            }
        }
        Ok(())
    }

    /// A point at this distance in a random direction of what may move.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are single precision"
    )]
    fn around(&self, row: &[f32], length: f64, stream: &mut Stream) -> Vec<f32> {
        let direction: Vec<f64> = self
            .movable
            .iter()
            .map(|&moves| if moves { stream.normal() } else { 0.0 })
            .collect();
        let size = direction
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt()
            .max(f64::MIN_POSITIVE);
        let moved = row
            .iter()
            .zip(direction)
            .map(|(&value, step)| (f64::from(value) + step * length / size) as f32);
        moved.collect()
    }

    /// As far towards another point as the radius allows.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are single precision"
    )]
    fn towards(&self, row: &[f32], other: &[f32]) -> Vec<f32> {
        let step = |place: usize| {
            if self.movable[place] {
                f64::from(other[place]) - f64::from(row[place])
            } else {
                0.0
            }
        };
        let places = 0..self.features();
        let size = places
            .clone()
            .map(|place| step(place).powi(2))
            .sum::<f64>()
            .sqrt();
        let share = if size > self.config.radius {
            self.config.radius / size
        } else {
            1.0
        };
        places
            .map(|place| (f64::from(row[place]) + share * step(place)) as f32)
            .collect()
    }

    fn classes(&mut self, points: &[f32]) -> Result<Vec<usize>> {
        let count = self.answers.classes;
        self.probabilities(points)?
            .chunks(count)
            .map(largest)
            .collect()
    }

    /// The most important features of each point, and all importances.
    fn tops(&mut self, points: &[f32]) -> Result<Vec<(TopK, Vec<f64>)>> {
        let features = self.features();
        let mut tops = Vec::with_capacity(points.len() / features);
        for part in points.chunks(ASKED * features) {
            let values = (self.answers.importances)(part)?;
            for one in checked("the importances", values, part.len())?.chunks(features) {
                tops.push((TopK::of(one, self.config.k)?, one.to_vec()));
            }
        }
        Ok(tops)
    }

    fn probabilities(&mut self, points: &[f32]) -> Result<Vec<f64>> {
        let features = self.features();
        let mut found = Vec::new();
        for part in points.chunks(ASKED * features) {
            let rows = part.len() / features;
            self.evaluations += rows;
            let values = (self.answers.probabilities)(part)?;
            let expected = rows * self.answers.classes;
            found.extend(checked("the probabilities", values, expected)?);
        }
        Ok(found)
    }
}

impl RowSearch<'_> {
    /// The line of a row; what is not known here is left at zero.
    fn finish(self, id: u64) -> GradientFreeRow {
        // A point that keeps all is no worse than the row.
        let (point, origin) = if self.worst.share < 1.0 {
            (self.worst.point, self.worst.origin)
        } else {
            (self.row.to_vec(), PointOrigin::Row)
        };
        #[expect(clippy::cast_precision_loss, reason = "few draws")]
        let draws = self.noise_shares.len() as f64;
        let noise: f64 = self.noise_shares.iter().sum();
        GradientFreeRow {
            row: id + 1,
            class: self.base.class,
            label: None,
            p_at_k: self.worst.share,
            noise_p_at_k: if draws > 0.0 { noise / draws } else { 1.0 },
            comprehensiveness: 0.0,
            worst: point,
            found: origin,
            top: self.base.top.iter().collect(),
            worst_top: self.worst.top.iter().collect(),
        }
    }
}

/// How much more important the least important feature that stays is than the most important one that has not entered yet, as a share
/// of the largest importance: the lower, the nearer to losing one more. Infinite where nothing can be lost.
fn gap(top: &TopK, found: &TopK, importance: &[f64]) -> f64 {
    let (mut stays, mut enters, mut most) = (f64::INFINITY, f64::NEG_INFINITY, 0.0_f64);
    for (feature, &value) in importance.iter().enumerate() {
        most = most.max(value.abs());
        match (top.contains(feature), found.contains(feature)) {
            (true, true) => stays = stays.min(value),
            (false, false) => enters = enters.max(value),
            _ => {}
        }
    }
    (stays - enters) / most.max(f64::MIN_POSITIVE)
}

/// The point at this share of the way.
#[expect(
    clippy::cast_possible_truncation,
    reason = "features are single precision"
)]
fn between(row: &[f32], other: &[f32], share: f64) -> impl Iterator<Item = f32> {
    let pairs = row.iter().zip(other);
    pairs.map(move |(&a, &b)| (f64::from(a) + share * (f64::from(b) - f64::from(a))) as f32)
}

fn checked(what: &'static str, values: Vec<f64>, expected: usize) -> Result<Vec<f64>> {
    if values.len() != expected {
        return Err(Error::LengthMismatch {
            what,
            expected,
            got: values.len(),
        });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_share_of_the_largest_importance() {
        let importance = [8.0, 2.0, -1.0];
        let top = TopK::of(&importance, 1).unwrap();
        assert!((gap(&top, &top, &importance) - 0.75).abs() < 1e-15);
    }
}
