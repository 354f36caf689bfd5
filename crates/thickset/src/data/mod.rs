//! Data: from files to a matrix with labels, a split, and a schema that remembers what each number means.
//!
//! [`open`] takes the name of a known dataset or the path of a file or folder and gives a [`Dataset`]. Tables go through
//! a [`Recipe`], which is fitted to the training rows as an [`Encoding`]; images and graphs have fixed scales.

mod dataset;
mod encode;
pub(crate) mod exact;
mod read;
mod references;
pub(crate) mod row_store;
mod schema;
mod sets;

pub use dataset::Dataset;
pub use encode::encoding::{ColumnEncoding, Encoded, Encoding};
pub use encode::feature_rule::{
    CategoryRule, FeatureRule, FlagRule, Group, NumberRule, Scale, Unseen,
};
pub use encode::given::{Given, GivenValues};
pub use encode::infer::InferOptions;
pub use encode::number_encoding::NumberEncoding;
#[doc(hidden)]
pub use read::cifar::read as read_cifar;
#[doc(hidden)]
pub use read::correlation_pack::read as read_correlation_pack;
pub use read::csv::{read as read_csv, read_from as read_csv_from};
pub use read::image_folder::{is_image_name as is_image, read_one as read_image};
#[doc(hidden)]
pub use read::nel::{read as read_nel, read_zip as read_nel_zip};
pub use read::number_form::{AmountForm, DateOrder, NumberForm};
pub use read::parquet::read as read_parquet;
pub use read::picture::ImageError;
pub use read::read_rule::{ReadRule, Wanted};
pub use read::source::hash;
pub(crate) use read::source::hexadecimal;
pub use read::table::{Column, ColumnType, Table, Texts, Values};
pub use read::table_reader::FileBytes;
pub use read::text_encoding::TextEncoding;
pub use references::References;
pub use schema::{Feature, FeatureKind, InputShape, Schema};
pub use sets::describe::{ClassSummary, FeatureSummary, Summary, describe};
pub use sets::encoded_reader::{EncodedReader, EncodedRows};
pub use sets::export::export;
pub(crate) use sets::export::inert;
pub use sets::from_columns::ColumnsConfig;
pub(crate) use sets::from_columns::table as table_of;
pub use sets::known::{KNOWN, Known};
pub use sets::load::{OpenOptions, open, read_encoded, read_labelled, read_table};
pub use sets::locate::{VARIABLE as DATA_VARIABLE, find as find_file, folders};
pub use sets::plain_table::export_table;
pub use sets::recipe::{
    AttackDefaults, ClassRule, FileRule, Format, ImageRule, KeepRule, MissingColumn, Origin,
    PairRule, Recipe, Role, TargetRule,
};
pub use sets::split::{Part, Split};
pub use sets::table_files::find as find_table_files;
