//! The pixels of a PNG or JPEG file. What a file says of its size is checked before anything of that size is allocated.

use std::io::Cursor;

use png::{BitDepth, ColorType, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::jpeg;
use super::resample::resampled;
use crate::{Error, Result};

/// The most pixels on a side of an image that is decoded.
const MOST_SIDE: usize = 8192;

/// The most memory that the pixels of one image may take.
const MOST_DECODED: usize = 256 << 20;

/// The most scans of a JPEG image. Each may go over all pixels in a few bytes; files that sharpen step by step have ten or so.
const MOST_SCANS: usize = 64;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = &[0xff, 0xd8, 0xff];

/// How much red, green and blue add to what the eye calls bright: the second row of the matrix from sRGB to XYZ.
const BRIGHTNESS: [f32; 3] = [0.212_647_84, 0.715_179_2, 0.072_173_04];

/// Why an image is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Its first bytes are those of another format.
    #[error("expected a PNG or JPEG image, got neither")]
    UnknownFormat,
    /// It has too many pixels on a side, or too many in all.
    #[error(
        "{width} x {height} pixels are more than the limit of {MOST_SIDE} on a side and {} MiB",
        MOST_DECODED >> 20
    )]
    TooLarge {
        /// Pixels in a row.
        width: usize,
        /// Rows of pixels.
        height: usize,
    },
    /// A PNG file that its decoder refuses.
    #[error(transparent)]
    Png(#[from] png::DecodingError),
    /// A JPEG file that its decoder refuses.
    #[error(transparent)]
    Jpeg(#[from] zune_jpeg::errors::DecodeErrors),
}

/// Pixels row by row, each of them red, green and blue.
pub(super) struct RgbPixels {
    pub height: usize,
    pub width: usize,
    pub bytes: Vec<u8>,
}

impl RgbPixels {
    /// How bright each pixel is; a grey one keeps its level.
    pub fn grey(&self) -> Vec<u8> {
        let level = |pixel: &[u8]| {
            let share = |byte: u8| f32::from(byte) * (1.0 / 255.0);
            let sum = (0..3).fold(0.0, |sum, one| sum + share(pixel[one]) * BRIGHTNESS[one]);
            nearest(sum * 255.0)
        };
        self.bytes.chunks_exact(3).map(level).collect()
    }
}

/// Decodes the bytes of an image's file, scaled to `size` (height, width) if it is given; `path` is for messages.
///
/// # Errors
/// If the bytes are not an image, or the image is too large.
pub(super) fn decode(bytes: &[u8], path: &str, size: Option<(usize, usize)>) -> Result<RgbPixels> {
    let scans = jpeg::scans(bytes);
    if scans > MOST_SCANS {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            what: format!("a JPEG image of {scans} scans"),
            limit: format!("{MOST_SCANS} scans"),
        });
    }
    let decoded = if bytes.starts_with(PNG) {
        decode_png(bytes)
    } else if bytes.starts_with(JPEG) {
        decode_jpeg(bytes)
    } else {
        Err(ImageError::UnknownFormat)
    };
    let decoded = decoded.map_err(|source| Error::Image {
        path: path.to_owned(),
        source,
    })?;
    let bounded = |(height, width): (usize, usize)| (height.min(MOST_SIDE), width.min(MOST_SIDE));
    let (height, width) = size.map_or((decoded.height, decoded.width), bounded);
    let bytes = if (height, width) == (decoded.height, decoded.width) {
        let pixels = 0..height * width;
        let rgb = pixels.flat_map(|pixel| [0, 1, 2].map(|channel| decoded.byte(pixel, channel)));
        rgb.collect()
    } else {
        let planes: Vec<Vec<u8>> = (0..decoded.colours())
            .map(|channel| decoded.scaled(channel, (height, width)))
            .collect();
        let plane = |channel: usize| &planes[channel.min(planes.len() - 1)];
        let pixels = 0..height * width;
        let rgb = pixels.flat_map(|pixel| [0, 1, 2].map(|channel| plane(channel)[pixel]));
        rgb.collect()
    };
    Ok(RgbPixels {
        height,
        width,
        bytes,
    })
}

/// Pixels as their file has them.
struct Decoded {
    height: usize,
    width: usize,
    /// 1 or 3 colours, and one more where there is transparency, which is not used.
    channels: usize,
    /// Whether a number is two bytes, the higher first, rather than one.
    is_wide: bool,
    bytes: Vec<u8>,
}

