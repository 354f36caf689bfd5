//! Tables as people have them: written for spreadsheets and by other programs, in other countries, in several files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use thickset::data::{
    self, Dataset, EncodedReader, Feature, OpenOptions, ReadRule, TextEncoding, find_table_files,
};
use thickset::{Error, Seed};

use crate::write;

fn open(path: &Path, read: ReadRule) -> Result<Dataset, Error> {
    let options = OpenOptions {
        read,
        ..OpenOptions::default()
    };
    data::open(&path.display().to_string(), &options)
}

fn feature<'a>(dataset: &'a Dataset, name: &str) -> &'a Feature {
    let found = dataset
        .schema
        .features
        .iter()
        .find(|feature| feature.name == name);
    found.unwrap_or_else(|| panic!("no `{name}` in {:?}", dataset.schema.features))
}

/// A row of the user's country: semicolons, decimal commas, dates with points, percentages, and a customer's number.
fn austrian(rows: usize) -> String {
    let mut stream = Seed::new(2).stream("people");
    let mut csv =
        "Kundennummer;Einkommen;Zins;PLZ;Geburtsdatum;Beginn;Uhrzeit;Bezahlt\n".to_owned();
    for row in 0..rows {
        let customer = 10_000_000 + stream.below(90_000_000);
        let thousands = stream.below(9) + 1;
        let income = format!(
            "{thousands}.{:03},{:02} €",
            stream.below(1000),
            stream.below(100)
        );
        let income = if row % 17 == 5 {
            "k.A.".to_owned()
        } else {
            income
        };
        let rate = format!("{},{} %", stream.below(9), stream.below(10));
        let zip = ["01067", "1010", "8010", "04109"][stream.below(4)];
        let birth = format!(
            "{:02}.{:02}.19{}",
            stream.below(28) + 1,
            stream.below(12) + 1,
            50 + stream.below(50)
        );
        let begin = format!(
            "2023-{:02}-{:02}T08:30:00Z",
            stream.below(12) + 1,
            stream.below(28) + 1
        );
        let time = format!("{:02}:{:02}", stream.below(24), stream.below(60));
        let paid = ["ja", "nein"][stream.below(2)];
        writeln!(
            csv,
            "{customer};{income};{rate};{zip};{birth};{begin};{time};{paid}"
        )
        .unwrap();
    }
    csv
}

#[test]
fn a_table_of_another_country_is_read_as_its_owner_means_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = austrian(400);
    let path = write(&folder, "kunden.csv", text.clone());
    let dataset = open(&path, ReadRule::default()).unwrap();
    let unit = |name: &str| feature(&dataset, name).unit.clone().unwrap_or_default();
    assert_eq!(unit("Einkommen"), "€");
    assert_eq!(unit("Zins"), "%");
    assert_eq!(unit("Geburtsdatum"), "days since 1970-01-01");
    assert_eq!(unit("Beginn"), "days since 1970-01-01");
    assert_eq!(unit("Uhrzeit"), "hours");
    let names: Vec<&str> = dataset
        .schema
        .features
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert!(names.contains(&"PLZ=01067"), "codes are names: {names:?}");
    assert!(names.contains(&"Einkommen is missing"), "{names:?}");
    assert!(!names.contains(&"Kundennummer"), "{names:?}");
    let notes = dataset.notes.join("\n");
    for sentence in [
        "column `Kundennummer` looks like random customer numbers",
        "it is left out",
        "column `PLZ` has numbers with leading zeros",
        "numbers like `1.234,5 €`, read as 1234.5 with the unit `€`: `Einkommen`",
        "dates (day, month, year), read as days since 1970-01-01: `Geburtsdatum`",
    ] {
        assert!(notes.contains(sentence), "`{sentence}` is not in: {notes}");
    }
    let income = feature(&dataset, "Einkommen");
    assert!(
        (1000.0..10_000.0).contains(&income.decode(income.low)),
        "{income:?}"
    );
    assert!((-7306.0..=0.0).contains(&feature(&dataset, "Geburtsdatum").decode(0.0)));

    // What was found is in the recipe and in the encoding, so that new rows are read alike, whatever they look like by themselves.
    let recipe = dataset.recipe.clone().unwrap().to_toml().unwrap();
    let again = OpenOptions {
        recipe: Some(data::Recipe::parse(&recipe, "recipe.toml").unwrap()),
        ..OpenOptions::default()
    };
    let again = data::open(&path.display().to_string(), &again).unwrap();
    assert_eq!(again.encoding, dataset.encoding, "{recipe}");
    let encoding = dataset.encoding.unwrap();
    let some: String = text.split_inclusive('\n').take(3).collect();
    let new = write(&folder, "new.csv", some);
    let whole = data::read_encoded(&path, &encoding).unwrap().values;
    let part = data::read_encoded(&new, &encoding).unwrap().values;
    assert_eq!(part[..], whole[..part.len()]);
}

