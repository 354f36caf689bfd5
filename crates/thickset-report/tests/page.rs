//! Pages are whole, safe and small, whatever the numbers and names are.

mod samples;

use samples::{Table, bench, credit, digits};
use thickset::attack::Value;
use thickset::audit::figure::{FIGURES, FigureValue, noise};
use thickset::audit::result::RowRecord;
use thickset::audit::theory::{RowTheory, TheoryRecord};
use thickset::audit::{Audit, RowList};
use thickset::bench::{Cell, Mark, Series};
use thickset::metric::{accuracy, auc, distinctness, thickness};
use thickset::statistics::{Estimate, Interval};
use thickset::theory::{IterationBound, MARGINS, MarginRisk, TheoryRow, ThicknessEstimate};
use thickset_report::Error;

const HOSTILE: &str = "</title></text></style><script>alert('x')</script><img src=x onerror=\"alert(1)\">`{{ 7 }}`&amp;\u{202e}";

fn page(audit: &Audit) -> String {
    thickset_report::audit(std::slice::from_ref(audit)).unwrap()
}

/// What a page must never hold.
fn assert_whole(page: &str) {
    for broken in [
        "<script",
        "NaN",
        "Infinity",
        ">inf<",
        "\"inf\"",
        "<img src=x",
        "onerror=\"alert",
        "\u{202e}",
    ] {
        assert!(!page.contains(broken), "`{broken}` in the page");
    }
    for tag in [
        "html", "main", "section", "table", "figure", "svg", "details", "dl", "ul", "article",
    ] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(
            opened,
            page.matches(&format!("</{tag}>")).count(),
            "<{tag}>"
        );
    }
    assert!(
        !page.contains("http://") && !page.contains("https://"),
        "a page loads nothing"
    );
    let mut ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    ids.sort_unstable();
    let before = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), before, "every id is used once");
}

/// The levels of the headings, in the order of the page.
fn headings(page: &str) -> Vec<u8> {
    page.match_indices("<h")
        .filter_map(|(at, _)| {
            let level = page.as_bytes()[at + 2].wrapping_sub(b'0');
            (1..=6).contains(&level).then_some(level)
        })
        .collect()
}

#[test]
fn headings_never_skip_a_level() {
    let several = [
        credit(&Table::default()),
        credit(&Table::default()),
        digits(),
    ];
    for page in [
        page(&credit(&Table::default())),
        page(&digits()),
        thickset_report::audit(&several).unwrap(),
        thickset_report::bench(&bench::table1()).unwrap(),
    ] {
        let levels = headings(&page);
        assert_eq!(levels[0], 1);
        assert!(levels[1..].iter().all(|level| *level > 1), "{levels:?}");
        assert!(
            levels.windows(2).all(|pair| pair[1] <= pair[0] + 1),
            "{levels:?}"
        );
        assert_whole(&page);
    }
}

#[test]
fn names_from_a_file_are_never_markup() {
    let mut audit = credit(&Table::default());
    audit.model.name = HOSTILE.to_owned();
    audit.model.file = HOSTILE.to_owned();
    audit.data.name = HOSTILE.to_owned();
    audit.version = HOSTILE.to_owned();
    audit.model.classes = vec![HOSTILE.to_owned(); 2];
    audit
        .data
        .features
        .iter_mut()
        .for_each(|name| name.push_str(HOSTILE));
    audit.gate[0].text = HOSTILE.to_owned();
    audit.attacks[0].attack = HOSTILE.to_owned();
    audit.training[0].terms.insert(HOSTILE.to_owned(), 1.0);
    for row in &mut audit.worst {
        for change in &mut row.changes {
            change.name = HOSTILE.to_owned();
            change.unit = Some(HOSTILE.to_owned());
            change.to = Value::Category(HOSTILE.to_owned());
        }
    }
    assert_whole(&page(&audit));
    assert_whole(&thickset_report::audit(&[audit.clone(), audit]).unwrap());

    let mut bench = bench::table1();
    bench.title = HOSTILE.to_owned();
    bench.settings[0] = (HOSTILE.to_owned(), HOSTILE.to_owned());
    bench.findings[0] = HOSTILE.to_owned();
    bench.tables[0].columns[0] = HOSTILE.to_owned();
    bench.tables[0].rows[0].label = HOSTILE.to_owned();
    bench.tables[0].rows[0].cells[0] = Cell::dash(HOSTILE);
    bench.figures[0].caption = HOSTILE.to_owned();
    bench.figures[0].x_label = HOSTILE.to_owned();
    bench.figures[0].series[0].name = HOSTILE.to_owned();
    assert_whole(&thickset_report::bench(&bench).unwrap());
}

