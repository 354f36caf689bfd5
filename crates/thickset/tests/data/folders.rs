//! Folders of images and of graphs.

use std::fmt::Write as _;
use std::fs;

use thickset::Error;
use thickset::data::{self, InputShape, OpenOptions};

use crate::write;

#[test]
fn a_folder_of_images_has_a_class_a_subfolder() {
    let folder = tempfile::tempdir().unwrap();
    for (class, colour) in [("cat", [255_u8, 0, 51]), ("dog", [0, 255, 102])] {
        fs::create_dir(folder.path().join(class)).unwrap();
        for number in 0..6 {
            let image = image::RgbImage::from_pixel(4, 3, image::Rgb(colour));
            image
                .save(folder.path().join(class).join(format!("{number}.png")))
                .unwrap();
        }
    }
    let path = folder.path().display().to_string();
    let dataset = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(dataset.classes, ["cat", "dog"]);
    assert_eq!(
        dataset.shape(),
        &InputShape::Image {
            channels: 3,
            height: 3,
            width: 4
        }
    );
    let row = dataset.gather(&[0]);
    assert_eq!([row[0], row[12], row[24]], [1.0, 0.0, 0.2]);
    let scaled = data::open(
        &path,
        &OpenOptions {
            image_size: Some((2, 2)),
            ..OpenOptions::default()
        },
    )
    .unwrap();
    assert_eq!(scaled.features(), 12);
    image::RgbImage::new(5, 5)
        .save(folder.path().join("dog/odd.png"))
        .unwrap();
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Malformed { .. })
    ));
    fs::write(folder.path().join("dog/odd.png"), b"not an image").unwrap();
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Image { .. })
    ));
}

#[test]
fn a_folder_of_adjacency_matrices_is_a_dataset_of_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let mut labels = "file,label\n".to_owned();
    for number in 0..12 {
        let weight = f64::from(number) / 16.0;
        fs::write(
            folder.path().join(format!("g{number}.csv")),
            format!("0,{weight},1\n{weight},0,0\n1,0,0\n"),
        )
        .unwrap();
        writeln!(
            labels,
            "g{number}.csv,{}",
            ["sick", "well"][number as usize % 2]
        )
        .unwrap();
    }
    write(&folder, "labels.csv", labels);
    let path = folder.path().display().to_string();
    let dataset = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(dataset.shape(), &InputShape::Graph { nodes: 3 });
    assert_eq!(dataset.classes, ["sick", "well"]);
    assert_eq!(dataset.gather(&[4]), [0.25, 1.0, 0.0]);
    fs::write(folder.path().join("g3.csv"), "0,1,1\n0,0,0\n1,0,0\n").unwrap();
    for (matrix, part) in [
        ("0,1,1\n\n0,0,0\n1,0,0\n", "got 1 in row 1 and column 2"),
        ("0,1e39,1\n1e39,0,0\n1,0,0\n", "beyond single precision"),
        ("0,,1\n,0,0\n1,0,0\n", "row 1: `column_2` has no weight"),
        (
            "0,1,1\n\n1,0,x\n1,x,0\n",
            "line 3: column `column_3` holds numbers",
        ),
    ] {
        fs::write(folder.path().join("g3.csv"), matrix).unwrap();
        let refused = data::open(&path, &OpenOptions::default()).unwrap_err();
        assert!(refused.to_string().contains(part), "{refused}");
    }
}

#[test]
fn the_range_of_weights_comes_from_the_training_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let mut labels = "file,label\n".to_owned();
    for number in 0..40 {
        writeln!(labels, "g{number}.csv,{}", number % 2).unwrap();
    }
    write(&folder, "labels.csv", labels);
    let graph = |number: usize, weight: f64| {
        let matrix = format!("0,{weight}\n{weight},0\n");
        fs::write(folder.path().join(format!("g{number}.csv")), matrix).unwrap();
    };
    (0..40).for_each(|number| graph(number, 2.0));
    let path = folder.path().display().to_string();
    let honest = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(honest.schema.features[0].high, 2.0);
    for &row in &honest.split.test {
        graph(row, -9.0);
    }
    let spoiled = data::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(spoiled.schema, honest.schema);
}

#[test]
fn an_image_of_millions_of_pixels_is_refused_with_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("cat")).unwrap();
    image::GrayImage::new(2048, 512)
        .save(folder.path().join("cat/a.png"))
        .unwrap();
    let path = folder.path().display().to_string();
    let refused = data::open(&path, &OpenOptions::default()).unwrap_err();
    assert!(
        matches!(refused, Error::TooManyFeatures { .. }),
        "{refused}"
    );
}
