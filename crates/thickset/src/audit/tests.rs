//! Audits of a network with one kink, whose every number fits on paper.

use std::ops::ControlFlow;

use super::compare::{self, Verdict};
use super::figure::{
    certified, certified_p_at_k, certified_radius, changed_radius, noise, noise_radius, unchanged,
};
use super::result::ThicknessSettings;
use super::*;
use crate::attack::suite::{Effort, SuiteConfig};
use crate::data::{InputShape, Schema};
use crate::metric::{accuracy, precision_at_k};
use crate::model::{MlpConfig, Model, ModelConfig, Shard};
use crate::toy::{assert_close, kinked_network, one_hidden_layer};
use crate::{Error, Rows, Seed};

/// The margin is `2 relu(x0) + relu(x1)`: the first feature is the reason where `x0` is positive, the second beyond the kink at 0. So the
/// kink is 0.3, 2 and 0.25 away, and a ball of 0.5 holds it for the first row and for the last.
const VALUES: [f32; 6] = [0.3, 1.0, 2.0, 1.0, 0.25, 2.0];
/// The network predicts class 0 of all.
const LABELS: [usize; 3] = [0, 1, 0];

pub(super) fn kinked() -> Model {
    let config = ModelConfig::Mlp(MlpConfig {
        hidden: vec![2],
        ..MlpConfig::default()
    });
    let classes = vec!["yes".to_owned(), "no".to_owned()];
    let mut model =
        Model::fresh(config, InputShape::Table, 2, classes, None, Seed::new(0)).unwrap();
    model.network = kinked_network();
    model
}

/// The same with the weights of the features exchanged, so that the second feature is the reason of all rows.
fn exchanged() -> Model {
    let mut model = kinked();
    model.network = one_hidden_layer(2, 2, [vec![1.0, 0.0, 0.0, 1.0], vec![1.0, 2.0]]);
    model
}

pub(super) fn schema() -> Schema {
    Schema::table(&["x0", "x1"])
}

pub(super) fn config() -> AuditConfig {
    let mut suite = SuiteConfig {
        effort: Effort::Quick,
        k: 1,
        ..SuiteConfig::default()
    };
    suite.threat.ball.radius = 0.5;
    AuditConfig {
        suite,
        thickness: ThicknessSettings {
            neighbours: 2,
            points: 2,
        },
        noise_draws: 4,
        worst: 2,
        ..AuditConfig::default()
    }
}

pub(super) fn target<'a>(model: &'a Model, rows: Rows<'a>) -> AuditTarget<'a> {
    AuditTarget {
        model: NamedModel {
            model,
            name: "kinked".to_owned(),
            file: "kinked.safetensors".to_owned(),
            sha256: "0".repeat(64),
            objective: None,
            training: Vec::new(),
        },
        data: "rows".to_owned(),
        rows,
    }
}

fn silent() -> impl FnMut(&Event<'_>) -> ControlFlow<()> {
    |_: &Event<'_>| ControlFlow::Continue(())
}

fn audited(model: &Model, config: &AuditConfig, options: &RunOptions) -> Audit {
    let schema = schema();
    let rows = Rows::new(&VALUES, &schema).unwrap();
    let rows = rows.with_labels(&LABELS).unwrap();
    let checked = config.check(&schema).unwrap();
    match run(&checked, &target(model, rows), options, &mut silent()).unwrap() {
        Outcome::Done(audit) => *audit,
        Outcome::Stopped => panic!("nobody stopped it"),
    }
}

fn audit() -> Audit {
    audited(&kinked(), &config(), &RunOptions::default())
}

/// The part of one machine that has these of the rows, told to be this one of several.
fn part(places: std::ops::Range<usize>, number: usize, of: usize) -> AuditPart {
    let (schema, model) = (schema(), kinked());
    let rows = Rows::new(&VALUES, &schema).unwrap();
    let rows = rows.with_labels(&LABELS).unwrap().slice(places.clone());
    let checked = config().check(&schema).unwrap();
    let whole = WholeRows {
        count: places.len(),
        rows: None,
    };
    let only = Shard { number: 1, of: 1 };
    let options = RunOptions::default();
    let target = target(&model, rows);
    let found = run_part(&checked, &target, only, whole, &options, &mut silent()).unwrap();
    let PartOutcome::Done(mut part) = found else {
        panic!("nobody stopped it")
    };
    part.shard = Shard { number, of };
    part.data.rows = 3;
    *part
}

