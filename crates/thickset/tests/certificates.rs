//! No point within what is certified breaks it: trained models of every kind that has certificates, both norms, random points, ways to
//! the counterexample, and the suite. `THICKSET_CERTIFY_POINTS` says how many points are drawn in all (a few thousand where it is not set).

use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::certify::{CertifiedRadius, CertifiedWorstCase, CertifyConfig};
use thickset::config::{DataConfig, RunConfig};
use thickset::explain::{CheckedExplain, ExplainConfig, InlineExplain, Points};
use thickset::metric::ranking::{TopK, largest};
use thickset::{Dataset, Seed, Stream, train};
use thickset_engine::Network;

/// A trained model and what is asked of it.
struct Subject {
    name: &'static str,
    data: Dataset,
    network: Network,
    explain: ExplainConfig,
    k: usize,
    /// The radius at which worst cases are asked for, of the l2 ball; that of the largest norm is smaller.
    radius: f64,
}

const GRAD: &str = "kind = \"grad\"\nreduce = \"absolute\"";
const CONTRIBUTIONS: &str = "kind = \"contributions\"\nreduce = \"signed\"\nper = \"column\"";

/// Name, dataset, `run.toml`'s model and objective, explanation, k, radius.
const SUBJECTS: [(&str, &str, &str, &str, usize, f64); 9] = [
    (
        "plain network",
        "german-credit",
        "model = { kind = \"mlp\", hidden = [32, 16] }\nobjective = { kind = \"vanilla\" }",
        GRAD,
        8,
        0.2,
    ),
    (
        "R2ET's network",
        "breast-cancer",
        "model = { kind = \"mlp\", hidden = [32, 16] }\nobjective = { kind = \"r2et\" }",
        GRAD,
        8,
        0.3,
    ),
    (
        "gradient times input",
        "breast-cancer",
        "model = { kind = \"mlp\", hidden = [16, 8] }\nobjective = { kind = \"vanilla\" }",
        "kind = \"grad-input\"\nreduce = \"absolute\"",
        8,
        0.05,
    ),
    (
        "softplus network",
        "breast-cancer",
        "model = { kind = \"mlp\", hidden = [16, 8], activation = { softplus = { beta = 3.0 } } }\nobjective = { kind = \"vanilla\" }",
        GRAD,
        8,
        0.1,
    ),
    (
        "many classes",
        "wine-quality",
        "model = { kind = \"mlp\", hidden = [16, 8] }\nobjective = { kind = \"vanilla\" }",
        GRAD,
        3,
        0.02,
    ),
    (
        "contributions",
        "german-credit",
        "model = { kind = \"mlp\", hidden = [24, 12] }\nobjective = { kind = \"vanilla\" }",
        CONTRIBUTIONS,
        4,
        0.2,
    ),
    (
        "contributions of a binned model",
        "german-credit",
        "model = { kind = \"binned\", hidden = [16, 8], bins = 6 }\nobjective = { kind = \"vanilla\" }",
        CONTRIBUTIONS,
        4,
        0.1,
    ),
    (
        "segmented model",
        "german-credit",
        "model = { kind = \"segmented\" }\nobjective = { kind = \"distinct\", explain = { kind = \"grad\", reduce = \"absolute\" } }",
        GRAD,
        8,
        0.9,
    ),
    (
        "contributions of a segmented model",
        "german-credit",
        "model = { kind = \"segmented\", gate = \"argmax\" }\nobjective = { kind = \"distinct\", explain = { kind = \"grad\", reduce = \"absolute\" } }",
        CONTRIBUTIONS,
        4,
        0.3,
    ),
];

impl Subject {
    fn new(place: usize) -> Self {
        let (name, dataset, run, explain, k, radius) = SUBJECTS[place];
        let data = DataConfig {
            source: dataset.to_owned(),
            ..DataConfig::default()
        };
        let data = data.open(Seed::new(5)).unwrap();
        let text = format!(
            "k = {k}\nexplain = {{ kind = \"grad\", reduce = \"absolute\" }}\n{run}\n[train]\nepochs = 8\nbatch = 32\noptimizer = {{ kind = \"adam\", rate = 0.01 }}\n[probe]\nrows = 0\n"
        );
        let run = RunConfig::parse(&text, "run.toml").unwrap();
        let model = train(&run.check().unwrap(), &data).unwrap().model;
        let explain: InlineExplain = toml::from_str(explain).unwrap();
        Self {
            name,
            explain: explain.resolve(data.shape()),
            network: model.network,
            data,
            k,
            radius,
        }
    }

