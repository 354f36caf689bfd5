//! `thickset data` as a user runs it: what it prints, and what it says about every kind of bad input.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn thickset(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_thickset"))
        .args(arguments)
        .env("THICKSET_DATA", "")
        .env("XDG_DATA_HOME", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn succeeds(arguments: &[&str]) -> String {
    let output = thickset(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs `data show FILE` and checks that it refuses the file politely: exit 2, every part of the message, no panic,
/// nothing on stdout.
fn refuses(path: &Path, more: &[&str], parts: &[&str]) {
    let path = path.display().to_string();
    let output = thickset(&[&["data", "show", &path], more].concat());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{path}: {message}");
    assert!(message.starts_with("error: "), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

fn write(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// `income,age,default` with this many rows, one a line from line 2 on.
fn loans(rows: usize) -> String {
    let row = |row: usize| {
        let default = if row.is_multiple_of(3) { "yes" } else { "no" };
        format!("{}.5,{},{default}\n", 900 + row * 7 % 1000, 18 + row % 60)
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("income,age,default\n{}", rows.concat())
}

#[test]
fn list_names_bundled_and_missing_datasets() {
    let list = succeeds(&["data", "list"]);
    assert!(list.contains("breast-cancer      bundled"), "{list}");
    assert!(list.contains("adult              missing"), "{list}");
    let json: serde_json::Value =
        serde_json::from_str(&succeeds(&["data", "list", "--json"])).unwrap();
    assert!(
        json.as_array()
            .unwrap()
            .iter()
            .any(|item| item["name"] == "mnist" && item["status"] == "missing")
    );
}

#[test]
fn show_tells_rows_classes_and_features_of_a_bundled_dataset() {
    let shown = succeeds(&["data", "show", "breast-cancer"]);
    for part in [
        "rows      569 (train 397, validation 86, test 86)",
        "features  30",
        "malignant",
        "worst radius",
    ] {
        assert!(shown.contains(part), "`{part}` is not in: {shown}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&succeeds(&["data", "show", "wine-quality", "--json"])).unwrap();
    assert_eq!(json["rows"], 1599);
    assert_eq!(json["features"][0]["unit"], "g/L");
    let bars = json["features"][0]["histogram"].as_array().unwrap();
    assert_eq!(
        bars.iter().map(|bar| bar.as_u64().unwrap()).sum::<u64>(),
        1599
    );
}

#[test]
fn a_printed_recipe_can_be_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "loans.csv", loans(300))
        .display()
        .to_string();
    let recipe = succeeds(&["data", "show", &path, "--target", "default", "--recipe"]);
    let recipe = write(&folder, "loans.toml", recipe).display().to_string();
    let inferred = succeeds(&["data", "show", &path, "--json"]);
    assert_eq!(
        succeeds(&["data", "show", &path, "--with", &recipe, "--json"]),
        inferred
    );
    let adult = succeeds(&["data", "show", "adult", "--recipe"]);
    assert!(
        adult.contains("Self-emp-not-inc"),
        "a known recipe is printed without its files"
    );
}

#[test]
fn export_writes_csv_and_parquet_that_can_be_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["out.csv", "out.parquet"] {
        let out = folder.path().join(name).display().to_string();
        succeeds(&["data", "export", "wine-quality", "--out", &out]);
        let shown = succeeds(&["data", "show", &out, "--target", "class"]);
        assert!(shown.contains("rows      1599"), "{shown}");
    }
    let text = fs::read_to_string(folder.path().join("out.csv")).unwrap();
    assert!(
        text.starts_with("split,label,class,fixed acidity,volatile acidity,"),
        "{}",
        &text[..80]
    );
}

#[test]
fn export_refuses_another_ending() {
    let output = thickset(&["data", "export", "wine-quality", "--out", "wine.xlsx"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`.csv` or `.parquet`"));
}

#[test]
fn a_missing_dataset_says_what_where_from_and_where_to() {
    let output = thickset(&["data", "show", "adult", "--data-dir", "/nowhere/data"]);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    for part in [
        "`adult/adult.data`",
        "https://archive.ics.uci.edu/dataset/2/adult",
        "/nowhere/data/adult/adult.data",
    ] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    refuses(
        Path::new("audlt"),
        &[],
        &[
            "`audlt` is neither a dataset we know nor a file",
            "`adult`",
            "hint: ",
        ],
    );
}

#[test]
fn ragged_rows_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let content = format!("{}1,2\n", loans(40));
    refuses(
        &write(&folder, "a.csv", content),
        &[],
        &["a.csv` line 42", "2 fields, expected 3", "hint: "],
    );
}

#[test]
fn a_text_in_a_number_column_is_refused_with_its_line_after_ten_thousand_good_rows() {
    let folder = tempfile::tempdir().unwrap();
    let content = format!("{}12.5,blue,yes\n{}", loans(10_000), "1,2,no\n".repeat(50));
    refuses(
        &write(&folder, "a.csv", content),
        &[],
        &["line 10002", "column `age`", "`blue`", "--missing blue;"],
    );
}

#[test]
fn the_hint_about_a_text_among_numbers_works() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        &folder,
        "a.csv",
        format!("{}12.5,unknown,yes\n", loans(10_000)),
    )
    .display()
    .to_string();
    let shown = succeeds(&["data", "show", &path, "--missing", "unknown"]);
    assert!(shown.contains("rows      10001"), "{shown}");
    let shown = succeeds(&["data", "show", &path, "--category", "age"]);
    assert!(shown.contains("age=(other)"), "{shown}");
}

#[test]
fn an_empty_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    refuses(&write(&folder, "a.csv", ""), &[], &["a.csv` has no rows"]);
    refuses(
        &write(&folder, "b.csv", "x,y\n"),
        &[],
        &["b.csv` has no rows"],
    );
}

#[test]
fn one_class_only_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let content = loans(100).replace("yes", "no");
    refuses(
        &write(&folder, "a.csv", content),
        &[],
        &["every row has the class `no`", "`default`", "--target"],
    );
}

#[test]
fn a_quantity_is_refused_as_a_target() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", loans(1000));
    refuses(
        &path,
        &["--target", "income"],
        &["target `income` has more than 100 different values"],
    );
}

#[test]
fn a_missing_target_lists_the_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", loans(100));
    refuses(
        &path,
        &["--target", "Default"],
        &[
            "no column `Default`",
            "`income`, `age`, `default`",
            "upper and lower case",
        ],
    );
}

#[test]
fn duplicate_headers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let content = loans(100).replace("income,age", "age,age");
    refuses(
        &write(&folder, "a.csv", content),
        &[],
        &["line 1", "names `age` twice, in columns 1 and 2"],
    );
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut content = loans(100).into_bytes();
    content.extend(b"1,2,\xff\xfe\n");
    refuses(
        &write(&folder, "a.csv", content),
        &[],
        &["line 102", "UTF-8", "iconv"],
    );
}

