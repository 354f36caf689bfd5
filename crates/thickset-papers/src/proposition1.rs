//! IGR's Proposition 1: for a one-layer `ReLU` network with Gaussian weights and inputs of small variance,
//! `cos(IG(x), IG(x~)) ~ P(W'x > 0 and W'x~ > 0) / sqrt(P(W'x > 0) P(W'x~ > 0))`, simulated.
//!
//! Without biases a unit is on or off along the whole way from 0, so `IG(x) = x * gradient(x)` exactly. For Gaussian weights the
//! right side is `1 - angle(x, x~) / pi`.

use thickset::bench::{Bench, Cell, Figure, Mark, Series, Style, Table, TableRow};
use thickset::metric::{cosine, pearson};
use thickset::statistics::mean;
use thickset::{Result, Seed, Stream};

use crate::bench_builder::BenchBuilder;
use crate::runner::BenchRunner;

/// Entries of an input: an image of 28 x 28.
const PIXELS: usize = 784;
/// Hidden units.
const UNITS: [usize; 2] = [100, 1000];
/// Deviation of the entries of an input around 1: small, as the proposition asks for, and large.
const DEVIATIONS: [f64; 3] = [0.01, 0.1, 1.0];
/// How far the second input lies from the first, entry by entry, as a deviation.
const MOVES: [f64; 6] = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6];
/// Rows for one network; each costs all of its weights.
const ROWS_PER_NETWORK: usize = 40;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let networks = (runner.options.test_rows() / ROWS_PER_NETWORK).max(2);
    let mut bench = BenchBuilder::new(
        "proposition1",
        "IGR, Proposition 1: the cosine of integrated gradients, simulated",
    );
    bench.add_setting("networks", format!("{networks} for each number of units and deviation, {PIXELS} inputs, a pair for each of {} distances", MOVES.len()));
    let (mut rows, mut series) = (Vec::new(), Vec::new());
    for deviation in DEVIATIONS {
        let mut cells = Vec::new();
        for units in UNITS {
            let name = format!("proposition 1, deviation {deviation}, {units} units");
            let mut stream = Seed::new(0).stream(&name);
            let mut points = Vec::new();
            for _ in 0..networks {
                points.extend(one_network(units, deviation, &mut stream)?);
            }
            let errors: Vec<f64> = points
                .iter()
                .map(|[expected, found]| (found - expected).abs())
                .collect();
            let ours = mean::estimate(&errors)?;
            let (expected, found): (Vec<f64>, Vec<f64>) =
                points.iter().map(|point| (point[0], point[1])).unzip();
            bench.add_finding(format!(
                "deviation {deviation}, {units} units: mean error {:.3}, correlation of the two sides {:.3}",
                ours.value,
                pearson::score(&expected, &found)?
            ));
            cells.push(Cell::Number {
                ours,
                paper: None,
                mark: Mark::None,
            });
            series.push(Series {
                name: format!("deviation {deviation}, {units} units"),
                points,
            });
        }
        rows.push(TableRow {
            label: format!("deviation {deviation}"),
            cells,
        });
    }
    bench.add_table(Table {
        title: "Mean error of the approximation".to_owned(),
        corner: "inputs".to_owned(),
        columns: UNITS.iter().map(|units| format!("{units} units")).collect(),
        rows,
    });
    bench.add_figure(Figure {
        title: "The cosine of integrated gradients against the proposition".to_owned(),
        caption: "Each point is a pair of inputs under one drawn network; the proposition says they lie on the diagonal.".to_owned(),
        x_label: "1 - angle / pi".to_owned(),
        y_label: "cosine of the integrated gradients".to_owned(),
        style: Style::Points,
        series,
    });
    Ok(bench.finish())
}

/// The right and the left side for a pair of inputs at every distance.
fn one_network(units: usize, deviation: f64, stream: &mut Stream) -> Result<Vec<[f64; 2]>> {
    let weights: Vec<f64> = (0..units * PIXELS).map(|_| stream.normal()).collect();
    let outputs: Vec<f64> = (0..units).map(|_| stream.normal()).collect();
    let x: Vec<f64> = (0..PIXELS)
        .map(|_| 1.0 + deviation * stream.normal())
        .collect();
    let at_x = integrated(&weights, &outputs, &x);
    MOVES
        .into_iter()
        .map(|distance| {
            let moved: Vec<f64> = x.iter().map(|x| x + distance * stream.normal()).collect();
            let angle = cosine::score(&x, &moved)?.acos();
            let found = cosine::score(&at_x, &integrated(&weights, &outputs, &moved))?;
            Ok([1.0 - angle / std::f64::consts::PI, found])
        })
        .collect()
}

/// Integrated gradients of the network from 0.
fn integrated(weights: &[f64], outputs: &[f64], x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    for (weights, output) in weights.chunks(x.len()).zip(outputs) {
        let input: f64 = weights.iter().zip(x).map(|(w, x)| w * x).sum();
        if input > 0.0 {
            for (gradient, weight) in gradient.iter_mut().zip(weights) {
                *gradient += output * weight;
            }
        }
    }
    gradient
        .iter()
        .zip(x)
        .map(|(gradient, x)| gradient * x)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributions_add_up_to_the_output() {
        let mut stream = Seed::new(1).stream("network");
        let weights: Vec<f64> = (0..50).map(|_| stream.normal()).collect();
        let outputs: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
        let x: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
        let output: f64 = weights
            .chunks(5)
            .zip(&outputs)
            .map(|(w, u)| u * w.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>().max(0.0))
            .sum();
        let sum: f64 = integrated(&weights, &outputs, &x).iter().sum();
        assert!((sum - output).abs() < 1e-12, "{sum} {output}");
    }
}
