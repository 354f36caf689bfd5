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
    let facts = &expected["abide"];
    assert_eq!(class_counts(&abide), sizes(&facts["classes"]));
    assert_eq!(abide.rows() as u64, facts["rows"].as_u64().unwrap());
    assert_eq!(
        abide.features() as u64,
        facts["feature_count"].as_u64().unwrap()
    );
    let code = |r: f32| (f64::from(r) * 32767.0).round();
    let sum: f64 = (0..abide.rows())
        .map(|row| abide.gather(&[row]).into_iter().map(code).sum::<f64>())
        .sum();
    assert_eq!(sum, facts["sum"].as_f64().unwrap());
    let codes: Vec<f64> = abide.gather(&[7])[300..320]
        .iter()
        .map(|r| code(*r))
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
fn brain_graphs_pair_up_as_the_manual_says() {
    let Some(folder) = data_folder() else { return };
    for (name, rows, features) in [
        ("abide-pairs", 505_582, 2 * 6670),
        ("adhd-kki-pairs", 0, 2 * 17_955),
        ("adhd-ohsu-pairs", 0, 2 * 17_955),
        ("adhd-peking-pairs", 0, 2 * 17_955),
    ] {
        let single = open_known(name.strip_suffix("-pairs").unwrap(), &folder);
        let dataset = open_known(name, &folder);
        let [train, validation, test] =
            [Part::Train, Part::Validation, Part::Test].map(|part| single.part(part).len());
        assert_eq!(
            [Part::Train, Part::Validation, Part::Test].map(|part| dataset.part(part).len()),
            [train * (train - 1) / 2, validation * train, test * train],
            "{name}"
        );
        assert!(rows == 0 || dataset.rows() == rows, "{name}");
        assert_eq!(dataset.features(), features, "{name}");
        let last = dataset.rows() - 1;
        let [left, right] = dataset.pairs().unwrap()[last].map(|input| input as usize);
        let expected = [single.gather(&[left]), single.gather(&[right])].concat();
        assert_eq!(dataset.gather(&[last]), expected, "{name}");
        let same = usize::from(single.labels[left] == single.labels[right]);
        assert_eq!(dataset.labels[last], same, "{name}");
    }
}

#[test]
fn every_file_of_a_known_dataset_is_pinned_but_four_batches_of_cifar() {
    let mut unpinned = Vec::new();
    for known in data::KNOWN {
        for file in known.recipe().unwrap().files {
            let is_pinned =
                file.sha256.is_some() && (file.labels.is_none() || file.labels_sha256.is_some());
            if !is_pinned {
                unpinned.push(file.path);
            }
        }
    }
    let batches: Vec<String> = (2..=5)
        .map(|batch| format!("cifar10/data_batch_{batch}.bin"))
        .collect();
    assert_eq!(unpinned, batches);
}

#[test]
fn cifar_is_read_from_the_batches_that_are_there() {
    let Some(folder) = data_folder() else { return };
    if std::env::var_os("THICKSET_DATA").is_some() {
        eprintln!("skipped: batches that THICKSET_DATA has would be read too");
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    let batches = copy.path().join("cifar10");
    fs::create_dir(&batches).unwrap();
    for name in ["data_batch_1.bin", "test_batch.bin"] {
        let found = data::find_file(std::slice::from_ref(&folder), &format!("cifar10/{name}"));
        let found = found.unwrap();
        fs::copy(&found, batches.join(found.file_name().unwrap())).unwrap();
    }
    let open = || open_known("cifar10", copy.path());
    let one = open();
    assert_eq!((one.rows(), one.part(Part::Test).len()), (20_000, 10_000));
    // Two pictures of one colour: class 3, then class 9.
    let picture = |class: u8, shade: u8| [vec![class], vec![shade; 3072]].concat();
    let bytes = [picture(3, 51), picture(9, 102)].concat();
    fs::write(batches.join("data_batch_4.bin"), bytes).unwrap();
    let two = open();
    assert_eq!((two.rows(), two.part(Part::Test).len()), (20_002, 10_000));
    // Files are read in the order of the recipe: the fourth batch after the first, before the test batch.
    assert_eq!(two.labels[10_000..10_002], [3, 9]);
    assert_eq!(two.gather(&[10_001])[3071], 0.4);
    let last = |dataset: &data::Dataset| dataset.gather(&[dataset.rows() - 1]);
    assert_eq!(last(&two), last(&one));
    assert_eq!(two.notes.len(), 3, "{:?}", two.notes);
}

#[test]
fn a_wrong_file_under_a_known_name_is_noticed() {
    let Some(folder) = data_folder() else { return };
    let copy = tempfile::tempdir().unwrap();
    fs::create_dir(copy.path().join("heloc")).unwrap();
    // Another table under its name.
    let other = folder.join("wine-quality/winequality-red.csv.gz");
    let path = copy.path().join("heloc/heloc_dataset_v1.csv.gz");
    fs::copy(other, path).unwrap();
    let options = OpenOptions {
        data_dir: Some(copy.path().to_path_buf()),
        ..OpenOptions::default()
    };
    assert!(matches!(
        data::open("heloc", &options),
        Err(Error::WrongContent { .. })
    ));
}
