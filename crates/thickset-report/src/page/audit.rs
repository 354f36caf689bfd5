//! The page of one audit, or of several.

use askama::Template;
use thickset::attack::suite::Effort;
use thickset::attack::threat::Norm;
use thickset::audit::Audit;
use thickset::audit::result::Requirement;
use thickset::registry::Info;

use super::side_by_side::{self, SideBySide};
use crate::chart::{Chart, Key};
use crate::number::{count, counted, percent, plain};
use crate::prose::sentence::Fragment;
use crate::prose::verdict::{self, Verdict};
use crate::prose::{Nouns, budget};
use crate::section::certified::Certified;
use crate::section::columns::Subgroups;
use crate::section::decisions::Confusion;
use crate::section::linear::LinearComparison;
use crate::section::maps::Picture;
use crate::section::people::Person;
use crate::section::theory::Theory;
use crate::section::tiles::Tile;
use crate::section::worst::Worst;
use crate::section::{
    attacks, certified, columns, decisions, features, first_change, limit, linear, maps, methods,
    people, reproduce, stability, theory, tiles, training, worst,
};

/// The whole page.
#[derive(Template)]
#[template(path = "audit.html")]
pub struct Page {
    title: String,
    lead: String,
    version: String,
    /// Models on the same rows, side by side; for each set of rows that several models were audited on.
    comparisons: Vec<SideBySide>,
    models: Vec<Model>,
    methods: Vec<&'static Info>,
    limits: Vec<String>,
}

/// A model's part of the page.
#[derive(Template)]
#[template(path = "model.html")]
struct Model {
    /// Unique on the page.
    id: String,
    /// The model and its rows, where the page has several.
    heading: Option<String>,
    /// The level of its headings.
    level: u8,
    verdict: Verdict,
    tiles: Vec<Tile>,
    appendix: Vec<Tile>,
    gate: Vec<Line>,
    /// What the explanations are, where they are contributions of columns.
    reasons: Option<ReasonsPart>,
    certified: Option<Certified>,
    stability: Vec<Chart>,
    limit: Option<String>,
    linear: Option<LinearComparison>,
    no_linear: String,

