//! Every kind of data that can be trained on: images, pairs of images, pairs of graphs; each stopped and resumed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use thickset::Seed;
use thickset::config::RunConfig;
use thickset::data::Dataset;
use thickset::train::{Event, train};

use super::{data, same, train_on};

/// Two epochs of a few steps with a checkpoint every other one.
fn run_config(data: &str, model: &str, objective: &str, k: usize) -> RunConfig {
    let text = format!(
        "name = \"test\"\nk = {k}\nmodel = {model}\nobjective = {objective}\nprobe = {{ rows = 6, steps = 2 }}\n\
         train = {{ epochs = 2, batch = 16, checkpoint_steps = 2, optimizer = {{ kind = \"adam\", rate = 0.01 }} }}\n\
         data = {data}\n"
    );
    RunConfig::parse(&text, "run.toml").unwrap()
}

/// Trains in one go, and again with stops; the bytes are the same.
fn is_resumed_to_the_same_bytes(config: &RunConfig, dataset: &Dataset) {
    let whole = tempfile::tempdir().unwrap();
    let outcome = train_on(dataset, config, whole.path(), false, &mut |_| false).unwrap();
    assert_eq!(outcome.expect("nobody stopped it").epochs.len(), 2);
    let parts = tempfile::tempdir().unwrap();
    for stop in [1, 3] {
        let mut at = |event: &Event<'_>| matches!(event, Event::Step { step, .. } if *step == stop);
        let outcome = train_on(dataset, config, parts.path(), true, &mut at).unwrap();
        assert!(outcome.is_none(), "step {stop}");
    }
    train_on(dataset, config, parts.path(), true, &mut |_| false).unwrap();
    same(whole.path(), parts.path(), "resumed");
}

#[test]
fn images_train_with_a_cnn_and_with_batch_statistics() {
    for (model, objective) in [
        (
            "{ kind = \"cnn\", channels = [2, 3], hidden = [8] }",
            "{ kind = \"r2et\" }",
        ),
        (
            "{ kind = \"resnet9\", width = 2 }",
            "{ kind = \"trades\", attack = { steps = 2 } }",
        ),
    ] {
        let config = run_config("{ source = \"digits\" }", model, objective, 8);
        let mut dataset = data(&config);
        dataset.split.train.truncate(40);
        dataset.split.validation.truncate(20);
        is_resumed_to_the_same_bytes(&config, &dataset);
    }
}

const PAIRS: &str = "name = \"mine\"\ntitle = \"pairs\"\n[target]\ncolumn = \"class\"\n\
                     class = [{ name = \"a\" }, { name = \"b\" }]\n[pairs]\n";

/// The `data` setting of a folder and a recipe that pairs its content, all of it or so many.
fn paired(folder: &Path, drawn: Option<[usize; 3]>) -> String {
    let recipe = folder.with_extension("toml");
    let drawn = drawn.map_or_else(String::new, |drawn| format!("drawn = {drawn:?}\n"));
    fs::write(&recipe, format!("{PAIRS}{drawn}")).unwrap();
    let [source, recipe] = [folder, &recipe].map(|path| path.display().to_string());
    format!("{{ source = {source:?}, recipe = {recipe:?} }}")
}

#[test]
fn pairs_of_images_train_with_a_siamese_network() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("images");
    for (class, shade) in [("a", 20_u8), ("b", 200)] {
        fs::create_dir_all(folder.join(class)).unwrap();
        for number in 0..6_u8 {
            let image = image::GrayImage::from_fn(8, 8, |x, y| {
                let spot = (x + 3 * y) % u32::from(number + 2) == 0;
                image::Luma([if spot { shade } else { 128 - number }])
            });
            let path = folder.join(class).join(format!("{number}.png"));
            image.save(path).unwrap();
        }
    }
    let model = "{ kind = \"siamese\", size = 4, embedding = { kind = \"cnn\", channels = [2, 3], hidden = [8] } }";
    let config = run_config(&paired(&folder, None), model, "{ kind = \"r2et\" }", 8);
    let dataset = data(&config);
    assert_eq!(dataset.features(), 2 * 64);
    is_resumed_to_the_same_bytes(&config, &dataset);
}

