//! Training on bundled data: it learns, and a run that is stopped and resumed ends with the same bytes.

mod checkpoints;
mod retraining;
mod shapes;
mod stable;
mod sweep;

use std::ops::ControlFlow;
use std::path::Path;

use thickset::Error;
use thickset::config::RunConfig;
use thickset::data::Dataset;
use thickset::model::Model;
use thickset::train::{EpochRecord, Event, RunFolder, Trained, train_into};

fn config(rest: &str) -> RunConfig {
    let text = format!("name = \"test\"\nk = 8\n{rest}\n[data]\nsource = \"breast-cancer\"\n");
    RunConfig::parse(&text, "run.toml").unwrap()
}

fn data(config: &RunConfig) -> Dataset {
    config.data.open(config.seed).unwrap()
}

/// Trains until `stop` says so.
fn run_until(
    config: &RunConfig,
    folder: &Path,
    resume: bool,
    mut stop: impl FnMut(&Event<'_>) -> bool,
) -> thickset::Result<Option<Trained>> {
    train_on(&data(config), config, folder, resume, &mut stop)
}

/// The same on rows that are not quite those of the configuration.
fn train_on(
    dataset: &Dataset,
    config: &RunConfig,
    folder: &Path,
    resume: bool,
    stop: &mut dyn FnMut(&Event<'_>) -> bool,
) -> thickset::Result<Option<Trained>> {
    let run = config.clone().check().unwrap();
    let mut observer = |event: &Event<'_>| {
        if stop(event) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    train_into(
        &run,
        dataset,
        &RunFolder::new(folder),
        resume,
        &mut observer,
    )
}

/// The selected epoch and why training ended.
fn ending(trained: Trained) -> (usize, String) {
    (trained.selected.epoch, trained.reason)
}

fn run(config: &RunConfig, folder: &Path) -> Trained {
    let trained = run_until(config, folder, false, |_| false).unwrap();
    trained.expect("nobody stopped it")
}

fn results(folder: &Path) -> [Vec<u8>; 2] {
    ["model.safetensors", "metrics.jsonl"].map(|name| std::fs::read(folder.join(name)).unwrap())
}

fn same(first: &Path, second: &Path, what: &str) {
    for (a, b) in results(first).iter().zip(results(second)) {
        assert!(*a == b, "{what}: the results differ");
    }
}

#[test]
fn vanilla_and_r2et_learn_to_tell_malignant_from_benign() {
    for objective in ["vanilla", "r2et"] {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&format!(
            "objective = {{ kind = \"{objective}\" }}\ntrain = {{ epochs = 15, batch = 32 }}"
        ));
        let selected = run(&config, folder.path()).selected;
        assert!(selected.auc > 0.97, "{objective}: {selected:?}");
        assert!((0.0..=1.0).contains(&selected.precision_at_k));
        let model = Model::load(&folder.path().join("model.safetensors")).unwrap();
        let dataset = data(&config);
        let test = &dataset.split.test;
        let x = model.network.batch_f32(&dataset.gather(test));
        let probabilities: Vec<f64> = model.network.probabilities(x).into_data().iter().collect();
        let rows: Vec<Vec<f64>> = probabilities.chunks(2).map(<[f64]>::to_vec).collect();
        let labels = dataset.gather_labels(test);
        let auc = thickset::metric::auc::score(&rows, &labels).unwrap();
        let auc = auc.unwrap().value;
        assert!(auc > 0.97, "{objective}: test AUC {auc}");
    }
}

#[test]
fn the_gap_term_widens_the_gap() {
    let gap_of = |weight: f64| {
        let folder = tempfile::tempdir().unwrap();
        let objective = format!(
            "{{ kind = \"r2et\", gap = \"difference\", gap_weight = {weight}, hessian_weight = 0.001 }}"
        );
        let config = config(&format!(
            "objective = {objective}\ntrain = {{ epochs = 8, batch = 32 }}\nprobe = {{ rows = 0 }}"
        ));
        run(&config, folder.path());
        let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        last["terms"]["gap"].as_f64().unwrap()
    };
    let (with, without) = (gap_of(0.3), gap_of(1e-6));
    assert!(with > 1.2 * without, "{with} {without}");
}

#[test]
fn a_run_that_is_stopped_anywhere_and_resumed_ends_with_the_same_bytes() {
    let optimizers = [
        "{ kind = \"adam\", rate = 0.003 }",
        "{ kind = \"adamw\", rate = 0.003, decay = 0.1 }",
        "{ kind = \"sgd\", rate = 0.05, momentum = 0.9 }",
    ];
    for (place, optimizer) in optimizers.iter().enumerate() {
        // The second has draws in every step.
        let objective = ["r2et", "pgd-at", "trades"][place];
        let config = config(&format!(
            "objective = {{ kind = \"{objective}\" }}\ntrain = {{ epochs = 4, batch = 64, checkpoint_steps = 3, \
             schedule = \"cosine\", clip = 1.0, optimizer = {optimizer} }}\nprobe = {{ rows = 20, steps = 3 }}"
        ));
        let whole = tempfile::tempdir().unwrap();
        run(&config, whole.path());
        for stops in [vec![1], vec![3], vec![4], vec![8, 9, 20], vec![25]] {
            let parts = tempfile::tempdir().unwrap();
            for stop in &stops {
                let outcome = run_until(
                    &config,
                    parts.path(),
                    true,
                    |event| matches!(event, Event::Step { step, .. } if step == stop),
                );
                assert!(outcome.unwrap().is_none());
            }
            run_until(&config, parts.path(), true, |_| false).unwrap();
            same(
                whole.path(),
                parts.path(),
                &format!("{optimizer} {stops:?}"),
            );
        }
    }
}

#[test]
fn a_finished_run_that_is_resumed_stays_as_it_is() {
    let config = config("train = { epochs = 2 }\nprobe = { rows = 10, steps = 2 }");
    let folder = tempfile::tempdir().unwrap();
    let first = run(&config, folder.path());
    let before = results(folder.path());
    let again = run_until(&config, folder.path(), true, |_| false).unwrap();
    let again = again.expect("nobody stopped it");
    assert_eq!(first.epochs, again.epochs);
    assert_eq!(first.model.to_bytes(), again.model.to_bytes());
    assert_eq!(
        (first.selected, first.reason),
        (again.selected, again.reason)
    );
    assert_eq!(before, results(folder.path()));
}

#[test]
fn a_folder_with_another_run_is_left_alone() {
    let first = config("train = { epochs = 1 }\nprobe = { rows = 0 }");
    let folder = tempfile::tempdir().unwrap();
    run(&first, folder.path());
    let again = run_until(&first, folder.path(), false, |_| false);
    assert!(matches!(again, Err(Error::RunExists { .. })));
    let other = config("train = { epochs = 2 }\nprobe = { rows = 0 }");
    let resumed = run_until(&other, folder.path(), true, |_| false);
    assert!(matches!(resumed, Err(Error::RunChanged { .. })));
}

#[test]
fn a_loss_that_is_no_number_ends_the_run() {
    let config = config(
        "objective = { kind = \"vanilla\" }\nprobe = { rows = 0 }\n\
         train = { epochs = 50, optimizer = { kind = \"sgd\", rate = 1e30 } }",
    );
    let folder = tempfile::tempdir().unwrap();
    let result = run_until(&config, folder.path(), false, |_| false);
    assert!(matches!(
        result,
        Err(Error::Diverged { .. } | Error::NotFinite { .. })
    ));
}

#[test]
fn patience_ends_a_run_that_improves_nothing() {
    // A rate this small changes no prediction.
    let config = config(
        "objective = { kind = \"vanilla\" }\nprobe = { rows = 0 }\n\
         train = { epochs = 50, patience = 3, optimizer = { kind = \"sgd\", rate = 1e-30, momentum = 0.0 } }",
    );
    let folder = tempfile::tempdir().unwrap();
    let trained = run(&config, folder.path());
    assert_eq!((trained.selected.epoch, trained.epochs.len()), (1, 4));
}

#[test]
fn settings_that_do_not_fit_the_data_are_refused_before_the_folder_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let refused = |rest: &str| {
        let error = run_until(&config(rest), &out, false, |_| false).unwrap_err();
        assert!(!out.exists(), "{rest}");
        error
    };
    assert!(matches!(
        refused("objective = { kind = \"r2et\", pairs = \"closest\", pair_count = 9 }"),
        Error::OutOfRange {
            what: "`r2et.pair_count`",
            expected: "at most k",
            ..
        }
    ));
    assert!(matches!(
        refused("model = { kind = \"cnn\" }"),
        Error::ModelInput { model: "cnn", .. }
    ));
    assert!(matches!(
        refused(
            "objective = { kind = \"r2et\", explain = { kind = \"grad\", reduce = \"channel-sum\" } }"
        ),
        Error::ReductionInput {
            reduction: "channel-sum",
            ..
        }
    ));
    // The last layer reads five units.
    assert!(matches!(
        refused(
            "model = { kind = \"mlp\", hidden = [5] }\nobjective = { kind = \"r2et\", explain = { kind = \"concept\" } }"
        ),
        Error::TopKOutOfRange { k: 8, largest: 4 }
    ));
}

