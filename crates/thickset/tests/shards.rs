//! Several machines: parts of an audit make the bytes of one machine's, and parts that do not belong together are named.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use thickset::attack::suite::Effort;
use thickset::audit::result::ThicknessSettings;
use thickset::audit::{AuditPart, Event, merge};
use thickset::data::{OpenOptions, open};
use thickset::model::{
    AuditOptions, MlpConfig, Model, ModelConfig, PartChoice, RowChoice, RowsConfig, Selection,
    Shard,
};
use thickset::{Dataset, Error, Seed};

fn model_of(dataset: &Dataset) -> Model {
    let config = MlpConfig {
        hidden: vec![6],
        ..MlpConfig::default()
    };
    Model::fresh(
        ModelConfig::Mlp(config),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(3),
    )
    .unwrap()
}

/// A table of so many rows, and a model for it.
fn loans(folder: &Path, rows: usize) -> (Model, RowsConfig) {
    let path = folder.join("loans.csv");
    let mut csv = "age,income,debt,job,paid\n".to_owned();
    let mut stream = Seed::new(1).stream("loans");
    for _ in 0..rows {
        let age = 18 + stream.below(50);
        let [income, debt] = [(); 2].map(|()| 900.0 + 4000.0 * stream.uniform());
        let job = ["cook", "nurse", "pilot"][stream.below(3)];
        let paid = if stream.uniform() < 0.5 { "yes" } else { "no" };
        writeln!(csv, "{age},{income:.2},{debt:.2},{job},{paid}").unwrap();
    }
    std::fs::write(&path, csv).unwrap();
    let data = path.display().to_string();
    let dataset = open(&data, &OpenOptions::default()).unwrap();
    let config = RowsConfig {
        data,
        ..RowsConfig::default()
    };
    (model_of(&dataset), config)
}

/// Everything small, so that few rows a second do not matter.
fn quick() -> AuditOptions {
    AuditOptions {
        effort: Some(Effort::Quick),
        k: Some(2),
        thickness: ThicknessSettings {
            neighbours: 2,
            points: 2,
        },
        noise_draws: 2,
        worst: 4,
        require: vec!["p_at_k>=0.5".to_owned()],
        data_name: Some("loans.csv".to_owned()),
        ..AuditOptions::default()
    }
}

fn selection(choice: &RowChoice, number: usize, of: usize) -> Selection {
    Selection {
        choice: choice.clone(),
        shard: Shard { number, of },
    }
}

/// The parts of so many machines.
fn parts(
    model: &Model,
    config: &RowsConfig,
    choice: &RowChoice,
    of: usize,
) -> Vec<(String, AuditPart)> {
    let options = quick();
    let origin = model.origin().unwrap();
    let one = |number: usize| {
        let opened = model
            .open_labelled_selected(config, &selection(choice, number, of))
            .unwrap();
        let mut audit = model
            .audit_config(&origin, &opened.rows(), &options)
            .unwrap();
        audit.require = origin.require(&options.require);
        let mut observer = |_: &Event<'_>| ControlFlow::Continue(());
        let part = model
            .audit_part(&origin, &opened, &options, &audit, &mut observer)
            .unwrap()
            .unwrap();
        // As from another machine.
        let part = AuditPart::parse(&part.to_bytes(), "part").unwrap();
        (format!("part-{number}"), part)
    };
    (1..=of).map(one).collect()
}

fn whole(model: &Model, config: &RowsConfig, choice: &RowChoice) -> Vec<u8> {
    let opened = model
        .open_labelled_selected(config, &selection(choice, 1, 1))
        .unwrap();
    model.audit(&opened.rows(), &quick()).unwrap().to_bytes()
}

#[test]
fn any_number_of_machines_makes_the_bytes_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 700);
    let all = RowChoice::All;
    let expected = whole(&model, &config, &all);
    for of in [1, 2, 7, 64] {
        let mut parts = parts(&model, &config, &all, of);
        // Files come in the order of a shell's pattern.
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        let merged = merge(parts).unwrap().to_bytes();
        assert!(merged == expected, "{of} machines");
    }
}

#[test]
fn a_dataset_with_its_baseline_and_a_sample_are_shared_alike() {
    let dataset = open("breast-cancer", &OpenOptions::default()).unwrap();
    let model = model_of(&dataset);
    let config = RowsConfig {
        data: "breast-cancer".to_owned(),
        part: Some(PartChoice::All),
        ..RowsConfig::default()
    };
    let all = RowChoice::All;
    let expected = whole(&model, &config, &all);
    let merged = merge(parts(&model, &config, &all, 2)).unwrap();
    assert!(merged.linear.is_some(), "there are training rows");
    assert!(merged.to_bytes() == expected);

    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 700);
    let sample = RowChoice::Sample {
        count: 300,
        seed: Seed::new(9),
    };
    let expected = whole(&model, &config, &sample);
    assert!(
        merge(parts(&model, &config, &sample, 2))
            .unwrap()
            .to_bytes()
            == expected
    );
}

