//! Every activation pattern of tiny networks, each one's distance by a solver of cone programs.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver as _, NonnegativeConeT, SolverStatus,
};

use super::super::ball::MoveNorm;
use super::super::case::Moves;
use super::super::explained::{Explained, Ranked};
use super::super::network::{DenseLayer, DenseNetwork};
use super::super::result::Status;
use super::{free_moves, radius, random_network, with_case, worst_case};
use crate::metric::ranking::TopK;
use crate::{Seed, Stream};

/// Distances told apart: the solver leaves up to 1e-8 of half the square of a distance.
const NEAR: f64 = 1.5e-4;

/// `a.d + c >= 0`.
type Plane = (Vec<f64>, f64);

/// How far the nearest move in all half-spaces is; infinite where there is none.
fn distance(norm: MoveNorm, planes: &[Plane], dimensions: usize) -> f64 {
    let (mut rows, mut columns, mut values, mut right) = (vec![], vec![], vec![], vec![]);
    let mut add = |row: usize, column: usize, value: f64| {
        rows.push(row);
        columns.push(column);
        values.push(value);
    };
    for (a, c) in planes {
        for (column, value) in a.iter().enumerate() {
            add(right.len(), column, -value);
        }
        right.push(*c);
    }
    let is_l2 = norm == MoveNorm::L2;
    if !is_l2 {
        for column in 0..dimensions {
            for sign in [1.0, -1.0] {
                add(right.len(), column, sign);
                add(right.len(), dimensions, -1.0);
                right.push(0.0);
            }
        }
    }
    let variables = dimensions + usize::from(!is_l2);
    let mut costs = vec![0.0; variables];
    let quadratic = if is_l2 {
        CscMatrix::identity(variables)
    } else {
        costs[dimensions] = 1.0;
        CscMatrix::zeros((variables, variables))
    };
    let constraints = CscMatrix::new_from_triplets(right.len(), variables, rows, columns, values);
    let settings = DefaultSettings {
        verbose: false,
        max_threads: 1,
        ..DefaultSettings::default()
    };
    let cones = [NonnegativeConeT(right.len())];
    let mut solver =
        DefaultSolver::new(&quadratic, &costs, &constraints, &right, &cones, settings).unwrap();
    solver.solve();
    // A solver that stopped short of its tolerance has found the move all the same, if that is inside.
    let found = &solver.solution.x[..dimensions];
    let is_inside = |(a, c): &Plane| {
        let at: f64 = a.iter().zip(found).map(|(a, d)| a * d).sum();
        at + c >= -INSIDE
    };
    let is_found = match solver.solution.status {
        SolverStatus::Solved | SolverStatus::AlmostSolved => true,
        SolverStatus::PrimalInfeasible | SolverStatus::AlmostPrimalInfeasible => false,
        _ => planes.iter().all(is_inside),
    };
    if is_found {
        norm.of(found)
    } else {
        f64::INFINITY
    }
}

/// How far outside a half-space the solver's answer may be.
const INSIDE: f64 = 1e-7;

/// What a region of the input does to the ranking.
struct Region {
    distance: f64,
    /// Salient features lost there, and how many if every tie went the wrong way.
    lost: usize,
    lost_at_most: usize,
}

/// Ties below this are not told from rounding.
const TIED: f64 = 1e-9;

