//! A bench's result as text for the terminal and as Markdown.

use std::fmt::Write as _;

use thickset::bench::{Bench, Cell, Figure, Mark, PictureTable, SIGNIFICANCE, Table};

/// Coordinates from here on are percentages or counts and have one decimal; smaller ones are shares and have four.
const LARGE: f64 = 10.0;

fn number(value: f64) -> String {
    if value.abs() >= LARGE {
        format!("{value:.1}")
    } else {
        format!("{value:.4}")
    }
}

/// What a table is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Terminal,
    Markdown,
}

/// A cell: our number with its mark, the paper's in parentheses; Markdown has room for the 95% interval too.
fn text(table: &Table, column: usize, cell: &Cell, reader: For) -> String {
    let decimals = table.paper_decimals(column);
    let paper = cell
        .paper()
        .map_or_else(String::new, |paper| format!(" ({paper:.decimals$})"));
    match cell {
        Cell::Number { ours, mark, .. } => {
            let decimals = table.decimals(column);
            let value = format!("{:.decimals$}", ours.value);
            let marked = match (mark, reader) {
                (Mark::None, _) => value,
                (Mark::Best, For::Terminal) => format!("{value}*"),
                (Mark::Significant, For::Terminal) => format!("{value}*†"),
                (Mark::RunnerUp, For::Terminal) => format!("{value}'"),
                (Mark::Best, For::Markdown) => format!("**{value}**"),
                (Mark::Significant, For::Markdown) => format!("**{value}**†"),
                (Mark::RunnerUp, For::Markdown) => format!("<u>{value}</u>"),
            };
            let interval = ours.interval.filter(|_| reader == For::Markdown);
            let interval = interval.map_or_else(String::new, |interval| {
                format!(
                    " [{:.decimals$}, {:.decimals$}]",
                    interval.low, interval.high
                )
            });
            format!("{marked}{interval}{paper}")
        }
        Cell::Text(text) => text.clone(),
        Cell::Dash { .. } => format!("–{paper}"),
    }
}

fn has_marks(table: &Table) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    cells.any(|cell| matches!(cell, Cell::Number { mark, .. } if *mark != Mark::None))
}

