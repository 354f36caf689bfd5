//! IDX, the format of MNIST: big-endian sizes, then one byte a pixel or a label.

use super::inputs::Inputs;
use crate::data::schema::{Schema, check_features};
use crate::{Error, Result};

/// Magic numbers: unsigned bytes in three dimensions (images) and in one (labels).
const IMAGES: u32 = 0x0000_0803;
const LABELS: u32 = 0x0000_0801;

/// The most pixels of a file: ten times MNIST's training set of 60,000 images of 28 x 28.
const MOST_PIXELS: u64 = 480_000_000;

/// The greatest value of a pixel, which becomes 1.
const WHITE: f32 = 255.0;

/// Images as bytes.
#[derive(Debug)]
pub struct Images<'a> {
    count: usize,
    height: usize,
    width: usize,
    pixels: &'a [u8],
}

/// Reads a file of images; `path` is for messages.
///
/// # Errors
/// If it is not one, ends early, goes on too long, or claims more than we accept.
pub fn images<'a>(bytes: &'a [u8], path: &str) -> Result<Images<'a>> {
    let [count, height, width] = header(bytes, IMAGES, path)?;
    let size = u64::from(count)
        .saturating_mul(u64::from(height))
        .saturating_mul(u64::from(width));
    if size > MOST_PIXELS {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            what: format!("a claim of {count} images of {height} x {width}"),
            limit: format!("{MOST_PIXELS} pixels"),
        });
    }
    let pixels = body(bytes, 16, size, path)?;
    Ok(Images {
        count: count as usize,
        height: height as usize,
        width: width as usize,
        pixels,
    })
}

/// Reads a file of labels.
///
/// # Errors
/// As [`images`].
pub fn labels<'a>(bytes: &'a [u8], path: &str) -> Result<&'a [u8]> {
    let [count] = header(bytes, LABELS, path)?;
    body(bytes, 8, u64::from(count), path)
}

/// Images with their labels.
///
/// # Errors
/// If there are not as many labels as images, or no image.
pub fn join(images: &Images, labels: &[u8], path: &str) -> Result<Inputs> {
    if images.count != labels.len() {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: format!(
                "it has {} images, but its labels file has {} labels",
                images.count,
                labels.len()
            ),
        });
    }
    if images.pixels.is_empty() {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    }
    check_features(path, &[images.height, images.width])?;
    Ok(Inputs {
        values: images
            .pixels
            .iter()
            .map(|&pixel| f32::from(pixel) / WHITE)
            .collect(),
        labels: labels.iter().map(|&label| usize::from(label)).collect(),
        schema: Schema::image(1, images.height, images.width, f64::from(WHITE)),
    })
}

fn header<const N: usize>(bytes: &[u8], magic: u32, path: &str) -> Result<[u32; N]> {
    let word = |at: usize| {
        bytes
            .get(4 * at..4 * at + 4)
            .and_then(|word| word.try_into().ok())
            .map(u32::from_be_bytes)
            .ok_or_else(|| Error::Truncated {
                path: path.to_owned(),
                expected: 4 * (N as u64 + 1),
                found: bytes.len() as u64,
            })
    };
    let found = word(0)?;
    if found != magic {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: format!("expected the IDX magic number {magic:#010x}, got {found:#010x}"),
        });
    }
    let mut sizes = [0; N];
    for (at, size) in sizes.iter_mut().enumerate() {
        *size = word(at + 1)?;
    }
    Ok(sizes)
}

fn body<'a>(bytes: &'a [u8], start: usize, size: u64, path: &str) -> Result<&'a [u8]> {
    let rest = bytes.get(start..).unwrap_or_default();
    if (rest.len() as u64) < size {
        return Err(Error::Truncated {
            path: path.to_owned(),
            expected: start as u64 + size,
            found: bytes.len() as u64,
        });
    }
    if rest.len() as u64 > size {
        return Err(Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: format!(
                "{} bytes follow the last item that the header counts",
                rest.len() as u64 - size
            ),
        });
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(sizes: [u32; 3], pixels: &[u8]) -> Vec<u8> {
        let mut bytes = IMAGES.to_be_bytes().to_vec();
        bytes.extend(sizes.iter().flat_map(|size| size.to_be_bytes()));
        bytes.extend(pixels);
        bytes
    }

    #[test]
    fn a_file_of_two_images_reads_back() {
        let inputs = join(
            &images(&file([2, 1, 2], &[0, 51, 102, 255]), "a").unwrap(),
            &[7, 3],
            "a",
        )
        .unwrap();
        assert_eq!(inputs.values, [0.0, 0.2, 0.4, 1.0]);
        assert_eq!(inputs.labels, [7, 3]);
        assert_eq!(inputs.schema.len(), 2);
    }

    #[test]
    fn an_image_of_too_many_pixels_is_refused_before_they_are_described() {
        let bytes = file([1, 1, 1 << 21], &vec![0; 1 << 21]);
        let error = join(&images(&bytes, "a").unwrap(), &[7], "a").unwrap_err();
        assert!(matches!(error, Error::TooManyFeatures { .. }), "{error}");
    }

    #[test]
    fn a_truncated_file_says_how_many_bytes_are_missing() {
        let error = images(&file([2, 1, 2], &[0, 51, 102]), "a").unwrap_err();
        assert!(
            matches!(
                error,
                Error::Truncated {
                    expected: 20,
                    found: 19,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_header_that_claims_the_world_is_refused_before_anything_is_allocated() {
        let error = images(&file([1 << 31, 1 << 9, 1], &[]), "a").unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        let error = images(&file([u32::MAX; 3], &[]), "a").unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), magic: bool) {
            let mut bytes = bytes;
            if magic && bytes.len() >= 4 {
                bytes[..4].copy_from_slice(&IMAGES.to_be_bytes());
            }
            let _ = images(&bytes, "a");
            let _ = labels(&bytes, "a");
        }

        #[test]
        fn what_is_written_is_read(
            height in 1_u32..5, width in 1_u32..5, pixels in proptest::collection::vec(any::<u8>(), 64)
        ) {
            let size = (height * width) as usize;
            let count = 64 / size;
            let bytes = file([u32::try_from(count).unwrap(), height, width], &pixels[..count * size]);
            prop_assert_eq!(images(&bytes, "a").unwrap().pixels, &pixels[..count * size]);
        }
    }
}