    maps: Vec<Picture>,
    features: Option<Chart>,
    first_change: Vec<Chart>,
    attacks: Option<Chart>,
    worst: Worst,
    training: Vec<Chart>,
    theory: Option<Theory>,
    budget: Vec<String>,
    facts: Vec<(&'static str, String)>,
    command: String,
    needs: String,
}

/// The part of a page on contributions of columns.
struct ReasonsPart {
    adverse: String,
    compared_with: String,
    people: Vec<Person>,
    weights: Option<Chart>,
    dependence: Vec<Chart>,
    keys: Vec<Key>,
    confusion: Option<Confusion>,
    calibration: Option<Chart>,
    subgroups: Option<Subgroups>,
}

impl ReasonsPart {
    fn new(audit: &Audit, id: &str) -> Option<Self> {
        let record = audit.reasons.as_ref()?;
        Some(Self {
            adverse: record.adverse.clone(),
            compared_with: columns::compared_with(record),
            people: people::of(record),
            weights: columns::importance(record, id),
            dependence: columns::dependence(record, id),
            keys: columns::keys(record),
            confusion: decisions::confusion(audit, record),
            calibration: decisions::calibration(audit, record, id),
            subgroups: columns::subgroups(audit, record),
        })
    }
}

/// A line of the gate.
struct Line {
    text: String,
    value: String,
    holds: bool,
}

impl Page {
    /// The page of these audits, of which there is at least one.
    pub fn new(audits: &[Audit]) -> Self {
        let is_single = audits.len() == 1;
        let models = audits
            .iter()
            .enumerate()
            .map(|(index, audit)| model(audit, index, is_single))
            .collect();
        let (title, lead) = if let [audit] = audits {
            let title = format!("{} on {}", audit.model.name, audit.data.name);
            (title, lead(audit))
        } else {
            let mut data: Vec<String> =
                audits.iter().map(|audit| audit.data.name.clone()).collect();
            data.dedup();
            let lead = format!(
                "{} on {}",
                counted(audits.len(), "model", "models"),
                crate::number::listed(&data)
            );
            ("Explanations side by side".to_owned(), lead)
        };
        Self {
            title,
            lead,
            version: audits
                .first()
                .map_or(String::new(), |audit| audit.version.clone()),
            comparisons: side_by_side::of(audits),
            models,
            methods: methods::of(audits),
            limits: limits(audits),
        }
    }
}

fn lead(audit: &Audit) -> String {
    let nouns = Nouns::of(audit);
    let part = audit.data.part.map_or(String::new(), |part| {
        format!(" of the {} part", part.name())
    });
    let ball = audit.settings.suite.threat.ball;
    let norm = match ball.norm {
        Norm::L2 => "an l2 distance",
        Norm::Linf => "a change of any value",
    };
    format!(
        "{}{part}, {} {}. The {} most important are the {}. Attacked within {norm} of {}, with {} effort.",
        counted(audit.data.rows, nouns.row, nouns.rows),
        count(audit.data.features.len()),
        nouns.features,
        audit.settings.k,
        nouns.reasons,
        plain(ball.radius),
        budget::effort(audit.settings.suite.effort),
    )
}

fn model(audit: &Audit, index: usize, is_single: bool) -> Model {
    let id = format!("m{}", index + 1);
    let maps = maps::of_all(audit);
    // Where there is a map, bars of single pixels say nothing more.
    let features = if maps.is_empty() {
        features::of(audit, &id)
    } else {
        None
    };
    Model {
        heading: (!is_single).then(|| format!("{} on {}", audit.model.name, audit.data.name)),
        level: if is_single { 2 } else { 3 },
        verdict: verdict::of(audit),
        tiles: tiles::of(audit, false),
        appendix: tiles::of(audit, true),
        gate: audit.gate.iter().map(line).collect(),
        reasons: ReasonsPart::new(audit, &id),
        certified: certified::of(audit, &id),
        stability: stability::of(audit, &id),
        limit: limit::of(audit),
        linear: linear::of(audit),
        no_linear: linear::absence(audit),

        maps,
        features,
        first_change: first_change::of(audit, &id),
        attacks: attacks::of(audit, &id),
        worst: worst::of(audit),
        training: training::of(audit, &id),
        theory: theory::of(audit),
        budget: budget::of(audit),
        facts: reproduce::facts(audit),
        command: reproduce::command(audit),
        needs: reproduce::needs(audit),
        id,
    }
}

fn line(requirement: &Requirement) -> Line {
    Line {
        text: requirement.text.clone(),
        value: requirement
            .measured()
            .unwrap_or_else(|| "not measured".to_owned()),
        holds: requirement.holds,
    }
}

/// What was not shown.
fn limits(audits: &[Audit]) -> Vec<String> {
    let has_certificates = |audit: &Audit| {
        let record = audit.certificate.as_ref();
        record.is_some_and(|record| record.absent.is_none())
    };
    let proved = if audits.iter().all(has_certificates) {
        "What is certified is a lower bound: it is proved for the model as it computes, in any order of sums."
    } else if audits.iter().any(has_certificates) {
        "What is certified is a lower bound, proved for the model as it computes; models without one have no such bound."
    } else {
        "Nothing here is a certificate."
    };
    let mut limits = vec![
        format!(
            "An attack finds a bad point; it does not prove that there is none worse. So the P@k under attack is an upper bound on \
             the stability: a longer search can only lower it. {proved}"
        ),
        "The numbers hold for these rows, this way to explain, this k and this budget. A larger budget changes more."
            .to_owned(),
        "The intervals are for the mean over rows like these. They say nothing of training: trained again, even with the same \
         settings, it is another model."
            .to_owned(),
        "A stable explanation need not be a true one. Faithfulness is measured by removing features, which makes inputs that no \
         person ever sent."
            .to_owned(),
        format!(
            "The words are this report's own: “stable” from a P@k of {} on, “partly stable” from {} on, and “by sameness” where \
             the distinctness is below {}.",
            percent(verdict::STABLE),
            percent(verdict::PARTLY),
            verdict::SAME
        ),
    ];
    if audits
        .iter()
        .any(|audit| audit.settings.suite.effort == Effort::Quick)
    {
        limits.push(
            "The effort was “quick”, which is to see something soon. Use “standard” or “thorough” before anyone relies on it."
                .to_owned(),
        );
    }
    limits
}
