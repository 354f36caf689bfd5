//! The words of small pages, without their style.

mod samples;

use samples::{Table, bench, credit};

/// The page's body, without the plots, one tag a line.
fn words(page: &str) -> String {
    let body = &page[page.find("<main").unwrap()..page.find("</main>").unwrap()];
    let mut words = String::new();
    let mut rest = body;
    // The plots have tests of their own, and their places would drown the words.
    while let Some(start) = rest.find("<svg") {
        words.push_str(&rest[..start]);
        rest = &rest[start + rest[start..].find("</svg>").unwrap() + "</svg>".len()..];
    }
    words.push_str(rest);
    words
}

#[test]
fn the_page_of_one_audit() {
    let mut audit = credit(&Table {
        rows: 40,
        ..Table::default()
    });
    audit.worst.truncate(2);
    audit.training.truncate(3);
    insta::assert_snapshot!(words(&thickset_report::audit(&[audit]).unwrap()));
}

#[test]
fn the_page_of_a_bench() {
    insta::assert_snapshot!(words(&thickset_report::bench(&bench::table1()).unwrap()));
}
