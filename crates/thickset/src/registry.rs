//! The one list of methods. Each method's file holds its [`Info`]; the command line, the documentation and the report
//! read them from [`METHODS`], so that nothing is described twice. A family whose behaviour is a list of its own, as that of
//! attacks, is taken from there.

mod setting;

use std::sync::LazyLock;

use serde::Serialize;

use crate::attack::{self, constraint, threat};
use crate::explain::{self, reduce};
use crate::{Error, Result, certify, metric, model, objective};

pub use setting::{DescribedSetting, Setting};

/// What a method is, what it computes, and where that is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Kebab-case name in configurations and on the command line; the method's file is named like it.
    pub id: &'static str,
    /// The name as the paper spells it.
    pub label: &'static str,
    /// What kind of method it is.
    pub family: Family,
    /// One sentence without a final period.
    pub summary: &'static str,
    /// The formula in plain text.
    pub formula: &'static str,
    /// The publication and the equation or section.
    pub source: &'static str,
    /// Which way is better; for metrics only.
    pub direction: Option<Direction>,
    /// What it costs, in terms a user can multiply out.
    pub cost: &'static str,
    /// Its settings; [`Info::settings`] adds the values they have when left out.
    pub defaults: &'static [Setting],
}

/// Which way a metric is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Direction {
    /// The word used in configurations and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
        }
    }
}

/// The kinds of methods, each with a folder of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A network's architecture.
    Model,
    /// A way to score the features of one prediction.
    Explanation,
    /// How a raw explanation becomes one number a feature.
    Reduction,
    /// What training minimises.
    Objective,
    /// A search for an input that changes the explanation.
    Attack,
    /// How an attack keeps the prediction.
    Constraint,
    /// Which inputs an attack may reach.
    Threat,
    /// A number that says how good or how stable something is.
    Metric,
    /// A proof that something cannot change.
    Certificate,
}

impl Family {
    /// Every family, in the order of a pipeline.
    pub const ALL: [Self; 9] = [
        Self::Model,
        Self::Explanation,
        Self::Reduction,
        Self::Objective,
        Self::Attack,
        Self::Constraint,
        Self::Threat,
        Self::Metric,
        Self::Certificate,
    ];

    /// The word used in configurations and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Explanation => "explanation",
            Self::Reduction => "reduction",
            Self::Objective => "objective",
            Self::Attack => "attack",
            Self::Constraint => "constraint",
            Self::Threat => "threat",
            Self::Metric => "metric",
            Self::Certificate => "certificate",
        }
    }

    /// The folder of this crate's source that holds the family's files.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Explanation => "explain",
            Self::Reduction => "explain/reduce",
            Self::Objective => "objective",
            Self::Attack => "attack",
            Self::Constraint => "attack/constraint",
            Self::Threat => "attack/threat",
            Self::Metric => "metric",
            Self::Certificate => "certify",
        }
    }
}

/// Every method there is: families in the order of [`Family::ALL`], ids in alphabetical order within one.
pub static METHODS: LazyLock<Vec<&'static Info>> = LazyLock::new(|| {
    let of_families = model::infos()
        .chain(explain::infos())
        .chain(reduce::infos())
        .chain(objective::infos())
        .chain(attack::infos())
        .chain(constraint::infos())
        .chain(threat::infos());
    let mut methods: Vec<&Info> = LISTED.iter().copied().chain(of_families).collect();
    methods.sort_by_key(|info| (info.family, info.id));
    methods
});

/// The methods of the other families.
static LISTED: &[&Info] = &[
    &metric::accuracy::INFO,
    &metric::auc::INFO,
    &metric::comprehensiveness::INFO,
    &metric::cosine::INFO,
    &metric::dffot::INFO,
    &metric::distinctness::INFO,
    &metric::hessian_norm::INFO,
    &metric::kendall::INFO,
    &metric::manipulation_epoch::INFO,
    &metric::pearson::INFO,
    &metric::precision_at_k::INFO,
    &metric::sensitivity::INFO,
    &metric::spearman::INFO,
    &metric::stability_limit::INFO,
    &metric::sufficiency::INFO,
    &metric::thickness::INFO,
    &certify::certified_radius::INFO,
    &certify::certified_worst_case::INFO,
    &certify::smoothed_top_k::INFO,
];

/// The method of this id.
///
/// # Errors
/// [`Error::UnknownMethod`], with the nearest known id if one is near.
pub fn find(id: &str) -> Result<&'static Info> {
    METHODS
        .iter()
        .copied()
        .find(|info| info.id == id)
        .ok_or_else(|| Error::UnknownMethod {
            given: id.to_owned(),
            nearest: nearest(id, METHODS.iter().map(|info| info.id)),
        })
}

