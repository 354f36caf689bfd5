//! A constant of the graph: its sizes and its numbers or texts.

use std::borrow::Cow;

use super::problem::{OnnxError, Result, broken};
use super::proto::{TensorProto, element};

/// The most numbers of one constant, as many as a whole network may have.
const MOST_NUMBERS: usize = 1 << 28;

/// Stands for the number of rows wherever sizes are computed with. It is larger than any size, and exact as a float, so sums,
/// products and quotients of sizes come out as multiples of it where they depend on the rows.
pub(crate) const BATCH: i64 = 1 << 40;

/// The numbers or texts of an [`Array`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    /// Floating point, kept in double precision; single ones are rounded to single precision wherever they are made.
    Float {
        values: Vec<f64>,
        is_double: bool,
    },
    /// Whole numbers, and booleans as 0 and 1.
    Whole(Vec<i64>),
    Text(Vec<String>),
}

/// A constant, row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    pub(crate) data: Data,
}

impl Array {
    pub(crate) fn floats(dims: Vec<usize>, values: Vec<f64>) -> Self {
        Self {
            dims,
            data: Data::Float {
                values,
                is_double: false,
            },
        }
    }

    pub(crate) fn whole(dims: Vec<usize>, values: Vec<i64>) -> Self {
        Self {
            dims,
            data: Data::Whole(values),
        }
    }

    /// A list of whole numbers.
    pub(crate) fn list(values: Vec<i64>) -> Self {
        Self::whole(vec![values.len()], values)
    }

    pub(crate) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether it is of double precision.
    pub(crate) fn is_double(&self) -> bool {
        matches!(
            self.data,
            Data::Float {
                is_double: true,
                ..
            }
        )
    }

    /// Its numbers as floats; whole numbers are converted.
    #[expect(clippy::cast_precision_loss, reason = "indices and counts are small")]
    pub(crate) fn to_floats(&self) -> Result<Vec<f64>> {
        match &self.data {
            Data::Float { values, .. } => Ok(values.clone()),
            Data::Whole(values) => Ok(values.iter().map(|&value| value as f64).collect()),
            Data::Text(_) => Err(broken("expected numbers, got texts")),
        }
    }

    /// The same without a copy where they are floats already.
    pub(crate) fn as_floats(&self) -> Result<Cow<'_, [f64]>> {
        match &self.data {
            Data::Float { values, .. } => Ok(Cow::Borrowed(values)),
            _ => self.to_floats().map(Cow::Owned),
        }
    }

    /// Its whole numbers.
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole")]
    pub(crate) fn to_whole(&self) -> Result<Vec<i64>> {
        match &self.data {
            Data::Whole(values) => Ok(values.clone()),
            Data::Float { values, .. } => values
                .iter()
                .map(|value| {
                    if value.fract() == 0.0 && value.abs() < 9e15 {
                        Ok(*value as i64)
                    } else {
                        Err(broken(format!("expected whole numbers, got {value}")))
                    }
                })
                .collect(),
            Data::Text(_) => Err(broken("expected whole numbers, got texts")),
        }
    }

    /// Its only number.
    pub(crate) fn to_number(&self) -> Result<f64> {
        match self.to_floats()?[..] {
            [value] => Ok(value),
            ref values => Err(broken(format!("expected one number, got {}", values.len()))),
        }
    }

    /// The same numbers with other sizes.
    pub(crate) fn reshaped(self, dims: Vec<usize>) -> Result<Self> {
        if dims.iter().product::<usize>() != self.len() {
            return Err(broken(format!(
                "a constant of {:?} cannot have the sizes {dims:?}",
                self.dims
            )));
        }
        Ok(Self {
            dims,
            data: self.data,
        })
    }

    /// The entries with these numbers, with these sizes.
    pub(crate) fn picked(&self, dims: Vec<usize>, places: impl IntoIterator<Item = usize>) -> Self {
        let places = places.into_iter();
        let data = match &self.data {
            Data::Float { values, is_double } => Data::Float {
                values: places.map(|place| values[place]).collect(),
                is_double: *is_double,
            },
            Data::Whole(values) => Data::Whole(places.map(|place| values[place]).collect()),
            Data::Text(values) => Data::Text(places.map(|place| values[place].clone()).collect()),
        };
        Self { dims, data }
    }

    /// Reads a tensor of the file; `external` gives the bytes of one that lies beside it.
    pub(crate) fn read(
        tensor: &TensorProto,
        external: &mut dyn FnMut(&TensorProto, usize) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        let name = tensor.name.as_deref().unwrap_or("without a name");
        let dims = sizes(name, &tensor.dims)?;
        let count = dims.iter().product::<usize>();
        let kind = tensor.data_type.unwrap_or(0);
        let width = match kind {
            element::FLOAT | element::INT32 | element::UINT32 => 4,
            element::DOUBLE | element::INT64 | element::UINT64 => 8,
            element::INT16 | element::UINT16 => 2,
            element::INT8 | element::UINT8 | element::BOOL => 1,
            element::STRING => 0,
            _ => {
                return Err(OnnxError::Refused {
                    problem: format!("tensor `{name}` is of {}", element::name(kind)),
                    instead: "export the model in single precision (float32)".to_owned(),
                });
            }
        };
        let wrong = |got: usize| {
            broken(format!(
                "tensor `{name}` of sizes {dims:?} must hold {count} values, got {got}"
            ))
        };
        let raw = if tensor.data_location == Some(1) {
            Some(external(tensor, count.saturating_mul(width))?)
        } else {
            tensor.raw_data.clone()
        };
        if let Some(bytes) = raw.filter(|_| kind != element::STRING) {
            if bytes.len() != count * width {
                return Err(wrong(bytes.len() / width));
            }
            return Ok(Self {
                dims,
                data: from_bytes(kind, &bytes),
            });
        }
        let data = match kind {
            element::FLOAT => Data::Float {
                values: tensor.float_data.iter().copied().map(f64::from).collect(),
                is_double: false,
            },
            element::DOUBLE => Data::Float {
                values: tensor.double_data.clone(),
                is_double: true,
            },
            element::INT64 => Data::Whole(tensor.int64_data.clone()),
            element::STRING => Data::Text(
                tensor
                    .string_data
                    .iter()
                    .map(|text| readable(text))
                    .collect(),
            ),
            _ => Data::Whole(tensor.int32_data.iter().copied().map(i64::from).collect()),
        };
        let got = match &data {
            Data::Float { values, .. } => values.len(),
            Data::Whole(values) => values.len(),
            Data::Text(values) => values.len(),
        };
        if got == count {
            Ok(Self { dims, data })
        } else {
            Err(wrong(got))
        }
    }
}

