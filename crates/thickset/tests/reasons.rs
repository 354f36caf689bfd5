//! Reasons from rows to sentences: they add up, name what a person has, hold or do not, and nothing moves that could not.

use std::fmt::Write as _;

use thickset::attack::suite::Effort;
use thickset::attack::threat::Amount;
use thickset::attack::{ThreatConfig, changes};
use thickset::config::RunConfig;
use thickset::data::{FeatureKind, OpenOptions, Part, open};
use thickset::decision::DecisionConfig;
use thickset::explain::{ExplainConfig, Per};
use thickset::model::{AttackOptions, AuditOptions, ExplainOptions, ReasonsOptions};
use thickset::objective::ObjectiveConfig;
use thickset::reasons::{Codes, template};
use thickset::{Dataset, Model, Seed, train};

/// People: an age that nobody can change, an income, a whole number of children, a job and whether they own a home.
fn people() -> Dataset {
    let mut text = String::from("age,income,children,job,home,outcome\n");
    let mut stream = Seed::new(3).stream("people");
    for _ in 0..400 {
        let age = 20 + stream.bits() % 50;
        let children = stream.bits() % 4;
        let job = ["cook", "nurse", "clerk"][usize::try_from(stream.bits() % 3).unwrap()];
        let home = ["own", "rent"][usize::try_from(stream.bits() % 2).unwrap()];
        let income = 1500.0 + 900.0 * stream.normal().abs();
        let pays = 0.002 * income - f64::from(u8::try_from(children).unwrap())
            + f64::from(u8::from(home == "own"))
            + stream.normal();
        let outcome = if pays > 2.5 { "repaid" } else { "default" };
        writeln!(text, "{age},{income:.2},{children},{job},{home},{outcome}").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, text).unwrap();
    let mut options = OpenOptions {
        target: Some("outcome".to_owned()),
        ..OpenOptions::default()
    };
    options.infer.immutable = vec!["age".to_owned()];
    open(path.to_str().unwrap(), &options).unwrap()
}

fn trained(dataset: &Dataset) -> Model {
    let mut run = RunConfig {
        objective: "vanilla".parse::<ObjectiveConfig>().unwrap(),
        ..RunConfig::default()
    };
    run.train.epochs = 60;
    run.probe.rows = 20;
    train(&run.check().unwrap(), dataset).unwrap().model
}

fn adverse(cutoff: Option<f64>) -> DecisionConfig {
    DecisionConfig {
        adverse: Some("default".to_owned()),
        cutoff,
    }
}

fn five_percent() -> ThreatConfig {
    ThreatConfig {
        error: [("*".to_owned(), Amount::Share(0.05))].into(),
        ..ThreatConfig::table()
    }
}

#[test]
fn reasons_add_up_name_what_a_person_has_and_follow_the_cut_off() {
    let dataset = people();
    let model = trained(&dataset);
    let rows = dataset.test();
    let mut counts = Vec::new();
    for cutoff in [0.2, 0.5, 0.8] {
        let options = ReasonsOptions {
            decision: adverse(Some(cutoff)),
            threat: Some(five_percent()),
            ..ReasonsOptions::default()
        };
        let reasons = model.reasons(&rows, &options).unwrap();
        counts.push(reasons.rows.len());
        for row in &reasons.rows {
            assert!(row.is_adverse && row.probability >= cutoff);
            assert!(row.gap < 1e-4, "{}", row.gap);
            assert!(row.reasons.len() <= 4);
            let mut last = f64::INFINITY;
            for reason in &row.reasons {
                assert!(reason.contribution > 0.0 && reason.contribution <= last);
                last = reason.contribution;
                assert!(!reason.text.is_empty());
                assert!(reason.holds >= row.holds, "{reason:?} {:?}", row.holds);
            }
            let place = rows.len();
            let place = (0..place)
                .find(|place| rows.id(*place) + 1 == row.row)
                .unwrap();
            let mut values = vec![0.0; dataset.features()];
            rows.copy(place, &mut values);
            for reason in &row.reasons {
                for (feature, value) in dataset.schema.features.iter().zip(&values) {
                    let is_level = matches!(feature.kind, FeatureKind::Level { .. });
                    if feature.column == reason.column && is_level && feature.group.is_some() {
                        let named = feature.name.ends_with(&format!("={}", reason.value));
                        assert_eq!(named, *value > 0.5, "{reason:?}");
                    }
                }
            }
        }
    }
    assert!(counts[0] > counts[1] && counts[1] > counts[2], "{counts:?}");
}

#[test]
fn a_model_hands_out_contributions_and_one_of_before_the_gradient() {
    let dataset = people();
    let mut model = trained(&dataset);
    let explained = model
        .explain(&dataset.test(), &ExplainOptions::default())
        .unwrap();
    assert_eq!(explained.config.explanation.kind(), "contributions");
    assert_eq!(explained.config.per, Per::Column);
    assert_eq!(
        explained.names,
        ["age", "income", "children", "job", "home"]
    );
    // The file of a model keeps what it has learned; one without is as before.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.safetensors");
    model.save(&path).unwrap();
    let read = Model::load(&path).unwrap();
    let again = read
        .explain(&dataset.test(), &ExplainOptions::default())
        .unwrap();
    assert_eq!(again.rows, explained.rows);
    model.description.references = None;
    let path = folder.path().join("old.safetensors");
    model.save(&path).unwrap();
    let before = Model::load(&path).unwrap();
    let config = before
        .explain(&dataset.test(), &ExplainOptions::default())
        .unwrap()
        .config;
    assert_eq!(config, ExplainConfig::default());
}

