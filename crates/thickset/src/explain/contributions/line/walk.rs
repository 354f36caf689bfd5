//! A walk from the reference to a row, kink by kink.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::mem::swap;
use std::ops::Range;

use super::Lines;
use super::front::Crossing;
use super::layer::Layer;
use crate::certify::vector::{add_scaled, dot};

/// Where the gradient jumps.
enum Kink {
    /// A gate opens or closes.
    Gate {
        /// `t p / |s|`.
        weight: f64,
        /// The unit, where it is of the first hidden layer; else the next of the walk's normals is its own.
        first_unit: Option<usize>,
    },
    /// A feature comes to another of its pieces; the gradient in it jumps by so much, were it to rise there.
    Piece { crossing: Crossing, jump: f64 },
}

/// Room for a walk, and what the latest one came to.
#[derive(Default)]
pub(crate) struct Walk {
    /// Whether kinks are kept, which only gradients need.
    pub(crate) keeps_kinks: bool,
    /// `x - b`.
    pub(super) way: Vec<f64>,
    /// Of each feature.
    pub(super) mean_gradient: Vec<f64>,
    layers: Vec<Layer>,
    /// The adjoint at the first hidden layer, closed gates as zero, integrated over t up to `settled`.
    integral: Vec<f64>,
    settled: Vec<f64>,
    /// Where features come to other pieces, in the order of t.
    crossings: Vec<Crossing>,
    kinks: Vec<Kink>,
    /// Gradients of the values that reach zero in later layers, as weights of the first hidden layer's values.
    normals: Vec<f64>,
    /// Room for what is pushed through a layer, and for what comes out of it.
    pushed: [Vec<f64>; 2],
    moved: Vec<f64>,
    bent: Vec<f64>,
}

impl Walk {
    /// Walks to x for the score of a class.
    #[inline(always)]
    pub(super) fn run(&mut self, lines: &Lines, x: &[f64], class: usize) {
        self.way.clear();
        let way = x.iter().zip(&lines.reference);
        self.way.extend(way.map(|(x, reference)| x - reference));
        self.kinks.clear();
        self.normals.clear();
        self.mean_gradient.clear();
        if lines.values.is_empty() {
            self.mean_gradient
                .extend_from_slice(&lines.adjoints[class][0]);
            return;
        }
        self.mean_gradient.resize(x.len(), 0.0);
        self.cross(lines);
        self.start(lines, class);
        let mut crossing = 0;
        loop {
            let gate = self.next();
            match (self.crossings.get(crossing).copied(), gate) {
                (Some(next), Some((_, _, at))) if next.at <= at => {
                    self.change_piece(lines, next);
                    crossing += 1;
                }
                (Some(next), None) => {
                    self.change_piece(lines, next);
                    crossing += 1;
                }
                (_, Some((layer, unit, at))) => self.pass(lines, (layer, unit), at),
                (None, None) => break,
            }
        }
        self.settle(0..lines.front.width, 1.0);
        for (feature, way) in self.way.iter().enumerate() {
            if *way != 0.0 {
                let slopes = lines.front.slopes_to(feature, x[feature], *way);
                self.mean_gradient[feature] += dot(slopes, &self.integral);
            }
        }
    }

    /// Finds where features come to other pieces.
    #[inline(always)]
    fn cross(&mut self, lines: &Lines) {
        self.crossings.clear();
        for (feature, (way, from)) in self.way.iter().zip(&lines.reference).enumerate() {
            if *way != 0.0 {
                lines.front.cross(feature, *from, *way, &mut self.crossings);
            }
        }
        let in_order = |a: &Crossing, b: &Crossing| {
            let by_feature = a.feature.cmp(&b.feature);
            a.at.total_cmp(&b.at).then(by_feature)
        };
        self.crossings.sort_by(in_order);
    }

    #[inline(always)]
    fn start(&mut self, lines: &Lines, class: usize) {
        for numbers in [&mut self.integral, &mut self.settled] {
            numbers.clear();
            numbers.resize(lines.front.width, 0.0);
        }
        self.layers.resize_with(lines.values.len(), Layer::default);
        let start = lines.values.iter().zip(&lines.adjoints[class]);
        for (layer, (values, adjoints)) in self.layers.iter_mut().zip(start) {
            layer.start(values, adjoints);
        }
        let mut slopes = std::mem::take(&mut self.pushed[0]);
        slopes.clear();
        slopes.resize(lines.front.width, 0.0);
        for (feature, (way, from)) in self.way.iter().zip(&lines.reference).enumerate() {
            if *way != 0.0 {
                let from = lines.front.slopes_from(feature, *from, *way);
                add_scaled(&mut slopes, *way, from);
            }
        }
        self.pushed[0] = slopes;
        self.bend(lines, 0, 0.0);
    }

    /// The slopes of a layer change at t by what is in `pushed[0]`, and with them all slopes above.
    #[inline(always)]
    fn bend(&mut self, lines: &Lines, place: usize, at: f64) {
        let [changes, above] = &mut self.pushed;
        for (place, layer) in self.layers.iter_mut().enumerate().skip(place) {
            layer.bend(changes, at);
            let Some(next) = lines.later.get(place) else {
                return;
            };
            above.clear();
            above.resize(next.columns.width, 0.0);
            for (unit, change) in changes.iter().enumerate() {
                if layer.is_open(unit) {
                    add_scaled(above, *change, next.columns.row(unit));
                }
            }
            swap(changes, above);
        }
    }

