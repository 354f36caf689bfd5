//! Small files that claim much, made byte by byte: each must be refused before anything of the claimed size is allocated.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{MAGIC, ParquetReader, read};
use crate::data::read::read_rule::{ReadRule, Wanted};
use crate::{Error, Result};

/// A struct of Thrift's compact protocol, written field by field in ascending order.
#[derive(Clone, Default)]
struct Bytes {
    bytes: Vec<u8>,
    last: u8,
}

impl Bytes {
    fn head(mut self, id: u8, wire: u8) -> Self {
        self.bytes.push((id - self.last) << 4 | wire);
        self.last = id;
        self
    }

    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        self.bytes.push(u8::try_from(value).unwrap());
        self
    }

    fn number(self, id: u8, value: i64) -> Self {
        let zigzag = (value << 1) ^ (value >> 63);
        self.head(id, 5).varint(zigzag.cast_unsigned())
    }

    fn text(self, id: u8, text: &str) -> Self {
        let mut whole = self.head(id, 8).varint(text.len() as u64);
        whole.bytes.extend(text.as_bytes());
        whole
    }

    fn list(self, id: u8, wire: u8, elements: &[Vec<u8>]) -> Self {
        let mut whole = self.head(id, 9);
        whole.bytes.push(0xf0 | wire);
        let mut whole = whole.varint(elements.len() as u64);
        whole.bytes.extend(elements.concat());
        whole
    }

    fn record(self, id: u8, inner: Vec<u8>) -> Self {
        let mut whole = self.head(id, 12);
        whole.bytes.extend(inner);
        whole
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn group(name: &str, children: i64) -> Vec<u8> {
    let group = Bytes::default().number(3, 0).text(4, name);
    group.number(5, children).end()
}

/// Required, of a physical type.
fn leaf(name: &str, kind: i64) -> Vec<u8> {
    let leaf = Bytes::default().number(1, kind).number(3, 0);
    leaf.text(4, name).end()
}

/// A file with this schema and one row group of chunks `(codec, offset, length, has a dictionary)` after its pages.
fn file(schema: &[Vec<u8>], pages: &[u8], chunks: &[(i64, usize, usize, bool)]) -> Vec<u8> {
    let chunk = |&(codec, offset, length, dictionary): &(i64, usize, usize, bool)| {
        let at = i64::try_from(offset).unwrap();
        let column = Bytes::default()
            .number(1, 1)
            .list(2, 5, &[vec![0]])
            .list(3, 8, &[])
            .number(4, codec)
            .number(5, 10)
            .number(6, 100)
            .number(7, i64::try_from(length).unwrap())
            .number(9, at);
        let column = if dictionary {
            column.number(11, at)
        } else {
            column
        };
        Bytes::default().number(2, 0).record(3, column.end()).end()
    };
    let chunks: Vec<Vec<u8>> = chunks.iter().map(chunk).collect();
    let rows = Bytes::default().list(1, 12, &chunks);
    let rows = rows.number(2, 100).number(3, 10).end();
    let footer = Bytes::default()
        .number(1, 1)
        .list(2, 12, schema)
        .number(3, 10)
        .list(4, 12, &[rows])
        .end();
    with_footer(pages, &footer)
}

fn with_footer(pages: &[u8], footer: &[u8]) -> Vec<u8> {
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [MAGIC, pages, footer, &length, MAGIC].concat()
}

fn page(kind: i64, unpacked: i64, inner: (u8, Vec<u8>), content: &[u8]) -> Vec<u8> {
    let header = Bytes::default()
        .number(1, kind)
        .number(2, unpacked)
        .number(3, i64::try_from(content.len()).unwrap())
        .record(inner.0, inner.1)
        .end();
    [&header, content].concat()
}

fn dictionary(values: i64) -> (u8, Vec<u8>) {
    (7, Bytes::default().number(1, values).number(2, 0).end())
}

fn data(values: i64, encoding: i64) -> (u8, Vec<u8>) {
    let header = Bytes::default().number(1, values).number(2, encoding);
    (5, header.number(3, 3).number(4, 3).end())
}

fn one_column(kind: i64, codec: i64, pages: &[u8], dictionary: bool) -> Vec<u8> {
    let schema = [group("a", 1), leaf("x", kind)];
    file(
        &schema,
        pages,
        &[(codec, MAGIC.len(), pages.len(), dictionary)],
    )
}

fn write(folder: &Path, bytes: &[u8]) -> PathBuf {
    let path = folder.join("bomb.parquet");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(bytes).unwrap();
    path
}

fn outcome(bytes: &[u8]) -> Result<usize> {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), bytes);
    read(&path, &ReadRule::default(), &Wanted::default()).map(|table| table.rows())
}