#[test]
fn nothing_moves_that_could_not_under_the_default_threat() {
    let dataset = people();
    let model = trained(&dataset);
    let schema = &dataset.schema;
    for (threat, radius) in [(None, Some(1.6)), (Some(five_percent()), None)] {
        let is_error = threat.is_some();
        let options = AttackOptions {
            effort: Some(Effort::Quick),
            threat,
            radius,
            ..AttackOptions::default()
        };
        let rows = dataset.test().first(30);
        let attacks = model.attack(&rows, &options).unwrap();
        assert_eq!(attacks.k, 4);
        let mut moved = 0;
        for (place, row) in attacks.rows.iter().enumerate() {
            let mut before = vec![0.0; dataset.features()];
            rows.copy(place, &mut before);
            let before: Vec<f64> = before.into_iter().map(f64::from).collect();
            let after = &row.found.perturbed;
            for change in changes(schema, &before, after) {
                moved += 1;
                assert_ne!(change.name, "age", "immutable");
                if is_error {
                    assert!(
                        ["income", "children"].contains(&change.name.as_str()),
                        "{change:?}"
                    );
                }
            }
            for (feature, (before, after)) in schema.features.iter().zip(before.iter().zip(after)) {
                let value = feature.offset + feature.factor * after;
                if feature.column == "children" {
                    assert!((value - value.round()).abs() < 1e-3, "{value}");
                }
                if matches!(feature.kind, FeatureKind::Level { .. }) {
                    assert!(after.abs().min((after - 1.0).abs()) < 1e-12, "{after}");
                }
                if feature.column == "income" && is_error {
                    let own = feature.offset + feature.factor * before;
                    assert!(
                        (value - own).abs() <= 0.05 * own.abs() + 1e-3,
                        "{own} {value}"
                    );
                }
            }
        }
        assert!(moved > 0, "the attack tried nothing");
    }
}

#[test]
fn an_audit_by_a_cut_off_keeps_the_models_own_probabilities() {
    let dataset = people();
    let model = trained(&dataset);
    let audit = |cutoff: Option<f64>| {
        let options = AuditOptions {
            effort: Some(Effort::Quick),
            decision: adverse(cutoff),
            ..AuditOptions::default()
        };
        model.audit(&dataset.test().first(20), &options).unwrap()
    };
    let (plain, by_cutoff) = (audit(None), audit(Some(0.2)));
    let mut other = 0;
    for (plain, decided) in plain.rows.iter().zip(by_cutoff.rows.iter()) {
        let adverse = plain.probabilities.iter().zip(&decided.probabilities);
        for (plain, decided) in adverse {
            assert!((plain - decided).abs() < 1e-6, "{plain} {decided}");
        }
        let default = model
            .classes()
            .iter()
            .position(|class| class == "default")
            .unwrap();
        assert_eq!(
            decided.class == default,
            decided.probabilities[default] >= 0.2
        );
        other += usize::from(plain.class != decided.class);
    }
    assert!(other > 0, "some rows lie between both cut-offs");
    assert_eq!(by_cutoff.settings.decision, adverse(Some(0.2)));
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("\"row\":[") && text.contains("contributions"));
}

#[test]
fn codes_of_the_template_fit_every_reason() {
    let dataset = people();
    let model = trained(&dataset);
    let codes = Codes::parse(&template(model.schema()), "codes.toml").unwrap();
    let options = ReasonsOptions {
        decision: adverse(None),
        all_rows: true,
        attack: false,
        codes: Some(codes),
        ..ReasonsOptions::default()
    };
    let reasons = model.reasons(&dataset.test(), &options).unwrap();
    assert_eq!(reasons.rows.len(), dataset.part(Part::Test).len());
    let mut count = 0;
    for reason in reasons.rows.iter().flat_map(|row| &row.reasons) {
        assert!(reason.code.is_some(), "{reason:?}");
        assert!(reason.text.contains(&reason.value), "{reason:?}");
        count += 1;
    }
    assert!(count > 50);
}

#[test]
fn a_reference_file_is_read_by_the_models_own_encoding() {
    let dataset = people();
    let model = trained(&dataset);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("row.csv");
    std::fs::write(&path, "age,income,children,job,home\n40,2000,0,nurse,own\n").unwrap();
    let explanation = format!(
        "{{ kind = \"contributions\", reference = {:?} }}",
        path.display().to_string()
    );
    let options = ReasonsOptions {
        decision: adverse(None),
        all_rows: true,
        attack: false,
        explain: ExplainOptions {
            explanation: Some(explanation.parse().unwrap()),
            ..ExplainOptions::default()
        },
        ..ReasonsOptions::default()
    };
    let reasons = model.reasons(&dataset.test().first(5), &options).unwrap();
    let texts: Vec<&str> = reasons
        .reference_values
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(texts, ["40", "2000", "0", "nurse", "own"]);
    assert!(reasons.rows.iter().all(|row| row.gap < 1e-4));
    std::fs::write(
        &path,
        "age,income,children,job,home\n40,2000,0,nurse,own\n41,2000,0,nurse,own\n",
    )
    .unwrap();
    let error = model
        .reasons(&dataset.test(), &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("2 rows"), "{error}");
}