#[test]
fn parts_that_are_missing_double_or_foreign_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 520);
    let all = RowChoice::All;
    let three = parts(&model, &config, &all, 3);
    let refusal = |parts: Vec<(String, AuditPart)>| match merge(parts) {
        Err(Error::Parts { problem }) => problem,
        other => panic!("{other:?}"),
    };
    let without = vec![three[0].clone(), three[2].clone()];
    assert!(refusal(without).contains("missing: 2/3"));
    let mut twice = three.clone();
    twice.push(("again".to_owned(), three[1].1.clone()));
    let problem = refusal(twice);
    assert!(
        problem.contains("`part-2` and `again` are both 2 of 3"),
        "{problem}"
    );
    let mut mixed = three.clone();
    mixed[1] = parts(&model, &config, &all, 2).remove(1);
    assert!(refusal(mixed).contains("number of parts"));
    assert!(refusal(Vec::new()).contains("there is none"));

    let edited = |key: &str, value: serde_json::Value| {
        let mut json: serde_json::Value = serde_json::from_slice(&three[1].1.to_bytes()).unwrap();
        json[key] = value;
        let part = AuditPart::parse(json.to_string().as_bytes(), "edited").unwrap();
        let mut parts = three.clone();
        parts[1] = ("edited".to_owned(), part);
        refusal(parts)
    };
    let other = edited("instruction_set", "another".into());
    assert!(
        other.contains("`edited`") && other.contains("instructions `another`"),
        "{other}"
    );
    assert!(edited("version", "0.0.0".into()).contains("version"));

    // A part that says more rows than it has is refused where it is read.
    let mut json: serde_json::Value = serde_json::from_slice(&three[1].1.to_bytes()).unwrap();
    json["rows"] = serde_json::json!([]);
    assert!(AuditPart::parse(json.to_string().as_bytes(), "short").is_err());
}

#[test]
fn streamed_rows_are_the_rows_however_they_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (model, config) = loans(folder.path(), 600);
    let values = |selection: &Selection, most: usize| {
        let mut found: Vec<(u64, Vec<u32>)> = Vec::new();
        let stream = model.stream_rows(&config, selection).unwrap();
        stream
            .for_each::<Error>(most, &mut |rows| {
                assert!(rows.len() <= most);
                let mut row = vec![0.0; rows.schema().len()];
                for place in 0..rows.len() {
                    rows.copy(place, &mut row);
                    found.push((
                        rows.id(place),
                        row.iter().map(|one| one.to_bits()).collect(),
                    ));
                }
                Ok(ControlFlow::Continue(()))
            })
            .unwrap();
        found
    };
    let all = values(&Selection::default(), usize::MAX);
    assert_eq!(all.len(), 600);
    assert!(all.iter().map(|(id, _)| *id).eq(0..600));
    assert_eq!(values(&Selection::default(), 7), all);
    let shards: Vec<(u64, Vec<u32>)> = (1..=3)
        .flat_map(|number| values(&selection(&RowChoice::All, number, 3), 50))
        .collect();
    assert_eq!(shards, all);
    let first = values(&selection(&RowChoice::First(5), 1, 1), 2);
    assert_eq!(first, all[..5]);
    let only = values(&selection(&RowChoice::Only(vec![600, 3]), 1, 1), 10);
    assert_eq!(only, [all[599].clone(), all[2].clone()]);
}

/// Rows of a row group of [`to_parquet`].
const GROUP: usize = 300;

