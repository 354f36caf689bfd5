//! Arrays as `NumPy` stores them, as far as the cases need it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use thickset::onnx::RawInput;

#[derive(Clone, Debug)]
pub struct Stored {
    pub shape: Vec<usize>,
    pub values: RawInput,
}

impl Stored {
    pub fn numbers(&self) -> &[f64] {
        match &self.values {
            RawInput::Numbers(values) => values,
            RawInput::Texts(_) => panic!("texts where numbers are expected"),
        }
    }
}

pub fn read(path: &Path) -> BTreeMap<String, Stored> {
    let file = std::fs::File::open(path).unwrap();
    let mut archive = zip::ZipArchive::new(file).unwrap();
    let mut arrays = BTreeMap::new();
    for place in 0..archive.len() {
        let mut entry = archive.by_index(place).unwrap();
        let name = entry.name().unwrap().trim_end_matches(".npy").to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        arrays.insert(name, array(&bytes));
    }
    arrays
}

fn array(bytes: &[u8]) -> Stored {
    assert_eq!(&bytes[..6], b"\x93NUMPY");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    let after = |key: &str| header.split(key).nth(1).unwrap();
    let kind = after("'descr': '").split('\'').next().unwrap();
    let shape = after("'shape': (").split(')').next().unwrap();
    let shape: Vec<usize> = shape
        .split(',')
        .filter_map(|size| size.trim().parse().ok())
        .collect();
    let data = &bytes[10 + length..];
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let values = match kind {
        "<f4" => RawInput::Numbers(
            data.chunks(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()).into())
                .collect(),
        ),
        "<f8" => RawInput::Numbers(
            data.chunks(8)
                .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
                .collect(),
        ),
        "<i8" => RawInput::Numbers(
            data.chunks(8)
                .map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f64)
                .collect(),
        ),
        "<i4" => RawInput::Numbers(
            data.chunks(4)
                .map(|b| i32::from_le_bytes(b.try_into().unwrap()).into())
                .collect(),
        ),
        text if text.starts_with("<U") => {
            let width: usize = text[2..].parse().unwrap();
            let letters = |text: &[u8]| {
                let letters = text
                    .chunks(4)
                    .map(|b| u32::from_le_bytes(b.try_into().unwrap()));
                letters
                    .filter(|&letter| letter != 0)
                    .filter_map(char::from_u32)
                    .collect()
            };
            RawInput::Texts(data.chunks(4 * width).map(letters).collect())
        }
        other => panic!("arrays of {other}"),
    };
    if header.contains("'fortran_order': True") {
        let RawInput::Numbers(columns) = &values else {
            panic!("texts column by column")
        };
        let &[rows, width] = shape.as_slice() else {
            panic!("an array column by column of shape {shape:?}")
        };
        let by_row = (0..rows * width).map(|place| columns[place % width * rows + place / width]);
        let values = RawInput::Numbers(by_row.collect());
        return Stored { shape, values };
    }
    Stored { shape, values }
}
