//! `thickset audit`.

use serde_json::Value;
use thickset::model::{ModelConfig, mlp};

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
        "data", "files", "gate", "k", "linear", "model", "rows", "summary",
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
    let attack =
        "attack --model model.safetensors --data loans.csv --effort quick --k 3 --limit 12 --json";
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
    ];
    let all: Vec<String> = refused.iter().map(|line| case.shown(line)).collect();
    for (line, shown) in refused.iter().zip(&all) {
        assert!(shown.contains("exit code 2"), "{line}: {shown}");
    }
    insta::assert_snapshot!("audit-refused", all.join("\n"));
}

/// Trains a small run in the folder.
fn trained(case: &Case) {
    case.write(
        "run.toml",
        "name = \"loans\"\nseed = 5\nk = 3\n[data]\nsource = \"loans.csv\"\ntarget = \"paid\"\n\
         [objective]\nkind = \"vanilla\"\n[train]\nepochs = 2\n\
         [audit]\neffort = \"quick\"\nradius = 0.25\nrequire = [\"p_at_k>=0\"]\n",
    );
    let output = case.run("train run.toml --progress off");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_run_says_how_its_model_is_audited() {
    let case = Case::new();
    trained(&case);
    let line = "audit --model runs/loans/model.safetensors --data loans.csv";
    insta::assert_snapshot!("audit-of-a-run", case.shown(line));
    let audit: Value = serde_json::from_str(&case.read("runs/loans/audit.json")).unwrap();
    assert_eq!(audit["model"]["name"], "loans");
    assert_eq!(audit["model"]["objective"], "vanilla");
    assert_eq!(audit["training"].as_array().unwrap().len(), 2);
    assert_eq!(audit["data"]["part"], "test");
    assert_eq!(audit["data"]["split_seed"], 5);
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
}

#[test]
fn progress_is_json_for_machines() {
    let case = Case::new();
    trained(&case);
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
        ModelConfig::Mlp(mlp::Config::default()),
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
