//! CIFAR-10's binary batches: a label byte, then 32 x 32 bytes of red, of green and of blue. GTSRB's subset is laid out
//! the same way.

use super::inputs::Inputs;
use crate::data::schema::Schema;
use crate::{Error, Result};

const CHANNELS: usize = 3;
const SIDE: usize = 32;
const PIXELS: usize = CHANNELS * SIDE * SIDE;
const RECORD: usize = 1 + PIXELS;
const WHITE: f32 = 255.0;

/// Reads a batch; `path` is for messages.
///
/// # Errors
/// If it is empty or not a whole number of records.
pub fn read(bytes: &[u8], path: &str) -> Result<Inputs> {
    if bytes.is_empty() {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    }
    let count = bytes.len().div_ceil(RECORD);
    if count * RECORD != bytes.len() {
        let (expected, found) = ((count * RECORD) as u64, bytes.len() as u64);
        return Err(Error::Truncated {
            path: path.to_owned(),
            expected,
            found,
        });
    }
    let mut values = Vec::with_capacity(count * PIXELS);
    let mut labels = Vec::with_capacity(count);
    for record in bytes.chunks_exact(RECORD) {
        labels.push(usize::from(record[0]));
        values.extend(record[1..].iter().map(|&pixel| f32::from(pixel) / WHITE));
    }
    Ok(Inputs {
        values,
        labels,
        schema: Schema::image(CHANNELS, SIDE, SIDE, f64::from(WHITE)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    #[expect(
        clippy::float_cmp,
        reason = "the values are exact in binary, or must be equal to the bit"
    )]
    fn planes_keep_their_order() {
        let mut record = vec![9];
        for colour in [255, 0, 51] {
            record.extend([colour; SIDE * SIDE]);
        }
        let inputs = read(&record, "a").unwrap();
        assert_eq!(inputs.labels, [9]);
        assert_eq!(
            [inputs.values[0], inputs.values[1024], inputs.values[2048]],
            [1.0, 0.0, 0.2]
        );
        assert_eq!(inputs.schema.features[1024].name, "green[0,0]");
    }

    proptest! {
        #[test]
        fn only_whole_records_are_read(length in 0..2 * RECORD + 2) {
            let result = read(&vec![1; length], "a");
            prop_assert_eq!(result.is_ok(), length > 0 && length % RECORD == 0);
        }
    }
}