fn refused(bytes: &[u8]) -> String {
    match outcome(bytes) {
        Ok(rows) => panic!("read {rows} rows of {} bytes", bytes.len()),
        Err(Error::Parquet { source, .. }) => source.to_string(),
        Err(error) => error.to_string(),
    }
}

const INT32: i64 = 1;
const BYTE_ARRAY: i64 = 6;
const PLAIN: i64 = 0;
const UNCOMPRESSED: i64 = 0;
const SNAPPY: i64 = 1;
const GZIP: i64 = 2;

#[test]
fn a_small_file_of_ten_numbers_is_read() {
    let content: Vec<u8> = (0..10_i32).flat_map(i32::to_le_bytes).collect();
    let pages = page(0, 40, data(10, PLAIN), &content);
    let bytes = one_column(INT32, UNCOMPRESSED, &pages, false);
    assert_eq!(outcome(&bytes).unwrap(), 10);
}

#[test]
fn a_row_group_without_the_rows_that_it_claims_is_refused_where_rows_are_passed_over() {
    let content: Vec<u8> = (0..7_i32).flat_map(i32::to_le_bytes).collect();
    let pages = page(0, 28, data(7, PLAIN), &content);
    let bytes = one_column(INT32, UNCOMPRESSED, &pages, false);
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), &bytes);
    let mut reader = ParquetReader::open(&path, &ReadRule::default(), &Wanted::default()).unwrap();
    assert_eq!(reader.rows_left(), 10);
    let mut rows = 0;
    let refused = loop {
        match reader.next(5) {
            Ok(Some(table)) => rows += table.rows(),
            Ok(None) => panic!("{rows} rows are taken for 10"),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(rows, 7);
    assert!(
        refused.contains("row group 1 does not have the 10 rows that it claims"),
        "{refused}"
    );
}

#[test]
fn ten_thousand_nested_groups_do_not_overflow_the_stack() {
    let mut schema = vec![group("", 1); 9191];
    schema.push(leaf("x", INT32));
    let bytes = file(&schema, &[], &[(UNCOMPRESSED, MAGIC.len(), 0, false)]);
    assert!(refused(&bytes).contains("the nesting of its columns is more than the limit of 64"));
}

#[test]
fn a_group_of_two_thousand_million_children_is_refused() {
    let bytes = file(&[group("a", 2_000_000_000)], &[], &[]);
    assert!(bytes.len() < 100);
    assert!(refused(&bytes).contains("a group claims 2000000000 columns, 0 follow"));
    let bytes = file(&[group("a", -1)], &[], &[]);
    assert!(refused(&bytes).contains("a group claims -1 columns"));
}

#[test]
fn a_list_of_two_thousand_million_columns_is_refused() {
    let footer = Bytes::default().number(1, 1).head(2, 9);
    let mut footer = footer;
    footer.bytes.push(0xfc);
    let bytes = with_footer(&[], &footer.varint(2_000_000_000).end());
    assert!(refused(&bytes).contains("claim 2000000000 elements"));
}

#[test]
fn a_long_name_above_many_columns_is_not_repeated_for_each() {
    let mut schema = vec![group("a", 1), group(&"n".repeat(1 << 20), 50_000)];
    schema.extend(vec![leaf("x", INT32); 50_000]);
    let footer = Bytes::default().number(1, 1).list(2, 12, &schema).end();
    let bytes = with_footer(&[], &footer);
    assert!(refused(&bytes).contains("the length of all columns' names"));
}

#[test]
fn a_page_that_claims_two_gigabytes_is_refused() {
    let pages = page(0, i64::from(i32::MAX), data(10, PLAIN), &[1, 2, 3]);
    let bytes = one_column(INT32, SNAPPY, &pages, false);
    assert!(bytes.len() < 150);
    assert!(refused(&bytes).contains("a page of 3 bytes that unpacks to 2147483647"));
}

#[test]
fn a_dictionary_that_claims_two_thousand_million_values_is_refused() {
    for (kind, codec) in [(INT32, UNCOMPRESSED), (BYTE_ARRAY, SNAPPY)] {
        let pages = page(2, 8, dictionary(i64::from(i32::MAX)), &[0; 8]);
        let bytes = one_column(kind, codec, &pages, true);
        assert!(bytes.len() < 160);
        let refused = refused(&bytes);
        assert!(
            refused.contains("a dictionary of 8 bytes claims 2147483647 values"),
            "{refused}"
        );
    }
}

#[test]
fn a_text_in_a_page_header_that_claims_everything_is_refused() {
    let statistics = Bytes::default().head(1, 8).varint(1 << 50).end();
    let header = Bytes::default()
        .number(1, 10)
        .number(2, 0)
        .number(3, 3)
        .number(4, 3);
    let inner = (5, header.record(5, statistics).end());
    let bytes = one_column(INT32, UNCOMPRESSED, &page(0, 4, inner, &[0; 4]), false);
    assert!(refused(&bytes).contains("elements in"));
}

#[test]
fn a_gzip_page_that_unpacks_far_beyond_its_claim_stops_at_the_cap() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..64 {
        packed.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    let pages = page(0, 40, data(10, PLAIN), &packed);
    let bytes = one_column(INT32, GZIP, &pages, false);
    assert!(refused(&bytes).contains("unpacks to far more than any table does"));
}

#[test]
fn a_page_of_text_lengths_that_claims_two_thousand_million_is_refused() {
    // DELTA_LENGTH_BYTE_ARRAY: one part of 2^31 values, all of width 0.
    let lengths = Bytes::default()
        .varint(1 << 31)
        .varint(1)
        .varint((1 << 31) - 1);
    let content = [lengths.varint(0).bytes, vec![0, 0]].concat();
    let length = i64::try_from(content.len()).unwrap();
    let pages = page(0, length, data(i64::from(i32::MAX), 6), &content);
    let bytes = one_column(BYTE_ARRAY, UNCOMPRESSED, &pages, false);
    assert!(refused(&bytes).contains("claims more values than it may"));
}

#[test]
fn texts_that_repeat_the_one_before_are_bounded_by_the_files_size() {
    // DELTA_BYTE_ARRAY: a text of 1 MB, then 20,000 texts of all of it and nothing else, counted by one byte a text.
    let texts: u64 = 20_001;
    let long = 1_u64 << 20;
    // Prefixes: 0, then `long` for ever: a first difference of `long`, the others 0, in one part of 32 bits' width.
    let parts = |first: u64, least: u64, differences: &[u32]| {
        let block = 20_096_u64.next_multiple_of(128);
        let head = Bytes::default().varint(block).varint(1).varint(texts);
        let mut stream = head.varint(first << 1).varint(least).bytes;
        stream.push(32);
        let whole = usize::try_from(block).unwrap();
        stream.extend((0..whole).flat_map(|at| differences.get(at).unwrap_or(&0).to_le_bytes()));
        stream
    };
    let prefixes = parts(0, 0, &[u32::try_from(long).unwrap()]);
    // Suffix lengths: `long`, then 0: a least difference of -`long`, and then `long` on top of it.
    let back = vec![u32::try_from(long).unwrap(); usize::try_from(texts).unwrap()];
    let mut differences = back;
    differences[0] = 0;
    let suffixes = parts(long, (long << 1) - 1, &differences);
    let text = vec![b'a'; usize::try_from(long).unwrap()];
    let content = [prefixes, suffixes, text].concat();
    let length = i64::try_from(content.len()).unwrap();
    let pages = page(0, length, data(i64::try_from(texts).unwrap(), 7), &content);
    let bytes = one_column(BYTE_ARRAY, UNCOMPRESSED, &pages, false);
    let refused = refused(&bytes);
    assert!(
        refused.contains("the length of all of its texts is more than the limit"),
        "{refused}"
    );
}

#[test]
fn columns_that_share_their_bytes_are_refused() {
    let pages = page(0, 4, data(1, PLAIN), &[0; 400]);
    let schema: Vec<Vec<u8>> = std::iter::once(group("a", 20))
        .chain((0..20).map(|column| leaf(&format!("x{column}"), INT32)))
        .collect();
    let chunk = (UNCOMPRESSED, MAGIC.len(), pages.len(), false);
    let bytes = file(&schema, &pages, &[chunk; 20]);
    assert!(refused(&bytes).contains("of the file's"));
}
