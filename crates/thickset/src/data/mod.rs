//! Data: from files to a matrix with labels, a split, and a schema that remembers what each number means.
//!
//! [`open`] takes the name of a known dataset or the path of a file or folder and gives a [`Dataset`]. Tables go through
//! a [`Recipe`], which is fitted to the training rows as an [`Encoding`]; images and graphs have fixed scales.

mod assemble;
mod cells;
mod cifar;
mod correlation_pack;
mod csv;
mod dataset;
mod describe;
mod encoding;
pub(crate) mod exact;
mod export;
mod feature_rule;
mod graph_folder;
mod idx;
mod image_folder;
mod infer;
mod known;
mod load;
mod load_known;
mod locate;
mod nel;
mod number_encoding;
mod pairs;
mod parquet;
mod read_rule;
mod recipe;
mod schema;
mod sniff;
mod source;
mod split;
mod table;

pub use csv::{read as read_csv, read_from as read_csv_from};
pub use dataset::Dataset;
pub use describe::{ClassSummary, FeatureSummary, Summary, describe};
pub use encoding::{ColumnEncoding, Encoded, Encoding};
pub use export::export;
pub use feature_rule::{CategoryRule, FeatureRule, FlagRule, Group, NumberRule, Scale, Unseen};
pub use infer::InferOptions;
pub use known::{KNOWN, Known};
pub use load::{OpenOptions, open, read_encoded, read_labelled};
pub use locate::{VARIABLE as DATA_VARIABLE, find as find_file, folders};
pub use number_encoding::NumberEncoding;
pub use parquet::read as read_parquet;
pub use read_rule::{ReadRule, Wanted};
pub use recipe::{
    AttackDefaults, ClassRule, FileRule, Format, ImageRule, KeepRule, MissingColumn, Origin,
    PairRule, Recipe, Role, TargetRule,
};
pub use schema::{Feature, FeatureKind, InputShape, Schema};
pub use source::hash;
pub(crate) use source::hexadecimal;
pub use split::{Part, Split};
pub use table::{Column, ColumnType, Table, Texts, Values};
