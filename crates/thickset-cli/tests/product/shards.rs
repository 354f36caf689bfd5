//! Rows to files, some rows of many, and several machines.

use crate::{Case, shown};

fn ok(case: &Case, line: &str) -> String {
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A table of 600 rows and a network for it.
fn large() -> Case {
    let case = Case::new();
    case.write("large.csv", &crate::loans(600, true));
    case.save_for("large.csv", "large.safetensors");
    case
}

#[test]
fn parts_of_an_audit_merge_to_the_bytes_of_one_machine() {
    let case = large();
    let line = "audit --model large.safetensors --data large.csv --effort quick --k 3 --neighbours 2 --points 2 \
                --noise-draws 2 --theory 2 --progress off";
    ok(&case, &format!("{line} --out whole"));
    for number in 1..=2 {
        ok(
            &case,
            &format!("{line} --shard {number}/2 --out part-{number}"),
        );
    }
    ok(&case, "merge part-2 part-1/audit.part.json --out merged");
    for file in ["audit.json", "report.html"] {
        let [whole, merged] = ["whole", "merged"].map(|out| case.read(&format!("{out}/{file}")));
        assert!(whole == merged, "{file}");
    }
    let missing = case.run("merge part-1 --out merged");
    let message = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(missing.status.code(), Some(2), "{message}");
    assert!(message.contains("missing: 2/2"), "{message}");
    let nowhere = case.run(&format!("{line} --shard 1/2"));
    assert_eq!(nowhere.status.code(), Some(2));
    let wrong = case.run(&format!("{line} --shard 3/2 --out x"));
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn what_machines_write_follows_one_another() {
    let case = large();
    // With five machines and three blocks of rows, the first has none.
    for (command, machines) in [
        ("explain --k 3", 5),
        ("attack --method random --radius 0.1 --k 3", 3),
        (
            "certify --nodes 4 --radius 0.01 --k 3 --explanation grad",
            5,
        ),
    ] {
        let line = format!("{command} --model large.safetensors --data large.csv");
        let whole = ok(&case, &format!("{line} --max-rows 0 --json"));
        assert_eq!(whole.lines().count(), 600, "{command}");
        let parts: Vec<String> = (1..=machines)
            .map(|number| ok(&case, &format!("{line} --shard {number}/{machines} --json")))
            .collect();
        assert!(parts.concat() == whole, "{command}");
        ok(&case, &format!("{line} --max-rows 0 --out all.csv"));
        let files: Vec<String> = (1..=machines)
            .map(|number| {
                let file = format!("--shard {number}/{machines} --out {number}.csv");
                ok(&case, &format!("{line} {file}"));
                case.read(&format!("{number}.csv"))
            })
            .collect();
        assert!(files.concat() == case.read("all.csv"), "{command}");
    }
}

#[test]
fn parts_made_with_other_instructions_are_refused_with_a_sentence() {
    let case = large();
    let line = "audit --model large.safetensors --data large.csv --effort quick --k 3 --neighbours 2 --points 2 --noise-draws 2 \
                --no-certificates --progress off";
    for (number, instructions) in [(1, "portable"), (2, "")] {
        let line = format!("{line} --shard {number}/2 --out part-{number}");
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = crate::command(&case.path(""));
        if !instructions.is_empty() {
            command.env("THICKSET_INSTRUCTIONS", instructions);
        }
        let output = command.args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    let merged = case.run("merge part-1 part-2 --out merged");
    let message = String::from_utf8(merged.stderr).unwrap();
    // A processor without more than the portable ones mixes nothing.
    if message.contains("wrote") {
        return;
    }
    assert_eq!(merged.status.code(), Some(2), "{message}");
    assert!(
        message.contains("`part-2` does not belong to `part-1`")
            && message.contains("`portable`")
            && message.contains("THICKSET_INSTRUCTIONS=portable works everywhere"),
        "{message}"
    );
}

#[test]
fn the_bytes_that_a_part_is_read_from_are_listed() {
    let case = large();
    let line = "audit --model large.safetensors --data large.csv --shard 2/3 --list-bytes";
    let listed: serde_json::Value = serde_json::from_str(&ok(&case, line)).unwrap();
    let size = std::fs::metadata(case.path("large.csv")).unwrap().len();
    let all = serde_json::json!([{ "path": "large.csv", "size": size, "bytes": [[0, size]] }]);
    assert_eq!(listed, all);
    let none = case.run("audit --model large.safetensors --data wine-quality --list-bytes");
    let message = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(2), "{message}");
    assert!(
        message.contains("--list-bytes has nothing to say"),
        "{message}"
    );
}

#[test]
fn rows_go_to_every_kind_of_file() {
    let case = Case::new();
    let line = "explain --model model.safetensors --data loans.csv --k 2 --max-rows 0";
    let lines = ok(&case, &format!("{line} --json"));
    ok(&case, &format!("{line} --out why.jsonl"));
    assert_eq!(case.read("why.jsonl"), lines);
    ok(&case, &format!("{line} --out why.csv"));
    let csv = case.read("why.csv");
    assert_eq!(csv.lines().count(), 61);
    assert!(
        csv.starts_with("row,class,probability no,probability yes,top 1,top 2,attribution age,"),
        "{csv}"
    );
    ok(&case, &format!("{line} --out why.parquet"));
    assert!(
        std::fs::read(case.path("why.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );
    let refused = case.run(&format!("{line} --out why.txt"));
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("`.csv`, `.jsonl` or `.parquet`"),
        "{message}"
    );
}

#[test]
fn a_number_of_rows_is_a_sample_and_the_same_for_every_command() {
    let case = large();
    let rows = |line: &str| -> Vec<u64> {
        let text = ok(&case, line);
        let row =
            |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["row"].as_u64();
        text.lines().map(|line| row(line).unwrap()).collect()
    };
    let of = "--model large.safetensors --data large.csv --k 3 --max-rows 8 --json";
    let sample = rows(&format!("explain {of}"));
    assert_eq!(sample.len(), 8);
    assert!(
        sample.is_sorted() && sample[7] > 100,
        "{sample:?} are the first rows"
    );
    assert_eq!(rows(&format!("attack --method random {of}")), sample);
    assert_ne!(rows(&format!("explain {of} --seed 1")), sample);
    let first = rows("explain --model large.safetensors --data large.csv --k 3 --json");
    assert_eq!(first, (1..=10).collect::<Vec<u64>>());
}

#[test]
fn a_folder_of_tables_is_explained_like_one_table() {
    let case = large();
    let text = case.read("large.csv");
    let lines: Vec<&str> = text.lines().collect();
    std::fs::create_dir(case.path("rows")).unwrap();
    for (number, rows) in lines[1..].chunks(250).enumerate() {
        case.write(
            &format!("rows/{number}.csv"),
            &format!("{}\n{}\n", lines[0], rows.join("\n")),
        );
    }
    let line = |data: &str| {
        format!("explain --model large.safetensors --data {data} --k 3 --max-rows 0 --json")
    };
    let whole = ok(&case, &line("large.csv"));
    assert!(ok(&case, &line("rows")) == whole);
    assert!(ok(&case, &line("rows/*.csv")) == whole);
}

#[test]
fn one_image_is_explained() {
    let case = Case::new();
    let dataset = thickset::data::open("digits", &thickset::data::OpenOptions::default()).unwrap();
    thickset::Model::fresh(
        thickset::model::ModelConfig::Cnn(thickset::model::CnnConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        None,
        thickset::Seed::new(0),
    )
    .unwrap()
    .save(&case.path("digits.safetensors"))
    .unwrap();
    // A grey PNG of one pixel, which is scaled.
    let png = [
        &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55"[..],
        b"\0\0\0\x0aIDAT\x78\x9c\x63\x60\0\0\0\x02\0\x01\x48\xaf\xa4\x71\0\0\0\0IEND\xae\x42\x60\x82",
    ]
    .concat();
    std::fs::write(case.path("one.png"), png).unwrap();
    let line = "explain --model digits.safetensors --data one.png --k 3 --json";
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{}", shown(line, &output));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 1);
}
