//! Bounds of forms against every pattern of the gates that are free.

use std::cell::Cell;

use super::super::ball::{MoveNorm, Room};
use super::super::explained::{Explained, Ranked};
use super::super::layers::{Bounded, bound_layers};
use super::super::node::Node;
use super::super::pairs::{Form, Gradient};
use super::{free_moves, largest, random_network, with_case};
use crate::Seed;

/// What sums of a few numbers lose.
const ROUNDED: f64 = 1e-9;

#[test]
fn no_pattern_of_the_free_gates_is_below_the_bound_of_a_form() {
    let mut compared = 0;
    for number in 0..90 {
        let mut stream = Seed::new(29).stream_at("forms", number);
        let widths: &[usize] = match number % 3 {
            0 => &[4, 6, 2],
            1 => &[5, 4, 4, 2],
            _ => &[4, 3, 3, 3, 2],
        };
        let network = random_network(widths, &mut stream);
        let x: Vec<f64> = (0..widths[0]).map(|_| stream.uniform()).collect();
        let class = largest(&network.run(&x).0);
        let explained = Explained::new(&network, Ranked::Probability, class).unwrap();
        let radius = 0.5;
        let moves = free_moves(MoveNorm::L2, radius, x.len(), false);
        with_case(&network, &explained, &moves, &x, 2, |case| {
            let mut node = Node::root(case);
            let bounded = bound_layers(case, &mut node, radius, None, &mut Room::default());
            let Bounded::Paths(paths) = bounded else {
                panic!("the row itself is in the ball");
            };
            let gradient = Gradient::new(case, &node, &paths, radius);
            for pattern in 0_u32..1 << gradient.free.len() {
                let mut open: Vec<bool> = node.gates.iter().map(|gate| gate.is_open()).collect();
                for (place, &neuron) in gradient.free.iter().enumerate() {
                    open[neuron] = pattern >> place & 1 == 1;
                }
                let layers = case.starts.windows(2);
                let gates: Vec<Vec<bool>> = layers
                    .map(|range| open[range[0]..range[1]].to_vec())
                    .collect();
                let found = network.gradient(&explained.seed, &gates);
                for &salient in &case.salient {
                    for &other in &case.others {
                        for form in gradient.forms_of(salient, other) {
                            let value = form.alpha * found[salient] + form.beta * found[other];
                            for chords in [false, true] {
                                let bound = gradient.bound(&form, chords);
                                let seen = format!("case {number}, {pattern:b}, {form:?}");
                                assert!(bound <= value + ROUNDED, "{seen}: {bound} {value}");
                                compared += 1;
                            }
                        }
                    }
                }
            }
        });
    }
    assert!(compared > 10_000, "{compared}");
}

