//! The parts of a model's report, each from the audit alone.

pub mod attacks;
pub mod certified;
pub mod columns;
pub mod decisions;
pub mod features;
pub mod first_change;
pub mod limit;
pub mod linear;
pub mod maps;
pub mod methods;
pub mod people;
pub mod reproduce;
pub mod stability;
pub mod theory;
pub mod tiles;
pub mod training;
pub mod worst;

use thickset::audit::Audit;

/// The name of what an explanation ranks; a number where it has none.
pub fn name(audit: &Audit, feature: usize) -> String {
    audit
        .data
        .features
        .get(feature)
        .cloned()
        .unwrap_or_else(|| format!("no. {}", feature + 1))
}
