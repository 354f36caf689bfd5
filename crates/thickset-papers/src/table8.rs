//! Table 8: P@k under `ERAttack` of models trained from scratch and of models retrained from vanilla, whose ranking they keep;
//! and, beyond the paper, how the retrained ones do under the suite.

use thickset::Result;
use thickset::bench::Bench;

use crate::column::{Better, Column, PERCENT, labels, table};
use crate::draft::Draft;
use crate::goal::Goal;
use crate::lab::{Entry, Lab, Schema, attack, er_attack};
use crate::method::{Method, VANILLA};
use crate::paper;
use crate::sheet::{Printed, of_paper, sheet};

/// "At most 10 epochs".
const RETRAIN_EPOCHS: usize = 10;

/// Why there is no retrained number.
const NO_RETRAINING: &str = "it is another architecture, so it cannot begin with vanilla's weights";

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "table8",
        "Table 8: P@k under ERAttack from scratch and retrained",
    );
    let epochs = RETRAIN_EPOCHS.min(lab.options.training_epochs());
    draft.setting(
        "retraining",
        format!("at most {epochs} epochs from the same seed's vanilla, whose ranking is kept"),
    );
    let printed = Printed {
        table: "table8",
        numbers: |_| &["scratch", "retrained"],
        others: &[],
    };
    sheet(
        lab,
        &mut draft,
        "P@k in per cent",
        &printed,
        |draft, bed| {
            let vanilla = lab.vanilla(bed)?;
            let entries = of_paper(lab, bed, "table8")?;
            let plain = Entry::new(Method::find(VANILLA)?, bed).model;
            let mut again = entries.clone();
            for entry in &mut again {
                let is_other = entry
                    .settings
                    .iter()
                    .any(|objective| objective.objective().model(entry.model.clone()) != plain);
                if is_other {
                    entry.refusal = Some(NO_RETRAINING);
                }
            }
            let scratch = lab.grid(bed, entries)?;
            let schema = Schema {
                epochs,
                from: Some(&vanilla),
                ..lab.scratch()
            };
            let retrained = lab.grid_by(bed, again, &schema)?;
            let measure = |grid, what| {
                lab.measure_chosen(bed, grid, what, |field| attack(er_attack(field), field))
            };
            let (first, second) = (
                measure(&scratch, "ERAttack")?,
                measure(&retrained, "ERAttack, retrained")?,
            );
            let goal = Goal::measure(lab, bed, &retrained)?;
            if let Some(sentence) = goal.sentence(&format!("{}, retrained", bed.name), &retrained) {
                draft.finding(sentence);
            }
            draft.table(table(
                &format!("{}: the retrained models under the suite", bed.name),
                &labels(&retrained),
                &[goal.suite, goal.auc, goal.distinctness],
            )?);
            let column = |name: &str, grid, found, index| {
                let how = (PERCENT, Better::Higher);
                Column::of_rows(name.to_owned(), grid, found, "precision", how, |entry| {
                    paper::number("table8", &bed.name, &entry.id, index)
                })
            };
            let columns = vec![
                column("scratch", &scratch, &first, 0)?,
                column("retrained", &retrained, &second, 1)?,
            ];
            Ok((scratch, columns))
        },
    )?;
    Ok(draft.done())
}
