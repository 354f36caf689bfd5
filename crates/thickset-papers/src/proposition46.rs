//! R2ET's Proposition 4.6 on small networks: the inner problem of its min-max form beside what its proof puts in that problem's place.
//!
//! The proof (A.3) writes the sum of all gaps as `Σ l_i I_i(x)`, with `l_i = n - k` for a salient feature and `-k` for another, and takes
//! `min Σ l_i I_i(x + δ_i)`, where one of the `δ_i` may be as long as ε and the others are zero, for
//! `Σ l_i I_i(x) - ε max |l_t| ||H_t(x)||`. (It prints `l_t` without the bars; for a negative one the minimum is the one with them.) That
//! is the linear part of `I_t`, so both agree for small ε and nothing says that they do at the ε of an attack. R2ET then minimises `||H z||`
//! along the gradient's sign in the place of the largest `||H_t||`.

use thickset::Result;
use thickset::bench::{Bench, Cell, Table, TableRow};
use thickset::metric::ranking::TopK;
use thickset::metric::spearman;
use thickset_engine::{Network, Output};

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::{Measure, Measured};
use crate::proposition45::median;
use crate::runner::{BenchRunner, GridEntry};
use crate::seeded_dataset::SeededDataset;

/// The methods where none is named: gradients that jump, smooth ones, and R2ET's own.
const METHODS: [&str; 3] = ["vanilla", "softplus", "r2et"];
/// Seeds where no number is named.
const SEEDS: u64 = 1;
/// Radii, in those of the dataset's attacks.
const FACTORS: [f64; 3] = [0.01, 0.1, 1.0];
/// Steps of the search for each `δ_t`, a fifth of the radius each.
const STEPS: usize = 20;
const STEP: f64 = 0.2;

const COLUMNS: [&str; 6] = [
    "radius",
    "sum of gaps, median",
    "loss by min-max over radius, median",
    "loss by the proof over radius, median",
    "ratio of both, median",
    "rank correlation of the loss with R2ET's term",
];

/// The column of the ratio.
const RATIO: usize = 4;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "proposition46",
        "Proposition 4.6: the min-max problem beside R2ET's terms, row by row",
    );
    bench.note_training(runner);
    bench.add_setting(
        "loss by min-max",
        format!(
            "how far the sum of gaps falls when one feature's importance is evaluated at a point of the ball of its own and the others at the row; for each \
             feature the worst of {STEPS} steps of projected descent from the worst point of the linear part"
        ),
    );
    bench.add_setting(
        "loss by the proof",
        "radius times the largest of |l_t| ||H_t|| at the row",
    );
    bench.add_setting(
        "R2ET's term",
        "length of the Hessian product along the gradient's sign, at the row",
    );
    let ChosenDatasets { to_run, not_run } =
        choose_datasets(runner, &["breast-cancer"], &PaperTable::figure(&[]))?;
    let mut lines = Vec::new();
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        let norms =
            runner.measure_chosen(&datasets, &grid, "Hessian norm", |_| Measure::HessianNorm)?;
        let mut ratios = vec![Vec::new(); grid.rows.len()];
        for factor in FACTORS {
            let found =
                runner.measure_chosen(&datasets, &grid, "min-max", |data| Measure::MinMax {
                    k: data.k,
                    radius: factor * data.radius,
                })?;
            let radius = factor * datasets.seeds[0].radius;
            let rows = grid.rows.iter().zip(&mut ratios);
            for (((row, ratios), found), norms) in rows.zip(found).zip(&norms) {
                let cells = match (found, norms) {
                    (Some(found), Some(norms)) => cells(radius, &found, norms)?,
                    _ => vec![Cell::dash(row.dash()); COLUMNS.len()],
                };
                if let Cell::Number { ours, .. } = &cells[RATIO] {
                    ratios.push(format!("{:.2} times (radius {radius})", ours.value));
                }
                lines.push(TableRow {
                    label: format!("{name}, {}", row.entry.label),
                    cells,
                });
            }
        }
        for (row, ratios) in grid.rows.iter().zip(ratios) {
            bench.add_finding(format!(
                "{name}, {}: the loss by min-max is {} what the proof says, median over rows",
                row.entry.label,
                ratios.join(", ")
            ));
        }
    }
    bench.add_table(Table {
        title: "What the worst single perturbation takes from the sum of gaps".to_owned(),
        corner: "dataset and model".to_owned(),
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: lines,
    });
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(bench.finish())
}

