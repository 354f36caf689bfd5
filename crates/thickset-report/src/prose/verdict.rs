//! The verdict: are the explanations stable, by how much, and is it stability or sameness?
//!
//! P@k alone flatters a model that gives everyone the same reasons: a linear model keeps all of its reasons. So the P@k under attack is
//! held against the overlap of two *different* rows, which is one minus the distinctness. The share of the room above that
//! overlap, (P@k - overlap) / (1 - overlap), is 1 for reasons that never move and 0 for reasons that are no more a row's own
//! than another row's.

use thickset::audit::Audit;
use thickset::audit::figure::{Summary, explained, noise};
use thickset::metric::distinctness;

use super::Nouns;
use crate::number::{counted, interval, percent, points, score};

/// P@k from which explanations are called stable: nine of ten reasons hold at the worst point found.
pub const STABLE: f64 = 0.9;

/// P@k from which they are called partly stable; below, three of ten reasons and more can be replaced.
pub const PARTLY: f64 = 0.7;

/// Distinctness below which two rows share so much that stability is mostly sameness.
pub const SAME: f64 = 0.1;

/// Share of the room above sameness from which stability is more than sameness.
const MORE: f64 = 0.5;

/// Loss of P@k beyond noise below which a search finds hardly more than chance.
const HARDLY: f64 = 0.02;

/// How stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// From [`STABLE`] on.
    Stable,
    /// Like it, but rows get nearly the same reasons.
    StableBySameness,
    /// From [`PARTLY`] on.
    Partly,
    /// Below.
    Not,
    /// No row has an explanation, so that there is nothing to be stable.
    Empty,
    /// There is no number.
    Unknown,
}

impl Level {
    /// In a word or three.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stable => "Stable",
            Self::StableBySameness => "Stable by sameness",
            Self::Partly => "Partly stable",
            Self::Not => "Not stable",
            Self::Empty => "Not explained",
            Self::Unknown => "Not known",
        }
    }

    /// The style of its mark.
    pub fn class(self) -> &'static str {
        match self {
            Self::Stable => "good",
            Self::StableBySameness | Self::Partly => "fair",
            Self::Not | Self::Empty => "poor",
            Self::Unknown => "none",
        }
    }
}

/// What a reader takes away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How stable.
    pub level: Level,
    /// The one sentence.
    pub headline: String,
    /// What stands behind it, a sentence each.
    pub reasons: Vec<String>,
}

/// The verdict of an audit.
pub fn of(audit: &Audit) -> Verdict {
    let nouns = Nouns::of(audit);
    let summary = &audit.summary;
    let level = level(summary);
    let reasons = [
        empty(summary, nouns),
        certainty(summary, level),
        beyond_noise(summary),
        sameness(summary, nouns),
    ];
    Verdict {
        level,
        headline: headline(audit, nouns),
        reasons: reasons.into_iter().flatten().collect(),
    }
}

/// The level of these figures.
pub fn level(summary: &Summary) -> Level {
    let precision = summary.precision_at_k().value;
    if !precision.is_finite() {
        Level::Unknown
    } else if explained(summary) <= 0.0 {
        Level::Empty
    } else if precision < PARTLY {
        Level::Not
    } else if precision < STABLE {
        Level::Partly
    } else if summary
        .value(&distinctness::FIGURE)
        .is_some_and(|distinctness| distinctness < SAME)
    {
        Level::StableBySameness
    } else {
        Level::Stable
    }
}

