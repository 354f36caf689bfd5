//! The commented `run.toml` that `thickset init` writes.

use std::fmt::Write as _;

use super::DataConfig;
use crate::Seed;
use crate::data::{Dataset, Feature, FeatureKind, InputShape, MissingColumn, Part, Scale};
use crate::objective::r2et;

/// A configuration for this data with the defaults spelled out, for a person to read and change.
#[must_use]
pub fn template(name: &str, seed: Seed, data: &DataConfig, dataset: &Dataset, k: usize) -> String {
    let is_table = *dataset.shape() == InputShape::Table;
    let effort = Effort::of(dataset);
    format!(
        r#"# A training run: `thickset train run.toml` trains it, `--resume` goes on after an interruption,
# `--set train.epochs=50` changes one setting. `thickset methods` lists what can be chosen.

name = {name}                     # results go to runs/<name>/
{seed:<33} # same seed, same machine kind: the same model, byte for byte
k = {k}                             # {salient}
{reasons}
[data]                            # {rows} rows, {features} features, {classes} classes
{data}
[model]
kind = "{model}"
{sizes}
[objective]                       # `thickset methods r2et` explains it; "vanilla" is plain training
kind = "r2et"
gap_weight = 0.05                 # keeps salient features apart from the others; too much costs AUC
hessian_weight = {hessian:<16} # keeps explanations from turning quickly; too much costs AUC, 0 leaves it out
pairs = "all"                     # or "closest": only the pairs that are nearest to changing places
# explain = {{ kind = "grad" }}     # what is ranked, if not what is handed out

[train]
epochs = {epochs:<24} # at most
{batch:<33} # rows of a step
optimizer = {optimizer}
schedule = "{schedule}"{space} # how the step size changes: "constant" or "cosine"
patience = {patience:<22} # stop after so many epochs that improve neither AUC nor P@k; 0 never stops early
# class_weight = "balanced"       # show rare classes as often as others; or {{ {class} = 5.0 }}
# clip = 1.0                      # longest gradient of a step

[probe]                           # a quick attack on validation rows after each epoch
{probe_rows:<33} # most of a training's time is spent on them
{probe_steps:<33} # of ERAttack; another attack follows importances as shares
# against = "er-attack"           # the papers' rule: ERAttack alone
# epsilon = 0.5                   # radius of the l2 ball, in scaled units

[selection]                       # of the epochs with a good AUC, the one whose explanations held best
{auc_within:<33} # of the best epoch's AUC; or auc_at_least = 0.85

# [retrain]                       # start from a trained model, and train it so that its reasons stay the same
# from = "runs/vanilla/model.safetensors"

# [sweep]                         # every combination is a run, one a core; the selection's rule chooses among them
# objective.gap_weight = [0.02, 0.05, 0.1]
# objective.hessian_weight = [0.0, {hessian}]

# [audit]                         # what `thickset audit` does with this model unless told otherwise
# effort = "standard"             # or "quick", "thorough"
# radius = 0.5                    # how far a row may be moved, in scaled units
# require = ["p_at_k>=0.9", "auc>=0.85"]   # exit code 1 unless all of these hold
"#,
        name = quoted(name),
        salient = if is_table {
            "how many reasons a person is told"
        } else {
            "size of the salient set: the features a person is told"
        },
        reasons = if is_table {
            reasons(dataset)
        } else {
            String::new()
        },
        rows = dataset.rows(),
        features = dataset.features(),
        classes = dataset.classes.len(),
        seed = format!("seed = {}", seed.number()),
        data = data_settings(data),
        hessian = hessian_weight(dataset.shape()),
        model = model(dataset).0,
        sizes = model(dataset).1,
        epochs = effort.epochs,
        batch = format!("batch = {}", effort.batch),
        optimizer = effort.optimizer,
        schedule = effort.schedule,
        space = " ".repeat(20_usize.saturating_sub(effort.schedule.len())),
        patience = effort.patience,
        probe_rows = format!("rows = {}", effort.probe_rows),
        probe_steps = format!("steps = {}", effort.probe_steps),
        auc_within = format!("auc_within = {}", effort.auc_within),
        class = key(dataset.classes.last().map_or("bad", String::as_str)),
    )
}

/// The weight of the Hessian norm. On contributions, which tables are trained for, it also makes slopes small: a tenth of what serves gradients keeps
/// the AUC.
fn hessian_weight(shape: &InputShape) -> f64 {
    match shape {
        InputShape::Table => 0.001,
        _ => r2et::hessian_weight(shape),
    }
}

