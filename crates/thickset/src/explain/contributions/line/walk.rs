//! A walk from the reference to a row, kink by kink.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::mem::swap;
use std::ops::Range;

use super::Lines;
use super::layer::Layer;
use super::matrix::{add_scaled, dot};

/// A gate that opened or closed.
struct Kink {
    /// `t p / |s|`.
    weight: f64,
    /// The unit, where it is of the first hidden layer; else the next of the walk's normals is its own.
    first_unit: Option<usize>,
}

/// Room for a walk, and what the latest one came to.
#[derive(Default)]
pub(crate) struct Walk {
    /// Whether kinks are kept, which only gradients need.
    pub(in crate::explain) keeps_kinks: bool,
    /// `x - b`.
    pub(super) way: Vec<f64>,
    layers: Vec<Layer>,
    /// The adjoint at the first hidden layer, closed gates as zero, integrated over t up to `settled`.
    integral: Vec<f64>,
    settled: Vec<f64>,
    kinks: Vec<Kink>,
    /// Gradients of the values that reach zero in later layers, as weights of the first hidden layer's values.
    normals: Vec<f64>,
    /// Room for what is pushed through a layer, and for what comes out of it.
    pushed: [Vec<f64>; 2],
    moved: Vec<f64>,
    bent: Vec<f64>,
}

impl Walk {
    #[inline(always)]
    pub(super) fn mean_gradient(&self, lines: &Lines, class: usize, feature: usize) -> f64 {
        if lines.values.is_empty() {
            lines.adjoints[class][0][feature]
        } else {
            lines.first.dot(feature, &self.integral)
        }
    }

    /// Walks to x for the score of a class.
    #[inline(always)]
    pub(super) fn run(&mut self, lines: &Lines, x: &[f64], class: usize) {
        self.way.clear();
        let way = x.iter().zip(&lines.reference);
        self.way.extend(way.map(|(x, reference)| x - reference));
        self.kinks.clear();
        self.normals.clear();
        if lines.values.is_empty() {
            return;
        }
        self.start(lines, class);
        while let Some((layer, unit, at)) = self.next() {
            self.pass(lines, (layer, unit), at);
        }
        self.settle(0..lines.first.width, 1.0);
    }

    #[inline(always)]
    fn start(&mut self, lines: &Lines, class: usize) {
        for numbers in [&mut self.integral, &mut self.settled] {
            numbers.clear();
            numbers.resize(lines.first.width, 0.0);
        }
        self.layers.resize_with(lines.values.len(), Layer::default);
        let start = lines.values.iter().zip(&lines.adjoints[class]);
        for (layer, (values, adjoints)) in self.layers.iter_mut().zip(start) {
            layer.start(values, adjoints);
        }
        let [slopes, above] = &mut self.pushed;
        slopes.clear();
        slopes.resize(lines.first.width, 0.0);
        for (feature, way) in self.way.iter().enumerate() {
            lines.first.add(feature, *way, slopes);
        }
        let later = lines.later.iter().map(Some).chain([None]);
        for (layer, next) in self.layers.iter_mut().zip(later) {
            layer.bend(0..layer.units(), slopes, 0.0);
            if let Some(next) = next {
                above.clear();
                above.resize(next.columns.width, 0.0);
                for (unit, slope) in slopes.iter().enumerate() {
                    if layer.is_open(unit) {
                        next.columns.add(unit, *slope, above);
                    }
                }
                swap(slopes, above);
            }
        }
    }

    /// The layer, the unit and the place of the next kink; none if the rest of the way is straight.
    #[inline(always)]
    fn next(&mut self) -> Option<(usize, usize, f64)> {
        let (mut end, mut next) = (1.0, None);
        for (place, layer) in self.layers.iter_mut().enumerate() {
            let (at, unit) = layer.next();
            if at < end {
                end = at;
                next = Some((place, unit, at));
            }
        }
        next
    }

    /// Integrates the adjoints of these units of the first layer up to t.
    #[inline(always)]
    fn settle(&mut self, units: Range<usize>, at: f64) {
        let count = units.len();
        let open = &self.layers[0].open()[units.clone()][..count];
        let adjoints = &self.layers[0].adjoints[units.clone()][..count];
        let integral = &mut self.integral[units.clone()][..count];
        let settled = &mut self.settled[units][..count];
        for unit in 0..count {
            // Closed gates add nothing; without a branch, so that several go at once.
            let length = if open[unit] > 0.0 {
                at - settled[unit]
            } else {
                0.0
            };
            integral[unit] += length * adjoints[unit];
            settled[unit] = at;
        }
    }

    /// Opens or closes a gate at t.
    #[inline(always)]
    fn pass(&mut self, lines: &Lines, (place, unit): (usize, usize), at: f64) {
        if place == 0 {
            self.settle(unit..unit + 1, at);
        }
        let layer = &mut self.layers[place];
        let (slope, adjoint) = (layer.slopes[unit], layer.adjoints[unit]);
        let sign = if layer.flip(unit, at) { 1.0 } else { -1.0 };
        if self.keeps_kinks {
            self.kinks.push(Kink {
                weight: at * adjoint / slope.abs(),
                first_unit: (place == 0).then_some(unit),
            });
        }
        self.push_up(lines, (place, unit), sign * slope, at);
        if place > 0 {
            self.push_down(lines, (place, unit), sign * adjoint, at);
        }
    }

