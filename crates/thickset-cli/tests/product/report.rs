//! `thickset report`.

use crate::Case;

#[test]
fn the_page_is_made_anew_from_the_json_alone() {
    let case = Case::new();
    for model in ["model", "flat"] {
        let line = format!(
            "audit --model {model}.safetensors --data loans.csv --effort quick --k 3 --max-rows 8 --out {model}"
        );
        assert_eq!(case.run(&line).status.code(), Some(0));
    }
    let page = case.read("model/report.html");
    std::fs::remove_file(case.path("model/report.html")).unwrap();
    insta::assert_snapshot!("report", case.shown("report model/audit.json"));
    assert_eq!(case.read("model/report.html"), page);
    insta::assert_snapshot!(
        "report-of-two",
        case.shown("report model/audit.json flat/audit.json --out both.html")
    );
    assert!(case.read("both.html").len() > page.len());
}

#[test]
fn a_bench_is_told_from_an_audit_by_its_content() {
    let case = Case::new();
    case.write(
        "result.json",
        r#"{"schema":1,"version":"0.1.0","bench":"table1","title":"A table","settings":[],"tables":[],"figures":[],"findings":[]}"#,
    );
    insta::assert_snapshot!("report-of-a-bench", case.shown("report result.json"));
    assert!(case.read("report.html").contains("A table"));
}

#[test]
fn what_is_neither_is_refused() {
    let case = Case::new();
    case.write("text.json", "no json");
    case.write("other.json", "{\"schema\": 1}");
    case.write("newer.json", "{\"schema\": 999, \"summary\": {}}");
    case.write("half.json", "{\"schema\": 1, \"summary\": {}}");
    let all: Vec<String> = [
        "report none.json",
        "report text.json",
        "report other.json",
        "report newer.json",
        "report half.json",
        "report",
    ]
    .iter()
    .map(|line| case.shown(line))
    .collect();
    for shown in &all {
        assert!(shown.contains("exit code 2"), "{shown}");
    }
    insta::assert_snapshot!("report-refused", all.join("\n"));
}
