//! What the fuzz targets call, one function a reader: any bytes in, nothing out. A panic, a hang or a file's weight in memory many
//! times over is a bug. `crates/thickset/tests/fuzzed.rs` calls the same functions on every test.

use std::path::Path;

use tempfile::TempDir;
use thickset::Model;
use thickset::audit::{Audit, AuditPart};
use thickset::config::RunConfig;
use thickset::data::{self, EncodedReader, OpenOptions, ReadRule, Recipe, Wanted};
use thickset::model::ExplainOptions;
use thickset::onnx::{OnnxOptions, parse};
use thickset::{Rows, Schema};

thread_local! {
    /// One folder a thread, since making and removing them takes longer than reading what lies there.
    static FOLDER: TempDir = tempfile::tempdir().expect("a folder");
}

/// Files with these bytes, alone in a folder.
fn with_files(files: &[(&str, &[u8])], read: impl FnOnce(&Path)) {
    FOLDER.with(|folder| {
        // A folder for each kind of files, as a reader of folders looks at all that is there.
        let folder = folder.path().join(files[0].0.replace(['/', '.'], "-"));
        for (name, bytes) in files {
            let path = folder.join(name);
            if !folder.exists() {
                let parent = path.parent().expect("a file lies in a folder");
                std::fs::create_dir_all(parent).expect("a folder");
            }
            std::fs::write(&path, bytes).expect("a file");
        }
        read(&folder);
    });
}

/// A file with these bytes.
fn with_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    with_files(&[(name, bytes)], |folder| read(&folder.join(name)));
}

/// A table of delimited text: read, described as a user's own, and read again by what was learned, some rows at a time.
pub fn csv(bytes: &[u8]) {
    let _ = data::read_csv_from(bytes, "fuzz.csv", &ReadRule::default(), &Wanted::default());
    with_file("fuzz.csv", bytes, as_a_table);
}

/// A Parquet file, in the same ways.
pub fn parquet(bytes: &[u8]) {
    with_file("fuzz.parquet", bytes, |path| {
        let _ = data::read_parquet(path, &ReadRule::default(), &Wanted::default());
        as_a_table(path);
    });
}

fn as_a_table(path: &Path) {
    let Ok(dataset) = data::open(&path.display().to_string(), &OpenOptions::default()) else {
        return;
    };
    let Some(encoding) = &dataset.encoding else {
        return;
    };
    // What was learned reads the same rows, whole or some at a time, unless it cannot read them at all.
    let whole = data::read_encoded(path, encoding);
    let mut reader = EncodedReader::new(&[path.to_owned()], encoding, true);
    let mut values = Vec::new();
    let streamed = loop {
        match reader.next(3) {
            Ok(Some(rows)) => values.extend(rows.values),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if let (Ok(whole), Ok(())) = (&whole, &streamed) {
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&whole.values), bits(&values), "some rows at a time");
    }
}

/// An image in a folder of images, and by itself.
pub fn image(bytes: &[u8]) {
    let options = OpenOptions {
        image_size: Some((8, 8)),
        ..OpenOptions::default()
    };
    with_files(&[("class/fuzz.png", bytes)], |folder| {
        let _ = data::open(&folder.display().to_string(), &options);
        let _ = data::read_image(&folder.join("class/fuzz.png"), (8, 8), 3);
    });
}

/// IDX images beside their labels.
pub fn idx(bytes: &[u8]) {
    let (images, labels) = bytes.split_at(bytes.len() / 2);
    let files = [
        ("fuzz-images-idx3-ubyte", images),
        ("fuzz-labels-idx1-ubyte", labels),
    ];
    with_files(&files, |folder| {
        let images = folder.join(files[0].0).display().to_string();
        let _ = data::open(&images, &OpenOptions::default());
    });
}

/// CIFAR's batches of images.
pub fn cifar(bytes: &[u8]) {
    let _ = data::read_cifar(bytes, "fuzz.bin");
}

/// A zip file with a list of graphs, and such a list by itself.
pub fn nel(bytes: &[u8]) {
    let _ = data::read_nel_zip(bytes, "Brain/KKI.nel", "fuzz.zip");
    let _ = data::read_nel(bytes, "fuzz.nel");
}

/// A pack of correlation matrices.
pub fn pack(bytes: &[u8]) {
    let _ = data::read_correlation_pack(bytes, "fuzz.bin");
}

/// An ONNX file without files beside it: read, and run on a row of zeros.
pub fn onnx(bytes: &[u8]) {
    if let Ok(imported) = parse(bytes, "fuzz.onnx", &OnnxOptions::default()) {
        run_on_zeros(&imported.model);
    }
}

/// A folder of graphs: its list and one matrix.
pub fn graphs(bytes: &[u8]) {
    let (list, matrix) = bytes.split_at(bytes.len() / 2);
    with_files(&[("labels.csv", list), ("a.csv", matrix)], |folder| {
        let _ = data::open(&folder.display().to_string(), &OpenOptions::default());
    });
}

/// A recipe: what is read can be printed and read again.
pub fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(recipe) = Recipe::parse(text, "fuzz.toml")
        && let Ok(printed) = recipe.to_toml()
    {
        let again = Recipe::parse(&printed, "printed.toml").expect("a printed recipe is one");
        // NaN is not equal to itself, so texts are compared.
        assert_eq!(again.to_toml().ok(), Some(printed));
    }
}

/// A run's configuration.
pub fn run(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(run) = RunConfig::parse(text, "fuzz.toml")
    {
        let _ = run.check();
    }
}

/// A model file: read, and run on a row of zeros.
pub fn model(bytes: &[u8]) {
    with_file("fuzz.safetensors", bytes, |path| {
        if let Ok(model) = Model::load(path) {
            run_on_zeros(&model);
        }
    });
}

fn run_on_zeros(model: &Model) {
    let width = model.network.features();
    let names: Vec<String> = (0..width).map(|feature| format!("{feature}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let schema = Schema::table(&names);
    let zeros = vec![0.0; width];
    if let Ok(rows) = Rows::new(&zeros, &schema) {
        let _ = model.predict(&rows);
        let _ = model.explain(&rows, &ExplainOptions::default());
    }
}

/// An audit's file, to a page.
pub fn audit(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(audit) = Audit::parse(text, "audit.json")
    {
        let _ = thickset_report::audit(&[audit]);
    }
}

/// The rows of an audit that was killed, as if this user's key had signed them.
pub fn partial(bytes: &[u8]) {
    thickset::fuzzing::partial(bytes);
}

/// The checkpoint of a training, as if its hash were right.
pub fn checkpoint(bytes: &[u8]) {
    thickset::fuzzing::checkpoint(bytes);
}

/// One machine's part of an audit.
pub fn part(bytes: &[u8]) {
    if let Ok(part) = AuditPart::parse(bytes, "audit.part.json") {
        let _ = thickset::audit::merge(vec![("fuzz".to_owned(), part)]);
    }
}
