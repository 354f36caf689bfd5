//! A model of another framework trained further: it begins as the file says, ends more stable, and is written back.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use thickset::attack::suite::Effort;
use thickset::config::RunConfig;
use thickset::data::OpenOptions;
use thickset::explain::ExplanationConfig;
use thickset::model::{AuditOptions, ExplainOptions, MlpConfig, Origin};
use thickset::onnx::{self, OnnxOptions, ScaleChoice};
use thickset::train::{Event, RunFolder, train, train_into};
use thickset::{Model, Rows, Seed};

use super::golden;

/// Rows of the columns of `pipeline_mlp.onnx`, labelled by the model itself but for some noise, as a table's file.
fn table(folder: &Path, model: &Path) -> PathBuf {
    let imported = onnx::open(model, &OnnxOptions::default()).unwrap();
    let names = imported.about.columns.clone();
    let schema = imported.model.schema();
    let mut stream = Seed::new(7).stream("table");
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for _ in 0..300 {
        let mut cells = Vec::new();
        for (_, places) in schema.by_column() {
            let first = &schema.features[places[0]];
            if places.len() == 1 {
                let encoded = stream.normal();
                let value = (first.offset + first.factor * encoded).round();
                #[expect(clippy::cast_possible_truncation, reason = "features")]
                values.push(((value - first.offset) / first.factor) as f32);
                cells.push(value.to_string());
            } else {
                let chosen = stream.below(places.len());
                values.extend((0..places.len()).map(|place| f32::from(u8::from(place == chosen))));
                let name = &schema.features[places[chosen]].name;
                cells.push(name.split_once('=').unwrap().1.to_owned());
            }
        }
        lines.push(cells.join(","));
    }
    let rows = Rows::new(&values, schema).unwrap();
    let predicted = imported.model.predict(&rows).unwrap();
    let classes = imported.model.classes();
    let mut text = vec![format!("{},outcome", names.join(","))];
    for (line, prediction) in lines.iter().zip(predicted) {
        let is_second = stream.uniform() < prediction.probabilities[1];
        text.push(format!("{line},{}", classes[usize::from(is_second)]));
    }
    let path = folder.join("rows.csv");
    std::fs::write(&path, text.join("\n") + "\n").unwrap();
    path
}

/// A file to begin with, and rows to train it on, in a folder of their own.
struct Begun {
    folder: tempfile::TempDir,
    file: PathBuf,
    rows: PathBuf,
}

impl Begun {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = golden().join("pipeline_mlp.onnx");
        let rows = table(folder.path(), &file);
        Self { folder, file, rows }
    }
}

fn run(model: &Path, data: &Path, more: &[&str]) -> RunConfig {
    let mut set = vec![
        format!("retrain.from={:?}", model.display().to_string()),
        format!("data.source={:?}", data.display().to_string()),
        "data.target=outcome".to_owned(),
        "train.epochs=6".to_owned(),
        "probe.rows=20".to_owned(),
    ];
    set.extend(more.iter().map(|&one| one.to_owned()));
    RunConfig::parse_with("", "retrain", &set).unwrap()
}

#[test]
fn a_pipeline_is_trained_further_and_written_back_with_the_same_inputs() {
    let Begun { folder, file, rows } = Begun::new();
    let config = run(
        &file,
        &rows,
        &[
            "objective={ kind = \"r2et\", gap_weight = 0.2, hessian_weight = 0.5, explain = { kind = \"grad\" } }",
            "train.epochs=30",
            "train.batch=16",
            "selection.auc_within=0.03",
            "retrain.most_auc_drop=0.1",
            "retrain.least_agreement=0",
        ],
    );
    let data = config.open_data().unwrap();
    let options = OnnxOptions {
        target: Some("outcome".to_owned()),
        ..OnnxOptions::default()
    };
    let (mut start, _) =
        onnx::open_for_data(&file, Some(&rows), &options, ScaleChoice::Unsaid).unwrap();
    start.learn_background(Some(&rows), None).unwrap();
    // The data are encoded as the graph has them, so the start predicts what the file does.
    let test = data.test();
    let of_file = start.model.predict(&test).unwrap();
    let run_folder = RunFolder::new(folder.path().join("run"));
    let mut ignore = |_: &Event<'_>| ControlFlow::Continue(());
    let trained = train_into(
        &config.clone().check().unwrap(),
        &data,
        &run_folder,
        false,
        &mut ignore,
    )
    .unwrap()
    .unwrap();
    assert_eq!(trained.model.description.model.kind(), "graph");
    assert!(
        trained.selected.epoch > 0,
        "an epoch is better than the start: {}",
        trained.reason
    );
    // The file that is written back takes the same inputs and says what the trained model says.
    let back = onnx::open(&run_folder.onnx_model(), &OnnxOptions::default()).unwrap();
    assert_eq!(back.inputs(), start.inputs());
    assert_eq!(
        back.model.predict(&test).unwrap(),
        trained.model.predict(&test).unwrap()
    );
    assert_ne!(of_file, trained.model.predict(&test).unwrap());
    // More stable where it matters, on rows that nobody trained on, and about as good.
    let options = AuditOptions {
        explain: ExplainOptions {
            explanation: Some(ExplanationConfig::default()),
            ..ExplainOptions::default()
        },
        effort: Some(Effort::Quick),
        ..AuditOptions::default()
    };
    let before = start.model.audit(&test, &options).unwrap();
    let after = trained.model.audit(&test, &options).unwrap();
    let [old, new] = [before, after].map(|audit| audit.summary.precision_at_k().value);
    assert!(new > old, "P@k {old} to {new}");
    // A run that began with another framework's model is audited on its own test rows again.
    let stored = Model::load(&run_folder.model()).unwrap();
    let again = thickset::model::RowsConfig {
        data: rows.display().to_string(),
        part: Some(thickset::model::PartChoice::Part(
            thickset::data::Part::Test,
        )),
        ..Default::default()
    };
    let opened = stored.open_labelled_rows(&again).unwrap();
    assert_eq!(opened.rows().len(), test.len());
}