fn reasons(table: &Table) -> Vec<&str> {
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let mut found: Vec<&str> = cells
        .filter_map(|cell| match cell {
            Cell::Dash { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Rows of equal columns, padded.
fn padded(table: &Table, reader: For) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = Vec::with_capacity(table.rows.len() + 1);
    let head = std::iter::once(&table.corner).chain(&table.columns);
    lines.push(head.cloned().collect());
    for row in &table.rows {
        let cells = row.cells.iter().enumerate();
        let cells = cells.map(|(column, cell)| text(table, column, cell, reader));
        lines.push(std::iter::once(row.label.clone()).chain(cells).collect());
    }
    for column in 0..=table.columns.len() {
        let widths = lines.iter().filter_map(|line| line.get(column));
        let width = widths.map(|cell| cell.chars().count()).max().unwrap_or(0);
        for line in &mut lines {
            if let Some(cell) = line.get_mut(column) {
                let missing = width - cell.chars().count();
                let space = " ".repeat(missing);
                if column == 0 {
                    cell.push_str(&space);
                } else {
                    cell.insert_str(0, &space);
                }
            }
        }
    }
    lines
}

/// The whole for a terminal: tables, what figures say, findings.
#[must_use]
pub fn terminal(bench: &Bench) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(out, "{}\n", bench.title);
    for table in &bench.tables {
        let _ = writeln!(out, "{}", table.title);
        for line in padded(table, For::Terminal) {
            let _ = writeln!(out, "{}", line.join("  ").trim_end());
        }
        for reason in reasons(table) {
            let _ = writeln!(out, "– {reason}");
        }
        out.push('\n');
    }
    if bench.tables.iter().any(has_marks) {
        let _ = writeln!(
            out,
            "* best method of a column, ' second best, † {SIGNIFICANCE}\n"
        );
    }
    for figure in &bench.figures {
        let _ = writeln!(out, "{}: {}", figure.title, figure.caption);
    }
    for pictures in &bench.pictures {
        let _ = writeln!(
            out,
            "{}: {} {ON_THE_PAGE}",
            pictures.title, pictures.caption
        );
    }
    if !(bench.figures.is_empty() && bench.pictures.is_empty()) {
        out.push('\n');
    }
    for finding in &bench.findings {
        let _ = writeln!(out, "- {finding}");
    }
    out
}

/// The whole as Markdown.
#[must_use]
pub fn markdown(bench: &Bench) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n", bench.title);
    for finding in &bench.findings {
        let _ = writeln!(out, "- {finding}");
    }
    if !bench.findings.is_empty() {
        out.push('\n');
    }
    for table in &bench.tables {
        let _ = writeln!(out, "## {}\n", table.title);
        let mut lines = padded(table, For::Markdown).into_iter();
        let head = lines.next().unwrap_or_default();
        let _ = writeln!(out, "| {} |", head.join(" | "));
        let rule = head
            .iter()
            .enumerate()
            .map(|(column, _)| if column == 0 { "---" } else { "---:" });
        let _ = writeln!(out, "| {} |", rule.collect::<Vec<_>>().join(" | "));
        for line in lines {
            let _ = writeln!(out, "| {} |", line.join(" | "));
        }
        out.push('\n');
        for reason in reasons(table) {
            let _ = writeln!(out, "– {reason}\n");
        }
    }
    for figure in &bench.figures {
        out.push_str(&points(figure));
    }
    for pictures in &bench.pictures {
        out.push_str(&notes(pictures));
    }
    let _ = writeln!(out, "## Settings\n");
    for (name, value) in &bench.settings {
        let _ = writeln!(out, "- {name}: {value}");
    }
    let _ = writeln!(
        out,
        "- a number is the mean over seeds, in brackets its 95% interval, in parentheses the paper's; bold is the best method of a \
         column, underlined the second best, † {SIGNIFICANCE}"
    );
    let _ = writeln!(out, "- thickset {}", bench.version);
    out
}

/// Where pictures are seen.
const ON_THE_PAGE: &str = "`thickset report` draws them.";

/// What stands below the pictures.
fn notes(pictures: &PictureTable) -> String {
    let mut out = format!(
        "## {}\n\n{} {ON_THE_PAGE}\n\n",
        pictures.title, pictures.caption
    );
    let _ = writeln!(
        out,
        "| {} | {} |",
        pictures.corner,
        pictures.columns.join(" | ")
    );
    let _ = writeln!(out, "| --- |{}", " --- |".repeat(pictures.columns.len()));
    for row in &pictures.rows {
        let notes: Vec<&str> = row.pictures.iter().map(|one| one.note.as_str()).collect();
        let _ = writeln!(out, "| {} | {} |", row.label, notes.join(" | "));
    }
    out.push('\n');
    out
}

/// Most points of a series that Markdown lists; `bench.json` has all.
const LISTED: usize = 16;

fn points(figure: &Figure) -> String {
    let mut out = format!("## {}\n\n{}\n\n", figure.title, figure.caption);
    let _ = writeln!(
        out,
        "| series | {}, {} |\n| --- | --- |",
        figure.x_label, figure.y_label
    );
    for series in &figure.series {
        let shown = series.points.iter().take(LISTED);
        let mut list: Vec<String> = shown
            .map(|[x, y]| format!("({}, {})", number(*x), number(*y)))
            .collect();
        if series.points.len() > LISTED {
            list.push(format!("… {} points in all", series.points.len()));
        }
        let _ = writeln!(out, "| {} | {} |", series.name, list.join(" "));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use thickset::bench::{Picture, PictureKind, PictureRow, SCHEMA, Series, Style, TableRow};
    use thickset::statistics::{Estimate, Interval};

    fn bench() -> Bench {
        let cell = |value, paper, mark| Cell::Number {
            ours: Estimate {
                value,
                interval: Some(Interval {
                    low: value - 0.5,
                    high: value + 0.5,
                }),
                count: 3,
            },
            paper,
            mark,
        };
        Bench {
            schema: SCHEMA,
            version: "0".to_owned(),
            bench: "table1".to_owned(),
            title: "T".to_owned(),
            settings: vec![("seeds".to_owned(), "3".to_owned())],
            tables: vec![Table {
                title: "P@k".to_owned(),
                corner: "method".to_owned(),
                columns: vec!["adult".to_owned()],
                rows: vec![
                    TableRow {
                        label: "R2ET".to_owned(),
                        cells: vec![cell(97.25, Some(97.5), Mark::Significant)],
                    },
                    TableRow {
                        label: "SP".to_owned(),
                        cells: vec![cell(95.0, None, Mark::RunnerUp)],
                    },
                    TableRow {
                        label: "CL".to_owned(),
                        cells: vec![Cell::Dash {
                            reason: "too slow".to_owned(),
                            paper: Some(93.0),
                        }],
                    },
                ],
            }],
            figures: vec![Figure {
                title: "F".to_owned(),
                caption: "C".to_owned(),
                x_label: "x".to_owned(),
                y_label: "y".to_owned(),
                style: Style::Points,
                series: vec![Series {
                    name: "s".to_owned(),
                    points: vec![[0.5, 20.0]; 20],
                }],
            }],
            pictures: vec![PictureTable {
                title: "Maps".to_owned(),
                caption: "D.".to_owned(),
                corner: "method".to_owned(),
                columns: vec!["before".to_owned(), "after".to_owned()],
                rows: vec![PictureRow {
                    label: "R2ET".to_owned(),
                    pictures: ["", "P@2 0.50"].map(picture).into(),
                }],
            }],
            findings: vec!["yes".to_owned()],
        }
    }

    fn picture(note: &str) -> Picture {
        Picture {
            kind: PictureKind::Saliency,
            channels: 1,
            height: 1,
            width: 2,
            levels: vec![0, 255],
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_cell_shows_our_number_its_mark_and_the_papers() {
        let text = terminal(&bench());
        assert!(text.contains("R2ET    97.2*† (97.5)"), "{text}");
        let line = |first: &str, last: &str| {
            let is_it = |line: &str| line.starts_with(first) && line.ends_with(last);
            assert!(text.lines().any(is_it), "{first} {last}: {text}");
        };
        line("SP ", " 95.0'");
        line("CL ", " – (93.0)");
        assert!(text.contains("– too slow"), "{text}");
        assert!(text.contains("* best method of a column"), "{text}");
        assert!(text.contains("- yes"), "{text}");
    }

    #[test]
    fn markdown_has_tables_figures_and_settings() {
        let text = markdown(&bench());
        assert!(text.contains("| **97.2**† [96.8, 97.8] (97.5) |"), "{text}");
        assert!(text.contains(" <u>95.0</u> [94.5, 95.5] |"), "{text}");
        assert!(text.contains("(0.5000, 20.0)"), "{text}");
        assert!(text.contains("… 20 points in all"), "{text}");
        assert!(text.contains("- seeds: 3"), "{text}");
        assert!(text.contains("| R2ET |  | P@2 0.50 |"), "{text}");
    }
}