/// Text of the file; what is no UTF-8 is replaced, as it can only be shown.
pub(crate) fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Rounds to single precision.
#[expect(clippy::cast_possible_truncation, reason = "that is the point")]
pub(crate) fn single(value: f64) -> f64 {
    f64::from(value as f32)
}

/// Sizes that are no larger than anything that can be held.
fn sizes(name: &str, dims: &[i64]) -> Result<Vec<usize>> {
    let mut count = 1_usize;
    let mut sizes = Vec::with_capacity(dims.len());
    for &size in dims {
        let size = usize::try_from(size)
            .map_err(|_| broken(format!("tensor `{name}` has a size of {size}")))?;
        // A size of 0 must not hide others whose product is none that can be counted.
        count = count.saturating_mul(size.max(1));
        sizes.push(size);
    }
    if count > MOST_NUMBERS || dims.len() > 32 {
        return Err(broken(format!(
            "tensor `{name}` claims the sizes {dims:?}, more than {MOST_NUMBERS} numbers"
        )));
    }
    Ok(sizes)
}

#[expect(clippy::cast_possible_wrap, reason = "no model counts that far")]
fn from_bytes(kind: i32, bytes: &[u8]) -> Data {
    let four = || bytes.as_chunks::<4>().0.iter();
    let eight = || bytes.as_chunks::<8>().0.iter();
    let two = || bytes.as_chunks::<2>().0.iter();
    match kind {
        element::FLOAT => Data::Float {
            values: four()
                .map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
                .collect(),
            is_double: false,
        },
        element::DOUBLE => Data::Float {
            values: eight().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
            is_double: true,
        },
        element::INT32 => Data::Whole(
            four()
                .map(|bytes| i32::from_le_bytes(*bytes).into())
                .collect(),
        ),
        element::UINT32 => Data::Whole(
            four()
                .map(|bytes| u32::from_le_bytes(*bytes).into())
                .collect(),
        ),
        element::INT16 => Data::Whole(
            two()
                .map(|bytes| i16::from_le_bytes(*bytes).into())
                .collect(),
        ),
        element::UINT16 => Data::Whole(
            two()
                .map(|bytes| u16::from_le_bytes(*bytes).into())
                .collect(),
        ),
        element::INT8 => Data::Whole(bytes.iter().map(|&byte| i64::from(byte as i8)).collect()),
        element::INT64 | element::UINT64 => {
            Data::Whole(eight().map(|bytes| i64::from_le_bytes(*bytes)).collect())
        }
        _ => Data::Whole(bytes.iter().map(|&byte| i64::from(byte)).collect()),
    }
}
