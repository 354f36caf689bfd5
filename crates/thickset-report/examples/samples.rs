//! Writes made-up reports into a folder, to look at while working on the page:
//! `cargo run -p thickset-report --example samples -- FOLDER`.

#[path = "../tests/samples/mod.rs"]
mod samples;

use std::error::Error;
use std::path::PathBuf;

use samples::{Table, bench, credit, digits};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("expected a folder")?);
    std::fs::create_dir_all(&folder)?;
    let vanilla = credit(&Table::default());
    let r2et = credit(&Table {
        name: "r2et",
        shake: 0.06,
        auc: 0.858,
        ..Table::default()
    });
    let large = credit(&Table {
        rows: 100_000,
        ..Table::default()
    });
    let pages = [
        (
            "single",
            thickset_report::audit(std::slice::from_ref(&vanilla))?,
        ),
        ("digits", thickset_report::audit(&[digits()])?),
        (
            "several",
            thickset_report::audit(&[vanilla, r2et, digits()])?,
        ),
        ("large", thickset_report::audit(&[large])?),
        ("bench", thickset_report::bench(&bench::table1())?),
    ];
    for (name, page) in pages {
        let path = folder.join(format!("{name}.html"));
        std::fs::write(&path, &page)?;
        eprintln!("{}: {} kB", path.display(), page.len() / 1024);
    }
    Ok(())
}
