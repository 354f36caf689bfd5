//! Readers: from the bytes of a file to a table of typed columns, or to images and graphs with labels.
//!
//! What a file claims about itself is checked before anything of that size is allocated.

pub(super) mod cifar;
pub(super) mod correlation_pack;
pub(super) mod csv;
pub(super) mod graph_folder;
pub(super) mod graph_table;
mod guess;
pub(super) mod idx;
pub(super) mod image_folder;
pub(super) mod image_index;
pub(super) mod inputs;
mod jpeg;
pub(super) mod nel;
pub(super) mod number_form;
pub(super) mod parquet;
pub(super) mod picture;
pub(super) mod read_rule;
mod resample;
pub(super) mod sniff;
pub(super) mod source;
pub(super) mod table;
pub(super) mod table_reader;
pub(super) mod text_encoding;
mod zip_entry;
