//! Where benches get their numbers: datasets opened for every seed, methods trained with all their settings, the chosen ones
//! measured.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use thickset::attack::er_attack::ErAttackConfig;
use thickset::attack::mse_attack::MseAttackConfig;
use thickset::attack::suite::SuiteConfig;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::explain::ExplainConfig;
use thickset::model::ModelConfig;
use thickset::objective::ObjectiveConfig;
use thickset::train::{OptimizerConfig, ValidationAttackConfig};
use thickset::{Result, Seed};

use crate::choose::chosen;
use crate::field::Field;
use crate::measure::{Measure, Measured};
use crate::method::{Kin, Method, Place, VANILLA, explained};
use crate::options::Options;
use crate::store::Store;
use crate::training::{AUC_WITHIN, BATCH, Recipe, Trained};
use crate::workers;

/// One more cell of a kind is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step<'s> {
    /// The dataset.
    pub dataset: &'s str,
    /// What is done to its models: `training`, `suite` and so on.
    pub what: &'s str,
    /// Cells done, those found on disk included.
    pub done: usize,
    /// Cells in all.
    pub cells: usize,
}

/// What hears of a bench's progress, from several threads.
pub type Talk<'t> = &'t (dyn Fn(&Step<'_>) + Sync);

/// Everything a bench works with.
pub(crate) struct Lab<'o> {
    pub(crate) options: &'o Options,
    pub(crate) store: Store,
    pub(crate) talk: Talk<'o>,
}

/// One dataset under every seed.
pub(crate) struct Bed {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// A row of a table: what is trained, setting by setting.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) kin: Kin,
    /// Why it has no number, if it has none.
    pub(crate) refusal: Option<&'static str>,
    pub(crate) model: ModelConfig,
    pub(crate) optimizer: OptimizerConfig,
    pub(crate) settings: Vec<ObjectiveConfig>,
}

impl Entry {
    /// A method on the inputs of a bed.
    pub(crate) fn new(method: &Method, bed: &Bed) -> Self {
        let field = &bed.fields[0];
        let shape = field.dataset.shape();
        let (model, optimizer) = method.architecture(shape);
        Self {
            id: method.id.to_owned(),
            label: method.label.to_owned(),
            kin: method.kin,
            refusal: method.refusal(shape),
            model,
            optimizer,
            settings: method.settings(Place {
                radius: field.radius,
            }),
        }
    }
}

/// Entries trained with all their settings and seeds.
pub(crate) struct Grid {
    pub(crate) rows: Vec<GridRow>,
}

impl Grid {
    /// What each row is to a comparison.
    pub(crate) fn kins(&self) -> Vec<Kin> {
        self.rows.iter().map(GridRow::kin).collect()
    }
}

/// One entry, trained.
pub(crate) struct GridRow {
    pub(crate) entry: Entry,
    /// By seed and setting; empty where the entry does not apply.
    pub(crate) trained: Vec<Vec<Trained>>,
    /// By seed: the setting to measure, and whether its AUC reaches the threshold.
    pub(crate) chosen: Vec<Option<(usize, bool)>>,
}

/// How entries are trained.
pub(crate) struct Schema<'t> {
    pub(crate) epochs: usize,
    /// The model of each seed that training begins with, if it does not begin afresh.
    pub(crate) from: Option<&'t [Trained]>,
    /// Rows of a step.
    pub(crate) batch: usize,
    /// Epochs are chosen by their AUC alone, and no AUC is too low.
    pub(crate) by_auc: bool,
}

/// What is trained by whom: the entry's place, the seed's, the setting's.
struct Job<'b> {
    row: usize,
    field: usize,
    recipe: Recipe<'b>,
}

impl<'o> Lab<'o> {
    pub(crate) fn new(options: &'o Options, talk: Talk<'o>) -> Result<Self> {
        options.check()?;
        // Before anything is opened or trained.
        Method::chosen(&options.methods)?;
        Ok(Self {
            options,
            store: Store::new(&options.out)?,
            talk,
        })
    }

    /// Opens a dataset for as many seeds as asked for, or `usual` many.
    pub(crate) fn open(&self, name: &str, usual: u64) -> Result<Bed> {
        let seeds = 0..self.options.seeds.unwrap_or(usual);
        let fields = seeds.map(|seed| Field::open(name, Seed::new(seed), self.options));
        Ok(Bed {
            name: name.to_owned(),
            fields: fields.collect::<Result<_>>()?,
        })
    }

