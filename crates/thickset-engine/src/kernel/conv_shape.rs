//! The geometry of a convolution.

use super::ShapeError;

/// A square convolution of channel-major images, as `PyTorch` counts it. Make one by filling the fields and calling
/// [`ConvShape::checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvShape {
    pub in_channels: usize,
    pub in_height: usize,
    pub in_width: usize,
    pub out_channels: usize,
    /// Side of the square kernel.
    pub kernel: usize,
    pub stride: usize,
    /// Zeros added on each of the four sides.
    pub padding: usize,
}

impl ConvShape {
    /// Returns the shape if an image of it can be convolved: no size is zero, the padding is smaller than the kernel and the
    /// kernel fits into the padded image.
    ///
    /// # Errors
    /// Names the first size that does not fit.
    pub fn checked(self) -> Result<Self, ShapeError> {
        for (name, size) in [
            ("in_channels", self.in_channels),
            ("in_height", self.in_height),
            ("in_width", self.in_width),
            ("out_channels", self.out_channels),
            ("kernel", self.kernel),
            ("stride", self.stride),
        ] {
            if size == 0 {
                return Err(ShapeError::Zero { name });
            }
        }
        if self.padding >= self.kernel {
            return Err(ShapeError::Padding {
                padding: self.padding,
                kernel: self.kernel,
            });
        }
        for (name, size) in [("in_height", self.in_height), ("in_width", self.in_width)] {
            let padded = size + 2 * self.padding;
            if self.kernel > padded {
                return Err(ShapeError::Window {
                    window: self.kernel,
                    name,
                    size: padded,
                });
            }
        }
        Ok(self)
    }

    /// Rows of an output image.
    #[must_use]
    pub fn out_height(&self) -> usize {
        (self.in_height + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Columns of an output image.
    #[must_use]
    pub fn out_width(&self) -> usize {
        (self.in_width + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Numbers in an input row.
    #[must_use]
    pub fn in_features(&self) -> usize {
        self.in_channels * self.in_height * self.in_width
    }

    /// Numbers in an output row.
    #[must_use]
    pub fn out_features(&self) -> usize {
        self.out_channels * self.out_pixels()
    }

    /// Numbers in one output channel's weights: `in_channels * kernel * kernel`.
    #[must_use]
    pub fn fan_in(&self) -> usize {
        self.in_channels * self.kernel * self.kernel
    }

    /// Pixels of an output image.
    #[must_use]
    pub fn out_pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }
}
