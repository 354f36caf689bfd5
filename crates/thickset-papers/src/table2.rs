//! Table 2: P@k under `ERAttack` where the attacked explanation is Grad, SmoothGrad or Integrated Gradients. The models are
//! those of Table 1, trained for Grad.

use thickset::Result;
use thickset::bench::Bench;
use thickset::explain::{ExplainConfig, ExplanationConfig, integrated_gradients, smooth_grad};

use crate::column::{Better, Column, PERCENT};
use crate::draft::Draft;
use crate::lab::{Lab, er_attack, explain};
use crate::measure::Measure;
use crate::options::Effort;
use crate::paper;
use crate::sheet::{Printed, of_paper, sheet};

/// Test rows of a quick run: an explanation here costs 50 or 100 gradients, and so does every step of an attack on it.
const QUICK_ROWS: usize = 100;

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut options = lab.options.clone();
    if options.effort == Effort::Quick {
        options.rows.get_or_insert(QUICK_ROWS);
    }
    let lab = &Lab::new(&options, lab.talk)?;
    let mut draft = Draft::new(
        "table2",
        "Table 2: P@k under ERAttack for Grad, SmoothGrad and Integrated Gradients",
    );
    draft.setting("explanations", "SmoothGrad: 50 draws of variance 0.5; Integrated Gradients: 100 points from 0, as the paper");
    let methods = [
        ("Grad", ExplanationConfig::default()),
        (
            "SG",
            ExplanationConfig::SmoothGrad(smooth_grad::SmoothGradConfig::default()),
        ),
        (
            "IG",
            ExplanationConfig::IntegratedGradients(
                integrated_gradients::IntegratedGradientsConfig::default(),
            ),
        ),
    ];
    let printed = Printed {
        table: "table2",
        numbers: |_| &["Grad", "SG", "IG"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    sheet(lab, &mut draft, "P@k in per cent", &printed, |_, bed| {
        let grid = lab.grid(bed, of_paper(lab, bed, "table2")?)?;
        let mut columns = Vec::new();
        for (index, (name, explanation)) in methods.iter().enumerate() {
            let found = lab.measure_chosen(bed, &grid, name, |field| Measure::Attack {
                attack: er_attack(field),
                explain: ExplainConfig {
                    explanation: explanation.clone(),
                    ..explain(field)
                },
            })?;
            let how = (PERCENT, Better::Higher);
            columns.push(Column::of_rows(
                (*name).to_owned(),
                &grid,
                &found,
                "precision",
                how,
                |entry| paper::number("table2", &bed.name, &entry.id, index),
            )?);
        }
        Ok((grid, columns))
    })?;
    Ok(draft.done())
}
