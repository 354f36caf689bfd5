//! Every reader on broken files: seeds that are whole, and thousands of changed copies of them. Nothing may panic. The fuzz targets
//! in `fuzz/` call the same functions (`readers.rs`) and look further; what they found is a seed here.

#[path = "../../../fuzz/readers.rs"]
mod readers;

use thickset::{Seed, Stream};

/// Changed copies of each seed. A longer run: `THICKSET_FUZZ=100000 cargo test --test fuzzed`.
fn copies() -> usize {
    let asked = std::env::var("THICKSET_FUZZ").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(400)
}

/// Bytes that formats give a meaning to.
const TELLING: [&[u8]; 18] = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\"",
    b"\n",
    b",",
    b"{",
    b"}",
    b"[",
    b"-1",
    b"1e999",
    b"NaN",
    b"\xff\xff\xff\xff",
    b"\0\0\0\x80",
    b"18446744073709551615",
    b"PAR1",
    b"\xff\xfe",
];

/// One change of the bytes.
fn change(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let at = stream.below(bytes.len() + 1);
    let end = (at + 1 + stream.below(16)).min(bytes.len());
    match stream.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << stream.below(8),
        1 => bytes.truncate(at),
        2 => {
            bytes.drain(at..end.max(at));
        }
        3 => {
            let piece = bytes[at..end.max(at)].to_vec();
            let copies = 1 + stream.below(8);
            let place = stream.below(bytes.len() + 1);
            bytes.splice(place..place, piece.repeat(copies));
        }
        4 => {
            let telling = TELLING[stream.below(TELLING.len())];
            let replaced = (at + telling.len()).min(bytes.len());
            bytes.splice(at..replaced.max(at), telling.iter().copied());
        }
        _ => {
            let telling = TELLING[stream.below(TELLING.len())];
            bytes.splice(at..at, telling.iter().copied());
        }
    }
}

/// Reads the seeds and changed copies of them.
fn fuzz(name: &str, read: fn(&[u8]), seeds: &[Vec<u8>]) {
    // For the fuzz targets to begin with: `scripts/fuzz`.
    if let Some(folder) = std::env::var_os("THICKSET_FUZZ_SEEDS") {
        let folder = std::path::Path::new(&folder).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed).unwrap();
        }
        return;
    }
    for (number, seed) in seeds.iter().enumerate() {
        read(seed);
        let mut stream = Seed::new(number as u64).stream(name);
        for _ in 0..copies() {
            let mut bytes = seed.clone();
            for _ in 0..=stream.below(4) {
                change(&mut bytes, &mut stream);
            }
            read(&bytes);
        }
    }
}

fn csv_seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [
        "a,b,c\n1,2,x\n3,,y\n\"4\n5\",6,\"z\"\"\"\n",
        "Betrag;Datum;Zeit;Satz\n1.234,56 €;31.12.2023;14:30;12,5 %\n-7,1 €;01.02.2024;9:05;3 %\n",
        "when,what,id\n2024-01-31T10:00:00Z,$1,234.50,00012\n20240131,(300),7\n",
        "\u{feff}x\ty\n1\t\"\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    let wide = "ä,b\n1,2\n👩,3\n";
    seeds.push(
        [
            &b"\xff\xfe"[..],
            &wide
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<_>>(),
        ]
        .concat(),
    );
    seeds.push(
        [
            &b"\xfe\xff"[..],
            &wide
                .encode_utf16()
                .flat_map(u16::to_be_bytes)
                .collect::<Vec<_>>(),
        ]
        .concat(),
    );
    seeds
}

#[test]
fn tables_of_text() {
    fuzz("csv", readers::csv, &csv_seeds());
}

#[test]
fn parquet() {
    use thickset::row_writer::{Cell, OutputColumn, RowFormat, RowWriter};
    let columns = vec![
        OutputColumn::whole("row"),
        OutputColumn::text("class"),
        OutputColumn::number("p"),
        OutputColumn::flag("held"),
    ];
    let mut writer = RowWriter::new(RowFormat::Parquet, columns, Vec::new()).unwrap();
    for row in 0..20_u8 {
        let class = if row % 5 == 0 {
            Cell::Missing
        } else {
            Cell::text(["a", "bb"][usize::from(row % 2)])
        };
        let p = Cell::Number(1.0 / (1.0 + f64::from(row)));
        writer
            .write(&[Cell::Whole(row.into()), class, p, Cell::Flag(row % 3 == 0)])
            .unwrap();
    }
    fuzz("parquet", readers::parquet, &[writer.finish().unwrap()]);
}

