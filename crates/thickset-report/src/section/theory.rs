//! What R2ET's theory says of the first rows, beside what it leaves open.

use thickset::audit::Audit;
use thickset::theory::{MARGINS, TheoryRow};

use super::name;
use crate::number::{count, counted, listed, percent, plain};
use crate::prose::Nouns;

/// Rows that are shown; the JSON has all.
const MOST_ROWS: usize = 20;

/// The section's text and table.
pub struct Theory {
    /// What the numbers are, and why they bound nothing.
    pub said: Vec<String>,
    /// One line a row.
    pub lines: Vec<TheoryLine>,
    /// Rows that are in the JSON only.
    pub left_out: usize,
}

/// The line of a row.
pub struct TheoryLine {
    /// `row 17`.
    pub name: String,
    /// The pair with the least estimate.
    pub pair: String,
    /// Its gap, and the estimates below and above.
    pub thickness: String,
    /// The radius at the row.
    pub radius: String,
    /// Iterations by the theorem.
    pub bound: String,
    /// And those of the attack.
    pub taken: String,
    /// Shares of pairs whose gap is below each margin.
    pub risks: String,
}

/// The section; none where the audit has no theory.
pub fn of(audit: &Audit) -> Option<Theory> {
    let record = audit.theory.as_ref()?;
    let nouns = Nouns::of(audit);
    let rows = &record.rows;
    let line = |number: u64, found: &TheoryRow| TheoryLine {
        name: format!("{} {number}", nouns.row),
        pair: format!(
            "{} over {}",
            name(audit, found.thickness.ahead),
            name(audit, found.thickness.behind)
        ),
        thickness: format!(
            "{}, from {} to {}",
            plain(found.thickness.gap),
            plain(found.thickness.lower),
            plain(found.thickness.upper)
        ),
        radius: found.radius.map_or("no limit".to_owned(), plain),
        bound: format!("{:.1e}", found.iterations.bound),
        taken: format!(
            "{}, {}",
            count(found.iterations.taken),
            if found.iterations.flipped {
                "a pair flipped"
            } else {
                "no pair flipped"
            }
        ),
        risks: listed_risks(found),
    };
    let shown = rows.iter().take(MOST_ROWS);
    Some(Theory {
        said: said(record.radius, rows.len(), &nouns),
        lines: shown.map(|row| line(row.row, &row.theory)).collect(),
        left_out: rows.len().saturating_sub(MOST_ROWS),
    })
}

fn listed_risks(found: &TheoryRow) -> String {
    let risks = found.margin_risk.iter();
    let risks: Vec<String> = risks.map(|risk| percent(risk.risk)).collect();
    risks.join(", ")
}

fn said(radius: f64, rows: usize, nouns: &Nouns) -> Vec<String> {
    let margins: Vec<String> = MARGINS.iter().map(|multiple| plain(*multiple)).collect();
    vec![
        format!(
            "R2ET's propositions and theorems, evaluated at the first {} in an l2 ball of {} in which everything may move. None of these numbers is a \
             guarantee.",
            counted(rows, nouns.row, nouns.rows),
            plain(radius)
        ),
        "Prop. 4.4 estimates the thickness of a pair, the mean gap between its importances within the ball, from the Hessian at the row; a bound would need \
         the largest Hessian of the whole ball. The pair shown is the one with the lowest estimate. Prop. 4.5 has the radius within which no pair changes \
         places, again with the Hessian at the row alone; where a ReLU switches, the gradient jumps and no Hessian says so. Radii that hold are the certified \
         ones."
            .to_owned(),
        "Theorem 5.1 bounds the iterations of the multi-objective attack by constants that are maxima over all inputs. Here they are the largest at five \
         points of the ball, so the number is an estimate from below. Beside it stand the iterations that the attack took."
            .to_owned(),
        format!(
            "Theorem 5.2 bounds how often rankings change by the empirical margin risk, the share of pairs whose gap is below u, plus a term with the covering \
             number N(F, εu/8) of all explanations of a class of models. Nobody can compute that number, so it stays symbolic; the risks are those for u of {} \
             times the row's mean gap.",
            listed(&margins)
        ),
    ]
}
