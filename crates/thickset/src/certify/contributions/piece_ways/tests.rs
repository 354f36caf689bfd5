//! Bounds behind pieces: by hand, against those without pieces, and against contributions of moves.

use super::super::super::rounding::Arithmetic;
use super::super::MoveNorm;
use super::super::ways::Ways;
use super::*;
use crate::{Seed, Stream};

/// Features are passed on this far above zero.
const ABOVE: f64 = 50.0;

fn layer(inputs: usize, outputs: usize, number: impl FnMut() -> f64) -> DenseLayer {
    let mut numbers = std::iter::repeat_with(number);
    DenseLayer {
        weight: numbers.by_ref().take(inputs * outputs).collect(),
        bias: numbers.take(outputs).collect(),
        inputs,
    }
}

fn identity(size: usize, bias: f64) -> DenseLayer {
    DenseLayer {
        weight: (0..size * size)
            .map(|place| f64::from(u8::from(place % (size + 1) == 0)))
            .collect(),
        bias: vec![bias; size],
        inputs: size,
    }
}

#[test]
fn behind_layers_that_pass_features_on_the_bounds_are_those_of_the_network_alone() {
    for (case, hidden) in [&[6][..], &[7, 5]].into_iter().enumerate() {
        let mut stream = Seed::new(6).stream_at("layers", case as u64);
        let mut widths = vec![4];
        widths.extend(hidden);
        widths.push(2);
        let mut layers: Vec<DenseLayer> = widths
            .windows(2)
            .map(|pair| layer(pair[0], pair[1], || stream.normal()))
            .collect();
        let head = layers.pop().unwrap();
        let plain = DenseNetwork {
            hidden: layers.clone(),
            head: head.clone(),
            arithmetic: Arithmetic::SINGLE,
        };
        // Raised by 50 and passed on; the layer behind takes it off again.
        let sums: Vec<f64> = layers[0].rows().map(|row| row.iter().sum()).collect();
        for (bias, sum) in layers[0].bias.iter_mut().zip(sums) {
            *bias -= ABOVE * sum;
        }
        layers.splice(0..0, [identity(4, ABOVE), identity(4, 0.0)]);
        let raised = DenseNetwork {
            hidden: layers,
            head,
            arithmetic: Arithmetic::SINGLE,
        };
        let groups: Vec<Vec<usize>> = vec![vec![0], vec![1, 2], vec![3]];
        let (reference, x) = ([0.1, -0.4, 0.3, 0.0], [1.0, 0.5, -0.7, 0.9]);
        let ways = Ways::new(&plain, &groups, &reference, 1).unwrap();
        let pieces = PieceWays::new(&raised, &groups, &reference, 1).unwrap();
        for norm in [MoveNorm::L2, MoveNorm::Linf] {
            for radius in [0.01, 0.1, 0.4] {
                let (low, high) = ([-1.0, -0.05, -1.0, 0.0], [1.0, 1.0, 0.2, 0.0]);
                let set = MoveSet {
                    x: &x,
                    norm,
                    radius,
                    low: &low,
                    high: &high,
                };
                let (known, found) = (ways.bound(&set), pieces.bound(&set));
                for (ahead, behind) in [(0, 1), (1, 2), (2, 0)] {
                    let (known, found) = (known.least(ahead, behind), found.least(ahead, behind));
                    assert!((known - found).abs() < 1e-5, "{known} {found}");
                }
            }
        }
    }
}

/// The first feature counts above 1 alone, the second as it is; one neuron, always open, adds them up.
fn one_kink() -> DenseNetwork {
    let rows = |weight: &[f64], bias: &[f64]| DenseLayer {
        weight: weight.to_vec(),
        bias: bias.to_vec(),
        inputs: weight.len() / bias.len(),
    };
    DenseNetwork {
        hidden: vec![
            rows(&[1.0, 0.0, 0.0, 1.0], &[-1.0, 10.0]),
            identity(2, 0.0),
            rows(&[1.0, 1.0], &[5.0]),
        ],
        head: rows(&[-0.5, 0.5], &[0.0, 0.0]),
        arithmetic: Arithmetic::SINGLE,
    }
}

