//! The fewest salient features that any move within a radius keeps.
//!
//! The bounds of the whole ball say at once how many could be lost at most. Then, depth first: can one feature be lost more than any
//! move so far has lost, until none can. It starts from what an attack found, where there was one.

use super::case::Case;
use super::result::{CertifiedWorstCase, Counterexample, Status};
use super::search::{Goal, Search, Whole, Witness};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "certified-worst-case",
    label: "certified P@k",
    family: Family::Certificate,
    summary: "The lowest P@k that any move within a radius reaches on a ReLU network, exactly",
    formula: "min over ||d|| <= radius of the overlap of the top-k sets at x and x + d, over k",
    source: "this project",
    direction: None,
    cost: "about ten milliseconds a row for 64 and 32 hidden neurons at radius 0.25; grows with the gates within the radius",
    defaults: &[
        Setting::new("k", "salient features"),
        Setting::new(
            "hold_prediction",
            "only moves that keep the predicted class count",
        ),
        Setting::new(
            "nodes",
            "parts of the search, after which a bracket is given",
        ),
    ],
};

/// The worst case of one row at the radius of its moves, with at most so many parts of the search. `lost` features are known to
/// be lost at some move, which is not looked for again.
pub(super) fn certify(case: &Case<'_>, most_nodes: usize, lost: usize) -> CertifiedWorstCase {
    let mut nodes = 0;
    let mut worst: Option<Witness> = None;
    let largest = case.k.min(case.others.len());
    let mut at_most = largest;
    let mut lost = lost.min(at_most);
    let mut whole = (lost < at_most).then(|| Whole::new(case)).flatten();
    if let Some(whole) = &mut whole {
        nodes += 1;
        at_most = whole.most_lost(lost, at_most);
    }
    let mut search = |goal: Goal, t: usize, parts: usize| match &mut whole {
        Some(whole) => whole.search(goal, t, parts),
        None => Search::new(case, goal, t, case.moves.radius).run(parts),
    };
    // In a few parts the exact answer is hardly ever found: those are spent on the bound below.
    while lost < at_most && most_nodes > AT_THE_ROOT {
        let searched = search(Goal::Any, lost + 1, most_nodes.saturating_sub(nodes));
        nodes += searched.nodes;
        match searched.witness {
            Some(witness) => {
                lost = witness.lost;
                worst = Some(witness);
            }
            None if searched.is_finished => at_most = lost,
            None => break,
        }
    }
    // Not finished: more swaps are easier to rule out than fewer, so they are ruled out one after the other.
    while lost < at_most {
        let searched = search(Goal::Proof, at_most, AT_THE_ROOT.min(most_nodes));
        nodes += searched.nodes;
        match searched.witness {
            Some(witness) => {
                lost = witness.lost;
                worst = Some(witness);
            }
            None if searched.is_finished => at_most -= 1,
            None => break,
        }
    }
    CertifiedWorstCase {
        status: if lost == at_most {
            Status::Exact
        } else if at_most < largest {
            Status::Certified
        } else {
            Status::Unknown
        },
        kept_at_least: case.k - at_most,
        kept_at_most: case.k - lost,
        counterexample: worst.map(|Witness { point, size, lost }| Counterexample {
            point,
            size,
            kept: case.k - lost,
        }),
        nodes,
    }
}

/// Parts of the search for each bound that is given where the exact answer took too long.
const AT_THE_ROOT: usize = 50;

#[cfg(test)]
mod tests {
    use super::super::ball::MoveNorm;
    use super::super::explained::{Explained, Ranked};
    use super::super::tests::{free_moves, random_network, with_case};
    use super::*;
    use crate::Seed;

    #[test]
    fn brackets_of_a_search_that_ends_too_soon_hold_the_exact_answer() {
        let mut statuses = Vec::new();
        for number in 0..24 {
            let mut stream = Seed::new(53).stream_at("brackets", number);
            let network = random_network(&[7, 8, 6, 2], &mut stream);
            let x: Vec<f64> = (0..7).map(|_| stream.normal()).collect();
            let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
            let moves = free_moves(MoveNorm::L2, 0.6, 7, false);
            with_case(&network, &explained, &moves, &x, 3, |case| {
                let exact = certify(case, 100_000, 0);
                // Some rows are left open by rounding.
                if exact.status != Status::Exact {
                    return;
                }
                assert_eq!(exact.kept_at_least, exact.kept_at_most);
                for most in [1, 2, 5, 20] {
                    for lost in [0, 3 - exact.kept_at_most] {
                        let found = certify(case, most, lost);
                        let bracket = found.kept_at_least..=found.kept_at_most;
                        assert!(
                            bracket.contains(&exact.kept_at_least),
                            "{number}: {found:?}"
                        );
                        assert!(found.kept_at_most <= 3 - lost);
                        let status = match found.kept_at_least {
                            least if least == found.kept_at_most => Status::Exact,
                            0 => Status::Unknown,
                            _ => Status::Certified,
                        };
                        assert_eq!(found.status, status, "{number}: {found:?}");
                        if let Some(change) = &found.counterexample {
                            assert_eq!(change.kept, found.kept_at_most, "{number}: {found:?}");
                        }
                        // The whole of it once, and each of two halvings at most as often.
                        assert!(found.nodes <= 3 * most, "{number}: {found:?}");
                        statuses.push(found.status);
                    }
                }
            });
        }
        for status in [Status::Exact, Status::Certified, Status::Unknown] {
            let count = statuses.iter().filter(|one| **one == status).count();
            assert!(count > 5, "{status:?}: {count} of {}", statuses.len());
        }
    }
}