/// The methods of one family, in alphabetical order.
pub fn family(family: Family) -> impl Iterator<Item = &'static Info> {
    METHODS
        .iter()
        .copied()
        .filter(move |info| info.family == family)
}

/// The family of this name.
///
/// # Errors
/// [`Error::UnknownFamily`], with the nearest known name if one is near.
pub fn family_named(name: &str) -> Result<Family> {
    Family::ALL
        .into_iter()
        .find(|family| family.name() == name)
        .ok_or_else(|| Error::UnknownFamily {
            given: name.to_owned(),
            nearest: nearest(name, Family::ALL.map(Family::name)),
        })
}

/// Similarity (Jaro-Winkler, in 0..=1) from which a known name is offered for an unknown one. At 0.8 a slip of one or two
/// letters is caught and words that merely share some letters are not.
const NEAR_ENOUGH: f64 = 0.8;

/// The candidate most like `given`, if any is like it at all; the first of equals.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let given = given.to_lowercase().replace(['_', ' '], "-");
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = strsim::jaro_winkler(&given, candidate);
        if likeness >= NEAR_ENOUGH && best.is_none_or(|(most, _)| likeness > most) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn is_kebab_case(id: &str) -> bool {
        !id.is_empty()
            && id.split('-').all(|word| {
                !word.is_empty()
                    && word
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
    }

    /// Every Rust file of the source folder that declares an `INFO`, as (folder, file name made an id).
    fn files_with_info() -> BTreeSet<(String, String)> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = BTreeSet::new();
        let mut folders = vec![source.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path: PathBuf = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs")
                    && fs::read_to_string(&path)
                        .unwrap()
                        .contains("\npub static INFO: Info")
                {
                    let folder = folder
                        .strip_prefix(&source)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .replace('\\', "/");
                    let id = path
                        .file_stem()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .replace('_', "-");
                    found.insert((folder, id));
                }
            }
        }
        found
    }

    #[test]
    fn every_file_with_an_info_is_listed_under_its_own_name_and_folder() {
        let listed: BTreeSet<_> = METHODS
            .iter()
            .map(|info| (info.family.folder().to_owned(), info.id.to_owned()))
            .collect();
        assert_eq!(files_with_info(), listed);
    }

    #[test]
    fn ids_are_kebab_case_and_none_is_used_twice() {
        let mut seen = BTreeSet::new();
        for info in METHODS.iter() {
            assert!(is_kebab_case(info.id), "`{}`", info.id);
            assert!(seen.insert(info.id), "`{}` is listed twice", info.id);
        }
    }

    #[test]
    fn the_list_is_in_the_order_it_promises() {
        let order: Vec<_> = METHODS.iter().map(|info| (info.family, info.id)).collect();
        assert!(order.is_sorted(), "{order:?}");
        let listed: Vec<_> = LISTED.iter().map(|info| (info.family, info.id)).collect();
        assert!(listed.is_sorted(), "{listed:?}");
    }

    #[test]
    fn every_method_describes_itself() {
        for info in METHODS.iter() {
            for text in [
                info.label,
                info.summary,
                info.formula,
                info.source,
                info.cost,
            ] {
                assert!(
                    !text.trim().is_empty(),
                    "`{}` leaves something out",
                    info.id
                );
                assert!(
                    !text.contains('\n'),
                    "`{}` has a text of several lines",
                    info.id
                );
            }
            assert!(
                !info.summary.ends_with('.'),
                "the summary of `{}` ends with a period",
                info.id
            );
            for setting in info.settings() {
                assert!(
                    !setting.value.is_empty() && !setting.meaning.is_empty(),
                    "`{}`.{}",
                    info.id,
                    setting.name
                );
            }
        }
    }

    #[test]
    fn metrics_and_only_metrics_have_a_direction() {
        for info in METHODS.iter() {
            assert_eq!(
                info.direction.is_some(),
                info.family == Family::Metric,
                "`{}`",
                info.id
            );
        }
    }

    #[test]
    fn names_of_families_in_json_are_the_names_on_the_command_line() {
        for family in Family::ALL {
            assert_eq!(serde_json::to_value(family).unwrap(), family.name());
            assert_eq!(family_named(family.name()).unwrap(), family);
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_answered_with_the_right_name() {
        assert_eq!(
            nearest("kendal", ["spearman", "kendall"]).as_deref(),
            Some("kendall")
        );
        assert_eq!(
            nearest("Precision_At_K", ["precision-at-k"]).as_deref(),
            Some("precision-at-k")
        );
        assert_eq!(nearest("zzz", ["spearman", "kendall"]), None);
    }

    #[test]
    fn an_unknown_family_is_an_error_that_names_it() {
        let message = family_named("metrics").unwrap_err().to_string();
        assert_eq!(
            message,
            "there is no family `metrics`; did you mean `metric`?"
        );
    }
}
