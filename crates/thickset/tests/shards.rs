//! Several machines: parts of an audit make the bytes of one machine's, and parts that do not belong together are named.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use thickset::attack::suite::Effort;
use thickset::audit::result::ThicknessSettings;
use thickset::audit::{AuditPart, Event, merge};
use thickset::data::{OpenOptions, open};
use thickset::model::{
    AuditOptions, MlpConfig, Model, ModelConfig, PartChoice, RowChoice, RowsConfig, Selection,
    Shard,
};
use thickset::{Dataset, Error, Seed};

fn model_of(dataset: &Dataset) -> Model {
    let config = MlpConfig {
        hidden: vec![6],
        ..MlpConfig::default()
    };
    Model::fresh(
        ModelConfig::Mlp(config),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
}

/// A table of so many rows, and a model for it.
fn loans(folder: &Path, rows: usize) -> (Model, RowsConfig) {
    let path = folder.join("loans.csv");
    let mut csv = "age,income,debt,job,paid\n".to_owned();
    let mut stream = Seed::new(1).stream("loans");
    for _ in 0..rows {
        let age = 18 + stream.below(50);
        let [income, debt] = [(); 2].map(|()| 900.0 + 4000.0 * stream.uniform());
        let job = ["cook", "nurse", "pilot"][stream.below(3)];
        let paid = if stream.uniform() < 0.5 { "yes" } else { "no" };
        writeln!(csv, "{age},{income:.2},{debt:.2},{job},{paid}").unwrap();
    }
    std::fs::write(&path, csv).unwrap();
    let data = path.display().to_string();
    let dataset = open(&data, &OpenOptions::default()).unwrap();
    let config = RowsConfig {
        data,
        ..RowsConfig::default()
    };
    (model_of(&dataset), config)
}

/// Everything small, so that few rows a second do not matter.
fn quick() -> AuditOptions {
    AuditOptions {
        effort: Some(Effort::Quick),
        k: Some(2),
        thickness: ThicknessSettings {
            neighbours: 2,
            points: 2,
        },
        noise_draws: 2,
        worst: 4,
        require: vec!["p_at_k>=0.5".to_owned()],
        data_name: Some("loans.csv".to_owned()),
        ..AuditOptions::default()
    }
}

fn selection(choice: &RowChoice, number: usize, of: usize) -> Selection {
    Selection {
        choice: choice.clone(),
        shard: Shard { number, of },
    }
}

/// The parts of so many machines.
fn parts(
    model: &Model,
    config: &RowsConfig,
    choice: &RowChoice,
    of: usize,
) -> Vec<(String, AuditPart)> {
    let options = quick();
    let origin = model.origin().unwrap();
    let one = |number: usize| {
        let opened = model
            .open_labelled_selected(config, &selection(choice, number, of))
            .unwrap();
        let mut audit = model
            .audit_config(&origin, &opened.rows(), &options)
            .unwrap();
        audit.require = origin.require(&options.require);
        let mut observer = |_: &Event<'_>| ControlFlow::Continue(());
        let part = model
            .audit_part(&origin, &opened, &options, &audit, &mut observer)
            .unwrap()
            .unwrap();
        // As from another machine.
        let part = AuditPart::parse(&part.to_bytes(), "part").unwrap();
        (format!("part-{number}"), part)
    };
    (1..=of).map(one).collect()
}

fn whole(model: &Model, config: &RowsConfig, choice: &RowChoice) -> Vec<u8> {
    let opened = model
        .open_labelled_selected(config, &selection(choice, 1, 1))
        .unwrap();
    model.audit(&opened.rows(), &quick()).unwrap().to_bytes()
}

#[test]
fn any_number_of_machines_makes_the_bytes_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 700);
    let all = RowChoice::All;
    let expected = whole(&model, &config, &all);
    for of in [1, 2, 7, 64] {
        let mut parts = parts(&model, &config, &all, of);
        // Files come in the order of a shell's pattern.
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        let merged = merge(parts).unwrap().to_bytes();
        assert!(merged == expected, "{of} machines");
    }
}

