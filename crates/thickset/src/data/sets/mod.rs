//! Datasets: the known ones with their recipes, where their files are, how rows are split, paired, described and exported.

pub(super) mod assemble;
mod by_encoding;
pub(super) mod describe;
pub(super) mod encoded_reader;
pub(super) mod export;
pub(super) mod from_columns;
mod from_rows;
pub(super) mod known;
mod large_table;
pub(super) mod load;
pub(super) mod load_known;
pub(super) mod locate;
pub(super) mod pairs;
pub(super) mod plain_table;
pub(super) mod recipe;
pub(super) mod split;
pub(super) mod table_files;
mod weights;
