//! A user's own table: what is inferred, what is learned from the training rows, what is written.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use thickset::data::{
    self, Encoding, InferOptions, MissingColumn, OpenOptions, ReadRule, Recipe, Scale, Table,
    Wanted,
};
use thickset::{Error, Seed};

use crate::{golden, loans, open_file, write};

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
    for sentence in [
        "column `id` counts the rows, like a row identifier; it is left out",
        "column `country` has the value `AT` in every training row; it is left out",
    ] {
        assert!(notes.contains(sentence), "{notes}");
    }
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

/// `n,flag,y` with two values of the flag.
fn flagged(rows: usize, values: [&str; 2]) -> String {
    let mut text = "n,flag,y\n".to_owned();
    for row in 0..rows {
        let flag = values[usize::from(row % 5 < 2)];
        writeln!(text, "{}.5,{flag},{}", row * 7 % 31, row % 2).unwrap();
    }
    text
}

#[test]
fn an_unseen_value_of_a_flag_is_told_and_missing_values_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", flagged(100, ["no", "yes"]));
    let encoding = open_file(&path, "y").unwrap().encoding.unwrap();
    let names: Vec<String> = encoding
        .schema()
        .features
        .into_iter()
        .map(|feature| feature.name)
        .collect();
    assert_eq!(names, ["n", "flag=yes"]);
    let new = write(
        &folder,
        "new.csv",
        "n,flag\n3,yes\n3,no\n,perhaps\n3,\n3,never\n",
    );
    let encoded = data::read_encoded(&new, &encoding).unwrap();
    let flags: Vec<f32> = encoded.values.iter().skip(1).step_by(2).copied().collect();
    assert_eq!(flags, [1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(encoded.unseen["flag"], 2);
    assert_eq!(encoded.missing["flag"], 1);
    assert_eq!(encoded.missing["n"], 1);
}

#[test]
fn booleans_are_the_same_however_a_program_spells_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", flagged(100, ["False", "True"]));
    let encoding = open_file(&path, "y").unwrap().encoding.unwrap();
    for [no, yes] in [["False", "True"], ["false", "true"], ["FALSE", "TRUE"]] {
        let new = write(&folder, "new.csv", format!("n,flag\n3,{yes}\n3,{no}\n"));
        let encoded = data::read_encoded(&new, &encoding).unwrap();
        assert_eq!([encoded.values[1], encoded.values[3]], [1.0, 0.0], "{yes}");
        assert!(encoded.unseen.is_empty(), "{yes}");
    }
    // As a category and as the target too.
    let rows: Vec<String> = (0..60)
        .map(|row| {
            format!(
                "{},{}\n",
                ["True", "False", "unknown"][row % 3],
                row % 2 == 0
            )
        })
        .collect();
    let path = write(&folder, "b.csv", format!("c,y\n{}", rows.concat()));
    let encoding = open_file(&path, "y").unwrap().encoding.unwrap();
    let new = write(&folder, "new.csv", "c,y\ntrue,TRUE\nfalse,False\n");
    let (encoded, labels) = data::read_labelled(&new, &encoding).unwrap();
    assert_eq!(encoded.values, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(labels, [Some(1), Some(0)]);
}

#[test]
fn a_number_beyond_single_precision_names_its_column_and_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", flagged(100, ["no", "yes"]));
    let recipe = open_file(&path, "y").unwrap().recipe.unwrap();
    let text = recipe.to_toml().unwrap();
    let unclipped = text.replace("clip = [0.01, 0.99]\n", "");
    assert_ne!(unclipped, text);
    let options = OpenOptions {
        recipe: Some(Recipe::parse(&unclipped, "a.toml").unwrap()),
        ..OpenOptions::default()
    };
    let encoding = data::open(path.to_str().unwrap(), &options).unwrap();
    let encoding = encoding.encoding.unwrap();
    let new = write(&folder, "new.csv", "n,flag\n3,yes\n-1e41,no\n");
    let refused = data::read_encoded(&new, &encoding).unwrap_err();
    assert!(
        matches!(&refused, Error::BeyondScale { row: 2, column, .. } if column == "n"),
        "{refused}"
    );
    // Where outliers are clipped, nothing is beyond.
    let clipped = open_file(&path, "y").unwrap().encoding.unwrap();
    let encoded = data::read_encoded(&new, &clipped).unwrap();
    assert_eq!(encoded.values[2], 0.0);
}

#[test]
fn a_category_that_is_known_is_found_among_very_many_texts() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..60)
        .map(|row| format!("{},{}\n", ["Graz", "Linz", "Wels"][row % 3], row % 2))
        .collect();
    let path = write(&folder, "a.csv", format!("city,y\n{}", rows.concat()));
    let encoding = open_file(&path, "y").unwrap().encoding.unwrap();
    let mut text = "city\n".to_owned();
    for number in 0..100_001 {
        writeln!(text, "town {number}").unwrap();
    }
    text.push_str("Linz\n");
    let new = write(&folder, "new.csv", text);
    let encoded = data::read_encoded(&new, &encoding).unwrap();
    assert_eq!(encoded.values[3 * 100_001..], [0.0, 1.0, 0.0]);
    assert_eq!(encoded.unseen["city"], 100_001);
    assert!(encoded.missing.is_empty());
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
