//! The page of a bench.

use askama::Template;
use thickset::bench::{
    Bench, Cell, Mark, Picture, PictureKind, PictureTable, SIGNIFICANCE, Style, Table,
};

use crate::chart::{Chart, Key, Values};
use crate::number::{NONE, plain};
use crate::picture::{self, Size};
use crate::plot::curves::{self, Join, Look, Series};
use crate::plot::scale::Kind;

/// The whole page.
#[derive(Template)]
#[template(path = "bench.html")]
pub struct Page {
    title: String,
    bench: String,
    version: String,
    findings: Vec<String>,
    settings: Vec<(String, String)>,
    tables: Vec<Shown>,
    figures: Vec<Chart>,
    pictures: Vec<ShownPictures>,
    has_paper: bool,
}

/// Rows of pictures as the page shows them.
struct ShownPictures {
    title: String,
    caption: String,
    corner: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<ShownPicture>)>,
}

/// A picture as the page shows it.
struct ShownPicture {
    /// PNG data; none where it is too large for the page or does not fit its size.
    uri: Option<String>,
    /// For those who cannot see it.
    text: String,
    note: String,
}

/// A table as the page shows it.
struct Shown {
    id: String,
    title: String,
    corner: String,
    columns: Vec<String>,
    rows: Vec<(String, Vec<ShownCell>)>,
    /// Why there are dashes, numbered from 1.
    notes: Vec<String>,
    /// What the marks in it mean.
    marks: Option<String>,
}

/// A cell as the page shows it.
enum ShownCell {
    Number {
        ours: String,
        interval: Option<String>,
        paper: Option<String>,
        is_best: bool,
        is_second: bool,
        is_significant: bool,
    },
    Text(String),
    Dash {
        /// The number of its note.
        note: usize,
        reason: String,
        paper: Option<String>,
    },
}

impl Page {
    /// The page of a bench.
    pub fn new(bench: &Bench) -> Self {
        let mut cells = bench
            .tables
            .iter()
            .flat_map(|table| &table.rows)
            .flat_map(|row| &row.cells);
        Self {
            title: bench.title.clone(),
            bench: bench.bench.clone(),
            version: bench.version.clone(),
            findings: bench.findings.clone(),
            settings: bench.settings.clone(),
            has_paper: cells.any(|cell| cell.paper().is_some()),
            tables: bench
                .tables
                .iter()
                .enumerate()
                .map(|(number, table)| shown(table, number))
                .collect(),
            figures: bench
                .figures
                .iter()
                .enumerate()
                .map(|(number, one)| figure(one, number))
                .collect(),
            pictures: bench.pictures.iter().map(shown_pictures).collect(),
        }
    }
}

fn shown_pictures(table: &PictureTable) -> ShownPictures {
    let rows = table.rows.iter().map(|row| {
        let pictures = row.pictures.iter().zip(&table.columns);
        let pictures = pictures.map(|(picture, column)| ShownPicture {
            uri: drawn(picture),
            text: format!("{column}, {}", row.label),
            note: picture.note.clone(),
        });
        (row.label.clone(), pictures.collect())
    });
    ShownPictures {
        title: table.title.clone(),
        caption: table.caption.clone(),
        corner: table.corner.clone(),
        columns: table.columns.clone(),
        rows: rows.collect(),
    }
}

