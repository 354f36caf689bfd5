//! The words of small pages, without their style.

mod samples;

use samples::{Table, bench, credit, digits};

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
fn the_worst_images() {
    let mut audit = digits();
    audit.worst.truncate(1);
    let page = thickset_report::audit(&[audit]).unwrap();
    let words = words(&page);
    let case = &words[words.find("<article").unwrap()..words.find("</article>").unwrap()];
    // How a PNG is packed is the image library's affair.
    let shown = case.split("data:image/png;base64,");
    let shown: Vec<&str> = shown
        .map(|part| part.split_once("\" alt").map_or(part, |(_, rest)| rest))
        .collect();
    insta::assert_snapshot!(shown.join("…"));
}

#[test]
fn the_page_of_a_bench() {
    insta::assert_snapshot!(words(&thickset_report::bench(&bench::table1()).unwrap()));
}
