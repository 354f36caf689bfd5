//! How long radii and roots take: a measurement, run by hand on one core.
//! `cargo test --release --lib -- --ignored --nocapture certify::tests::speed`

use std::time::Instant;

use super::super::ball::MoveNorm;
use super::super::explained::{Explained, Ranked};
use super::super::search::{Goal, Search};
use super::{free_moves, largest, radius, with_case};

const ROWS: u32 = 100;
/// Of each row the best of so many is taken, since others use the machine too.
const REPEATS: usize = 5;

fn best(mut work: impl FnMut()) -> f64 {
    let times = (0..REPEATS).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64() * 1e3
    });
    times.fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "a measurement"]
fn milliseconds_of_radii_and_roots() {
    let Some((network, rows)) = super::reference::adult() else {
        return;
    };
    let moves = free_moves(MoveNorm::L2, 0.5, network.features(), true);
    let near = free_moves(MoveNorm::L2, 0.1, network.features(), true);
    let (mut radii, mut roots) = (0.0, 0.0);
    for x in rows.iter().take(ROWS as usize) {
        let class = largest(&network.run(x).0);
        let explained = Explained::new(&network, Ranked::Probability, class).unwrap();
        radii += best(|| {
            with_case(&network, &explained, &moves, x, 8, |case| {
                drop(radius(case));
            });
        });
        roots += best(|| {
            with_case(&network, &explained, &near, x, 8, |case| {
                drop(Search::new(case, Goal::Any, 1, 0.1).run(1));
            });
        });
    }
    let rows = f64::from(ROWS);
    eprintln!(
        "radius {:.3} ms a row, root {:.4} ms a row",
        radii / rows,
        roots / rows
    );
}
