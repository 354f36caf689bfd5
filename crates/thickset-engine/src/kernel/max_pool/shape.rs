//! The windows of a pooling over images.

use std::ops::Range;

use super::pairs;
use crate::kernel::{ShapeError, bounded};

/// Windows over channel-major images. Pairs are rows first, then columns. Make one by filling the fields and calling
/// [`PoolShape::checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolShape {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Rows and columns of a window.
    pub window: [usize; 2],
    /// From one window to the next.
    pub stride: [usize; 2],
    /// How far windows reach beyond the image: before the first and after the last row, and the same for columns. What lies
    /// there is never a maximum.
    pub padding: [[usize; 2]; 2],
}

impl PoolShape {
    /// Square windows that neither overlap nor reach beyond the image, over images of `[channels, height, width]`.
    #[must_use]
    pub fn square([channels, height, width]: [usize; 3], window: usize) -> Self {
        Self {
            channels,
            height,
            width,
            window: [window; 2],
            stride: [window; 2],
            padding: [[0; 2]; 2],
        }
    }

    /// Returns the shape if an image of it can be pooled: no size is zero, each padding is smaller than the window, the
    /// window fits, and a row's numbers can be indexed.
    ///
    /// # Errors
    /// Names the first size that does not fit.
    pub fn checked(self) -> Result<Self, ShapeError> {
        for (name, size) in [
            ("channels", self.channels),
            ("height", self.height),
            ("width", self.width),
            ("window", self.window[0].min(self.window[1])),
            ("stride", self.stride[0].min(self.stride[1])),
        ] {
            if size == 0 {
                return Err(ShapeError::Zero { name });
            }
        }
        bounded("an input row", &[self.channels, self.height, self.width])?;
        for (axis, (name, size)) in [("height", self.height), ("width", self.width)]
            .into_iter()
            .enumerate()
        {
            let window = self.window[axis];
            bounded("a window", &[window])?;
            for padding in self.padding[axis] {
                if padding >= window {
                    return Err(ShapeError::Padding { padding, window });
                }
            }
            let size = size + self.padding[axis][0] + self.padding[axis][1];
            if window > size {
                return Err(ShapeError::Window { window, name, size });
            }
        }
        bounded(
            "an output row",
            &[self.channels, self.out_height(), self.out_width()],
        )?;
        Ok(self)
    }

    /// Rows and columns of an image with its padding.
    #[must_use]
    pub fn padded(&self) -> [usize; 2] {
        let [[top, bottom], [left, right]] = self.padding;
        [self.height + top + bottom, self.width + left + right]
    }

    /// Rows of an output image.
    #[must_use]
    pub fn out_height(&self) -> usize {
        (self.padded()[0] - self.window[0]) / self.stride[0] + 1
    }

    /// Columns of an output image.
    #[must_use]
    pub fn out_width(&self) -> usize {
        (self.padded()[1] - self.window[1]) / self.stride[1] + 1
    }

    /// Numbers in an input row.
    #[must_use]
    pub fn in_features(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether the windows are pairs of pixels in pairs of lines that cover the image, enough of them for [`pairs`].
    #[inline(always)]
    pub(super) fn has_pairs(&self) -> bool {
        self.window == [2; 2]
            && self.stride == [2; 2]
            && self.padding == [[0; 2]; 2]
            && self.height.is_multiple_of(2)
            && self.width.is_multiple_of(2)
            && self.width >= 2 * pairs::FEW
    }

    /// Whether a pixel may lie in several windows.
    pub(super) fn overlaps(&self) -> bool {
        (0..2).any(|axis| self.stride[axis] < self.window[axis])
    }

    /// Pixels of an input image.
    pub(crate) fn in_pixels(&self) -> usize {
        self.height * self.width
    }

    /// Pixels of an output image.
    pub(crate) fn out_pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Numbers in an output row.
    #[must_use]
    pub fn out_features(&self) -> usize {
        self.channels * self.out_height() * self.out_width()
    }

    /// The rows, or the columns, of the image that window number `at` covers.
    #[inline(always)]
    pub(crate) fn covered(&self, axis: usize, at: usize) -> Range<usize> {
        let size = if axis == 0 { self.height } else { self.width };
        let (start, before) = (at * self.stride[axis], self.padding[axis][0]);
        let end = (start + self.window[axis]).saturating_sub(before);
        start.saturating_sub(before)..end.min(size)
    }
}
