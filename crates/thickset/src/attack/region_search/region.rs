//! Regions of a `ReLU` network around a row: their half-spaces, their gradients and their neighbours.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::cmp::Ordering;
use std::rc::Rc;

use super::layers::Layers;
use super::projection::{HalfSpace, Normal, dot, nearest};
use crate::certify::DenseLayer;
use crate::check::as_f64;
use crate::explain::Of;

/// A row, and what is looked for around it.
pub(super) struct Target {
    pub(super) x: Vec<f64>,
    /// The least and the greatest move of each feature.
    pub(super) bounds: Vec<(f64, f64)>,
    /// The largest move in the Euclidean norm.
    pub(super) radius: f64,
    /// Which features are salient.
    pub(super) top: Vec<bool>,
    pub(super) k: usize,
    pub(super) class: usize,
    /// Whether the class must hold.
    pub(super) holds: bool,
    pub(super) of: Of,
    pub(super) is_absolute: bool,
}

/// Swaps that a score looks ahead.
const SWAPS: usize = 3;

/// What each of them weighs of the one before it.
const NEXT_SWAP: f64 = 0.25;

/// Puts a value into its place among the first of an order; the last of them leaves.
#[inline(always)]
fn insert(order: &mut [f64; SWAPS], mut value: f64, comes_before: impl Fn(f64, f64) -> bool) {
    for old in order {
        if comes_before(value, *old) {
            std::mem::swap(old, &mut value);
        }
    }
}

/// Up to so many numbers, to count how many are above each is quicker than to partition them.
const FEW: usize = 64;

/// The k-th largest of some numbers, which change their order.
#[inline(always)]
fn kth_largest(k: usize, numbers: &mut [f64]) -> f64 {
    let count = numbers.len();
    if count > FEW {
        let (_, found, _) = numbers.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        return *found;
    }
    let mut above = [0.0; FEW];
    let above = &mut above[..count];
    for number in &*numbers {
        for place in 0..count {
            above[place] += if *number > numbers[place] { 1.0 } else { 0.0 };
        }
    }
    let is_among = |above: f64| above < as_f64(k);
    let ranked = numbers.iter().zip(above);
    let among = ranked.filter(|(_, above)| is_among(**above));
    among.fold(f64::INFINITY, |least, (number, _)| least.min(*number))
}

/// What a region comes to: the less, the worse for the defender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    /// Salient features that are still salient.
    pub(super) kept: usize,
    /// Between the weakest of them and the strongest features that could take their places, as a share of all importances.
    pub(super) gap: f64,
}

impl Score {
    /// Which of two the search goes on with first: fewer salient features, then a smaller gap.
    #[inline(always)]
    pub(super) fn before(&self, other: &Self) -> Ordering {
        let by_kept = self.kept.cmp(&other.kept);
        by_kept.then(self.gap.total_cmp(&other.gap))
    }
}

/// A region: what its gates make of the network, as affine functions of the move `d` from the row.
#[derive(Clone)]
pub(super) struct Region {
    gates: Vec<bool>,
    /// Of each layer, the gradient of each output in `d`, row-major; neighbours share those of the layers below their gate.
    jacobians: Vec<Rc<Vec<f64>>>,
    /// Of each layer, each output at `d = 0`.
    values: Vec<Vec<f64>>,
    /// Of the half-spaces: one a gate, one a class.
    multipliers: Vec<f64>,
    /// The nearest move.
    nearest: Vec<f64>,
}

impl Region {
    pub(super) fn gates(&self) -> &[bool] {
        &self.gates
    }
}

/// The surroundings of a row. Features that move come first, so that the others are left out by shortening.
pub(super) struct Place<'a> {
    layers: &'a Layers,
    target: &'a Target,
    /// The original feature at each place.
    order: Vec<usize>,
    /// How many of them move.
    moving: usize,
    /// The first layer's weights in that order.
    first: Rc<Vec<f64>>,
    /// The first gate of each hidden layer.
    starts: Vec<usize>,
}

/// Share of the radius by which a point stays off the kinks, so that rounding does not take it back.
const OFF_THE_KINK: f64 = 2e-5;

/// Share of the radius that is left to rounding.
const WITHIN: f64 = 1.0 - 1e-6;

