//! Images and maps of importances as PNG data inside the page, one pixel a pixel; the browser enlarges them without blurring.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Pixels on a side above which an image is not drawn: the page would outgrow its purpose.
const LARGEST: usize = 256;

/// The height and width of an image and its channels, where a page can show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// 1 or 3.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
}

impl Size {
    /// Whether an image of this size can be shown.
    pub fn is_shown(self) -> bool {
        let is_fit = |side: usize| (1..=LARGEST).contains(&side);
        matches!(self.channels, 1 | 3) && is_fit(self.height) && is_fit(self.width)
    }

    fn pixels(self) -> usize {
        self.height * self.width
    }
}

/// What happened to a pixel among the salient ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Salience {
    /// It is not salient.
    None,
    /// It is salient before and after.
    Kept,
    /// It was.
    Left,
    /// It is newly.
    Entered,
}

/// The colours of [`Salience`], which hold beside one another for colour-blind readers too.
const NONE: [u8; 3] = [238, 240, 243];
const KEPT: [u8; 3] = [125, 133, 144];
const LEFT: [u8; 3] = [31, 95, 168];
const ENTERED: [u8; 3] = [224, 123, 26];

/// From nothing to the most: dark blue, the accent, pale; each step lighter, so it reads in grey too.
const RAMP: [[f64; 3]; 4] = [
    [16.0, 22.0, 38.0],
    [31.0, 95.0, 168.0],
    [122.0, 190.0, 214.0],
    [255.0, 250.0, 214.0],
];

/// The image itself, its values scaled from `low..=high` to black and white.
pub fn input(values: &[f64], size: Size, (low, high): (f64, f64)) -> Option<String> {
    let pixels = size.pixels();
    if values.len() != pixels * size.channels || !size.is_shown() {
        return None;
    }
    let reach = if high > low { high - low } else { 1.0 };
    let level = |pixel: usize, channel: usize| {
        let plane = if size.channels == 1 { 0 } else { channel };
        byte((values[plane * pixels + pixel] - low) / reach)
    };
    encode(size, |pixel| {
        [level(pixel, 0), level(pixel, 1), level(pixel, 2)]
    })
}

/// A map of one importance a pixel, 0 dark and `most` bright.
pub fn saliency(importance: &[f64], size: Size, most: f64) -> Option<String> {
    if !size.is_shown() || importance.len() != size.pixels() {
        return None;
    }
    let most = if most > 0.0 { most } else { 1.0 };
    encode(size, |pixel| ramp(importance[pixel] / most))
}

/// A map of what happened to each pixel.
pub fn salience(pixels: &[Salience], size: Size) -> Option<String> {
    if !size.is_shown() || pixels.len() != size.pixels() {
        return None;
    }
    encode(size, |pixel| match pixels[pixel] {
        Salience::None => NONE,
        Salience::Kept => KEPT,
        Salience::Left => LEFT,
        Salience::Entered => ENTERED,
    })
}

fn ramp(share: f64) -> [u8; 3] {
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    let place = share * 3.0;
    let (lower, upper, along) = match place {
        ..1.0 => (RAMP[0], RAMP[1], place),
        ..2.0 => (RAMP[1], RAMP[2], place - 1.0),
        _ => (RAMP[2], RAMP[3], place - 2.0),
    };
    [0, 1, 2]
        .map(|channel| byte((lower[channel] + along * (upper[channel] - lower[channel])) / 255.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to a byte; what is not a number becomes 0"
)]
fn byte(share: f64) -> u8 {
    (share * 255.0).round().clamp(0.0, 255.0) as u8
}

fn encode(size: Size, colour: impl Fn(usize) -> [u8; 3]) -> Option<String> {
    let bytes: Vec<u8> = (0..size.pixels()).flat_map(colour).collect();
    let (width, height) = (
        u32::try_from(size.width).ok()?,
        u32::try_from(size.height).ok()?,
    );
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_filter(png::Filter::Adaptive);
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&bytes).ok()?;
    writer.finish().ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(png)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        channels: 1,
        height: 1,
        width: 3,
    };

    fn decoded(uri: &str) -> Vec<u8> {
        let png = STANDARD
            .decode(uri.strip_prefix("data:image/png;base64,").unwrap())
            .unwrap();
        image::load_from_memory(&png).unwrap().to_rgb8().into_raw()
    }

    #[test]
    fn values_become_grey_levels() {
        let uri = input(&[0.0, 0.5, 2.0], SIZE, (0.0, 1.0)).unwrap();
        assert_eq!(decoded(&uri), [0, 0, 0, 128, 128, 128, 255, 255, 255]);
    }

    #[test]
    fn channels_are_planes() {
        let size = Size {
            channels: 3,
            ..SIZE
        };
        let uri = input(
            &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            size,
            (0.0, 1.0),
        )
        .unwrap();
        assert_eq!(decoded(&uri), [255, 0, 0, 0, 255, 0, 0, 0, 255]);
    }

    #[test]
    fn more_importance_is_lighter() {
        let light = |share: f64| ramp(share).iter().map(|one| u32::from(*one)).sum::<u32>();
        assert!(
            (0..10_u32)
                .all(|step| light(f64::from(step) / 10.0) < light(f64::from(step + 1) / 10.0))
        );
    }

    #[test]
    fn what_cannot_be_shown_is_left_out() {
        assert!(input(&[0.0], SIZE, (0.0, 1.0)).is_none());
        assert!(saliency(&[0.0; 4], SIZE, 1.0).is_none());
        assert!(saliency(&[f64::NAN, f64::INFINITY, 0.0], SIZE, f64::NAN).is_some());
        let empty = Size { width: 0, ..SIZE };
        assert!(salience(&[], empty).is_none());
    }
}