/// Runs something on the gradient of a network with one hidden layer, around a row with two salient features.
fn with_gradient(number: u64, times_input: bool, run: impl Fn(&Gradient<'_>, &[Vec<f64>])) {
    let mut stream = Seed::new(43).stream_at("forms", number);
    let network = random_network(&[5, 7, 2], &mut stream);
    let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
    let class = largest(&network.run(&x).0);
    let mut explained = Explained::new(&network, Ranked::Probability, class).unwrap();
    explained.times_input = times_input;
    let radius = 0.5;
    let moves = free_moves(MoveNorm::L2, radius, x.len(), false);
    with_case(&network, &explained, &moves, &x, 2, |case| {
        let mut node = Node::root(case);
        let bounded = bound_layers(case, &mut node, radius, None, &mut Room::default());
        let Bounded::Paths(paths) = bounded else {
            panic!("the row itself is in the ball");
        };
        let gradient = Gradient::new(case, &node, &paths, radius);
        // The gradients of all patterns.
        let patterns = 0_u32..1 << gradient.free.len();
        let all: Vec<Vec<f64>> = patterns
            .map(|pattern| {
                let mut open: Vec<bool> = node.gates.iter().map(|gate| gate.is_open()).collect();
                for (place, &neuron) in gradient.free.iter().enumerate() {
                    open[neuron] = pattern >> place & 1 == 1;
                }
                network.gradient(&explained.seed, &[open])
            })
            .collect();
        run(&gradient, &all);
    });
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

#[test]
fn behind_one_hidden_layer_some_pattern_reaches_every_bound() {
    for number in 0..30 {
        with_gradient(number, false, |gradient, patterns| {
            for feature in 0..5 {
                let values = || patterns.iter().map(|pattern| pattern[feature]);
                let (low, high) = (least(values()), -least(values().map(|value| -value)));
                assert!((gradient.low[feature] - low).abs() < ROUNDED);
                assert!((gradient.high[feature] - high).abs() < ROUNDED);
            }
            for (salient, other) in [(0, 1), (3, 2), (4, 0)] {
                let mut weakest = f64::INFINITY;
                for form in gradient.forms_of(salient, other) {
                    let values = patterns
                        .iter()
                        .map(|pattern| form.alpha * pattern[salient] + form.beta * pattern[other]);
                    let exact = least(values);
                    assert!((gradient.bound(&form, false) - exact).abs() < ROUNDED);
                    weakest = weakest.min(exact);
                }
                let (bound, _) = gradient.weakest(salient, other, false);
                assert!((bound - weakest).abs() < ROUNDED);
            }
        });
    }
}

#[test]
fn times_their_inputs_bounds_are_reached_at_corners_of_the_two_values() {
    for number in 0..30 {
        let mut stream = Seed::new(43).stream_at("forms", number);
        random_network(&[5, 7, 2], &mut stream);
        let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        with_gradient(number, true, |gradient, patterns| {
            let ends = |feature: usize| [x[feature] - 0.5, x[feature] + 0.5];
            for feature in 0..5 {
                let values = || {
                    let corners = ends(feature).into_iter();
                    corners.flat_map(|value| patterns.iter().map(move |one| value * one[feature]))
                };
                let (low, high) = (least(values()), -least(values().map(|value| -value)));
                assert!((gradient.low[feature] - low).abs() < ROUNDED);
                assert!((gradient.high[feature] - high).abs() < ROUNDED);
            }
            for form in gradient.forms_of(1, 2) {
                let exact = least(ends(1).into_iter().flat_map(|own| {
                    let others = ends(2).into_iter();
                    others.flat_map(move |other| {
                        let (alpha, beta) = (form.alpha * own, form.beta * other);
                        patterns
                            .iter()
                            .map(move |one| alpha * one[1] + beta * one[2])
                    })
                }));
                let bound = gradient.bound(&form, false);
                assert!((bound - exact).abs() < ROUNDED, "{bound} {exact}");
            }
        });
    }
}

#[test]
fn a_pair_is_apart_where_no_pattern_brings_it_within_what_is_needed() {
    let apart = Cell::new(0);
    for number in 0..30 {
        with_gradient(number, false, |gradient, patterns| {
            for (salient, other) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)] {
                let sizes = |feature: usize| patterns.iter().map(move |one| one[feature].abs());
                let most = -least(sizes(other).map(|size| -size));
                // Where the sign is open the size can be anything down to zero.
                let (low, high) = (gradient.low[salient], gradient.high[salient]);
                let nearest = if low <= 0.0 && high >= 0.0 {
                    0.0
                } else {
                    least(sizes(salient))
                };
                let is_apart = nearest - most > gradient.needed(salient, other);
                assert_eq!(gradient.is_apart(salient, other), is_apart);
                apart.set(apart.get() + usize::from(is_apart));
            }
        });
    }
    assert!((10..140).contains(&apart.get()), "{apart:?} of 150");
}

#[test]
fn of_columns_bounds_are_reached_by_sums_over_their_features() {
    let groups = vec![vec![0, 1], vec![2], vec![3, 4]];
    for number in 0..20 {
        let mut stream = Seed::new(59).stream_at("columns", number);
        let network = random_network(&[5, 6, 2], &mut stream);
        let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        (explained.absolute, explained.groups) = (false, Some(groups.clone()));
        let moves = free_moves(MoveNorm::L2, 0.5, 5, false);
        with_case(&network, &explained, &moves, &x, 1, |case| {
            let mut node = Node::root(case);
            let bounded = bound_layers(case, &mut node, 0.5, None, &mut Room::default());
            let Bounded::Paths(paths) = bounded else {
                panic!("the row itself is in the ball");
            };
            let gradient = Gradient::new(case, &node, &paths, 0.5);
            let sums: Vec<Vec<f64>> = (0_u32..1 << gradient.free.len())
                .map(|pattern| {
                    let mut open: Vec<bool> =
                        node.gates.iter().map(|gate| gate.is_open()).collect();
                    for (place, &neuron) in gradient.free.iter().enumerate() {
                        open[neuron] = pattern >> place & 1 == 1;
                    }
                    let found = network.gradient(&explained.seed, &[open]);
                    let sum = |group: &Vec<usize>| group.iter().map(|&one| found[one]).sum();
                    groups.iter().map(sum).collect()
                })
                .collect();
            for column in 0..3 {
                let low = least(sums.iter().map(|sums| sums[column]));
                assert!((gradient.low[column] - low).abs() < ROUNDED);
            }
            for (salient, other) in [(0, 1), (2, 0), (1, 2)] {
                let forms: Vec<Form> = gradient.forms_of(salient, other).collect();
                let [form] = &forms[..] else {
                    panic!("with their signs a pair has one form")
                };
                let exact = least(sums.iter().map(|sums| sums[salient] - sums[other]));
                assert!((gradient.bound(form, false) - exact).abs() < ROUNDED);
            }
        });
    }
}
