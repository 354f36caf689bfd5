//! Audits a model file on data and writes `audit.json` and `report.html`.
//!
//! `cargo run --release -p thickset --example audit_a_model -- runs/loans/model.safetensors loans.csv`

use std::path::Path;

use thickset::Model;
use thickset::model::{AuditOptions, RowsConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, data] = &arguments[..] else {
        return Err("expected a model file and a dataset's name or file".into());
    };
    let model = Model::load(Path::new(model))?;
    let opened = model.open_labelled_rows(&RowsConfig {
        data: data.clone(),
        ..RowsConfig::default()
    })?;
    let options = AuditOptions {
        require: vec!["p_at_k>=0.8".to_owned()],
        ..AuditOptions::default()
    };
    let audit = model.audit(&opened.rows(), &options)?;
    std::fs::write("audit.json", audit.to_bytes())?;
    for requirement in &audit.gate {
        let verdict = if requirement.holds { "holds" } else { "fails" };
        println!("{} {verdict}", requirement.text);
    }
    std::fs::write("report.html", thickset_report::audit(&[audit])?)?;
    Ok(())
}
