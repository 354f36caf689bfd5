//! Audits: the same bytes however they are run, figures that follow from the rows, and a file that lets one continue.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::Norm;
use thickset::audit::compare::{self, Verdict};
use thickset::audit::figure::{
    FIGURES, Figure, Words, certified_p_at_k, certified_radius, changed_radius, explained, noise,
    noise_radius, unchanged,
};
use thickset::audit::result::{RowRecord, SplitRecord};
use thickset::audit::{
    Audit, AuditConfig, AuditFolder, AuditTarget, BinRecord, CheckedAudit, ColumnRecord, Event,
    NamedModel, Outcome, ReasonsRecord, ResumeFile, ResumeKey, RunOptions, run,
};
use thickset::data::{Dataset, OpenOptions, open};
use thickset::decision::DecisionConfig;
use thickset::explain::contributions::ContributionsConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplainConfig, ExplanationConfig, Per};
use thickset::metric::{accuracy, auc, distinctness, kendall};
use thickset::model::{
    Activation, CnnConfig, ExplainOptions, LinearConfig, MlpConfig, Model, ModelConfig, Origin,
    TheoryOptions,
};
use thickset::registry::Direction;
use thickset::{Error, Rows, Seed};
use thickset_engine::TensorData;

const K: usize = 8;

const KEY: ResumeKey = ResumeKey::new([7; 32]);

fn resume(path: &Path, key: ResumeKey) -> ResumeFile {
    ResumeFile {
        path: path.to_owned(),
        key,
    }
}

const SPLIT: SplitRecord = SplitRecord {
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

fn named(model: &Model) -> NamedModel<'_> {
    NamedModel {
        model,
        name: "a model".to_owned(),
        file: "model.safetensors".to_owned(),
        sha256: "0".repeat(64),
        objective: None,
        training: Vec::new(),
    }
}

fn target<'a>(model: &'a Model, dataset: &'a Dataset, count: usize) -> AuditTarget<'a> {
    AuditTarget {
        model: named(model),
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

fn done(plan: &CheckedAudit, target: &AuditTarget<'_>, options: &RunOptions) -> Audit {
    let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
    match run(plan, target, options, &mut silent).unwrap() {
        Outcome::Done(audit) => *audit,
        Outcome::Stopped => panic!("nobody stopped it"),
    }
}

fn in_chunks(plan: &CheckedAudit, target: &AuditTarget<'_>, chunk: usize) -> Audit {
    let options = RunOptions {
        chunk: Some(chunk),
        resume: None,
    };
    done(plan, target, &options)
}

#[test]
fn chunks_do_not_change_a_byte() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, target) = (plan(&dataset), target(&model, &dataset, 20));
    let whole = in_chunks(&plan, &target, 20).to_bytes();
    for chunk in [1, 7] {
        assert_eq!(
            in_chunks(&plan, &target, chunk).to_bytes(),
            whole,
            "{chunk}"
        );
    }
    let text = String::from_utf8(whole.clone()).unwrap();
    assert_eq!(Audit::parse(&text, "audit.json").unwrap().to_bytes(), whole);
}

#[test]
fn a_file_of_the_first_version_is_read_and_written_as_it_was() {
    let text = include_str!("audits/0.1.0.json");
    let audit = Audit::parse(text, "audit.json").unwrap();
    assert_eq!(audit.rows.len(), 6);
    assert_eq!(audit.summary.value(&accuracy::FIGURE), Some(1.0));
    assert_eq!(audit.summary.get(&explained::FIGURE), None, "it had none");
    assert!(
        audit
            .summary
            .estimate(&auc::FIGURE)
            .unwrap()
            .interval
            .is_none()
    );
    assert_eq!(String::from_utf8(audit.to_bytes()).unwrap(), text);
}

/// Runs until so many chunks are done, then stops as if killed.
fn killed_after(
    plan: &CheckedAudit,
    target: &AuditTarget<'_>,
    options: &RunOptions,
    chunks: usize,
) {
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
    let outcome = run(plan, target, options, &mut observer).unwrap();
    assert!(matches!(outcome, Outcome::Stopped));
}

