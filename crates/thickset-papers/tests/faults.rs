//! A bench whose files fail, tear or are lost: the next one ends with the bytes of one that nothing happened to.

#[path = "../../thickset/tests/support/survive.rs"]
mod survive;

use std::path::Path;

use thickset_papers::BenchOptions;

use survive::survive;

#[test]
fn a_bench_survives_faults() {
    let bench = |folder: &Path, _: bool| {
        let options = BenchOptions {
            datasets: vec!["breast-cancer".to_owned()],
            methods: vec!["linear".to_owned(), "vanilla".to_owned()],
            seeds: Some(1),
            rows: Some(2),
            train_rows: Some(16),
            epochs: Some(1),
            ..BenchOptions::new(folder)
        };
        // Cells are made side by side; one after the other their operations have one order.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let made = alone
            .expect("one thread")
            .install(|| thickset_papers::run("table6", &options, &|_| {}));
        made.map(|_| ())
    };
    survive(
        "bench",
        &bench,
        &["table6/bench.json", "table6/bench.md"],
        17,
    );
}
