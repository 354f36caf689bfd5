//! Datasets end to end: against values made with pandas, from file to matrix and back, and with hostile files.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and pixels are small, and exported numbers are single precision"
)]
#![expect(clippy::float_cmp, reason = "values that must be equal to the bit")]

mod folders;
mod hostile;
mod known;
mod own_table;
mod people;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use thickset::Result;
use thickset::data::{self, Dataset, OpenOptions, Part};

/// Encoded values are single precision in [0, 1], so a right one differs by half a unit in the last place.
const VALUE_TOLERANCE: f64 = 1e-6;
/// Means are of single-precision values, summed in double precision.
const MEAN_TOLERANCE: f64 = 1e-7;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/data")
        .join(name)
}

fn expected() -> Value {
    serde_json::from_str(&fs::read_to_string(golden("expected.json")).unwrap()).unwrap()
}

/// The shared data folder, or `None` with a loud word.
fn data_folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("THICKSET_DATA").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    // Not `eprintln`, which the test harness keeps to itself.
    let mut terminal = std::io::stderr();
    let _ = writeln!(
        terminal,
        "SKIPPED: the data folder {} does not exist; set THICKSET_DATA",
        folder.display()
    );
    None
}

fn open_known(name: &str, folder: &Path) -> Dataset {
    let options = OpenOptions {
        data_dir: Some(folder.to_path_buf()),
        ..OpenOptions::default()
    };
    data::open(name, &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn open_file(path: &Path, target: &str) -> Result<Dataset> {
    let options = OpenOptions {
        target: Some(target.to_owned()),
        ..OpenOptions::default()
    };
    data::open(&path.display().to_string(), &options)
}

fn class_counts(dataset: &Dataset) -> Vec<usize> {
    (0..dataset.classes.len())
        .map(|class| {
            dataset
                .labels
                .iter()
                .filter(|&&label| label == class)
                .count()
        })
        .collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn sizes(value: &Value) -> Vec<usize> {
    serde_json::from_value(value.clone()).unwrap()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (found - expected).abs() <= tolerance,
            "{what}, feature {at}: {found}, expected {expected}"
        );
    }
}

fn doubles(row: &[f32]) -> Vec<f64> {
    row.iter().map(|&value| f64::from(value)).collect()
}

fn means(dataset: &Dataset, part: Part) -> Vec<f64> {
    let rows = dataset.part(part);
    let mut sums = vec![0.0; dataset.features()];
    for &row in rows {
        for (sum, value) in sums.iter_mut().zip(dataset.gather(&[row])) {
            *sum += f64::from(value);
        }
    }
    sums.iter().map(|sum| sum / rows.len() as f64).collect()
}

/// A table with every kind of column: `rows` rows, of which `edit` may change the text.
fn loans(rows: usize, edit: impl Fn(usize, String) -> String) -> String {
    let mut text = "id,income,age,city,job,country,default\n".to_owned();
    for row in 0..rows {
        let income = if row % 11 == 3 {
            String::new()
        } else {
            format!("{}.5", 1000 + row * 37 % 901)
        };
        let city = ["Graz", "Linz", "Wels"][row * 7 % 3];
        let job = if row % 97 == 5 {
            "astronaut"
        } else {
            ["baker", "smith", "clerk", "NA"][row % 4]
        };
        let default = if row * 13 % 10 < 3 { "yes" } else { "no" };
        let line = format!(
            "{},{income},{},{city},{job},AT,{default}",
            row + 1,
            18 + row * 5 % 50
        );
        writeln!(text, "{}", edit(row, line)).unwrap();
    }
    text
}

fn write(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}