#[test]
fn an_audit_killed_after_any_chunk_continues_to_the_same_bytes() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, target) = (plan(&dataset), target(&model, &dataset, 12));
    let whole = in_chunks(&plan, &target, 12).to_bytes();
    for chunks in 1..=4 {
        let folder = tempfile::tempdir().unwrap();
        let options = RunOptions {
            chunk: Some(3),
            resume: Some(resume(&folder.path().join("partial"), KEY)),
        };
        killed_after(&plan, &target, &options, chunks);
        // The session that goes on may cut the rows differently.
        let options = RunOptions {
            chunk: Some(5),
            ..options
        };
        assert_eq!(done(&plan, &target, &options).to_bytes(), whole, "{chunks}");
    }
}

/// The events that say where an audit began.
fn begun(plan: &CheckedAudit, target: &AuditTarget<'_>, path: &Path) -> (Audit, Vec<String>) {
    begun_with(plan, target, path, KEY)
}

/// The same with another key.
fn begun_with(
    plan: &CheckedAudit,
    target: &AuditTarget<'_>,
    path: &Path,
    key: ResumeKey,
) -> (Audit, Vec<String>) {
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
    let options = RunOptions {
        chunk: Some(4),
        resume: Some(resume(path, key)),
    };
    let Outcome::Done(audit) = run(plan, target, &options, &mut observer).unwrap() else {
        panic!("nobody stopped it")
    };
    (*audit, events)
}

#[test]
fn a_line_cut_short_is_dropped_and_a_file_of_another_audit_starts_anew() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, target) = (plan(&dataset), target(&model, &dataset, 12));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial");
    let (first, events) = begun(&plan, &target, &path);
    assert_eq!(events, ["begin after 0"]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 20]).unwrap();
    let (second, events) = begun(&plan, &target, &path);
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
    let (third, events) = begun(&other, &target, &path);
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
    let (fourth, events) = begun(&stricter, &target, &path);
    assert_eq!(events, ["begin after 12"]);
    assert_eq!(fourth.rows, third.rows);
    assert!(!fourth.gate[0].holds);
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[test]
fn rows_that_somebody_changed_are_measured_again() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let (plan, target) = (plan(&dataset), target(&model, &dataset, 8));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial");
    let (whole, _) = begun(&plan, &target, &path);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let changed = lines[2].replacen("\"precision\":", "\"precision\":1", 1);
    let doubled = format!("{}\n{}\n{}\n", lines[0], lines[1], lines[1]);
    let exchanged = format!("{}\n{}\n{}\n", lines[0], lines[2], lines[1]);
    let unsigned = lines[2].split_once(' ').unwrap().1;
    for (what, content, events) in [
        (
            "changed",
            format!("{}\n{}\n{changed}\n", lines[0], lines[1]),
            ["dropped", "begin after 4"],
        ),
        ("doubled", doubled, ["dropped", "begin after 4"]),
        ("exchanged", exchanged, ["dropped", "begin after 0"]),
        (
            "unsigned",
            format!("{}\n{}\n{unsigned}\n", lines[0], lines[1]),
            ["dropped", "begin after 4"],
        ),
    ] {
        std::fs::write(&path, content).unwrap();
        let (again, found) = begun(&plan, &target, &path);
        assert_eq!(found, events, "{what}");
        assert_eq!(again.to_bytes(), whole.to_bytes(), "{what}");
    }
}

/// The file of rows done with every P@k set to 1, signed anew with a key by whoever knows how files are signed.
fn forged(text: &str, key: [u8; 32]) -> String {
    let mut last = Vec::new();
    let mut forged = String::new();
    for line in text.lines() {
        let (_, line) = line.split_once(' ').unwrap();
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        for row in line["rows"].as_array_mut().into_iter().flatten() {
            row["precision"] = 1.0.into();
        }
        let line = line.to_string();
        let hash = |pad: u8, parts: &[&[u8]]| -> Vec<u8> {
            let mut block = [pad; 64];
            for (byte, key) in block.iter_mut().zip(key) {
                *byte ^= key;
            }
            let mut hash = Sha256::new_with_prefix(block);
            for part in parts {
                hash.update(part);
            }
            hash.finalize().to_vec()
        };
        last = hash(0x5c, &[&hash(0x36, &[&last, line.as_bytes()])]);
        for byte in &last {
            write!(forged, "{byte:02x}").unwrap();
        }
        writeln!(forged, " {line}").unwrap();
    }
    forged
}

