//! Audits: the same bytes however they are run, figures that follow from the rows, and a file that lets one continue.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::audit::compare::{self, Verdict};
use thickset::audit::result::Split;
use thickset::audit::{
    Audit, AuditConfig, AuditFolder, Case, CheckedAudit, Event, Options, Outcome, Subject, run,
};
use thickset::data::{Dataset, OpenOptions, open};
use thickset::explain::{ExplainConfig, ExplanationConfig};
use thickset::model::{CnnConfig, LinearConfig, MlpConfig, Model, ModelConfig, Origin};
use thickset::{Error, Rows, Seed};

const K: usize = 8;

const SPLIT: Split = Split {
    seed: 0,
    random_test: false,
    image_size: None,
    recipe: None,
};

fn dataset(name: &str) -> Dataset {
    open(name, &OpenOptions::default()).unwrap()
}

fn fresh(dataset: &Dataset, config: ModelConfig, seed: u64) -> Model {
    Model::fresh(
        config,
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(seed),
    )
    .unwrap()
}

fn subject(model: &Model) -> Subject<'_> {
    Subject {
        model,
        name: "a model".to_owned(),
        file: "model.safetensors".to_owned(),
        sha256: "0".repeat(64),
        objective: None,
        training: Vec::new(),
    }
}

fn case<'a>(model: &'a Model, dataset: &'a Dataset, count: usize) -> Case<'a> {
    Case {
        subject: subject(model),
        data: "data".to_owned(),
        rows: dataset.test().split_by(&SPLIT).first(count),
    }
}

fn config() -> AuditConfig {
    AuditConfig {
        suite: SuiteConfig {
            effort: Effort::Quick,
            k: K,
            ..SuiteConfig::default()
        },
        noise_draws: 3,
        worst: 4,
        ..AuditConfig::default()
    }
}

fn plan(dataset: &Dataset) -> CheckedAudit {
    config().check(&dataset.schema).unwrap()
}

fn done(plan: &CheckedAudit, case: &Case<'_>, options: &Options) -> Audit {
    let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
    match run(plan, case, options, &mut silent).unwrap() {
        Outcome::Done(audit) => *audit,
        Outcome::Stopped => panic!("nobody stopped it"),
    }
}

fn in_chunks(plan: &CheckedAudit, case: &Case<'_>, chunk: usize) -> Audit {
    let options = Options {
        chunk: Some(chunk),
        partial: None,
    };
    done(plan, case, &options)
}

#[test]
fn chunks_do_not_change_a_byte() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, case) = (plan(&dataset), case(&model, &dataset, 20));
    let whole = in_chunks(&plan, &case, 20).to_bytes();
    for chunk in [1, 7] {
        assert_eq!(in_chunks(&plan, &case, chunk).to_bytes(), whole, "{chunk}");
    }
    let text = String::from_utf8(whole.clone()).unwrap();
    assert_eq!(Audit::parse(&text, "audit.json").unwrap().to_bytes(), whole);
}

/// Runs until so many chunks are done, then stops as if killed.
fn killed_after(plan: &CheckedAudit, case: &Case<'_>, options: &Options, chunks: usize) {
    let mut left = chunks;
    let mut observer = |event: &Event<'_>| {
        if let Event::Rows { .. } = event {
            left -= 1;
        }
        if left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let outcome = run(plan, case, options, &mut observer).unwrap();
    assert!(matches!(outcome, Outcome::Stopped));
}

#[test]
fn an_audit_killed_after_any_chunk_continues_to_the_same_bytes() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, case) = (plan(&dataset), case(&model, &dataset, 12));
    let whole = in_chunks(&plan, &case, 12).to_bytes();
    for chunks in 1..=4 {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            chunk: Some(3),
            partial: Some(folder.path().join("partial")),
        };
        killed_after(&plan, &case, &options, chunks);
        // The session that goes on may cut the rows differently.
        let options = Options {
            chunk: Some(5),
            ..options
        };
        assert_eq!(done(&plan, &case, &options).to_bytes(), whole, "{chunks}");
    }
}

/// The events that say where an audit began.
fn begun(plan: &CheckedAudit, case: &Case<'_>, path: &Path) -> (Audit, Vec<String>) {
    let mut events = Vec::new();
    let mut observer = |event: &Event<'_>| {
        match event {
            Event::Begin { done, .. } => events.push(format!("begin after {done}")),
            Event::Anew { .. } => events.push("anew".to_owned()),
            Event::Dropped { .. } => events.push("dropped".to_owned()),
            _ => {}
        }
        ControlFlow::Continue(())
    };
    let options = Options {
        chunk: Some(4),
        partial: Some(path.to_owned()),
    };
    let Outcome::Done(audit) = run(plan, case, &options, &mut observer).unwrap() else {
        panic!("nobody stopped it")
    };
    (*audit, events)
}