#[test]
fn a_table_keeps_the_papers_digits_and_marks_as_the_paper_does() {
    let mut bench = bench::table1();
    for (row, (ours, paper)) in [(0.99891, 0.9989), (0.9999, 0.9999), (0.5, 0.996)]
        .into_iter()
        .enumerate()
    {
        bench.tables[0].rows[row].cells[0] = Cell::Number {
            ours: Estimate {
                value: ours,
                interval: None,
                count: 3,
            },
            paper: Some(paper),
            mark: Mark::default(),
        };
    }
    let page = thickset_report::bench(&bench).unwrap();
    for digits in [
        "0.9989",
        "0.9999",
        "paper 0.9989",
        "paper 0.9999",
        "paper 0.9960",
    ] {
        assert!(page.contains(digits), "{digits}");
    }
    let page = thickset_report::bench(&bench::table1()).unwrap();
    for text in [
        "<span class=\"ours best\">97.5<sup>†</sup></span>",
        "<span class=\"ours second\">87.6</span>",
        "paper 81.9",
        "the best of the other side",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn models_that_were_asked_differently_do_not_stand_side_by_side() {
    let first = credit(&Table::default());
    let mut second = credit(&Table {
        name: "r2et",
        ..Table::default()
    });
    second.settings.worst += 1;
    let said = "audited on the same rows";
    let both = |audits: &[Audit]| thickset_report::audit(audits).unwrap();
    assert!(both(&[first.clone(), second.clone()]).contains(said));
    second.settings.suite.threat.ball.radius *= 2.0;
    assert!(!both(&[first, second]).contains(said));
}

#[test]
fn a_figure_that_fails_a_requirement_does_not_look_as_if_it_held() {
    let mut audit = credit(&Table::default());
    audit.gate[1].text = "auc>=0.85".to_owned();
    audit.gate[1].value = Some(0.849_96);
    audit.gate[1].holds = false;
    assert!(page(&audit).contains("<td>0.84996</td>"));
}

#[test]
fn numbers_that_are_none_do_not_break_a_page() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let none = Estimate {
            value: bad,
            interval: Some(Interval {
                low: bad,
                high: bad,
            }),
            count: 0,
        };
        for mut audit in [credit(&Table::default()), digits()] {
            for figure in FIGURES {
                let spoilt = match audit.summary.get(figure) {
                    Some(FigureValue::Estimate(_)) => FigureValue::Estimate(none),
                    _ => FigureValue::Number(bad),
                };
                audit.summary.set(figure, Some(spoilt));
            }
            audit.magnitudes.fill(bad);
            audit.attacks[0].precision_at_k = none;
            audit.features[0].importance = bad;
            let spoilt = audit.rows.iter().map(|row| RowRecord {
                precision: bad,
                figures: row
                    .figures
                    .with(&thickness::FIGURE, bad)
                    .with(&noise::FIGURE, bad),
                ..row
            });
            audit.rows = spoilt.collect();
            for row in &mut audit.worst {
                row.importance[0] = bad;
                row.attacked_importance.fill(bad);
                row.attacked_values.fill(bad);
                row.probability = bad;
            }
            for epoch in &mut audit.training {
                epoch.loss = bad;
                epoch.auc = Some(bad);
            }
            assert_whole(&page(&audit));
            assert_whole(&thickset_report::audit(&[audit.clone(), audit]).unwrap());
        }
        let mut bench = bench::table1();
        bench.figures[1].series[0].points.fill([bad, bad]);
        bench.tables[0].rows[0].cells[0] = Cell::Number {
            ours: none,
            paper: Some(bad),
            mark: Mark::default(),
        };
        assert_whole(&thickset_report::bench(&bench).unwrap());
    }
}

#[test]
fn an_audit_of_nothing_still_has_a_page() {
    let mut audit = credit(&Table::default());
    audit.rows = RowList::default();
    audit.worst.clear();
    audit.attacks.clear();
    audit.features.clear();
    audit.magnitudes.clear();
    audit.gate.clear();
    audit.training.clear();
    audit.linear = None;
    audit.data.features.clear();
    audit.data.rows = 0;
    for figure in [&auc::FIGURE, &accuracy::FIGURE, &distinctness::FIGURE] {
        audit.summary.set(figure, None);
    }
    assert_whole(&page(&audit));

    let mut bench = bench::table1();
    bench.figures[0].series = vec![Series {
        name: String::new(),
        points: Vec::new(),
    }];
    bench.figures[1].series.clear();
    bench.tables[0].rows.clear();
    bench.settings.clear();
    bench.findings.clear();
    assert_whole(&thickset_report::bench(&bench).unwrap());
}

#[test]
fn features_without_names_and_rows_of_other_lengths_are_shown_as_far_as_they_go() {
    let mut audit = credit(&Table::default());
    audit.data.features.truncate(2);
    audit.model.classes.clear();
    audit.worst[0].importance.truncate(3);
    audit.worst[1].attacked_importance.clear();
    audit.worst[2].values.clear();
    let page = page(&audit);
    assert_whole(&page);
    assert!(page.contains("no. 3"));
    let mut image = digits();
    image.worst[0].values.truncate(5);
    image.worst[1].importance.truncate(5);
    assert_whole(&self::page(&image));
}

