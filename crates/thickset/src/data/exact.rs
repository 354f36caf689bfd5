//! Numbers in JSON that come back with every bit, also those that JSON has no number for: they are written as texts. A text
//! is read for any number, as files of earlier versions have them.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde calls"
)]
pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.collect_str(value)
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(Number)
}

struct Number;

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a whole number that was written from a double"
    )]
    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a whole number that was written from a double"
    )]
    fn visit_u64<E: Error>(self, number: u64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        text.parse()
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize)]
    struct Held(#[serde(with = "super")] f64);

    #[test]
    fn every_bit_comes_back() {
        for value in [
            0.1 + 0.2,
            1.0,
            -0.0,
            f64::MIN_POSITIVE / 3.0,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ] {
            let text = serde_json::to_string(&Held(value)).unwrap();
            let Held(back) = serde_json::from_str(&text).unwrap();
            assert_eq!(back.to_bits(), value.to_bits(), "{text}");
        }
        assert_eq!(serde_json::to_string(&Held(0.5)).unwrap(), "0.5");
        let Held(old) = serde_json::from_str("\"0.5\"").unwrap();
        assert_eq!(old.to_bits(), 0.5_f64.to_bits());
        let Held(whole) = serde_json::from_str("2").unwrap();
        assert_eq!(whole.to_bits(), 2.0_f64.to_bits());
        for (text, problem) in [
            (
                "\"half\"",
                "invalid value: string \"half\", expected a number",
            ),
            ("true", "invalid type: boolean `true`, expected a number"),
        ] {
            let refused = serde_json::from_str::<Held>(text).err().unwrap();
            assert!(refused.to_string().contains(problem), "got {refused}");
        }
    }
}
