//! In which range of a number the reasons are proved to stay, as a person is told it.

use super::Tested;
use crate::data::{DateOrder, FeatureKind, NumberForm};
use crate::model::{CertifyOptions, ToleratedRange};
use crate::reasons::{RowReasons, number_text};
use crate::{Result, Rows};

impl Tested<'_> {
    /// Says of each reason that is a number in which range it is proved to change none of the reasons by itself.
    pub(super) fn tolerate(
        &self,
        rows: &Rows<'_>,
        options: &CertifyOptions,
        places: &[usize],
        found: &mut [RowReasons],
    ) -> Result<()> {
        let schema = rows.schema();
        let named: Vec<Vec<String>> = places
            .iter()
            .map(|&place| {
                let reasons = found[place].reasons.iter();
                reasons.map(|one| one.column.clone()).collect()
            })
            .collect();
        let is_wanted = |row: usize, feature: usize| {
            let feature = &schema.features[feature];
            feature.kind == FeatureKind::Number && named[row].contains(&feature.column)
        };
        let ranges = self.deciding.tolerances_of(rows, options, &is_wanted)?;
        let encoding = self.deciding.description.encoding.as_ref();
        for (&place, ranges) in places.iter().zip(ranges) {
            for range in ranges {
                let feature = schema.features.iter().find(|one| one.name == range.feature);
                let Some(feature) = feature.filter(|_| range.from < range.to) else {
                    continue;
                };
                let form = encoding.and_then(|one| one.read.forms.get(&feature.column));
                let written = match form {
                    Some(NumberForm::Date { .. } | NumberForm::Clock) => Written::As(form),
                    _ if feature.integer => Written::Whole,
                    _ => Written::As(form),
                };
                let clipped = encoding.and_then(|one| one.clipped(&feature.name));
                let told = tolerated(&range, clipped, written, |number| {
                    number_text(feature, number, encoding)
                });
                let reasons = found[place].reasons.iter_mut();
                for reason in reasons.filter(|one| one.column == feature.column) {
                    reason.tolerance.clone_from(&told);
                }
            }
        }
        Ok(())
    }
}

/// Share of a column's range within which a value counts as its end; encoded values are single precision.
const AT_THE_END: f64 = 1e-6;

/// A range in words, which lies within the range that is proved and holds the row's own value; nothing where no short one does, or the value is
/// the only whole number in it. Values beyond the ends that a column is clipped to are to the model what the ends are, so the range of a row at
/// an end goes on beyond it.
fn tolerated(
    range: &ToleratedRange,
    clipped: Option<(f64, f64)>,
    written: Written<'_>,
    text: impl Fn(f64) -> String,
) -> Option<String> {
    let at =
        |end: f64, (low, high): (f64, f64)| (range.value - end).abs() <= AT_THE_END * (high - low);
    let from = written.inwards(range.from, range.value)?;
    let to = written.inwards(range.to, range.value)?;
    match clipped {
        Some(ends) if at(ends.0, ends) => Some(format!("{} or less", text(to))),
        Some(ends) if at(ends.1, ends) => Some(format!("{} or more", text(from))),
        _ if from < to => Some(format!("{} to {}", text(from), text(to))),
        _ => None,
    }
}

/// How the numbers of a column are written.
#[derive(Clone, Copy)]
enum Written<'f> {
    /// As whole numbers.
    Whole,
    /// In this form, if it is not the way of programs.
    As(Option<&'f NumberForm>),
}

/// Digits of a bound, if so few are enough, and the most that are told.
const DIGITS: std::ops::RangeInclusive<i32> = 4..=6;

/// Minutes of a day, and seconds of an hour.
const MINUTES: f64 = 1440.0;
const SECONDS: f64 = 3600.0;

/// A row's own value is of single precision: how far from a whole number it may be all the same.
const OFF_WHOLE: f64 = 1e-6;