/// How a run trains that nobody has tuned.
struct Effort {
    epochs: usize,
    batch: usize,
    optimizer: &'static str,
    schedule: &'static str,
    patience: usize,
    probe_rows: usize,
    probe_steps: usize,
    /// P@k of few rows differs by chance from epoch to epoch, so it may not cost much AUC.
    auc_within: f64,
}

/// Steps of an epoch that a table should have at least, as far as batches can be made smaller.
const STEPS: usize = 64;

impl Effort {
    /// For tables what `docs/results/models.md` chose on validation rows: a batch that leaves enough steps, and a step size that falls to nothing.
    fn of(dataset: &Dataset) -> Self {
        if *dataset.shape() != InputShape::Table {
            return Self {
                epochs: 30,
                batch: 128,
                optimizer: "{ kind = \"adam\", rate = 0.001 }",
                schedule: "constant",
                patience: 10,
                probe_rows: 256,
                probe_steps: 20,
                auc_within: 0.01,
            };
        }
        let rows = dataset.part(Part::Train).len();
        let batch = (rows / STEPS).next_power_of_two().clamp(32, 256);
        Self {
            epochs: 20,
            batch,
            optimizer: if batch < 256 {
                "{ kind = \"adamw\", rate = 0.001, decay = 0.3 }"
            } else {
                "{ kind = \"adamw\", rate = 0.002, decay = 0.3 }"
            },
            schedule: "cosine",
            patience: 10,
            probe_rows: 64,
            probe_steps: 10,
            auc_within: 0.002,
        }
    }
}

/// What is handed out for rows of a table, all as comments: the defaults, and examples in the data's own columns.
fn reasons(dataset: &Dataset) -> String {
    let number = dataset.schema.features.iter();
    let number = number.filter(|one| one.kind == FeatureKind::Number && !one.immutable);
    let number = number.map(|one| one.column.as_str()).next();
    let number = key(number.unwrap_or("income"));
    let adverse = quoted(dataset.classes.last().map_or("bad", String::as_str));
    format!(
        r#"
# What is told, trained for, attacked and audited: each column's signed contribution to the score, compared with a reference row.
# explain = {{ kind = "contributions", reference = "median" }}   # or "mean-of-class:NAME", or a file with one row
# What a row could become: immutable columns stay, categories and whole numbers stay whole, values stay in the training range.
# threat = {{ error = {{ {number} = "5%" }} }}   # or only = {{ {number} = 100 }}; or threat = "papers" for the free ball
# When a row is decided against: `thickset reasons` says why.
# decision = {{ adverse = {adverse}, cutoff = 0.5 }}
"#
    )
}