#[test]
fn forged_rows_do_not_decide_a_gate() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let target = target(&model, &dataset, 8);
    let plan = AuditConfig {
        require: vec!["p_at_k>=0.999".to_owned()],
        ..config()
    };
    let plan = plan.check(&dataset.schema).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial");
    let (honest, _) = begun(&plan, &target, &path);
    assert!(!honest.gate[0].holds);
    let forged = forged(&std::fs::read_to_string(&path).unwrap(), [8; 32]);
    // Whoever had the key could forge: so the form of the file is right.
    std::fs::write(&path, &forged).unwrap();
    let (believed, events) = begun_with(&plan, &target, &path, ResumeKey::new([8; 32]));
    assert_eq!(events, ["begin after 8"]);
    assert!(believed.gate[0].holds);
    // Whoever has not cannot.
    std::fs::write(&path, &forged).unwrap();
    let (found, events) = begun(&plan, &target, &path);
    assert_eq!(events, ["anew", "begin after 0"]);
    assert_eq!(found.to_bytes(), honest.to_bytes());
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
    let audit = in_chunks(&plan(&dataset), &target(&model, &dataset, 3), 3);
    let folder = tempfile::tempdir().unwrap();
    let folder = AuditFolder::create(folder.path()).unwrap();
    assert_eq!(folder.model_file(), None);
    folder.write(&audit).unwrap();
    assert_eq!(std::fs::read(folder.audit()).unwrap(), audit.to_bytes());
    assert_eq!(folder.model_file().as_deref(), Some("model.safetensors"));
    folder.finish().unwrap();
}

#[test]
fn targets_that_cannot_be_compared_are_refused_before_anything_is_attacked() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let mut other = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    other.description.classes.reverse();
    let refused = |a: &AuditTarget<'_>, b: &AuditTarget<'_>| {
        compare::check_targets(a, b).unwrap_err().to_string()
    };
    let five = target(&model, &dataset, 5);
    assert!(refused(&five, &target(&model, &dataset, 4)).contains("rows"));
    assert!(refused(&five, &target(&other, &dataset, 5)).contains("classes"));
    compare::check_targets(&five, &five).unwrap();
}

/// Computes every figure of a binary model once more from the rows, by its definition.
fn assert_summary_is_of_rows(audit: &Audit) {
    let rows: Vec<RowRecord> = audit.rows.iter().collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / share(values.len(), 1);
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2])
    };
    for figure in FIGURES {
        let found = audit.summary.value(figure).unwrap();
        let values: Vec<f64> = rows.iter().filter_map(|row| figure.of_row(row)).collect();
        let expected = if figure.id == distinctness::FIGURE.id {
            let shared = |one: &RowRecord, other: &RowRecord| {
                let both = one.top.iter().filter(|top| other.top.contains(top));
                share(both.count(), K)
            };
            let mut overlaps = Vec::new();
            for (place, one) in rows.iter().enumerate() {
                overlaps.extend(rows[..place].iter().map(|other| shared(one, other)));
            }
            1.0 - mean(&overlaps)
        } else if figure.id == auc::FIGURE.id {
            let scores = |label: usize| {
                let rows = rows.iter().filter(move |row| row.label == Some(label));
                rows.map(|row| row.probabilities[1])
            };
            let beats = |one: f64, other: f64| match one.total_cmp(&other) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Less => 0.0,
            };
            let pairs = scores(1).flat_map(|one| scores(0).map(move |other| beats(one, other)));
            mean(&pairs.collect::<Vec<f64>>())
        } else if figure.id == accuracy::FIGURE.id {
            let right = rows.iter().filter(|row| row.label == Some(row.class));
            share(right.count(), rows.len())
        } else {
            assert_eq!(values.len(), rows.len(), "{}", figure.id);
            if figure.is_median() {
                median(&values)
            } else {
                mean(&values)
            }
        };
        assert!(
            (found - expected).abs() < 1e-12,
            "{}: {found} {expected}",
            figure.id
        );
        let found = audit.summary.get(figure).unwrap();
        assert_eq!(
            found.interval().is_some(),
            figure.has_interval(),
            "{}",
            figure.id
        );
    }
    let kept = rows.iter().filter(|row| row.precision >= 1.0).count();
    let unchanged = audit.summary.value(&unchanged::FIGURE).unwrap();
    assert!((unchanged - share(kept, rows.len())).abs() < 1e-15);
}

