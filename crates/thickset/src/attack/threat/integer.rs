//! Integer columns: values that are whole in the column's own unit stay whole.

use super::{Threat, ThreatConfig, ThreatPart};
use crate::Result;
use crate::check::as_f64;
use crate::data::{FeatureKind, Schema};
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "integer",
    label: "integer columns",
    family: Family::Threat,
    summary: "Whole numbers stay whole, in the column's own unit",
    formula: "offset_i + factor_i x'_i is whole",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// Share of a unit that an encoded value in single precision may be off.
const NEAR: f64 = 1e-3;

/// A feature that stays whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) feature: usize,
    offset: f64,
    factor: f64,
}

impl Whole {
    /// The whole number between `x` and `z` that is nearest to `z`, encoded; `x` itself if there is none.
    pub(super) fn settle(&self, x: f64, z: f64) -> f64 {
        let decode = |encoded: f64| self.offset + self.factor * encoded;
        let (from, to) = (decode(x), decode(z));
        let nearest = to.round();
        let whole = if (to - nearest).abs() < NEAR {
            nearest
        } else if to > from {
            to.floor()
        } else {
            to.ceil()
        };
        let passed = if to > from {
            whole <= from
        } else {
            whole >= from
        };
        if passed {
            return x;
        }
        let encoded = (whole - self.offset) / self.factor;
        // Never beyond z, which the other parts of the set allow.
        if z > x {
            encoded.min(z)
        } else {
            encoded.max(z)
        }
    }

    /// The whole numbers from one encoded value to another, encoded and in between them; none where there are more than `most`.
    pub(super) fn between(&self, low: f64, high: f64, most: usize) -> Option<Vec<f64>> {
        let ends = [low, high].map(|encoded| self.offset + self.factor * encoded);
        let first = (ends[0].min(ends[1]) - NEAR).ceil();
        let last = (ends[0].max(ends[1]) + NEAR).floor();
        let fits = last - first < as_f64(most);
        let encoded = |step: usize| {
            let encoded = (first + as_f64(step) - self.offset) / self.factor;
            (first + as_f64(step) <= last).then(|| encoded.clamp(low, high))
        };
        fits.then(|| (0..most).map_while(encoded).collect())
    }

    /// Whether two encoded values stand for the same whole number.
    pub(super) fn is_same(&self, a: f64, b: f64) -> bool {
        (self.factor * (a - b)).abs() < NEAR
    }
}

/// The part.
pub(super) struct Integer;

impl ThreatPart for Integer {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        for (feature, meaning) in schema.features.iter().enumerate() {
            let is_number = matches!(
                meaning.kind,
                FeatureKind::Number | FeatureKind::Pixel { .. }
            );
            if config.integer && meaning.integer && is_number {
                threat.whole.push(Whole {
                    feature,
                    offset: meaning.offset,
                    factor: meaning.factor,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_whole_number_on_the_way_is_taken() {
        // An age of 40 + 10 z years.
        let age = Whole {
            feature: 0,
            offset: 40.0,
            factor: 10.0,
        };
        // From 40 towards 42.7, 37.3 and 40.6 years.
        for (to, expected) in [(0.27, 0.2), (-0.27, -0.2), (0.06, 0.0)] {
            assert!((age.settle(0.0, to) - expected).abs() < 1e-12, "{to}");
        }
        // Single precision: 41.9999 is 42.
        assert!((age.settle(0.0, 0.199_99) - 0.199_99).abs() < 1e-12);
        // A row of 40.5 years keeps its half where no whole number is reached.
        assert!((age.settle(0.05, 0.08) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn whole_numbers_between_two_values_are_listed_with_those_that_rounding_left_short() {
        let age = Whole {
            feature: 0,
            offset: 40.0,
            factor: 10.0,
        };
        // From 38.0001 to 41.9999 years: 38 and 42 count, no further than the ends.
        let found = age.between(-0.199_99, 0.199_99, 5).unwrap();
        crate::toy::assert_close(&found, &[-0.199_99, -0.1, 0.0, 0.1, 0.199_99]);
        assert!(age.between(-0.199_99, 0.199_99, 4).is_none());
        assert_eq!(age.between(0.01, 0.09, 4), Some(Vec::new()));
        assert!(age.between(f64::NEG_INFINITY, 0.0, 4).is_none());
        assert!(age.is_same(0.1, 0.100_05) && !age.is_same(0.1, 0.100_5));
    }

    #[test]
    fn a_row_that_reaches_no_other_whole_number_stays_to_the_last_bit() {
        let age = Whole {
            feature: 0,
            offset: 40.0,
            factor: 10.0,
        };
        // 40 years, and a little more that no double shows beside them.
        let x = 1e-17;
        for to in [0.06, -0.06] {
            assert_eq!(age.settle(x, to).to_bits(), x.to_bits(), "{to}");
        }
    }

    #[test]
    fn a_whole_number_within_single_precision_counts_as_reached() {
        let count = Whole {
            feature: 0,
            offset: -1.0,
            factor: 2.0,
        };
        // -1 + 2 * 2 = 3 goes to 5.0008 or 4.9992, both nearly 5; 4.99 is on the way to 5, and 4 is reached.
        assert!((count.settle(2.0, 3.0004) - 3.0).abs() < 1e-12);
        assert!((count.settle(2.0, 2.9996) - 2.9996).abs() < 1e-12);
        assert!((count.settle(2.0, 2.995) - 2.5).abs() < 1e-12);
        // Downwards from 3: 1.0008, 0.9992 and 1.01.
        assert!((count.settle(2.0, 1.0004) - 1.0004).abs() < 1e-12);
        assert!((count.settle(2.0, 0.9996) - 1.0).abs() < 1e-12);
        assert!((count.settle(2.0, 1.005) - 1.5).abs() < 1e-12);
    }

    #[test]
    fn whole_numbers_and_pixels_stay_whole_where_that_is_asked() {
        let mut schema = crate::data::Schema::table(&["a", "b", "c"]);
        schema.features[0].integer = true;
        schema.features[2].integer = true;
        schema.features[2].kind = FeatureKind::Level { values: vec![] };
        let whole = |integer| {
            let config = ThreatConfig {
                integer,
                ..ThreatConfig::papers()
            };
            let threat = config.check(&schema).unwrap();
            threat
                .whole
                .iter()
                .map(|whole| whole.feature)
                .collect::<Vec<_>>()
        };
        assert_eq!(whole(true), [0]);
        assert!(whole(false).is_empty());
    }
}
