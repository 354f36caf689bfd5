//! The datasets that have a name.

use std::fs;

use thickset::Error;
use thickset::data::{self, FeatureKind, InputShape, OpenOptions, Part};

use crate::{
    MEAN_TOLERANCE, VALUE_TOLERANCE, assert_close, class_counts, data_folder, doubles, expected,
    means, numbers, open_known, sizes,
};

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