    /// The layer, the unit and the place of the next gate; none if no more opens or closes.
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

    /// A feature comes to another piece: what it adds from here on, and all slopes, change.
    #[inline(always)]
    fn change_piece(&mut self, lines: &Lines, crossing: Crossing) {
        self.settle(0..lines.front.width, crossing.at);
        let rise = lines.front.rise(&crossing);
        let feature = crossing.feature;
        // The integral so far belongs to the slopes so far; at the end it is multiplied by the last ones.
        self.mean_gradient[feature] -= crossing.sign() * dot(rise, &self.integral);
        let first = &self.layers[0];
        if self.keeps_kinks {
            let behind = rise.iter().zip(&first.adjoints).zip(first.open());
            let jump = behind.map(
                |((rise, adjoint), open)| {
                    if *open > 0.0 { rise * adjoint } else { 0.0 }
                },
            );
            self.kinks.push(Kink::Piece {
                crossing,
                jump: jump.sum(),
            });
        }
        let factor = crossing.sign() * self.way[feature];
        let changes = &mut self.pushed[0];
        changes.clear();
        changes.extend(rise.iter().map(|rise| factor * rise));
        self.bend(lines, 0, crossing.at);
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
            self.kinks.push(Kink::Gate {
                weight: at * adjoint / slope.abs(),
                first_unit: (place == 0).then_some(unit),
            });
        }
        if let Some(next) = lines.later.get(place) {
            let change = sign * slope;
            let changes = &mut self.pushed[0];
            changes.clear();
            let weights = next.columns.row(unit).iter();
            changes.extend(weights.map(|weight| change * weight));
            self.bend(lines, place + 1, at);
        }
        if place > 0 {
            self.push_down(lines, (place, unit), sign * adjoint, at);
        }
    }

    /// An adjoint behind a gate changed: so do all adjoints below.
    #[inline(always)]
    fn push_down(&mut self, lines: &Lines, (place, unit): (usize, usize), change: f64, at: f64) {
        let [mut weights, mut lower] = std::mem::take(&mut self.pushed);
        weights.clear();
        weights.extend_from_slice(lines.later[place - 1].rows.row(unit));
        for below in (0..place).rev() {
            if below == 0 {
                self.settle(0..weights.len(), at);
            }
            add_scaled(&mut self.layers[below].adjoints, change, &weights);
            if below > 0 {
                let rows = &lines.later[below - 1].rows;
                self.layers[below].pull_down(rows, &weights, &mut lower);
                swap(&mut weights, &mut lower);
            }
        }
        if self.keeps_kinks {
            let open = self.layers[0].open().iter();
            let normal = weights.iter().zip(open);
            self.normals
                .extend(normal.map(|(weight, open)| if *open > 0.0 { *weight } else { 0.0 }));
        }
        self.pushed = [weights, lower];
    }

    /// The gradient in x of the contributions, each times its weight.
    #[inline(always)]
    pub(super) fn gradient(&mut self, lines: &Lines, weights: &[f64], out: &mut [f64]) {
        let hidden = lines.front.width;
        for numbers in [&mut self.moved, &mut self.bent] {
            numbers.clear();
            numbers.resize(hidden, 0.0);
        }
        for (out, (weight, mean)) in out.iter_mut().zip(weights.iter().zip(&self.mean_gradient)) {
            *out = weight * mean;
        }
        if hidden == 0 {
            return;
        }
        for (feature, way) in self.way.iter().enumerate() {
            if *way != 0.0 {
                let from = lines.reference[feature];
                let slopes = lines.front.slopes_from(feature, from, *way);
                add_scaled(&mut self.moved, weights[feature] * way, slopes);
            }
        }
        let mut normals = self.normals.chunks(hidden);
        for kink in &self.kinks {
            match kink {
                Kink::Gate {
                    weight,
                    first_unit: Some(unit),
                } => self.bent[*unit] += weight * self.moved[*unit],
                Kink::Gate { weight, .. } => {
                    if let Some(normal) = normals.next() {
                        let along = dot(normal, &self.moved);
                        add_scaled(&mut self.bent, weight * along, normal);
                    }
                }
                Kink::Piece { crossing, jump } => {
                    let (feature, sign) = (crossing.feature, crossing.sign());
                    let rise = lines.front.rise(crossing);
                    let bent = dot(rise, &self.bent);
                    // The kink itself moves along the way too.
                    out[feature] += sign * (weights[feature] * crossing.at * jump - bent);
                    let factor = sign * weights[feature] * self.way[feature];
                    add_scaled(&mut self.moved, factor, rise);
                }
            }
        }
        for (feature, (out, way)) in out.iter_mut().zip(&self.way).enumerate() {
            // A feature that stands where the reference does moves as one that leaves it upwards.
            let x = lines.reference[feature] + way;
            let slopes = if *way == 0.0 {
                lines.front.slopes_from(feature, x, 1.0)
            } else {
                lines.front.slopes_to(feature, x, *way)
            };
            *out += dot(slopes, &self.bent);
        }
    }
}