/// A text as a key of TOML in a comment: bare where it may be, and another one where it would not stay on its line.
fn key(text: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if text.chars().any(char::is_control) {
        "name".to_owned()
    } else if !text.is_empty() && text.chars().all(is_letter) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// The settings of the data, one a line: those that were given, and the others as comments.
#[expect(clippy::too_many_lines, reason = "a list of settings, four lines each")]
fn data_settings(data: &DataConfig) -> String {
    let path = |path: &std::path::PathBuf| quoted(&path.display().to_string());
    let some = |list: &[String]| (!list.is_empty()).then(|| list_of(list));
    let settings: [(&str, Option<String>, &str, &str); 17] = [
        (
            "source",
            Some(quoted(&data.source)),
            "",
            "a dataset's name, or a path from where the command runs",
        ),
        (
            "target",
            data.target.as_deref().map(quoted),
            "\"column\"",
            "what is predicted; the last column if left out",
        ),
        (
            "header",
            data.header.map(|header| header.to_string()),
            "false",
            "the first row is a row, not the names of the columns",
        ),
        (
            "delimiter",
            data.delimiter.map(|letter| quoted(&letter.to_string())),
            "\";\"",
            "what separates fields; inferred if left out",
        ),
        (
            "text_encoding",
            data.text_encoding.and_then(|encoding| {
                let text = toml::Value::try_from(encoding).ok()?;
                Some(text.to_string())
            }),
            "\"windows-1252\"",
            "how bytes stand for letters; UTF-8 or UTF-16 if left out",
        ),
        (
            "decimal",
            data.decimal.map(|mark| quoted(&mark.to_string())),
            "\",\"",
            "the decimal mark, where a number could be read in two ways",
        ),
        (
            "day_first",
            data.day_first.map(|first| first.to_string()),
            "true",
            "03/04/2024 is in April, where a date could be read in two ways",
        ),
        (
            "missing",
            some(&data.missing),
            "[\"unknown\"]",
            "texts that stand for a missing value, beside the usual ones",
        ),
        (
            "categories",
            some(&data.categories),
            "[\"zip\"]",
            "numbers that are names",
        ),
        ("drop", some(&data.drop), "[\"id\"]", "columns to leave out"),
        (
            "immutable",
            some(&data.immutable),
            "[\"age\"]",
            "what a person cannot change, so attacks must not",
        ),
        (
            "scale",
            (data.scale != Scale::default()).then(|| "\"standard\"".to_owned()),
            "\"standard\"",
            "numbers by mean and deviation; by their range if left out",
        ),
        (
            "missing_column",
            (data.missing_column != MissingColumn::default()).then(|| "\"impute\"".to_owned()),
            "\"impute\"",
            "what a file to be predicted lacks counts as missing; refused if left out",
        ),
        (
            "recipe",
            data.recipe.as_ref().map(path),
            "\"recipe.toml\"",
            "columns and classes as `thickset data show FILE --recipe` prints them, edited",
        ),
        (
            "folder",
            data.folder.as_ref().map(path),
            "\"datasets\"",
            "where the files of a known dataset are",
        ),
        (
            "random_test",
            data.random_test.then(|| "true".to_owned()),
            "true",
            "split all rows at random, even where there is an official test set",
        ),
        (
            "image_size",
            data.image_size
                .map(|(height, width)| format!("[{height}, {width}]")),
            "[32, 32]",
            "the height and width that images are scaled to",
        ),
    ];
    let mut text = String::new();
    for (name, value, example, meaning) in settings {
        let setting = match value {
            Some(value) => format!("{name} = {value}"),
            None => format!("# {name} = {example}"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{setting:<33} # {meaning}");
    }
    text
}

/// A text as TOML writes it.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A list of texts on one line.
fn list_of(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// The architecture that fits the shape of the data, and its settings.
fn model(dataset: &Dataset) -> (&'static str, String) {
    match dataset.shape() {
        InputShape::Image { .. } => ("cnn", String::new()),
        InputShape::Pair { of } if matches!(**of, InputShape::Graph { .. }) => {
            ("siamese", "embedding = { kind = \"gcn\" }\n".to_owned())
        }
        InputShape::Pair { .. } => ("siamese", "embedding = { kind = \"cnn\" }\n".to_owned()),
        InputShape::Table => match bins(dataset) {
            Some(bins) => ("binned", binned(dataset, bins)),
            None => ("mlp", "hidden = [64, 32]\n".to_owned()),
        },
        InputShape::Graph { .. } => ("mlp", "hidden = [64, 32]\n".to_owned()),
    }
}

/// Units that the fixed layers of a binned model may have: the second of them reads every unit of the first.
const UNITS: usize = 512;

/// The most bins of a number that leave the fixed layers small; none for a table of so many columns that too few would be left.
fn bins(dataset: &Dataset) -> Option<usize> {
    let features = &dataset.schema.features;
    let is_number = |one: &&Feature| one.kind == FeatureKind::Number;
    let numbers = features.iter().filter(is_number).count();
    let left = UNITS.saturating_sub(features.len());
    let bins = left.checked_div(numbers).unwrap_or(16).min(16);
    (bins >= 4).then_some(bins)
}

fn binned(dataset: &Dataset, bins: usize) -> String {
    let numbers = dataset.schema.features.iter();
    let mut numbers = numbers
        .filter(|one| one.kind == FeatureKind::Number)
        .map(|one| one.column.as_str());
    let number = key(numbers.next_back().unwrap_or("income"));
    format!(
        "hidden = [128, 64]\n\
         bins = {bins:<2}                         # quantiles of every number that may bend the score; \"mlp\" is without\n\
         # monotone = {{ {number} = \"-\" }}   # the score of the last class never rises with it; \"+\" never falls\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize) -> Dataset {
        let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut stream = Seed::new(1).stream("rows");
        #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
        let values = (0..40 * columns).map(|_| stream.normal() as f32).collect();
        Dataset::from_rows(values, (0..40).map(|row| row % 2).collect(), &names).unwrap()
    }

    #[test]
    fn a_table_of_many_numbers_has_fewer_bins_and_then_none() {
        assert_eq!(bins(&table(20)), Some(16));
        assert_eq!(bins(&table(50)), Some(9));
        assert_eq!(bins(&table(300)), None);
        assert_eq!(model(&table(300)).0, "mlp");
    }
}
