//! Reading cells of any content, for the fuzz targets.

use crate::measure::Measured;
use crate::store::read_sealed;
use crate::training_cell::TrainedCell;

/// A cell of either kind, as if its checksum were right.
pub fn cell(bytes: &[u8]) {
    read_sealed::<TrainedCell>(bytes);
    read_sealed::<Measured>(bytes);
}