impl Decoded {
    fn colours(&self) -> usize {
        if self.channels < 3 { 1 } else { 3 }
    }

    fn number(&self, pixel: usize, channel: usize) -> u16 {
        let at = pixel * self.channels + channel.min(self.colours() - 1);
        if self.is_wide {
            u16::from_be_bytes([self.bytes[2 * at], self.bytes[2 * at + 1]])
        } else {
            u16::from(self.bytes[at])
        }
    }

    fn byte(&self, pixel: usize, channel: usize) -> u8 {
        self.narrowed(f32::from(self.number(pixel, channel)))
    }

    /// A byte of a number in the file's range: of two bytes the nearest share of white.
    fn narrowed(&self, number: f32) -> u8 {
        if self.is_wide {
            nearest(number.round() / 257.0)
        } else {
            nearest(number)
        }
    }

    fn scaled(&self, channel: usize, size: (usize, usize)) -> Vec<u8> {
        let number =
            |row: usize, column: usize| f32::from(self.number(row * self.width + column, channel));
        let scaled = resampled((self.height, self.width), size, number);
        scaled.into_iter().map(|one| self.narrowed(one)).collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded; the conversion keeps to a byte's range"
)]
fn nearest(number: f32) -> u8 {
    number.round() as u8
}

/// An image's bytes, or the refusal of its size.
fn room(width: usize, height: usize, pixel: usize) -> std::result::Result<Vec<u8>, ImageError> {
    let bytes = width
        .checked_mul(height)
        .and_then(|all| all.checked_mul(pixel));
    match bytes {
        Some(bytes) if width.max(height) <= MOST_SIDE && bytes <= MOST_DECODED => {
            Ok(vec![0; bytes])
        }
        _ => Err(ImageError::TooLarge { width, height }),
    }
}

fn decode_png(bytes: &[u8]) -> std::result::Result<Decoded, ImageError> {
    let limits = png::Limits {
        bytes: MOST_DECODED,
    };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    let header = decoder.read_header_info()?;
    let (width, height) = (header.width as usize, header.height as usize);
    room(width, height, 0)?;
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info()?;
    let (colour, depth) = reader.output_color_type();
    let is_wide = depth == BitDepth::Sixteen;
    let channels = match colour {
        ColorType::Grayscale | ColorType::Indexed => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
    };
    let mut bytes = room(width, height, channels * (1 + usize::from(is_wide)))?;
    reader.next_frame(&mut bytes)?;
    Ok(Decoded {
        height,
        width,
        channels,
        is_wide,
        bytes,
    })
}

