//! A bench with a table, dashes and figures.

use thickset::bench::{
    Bench, Cell, Figure, Mark, Picture, PictureKind, PictureRow, PictureTable, SCHEMA, Series,
    Style, Table, TableRow,
};
use thickset::statistics::{Estimate, Interval};

fn number(value: f64, paper: Option<f64>, mark: Mark) -> Cell {
    Cell::Number {
        ours: Estimate {
            value,
            interval: Some(Interval {
                low: value - 1.3,
                high: value + 1.3,
            }),
            count: 3,
        },
        paper,
        mark,
    }
}

fn picture(kind: PictureKind, note: &str) -> Picture {
    Picture {
        kind,
        channels: 1,
        height: 2,
        width: 3,
        levels: vec![0, 64, 128, 255, 0, 32],
        note: note.to_owned(),
    }
}

#[expect(clippy::too_many_lines, reason = "one made-up value, written out")]
pub fn table1() -> Bench {
    let dash = |reason: &str| Cell::dash(reason);
    let row = |label: &str, cells: Vec<Cell>| TableRow {
        label: label.to_owned(),
        cells,
    };
    let graphs = "the paper's graphs are not public";
    let line = |name: &str, points: &[[f64; 2]]| Series {
        name: name.to_owned(),
        points: points.to_vec(),
    };
    Bench {
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        bench: "table1".to_owned(),
        title: "P@k under ERAttack and the MSE attack, by method and dataset".to_owned(),
        settings: [
            ("command", "thickset bench table1 --effort quick"),
            ("seeds", "0, 1, 2"),
            ("effort", "quick"),
            ("rows", "500 of the test part"),
            ("radius", "0.5, 1.0, 0.35"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        tables: vec![Table {
            title: "P@8 under ERAttack, in per cent".to_owned(),
            corner: "method".to_owned(),
            columns: ["Adult", "Bank", "COMPAS", "ADHD"]
                .map(str::to_owned)
                .into(),
            rows: vec![
                row(
                    "Vanilla",
                    vec![
                        number(87.6, Some(87.6), Mark::RunnerUp),
                        number(83.4, Some(83.0), Mark::None),
                        number(84.2, Some(84.2), Mark::None),
                        dash(graphs),
                    ],
                ),
                row(
                    "R2ET",
                    vec![
                        number(97.5, Some(97.5), Mark::Significant),
                        number(100.0, Some(100.0), Mark::Best),
                        number(91.0, Some(91.0), Mark::None),
                        dash(graphs),
                    ],
                ),
                row(
                    "Exact-H",
                    vec![
                        number(89.6, Some(89.6), Mark::None),
                        Cell::Dash {
                            reason: "did not reach the AUC threshold in any epoch".to_owned(),
                            paper: Some(81.9),
                        },
                        Cell::Text("as Est-H".to_owned()),
                        dash(graphs),
                    ],
                ),
            ],
        }],
        figures: vec![
            Figure {
                title: "Accuracy against stability on Adult".to_owned(),
                caption: "Four of eight methods are on the front.".to_owned(),
                x_label: "AUC".to_owned(),
                y_label: "P@8".to_owned(),
                style: Style::Front,
                series: vec![
                    line("Vanilla", &[[0.871, 87.6]]),
                    line("WD", &[[0.868, 91.7]]),
                    line("SP", &[[0.866, 97.4]]),
                    line("Est-H", &[[0.869, 87.1]]),
                    line("Exact-H", &[[0.867, 89.6]]),
                    line("SSR", &[[0.87, 91.2]]),
                    line("AT", &[[0.86, 68.4]]),
                    line("R2ET", &[[0.87, 97.5]]),
                ],
            },
            Figure {
                title: "P@k' by k'".to_owned(),
                caption: "R2ET stays ahead for every k'.".to_owned(),
                x_label: "k'".to_owned(),
                y_label: "P@k'".to_owned(),
                style: Style::Lines,
                series: vec![
                    line(
                        "Vanilla",
                        &[[2.0, 70.0], [4.0, 79.0], [6.0, 84.0], [8.0, 87.0]],
                    ),
                    line(
                        "R2ET",
                        &[[2.0, 90.0], [4.0, 93.0], [6.0, 96.0], [8.0, 97.0]],
                    ),
                ],
            },
        ],
        pictures: vec![PictureTable {
            title: "Salient pixels before and after ERAttack".to_owned(),
            caption: "One image under two methods.".to_owned(),
            corner: "method".to_owned(),
            columns: ["image", "salient pixels, attacked"]
                .map(str::to_owned)
                .into(),
            rows: ["Vanilla", "R2ET"]
                .map(|label| PictureRow {
                    label: label.to_owned(),
                    pictures: vec![
                        picture(PictureKind::Image, ""),
                        picture(PictureKind::Saliency, "P@2 0.50"),
                    ],
                })
                .into(),
        }],
        findings: vec![
            "R2ET is better than the plain network on 3 of 3 datasets: yes, as the paper says."
                .to_owned(),
            "R2ET is the best of all methods: no, softplus is as good where it is allowed."
                .to_owned(),
        ],
    }
}
