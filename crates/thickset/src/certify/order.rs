//! The order of importances that change inside a region: gradients multiplied by their features.
//!
//! Where all gates are decided the gradient is a constant vector, and each form `α x_i g_i + β x_j g_j` of a pair is linear in
//! the move. Pairs that the part's half-spaces leave open are split at the hyperplane where the form is zero.

use super::ball::{Room, least};
use super::case::Case;
use super::half_space::HalfSpace;
use super::node::Node;
use super::pairs::{Form, Gradient};
use super::swaps::OpenPairs;

/// What is known of the order.
pub(super) enum Decided {
    /// Fewer than t features can be swapped.
    Kept,
    /// Every pair of a K(t, t) is in the other order.
    Swapped,
    /// Not yet known by this form.
    Split(Form),
}

/// Sweeps for each form.
const SWEEPS: usize = 4;

/// Looks for t features that can be swapped in a part whose gates are all decided.
pub(super) fn decide_order(
    case: &Case<'_>,
    node: &Node,
    gradient: &Gradient<'_>,
    t: usize,
    radius: f64,
    room: &mut Room,
) -> Decided {
    let cuts = node.half_spaces(case, radius);
    let mut open = OpenPairs::new(case.salient.len(), case.others.len());
    let mut undecided: Vec<(usize, usize, Form)> = Vec::new();
    let known = |form: &Form| {
        let mut orders = node.orders.iter();
        orders.find_map(|(known, is_kept, _)| (known == form).then_some(*is_kept))
    };
    for (row, &salient) in case.salient.iter().enumerate() {
        // An importance whose sign is open is split by its sign first.
        let sign = Form {
            salient,
            other: salient,
            alpha: 1.0,
            beta: 0.0,
        };
        let is_positive = if gradient.low[salient] >= 0.0 || !case.explained.absolute {
            Some(true)
        } else if gradient.high[salient] <= 0.0 {
            Some(false)
        } else {
            known(&sign)
        };
        for (column, &other) in case.others.iter().enumerate() {
            if gradient.is_apart(salient, other) {
                continue;
            }
            let Some(is_positive) = is_positive else {
                open.open(row, column);
                undecided.push((row, column, sign));
                continue;
            };
            let mut first_open = None;
            let mut is_swapped = false;
            for mut form in gradient.forms_of(salient, other) {
                form.alpha = if is_positive { 1.0 } else { -1.0 };
                if let Some(is_kept) = known(&form) {
                    is_swapped |= !is_kept;
                    continue;
                }
                let kept = side(case, gradient, &form, true);
                let norm = case.moves.norm;
                let bound = least(norm, &kept.normal, radius, &cuts, SWEEPS, room);
                if bound + kept.offset <= 0.0 {
                    first_open.get_or_insert(form);
                }
            }
            if is_swapped {
                open.open(row, column);
            } else if let Some(form) = first_open {
                open.open(row, column);
                undecided.push((row, column, form));
            }
        }
    }
    let Some(complete) = open.complete(t) else {
        return Decided::Kept;
    };
    let mut undecided = undecided.into_iter();
    undecided
        .find(|(row, column, _)| complete.has(*row, *column))
        .map_or(Decided::Swapped, |(.., form)| Decided::Split(form))
}

/// Where the form keeps its pair in order, by what rounding needs; or all the rest.
pub(super) fn side(
    case: &Case<'_>,
    gradient: &Gradient<'_>,
    form: &Form,
    is_kept: bool,
) -> HalfSpace {
    let (own, other) = (
        form.alpha * gradient.known_of(form.salient),
        form.beta * gradient.known_of(form.other),
    );
    let sign = if is_kept { 1.0 } else { -1.0 };
    let mut normal = vec![0.0; case.dimensions()];
    for (place, feature) in case.moving.iter().enumerate() {
        if *feature == form.salient {
            normal[place] += sign * own;
        }
        if *feature == form.other {
            normal[place] += sign * other;
        }
    }
    let offset = sign * (own * case.x[form.salient] + other * case.x[form.other]);
    // A sign has two sides and nothing between them that matters; an order needs to be clear.
    let needed = if form.beta == 0.0 {
        0.0
    } else {
        gradient.needed(form.salient, form.other)
    };
    HalfSpace::new(normal, offset, -sign * needed)
}

#[cfg(test)]
mod tests {
    use super::super::ball::MoveNorm;
    use super::super::explained::{Explained, Ranked};
    use super::super::layers::{Bounded, bound_layers};
    use super::super::network::{DenseLayer, DenseNetwork};
    use super::super::rounding::Arithmetic;
    use super::super::tests::{free_moves, with_case};
    use super::*;

    #[test]
    fn a_pair_keeps_its_order_where_its_form_is_clear_of_rounding() {
        // The importances are 3 x0 and 4 x2; x1 stays, and counts nothing.
        let network = DenseNetwork {
            hidden: Vec::new(),
            head: DenseLayer {
                weight: vec![3.0, 0.0, 4.0, 0.0, 0.0, 0.0],
                bias: vec![0.0, 0.0],
                inputs: 3,
            },
            arithmetic: Arithmetic {
                unit: 1e-3,
                tiny: 0.0,
            },
        };
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        explained.times_input = true;
        let mut moves = free_moves(MoveNorm::L2, 0.5, 3, false);
        (moves.low[1], moves.high[1]) = (0.0, 0.0);
        with_case(&network, &explained, &moves, &[2.0, 0.0, 1.0], 1, |case| {
            let mut node = Node::root(case);
            let bounded = bound_layers(case, &mut node, 0.5, None, &mut Room::default());
            let Bounded::Paths(paths) = bounded else {
                panic!("the row itself is in the ball");
            };
            let gradient = Gradient::new(case, &node, &paths, 0.5);
            let needed = gradient.needed(0, 2);
            assert!(needed > 0.05);
            let form = |beta: f64| Form {
                salient: 0,
                other: 2,
                alpha: 1.0,
                beta,
            };
            // 3 x0 - 4 x2 is 2 at the row, and must be as much as is needed; all the rest is on the other side.
            let kept = side(case, &gradient, &form(-1.0), true);
            assert_eq!(kept.normal, [3.0, -4.0]);
            assert!((kept.offset - (2.0 - needed)).abs() < 1e-12);
            let lost = side(case, &gradient, &form(-1.0), false);
            assert_eq!(lost.normal, [-3.0, 4.0]);
            assert!((lost.offset - (needed - 2.0)).abs() < 1e-12);
            // A sign has two sides and nothing between.
            let sign = side(case, &gradient, &form(0.0), true);
            assert_eq!((&sign.normal[..], sign.offset), (&[3.0, 0.0][..], 6.0));
        });
    }
}
