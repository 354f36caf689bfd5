//! Bytes that nobody meant to be a table.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use thickset::Result;
use thickset::data::{self, InferOptions, OpenOptions, ReadRule, Scale, Table, Wanted};

use crate::{golden, write};

fn read_text(bytes: &[u8]) -> Result<Table> {
    data::read_csv_from(bytes, "a.csv", &ReadRule::default(), &Wanted::default())
}

proptest! {
    #[test]
    fn no_bytes_make_the_csv_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_text(&bytes);
    }

    #[test]
    fn no_text_makes_opening_a_table_panic(text in "([a-ce0-9.,;\"\n -]{0,8}[,\n]){0,60}") {
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", text);
        let _ = data::open(&path.display().to_string(), &OpenOptions::default());
    }

    #[test]
    fn no_number_makes_a_table_panic_or_gives_a_value_that_is_none(
        exponents in proptest::collection::vec((-330_i32..309, any::<bool>()), 12..40)
    ) {
        let mut text = "a,b\n".to_owned();
        for (row, (exponent, negative)) in exponents.iter().enumerate() {
            let sign = if *negative { "-" } else { "" };
            writeln!(text, "{sign}1.7e{exponent},{}", row % 2).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.csv", text);
        for scale in [Scale::MinMax, Scale::Standard] {
            let infer = InferOptions { scale, ..InferOptions::default() };
            let options = OpenOptions { infer, ..OpenOptions::default() };
            if let Ok(dataset) = data::open(&path.display().to_string(), &options) {
                let all: Vec<usize> = (0..dataset.rows()).collect();
                prop_assert!(dataset.gather(&all).iter().all(|value| value.is_finite()));
                let feature = &dataset.schema.features[0];
                prop_assert!(feature.low.is_finite() && feature.high.is_finite());
            }
        }
    }

    #[test]
    fn numbers_and_texts_read_back_whatever_the_delimiter(
        rows in proptest::collection::vec((any::<i32>(), "[a-z]{1,8}", -1e6..1e6_f64), 2..50),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|'])
    ) {
        let mut text = format!("a{delimiter}b{delimiter}c\n");
        for (a, b, c) in &rows {
            writeln!(text, "{a}{delimiter}{b}{delimiter}{c}").unwrap();
        }
        // Texts that look like a missing or an infinite number are not texts.
        prop_assume!(rows.iter().all(|(_, b, _)| !["nan", "null", "inf", "infinity"].contains(&b.as_str())));
        let table = read_text(text.as_bytes()).unwrap();
        for (row, (a, b, c)) in rows.iter().enumerate() {
            prop_assert_eq!(table.columns[0].values.number(row), Some(f64::from(*a)));
            let found = table.columns[1].values.text(row);
            prop_assert_eq!(found.as_deref(), Some(b.as_str()));
            prop_assert_eq!(table.columns[2].values.number(row), Some(*c));
        }
    }

    #[test]
    fn a_parquet_file_with_a_wrong_byte_is_read_or_refused(at in 0_usize..1_000_000, byte: u8) {
        let mut bytes = fs::read(golden("loans.parquet")).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.parquet", bytes);
        let _ = data::read_parquet(&path, &ReadRule::default(), &Wanted::default());
    }

    #[test]
    fn a_parquet_file_cut_anywhere_is_refused(keep in 0_usize..1_000_000) {
        let bytes = fs::read(golden("loans.parquet")).unwrap();
        let keep = keep % bytes.len();
        let folder = tempfile::tempdir().unwrap();
        let path = write(&folder, "a.parquet", &bytes[..keep]);
        prop_assert!(data::read_parquet(&path, &ReadRule::default(), &Wanted::default()).is_err());
    }
}
