//! Checkpoints and folders in every state that an interruption or a bad disk can leave them in.

use std::fs;
use std::path::Path;

use thickset::Error;
use thickset::config::RunConfig;
use thickset::train::{Event, RunFolder};

use super::{config, data, run, run_until, same, train_on};

fn short() -> RunConfig {
    config("train = { epochs = 5 }\nprobe = { rows = 10, steps = 2 }")
}

/// Runs until the end of an epoch. 398 training rows in batches of 128 are 4 steps an epoch.
fn until_epoch(config: &RunConfig, folder: &Path, resume: bool, epoch: usize) {
    let stop = |event: &Event<'_>| matches!(event, Event::Epoch(record) if record.epoch == epoch);
    run_until(config, folder, resume, stop).unwrap();
}

/// Resumes to the end; how many broken checkpoints were told, and the first step.
fn resumed(config: &RunConfig, folder: &Path) -> (usize, Option<u64>) {
    let (mut said, mut begun) = (0, None);
    run_until(config, folder, true, |event| {
        match event {
            Event::BrokenCheckpoint { .. } => said += 1,
            Event::Begin { step, .. } => begun = Some(*step),
            _ => {}
        }
        false
    })
    .unwrap();
    (said, begun)
}

/// Writes other numbers over some in the middle of a file; it is as long as before, and they are finite.
fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 16].fill(0x3f);
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_broken_checkpoint_falls_back_to_the_one_before_and_says_so() {
    let config = short();
    let whole = tempfile::tempdir().unwrap();
    run(&config, whole.path());
    for broken in [1, 2] {
        let parts = tempfile::tempdir().unwrap();
        until_epoch(&config, parts.path(), false, 3);
        let folder = RunFolder::new(parts.path());
        let bytes = fs::read(folder.latest()).unwrap();
        fs::write(folder.latest(), &bytes[..bytes.len() / 2]).unwrap();
        if broken == 2 {
            fs::write(folder.previous(), b"").unwrap();
        }
        let (mut said, mut begun) = (0, None);
        run_until(&config, parts.path(), true, |event| {
            match event {
                Event::BrokenCheckpoint { .. } => said += 1,
                Event::Begin { step, .. } => begun = Some(*step),
                _ => {}
            }
            false
        })
        .unwrap();
        assert_eq!(said, broken);
        // 398 training rows in batches of 128 are 4 steps an epoch.
        assert_eq!(begun, Some(if broken == 1 { 8 } else { 0 }));
        same(whole.path(), parts.path(), "fallback");
    }
}

#[test]
fn numbers_overwritten_in_the_middle_are_noticed() {
    let config = short();
    let whole = tempfile::tempdir().unwrap();
    run(&config, whole.path());
    let parts = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parts.path());
    until_epoch(&config, parts.path(), false, 3);
    damage(&folder.latest());
    assert_eq!(resumed(&config, parts.path()), (1, Some(8)));
    same(whole.path(), parts.path(), "damaged");
}

#[test]
fn a_damaged_header_is_noticed() {
    let config = short();
    let parts = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parts.path());
    until_epoch(&config, parts.path(), false, 3);
    let bytes = fs::read(folder.latest()).unwrap();
    let text = b"\\\"step\\\":12";
    let at = bytes.windows(text.len()).position(|window| window == text);
    let mut changed = bytes.clone();
    changed[at.unwrap() + text.len() - 1] = b'3';
    fs::write(folder.latest(), changed).unwrap();
    assert_eq!(resumed(&config, parts.path()).0, 1);
}

#[test]
fn a_broken_checkpoint_never_takes_the_place_of_a_whole_one() {
    let config = short();
    let parts = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(parts.path());
    until_epoch(&config, parts.path(), false, 2);
    damage(&folder.latest());
    // Falls back to epoch 1 and goes on to the next checkpoint, which is then broken too.
    until_epoch(&config, parts.path(), true, 2);
    damage(&folder.latest());
    assert_eq!(resumed(&config, parts.path()), (1, Some(4)));
}