fn headline(audit: &Audit, nouns: Nouns) -> String {
    let summary = &audit.summary;
    let precision = summary.precision_at_k();
    if !precision.value.is_finite() {
        return "There is no number to judge the explanations by.".to_owned();
    }
    let reasons = counted(audit.settings.k, nouns.reason, nouns.reasons);
    let interval = interval(precision.interval, percent).map_or(String::new(), |interval| {
        format!(" (95% interval {interval})")
    });
    let subject = match level(summary) {
        Level::Stable | Level::Unknown => "The explanations are stable",
        Level::StableBySameness => "The explanations are stable, but nearly the same for everyone",
        Level::Partly => "The explanations are only partly stable",
        Level::Not => "The explanations are not stable",
        Level::Empty => {
            return format!(
                "There are no explanations: the importances of every {} are all equal, as those of a constant or saturated model are.",
                nouns.row
            );
        }
    };
    format!(
        "{subject}: at the worst point found near each {}, {}{interval} of its {reasons} on average are still there.",
        nouns.row,
        percent(precision.value),
    )
}

/// The share of rows that have an explanation; all, where an older version did not measure it.
fn explained(summary: &Summary) -> f64 {
    summary.value(&explained::FIGURE).unwrap_or(1.0)
}

/// Says when some rows have no explanation.
fn empty(summary: &Summary, nouns: Nouns) -> Option<String> {
    let share = 1.0 - explained(summary);
    (share > 0.0).then(|| {
        format!(
            "{} of the {} have no explanation, since all of their importances are equal; none of their {} counts as kept.",
            percent(share),
            nouns.rows,
            nouns.reasons
        )
    })
}

/// Says when the interval reaches into another level.
fn certainty(summary: &Summary, level: Level) -> Option<String> {
    let interval = summary.precision_at_k().interval?;
    let bound = match level {
        Level::Partly if interval.low < PARTLY => PARTLY,
        Level::Stable | Level::StableBySameness | Level::Partly => STABLE,
        Level::Not => PARTLY,
        Level::Empty | Level::Unknown => return None,
    };
    (interval.low < bound && bound < interval.high).then(|| {
        format!(
            "The interval reaches across {}, so more rows could change this word.",
            percent(bound)
        )
    })
}

fn beyond_noise(summary: &Summary) -> Option<String> {
    let precision = summary.precision_at_k().value;
    let noise = summary.value(&noise::FIGURE)?;
    if !(precision.is_finite() && noise.is_finite()) {
        return None;
    }
    let floor = format!("Random noise of the same size leaves {}", percent(noise));
    let lost = noise - precision;
    Some(if lost < HARDLY {
        format!("{floor}: a search for the worst point finds hardly more than chance does.")
    } else {
        format!(
            "{floor}: a search for the worst point costs another {}.",
            points(lost)
        )
    })
}

/// Whether it is stability or sameness.
pub fn sameness(summary: &Summary, nouns: Nouns) -> Option<String> {
    let precision = summary.precision_at_k().value;
    let distinctness = match summary.value(&distinctness::FIGURE) {
        Some(distinctness) if distinctness.is_finite() => distinctness,
        _ => {
            return Some(format!(
                "With a single {} nothing can be said about sameness: whether others would get the same {}.",
                nouns.row, nouns.reasons
            ));
        }
    };
    if !precision.is_finite() {
        return None;
    }
    let overlap = 1.0 - distinctness;
    let shared = format!(
        "two different {} share {} of their {} (distinctness {})",
        nouns.rows,
        percent(overlap),
        nouns.reasons,
        score(distinctness)
    );
    let room = (precision - overlap) / distinctness;
    let own = format!("an attacked {} keeps {}", nouns.row, percent(precision));
    Some(if distinctness < SAME {
        format!(
            "This is mostly sameness, not stability: {shared}, so there is little that an attack could replace."
        )
    } else if precision <= overlap {
        format!(
            "It is no more than sameness: {shared}, and {own}, so after the attack its {} are no more its own than another's.",
            nouns.reasons
        )
    } else if room < MORE {
        format!(
            "Much of it is sameness: {shared} anyway, and {own}. Of the {} that are not shared, {} survive the attack.",
            nouns.reasons,
            percent(room)
        )
    } else {
        format!(
            "It is more than sameness: {shared} anyway, and {own}. Of the {} that are not shared, {} survive the attack.",
            nouns.reasons,
            percent(room)
        )
    })
}