#[test]
fn a_kink_on_the_way_by_hand() {
    // One feature of slope 0 below 1 and 1 above it, one neuron that is always open, another feature of slope 1: from 0 to 2, the first
    // contributes 1 whatever a move of up to 0.5 does but for the move itself, the second 2 and its move.
    let network = one_kink();
    let groups = vec![vec![0], vec![1]];
    let pieces = PieceWays::new(&network, &groups, &[0.0, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::Linf,
        radius: 0.1,
        low: &[-0.1, -0.1],
        high: &[0.1, 0.1],
    };
    // Exactly 2 - 1 less 0.1 for each.
    let least = pieces.bound(&set).least(1, 0);
    assert!(least <= 0.8 + 1e-9 && least > 0.8 - 1e-5, "{least}");
    let still = MoveSet {
        low: &[0.0, 0.0],
        high: &[0.0, 0.0],
        ..set
    };
    let least = pieces.bound(&still).least(1, 0);
    assert!((least - 1.0).abs() < 1e-5, "{least}");
}

#[test]
fn how_far_a_kink_bends_a_neuron_off_its_line_by_hand() {
    // On the way from 0 to 2 the first feature adds 0 up to 1 and then its rest: half way it is 0, on the line between both ends a half.
    let network = one_kink();
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[0.0, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::L2,
        radius: 0.0,
        low: &[0.0, 0.0],
        high: &[0.0, 0.0],
    };
    let timed = Timed::new(&ways, &set);
    let bent = |from: f64, to: f64| timed.bent(&ways.pieces.slopes, 1, from, to)[0];
    assert!((bent(0.0, 1.0) - 0.5).abs() < 1e-9);
    assert!(bent(0.0, 0.4).abs() < 1e-12 && bent(0.6, 1.0).abs() < 1e-12);
    let at = |t: f64| timed.first_at(t).middle[0];
    let apart = f64::midpoint(at(0.0), at(1.0)) - at(0.5);
    assert!((apart - 0.5).abs() < 1e-9, "{apart}");
}

/// The contributions of the features along the way, piece by piece: where the gates at both ends and in the middle are the same, the gradient is.
struct Walk<'a> {
    network: &'a DenseNetwork,
    score: &'a [f64],
    from: &'a [f64],
    to: &'a [f64],
}

impl Walk<'_> {
    fn gates(&self, t: f64) -> Vec<Vec<bool>> {
        let ends = self.from.iter().zip(self.to);
        let point: Vec<f64> = ends.map(|(from, to)| from + t * (to - from)).collect();
        self.network.run(&point).1
    }

    fn add(&self, start: f64, end: f64, halvings: usize, sum: &mut [f64]) {
        let middle = f64::midpoint(start, end);
        let gates = self.gates(middle);
        let is_one = halvings == 0
            || [start + BESIDE_ENDS, end - BESIDE_ENDS]
                .iter()
                .all(|t| self.gates(*t) == gates);
        if is_one {
            let gradient = self.network.gradient(self.score, &gates);
            add_scaled(sum, end - start, &gradient);
        } else {
            self.add(start, middle, halvings - 1, sum);
            self.add(middle, end, halvings - 1, sum);
        }
    }

    fn contributions(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.from.len()];
        for part in 0..32 {
            let start = f64::from(part) / 32.0;
            self.add(start, start + 1.0 / 32.0, 22, &mut mean);
        }
        let ways = self.to.iter().zip(self.from);
        let ways = ways.map(|(to, from)| to - from);
        mean.iter()
            .zip(ways)
            .map(|(mean, way)| mean * way)
            .collect()
    }
}

/// How far inside of a time its ends are looked at.
const BESIDE_ENDS: f64 = 1e-9;

