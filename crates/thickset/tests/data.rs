//! Datasets end to end: against values made with pandas, from file to matrix and back, and with hostile files.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts and pixels are small, and exported numbers are single precision"
)]
#![expect(clippy::float_cmp, reason = "values that must be equal to the bit")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use thickset::data::{
    self, Dataset, Encoding, FeatureKind, InferOptions, InputShape, MissingColumn, OpenOptions,
    Part, ReadRule, Recipe, Scale, Table, Wanted,
};
use thickset::{Error, Result, Seed};

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
    eprintln!(
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

#[test]
fn tables_are_encoded_as_pandas_encodes_them() {
    let Some(folder) = data_folder() else { return };
    for (name, expected) in expected()["tables"].as_object().unwrap() {
        let dataset = open_known(name, &folder);
        assert_eq!(
            dataset.rows() as u64,
            expected["rows"].as_u64().unwrap(),
            "{name}"
        );
        let names: Vec<&str> = dataset
            .schema
            .features
            .iter()
            .map(|feature| feature.name.as_str())
            .collect();
        assert_eq!(
            serde_json::to_value(names).unwrap(),
            expected["features"],
            "{name}"
        );
        assert_eq!(
            class_counts(&dataset),
            sizes(&expected["classes"]),
            "{name}"
        );
        let split =
            [Part::Train, Part::Validation, Part::Test].map(|part| dataset.part(part).len());
        assert_eq!(split.to_vec(), sizes(&expected["split"]), "{name}");
        assert_eq!(
            dataset.split.validation[0] as u64,
            expected["first_validation_row"].as_u64().unwrap(),
            "{name}"
        );
        let row = |row| doubles(&dataset.gather(&[row]));
        assert_close(
            &row(0),
            &numbers(&expected["first_row"]),
            VALUE_TOLERANCE,
            name,
        );
        assert_close(
            &row(dataset.rows() - 1),
            &numbers(&expected["last_row"]),
            VALUE_TOLERANCE,
            name,
        );
        assert_close(
            &means(&dataset, Part::Train),
            &numbers(&expected["train_means"]),
            MEAN_TOLERANCE,
            name,
        );
        assert_close(
            &means(&dataset, Part::Test),
            &numbers(&expected["test_means"]),
            MEAN_TOLERANCE,
            name,
        );
    }
}

#[test]
fn the_paper_counts_of_features_hold_and_all_lie_between_zero_and_one() {
    let Some(folder) = data_folder() else { return };
    for (name, features) in [("adult", 28), ("bank", 18), ("compas", 16)] {
        let dataset = open_known(name, &folder);
        assert_eq!(dataset.features(), features, "{name}");
        let all: Vec<usize> = (0..dataset.rows()).collect();
        assert!(
            dataset
                .gather(&all)
                .iter()
                .all(|value| (0.0..=1.0).contains(value)),
            "{name}"
        );
        assert_eq!(dataset.attack.unwrap().k, 8, "{name}");
        for (column, positions) in dataset.schema.by_column() {
            let grouped = positions
                .iter()
                .filter(|&&at| dataset.schema.features[at].group.is_some())
                .count();
            assert!(
                grouped == 0 || grouped == positions.len(),
                "{name} {column}"
            );
        }
    }
}

#[test]
fn german_credit_has_a_feature_a_code() {
    let Some(folder) = data_folder() else { return };
    let expected = &expected()["german-credit"];
    let dataset = open_known("german-credit", &folder);
    assert_eq!(
        dataset.features() as u64,
        expected["feature_count"].as_u64().unwrap()
    );
    assert_eq!(class_counts(&dataset), sizes(&expected["classes"]));
    let duration = dataset
        .schema
        .features
        .iter()
        .position(|feature| feature.name == "duration")
        .unwrap();
    let found: Vec<f64> = (0..5)
        .map(|row| f64::from(dataset.gather(&[row])[duration]))
        .collect();
    assert_close(
        &found,
        &numbers(&expected["duration_of_first_rows"]),
        VALUE_TOLERANCE,
        "duration",
    );
}

#[test]
fn images_have_the_bytes_that_numpy_reads() {
    let Some(folder) = data_folder() else { return };
    for (name, expected) in expected()["bytes"].as_object().unwrap() {
        let dataset = open_known(name, &folder);
        let (white, from) = if name == "digits" {
            (16.0, 30)
        } else {
            (255.0, 300)
        };
        let bytes = |row| -> Vec<usize> {
            dataset
                .gather(&[row])
                .iter()
                .map(|value| (f64::from(*value) * white).round() as usize)
                .collect()
        };
        let total = |row| bytes(row).iter().sum::<usize>() as u64;
        assert_eq!(
            dataset.rows() as u64,
            expected["rows"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            dataset.features() as u64,
            expected["feature_count"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            class_counts(&dataset),
            sizes(&expected["classes"]),
            "{name}"
        );
        assert_eq!(
            total(0),
            expected["first_row_sum"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            total(dataset.rows() - 1),
            expected["last_row_sum"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            (0..dataset.rows()).map(total).sum::<u64>(),
            expected["sum"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            bytes(7)[from..from + 20],
            sizes(&expected["row_7"]),
            "{name}"
        );
    }
}

#[test]
fn brain_graphs_have_the_edges_that_python_reads() {
    let Some(folder) = data_folder() else { return };
    let expected = expected();
    let abide = open_known("abide", &folder);
    assert_eq!(abide.shape(), &InputShape::Graph { nodes: 116 });
    assert_eq!(class_counts(&abide), sizes(&expected["abide"]["classes"]));
    let codes: Vec<f64> = abide.gather(&[7])[300..320]
        .iter()
        .map(|r| (f64::from(*r) * 32767.0).round())
        .collect();
    assert_eq!(codes, numbers(&expected["abide"]["row_7"]));
    for (name, expected) in expected["adhd"].as_object().unwrap() {
        let dataset = open_known(name, &folder);
        assert_eq!(dataset.features(), 17_955, "{name}");
        assert_eq!(
            class_counts(&dataset),
            sizes(&expected["classes"]),
            "{name}"
        );
        let all: Vec<usize> = (0..dataset.rows()).collect();
        let edges = dataset
            .gather(&all)
            .iter()
            .filter(|&&weight| weight != 0.0)
            .count();
        assert_eq!(edges as u64, expected["edges"].as_u64().unwrap(), "{name}");
        let first: Vec<[usize; 2]> =
            serde_json::from_value(expected["first_edges"].clone()).unwrap();
        let row = dataset.gather(&[0]);
        let found: Vec<[usize; 2]> = (0..dataset.features())
            .filter(|&at| row[at] != 0.0)
            .take(first.len())
            .map(|at| match dataset.schema.features[at].kind {
                FeatureKind::Edge { from, to } => [from, to],
                _ => panic!("not an edge"),
            })
            .collect();
        assert_eq!(found, first, "{name}");
    }
}

#[test]
fn mnist_pairs_are_threes_and_eights_in_the_paper_numbers() {
    let Some(folder) = data_folder() else { return };
    let dataset = open_known("mnist-3-8-pairs", &folder);
    assert_eq!(
        [Part::Train, Part::Validation, Part::Test].map(|part| dataset.part(part).len()),
        [2400, 300, 600]
    );
    assert_eq!(dataset.features(), 2 * 784);
    assert_eq!(class_counts(&dataset), [1650, 1650]);
    let inputs = dataset.pairs().unwrap().iter().flatten().max().unwrap();
    assert!(
        *inputs < 6131 + 5851 + 1010 + 974,
        "only threes and eights are kept"
    );
}

#[test]
fn a_wrong_byte_in_a_known_file_is_noticed() {
    let Some(folder) = data_folder() else { return };
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("german-credit")).unwrap();
    let mut bytes = fs::read(folder.join("german-credit/german.data")).unwrap();
    bytes[0] = b'B';
    fs::write(copy.path().join("german-credit/german.data"), bytes).unwrap();
    let options = OpenOptions {
        data_dir: Some(copy.path().to_path_buf()),
        ..OpenOptions::default()
    };
    assert!(matches!(
        data::open("german-credit", &options),
        Err(Error::WrongContent { .. })
    ));
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

#[test]
fn inference_finds_numbers_categories_missing_values_and_what_to_leave_out() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open_file(
        &write(&folder, "loans.csv", loans(1000, |_, line| line)),
        "default",
    )
    .unwrap();
    let names: Vec<&str> = dataset
        .schema
        .features
        .iter()
        .map(|feature| feature.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "income",
            "income is missing",
            "age",
            "city=Graz",
            "city=Linz",
            "city=Wels",
            "job=baker",
            "job=clerk",
            "job=smith",
            "job=(missing)",
            "job=(other)"
        ]
    );
    assert_eq!(dataset.classes, ["no", "yes"]);
    assert_eq!(dataset.missing["income"], 91);
    let notes = dataset.notes.join("\n");
    assert!(notes.contains("`id`: it numbers the rows"), "{notes}");
    assert!(notes.contains("`country`: it is constant, `AT`"), "{notes}");
    let age = &dataset.schema.features[2];
    assert!(age.integer && age.column == "age");
    assert!((age.decode(age.encode(33.0)) - 33.0).abs() < 1e-4);
}

#[test]
fn an_encoding_saved_and_loaded_gives_new_rows_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "loans.csv", loans(1000, |_, line| line));
    for scale in [Scale::MinMax, Scale::Standard] {
        let infer = InferOptions {
            scale,
            ..InferOptions::default()
        };
        let dataset = data::open(
            &path.display().to_string(),
            &OpenOptions {
                infer,
                ..OpenOptions::default()
            },
        )
        .unwrap();
        let encoding = dataset.encoding.clone().unwrap();
        let loaded: Encoding =
            serde_json::from_str(&serde_json::to_string(&encoding).unwrap()).unwrap();
        assert_eq!(loaded, encoding);
        let new = write(
            &folder,
            "new.csv",
            loans(333, |row, line| {
                line.replace(".5,", &format!(".{},", row * 7919))
            }),
        );
        let apply = |encoding: &Encoding| {
            let table = data::read_csv(&new, &encoding.read, &encoding.wanted(false)).unwrap();
            encoding
                .apply(table)
                .unwrap()
                .values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(apply(&loaded), apply(&encoding));
        // The rows it was made from come out as they are in the dataset.
        let table = data::read_csv(&path, &loaded.read, &loaded.wanted(true)).unwrap();
        assert_eq!(
            loaded
                .labels(&table)
                .unwrap()
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
            dataset.labels
        );
        let all: Vec<usize> = (0..dataset.rows()).collect();
        assert_eq!(loaded.apply(table).unwrap().values, dataset.gather(&all));
    }
}

#[test]
fn nothing_of_validation_or_test_rows_reaches_the_encoding() {
    let folder = tempfile::tempdir().unwrap();
    let honest = open_file(
        &write(&folder, "a.csv", loans(1000, |_, line| line)),
        "default",
    )
    .unwrap();
    let train = honest.split.train.clone();
    let spoiled = loans(1000, |row, line| {
        if train.binary_search(&row).is_ok() {
            return line;
        }
        let label = line.rsplit(',').next().unwrap();
        format!("{row},1e9,-777,Atlantis,wizard,XX,{label}")
    });
    let spoiled = open_file(&write(&folder, "b.csv", spoiled), "default").unwrap();
    assert_eq!(spoiled.split, honest.split);
    assert_eq!(spoiled.encoding, honest.encoding);
    assert_eq!(spoiled.gather(&train), honest.gather(&train));
}

#[test]
fn unseen_categories_and_missing_columns_do_as_declared() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open_file(
        &write(&folder, "a.csv", loans(1000, |_, line| line)),
        "default",
    )
    .unwrap();
    let encoding = dataset.encoding.unwrap();
    let read = |text: &str, encoding: &Encoding| -> Table {
        data::read_csv_from(
            text.as_bytes(),
            "new.csv",
            &encoding.read,
            &encoding.wanted(false),
        )
        .unwrap()
    };
    let header = "income,age,city,job";
    let unseen = encoding
        .apply(read(&format!("{header}\n5,30,Atlantis,baker\n"), &encoding))
        .unwrap();
    assert_eq!(unseen.values[3..6], [0.0, 0.0, 0.0]);
    assert_eq!(unseen.unseen["city"], 1);
    let error = encoding
        .apply(read("income,age,city\n5,30,Graz\n", &encoding))
        .unwrap_err();
    assert!(matches!(error, Error::UnknownColumn { column, .. } if column == "job"));
    let encoding = declared_to_impute(&folder);
    let imputed = encoding
        .apply(read("age,city\n30,Graz\n", &encoding))
        .unwrap();
    assert_eq!(imputed.values[1], 1.0, "income is missing");
    assert_eq!(
        imputed.values[6..],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        "job=(missing)"
    );
}

/// The encoding of the loans by their inferred recipe, printed, edited and read again.
fn declared_to_impute(folder: &tempfile::TempDir) -> Encoding {
    let file = folder.path().join("a.csv");
    let inferred = open_file(&file, "default").unwrap().recipe.unwrap();
    let text = inferred.to_toml().unwrap();
    let edited = text.replace("missing_column = \"error\"", "missing_column = \"impute\"");
    assert_ne!(edited, text);
    let options = OpenOptions {
        recipe: Some(Recipe::parse(&edited, "loans.toml").unwrap()),
        ..OpenOptions::default()
    };
    let declared = data::open(file.to_str().unwrap(), &options).unwrap();
    let inline = OpenOptions {
        target: Some("default".to_owned()),
        infer: InferOptions {
            missing_column: MissingColumn::Impute,
            ..InferOptions::default()
        },
        ..OpenOptions::default()
    };
    let inline = data::open(file.to_str().unwrap(), &inline).unwrap();
    assert_eq!(inline.encoding, declared.encoding);
    declared.encoding.unwrap()
}

#[test]
fn rare_values_share_a_group_that_also_takes_unseen_ones() {
    let folder = tempfile::tempdir().unwrap();
    let text = loans(1000, |row, line| {
        line.replace("Wels", if row % 50 == 1 { "Steyr" } else { "Wels" })
            .replace(
                "Graz",
                match row % 240 {
                    0 => "Rust",
                    3 => "Lech",
                    _ => "Graz",
                },
            )
    });
    let dataset = open_file(&write(&folder, "a.csv", text), "default").unwrap();
    let names: Vec<&str> = dataset
        .schema
        .features
        .iter()
        .filter(|f| f.column == "city")
        .map(|feature| feature.name.as_str())
        .collect();
    assert_eq!(names.last(), Some(&"city=(other)"));
    assert!(!names.contains(&"city=Rust"), "{names:?}");
    let groups: Vec<_> = dataset
        .schema
        .features
        .iter()
        .filter(|f| f.column == "city")
        .map(|f| f.group)
        .collect();
    assert!(
        groups
            .iter()
            .all(|group| group.is_some() && *group == groups[0])
    );
    let all: Vec<usize> = (0..dataset.rows()).collect();
    let first = dataset
        .schema
        .features
        .iter()
        .position(|f| f.column == "city")
        .unwrap();
    for row in dataset.gather(&all).chunks(dataset.features()) {
        assert!((row[first..first + names.len()].iter().sum::<f32>() - 1.0).abs() < f32::EPSILON);
    }
}

#[test]
fn a_printed_recipe_gives_the_same_matrix_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "loans.csv", loans(1000, |_, line| line));
    let inferred = open_file(&path, "default").unwrap();
    let printed = inferred.recipe.as_ref().unwrap().to_toml().unwrap();
    let recipe = Some(Recipe::parse(&printed, "loans.toml").unwrap());
    let again = data::open(
        &path.display().to_string(),
        &OpenOptions {
            recipe,
            ..OpenOptions::default()
        },
    )
    .unwrap();
    let all: Vec<usize> = (0..again.rows()).collect();
    assert_eq!(again.gather(&all), inferred.gather(&all));
    assert_eq!(again.schema, inferred.schema);
}