    /// The chosen methods on a bed.
    pub(crate) fn entries(&self, bed: &Bed) -> Result<Vec<Entry>> {
        let methods = Method::chosen(&self.options.methods)?;
        Ok(methods
            .into_iter()
            .map(|method| Entry::new(method, bed))
            .collect())
    }

    /// Training from scratch, as tables are trained.
    pub(crate) fn scratch<'t>(&self) -> Schema<'t> {
        Schema {
            epochs: self.options.training_epochs(),
            from: None,
            batch: BATCH,
            by_auc: false,
        }
    }

    fn recipe<'b>(
        field: &'b Field,
        entry: &Entry,
        objective: &ObjectiveConfig,
        schema: &Schema<'_>,
    ) -> Recipe<'b> {
        let mut probe = ValidationAttackConfig {
            immutable: false,
            ..ValidationAttackConfig::default()
        };
        if schema.by_auc {
            probe.rows = 0;
        }
        Recipe {
            field,
            model: entry.model.clone(),
            objective: objective.clone(),
            optimizer: entry.optimizer.clone(),
            epochs: schema.epochs,
            batch: schema.batch,
            probe,
            auc_at_least: None,
            from: None,
        }
    }

    /// Vanilla's trained model for every seed of a bed.
    pub(crate) fn vanilla(&self, bed: &Bed) -> Result<Vec<Trained>> {
        let vanilla = Entry::new(Method::find(VANILLA)?, bed);
        self.vanilla_by(bed, &vanilla, &self.scratch())
    }

    /// The same for another architecture or schema, from scratch all the same.
    fn vanilla_by(&self, bed: &Bed, vanilla: &Entry, schema: &Schema<'_>) -> Result<Vec<Trained>> {
        let scratch = Schema {
            epochs: self.options.training_epochs(),
            ..*schema
        };
        let recipes: Vec<Recipe<'_>> = bed
            .fields
            .iter()
            .map(|field| Self::recipe(field, vanilla, &vanilla.settings[0], &scratch))
            .collect();
        self.train(&bed.name, &recipes)
    }

    /// Trains the recipes side by side, the last ones first: they are the longest.
    pub(crate) fn train(&self, name: &str, recipes: &[Recipe<'_>]) -> Result<Vec<Trained>> {
        let backwards: Vec<&Recipe<'_>> = recipes.iter().rev().collect();
        let done = AtomicUsize::new(0);
        let mut trained = workers::run(&backwards, |recipe| {
            let trained = recipe.trained(&self.store)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.talk)(&Step {
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

    /// Trains every setting of every entry for every seed from scratch, and chooses.
    pub(crate) fn grid(&self, bed: &Bed, entries: Vec<Entry>) -> Result<Grid> {
        self.grid_by(bed, entries, &self.scratch())
    }

    /// The same by another schema.
    pub(crate) fn grid_by(
        &self,
        bed: &Bed,
        entries: Vec<Entry>,
        schema: &Schema<'_>,
    ) -> Result<Grid> {
        let vanilla = match entries.iter().find(|entry| entry.id == VANILLA) {
            Some(vanilla) => self.vanilla_by(bed, vanilla, schema)?,
            None => self.vanilla(bed)?,
        };
        let thresholds: Vec<f64> = vanilla
            .iter()
            .map(|one| {
                if schema.by_auc {
                    f64::NEG_INFINITY
                } else {
                    one.best_auc - AUC_WITHIN
                }
            })
            .collect();
        let mut rows: Vec<GridRow> = entries
            .into_iter()
            .map(|entry| GridRow {
                trained: vec![Vec::new(); bed.fields.len()],
                chosen: Vec::new(),
                entry,
            })
            .collect();
        let mut jobs: Vec<Job<'_>> = Vec::new();
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
            for (index, field) in bed.fields.iter().enumerate() {
                for objective in &entry.settings {
                    let recipe = Recipe {
                        auc_at_least: (!schema.by_auc).then_some(thresholds[index]),
                        from: schema.from.map(|from| from[index].key.clone()),
                        ..Self::recipe(field, entry, objective, schema)
                    };
                    let field = index;
                    jobs.push(Job { row, field, recipe });
                }
            }
        }
        let places: Vec<(usize, usize)> = jobs.iter().map(|job| (job.row, job.field)).collect();
        let recipes: Vec<Recipe<'_>> = jobs.into_iter().map(|job| job.recipe).collect();
        let trained = self.train(&bed.name, &recipes)?;
        for ((row, field), one) in places.into_iter().zip(trained) {
            rows[row].trained[field].push(one);
        }
        for row in &mut rows {
            let by_seed = row.trained.iter().zip(&thresholds);
            row.chosen = by_seed
                .map(|(settings, threshold)| chosen(settings, *threshold))
                .collect();
        }
        Ok(Grid { rows })
    }

    /// Measures models side by side: each is named by its key and its seed's place.
    pub(crate) fn measure(
        &self,
        bed: &Bed,
        what: &str,
        jobs: &[(usize, String, Measure)],
    ) -> Result<Vec<Measured>> {
        let done = AtomicUsize::new(0);
        workers::run(jobs, |(field, key, measure)| {
            let found = measure.of(key, &bed.fields[*field], &self.store)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.talk)(&Step {
                dataset: &bed.name,
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
        bed: &Bed,
        grid: &Grid,
        what: &str,
        measure: impl Fn(&Field) -> Measure,
    ) -> Result<Vec<Option<Vec<Measured>>>> {
        let mut jobs = Vec::new();
        for row in &grid.rows {
            for (index, key) in row.keys().into_iter().flatten().enumerate() {
                jobs.push((index, key, measure(&bed.fields[index])));
            }
        }
        let mut found = self.measure(bed, what, &jobs)?.into_iter();
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
        let failed = "training failed with every setting";
        self.entry.refusal.unwrap_or(failed).to_owned()
    }

    /// What it is to a comparison. A method whose AUC is too low with every setting keeps its numbers and does not compete, as the
    /// paper leaves such methods out.
    fn kin(&self) -> Kin {
        match self.below() {
            0 => self.entry.kin,
            _ => Kin::Baseline,
        }
    }

    /// How many seeds have an AUC below the threshold with every setting.
    pub(crate) fn below(&self) -> usize {
        let chosen = self.chosen.iter().flatten();
        chosen.filter(|(_, reaches)| !reaches).count()
    }
}

/// The ball of a field's attacks.
pub(crate) fn threat(field: &Field) -> ThreatConfig {
    ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius: field.radius,
        },
        ..ThreatConfig::papers()
    }
}

/// How a field's rows are explained.
pub(crate) fn explain(field: &Field) -> ExplainConfig {
    explained(field.dataset.shape())
}

/// `ERAttack` on a field.
pub(crate) fn er_attack(field: &Field) -> AttackConfig {
    AttackConfig {
        method: ErAttackConfig {}.into(),
        k: field.k,
        threat: threat(field),
        ..AttackConfig::default()
    }
}

/// The MSE attack on a field.
pub(crate) fn mse_attack(field: &Field) -> AttackConfig {
    AttackConfig {
        method: MseAttackConfig::default().into(),
        ..er_attack(field)
    }
}

/// An attack on a field's own explanation.
pub(crate) fn attack(attack: AttackConfig, field: &Field) -> Measure {
    Measure::Attack {
        attack,
        explain: explain(field),
    }
}

/// The suite on a field.
pub(crate) fn suite(field: &Field, options: &Options) -> Measure {
    Measure::Suite {
        suite: SuiteConfig {
            effort: options.effort.suite(),
            k: field.k,
            threat: threat(field),
        },
        explain: explain(field),
    }
}

/// Thickness towards gaussian neighbours of a field's rows.
pub(crate) fn gaussian(field: &Field) -> Measure {
    Measure::GaussianThickness {
        k: field.k,
        radius: field.radius,
        explain: explain(field),
    }
}

/// Thickness on the way to where `ERAttack` ends.
pub(crate) fn adversarial(field: &Field) -> Measure {
    Measure::AdversarialThickness {
        attack: er_attack(field),
        explain: explain(field),
    }
}

/// AUC and distinctness.
pub(crate) fn clean(field: &Field) -> Measure {
    Measure::Clean {
        explain: explain(field),
    }
}