/// Each feature passed on, and two bins of it.
fn bins(features: usize, stream: &mut Stream) -> [DenseLayer; 2] {
    let units = 3 * features;
    let mut first = DenseLayer {
        weight: vec![0.0; units * features],
        bias: vec![0.0; units],
        inputs: features,
    };
    let mut second = DenseLayer {
        weight: vec![0.0; units * units],
        bias: vec![0.0; units],
        inputs: units,
    };
    for feature in 0..features {
        let (left, width) = (stream.uniform() - 0.5, 0.3 + 0.5 * stream.uniform());
        let units_of = [
            (1.0, -3.0),
            (1.0 / width, left),
            (1.0 / width, left + width),
        ];
        for (place, (slope, left)) in units_of.into_iter().enumerate() {
            let unit = 3 * feature + place;
            first.weight[unit * features + feature] = slope;
            first.bias[unit] = -slope * left;
            let passes = place == 0;
            second.weight[unit * units + unit] = if passes { 1.0 } else { -1.0 };
            second.bias[unit] = if passes { 0.0 } else { 1.0 };
        }
    }
    [first, second]
}

#[test]
fn no_move_is_below_the_bound() {
    const FEATURES: usize = 4;
    for case in 0..40_u64 {
        let mut stream = Seed::new(9).stream_at("pieces", case);
        let mut hidden = bins(FEATURES, &mut stream).to_vec();
        hidden.push(layer(3 * FEATURES, 6, || stream.normal()));
        if case % 3 != 0 {
            hidden.push(layer(6, 4, || stream.normal()));
        }
        let last = hidden.last().map_or(0, DenseLayer::outputs);
        let head = layer(last, 2, || stream.normal());
        let score: Vec<f64> = (0..last)
            .map(|one| head.row(1)[one] - head.row(0)[one])
            .collect();
        let network = DenseNetwork {
            hidden,
            head,
            arithmetic: Arithmetic::DOUBLE,
        };
        let groups = if case % 4 == 3 {
            vec![vec![0, 1], vec![2], vec![3]]
        } else {
            (0..FEATURES).map(|feature| vec![feature]).collect()
        };
        let mut drawn = || -> Vec<f64> { (0..FEATURES).map(|_| stream.normal()).collect() };
        let (reference, x) = (drawn(), drawn());
        let ways = PieceWays::new(&network, &groups, &reference, 1).unwrap();
        for (norm, radius) in [
            (MoveNorm::L2, 0.01),
            (MoveNorm::L2, 0.2),
            (MoveNorm::Linf, 0.01),
            (MoveNorm::Linf, 0.1),
        ] {
            let stays = |feature: usize| feature == 3 && case % 5 == 0;
            let limit = |feature: usize| if stays(feature) { 0.0 } else { radius };
            let low: Vec<f64> = (0..FEATURES).map(|feature| -limit(feature)).collect();
            let high: Vec<f64> = (0..FEATURES).map(limit).collect();
            let bound = ways.bound(&MoveSet {
                x: &x,
                norm,
                radius,
                low: &low,
                high: &high,
            });
            for _ in 0..6 {
                let mut d = drawn();
                let size = norm.of(&d);
                for (feature, d) in d.iter_mut().enumerate() {
                    let whole = if norm == MoveNorm::Linf {
                        d.signum()
                    } else {
                        *d / size
                    };
                    *d = (whole * radius).clamp(low[feature], high[feature]);
                }
                let moved: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + d).collect();
                let walk = Walk {
                    network: &network,
                    score: &score,
                    from: &reference,
                    to: &moved,
                };
                let all = walk.contributions();
                let of = |column: usize| groups[column].iter().map(|&one| all[one]).sum::<f64>();
                for ahead in 0..groups.len() {
                    for behind in (0..groups.len()).filter(|behind| *behind != ahead) {
                        let (gap, least) = (of(ahead) - of(behind), bound.least(ahead, behind));
                        let seen = format!("case {case}, {norm:?} {radius}: {least} {gap}");
                        assert!(least <= gap + 1e-6 * (1.0 + gap.abs()), "{seen}");
                    }
                }
            }
        }
    }
}