    /// A slope behind a gate changed: so do all slopes above.
    #[inline(always)]
    fn push_up(&mut self, lines: &Lines, from: (usize, usize), change: f64, at: f64) {
        let (mut place, mut unit) = from;
        let mut change = change;
        let [changes, higher] = &mut self.pushed;
        loop {
            let Some(layer) = lines.later.get(place) else {
                return;
            };
            let units = layer.columns.span(unit);
            changes.clear();
            changes.extend(layer.columns.row(unit).iter().map(|weight| change * weight));
            let next = &mut self.layers[place + 1];
            next.bend(units.clone(), changes, at);
            if units.len() != 1 {
                break;
            }
            // Its one reader alone passes it on.
            if !next.is_open(units.start) {
                return;
            }
            change = changes[units.start];
            (place, unit) = (place + 1, units.start);
        }
        let (Some(twice), Some(above)) = (
            lines
                .later
                .get(place)
                .and_then(|layer| layer.twice.as_ref()),
            lines.later.get(place + 1),
        ) else {
            return;
        };
        higher.clear();
        higher.extend(twice.columns.row(unit).iter().map(|weight| change * weight));
        for (unit, sign) in self.layers[place + 1].flipped() {
            above.columns.add(unit, sign * changes[unit], higher);
        }
        swap(changes, higher);
        for place in place + 2..self.layers.len() {
            let layer = &mut self.layers[place];
            layer.bend(0..changes.len(), changes, at);
            let Some(next) = lines.later.get(place) else {
                return;
            };
            higher.clear();
            higher.resize(next.columns.width, 0.0);
            for (unit, change) in changes.iter().enumerate() {
                if layer.is_open(unit) {
                    next.columns.add(unit, *change, higher);
                }
            }
            swap(changes, higher);
        }
    }

    /// An adjoint behind a gate changed: so do all adjoints below.
    #[inline(always)]
    fn push_down(&mut self, lines: &Lines, (place, unit): (usize, usize), change: f64, at: f64) {
        let [mut weights, mut lower] = std::mem::take(&mut self.pushed);
        let layer = &lines.later[place - 1];
        weights.clear();
        weights.extend_from_slice(layer.rows.row(unit));
        self.add_adjoints(place - 1, layer.rows.span(unit), (change, &weights), at);
        if place > 1 {
            let below = &lines.later[place - 2];
            let gates = &self.layers[place - 1];
            lower.clear();
            match &below.twice {
                Some(twice) => {
                    lower.extend_from_slice(twice.rows.row(unit));
                    for (unit, sign) in gates.flipped() {
                        below.rows.add(unit, sign * weights[unit], &mut lower);
                    }
                }
                None => gates.pull_down(&below.rows, &weights, &mut lower),
            }
            swap(&mut weights, &mut lower);
            self.add_adjoints(place - 2, 0..weights.len(), (change, &weights), at);
        }
        for below in (0..place.saturating_sub(2)).rev() {
            self.layers[below + 1].pull_down(&lines.later[below].rows, &weights, &mut lower);
            swap(&mut weights, &mut lower);
            self.add_adjoints(below, 0..weights.len(), (change, &weights), at);
        }
        if self.keeps_kinks {
            let first = &self.layers[0];
            let open = |(unit, weight): (usize, &f64)| {
                if first.is_open(unit) { *weight } else { 0.0 }
            };
            self.normals.extend(weights.iter().enumerate().map(open));
        }
        self.pushed = [weights, lower];
    }

    /// Adds a multiple to the adjoints of these units of a layer at t.
    #[inline(always)]
    fn add_adjoints(
        &mut self,
        place: usize,
        units: Range<usize>,
        (factor, weights): (f64, &[f64]),
        at: f64,
    ) {
        if place == 0 {
            self.settle(units.clone(), at);
        }
        let adjoints = &mut self.layers[place].adjoints[units.clone()];
        add_scaled(adjoints, factor, &weights[units]);
    }

    /// The gradient in x of the contributions to the score of a class, each times its weight.
    #[inline(always)]
    pub(super) fn gradient(
        &mut self,
        lines: &Lines,
        class: usize,
        weights: &[f64],
        out: &mut [f64],
    ) {
        let hidden = lines.first.width;
        for numbers in [&mut self.moved, &mut self.bent] {
            numbers.clear();
            numbers.resize(hidden, 0.0);
        }
        if hidden > 0 {
            for (feature, (weight, way)) in weights.iter().zip(&self.way).enumerate() {
                lines.first.add(feature, weight * way, &mut self.moved);
            }
        }
        let mut normals = self.normals.chunks(hidden.max(1));
        for kink in &self.kinks {
            match kink.first_unit {
                Some(unit) => self.bent[unit] += kink.weight * self.moved[unit],
                None => {
                    if let Some(normal) = normals.next() {
                        let along = dot(normal, &self.moved);
                        add_scaled(&mut self.bent, kink.weight * along, normal);
                    }
                }
            }
        }
        for (feature, (out, weight)) in out.iter_mut().zip(weights).enumerate() {
            let straight = weight * self.mean_gradient(lines, class, feature);
            let bent = if hidden > 0 {
                lines.first.dot(feature, &self.bent)
            } else {
                0.0
            };
            *out = straight + bent;
        }
    }
}
