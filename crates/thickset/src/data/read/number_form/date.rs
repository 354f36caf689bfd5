//! Dates in several orders, as days since 1970-01-01: `2024-01-31`, `31.01.2024`, `01/31/2024 2:30 PM`, `Jan 31, 2024`, `Dec-2015`.

use serde::{Deserialize, Serialize};

use super::clock;

/// Which part of a date comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// `2024-01-31`, as ISO 8601 has it.
    YearMonthDay,
    /// `31.01.2024`, `31 January 2024`.
    DayMonthYear,
    /// `01/31/2024`, `Jan 31, 2024`.
    MonthDayYear,
    /// `Dec-2015`: the first day of the month.
    MonthYear,
    /// `20240131`.
    Compact,
}

impl DateOrder {
    /// All orders, in the order in which they are tried.
    pub(in crate::data) const ALL: [Self; 5] = [
        Self::YearMonthDay,
        Self::DayMonthYear,
        Self::MonthDayYear,
        Self::MonthYear,
        Self::Compact,
    ];

    pub(super) fn described(self) -> &'static str {
        match self {
            Self::YearMonthDay => "year, month, day",
            Self::DayMonthYear => "day, month, year",
            Self::MonthDayYear => "month, day, year",
            Self::MonthYear => "month, year",
            Self::Compact => "year, month, day without marks",
        }
    }
}

/// The date of so many days since 1970-01-01, as ISO 8601 has it, with the time where there is one; the month alone where the order
/// has no day. None beyond the years 0 to 9999.
#[expect(clippy::cast_possible_truncation, reason = "the size was checked")]
pub(super) fn written(order: DateOrder, days: f64) -> Option<String> {
    // 9999-12-31; and 0000-03-01, before which the count of eras below would be negative.
    if !(-719_468.0..2_932_897.0).contains(&days) {
        return None;
    }
    let minutes = (days * 24.0 * 60.0).round() as i64;
    let (day, minute) = (minutes.div_euclid(24 * 60), minutes.rem_euclid(24 * 60));
    // Years that begin in March, in eras of 400 years: the leap day comes last.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let day = if order == DateOrder::MonthYear {
        String::new()
    } else {
        format!("-{of_month:02}")
    };
    let time = if minute == 0 {
        String::new()
    } else {
        format!(" {:02}:{:02}", minute / 60, minute % 60)
    };
    Some(format!("{year:04}-{month:02}{day}{time}"))
}

/// The days since 1970-01-01 that a date stands for, with a fraction for its time; `None` if it is not in this order.
pub(super) fn parse(order: DateOrder, text: &str) -> Option<f64> {
    let text = text.trim();
    // The longest date with a time and a zone has fewer letters.
    if text.len() > 48 || !text.is_ascii() {
        return None;
    }
    let (date, time) = split(text);
    let day_part = time.map_or(Some(0.0), day_share)?;
    let mut parts = date
        .split(|letter| "-/., ".contains(letter))
        .filter(|part| !part.is_empty());
    let (first, second, third) = (parts.next()?, parts.next(), parts.next());
    if parts.next().is_some() {
        return None;
    }
    let (year, month, day) = match (order, second, third) {
        (DateOrder::YearMonthDay, Some(second), Some(third)) if first.len() == 4 => (
            number(first)?,
            number(second).or_else(|| name(second))?,
            number(third)?,
        ),
        (DateOrder::DayMonthYear, Some(second), Some(third)) => (
            year(third)?,
            number(second).or_else(|| name(second))?,
            number(first)?,
        ),
        (DateOrder::MonthDayYear, Some(second), Some(third)) => (
            year(third)?,
            number(first).or_else(|| name(first))?,
            number(second)?,
        ),
        (DateOrder::MonthYear, Some(second), None) => (year(second)?, name(first)?, 1),
        (DateOrder::Compact, None, None) if first.len() == 8 && number_of(first, 8).is_some() => (
            number_of(&first[..4], 4)?,
            number(&first[4..6])?,
            number(&first[6..])?,
        ),
        _ => return None,
    };
    let is_date = (1000..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of(year, month)).contains(&day);
    is_date.then(|| days(year, month, day) + day_part)
}

