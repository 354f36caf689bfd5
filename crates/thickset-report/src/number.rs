//! Numbers as a reader likes them: shares in per cent, scores with three decimals, thousands apart.

use thickset::audit::figure::Unit;
use thickset::statistics::Interval;

/// Written where there is no number.
pub const NONE: &str = "n/a";

/// Digits that a number in a column's own unit is worth.
const DIGITS: i32 = 3;

/// 0.8413 as `84.1%`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    let shown = format!("{:.1}", share * 100.0);
    let shown = match shown.as_str() {
        // Only what is exactly all or nothing says so.
        "100.0" if share < 1.0 => "99.9",
        "0.0" | "-0.0" if share > 0.0 => "0.1",
        "100.0" => "100",
        "0.0" | "-0.0" => "0",
        other => other,
    };
    format!("{shown}%")
}

/// A difference of shares in points: 0.159 as `15.9 points`.
pub fn points(difference: f64) -> String {
    if !difference.is_finite() {
        return NONE.to_owned();
    }
    let points = format!("{:.1}", difference.abs() * 100.0);
    let noun = if points == "1.0" { "point" } else { "points" };
    format!("{points} {noun}")
}

/// 0.86142 as `0.861`.
pub fn score(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.3}")
    } else {
        NONE.to_owned()
    }
}

/// How a number is written.
pub type Style = fn(f64) -> String;

/// How a figure of an audit is written.
pub fn style(unit: Unit) -> Style {
    match unit {
        Unit::Share => percent,
        Unit::Score => score,
    }
}

/// `82.9% to 85.3%`.
pub fn interval(interval: Option<Interval>, style: Style) -> Option<String> {
    let Interval { low, high } = interval?;
    // Where all rows agree there is nothing to give a range of.
    let is_worth = low.is_finite() && high.is_finite() && low < high;
    is_worth.then(|| format!("{} to {}", style(low), style(high)))
}

/// A number without a meaning of its own: whole numbers as they are, others with about three digits, thousands apart.
pub fn plain(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e12).contains(&size) {
        return format!("{value:.2e}");
    }
    if (value - value.round()).abs() < 1e-9 * size {
        return with_thousands(&format!("{value:.0}"));
    }
    let decimals = decimals(size);
    let shown = format!("{value:.decimals$}");
    let shown = if shown.contains('.') {
        shown.trim_end_matches('0').trim_end_matches('.')
    } else {
        &shown
    };
    with_thousands(shown)
}

/// Decimals that leave [`DIGITS`] digits.
fn decimals(size: f64) -> usize {
    // Far below the range of i32 for any finite size.
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm")]
    let before = size.log10().floor() as i32;
    usize::try_from(DIGITS - 1 - before).unwrap_or(0)
}

/// 12345 as `12,345`.
pub fn count(count: usize) -> String {
    with_thousands(&count.to_string())
}

/// `1 row`, `12,345 rows`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn with_thousands(number: &str) -> String {
    let (sign, number) = number
        .strip_prefix('-')
        .map_or(("", number), |rest| ("-", rest));
    let (whole, rest) = number.split_at(number.find('.').unwrap_or(number.len()));
    let mut spaced = String::from(sign);
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            spaced.push(',');
        }
        spaced.push(digit);
    }
    spaced + rest
}

/// A share of a whole; none of nothing.
pub fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| as_f64(part) / as_f64(whole))
}

/// A count as a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows and features are far below 2^53"
)]
pub fn as_f64(count: usize) -> f64 {
    count as f64
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_all_is_a_hundred_per_cent() {
        let written: Vec<String> = [1.0, 0.99999, 0.8413, 0.00001, 0.0, f64::NAN]
            .map(percent)
            .into();
        assert_eq!(written, ["100%", "99.9%", "84.1%", "0.1%", "0%", NONE]);
    }

    #[test]
    fn plain_numbers_have_about_three_digits() {
        let written: Vec<String> = [
            0.0,
            31.0,
            31.04,
            1_234_567.0,
            1234.5,
            0.012_345,
            -0.5,
            3e-7,
            2.0e15,
            -12.0,
        ]
        .map(plain)
        .into();
        assert_eq!(
            written,
            [
                "0",
                "31",
                "31",
                "1,234,567",
                "1,234",
                "0.0123",
                "-0.5",
                "3.00e-7",
                "2.00e15",
                "-12"
            ]
        );
    }

    #[test]
    fn lists_read_as_sentences() {
        let of = |items: &[&str]| {
            listed(
                &items
                    .iter()
                    .map(|one| (*one).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            (of(&[]), of(&["a"]), of(&["a", "b", "c"])),
            (String::new(), "a".into(), "a, b and c".into())
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        let written: Vec<String> = [1, 999, 1000, 1_234_567].map(count).into();
        assert_eq!(written, ["1", "999", "1,000", "1,234,567"]);
    }
}
