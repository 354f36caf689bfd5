//! Table 6: AUC before and after `ERAttack` and the MSE attack: whether an attack on explanations shows in predictions.

use thickset::Result;
use thickset::bench::Bench;

use crate::column::{Better, Column};
use crate::draft::Draft;
use crate::lab::{Lab, attack, clean, er_attack, mse_attack};
use crate::sheet::{Printed, sheet};

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new("table6", "Table 6: clean and adversarial AUC");
    let printed = Printed {
        table: "table6",
        numbers: |_| &["clean", "ERAttack", "clean, MSE", "MSE"],
        others: &["adhd", "bp"],
    };
    let mut widest = 0.0_f64;
    sheet(
        lab,
        &mut draft,
        "AUC of the attacked rows",
        &printed,
        |_, bed| {
            let grid = lab.grid(bed, lab.entries(bed)?)?;
            let before = lab.measure_chosen(bed, &grid, "clean", clean)?;
            let er = lab.measure_chosen(bed, &grid, "ERAttack", |field| {
                attack(er_attack(field), field)
            })?;
            let mse = lab.measure_chosen(bed, &grid, "MSE attack", |field| {
                attack(mse_attack(field), field)
            })?;
            let column = |name: &str, found, what| {
                Column::of_numbers(
                    name.to_owned(),
                    &grid,
                    found,
                    what,
                    Better::Unmarked,
                    |_| None,
                )
            };
            let columns = vec![
                column("clean", &before, "auc of the attacked rows")?,
                column("ERAttack", &er, "auc")?,
                column("MSE", &mse, "auc")?,
            ];
            for attacked in &columns[1..] {
                for (clean, attacked) in columns[0].places.iter().zip(&attacked.places) {
                    if let (Some(clean), Some(attacked)) = (clean.mean(), attacked.mean()) {
                        widest = widest.max((clean - attacked).abs());
                    }
                }
            }
            Ok((grid, columns))
        },
    )?;
    draft.finding(format!(
        "the paper says that clean and adversarial AUC are within 0.01 of each other (its cells, of ADHD and BP, differ by up to 0.02); here \
         the widest difference is {widest:.4}"
    ));
    Ok(draft.done())
}
