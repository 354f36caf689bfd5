//! In which range of a number the reasons are proved to stay, as a person is told it.

use super::Tested;
use crate::data::FeatureKind;
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
                let reasons = found[place].reasons.iter_mut();
                for reason in reasons.filter(|one| one.column == feature.column) {
                    let text = |number: f64| number_text(feature, rounded(number), encoding);
                    let clipped = encoding.and_then(|one| one.clipped(&feature.name));
                    reason.tolerance = Some(tolerated(&range, clipped, text));
                }
            }
        }
        Ok(())
    }
}

/// Share of a column's range within which a value counts as its end; encoded values are single precision.
const AT_THE_END: f64 = 1e-6;

/// A range in words. Values beyond the ends that a column is clipped to are to the model what the ends are, so the range of a row at
/// an end goes on beyond it.
fn tolerated(
    range: &ToleratedRange,
    clipped: Option<(f64, f64)>,
    text: impl Fn(f64) -> String,
) -> String {
    let at =
        |end: f64, (low, high): (f64, f64)| (range.value - end).abs() <= AT_THE_END * (high - low);
    match clipped {
        Some(ends) if at(ends.0, ends) => format!("{} or less", text(range.to)),
        Some(ends) if at(ends.1, ends) => format!("{} or more", text(range.from)),
        _ => format!("{} to {}", text(range.from), text(range.to)),
    }
}

/// A bound with four digits, towards the inside as far as rounding goes is not needed: it is told to people, and the exact one is
/// in the certificate.
fn rounded(number: f64) -> f64 {
    let size = number.abs();
    if size == 0.0 || !size.is_finite() {
        return number;
    }
    let unit = 10.0_f64.powf(size.log10().floor() - 3.0);
    (number / unit).round() * unit
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
            tolerated(&range(value), clipped, |number| format!("{number:.1}"))
        };
        let ends = Some((10.0, 90.0));
        assert_eq!(told(10.000_001, ends), "10.5 or less");
        assert_eq!(told(90.0, ends), "89.5 or more");
        assert_eq!(told(10.1, ends), "10.0 to 10.6");
        assert_eq!(told(90.0, None), "89.5 to 90.0");
    }
}