#[test]
fn pairs_of_threes_and_eights_are_told_apart_whatever_the_seed() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("images");
    let digits = data(&RunConfig::parse("[data]\nsource = \"digits\"\n", "run.toml").unwrap());
    for (class, digit) in [("a", 3), ("b", 8)] {
        fs::create_dir_all(folder.join(class)).unwrap();
        let mut pixels = vec![0.0_f32; digits.features()];
        for row in (0..digits.labels.len()).filter(|&row| digits.labels[row] == digit) {
            digits.copy_row(row, &mut pixels);
            let image = image::GrayImage::from_fn(8, 8, |x, y| {
                let shade = 255.0 * pixels[(8 * y + x) as usize];
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "pixels lie between 0 and 1"
                )]
                image::Luma([shade as u8])
            });
            image
                .save(folder.join(class).join(format!("{row}.png")))
                .unwrap();
        }
    }
    let source = paired(&folder, Some([400, 100, 100]));
    let model = "{ kind = \"siamese\", size = 8, embedding = { kind = \"cnn\", channels = [4, 8], hidden = [16] } }";
    for seed in 0..10 {
        let mut config = run_config(&source, model, "{ kind = \"vanilla\" }", 8);
        config.seed = Seed::new(seed);
        config.train.epochs = 4;
        config.probe.rows = 0;
        let trained = train(&config.clone().check().unwrap(), &data(&config)).unwrap();
        let selected = trained.selected;
        assert!(selected.auc > 0.95, "seed {seed}: {selected:?}");
    }
}

#[test]
fn pairs_of_graphs_train_with_a_siamese_network() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("graphs");
    fs::create_dir(&folder).unwrap();
    let mut labels = "file,label\n".to_owned();
    for number in 0..12_usize {
        let mut text = String::new();
        for row in 0..4_usize {
            let weight = |column: usize| {
                let (low, high) = (row.min(column), row.max(column));
                let wave = (7 * low + 3 * high + 5 * number) % 11;
                if row == column {
                    "0".to_owned()
                } else {
                    format!("0.{wave:02}")
                }
            };
            writeln!(text, "{}", [0, 1, 2, 3].map(weight).join(",")).unwrap();
        }
        fs::write(folder.join(format!("g{number}.csv")), text).unwrap();
        writeln!(labels, "g{number}.csv,{}", ["a", "b"][number % 2]).unwrap();
    }
    fs::write(folder.join("labels.csv"), labels).unwrap();
    let model = "{ kind = \"siamese\", embedding = { kind = \"gcn\", hidden = 4, embedding = 3 } }";
    for objective in ["r2et", "pgd-at"] {
        let objective = format!("{{ kind = \"{objective}\" }}");
        let config = run_config(&paired(&folder, None), model, &objective, 3);
        let dataset = data(&config);
        assert_eq!(dataset.features(), 2 * 6);
        is_resumed_to_the_same_bytes(&config, &dataset);
    }
}

#[test]
fn retraining_is_resumed_to_the_same_bytes() {
    let reference = tempfile::tempdir().unwrap();
    let model = "{ kind = \"mlp\", hidden = [8] }";
    let source = "{ source = \"breast-cancer\" }";
    let first = run_config(source, model, "{ kind = \"vanilla\" }", 8);
    let dataset = data(&first);
    train_on(&dataset, &first, reference.path(), false, &mut |_| false).unwrap();
    let mut second = run_config(source, model, "{ kind = \"r2et\" }", 8);
    let retrain = second.retrain.get_or_insert_default();
    retrain.from = reference.path().join("model.safetensors");
    retrain.least_agreement = 0.0;
    retrain.most_auc_drop = 1.0;
    is_resumed_to_the_same_bytes(&second, &dataset);
}
