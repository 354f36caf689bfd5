//! How the methods of IGR's comparison are trained.

use thickset::data::InputShape;
use thickset::model::{MlpConfig, ModelConfig};
use thickset::objective::ObjectiveConfig;
use thickset::train::OptimizerConfig;
use thickset::{Error, Result};

use super::PAIRS;
use super::scale::{Balls, Scale, epsilon, scale};
use crate::method::{self, BenchMethod, MethodRole, VANILLA};
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets, TrainingPlan};

/// The rows beside vanilla: bases, the same with IGR, the rivals. TRADES' and IG-SUM-NORM's weights are those that their authors
/// have for such images; all else is the objective's default.
pub(super) const OBJECTIVES: [(&str, &str); 10] = [
    ("pgd-at", "kind = 'pgd-at'"),
    ("pgd-at-igr", "kind = 'igr'\nbase = { kind = 'pgd-at' }"),
    ("trades", "kind = 'trades'\nbeta = 1.0"),
    (
        "trades-igr",
        "kind = 'igr'\nbase = { kind = 'trades', beta = 1.0 }",
    ),
    ("mart", "kind = 'mart'"),
    ("mart-igr", "kind = 'igr'\nbase = { kind = 'mart' }"),
    ("ig-norm", "kind = 'ig-norm'"),
    ("ig-sum-norm", "kind = 'ig-sum-norm'\nweight = 0.1"),
    ("adv-aat", "kind = 'adv-aat'"),
    ("art", "kind = 'art'"),
];

/// Rows of a training step.
pub(super) const BATCH: usize = 50;

/// Trains the chosen methods.
pub(crate) fn trained(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    balls: Balls,
) -> Result<Grid> {
    let methods = BenchMethod::chosen(&runner.options.methods)?;
    let training = Training {
        runner,
        datasets,
        scale: scale(runner.options.effort, balls),
        radius: epsilon(&datasets.name, runner.options.effort, balls),
        plan: TrainingPlan {
            epochs: runner.options.training_epochs(),
            from: None,
            batch: BATCH,
            by_auc: true,
            as_distinct: false,
        },
    };
    match balls {
        Balls::ByEffort => training.train_from_scratch(&methods),
        Balls::Papers => training.train_pairs_from_their_base(&methods),
    }
}

/// At the papers' radii a base and the same with IGR are trained further from the base's weights. From fresh ones the angle decides alone: on MNIST AT with IGR
/// predicts the same of every image after 17 epochs as well.
pub(super) fn further_epochs(epochs: usize) -> usize {
    (epochs / 2).max(1)
}

/// What all methods of a dataset are trained with.
struct Training<'a> {
    runner: &'a BenchRunner<'a>,
    datasets: &'a SeededDatasets,
    scale: Scale,
    radius: f64,
    plan: TrainingPlan<'a>,
}

impl Training<'_> {
    fn entry(&self, method: &'static BenchMethod) -> Result<GridEntry> {
        let mut entry = GridEntry::new(method, self.datasets)?;
        if method.role != MethodRole::Baseline {
            entry.model = match self.datasets.seeds[0].dataset.shape() {
                InputShape::Image { .. } => ModelConfig::Cnn(self.scale.network.clone()),
                _ => ModelConfig::Mlp(MlpConfig::default()),
            };
            entry.optimizer = OptimizerConfig::Adam {
                rate: self.scale.rate,
            };
        }
        entry.settings = objective(method, &self.scale, self.radius)?;
        Ok(entry)
    }

    fn entries<'m>(
        &self,
        methods: impl IntoIterator<Item = &'m &'static BenchMethod>,
    ) -> Result<Vec<GridEntry>> {
        let own = methods.into_iter();
        own.map(|method| self.entry(method)).collect()
    }

    fn train_from_scratch(&self, methods: &[&'static BenchMethod]) -> Result<Grid> {
        self.runner
            .grid_by(self.datasets, self.entries(methods)?, &self.plan)
    }

    /// Every base and the same with IGR from the base's weights, all others from scratch.
    fn train_pairs_from_their_base(&self, methods: &[&'static BenchMethod]) -> Result<Grid> {
        let is_one_of = |ids: &[&str], method: &BenchMethod| ids.contains(&&*method.id);
        let is_paired =
            |method: &BenchMethod| PAIRS.iter().any(|&(a, b)| is_one_of(&[a, b], method));
        let others: Vec<&BenchMethod> = methods
            .iter()
            .copied()
            .filter(|one| !is_paired(one))
            .collect();
        let mut rows = self.train_from_scratch(&others)?.rows;
        for (base, with) in PAIRS {
            if !methods.iter().any(|one| is_one_of(&[base, with], one)) {
                continue;
            }
            let first = self.entry(BenchMethod::find(base)?)?;
            let begun = self
                .runner
                .trained_from_scratch(self.datasets, &first, &self.plan)?;
            let further = TrainingPlan {
                epochs: further_epochs(self.plan.epochs),
                from: Some(&begun),
                ..self.plan
            };
            // Vanilla is what a grid compares its rows with.
            let pair = methods
                .iter()
                .filter(|one| is_one_of(&[VANILLA, base, with], one));
            let grid = self
                .runner
                .grid_by(self.datasets, self.entries(pair)?, &further)?;
            rows.extend(grid.rows.into_iter().filter(|row| row.entry.id != VANILLA));
        }
        rows.sort_by_key(|row| methods.iter().position(|one| one.id == row.entry.id));
        Ok(Grid { rows })
    }
}

/// What a method is trained with here: one objective, its default, with the ball, range and search of this bench. Methods of the
/// other paper have the first of their settings.
fn objective(method: &BenchMethod, scale: &Scale, radius: f64) -> Result<Vec<ObjectiveConfig>> {
    let Some((_, text)) = OBJECTIVES.iter().find(|(id, _)| *id == method.id) else {
        let first = method.settings(radius, 1.0)?.into_iter().take(1);
        return Ok(first.collect());
    };
    let default = settings(text)?;
    // As it is written with all its defaults, so that every search of it is found.
    let mut whole =
        toml::Table::try_from(method::objective(default)?).map_err(|problem| Error::Settings {
            what: "an objective of this bench",
            text: (*text).to_owned(),
            problem: problem.to_string(),
        })?;
    limit_searches(&mut whole, scale, radius);
    Ok(vec![method::objective(whole)?])
}

fn settings(text: &str) -> Result<toml::Table> {
    text.parse()
        .map_err(|problem: toml::de::Error| Error::Settings {
            what: "an objective of this bench",
            text: text.to_owned(),
            problem: problem.message().to_owned(),
        })
}

/// Gives every search for perturbed inputs in an objective, also in the one it is built on, this bench's ball and range, and at
/// most its steps.
fn limit_searches(settings: &mut toml::Table, scale: &Scale, radius: f64) {
    for (name, value) in settings.iter_mut() {
        let toml::Value::Table(inner) = value else {
            continue;
        };
        if name == "attack" {
            inner.insert("epsilon".to_owned(), radius.into());
            inner.insert("range".to_owned(), vec![0.0, 1.0].into());
            if let Some(toml::Value::Integer(steps)) = inner.get_mut("steps") {
                *steps = (*steps).min(scale.search_steps);
            }
        } else {
            limit_searches(inner, scale, radius);
        }
    }
}