#[test]
fn a_file_is_compared_with_a_model_of_ours_that_encodes_the_rows_otherwise() {
    let begun = Begun::new();
    let (file, rows) = (&begun.file, &begun.rows);
    let options = OnnxOptions {
        target: Some("outcome".to_owned()),
        ..OnnxOptions::default()
    };
    let (mut theirs, _) =
        onnx::open_for_data(file, Some(rows), &options, ScaleChoice::Unsaid).unwrap();
    theirs.learn_background(Some(rows), None).unwrap();
    // The same table with its categories in two features instead of three.
    let text = std::fs::read_to_string(rows).unwrap();
    let fewer = begun.folder.path().join("fewer.csv");
    std::fs::write(&fewer, text.replace("smith", "clerk")).unwrap();
    let open = |path: &Path| {
        let options = OpenOptions {
            target: Some("outcome".to_owned()),
            ..OpenOptions::default()
        };
        thickset::data::open(&path.display().to_string(), &options).unwrap()
    };
    let ours =
        Model::for_dataset(MlpConfig::default().into(), &open(&fewer), Seed::new(1)).unwrap();
    assert_ne!(
        ours.network.features(),
        theirs.model.network.features(),
        "encoded otherwise"
    );
    let config = thickset::model::RowsConfig {
        data: rows.display().to_string(),
        ..Default::default()
    };
    let opened = [&theirs.model, &ours].map(|model| model.open_labelled_rows(&config).unwrap());
    let [a, b] = [opened[0].rows().first(6), opened[1].rows().first(6)];
    let options = AuditOptions {
        effort: Some(Effort::Quick),
        ..AuditOptions::default()
    };
    let origin = Origin::default();
    let settings = theirs.model.audit_config(&origin, &a, &options).unwrap();
    ours.check_audit(&b, &settings).unwrap();
    let mut ignore = |_: &thickset::audit::Event<'_>| ControlFlow::Continue(());
    let mut audit = |model: &Model, rows: &Rows<'_>| {
        let made = model.audit_as(&origin, rows, &options, &settings, &mut ignore);
        made.unwrap().unwrap()
    };
    let (of_a, of_b) = (audit(&theirs.model, &a), audit(&ours, &b));
    let compared = thickset::audit::compare::compare(&of_a, &of_b, &[]).unwrap();
    assert!(compared.differs_in_encoding());
    assert_eq!(of_a.rows.len(), 6);
}

#[test]
fn training_begins_exactly_where_the_file_is() {
    let begun = Begun::new();
    let (file, rows) = (&begun.file, &begun.rows);
    // Nothing may drift, so the model it began with is kept.
    let config = run(
        file,
        rows,
        &[
            "retrain.most_auc_drop=0",
            "retrain.least_agreement=1",
            "train.optimizer={ kind = \"sgd\", rate = 10.0 }",
        ],
    );
    let data = config.open_data().unwrap();
    let trained = train(&config.check().unwrap(), &data).unwrap();
    assert_eq!(trained.selected.epoch, 0, "{}", trained.reason);
    let start = onnx::open(file, &OnnxOptions::default()).unwrap();
    let test = data.test();
    let mut values = Vec::new();
    for row in 0..test.len() {
        let mut one = vec![0.0; data.features()];
        test.copy(row, &mut one);
        values.extend(one);
    }
    let rows = Rows::new(&values, start.model.schema()).unwrap();
    assert_eq!(
        trained.model.predict(&rows).unwrap(),
        start.model.predict(&rows).unwrap()
    );
}

#[test]
fn rows_that_another_model_encodes_are_refused() {
    let begun = Begun::new();
    let (file, rows) = (&begun.file, &begun.rows);
    let config = run(file, rows, &[]);
    // Opened as a table that nobody described: other columns and another scaling.
    let data = config.data.open(Seed::new(0)).unwrap();
    let refused = train(&config.check().unwrap(), &data)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("features") || refused.contains("columns"),
        "{refused}"
    );
}