#[test]
fn of_a_row_that_stays_the_bounds_of_both_orders_meet() {
    // Of the way from 0 to 2 the first feature counts half, the second all: they contribute 1 and 2.
    let network = one_kink();
    let groups = vec![vec![0], vec![1]];
    let pieces = PieceWays::new(&network, &groups, &[0.0, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::L2,
        radius: 0.0,
        low: &[0.0, 0.0],
        high: &[0.0, 0.0],
    };
    let bound = pieces.bound(&set);
    let (ahead, behind) = (bound.least(1, 0), bound.least(0, 1));
    assert!(
        (ahead - 1.0).abs() < 1e-5 && (behind + 1.0).abs() < 1e-5,
        "{ahead} {behind}"
    );
}

#[test]
fn a_neuron_is_bent_by_how_much_its_slope_changes() {
    // As above, but the same feature is also added as it is: its slope changes from 1 to 2.
    let mut network = one_kink();
    network.hidden[0].weight = vec![1.0, 1.0];
    network.hidden[0].inputs = 1;
    let groups = vec![vec![0]];
    let ways = PieceWays::new(&network, &groups, &[0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0],
        norm: MoveNorm::L2,
        radius: 0.0,
        low: &[0.0],
        high: &[0.0],
    };
    let bent = Timed::new(&ways, &set).bent(&ways.pieces.slopes, 1, 0.0, 1.0)[0];
    assert!((bent - 0.5).abs() < 1e-9, "{bent}");
}

/// As [`one_kink`] with two neurons, `u + v + 5` and `-2 u + v - 1` of the first feature above 1 and the second above -10.
fn two_neurons() -> DenseNetwork {
    let one = one_kink();
    let rows = |weight: &[f64], bias: &[f64]| DenseLayer {
        weight: weight.to_vec(),
        bias: bias.to_vec(),
        inputs: 2,
    };
    DenseNetwork {
        hidden: vec![
            one.hidden[0].clone(),
            one.hidden[1].clone(),
            rows(&[1.0, 1.0, -2.0, 1.0], &[5.0, -1.0]),
        ],
        head: rows(&[-0.5, 1.0, 0.5, -1.0], &[0.0, 0.0]),
        arithmetic: Arithmetic::DOUBLE,
    }
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} {expected:?}");
    for (one, other) in found.iter().zip(expected) {
        assert!((one - other).abs() < 1e-9, "{found:?} {expected:?}");
    }
}

