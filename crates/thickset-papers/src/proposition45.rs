//! R2ET's Proposition 4.5 beside exact radii. It takes the ranking to be safe up to the least gap over the largest Hessian difference, but
//! where a `ReLU` switches the gradient jumps, and no Hessian says so.

use thickset::Result;
use thickset::attack::ThreatConfig;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::bench::{Bench, Cell, Figure, Series, Style, Table, TableRow};
use thickset::certify::CertifyConfig;

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{ChosenDatasets, PaperTable, choose_datasets};
use crate::measure::{Measure, Measured};
use crate::runner::{BenchRunner, GridEntry};
use crate::seeded_dataset::SeededDataset;
use crate::usual_measure::explain;

/// The methods where none is named.
const METHODS: [&str; 2] = ["vanilla", "r2et"];
/// Seeds where no number is named.
const SEEDS: u64 = 1;
/// Points of the ball at which the Hessian is evaluated.
const POINTS: usize = 2000;
/// Parts of a row's search.
const NODES: usize = 20_000;
/// The largest radius that is asked about, in radii of the dataset's attacks.
const FAR: f64 = 4.0;
/// A promise without an end, as a number that JSON has.
const UNLIMITED: f64 = 1e9;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "proposition45",
        "Proposition 4.5 beside exact radii: the smallest l2 move that changes the top-k set",
    );
    bench.note_training(runner);
    bench.add_setting(
        "the proposition",
        format!(
            "min over pairs of the gap at the row over the largest ||H_i - H_j|| at the row and at {POINTS} points drawn in a ball: that of the dataset's \
             attacks, or the one up to the exact radius, in which the set does not change yet and so nothing more can be asked of the Hessian; the larger \
             the ball, the less is promised"
        ),
    );
    bench.add_setting(
        "the exact radius",
        format!(
            "branch and bound over the network's gates, up to {NODES} parts a row and {FAR} radii of the attacks; the prediction is not held, since the \
             proposition does not hold it"
        ),
    );
    let ChosenDatasets { to_run, not_run } =
        choose_datasets(runner, &TABLES, &PaperTable::figure(&[]))?;
    let mut lines = Vec::new();
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        let found = runner.measure_chosen(&datasets, &grid, "radii", radii)?;
        for (row, found) in grid.rows.iter().zip(found) {
            let label = format!("{name}, {}", row.entry.label);
            let Some(found) = found else {
                lines.push(TableRow {
                    label,
                    cells: vec![Cell::dash(row.dash()); COLUMNS.len()],
                });
                continue;
            };
            let known = Known::of(&found)?;
            bench.add_figure(known.figure(&label));
            lines.push(TableRow {
                label,
                cells: known.cells(),
            });
        }
    }
    bench.add_finding(
        "Proposition 4.5 does not hold for ReLU networks: its radius is larger than the exact one wherever a column \"overstated\" counts a row, \
         because the gradient jumps where a gate switches and the Hessian between the kinks does not show it",
    );
    bench.add_table(Table {
        title: "Radii by the proposition and exact ones".to_owned(),
        corner: "dataset and model".to_owned(),
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows: lines,
    });
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(bench.finish())
}

const COLUMNS: [&str; 7] = [
    "rows",
    "median exact",
    "in the attacks' ball: overstated",
    "median promised",
    "in the exact ball: overstated",
    "median promised",
    "median ratio",
];

/// The exact radius and the proposition's in the attacks' ball and in the exact one, of rows where all are known.
struct Known {
    rows: Vec<[f64; 3]>,
}

impl Known {
    fn of(found: &[Measured]) -> Result<Self> {
        let mut rows = Vec::new();
        for seed in found {
            let claims = seed.rows("proposition")?.iter();
            let claims = claims.zip(seed.rows("proposition in the exact ball")?);
            for (exact, (wide, narrow)) in seed.rows("exact")?.iter().zip(claims) {
                // Rows without an exact radius are written as zero, a promise without an end as UNLIMITED.
                if *exact > 0.0 {
                    rows.push([*exact, *wide, *narrow]);
                }
            }
        }
        Ok(Self { rows })
    }

