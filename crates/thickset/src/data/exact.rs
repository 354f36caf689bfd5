//! Numbers in JSON that come back with every bit, also those that JSON has no number for: they are written as texts. A text
//! is read for any number, as files of earlier versions have them.

use serde::{Deserialize, Deserializer, Serializer};

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
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(number) => Ok(number),
        Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

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
        assert!(serde_json::from_str::<Held>("\"half\"").is_err());
    }
}