/// A squared gradient below this belongs to a gate that never changes.
const TINY: f64 = 1e-20;

impl Target {
    #[inline(always)]
    pub(super) fn place<'a>(&'a self, layers: &'a Layers) -> Place<'a> {
        let mut order: Vec<usize> = (0..self.x.len()).collect();
        let moves = |feature: usize| self.bounds[feature].0 < self.bounds[feature].1;
        order.sort_by_key(|feature| !moves(*feature));
        let moving = order.iter().filter(|feature| moves(**feature)).count();
        let layer = &layers.0[0];
        let rows = (0..layer.outputs()).map(|output| layer.row(output));
        let first = rows.flat_map(|row| order.iter().map(|feature| row[*feature]));
        let hidden = &layers.0[..layers.0.len() - 1];
        let starts = hidden.iter().scan(0, |start, layer| {
            let here = *start;
            *start += layer.outputs();
            Some(here)
        });
        Place {
            first: Rc::new(first.collect()),
            starts: starts.collect(),
            layers,
            target: self,
            order,
            moving,
        }
    }
}

impl Place<'_> {
    #[inline(always)]
    fn features(&self) -> usize {
        self.order.len()
    }

    /// The layer of a gate, and its number there.
    #[inline(always)]
    fn locate(&self, gate: usize) -> (usize, usize) {
        let layer = self.starts.partition_point(|start| *start <= gate) - 1;
        (layer, gate - self.starts[layer])
    }

    /// The row's own region.
    #[inline(always)]
    pub(super) fn start(&self) -> Region {
        self.with_gates(self.layers.run(&self.target.x).0)
    }

    /// The region of a point and what it comes to, if it meets the set.
    #[inline(always)]
    pub(super) fn start_at(&self, point: &[f64]) -> Option<(Score, Region)> {
        let region = self.meet(self.with_gates(self.layers.run(point).0))?;
        let gradient = self.gradient(&region).0;
        let score = self.score(&gradient, &mut Vec::with_capacity(gradient.len()));
        Some((score, region))
    }

    /// The region of these gates; its nearest move is not known yet.
    #[inline(always)]
    fn with_gates(&self, gates: Vec<bool>) -> Region {
        let count = gates.len() + self.layers.0.last().map_or(0, DenseLayer::outputs);
        let mut region = Region {
            gates,
            jacobians: vec![Rc::clone(&self.first)],
            values: Vec::new(),
            multipliers: vec![0.0; count],
            nearest: vec![0.0; self.moving],
        };
        let layer = &self.layers.0[0];
        let mut values = layer.bias.clone();
        for (output, value) in values.iter_mut().enumerate() {
            *value += dot(layer.row(output), &self.target.x);
        }
        region.values.push(values);
        self.run_up(&mut region, 1);
        region
    }

    /// Finds the affine functions of this layer and those above.
    #[inline(always)]
    fn run_up(&self, region: &mut Region, from: usize) {
        let features = self.features();
        region.jacobians.truncate(from);
        region.values.truncate(from);
        for place in from..self.layers.0.len() {
            let layer = &self.layers.0[place];
            let gates = &region.gates[self.starts[place - 1]..];
            let (below, values) = (&region.jacobians[place - 1], &region.values[place - 1]);
            let mut jacobian = vec![0.0; layer.outputs() * features];
            let mut outputs = layer.bias.clone();
            for (output, row) in jacobian.chunks_mut(features).enumerate() {
                for (input, weight) in layer.row(output).iter().enumerate() {
                    if gates[input] {
                        outputs[output] += weight * values[input];
                        add(
                            row,
                            *weight,
                            &below[input * features..(input + 1) * features],
                        );
                    }
                }
            }
            region.jacobians.push(Rc::new(jacobian));
            region.values.push(outputs);
        }
    }

    /// Opens or closes one gate.
    #[inline(always)]
    fn toggle(&self, region: &mut Region, gate: usize) {
        let features = self.features();
        let (place, number) = self.locate(gate);
        let sign = if region.gates[gate] { -1.0 } else { 1.0 };
        region.gates[gate] = !region.gates[gate];
        let above = &self.layers.0[place + 1];
        let value = region.values[place][number];
        let (below, from) = region.jacobians.split_at_mut(place + 1);
        let gradient = &below[place][number * features..(number + 1) * features];
        let above_it = Rc::make_mut(&mut from[0]);
        for (output, row) in above_it.chunks_mut(features).enumerate() {
            let weight = sign * above.row(output)[number];
            add(row, weight, gradient);
            region.values[place + 1][output] += weight * value;
        }
        self.run_up(region, place + 2);
    }

    /// The gradient of what is explained in the logits, up to a positive factor.
    #[inline(always)]
    fn seed(&self, region: &Region) -> Vec<f64> {
        let (class, of) = (self.target.class, self.target.of);
        let last = region.values.len() - 1;
        let classes = region.values[last].len();
        let mut seed = vec![0.0; classes];
        if of == Of::Logit {
            seed[class] = 1.0;
            return seed;
        }
        let sign = if of == Of::Loss { -1.0 } else { 1.0 };
        if classes == 2 {
            seed[class] = sign;
            seed[1 - class] = -sign;
            return seed;
        }
        let features = self.features();
        let rows = region.jacobians[last].chunks(features);
        let logits: Vec<f64> = rows
            .zip(&region.values[last])
            .map(|(row, value)| value + dot(&row[..self.moving], &region.nearest))
            .collect();
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let exponentials: Vec<f64> = logits.iter().map(|one| libm::exp(one - most)).collect();
        // Shares of the other classes' sum: `1 - p` would cancel where the class is nearly certain.
        let others = exponentials.iter().enumerate();
        let others = others.filter(|(other, _)| *other != class);
        let sum: f64 = others.clone().map(|(_, exponential)| exponential).sum();
        if sum > 0.0 {
            for (other, exponential) in others {
                seed[other] = -sign * exponential / sum;
            }
            seed[class] = sign;
        }
        seed
    }

    /// The gradient of the region, and of each gate what its output adds to the explained output.
    #[inline(always)]
    fn gradient(&self, region: &Region) -> (Vec<f64>, Vec<f64>) {
        let features = self.features();
        let mut adjoint = self.seed(region);
        let mut gradient = vec![0.0; features];
        let last = region.jacobians.len() - 1;
        for (row, seed) in region.jacobians[last].chunks(features).zip(&adjoint) {
            add(&mut gradient, *seed, row);
        }
        let mut all = vec![0.0; region.gates.len()];
        for place in (0..last).rev() {
            let layer = &self.layers.0[place + 1];
            let mut below = vec![0.0; layer.inputs];
            for (output, adjoint) in adjoint.iter().enumerate() {
                if *adjoint != 0.0 {
                    add(&mut below, *adjoint, layer.row(output));
                }
            }
            let start = self.starts[place];
            all[start..start + below.len()].copy_from_slice(&below);
            for (value, is_open) in below.iter_mut().zip(&region.gates[start..]) {
                if !is_open {
                    *value = 0.0;
                }
            }
            adjoint = below;
        }
        (gradient, all)
    }

    /// Every gate whose other side is within reach, with what the region there comes to.
    #[inline(always)]
    pub(super) fn neighbours(&self, region: &Region) -> Vec<(Score, usize)> {
        let features = self.features();
        let (gradient, adjoints) = self.gradient(region);
        let mut moved = vec![0.0; features];
        let mut room = Vec::with_capacity(features);
        let mut found = Vec::new();
        for (gate, is_open) in region.gates.iter().enumerate() {
            let (layer, number) = self.locate(gate);
            let own = &region.jacobians[layer][number * features..(number + 1) * features];
            let reach = &own[..self.moving];
            let size = dot(reach, reach).sqrt();
            let value = region.values[layer][number];
            let is_here = (value > 0.0) == *is_open;
            if size * size < TINY || is_here && value.abs() >= size * self.target.radius {
                continue;
            }
            let factor = if *is_open { -1.0 } else { 1.0 } * adjoints[gate];
            for ((moved, gradient), own) in moved.iter_mut().zip(&gradient).zip(own) {
                *moved = gradient + factor * own;
            }
            found.push((self.score(&moved, &mut room), gate));
        }
        found
    }

    /// Scores a gradient.
    #[inline(always)]
    fn score(&self, gradient: &[f64], room: &mut Vec<f64>) -> Score {
        let importance = |place: usize| {
            if self.target.is_absolute {
                gradient[place].abs()
            } else {
                gradient[place]
            }
        };
        room.clear();
        room.extend((0..gradient.len()).map(importance));
        let sum: f64 = room.iter().map(|one| one.abs()).sum();
        let least = kth_largest(self.target.k, room);
        // The weakest salient features that are left and the strongest that could take their places, the next to swap first.
        let (mut weakest, mut strongest) = ([f64::INFINITY; SWAPS], [f64::NEG_INFINITY; SWAPS]);
        let mut kept = 0;
        for (place, feature) in self.order.iter().enumerate() {
            let importance = importance(place);
            if self.target.top[*feature] {
                if importance >= least {
                    insert(&mut weakest, importance, |new, old| new < old);
                    kept += 1;
                }
            } else if importance < least {
                insert(&mut strongest, importance, |new, old| new > old);
            }
        }
        // Where there are fewer, a place counts as 0.
        let of = |value: f64| if value.is_finite() { value } else { 0.0 };
        let mut gap = 0.0;
        for (weakest, strongest) in weakest.iter().zip(&strongest).rev() {
            gap = NEXT_SWAP * gap + (of(*weakest) - of(*strongest)) / (sum + f64::MIN_POSITIVE);
        }
        Score { kept, gap }
    }

    /// The region on the other side of a gate, if it meets the set.
    #[inline(always)]
    pub(super) fn cross(&self, from: &Region, gate: usize) -> Option<Region> {
        let mut region = from.clone();
        self.toggle(&mut region, gate);
        region.multipliers[gate] = 0.0;
        self.meet(region)
    }

    /// The region with its nearest move, if it meets the set. The search begins with its multipliers.
    #[inline(always)]
    fn meet(&self, mut region: Region) -> Option<Region> {
        let radius = self.target.radius * WITHIN;
        let off = OFF_THE_KINK * radius;
        let features = self.features();
        let mut half_spaces = Vec::new();
        // Where each half-space's multiplier is kept; of bounds it is not.
        let mut kept: Vec<Option<usize>> = Vec::new();
        for (gate, is_open) in region.gates.iter().enumerate() {
            let (layer, number) = self.locate(gate);
            let normal = &region.jacobians[layer][number * features..][..self.moving];
            let sign = if *is_open { 1.0 } else { -1.0 };
            let square = dot(normal, normal);
            let size = square.sqrt();
            let offset = sign * region.values[layer][number] - off * size;
            if offset >= radius * size {
                continue;
            }
            if square < TINY || offset < -radius * size {
                return None;
            }
            half_spaces.push(HalfSpace {
                normal: Normal::Dense(normal),
                sign,
                offset,
                square,
            });
            kept.push(Some(gate));
        }
        let margins = self.margins(&region);
        for (other, normal, value) in &margins {
            let square = dot(normal, normal);
            let size = square.sqrt();
            let offset = value - off * size;
            if offset >= radius * size {
                continue;
            }
            if square < TINY || offset < -radius * size {
                return None;
            }
            half_spaces.push(HalfSpace {
                normal: Normal::Dense(normal),
                sign: 1.0,
                offset,
                square,
            });
            kept.push(Some(region.gates.len() + other));
        }
        for (place, feature) in self.order[..self.moving].iter().enumerate() {
            let (low, high) = self.target.bounds[*feature];
            for (sign, offset) in [(1.0, -low), (-1.0, high)] {
                if offset < radius {
                    half_spaces.push(HalfSpace {
                        normal: Normal::Axis(place),
                        sign,
                        offset,
                        square: 1.0,
                    });
                    kept.push(None);
                }
            }
        }
        let mut multipliers: Vec<f64> = kept
            .iter()
            .map(|place| place.map_or(0.0, |place| region.multipliers[place]))
            .collect();
        let nearest = nearest(&half_spaces, &mut multipliers, self.moving, radius)?;
        drop(half_spaces);
        region.multipliers.fill(0.0);
        for (place, multiplier) in kept.iter().zip(multipliers) {
            if let Some(place) = place {
                region.multipliers[*place] = multiplier;
            }
        }
        region.nearest = nearest;
        Some(region)
    }

    /// Of each other class, how far the row's class is ahead: gradient and value; none where the class need not hold.
    #[inline(always)]
    fn margins(&self, region: &Region) -> Vec<(usize, Vec<f64>, f64)> {
        if !self.target.holds {
            return Vec::new();
        }
        let (class, features) = (self.target.class, self.features());
        let last = region.values.len() - 1;
        let values = &region.values[last];
        let row = |class: usize| &region.jacobians[last][class * features..][..self.moving];
        let others = (0..values.len()).filter(|other| *other != class);
        others
            .map(|other| {
                let ahead = row(class).iter().zip(row(other));
                let normal = ahead.map(|(own, other)| own - other).collect();
                (other, normal, values[class] - values[other])
            })
            .collect()
    }

    /// The region's nearest point to the row.
    #[inline(always)]
    pub(super) fn point(&self, region: &Region) -> Vec<f64> {
        let mut point = self.target.x.clone();
        for (feature, change) in self.order.iter().zip(&region.nearest) {
            point[*feature] += change;
        }
        point
    }
}