#[test]
fn more_epochs_than_can_be_counted_begin_like_any_other() {
    let config = config(
        "train = { epochs = 9223372036854775807, schedule = \"cosine\" }\nprobe = { rows = 0 }",
    );
    let folder = tempfile::tempdir().unwrap();
    let stop = |event: &Event<'_>| matches!(event, Event::Step { step: 2, .. });
    let outcome = run_until(&config, folder.path(), false, stop);
    assert!(outcome.unwrap().is_none());
}

#[test]
fn a_threshold_out_of_reach_and_missing_validation_rows_are_told() {
    let config = config(
        "objective = { kind = \"vanilla\" }\nprobe = { rows = 0 }\nselection = { auc_at_least = 1.0 }\n\
         train = { epochs = 1, optimizer = { kind = \"sgd\", rate = 1e-9 } }",
    );
    let notes = |dataset: &Dataset| {
        let folder = tempfile::tempdir().unwrap();
        let mut notes = Vec::new();
        let mut hear = |event: &Event<'_>| {
            if let Event::Note { text } = event {
                notes.push((*text).to_owned());
            }
            false
        };
        train_on(dataset, &config, folder.path(), false, &mut hear).unwrap();
        notes
    };
    let mut dataset = data(&config);
    let told = notes(&dataset);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("auc_at_least"), "{told:?}");
    dataset.split.validation.clear();
    let told = notes(&dataset);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("no validation rows"), "{told:?}");
}

