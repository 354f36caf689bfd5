//! A sweep chooses one of its runs, each of which is as it would be alone.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::Path;

use thickset::Error;
use thickset::config::RunConfig;
use thickset::train::{Event, RunFolder, Sweep, sweep, sweep_share};

use super::{config, run, run_until, same};

/// Six runs of three short epochs, one of which diverges.
fn grid() -> RunConfig {
    config(
        "train = { epochs = 3, batch = 64, checkpoint_steps = 2, optimizer = { kind = \"sgd\" } }\n\
         probe = { rows = 20, steps = 3 }\n\
         sweep = { \"objective.gap_weight\" = [0.0, 0.3], \"train.optimizer.rate\" = [0.05, 0.2, 1e30] }",
    )
}

fn swept(
    folder: &Path,
    resume: bool,
    threads: usize,
    mut stop: impl FnMut(usize, &Event<'_>) -> bool + Send,
) -> thickset::Result<Option<Sweep>> {
    let mut observer = |number: usize, event: &Event<'_>| {
        if stop(number, event) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let run = grid().check().unwrap();
    let threads = NonZero::new(threads);
    sweep(
        &run,
        &RunFolder::new(folder),
        resume,
        threads,
        &mut observer,
    )
}

fn whole(folder: &Path, threads: usize) -> Sweep {
    swept(folder, false, threads, |_, _| false)
        .unwrap()
        .unwrap()
}

fn same_sweep(first: &Path, second: &Path, what: &str) {
    same(first, second, what);
    for name in ["run.toml", "sweep.json"] {
        let [a, b] = [first, second].map(|folder| std::fs::read(folder.join(name)).unwrap());
        assert!(a == b, "{what}: `{name}` differs");
    }
}

#[test]
fn the_winner_has_the_bytes_it_would_have_alone_on_any_number_of_threads() {
    let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let result = whole(three.path(), 3);
    assert_eq!(result, whole(one.path(), 1));
    same_sweep(one.path(), three.path(), "threads");
    let winner = result.winner().unwrap();
    let diverged: Vec<usize> = result
        .runs
        .iter()
        .filter(|run| run.standing.is_none())
        .map(|run| run.number)
        .collect();
    assert_eq!(diverged, [3, 6], "{result:?}");
    let standing = winner.standing.unwrap();
    for other in result.runs.iter().filter_map(|run| run.standing) {
        assert!(other.auc <= standing.auc + result.selection.auc_within);
    }
    let alone = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(one.path().join("run.toml")).unwrap();
    let chosen = RunConfig::parse(&text, "run.toml").unwrap();
    run(&chosen, alone.path());
    same(one.path(), alone.path(), "alone");
    same(
        one.path(),
        &one.path().join("sweep").join(winner.number.to_string()),
        "the winner's own folder",
    );
}

#[test]
fn a_sweep_that_is_stopped_and_resumed_ends_with_the_same_bytes_and_keeps_finished_runs() {
    let uninterrupted = tempfile::tempdir().unwrap();
    whole(uninterrupted.path(), 2);
    let parts = tempfile::tempdir().unwrap();
    for stop in [5, 30, 60] {
        let mut heard = 0;
        let stopped = swept(parts.path(), true, 2, |_, _| {
            heard += 1;
            heard == stop
        });
        assert_eq!(stopped.unwrap(), None);
        assert!(!parts.path().join("model.safetensors").exists());
    }
    let mut steps = 0;
    let mut after_the_end = [false; 6];
    swept(parts.path(), true, 2, |number, event| {
        steps += usize::from(matches!(event, Event::Step { .. }));
        if let Event::Begin { step, .. } = event {
            after_the_end[number] = *step == 21;
        }
        false
    })
    .unwrap()
    .unwrap();
    // Four whole runs are 84 steps.
    assert!(steps < 84, "{steps}");
    assert!(after_the_end.contains(&true), "a finished run was kept");
    same_sweep(uninterrupted.path(), parts.path(), "resumed");
}

#[test]
fn a_folder_of_another_sweep_or_run_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    whole(folder.path(), 2);
    let again = swept(folder.path(), false, 2, |_, _| false);
    assert!(matches!(again, Err(Error::RunExists { .. })));
    let plain = config("train = { epochs = 1 }\nprobe = { rows = 0 }");
    let result = run_until(&plain, folder.path(), false, |_| false);
    assert!(matches!(result, Err(Error::RunExists { .. })));
    let other = tempfile::tempdir().unwrap();
    run(&plain, other.path());
    let result = swept(other.path(), true, 2, |_, _| false);
    assert!(matches!(result, Err(Error::RunExists { .. })));
    let result = run_until(&grid(), &other.path().join("new"), false, |_| false);
    assert!(
        matches!(result, Err(Error::Sweep { .. })),
        "one run was asked for"
    );
}

#[test]
fn a_combination_that_does_not_fit_the_data_is_refused_before_anything_is_begun() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("sweep");
    for sweep_of in [
        "k = [8, 40]",
        "\"objective.pair_count\" = [8, 9]",
        "\"model.kind\" = [\"mlp\", \"cnn\"]",
    ] {
        let config = config(&format!(
            "train = {{ epochs = 1 }}\nprobe = {{ rows = 0 }}\nsweep = {{ {sweep_of} }}"
        ));
        let run = config.check().unwrap();
        let mut observer = |_: usize, _: &Event<'_>| ControlFlow::Continue(());
        let result = sweep(&run, &RunFolder::new(&out), false, None, &mut observer);
        assert!(result.is_err(), "{sweep_of}: {result:?}");
        assert!(!out.exists(), "{sweep_of}");
    }
}

/// Copies a folder into another.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

#[test]
fn shares_of_several_machines_come_to_the_same_bytes_as_one_machine() {
    let alone = tempfile::tempdir().unwrap();
    let expected = whole(alone.path(), 2);
    let run = grid().check().unwrap();
    let gathered = tempfile::tempdir().unwrap();
    for number in 1..=4 {
        let machine = tempfile::tempdir().unwrap();
        let shard = format!("{number}/4").parse().unwrap();
        let folder = RunFolder::new(machine.path());
        let mut observer = |_: usize, _: &Event<'_>| ControlFlow::Continue(());
        let trained = sweep_share(&run, &folder, shard, false, None, &mut observer).unwrap();
        // Of the combinations 1 to 6 the third and the sixth diverge.
        assert_eq!(trained, Some([2, 1, 0, 1][number - 1]), "machine {number}");
        assert!(!folder.model().exists(), "nothing is chosen yet");
        copy(machine.path(), gathered.path());
    }
    let found = swept(gathered.path(), true, 2, |_, _| false);
    assert_eq!(found.unwrap().unwrap(), expected);
    same_sweep(alone.path(), gathered.path(), "shares");
}