fn drawn(shown: &Picture) -> Option<String> {
    const MOST: f64 = 255.0;
    let size = Size {
        channels: shown.channels,
        height: shown.height,
        width: shown.width,
    };
    let levels: Vec<f64> = shown.levels.iter().copied().map(f64::from).collect();
    match shown.kind {
        PictureKind::Image => picture::input(&levels, size, (0.0, MOST)),
        PictureKind::Saliency => picture::saliency(&levels, size, MOST),
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() {
        format!("{value:.decimals$}")
    } else {
        NONE.to_owned()
    }
}

fn shown(table: &Table, number: usize) -> Shown {
    let mut notes: Vec<String> = Vec::new();
    let mut marks = Vec::new();
    let rows = table
        .rows
        .iter()
        .map(|row| {
            let cells = row
                .cells
                .iter()
                .enumerate()
                .map(|(column, cell)| match cell {
                    Cell::Number { ours, mark, .. } => {
                        marks.push(*mark);
                        let decimals = table.decimals(column);
                        let range = ours.interval.filter(|range| range.low < range.high);
                        ShownCell::Number {
                            ours: fixed(ours.value, decimals),
                            interval: range.map(|range| {
                                let ends = [range.low, range.high];
                                ends.map(|end| fixed(end, decimals)).join(" to ")
                            }),
                            paper: printed(table, column, cell),
                            is_best: matches!(mark, Mark::Best | Mark::Significant),
                            is_second: *mark == Mark::RunnerUp,
                            is_significant: *mark == Mark::Significant,
                        }
                    }
                    Cell::Text(text) => ShownCell::Text(text.clone()),
                    Cell::Dash { reason, .. } => {
                        let known = notes.iter().position(|note| note == reason);
                        let note = known.unwrap_or_else(|| {
                            notes.push(reason.clone());
                            notes.len() - 1
                        });
                        ShownCell::Dash {
                            note: note + 1,
                            reason: reason.clone(),
                            paper: printed(table, column, cell),
                        }
                    }
                });
            (row.label.clone(), cells.collect())
        })
        .collect();
    Shown {
        id: format!("table-{}", number + 1),
        title: table.title.clone(),
        corner: table.corner.clone(),
        columns: table.columns.clone(),
        rows,
        notes,
        marks: meaning(&marks),
    }
}

/// The paper's number with its own digits.
fn printed(table: &Table, column: usize, cell: &Cell) -> Option<String> {
    let decimals = table.paper_decimals(column);
    cell.paper().map(|paper| fixed(paper, decimals))
}

/// What these marks mean; nothing where there are none.
fn meaning(marks: &[Mark]) -> Option<String> {
    let meanings = [
        (Mark::Best, "Bold is the best of its column".to_owned()),
        (Mark::RunnerUp, "underlined is the second best".to_owned()),
        (Mark::Significant, format!("† is {SIGNIFICANCE}")),
    ];
    let is_there = |mark: &Mark| match mark {
        Mark::Best => marks.contains(&Mark::Best) || marks.contains(&Mark::Significant),
        mark => marks.contains(mark),
    };
    let found: Vec<String> = meanings
        .into_iter()
        .filter_map(|(mark, meaning)| is_there(&mark).then_some(meaning))
        .collect();
    (!found.is_empty()).then(|| format!("{}.", found.join("; ")))
}

fn figure(figure: &thickset::bench::Figure, number: usize) -> Chart {
    let series: Vec<Series> = figure
        .series
        .iter()
        .map(|one| Series {
            name: one.name.clone(),
            points: one.points.clone(),
        })
        .collect();
    let look = Look {
        id: &format!("figure-{}", number + 1),
        title: &figure.title,
        description: &figure.caption,
        x_label: &figure.x_label,
        y_label: &figure.y_label,
        join: match figure.style {
            Style::Points => Join::None,
            Style::Lines => Join::All,
            Style::Front => Join::Front,
        },
        rule: None,
        from_zero: false,
        x: Kind::Any,
        height: 270.0,
    };
    let rows = series.iter().flat_map(|one| {
        one.points
            .iter()
            .map(|point| vec![one.name.clone(), plain(point[0]), plain(point[1])])
    });
    let values = Values::new(&["series", &figure.x_label, &figure.y_label], rows);
    Chart {
        title: figure.title.clone(),
        drawing: curves::draw(&series, &look),
        caption: figure.caption.clone(),
        legend: series
            .iter()
            .enumerate()
            .map(|(number, one)| Key::series(number, &one.name))
            .collect(),
        values: Some(values),
    }
}