#[cfg(test)]
mod tests {
    use thickset::statistics::{Estimate, Interval};

    use super::*;

    fn estimate(value: f64) -> Estimate {
        Estimate {
            value,
            interval: Some(Interval {
                low: value - 0.02,
                high: value + 0.02,
            }),
            count: 200,
        }
    }

    fn summary(precision: f64, floor: f64, distinct: Option<f64>) -> Summary {
        let mut summary = Summary::new(estimate(precision));
        summary.set(&noise::FIGURE, Some(estimate(floor).into()));
        summary.set(&distinctness::FIGURE, distinct.map(Into::into));
        summary
    }

    const NOUNS: Nouns = Nouns {
        row: "row",
        rows: "rows",
        reason: "reason",
        reasons: "reasons",
        features: "features",
    };

    #[test]
    fn a_model_that_gives_everyone_the_same_reasons_is_not_called_stable_without_a_but() {
        assert_eq!(
            level(&summary(1.0, 1.0, Some(0.0))),
            Level::StableBySameness
        );
        assert_eq!(level(&summary(0.95, 1.0, Some(0.5))), Level::Stable);
        assert_eq!(level(&summary(0.95, 1.0, None)), Level::Stable);
    }

    #[test]
    fn the_levels_begin_at_nine_and_at_seven_of_ten() {
        assert_eq!(level(&summary(0.9, 1.0, Some(0.5))), Level::Stable);
        assert_eq!(level(&summary(0.89, 1.0, Some(0.5))), Level::Partly);
        assert_eq!(level(&summary(0.69, 1.0, Some(0.5))), Level::Not);
        assert_eq!(level(&summary(f64::NAN, 1.0, Some(0.5))), Level::Unknown);
    }

    #[test]
    fn reasons_that_are_no_more_a_rows_own_than_anothers_are_called_sameness() {
        // As measured on Adult: 88.4% under attack, while two random people share 89.1%.
        let said = sameness(&summary(0.884, 0.95, Some(0.109)), NOUNS).unwrap();
        assert!(said.starts_with("It is no more than sameness"), "{said}");
        let said = sameness(&summary(0.7, 0.95, Some(0.4)), NOUNS).unwrap();
        assert!(
            said.starts_with("Much of it is sameness") && said.contains("25.0% survive"),
            "{said}"
        );
        let said = sameness(&summary(0.9, 0.95, Some(0.6)), NOUNS).unwrap();
        assert!(said.starts_with("It is more than sameness"), "{said}");
    }

    #[test]
    fn rows_without_an_explanation_are_not_called_stable() {
        let mut none = summary(0.0, 0.0, Some(0.0));
        assert_eq!(level(&none), Level::Not);
        none.set(&explained::FIGURE, Some(0.0.into()));
        assert_eq!(level(&none), Level::Empty);
        let mut some = summary(0.75, 0.8, Some(0.5));
        assert_eq!(empty(&some, NOUNS), None);
        some.set(&explained::FIGURE, Some(0.75.into()));
        assert!(
            empty(&some, NOUNS)
                .unwrap()
                .starts_with("25.0% of the rows")
        );
    }

    #[test]
    fn an_interval_across_a_bound_is_said() {
        assert!(certainty(&summary(0.91, 1.0, None), Level::Stable).is_some());
        assert!(certainty(&summary(0.95, 1.0, None), Level::Stable).is_none());
        assert!(
            certainty(&summary(0.71, 1.0, None), Level::Partly)
                .unwrap()
                .contains("70.0%")
        );
    }

    #[test]
    fn noise_that_does_as_much_as_a_search_is_said() {
        assert!(
            beyond_noise(&summary(0.95, 0.96, None))
                .unwrap()
                .contains("hardly more than chance")
        );
        assert!(
            beyond_noise(&summary(0.80, 0.96, None))
                .unwrap()
                .contains("another 16.0 points")
        );
    }
}
