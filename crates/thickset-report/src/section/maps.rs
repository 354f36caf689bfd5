//! Maps of images: the input and its importances before and after an attack (R2ET Fig. 3), and how often each pixel moves.

use thickset::audit::Audit;
use thickset::audit::result::{FeatureCount, WorstRow};
use thickset::data::InputShape;

use crate::number::as_f64;
use crate::picture::{self, Salience, Size};
use crate::plot::scale;

/// A map.
pub struct Picture {
    /// What it shows.
    pub name: &'static str,
    /// For those who cannot see it.
    pub text: String,
    /// PNG data.
    pub uri: String,
}

/// The maps of one row; none for other data, or where a size does not fit.
pub fn of_row(audit: &Audit, row: &WorstRow, before: &[usize], after: &[usize]) -> Vec<Picture> {
    row_maps(audit, row, before, after).unwrap_or_default()
}

/// How often each pixel is salient, leaves and enters; none for other data.
pub fn of_all(audit: &Audit) -> Vec<Picture> {
    all_maps(audit).unwrap_or_default()
}

fn size(audit: &Audit) -> Option<Size> {
    let InputShape::Image {
        channels,
        height,
        width,
    } = audit.data.shape
    else {
        return None;
    };
    let is_pixels = !audit.settings.explain.explanation.is_of_units();
    let size = Size {
        channels,
        height,
        width,
    };
    (is_pixels && size.is_shown()).then_some(size)
}

fn row_maps(
    audit: &Audit,
    row: &WorstRow,
    before: &[usize],
    after: &[usize],
) -> Option<Vec<Picture>> {
    let size = size(audit)?;
    let values = || row.values.iter().chain(&row.attacked_values).copied();
    let (low, high) = scale::range(values())?;
    // Pixels are in 0..=1 as a rule; then images of one report have one scale.
    let levels = if low >= 0.0 && high <= 1.0 {
        (0.0, 1.0)
    } else {
        (low, high)
    };
    let (was, now) = (
        by_pixel(&row.importance, size)?,
        by_pixel(&row.attacked_importance, size)?,
    );
    let salience = salience(
        size,
        &top(before, audit.settings.k),
        &top(after, audit.settings.k),
    );
    let kept = salience
        .iter()
        .filter(|one| **one == Salience::Kept)
        .count();
    let picture = |name, text: &str, uri| Picture {
        name,
        text: format!("{text}, image {}", row.row),
        uri,
    };
    Some(vec![
        picture(
            "input",
            "The image as it is",
            picture::input(&row.values, size, levels)?,
        ),
        picture(
            "attacked",
            "The image at the worst point",
            picture::input(&row.attacked_values, size, levels)?,
        ),
        picture(
            "importance",
            "Importance of each pixel before",
            map(&was, size)?,
        ),
        picture("after", "Importance of each pixel after", map(&now, size)?),
        picture(
            "salient pixels",
            &format!(
                "{kept} salient pixels stay; those that leave are blue and those that enter orange"
            ),
            picture::salience(&salience, size)?,
        ),
    ])
}

fn all_maps(audit: &Audit) -> Option<Vec<Picture>> {
    let size = size(audit)?;
    let one = |name, text: &str, count: fn(&FeatureCount) -> usize| {
        let counts: Vec<f64> = audit
            .features
            .iter()
            .map(|feature| as_f64(count(feature)))
            .collect();
        Some(Picture {
            name,
            text: text.to_owned(),
            uri: map(&by_pixel(&counts, size)?, size)?,
        })
    };
    Some(vec![
        one("is salient", "How often each pixel is salient", |feature| {
            feature.in_top
        })?,
        one(
            "leaves",
            "How often each pixel leaves the salient ones",
            |feature| feature.left,
        )?,
        one(
            "enters",
            "How often each pixel enters the salient ones",
            |feature| feature.entered,
        )?,
    ])
}

/// A map from 0 to its own most.
fn map(values: &[f64], size: Size) -> Option<String> {
    let most = scale::range(values.iter().copied()).map_or(1.0, |(_, most)| most);
    picture::saliency(values, size, most)
}

fn top(order: &[usize], k: usize) -> Vec<usize> {
    order.iter().copied().take(k).collect()
}

/// What happened to each pixel. With an importance for each channel, a pixel is salient if one of its channels is.
fn salience(size: Size, before: &[usize], after: &[usize]) -> Vec<Salience> {
    let pixels = size.height * size.width;
    let has = |list: &[usize], pixel: usize| list.iter().any(|feature| feature % pixels == pixel);
    (0..pixels)
        .map(|pixel| match (has(before, pixel), has(after, pixel)) {
            (false, false) => Salience::None,
            (true, true) => Salience::Kept,
            (true, false) => Salience::Left,
            (false, true) => Salience::Entered,
        })
        .collect()
}

/// One value a pixel: sizes summed over channels, if there are several.
fn by_pixel(values: &[f64], size: Size) -> Option<Vec<f64>> {
    let pixels = size.height * size.width;
    if values.len() != pixels && values.len() != pixels * size.channels {
        return None;
    }
    let planes = values.len() / pixels;
    let of = |pixel: usize| {
        (0..planes)
            .map(|plane| values[plane * pixels + pixel].abs())
            .sum()
    };
    Some((0..pixels).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        channels: 3,
        height: 1,
        width: 2,
    };

    #[test]
    fn channels_are_summed_by_size() {
        assert_eq!(
            by_pixel(&[1.0, 2.0, -3.0, 4.0, 5.0, -6.0], SIZE),
            Some(vec![9.0, 12.0])
        );
        assert_eq!(by_pixel(&[1.0, 2.0], SIZE), Some(vec![1.0, 2.0]));
        assert_eq!(by_pixel(&[1.0; 4], SIZE), None);
    }

    #[test]
    fn a_pixel_is_salient_if_one_of_its_channels_is() {
        assert_eq!(salience(SIZE, &[2], &[4]), [Salience::Kept, Salience::None]);
        assert_eq!(
            salience(SIZE, &[2], &[5]),
            [Salience::Left, Salience::Entered]
        );
    }
}
