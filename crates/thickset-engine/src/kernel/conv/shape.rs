//! The geometry of a convolution.

use crate::kernel::{ShapeError, bounded};

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
    /// Returns the shape if an image of it can be convolved: no size is zero, the padding is smaller than the kernel, the
    /// kernel fits into the padded image, and rows and weights are few enough to be indexed.
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
        bounded(
            "an input row",
            &[self.in_channels, self.in_height, self.in_width],
        )?;
        let (kernel, outputs) = (self.kernel, self.out_channels);
        bounded("weights", &[outputs, self.in_channels, kernel, kernel])?;
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
        bounded(
            "an output row",
            &[outputs, self.out_height(), self.out_width()],
        )?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PoolShape;

    #[test]
    fn sizes_whose_product_cannot_be_indexed_are_refused() {
        let sound = ConvShape {
            in_channels: 1,
            in_height: 44,
            in_width: 44,
            out_channels: 8,
            kernel: 3,
            stride: 1,
            padding: 1,
        };
        assert_eq!(sound.checked(), Ok(sound));
        for shape in [
            // 44 times this width is 16 in 64 bits.
            ConvShape {
                in_width: 13_415_813_871_788_764_812,
                ..sound
            },
            ConvShape {
                in_channels: usize::MAX,
                ..sound
            },
            ConvShape {
                out_channels: usize::MAX,
                ..sound
            },
            ConvShape {
                out_channels: 1 << 24,
                ..sound
            },
            ConvShape {
                kernel: usize::MAX,
                padding: usize::MAX - 1,
                ..sound
            },
        ] {
            let refused = shape.checked();
            assert!(
                matches!(refused, Err(ShapeError::TooLarge { .. })),
                "{refused:?}"
            );
        }
        let pool = PoolShape {
            channels: 1,
            height: 44,
            width: 13_415_813_871_788_764_812,
            window: 2,
            stride: 2,
        };
        assert!(matches!(pool.checked(), Err(ShapeError::TooLarge { .. })));
    }
}