#[test]
fn a_model_that_explains_nothing_passes_no_gate() {
    let dataset = dataset("breast-cancer");
    let mut model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let zeros: Vec<TensorData> = model
        .network
        .parameters()
        .into_iter()
        .map(|parameter| TensorData::new(vec![0.0_f32; parameter.len()], [parameter.len()]))
        .collect();
    model.network.set_parameter_values(&zeros).unwrap();
    let plan = AuditConfig {
        require: ["p_at_k>=0.1", "noise>=0.1", "thickness>=0.1", "explained>0"]
            .map(str::to_owned)
            .into(),
        ..config()
    };
    let plan = plan.check(&dataset.schema).unwrap();
    let audit = in_chunks(&plan, &target(&model, &dataset, 6), 6);
    assert!(audit.gate.iter().all(|line| line.value == Some(0.0)));
    assert!(audit.gate.iter().all(|line| !line.holds));
    let scores = audit.attacks.iter().map(|attack| &attack.precision_at_k);
    assert!(scores.into_iter().all(|score| score.value == 0.0));
    // A model with reasons is explained everywhere.
    let model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let audit = in_chunks(&plan, &target(&model, &dataset, 6), 6);
    assert_eq!(audit.summary.value(&explained::FIGURE), Some(1.0));
    assert!(audit.gate.iter().all(|line| line.holds));
}

#[test]
fn the_nearest_change_is_no_further_than_what_noise_changed() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let radius = 0.1;
    let mut config = config();
    config.explain = ExplainConfig {
        explanation: ContributionsConfig::default().into(),
        reduce: ReductionConfig::Signed,
        per: Per::Column,
    };
    config.suite.threat.ball.radius = radius;
    let plan = config.check(&dataset.schema).unwrap();
    let audit = in_chunks(&plan, &target(&model, &dataset, 40), 40);
    let mut moved = 0;
    for row in &audit.rows {
        let of = |figure: &Figure| figure.of_row(&row).unwrap();
        let (changed, noise) = (of(&changed_radius::FIGURE), of(&noise_radius::FIGURE));
        assert!(of(&certified_radius::FIGURE) <= changed);
        // So sure a prediction holds in the whole ball, whose tenths are tried.
        if noise < radius && row.probabilities[row.class] > 0.52 {
            moved += 1;
            assert!(changed <= noise + radius / 10.0 + 1e-9, "{changed} {noise}");
        }
    }
    assert!(moved > 3, "{moved} rows are moved by noise");
}

#[test]
fn the_limit_is_what_the_rows_geometry_allows_at_the_audits_radius() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 3);
    let target = target(&model, &dataset, 20);
    let limit = |radius: f64| {
        let mut config = config();
        config.suite.threat.ball.radius = radius;
        let plan = config.check(target.rows.schema()).unwrap();
        done(&plan, &target, &RunOptions::default()).limit.unwrap()
    };
    // No two rows are that near, so nothing stands against holding all.
    let near = limit(1e-3);
    assert_eq!((near.near, near.rows), (0.0, 20));
    assert!(near.mean >= 1.0 - 1e-9);
    // Every two rows of one class are within reach of the point between them, and they are not told the same.
    let far = limit(1e3);
    assert!(far.near > 0.3 && far.mean < 1.0, "{far:?}");
}