#[test]
fn parquet_and_csv_of_one_table_give_one_matrix() {
    let (csv, parquet) = (
        open_file(&golden("loans.csv"), "default"),
        open_file(&golden("loans.parquet"), "default"),
    );
    let (csv, parquet) = (csv.unwrap(), parquet.unwrap());
    assert_eq!(csv.schema, parquet.schema);
    assert_eq!(csv.labels, parquet.labels);
    assert_eq!(csv.missing, parquet.missing);
    let all: Vec<usize> = (0..csv.rows()).collect();
    assert_eq!(csv.gather(&all), parquet.gather(&all));
    let names: Vec<&str> = csv
        .schema
        .features
        .iter()
        .map(|feature| feature.column.as_str())
        .collect();
    for column in ["income", "age", "children", "owner", "city", "rate"] {
        assert!(names.contains(&column), "{column} is not in {names:?}");
    }
}

#[test]
fn what_is_exported_reads_back_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = open_file(&golden("loans.csv"), "default").unwrap();
    let all: Vec<usize> = (0..dataset.rows()).collect();
    let values = dataset.gather(&all);
    for name in ["out.csv", "out.parquet"] {
        let path = folder.path().join(name);
        data::export(&dataset, &path).unwrap();
        let table = if name == "out.csv" {
            data::read_csv(&path, &ReadRule::default(), &Wanted::default()).unwrap()
        } else {
            data::read_parquet(&path, &ReadRule::default(), &Wanted::default()).unwrap()
        };
        assert_eq!(table.rows(), dataset.rows());
        for (at, feature) in dataset.schema.features.iter().enumerate() {
            let column = &table.column(&feature.name).unwrap().values;
            for row in 0..table.rows() {
                let expected = values[row * dataset.features() + at];
                let found = column.number(row).unwrap() as f32;
                assert_eq!(
                    found.to_bits(),
                    expected.to_bits(),
                    "{name} {} {row}",
                    feature.name
                );
            }
        }
        let parts = dataset.split.parts(dataset.rows());
        for (row, part) in parts.iter().enumerate() {
            assert_eq!(
                table.column("split").unwrap().values.text(row).as_deref(),
                Some(part.name())
            );
            assert_eq!(
                table.column("label").unwrap().values.number(row),
                Some(dataset.labels[row] as f64)
            );
        }
    }
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "no half-written file is left"
    );
}

