//! How the numbers of a column are written, where that is not the way of programs: amounts with a decimal comma, thousands marks
//! or a unit, dates, times of day. Found once, kept in the recipe, and the same for every file that is read by it.

mod amount;
mod clock;
mod date;

use serde::{Deserialize, Serialize};

pub use amount::AmountForm;
pub(super) use amount::take_apart;
pub use date::DateOrder;

/// How a column's numbers are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case"
)]
pub enum NumberForm {
    /// A number with marks or a unit, like `1.234,56 €`.
    Amount(AmountForm),
    /// A date, with a time or without; it becomes days since 1970-01-01.
    Date {
        /// Which of its numbers is what.
        order: DateOrder,
    },
    /// A time of day or a duration, like `14:30`; it becomes hours.
    Clock,
}

impl NumberForm {
    /// The number that a text stands for; `None` if it is not written this way.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<f64> {
        match self {
            Self::Amount(form) => form.parse(text),
            Self::Date { order } => date::parse(*order, text),
            Self::Clock => clock::hours(text),
        }
    }

    /// A number as a person would write it in this form: a date as 2024-01-31, a time as 14:30. None for amounts, which are numbers.
    #[must_use]
    pub fn written(&self, number: f64) -> Option<String> {
        match self {
            Self::Amount(_) => None,
            Self::Date { order } => date::written(*order, number),
            Self::Clock => clock::written(number),
        }
    }

    /// The unit of the numbers, if the form has one.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        match self {
            Self::Amount(form) => form.unit.as_deref(),
            Self::Date { .. } => Some("days since 1970-01-01"),
            Self::Clock => Some("hours"),
        }
    }

    /// What a person is told of columns that are read this way.
    #[must_use]
    pub fn described(&self) -> String {
        match self {
            Self::Amount(form) => form.described(),
            Self::Date { order } => {
                format!(
                    "dates ({}), read as days since 1970-01-01",
                    order.described()
                )
            }
            Self::Clock => "times, read as hours".to_owned(),
        }
    }

    /// Whether it can be read by.
    ///
    /// # Errors
    /// What was expected and what came.
    pub(in crate::data) fn check(&self) -> Result<(), String> {
        match self {
            Self::Amount(form) => form.check(),
            Self::Date { .. } | Self::Clock => Ok(()),
        }
    }
}

/// Words that stand for no number in a column of numbers, in lower case. In a column of texts they may be categories, so they
/// count only where numbers are expected.
const NO_NUMBER: [&str; 22] = [
    "-",
    "--",
    "---",
    "–",
    "—",
    ".",
    "..",
    "*",
    "n/a",
    "n.a.",
    "n.a",
    "na",
    "#n/a",
    "#na",
    "<na>",
    "none",
    "nil",
    "unknown",
    "missing",
    "not available",
    "k.a.",
    "keine angabe",
];

/// Whether a text stands for a missing value in a column of numbers.
#[must_use]
pub fn is_no_number(text: &str) -> bool {
    NO_NUMBER.iter().any(|word| word.eq_ignore_ascii_case(text))
        || matches!(text, "#NULL!" | "#DIV/0!" | "#VALUE!" | "#REF!" | "#NUM!")
        || text.starts_with("0000-00-00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_comes_back_from_a_recipe() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct Held {
            form: NumberForm,
        }
        for form in [
            NumberForm::Amount(AmountForm {
                decimal: ',',
                thousands: Some('.'),
                unit: Some("€".to_owned()),
            }),
            NumberForm::Amount(AmountForm {
                decimal: '.',
                thousands: None,
                unit: Some("%".to_owned()),
            }),
            NumberForm::Date {
                order: DateOrder::MonthDayYear,
            },
            NumberForm::Clock,
        ] {
            let held = Held { form };
            let text = toml::to_string(&held).unwrap();
            assert_eq!(toml::from_str::<Held>(&text).unwrap(), held, "{text}");
        }
    }

    #[test]
    fn dates_and_times_are_written_as_they_are_read() {
        let date = |order| NumberForm::Date { order };
        for (form, text, written) in [
            (date(DateOrder::YearMonthDay), "2024-02-29", "2024-02-29"),
            (date(DateOrder::DayMonthYear), "31.12.1969", "1969-12-31"),
            (date(DateOrder::DayMonthYear), "1.3.1900", "1900-03-01"),
            (
                date(DateOrder::MonthDayYear),
                "01/31/2024 2:30 PM",
                "2024-01-31 14:30",
            ),
            (date(DateOrder::MonthYear), "Dec-2015", "2015-12"),
            (NumberForm::Clock, "2:30 PM", "14:30"),
            (NumberForm::Clock, "7:05:30", "7:05:30"),
        ] {
            let number = form.parse(text).unwrap();
            assert_eq!(form.written(number).as_deref(), Some(written), "{text}");
        }
        assert_eq!(NumberForm::Clock.written(f64::NAN), None);
        assert_eq!(date(DateOrder::Compact).written(1e300), None);
    }

    #[test]
    fn words_for_no_value_are_not_numbers() {
        for word in ["-", "N/A", "n/a", "Unknown", "#DIV/0!", "NA"] {
            assert!(is_no_number(word), "{word}");
        }
        for text in ["0", "-1", "nobody", ""] {
            assert!(!is_no_number(text), "{text}");
        }
    }
}
