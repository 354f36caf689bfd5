//! The geometry of a convolution.

use crate::kernel::{ShapeError, bounded};

/// A convolution of channel-major images, as `PyTorch` counts it. Pairs are rows first, then columns.
///
/// Make one with [`ConvShape::square`] or by filling the fields, and call [`ConvShape::checked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvShape {
    pub in_channels: usize,
    pub in_height: usize,
    pub in_width: usize,
    pub out_channels: usize,
    /// Rows and columns of the kernel.
    pub kernel: [usize; 2],
    /// From one window to the next.
    pub stride: [usize; 2],
    /// Zeros before the first and after the last row, and the same for columns.
    pub padding: [[usize; 2]; 2],
    /// From one number of a window to the next.
    pub dilation: [usize; 2],
    /// Into how many groups the channels are cut; each group of outputs sees its group of inputs alone.
    pub groups: usize,
}

impl ConvShape {
    /// A square kernel with the same stride and padding on all sides, over images of `[channels, height, width]`.
    #[must_use]
    pub fn square(
        [in_channels, in_height, in_width]: [usize; 3],
        out_channels: usize,
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> Self {
        Self {
            in_channels,
            in_height,
            in_width,
            out_channels,
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding: [[padding; 2]; 2],
            dilation: [1; 2],
            groups: 1,
        }
    }

    /// Returns the shape if an image of it can be convolved: no size is zero, the groups cut the channels evenly, each
    /// padding is smaller than the window, the window fits into the padded image, and rows and weights are few enough to
    /// be indexed.
    ///
    /// # Errors
    /// Names the first size that does not fit.
    pub fn checked(self) -> Result<Self, ShapeError> {
        for (name, size) in [
            ("in_channels", self.in_channels),
            ("in_height", self.in_height),
            ("in_width", self.in_width),
            ("out_channels", self.out_channels),
            ("kernel", self.kernel[0].min(self.kernel[1])),
            ("stride", self.stride[0].min(self.stride[1])),
            ("dilation", self.dilation[0].min(self.dilation[1])),
            ("groups", self.groups),
        ] {
            if size == 0 {
                return Err(ShapeError::Zero { name });
            }
        }
        for (name, size) in [
            ("in_channels", self.in_channels),
            ("out_channels", self.out_channels),
        ] {
            if !size.is_multiple_of(self.groups) {
                return Err(ShapeError::Groups {
                    name,
                    size,
                    groups: self.groups,
                });
            }
        }
        bounded(
            "an input row",
            &[self.in_channels, self.in_height, self.in_width],
        )?;
        let ([rows, columns], outputs) = (self.kernel, self.out_channels);
        bounded(
            "weights",
            &[outputs, self.in_channels / self.groups, rows, columns],
        )?;
        for (axis, (name, size)) in [("in_height", self.in_height), ("in_width", self.in_width)]
            .into_iter()
            .enumerate()
        {
            bounded("a window", &[self.kernel[axis], self.dilation[axis]])?;
            let window = self.window()[axis];
            for padding in self.padding[axis] {
                if padding >= window {
                    return Err(ShapeError::Padding { padding, window });
                }
            }
            let padded = size + self.padding[axis][0] + self.padding[axis][1];
            if window > padded {
                return Err(ShapeError::Window {
                    window,
                    name,
                    size: padded,
                });
            }
        }
        bounded(
            "a padded row",
            &[self.in_channels, self.padded()[0], self.padded()[1]],
        )?;
        bounded(
            "an output row",
            &[outputs, self.out_height(), self.out_width()],
        )?;
        Ok(self)
    }

    /// Rows and columns that a kernel spans.
    #[must_use]
    pub fn window(&self) -> [usize; 2] {
        [0, 1].map(|axis| self.dilation[axis] * (self.kernel[axis] - 1) + 1)
    }

    /// Rows and columns of an image with its padding.
    #[must_use]
    pub fn padded(&self) -> [usize; 2] {
        let [[top, bottom], [left, right]] = self.padding;
        [self.in_height + top + bottom, self.in_width + left + right]
    }

    /// Rows of an output image.
    #[must_use]
    pub fn out_height(&self) -> usize {
        (self.padded()[0] - self.window()[0]) / self.stride[0] + 1
    }

    /// Columns of an output image.
    #[must_use]
    pub fn out_width(&self) -> usize {
        (self.padded()[1] - self.window()[1]) / self.stride[1] + 1
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

    /// Numbers of a kernel in one channel.
    #[must_use]
    pub fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Numbers in one output channel's weights.
    #[must_use]
    pub fn fan_in(&self) -> usize {
        self.in_channels / self.groups * self.taps()
    }

    /// Pixels of an output image.
    #[must_use]
    pub fn out_pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// The convolution of one group.
    pub(crate) fn of_group(&self) -> Self {
        Self {
            in_channels: self.in_channels / self.groups,
            out_channels: self.out_channels / self.groups,
            groups: 1,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::PoolShape;

    #[test]
    fn sizes_whose_product_cannot_be_indexed_are_refused() {
        let sound = ConvShape::square([1, 44, 44], 8, 3, 1, 1);
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
                dilation: [usize::MAX / 2; 2],
                ..sound
            },
            ConvShape {
                kernel: [usize::MAX; 2],
                padding: [[usize::MAX - 1; 2]; 2],
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
            window: [2; 2],
            stride: [2; 2],
            padding: [[0; 2]; 2],
        };
        assert!(matches!(pool.checked(), Err(ShapeError::TooLarge { .. })));
    }
}
