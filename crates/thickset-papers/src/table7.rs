//! Table 7: P@k under `ERAttack` for several k. The models are those of Table 1, trained for the dataset's own k.

use thickset::Result;
use thickset::attack::AttackConfig;
use thickset::bench::Bench;
use thickset::data::InputShape;

use crate::column::{Better, Column, PERCENT};
use crate::draft::Draft;
use crate::lab::{Entry, Lab, attack, er_attack};
use crate::sheet::{Printed, sheet};
use crate::{TABLES, paper};

/// The paper's choices for tables.
const FOR_TABLES: [usize; 3] = [2, 5, 8];
/// And for images and graphs.
const FOR_OTHERS: [usize; 3] = [10, 30, 50];

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new("table7", "Table 7: P@k under ERAttack for several k");
    draft.setting(
        "models",
        "trained and chosen for the dataset's own k, measured for each k",
    );
    let printed = Printed {
        table: "table7",
        numbers: |dataset| {
            if TABLES.contains(&dataset) {
                &["P@2", "P@5", "P@8"]
            } else {
                &["P@10", "P@30", "P@50"]
            }
        },
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    sheet(lab, &mut draft, "P@k in per cent", &printed, |_, bed| {
        let grid = lab.grid(bed, lab.entries(bed)?)?;
        let sizes = match bed.fields[0].dataset.shape() {
            InputShape::Table => FOR_TABLES,
            _ => FOR_OTHERS,
        };
        let mut columns = Vec::new();
        let features = bed.fields[0].dataset.features();
        for (index, k) in sizes.into_iter().enumerate() {
            let paper = |entry: &Entry| paper::number("table7", &bed.name, &entry.id, index);
            if k >= features {
                let reason = format!("k = {k} leaves no other of the {features} features");
                columns.push(Column::of_dashes(format!("P@{k}"), &grid, &reason, paper));
                continue;
            }
            let found = lab.measure_chosen(bed, &grid, &format!("k = {k}"), |field| {
                let config = AttackConfig {
                    k,
                    ..er_attack(field)
                };
                attack(config, field)
            })?;
            let how = (PERCENT, Better::Higher);
            columns.push(Column::of_rows(
                format!("P@{k}"),
                &grid,
                &found,
                "precision",
                how,
                paper,
            )?);
        }
        Ok((grid, columns))
    })?;
    Ok(draft.done())
}