    fn cells(&self) -> Vec<Cell> {
        let overstated = |claim: usize| {
            let rows = self.rows.iter().filter(|row| row[claim] > row[0]);
            Cell::Text(rows.count().to_string())
        };
        let median = |of: fn(&[f64; 3]) -> f64| {
            let median = median(self.rows.iter().map(of).collect());
            median.map_or_else(|| Cell::dash("no row has an exact radius"), Cell::number)
        };
        vec![
            Cell::Text(self.rows.len().to_string()),
            median(|row| row[0]),
            overstated(1),
            median(|row| row[1]),
            overstated(2),
            median(|row| row[2]),
            median(|row| row[2] / row[0]),
        ]
    }

    fn figure(&self, label: &str) -> Figure {
        let finite = self.rows.iter().filter(|row| row[2] < UNLIMITED);
        Figure {
            title: label.to_owned(),
            caption: "Each point is a test row. Right of the diagonal the proposition promises more than is true.".to_owned(),
            x_label: "radius by Proposition 4.5 in the exact ball, log10".to_owned(),
            y_label: "exact radius, log10".to_owned(),
            style: Style::Points,
            series: vec![Series {
                name: label.to_owned(),
                points: finite
                    .map(|row| [row[2].log10(), row[0].log10()])
                    .collect(),
            }],
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(values[middle - 1], upper))
}

fn radii(data: &SeededDataset) -> Measure {
    Measure::Radii {
        certify: CertifyConfig {
            k: data.k,
            threat: ThreatConfig {
                ball: BallConfig {
                    norm: Norm::L2,
                    radius: FAR * data.radius,
                },
                ..ThreatConfig::papers()
            },
            hold_prediction: false,
            nodes: NODES,
        },
        explain: explain(data),
        points: POINTS,
        ball: data.radius,
    }
}

/// What the proposition promises of a row whose gradient of the probability is `first`, with the gradients and probabilities of the explained class at points around it, in a
/// network that is linear between kinks: there the Hessian of the probability is `(1 - 2p) / (p (1 - p))` times the outer product of its gradient.
pub(crate) fn promised(k: usize, first: &[f64], around: &[(Vec<f64>, f64)]) -> f64 {
    let mut order: Vec<usize> = (0..first.len()).collect();
    order.sort_by(|&a, &b| first[b].abs().total_cmp(&first[a].abs()).then(a.cmp(&b)));
    let (salient, rest) = order.split_at(k.min(order.len()));
    let scales: Vec<f64> = around
        .iter()
        .map(|(gradient, p)| {
            let length = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            ((1.0 - 2.0 * p) / (p * (1.0 - p))).abs() * length
        })
        .collect();
    let mut least = UNLIMITED;
    for &ahead in salient {
        for &behind in rest {
            let gap = first[ahead].abs() - first[behind].abs();
            let points = around.iter().zip(&scales);
            // The row of the Hessian of |g_i| is sign(g_i) H_i, so the difference is (|g_i| - |g_j|) times the gradient.
            let steepest = points
                .map(|((gradient, _), scale)| {
                    scale * (gradient[ahead].abs() - gradient[behind].abs()).abs()
                })
                .fold(0.0, f64::max);
            if steepest > 0.0 {
                least = least.min(gap / steepest);
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_of_a_linear_model_by_hand() {
        // p = 0.8 and gradient (3, 1): H = (1 - 1.6) / 0.16 g g', of length 3.75 sqrt(10) per unit of gap; the gap is 2 of 2.
        let around = [(vec![3.0, 1.0], 0.8)];
        let found = promised(1, &[3.0, 1.0], &around);
        assert!((found - 1.0 / (3.75 * 10.0_f64.sqrt())).abs() < 1e-12);
        // Where the probability is one half the Hessian is zero, and nothing limits the promise.
        let unlimited = promised(1, &[3.0, 1.0], &[(vec![3.0, 1.0], 0.5)]);
        assert!((unlimited - UNLIMITED).abs() < 1e-12);
    }

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn rows_without_an_exact_radius_are_left_out() {
        let known = Known {
            rows: vec![[0.1, 1.0, 2.0], [0.2, 0.1, 0.3]],
        };
        let cells = known.cells();
        assert_eq!(cells[0], Cell::Text("2".to_owned()));
        assert_eq!(cells[2], Cell::Text("1".to_owned()));
        assert_eq!(cells[4], Cell::Text("2".to_owned()));
    }
}