fn regions(
    network: &DenseNetwork,
    explained: &Explained,
    moves: &Moves,
    x: &[f64],
    k: usize,
) -> Vec<Region> {
    let neurons = network.neurons();
    let features = network.features();
    let (_, gates) = network.run(x);
    let before = explained.importance(&network.gradient(&explained.seed, &gates), x);
    let top = TopK::of(&before, k).unwrap();
    let mut found = Vec::new();
    for pattern in 0_u32..1 << neurons {
        let mut bit = 0;
        let mut open: Vec<Vec<bool>> = Vec::new();
        for layer in &network.hidden {
            let gates = (0..layer.outputs()).map(|neuron| pattern >> (bit + neuron) & 1 == 1);
            open.push(gates.collect());
            bit += layer.outputs();
        }
        let after = explained.importance(&network.gradient(&explained.seed, &open), x);
        let lost = k - top.kept(&after).unwrap();
        // With every salient importance a hair lower, ties are lost.
        let lowered: Vec<f64> = after
            .iter()
            .enumerate()
            .map(|(feature, value)| value - if top.contains(feature) { TIED } else { 0.0 })
            .collect();
        let lost_at_most = k - top.kept(&lowered).unwrap();
        if lost_at_most == 0 {
            continue;
        }
        // Each value as a linear function of the move.
        let mut lines: Vec<Plane> = (0..features)
            .map(|feature| {
                let mut unit = vec![0.0; features];
                unit[feature] = 1.0;
                (unit, x[feature])
            })
            .collect();
        let mut planes: Vec<Plane> = Vec::new();
        let combine = |weights: &[f64], bias: f64, lines: &[Plane]| -> Plane {
            let mut sum = (vec![0.0; features], bias);
            for (weight, (a, c)) in weights.iter().zip(lines) {
                for (sum, a) in sum.0.iter_mut().zip(a) {
                    *sum += weight * a;
                }
                sum.1 += weight * c;
            }
            sum
        };
        let scaled = |(a, c): &Plane, factor: f64| -> Plane {
            (a.iter().map(|a| a * factor).collect(), c * factor)
        };
        for (layer, open) in network.hidden.iter().zip(&open) {
            let mut next = Vec::new();
            for (neuron, is_open) in open.iter().enumerate() {
                let line = combine(layer.row(neuron), layer.bias[neuron], &lines);
                planes.push(scaled(&line, if *is_open { 1.0 } else { -1.0 }));
                next.push(scaled(&line, if *is_open { 1.0 } else { 0.0 }));
            }
            lines = next;
        }
        if moves.hold {
            for margin in &explained.margins {
                planes.push(combine(&margin.weights, margin.bias, &lines));
            }
        }
        let moving: Vec<usize> = (0..features)
            .filter(|feature| moves.low[*feature] < moves.high[*feature])
            .collect();
        for plane in &mut planes {
            plane.0 = moving.iter().map(|feature| plane.0[*feature]).collect();
        }
        for (place, feature) in moving.iter().enumerate() {
            for (limit, sign) in [(-moves.low[*feature], 1.0), (moves.high[*feature], -1.0)] {
                if limit.is_finite() {
                    let mut unit = vec![0.0; moving.len()];
                    unit[place] = sign;
                    planes.push((unit, limit));
                }
            }
        }
        found.push(Region {
            distance: distance(moves.norm, &planes, moving.len()),
            lost,
            lost_at_most,
        });
    }
    found
}

/// A network, how it is explained, a row and what it may become.
struct Drawn {
    network: DenseNetwork,
    explained: Explained,
    moves: Moves,
    x: Vec<f64>,
}

fn draw(number: u64, norm: MoveNorm, stream: &mut Stream) -> Drawn {
    let (hidden, features): (&[usize], usize) = match number % 3 {
        0 => (&[6], 4),
        1 => (&[5, 3], 5),
        _ => (&[3, 3, 2], 4),
    };
    let is_logit = number % 5 == 4;
    let mut widths = vec![features];
    widths.extend(hidden);
    widths.push(if is_logit { 3 } else { 2 });
    let mut network = random_network(&widths, stream);
    // Small logits: at a probability of 1 the last digits of its gradient are lost, and nothing can be said.
    let DenseLayer { weight, bias, .. } = &mut network.head;
    for value in weight.iter_mut().chain(bias) {
        *value *= 0.1;
    }
    let x: Vec<f64> = (0..features).map(|_| stream.uniform()).collect();
    let (logits, _) = network.run(&x);
    let class = super::largest(&logits);
    let ranked = match number % 5 {
        4 => Ranked::Logit,
        3 => Ranked::Loss,
        _ => Ranked::Probability,
    };
    let mut explained = Explained::new(&network, ranked, class).unwrap();
    explained.absolute = number % 4 != 3;
    let mut moves = free_moves(norm, 1.5, features, number.is_multiple_of(2));
    if number / 2 % 2 == 1 {
        moves.low = x.iter().map(|x| -x).collect();
        moves.high = x.iter().map(|x| 1.0 - x).collect();
    }
    if number / 4 % 2 == 1 {
        (moves.low[1], moves.high[1]) = (0.0, 0.0);
    }
    Drawn {
        network,
        explained,
        moves,
        x,
    }
}

