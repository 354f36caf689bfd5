//! Proofs of tiny networks, checked by other bounds; and proofs that claim too much, refused.

use super::super::ball::MoveNorm;
use super::super::check::{Checked, follow};
use super::super::explained::{Explained, Ranked};
use super::super::network::DenseNetwork;
use super::super::proof::Proof;
use super::super::result::Status;
use super::{NODES, free_moves, largest, radius, random_network, with_case, worst_case};
use crate::Seed;

/// A network, a row of it, and how it is explained.
fn drawn(number: u64) -> (DenseNetwork, Vec<f64>, Explained) {
    let mut stream = Seed::new(23).stream_at("proofs", number);
    let widths: &[usize] = match number % 3 {
        0 => &[4, 6, 2],
        1 => &[5, 5, 3, 2],
        _ => &[4, 3, 3, 2, 2],
    };
    let network = random_network(widths, &mut stream);
    let x: Vec<f64> = (0..widths[0]).map(|_| stream.uniform()).collect();
    let class = largest(&network.run(&x).0);
    let mut explained = Explained::new(&network, Ranked::Probability, class).unwrap();
    explained.absolute = number % 4 != 3;
    (network, x, explained)
}

#[test]
fn what_is_certified_is_proved_and_the_proof_holds() {
    let (mut proved, mut asked) = (0, 0);
    for number in 0..60 {
        let (network, x, explained) = drawn(number);
        let norm = if number.is_multiple_of(2) {
            MoveNorm::L2
        } else {
            MoveNorm::Linf
        };
        let moves = free_moves(norm, 0.5, x.len(), number % 5 != 4);
        with_case(&network, &explained, &moves, &x, 2, |case| {
            let worst = worst_case(case);
            let found = radius(case);
            let claims = [
                (found.certified, 0),
                (moves.radius, 2 - worst.kept_at_least),
            ];
            for claim in claims {
                let proof = Proof::new(case, number, Ranked::Probability, claim, NODES);
                asked += 1;
                let Some(proof) = proof else { continue };
                let text = serde_json::to_string(&proof).unwrap();
                assert_eq!(serde_json::from_str::<Proof>(&text).unwrap(), proof);
                let checked = follow(&network, &explained, &proof);
                assert_eq!(checked, Checked::Holds, "case {number}: {proof:?}");
                proved += 1;
            }
        });
    }
    assert!(10 * proved >= 9 * asked, "{proved} of {asked}");
}

#[test]
fn a_proof_that_claims_too_much_is_refused() {
    let mut refused = 0;
    for number in 0..40 {
        let (network, x, explained) = drawn(number);
        let moves = free_moves(MoveNorm::L2, 0.5, x.len(), true);
        with_case(&network, &explained, &moves, &x, 2, |case| {
            let found = radius(case);
            let (Status::Exact, Some(change)) = (found.status, &found.counterexample) else {
                return;
            };
            let claim = (found.certified, 0);
            let Some(mut proof) = Proof::new(case, number, Ranked::Probability, claim, NODES)
            else {
                return;
            };
            // Up to a radius in which the set is known to change.
            proof.radius = change.size * 1.01 + 1e-6;
            let checked = follow(&network, &explained, &proof);
            assert!(matches!(checked, Checked::NotShown(_)), "case {number}");
            refused += 1;
        });
    }
    assert!(refused >= 10, "{refused}");
}

#[test]
fn a_tree_that_is_no_tree_is_refused() {
    let (network, x, explained) = drawn(0);
    let moves = free_moves(MoveNorm::L2, 0.1, x.len(), true);
    with_case(&network, &explained, &moves, &x, 2, |case| {
        let claim = (radius(case).certified, 0);
        let whole = Proof::new(case, 1, Ranked::Probability, claim, NODES).unwrap();
        for splits in [
            vec![],
            vec![0],
            vec![0, -1],
            vec![0, 0, -1, -1, -1],
            vec![99, -1, -1],
            vec![-2],
            vec![-1, -1],
        ] {
            let proof = Proof {
                splits,
                ..whole.clone()
            };
            let checked = follow(&network, &explained, &proof);
            assert!(matches!(checked, Checked::NotShown(_)), "{proof:?}");
        }
    });
}

#[test]
fn a_proof_lists_the_gates_that_were_split_and_a_mark_for_every_part() {
    // Up to 0.3 no gate changes; up to 0.4 the first one can close.
    let network = super::by_hand::network();
    let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
    let moves = free_moves(MoveNorm::L2, 0.4, 2, false);
    for (size, splits) in [(0.3, &[-1][..]), (0.4, &[0, -1, -1])] {
        let proof = with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            Proof::new(case, 1, Ranked::Probability, (size, 0), NODES)
        });
        let proof = proof.unwrap();
        assert_eq!(proof.splits, splits, "{size}");
        assert_eq!(follow(&network, &explained, &proof), Checked::Holds);
    }
}