#[test]
fn the_same_table_in_other_encodings_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let text = austrian(60).replace("ja", "jä");
    let expected = open(&write(&folder, "a.csv", text.clone()), ReadRule::default()).unwrap();
    let bytes = |mark: [u8; 2], of: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.into_iter()
            .chain(text.encode_utf16().flat_map(of))
            .collect()
    };
    for (name, bytes) in [
        ("le.csv", bytes([0xff, 0xfe], u16::to_le_bytes)),
        ("be.csv", bytes([0xfe, 0xff], u16::to_be_bytes)),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let found = open(&path, ReadRule::default()).unwrap();
        assert_eq!(found.encoding, expected.encoding, "{name}");
        assert_eq!(found.classes, ["jä", "nein"]);
    }
    // One byte a letter; the euro sign is 0x80.
    let western: Vec<u8> = text
        .chars()
        .map(|letter| match letter {
            '€' => 0x80,
            'ä' => 0xe4,
            other => u8::try_from(other).unwrap(),
        })
        .collect();
    let path = folder.path().join("western.csv");
    fs::write(&path, western).unwrap();
    assert!(matches!(
        open(&path, ReadRule::default()),
        Err(Error::NotUtf8 { line: 2, .. })
    ));
    let told = ReadRule {
        text_encoding: Some(TextEncoding::Windows1252),
        ..ReadRule::default()
    };
    let found = open(&path, told).unwrap();
    assert_eq!(found.classes, expected.classes);
    assert_eq!(found.gather(&[0, 59]), expected.gather(&[0, 59]));
    // Half a letter at the end.
    let path = folder.path().join("cut.csv");
    fs::write(&path, [&b"\xff\xfe"[..], &[b'a', 0, b'\n']].concat()).unwrap();
    assert!(open(&path, ReadRule::default()).is_err());
}

#[test]
fn a_folder_and_a_pattern_are_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = austrian(90);
    let whole = open(
        &write(&folder, "whole.csv", text.clone()),
        ReadRule::default(),
    )
    .unwrap();
    let parts = folder.path().join("parts");
    fs::create_dir(&parts).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (number, rows) in lines[1..].chunks(40).enumerate() {
        let part = format!("{}\n{}\n", lines[0], rows.join("\n"));
        fs::write(parts.join(format!("part-{number}.csv")), part).unwrap();
    }
    let pattern = parts.join("part-*.csv").display().to_string();
    for what in [parts.display().to_string(), pattern.clone()] {
        let found = data::open(&what, &OpenOptions::default()).unwrap();
        assert_eq!(found.labels, whole.labels, "{what}");
        assert_eq!(found.encoding, whole.encoding, "{what}");
        assert_eq!(found.gather(&[0, 89]), whole.gather(&[0, 89]), "{what}");
    }
    // Some rows at a time, from several files, are the rows of one.
    let encoding = whole.encoding.clone().unwrap();
    let files = find_table_files(&pattern).unwrap().unwrap();
    let expected = data::read_encoded(&folder.path().join("whole.csv"), &encoding).unwrap();
    for most in [1, 7, 40, 1000] {
        let mut reader = EncodedReader::new(&files, &encoding, true);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        while let Some(rows) = reader.next(most).unwrap() {
            assert_eq!(rows.ids[0], labels.len() as u64);
            values.extend(rows.values);
            labels.extend(rows.labels);
        }
        assert_eq!(values, expected.values, "{most}");
        let all: Vec<Option<usize>> = whole.labels.iter().map(|label| Some(*label)).collect();
        assert_eq!(labels, all, "{most}");
        let mut skipping = EncodedReader::new(&files, &encoding, false);
        assert_eq!(skipping.skip(83).unwrap(), 83);
        let rest = skipping.next(1000).unwrap().unwrap();
        let width = encoding.schema().len();
        assert_eq!(
            (rest.ids[0], &rest.values[..]),
            (83, &expected.values[83 * width..])
        );
        assert_eq!(
            EncodedReader::new(&files, &encoding, false)
                .skip(u64::MAX)
                .unwrap(),
            90
        );
    }
}