/// Runs something on the ways from (0.5, 0) to (2, 2), where the first feature may fall by 0.2 and rise by 0.3, the second fall by 0.1, all within 0.25.
fn with_timed<T>(norm: MoveNorm, run: impl FnOnce(&Timed<'_>) -> T) -> T {
    let network = two_neurons();
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[0.5, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm,
        radius: 0.25,
        low: &[-0.2, -0.1],
        high: &[0.3, 0.0],
    };
    run(&Timed::new(&ways, &set))
}

#[test]
fn where_neurons_can_be_at_a_time_by_hand() {
    let slope = 0.25 * 5.0_f64.sqrt();
    // Of the first neuron both slopes are 1: it falls by 0.2 and 0.1 and rises by 0.25. The second has slopes of -2 and 1: it falls by 0.5 and 0.1, or by a
    // quarter of their length, and rises by 0.4.
    for (norm, falls) in [(MoveNorm::L2, [0.3, slope]), (MoveNorm::Linf, [0.3, 0.6])] {
        with_timed(norm, |timed| {
            assert_near(&timed.way, &[1.5, 2.0]);
            assert_near(&timed.down, &[0.2, 0.1]);
            assert_near(&timed.up, &[0.25, 0.0]);
            for t in [1.0, 0.5] {
                let (fall, rise) = timed.moved(&timed.ways.pieces.slopes, 2, t);
                assert_near(&fall, &falls.map(|fall| t * fall));
                assert_near(&rise, &[t * 0.25, t * 0.4]);
            }
            let at = timed.first_at(1.0);
            assert_near(&at.middle, &[18.0, 9.0]);
            assert_near(&at.low, &[18.0 - falls[0], 9.0 - falls[1]]);
            assert_near(&at.high, &[18.25, 9.4]);
            // Half way the first feature is 1.25.
            assert_near(
                &timed.first_at(0.5).middle,
                &[0.25 + 11.0 + 5.0, -0.5 + 11.0 - 1.0],
            );
        });
    }
}

#[test]
fn what_rounding_can_do_behind_pieces_counts_all_that_is_added_up() {
    with_timed(MoveNorm::L2, |timed| {
        // Features up to 2.75 and 2.1 make units up to 3.75 and 12.1. The neurons are 15 and 9 at the reference, 18 and 9 at the row.
        let sizes = [5.0 + 3.75 + 12.1, 1.0 + 7.5 + 12.1];
        for (place, (size, ends)) in sizes.into_iter().zip([33.0, 18.0]).enumerate() {
            let expected = 1e-12 * size + 1e-9 * (ends + 1.0);
            assert!((timed.slack[place] / expected - 1.0).abs() < 1e-9);
        }
    });
}

#[test]
fn pieces_are_those_that_any_move_reaches() {
    with_timed(MoveNorm::L2, |timed| {
        let range = |from: f64, to: f64| {
            let PieceRange { first, last } = timed.pieces(0, from, to);
            (first, last)
        };
        // The kink at 1 is reached at 0.5 / 1.75 of the way at the earliest, and at 0.5 / 1.3 at the latest.
        assert_eq!(range(0.0, 0.28), (0, 0));
        assert_eq!(range(0.0, 0.29), (0, 1));
        assert_eq!(range(0.38, 1.0), (0, 1));
        assert_eq!(range(0.39, 1.0), (1, 1));
        assert!(timed.is_felt(0) && timed.is_felt(1));
        // The longest way is 1.75, and a quarter of it and of what slopes differ by bends neurons.
        let bent = timed.bent(&timed.ways.pieces.slopes, 2, 0.25, 0.75);
        assert_near(&bent, &[0.5 * 1.75 / 4.0, 2.0 * 0.5 * 1.75 / 4.0]);
        let times: Vec<f64> = timed.times().iter().map(|at| at.t).collect();
        let (first, last) = (0.5 / 1.75, 0.5 / 1.3);
        let beside = [first - BESIDE, first + BESIDE, last - BESIDE, last + BESIDE];
        assert_near(&times, &[&[0.0][..], &beside, &[1.0]].concat());
    });
}

#[test]
fn a_feature_that_stays_is_felt_where_it_passes_a_kink() {
    let network = two_neurons();
    let groups = vec![vec![0], vec![1]];
    let still = |x: &'static [f64]| MoveSet {
        x,
        norm: MoveNorm::L2,
        radius: 0.5,
        low: &[0.0; 2],
        high: &[0.0; 2],
    };
    let ways = PieceWays::new(&network, &groups, &[0.5, 0.0], 1).unwrap();
    let set = still(&[2.0, 2.0]);
    let timed = Timed::new(&ways, &set);
    assert_eq!(timed.active, [0, 1]);
    assert!(timed.is_felt(0) && !timed.is_felt(1));
    let set = still(&[0.5, 2.0]);
    let timed = Timed::new(&ways, &set);
    assert_eq!(timed.active, [1]);
}

#[test]
fn times_are_cut_where_a_gate_is_clear_of_its_kink() {
    // The second feature takes the neuron from -1 to 1.
    let mut network = two_neurons();
    network.hidden[2].bias = vec![-11.0, -90.0];
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[0.5, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[0.5, 2.0],
        norm: MoveNorm::L2,
        radius: 0.5,
        low: &[0.0; 2],
        high: &[0.0; 2],
    };
    let timed = Timed::new(&ways, &set);
    let times: Vec<f64> = timed.times().iter().map(|at| at.t).collect();
    let clear = 4.0 * timed.slack[0] / 2.0;
    assert!(clear > 5e-9);
    assert_eq!(times.len(), 4);
    for (found, expected) in times.iter().zip([0.0, 0.5 - clear, 0.5 + clear, 1.0]) {
        assert!((found - expected).abs() < 1e-12, "{times:?}");
    }
}

#[test]
fn a_neuron_alone_adds_its_score_for_as_long_as_it_is_open() {
    with_timed(MoveNorm::L2, |timed| {
        // From a half to three quarters of a time of 1/2; the scores are 1 and -2.
        let neuron = Neuron {
            low: Line {
                at_0: -1.0,
                at_1: 1.0,
            },
            high: Line {
                at_0: -1.0,
                at_1: 3.0,
            },
            slack: 0.0,
        };
        let added = timed.open_alone(&[neuron, neuron], 0.5);
        let numbers = |added: &Added| [added.integral.low, added.integral.high, added.most];
        assert_near(&numbers(&added[0]), &[0.25, 0.375, 0.375]);
        assert_near(&numbers(&added[1]), &[-0.75, -0.5, 0.75]);
    });
}

