//! Audits and comparisons that are killed, not stopped, and given again.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::Case;

/// Begins a command and kills it as soon as it has told of so many events. Nothing is said to it before.
fn killed(case: &Case, line: &str, events: usize) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_thickset"))
        .current_dir(case.path(""))
        .args(line.split(' '))
        .args(["--progress", "jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines
        .map(Result::unwrap)
        .filter(|line| line.starts_with('{'));
    assert_eq!(told.take(events).count(), events, "it ended early");
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was killed");
}

fn done(case: &Case, line: &str) {
    let output = case.run(line);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_killed_audit_ends_with_the_same_bytes() {
    let case = Case::new();
    case.train();
    let line = |out: &str| {
        format!(
            "audit --model runs/loans/model.safetensors --data loans.csv --part all --out {out}"
        )
    };
    done(&case, &line("whole"));
    // It begins, rows are done, the linear baseline is fitted, the worst rows are told.
    for events in 1..=4 {
        let out = format!("killed-{events}");
        killed(&case, &line(&out), events);
        done(&case, &line(&out));
        for file in ["audit.json", "report.html"] {
            let [whole, again] = ["whole", &out].map(|out| case.read(&format!("{out}/{file}")));
            assert_eq!(whole, again, "{file} after {events} events");
        }
        assert!(!case.path(&out).join("audit.json.partial").exists());
    }
}

#[test]
fn a_killed_comparison_ends_with_the_same_bytes() {
    let case = Case::new();
    let line = |out: &str| {
        format!(
            "compare flat.safetensors model.safetensors --data loans.csv --effort quick --k 3 --out {out}"
        )
    };
    done(&case, &line("whole"));
    // In the first audit, between the two, in the second.
    for events in [1, 2, 4, 5] {
        let out = format!("killed-{events}");
        killed(&case, &line(&out), events);
        done(&case, &line(&out));
        let [whole, again] = ["whole", &out].map(|out| case.read(&format!("{out}/compare.json")));
        assert_eq!(whole, again, "after {events} events");
        let files = std::fs::read_dir(case.path(&out)).unwrap().count();
        assert_eq!(files, 1, "nothing but the result is left");
    }
}