#[test]
fn a_folder_of_images_has_a_class_a_subfolder() {
    let folder = tempfile::tempdir().unwrap();
    for (class, colour) in [("cat", [255_u8, 0, 51]), ("dog", [0, 255, 102])] {
        fs::create_dir(folder.path().join(class)).unwrap();
        for number in 0..6 {
            let image = image::RgbImage::from_pixel(4, 3, image::Rgb(colour));
            image
                .save(folder.path().join(class).join(format!("{number}.png")))
                .unwrap();
        }
    }
    let path = folder.path().display().to_string();
    let dataset = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(dataset.classes, ["cat", "dog"]);
    assert_eq!(
        dataset.shape(),
        &InputShape::Image {
            channels: 3,
            height: 3,
            width: 4
        }
    );
    let row = dataset.gather(&[0]);
    assert_eq!([row[0], row[12], row[24]], [1.0, 0.0, 0.2]);
    let scaled = data::open(
        &path,
        &OpenOptions {
            image_size: Some((2, 2)),
            ..OpenOptions::default()
        },
    )
    .unwrap();
    assert_eq!(scaled.features(), 12);
    image::RgbImage::new(5, 5)
        .save(folder.path().join("dog/odd.png"))
        .unwrap();
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Malformed { .. })
    ));
    fs::write(folder.path().join("dog/odd.png"), b"not an image").unwrap();
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Image { .. })
    ));
}

