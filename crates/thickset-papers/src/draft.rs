//! A bench's result in the making: settings noted as data is opened, tables and findings added.

use thickset::bench::{Bench, Figure, SCHEMA, Table};
use thickset::data::Part;

use crate::lab::{Bed, Lab};
use crate::method::SETTINGS;
use crate::paper;

/// What a bench has found so far.
pub(crate) struct Draft {
    bench: Bench,
}

impl Draft {
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
                findings: Vec::new(),
            },
        }
    }

    /// Notes a setting.
    pub(crate) fn setting(&mut self, name: &str, value: impl Into<String>) {
        self.bench.settings.push((name.to_owned(), value.into()));
    }

    /// Notes what trained models of this lab have in common.
    pub(crate) fn training(&mut self, lab: &Lab<'_>) {
        let options = lab.options;
        self.setting("effort", options.effort.name());
        self.setting(
            "epochs",
            format!("at most {}, one is selected", options.training_epochs()),
        );
        self.setting(
            "selection",
            format!(
                "on validation rows: of the epochs and of the {SETTINGS} settings of each method whose AUC is at most 0.01 below \
                 vanilla's best, the one with the highest P@k under the quick attack of the selection; vanilla and linear have one setting"
            ),
        );
        self.setting("the paper's numbers", paper::ENCODINGS);
    }

    /// Notes a dataset that is attacked in its own ball.
    pub(crate) fn bed(&mut self, bed: &Bed) {
        let field = &bed.fields[0];
        self.bed_attacked(bed, &format!("k = {}, l2 radius {}", field.k, field.radius));
    }

    /// Notes a dataset, and how it is attacked.
    pub(crate) fn bed_attacked(&mut self, bed: &Bed, attack: &str) {
        let field = &bed.fields[0];
        let rows = |part| field.dataset.part(part).len();
        self.setting(
            &bed.name,
            format!(
                "{} seeds; {} training, {} validation and {} test rows, of which {} are attacked; {} features, {attack}",
                bed.fields.len(),
                rows(Part::Train),
                rows(Part::Validation),
                rows(Part::Test),
                field.rows().ids.len(),
                field.dataset.features(),
            ),
        );
    }

    pub(crate) fn table(&mut self, table: Table) {
        self.bench.tables.push(table);
    }

    /// A table that is read before those there are.
    pub(crate) fn first_table(&mut self, table: Table) {
        self.bench.tables.insert(0, table);
    }

    pub(crate) fn figure(&mut self, figure: Figure) {
        self.bench.figures.push(figure);
    }

    pub(crate) fn finding(&mut self, sentence: impl Into<String>) {
        self.bench.findings.push(sentence.into());
    }

    pub(crate) fn done(self) -> Bench {
        self.bench
    }
}
