//! The pages of a column: what their headers claim, checked before they are decoded, and what they unpack to, checked before it
//! is read.

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::serialized_reader::SerializedPageReader;

use super::column::BATCH;
use super::delta;
use super::footer::STATISTICS;
use super::thrift::{Event, Kind, Record, Walk};
use crate::{Error, Result};

/// The most bytes that a page may unpack to, per byte of the page.
const MOST_RATIO: u64 = 200;

/// A page may always unpack to this much; writers make pages of 1 MiB.
const FREE_BYTES: u64 = 16 << 20;

/// The most bytes of texts that are unpacked at a time where each may repeat the one before.
const MOST_BATCH_BYTES: u64 = 16 << 20;

/// Page types.
const DICTIONARY: i64 = 2;

/// Encodings by their numbers.
const DELTA_BYTE_ARRAY: i64 = 7;

static DATA: Record = Record {
    name: "DataPageHeader",
    fields: &[
        (1, Kind::Number),
        (2, Kind::Number),
        (3, Kind::Number),
        (4, Kind::Number),
        (5, Kind::Struct(&STATISTICS)),
    ],
};
static INDEX: Record = Record {
    name: "IndexPageHeader",
    fields: &[],
};
static DICTIONARY_HEADER: Record = Record {
    name: "DictionaryPageHeader",
    fields: &[(1, Kind::Number), (2, Kind::Number), (3, Kind::Flag)],
};
static DATA_V2: Record = Record {
    name: "DataPageHeaderV2",
    fields: &[
        (1, Kind::Number),
        (2, Kind::Number),
        (3, Kind::Number),
        (4, Kind::Number),
        (5, Kind::Number),
        (6, Kind::Number),
        (7, Kind::Flag),
        (8, Kind::Struct(&STATISTICS)),
    ],
};
static HEADER: Record = Record {
    name: "PageHeader",
    fields: &[
        (1, Kind::Number),
        (2, Kind::Number),
        (3, Kind::Number),
        (4, Kind::Number),
        (5, Kind::Struct(&DATA)),
        (6, Kind::Struct(&INDEX)),
        (7, Kind::Struct(&DICTIONARY_HEADER)),
        (8, Kind::Struct(&DATA_V2)),
    ],
};

/// What a page's header claims.
#[derive(Default)]
struct Header {
    kind: i64,
    unpacked: i64,
    packed: i64,
    /// Of a dictionary.
    values: i64,
    /// Of a page of values.
    encoding: i64,
}

/// What the headers of a column's pages say.
#[derive(Default)]
pub(super) struct Claims {
    /// The longest text that a page can hold whose texts repeat the start of the text before; 0 without such a page. A few bytes
    /// of such a page can stand for many such texts.
    pub(super) longest_repeated: u64,
    /// Bytes that all of them unpack to.
    pub(super) unpacked: u64,
}

impl Claims {
    /// How many values may be read at a time.
    pub(super) fn batch(&self) -> usize {
        let most = MOST_BATCH_BYTES / self.longest_repeated.max(1);
        usize::try_from(most).unwrap_or(BATCH).clamp(1, BATCH)
    }
}