#[test]
fn a_line_cut_short_is_dropped_and_a_file_of_another_audit_starts_anew() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, case) = (plan(&dataset), case(&model, &dataset, 12));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial");
    let (first, events) = begun(&plan, &case, &path);
    assert_eq!(events, ["begin after 0"]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let (second, events) = begun(&plan, &case, &path);
    assert_eq!(events, ["dropped", "begin after 8"]);
    assert_eq!(first.to_bytes(), second.to_bytes());
    assert_eq!(
        std::fs::read(&path).unwrap(),
        bytes,
        "the line is whole again"
    );

    let other = AuditConfig {
        seed: Seed::new(1),
        ..config()
    };
    let other = other.check(&dataset.schema).unwrap();
    let (third, events) = begun(&other, &case, &path);
    assert_eq!(events, ["anew", "begin after 0"]);
    assert_ne!(first.to_bytes(), third.to_bytes());
    // What is required and how many worst rows are told does not change the rows, so they need not be done again.
    let stricter = AuditConfig {
        seed: Seed::new(1),
        require: vec!["p_at_k>=2".to_owned()],
        worst: 1,
        ..config()
    };
    let stricter = stricter.check(&dataset.schema).unwrap();
    let (fourth, events) = begun(&stricter, &case, &path);
    assert_eq!(events, ["begin after 12"]);
    assert_eq!(fourth.rows, third.rows);
    assert!(!fourth.gate[0].holds);
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// A line of the file of rows done, changed by hand.
fn damaged(line: &str, change: impl Fn(&mut serde_json::Value)) -> String {
    let mut chunk: serde_json::Value = serde_json::from_str(line).unwrap();
    change(&mut chunk);
    chunk.to_string()
}

#[test]
fn damaged_rows_are_done_again() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, case) = (plan(&dataset), case(&model, &dataset, 8));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial");
    let (whole, _) = begun(&plan, &case, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let changes: [(&str, serde_json::Value); 8] = [
        ("/rows/0/top/0", 999.into()),
        ("/rows/0/attacked_top/2", 30.into()),
        ("/rows/0/top", serde_json::json!([0, 1])),
        ("/rows/0/top/1", serde_json::json!(null)),
        ("/rows/1/probabilities", serde_json::json!([1.0])),
        ("/rows/1/class", 2.into()),
        ("/rows/1/attack", "no-such-attack".into()),
        ("/tally/members/0/kept/0", 77.into()),
    ];
    for (place, value) in changes {
        let broken = damaged(lines[2], |chunk| {
            *chunk.pointer_mut(place).unwrap() = value.clone();
        });
        std::fs::write(&path, format!("{}\n{}\n{broken}\n", lines[0], lines[1])).unwrap();
        let (again, events) = begun(&plan, &case, &path);
        assert_eq!(events, ["dropped", "begin after 4"], "{place}");
        assert_eq!(again.to_bytes(), whole.to_bytes(), "{place}");
    }
    let repeated = damaged(lines[2], |chunk| {
        chunk["rows"][0]["top"][1] = chunk["rows"][0]["top"][0].clone();
    });
    std::fs::write(&path, format!("{}\n{}\n{repeated}\n", lines[0], lines[1])).unwrap();
    assert_eq!(begun(&plan, &case, &path).1, ["dropped", "begin after 4"]);
}

#[test]
fn only_a_folder_that_training_left_is_a_run() {
    let dataset = dataset("breast-cancer");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    let linear = ModelConfig::Linear(LinearConfig::default());
    fresh(&dataset, linear, 1).save(&file).unwrap();
    // Someone's own configuration, perhaps of another program.
    std::fs::write(folder.path().join("run.toml"), "steps = [").unwrap();
    let origin = Origin::of(&file).unwrap();
    assert!(origin.run.is_none());
    assert_eq!(
        (origin.name.as_str(), origin.file.as_str()),
        ("model", "model.safetensors")
    );
    std::fs::write(folder.path().join("metrics.jsonl"), "").unwrap();
    assert!(Origin::of(&file).is_err());
}

#[test]
fn a_result_is_written_as_its_bytes_and_says_whose_it_is() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let audit = in_chunks(&plan(&dataset), &case(&model, &dataset, 3), 3);
    let folder = tempfile::tempdir().unwrap();
    let folder = AuditFolder::create(folder.path()).unwrap();
    assert_eq!(folder.model_file(), None);
    folder.write(&audit).unwrap();
    assert_eq!(std::fs::read(folder.audit()).unwrap(), audit.to_bytes());
    assert_eq!(folder.model_file().as_deref(), Some("model.safetensors"));
    folder.finish().unwrap();
}

