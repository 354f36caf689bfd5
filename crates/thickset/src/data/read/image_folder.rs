//! A folder of PNG and JPEG images, one subfolder a class, named like the class.

use std::fs;
use std::path::{Path, PathBuf};

use thickset_engine::read_regular;

use super::inputs::Inputs;
use super::picture::{self, RgbPixels};
use crate::data::schema::{Schema, check_features};
use crate::{Error, Result};

pub(super) const WHITE: f32 = 255.0;
const ENDINGS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The most bytes of an image's file.
const MOST_FILE: u64 = 256 << 20;

/// The most bytes of decoded images that are kept.
const MOST_KEPT: usize = 2 << 30;

/// Reads the folder, scaling images to `size` (height, width) if it is given; returns the inputs and the classes.
///
/// # Errors
/// If there is no image, an image is broken or of another size than the first, or all are too much.
pub fn read(folder: &Path, size: Option<(usize, usize)>) -> Result<(Inputs, Vec<String>)> {
    let name = folder.display().to_string();
    let classes: Vec<PathBuf> = sorted(folder)?
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    let mut shape = size;
    let mut pixels: Vec<u8> = Vec::new();
    let mut labels = Vec::new();
    for (label, class) in classes.iter().enumerate() {
        for path in sorted(class)?.into_iter().filter(|path| is_image(path)) {
            let image = decode(&path, size)?;
            let found = (image.height, image.width);
            if labels.is_empty() {
                check_features(&path.display().to_string(), &[3, found.0, found.1])?;
            }
            let expected = *shape.get_or_insert(found);
            if found != expected {
                return Err(Error::Malformed {
                    path: path.display().to_string(),
                    line: None,
                    problem: format!(
                        "expected {} x {} pixels like the images before it, got {} x {}",
                        expected.0, expected.1, found.0, found.1
                    ),
                });
            }
            pixels.extend(&image.bytes);
            labels.push(label);
            if pixels.len() > MOST_KEPT {
                return Err(Error::TooLarge {
                    path: name,
                    what: format!("the content of the first {} images", labels.len()),
                    limit: format!("{} MiB", MOST_KEPT >> 20),
                });
            }
        }
    }
    let Some((height, width)) = shape.filter(|_| !labels.is_empty()) else {
        return Err(Error::NoRows { path: name });
    };
    let channels = if is_grey(&pixels) { 1 } else { 3 };
    let mut values = Vec::with_capacity(labels.len() * channels * height * width);
    for image in pixels.chunks_exact(3 * height * width) {
        for channel in 0..channels {
            values.extend(
                image
                    .iter()
                    .skip(channel)
                    .step_by(3)
                    .map(|&pixel| f32::from(pixel) / WHITE),
            );
        }
    }
    let schema = Schema::image(channels, height, width, f64::from(WHITE));
    let names = classes.iter().map(|class| {
        class
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    });
    Ok((
        Inputs {
            values,
            labels,
            schema,
        },
        names.collect(),
    ))
}

/// Whether all three channels of each pixel are the same.
pub(super) fn is_grey(pixels: &[u8]) -> bool {
    pixels
        .chunks_exact(3)
        .all(|pixel| pixel[0] == pixel[1] && pixel[1] == pixel[2])
}

/// Whether a file's name ends like an image's.
#[must_use]
pub fn is_image_name(path: &Path) -> bool {
    is_image(path)
}

/// Reads one image, scaled to `size` (height, width), with 1 channel (grey) or 3; its values and what they are.
///
/// # Errors
/// If the image is broken or too large.
pub fn read_one(path: &Path, size: (usize, usize), channels: usize) -> Result<(Vec<f32>, Schema)> {
    let (height, width) = size;
    check_features(&path.display().to_string(), &[3, height, width])?;
    let image = decode(path, Some(size))?;
    let values = if channels == 1 {
        let grey = image.grey();
        grey.iter().map(|&pixel| f32::from(pixel) / WHITE).collect()
    } else {
        let channel = |channel: usize| image.bytes.iter().skip(channel).step_by(3);
        let values = (0..3).flat_map(channel);
        values.map(|&pixel| f32::from(pixel) / WHITE).collect()
    };
    Ok((
        values,
        Schema::image(channels, height, width, f64::from(WHITE)),
    ))
}

fn decode(path: &Path, size: Option<(usize, usize)>) -> Result<RgbPixels> {
    let name = path.display().to_string();
    let bytes = read_regular(path, MOST_FILE).map_err(|source| Error::io("read", &name, source))?;
    picture::decode(&bytes, &name, size)
}

/// The visible entries of a folder by name, so that no file system's order matters.
fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::io("read", folder, source);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_image(path: &Path) -> bool {
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_goes_over_its_pixels_too_often_is_refused_undecoded() {
        let folder = tempfile::tempdir().unwrap();
        let class = folder.path().join("cat");
        fs::create_dir(&class).unwrap();
        let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0];
        let file = [&[0xff, 0xd8][..], &scan.repeat(300), &[0xff, 0xd9]].concat();
        fs::write(class.join("a.jpg"), file).unwrap();
        let refused = read(folder.path(), None).unwrap_err().to_string();
        assert!(
            refused.contains("a JPEG image of 300 scans is more than the limit of 64 scans"),
            "{refused}"
        );
    }
}