#[test]
fn a_folder_of_adjacency_matrices_is_a_dataset_of_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let mut labels = "file,label\n".to_owned();
    for number in 0..12 {
        let weight = f64::from(number) / 16.0;
        fs::write(
            folder.path().join(format!("g{number}.csv")),
            format!("0,{weight},1\n{weight},0,0\n1,0,0\n"),
        )
        .unwrap();
        writeln!(
            labels,
            "g{number}.csv,{}",
            ["sick", "well"][number as usize % 2]
        )
        .unwrap();
    }
    write(&folder, "labels.csv", labels);
    let path = folder.path().display().to_string();
    let dataset = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(dataset.shape(), &InputShape::Graph { nodes: 3 });
    assert_eq!(dataset.classes, ["sick", "well"]);
    assert_eq!(dataset.gather(&[4]), [0.25, 1.0, 0.0]);
    fs::write(folder.path().join("g3.csv"), "0,1,1\n0,0,0\n1,0,0\n").unwrap();
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Malformed { line: Some(1), .. })
    ));
}

#[test]
fn the_recipe_of_the_manual_works() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data.md");
    let manual = fs::read_to_string(manual).unwrap();
    let (_, rest) = manual.split_once("```toml\n").unwrap();
    let recipe = Recipe::parse(rest.split_once("```").unwrap().0, "data.md").unwrap();
    let mut text = "income,year,sex,job,default\n".to_owned();
    for row in 0..200 {
        let job = ["clerk", "manager", "baker", "diver", ""][row % 5];
        let default = ["no", "yes", "late"][row * 7 % 3];
        writeln!(
            text,
            "{},{},{},{job},{default}",
            1000 + row,
            2010 + row % 10,
            ["male", "female"][row % 2]
        )
        .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "loans.csv", text).display().to_string();
    let options = OpenOptions {
        recipe: Some(recipe),
        ..OpenOptions::default()
    };
    let dataset = data::open(&path, &options).unwrap();
    assert_eq!(dataset.rows(), 100, "half of the years are kept");
    let names: Vec<&str> = dataset
        .schema
        .features
        .iter()
        .map(|feature| feature.name.as_str())
        .collect();
    assert_eq!(names, ["income", "sex=male", "job=office", "job=elsewhere"]);
    assert_eq!(dataset.classes, ["repaid", "defaulted"]);
}

