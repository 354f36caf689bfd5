//! Where benches get their numbers. A dataset is opened once a seed ([`SeededDatasets`]); every setting of every method is trained
//! on each of them and one setting a seed is chosen ([`Grid`]); the chosen models are measured ([`Measure`]).

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use thickset::model::ModelConfig;
use thickset::objective::{Objective, ObjectiveConfig};
use thickset::train::{OptimizerConfig, TrainConfig, ValidationAttackConfig};
use thickset::{Result, Seed};

use crate::chosen_setting::chosen;
use crate::dataset_plan::DatasetPlan;
use crate::measure::{Measure, Measured};
use crate::method::{BenchMethod, MethodRole, VANILLA};
use crate::options::BenchOptions;
use crate::paper_numbers;
use crate::seeded_dataset::{SeededDataset, Slowness};
use crate::share::Share;
use crate::store::Store;
use crate::training_cell::{AUC_WITHIN, BATCH, TrainedCell, TrainingJob};
use crate::workers;

/// Why a method is a dash on data that is no table.
const NOT_OF_THE_PAPER: &str =
    "the paper has no number for it there, so it is run when asked for: --methods";

/// One more cell of a kind is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BenchStep<'s> {
    /// The dataset.
    pub dataset: &'s str,
    /// What is done to its models: `training`, `suite` and so on.
    pub what: &'s str,
    /// Cells done, those found on disk included.
    pub done: usize,
    /// Cells in all.
    pub cells: usize,
}

/// Called with a bench's progress, from several threads.
pub type OnStep<'t> = &'t (dyn Fn(&BenchStep<'_>) + Sync);

/// Opens datasets, trains methods and measures models for a bench, finding what is finished already in its folder.
pub(crate) struct BenchRunner<'o> {
    pub(crate) options: &'o BenchOptions,
    pub(crate) store: Store,
    pub(crate) on_step: OnStep<'o>,
    slowness: Slowness,
    /// How many datasets were opened.
    opened: AtomicUsize,
}

/// One dataset under every seed.
pub(crate) struct SeededDatasets {
    pub(crate) name: String,
    /// One a seed that falls to this machine.
    pub(crate) seeds: Vec<SeededDataset>,
    share: Share,
}

/// A row of a table: what is trained, setting by setting.
#[derive(Clone)]
pub(crate) struct GridEntry {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) role: MethodRole,
    /// Why it has no number, if it has none.
    pub(crate) refusal: Option<String>,
    pub(crate) model: ModelConfig,
    pub(crate) optimizer: OptimizerConfig,
    pub(crate) settings: Vec<ObjectiveConfig>,
    /// How it is trained, where that is not as all are.
    pub(crate) train: Option<TrainConfig>,
}

impl GridEntry {
    /// A method on the inputs of a dataset.
    pub(crate) fn new(method: &BenchMethod, datasets: &SeededDatasets) -> Result<Self> {
        let data = &datasets.seeds[0];
        let shape = data.dataset.shape();
        let (mut model, optimizer) = method.architecture(shape);
        let gap_times = data.plan.and_then(|plan| plan.gap_times).unwrap_or(1.0);
        let mut settings = method.settings(data.radius, gap_times)?;
        let mut refusal = method.refusal(shape);
        if let (Some(plan), Some(effort)) = (data.plan, data.effort) {
            settings.truncate(effort.settings);
            if method.role != MethodRole::Baseline {
                model = effort.model.clone().unwrap_or(model);
            } else if plan.explain.is_some() {
                refusal.get_or_insert_with(|| "a linear model has no units to explain".to_owned());
            }
        }
        let first = settings.first().map(ObjectiveConfig::objective);
        Ok(Self {
            train: first.and_then(Objective::usual_training),
            id: method.id.clone(),
            label: method.label.clone(),
            role: method.role,
            refusal,
            model,
            optimizer,
            settings,
        })
    }

    /// The same for several methods.
    pub(crate) fn of<'m>(
        methods: impl IntoIterator<Item = &'m BenchMethod>,
        datasets: &SeededDatasets,
    ) -> Result<Vec<Self>> {
        let methods = methods.into_iter();
        methods.map(|method| Self::new(method, datasets)).collect()
    }
}

/// Entries trained with all their settings and seeds.
pub(crate) struct Grid {
    pub(crate) rows: Vec<GridRow>,
}

impl Grid {
    /// What each row is to a comparison.
    pub(crate) fn roles(&self) -> Vec<MethodRole> {
        self.rows.iter().map(GridRow::role).collect()
    }
}