#[test]
fn a_network_with_one_kink_is_audited_as_it_is_by_hand() {
    let audit = audit();
    let rows: Vec<_> = audit.rows.iter().collect();
    assert_eq!(
        rows.iter().map(|row| row.row).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    assert!(rows.iter().all(|row| row.class == 0 && row.top == [0]));
    let precision: Vec<f64> = rows.iter().map(|row| row.precision).collect();
    assert_eq!(precision, [0.0, 1.0, 0.0]);
    let attacked: Vec<usize> = rows.iter().map(|row| row.attacked_top[0]).collect();
    assert_eq!(attacked, [1, 0, 1]);
    let of = |figure: &figure::Figure| -> Vec<f64> {
        rows.iter().filter_map(|row| figure.of_row(row)).collect()
    };
    assert_eq!(of(&certified_p_at_k::FIGURE), [0.0, 1.0, 0.0]);
    assert_eq!(of(&certified::FIGURE), [0.0, 1.0, 0.0]);
    // The kink is as far away as it is, and what is beyond the ball is not looked at.
    for (found, expected) in of(&certified_radius::FIGURE).iter().zip([0.3, 0.5, 0.25]) {
        assert!(
            *found <= expected + 1e-7 && *found > 0.9 * expected,
            "{found}"
        );
    }
    for (found, expected) in of(&changed_radius::FIGURE).iter().zip([0.3, 0.5, 0.25]) {
        assert!(
            *found >= expected - 1e-6 && *found < 1.1 * expected,
            "{found}"
        );
    }
    // In tenths of the radius, and no change is nearer than the kink.
    for (found, least) in of(&noise_radius::FIGURE).iter().zip([0.3, 0.5, 0.25]) {
        assert!(*found >= least - 0.05 && *found <= 0.5, "{found}");
        assert!(
            (found / 0.05 - (found / 0.05).round()).abs() < 1e-9,
            "{found}"
        );
    }
    let noise = of(&noise::FIGURE);
    assert!(
        noise
            .iter()
            .all(|share| (share * 4.0).fract() == 0.0 && *share <= 1.0)
    );
    assert_eq!(noise[1].to_bits(), 1.0_f64.to_bits());
    let value = |figure: &figure::Figure| audit.summary.value(figure).unwrap();
    assert!((value(&precision_at_k::FIGURE) - 1.0 / 3.0).abs() < 1e-12);
    assert!((value(&accuracy::FIGURE) - 2.0 / 3.0).abs() < 1e-12);
    assert!((value(&unchanged::FIGURE) - 1.0 / 3.0).abs() < 1e-12);
    let counts = audit.features.iter();
    let counts: Vec<_> = counts
        .map(|one| (one.in_top, one.left, one.entered))
        .collect();
    assert_eq!(counts, [(3, 2, 0), (0, 0, 2)]);
    // Importances are p (1 - p) times (2, 1), at margins 1.6, 5 and 2.5.
    let slope = |margin: f64| 1.0 / (2.0 + margin.exp() + (-margin).exp());
    let mean = (slope(1.6) + slope(5.0) + slope(2.5)) / 3.0;
    for (found, expected) in audit.magnitudes.iter().zip([2.0 * mean, mean]) {
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
    }
    for (found, expected) in audit.features.iter().zip([2.0 * mean, mean]) {
        assert!((found.importance - expected).abs() < 1e-7);
    }
    let certificate = audit.certificate.unwrap();
    assert_eq!((certificate.absent, certificate.exact), (None, 3));
    assert_eq!(audit.data.rows, 3);
    assert_eq!(audit.model.parameters, 12);
    // The worst rows are told with their numbers and what changed.
    let told: Vec<u64> = audit.worst.iter().map(|row| row.row).collect();
    assert_eq!(told, [1, 3]);
    assert_close(&audit.worst[1].values, &[0.25, 2.0]);
    assert!(audit.worst[1].attacked_values[0] <= 0.0);
    assert_eq!(audit.worst[0].changes[0].name, "x0");
    for (place, member) in audit.attacks.iter().enumerate() {
        let found = member.precision_at_k;
        // The first is run on every row, the others on those that could still get worse.
        assert!(found.count <= 3 && (place > 0 || found.count == 3));
        assert!(found.value >= 1.0 / 3.0 - 1e-12, "{}", member.attack);
        // Regions are searched from where the attacks ended, which is no attack of its own.
        assert_ne!(member.attack, "region-search");
    }
}

#[test]
fn chunks_and_files_to_go_on_from_change_no_byte() {
    let whole = audit().to_bytes();
    let folder = tempfile::tempdir().unwrap();
    let resume = ResumeFile {
        path: folder.path().join("partial"),
        key: ResumeKey::new([7; 32]),
    };
    let options = RunOptions {
        chunk: Some(1),
        resume: Some(resume.clone()),
    };
    let (schema, model) = (schema(), kinked());
    let rows = Rows::new(&VALUES, &schema).unwrap();
    let target = target(&model, rows.with_labels(&LABELS).unwrap());
    let checked = config().check(&schema).unwrap();
    let mut shown = Vec::new();
    let mut stops = |event: &Event<'_>| match event {
        Event::Rows { precision_at_k, .. } => {
            shown.push(*precision_at_k);
            if shown.len() == 2 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
        _ => ControlFlow::Continue(()),
    };
    let stopped = run(&checked, &target, &options, &mut stops).unwrap();
    assert!(matches!(stopped, Outcome::Stopped));
    assert_eq!(shown, [0.0, 0.5]);
    let mut begun = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::Begin { done, .. } = event {
            begun.push(*done);
        }
        ControlFlow::Continue(())
    };
    let Outcome::Done(found) = run(&checked, &target, &options, &mut observer).unwrap() else {
        panic!("nobody stopped it")
    };
    assert_eq!(begun, [2]);
    assert_eq!(found.to_bytes(), whole);
    // Of another audit nothing is taken.
    let other = AuditConfig {
        seed: Seed::new(5),
        ..config()
    };
    begun = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if let Event::Begin { done, .. } = event {
            begun.push(*done);
        }
        ControlFlow::Continue(())
    };
    run(
        &other.check(&schema).unwrap(),
        &target,
        &options,
        &mut observer,
    )
    .unwrap();
    assert_eq!(begun, [0]);
}