#[test]
fn images() {
    let mut bytes = Vec::new();
    let pixels = image::GrayImage::from_fn(6, 5, |x, y| {
        image::Luma([u8::try_from(x * 40 + y).unwrap()])
    });
    pixels
        .write_to(
            &mut std::io::Cursor::new(&mut bytes),
            image::ImageFormat::Png,
        )
        .unwrap();
    let mut jpeg = Vec::new();
    pixels
        .write_to(
            &mut std::io::Cursor::new(&mut jpeg),
            image::ImageFormat::Jpeg,
        )
        .unwrap();
    fuzz("image", readers::image, &[bytes, jpeg]);
}

#[test]
fn idx_files() {
    let mut images = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 3];
    images.extend(0..18);
    fuzz("idx", readers::idx, &[images]);
}

#[test]
fn graphs() {
    let seed = b"file,label\na.csv,x\n\x000,1\n1,0\n".to_vec();
    fuzz("graphs", readers::graphs, &[seed]);
}

#[test]
fn formats_of_known_datasets() {
    use std::io::Write;
    let list = b"n 1 1\nn 2 7\ne 1 2 0.5\ng kki_1\nx 1\nn 1 3\ng kki_2\nx -1\n".to_vec();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("Brain/KKI.nel", options).unwrap();
    zip.write_all(&list).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    fuzz("nel", readers::nel, &[list, zip]);
    let mut image = vec![3];
    image.resize(3073, 200);
    fuzz("cifar", readers::cifar, &[image]);
    let mut pack = b"AAL116I2".to_vec();
    for word in [2_u32, 3] {
        pack.extend(word.to_le_bytes());
    }
    pack.extend([0, 1, 0, 2, 0, 3, 0, 1, 4, 0, 5, 0, 6, 0]);
    fuzz("pack", readers::pack, &[pack]);
}

#[test]
fn onnx_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/onnx");
    let mut seeds = Vec::new();
    for name in ["mlp_tiny", "pipeline_three", "pipeline_ordinal"] {
        seeds.push(std::fs::read(folder.join(format!("{name}.onnx"))).unwrap());
    }
    fuzz("onnx", readers::onnx, &seeds);
}

/// What a fuzz target found once, by the name of the target: `tests/golden/fuzz/TARGET-….bin`.
#[test]
fn what_once_broke_a_reader_does_not() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fuzz");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some((target, _)) = name
            .split_once('-')
            .filter(|_| path.extension().is_some_and(|end| end == "bin"))
        else {
            continue;
        };
        let read: fn(&[u8]) = match target {
            "audit" => readers::audit,
            "cifar" => readers::cifar,
            "csv" => readers::csv,
            "graphs" => readers::graphs,
            "idx" => readers::idx,
            "image" => readers::image,
            "model" => readers::model,
            "nel" => readers::nel,
            "onnx" => readers::onnx,
            "pack" => readers::pack,
            "parquet" => readers::parquet,
            "part" => readers::part,
            "partial" => readers::partial,
            "checkpoint" => readers::checkpoint,
            "recipe" => readers::recipe,
            "run" => readers::run,
            other => panic!("no reader is called `{other}`"),
        };
        read(&std::fs::read(&path).unwrap());
    }
}

#[test]
fn recipes_and_runs() {
    let recipe = "name = \"a\"\ntitle = \"\"\n[read]\nmissing = [\"NA\"]\n[read.form.x]\nkind = \"amount\"\ndecimal = \",\"\n[target]\ncolumn = \"y\"\n\
                  class = [{ name = \"0\" }, { name = \"1\" }]\n[[feature]]\nkind = \"number\"\ncolumn = \"x\"\nclip = [0.01, 0.99]\n";
    fuzz("recipe", readers::recipe, &[recipe.as_bytes().to_vec()]);
    let run = "name = \"a\"\nseed = 1\nk = 3\n[data]\nsource = \"a.csv\"\n[model]\nkind = \"mlp\"\nhidden = [4]\n[objective]\nkind = \"r2et\"\n\
               [train]\nepochs = 1\n";
    fuzz("run", readers::run, &[run.as_bytes().to_vec()]);
}

/// A small model, its rows and an audit of them.
fn audited() -> (thickset::Model, thickset::audit::Audit) {
    use thickset::model::{AuditOptions, MlpConfig, Model, ModelConfig};
    let dataset =
        thickset::data::open("wine-quality", &thickset::data::OpenOptions::default()).unwrap();
    let config = MlpConfig {
        hidden: vec![3],
        ..MlpConfig::default()
    };
    let model = Model::fresh(
        ModelConfig::Mlp(config),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(1),
    )
    .unwrap();
    let options = AuditOptions {
        effort: Some(thickset::attack::suite::Effort::Quick),
        k: Some(3),
        noise_draws: 2,
        worst: 1,
        ..AuditOptions::default()
    };
    let audit = model.audit(&dataset.test().first(5), &options).unwrap();
    (model, audit)
}

