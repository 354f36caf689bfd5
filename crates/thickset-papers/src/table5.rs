//! Table 5: P@k under `ERAttack` beside the thickness of the dataset, in its probability form; also towards random neighbours,
//! and as the gap itself.

use thickset::Result;
use thickset::bench::Bench;

use crate::column::{Better, Column, PERCENT};
use crate::draft::Draft;
use crate::lab::{Lab, adversarial, attack, er_attack, gaussian};
use crate::paper;
use crate::sheet::{Printed, sheet};

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new("table5", "Table 5: P@k under ERAttack and thickness");
    let printed = Printed {
        table: "table5",
        numbers: |_| &["P@k", "thickness"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    sheet(
        lab,
        &mut draft,
        "P@k in per cent and thickness",
        &printed,
        |_, bed| {
            let grid = lab.grid(bed, lab.entries(bed)?)?;
            let er = lab.measure_chosen(bed, &grid, "ERAttack", |field| {
                attack(er_attack(field), field)
            })?;
            let along = lab.measure_chosen(bed, &grid, "adversarial thickness", adversarial)?;
            let around = lab.measure_chosen(bed, &grid, "thickness", gaussian)?;
            let higher = |scale| (scale, Better::Higher);
            let column = |name: &str, found, what, scale, index: Option<usize>| {
                Column::of_rows(
                    name.to_owned(),
                    &grid,
                    found,
                    what,
                    higher(scale),
                    |entry| paper::number("table5", &bed.name, &entry.id, index?),
                )
            };
            let columns = vec![
                column("P@k", &er, "precision", PERCENT, Some(0))?,
                column("thickness (ERAttack)", &along, "probability", 1.0, Some(1))?,
                column("thickness (gaussian)", &around, "probability", 1.0, None)?,
                column("mean gap (gaussian)", &around, "gap", 1.0, None)?,
            ];
            Ok((grid, columns))
        },
    )?;
    Ok(draft.done())
}