#[test]
fn cases_that_cannot_be_compared_are_refused_before_anything_is_attacked() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let mut other = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    other.description.classes.reverse();
    let refused = |a: &Case<'_>, b: &Case<'_>| compare::check_cases(a, b).unwrap_err().to_string();
    let five = case(&model, &dataset, 5);
    assert!(refused(&five, &case(&model, &dataset, 4)).contains("rows"));
    assert!(refused(&five, &case(&other, &dataset, 5)).contains("classes"));
    compare::check_cases(&five, &five).unwrap();
}

#[test]
fn the_figures_follow_from_the_rows() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let audit = in_chunks(&plan(&dataset), &case(&model, &dataset, 30), 30);
    assert_eq!(audit.rows.len(), 30);
    for row in &audit.rows {
        let kept = row.top.iter().filter(|one| row.attacked_top.contains(one));
        let kept = kept.count();
        assert!((row.precision - share(kept, K)).abs() < 1e-12);
        assert!(row.first_change.is_none() || kept < K);
        assert_eq!(
            row.label,
            Some(dataset.labels[usize::try_from(row.row).unwrap() - 1])
        );
        assert!((0.0..=1.0).contains(&row.noise) && (0.0..=1.0).contains(&row.thickness));
        assert!(
            row.noise >= row.precision,
            "the worst is no better than a mean"
        );
    }
    // No attack alone is worse than the suite.
    for attack in &audit.attacks {
        let alone = attack.precision_at_k.value;
        assert!(audit.summary.precision_at_k.value <= alone + 1e-12);
        assert_eq!(attack.precision_at_k.count, 30);
    }
    let sum = |of: fn(&thickset::audit::result::FeatureCount) -> usize| -> usize {
        audit.features.iter().map(of).sum()
    };
    assert_eq!(sum(|one| one.in_top), 30 * K);
    assert_eq!(sum(|one| one.left), sum(|one| one.entered));
    assert!(audit.magnitudes.windows(2).all(|pair| pair[0] >= pair[1]));
    let worst: Vec<f64> = audit.worst.iter().map(|row| row.precision).collect();
    assert_eq!(worst.len(), 4);
    assert!(worst.windows(2).all(|pair| pair[0] <= pair[1]));
    let least = audit.rows.iter().map(|row| row.precision);
    assert!((worst[0] - least.fold(1.0, f64::min)).abs() < 1e-12);
    for told in &audit.worst {
        let brief = audit.rows.iter().find(|row| row.row == told.row).unwrap();
        assert_eq!((brief.class, brief.precision), (told.class, told.precision));
        assert!(!told.changes.is_empty() && told.values.len() == dataset.features());
    }
    // With two classes a linear model tells everyone the same, whatever is done to a row.
    let linear = audit.linear.unwrap();
    assert!((linear.precision_at_k.value - 1.0).abs() < 1e-12);
    assert!(linear.distinctness.unwrap().abs() < 1e-12);
    assert!(linear.auc.unwrap().value > 0.95);
}

#[test]
fn a_file_without_labels_has_no_auc_and_no_linear_baseline() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let values = dataset.gather(&[0, 1, 2]);
    let with = |labels: &[Option<usize>]| {
        let case = Case {
            subject: subject(&model),
            data: "file.csv".to_owned(),
            rows: Rows::new(&values, &dataset.schema)
                .and_then(|rows| rows.with_some_labels(labels))
                .unwrap(),
        };
        in_chunks(&plan(&dataset), &case, 3)
    };
    let without = with(&[None; 3]);
    assert!(!without.data.has_labels && without.linear.is_none());
    assert!(without.summary.auc.is_none() && without.summary.accuracy.is_none());
    let some = with(&[Some(0), None, Some(1)]);
    assert_eq!(some.summary.auc.unwrap().count, 2);
    assert!(some.data.has_labels);
    assert_ne!(some.data.sha256, without.data.sha256);
}

#[test]
fn images_are_audited_too() {
    let dataset = dataset("digits");
    let config = ModelConfig::Cnn(CnnConfig {
        channels: [4, 8],
        hidden: vec![16],
        ..CnnConfig::default()
    });
    let model = fresh(&dataset, config, 2);
    let audit = in_chunks(&plan(&dataset), &case(&model, &dataset, 6), 4);
    assert_eq!(audit.data.features.len(), 64);
    assert_eq!(audit.worst[0].attacked_importance.len(), 64);
    assert!(audit.summary.auc.is_none_or(|auc| auc.value <= 1.0));
    assert!(audit.linear.unwrap().accuracy.unwrap() > 0.5);
}

/// The keys of a JSON value as `a.b[].c`; what is `closed` is described elsewhere or has a form of its own.
fn keys(value: &serde_json::Value, path: &str, closed: &[&str], found: &mut BTreeSet<String>) {
    let is_estimate = value.get("interval").is_some() && value.get("count").is_some();
    if closed.contains(&path) || is_estimate {
        return;
    }
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                keys(value, &path, closed, found);
                found.insert(path);
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                keys(item, &format!("{path}[]"), closed, found);
            }
        }
        _ => {}
    }
}

