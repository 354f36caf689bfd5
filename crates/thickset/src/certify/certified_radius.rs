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

/// The radius of one row, with at most so many parts of the search.
pub(super) fn certify(case: &Case<'_>, most_nodes: usize) -> CertifiedRadius {
    let (mut certified, mut nodes) = (0.0_f64, 0);
    for share in LADDER {
        let radius = share * case.moves.radius;
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
