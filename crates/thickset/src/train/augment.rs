//! Training images that vary: mirrored, and shifted by some pixels.

use serde::{Deserialize, Serialize};

use crate::data::InputShape;
use crate::{Error, Result, Stream};

/// `augment = { flip = true, shift = 4 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AugmentConfig {
    /// Mirrors left and right of every other image, at random.
    pub flip: bool,
    /// Shifts each image by up to so many pixels in either direction; what comes in is zero.
    pub shift: usize,
}

impl AugmentConfig {
    /// Refuses rows that are no images, and shifts that leave nothing of them.
    ///
    /// # Errors
    /// [`Error::AugmentInput`] or [`Error::OutOfRange`].
    pub fn check(self, shape: &InputShape) -> Result<()> {
        let InputShape::Image { height, width, .. } = *shape else {
            return Err(Error::AugmentInput {
                got: shape.to_string(),
            });
        };
        if self.shift < height.min(width) {
            return Ok(());
        }
        Err(Error::OutOfRange {
            what: "`train.augment.shift`",
            expected: "less than the images' height and width",
            got: crate::check::as_f64(self.shift),
        })
    }

    /// Varies each image of a batch, row-major.
    pub(super) fn apply(self, shape: &InputShape, values: &mut [f32], stream: &mut Stream) {
        let InputShape::Image {
            channels,
            height,
            width,
        } = *shape
        else {
            return;
        };
        let span = 2 * self.shift + 1;
        let mut varied = vec![0.0; channels * height * width];
        for image in values.chunks_exact_mut(channels * height * width) {
            let is_flipped = self.flip && stream.below(2) == 1;
            let (down, right) = (stream.below(span), stream.below(span));
            varied.fill(0.0);
            let planes = image.chunks_exact(height * width);
            for (plane, varied) in planes.zip(varied.chunks_exact_mut(height * width)) {
                for y in 0..height {
                    // A shift of `shift` is none.
                    let Some(from) = (y + self.shift).checked_sub(down).filter(|y| *y < height)
                    else {
                        continue;
                    };
                    for x in 0..width {
                        let Some(column) = (x + self.shift).checked_sub(right) else {
                            continue;
                        };
                        if column < width {
                            let column = if is_flipped {
                                width - 1 - column
                            } else {
                                column
                            };
                            varied[y * width + x] = plane[from * width + column];
                        }
                    }
                }
            }
            image.copy_from_slice(&varied);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    const SHAPE: InputShape = InputShape::Image {
        channels: 2,
        height: 2,
        width: 3,
    };

    fn varied(config: AugmentConfig, seed: u64) -> Vec<f32> {
        let mut values: Vec<f32> = (1..=12_u8).map(f32::from).collect();
        config.apply(&SHAPE, &mut values, &mut Seed::new(seed).stream("augment"));
        values
    }

    #[test]
    fn without_flip_and_shift_an_image_stays() {
        let expected: Vec<f32> = (1..=12_u8).map(f32::from).collect();
        assert_eq!(varied(AugmentConfig::default(), 1), expected);
    }

    #[test]
    fn a_flip_mirrors_every_line_of_every_channel() {
        let config = AugmentConfig {
            flip: true,
            shift: 0,
        };
        let mirrored = [
            3.0, 2.0, 1.0, 6.0, 5.0, 4.0, 9.0, 8.0, 7.0, 12.0, 11.0, 10.0,
        ];
        let plain: Vec<f32> = (1..=12_u8).map(f32::from).collect();
        let mut seen = [false; 2];
        for seed in 0..20 {
            let got = varied(config, seed);
            assert!(got == mirrored || got == plain, "{got:?}");
            seen[usize::from(got == plain)] = true;
        }
        assert_eq!(seen, [true; 2], "both come");
    }

    #[test]
    fn a_shift_moves_both_channels_alike_and_brings_in_zeros() {
        let config = AugmentConfig {
            flip: false,
            shift: 1,
        };
        for seed in 0..20 {
            let got = varied(config, seed);
            let (first, second) = got.split_at(6);
            for (a, b) in first.iter().zip(second) {
                assert!(
                    *a == 0.0 && *b == 0.0 || (b - a - 6.0).abs() < 1e-6,
                    "{got:?}"
                );
            }
            // Whatever is left of the first line keeps its order.
            let left: Vec<f32> = first.iter().copied().filter(|value| *value > 0.0).collect();
            assert!(left.windows(2).all(|two| two[0] < two[1]), "{got:?}");
            assert!(left.len() >= 2, "{got:?}");
        }
    }

    #[test]
    fn rows_that_are_no_images_are_refused() {
        let config = AugmentConfig {
            flip: true,
            shift: 2,
        };
        assert_eq!(
            config.check(&InputShape::Table).unwrap_err().to_string(),
            "`train.augment` varies images, got a table"
        );
        assert!(
            config.check(&SHAPE).is_err(),
            "two lines cannot be shifted by two"
        );
    }
}
