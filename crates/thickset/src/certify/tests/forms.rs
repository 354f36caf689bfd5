//! Bounds of forms against every pattern of the gates that are free.

use super::super::ball::{MoveNorm, Room};
use super::super::explained::{Explained, Ranked};
use super::super::layers::{Bounded, bound_layers};
use super::super::node::Node;
use super::super::pairs::Gradient;
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
