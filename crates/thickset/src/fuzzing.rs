//! Readers of files that only this library writes, for the fuzz targets. Such files are sealed, with a signature or a hash, and a reader that
//! refuses what has no seal is hardly tried by changed copies; so here the seal is put on any content first.

use std::sync::LazyLock;

use crate::audit::read_signed_lines;
use crate::data::InputShape;
use crate::model::{LinearConfig, Model, ModelConfig};
use crate::train::read_sealed_checkpoint;
use crate::{Result, Seed};

/// The lines of an audit that was killed, without their signatures.
pub fn partial(bytes: &[u8]) {
    read_signed_lines(bytes);
}

/// The checkpoint of a training of a linear model of two numbers and two classes.
///
/// # Panics
/// Never: the network is a fixed one.
pub fn checkpoint(bytes: &[u8]) {
    static MODEL: LazyLock<Result<Model>> = LazyLock::new(|| {
        Model::fresh(
            ModelConfig::Linear(LinearConfig::default()),
            InputShape::Table,
            2,
            ["no", "yes"].map(str::to_owned).to_vec(),
            None,
            Seed::new(0),
        )
    });
    let model = MODEL.as_ref().expect("the network is a fixed one");
    read_sealed_checkpoint(bytes.to_vec(), &model.network);
}