/// What is left, how it comes about, and the step at which the run goes on.
type State = (&'static str, fn(&RunFolder), u64);

#[test]
fn every_state_that_an_interruption_leaves_is_resumed() {
    let config = short();
    let whole = tempfile::tempdir().unwrap();
    run(&config, whole.path());
    let states: [State; 3] = [
        (
            "killed between the two renames of a checkpoint",
            |folder| fs::remove_file(folder.latest()).unwrap(),
            8,
        ),
        (
            "killed while a checkpoint was written",
            |folder| {
                let mut beside = folder.latest().into_os_string();
                beside.push(".part");
                fs::write(beside, b"half of it").unwrap();
            },
            12,
        ),
        (
            "a line of an epoch that is done again",
            |folder| {
                let text = fs::read_to_string(folder.metrics()).unwrap();
                let last = text.lines().last().unwrap();
                fs::write(folder.metrics(), format!("{text}{last}\n")).unwrap();
            },
            12,
        ),
    ];
    for (what, leave, step) in states {
        let parts = tempfile::tempdir().unwrap();
        until_epoch(&config, parts.path(), false, 3);
        leave(&RunFolder::new(parts.path()));
        assert_eq!(resumed(&config, parts.path()), (0, Some(step)), "{what}");
        same(whole.path(), parts.path(), what);
    }
}

#[test]
fn other_validation_rows_or_another_reference_are_another_run() {
    let first = config("train = { epochs = 2 }\nprobe = { rows = 0 }");
    let reference = tempfile::tempdir().unwrap();
    run(&first, reference.path());
    let model = reference.path().join("model.safetensors");
    let config = config(&format!(
        "retrain = {{ from = {:?} }}\ntrain = {{ epochs = 3 }}\nprobe = {{ rows = 0 }}",
        model.display().to_string()
    ));
    let folder = tempfile::tempdir().unwrap();
    let stop = |event: &Event<'_>| matches!(event, Event::Checkpoint { .. });
    run_until(&config, folder.path(), false, stop).unwrap();
    let mut dataset = data(&config);
    let row = dataset.split.validation[0];
    dataset.labels[row] = 1 - dataset.labels[row];
    let result = train_on(&dataset, &config, folder.path(), true, &mut |_| false);
    assert!(
        matches!(result, Err(Error::RunChanged { .. })),
        "{result:?}"
    );
    let longer = super::config("train = { epochs = 4 }\nprobe = { rows = 0 }");
    let other = tempfile::tempdir().unwrap();
    run(&longer, other.path());
    fs::copy(other.path().join("model.safetensors"), &model).unwrap();
    let result = run_until(&config, folder.path(), true, |_| false);
    assert!(
        matches!(result, Err(Error::RunChanged { .. })),
        "{result:?}"
    );
}

#[test]
fn a_checkpoint_of_another_configuration_is_refused() {
    let own = short();
    let folder = tempfile::tempdir().unwrap();
    until_epoch(&own, folder.path(), false, 2);
    let latest = RunFolder::new(folder.path()).latest();
    for other in [
        "train = { epochs = 5, batch = 64 }\nprobe = { rows = 10, steps = 2 }",
        "train = { epochs = 5 }\nprobe = { rows = 10, steps = 3 }",
        "seed = 9\ntrain = { epochs = 5 }\nprobe = { rows = 10, steps = 2 }",
    ] {
        // The same network on the same rows, so that nothing but the settings differs.
        let elsewhere = tempfile::tempdir().unwrap();
        until_epoch(&config(other), elsewhere.path(), false, 2);
        fs::copy(RunFolder::new(elsewhere.path()).latest(), &latest).unwrap();
        let result = run_until(&own, folder.path(), true, |_| false);
        let refused = result.unwrap_err().to_string();
        assert!(refused.contains("the configuration"), "{refused}");
    }
}