#[inline(always)]
fn add(to: &mut [f64], factor: f64, of: &[f64]) {
    let count = to.len().min(of.len());
    // So that no place is checked in the loop.
    let (to, of) = (&mut to[..count], &of[..count]);
    for place in 0..count {
        to[place] += factor * of[place];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::assert_close;

    /// Three layers with numbers of no pattern.
    fn layers() -> Layers {
        let mut stream = crate::Seed::new(3).stream("layers");
        let mut layer = |inputs: usize, outputs: usize| DenseLayer {
            weight: (0..inputs * outputs).map(|_| stream.normal()).collect(),
            bias: (0..outputs).map(|_| stream.normal()).collect(),
            inputs,
        };
        Layers(vec![layer(4, 6), layer(6, 5), layer(5, 5), layer(5, 3)])
    }

    fn target(x: [f64; 4]) -> Target {
        Target {
            x: x.to_vec(),
            bounds: vec![(-2.0, 2.0), (0.0, 0.0), (-2.0, 2.0), (-2.0, 2.0)],
            radius: 2.0,
            top: vec![true, true, false, false],
            k: 2,
            class: 0,
            holds: false,
            of: Of::Logit,
            is_absolute: true,
        }
    }

    #[test]
    fn a_region_that_was_reached_by_crossing_gates_is_the_one_at_its_point() {
        let layers = layers();
        let target = target([0.3, -0.2, 0.5, 0.1]);
        let place = target.place(&layers);
        let start = place.start();
        let mut crossed = 0;
        for (_, gate) in place.neighbours(&start) {
            let Some(region) = place.cross(&start, gate) else {
                continue;
            };
            let point = place.point(&region);
            assert!((point[1] + 0.2).abs() < 1e-15, "it cannot move");
            let (gates, logits) = layers.run(&point);
            assert_eq!(gates, region.gates);
            // Its affine functions are the network's there.
            let last = region.values.len() - 1;
            for (class, logit) in logits.iter().enumerate() {
                let row = &region.jacobians[last][class * 4..][..3];
                let affine = region.values[last][class] + dot(row, &region.nearest);
                assert!((affine - logit).abs() < 1e-9);
            }
            crossed += 1;
        }
        assert!(crossed > 2, "{crossed}");
    }

    #[test]
    fn the_region_of_a_point_is_the_one_that_crossing_leads_to() {
        let layers = layers();
        let target = target([0.3, -0.2, 0.5, 0.1]);
        let place = target.place(&layers);
        let start = place.start();
        let mut compared = 0;
        for (score, gate) in place.neighbours(&start) {
            let Some(region) = place.cross(&start, gate) else {
                continue;
            };
            let (own, again) = place.start_at(&place.point(&region)).unwrap();
            assert_eq!(again.gates, region.gates);
            assert_eq!(own.kept, score.kept);
            assert!((own.gap - score.gap).abs() < 1e-9);
            for (again, nearest) in again.nearest.iter().zip(&region.nearest) {
                assert!((again - nearest).abs() < 1e-4 * target.radius);
            }
            compared += 1;
        }
        assert!(compared > 2, "{compared}");
        let beyond: Vec<f64> = target.x.iter().map(|value| value + 1000.0).collect();
        assert!(place.start_at(&beyond).is_none());
    }

    #[test]
    fn the_gradient_of_a_neighbour_is_known_before_it_is_crossed() {
        let layers = layers();
        let target = target([0.3, -0.2, 0.5, 0.1]);
        let place = target.place(&layers);
        let start = place.start();
        let (gradient, adjoints) = place.gradient(&start);
        for (gate, adjoint) in adjoints.iter().enumerate() {
            let mut region = start.clone();
            place.toggle(&mut region, gate);
            let (layer, number) = place.locate(gate);
            let own = &start.jacobians[layer][number * 4..][..4];
            let sign = if start.gates[gate] { -1.0 } else { 1.0 };
            let after = place.gradient(&region).0;
            for feature in 0..4 {
                let expected = gradient[feature] + sign * adjoint * own[feature];
                assert!((after[feature] - expected).abs() < 1e-9, "{gate}");
            }
        }
    }

    #[test]
    fn of_many_values_the_first_three_are_kept_in_order() {
        let mut order = [f64::INFINITY; SWAPS];
        for value in [5.0, 2.0, 4.0, 9.0, 3.0] {
            insert(&mut order, value, |new, old| new < old);
        }
        assert_eq!(order.map(f64::to_bits), [2.0, 3.0, 4.0].map(f64::to_bits));
    }

    #[test]
    fn the_kth_largest_of_few_and_of_many_numbers_is_the_one_of_their_order() {
        let mut stream = crate::Seed::new(9).stream("numbers");
        for count in [1, 2, 7, FEW - 1, FEW, FEW + 1, 200] {
            // Small whole numbers, so that some are equal.
            let numbers: Vec<f64> = (0..count)
                .map(|_| stream.uniform_in(-3.0, 9.0).round())
                .collect();
            let mut order = numbers.clone();
            order.sort_by(|a, b| b.total_cmp(a));
            for k in 1..=count {
                let found = kth_largest(k, &mut numbers.clone());
                assert_eq!(vec![found], [order[k - 1]], "{k} of {count}");
            }
        }
    }

    #[test]
    fn gates_that_no_move_within_the_radius_takes_to_their_kink_are_no_neighbours() {
        // From 0 the first gate is 1 away, the second and the last 2, which is the radius, and the third does not change at all.
        let hidden = DenseLayer {
            weight: vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0, -3.0, 4.0],
            bias: vec![1.0, -2.0, 1.0, 10.0],
            inputs: 2,
        };
        let head = DenseLayer {
            weight: vec![1.0; 8],
            bias: vec![0.0, 0.0],
            inputs: 4,
        };
        let layers = Layers(vec![hidden, head]);
        let target = |radius: f64| Target {
            x: vec![0.0, 0.0],
            bounds: vec![(-9.0, 9.0); 2],
            radius,
            top: vec![true, false],
            k: 1,
            ..target([0.0; 4])
        };
        let gates = |radius: f64| {
            let target = target(radius);
            let place = target.place(&layers);
            let found = place.neighbours(&place.start());
            found.into_iter().map(|(_, gate)| gate).collect::<Vec<_>>()
        };
        assert_eq!(gates(2.0), [0]);
        assert_eq!(gates(2.01), [0, 1, 3]);
    }

    fn dense(inputs: usize, weight: &[f64], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs,
        }
    }

    /// Two features, of which the first is salient, that move freely within the radius.
    fn plain(radius: f64) -> Target {
        Target {
            x: vec![0.0, 0.0],
            bounds: vec![(-9.0, 9.0); 2],
            radius,
            top: vec![true, false],
            k: 1,
            ..target([0.0; 4])
        }
    }

    /// Gates `x0 - 1` and `x1 + 5`, logits `x1 - 1 + 3 (x0 - 1)` where both are open, and 0.
    fn two_gates() -> Layers {
        let hidden = dense(2, &[1.0, 0.0, 0.0, 1.0], &[-1.0, 5.0]);
        let head = dense(2, &[3.0, 1.0, 0.0, 0.0], &[-6.0, 0.0]);
        Layers(vec![hidden, head])
    }

    #[test]
    fn fewer_kept_features_come_first_then_the_smaller_gap() {
        let score = |kept, gap| Score { kept, gap };
        assert_eq!(score(1, 0.5).before(&score(2, 0.1)), Ordering::Less);
        assert_eq!(score(2, 0.5).before(&score(2, 0.1)), Ordering::Greater);
        assert_eq!(score(2, 0.1).before(&score(2, 0.1)), Ordering::Equal);
    }

    #[test]
    fn the_next_swap_counts_in_full_and_each_later_one_a_quarter() {
        let layers = layers();
        let mut target = target([0.0; 4]);
        // The second feature cannot move, so it comes last.
        let score = |target: &Target, gradient: [f64; 4]| {
            let place = target.place(&layers);
            assert_eq!(
                (place.order.as_slice(), place.moving),
                (&[0, 2, 3, 1][..], 3)
            );
            place.score(&gradient, &mut Vec::new())
        };
        // Features 0 and 1 have 4 and 3, the others 2 and 1: swaps of 3 with 2 and of 4 with 1, of a sum of 10.
        let found = score(&target, [-4.0, 2.0, 1.0, -3.0]);
        assert_eq!(found.kept, 2);
        assert!(
            (found.gap - (0.1 + 0.25 * 0.3)).abs() < 1e-12,
            "{}",
            found.gap
        );
        // Signed, feature 1 has lost its place to feature 2, and feature 0 is before feature 3.
        target.is_absolute = false;
        let found = score(&target, [4.0, 2.0, 1.0, -3.0]);
        assert_eq!(found.kept, 1);
        assert!((found.gap - 0.3).abs() < 1e-12, "{}", found.gap);
    }

    #[test]
    fn the_importance_is_of_the_logit_of_the_margin_or_of_the_loss() {
        let layers = Layers(vec![
            dense(1, &[1.0], &[1.0]),
            dense(1, &[0.0, 0.0, 3.0_f64.ln()], &[0.0; 3]),
        ]);
        let seed = |of: Of, class: usize| {
            let target = Target {
                x: vec![0.0],
                bounds: vec![(-9.0, 9.0)],
                of,
                class,
                ..target([0.0; 4])
            };
            let place = target.place(&layers);
            let mut region = place.start();
            // The third logit is ln 3 at the row, and ln 9 at 1.
            let here = place.seed(&region);
            region.nearest = vec![1.0];
            [here, place.seed(&region)]
        };
        for seed in seed(Of::Logit, 1) {
            assert_close(&seed, &[0.0, 1.0, 0.0]);
        }
        let [here, there] = seed(Of::Probability, 0);
        assert_close(&here, &[1.0, -0.25, -0.75]);
        assert_close(&there, &[1.0, -0.1, -0.9]);
        let [here, there] = seed(Of::Loss, 2);
        assert_close(&here, &[0.5, 0.5, -1.0]);
        assert_close(&there, &[0.5, 0.5, -1.0]);
    }

    #[test]
    fn of_two_classes_the_other_counts_as_much_the_other_way() {
        let layers = two_gates();
        let seed = |of: Of, class: usize| {
            let target = Target {
                class,
                of,
                ..plain(2.0)
            };
            let place = target.place(&layers);
            place.seed(&place.start())
        };
        assert_close(&seed(Of::Probability, 0), &[1.0, -1.0]);
        assert_close(&seed(Of::Probability, 1), &[-1.0, 1.0]);
        assert_close(&seed(Of::Loss, 0), &[-1.0, 1.0]);
        assert_close(&seed(Of::Logit, 1), &[0.0, 1.0]);
    }

    #[test]
    fn a_region_is_met_just_beyond_its_kink() {
        let layers = two_gates();
        let meet = |target: &Target| {
            let place = target.place(&layers);
            let region = place.cross(&place.start(), 0);
            region.map(|region| place.point(&region))
        };
        // A share of 2e-5 of the radius beyond the kink at 1.
        let found = meet(&plain(2.0)).unwrap();
        assert!((found[0] - 1.000_04).abs() < 1e-7, "{found:?}");
        assert!(found[1].abs() < 1e-12, "{found:?}");
        // The class holds from 3 x0 + x1 = 4 on, which is nearest at (1.2, 0.4), 1.26 away.
        let holding = |radius: f64| Target {
            holds: true,
            ..plain(radius)
        };
        let found = meet(&holding(1.3)).unwrap();
        assert!(
            (found[0] - 1.2).abs() < 1e-3 && (found[1] - 0.4).abs() < 1e-3,
            "{found:?}"
        );
        assert!(found[1] - 1.0 + 3.0 * (found[0] - 1.0) > 0.0, "{found:?}");
        assert!(meet(&holding(1.26)).is_none());
        assert!(meet(&plain(0.99)).is_none());
    }

    #[test]
    fn bounds_turn_the_way_to_a_kink() {
        // The gate `x0 + x1 - 1`, reached at (1/2, 1/2) where both are free.
        let layers = Layers(vec![
            dense(2, &[1.0, 1.0], &[-1.0]),
            dense(1, &[1.0, 0.0], &[0.0; 2]),
        ]);
        let meet = |bounds: [(f64, f64); 2]| {
            let target = Target {
                bounds: bounds.to_vec(),
                ..plain(1.0)
            };
            let place = target.place(&layers);
            let region = place.cross(&place.start(), 0);
            region.map(|region| place.point(&region))
        };
        let near = |found: Option<Vec<f64>>, expected: [f64; 2]| {
            let found = found.unwrap();
            let moves = found.iter().zip(expected);
            assert!(
                moves.into_iter().all(|(a, b)| (a - b).abs() < 1e-3),
                "{found:?}"
            );
        };
        near(meet([(-9.0, 9.0), (-9.0, 9.0)]), [0.5, 0.5]);
        near(meet([(-9.0, 0.25), (-9.0, 9.0)]), [0.25, 0.75]);
        near(meet([(-9.0, 9.0), (0.0, 0.25)]), [0.75, 0.25]);
        assert!(meet([(-9.0, 0.25), (-9.0, 0.25)]).is_none());
        assert!(meet([(0.0, 0.0), (-9.0, 0.9)]).is_none());
    }

    #[test]
    fn margins_are_of_the_class_over_every_other() {
        let layers = Layers(vec![
            dense(2, &[1.0, 0.0, 0.0, 1.0], &[1.0, 1.0]),
            dense(2, &[1.0, 2.0, 5.0, 3.0, 0.0, 1.0], &[0.5, 0.0, 0.0]),
        ]);
        let mut target = Target {
            class: 1,
            holds: true,
            ..plain(2.0)
        };
        {
            let place = target.place(&layers);
            let margins = place.margins(&place.start());
            let [(first, to_first, ahead), (last, to_last, before)] = margins.as_slice() else {
                panic!("two others");
            };
            // Logits 3.5, 8 and 1.
            assert_eq!((*first, *last), (0, 2));
            assert_close(to_first, &[4.0, 1.0]);
            assert_close(to_last, &[5.0, 2.0]);
            assert_close(&[*ahead, *before], &[4.5, 7.0]);
        }
        target.holds = false;
        let place = target.place(&layers);
        assert!(place.margins(&place.start()).is_empty());
    }

    #[test]
    fn a_gate_is_found_in_its_layer() {
        let layers = layers();
        let target = target([0.0; 4]);
        let place = target.place(&layers);
        let found = [0, 5, 6, 10, 11, 15].map(|gate| place.locate(gate));
        assert_eq!(found, [(0, 0), (0, 5), (1, 0), (1, 4), (2, 0), (2, 4)]);
    }

    #[test]
    fn how_steep_a_gate_or_a_margin_is_does_not_matter() {
        // As above, with a gate four times as steep and a margin eight times.
        let layers = Layers(vec![
            dense(2, &[4.0, 0.0, 0.0, 1.0], &[-4.0, 5.0]),
            dense(2, &[0.0, 8.0, 0.0, 0.0], &[-48.0, 0.0]),
        ]);
        let target = Target {
            holds: true,
            ..plain(2.0)
        };
        let place = target.place(&layers);
        let region = place.cross(&place.start(), 0).unwrap();
        for value in place.point(&region) {
            assert!((value - 1.000_04).abs() < 1e-6, "{value}");
        }
    }
}