#[test]
fn a_hundred_thousand_rows_fit_on_a_small_page() {
    let small = page(&credit(&Table::default()));
    let large = page(&credit(&Table {
        rows: 100_000,
        ..Table::default()
    }));
    assert_whole(&large);
    assert!(small.len() < 200 * 1024, "{}", small.len());
    assert!(large.len() < 250 * 1024, "{}", large.len());
    assert!(large.contains("A darker cell holds more rows"));
}

#[test]
fn the_same_results_give_the_same_bytes() {
    assert_eq!(
        page(&credit(&Table::default())),
        page(&credit(&Table::default()))
    );
}

#[test]
fn a_page_made_from_the_json_is_the_same_page() {
    let audit = credit(&Table::default());
    let read: Audit = serde_json::from_str(&serde_json::to_string(&audit).unwrap()).unwrap();
    assert_eq!(page(&audit), page(&read));
}

#[test]
fn the_linear_baseline_is_the_first_row_of_several() {
    let page =
        thickset_report::audit(&[credit(&Table::default()), credit(&Table::default())]).unwrap();
    let body = &page[page.find("<tbody>").unwrap()..];
    assert!(body.find("linear model").unwrap() < body.find("vanilla").unwrap());
    assert!(page.contains("Accuracy against stability"));
}

#[test]
fn what_the_geometry_of_rows_allows_is_said_where_it_is_known() {
    let mut audit = credit(&Table::default());
    let said = |audit: &Audit| {
        let body = page(audit);
        let is_limited = body.contains("could keep more than 98.5% on average");
        (
            is_limited,
            body.contains("does not stand against keeping 100%"),
        )
    };
    assert_eq!(said(&audit), (true, false));
    if let Some(limit) = &mut audit.limit {
        limit.mean = 1.0;
    }
    assert_eq!(said(&audit), (false, true));
    audit.limit = None;
    assert_eq!(said(&audit), (false, false));
}

#[test]
fn a_linear_models_reasons_are_said_never_to_change_only_where_that_is_so() {
    let said = |audit: Audit| {
        let page = thickset_report::audit(&[audit.clone(), audit]).unwrap();
        page.contains("reasons never change")
    };
    assert!(said(credit(&Table::default())));
    assert!(!said(digits()), "ten classes");
    let mut other = credit(&Table::default());
    other.settings.explain.explanation = "integrated-gradients".parse().unwrap();
    assert!(!said(other), "attributions that move with the row");
}

#[test]
fn images_are_shown_as_maps() {
    let page = page(&digits());
    assert_eq!(
        page.matches("data:image/png;base64,").count(),
        18,
        "five maps of each of three images, and three of all"
    );
    assert!(page.contains("alt=\"Importance of each pixel before, image 1\""));
}

#[test]
fn no_audit_and_a_newer_schema_are_refused() {
    assert!(matches!(
        thickset_report::audit(&[]),
        Err(Error::NothingAudited)
    ));
    let mut audit = credit(&Table::default());
    audit.schema += 1;
    let error = thickset_report::audit(&[audit]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected audit results of schema 1 or older, got schema 2; a newer thickset made them"
    );
}

#[test]
fn the_theory_of_the_first_rows_is_a_table_that_promises_nothing() {
    let mut audit = credit(&Table::default());
    assert!(!page(&audit).contains("Theorem 5.1"));
    let found = |radius| TheoryRow {
        thickness: ThicknessEstimate {
            ahead: 0,
            behind: 3,
            gap: 0.25,
            lower: -0.5,
            upper: 1.5,
        },
        radius,
        iterations: IterationBound {
            gap_range: 1.0,
            kappa: 20.0,
            epsilon: 1e-3,
            bound: 2e7,
            taken: 4,
            flipped: true,
        },
        margin_risk: MARGINS
            .iter()
            .map(|margin| MarginRisk {
                margin: *margin,
                risk: 0.5,
            })
            .collect(),
    };
    audit.settings.theory = 2;
    audit.theory = Some(TheoryRecord {
        radius: 0.5,
        rows: vec![
            RowTheory {
                row: 17,
                theory: found(Some(0.125)),
            },
            RowTheory {
                row: 18,
                theory: found(None),
            },
        ],
    });
    let page = page(&audit);
    assert_whole(&page);
    for said in [
        "What R2ET",
        "None of these numbers is a guarantee",
        "row 17",
        "0.25, from -0.5 to 1.5",
        "0.125",
        "no limit",
        "2.0e7",
        "4, a pair flipped",
        "covering number",
        "--theory 2",
    ] {
        assert!(page.contains(said), "{said}");
    }
}