fn cells(radius: f64, found: &[Measured], norms: &[Measured]) -> Result<Vec<Cell>> {
    let pooled = |measured: &[Measured], name: &'static str| -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for seed in measured {
            all.extend_from_slice(seed.rows(name)?);
        }
        Ok(all)
    };
    let (gaps, losses) = (pooled(found, "gaps")?, pooled(found, "loss")?);
    let linear = pooled(found, "linear loss")?;
    let terms = pooled(norms, "norm")?;
    let both = losses.iter().zip(&linear);
    let ratios = both.filter(|(_, linear)| **linear > 0.0);
    let ratios: Vec<f64> = ratios.map(|(loss, linear)| loss / linear).collect();
    let number = |values: Vec<f64>| {
        median(values).map_or_else(|| Cell::dash("no row has a Hessian"), Cell::number)
    };
    let correlation = spearman::score(&losses, &terms);
    Ok(vec![
        Cell::number(radius),
        number(gaps),
        number(losses.iter().map(|loss| loss / radius).collect()),
        number(linear.iter().map(|loss| loss / radius).collect()),
        number(ratios),
        correlation.map_or_else(|error| Cell::dash(error.to_string()), Cell::number),
    ])
}

/// Of each row the sum of its gaps, what the worst single perturbation takes from it, and what the proof says that it takes.
pub(crate) fn measure(
    network: &Network,
    data: &SeededDataset,
    k: usize,
    radius: f64,
) -> Result<Measured> {
    let mut found = [(); 3].map(|()| Vec::new());
    for x in data.rows().values.chunks(network.features()) {
        for (all, one) in found.iter_mut().zip(of_row(network, x, k, radius)?) {
            all.push(one);
        }
    }
    let [gaps, losses, linear] = found;
    let mut measured = Measured::default();
    measured.set_rows("gaps", gaps);
    measured.set_rows("loss", losses);
    measured.set_rows("linear loss", linear);
    Ok(measured)
}

/// The derivative of the explained class's probability in feature t at the t-th point, and that derivative's own gradient.
struct Slopes {
    slopes: Vec<f64>,
    hessian: Vec<Vec<f64>>,
}

fn slopes(network: &Network, points: &[f64], class: usize) -> Slopes {
    let features = network.features();
    let of_class = |width: usize, place: &dyn Fn(usize) -> usize| {
        let mut values = vec![0.0; features * width];
        for row in 0..features {
            values[row * width + place(row)] = 1.0;
        }
        network.tensor(values, [features, width])
    };
    let pass = network.pass(network.batch(points));
    let classes = of_class(network.classes(), &|_| class);
    let gradient = pass.input_gradient(Output::Probability, classes);
    let first = thickset::host::read(gradient.value());
    // The Hessian is symmetric, so its product with the t-th unit vector is the gradient of the t-th derivative.
    let second = thickset::host::read(gradient.hessian_product(of_class(features, &|row| row)));
    Slopes {
        slopes: (0..features)
            .map(|feature| first[feature * features + feature])
            .collect(),
        hessian: second.chunks(features).map(<[f64]>::to_vec).collect(),
    }
}

