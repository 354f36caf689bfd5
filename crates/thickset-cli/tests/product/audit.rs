//! `thickset audit`.

use serde_json::Value;
use thickset::model::{MlpConfig, ModelConfig};

use crate::{Case, thickset};

const QUICK: &str = "--effort quick --k 3 --max-rows 12";

#[test]
fn figures_are_printed_and_the_gate_decides_the_exit_code() {
    let case = Case::new();
    let line =
        |more: &str| format!("audit --model model.safetensors --data loans.csv {QUICK}{more}");
    insta::assert_snapshot!("audit", case.shown(&line("")));
    assert!(case.path("audit.json").exists() && case.path("report.html").exists());
    assert!(!case.path("audit.json.partial").exists());
    insta::assert_snapshot!(
        "audit-gate-holds",
        case.shown(&line(
            " --require p_at_k>=0 --require auc.high<=1 --out out"
        ))
    );
    insta::assert_snapshot!(
        "audit-gate-fails",
        case.shown(&line(" --require p_at_k>=2 --require auc>=0"))
    );
    let json = case.run(&line(" --require p_at_k>=2 --json"));
    assert_eq!(json.status.code(), Some(1));
    let figures: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(figures["gate"][0]["holds"], false);
    let keys: Vec<&String> = figures.as_object().unwrap().keys().collect();
    let expected = [
        "certificate",
        "data",
        "files",
        "gate",
        "k",
        "linear",
        "model",
        "rows",
        "summary",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn the_same_audit_gives_the_same_bytes_and_repeats_the_rows_of_attack() {
    let case = Case::new();
    let line = format!("audit --model model.safetensors --data loans.csv {QUICK} --out ");
    for out in ["first", "second"] {
        assert_eq!(case.run(&format!("{line}{out}")).status.code(), Some(0));
    }
    assert_eq!(
        case.read("first/audit.json"),
        case.read("second/audit.json")
    );
    assert_eq!(
        case.read("first/report.html"),
        case.read("second/report.html")
    );
    let audit: Value = serde_json::from_str(&case.read("first/audit.json")).unwrap();
    let attack = "attack --model model.safetensors --data loans.csv --effort quick --k 3 --max-rows 12 --json";
    let attacked = String::from_utf8(case.run(attack).stdout).unwrap();
    for (line, row) in attacked.lines().zip(audit["rows"].as_array().unwrap()) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["row"], row["row"]);
        assert_eq!(line["precision"], row["precision"]);
    }
}

#[test]
fn a_file_without_the_target_has_no_auc() {
    let case = Case::new();
    insta::assert_snapshot!(
        "audit-unlabelled",
        case.shown("audit --model model.safetensors --data unlabelled.csv --effort quick --k 3 --require auc>=0.5")
    );
}

#[test]
fn bad_input_is_refused_with_what_was_expected() {
    let case = Case::new();
    case.write("broken.safetensors", "no model");
    case.write(
        "strange.csv",
        &case.read("loans.csv").replace(",yes", ",perhaps"),
    );
    case.write("narrow.csv", "age,income\n30,1000\n");
    let refused = [
        "audit --model none.safetensors --data loans.csv",
        "audit --model broken.safetensors --data loans.csv",
        "audit --model model.safetensors --data none.csv",
        "audit --model model.safetensors --data strange.csv",
        "audit --model model.safetensors --data narrow.csv",
        "audit --model model.safetensors --data loans.csv --k 40",
        "audit --model model.safetensors --data loans.csv --radius -1",
        "audit --model model.safetensors --data loans.csv --explanation concept",
        "audit --model model.safetensors --data loans.csv --noise-draws 0",
        "audit --model model.safetensors --data loans.csv --require p_at_8>=0.9",
        "audit --model model.safetensors --data loans.csv --require accuracy.low>=0.9",
        "audit --model model.safetensors --data loans.csv --column-budget height=2",
        "audit --model model.safetensors --data loans.csv --out loans.csv",
        "audit --model model.safetensors --data loans.csv --part test",
        "audit --model model.safetensors --data loans.csv --split-seed 3",
    ];
    let all: Vec<String> = refused.iter().map(|line| case.shown(line)).collect();
    for (line, shown) in refused.iter().zip(&all) {
        assert!(shown.contains("exit code 2"), "{line}: {shown}");
    }
    insta::assert_snapshot!("audit-refused", all.join("\n"));
}

