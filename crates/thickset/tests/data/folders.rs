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
    assert!(matches!(
        data::open(&path, &OpenOptions::default()),
        Err(Error::Malformed { line: Some(1), .. })
    ));
}
