//! One axis of what the features of a row are: `[before, size, after]` in row-major order.

use crate::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// An axis of `size` with everything before and after it; images are `[1, channels, pixels]` by channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    before: usize,
    size: usize,
    after: usize,
}

impl Axis {
    /// An axis of `size`, of which there are `before * after` in a row.
    ///
    /// # Errors
    /// If a size is zero or a row has too many numbers to be indexed.
    pub fn new(before: usize, size: usize, after: usize) -> Result<Self> {
        /// The most numbers of a row.
        const MOST: usize = i32::MAX as usize;
        for (name, got) in [("before", before), ("size", size), ("after", after)] {
            if got == 0 {
                return Err(Error::Size {
                    name,
                    most: MOST,
                    got,
                });
            }
        }
        let numbers = before.saturating_mul(size).saturating_mul(after);
        if numbers > MOST {
            return Err(Error::Size {
                name: "features",
                most: MOST,
                got: numbers,
            });
        }
        Ok(Self {
            before,
            size,
            after,
        })
    }

    /// The same, checked again: one that comes from a file may have any sizes.
    ///
    /// # Errors
    /// As [`Axis::new`].
    pub fn checked(self) -> Result<Self> {
        Self::new(self.before, self.size, self.after)
    }

    /// The axis that all `features` are.
    ///
    /// # Errors
    /// As [`Axis::new`].
    pub fn all(features: usize) -> Result<Self> {
        Self::new(1, features, 1)
    }

    /// How many blocks of the axis and what follows it a row has.
    #[must_use]
    pub fn before(self) -> usize {
        self.before
    }

    /// Its size.
    #[must_use]
    pub fn size(self) -> usize {
        self.size
    }

    /// How many numbers follow for each place of the axis.
    #[must_use]
    pub fn after(self) -> usize {
        self.after
    }

    /// Numbers of a row.
    pub(super) fn features(self) -> usize {
        self.before * self.size * self.after
    }

    /// Numbers of a row with one in place of the axis.
    pub(super) fn reduced(self) -> usize {
        self.before * self.after
    }

    /// `[rows * before, size, after]`
    pub(super) fn split(self, x: Tensor<2>) -> Tensor<3> {
        let [rows, _] = x.dims();
        x.reshape([rows * self.before, self.size, self.after])
    }

    /// Back to rows, of a tensor with the axis or with one in its place.
    pub(super) fn joined(self, x: Tensor<3>) -> Tensor<2> {
        let [blocks, size, after] = x.dims();
        let rows = blocks / self.before;
        x.reshape([rows, self.before * size * after])
    }

    /// `1 / size`
    #[expect(
        clippy::cast_precision_loss,
        reason = "an axis is far below 2^53 numbers"
    )]
    pub(super) fn share(self) -> f64 {
        1.0 / self.size as f64
    }
}