#[test]
fn between_two_times_a_neuron_is_as_far_off_as_it_is_bent() {
    let at = |t: f64, low: f64, high: f64| AtTime {
        t,
        middle: vec![0.0],
        low: vec![low],
        high: vec![high],
    };
    let of = |bent: f64| neuron((&at(0.0, 1.0, 2.0), &at(1.0, 3.0, 5.0)), 0, bent, 0.25);
    let one = of(0.5);
    let ends = [one.low.at_0, one.low.at_1, one.high.at_0, one.high.at_1];
    assert_near(&ends, &[0.5, 2.5, 2.5, 5.5]);
    assert_eq!((state(&one), state(&of(1.0))), (State::Open, State::Either));
}

#[test]
fn between_two_slopes_a_gradient_is_doubted_by_half_of_what_they_differ() {
    // As in one_kink, with a first feature that counts once below 1 and twice above it: from 0 to 2 it contributes 3, and the second 2.
    let rows = |weight: &[f64], bias: &[f64]| DenseLayer {
        weight: weight.to_vec(),
        bias: bias.to_vec(),
        inputs: weight.len() / bias.len(),
    };
    let network = DenseNetwork {
        hidden: vec![
            rows(&[1.0, 0.0, 1.0, 0.0, 0.0, 1.0], &[-1.0, 10.0, 10.0]),
            identity(3, 0.0),
            rows(&[1.0, 1.0, 1.0], &[5.0]),
        ],
        head: rows(&[-0.5, 0.5], &[0.0, 0.0]),
        arithmetic: Arithmetic::SINGLE,
    };
    let groups = vec![vec![0], vec![1]];
    let pieces = PieceWays::new(&network, &groups, &[0.0, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::Linf,
        radius: 0.1,
        low: &[-0.1, -0.1],
        high: &[0.1, 0.1],
    };
    // The kink lies between 1 / 2.1 and 1 / 1.9 of the way; exactly the lead falls to 3 - 0.2 - 2 - 0.1.
    let (first, last) = (1.0 / 2.1, 1.0 / 1.9);
    let gradient = first + 1.5 * (last - first) + 2.0 * (1.0 - last);
    let doubt = 0.5 * (last - first);
    let expected = 2.0 * gradient - 2.0 - 0.1 * (gradient + 1.0) - doubt * 2.1;
    let least = pieces.bound(&set).least(0, 1);
    assert!((least - expected).abs() < 1e-5, "{least} {expected}");
    assert!(least <= 0.7);
}

#[test]
fn a_way_back_is_as_long_as_its_farther_end() {
    let network = two_neurons();
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[2.0, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[0.5, 0.0],
        norm: MoveNorm::L2,
        radius: 0.25,
        low: &[-0.2, 0.0],
        high: &[0.1, 0.25],
    };
    let timed = Timed::new(&ways, &set);
    // From 2 back to 0.3 or 0.6. The second feature is where it was, but can rise.
    let bent = timed.bent(&ways.pieces.slopes, 2, 0.0, 1.0);
    assert_near(&bent, &[1.7 / 4.0, 2.0 * 1.7 / 4.0]);
    assert_eq!(timed.active, [0, 1]);
    assert!(timed.is_felt(1));
    let falling = MoveSet {
        low: &[-0.2, -0.25],
        high: &[0.1, 0.0],
        ..set
    };
    let timed = Timed::new(&ways, &falling);
    assert_eq!(timed.active, [0, 1]);
    assert!(timed.is_felt(1));
}

#[test]
fn a_gate_changes_between_later_times_where_its_lines_do() {
    // The first feature passes its kink at a third of the way; from there on the neuron is 3.5 t - 2.25.
    let mut network = two_neurons();
    network.hidden[2].bias = vec![-11.75, -90.0];
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[0.5, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::L2,
        radius: 0.5,
        low: &[0.0; 2],
        high: &[0.0; 2],
    };
    let timed = Timed::new(&ways, &set);
    let times: Vec<f64> = timed.times().iter().map(|at| at.t).collect();
    let (kink, crossed) = (1.0 / 3.0, 2.25 / 3.5);
    let expected = [0.0, kink - BESIDE, kink + BESIDE, crossed, crossed, 1.0];
    assert_eq!(times.len(), 6, "{times:?}");
    for (found, expected) in times.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-8, "{times:?}");
    }
    assert!(times[3] < times[4]);
}