/// Walks the headers of a column's pages.
///
/// # Errors
/// If one claims more than the file can hold, or more than any table unpacks to.
pub(super) fn check(file: &File, column: &ColumnChunkMetaData, path: &str) -> Result<Claims> {
    let (start, length) = column.byte_range();
    let io = |source| Error::io("read", path, source);
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(start)).map_err(io)?;
    let name = column.column_path().string();
    let mut left = length;
    let mut claims = Claims::default();
    while left > 0 {
        let mut header = Header::default();
        let mut walk = Walk::new(&mut reader, left, path);
        walk.record(&HEADER, &mut |record, field, event| {
            if let Event::Number(value) = event {
                match (record, field) {
                    ("PageHeader", 1) => header.kind = value,
                    ("PageHeader", 2) => header.unpacked = value,
                    ("PageHeader", 3) => header.packed = value,
                    ("DictionaryPageHeader", 1) => header.values = value,
                    ("DataPageHeader", 2) | ("DataPageHeaderV2", 4) => header.encoding = value,
                    _ => {}
                }
            }
            Ok(())
        })?;
        left = walk.left();
        let (packed, unpacked) = header.sizes(left, &name, path)?;
        if header.kind == DICTIONARY {
            header.check_dictionary(unpacked, column.column_type(), &name, path)?;
        }
        if header.encoding == DELTA_BYTE_ARRAY {
            claims.longest_repeated = claims.longest_repeated.max(unpacked);
        }
        claims.unpacked = claims.unpacked.saturating_add(unpacked);
        let step = i64::try_from(packed).unwrap_or(i64::MAX);
        reader.seek_relative(step).map_err(io)?;
        left -= packed;
    }
    Ok(claims)
}

impl Header {
    /// The bytes of the page as it lies in the file, and as it unpacks.
    fn sizes(&self, left: u64, column: &str, path: &str) -> Result<(u64, u64)> {
        let inside = |size: i64| u64::try_from(size).ok();
        let packed = inside(self.packed).filter(|packed| *packed <= left);
        let (Some(packed), Some(unpacked)) = (packed, inside(self.unpacked)) else {
            return Err(Error::Malformed {
                path: path.to_owned(),
                line: None,
                problem: format!(
                    "column `{column}`: a page claims {} bytes, {left} follow",
                    self.packed
                ),
            });
        };
        if unpacked > most_unpacked(packed) {
            return Err(Error::TooLarge {
                path: path.to_owned(),
                what: format!(
                    "column `{column}`: a page of {packed} bytes that unpacks to {unpacked}"
                ),
                limit: format!("{MOST_RATIO} times its bytes"),
            });
        }
        Ok((packed, unpacked))
    }

    fn check_dictionary(&self, unpacked: u64, kind: Type, column: &str, path: &str) -> Result<()> {
        let most = match kind {
            Type::BOOLEAN => unpacked.saturating_mul(8),
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => unpacked / 4,
            Type::INT64 | Type::DOUBLE => unpacked / 8,
            Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY => unpacked,
        };
        if u64::try_from(self.values).is_ok_and(|values| values <= most) {
            return Ok(());
        }
        Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: format!(
                "column `{column}`: a dictionary of {unpacked} bytes claims {} values",
                self.values
            ),
        })
    }
}

fn most_unpacked(packed: u64) -> u64 {
    packed.saturating_mul(MOST_RATIO).max(FREE_BYTES)
}

/// The pages of a column whose headers were checked; each is checked again by what it holds.
pub(super) struct Pages {
    inner: SerializedPageReader<File>,
    /// Pages are gzip, which is unpacked here: the decoder underneath would unpack without end.
    gzip: bool,
    /// Pages of the first version begin with their nulls.
    optional: bool,
    /// The most values that a page may claim inside.
    most_values: u64,
}

impl Pages {
    /// Opens the pages of a column; `most_values` is what may still be read of the file.
    ///
    /// # Errors
    /// If the decoder does not know the codec.
    pub(super) fn open(
        file: &Arc<File>,
        column: &ColumnChunkMetaData,
        rows: usize,
        optional: bool,
        most_values: u64,
    ) -> std::result::Result<Self, ParquetError> {
        let gzip = matches!(column.compression(), Compression::GZIP(_));
        // The older of two framings of LZ4 unpacks without a limit, and only readers of 2019 need it.
        let properties = ReaderProperties::builder()
            .set_backward_compatible_lz4(false)
            .build();
        let plain;
        let column = if gzip {
            let builder = column.clone().into_builder();
            plain = builder.set_compression(Compression::UNCOMPRESSED).build()?;
            &plain
        } else {
            column
        };
        let inner = SerializedPageReader::new_with_properties(
            Arc::clone(file),
            column,
            rows,
            None,
            Arc::new(properties),
        )?;
        Ok(Self {
            inner,
            gzip,
            optional,
            most_values,
        })
    }