#[test]
fn the_documented_keys_are_those_of_the_files() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let plan = AuditConfig {
        require: vec!["p_at_k>=0.5".to_owned()],
        ..config()
    };
    let plan = plan.check(&dataset.schema).unwrap();
    let mut audit = in_chunks(&plan, &case(&model, &dataset, 12), 12);
    // What is optional, so that every key is there.
    audit.model.objective = Some("vanilla".to_owned());
    audit.data.split = Some(Split {
        image_size: Some((8, 8)),
        recipe: Some("recipe.toml".to_owned()),
        ..SPLIT
    });
    audit.worst[0].changes[0].unit = Some("cm".to_owned());
    audit.training = vec![thickset::train::EpochRecord {
        epoch: 1,
        step: 1,
        loss: 0.5,
        terms: std::collections::BTreeMap::new(),
        weights: std::collections::BTreeMap::new(),
        auc: None,
        accuracy: 0.5,
        precision_at_k: None,
        agreement: None,
    }];
    let closed = [
        "model.architecture",
        "data.shape",
        "settings.explain",
        "settings.suite",
        "training",
    ];
    let mut found = BTreeSet::new();
    keys(
        &serde_json::to_value(&audit).unwrap(),
        "",
        &closed,
        &mut found,
    );
    assert_eq!(found, documented("audit-json.md"));

    let flat = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let other = in_chunks(&plan, &case(&flat, &dataset, 12), 12);
    let rules = compare::rules(&["agreement>=0".to_owned()]).unwrap();
    let compared = compare::compare(&audit, &other, &rules).unwrap();
    let closed = [
        "a.model",
        "a.summary",
        "b.model",
        "b.summary",
        "data",
        "settings",
        "precision_at_k",
        "thickness",
        "auc",
    ];
    let mut found = BTreeSet::new();
    keys(
        &serde_json::to_value(&compared).unwrap(),
        "",
        &closed,
        &mut found,
    );
    assert_eq!(found, documented("compare-json.md"));
}

/// The keys that a page of the documentation lists.
fn documented(page: &str) -> BTreeSet<String> {
    let page = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(page).unwrap();
    page.lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| Some(line.split_once('`')?.0.to_owned()))
        .collect()
}

#[test]
fn what_does_not_fit_is_refused() {
    let dataset = dataset("breast-cancer");
    let concept = AuditConfig {
        explain: ExplainConfig {
            explanation: "concept".parse::<ExplanationConfig>().unwrap(),
            ..ExplainConfig::default()
        },
        ..config()
    };
    let message = concept.check(&dataset.schema).unwrap_err().to_string();
    assert!(message.contains("`concept`"), "{message}");
    let mut large = config();
    large.suite.k = dataset.features();
    assert!(matches!(
        large.check(&dataset.schema),
        Err(Error::TopKOutOfRange { largest: 29, .. })
    ));
    let none = AuditConfig {
        noise_draws: 0,
        ..config()
    };
    assert!(none.check(&dataset.schema).is_err());
}

#[test]
fn a_comparison_is_paired_and_a_model_does_not_differ_from_itself() {
    let dataset = dataset("breast-cancer");
    let wavy = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let flat = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let plan = plan(&dataset);
    let a = in_chunks(&plan, &case(&flat, &dataset, 20), 20);
    let b = in_chunks(&plan, &case(&wavy, &dataset, 20), 20);
    let rules = ["p_at_k_difference>=-0.02", "p_at_k>=0", "agreement.low>=0"];
    let rules = compare::rules(&rules.map(str::to_owned)).unwrap();
    let found = compare::compare(&a, &b, &rules).unwrap();
    assert_eq!(found.verdict, Verdict::LessStable);
    assert!(found.precision_at_k.mean.value < 0.0);
    assert!(found.precision_at_k.wilcoxon.p_value < 0.05);
    let holds: Vec<bool> = found.gate.iter().map(|rule| rule.holds).collect();
    assert_eq!(holds, [false, true, true]);
    for row in &found.rows {
        assert_eq!(row.left.len(), row.entered.len());
    }
    let left: usize = found.features.iter().map(|one| one.left).sum();
    let agreement = 1.0 - share(left, 20 * K);
    assert!((found.agreement.value - agreement).abs() < 1e-12);

    let same = compare::compare(&a, &a, &[]).unwrap();
    assert_eq!(same.verdict, Verdict::NotShown);
    assert!((same.agreement.value - 1.0).abs() < 1e-15);
    let fewer = in_chunks(&plan, &case(&flat, &dataset, 19), 19);
    let message = compare::compare(&a, &fewer, &[]).unwrap_err().to_string();
    assert!(message.contains("rows"), "{message}");
}
