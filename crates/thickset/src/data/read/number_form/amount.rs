//! Amounts as people write them: `1.234,56`, `$1,234.50`, `12,5 %`, `CHF 1'234.50`, `(300)`, `36 months`.

use serde::{Deserialize, Serialize};

use crate::data::read::table::parse_number;

/// The marks and the unit of a column's numbers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountForm {
    /// Between whole and fraction: `.` or `,`.
    pub decimal: char,
    /// Between groups of digits: `.`, `,`, an apostrophe or a space, which stands for every kind of space.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub thousands: Option<char>,
    /// What stands before or after every number; a number without it is read as well.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
}

/// Signs of money and shares that may touch a number.
const SYMBOLS: &str = "$€£¥₹₽₩₺₴฿₫₪₦₱¢%‰°";

/// Words for units that may touch a number, like `70kg`. Other letters make it a code, like `A12`.
const TOUCHING: [&str; 24] = [
    "EUR", "USD", "GBP", "CHF", "JPY", "kr", "zł", "Kč", "Ft", "kg", "g", "mg", "lb", "lbs", "km",
    "cm", "mm", "mi", "ft", "h", "min", "ms", "kWh", "°C",
];

/// The longest word that is a unit.
const LONGEST_UNIT: usize = 16;

/// A text taken apart: its sign, its digits with marks, and what stands beside them.
pub(in crate::data::read) struct Written<'a> {
    negative: bool,
    digits: &'a str,
    pub(in crate::data::read) unit: &'a str,
}

/// Takes a text apart; `None` if it is not one number with at most a unit.
pub(in crate::data::read) fn take_apart(text: &str) -> Option<Written<'_>> {
    let text = text.trim();
    let (inside, in_brackets) = match text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
        Some(inside) => (inside.trim(), true),
        None => (text, false),
    };
    let is_digit = |letter: char| letter.is_ascii_digit();
    let mut start = inside.find(is_digit)?;
    let end = inside.rfind(is_digit)? + 1;
    // A fraction without its zero, like `.5`.
    if inside[..start].ends_with(['.', ','])
        && !inside[..start - 1].ends_with(char::is_alphanumeric)
    {
        start -= 1;
    }
    let (mut before, mut after) = (inside[..start].trim_end(), inside[end..].trim_start());
    let touches = [before.len() == start, after.len() == inside.len() - end];
    let mut negative = in_brackets;
    let is_sign = |letter: char| "-+−".contains(letter);
    if let Some(rest) = before
        .strip_prefix(is_sign)
        .or(before.strip_suffix(is_sign))
    {
        negative |= !before.starts_with('+') && !before.ends_with('+');
        before = rest.trim();
    }
    if let Some(rest) = after.strip_suffix(['-', '−']) {
        negative = true;
        after = rest.trim_end();
    }
    // A whole number with the mark of a fraction, like `5.`.
    if after == "." || after == "," {
        after = "";
    }
    let unit = match (before, after) {
        (unit, "") if unit.is_empty() || is_unit_before(unit, touches[0]) => unit,
        ("", unit) if is_unit_after(unit, touches[1]) => unit,
        _ => return None,
    };
    Some(Written {
        negative,
        digits: &inside[start..end],
        unit,
    })
}

fn is_symbol(text: &str) -> bool {
    text.chars().count() <= 3
        && text.contains(|letter| SYMBOLS.contains(letter))
        && text
            .chars()
            .all(|letter| SYMBOLS.contains(letter) || letter.is_ascii_uppercase())
}

/// `€`, `US$`, or a currency's three letters with a space.
fn is_unit_before(unit: &str, touches: bool) -> bool {
    let is_code = unit.len() == 3 && unit.chars().all(|letter| letter.is_ascii_uppercase());
    is_symbol(unit) || (is_code && (!touches || TOUCHING.contains(&unit)))
}

/// `%`, `kg`, or any word with a space before it.
fn is_unit_after(unit: &str, touches: bool) -> bool {
    let is_word = unit.chars().count() <= LONGEST_UNIT
        && unit
            .chars()
            .all(|letter| letter.is_alphabetic() || "/²³.".contains(letter))
        && unit.starts_with(char::is_alphabetic);
    is_symbol(unit) || TOUCHING.contains(&unit) || (is_word && !touches)
}

impl AmountForm {
    /// The number; `None` if the text is not written this way.
    pub(super) fn parse(&self, text: &str) -> Option<f64> {
        if self.decimal == '.'
            && let Some(value) = parse_number(text)
        {
            return Some(value);
        }
        let written = take_apart(text)?;
        let is_known = written.unit.is_empty() || self.unit.as_deref() == Some(written.unit);
        if !is_known {
            return None;
        }
        let value = self.value(written.digits)?;
        Some(if written.negative { -value } else { value })
    }

