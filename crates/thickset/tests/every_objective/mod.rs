//! All objectives that tests go through.

use std::fmt::Write as _;

use thickset::registry;

/// Every objective of the registry with weights that leave no term out of sight, and the variants that differ in code.
pub fn every_objective() -> Vec<String> {
    let mut all: Vec<String> = registry::family(registry::Family::Objective)
        .map(|info| {
            let mut text = format!("kind = \"{}\"\n", info.id);
            for setting in info.defaults {
                if setting.name.ends_with("weight") {
                    writeln!(text, "{} = 0.7", setting.name).unwrap();
                }
            }
            if info.id == "distinct" {
                // The borders of the overlap are constants of the gradient, so central differences see another one; `tests/segmented.rs` has it.
                text.push_str("distinctness = 0.0\n");
            }
            text
        })
        .collect();
    all.extend([
        "kind = \"r2et\"\npairs = \"closest\"\ngap_weight = 0.7\nhessian_weight = 0.7\nhessian = \"finite-difference\""
            .to_owned(),
        "kind = \"r2et\"\ngap = \"difference\"\npairs = \"mirrored\"\ngap_weight = 0.7\nhessian_weight = 0.0".to_owned(),
        "kind = \"r2et\"\npairs = \"mirrored\"\ngap_weight = 0.7\nhessian_weight = 0.0".to_owned(),
        "kind = \"r2et\"\npairs = \"boundary\"\ngap_weight = 0.7\nhessian_weight = 0.0".to_owned(),
        "kind = \"igr\"\nweight = 0.7\nbase = { kind = \"trades\" }".to_owned(),
        "kind = \"igr\"\nweight = 0.7\nbase = { kind = \"mart\" }".to_owned(),
    ]);
    all
}