/// One entry, trained.
pub(crate) struct GridRow {
    pub(crate) entry: GridEntry,
    /// By seed and setting; empty where the entry does not apply.
    pub(crate) trained: Vec<Vec<TrainedCell>>,
    /// By seed: the setting to measure, and whether its AUC reaches the threshold.
    pub(crate) chosen: Vec<Option<(usize, bool)>>,
}

/// How entries are trained.
pub(crate) struct TrainingPlan<'t> {
    pub(crate) epochs: usize,
    /// The model of each seed that training begins with, if it does not begin afresh.
    pub(crate) from: Option<&'t [TrainedCell]>,
    /// Rows of a step.
    pub(crate) batch: usize,
    /// Epochs are chosen by their AUC alone, and no AUC is too low.
    pub(crate) by_auc: bool,
    /// Epochs and settings are chosen among those that are as distinct as vanilla.
    pub(crate) as_distinct: bool,
}

impl<'o> BenchRunner<'o> {
    pub(crate) fn new(options: &'o BenchOptions, on_step: OnStep<'o>) -> Result<Self> {
        options.check()?;
        // Before anything is opened or trained.
        BenchMethod::chosen(&options.methods)?;
        Ok(Self {
            options,
            store: Store::new(&options.out)?,
            on_step,
            slowness: Slowness::default(),
            opened: AtomicUsize::new(0),
        })
    }

    /// The same bench with explanations of this slowness.
    pub(crate) fn with_slowness(&self, slowness: Slowness) -> Result<Self> {
        Ok(Self {
            slowness,
            ..Self::new(self.options, self.on_step)?
        })
    }

    /// Opens a dataset for as many seeds as the options say, or `usual` many; of these, those that fall to this machine.
    pub(crate) fn open(&self, name: &str, usual: u64) -> Result<SeededDatasets> {
        let plan = DatasetPlan::find(name);
        let usual = plan.map_or(usual, |plan| {
            plan.effort(self.options.effort).seeds.min(usual)
        });
        let count = self.options.seeds.unwrap_or(usual);
        let turn = self.opened.fetch_add(1, Ordering::Relaxed);
        let share = Share::new(self.options.shard, count, turn);
        let seeds = share.seeds.iter();
        let seeds = seeds
            .map(|seed| SeededDataset::open(name, Seed::new(*seed), self.options, self.slowness));
        Ok(SeededDatasets {
            name: name.to_owned(),
            seeds: seeds.collect::<Result<_>>()?,
            share,
        })
    }

    /// The chosen methods on a dataset. On one that is no table, those that the paper has no number for are dashes unless the options
    /// name them.
    pub(crate) fn entries(&self, datasets: &SeededDatasets) -> Result<Vec<GridEntry>> {
        let mut entries = GridEntry::of(BenchMethod::chosen(&self.options.methods)?, datasets)?;
        if datasets.seeds[0].plan.is_some() && self.options.methods.is_empty() {
            for entry in &mut entries {
                let number = paper_numbers::number("table1", &datasets.name, &entry.id, 0);
                if number.is_none() && entry.role != MethodRole::Baseline {
                    entry
                        .refusal
                        .get_or_insert_with(|| NOT_OF_THE_PAPER.to_owned());
                }
            }
        }
        Ok(entries)
    }

    /// Training from scratch, as the dataset is trained.
    pub(crate) fn scratch<'t>(&self, datasets: &SeededDatasets) -> TrainingPlan<'t> {
        let effort = datasets.seeds[0].effort;
        let own = effort.filter(|_| self.options.epochs.is_none());
        TrainingPlan {
            epochs: own.map_or(self.options.training_epochs(), |effort| effort.epochs),
            from: None,
            batch: effort.map_or(BATCH, |effort| effort.batch),
            by_auc: false,
            as_distinct: false,
        }
    }

