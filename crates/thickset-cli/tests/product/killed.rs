//! Audits and comparisons that are killed, not stopped, and given again.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::{Case, command};

/// Begins a command and kills it as soon as it has reported so many events. Nothing is said to it before.
fn killed(case: &Case, line: &str, events: usize) {
    let mut child = command(&case.path(""))
        .args(line.split(' '))
        .args(["--progress", "jsonl"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let reported = lines
        .map(Result::unwrap)
        .filter(|line| line.starts_with('{'));
    assert_eq!(reported.take(events).count(), events, "it ended early");
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
    // It begins, rows are done, the linear baseline is fitted, the worst rows are described.
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
        assert_eq!(files, 2, "nothing but the result and its page is left");
    }
}

#[test]
fn rows_that_somebody_changed_do_not_pass_the_gate() {
    let case = Case::new();
    let line = |out: &str| {
        format!(
            "audit --model model.safetensors --data loans.csv --effort quick --k 3 --require p_at_k>=0.999 --out {out}"
        )
    };
    let exit = |line: &str| case.run(line).status.code();
    assert_eq!(exit(&line("honest")), Some(1));
    // The model keeps all of its reasons, says the changed file.
    killed(&case, &line("forged"), 2);
    let partial = "forged/audit.json.partial";
    let mut forged = String::new();
    for piece in case.read(partial).split_inclusive("\"precision\":") {
        let (value, rest) = match piece.split_once(',') {
            Some((value, rest)) if value.parse::<f64>().is_ok() => ("1.0,", rest),
            _ => ("", piece),
        };
        forged.push_str(value);
        forged.push_str(rest);
    }
    assert_ne!(forged, case.read(partial));
    case.write(partial, &forged);
    let output = case.run(&line("forged"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("changed after it was signed"), "{message}");
    let [honest, again] = ["honest", "forged"].map(|out| case.read(&format!("{out}/audit.json")));
    assert_eq!(honest, again);
    // Nor do rows count that another user signed.
    killed(&case, &line("foreign"), 2);
    std::fs::remove_file(case.path("state/thickset/audit.key")).unwrap();
    let output = case.run(&line("foreign"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("not signed with the key of this user"),
        "{message}"
    );
}