    fn threat(&self, norm: Norm, share: f64) -> ThreatConfig {
        let radius = match norm {
            Norm::L2 => self.radius,
            Norm::Linf => 0.25 * self.radius,
        };
        ThreatConfig {
            ball: BallConfig {
                norm,
                radius: share * radius,
            },
            ..ThreatConfig::papers()
        }
    }
}

/// How many points are drawn for each row of each case, and how many rows there are.
struct Scale {
    rows: usize,
    points: usize,
    suites: usize,
}

impl Scale {
    fn asked() -> Self {
        let asked = std::env::var("THICKSET_CERTIFY_POINTS").ok();
        match asked.and_then(|points| points.parse::<usize>().ok()) {
            None => Self {
                rows: 6,
                points: 60,
                suites: 1,
            },
            Some(all) => {
                let rows = 50;
                Self {
                    rows,
                    points: all.div_ceil(rows * 2 * SUBJECTS.len()),
                    suites: 10,
                }
            }
        }
    }
}

/// What was looked at.
#[derive(Debug, Default)]
struct Tally {
    points: usize,
    within_radius: usize,
    counterexamples: usize,
    suites: usize,
    certified: usize,
}

#[expect(clippy::cast_possible_truncation, reason = "models take f32")]
fn as_input(value: f64) -> f64 {
    f64::from(value as f32)
}

fn size(norm: Norm, x: &[f64], point: &[f64]) -> f64 {
    let moved = x.iter().zip(point).map(|(x, z)| (z - x).abs());
    match norm {
        Norm::L2 => moved.map(|d| d * d).sum::<f64>().sqrt(),
        Norm::Linf => moved.fold(0.0, f64::max),
    }
}

/// A direction of size 1; in the largest norm a corner as often as not, and along few features as often as along all.
fn direction(norm: Norm, features: usize, stream: &mut Stream) -> Vec<f64> {
    let is_corner = stream.uniform() < 0.5;
    let share = if stream.uniform() < 0.5 { 1.0 } else { 0.2 };
    let mut way: Vec<f64> = (0..features)
        .map(|_| {
            let part = stream.normal();
            let is_moved = stream.uniform() < share;
            match norm {
                _ if !is_moved => 0.0,
                Norm::Linf if is_corner => part.signum(),
                _ => part,
            }
        })
        .collect();
    let length = size(norm, &vec![0.0; features], &way);
    for part in &mut way {
        *part /= if length > 0.0 { length } else { 1.0 };
    }
    way
}

/// A row with its certificates.
struct Proved<'a> {
    subject: &'a Subject,
    norm: Norm,
    x: &'a [f64],
    class: usize,
    top: TopK,
    radius: &'a CertifiedRadius,
    worst: &'a CertifiedWorstCase,
    largest: f64,
}

impl Proved<'_> {
    /// Points of every kind, each within the largest radius.
    fn points(&self, count: usize, stream: &mut Stream) -> Vec<f64> {
        let mut all = Vec::with_capacity(count * self.x.len());
        for number in 0..count {
            let reach = if number % 2 == 0 {
                self.radius.certified
            } else {
                self.largest
            };
            let (way, length) = match &self.radius.counterexample {
                // Up to where the set is known to change, and a little off that way.
                Some(found) if number % 4 == 0 && found.size > 0.0 => {
                    let off = direction(self.norm, self.x.len(), stream);
                    let way = found.point.iter().zip(self.x).zip(&off);
                    let way = way
                        .map(|((z, x), off)| (z - x) / found.size + 0.05 * off)
                        .collect();
                    (way, 1.05)
                }
                _ => (direction(self.norm, self.x.len(), stream), 1.0),
            };
            let share = if stream.uniform() < 0.5 {
                1.0 - 1e-6
            } else {
                stream.uniform()
            };
            let step = reach * share / length;
            let way: Vec<f64> = way;
            all.extend(self.x.iter().zip(way).map(|(x, d)| as_input(x + step * d)));
        }
        all
    }

    /// Explains the points and holds them against what is proved.
    fn hold(&self, explain: &CheckedExplain, points: &[f64], tally: &mut Tally) {
        let features = self.x.len();
        let count = points.len() / features;
        let at = Points {
            values: points,
            ids: &vec![0; count],
        };
        let classes = vec![self.class; count];
        let network = &self.subject.network;
        let found = explain
            .attribute_classes(network, at, &classes, Seed::new(0))
            .unwrap();
        for (point, found) in points.chunks(features).zip(&found) {
            let moved = size(self.norm, self.x, point);
            if moved > self.largest || largest(&found.probabilities).unwrap() != self.class {
                continue;
            }
            tally.points += 1;
            let kept = self.top.kept(&found.importance).unwrap();
            let seen = || format!("{}, {:?}: {point:?}", self.subject.name, self.norm);
            assert!(kept >= self.worst.kept_at_least, "{}", seen());
            if moved <= self.radius.certified {
                tally.within_radius += 1;
                assert_eq!(kept, self.subject.k, "{}", seen());
            }
        }
    }

    /// The counterexamples are what they are said to be, of the model as it is used.
    fn flip(&self, explain: &CheckedExplain, tally: &mut Tally) {
        let all = [&self.radius.counterexample, &self.worst.counterexample];
        for found in all.into_iter().flatten() {
            let at = Points {
                values: &found.point,
                ids: &[0],
            };
            let network = &self.subject.network;
            let after = explain
                .attribute_classes(network, at, &[self.class], Seed::new(0))
                .unwrap();
            let name = self.subject.name;
            assert_eq!(
                largest(&after[0].probabilities).unwrap(),
                self.class,
                "{name}"
            );
            assert_eq!(
                self.top.kept(&after[0].importance).unwrap(),
                found.kept,
                "{name}"
            );
            assert!(found.kept < self.subject.k, "{name}");
            let moved = size(self.norm, self.x, &found.point);
            assert!((moved - found.size).abs() <= 1e-9 * (1.0 + moved), "{name}");
            assert!(moved >= self.radius.certified * (1.0 - 1e-9), "{name}");
            tally.counterexamples += 1;
        }
    }
}