#[test]
fn the_split_follows_the_seed_and_nothing_else() {
    let path = golden("loans.csv").display().to_string();
    let with = |seed| {
        data::open(
            &path,
            &OpenOptions {
                seed: Seed::new(seed),
                ..OpenOptions::default()
            },
        )
        .unwrap()
    };
    assert_eq!(with(5).split, with(5).split);
    assert_ne!(with(5).split, with(6).split);
}

fn read_text(bytes: &[u8]) -> Result<Table> {
    data::read_csv_from(bytes, "a.csv", &ReadRule::default(), &Wanted::default())
}

proptest! {
    #[test]
    fn no_bytes_make_the_csv_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_text(&bytes);
    }

    #[test]
    fn no_text_makes_opening_a_table_panic(text in "([a-c0-9.,;\"\n -]{0,8}[,\n]){0,60}") {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", text);
        let _ = data::open(&path.display().to_string(), &OpenOptions::default());
    }

    #[test]
    fn numbers_and_texts_read_back_whatever_the_delimiter(
        rows in proptest::collection::vec((any::<i32>(), "[a-z]{1,8}", -1e6..1e6_f64), 2..50),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|'])
    ) {
        let mut text = format!("a{delimiter}b{delimiter}c\n");
        for (a, b, c) in &rows {
            writeln!(text, "{a}{delimiter}{b}{delimiter}{c}").unwrap();
        }
        // Texts that look like a missing or an infinite number are not texts.
        prop_assume!(rows.iter().all(|(_, b, _)| !["nan", "null", "inf", "infinity"].contains(&b.as_str())));
        let table = read_text(text.as_bytes()).unwrap();
        for (row, (a, b, c)) in rows.iter().enumerate() {
            prop_assert_eq!(table.columns[0].values.number(row), Some(f64::from(*a)));
            let found = table.columns[1].values.text(row);
            prop_assert_eq!(found.as_deref(), Some(b.as_str()));
            prop_assert_eq!(table.columns[2].values.number(row), Some(*c));
        }
    }

    #[test]
    fn a_parquet_file_with_a_wrong_byte_is_read_or_refused(at in 0_usize..1_000_000, byte: u8) {
        let mut bytes = fs::read(golden("loans.parquet")).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.parquet", bytes);
        let _ = data::read_parquet(&path, &ReadRule::default(), &Wanted::default());
    }

    #[test]
    fn a_parquet_file_cut_anywhere_is_refused(keep in 0_usize..1_000_000) {
        let bytes = fs::read(golden("loans.parquet")).unwrap();
        let keep = keep % bytes.len();
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.parquet", &bytes[..keep]);
        prop_assert!(data::read_parquet(&path, &ReadRule::default(), &Wanted::default()).is_err());
    }
}