#[test]
fn a_run_says_how_its_model_is_audited() {
    let case = Case::new();
    case.train();
    let line = "audit --model runs/loans/model.safetensors --data loans.csv";
    insta::assert_snapshot!("audit-of-a-run", case.shown(line));
    let audit: Value = serde_json::from_str(&case.read("runs/loans/audit.json")).unwrap();
    assert_eq!(audit["model"]["name"], "loans");
    assert_eq!(audit["model"]["objective"], "vanilla");
    assert_eq!(audit["training"].as_array().unwrap().len(), 2);
    assert_eq!(audit["data"]["part"], "test");
    assert_eq!(audit["data"]["split"]["seed"], 5);
    assert_eq!(audit["settings"]["k"], 3);
    assert_eq!(audit["settings"]["suite"]["effort"], "quick");
    assert_eq!(audit["settings"]["suite"]["threat"]["ball"]["radius"], 0.25);
    assert_eq!(audit["gate"][0]["text"], "p_at_k>=0");
    assert!(audit["linear"].is_object());
    let all = case.run(&format!("{line} --part all --out all"));
    assert_eq!(all.status.code(), Some(0));
    let all: Value = serde_json::from_str(&case.read("all/audit.json")).unwrap();
    assert_eq!(all["data"]["rows"], 60);
    assert!(all["data"].get("part").is_none());
    // The split that training made can be named too.
    let named = case.run(&format!("{line} --part test --split-seed 5 --out named"));
    assert_eq!(named.status.code(), Some(0));
    assert_eq!(
        case.read("named/audit.json"),
        case.read("runs/loans/audit.json")
    );
}

#[test]
fn what_the_run_requires_decides_the_exit_code() {
    let case = Case::new();
    case.train();
    let path = "runs/loans/run.toml";
    let strict = case.read(path).replace("p_at_k>=0", "p_at_k>=2");
    case.write(path, &strict);
    let line = "audit --model runs/loans/model.safetensors --data loans.csv";
    insta::assert_snapshot!("audit-gate-of-a-run-fails", case.shown(line));
    let compare = "compare flat.safetensors runs/loans/model.safetensors --data unlabelled.csv --effort quick";
    let output = case.run(compare);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("gate: p_at_k>=2 fails"), "{message}");
}

#[test]
fn a_default_k_leaves_another_column() {
    let case = Case::new();
    let line = "audit --model model.safetensors --data loans.csv --per column --effort quick --max-rows 3 --json";
    for (more, k) in [("", 3), (" --k 5", 5)] {
        let output = case.run(&format!("{line}{more}"));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(figures["k"], k);
    }
    // Six columns, and the dataset or the run would have eight reasons.
    case.train();
    let path = "runs/loans/run.toml";
    case.write(path, &case.read(path).replace("k = 3", "k = 8"));
    let line = "audit --model runs/loans/model.safetensors --data loans.csv --per column --json";
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["k"], 5);
}

#[test]
fn the_audit_of_another_model_in_the_folder_is_not_lost() {
    let case = Case::new();
    let line = |model: &str| {
        format!("audit --model {model}.safetensors --data loans.csv --effort quick --max-rows 3")
    };
    assert_eq!(case.run(&line("model")).status.code(), Some(0));
    let first = case.read("audit.json");
    insta::assert_snapshot!("audit-beside-another", case.shown(&line("flat")));
    assert_eq!(case.read("audit.json"), first);
    // The same file may be audited again, also when it was trained anew.
    std::fs::copy(
        case.path("flat.safetensors"),
        case.path("model.safetensors"),
    )
    .unwrap();
    assert_eq!(case.run(&line("model")).status.code(), Some(0));
    assert_ne!(case.read("audit.json"), first);
}

#[test]
fn progress_is_json_for_machines() {
    let case = Case::new();
    case.train();
    let output =
        case.run("audit --model runs/loans/model.safetensors --data loans.csv --progress jsonl");
    let text = String::from_utf8(output.stderr).unwrap();
    let events: Vec<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ["begin", "rows", "linear", "worst"]);
}

#[test]
fn images_are_audited_as_tables_are() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = thickset::data::open("digits", &thickset::data::OpenOptions::default()).unwrap();
    thickset::model::Model::fresh(
        ModelConfig::Mlp(MlpConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        None,
        thickset::Seed::new(1),
    )
    .unwrap()
    .save(&folder.path().join("model.safetensors"))
    .unwrap();
    let line = "audit --model model.safetensors --data digits --effort quick --max-rows 4 --json";
    let words: Vec<&str> = line.split(' ').collect();
    let output = thickset(folder.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("<img"), "maps of the worst rows");
}
