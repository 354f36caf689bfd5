//! Reasons as a person is told them: with the person's own values, in every kind of file, on one machine or several.

use serde_json::Value;

use crate::Case;

fn ok(case: &Case, line: &str) -> String {
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A run called `loans`, trained on a table without a missing value.
fn trained(rows: usize) -> Case {
    let case = Case::new();
    case.write("loans.csv", &crate::loans(rows, true));
    case.train();
    case
}

const MODEL: &str = "--model runs/loans/model.safetensors";

/// Rows with what the model has not seen: a town, no income, an age beyond all others, and an amount to the cent.
const NEW: &str = "age,income,debt,savings,job,town\n\
                   30,2000,1500,900,cook,east\n\
                   41,,1500,1200.5,,south\n\
                   99,3000,4321.75,123456.78,nurse,west\n";

fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn value<'a>(line: &'a Value, column: &str) -> &'a Value {
    let values = line["values"].as_array().unwrap();
    values.iter().find(|one| one["column"] == column).unwrap()
}

#[test]
fn a_person_is_told_their_own_values_and_not_what_stands_for_them() {
    let case = trained(60);
    case.write("new.csv", NEW);
    let lines = json_lines(&ok(
        &case,
        &format!("explain {MODEL} --data new.csv --k 6 --json"),
    ));
    assert_eq!(value(&lines[0], "town")["text"], "east");
    assert_eq!(value(&lines[0], "town")["is_unseen"], true);
    assert_eq!(value(&lines[1], "income")["text"], "missing");
    assert_eq!(value(&lines[1], "income")["is_missing"], true);
    assert_eq!(value(&lines[1], "job")["text"], "missing");
    assert_eq!(value(&lines[1], "savings")["text"], "1200.5");
    assert_eq!(value(&lines[2], "age")["text"], "99");
    assert_eq!(value(&lines[2], "savings")["text"], "123456.78");
    assert_eq!(value(&lines[2], "debt")["text"], "4321.75");
    let text = ok(&case, &format!("explain {MODEL} --data new.csv --k 6"));
    let told: Vec<&str> = text.lines().skip(1).collect();
    assert!(
        told[0].contains("town east (not seen in training)"),
        "{text}"
    );
    assert!(told[1].contains("income missing (counted as "), "{text}");
    assert!(told[2].contains("age 99 "), "{text}");
    ok(
        &case,
        &format!("explain {MODEL} --data new.csv --k 2 --out why.csv"),
    );
    let csv = case.read("why.csv");
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with("value job,value town"),
        "{csv}"
    );
    assert!(csv.lines().nth(1).unwrap().ends_with(",cook,east"), "{csv}");
    assert!(csv.lines().nth(2).unwrap().ends_with(",,south"), "{csv}");
}

#[test]
fn letters_and_files_of_reasons_hold_the_persons_own_values() {
    let case = trained(60);
    case.write("new.csv", NEW);
    let line = format!("reasons {MODEL} --data new.csv --adverse no --all --k 6 --no-attack");
    let rows = json_lines(&ok(&case, &format!("{line} --json")));
    assert_eq!(rows.len(), 3);
    let reasons = |row: usize| rows[row]["reasons"].as_array().unwrap().clone();
    for row in 0..3 {
        for reason in reasons(row) {
            let (column, value) = (reason["column"].as_str().unwrap(), &reason["value"]);
            let expected = match (row, column) {
                (0, "town") => {
                    assert_eq!(reason["when"], "unseen");
                    let text = reason["text"].as_str().unwrap();
                    assert!(text.contains("which the model has not seen"), "{text}");
                    "east"
                }
                (1, "income" | "job") => {
                    assert_eq!(reason["when"], "missing");
                    "missing"
                }
                (2, "age") => "99",
                _ => continue,
            };
            assert_eq!(value, expected);
        }
    }
    ok(
        &case,
        &format!("{line} --out reasons.csv --letters letters"),
    );
    let page = case.read("letters/row-1.html") + &case.read("letters/row-3.html");
    assert!(!page.contains(" or more<"), "{page}");
    for file in ["reasons.parquet", "reasons.jsonl"] {
        ok(&case, &format!("{line} --out {file}"));
    }
    let csv = case.read("reasons.csv");
    let count: usize = (0..3).map(|row| reasons(row).len().max(1)).sum();
    assert_eq!(csv.lines().count(), 1 + count, "{csv}");
    assert_eq!(json_lines(&case.read("reasons.jsonl")), rows);
    let parquet = thickset::data::read_parquet(
        &case.path("reasons.parquet"),
        &thickset::data::ReadRule::default(),
        &thickset::data::Wanted::default(),
    )
    .unwrap();
    assert_eq!(parquet.rows(), count);
    assert!(parquet.column("contribution").is_ok());
}

