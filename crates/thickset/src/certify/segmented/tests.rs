use thickset_engine::{DType, Device, Init, Parameter, ParameterSource, Role, Tensor, TensorData};

use super::crossing::SCORE_SLACK;
use super::*;
use crate::attack::ThreatConfig;
use crate::attack::threat::{BallConfig, Norm};
use crate::certify::rounding::{Arithmetic, gamma};
use crate::data::{InputShape, Schema};
use crate::model::{Gate, ModelConfig, SegmentedConfig};

/// Two categories (features 0 and 1) and two numbers. In the first category the number 2 counts most, in the second the number 3.
#[derive(Clone)]
struct Toy {
    weight: [f64; 4],
    gated_bias: [f64; 2],
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            weight: [0.0, 0.0, 1.0, 1.0],
            gated_bias: [0.0; 2],
        }
    }
}

impl ParameterSource for Toy {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let values = match name {
            "layers.0.score_weight" => vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            "layers.1.weight" => self.weight.to_vec(),
            "layers.1.gated_bias" => self.gated_bias.to_vec(),
            "layers.1.gated_weight" => vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            _ => vec![0.0; shape.iter().product()],
        };
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

fn network(gate: Gate) -> Network {
    network_of(gate, &Toy::default())
}

fn network_of(gate: Gate, toy: &Toy) -> Network {
    let model = ModelConfig::Segmented(SegmentedConfig {
        gate,
        prototypes: None,
        blocks: vec![2],
    });
    model
        .network(&InputShape::Table, 4, 2, &mut toy.clone())
        .unwrap()
}

const X: [f64; 4] = [1.0, 0.0, 0.5, 0.5];

fn asked<T>(radius: f64, immutable: &[usize], of: impl Fn(&Asked<'_>) -> T) -> T {
    let mut schema = Schema::table(&["c0", "c1", "a", "b"]);
    for &feature in immutable {
        schema.features[feature].immutable = true;
    }
    let threat = ThreatConfig {
        ball: BallConfig {
            radius,
            ..BallConfig::default()
        },
        immutable: !immutable.is_empty(),
        ..ThreatConfig::papers()
    };
    let threat = threat.check(&schema).unwrap();
    of(&Asked {
        k: 1,
        threat: &threat,
        hold: true,
        nodes: 100,
        ranked: Ranked::Probability,
        absolute: true,
        times_input: false,
        groups: None,
    })
}

fn points() -> Points<'static> {
    Points {
        values: &X,
        ids: &[0],
    }
}

#[test]
fn two_categories_hold_to_one_over_the_root_of_two_and_change_just_beyond() {
    let network = network(Gate::Argmax);
    let border = std::f64::consts::FRAC_1_SQRT_2;
    let below = asked(0.7, &[], |asked| radius(asked, &network, points()).unwrap());
    assert_eq!(below[0].status, Status::Certified);
    assert!((below[0].certified - 0.7).abs() < 1e-12);
    let beyond = asked(0.8, &[], |asked| radius(asked, &network, points()).unwrap());
    assert_eq!(beyond[0].status, Status::Exact);
    assert!((beyond[0].certified - border).abs() < 1e-4);
    let found = beyond[0].counterexample.as_ref().unwrap();
    assert!(
        found.kept == 0 && (found.size - border).abs() < 1e-3,
        "{found:?}"
    );
    let worst = |radius: f64| {
        asked(radius, &[], |asked| {
            worst_case(asked, &network, points()).unwrap()
        })
    };
    assert_eq!(
        (worst(0.7)[0].kept_at_least, worst(0.7)[0].kept_at_most),
        (1, 1)
    );
    assert_eq!(
        (worst(0.8)[0].kept_at_least, worst(0.8)[0].kept_at_most),
        (0, 0)
    );
}

#[test]
fn a_category_that_cannot_move_doubles_the_way_and_two_that_cannot_hold_forever() {
    let network = network(Gate::Argmax);
    // Only the second category moves: from 0 to 1, a distance of 1.
    let one = asked(2.0, &[0], |asked| {
        radius(asked, &network, points()).unwrap()
    });
    assert!((one[0].certified - 1.0).abs() < 1e-3, "{:?}", one[0]);
    let both = asked(3.0, &[0, 1], |asked| {
        worst_case(asked, &network, points()).unwrap()
    });
    assert_eq!(both[0].kept_at_least, 1);
}

#[test]
fn sparsemax_is_certified_to_where_its_gates_begin_to_move() {
    let network = network(Gate::Sparsemax { delta: 0.2 });
    let found = asked(0.8, &[], |asked| radius(asked, &network, points()).unwrap());
    let border = 0.8 * std::f64::consts::FRAC_1_SQRT_2;
    assert!((found[0].certified - border).abs() < 1e-4, "{:?}", found[0]);
    let below = asked(0.5, &[], |asked| {
        worst_case(asked, &network, points()).unwrap()
    });
    assert_eq!(below[0].status, Status::Exact);
}

#[test]
fn what_rounding_can_turn_round_is_not_certified_and_what_it_cannot_is() {
    // In the first category the numbers count 2 and `second`, in units whose next number in `f32` is 2.4e-7 away.
    let found = |second: f64| {
        let toy = Toy {
            weight: [0.0, 0.0, 1.0, second],
            ..Toy::default()
        };
        let network = network_of(Gate::Argmax, &toy);
        asked(0.5, &[], |asked| {
            worst_case(asked, &network, points()).unwrap()
        })
    };
    assert_eq!(found(1.999_99)[0].status, Status::Exact);
    let tied = found(f64::from(2.0_f32.next_down()));
    assert_eq!((tied[0].kept_at_least, tied[0].kept_at_most), (0, 1));
}

#[test]
fn sparsemax_gates_are_open_up_to_rounding_only() {
    // The numbers count 2 and 2e-6 less. The second unit of the first comes through the gate, which is 1 up to 18 units of roundoff.
    let toy = Toy {
        weight: [0.0, 0.0, 1.0, 2.0 - 2e-6],
        ..Toy::default()
    };
    let gates = [(Gate::Argmax, 1), (Gate::Sparsemax { delta: 0.2 }, 0)];
    for (gate, least) in gates {
        let network = network_of(gate, &toy);
        let found = asked(0.5, &[], |asked| {
            worst_case(asked, &network, points()).unwrap()
        });
        assert_eq!(found[0].kept_at_least, least, "{gate:?}");
    }
}

#[test]
fn a_segment_whose_probabilities_are_rounded_to_one_is_not_certified() {
    // The number 2 counts most in both categories, but the second is so sure that nothing has a gradient there.
    let toy = Toy {
        weight: [0.0, 0.0, 3.0, 1.0],
        gated_bias: [0.0, 40.0],
    };
    let network = network_of(Gate::Argmax, &toy);
    let worst = |radius| {
        asked(radius, &[], |asked| {
            worst_case(asked, &network, points()).unwrap()
        })
    };
    assert_eq!(worst(0.7)[0].kept_at_least, 1);
    assert_eq!(worst(0.8)[0].kept_at_least, 0);
    let surest = asked(0.8, &[], |asked| radius(asked, &network, points()).unwrap());
    assert!(surest[0].certified < 0.71, "{:?}", surest[0]);
}

#[test]
fn what_is_left_of_the_ball_beyond_a_border_goes_to_holding_the_class() {
    // The margin is 2 a + b = 0.7, and a + 2 b = -0.1 beyond the border, 1 / sqrt(2) away: there the class holds after a move by more than
    // 0.1 / sqrt(5) along (1, 2), for which a ball of 0.8 has room.
    let network = network(Gate::Argmax);
    let rows = Points {
        values: &[1.0, 0.0, 0.5, -0.3],
        ids: &[0],
    };
    let found = asked(0.8, &[], |asked| radius(asked, &network, rows).unwrap());
    let change = found[0].counterexample.as_ref().unwrap();
    assert!(change.kept == 0 && change.size <= 0.8 + 1e-6, "{change:?}");
    let [.., a, b] = change.point[..] else {
        panic!("four features")
    };
    assert!(a + 2.0 * b > 0.0, "{change:?}");
}

#[test]
fn a_border_beyond_which_the_reasons_stay_is_certified_across() {
    // The number 2 counts 6 in the first category and 5 in the second, the other at most 2; the border is 0.71 away.
    let toy = Toy {
        weight: [0.0, 0.0, 5.0, 1.0],
        ..Toy::default()
    };
    let network = network_of(Gate::Argmax, &toy);
    let found = asked(0.8, &[], |asked| radius(asked, &network, points()).unwrap());
    assert_eq!(found[0].status, Status::Certified);
    assert!((found[0].certified - 0.8).abs() < 1e-12);
}

/// Runs something on the segments of a toy, asked about moves of up to 1 in this norm, of which feature 3 makes none.
fn with_segments<T>(
    toy: &Toy,
    gate: Gate,
    norm: Norm,
    change: impl Fn(&mut Asked<'_>),
    run: impl FnOnce(&Segments<'_>) -> T,
) -> T {
    let mut schema = Schema::table(&["c0", "c1", "a", "b"]);
    schema.features[3].immutable = true;
    let threat = ThreatConfig {
        ball: BallConfig { norm, radius: 1.0 },
        immutable: true,
        ..ThreatConfig::papers()
    };
    let threat = threat.check(&schema).unwrap();
    let mut asked = Asked {
        k: 1,
        threat: &threat,
        hold: true,
        nodes: 100,
        ranked: Ranked::Probability,
        absolute: true,
        times_input: false,
        groups: None,
    };
    change(&mut asked);
    let network = network_of(gate, toy);
    run(&Segments::new(&asked, &network).unwrap())
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (one, other) in found.iter().zip(expected) {
        let off = (one - other).abs();
        assert!(off <= 1e-9 * (1.0 + other.abs()), "{found:?} {expected:?}");
    }
}

#[test]
fn what_cannot_move_has_no_part_in_the_length_of_a_gradient() {
    let gradient = [3.0, -4.0, 0.0, 100.0];
    for (norm, length) in [(Norm::L2, 5.0), (Norm::Linf, 7.0)] {
        let found = with_segments(
            &Toy::default(),
            Gate::Argmax,
            norm,
            |_| (),
            |segments| segments.dual(&gradient),
        );
        assert_near(&[found], &[length]);
    }
}

#[test]
fn scores_and_borders_are_those_of_the_categories() {
    // The scores are 0.7 and 0.2 and the second minus the first is (-1, 1): the border lies 0.5 / sqrt(2) away, or 0.25 by the largest entry.
    let x = [0.7, 0.2, 0.5, 0.5];
    for (norm, distance, step) in [
        (Norm::L2, 0.5 / 2.0_f64.sqrt(), 1.0 / 2.0_f64.sqrt()),
        (Norm::Linf, 0.25, 1.0),
    ] {
        for (gate, delta) in [(Gate::Argmax, 0.0), (Gate::Sparsemax { delta: 0.2 }, 0.2)] {
            with_segments(
                &Toy::default(),
                gate,
                norm,
                |_| (),
                |segments| {
                    let scores = [segments.score(0, &x), segments.score(1, &x)];
                    assert_near(&scores, &[0.7, 0.2]);
                    let border = segments.border(&x, 0, 1).unwrap();
                    let distance = distance * (0.5 - segments.delta) / 0.5;
                    assert!((segments.delta - delta).abs() < 1e-7);
                    assert_eq!(border.gate, 1);
                    assert_near(&[border.distance], &[distance - SCORE_SLACK]);
                    let beyond = (distance + BEYOND) * step;
                    assert_near(&border.way, &[-beyond, beyond, 0.0, 0.0]);
                    // A gate that is ahead already has been crossed.
                    let crossed = segments.border(&x, 1, 0).unwrap();
                    assert_near(&[crossed.distance], &[0.0]);
                    assert_near(&crossed.way, &[BEYOND * step, -BEYOND * step, 0.0, 0.0]);
                    assert!(segments.border(&x, 1, 1).is_none());
                },
            );
        }
    }
}

#[test]
fn gradients_follow_the_class_the_open_gate_and_what_is_ranked() {
    let toy = Toy {
        weight: [7.0, 0.0, 3.0, 1.0],
        ..Toy::default()
    };
    let of = |ranked, open: usize, class| {
        with_segments(
            &toy,
            Gate::Argmax,
            Norm::L2,
            |asked| asked.ranked = ranked,
            |segments| segments.gradient(&[open], class),
        )
    };
    assert_eq!(of(Ranked::Probability, 0, 1), [7.0, 0.0, 4.0, 1.0]);
    assert_eq!(of(Ranked::Probability, 1, 1), [7.0, 0.0, 3.0, 2.0]);
    assert_eq!(of(Ranked::Probability, 1, 0), [-7.0, 0.0, -3.0, -2.0]);
    assert_eq!(of(Ranked::Loss, 1, 1), [-7.0, 0.0, -3.0, -2.0]);
    assert_eq!(of(Ranked::Logit, 1, 1), [7.0, 0.0, 3.0, 2.0]);
    assert_eq!(of(Ranked::Logit, 1, 0), [0.0; 4]);
}

#[test]
fn importances_of_columns_are_sums_with_or_without_signs() {
    let groups = [vec![0, 1], vec![2], vec![3]];
    let of = |absolute, groups: Option<&[Vec<usize>]>| {
        with_segments(
            &Toy::default(),
            Gate::Argmax,
            Norm::L2,
            |_| (),
            |segments| {
                let asked = Asked {
                    absolute,
                    groups,
                    ..*segments.asked
                };
                Segments::new(&asked, segments.network)
                    .unwrap()
                    .importance(&[1.0, -3.0, -2.0, 5.0])
            },
        )
    };
    assert_eq!(of(true, None), [1.0, 3.0, 2.0, 5.0]);
    assert_eq!(of(false, None), [1.0, -3.0, -2.0, 5.0]);
    assert_eq!(of(true, Some(&groups)), [4.0, 2.0, 5.0]);
    assert_eq!(of(false, Some(&groups)), [-2.0, -2.0, 5.0]);
}

#[test]
fn importances_are_off_by_their_sums_and_by_the_share_of_their_gate() {
    // The numbers count 1 and 1, of which the first gate adds 1 to the first of them: sums of 2 and of 1. The gate's score can be 1.5 + 1.
    let unit = Arithmetic::SINGLE.unit;
    let x = [1.5, 0.0, 0.5, 0.5];
    for (gate, delta) in [
        (Gate::Argmax, None),
        (Gate::Sparsemax { delta: 0.25 }, Some(0.25)),
    ] {
        with_segments(
            &Toy::default(),
            gate,
            Norm::L2,
            |_| (),
            |segments| {
                let share = delta.map_or(0.0, |delta| (2.0 * 2.5 / delta + 3.0) * unit);
                assert_near(&[segments.share_error(&x, 0) / unit], &[share / unit]);
                let found = segments.importances(&x, &[0], 1);
                assert_eq!(found.values, [0.0, 0.0, 2.0, 1.0]);
                let off = gamma(3, unit) / unit;
                let slack: Vec<f64> = found.slack.iter().map(|slack| slack / unit).collect();
                assert_near(&slack, &[0.0, 0.0, 2.0 * off + share / unit, off]);
            },
        );
    }
    // Of a column the parts are added up, one operation each.
    let groups = [vec![0, 1, 2], vec![3]];
    with_segments(
        &Toy::default(),
        Gate::Argmax,
        Norm::L2,
        |_| (),
        |segments| {
            let asked = Asked {
                groups: Some(&groups),
                ..*segments.asked
            };
            let segments = Segments::new(&asked, segments.network).unwrap();
            let found = segments.importances(&x, &[0], 1);
            let slack: Vec<f64> = found.slack.iter().map(|slack| slack / unit).collect();
            assert_near(
                &slack,
                &[2.0 * gamma(5, unit) / unit, gamma(3, unit) / unit],
            );
        },
    );
}

#[test]
fn a_margin_may_saturate_where_the_ball_can_take_it_beyond_15() {
    // The margin is 2 a + b + bias with the first gate open; b does not move, so a ball of 1 changes it by 2.
    let x = [1.0, 0.0, 0.5, 1.0];
    let may = |bias: f64, ranked| {
        let toy = Toy {
            gated_bias: [bias, 0.0],
            ..Toy::default()
        };
        with_segments(
            &toy,
            Gate::Argmax,
            Norm::L2,
            |asked| asked.ranked = ranked,
            |segments| segments.may_saturate(&x, &[0]),
        )
    };
    for ranked in [Ranked::Probability, Ranked::Loss] {
        let found = [-15.5, -14.5, 0.0, 10.5, 11.5].map(|bias| may(bias, ranked));
        assert_eq!(found, [true, false, false, false, true], "{ranked:?}");
    }
    assert!(!may(99.0, Ranked::Logit));
}

#[test]
fn a_salient_feature_is_kept_while_fewer_than_k_can_be_ahead() {
    let toy = Toy {
        weight: [2.0, 0.0, 3.0, 2.0],
        ..Toy::default()
    };
    // With the first gate the numbers count 4 and 2, and the first category 2; with the second 3 and 3.
    let x = [1.0, 0.0, 0.0, 0.0];
    let kept = |k, open: usize, salient: &[f64]| {
        with_segments(
            &toy,
            Gate::Argmax,
            Norm::L2,
            |asked| asked.k = k,
            |segments| {
                let salient = TopK::of(salient, k).unwrap();
                segments.kept(&x, &[open], 1, &salient)
            },
        )
    };
    assert_eq!(kept(1, 0, &[0.0, 0.0, 1.0, 0.0]), 1);
    assert_eq!(kept(1, 1, &[0.0, 0.0, 1.0, 0.0]), 0);
    assert_eq!(kept(2, 1, &[0.0, 0.0, 2.0, 1.0]), 2);
    // 4 is kept of two, and 2 is tied with another.
    assert_eq!(kept(2, 0, &[0.0, 0.0, 2.0, 1.0]), 1);
    assert_eq!(kept(3, 0, &[1.0, 0.0, 2.0, 1.0]), 3);
}

#[test]
fn several_borders_are_crossed_together_where_the_ball_has_room_for_both() {
    let border = |gate, distance| Border {
        gate,
        distance,
        way: vec![0.0; 4],
    };
    let row = |nearest: f64| Row {
        class: 1,
        salient: TopK::of(&[0.0, 0.0, 1.0, 0.0], 1).unwrap(),
        open: vec![0, 3],
        borders: vec![
            vec![border(1, nearest), border(2, 0.9)],
            vec![border(4, 0.8)],
        ],
        first: 0.6,
        kept: 1,
    };
    let crossed = |nearest: f64, norm, nodes| {
        with_segments(
            &Toy::default(),
            Gate::Argmax,
            norm,
            |asked| asked.nodes = nodes,
            |segments| {
                let row = row(nearest);
                let found = segments.crossings(&row)?;
                let distances: Vec<f64> = found.iter().map(|one| one.distance).collect();
                let opened = found.iter().map(|one| Segments::opened(&row, one));
                Some((distances, opened.collect::<Vec<_>>()))
            },
        )
    };
    // 0.6 and 0.8 make 1, which is within the ball; 0.9 and 0.8 do not.
    let (distances, opened) = crossed(0.6, Norm::L2, 100).unwrap();
    assert_near(&distances, &[0.6, 0.8, 0.9, 1.0]);
    assert_eq!(opened, [[1, 3], [0, 4], [2, 3], [1, 4]]);
    let (distances, opened) = crossed(0.61, Norm::L2, 100).unwrap();
    assert_near(&distances, &[0.61, 0.8, 0.9]);
    assert_eq!(opened.len(), 3);
    let (distances, _) = crossed(0.6, Norm::Linf, 100).unwrap();
    assert_near(&distances, &[0.6, 0.8, 0.8, 0.9, 0.9]);
    assert!(crossed(0.6, Norm::L2, 4).is_some());
    assert!(crossed(0.6, Norm::L2, 3).is_none());
}

#[test]
fn a_crossing_reads_the_features_of_its_block_alone() {
    with_segments(
        &Toy::default(),
        Gate::Argmax,
        Norm::L2,
        |_| (),
        |segments| {
            let border = Border {
                gate: 1,
                distance: 0.5,
                way: vec![0.0; 4],
            };
            let crossing = Crossing {
                distance: 0.5,
                borders: vec![(0, &border)],
            };
            assert_eq!(segments.read_by(&crossing), [true, true, false, false]);
            let none = Crossing {
                distance: 0.0,
                borders: Vec::new(),
            };
            assert_eq!(segments.read_by(&none), [false; 4]);
        },
    );
}

#[test]
fn a_row_whose_reasons_are_tied_has_no_radius() {
    let toy = Toy {
        weight: [0.0, 0.0, 1.0, 2.0],
        ..Toy::default()
    };
    let network = network_of(Gate::Argmax, &toy);
    let found = asked(0.5, &[], |asked| radius(asked, &network, points()).unwrap());
    assert_eq!(found[0].status, Status::Unknown);
    assert!(found[0].certified <= 0.0 && found[0].counterexample.is_none());
}

#[test]
fn what_was_found_beyond_one_border_is_exact_and_took_two_parts() {
    let network = network(Gate::Argmax);
    let (found, worst) = asked(0.8, &[], |asked| {
        let found = radius(asked, &network, points()).unwrap().remove(0);
        (
            found,
            worst_case(asked, &network, points()).unwrap().remove(0),
        )
    });
    assert_eq!((found.status, found.nodes), (Status::Exact, 2));
    assert_eq!((worst.status, worst.nodes), (Status::Exact, 2));
    let size = found.counterexample.unwrap().size - found.certified;
    assert!((0.0..3e-4).contains(&size), "{size}");
}

#[test]
fn in_the_largest_norm_what_is_left_of_the_ball_holds_the_class_too() {
    // The border lies 0.5 away. The margin is 2 a + b = 0.6, and a + 2 b = -0.3 beyond; b stays, so a has to rise by more than 0.3 of the 0.5 that are left.
    let x = [1.0, 0.0, 0.5, -0.4];
    let (radius, worst) = with_segments(
        &Toy::default(),
        Gate::Argmax,
        Norm::Linf,
        |_| (),
        |segments| {
            (
                segments.radius(&x).unwrap(),
                segments.worst_case(&x).unwrap(),
            )
        },
    );
    assert!((radius.certified - 0.5).abs() < 1e-4, "{radius:?}");
    let change = radius.counterexample.unwrap();
    assert!(
        (change.point[2] - 0.5 - 0.999 * 0.5).abs() < 1e-3,
        "{change:?}"
    );
    assert!((change.point[3] + 0.4).abs() < 1e-6 && change.size <= 1.0 + 1e-6);
    assert_eq!((worst.kept_at_least, worst.kept_at_most), (0, 0));
}

/// Weights 0, 1, 2 and so on, of 3 maps and 2 gates.
struct Counted;

impl ParameterSource for Counted {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
        role: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let count = u32::try_from(shape.iter().product::<usize>()).unwrap();
        let values: Vec<f64> = match name {
            "layers.1.weight" => (0..count).map(f64::from).collect(),
            "layers.1.gated_weight" => (0..count).map(|one| 100.0 * f64::from(one)).collect(),
            "layers.0.score_bias" => vec![0.0, 0.25],
            "layers.1.gated_bias" => vec![0.0; shape.iter().product()],
            _ => return Toy::default().values(name, shape, init, role),
        };
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

#[test]
fn of_three_classes_only_logits_are_certified_each_by_its_own_map() {
    let model = ModelConfig::Segmented(SegmentedConfig {
        gate: Gate::Argmax,
        prototypes: None,
        blocks: vec![2],
    });
    let network = model
        .network(&InputShape::Table, 4, 3, &mut Counted)
        .unwrap();
    asked(0.5, &[], |asked| {
        assert!(fits(asked, &network).is_err());
        let asked = Asked {
            ranked: Ranked::Logit,
            ..*asked
        };
        assert!(fits(&asked, &network).unwrap());
        let segments = Segments::new(&asked, &network).unwrap();
        // The second map begins at 4, and its second gate at 12.
        let expected = [4.0 + 1200.0, 5.0 + 1300.0, 6.0 + 1400.0, 7.0 + 1500.0];
        assert_eq!(segments.gradient(&[1], 1), expected);
        let slack = segments.importances(&X, &[1], 1).slack;
        let off = gamma(3, Arithmetic::SINGLE.unit);
        let sizes: Vec<f64> = slack.iter().map(|slack| slack / off).collect();
        assert_near(&sizes, &expected);
        // The first gate is ahead by 1 less the other's bias.
        assert_near(
            &[segments.score(0, &X), segments.score(1, &X)],
            &[1.0, 0.25],
        );
        let border = segments.border(&X, 0, 1).unwrap();
        assert_near(&[border.distance], &[0.75 / 2.0_f64.sqrt() - SCORE_SLACK]);
    });
    // Of two classes everything is certified.
    let network = super::tests::network(Gate::Argmax);
    assert!(asked(0.5, &[], |asked| fits(asked, &network).unwrap()));
}

/// Two blocks of two categories each, of which the second gates of both turn the numbers round.
struct TwoBlocks;

impl ParameterSource for TwoBlocks {
    fn values(
        &mut self,
        name: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let mut values = vec![0.0; shape.iter().product()];
        match name {
            // Gate g reads feature g.
            "layers.0.score_weight" => (0..4).for_each(|gate| values[gate * 6 + gate] = 1.0),
            "layers.1.weight" => (values[4], values[5]) = (3.0, 1.0),
            // Each of the second gates adds 1.5 to the second number; one alone is not enough.
            "layers.1.gated_weight" => (values[6 + 5], values[18 + 5]) = (1.5, 1.5),
            _ => {}
        }
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

#[test]
fn two_borders_that_change_the_reasons_only_together_are_crossed_together() {
    let model = ModelConfig::Segmented(SegmentedConfig {
        gate: Gate::Argmax,
        prototypes: None,
        blocks: vec![2, 2],
    });
    let network = model
        .network(&InputShape::Table, 6, 2, &mut TwoBlocks)
        .unwrap();
    let x = [0.8, 0.2, 0.1, 0.9, 0.5, 0.5];
    let schema = Schema::table(&["c0", "c1", "d0", "d1", "a", "b"]);
    let row = |radius: f64, x: &[f64]| {
        let threat = ThreatConfig {
            ball: BallConfig {
                radius,
                ..BallConfig::default()
            },
            ..ThreatConfig::papers()
        };
        let threat = threat.check(&schema).unwrap();
        let asked = Asked {
            k: 1,
            threat: &threat,
            hold: true,
            nodes: 100,
            ranked: Ranked::Probability,
            absolute: true,
            times_input: false,
            groups: None,
        };
        let segments = Segments::new(&asked, &network).unwrap();
        let row = segments.row(x).unwrap();
        (row.open, row.first, segments.radius(x).unwrap())
    };
    // The second block has its second gate open already, so the first border alone, 0.6 / sqrt(2) away, brings 4 against 3.
    let (open, first, found) = row(0.7, &x);
    let near = 0.6 / 2.0_f64.sqrt();
    assert_eq!(open, [0, 3]);
    assert!((first - near).abs() < 1e-4);
    assert!((found.certified - near).abs() < 1e-4, "{found:?}");
    assert_eq!(found.status, Status::Exact);
    // From the first gates of both, 0.6 and 0.2 apart, only both borders together do.
    let x = [0.8, 0.2, 0.6, 0.4, 0.5, 0.5];
    let both = f64::hypot(near, 0.2 / 2.0_f64.sqrt());
    let (open, _, found) = row(0.7, &x);
    assert_eq!(open, [0, 2]);
    assert!((found.certified - both).abs() < 1e-4, "{found:?} {both}");
    assert_eq!((found.status, found.nodes), (Status::Exact, 4));
}