/// A CSV file's table as Parquet, in row groups, with a column more that no model knows.
fn to_parquet(csv: &Path, path: &Path) {
    let text = fs::read_to_string(csv).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let is_number = |column: usize| rows[0][column].parse::<f64>().is_ok();
    let field = |name: &str, number: bool| {
        let (kind, converted) = if number {
            (PhysicalType::DOUBLE, ConvertedType::NONE)
        } else {
            (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8)
        };
        let field = Type::primitive_type_builder(name, kind)
            .with_repetition(Repetition::REQUIRED)
            .with_converted_type(converted);
        Arc::new(field.build().unwrap())
    };
    let mut fields: Vec<Arc<Type>> = vec![field("note", false)];
    fields.extend((0..names.len()).map(|column| field(names[column], is_number(column))));
    let schema = Type::group_type_builder("rows").with_fields(fields);
    let schema = Arc::new(schema.build().unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    for (number, rows) in rows.chunks(GROUP).enumerate() {
        let mut group = writer.next_row_group().unwrap();
        let texts = |texts: Vec<&str>| -> Vec<ByteArray> {
            texts.into_iter().map(ByteArray::from).collect()
        };
        let notes: Vec<String> = (0..rows.len())
            .map(|row| format!("{number} {row}"))
            .collect();
        let mut column = group.next_column().unwrap().unwrap();
        let notes = texts(notes.iter().map(String::as_str).collect());
        column
            .typed::<ByteArrayType>()
            .write_batch(&notes, None, None)
            .unwrap();
        column.close().unwrap();
        for place in 0..names.len() {
            let mut column = group.next_column().unwrap().unwrap();
            let cells = rows.iter().map(|row| row[place]);
            if is_number(place) {
                let cells: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
                column
                    .typed::<DoubleType>()
                    .write_batch(&cells, None, None)
                    .unwrap();
            } else {
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&texts(cells.collect()), None, None)
                    .unwrap();
            }
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// The bytes of the model's columns in the row groups for which the flag is set.
fn bytes_of_groups(path: &Path, is_read: impl Fn(usize) -> bool) -> u64 {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter().enumerate();
    groups
        .filter(|(number, _)| is_read(*number))
        .flat_map(|(_, group)| group.columns().iter().skip(1))
        .map(|column| column.byte_range().1)
        .sum()
}

#[test]
fn a_machine_reads_the_row_groups_of_its_rows_and_of_them_the_models_columns_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (model, csv) = loans(folder.path(), 2000);
    let whole = folder.path().join("loans.parquet");
    to_parquet(Path::new(&csv.data), &whole);
    let bytes = fs::read(&whole).unwrap();
    let config = |path: &Path| RowsConfig {
        data: path.display().to_string(),
        ..RowsConfig::default()
    };
    // Where only some bytes are as they were, and all others are none that a decoder takes.
    let with_only = |places: &[std::ops::Range<u64>]| {
        let mut left = vec![0xff; bytes.len()];
        for place in places {
            let place = usize::try_from(place.start).unwrap()..usize::try_from(place.end).unwrap();
            left[place.clone()].copy_from_slice(&bytes[place]);
        }
        let path = folder.path().join("left/loans.parquet");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, left).unwrap();
        path
    };
    let values = |config: &RowsConfig, selection: &Selection| {
        let opened = model.open_labelled_selected(config, selection)?;
        let rows = opened.rows();
        let mut row = vec![0.0; rows.schema().len()];
        let mut found = Vec::new();
        for place in 0..rows.len() {
            rows.copy(place, &mut row);
            let bits: Vec<u32> = row.iter().map(|one| one.to_bits()).collect();
            found.push((rows.id(place), rows.label(place), bits));
        }
        Ok::<_, Error>(found)
    };
    let sample = RowChoice::Sample {
        count: 300,
        seed: Seed::new(2),
    };
    let few = RowChoice::Only(vec![1900, 5]);
    let cases = [
        (RowChoice::All, 3),
        (RowChoice::All, 8),
        (RowChoice::All, 1),
        (RowChoice::First(400), 2),
        (sample, 2),
        (few, 1),
    ];
    for (choice, of) in cases {
        for number in 1..=of {
            let selection = selection(&choice, number, of);
            let needed = model.bytes_of_rows(&config(&whole), &selection).unwrap();
            let needed = needed.expect("it is a table's file");
            assert_eq!(needed.len(), 1);
            assert_eq!(needed[0].size, bytes.len() as u64);
            let expected = values(&config(&whole), &selection).unwrap();
            let left = with_only(&needed[0].places);
            let case = format!("{choice:?}, {number} of {of}");
            assert!(
                values(&config(&left), &selection).unwrap() == expected,
                "{case}"
            );
            // Counted by hand: the row groups that hold one of the rows.
            let holds = |group: usize| {
                let rows = (group * GROUP) as u64..((group + 1) * GROUP) as u64;
                expected.iter().any(|(id, ..)| rows.contains(id))
            };
            let footer = u32::from_le_bytes(
                *bytes[..bytes.len() - 4]
                    .last_chunk()
                    .expect("a footer's length"),
            );
            let count: u64 = needed[0]
                .places
                .iter()
                .map(|place| place.end - place.start)
                .sum();
            if matches!(choice, RowChoice::Only(_)) {
                assert!(holds(0) && holds(6) && !holds(3));
            }
            assert_eq!(
                count,
                4 + u64::from(footer) + 8 + bytes_of_groups(&whole, holds),
                "{case}"
            );
            // And what is not fetched is not there.
            if let Some((_, place)) = needed[0].places.split_first()
                && place.len() > 1
            {
                let left = with_only(&needed[0].places[..1]);
                assert!(values(&config(&left), &selection).is_err(), "{case}");
            }
        }
    }
    // A CSV file is read from its start to its end.
    let all = model
        .bytes_of_rows(&csv, &selection(&RowChoice::All, 2, 3))
        .unwrap();
    let all = all.expect("it is a table's file").remove(0);
    assert_eq!(all.places.len(), 1);
    assert_eq!(all.places[0], 0..all.size);
}

#[test]
fn machines_that_share_parquet_make_the_bytes_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let (model, csv) = loans(folder.path(), 700);
    let path = folder.path().join("loans.parquet");
    to_parquet(Path::new(&csv.data), &path);
    let config = RowsConfig {
        data: path.display().to_string(),
        ..RowsConfig::default()
    };
    let all = RowChoice::All;
    let expected = whole(&model, &config, &all);
    assert!(merge(parts(&model, &config, &all, 3)).unwrap().to_bytes() == expected);
    assert!(expected == whole(&model, &csv, &all), "as of CSV");
}
