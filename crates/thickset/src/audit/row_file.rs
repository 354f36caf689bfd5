//! The rows of a large audit in a file of their own, beside `audit.json`: one column a field, as Parquet, which other tools read.

use std::collections::BTreeSet;
use std::path::Path;

use super::figure::{FIGURES, RowFigures};
use super::result::{AttackId, Audit, RowRecord};
use super::row_list::RowList;
use crate::data::{ReadRule, Table, Wanted, read_parquet};
use crate::row_writer::{Cell, OutputColumn, write_file};
use crate::{Error, Result};

/// More rows than this do not stand in `audit.json`: with them it would have more than some 10 MB.
pub(super) const MOST_INLINE: usize = 20_000;

/// The name of the file.
pub(super) const NAME: &str = "audit.rows.parquet";

/// Writes the rows of an audit.
pub(super) fn write(path: &Path, audit: &Audit) -> Result<()> {
    let (classes, k) = (audit.model.classes.len(), audit.settings.k);
    let mut columns = vec![
        OutputColumn::whole("row"),
        OutputColumn::whole("label"),
        OutputColumn::whole("class"),
        OutputColumn::number("precision"),
        OutputColumn::text("attack"),
        OutputColumn::whole("first_change"),
    ];
    columns.extend((0..classes).map(|class| OutputColumn::number(format!("probability_{class}"))));
    for kind in ["top", "attacked_top"] {
        columns.extend((1..=k).map(|place| OutputColumn::whole(format!("{kind}_{place}"))));
    }
    columns.extend(measured().map(|figure| OutputColumn::number(figure.key)));
    write_file(path, columns, false, |writer| {
        for row in &audit.rows {
            let whole = |number: Option<usize>| number.map_or(Cell::Missing, Cell::count);
            let mut cells = vec![
                Cell::count(row.row),
                whole(row.label),
                Cell::count(row.class),
                Cell::Number(row.precision),
                Cell::text(row.attack.name()),
                whole(row.first_change),
            ];
            cells.extend(
                (0..classes).map(|class| Cell::maybe(row.probabilities.get(class).copied())),
            );
            for top in [&row.top, &row.attacked_top] {
                cells.extend((0..k).map(|place| whole(top.get(place).copied())));
            }
            cells.extend(measured().map(|figure| Cell::maybe(row.figures.get(figure))));
            writer.write(&cells)?;
        }
        Ok(())
    })
}

/// The figures that rows have by themselves.
fn measured() -> impl Iterator<Item = &'static super::figure::Figure> {
    FIGURES
        .iter()
        .copied()
        .filter(|figure| figure.is_measured())
}

/// Reads the rows of an audit.
pub(super) fn read(path: &Path, audit: &Audit) -> Result<RowList> {
    let texts = BTreeSet::from(["attack"]);
    let wanted = Wanted {
        types: texts
            .iter()
            .map(|name| ((*name).to_owned(), crate::data::ColumnType::Text))
            .collect(),
        ..Wanted::default()
    };
    let table = read_parquet(path, &ReadRule::default(), &wanted)?;
    if table.rows() != audit.data.rows {
        return Err(Error::LengthMismatch {
            what: "the rows beside an audit",
            expected: audit.data.rows,
            got: table.rows(),
        });
    }
    let rows = Columns {
        table: &table,
        path: path.display().to_string(),
    };
    (0..table.rows())
        .map(|place| rows.row(place, audit))
        .collect()
}

struct Columns<'a> {
    table: &'a Table,
    path: String,
}

impl Columns<'_> {
    fn number(&self, name: &str, place: usize) -> Result<Option<f64>> {
        Ok(self.table.column(name)?.values.number(place))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is checked to be a whole number that is not negative"
    )]
    fn whole(&self, name: &str, place: usize) -> Result<Option<usize>> {
        let number = self.number(name, place)?;
        match number {
            Some(number) if number < 0.0 || number.fract() != 0.0 => Err(self.refuse(name, place)),
            number => Ok(number.map(|number| number as usize)),
        }
    }

    fn refuse(&self, name: &str, place: usize) -> Error {
        Error::Malformed {
            path: self.path.clone(),
            line: None,
            problem: format!("row {}: `{name}` is not what an audit writes", place + 1),
        }
    }

    fn row(&self, place: usize, audit: &Audit) -> Result<RowRecord> {
        let needed = |name: &str| {
            self.whole(name, place)?
                .ok_or_else(|| self.refuse(name, place))
        };
        let number = |name: &str| {
            self.number(name, place)?
                .ok_or_else(|| self.refuse(name, place))
        };
        let top = |kind: &str| -> Result<Vec<usize>> {
            let mut top = Vec::new();
            for rank in 1..=audit.settings.k {
                let name = format!("{kind}_{rank}");
                let Some(feature) = self.whole(&name, place)? else {
                    break;
                };
                if feature >= audit.data.features.len() {
                    return Err(self.refuse(&name, place));
                }
                top.push(feature);
            }
            Ok(top)
        };
        let attack = self.table.column("attack")?.values.text(place);
        let attack = attack.and_then(|id| AttackId::new(&id));
        let class = needed("class")?;
        if class >= audit.model.classes.len() {
            return Err(self.refuse("class", place));
        }
        let mut figures = RowFigures::default();
        for figure in measured() {
            if let Some(value) = self.number(figure.key, place)? {
                figures.set(figure, value);
            }
        }
        Ok(RowRecord {
            row: needed("row")? as u64,
            label: self.whole("label", place)?,
            class,
            probabilities: (0..audit.model.classes.len())
                .map(|class| number(&format!("probability_{class}")))
                .collect::<Result<_>>()?,
            top: top("top")?,
            attacked_top: top("attacked_top")?,
            precision: number("precision")?,
            attack: attack.ok_or_else(|| self.refuse("attack", place))?,
            first_change: self.whole("first_change", place)?,
            figures,
        })
    }
}