#[test]
fn the_figures_follow_from_the_rows() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let audit = in_chunks(&plan(&dataset), &target(&model, &dataset, 30), 30);
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
        for (figure, value) in row.figures.iter() {
            let least = if figure.id == kendall::FIGURE.id {
                -1.0
            } else {
                0.0
            };
            assert!((least..=1.0).contains(&value), "{}: {value}", figure.id);
        }
        assert!(
            noise::FIGURE.of_row(&row).unwrap() >= row.precision,
            "the worst is no better than a mean"
        );
        assert!(
            certified_p_at_k::FIGURE.of_row(&row).unwrap() <= row.precision,
            "what is proved is no more than what was found"
        );
        let radius = |figure: &Figure| figure.of_row(&row).unwrap();
        assert!(radius(&certified_radius::FIGURE) <= radius(&changed_radius::FIGURE));
    }
    assert_summary_is_of_rows(&audit);
    // No attack alone is worse than the suite.
    for (place, attack) in audit.attacks.iter().enumerate() {
        let alone = attack.precision_at_k;
        // Rows that could not get worse are left out of what comes after the first.
        assert!(alone.count <= 30 && (place > 0 || alone.count == 30));
        if alone.count == 30 {
            assert!(audit.summary.precision_at_k().value <= alone.value + 1e-12);
        }
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
    assert!((linear.precision_at_k().value - 1.0).abs() < 1e-12);
    assert!(linear.value(&distinctness::FIGURE).unwrap().abs() < 1e-12);
    assert!(linear.value(&auc::FIGURE).unwrap() > 0.95);
    assert_eq!(linear.get(&noise::FIGURE), None);
}

#[test]
fn the_attacked_set_that_is_shown_is_the_one_that_was_scored_whatever_is_explained() {
    let dataset = dataset("breast-cancer");
    let smooth = MlpConfig {
        activation: Activation::Softplus { beta: 5.0 },
        ..MlpConfig::default()
    };
    for mlp in [MlpConfig::default(), smooth] {
        let model = fresh(&dataset, ModelConfig::Mlp(mlp), 1);
        for of in ["probability", "logit", "loss"] {
            let explain = format!("{{\"explanation\": {{\"kind\": \"grad\", \"of\": \"{of}\"}}}}");
            let config = AuditConfig {
                explain: serde_json::from_str(&explain).unwrap(),
                ..config()
            };
            let plan = config.check(&dataset.schema).unwrap();
            let audit = in_chunks(&plan, &target(&model, &dataset, 40), 40);
            for row in &audit.rows {
                // One was searched by tiles, the other is explained by tensors.
                let kept = row.top.iter().filter(|one| row.attacked_top.contains(one));
                let kept = share(kept.count(), K);
                assert!(
                    (row.precision - kept).abs() < 1e-12,
                    "{of}, row {}",
                    row.row
                );
            }
        }
    }
}

#[test]
fn a_file_without_labels_has_no_auc_and_no_linear_baseline() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let values = dataset.gather(&[0, 1, 2]);
    let with = |labels: &[Option<usize>]| {
        let target = AuditTarget {
            model: named(&model),
            data: "file.csv".to_owned(),
            rows: Rows::new(&values, &dataset.schema)
                .and_then(|rows| rows.with_some_labels(labels))
                .unwrap(),
        };
        in_chunks(&plan(&dataset), &target, 3)
    };
    let without = with(&[None; 3]);
    assert!(!without.data.has_labels && without.linear.is_none());
    assert_eq!(without.summary.get(&auc::FIGURE), None);
    assert_eq!(without.summary.get(&accuracy::FIGURE), None);
    let some = with(&[Some(0), None, Some(1)]);
    assert_eq!(some.summary.estimate(&auc::FIGURE).unwrap().count, 2);
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
    let audit = in_chunks(&plan(&dataset), &target(&model, &dataset, 6), 4);
    assert_eq!(audit.data.features.len(), 64);
    assert_eq!(audit.worst[0].attacked_importance.len(), 64);
    assert!(
        audit
            .summary
            .value(&auc::FIGURE)
            .is_none_or(|auc| auc <= 1.0)
    );
    assert!(audit.linear.unwrap().value(&accuracy::FIGURE).unwrap() > 0.5);
}