impl Written<'_> {
    /// The first number from a bound on towards the row's own value that is written shortly, unless the value comes first. The exact bound is in
    /// the certificate.
    fn inwards(self, bound: f64, value: f64) -> Option<f64> {
        let sign = if value < bound { -1.0 } else { 1.0 };
        // By how many parts of one, or whole ones, a number goes on.
        let up =
            |(parts, ones): (f64, f64)| sign * (sign * bound * parts / ones).ceil() * ones / parts;
        let fits = |number: &f64| (sign * bound..=sign * value).contains(&(sign * number));
        match self {
            Self::Whole => {
                let size = value.abs().max(1.0);
                Some(up((1.0, 1.0))).filter(|number| sign * (number - value) <= OFF_WHOLE * size)
            }
            Self::As(Some(
                form @ NumberForm::Date {
                    order: DateOrder::MonthYear,
                },
            )) => {
                // A month stands for its first day.
                let is_first = |day: &f64| form.written(*day) != form.written(day - 1.0);
                (0..31_u8)
                    .map(|days| up((1.0, 1.0)) + sign * f64::from(days))
                    .find(is_first)
                    .filter(fits)
            }
            Self::As(Some(NumberForm::Date { .. })) => {
                [(1.0, 1.0), (MINUTES, 1.0)].map(up).into_iter().find(fits)
            }
            Self::As(Some(NumberForm::Clock)) => {
                [(60.0, 1.0), (SECONDS, 1.0)].map(up).into_iter().find(fits)
            }
            Self::As(_) if bound == 0.0 => Some(bound),
            Self::As(_) => {
                #[expect(clippy::cast_possible_truncation, reason = "a power of ten")]
                let before = bound.abs().log10().floor() as i32 + 1;
                let mut steps = DIGITS.map(|digits| {
                    let places = digits - before;
                    (10_f64.powi(places.max(0)), 10_f64.powi((-places).max(0)))
                });
                steps.find_map(|step| Some(up(step)).filter(fits))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_goes_on_beyond_the_end_that_a_value_was_clipped_to() {
        let range = |value: f64| ToleratedRange {
            feature: "income".to_owned(),
            unit: None,
            value,
            from: value.max(10.5) - 0.5,
            to: value.min(89.5) + 0.5,
        };
        let told = |value: f64, clipped| {
            tolerated(&range(value), clipped, Written::As(None), |number| {
                number.to_string()
            })
        };
        let ends = Some((10.0, 90.0));
        assert_eq!(told(10.000_001, ends).unwrap(), "10.5 or less");
        assert_eq!(told(90.0, ends).unwrap(), "89.5 or more");
        assert_eq!(told(10.25, ends).unwrap(), "10 to 10.75");
        assert_eq!(told(90.0, None).unwrap(), "89.5 to 90");
    }

    #[test]
    fn what_is_told_lies_within_what_is_proved_and_holds_the_value() {
        let told = |from: f64, value: f64, to: f64| {
            let range = ToleratedRange {
                feature: "income".to_owned(),
                unit: None,
                value,
                from,
                to,
            };
            tolerated(&range, None, Written::As(None), |number| number.to_string())
        };
        assert_eq!(
            told(17_861.2, 18_000.0, 18_059.37).unwrap(),
            "17870 to 18050"
        );
        assert_eq!(
            told(17_861.2, 17_863.0, 18_059.37).unwrap(),
            "17862 to 18050"
        );
        assert_eq!(
            told(0.024_507, 0.025, 0.048_836).unwrap(),
            "0.02451 to 0.04883"
        );
        assert_eq!(
            told(-3.456_78, -1.0, -0.000_123_456).unwrap(),
            "-3.456 to -0.0001235"
        );
        assert_eq!(told(0.0, 1.0, 2.0).unwrap(), "0 to 2");
        // No number of six digits lies between.
        assert_eq!(told(1.000_000_1, 1.000_000_2, 1.000_000_3), None);
    }

    #[test]
    fn dates_are_told_in_days_where_these_are_fine_enough_and_months_by_their_first() {
        let told = |order, from: f64, value: f64, to: f64| {
            let form = NumberForm::Date { order };
            let range = ToleratedRange {
                feature: "since".to_owned(),
                unit: None,
                value,
                from,
                to,
            };
            tolerated(&range, None, Written::As(Some(&form)), |day| {
                form.written(day).unwrap()
            })
        };
        let days = |from, value, to| told(DateOrder::YearMonthDay, from, value, to);
        // 18,273 is 2020-01-12.
        assert_eq!(
            days(18_273.004, 18_273.433, 18_275.236).unwrap(),
            "2020-01-12 00:06 to 2020-01-14"
        );
        assert_eq!(
            days(18_270.5, 18_273.0, 18_275.2).unwrap(),
            "2020-01-10 to 2020-01-14"
        );
        // From 2019-12-20 to 2020-03-10 only three months begin.
        let months = |from, value, to| told(DateOrder::MonthYear, from, value, to);
        assert_eq!(
            months(18_250.0, 18_262.0, 18_331.0).unwrap(),
            "2020-01 to 2020-03"
        );
        // From 1968-12-20 on, before days are counted.
        assert_eq!(
            months(-377.0, -365.0, -297.0).unwrap(),
            "1969-01 to 1969-03"
        );
    }

    #[test]
    fn whole_numbers_are_told_as_such() {
        let told = |from: f64, value: f64, to: f64, clipped| {
            let range = ToleratedRange {
                feature: "children".to_owned(),
                unit: None,
                value,
                from,
                to,
            };
            tolerated(&range, clipped, Written::Whole, |number| {
                format!("{number:.0}")
            })
        };
        assert_eq!(told(40.91, 42.000_001, 43.25, None).unwrap(), "41 to 43");
        assert_eq!(told(-2.5, 2.0, 4.03, None).unwrap(), "-2 to 4");
        assert_eq!(told(1.7, 1.999_999_9, 3.0, None).unwrap(), "2 to 3");
        // No other whole number is proved.
        assert_eq!(told(2.67, 3.0, 3.42, None), None);
        let ends = Some((0.0, 60.0));
        assert_eq!(told(59.16, 60.0, 60.0, ends).unwrap(), "60 or more");
    }
}