#[test]
fn parquet_some_rows_at_a_time_is_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = "amount,town,paid\n".to_owned();
    for row in 0..300 {
        let town = ["north", "", "west"][row % 3];
        writeln!(csv, "{},{town},{}", row * 7 % 91, ["yes", "no"][row % 2]).unwrap();
    }
    let dataset = open(&write(&folder, "a.csv", csv), ReadRule::default()).unwrap();
    let path = folder.path().join("a.parquet");
    data::export(&dataset, &path).unwrap();
    // The export has the encoded matrix; a table of its own.
    let options = OpenOptions {
        target: Some("class".to_owned()),
        ..OpenOptions::default()
    };
    let encoding = data::open(&path.display().to_string(), &options)
        .unwrap()
        .encoding
        .unwrap();
    let expected = data::read_encoded(&path, &encoding).unwrap();
    for most in [1, 17, 299, 300, 1000] {
        let mut reader = EncodedReader::new(std::slice::from_ref(&path), &encoding, false);
        let mut values = Vec::new();
        while let Some(rows) = reader.next(most).unwrap() {
            values.extend(rows.values);
        }
        assert_eq!(values, expected.values, "{most}");
    }
    let mut reader = EncodedReader::new(std::slice::from_ref(&path), &encoding, false);
    assert_eq!(reader.skip(250).unwrap(), 250);
    let rest = reader.next(1000).unwrap().unwrap();
    let width = encoding.schema().len();
    assert_eq!(rest.values, expected.values[250 * width..]);
    assert_eq!(reader.skip(10).unwrap(), 0);
}

#[test]
fn a_table_whose_numbers_wait_on_disk_is_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let text = austrian(300)
        .replace(";nein\n2", ";\n2")
        .replace("k.A.", "");
    let path = write(&folder, "a.csv", text);
    for target in [None, Some("PLZ".to_owned())] {
        let open = |large: u64| {
            let options = OpenOptions {
                target: target.clone(),
                large,
                ..OpenOptions::default()
            };
            data::open(&path.display().to_string(), &options).unwrap()
        };
        let (held, waiting) = (open(u64::MAX), open(0));
        assert_eq!(waiting.encoding, held.encoding);
        assert_eq!(waiting.labels, held.labels);
        assert_eq!(waiting.notes, held.notes);
        assert_eq!(waiting.missing, held.missing);
        assert_eq!(waiting.recipe, held.recipe);
        let rows: Vec<usize> = (0..held.rows()).collect();
        assert_eq!(waiting.gather(&rows), held.gather(&rows));
        let part = |dataset: &Dataset| dataset.part(data::Part::Train).to_vec();
        assert_eq!(part(&waiting), part(&held));
    }
}

#[test]
fn a_comma_at_the_end_of_every_line_is_no_column_to_predict() {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = "income,town,paid,\n".to_owned();
    for row in 0..40 {
        let town = ["Bonn", "Ulm"][row % 2];
        let paid = u8::from(row % 3 == 0);
        writeln!(csv, "{}.5,{town},{paid},", 100 + 7 * row).unwrap();
    }
    let path = write(&folder, "trailing.csv", &csv);
    let dataset = open(&path, ReadRule::default()).unwrap();
    assert_eq!(dataset.rows(), 40);
    assert_eq!(dataset.classes, ["0", "1"]);
    feature(&dataset, "income");
}