    fn job<'b>(
        data: &'b SeededDataset,
        entry: &GridEntry,
        objective: &ObjectiveConfig,
        plan: &TrainingPlan<'_>,
    ) -> TrainingJob<'b> {
        let mut probe = ValidationAttackConfig {
            immutable: false,
            ..ValidationAttackConfig::default()
        };
        if let Some(rows) = data.effort.and_then(|effort| effort.probe_rows) {
            probe.rows = rows;
        }
        if plan.by_auc {
            probe.rows = 0;
        }
        TrainingJob {
            data,
            model: entry.model.clone(),
            objective: objective.clone(),
            optimizer: entry.optimizer.clone(),
            epochs: plan.epochs,
            batch: plan.batch,
            probe,
            train: entry.train.clone().map(|train| TrainConfig {
                epochs: plan.epochs.min(train.epochs),
                ..train
            }),
            auc_at_least: None,
            // Vanilla's own is told, and asked of nobody.
            distinctness_at_least: plan.as_distinct.then_some(0.0),
            from: None,
        }
    }

    /// Vanilla's trained model for every seed of a dataset.
    pub(crate) fn vanilla(&self, datasets: &SeededDatasets) -> Result<Vec<TrainedCell>> {
        let vanilla = GridEntry::new(BenchMethod::find(VANILLA)?, datasets)?;
        self.trained_from_scratch(datasets, &vanilla, &self.scratch(datasets))
    }

    /// The first setting of an entry for every seed, trained from scratch whatever the plan begins with.
    pub(crate) fn trained_from_scratch(
        &self,
        datasets: &SeededDatasets,
        entry: &GridEntry,
        plan: &TrainingPlan<'_>,
    ) -> Result<Vec<TrainedCell>> {
        let scratch = TrainingPlan {
            epochs: self.scratch(datasets).epochs,
            ..*plan
        };
        let jobs: Vec<TrainingJob<'_>> = datasets
            .seeds
            .iter()
            .map(|data| Self::job(data, entry, &entry.settings[0], &scratch))
            .collect();
        self.train(&datasets.name, &jobs)
    }

    /// Does the trainings side by side, the last ones first: they are the longest.
    pub(crate) fn train(&self, name: &str, jobs: &[TrainingJob<'_>]) -> Result<Vec<TrainedCell>> {
        let backwards: Vec<&TrainingJob<'_>> = jobs.iter().rev().collect();
        let done = AtomicUsize::new(0);
        let mut trained = workers::run(&backwards, |job| {
            let trained = job.trained(&self.store)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.on_step)(&BenchStep {
                dataset: name,
                what: "training",
                done,
                cells: backwards.len(),
            });
            Ok(trained)
        })?;
        trained.reverse();
        Ok(trained)
    }

    /// Trains every setting of every entry for every seed, from scratch or from vanilla as the dataset's plan says, and chooses.
    pub(crate) fn grid(&self, datasets: &SeededDatasets, entries: Vec<GridEntry>) -> Result<Grid> {
        let scratch = self.scratch(datasets);
        let data = &datasets.seeds[0];
        let Some(epochs) = data.effort.and_then(|effort| effort.retrain_epochs) else {
            return self.grid_by(datasets, entries, &scratch);
        };
        let vanilla = self.vanilla(datasets)?;
        let further = TrainingPlan {
            epochs: self
                .options
                .epochs
                .map_or(epochs, |given| given.min(epochs)),
            from: Some(&vanilla),
            ..scratch
        };
        self.grid_by(datasets, entries, &further)
    }

    /// The same by another plan.
    pub(crate) fn grid_by(
        &self,
        datasets: &SeededDatasets,
        mut entries: Vec<GridEntry>,
        plan: &TrainingPlan<'_>,
    ) -> Result<Grid> {
        datasets.share.leave_out(&mut entries);
        let vanilla = match entries.iter().find(|entry| entry.id == VANILLA) {
            Some(vanilla) => self.trained_from_scratch(datasets, vanilla, plan)?,
            None => self.vanilla(datasets)?,
        };
        // Only the same architecture can begin with another model's weights, which are vanilla's here or a network's like it.
        let of_vanilla = match (plan.from, entries.iter().find(|entry| entry.id == VANILLA)) {
            (None, _) => None,
            (Some(_), Some(vanilla)) => Some(vanilla.model.clone()),
            (Some(_), None) => Some(GridEntry::new(BenchMethod::find(VANILLA)?, datasets)?.model),
        };
        let thresholds: Vec<f64> = vanilla
            .iter()
            .map(|one| {
                if plan.by_auc {
                    f64::NEG_INFINITY
                } else {
                    one.best_auc - AUC_WITHIN
                }
            })
            .collect();
        let distinct: Vec<Option<f64>> = vanilla
            .iter()
            .map(|one| {
                let selected = one.selected.filter(|_| plan.as_distinct)?;
                Some(selected.distinctness)
            })
            .collect();
        let mut rows: Vec<GridRow> = entries
            .into_iter()
            .map(|entry| GridRow {
                trained: vec![Vec::new(); datasets.seeds.len()],
                chosen: Vec::new(),
                entry,
            })
            .collect();
        // Each training, and the row and seed that it belongs to.
        let (mut jobs, mut owners) = (Vec::new(), Vec::new());
        for (row, GridRow { entry, trained, .. }) in rows.iter_mut().enumerate() {
            if entry.id == VANILLA {
                // Chosen by its own best epoch, and trained already.
                for (settings, one) in trained.iter_mut().zip(&vanilla) {
                    settings.push(one.clone());
                }
                continue;
            }
            if entry.refusal.is_some() {
                continue;
            }
            for (seed, data) in datasets.seeds.iter().enumerate() {
                for objective in &entry.settings {
                    let own = objective.objective().model(entry.model.clone());
                    let from = plan.from.filter(|_| Some(&own) == of_vanilla.as_ref());
                    let epochs = match (plan.from, from) {
                        (Some(_), None) => self.scratch(datasets).epochs,
                        _ => plan.epochs,
                    };
                    jobs.push(TrainingJob {
                        auc_at_least: (!plan.by_auc).then_some(thresholds[seed]),
                        distinctness_at_least: distinct[seed],
                        from: from.map(|from| from[seed].key.clone()),
                        epochs,
                        ..Self::job(data, entry, objective, plan)
                    });
                    owners.push((row, seed));
                }
            }
        }
        let trained = self.train(&datasets.name, &jobs)?;
        for ((row, seed), one) in owners.into_iter().zip(trained) {
            rows[row].trained[seed].push(one);
        }
        for row in &mut rows {
            let by_seed = row.trained.iter().zip(&thresholds).zip(&distinct);
            row.chosen = by_seed
                .map(|((settings, threshold), distinct)| chosen(settings, *threshold, *distinct))
                .collect();
        }
        Ok(Grid { rows })
    }

    /// Measures models side by side: each is named by its seed's place and its key.
    pub(crate) fn measure(
        &self,
        datasets: &SeededDatasets,
        what: &str,
        jobs: &[(usize, String, Measure)],
    ) -> Result<Vec<Measured>> {
        let done = AtomicUsize::new(0);
        workers::run(jobs, |(seed, key, measure)| {
            let found = measure.of(key, &datasets.seeds[*seed], &self.store)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.on_step)(&BenchStep {
                dataset: &datasets.name,
                what,
                done,
                cells: jobs.len(),
            });
            Ok(found)
        })
    }

    /// Measures the chosen model of every row and seed; `None` where there is none.
    pub(crate) fn measure_chosen(
        &self,
        datasets: &SeededDatasets,
        grid: &Grid,
        what: &str,
        measure: impl Fn(&SeededDataset) -> Measure,
    ) -> Result<Vec<Option<Vec<Measured>>>> {
        let mut jobs = Vec::new();
        for row in &grid.rows {
            for (index, key) in row.keys().into_iter().flatten().enumerate() {
                jobs.push((index, key, measure(&datasets.seeds[index])));
            }
        }
        let mut found = self.measure(datasets, what, &jobs)?.into_iter();
        let by_row = grid.rows.iter().map(|row| {
            row.keys()
                .map(|keys| found.by_ref().take(keys.len()).collect::<Vec<_>>())
        });
        Ok(by_row.collect())
    }
}

impl GridRow {
    /// The keys of the chosen models, seed by seed; `None` where one has none.
    pub(crate) fn keys(&self) -> Option<Vec<String>> {
        let by_seed = self.trained.iter().zip(&self.chosen);
        by_seed
            .map(|(settings, chosen)| chosen.map(|(place, _)| settings[place].key.clone()))
            .collect()
    }

    /// Why there is no number.
    pub(crate) fn dash(&self) -> String {
        let failed = || "training failed with every setting".to_owned();
        self.entry.refusal.clone().unwrap_or_else(failed)
    }

    /// What it is to a comparison. A method whose AUC is too low with every setting keeps its numbers and does not compete, as the
    /// paper leaves such methods out.
    fn role(&self) -> MethodRole {
        match self.below() {
            0 => self.entry.role,
            _ => MethodRole::Baseline,
        }
    }

    /// How many seeds have an AUC below the threshold with every setting.
    pub(crate) fn below(&self) -> usize {
        let chosen = self.chosen.iter().flatten();
        chosen.filter(|(_, reaches)| !reaches).count()
    }
}
