//! Models of other frameworks: ONNX files in, and ours out.
//!
//! A file is read ([`proto`], [`limits`], [`read`], [`external`]), constants are computed ([`fold`]), operators become layers
//! ([`lower`]), what comes before columns meet becomes an encoding ([`columns`]), the last layers are recognised so that the
//! network ends in logits ([`head`]), and all of it becomes a [`Model`](crate::Model) like any other. What was understood is said in [`About`];
//! what was not is refused with the operator's name and what can be done.
//!
//! ```no_run
//! use thickset::onnx::{self, OnnxOptions};
//!
//! let imported = onnx::open("model.onnx".as_ref(), &OnnxOptions::default())?;
//! println!("{}", imported.about);
//! println!("{:?}", imported.model.classes());
//! # Ok::<(), thickset::Error>(())
//! ```

mod about;
mod agreement;
mod array;
mod assemble;
mod background;
mod by_key;
mod cell;
mod classes;
mod column_kind;
mod columns;
mod elementwise;
mod emit;
mod end;
mod export;
mod external;
mod fold;
mod head;
mod import;
mod inputs;
mod limits;
mod lower;
mod naming;
mod node;
mod ours;
mod outputs;
mod problem;
mod proto;
mod read;
mod room;
mod scale;

pub use about::About;
pub use agreement::{Agreement, DifferentRow, TOLERANCE};
pub use background::LEAST_ROWS;
pub use columns::ColumnScale;
pub use export::ExportOptions;
pub use head::Head;
pub use import::{Imported, OnnxOptions, is_onnx, open, parse};
pub use inputs::RawInput;
pub use problem::OnnxError;
pub use scale::{
    ScaleChoice, column_names, open_for_data, read_probabilities, scales, scales_of_columns,
};