#[test]
fn a_table_without_anyone_decided_against_is_a_file_without_rows() {
    let case = trained(60);
    let line =
        format!("reasons {MODEL} --data loans.csv --adverse no --cutoff 0.999999 --no-attack");
    for file in ["none.csv", "none.parquet"] {
        let output = case.run(&format!("{line} --max-rows 0 --out {file}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("none of 60 rows is decided as no"), "{told}");
    }
    assert_eq!(case.read("none.csv").lines().count(), 1);
    let parquet = std::fs::read(case.path("none.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn reasons_of_a_sample_and_of_shards_are_those_of_all_rows() {
    let case = trained(600);
    case.write("other.csv", &crate::loans(520, false));
    let line = format!("reasons {MODEL} --data other.csv --adverse no --all --error *=5% --json");
    let all = json_lines(&ok(&case, &format!("{line} --max-rows 0")));
    assert_eq!(all.len(), 520);
    let shards: String = (1..=2)
        .map(|number| ok(&case, &format!("{line} --shard {number}/2")))
        .collect();
    assert!(json_lines(&shards) == all);
    // With five machines and three blocks of rows, the first has none.
    let line = line.replace(" --json", "");
    ok(&case, &format!("{line} --max-rows 0 --out all.csv"));
    let files: String = (1..=5)
        .map(|number| {
            let file = format!("--shard {number}/5 --out {number}.csv");
            ok(&case, &format!("{line} {file}"));
            case.read(&format!("{number}.csv"))
        })
        .collect();
    assert!(files == case.read("all.csv"));
    let line = format!("{line} --json");
    let sample = json_lines(&ok(&case, &format!("{line} --max-rows 9")));
    assert_eq!(sample.len(), 9);
    for row in &sample {
        let same = all.iter().find(|one| one["row"] == row["row"]).unwrap();
        assert_eq!(row, same);
    }
    // Every row that is decided against is tested, and the radius is proved.
    for row in all.iter().filter(|row| row["is_adverse"] == true) {
        assert!(row["holds"].is_number() || row["reasons"].as_array().unwrap().len() < 2);
        assert!(
            row["certified"].is_number() || row["holds"].is_null(),
            "{row}"
        );
    }
}

#[test]
fn parts_of_an_audit_of_reasons_at_a_cut_off_merge_to_the_bytes_of_one_machine() {
    let case = trained(600);
    case.write(
        "other.csv",
        &(crate::loans(590, true) + "70,,100,100,cook,east,no\n"),
    );
    let line = format!(
        "audit {MODEL} --data other.csv --effort quick --k 3 --neighbours 2 --points 2 --noise-draws 2 \
         --progress off --adverse no --cutoff 0.45"
    );
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    ok(&case, &format!("{line} --out whole"));
    for number in 1..=3 {
        ok(
            &case,
            &format!("{line} --shard {number}/3 --out part-{number}"),
        );
    }
    ok(&case, "merge part-3 part-1 part-2 --out merged");
    let whole = case.read("whole/audit.json");
    let audit: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(audit["reasons"]["adverse"], "no");
    assert!(!audit["reasons"]["samples"].as_array().unwrap().is_empty());
    assert!(whole == case.read("merged/audit.json"));
    assert!(case.read("whole/report.html") == case.read("merged/report.html"));
}