fn decode_jpeg(bytes: &[u8]) -> std::result::Result<Decoded, ImageError> {
    // Files that end early are shown as far as they go.
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(usize::MAX)
        .set_max_height(usize::MAX);
    let mut header = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    header.decode_headers()?;
    let (width, height) = header.dimensions().unwrap_or_default();
    let (colours, channels) = match header.input_colorspace() {
        Some(ColorSpace::Luma) => (ColorSpace::Luma, 1),
        Some(ColorSpace::LumaA) => (ColorSpace::LumaA, 2),
        Some(ColorSpace::RGBA) => (ColorSpace::RGBA, 4),
        _ => (ColorSpace::RGB, 3),
    };
    let mut pixels = room(width, height, channels)?;
    let options = options.jpeg_set_out_colorspace(colours);
    JpegDecoder::new_with_options(ZCursor::new(bytes), options).decode_into(&mut pixels)?;
    Ok(Decoded {
        height,
        width,
        channels,
        is_wide: false,
        bytes: pixels,
    })
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, imageops::FilterType};

    use super::*;

    /// Noise, the same at each call.
    fn noise(pixels: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..pixels).map(|_| byte()).collect()
    }

    /// An image of noise in each form that a file may have, with the format that it is written in.
    fn images() -> Vec<(DynamicImage, ImageFormat)> {
        let rgba = image::RgbaImage::from_raw(23, 17, noise(23 * 17 * 4)).unwrap();
        let of = DynamicImage::ImageRgba8(rgba);
        let wide: Vec<u16> = noise(2 * 23 * 17 * 4)
            .chunks(2)
            .map(|two| u16::from_be_bytes([two[0], two[1]]))
            .collect();
        let wide = image::ImageBuffer::from_raw(23, 17, wide).unwrap();
        let wide = DynamicImage::ImageRgba16(wide);
        vec![
            (of.to_luma8().into(), ImageFormat::Jpeg),
            (of.to_rgb8().into(), ImageFormat::Jpeg),
            (of.to_luma8().into(), ImageFormat::Png),
            (of.to_luma_alpha8().into(), ImageFormat::Png),
            (of.to_rgb8().into(), ImageFormat::Png),
            (of.clone(), ImageFormat::Png),
            (wide.to_luma16().into(), ImageFormat::Png),
            (wide.to_luma_alpha16().into(), ImageFormat::Png),
            (wide.to_rgb16().into(), ImageFormat::Png),
            (wide, ImageFormat::Png),
        ]
    }

    #[test]
    fn pixels_are_those_that_another_reader_finds_scaled_or_not() {
        for (image, format) in images() {
            let mut bytes = Cursor::new(Vec::new());
            image.write_to(&mut bytes, format).unwrap();
            let bytes = bytes.into_inner();
            let other = image::load_from_memory(&bytes).unwrap();
            for size in [None, Some((17, 23)), Some((5, 40)), Some((31, 7))] {
                let ours = decode(&bytes, "a", size).unwrap();
                let (height, width) = size.unwrap_or((17, 23));
                let [wide, high] = [width, height].map(|side| u32::try_from(side).unwrap());
                let other = other.resize_exact(wide, high, FilterType::Triangle);
                assert_eq!((ours.height, ours.width), (height, width));
                let what = format!("{:?} as {format:?}, {size:?}", image.color());
                assert!(ours.bytes == other.to_rgb8().into_raw(), "{what}");
                let rgb = DynamicImage::ImageRgb8(other.to_rgb8());
                assert!(ours.grey() == rgb.to_luma8().into_raw(), "{what}");
            }
        }
    }

    /// A PNG header of this size, with nothing after it.
    fn header(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(ColorType::Rgba);
        drop(encoder.write_header().unwrap());
        bytes
    }

    #[test]
    fn an_image_that_says_it_is_large_is_refused_before_its_pixels_are_made() {
        for (width, height) in [(8193, 1), (1, 8193), (8192, 8193), (u32::MAX >> 1, 7)] {
            let refused = decode(&header(width, height), "a.png", None).err().unwrap();
            let Error::Image { source, .. } = refused else {
                panic!("{refused}");
            };
            let size = format!("{width} x {height} pixels are more than the limit of 8192");
            assert!(source.to_string().starts_with(&size), "{source}");
        }
        // 8192 x 8192 pixels of four bytes are as many as are taken, so only the missing data is refused.
        let refused = decode(&header(8192, 8192), "a.png", None).err().unwrap();
        let Error::Image { source, .. } = refused else {
            panic!("{refused}");
        };
        assert!(matches!(source, ImageError::Png(_)), "{source}");
    }

    #[test]
    fn a_jpeg_image_that_says_it_is_large_is_refused() {
        let mut bytes = Cursor::new(Vec::new());
        let image = image::GrayImage::new(8, 8);
        image.write_to(&mut bytes, ImageFormat::Jpeg).unwrap();
        let mut bytes = bytes.into_inner();
        let frame = bytes
            .windows(2)
            .position(|two| two == [0xff, 0xc0])
            .unwrap();
        // After the marker: two bytes of length, one of precision, then height and width.
        bytes[frame + 5..frame + 9].copy_from_slice(&[0x20, 0x01, 0, 8]);
        let refused = decode(&bytes, "a.jpg", None).err().unwrap();
        let Error::Image { source, .. } = refused else {
            panic!("{refused}");
        };
        let expected = ImageError::TooLarge {
            width: 8,
            height: 8193,
        };
        assert_eq!(source.to_string(), expected.to_string());
    }

    #[test]
    fn what_is_not_an_image_is_refused() {
        for bytes in [&b""[..], b"GIF89a", &PNG[..7], &JPEG[..2]] {
            let refused = decode(bytes, "a", None).err().unwrap();
            let Error::Image { source, .. } = refused else {
                panic!("{refused}");
            };
            assert!(matches!(source, ImageError::UnknownFormat), "{source}");
        }
    }
}
