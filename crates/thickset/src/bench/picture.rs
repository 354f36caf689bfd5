//! Pictures of a bench: images and maps of importances in rows, with a word below each.

use serde::{Deserialize, Serialize};

use crate::data::InputShape;
use crate::metric::ranking::TopK;

/// Rows of pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureTable {
    /// What it shows.
    pub title: String,
    /// What is to be read from it, in a sentence; also for those who cannot see it.
    pub caption: String,
    /// What the rows are of: `method`, `image`.
    pub corner: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<PictureRow>,
}

/// A row of pictures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PictureRow {
    /// What it is about.
    pub label: String,
    /// One a column.
    pub pictures: Vec<Picture>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Picture {
    /// What its levels are.
    pub kind: PictureKind,
    /// Planes: 1 for grey and for maps, 3 for red, green and blue.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Plane by plane, row by row.
    pub levels: Vec<u8>,
    /// What stands below it, such as `P@50 0.62`.
    pub note: String,
}

/// What the levels of a picture are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PictureKind {
    /// From black to white.
    Image,
    /// Shares of the largest importance, 0 where a pixel is not salient.
    Saliency,
}

impl Picture {
    /// An image whose values reach from `low` to `high`; none where a row of this shape is no image and no pair of images.
    #[must_use]
    pub fn image(
        values: &[f64],
        shape: &InputShape,
        (low, high): (f64, f64),
        note: String,
    ) -> Option<Self> {
        let reach = if high > low { high - low } else { 1.0 };
        let shares: Vec<f64> = values.iter().map(|value| (value - low) / reach).collect();
        Some(Planes::of(&shares, shape)?.picture(PictureKind::Image, note))
    }

    /// The salient pixels, in shares of the largest importance.
    #[must_use]
    pub fn saliency(
        importance: &[f64],
        top: &TopK,
        shape: &InputShape,
        note: String,
    ) -> Option<Self> {
        let most = importance.iter().copied().fold(0.0, f64::max);
        let share = |(pixel, value): (usize, &f64)| {
            if top.contains(pixel) && most > 0.0 {
                value / most
            } else {
                0.0
            }
        };
        let shares: Vec<f64> = importance.iter().enumerate().map(share).collect();
        Some(Planes::of(&shares, shape)?.picture(PictureKind::Saliency, note))
    }
}

/// Values in the places where they are seen.
struct Planes {
    channels: usize,
    height: usize,
    width: usize,
    values: Vec<f64>,
}

impl Planes {
    /// One plane where there is one value a pixel. The images of a pair stand side by side.
    fn of(values: &[f64], shape: &InputShape) -> Option<Self> {
        match shape {
            InputShape::Image {
                channels,
                height,
                width,
            } => {
                let pixels = height * width;
                let planes = [1, *channels].into_iter();
                let channels = planes
                    .into_iter()
                    .find(|planes| planes * pixels == values.len())?;
                Some(Self {
                    channels,
                    height: *height,
                    width: *width,
                    values: values.to_vec(),
                })
            }
            InputShape::Pair { of } => {
                let (left, right) = values.split_at_checked(values.len() / 2)?;
                Some(Self::of(left, of)?.beside(&Self::of(right, of)?))
            }
            InputShape::Table | InputShape::Graph { .. } => None,
        }
    }

    /// This and, to the right of it, another one of the same size.
    fn beside(&self, right: &Self) -> Self {
        let lines = self.values.chunks(self.width);
        let lines = lines.zip(right.values.chunks(right.width));
        Self {
            channels: self.channels,
            height: self.height,
            width: self.width + right.width,
            values: lines
                .flat_map(|(left, right)| [left, right].concat())
                .collect(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to a byte; what is not a number becomes 0"
    )]
    fn picture(self, kind: PictureKind, note: String) -> Picture {
        let level = |share: &f64| (share * 255.0).round().clamp(0.0, 255.0) as u8;
        Picture {
            kind,
            channels: self.channels,
            height: self.height,
            width: self.width,
            levels: self.values.iter().map(level).collect(),
            note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREY: InputShape = InputShape::Image {
        channels: 1,
        height: 2,
        width: 2,
    };

    #[test]
    fn the_images_of_a_pair_stand_side_by_side() {
        let pair = InputShape::Pair {
            of: Box::new(GREY.clone()),
        };
        let values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let picture = Picture::image(&values, &pair, (0.0, 255.0), String::new()).unwrap();
        assert_eq!((picture.height, picture.width), (2, 4));
        assert_eq!(picture.levels, [0, 1, 4, 5, 2, 3, 6, 7]);
    }

    #[test]
    fn a_map_shows_the_salient_pixels_alone_in_shares_of_the_largest() {
        let colour = InputShape::Image {
            channels: 3,
            height: 2,
            width: 2,
        };
        let importance = [1.0, 4.0, 2.0, 0.5];
        let top = TopK::of(&importance, 2).unwrap();
        let picture = Picture::saliency(&importance, &top, &colour, String::new()).unwrap();
        assert_eq!(
            (picture.channels, picture.levels),
            (1, vec![0, 255, 128, 0])
        );
    }

    #[test]
    fn tables_and_sizes_that_do_not_fit_have_no_picture() {
        let image = |values: &[f64], shape: &InputShape| {
            Picture::image(values, shape, (0.0, 1.0), String::new())
        };
        assert!(image(&[0.0; 4], &InputShape::Table).is_none());
        assert!(image(&[0.0; 3], &GREY).is_none());
        // Not a number is black, what is too bright is white.
        let odd = image(&[f64::NAN, 2.0, -1.0, 0.5], &GREY).unwrap();
        assert_eq!(odd.levels, [0, 255, 0, 128]);
    }
}
