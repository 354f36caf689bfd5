//! What three people would be told.

use thickset::audit::ReasonsRecord;
use thickset::reasons::RowReasons;

use super::columns::signed;
use crate::number::percent;

/// One person.
pub struct Person {
    /// `Row 17`.
    pub name: String,
    /// How sure the model is.
    pub said: String,
    /// The reasons: the sentence, what it adds, and how far it holds.
    pub reasons: Vec<(String, String, String)>,
    /// How far all of them hold.
    pub holds: Option<String>,
}

/// The people of a record.
pub fn of(record: &ReasonsRecord) -> Vec<Person> {
    record
        .samples
        .iter()
        .map(|row| person(record, row))
        .collect()
}

fn person(record: &ReasonsRecord, row: &RowReasons) -> Person {
    let held = |share: Option<f64>| match share {
        None => "–".to_owned(),
        Some(share) if share >= 1.0 => "holds".to_owned(),
        Some(share) if share > 0.0 => format!("holds to {} of the change", percent(share)),
        Some(_) => "gives way".to_owned(),
    };
    let holds = record.change.as_ref().and_then(|change| {
        let holds = row.holds?;
        Some(if holds >= 1.0 {
            format!("No attack found other reasons within {change}.")
        } else if holds > 0.0 {
            format!(
                "Within {} of this change no attack found other reasons: {change}.",
                percent(holds)
            )
        } else {
            format!("An attack found other reasons within an eighth of this change: {change}.")
        })
    });
    Person {
        name: format!("Row {}", row.row),
        said: format!(
            "{} probability of “{}”. All columns together add {} to the score, which is {} here and {} in the row it is compared with.",
            percent(row.probability),
            record.adverse,
            signed(row.sum),
            signed(row.score),
            signed(row.reference_score)
        ),
        reasons: row
            .reasons
            .iter()
            .map(|reason| {
                (
                    reason.text.clone(),
                    signed(reason.contribution),
                    held(reason.holds),
                )
            })
            .collect(),
        holds,
    }
}