#[test]
fn a_dataset_with_its_baseline_and_a_sample_are_shared_alike() {
    let dataset = open("breast-cancer", &OpenOptions::default()).unwrap();
    let model = model_of(&dataset);
    let config = RowsConfig {
        data: "breast-cancer".to_owned(),
        part: Some(PartChoice::All),
        ..RowsConfig::default()
    };
    let all = RowChoice::All;
    let expected = whole(&model, &config, &all);
    let merged = merge(parts(&model, &config, &all, 2)).unwrap();
    assert!(merged.linear.is_some(), "there are training rows");
    assert!(merged.to_bytes() == expected);

    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 700);
    let sample = RowChoice::Sample {
        count: 300,
        seed: Seed::new(9),
    };
    let expected = whole(&model, &config, &sample);
    assert!(
        merge(parts(&model, &config, &sample, 2))
            .unwrap()
            .to_bytes()
            == expected
    );
}

#[test]
fn parts_that_are_missing_double_or_foreign_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 520);
    let all = RowChoice::All;
    let three = parts(&model, &config, &all, 3);
    let refusal = |parts: Vec<(String, AuditPart)>| match merge(parts) {
        Err(Error::Parts { problem }) => problem,
        other => panic!("{other:?}"),
    };
    let without = vec![three[0].clone(), three[2].clone()];
    assert!(refusal(without).contains("missing: 2/3"));
    let mut twice = three.clone();
    twice.push(("again".to_owned(), three[1].1.clone()));
    let problem = refusal(twice);
    assert!(
        problem.contains("`part-2` and `again` are both 2 of 3"),
        "{problem}"
    );
    let mut mixed = three.clone();
    mixed[1] = parts(&model, &config, &all, 2).remove(1);
    assert!(refusal(mixed).contains("number of parts"));
    assert!(refusal(Vec::new()).contains("there is none"));

    let edited = |key: &str, value: serde_json::Value| {
        let mut json: serde_json::Value = serde_json::from_slice(&three[1].1.to_bytes()).unwrap();
        json[key] = value;
        let part = AuditPart::parse(json.to_string().as_bytes(), "edited").unwrap();
        let mut parts = three.clone();
        parts[1] = ("edited".to_owned(), part);
        refusal(parts)
    };
    let other = edited("instruction_set", "another".into());
    assert!(
        other.contains("`edited`") && other.contains("instructions `another`"),
        "{other}"
    );
    assert!(edited("version", "0.0.0".into()).contains("version"));

    // A part that says more rows than it has is refused where it is read.
    let mut json: serde_json::Value = serde_json::from_slice(&three[1].1.to_bytes()).unwrap();
    json["rows"] = serde_json::json!([]);
    assert!(AuditPart::parse(json.to_string().as_bytes(), "short").is_err());
}

#[test]
fn streamed_rows_are_the_rows_however_they_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 600);
    let values = |selection: &Selection, most: usize| {
        let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
        let stream = model.stream_rows(&config, selection).unwrap();
        stream
            .for_each::<Error>(most, &mut |rows| {
                assert!(rows.len() <= most);
                let mut row = vec![0.0; rows.schema().len()];
                for place in 0..rows.len() {
                    rows.copy(place, &mut row);
                    found.push((
                        rows.id(place),
                        row.iter().map(|one| one.to_bits()).collect(),
                    ));
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    };
    let all = values(&Selection::default(), usize::MAX);
    assert_eq!(all.len(), 600);
    assert!(all.iter().map(|(id, _)| *id).eq(0..600));
    assert_eq!(values(&Selection::default(), 7), all);
    let shards: Vec<(u64, Vec<u32>)> = (1..=3)
        .flat_map(|number| values(&selection(&RowChoice::All, number, 3), 50))
        .collect();
    assert_eq!(shards, all);
    let first = values(&selection(&RowChoice::First(5), 1, 1), 2);
    assert_eq!(first, all[..5]);
    let only = values(&selection(&RowChoice::Only(vec![600, 3]), 1, 1), 10);
    assert_eq!(only, [all[599].clone(), all[2].clone()]);
}