/// Compares so many drawn cases with every pattern; how many were not exact.
fn compare(norm: MoveNorm, cases: u64) -> usize {
    let mut unsettled = 0;
    for number in 0..cases {
        let mut stream = Seed::new(17).stream_at("tiny networks", number);
        let Drawn {
            network,
            explained,
            mut moves,
            x,
        } = draw(number, norm, &mut stream);
        let k = 2;
        let regions = regions(&network, &explained, &moves, &x, k);
        let nearest = |is_changed: &dyn Fn(&Region) -> bool| {
            let changed = regions.iter().filter(|region| is_changed(region));
            changed
                .map(|region| region.distance)
                .fold(f64::INFINITY, f64::min)
        };
        let changes = nearest(&|region| region.lost > 0);
        let may_change = nearest(&|region| region.lost_at_most > 0);
        let found = with_case(&network, &explained, &moves, &x, k, radius);
        let seen = format!("case {number}, {norm:?}: {changes} or {may_change}, {found:?}");
        assert!(found.certified <= changes + NEAR, "{seen}");
        let is_settled = found.status != Status::Unknown;
        assert!(
            !is_settled || found.certified >= may_change.min(moves.radius) - NEAR,
            "{seen}"
        );
        match found.status {
            Status::Exact => {
                let size = found.counterexample.unwrap().size;
                assert!(
                    size >= changes - NEAR && size - changes < 0.011 * (size + 1e-3),
                    "{seen}"
                );
            }
            Status::Certified => assert!(changes >= moves.radius - NEAR, "{seen}"),
            Status::Unknown => unsettled += 1,
        }
        for within in [0.2, 0.6] {
            moves.radius = within;
            let worst = with_case(&network, &explained, &moves, &x, k, worst_case);
            let most = |slack: f64, lost: &dyn Fn(&Region) -> usize| {
                let near = regions
                    .iter()
                    .filter(|region| region.distance < within + slack);
                near.map(lost).max().unwrap_or(0)
            };
            let (least, greatest) = (
                most(-NEAR, &|region| region.lost),
                most(NEAR, &|region| region.lost_at_most),
            );
            let seen = format!("case {number}, {norm:?} within {within}: {worst:?}");
            assert!(k - worst.kept_at_least >= least, "{seen}: {least}");
            assert!(k - worst.kept_at_least <= greatest, "{seen}: {greatest}");
            assert!(k - worst.kept_at_most <= greatest, "{seen}: {greatest}");
            if worst.status == Status::Exact {
                assert!(k - worst.kept_at_most >= least, "{seen}: {least}");
            } else {
                unsettled += 1;
            }
        }
    }
    unsettled
}

/// How many cases are compared: `THICKSET_CERTIFY_CASES`, or enough for every day.
fn cases() -> u64 {
    let asked = std::env::var("THICKSET_CERTIFY_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(120)
}

#[test]
fn radii_and_worst_cases_in_l2_balls_are_those_of_every_activation_pattern() {
    let unsettled = compare(MoveNorm::L2, cases());
    assert!(
        unsettled <= usize::try_from(cases()).unwrap() / 500,
        "{unsettled}"
    );
}

#[test]
fn radii_and_worst_cases_in_the_largest_norm_are_those_of_every_activation_pattern() {
    let unsettled = compare(MoveNorm::Linf, cases());
    assert!(
        unsettled <= usize::try_from(cases()).unwrap() / 500,
        "{unsettled}"
    );
}

#[test]
fn no_random_point_breaks_a_certificate_of_a_gradient_times_its_input() {
    for number in 0..60 {
        let mut stream = Seed::new(19).stream_at("tiny networks", number);
        let mut drawn = draw(number, MoveNorm::L2, &mut stream);
        drawn.explained.times_input = true;
        drawn.moves.radius = 0.5;
        let Drawn {
            network,
            explained,
            moves,
            x,
        } = &drawn;
        with_case(network, explained, moves, x, 2, |case| {
            let found = radius(case);
            if let Some(counterexample) = &found.counterexample {
                assert!(case.lost_exactly(&counterexample.point) > 0);
            }
            let worst = worst_case(case);
            for _ in 0..300 {
                let mut d: Vec<f64> = (0..x.len()).map(|_| stream.normal()).collect();
                let size = MoveNorm::L2.of(&d);
                let length = moves.radius * stream.uniform();
                for value in &mut d {
                    *value *= length / size;
                }
                let point: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x + d).collect();
                if let Some(size) = case.size(&point) {
                    let lost = case.lost_exactly(&point);
                    assert!(
                        lost == 0 || size >= found.certified,
                        "case {number}: {found:?}"
                    );
                    assert!(lost <= 2 - worst.kept_at_least, "case {number}: {worst:?}");
                }
            }
        });
    }
}
