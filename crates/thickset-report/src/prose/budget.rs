//! What an attack may do, in plain words.

use thickset::attack::suite::Effort;
use thickset::attack::threat::{Norm, OneHot};
use thickset::audit::Audit;

use super::Nouns;
use crate::number::{count, listed, plain};

/// A sentence each.
pub fn of(audit: &Audit) -> Vec<String> {
    let nouns = Nouns::of(audit);
    let threat = &audit.settings.suite.threat;
    let radius = plain(threat.ball.radius);
    let ball = match threat.ball.norm {
        Norm::L2 => format!(
            "The straight-line distance between a {} and its changed copy is at most {radius}",
            nouns.row
        ),
        Norm::Linf => format!("No value of a {} moves by more than {radius}", nouns.row),
    };
    let mut said = vec![
        format!(
            "{ball}, in the model's own encoding (unless it was trained on standardised numbers, 1 is the usual range of a value)."
        ),
        if audit.settings.decision.cutoff.is_some() {
            "The decision at the cut-off stays the same: an attack that changes it does not count."
        } else {
            "The predicted class stays the same: an attack that changes the prediction does not count."
        }
        .to_owned(),
    ];
    if threat.names_columns() {
        said.push(format!(
            "Allowed are {}; nothing else moves.",
            threat.in_words()
        ));
    }
    let mut held = Vec::new();
    if threat.r#box {
        held.push("values stay in the range of the training data".to_owned());
    }
    if threat.immutable {
        held.push("what a person cannot change stays".to_owned());
    }
    if threat.integer {
        held.push("whole numbers stay whole".to_owned());
    }
    match threat.one_hot {
        OneHot::Free => {}
        OneHot::Simplex => held.push("categories may mix, but their shares add up".to_owned()),
        OneHot::Whole => held.push("a category stays one category".to_owned()),
    }
    held.extend(
        threat
            .feature_budget
            .iter()
            .map(|(column, most)| format!("{column} moves by at most {}", plain(*most))),
    );
    said.push(if held.is_empty() {
        "Nothing else is held: values may leave the range of the training data, and categories may mix.".to_owned()
    } else {
        format!("Besides, {}.", listed(&held))
    });
    said.push(format!(
        "The suite of attacks ran with the effort “{}”; noise was drawn {} times and thickness measured towards {} neighbours, \
         for each {}.",
        effort(audit.settings.suite.effort),
        count(audit.settings.noise_draws),
        count(audit.settings.thickness.neighbours),
        nouns.row,
    ));
    said
}

/// As the command line spells it.
pub fn effort(effort: Effort) -> &'static str {
    match effort {
        Effort::Quick => "quick",
        Effort::Standard => "standard",
        Effort::Thorough => "thorough",
    }
}