fn check(subject: &Subject, norm: Norm, scale: &Scale, tally: &mut Tally) {
    let schema = &subject.data.schema;
    let explain = subject.explain.check(schema).unwrap();
    let features = subject.network.features();
    let chosen = &subject.data.split.test[..scale.rows.min(subject.data.split.test.len())];
    let values: Vec<f64> = subject
        .data
        .gather(chosen)
        .into_iter()
        .map(f64::from)
        .collect();
    let ids: Vec<u64> = (0..chosen.len() as u64).collect();
    let rows = Points {
        values: &values,
        ids: &ids,
    };
    let network = &subject.network;
    let threat = subject.threat(norm, 1.0);
    let largest_radius = threat.ball.radius;
    let config = CertifyConfig {
        k: subject.k,
        threat: threat.clone(),
        nodes: 3_000,
        ..CertifyConfig::default()
    };
    let checked = config.check(&subject.explain, schema).unwrap();
    let radii = checked.radius(network, rows).unwrap();
    let worst = checked.worst_case(network, rows).unwrap();
    let before = explain.attribute(network, rows, Seed::new(0)).unwrap();
    let mut stream = Seed::new(8).stream(subject.name);
    for (row, x) in values.chunks(features).enumerate() {
        let proved = Proved {
            subject,
            norm,
            x,
            class: before[row].class,
            top: TopK::of(&before[row].importance, subject.k).unwrap(),
            radius: &radii[row],
            worst: &worst[row],
            largest: largest_radius,
        };
        tally.certified += usize::from(radii[row].certified > 0.0);
        let mut left = scale.points;
        while left > 0 {
            let now = left.min(1_000);
            let points = proved.points(now, &mut stream);
            proved.hold(&explain, &points, tally);
            left -= now;
        }
        proved.flip(&explain, tally);
    }
    for effort in [Effort::Quick, Effort::Standard] {
        let few = scale.suites.min(ids.len());
        let rows = Points {
            values: &values[..few * features],
            ids: &ids[..few],
        };
        let suite = SuiteConfig {
            effort,
            k: subject.k,
            threat: threat.clone(),
        };
        let suite = suite.check(&subject.explain, schema).unwrap();
        let attacked = suite.perturb(network, rows, Seed::new(2)).unwrap();
        for (row, found) in attacked.rows.iter().enumerate() {
            tally.suites += 1;
            let kept = subject.k - found.lost(subject.k);
            assert!(kept >= worst[row].kept_at_least, "{}", subject.name);
            let moved = size(
                norm,
                &values[row * features..][..features],
                &found.perturbed,
            );
            if moved <= radii[row].certified {
                assert_eq!(kept, subject.k, "{}: {moved}", subject.name);
            }
        }
    }
}

#[test]
fn neither_points_nor_the_suite_break_a_certificate_of_a_trained_model() {
    let scale = Scale::asked();
    let mut all = 0;
    for place in 0..SUBJECTS.len() {
        let subject = Subject::new(place);
        for norm in [Norm::L2, Norm::Linf] {
            let mut tally = Tally::default();
            check(&subject, norm, &scale, &mut tally);
            eprintln!("{}, {norm:?}: {tally:?}", subject.name);
            assert!(tally.certified > 0, "{}, {norm:?}", subject.name);
            assert!(tally.within_radius > 0, "{}, {norm:?}", subject.name);
            all += tally.points;
        }
    }
    eprintln!("{all} points held the class and were compared");
}
