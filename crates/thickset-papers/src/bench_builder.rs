//! A bench's result in the making: settings noted as data is opened, tables and findings added.

use std::fmt::Write as _;

use thickset::bench::{Bench, Figure, PictureTable, SCHEMA, Table};
use thickset::data::Part;

use crate::method::SETTINGS;
use crate::paper_numbers;
use crate::runner::{BenchRunner, SeededDatasets};

/// What a bench has found so far.
pub(crate) struct BenchBuilder {
    bench: Bench,
}

impl BenchBuilder {
    pub(crate) fn new(bench: &str, title: &str) -> Self {
        Self {
            bench: Bench {
                schema: SCHEMA,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                bench: bench.to_owned(),
                title: title.to_owned(),
                settings: Vec::new(),
                tables: Vec::new(),
                figures: Vec::new(),
                pictures: Vec::new(),
                findings: Vec::new(),
            },
        }
    }

    /// Notes a setting.
    pub(crate) fn add_setting(&mut self, name: &str, value: impl Into<String>) {
        self.bench.settings.push((name.to_owned(), value.into()));
    }

    /// Notes what trained models of this runner have in common.
    pub(crate) fn note_training(&mut self, runner: &BenchRunner<'_>) {
        let options = runner.options;
        self.add_setting("effort", options.effort.name());
        self.add_setting(
            "epochs",
            format!("at most {}, one is selected", options.training_epochs()),
        );
        self.add_setting(
            "selection",
            format!(
                "on validation rows: of the epochs and of the {SETTINGS} settings of each method whose AUC is at most 0.01 below \
                 vanilla's best, the one with the highest P@k under the quick attack of the selection; vanilla and linear have one setting"
            ),
        );
        self.add_setting("the paper's numbers", paper_numbers::ENCODINGS);
    }

    /// Notes a dataset that is attacked in its own ball.
    pub(crate) fn note_datasets(&mut self, datasets: &SeededDatasets) {
        let data = &datasets.seeds[0];
        let mut attack = format!("k = {}, l2 radius {}", data.k, data.radius);
        if let (Some(plan), Some(effort)) = (data.plan, data.effort) {
            let _ = write!(
                attack,
                ", no feature moves by more than {:.3} in a step; {} setting(s) a method, {} epochs",
                plan.step_cap, effort.settings, effort.epochs
            );
            if let Some(epochs) = effort.retrain_epochs {
                let _ = write!(attack, ", then {epochs} from vanilla");
            }
            if let Some(rows) = effort.rows_per_epoch {
                let _ = write!(attack, " of {rows} rows drawn");
            }
            if let Some(note) = &plan.note {
                let _ = write!(attack, "; {note}");
            }
        }
        self.note_attacked_datasets(datasets, &attack);
    }

    /// Notes a dataset, and how it is attacked.
    pub(crate) fn note_attacked_datasets(&mut self, datasets: &SeededDatasets, attack: &str) {
        let data = &datasets.seeds[0];
        let rows = |part| data.dataset.part(part).len();
        self.add_setting(
            &datasets.name,
            format!(
                "{} seeds; {} training, {} validation and {} test rows, of which {} are attacked; {} features, {attack}",
                datasets.seeds.len(),
                rows(Part::Train),
                rows(Part::Validation),
                rows(Part::Test),
                data.rows().ids.len(),
                data.dataset.features(),
            ),
        );
    }

    pub(crate) fn add_table(&mut self, table: Table) {
        self.bench.tables.push(table);
    }

    /// A table that is read before those there are.
    pub(crate) fn add_first_table(&mut self, table: Table) {
        self.bench.tables.insert(0, table);
    }

    pub(crate) fn add_figure(&mut self, figure: Figure) {
        self.bench.figures.push(figure);
    }

    pub(crate) fn add_pictures(&mut self, pictures: PictureTable) {
        self.bench.pictures.push(pictures);
    }

    pub(crate) fn add_finding(&mut self, sentence: impl Into<String>) {
        self.bench.findings.push(sentence.into());
    }

    pub(crate) fn finish(self) -> Bench {
        self.bench
    }
}