/// The date and the time after it, if there is one.
fn split(text: &str) -> (&str, Option<&str>) {
    let Some(colon) = text.find(':') else {
        return (text, None);
    };
    match text[..colon].rfind([' ', 'T']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// A time as a share of a day. A zone moves it to UTC.
fn day_share(time: &str) -> Option<f64> {
    let (time, zone) = if let Some(time) = time.strip_suffix('Z') {
        (time, 0.0)
    } else if let Some(at) = time.rfind(['+', '-']) {
        let sign = if time[at..].starts_with('-') {
            -1.0
        } else {
            1.0
        };
        let digits: String = time[at + 1..]
            .chars()
            .filter(|letter| *letter != ':')
            .collect();
        let (hours, minutes) = match digits.len() {
            2 => (number(&digits)?, 0),
            4 => (number(&digits[..2])?, number(&digits[2..])?),
            _ => return None,
        };
        (
            time[..at].trim_end(),
            sign * (f64::from(hours) + f64::from(minutes) / 60.0),
        )
    } else {
        (time.strip_suffix(" UTC").unwrap_or(time), 0.0)
    };
    let hours = clock::hours(time).filter(|hours| *hours <= 24.0)?;
    Some((hours - zone) / 24.0)
}

fn number(text: &str) -> Option<i32> {
    number_of(text, 4)
}

fn number_of(text: &str, most: usize) -> Option<i32> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Four digits, or two: those below 70 are of this century.
fn year(text: &str) -> Option<i32> {
    match text.len() {
        4 => number(text),
        2 => number(text).map(|year| if year < 70 { 2000 + year } else { 1900 + year }),
        _ => None,
    }
}

/// A month by its English name or the first three letters of it.
fn name(text: &str) -> Option<i32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let lower = text.to_ascii_lowercase();
    let found = NAMES.iter().position(|name| {
        *name == lower
            || (lower.len() == 3 && name.starts_with(&lower))
            || (lower == "sept" && *name == "september")
    })?;
    i32::try_from(found + 1).ok()
}

fn days_of(year: i32, month: i32) -> i32 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i32, month: i32, day: i32) -> f64 {
    // Years that begin in March, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let months = (month + 9) % 12;
    let before = 365 * year + year / 4 - year / 100 + year / 400;
    let in_year = (153 * months + 2) / 5 + day - 1;
    f64::from(before + in_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970() {
        use DateOrder::{Compact, DayMonthYear, MonthDayYear, MonthYear, YearMonthDay};
        for (order, text, expected) in [
            (YearMonthDay, "1970-01-01", 0.0_f64),
            (YearMonthDay, "2000-03-01", 11_017.0),
            (YearMonthDay, "1969-12-31", -1.0),
            (YearMonthDay, "2024/02/29", 19_782.0),
            (YearMonthDay, "1970-01-02T12:00:00Z", 1.5),
            (YearMonthDay, "1970-01-02 12:00:00.000+06:00", 1.25),
            (YearMonthDay, "1970-01-02 06:00 UTC", 1.25),
            (DayMonthYear, "31.12.1999", 10_956.0),
            (DayMonthYear, "1 Mar 2000", 11_017.0),
            (DayMonthYear, "01-MAR-00", 11_017.0),
            (MonthDayYear, "12/31/1999 6:00 PM", 10_956.75),
            (MonthDayYear, "March 1, 2000", 11_017.0),
            (MonthYear, "Dec-2015", 16_770.0),
            (Compact, "20000301", 11_017.0),
        ] {
            let found = parse(order, text);
            assert_eq!(
                found.map(f64::to_bits),
                Some(expected.to_bits()),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn what_is_no_date_of_this_order_is_none() {
        use DateOrder::{Compact, DayMonthYear, MonthDayYear, YearMonthDay};
        for (order, text) in [
            (YearMonthDay, "2023-02-29"),
            (YearMonthDay, "31.12.1999"),
            (YearMonthDay, "2024-13-01"),
            (DayMonthYear, "12/31/1999"),
            (MonthDayYear, "31/12/1999"),
            (DayMonthYear, "1.2.3.4"),
            (Compact, "20241301"),
            (Compact, "2024"),
            (YearMonthDay, "2024-01-01 25:00"),
            (YearMonthDay, ""),
            (YearMonthDay, "２０２４-01-01"),
        ] {
            assert_eq!(parse(order, text), None, "{order:?} {text}");
        }
    }
}