fn of_row(network: &Network, x: &[f64], k: usize, radius: f64) -> Result<[f64; 3]> {
    let features = x.len();
    let logits = thickset::host::read(network.logits(network.batch(x)));
    let class = thickset::metric::ranking::largest(&logits)?;
    let here = slopes(network, &x.repeat(features), class);
    let importance: Vec<f64> = here.slopes.iter().map(|slope| slope.abs()).collect();
    let top = TopK::of(&importance, k)?;
    let weights: Vec<f64> = (0..features)
        .map(|feature| {
            if top.contains(feature) {
                as_f64(features - k)
            } else {
                -as_f64(k)
            }
        })
        .collect();
    let gaps = weights.iter().zip(&importance).map(|(l, i)| l * i).sum();
    let linear = weights.iter().zip(&here.hessian);
    let linear = linear.map(|(l, line)| radius * l.abs() * length(line));
    let linear = linear.fold(0.0, f64::max);
    // Every feature's own perturbation, all features in one batch.
    let mut moved = vec![vec![0.0; features]; features];
    let mut loss = 0.0_f64;
    let mut there = here;
    for step in 0..=STEPS {
        let size = if step == 0 { radius } else { STEP * radius };
        for (feature, delta) in moved.iter_mut().enumerate() {
            let line = &there.hessian[feature];
            let length_of_line = length(line);
            if length_of_line <= 0.0 {
                continue;
            }
            // Down for a salient feature's importance, up for another's.
            let sign = -weights[feature].signum() * there.slopes[feature].signum();
            for (delta, slope) in delta.iter_mut().zip(line) {
                *delta += size * sign * slope / length_of_line;
            }
            let reach = length(delta);
            if reach > radius {
                for delta in delta.iter_mut() {
                    *delta *= radius / reach;
                }
            }
        }
        let points: Vec<f64> = moved
            .iter()
            .flat_map(|delta| x.iter().zip(delta).map(|(x, delta)| x + delta))
            .collect();
        there = slopes(network, &points, class);
        for (feature, slope) in there.slopes.iter().enumerate() {
            loss = loss.max(weights[feature] * (importance[feature] - slope.abs()));
        }
    }
    Ok([gaps, loss, linear])
}

fn length(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use thickset::Seed;
    use thickset::data::InputShape;
    use thickset::model::{Activation, MlpConfig, Model, ModelConfig};

    use super::*;

    fn smooth() -> Model {
        let config = ModelConfig::Mlp(MlpConfig {
            hidden: vec![8],
            activation: Activation::Softplus { beta: 2.0 },
        });
        let classes = vec!["no".to_owned(), "yes".to_owned()];
        Model::fresh(config, InputShape::Table, 4, classes, None, Seed::new(3)).unwrap()
    }

    #[test]
    fn the_min_max_value_of_a_smooth_network_is_the_proofs_up_to_second_order() {
        let network = smooth().network;
        let x = [0.3, -0.2, 0.8, 0.1];
        let mut off = Vec::new();
        for radius in [0.2, 0.1, 0.05] {
            let [gaps, loss, linear] = of_row(&network, &x, 2, radius).unwrap();
            assert!(gaps > 0.0 && loss > 0.0 && linear > 0.0);
            off.push((loss / linear - 1.0).abs());
        }
        // The error of the ratio falls with the radius.
        assert!(off[2] < 0.05 && off[2] < 0.6 * off[0] + 1e-3, "{off:?}");
    }

    #[test]
    fn gradients_of_single_derivatives_are_central_differences() {
        let network = smooth().network;
        let x = [0.3, -0.2, 0.8, 0.1];
        let found = slopes(&network, &x.repeat(4), 1);
        let h = 1e-2;
        for feature in 0..4 {
            for input in 0..4 {
                let at = |change: f64| {
                    let mut point = x;
                    point[input] += change;
                    slopes(&network, &point.repeat(4), 1).slopes[feature]
                };
                let expected = (at(h) - at(-h)) / (2.0 * h);
                let got = found.hessian[feature][input];
                assert!((got - expected).abs() < 1e-3, "{got} {expected}");
            }
        }
    }
}
