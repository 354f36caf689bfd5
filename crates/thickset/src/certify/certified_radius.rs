//! The smallest move that changes the top-k set.
//!
//! Parts of the search are visited in the order of their distance, at a ladder of radii: near counterexamples are found with
//! the sharp bounds of small balls.

use super::case::Case;
use super::result::{CertifiedRadius, Counterexample, Status};
use super::search::{Goal, Search, Searched, Witness};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "certified-radius",
    label: "certified radius",
    family: Family::Certificate,
    summary: "The smallest move that changes the top-k set of a ReLU network's gradient, exactly",
    formula: "min ||d|| over all d whose top-k set at x + d is not that at x, by branch and bound over the gates",
    source: "this project",
    direction: None,
    cost: "about a millisecond a row for 64 and 32 hidden neurons; grows with the gates within the radius",
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

/// Radii that are tried one after the other, as shares of the largest.
const LADDER: [f64; 10] = [0.02, 0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0];

/// A bracket at most this wide, as a share of its upper end plus a thousandth, is as tight as the rounding of models in `f32`
/// lets it be.
const CLOSED: f64 = 0.01;

/// The radius of one row, with at most so many parts of the search; the ladder is one of shares of `largest`, up to the radius of the
/// row's moves.
pub(super) fn certify(case: &Case<'_>, most_nodes: usize, largest: f64) -> CertifiedRadius {
    let (mut certified, mut nodes) = (0.0_f64, 0);
    let own = case.moves.radius;
    let rungs = LADDER.iter().map(|share| share * largest);
    for radius in rungs.take_while(|radius| *radius < own).chain([own]) {
        let searched = Search::new(case, Goal::Nearest, 1, radius).run(most_nodes - nodes);
        nodes += searched.nodes;
        certified = certified.max(searched.certified);
        // What rounding leaves open at the edge of one ball is inside the next.
        if !searched.is_finished || searched.witness.is_some() {
            return answer(case, certified, searched, nodes);
        }
    }
    CertifiedRadius {
        status: if certified < case.moves.radius {
            Status::Unknown
        } else {
            Status::Certified
        },
        certified,
        counterexample: None,
        nodes,
    }
}

fn answer(case: &Case<'_>, certified: f64, searched: Searched, nodes: usize) -> CertifiedRadius {
    let counterexample = searched
        .witness
        .map(|Witness { point, size, lost }| Counterexample {
            point,
            size,
            kept: case.k - lost,
        });
    let is_closed = counterexample.as_ref().is_some_and(|counterexample| {
        let size = counterexample.size;
        size - certified <= CLOSED * (size + 1e-3)
    });
    CertifiedRadius {
        status: if searched.is_finished && is_closed {
            Status::Exact
        } else {
            Status::Unknown
        },
        certified,
        counterexample,
        nodes,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ball::MoveNorm;
    use super::super::explained::{Explained, Ranked};
    use super::super::tests::{free_moves, random_network, with_case};
    use super::*;
    use crate::Seed;

    #[test]
    fn a_bracket_is_closed_where_a_hundredth_of_it_is_left() {
        let network = random_network(&[4, 3, 2], &mut Seed::new(3).stream("network"));
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 1.0, 4, false);
        with_case(&network, &explained, &moves, &[0.0; 4], 3, |case| {
            let of = |certified: f64, is_finished: bool, size: Option<f64>| {
                let witness = size.map(|size| Witness {
                    point: vec![0.0; 4],
                    size,
                    lost: 1,
                });
                let searched = Searched {
                    certified,
                    is_finished,
                    witness,
                    nodes: 7,
                    splits: Vec::new(),
                };
                let found = answer(case, certified, searched, 9);
                let kept = found.counterexample.map(|found| found.kept);
                assert_eq!((kept, found.nodes), (size.map(|_| 2), 9));
                found.status
            };
            assert_eq!(of(0.99, true, Some(1.0)), Status::Exact);
            assert_eq!(of(0.9899, true, Some(1.0)), Status::Unknown);
            assert_eq!(of(1.0, false, Some(1.0)), Status::Unknown);
            assert_eq!(of(0.5, true, None), Status::Unknown);
            // Of a thousandth rounding is a larger share.
            assert_eq!(of(0.00099, true, Some(0.001)), Status::Exact);
            assert_eq!(of(0.00097, true, Some(0.001)), Status::Unknown);
        });
    }

    #[test]
    fn no_more_parts_are_searched_than_asked_for() {
        for number in 0..10 {
            let mut stream = Seed::new(47).stream_at("nodes", number);
            let network = random_network(&[5, 8, 6, 2], &mut stream);
            let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
            let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
            let moves = free_moves(MoveNorm::L2, 1.0, 5, false);
            with_case(&network, &explained, &moves, &x, 2, |case| {
                let exact = certify(case, 100_000, 1.0);
                for most in [1, 3, 10, 30] {
                    let found = certify(case, most, 1.0);
                    assert!(found.nodes <= most, "{} of {most}", found.nodes);
                    // Less is certified, but nothing else.
                    assert!(found.certified <= exact.certified + 1e-6);
                    if let Some(change) = &found.counterexample {
                        assert!(change.size + 1e-6 >= exact.certified);
                    }
                }
            });
        }
    }

    #[test]
    fn below_a_known_change_the_same_is_proved() {
        let mut changed = 0;
        for number in 0..12 {
            let mut stream = Seed::new(61).stream_at("known", number);
            let network = random_network(&[5, 7, 5, 2], &mut stream);
            let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
            let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
            let of = |radius: f64| {
                let moves = free_moves(MoveNorm::L2, radius, 5, false);
                with_case(&network, &explained, &moves, &x, 2, |case| {
                    certify(case, 20_000, 1.0)
                })
            };
            let free = of(1.0);
            let Some(change) = free.counterexample.filter(|_| free.status == Status::Exact) else {
                continue;
            };
            changed += 1;
            let known = change.size * 1.1;
            let below = of(known);
            assert_eq!(below.status, Status::Exact);
            assert!((below.certified - free.certified).abs() <= CLOSED * (free.certified + 1e-3));
            // Nothing is nearer than the nearest change, so all of what is asked about is proved.
            let nearest = of(free.certified);
            assert!((nearest.certified - free.certified).abs() < 1e-12);
            assert!(nearest.counterexample.is_none());
        }
        assert!(changed > 5, "{changed}");
    }
}
