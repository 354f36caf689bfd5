//! Models on the same rows, side by side: a table with the linear baseline first, and what accuracy costs in stability (R2ET
//! Fig. 7).

use thickset::audit::Audit;
use thickset::audit::figure::{Baseline, FIGURES, Figure, Summary};
use thickset::audit::result::AuditSettings;
use thickset::bench::front;
use thickset::metric::auc;

use crate::cell::Cell;
use crate::chart::{Chart, Key};
use crate::number::listed;
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::Kind;
use crate::prose::verdict;
use crate::prose::verdict::Level;
use crate::section::linear;

/// The comparison of the models on one set of rows.
pub struct SideBySide {
    /// The data's name.
    pub data: String,
    /// The heads of the figures' columns.
    pub columns: Vec<String>,
    /// What the linear baseline is there for.
    pub use_of_linear: &'static str,
    /// The linear baseline first.
    pub lines: Vec<Line>,
    /// The trade-off; none without AUCs.
    pub trade_off: Option<Chart>,
}

/// A model's line.
pub struct Line {
    /// The model.
    pub name: String,
    /// Where its part of the page is.
    pub target: Option<String>,
    /// In a word.
    pub level: Option<Level>,
    /// Its figures.
    pub cells: Vec<Cell>,
}

/// One comparison for each set of rows that several models were audited on alike, in the order of the audits.
pub fn of(audits: &[Audit]) -> Vec<SideBySide> {
    let mut sets: Vec<Vec<(usize, &Audit)>> = Vec::new();
    for (index, audit) in audits.iter().enumerate() {
        let known = sets
            .iter_mut()
            .find(|members| is_alike(members[0].1, audit));
        match known {
            Some(members) => members.push((index, audit)),
            None => sets.push(vec![(index, audit)]),
        }
    }
    sets.retain(|members| members.len() > 1);
    let sets = sets.iter().enumerate();
    sets.filter_map(|(number, members)| compared(members, number))
        .collect()
}

/// Whether both models were audited on the same rows with the same settings; how many rows are described further does not matter.
fn is_alike(one: &Audit, other: &Audit) -> bool {
    let settings = |audit: &Audit| AuditSettings {
        worst: 0,
        theory: 0,
        ..audit.settings.clone()
    };
    one.data.sha256 == other.data.sha256 && settings(one) == settings(other)
}

fn compared(members: &[(usize, &Audit)], number: usize) -> Option<SideBySide> {
    let (_, first) = members.first()?;
    // A linear model among them is baseline enough.
    let linear = if members.iter().any(|(_, audit)| linear::is_linear(audit)) {
        None
    } else {
        members.iter().find_map(|(_, audit)| audit.linear.as_ref())
    };
    let mut lines = Vec::new();
    let mut points: Vec<(String, Option<f64>, f64)> = Vec::new();
    let mut figures: Vec<&Figure> = FIGURES
        .iter()
        .copied()
        .filter(|figure| figure.is_main)
        .collect();
    // How well they predict comes first, where a narrow screen still shows it.
    figures.sort_by_key(|figure| figure.baseline != Baseline::Predicted);
    let cells = |summary: &Summary| -> Vec<Cell> {
        let cells = figures.iter();
        cells.map(|figure| Cell::figure(summary, figure)).collect()
    };
    let has_gate = members.iter().any(|(_, audit)| !audit.gate.is_empty());
    if let Some(linear) = linear {
        let name = "linear model".to_owned();
        points.push((
            name.clone(),
            linear.value(&auc::FIGURE),
            linear.precision_at_k().value,
        ));
        let mut cells = cells(linear);
        cells.extend(has_gate.then(Cell::dash));
        lines.push(Line {
            name,
            target: None,
            level: None,
            cells,
        });
    }
    for (index, audit) in members {
        let summary = &audit.summary;
        let name = audit.model.name.clone();
        points.push((
            name.clone(),
            summary.value(&auc::FIGURE),
            summary.precision_at_k().value,
        ));
        let mut cells = cells(summary);
        cells.extend(has_gate.then(|| gate(audit)));
        lines.push(Line {
            name,
            target: Some(format!("m{}", index + 1)),
            level: Some(verdict::level(summary)),
            cells,
        });
    }
    let k = first.settings.k;
    let mut columns: Vec<String> = figures.iter().map(|figure| figure.short(k)).collect();
    columns.extend(has_gate.then(|| "gate".to_owned()));
    Some(SideBySide {
        data: first.data.name.clone(),
        columns,
        use_of_linear: linear::use_of(first),
        lines,
        trade_off: trade_off(&points, k, number),
    })
}

fn gate(audit: &Audit) -> Cell {
    if audit.gate.is_empty() {
        return Cell::dash();
    }
    let holds = audit.gate.iter().all(|line| line.holds);
    Cell::words(if holds { "passes" } else { "fails" }.to_owned())
}

fn trade_off(points: &[(String, Option<f64>, f64)], k: usize, number: usize) -> Option<Chart> {
    let drawn: Vec<(&String, [f64; 2])> = points
        .iter()
        .filter_map(|(name, auc, precision)| Some((name, [(*auc)?, *precision])))
        .filter(|(_, point)| point.iter().all(|value| value.is_finite()))
        .collect();
    if drawn.len() < 2 {
        return None;
    }
    let places: Vec<[f64; 2]> = drawn.iter().map(|(_, point)| *point).collect();
    let front = front::of(&places);
    let best: Vec<String> = drawn
        .iter()
        .filter(|(_, point)| front.contains(point))
        .map(|(name, _)| (*name).clone())
        .collect();
    let caption = format!(
        "Higher is better on both axes. The line joins those that no other beats in both: {}. The differences may be within the \
         intervals of the table.",
        listed(&best)
    );
    let series: Vec<Series> = drawn
        .iter()
        .map(|(name, point)| Series {
            name: (*name).clone(),
            points: vec![*point],
        })
        .collect();
    let title = "Accuracy against stability";
    let look = Look {
        id: &format!("trade-off-{}", number + 1),
        title,
        description: &caption,
        x_label: "AUC",
        y_label: &format!("P@{k} under attack"),
        join: Join::Front,
        rule: None,
        from_zero: false,
        x: Kind::Any,
        height: 270.0,
    };
    Some(Chart {
        title: title.to_owned(),
        drawing: curves::draw(&series, &look),
        caption,
        legend: series
            .iter()
            .enumerate()
            .map(|(number, one)| Key::series(number, &one.name))
            .collect(),
        values: None,
    })
}