#[test]
fn an_audit_says_what_the_theory_says_of_its_first_rows() {
    let dataset = dataset("breast-cancer");
    let model = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let asked = AuditConfig {
        theory: 2,
        ..config()
    };
    let checked = asked.check(&dataset.schema).unwrap();
    let audit = in_chunks(&checked, &target(&model, &dataset, 6), 6);
    let record = audit.theory.clone().unwrap();
    let ball = asked.suite.threat.ball;
    assert_eq!(record.radius.to_bits(), ball.radius.to_bits());
    let rows = dataset.test().split_by(&SPLIT).first(2);
    let options = TheoryOptions {
        k: Some(K),
        radius: Some(ball.radius),
        explain: ExplainOptions {
            explanation: Some(ExplanationConfig::default()),
            reduce: Some(ReductionConfig::Absolute),
            per: Some(Per::Feature),
            seed: Seed::new(0),
        },
        ..TheoryOptions::default()
    };
    let alone = model.theory(&rows, &options).unwrap();
    assert_eq!(record.rows.len(), 2);
    for ((found, alone), row) in record.rows.iter().zip(&alone).zip(&audit.rows) {
        assert_eq!((found.row, &found.theory), (row.row, alone));
    }
    // It reads back, and changes nothing else.
    let read: Audit = serde_json::from_slice(&audit.to_bytes()).unwrap();
    assert_eq!(read, audit);
    let without = in_chunks(&plan(&dataset), &target(&model, &dataset, 6), 6);
    assert!(without.theory.is_none());
    assert_eq!(without.summary, audit.summary);

    let mut square = asked.clone();
    square.suite.threat.ball.norm = Norm::Linf;
    let refused = square.check(&dataset.schema).unwrap_err().to_string();
    assert!(refused.contains("l2 ball"), "{refused}");
    let many = AuditConfig {
        theory: 257,
        ..asked
    };
    let refused = many.check(&dataset.schema).unwrap_err().to_string();
    assert!(refused.contains("`theory`"), "{refused}");
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
        theory: 2,
        ..config()
    };
    let plan = plan.check(&dataset.schema).unwrap();
    let mut audit = in_chunks(&plan, &target(&model, &dataset, 12), 12);
    // What is optional, so that every key is there.
    audit.model.objective = Some("vanilla".to_owned());
    audit.data.split = Some(SplitRecord {
        image_size: Some((8, 8)),
        recipe: Some("recipe.toml".to_owned()),
        ..SPLIT
    });
    audit.worst[0].changes[0].unit = Some("cm".to_owned());
    audit.certificate.as_mut().unwrap().absent = Some("why not".to_owned());
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
    audit.settings.decision = DecisionConfig {
        adverse: Some("malignant".to_owned()),
        cutoff: Some(0.2),
    };
    audit.reasons = Some(ReasonsRecord {
        adverse: "malignant".to_owned(),
        reference: "median".to_owned(),
        columns: vec![ColumnRecord {
            column: "radius".to_owned(),
            reference: "13".to_owned(),
            size: 0.5,
            mean: 0.25,
            bins: vec![BinRecord {
                label: "up to 13".to_owned(),
                value: Some(11.0),
                rows: 3,
                contribution: 0.5,
                precision: 1.0,
                decided: 0.5,
                auc: Some(0.5),
            }],
        }],
        samples: Vec::new(),
        change: Some("a change".to_owned()),
    });
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
    let mut other = in_chunks(&plan, &target(&flat, &dataset, 12), 12);
    other.settings = audit.settings.clone();
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
        "certified_precision_at_k",
        "certified_radius",
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

