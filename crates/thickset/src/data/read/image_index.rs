//! Images that an index lists: a table with the columns `file`, `split` (train or test), `class` and `sha256`, and the images beside it.
//! Each image is checked against its hash.

use std::collections::BTreeMap;
use std::path::Path;

use super::graph_folder::inside;
use super::image_folder::{WHITE, is_grey};
use super::inputs::Inputs;
use super::picture;
use super::read_rule::{ReadRule, Wanted};
use super::table::ColumnType;
use super::{csv, source};
use crate::data::schema::{Schema, check_features};
use crate::{Error, Result};

/// The most numbers of all images together.
const MOST_NUMBERS: usize = 1 << 29;

/// Reads the images of these classes, scaled to `size` (height, width) if it is given, and which of them are the official test rows.
/// Images of other classes are left out.
///
/// # Errors
/// If the index lacks a column, an image is missing, is not what its hash says, or has another size than the first.
pub fn read(
    bytes: &[u8],
    index: &Path,
    classes: &[String],
    size: Option<(usize, usize)>,
) -> Result<(Inputs, Vec<bool>)> {
    let name = index.display().to_string();
    let columns = ["file", "split", "class", "sha256"];
    let types: BTreeMap<String, ColumnType> = columns
        .map(|column| (column.to_owned(), ColumnType::Text))
        .into();
    let wanted = Wanted {
        only: Some(types.keys().cloned().collect()),
        types,
        ..Wanted::default()
    };
    let rule = ReadRule {
        header: Some(true),
        ..ReadRule::default()
    };
    let table = csv::read_from(std::io::Cursor::new(bytes), &name, &rule, &wanted)?;
    let folder = index.parent().unwrap_or(Path::new("."));
    let mut inputs = Inputs {
        values: Vec::new(),
        labels: Vec::new(),
        schema: Schema::image(1, 0, 0, f64::from(WHITE)),
    };
    let (mut is_test, mut shape) = (Vec::new(), None);
    for row in 0..table.rows() {
        let text = |column: &str| -> Result<String> {
            let value = table.column(column)?.values.text(row);
            value.ok_or_else(|| Error::Malformed {
                path: name.clone(),
                line: None,
                problem: format!("row {}: expected a value of `{column}`", row + 1),
            })
        };
        let class = text("class")?;
        let Some(label) = classes.iter().position(|known| *known == class) else {
            continue;
        };
        let path = inside(folder, &text("file")?)?;
        let image = source::read_pinned(&path, Some(&text("sha256")?))?;
        let image = picture::decode(&image, &path.display().to_string(), size)?;
        let found = (image.height, image.width);
        let problem = |problem: String| Error::Malformed {
            path: path.display().to_string(),
            line: None,
            problem,
        };
        if shape.is_none() {
            check_features(&path.display().to_string(), &[found.0, found.1])?;
        }
        let expected = *shape.get_or_insert(found);
        if found != expected {
            return Err(problem(format!(
                "expected {} x {} pixels like the images before it, got {} x {}",
                expected.0, expected.1, found.0, found.1
            )));
        }
        if !is_grey(&image.bytes) {
            return Err(problem(
                "expected a grey image, got a coloured one".to_owned(),
            ));
        }
        let pixels = image.bytes.iter().step_by(3);
        inputs
            .values
            .extend(pixels.map(|&pixel| f32::from(pixel) / WHITE));
        if inputs.values.len() > MOST_NUMBERS {
            return Err(Error::TooLarge {
                path: name,
                what: format!("the content of the first {} images", row + 1),
                limit: format!("{MOST_NUMBERS} pixels"),
            });
        }
        inputs.labels.push(label);
        is_test.push(match text("split")?.as_str() {
            "train" => false,
            "test" => true,
            other => {
                return Err(problem(format!(
                    "expected the split `train` or `test` in the index, got `{other}`"
                )));
            }
        });
    }
    let Some((height, width)) = shape else {
        return Err(Error::NoRows { path: name });
    };
    inputs.schema = Schema::image(1, height, width, f64::from(WHITE));
    Ok((inputs, is_test))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::fs;

    use super::*;

    /// A folder of four grey images of 2 x 3 pixels, two classes, one test row; and its index.
    fn folder() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let mut index = "file,split,class,sha256,other\n".to_owned();
        for (number, (class, split)) in [
            ("A", "train"),
            ("B", "test"),
            ("A", "train"),
            ("C", "train"),
        ]
        .into_iter()
        .enumerate()
        {
            let grey = u8::try_from(number * 51).unwrap();
            let image = image::GrayImage::from_pixel(3, 2, image::Luma([grey]));
            let name = format!("{class}-{number}.png");
            image.save(folder.path().join(&name)).unwrap();
            let hash = source::hash(&fs::read(folder.path().join(&name)).unwrap());
            let _ = writeln!(index, "{name},{split},{class},{hash},x");
        }
        (folder, index)
    }

    #[test]
    fn listed_images_of_the_wanted_classes_are_read_with_their_split() {
        let (folder, index) = folder();
        let classes = ["B".to_owned(), "A".to_owned()];
        let at = folder.path().join("index.csv");
        let (inputs, is_test) = read(index.as_bytes(), &at, &classes, None).unwrap();
        assert_eq!(inputs.labels, [1, 0, 1]);
        assert_eq!(is_test, [false, true, false]);
        assert_eq!(inputs.schema.len(), 6);
        let expected: Vec<f32> = [0.0_f32, 0.2, 0.4]
            .iter()
            .flat_map(|&grey| [grey; 6])
            .collect();
        for (value, expected) in inputs.values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6, "{value}, {expected}");
        }
        let (small, _) = read(index.as_bytes(), &at, &classes, Some((1, 2))).unwrap();
        assert_eq!(small.schema.len(), 2);
    }

    #[test]
    fn another_image_than_the_index_says_is_refused() {
        let (folder, index) = folder();
        let at = folder.path().join("index.csv");
        let classes = ["A".to_owned(), "B".to_owned()];
        fs::copy(folder.path().join("A-2.png"), folder.path().join("A-0.png")).unwrap();
        assert!(read(index.as_bytes(), &at, &classes, None).is_err());
        let outside = index.replace("A-0.png", "../A-0.png");
        assert!(read(outside.as_bytes(), &at, &classes, None).is_err());
        let unsplit = index.replace("test", "tset");
        assert!(read(unsplit.as_bytes(), &at, &classes, None).is_err());
        assert!(read(index.as_bytes(), &at, &["Z".to_owned()], None).is_err());
    }
}