    fn unpack(&self, page: Page) -> std::result::Result<Page, ParquetError> {
        if !self.gzip {
            return Ok(page);
        }
        Ok(match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            } => Page::DataPage {
                buf: inflate(&buf, 0)?.into(),
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                statistics,
            },
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                statistics,
            } => Page::DataPageV2 {
                buf: if is_compressed {
                    let levels = u64::from(def_levels_byte_len) + u64::from(rep_levels_byte_len);
                    inflate(&buf, usize::try_from(levels).unwrap_or(usize::MAX))?.into()
                } else {
                    buf
                },
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed: false,
                statistics,
            },
            Page::DictionaryPage {
                buf,
                num_values,
                encoding,
                is_sorted,
            } => {
                let buf = inflate(&buf, 0)?;
                if buf.len().saturating_mul(8) < num_values as usize {
                    return Err(refusal("a dictionary claims more values than it has bits"));
                }
                Page::DictionaryPage {
                    buf: buf.into(),
                    num_values,
                    encoding,
                    is_sorted,
                }
            }
        })
    }

    /// Refuses counts of values inside the page that are beyond its header's.
    fn check_counts(&self, page: &Page) -> std::result::Result<(), ParquetError> {
        let (buf, count, encoding, start) = match page {
            Page::DataPage {
                buf,
                num_values,
                encoding,
                def_level_encoding,
                ..
            } => {
                let start = if self.optional {
                    levels_end(buf, *num_values, *def_level_encoding)
                } else {
                    0
                };
                (buf, *num_values, *encoding, start)
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let start = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                (buf, *num_values, *encoding, start)
            }
            Page::DictionaryPage { .. } => return Ok(()),
        };
        let streams = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let mut data = buf.get(start..).unwrap_or_default();
        for _ in 0..streams {
            let Some((values, end)) = delta::walk(data) else {
                return Err(refusal("a page of differences ends early"));
            };
            if values > u64::from(count) || values > self.most_values {
                return Err(refusal(
                    "a page of differences claims more values than it may",
                ));
            }
            data = data.get(end..).unwrap_or_default();
        }
        Ok(())
    }
}

/// Where the nulls of a page of the first version end.
fn levels_end(buf: &[u8], values: u32, encoding: Encoding) -> usize {
    #[expect(deprecated, reason = "old files have it")]
    if encoding == Encoding::BIT_PACKED {
        return (values as usize).div_ceil(8);
    }
    match buf.first_chunk() {
        Some(length) => 4 + u32::from_le_bytes(*length) as usize,
        None => buf.len(),
    }
}

/// The first bytes as they are, and what the others unpack to.
fn inflate(buf: &[u8], levels: usize) -> std::result::Result<Vec<u8>, ParquetError> {
    let (levels, packed) = buf
        .split_at_checked(levels)
        .ok_or_else(|| refusal("a page is shorter than its levels"))?;
    let limit = most_unpacked(packed.len() as u64);
    let mut unpacked = levels.to_vec();
    if packed.is_empty() {
        return Ok(unpacked);
    }
    MultiGzDecoder::new(packed)
        .take(limit + 1)
        .read_to_end(&mut unpacked)?;
    if (unpacked.len() - levels.len()) as u64 > limit {
        return Err(refusal("a page unpacks to far more than any table does"));
    }
    Ok(unpacked)
}

fn refusal(problem: &str) -> ParquetError {
    ParquetError::General(problem.to_owned())
}

impl Iterator for Pages {
    type Item = std::result::Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> std::result::Result<Option<Page>, ParquetError> {
        let Some(page) = self.inner.get_next_page()? else {
            return Ok(None);
        };
        let page = self.unpack(page)?;
        self.check_counts(&page)?;
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> std::result::Result<Option<PageMetadata>, ParquetError> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> std::result::Result<(), ParquetError> {
        self.inner.skip_next_page()
    }
}
