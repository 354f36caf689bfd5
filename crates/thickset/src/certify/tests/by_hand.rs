//! Two neurons, solved on paper.

use super::super::ball::MoveNorm;
use super::super::case::{Case, Deployed};
use super::super::explained::{Explained, Ranked};
use super::super::network::{DenseLayer, DenseNetwork};
use super::super::result::Status;
use super::super::rounding::Arithmetic;
use super::{free_moves, radius, with_case, worst_case};

/// The margin is `max(0, 3 x1 + 1) + max(0, 4 x2 - 2)`.
pub(super) fn network() -> DenseNetwork {
    DenseNetwork {
        hidden: vec![DenseLayer {
            weight: vec![3.0, 0.0, 0.0, 4.0],
            bias: vec![1.0, -2.0],
            inputs: 2,
        }],
        head: DenseLayer {
            weight: vec![1.0, 1.0, 0.0, 0.0],
            bias: vec![0.0, 0.0],
            inputs: 2,
        },
        arithmetic: Arithmetic::DOUBLE,
    }
}

#[test]
fn the_second_feature_overtakes_where_its_gate_opens() {
    // At 0 the gradient is (3, 0). It becomes (3, 4) where x2 > 1/2, and (0, 0), a tie that the first feature wins, where
    // x1 < -1/3.
    let network = network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    for norm in [MoveNorm::L2, MoveNorm::Linf] {
        let moves = free_moves(norm, 0.3, 2, true);
        let near = with_case(&network, &explained, &moves, &[0.0, 0.0], 1, radius);
        assert_eq!(near.status, Status::Certified);
        let moves = free_moves(norm, 0.6, 2, true);
        let (found, worst) = with_case(&network, &explained, &moves, &[0.1, 0.3], 1, |case| {
            (radius(case), worst_case(case))
        });
        assert_eq!(found.status, Status::Exact, "{norm:?}");
        assert!((found.certified - 0.2).abs() < 1e-6 && found.certified <= 0.2);
        assert!((found.counterexample.unwrap().size - 0.2).abs() < 1e-5);
        assert_eq!((worst.kept_at_least, worst.kept_at_most), (0, 0));
    }
}

#[test]
fn a_feature_that_cannot_move_does_not_overtake() {
    let network = network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let mut moves = free_moves(MoveNorm::L2, 0.3, 2, true);
    (moves.low[1], moves.high[1]) = (0.0, 0.0);
    let found = with_case(&network, &explained, &moves, &[0.1, 0.3], 1, radius);
    assert_eq!(found.status, Status::Certified);
    // A bound short of the kink does the same.
    (moves.low[1], moves.high[1]) = (-1.0, 0.19);
    let found = with_case(&network, &explained, &moves, &[0.1, 0.3], 1, radius);
    assert_eq!(found.status, Status::Certified);
}

#[test]
fn a_gradient_times_its_input_changes_inside_a_region() {
    // In the region of (1, 1) the importances are 3 x1 and 4 x2: tied where 3 x1 = 4 x2. From (2, 1) that plane is
    // (3 * 2 - 4) / 5 away.
    let network = network();
    let mut explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    explained.times_input = true;
    let moves = free_moves(MoveNorm::L2, 0.49, 2, true);
    let found = with_case(&network, &explained, &moves, &[2.0, 1.0], 1, radius);
    assert_eq!(found.status, Status::Exact);
    assert!((found.certified - 0.4).abs() < 1e-6, "{found:?}");
    assert!((found.counterexample.unwrap().size - 0.4).abs() < 1e-4);
}

#[test]
fn a_linear_model_never_changes() {
    let network = DenseNetwork {
        hidden: Vec::new(),
        head: DenseLayer {
            // The rows differ by -4, -2 and -1.
            weight: vec![1.0, 2.0, 3.0, -3.0, 0.0, 2.0],
            bias: vec![0.0, 0.5],
            inputs: 3,
        },
        arithmetic: Arithmetic::SINGLE,
    };
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let moves = free_moves(MoveNorm::L2, 5.0, 3, false);
    let (found, worst) = with_case(&network, &explained, &moves, &[1.0, 1.0, 1.0], 1, |case| {
        (radius(case), worst_case(case))
    });
    assert_eq!((found.status, worst.kept_at_least), (Status::Certified, 1));
}