/// The lines of the documentation that the table of figures gives.
fn figure_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for figure in FIGURES {
        let form = if figure.has_interval() {
            "estimate: "
        } else {
            ""
        };
        lines.push(format!(
            "| `summary.{}` | {form}{}. {} is better |",
            figure.key,
            figure.described(&Words::TABLE),
            match figure.direction {
                Direction::Higher => "Higher",
                Direction::Lower => "Lower",
            }
        ));
    }
    for figure in FIGURES.iter().filter(|figure| figure.is_measured()) {
        lines.push(format!("| `rows[].{0}` | `{0}` of this row |", figure.key));
    }
    lines
}

/// With `THICKSET_WRITE_DOCS` set, the page is brought up to date first.
#[test]
fn the_documentation_describes_every_figure_of_the_table() {
    let page = format!("{}/../../docs/audit-json.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&page).unwrap();
    let lines = figure_lines();
    if std::env::var_os("THICKSET_WRITE_DOCS").is_some() {
        let is_old = |line: &str| {
            let mut keys = FIGURES.iter().map(|figure| figure.key);
            line.starts_with("| `summary.")
                || keys.any(|key| line.starts_with(&format!("| `rows[].{key}`")))
        };
        let mut written: Vec<String> = Vec::new();
        for line in text.lines().filter(|line| !is_old(line)) {
            written.push(line.to_owned());
            let after = |start: &str| {
                let own = lines.iter().filter(|line| line.starts_with(start));
                own.cloned().collect::<Vec<String>>()
            };
            if line.starts_with("| `summary` |") {
                written.extend(after("| `summary."));
            } else if line.starts_with("| `rows[].first_change` |") {
                written.extend(after("| `rows[]."));
            }
        }
        std::fs::write(&page, written.join("\n") + "\n").unwrap();
    }
    let text = std::fs::read_to_string(&page).unwrap();
    for line in lines {
        assert!(text.lines().any(|one| one == line), "missing: {line}");
    }
}

#[test]
fn an_audit_without_certificates_says_why_and_fails_what_requires_them() {
    let dataset = dataset("digits");
    let model = fresh(&dataset, ModelConfig::Cnn(CnnConfig::default()), 1);
    let mut config = config();
    config.explain = ExplainConfig::usual(dataset.shape());
    config.require = vec!["certified_p_at_k>=0".to_owned()];
    let plan = config.check(&dataset.schema).unwrap();
    let audit = in_chunks(&plan, &target(&model, &dataset, 2), 2);
    let record = audit.certificate.unwrap();
    assert!(record.absent.unwrap().contains("other layers"));
    assert_eq!(record.exact, 0);
    assert_eq!(audit.summary.get(&certified_p_at_k::FIGURE), None);
    assert!(!audit.gate[0].holds);
}

#[test]
fn a_model_that_loses_certificates_says_of_which_rows() {
    let dataset = dataset("breast-cancer");
    let wavy = fresh(&dataset, ModelConfig::Mlp(MlpConfig::default()), 1);
    let flat = fresh(&dataset, ModelConfig::Linear(LinearConfig::default()), 1);
    let plan = plan(&dataset);
    let a = in_chunks(&plan, &target(&flat, &dataset, 20), 20);
    let b = in_chunks(&plan, &target(&wavy, &dataset, 20), 20);
    // Of two classes, a linear model's reasons never change: every row is certified.
    assert!((a.summary.value(&certified_p_at_k::FIGURE).unwrap() - 1.0).abs() < 1e-12);
    let found = compare::compare(&a, &b, &[]).unwrap();
    let change = found.certificates.unwrap();
    let uncertain = b
        .rows
        .iter()
        .filter(|row| certified_p_at_k::FIGURE.of_row(row).unwrap() < 1.0);
    let numbers: Vec<u64> = uncertain.map(|row| row.row).collect();
    assert!(!numbers.is_empty());
    assert_eq!((change.lost, change.gained), (numbers, Vec::new()));
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
    let a = in_chunks(&plan, &target(&flat, &dataset, 20), 20);
    let b = in_chunks(&plan, &target(&wavy, &dataset, 20), 20);
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
    let fewer = in_chunks(&plan, &target(&flat, &dataset, 19), 19);
    let message = compare::compare(&a, &fewer, &[]).unwrap_err().to_string();
    assert!(message.contains("rows"), "{message}");
}