fn idx(sizes: [u32; 3], pixels: usize) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, 3];
    bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
    bytes.extend(vec![7; pixels]);
    bytes
}

#[test]
fn a_truncated_idx_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder,
        "x-labels-idx1-ubyte",
        [[0, 0, 8, 1], [0, 0, 0, 20]].concat(),
    );
    let path = write(
        &folder,
        "x-images-idx3-ubyte",
        idx([20, 28, 28], 28 * 28 * 19),
    );
    refuses(
        &path,
        &[],
        &[
            "x-images-idx3-ubyte` ends early",
            "14912 bytes, expected 15696",
        ],
    );
}

#[test]
fn an_idx_header_that_claims_too_much_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(
        &folder,
        "x-labels-idx1-ubyte",
        [[0, 0, 8, 1], [0, 0, 0, 20]].concat(),
    );
    let path = write(
        &folder,
        "x-images-idx3-ubyte",
        idx([1 << 31, 1 << 9, 1], 100),
    );
    refuses(
        &path,
        &[],
        &["a claim of 2147483648 images of 512 x 1", "limit"],
    );
}

#[test]
fn a_gzip_bomb_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv.gz", gzip(&b"1,2,yes\n".repeat(20 << 20)));
    assert!(fs::metadata(&path).unwrap().len() < 1 << 20);
    refuses(
        &path,
        &[],
        &["a.csv.gz`: the decompressed content is more than the limit"],
    );
}