/// A row whose second and third feature are large, stay where they are and cancel.
fn cancelling(arithmetic: Arithmetic) -> DenseNetwork {
    DenseNetwork {
        hidden: vec![DenseLayer {
            // Open while x1 + x2 - x3 + 0.05 > 0; always open; always open.
            weight: vec![1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            bias: vec![0.05, 1.0, 1.0],
            inputs: 3,
        }],
        head: DenseLayer {
            weight: vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            bias: vec![0.0, 0.0],
            inputs: 3,
        },
        arithmetic,
    }
}

#[test]
fn a_gate_that_rounding_can_decide_is_not_certified() {
    // The gradient is (1, 1, -1) while the first gate is open, else (0, 0, 0): with signs, the first two features are ahead of the
    // third, and in a tie too. Ranked by the negative they are not.
    let x = [0.0, 1e6, 1e6];
    for (arithmetic, is_certain) in [(Arithmetic::DOUBLE, true), (Arithmetic::SINGLE, false)] {
        let network = cancelling(arithmetic);
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        explained.absolute = false;
        explained.seed = vec![-1.0, 0.0, 0.0];
        let mut moves = free_moves(MoveNorm::L2, 0.02, 3, false);
        for feature in [1, 2] {
            (moves.low[feature], moves.high[feature]) = (0.0, 0.0);
        }
        // The third feature leads, by -(-1); if the gate is closed, the first one does.
        let found = with_case(&network, &explained, &moves, &x, 1, radius);
        assert_eq!(found.certified > 0.0, is_certain, "{found:?}");
    }
}

#[test]
fn an_order_that_rounding_can_decide_is_not_certified() {
    // All gates are open. The first feature's gradient is 1e8 + 1 - 1e8, the second's a half: in single precision a sum of three
    // such numbers may be anything up to 16.
    for (arithmetic, is_certain) in [(Arithmetic::DOUBLE, true), (Arithmetic::SINGLE, false)] {
        let network = DenseNetwork {
            hidden: vec![DenseLayer {
                weight: vec![1e8, 0.0, 1.0, 0.5, -1e8, 0.0],
                bias: vec![1e9, 1e9, 1e9],
                inputs: 2,
            }],
            head: DenseLayer {
                weight: vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
                bias: vec![0.0, 0.0],
                inputs: 3,
            },
            arithmetic,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 0.1, 2, false);
        let found = with_case(&network, &explained, &moves, &[0.0, 0.0], 1, radius);
        assert_eq!(found.certified > 0.0, is_certain, "{found:?}");
    }
}

#[test]
fn an_order_that_underflow_can_decide_is_not_certified() {
    // The gradients are 2e-44 and 1e-44, for which single precision has no whole digit and some machines only zero.
    for (arithmetic, is_certain) in [(Arithmetic::DOUBLE, true), (Arithmetic::SINGLE, false)] {
        let network = DenseNetwork {
            hidden: vec![DenseLayer {
                weight: vec![2e-22, 0.0, 0.0, 1e-22],
                bias: vec![1.0, 1.0],
                inputs: 2,
            }],
            head: DenseLayer {
                weight: vec![1e-22, 1e-22, 0.0, 0.0],
                bias: vec![0.0, 0.0],
                inputs: 2,
            },
            arithmetic,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 0.1, 2, false);
        let found = with_case(&network, &explained, &moves, &[0.0, 0.0], 1, radius);
        assert_eq!(found.certified > 0.0, is_certain, "{found:?}");
    }
}

#[test]
fn behind_a_layer_that_is_closed_altogether_ties_decide() {
    // Beyond x1 = -1/3 both gates are closed and both gradients zero, a tie that the first feature wins.
    let network = network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    for norm in [MoveNorm::L2, MoveNorm::Linf] {
        let moves = free_moves(norm, 0.4, 2, false);
        let found = with_case(&network, &explained, &moves, &[0.0, 0.0], 1, radius);
        assert_eq!(found.status, Status::Certified, "{norm:?}: {found:?}");
    }
}

#[test]
fn of_equal_importances_the_first_is_ahead() {
    let network = network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let moves = free_moves(MoveNorm::L2, 0.1, 2, false);
    // The gradient is (3, 0) at the first row and (3, 4) at the second.
    for (x, lost) in [([0.0, 0.0], 0), ([0.0, 1.0], 1)] {
        let found = with_case(&network, &explained, &moves, &x, 1, |case| {
            case.lost(&[1.0, 1.0])
        });
        assert_eq!(found, lost, "{x:?}");
    }
}

#[test]
fn a_feature_overtakes_through_two_gates_that_are_not_decided() {
    // The margin is max(0, 1.5 x1 + 10) + max(0, 0.03 - 2 max(0, x2)). The first gradient is 1.5; the second is -2 while 0 < x2 < 0.015, and else zero. From
    // x2 = -0.1 that is 0.1 away.
    let network = DenseNetwork {
        hidden: vec![
            DenseLayer {
                weight: vec![1.5, 0.0, 0.0, 1.0],
                bias: vec![10.0, 0.0],
                inputs: 2,
            },
            DenseLayer {
                weight: vec![1.0, 0.0, 0.0, -2.0],
                bias: vec![0.0, 0.03],
                inputs: 2,
            },
        ],
        head: DenseLayer {
            weight: vec![1.0, 1.0, 0.0, 0.0],
            bias: vec![0.0, 0.0],
            inputs: 2,
        },
        arithmetic: Arithmetic::DOUBLE,
    };
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let moves = free_moves(MoveNorm::L2, 0.2, 2, false);
    let (found, worst) = with_case(&network, &explained, &moves, &[0.0, -0.1], 1, |case| {
        (radius(case), worst_case(case))
    });
    assert_eq!(found.status, Status::Exact);
    assert!(found.certified <= 0.1 && found.certified > 0.1 - 1e-6);
    assert_eq!((worst.kept_at_least, worst.kept_at_most), (0, 0));
}

#[test]
fn of_a_gradient_times_its_input_each_feature_moves_to_the_side_that_it_may() {
    // As above; the nearest change lowers x1 and raises x2, which is all that they may do, or all that they may not.
    let network = network();
    let mut explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    explained.times_input = true;
    let mut moves = free_moves(MoveNorm::L2, 0.49, 2, true);
    (moves.high[0], moves.low[1]) = (0.0, 0.0);
    let found = with_case(&network, &explained, &moves, &[2.0, 1.0], 1, radius);
    assert_eq!(found.status, Status::Exact);
    assert!((found.certified - 0.4).abs() < 1e-6, "{found:?}");
    let mut moves = free_moves(MoveNorm::L2, 0.49, 2, true);
    (moves.low[0], moves.high[1]) = (0.0, 0.0);
    let found = with_case(&network, &explained, &moves, &[2.0, 1.0], 1, radius);
    assert_eq!(found.status, Status::Certified);
}

#[test]
fn a_negative_importance_is_ranked_by_its_size() {
    // Both gates are open: the importances are 3 x1 and 4 x2, -6 and 4 at the row, and tied where -3 x1 = 4 x2, which is 2 / 5 away.
    let mut network = network();
    network.hidden[0].bias = vec![100.0, 100.0];
    let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
    explained.times_input = true;
    let moves = free_moves(MoveNorm::L2, 0.49, 2, false);
    let found = with_case(&network, &explained, &moves, &[-2.0, 1.0], 1, radius);
    assert_eq!(found.status, Status::Exact);
    assert!((found.certified - 0.4).abs() < 1e-6, "{found:?}");
    assert!((found.counterexample.unwrap().size - 0.4).abs() < 1e-4);
    // With their signs it is the second that is ahead, and its lead of 10 falls by 5 a unit.
    explained.absolute = false;
    let moves = free_moves(MoveNorm::L2, 2.5, 2, false);
    let found = with_case(&network, &explained, &moves, &[-2.0, 1.0], 1, radius);
    assert_eq!(found.status, Status::Exact);
    assert!((found.certified - 2.0).abs() < 1e-5, "{found:?}");
}

/// The margin is `3 x1 + 4 x2 - 9`, without a hidden layer.
fn linear() -> DenseNetwork {
    DenseNetwork {
        hidden: Vec::new(),
        head: DenseLayer {
            weight: vec![3.0, 4.0, 0.0, 0.0],
            bias: vec![-9.0, 0.0],
            inputs: 2,
        },
        arithmetic: Arithmetic::DOUBLE,
    }
}

#[test]
fn of_a_linear_model_the_class_holds_where_the_row_is() {
    // The importances are 3 x1 and 4 x2, 6 and 4 at (2, 1), and tied 0.4 away at (1.76, 1.32), where the margin is still above zero. It is 1 at the row.
    let network = linear();
    let mut explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    explained.times_input = true;
    for hold in [false, true] {
        let moves = free_moves(MoveNorm::L2, 0.49, 2, hold);
        let found = with_case(&network, &explained, &moves, &[2.0, 1.0], 1, radius);
        assert_eq!(found.status, Status::Exact, "{hold}");
        assert!((found.certified - 0.4).abs() < 1e-6, "{hold}: {found:?}");
    }
    // Where only the first feature moves they are tied at 4 / 3, 2 / 3 away, and there the margin is -1.
    for (hold, status) in [(false, Status::Exact), (true, Status::Certified)] {
        let mut moves = free_moves(MoveNorm::L2, 1.0, 2, hold);
        (moves.low[1], moves.high[1]) = (0.0, 0.0);
        let found = with_case(&network, &explained, &moves, &[2.0, 1.0], 1, radius);
        assert_eq!(found.status, status, "{hold}: {found:?}");
    }
}

#[test]
fn a_linear_model_that_is_too_sure_of_itself_is_not_certified() {
    // At (20, 10) the margin is 91, and no gradient of a probability is left.
    let network = linear();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let moves = free_moves(MoveNorm::L2, 0.5, 2, false);
    let certified = |x: [f64; 2]| with_case(&network, &explained, &moves, &x, 1, radius).certified;
    assert!(certified([20.0, 10.0]) < 1e-12);
    assert!((certified([2.0, 1.0]) - 0.5).abs() < 1e-12);
}

/// A deployed model that says the same everywhere.
struct Always([f64; 2]);

impl Deployed for Always {
    fn nearest_input(&self, value: f64) -> f64 {
        value
    }

    fn run(&self, _: &[f64], class: usize) -> (usize, Vec<f64>) {
        (class, self.0.to_vec())
    }
}

#[test]
fn a_counterexample_is_one_of_the_exact_network_and_of_the_deployed_model() {
    // From (0.1, 0.3) the second feature overtakes where x2 > 1/2.
    let network = network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let found = |importance: [f64; 2], radius: f64| {
        let moves = free_moves(MoveNorm::L2, radius, 2, false);
        let (deployed, x) = (Always(importance), [0.1, 0.3]);
        let case = Case::new(&network, &explained, &deployed, &moves, &x, 0, vec![0]);
        (super::radius(&case), worst_case(&case))
    };
    // The deployed model does not confirm it: something may be there, and nothing is shown.
    let (radius, worst) = found([1.0, 0.0], 0.4);
    assert!(radius.counterexample.is_none() && radius.status == Status::Unknown);
    assert!((radius.certified - 0.2).abs() < 1e-6, "{radius:?}");
    assert_eq!((worst.kept_at_least, worst.kept_at_most), (0, 1));
    // The exact network does not lose it within 0.1, whatever the deployed model says at a point.
    let (radius, worst) = found([0.0, 1.0], 0.1);
    assert!(radius.counterexample.is_none() && radius.status == Status::Certified);
    assert_eq!((worst.kept_at_least, worst.kept_at_most), (1, 1));
}
