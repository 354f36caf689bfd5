//! Retraining begins with a reference, stays near it, and never gives back less.

use std::path::{Path, PathBuf};

use thickset::Error;
use thickset::config::RunConfig;
use thickset::model::Model;

use super::{config, data, ending, run, run_until, train_on};

/// A vanilla model, trained for a moment.
fn reference(folder: &Path) -> PathBuf {
    let first = config(
        "objective = { kind = \"vanilla\" }\ntrain = { epochs = 8, batch = 32 }\nprobe = { rows = 50, steps = 3 }",
    );
    run(&first, folder);
    folder.join("model.safetensors")
}

fn retraining(from: &Path, bounds: &str, rate: f64, rows: usize) -> RunConfig {
    config(&format!(
        "retrain = {{ from = {:?}, {bounds} }}\nprobe = {{ rows = {rows}, steps = 3 }}\n\
         train = {{ epochs = 3, optimizer = {{ kind = \"adam\", rate = {rate} }} }}",
        from.display().to_string()
    ))
}

#[test]
fn retraining_begins_with_the_reference_and_stops_when_it_drifts() {
    let vanilla = tempfile::tempdir().unwrap();
    let first = config(
        "objective = { kind = \"vanilla\" }\ntrain = { epochs = 8, batch = 32 }\nprobe = { rows = 50, steps = 3 }",
    );
    run(&first, vanilla.path());
    let model = vanilla.path().join("model.safetensors");
    let retrained = |rate: f64, folder: &Path| {
        let config = config(&format!(
            "retrain = {{ from = {:?}, least_agreement = 0.9 }}\nprobe = {{ rows = 50, steps = 3 }}\n\
             train = {{ epochs = 3, optimizer = {{ kind = \"adam\", rate = {rate} }} }}",
            model.display().to_string()
        ));
        run(&config, folder);
        let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        let line = text.lines().next().unwrap().to_owned();
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        (record["agreement"].as_f64().unwrap(), text.lines().count())
    };
    let (gentle, rough) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (agreement, epochs) = retrained(1e-6, gentle.path());
    assert!(agreement > 0.99, "{agreement}");
    assert_eq!(epochs, 3);
    let (agreement, epochs) = retrained(0.5, rough.path());
    assert!(agreement < 0.9, "{agreement}");
    assert_eq!(epochs, 1);
}

#[test]
fn a_retraining_that_drifts_at_once_gives_the_reference_back() {
    let vanilla = tempfile::tempdir().unwrap();
    let model = reference(vanilla.path());
    // With and without an attack on validation rows.
    for rows in [50, 0] {
        let config = retraining(&model, "least_agreement = 0.9", 0.5, rows);
        let folder = tempfile::tempdir().unwrap();
        let (selected, reason) = ending(run(&config, folder.path()));
        assert_eq!(selected, 0);
        assert!(reason.contains("ranking drifted"), "{reason}");
        let kept = std::fs::read(folder.path().join("model.safetensors")).unwrap();
        assert!(kept == std::fs::read(&model).unwrap(), "rows {rows}");
    }
}

#[test]
fn an_auc_or_an_accuracy_that_falls_too_far_ends_retraining() {
    let vanilla = tempfile::tempdir().unwrap();
    let model = reference(vanilla.path());
    let config = retraining(
        &model,
        "least_agreement = 0.0, most_auc_drop = 0.05",
        0.01,
        0,
    );
    let mut dataset = data(&config);
    for &row in &dataset.split.train {
        dataset.labels[row] = 1 - dataset.labels[row];
    }
    let mut one_class = dataset.clone();
    one_class
        .split
        .validation
        .retain(|&row| dataset.labels[row] == 0);
    for (dataset, expected) in [
        (&dataset, "the AUC fell"),
        (&one_class, "the accuracy fell"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let outcome = train_on(dataset, &config, folder.path(), false, &mut |_| false);
        let (selected, reason) = ending(outcome.unwrap().expect("nobody stopped it"));
        assert_eq!(selected, 0);
        assert!(reason.contains(expected), "{reason}");
    }
}

#[test]
fn a_reference_of_other_columns_or_scaling_is_refused() {
    let vanilla = tempfile::tempdir().unwrap();
    let path = reference(vanilla.path());
    let mut model = Model::load(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let refused = |config: &RunConfig, what: &str| {
        let out = folder.path().join("run");
        let result = run_until(config, &out, false, |_| false);
        assert!(
            matches!(result, Err(Error::ModelInput { .. })),
            "{what}: {result:?}"
        );
        assert!(!out.exists(), "{what}");
    };
    // Another seed is another split, and so another scaling.
    let mut config = retraining(&path, "least_agreement = 0.5", 0.001, 0);
    config.seed = thickset::Seed::new(1);
    refused(&config, "scaling");
    let columns = &mut model.description.encoding.as_mut().unwrap().columns;
    columns.swap(0, 1);
    let other = folder.path().join("other.safetensors");
    model.save(&other).unwrap();
    refused(
        &retraining(&other, "least_agreement = 0.5", 0.001, 0),
        "columns",
    );
}