#[test]
fn a_folder_holds_what_was_written_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = AuditFolder::create(folder.path().join("audit")).unwrap();
    let audit = audit();
    folder.write(&audit).unwrap();
    assert_eq!(std::fs::read(folder.audit()).unwrap(), audit.to_bytes());
    assert_eq!(Audit::load(&folder.audit()).unwrap(), audit);
    assert_eq!(folder.model_file().as_deref(), Some("kinked.safetensors"));
    folder.write_report("<p>").unwrap();
    assert_eq!(std::fs::read(folder.report()).unwrap(), b"<p>");
    std::fs::write(folder.partial(), "x").unwrap();
    folder.finish().unwrap();
    assert!(!folder.partial().exists());
    folder.finish().unwrap();
    let part = part(0..3, 1, 1);
    folder.write_part(&part).unwrap();
    let read = AuditPart::read_all(&[folder.part()]).unwrap();
    assert_eq!(read[0].1, part);
    let mut other = audit;
    other.schema = 2;
    let text = String::from_utf8(other.to_bytes()).unwrap();
    let refused = Audit::parse(&text, "audit.json");
    assert!(matches!(refused, Err(Error::ResultSchema { got: 2, .. })));
}

#[test]
fn parts_make_the_audit_of_one_machine() {
    let expected = audit();
    let parts = vec![
        ("b".to_owned(), part(2..3, 2, 2)),
        ("a".to_owned(), part(0..2, 1, 2)),
    ];
    let merged = merge(parts).unwrap();
    assert_eq!(merged.rows, expected.rows);
    assert_eq!(merged.summary, expected.summary);
    assert_eq!(merged.worst, expected.worst);
    assert_eq!(merged.attacks, expected.attacks);
    assert_eq!(merged.certificate, expected.certificate);
    assert_close(&merged.magnitudes, &expected.magnitudes);
    for (found, expected) in merged.features.iter().zip(&expected.features) {
        assert_eq!((found.in_top, found.left), (expected.in_top, expected.left));
        assert!((found.importance - expected.importance).abs() < 1e-12);
    }
    let alone = merge(vec![("all".to_owned(), part(0..3, 1, 1))]).unwrap();
    assert_eq!(alone.to_bytes(), expected.to_bytes());
}

