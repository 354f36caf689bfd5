//! Settings in one argument: a method's id, or an inline TOML table with its settings.

use serde::de::DeserializeOwned;

use crate::{Error, Result};

/// Reads `grad`, or `{ kind = "grad", of = "logit" }`.
pub(crate) fn parse<T: DeserializeOwned>(what: &'static str, text: &str) -> Result<T> {
    #[derive(serde::Deserialize)]
    struct Wrapped<T> {
        value: T,
    }
    let trimmed = text.trim();
    let value = if trimmed.starts_with('{') {
        trimmed.to_owned()
    } else {
        toml::Value::String(trimmed.to_owned()).to_string()
    };
    let wrapped: Wrapped<T> =
        toml::from_str(&format!("value = {value}")).map_err(|source| Error::Settings {
            what,
            text: text.to_owned(),
            problem: source.message().to_owned(),
        })?;
    Ok(wrapped.value)
}