#[test]
fn a_gzip_file_cut_short_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = gzip(loans(1000).as_bytes());
    refuses(
        &write(&folder, "a.csv.gz", &bytes[..bytes.len() / 2]),
        &[],
        &["cannot read", "a.csv.gz", "cause: "],
    );
}

#[test]
fn a_parquet_file_cut_in_half_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.parquet");
    succeeds(&[
        "data",
        "export",
        "wine-quality",
        "--out",
        &whole.display().to_string(),
    ]);
    let bytes = fs::read(&whole).unwrap();
    let path = write(&folder, "half.parquet", &bytes[..bytes.len() / 2]);
    refuses(
        &path,
        &[],
        &["half.parquet`: it does not end like a Parquet file"],
    );
}

#[test]
fn a_quote_that_never_closes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let content = format!("income,age,default\n\"{}", loans(2_000_000));
    refuses(&write(&folder, "a.csv", content), &[], &["closing quote"]);
}

#[test]
fn a_recipe_with_a_mistake_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "a.csv", loans(100));
    let recipe = write(
        &folder,
        "a.toml",
        "name = \"a\"\ntitle = \"a\"\n[target]\ncolum = \"default\"\n",
    );
    refuses(
        &path,
        &["--with", &recipe.display().to_string()],
        &["a.toml", "line 4", "colum"],
    );
}

#[test]
fn a_table_without_a_header_is_read_whole_when_told_and_noted_when_not() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..40)
        .map(|row| {
            format!(
                "{},{}.5,{}\n",
                ["Graz", "Linz"][row % 2],
                row * 7 % 31,
                row % 2
            )
        })
        .collect();
    let path = write(&folder, "a.csv", rows.concat());
    let path = path.display().to_string();
    let guessed = succeeds(&["data", "show", &path]);
    assert!(guessed.contains("rows      39"), "{guessed}");
    assert!(
        guessed.contains("line 1 is taken as the header, though 2 of its 3"),
        "{guessed}"
    );
    let told = succeeds(&["data", "show", &path, "--no-header"]);
    assert!(told.contains("rows      40"), "{told}");
    assert!(told.contains("column_2"), "{told}");
    assert!(!told.contains("header"), "{told}");

    let out = folder.path().join("run.toml").display().to_string();
    let output = thickset(&["init", "--data", &path, "--out", &out]);
    assert!(output.status.success());
    let message = text(&output.stderr);
    assert!(
        message.contains("note: line 1 is taken as the header"),
        "{message}"
    );
    fs::remove_file(&out).unwrap();
    let output = thickset(&["init", "--data", &path, "--no-header", "--out", &out]);
    let message = text(&output.stderr);
    assert!(message.contains("for 40 rows"), "{message}");
    let written = fs::read_to_string(&out).unwrap();
    assert!(written.contains("\nheader = false "), "{written}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        2,
        "nothing is left beside"
    );
}

#[test]
fn a_number_that_cannot_be_scaled_is_refused_with_its_column() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<String> = (0..40)
        .map(|row| format!("{}1.7e308,{}\n", ["", "-"][row / 2 % 2], row % 2))
        .collect();
    let path = write(&folder, "a.csv", format!("x,y\n{}", rows.concat()));
    refuses(
        &path,
        &[],
        &["a.csv", "the range of `x`", "too wide for single precision"],
    );
}

#[test]
fn an_idx_file_of_huge_images_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(
        &folder,
        "a-images-idx3-ubyte",
        idx([1, 2048, 1024], 2048 * 1024),
    );
    let mut labels = 0x0801_u32.to_be_bytes().to_vec();
    labels.extend([0, 0, 0, 1, 7]);
    write(&folder, "a-labels-idx1-ubyte", labels);
    refuses(
        &path,
        &[],
        &[
            "a row of 2097152 features is more than the limit of 1048576",
            "--image-size",
        ],
    );
}

#[test]
fn help_shows_examples() {
    for action in ["list", "show", "export"] {
        assert!(
            succeeds(&["data", action, "--help"]).contains("Examples:"),
            "{action}"
        );
    }
}