fn refusal(parts: Vec<(&str, AuditPart)>) -> String {
    let parts = parts
        .into_iter()
        .map(|(name, part)| (name.to_owned(), part));
    match merge(parts.collect()) {
        Err(Error::Parts { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn parts_that_are_missing_or_double_are_named() {
    let first = part(0..1, 1, 30);
    assert_eq!(refusal(Vec::new()), "there is none");
    let problem = refusal(vec![("a", first.clone())]);
    assert!(
        problem.starts_with("some are missing: 2/30, 3/30, "),
        "{problem}"
    );
    assert!(problem.ends_with(", 21/30 and 9 more"), "{problem}");
    let of = |number: usize, of: usize| {
        let mut part = first.clone();
        part.shard = Shard { number, of };
        part
    };
    assert_eq!(refusal(vec![("a", of(1, 2))]), "one is missing: 2/2");
    let problem = refusal(vec![("a", of(1, 21))]);
    assert!(problem.ends_with(", 21/21"), "{problem}");
    let problem = refusal(vec![("a", of(1, 3)), ("b", of(2, 3)), ("c", of(2, 3))]);
    assert_eq!(problem, "`b` and `c` are both 2 of 3");
    let problem = refusal(vec![("a", of(1, 2)), ("b", of(2, 3))]);
    assert_eq!(
        problem,
        "`b` does not belong to `a`: it has another number of parts"
    );
}

type Edit<'e> = &'e dyn Fn(&mut AuditPart);

#[test]
fn parts_of_another_audit_are_told_by_what_differs() {
    let one = part(0..1, 1, 2);
    let problem = |change: Edit<'_>| {
        let mut other = one.clone();
        change(&mut other);
        assert_eq!(one.difference(&one), None);
        other.difference(&one).unwrap_or_default()
    };
    let text = || "other".to_owned();
    let cases: [(Edit<'_>, &str); 11] = [
        (&|part| part.version = text(), "version of thickset"),
        (&|part| part.model.name = text(), "model"),
        (&|part| part.data.rows = 9, "data"),
        (&|part| part.data.name = text(), "data"),
        (
            &|part| part.data.split = Some(result::SplitRecord::default()),
            "data",
        ),
        (
            &|part| part.data.part = Some(crate::data::Part::Test),
            "data",
        ),
        (
            &|part| part.data.shape = InputShape::Graph { nodes: 2 },
            "data",
        ),
        (&|part| part.data.features.clear(), "data"),
        (&|part| part.settings.k = 9, "settings"),
        (&|part| part.require = vec![text()], "settings"),
        (&|part| part.shard.of = 7, "number of parts"),
    ];
    for (change, what) in cases {
        assert_eq!(problem(change), format!("it has another {what}"));
    }
    let instructions = problem(&|part| part.instruction_set = text());
    assert!(
        instructions.contains("instructions `other`"),
        "{instructions}"
    );
    assert_eq!(problem(&|part| part.data.sha256 = text()), "");
}

#[test]
fn a_part_is_read_only_where_its_rows_are_those_of_its_number() {
    let whole = part(0..3, 1, 1);
    assert_eq!(AuditPart::parse(&whole.to_bytes(), "part").unwrap(), whole);
    assert_eq!((whole.rows(), whole.records().len()), (3, 3));
    let refused = |change: &dyn Fn(&mut AuditPart)| {
        let mut other = whole.clone();
        change(&mut other);
        AuditPart::parse(&other.to_bytes(), "part").is_err()
    };
    assert!(refused(&|part| part.data.rows = 4));
    assert!(refused(&|part| part.shard.number = 2));
    assert!(refused(&|part| part.blocks.clear()));
    assert!(refused(&|part| part.block_hashes.clear()));
    assert!(AuditPart::parse(b"{}", "part").is_err());
}

#[test]
fn two_models_are_compared_row_by_row() {
    let (a, b) = (
        audit(),
        audited(&exchanged(), &config(), &RunOptions::default()),
    );
    let rules = compare::rules(&["agreement>=0.5".to_owned()]).unwrap();
    let compared = compare::compare(&a, &b, &rules).unwrap();
    // The second model has the second feature as the reason of all rows, as far as 1 from its kink.
    for row in &compared.rows {
        assert_eq!(
            (row.left.as_slice(), row.entered.as_slice()),
            (&["x0".to_owned()][..], &["x1".to_owned()][..])
        );
    }
    let precision: Vec<_> = compared
        .rows
        .iter()
        .map(|row| (row.precision_a, row.precision_b))
        .collect();
    assert_eq!(precision, [(0.0, 1.0), (1.0, 1.0), (0.0, 1.0)]);
    assert!((compared.precision_at_k.mean.value - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(compared.verdict, Verdict::NotShown);
    assert!(compared.agreement.value.abs() < 1e-12);
    assert!((compared.same_class - 1.0).abs() < 1e-12);
    let certificates = compared.certificates.clone().unwrap();
    assert_eq!(
        (certificates.lost.len(), certificates.gained),
        (0, vec![1, 3])
    );
    assert!(!compared.gate[0].holds);
    let counts: Vec<_> = compared
        .features
        .iter()
        .map(|one| {
            (
                one.feature.as_str(),
                one.in_a,
                one.in_b,
                one.left,
                one.entered,
            )
        })
        .collect();
    assert_eq!(counts, [("x0", 3, 0, 3, 0), ("x1", 0, 3, 0, 3)]);
    let back = compare::compare(&b, &a, &[]).unwrap();
    assert_eq!(back.certificates.unwrap().lost, [1, 3]);
    assert!((back.precision_at_k.mean.value + 2.0 / 3.0).abs() < 1e-12);
    let accuracy = compared
        .difference(&accuracy::FIGURE)
        .unwrap()
        .value()
        .value();
    assert!(accuracy.abs() < 1e-12);
    assert!(!compared.differs_in_encoding());
    assert!(compared.to_bytes().ends_with(b"}\n"));
    let same = compare::compare(&a, &a, &rules).unwrap();
    assert!((same.agreement.value - 1.0).abs() < 1e-12 && same.gate[0].holds);
    assert!(
        same.rows
            .iter()
            .all(|row| row.left.is_empty() && row.entered.is_empty())
    );
}

#[test]
fn audits_of_other_classes_settings_or_rows_are_not_compared() {
    let a = audit();
    let refused = |change: &dyn Fn(&mut Audit)| {
        let mut b = a.clone();
        change(&mut b);
        match compare::compare(&a, &b, &[]) {
            Err(Error::NotComparable { what }) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused(&|b| b.model.classes.reverse()), "classes");
    assert_eq!(refused(&|b| b.settings.k = 2), "settings");
    assert_eq!(refused(&|b| b.rows = RowList::default()), "rows");
    let empty = Audit {
        rows: RowList::default(),
        ..a.clone()
    };
    assert!(compare::compare(&empty, &empty, &[]).is_err());
}

#[test]
fn settings_of_audits_out_of_range_are_refused() {
    let check = |change: &dyn Fn(&mut AuditConfig)| {
        let mut config = config();
        change(&mut config);
        config.check(&schema()).is_ok()
    };
    assert!(check(&|_| {}));
    assert!(check(&|config| config.worst = 0));
    assert!(!check(&|config| config.worst = 1_000_001));
    assert!(!check(&|config| config.noise_draws = 0));
    assert!(!check(&|config| config.thickness.points = 0));
    for (k, fits) in [(0, false), (1, true), (2, false)] {
        assert_eq!(check(&|config| config.suite.k = k), fits, "{k}");
    }
}

/// How well explanations of these rows can do at best, and how many rows were looked at.
fn limit_of(values: &[f32]) -> Option<(f64, usize)> {
    let (schema, model) = (schema(), kinked());
    let target = target(&model, Rows::new(values, &schema).unwrap());
    let checked = config().check(&schema).unwrap();
    let found = limit::of(&checked, &target).unwrap();
    // The best is found by a program of which six digits are sure.
    found.map(|found| ((found.mean * 1e6).round() / 1e6, found.rows))
}

#[test]
fn rows_that_meet_half_way_with_other_reasons_limit_each_other() {
    // On both sides of the kink, 0.6 apart: at the point between them only one of both sets can hold.
    assert_eq!(limit_of(&[0.3, 1.0, -0.3, 1.0]), Some((0.5, 2)));
    // With the same reason, and further apart than two radii, nothing limits them.
    assert_eq!(limit_of(&[0.3, 1.0, 0.6, 1.0]), Some((1.0, 2)));
    assert_eq!(limit_of(&[0.3, 1.0, -0.8, 1.0]), Some((1.0, 2)));
    assert_eq!(limit_of(&[0.3, 1.0]), None);
    assert_eq!(limit_of(&[9.0, 9.0, 0.45, 1.0, -0.45, 1.0]).unwrap().1, 3);
}

#[test]
fn rows_in_a_file_of_their_own_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(row_file::NAME);
    let audit = audit();
    row_file::write(&path, &audit).unwrap();
    assert_eq!(row_file::read(&path, &audit).unwrap(), audit.rows);
    let beside = folder.path().join("audit.json");
    let mut without = audit.clone();
    without.rows = RowList::default();
    assert!(
        without
            .clone()
            .with_rows_beside(&beside)
            .unwrap()
            .rows
            .is_empty()
    );
    without.rows_file = Some(row_file::NAME.to_owned());
    assert_eq!(without.with_rows_beside(&beside).unwrap().rows, audit.rows);
    // Rows of other features, other classes or another number are refused.
    let refused = |change: &dyn Fn(&mut Audit)| {
        let mut other = audit.clone();
        change(&mut other);
        row_file::read(&path, &other).is_err()
    };
    assert!(refused(&|audit| audit.data.rows = 4));
    assert!(refused(&|audit| audit.data.features.truncate(1)));
    assert!(refused(&|audit| audit.model.classes.clear()));
    assert!(!refused(&|_| {}));
}

#[test]
fn lists_of_rows_are_joined() {
    let mut list = audit().rows;
    assert!(!list.is_empty() && RowList::default().is_empty());
    let more = list.clone();
    list.append(&more);
    let rows: Vec<u64> = list.iter().map(|row| row.row).collect();
    assert_eq!(rows, [1, 2, 3, 1, 2, 3]);
    assert_eq!((list.len(), list.iter().size_hint()), (6, (6, Some(6))));
    assert!(format!("{list:?}").contains("precision"));
}

#[test]
fn without_certificates_their_figures_are_absent_and_the_reason_is_told() {
    let asked = AuditConfig {
        certify: false,
        ..config()
    };
    let found = audited(&kinked(), &asked, &RunOptions::default());
    assert!(
        found
            .rows
            .iter()
            .all(|row| certified_p_at_k::FIGURE.of_row(&row).is_none())
    );
    let record = found.certificate.unwrap();
    assert_eq!(
        record.absent.as_deref(),
        Some("certificates were not asked for")
    );
    assert_eq!(record.exact, 0);
}

#[test]
fn rows_whose_every_point_is_tried_have_the_figures_of_those_that_are_attacked() {
    let model = kinked();
    let mut schema = schema();
    schema.features[0].integer = true;
    schema.features[0].factor = 20.0;
    (schema.features[0].low, schema.features[0].high) = (-1.0, 3.0);
    schema.features[1].immutable = true;
    let rows = Rows::new(&VALUES, &schema).unwrap();
    let rows = rows.with_labels(&LABELS).unwrap();
    let mut config = config();
    config.suite.threat = crate::attack::ThreatConfig::table();
    config.suite.threat.ball.radius = 0.5;
    let by_points = config.check(&schema).unwrap();
    let mut by_members = by_points.clone();
    by_members.suite = by_members.suite.without_lists();
    let [tried, attacked] = [by_points, by_members].map(|checked| {
        let target = target(&model, rows);
        match run(&checked, &target, &RunOptions::default(), &mut silent()).unwrap() {
            Outcome::Done(audit) => audit,
            Outcome::Stopped => panic!("nobody stopped it"),
        }
    });
    let figures = [
        &noise::FIGURE,
        &noise_radius::FIGURE,
        &certified_p_at_k::FIGURE,
    ];
    for (tried, attacked) in tried.rows.iter().zip(attacked.rows.iter()) {
        assert!((tried.precision - attacked.precision).abs() < 1e-12);
        for figure in figures {
            assert_eq!(
                figure.of_row(&tried),
                figure.of_row(&attacked),
                "{}",
                figure.id
            );
        }
        // The kink is passed at the first whole number that is not before it.
        let radius = certified_radius::FIGURE.of_row(&tried).unwrap();
        let before = certified_radius::FIGURE.of_row(&attacked).unwrap();
        assert!(radius >= before - 1e-6, "{radius} {before}");
        assert_eq!(Some(radius), changed_radius::FIGURE.of_row(&tried));
    }
    assert_eq!(tried.certificate.as_ref().unwrap().exact, 3);
    let ids = |audit: &Audit| -> Vec<String> {
        audit.attacks.iter().map(|one| one.attack.clone()).collect()
    };
    assert_eq!(ids(&tried), ["er-attack", "every-point"]);
    assert!(!ids(&attacked).contains(&"every-point".to_owned()));
}