#[test]
fn adaptive_weights_are_logged_and_plain_ones_are_not() {
    for (adaptive, expected) in [(true, vec!["hessian", "ranking"]), (false, vec![])] {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&format!(
            "objective = {{ kind = \"r2et\", gap_weight = 0.1, hessian_weight = 0.01, adaptive = {adaptive} }}\n\
             train = {{ epochs = 1, batch = 100000 }}\nprobe = {{ rows = 0 }}"
        ));
        run(&config, folder.path());
        let text = std::fs::read_to_string(folder.path().join("metrics.jsonl")).unwrap();
        let record: EpochRecord = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!(record.weights.keys().collect::<Vec<_>>(), expected);
        if adaptive {
            // The weight times the term is the given share of the class loss and 1; in one step, to the last bits.
            for (term, weight) in [("ranking", 0.1), ("hessian", 0.01)] {
                let product = record.weights[term] * record.terms[term].abs();
                let expected = weight * (record.terms["class"] + 1.0);
                assert!(
                    (product / expected - 1.0).abs() < 1e-12,
                    "{term}: {product} {expected}"
                );
            }
        }
    }
}

#[test]
fn every_objective_trains_the_same_twice_and_unlike_plain_training() {
    let probabilities = |id: &str| -> Vec<f32> {
        let config = config(&format!(
            "objective = {{ kind = \"{id}\" }}\ntrain = {{ epochs = 1, batch = 200 }}\nprobe = {{ rows = 10, steps = 2 }}"
        ));
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trained = run(&config, first.path());
        run(&config, second.path());
        same(first.path(), second.path(), id);
        let dataset = data(&config);
        let x = trained
            .model
            .network
            .batch_f32(&dataset.gather(&dataset.split.test));
        trained
            .model
            .network
            .probabilities(x)
            .into_data()
            .iter()
            .collect()
    };
    let plain = probabilities("vanilla");
    for info in thickset::registry::family(thickset::registry::Family::Objective) {
        let one = probabilities(info.id);
        assert!(one.iter().all(|p| p.is_finite()), "{}", info.id);
        assert_eq!(one == plain, info.id == "vanilla", "{}", info.id);
    }
}