/// Runs something on the layer behind two neurons, whose one neuron adds them up with this bias.
fn with_behind(bias: f64, run: impl FnOnce(&Timed<'_>, &mut Behind<'_>)) {
    let mut network = two_neurons();
    network.hidden.push(DenseLayer {
        weight: vec![1.0, 1.0],
        bias: vec![bias],
        inputs: 2,
    });
    network.head = DenseLayer {
        weight: vec![-0.5, 0.5],
        bias: vec![0.0, 0.0],
        inputs: 1,
    };
    let groups = vec![vec![0], vec![1]];
    let ways = PieceWays::new(&network, &groups, &[0.5, 0.0], 1).unwrap();
    let set = MoveSet {
        x: &[2.0, 2.0],
        norm: MoveNorm::L2,
        radius: 0.25,
        low: &[-0.2, -0.1],
        high: &[0.3, 0.0],
    };
    let timed = Timed::new(&ways, &set);
    run(
        &timed,
        &mut Behind::new(&timed, ways.second.as_ref().unwrap()),
    );
}

#[test]
fn a_neuron_behind_two_open_ones_is_open_as_long_as_moves_and_kinks_leave_it() {
    with_behind(-25.5, |timed, behind| {
        let (a, b) = (timed.first_at(0.25), timed.first_at(0.75));
        let neurons: Vec<Neuron> = (0..2).map(|one| neuron((&a, &b), one, 0.5, 0.0)).collect();
        // Through both it is 25 and 26.375, and its slopes are 0 and then -1 of the first feature, and 2 of the second: moves take it down by a quarter
        // of 0.2 and three quarters of 0.45, and up by three quarters of 0.2; the kink bends it by a quarter of 0.875.
        let bent = 0.875 / 4.0;
        let low = [-0.5 - bent - 0.25 * 0.2, 0.875 - bent - 0.75 * 0.45];
        let high = [-0.5 + bent, 0.875 + bent + 0.75 * 0.2];
        let sizes = neurons.iter().map(|one| {
            let ends = one.low.at_0.abs() + one.low.at_1.abs();
            one.high.at_0.max(one.high.at_1) + ends
        });
        let slack = 1e-9 * (25.5 + sizes.sum::<f64>());
        // The time of 1/2 in which it is above its slack, or above minus that.
        let open = [
            0.5 * (low[1] - slack) / (low[1] - low[0]),
            0.5 * (high[1] + slack) / (high[1] - high[0]),
        ];
        for added in behind.added(&neurons, &a, &b) {
            let found = [added.integral.low, added.integral.high];
            for (found, open) in found.iter().zip(open) {
                assert!((found - open).abs() < 1e-11, "{found} {open}");
            }
        }
    });
}

#[test]
fn what_may_come_through_a_gate_that_is_not_decided_counts_its_slack() {
    let line = |at_0: f64, at_1: f64| Line { at_0, at_1 };
    let either = Neuron {
        low: line(-1.0, -1.0),
        high: line(1.0, 2.0),
        slack: 0.5,
    };
    let closed = Neuron {
        low: line(-3.0, -3.0),
        high: line(-2.0, -2.0),
        slack: 0.5,
    };
    // Up to 2.5 comes through.
    for (bias, most) in [(-2.4, 0.5), (-2.6, 0.0)] {
        with_behind(bias, |timed, behind| {
            let (a, b) = (timed.first_at(0.25), timed.first_at(0.75));
            let added = behind.added(&[either, closed], &a, &b);
            let found = [added[0].integral.low, added[0].integral.high, added[1].most];
            assert_near(&found, &[0.0, most, 0.0]);
        });
    }
}