#[test]
fn models_are_read_and_run() {
    let (model, audit) = audited();
    fuzz("model", readers::model, &[model.to_bytes()]);
    fuzz("audit", readers::audit, &[audit.to_bytes()]);
}

/// Two numbers a row, and the class that they decide.
fn pairs(folder: &std::path::Path) -> (thickset::Dataset, thickset::model::RowsConfig) {
    use std::fmt::Write as _;
    let mut csv = "a,b,class\n".to_owned();
    for row in 0..40 {
        let (a, b) = (row * 7 % 11, row * 5 % 13);
        writeln!(csv, "{a},{b},{}", ["no", "yes"][usize::from(a > b)]).unwrap();
    }
    let path = folder.join("pairs.csv");
    std::fs::write(&path, csv).unwrap();
    let data = path.display().to_string();
    let dataset = thickset::data::open(&data, &thickset::data::OpenOptions::default()).unwrap();
    let config = thickset::model::RowsConfig {
        data,
        ..thickset::model::RowsConfig::default()
    };
    (dataset, config)
}

#[test]
fn parts_and_rows_of_killed_audits() {
    use std::ops::ControlFlow;
    use thickset::audit::{Event, ResumeFile, ResumeKey};
    use thickset::model::{AuditOptions, LinearConfig, ModelConfig, Selection, Shard};
    let folder = tempfile::tempdir().unwrap();
    let (dataset, config) = pairs(folder.path());
    let model = thickset::Model::fresh(
        ModelConfig::Linear(LinearConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(0),
    )
    .unwrap();
    let origin = model.origin().unwrap();
    let selection = Selection {
        shard: Shard { number: 1, of: 1 },
        ..Selection::default()
    };
    let opened = model.open_labelled_selected(&config, &selection).unwrap();
    let path = folder.path().join("partial");
    let options = AuditOptions {
        effort: Some(thickset::attack::suite::Effort::Quick),
        k: Some(1),
        radius: Some(0.1),
        noise_draws: 2,
        worst: 1,
        resume: Some(ResumeFile {
            path: path.clone(),
            key: ResumeKey::new([1; 32]),
        }),
        ..AuditOptions::default()
    };
    let settings = model
        .audit_config(&origin, &opened.rows(), &options)
        .unwrap();
    let mut signed = Vec::new();
    let mut observer = |event: &Event<'_>| {
        if matches!(event, Event::Rows { .. }) {
            signed = std::fs::read(&path).unwrap();
        }
        ControlFlow::Continue(())
    };
    let part = model
        .audit_part(&origin, &opened, &options, &settings, &mut observer)
        .unwrap()
        .unwrap();
    fuzz("part", readers::part, &[part.to_bytes()]);
    let text = String::from_utf8(signed).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(' '))
        .map(|(_, text)| text)
        .collect();
    assert!(!lines.is_empty(), "rows are kept while an audit runs");
    fuzz(
        "partial",
        readers::partial,
        &[lines.join("\n").into_bytes()],
    );
}

#[test]
fn checkpoints() {
    use std::ops::ControlFlow;
    use thickset::train::{Event, RunFolder, train_into};
    let folder = tempfile::tempdir().unwrap();
    let (dataset, config) = pairs(folder.path());
    let run = format!(
        "name = \"a\"\nk = 1\nmodel = {{ kind = \"linear\" }}\nobjective = {{ kind = \"vanilla\" }}\n\
         train = {{ epochs = 3, batch = 8, checkpoint_steps = 1 }}\nprobe = {{ rows = 0 }}\n[data]\nsource = \"{}\"\n",
        config.data
    );
    let run = thickset::config::RunConfig::parse(&run, "run.toml").unwrap();
    let run_folder = RunFolder::new(folder.path().join("run"));
    let mut observer = |event: &Event<'_>| match event {
        Event::Step { step: 7, .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let checked = run.check().unwrap();
    let ended = train_into(&checked, &dataset, &run_folder, false, &mut observer).unwrap();
    assert!(ended.is_none(), "it is stopped");
    let latest = folder.path().join("run/checkpoint/latest.safetensors");
    fuzz(
        "checkpoint",
        readers::checkpoint,
        &[std::fs::read(latest).unwrap()],
    );
}