    /// The value of digits with marks.
    fn value(&self, digits: &str) -> Option<f64> {
        let (whole, fraction) = match digits.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, fraction),
            None => (digits, ""),
        };
        let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
            return None;
        }
        let mut plain = String::with_capacity(digits.len() + 2);
        let mut groups = 0;
        for group in whole.split(|letter| self.is_thousands(letter)) {
            // Groups of two are India's; the last one always has three.
            if !all_digits(group) || (groups > 0 && !(2..=3).contains(&group.len())) {
                return None;
            }
            plain.push_str(group);
            groups += 1;
        }
        let last = whole.rsplit(|letter| self.is_thousands(letter)).next()?;
        let first = whole.split(|letter| self.is_thousands(letter)).next()?;
        // The first of several groups is never `0`: `0,125` is a fraction.
        let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0');
        if groups > 1 && (last.len() != 3 || !is_first) {
            return None;
        }
        plain.push('.');
        plain.push_str(fraction);
        plain.push('0');
        plain.parse().ok().filter(|value: &f64| value.is_finite())
    }

    fn is_thousands(&self, letter: char) -> bool {
        match self.thousands {
            None => false,
            Some(' ') => matches!(letter, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}'),
            Some('\'') => matches!(letter, '\'' | '\u{2019}'),
            Some(mark) => letter == mark,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !['.', ','].contains(&self.decimal) {
            return Err(format!(
                "`decimal` must be `.` or `,`, got `{}`",
                self.decimal
            ));
        }
        match self.thousands {
            Some(mark) if mark == self.decimal || !".,' ".contains(mark) => Err(format!(
                "`thousands` must be another of `.`, `,`, `'` and a space, got `{mark}`"
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn described(&self) -> String {
        let example = match (self.thousands, self.decimal) {
            (Some(mark), decimal) => format!("1{mark}234{decimal}5"),
            (None, ',') => "1234,5".to_owned(),
            (None, _) => String::new(),
        };
        let unit = self.unit.as_deref();
        match (example.is_empty(), unit) {
            (true, None) => "numbers".to_owned(),
            (true, Some(unit)) => format!("numbers with the unit `{unit}`"),
            (false, None) => format!("numbers like `{example}`, read as 1234.5"),
            (false, Some(unit)) => {
                format!("numbers like `{example} {unit}`, read as 1234.5 with the unit `{unit}`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(decimal: char, thousands: Option<char>, unit: &str) -> AmountForm {
        AmountForm {
            decimal,
            thousands,
            unit: (!unit.is_empty()).then(|| unit.to_owned()),
        }
    }

    #[test]
    fn amounts_of_many_countries_are_read() {
        for (decimal, thousands, unit, text, value) in [
            (',', Some('.'), "", "1.234,56", 1234.56_f64),
            (',', Some('.'), "€", "-1.234.567,8 €", -1_234_567.8),
            (',', Some('.'), "€", "€ 12", 12.0),
            ('.', Some(','), "$", "$1,234.50", 1234.5),
            ('.', Some(','), "$", "-$5", -5.0),
            ('.', Some(','), "$", "$-5", -5.0),
            ('.', Some(','), "$", "($1,000)", -1000.0),
            ('.', Some(','), "", "12,34,567", 1_234_567.0),
            ('.', Some('\''), "CHF", "CHF 1'234.50", 1234.5),
            (',', Some(' '), "", "1\u{202f}234,5", 1234.5),
            (',', None, "%", "12,5 %", 12.5),
            ('.', None, "%", "13.56%", 13.56),
            ('.', None, "months", "36 months", 36.0),
            ('.', None, "kg", "70kg", 70.0),
            ('.', None, "", ".5", 0.5),
            ('.', None, "", "5.", 5.0),
            ('.', None, "", "100-", -100.0),
            ('.', None, "", "+7", 7.0),
        ] {
            let found = form(decimal, thousands, unit).parse(text);
            assert_eq!(found.map(f64::to_bits), Some(value.to_bits()), "{text}");
        }
    }

    #[test]
    fn codes_dates_and_other_units_are_no_amounts() {
        let euro = form(',', Some('.'), "€");
        for text in [
            "A12",
            "12A",
            "10.0.0.1",
            "12.01.2024",
            "2024-01-31",
            "1,2,3",
            "$5",
            "555-1234",
            "+43 660 123",
            "1.23.456,7.8",
            "",
            "-",
            "1.2345",
            ",",
            "1 2",
        ] {
            assert_eq!(euro.parse(text), None, "{text}");
        }
    }
}
