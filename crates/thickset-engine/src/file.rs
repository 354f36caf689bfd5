//! Model files: safetensors, with one JSON text in the header's metadata that says what the
//! tensors are of. Plain `safetensors` readers open them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read as _, Write as _};
use std::path::Path;

use crate::tensor::{DType, Device, Tensor, TensorData};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, View};

use crate::network::Network;
use crate::parameter::{Init, Parameter, ParameterSource, Role};
use crate::{Error, Result, open_regular, write_whole};

/// The most that is read of a file: no model of this project comes near it.
pub const MAX_FILE_BYTES: u64 = 1 << 32;

/// The key of our text in the header's metadata.
const METADATA_KEY: &str = "thickset";

/// A model file's content: checked for form, not yet for fit with an architecture.
#[derive(Debug)]
pub struct StoredModel {
    description: String,
    dtype: DType,
    tensors: BTreeMap<String, StoredTensor>,
    taken: BTreeSet<String>,
}

#[derive(Debug)]
struct StoredTensor {
    shape: Vec<usize>,
    values: TensorData,
}

impl StoredModel {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// If it cannot be read, is too large, or is not a model file.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |source| Error::Io {
            action: "read",
            path: path.display().to_string(),
            source,
        };
        let file = open_regular(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length > MAX_FILE_BYTES {
            return Err(Error::TooLarge {
                bytes: length,
                most: MAX_FILE_BYTES,
            });
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        Self::parse(&bytes)
    }

    /// Checks the bytes of a file.
    ///
    /// # Errors
    /// If they are not a model file: not safetensors, not ours, mixed or foreign types, or numbers
    /// that are not finite.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let broken = |error: safetensors::SafeTensorError| Error::NotSafetensors {
            reason: error.to_string(),
        };
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(broken)?;
        let file = SafeTensors::deserialize(bytes).map_err(broken)?;
        let description = header
            .metadata()
            .as_ref()
            .and_then(|metadata| metadata.get(METADATA_KEY))
            .cloned()
            .ok_or_else(|| Error::NotSafetensors {
                reason: format!("the header's metadata has no `{METADATA_KEY}` entry"),
            })?;
        let mut model = Self {
            description,
            dtype: DType::F32,
            tensors: BTreeMap::new(),
            taken: BTreeSet::new(),
        };
        let mut first = None;
        for (name, view) in file.iter() {
            let dtype = match view.dtype() {
                Dtype::F32 => DType::F32,
                Dtype::F64 => DType::F64,
                other => return Err(wrong_type(name, other)),
            };
            if *first.get_or_insert(dtype) != dtype {
                return Err(wrong_type(name, view.dtype()));
            }
            model.dtype = dtype;
            let values = numbers(name, &view)?;
            let shape = view.shape().to_vec();
            model
                .tensors
                .insert(name.to_owned(), StoredTensor { shape, values });
        }
        Ok(model)
    }

    /// The JSON text that says what the tensors are of.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Takes a list of numbers that belongs to no parameter, if the file has it.
    pub fn take_numbers(&mut self, name: &str) -> Option<TensorData> {
        let stored = self.tensors.get(name)?;
        self.taken.insert(name.to_owned());
        Some(stored.values.clone())
    }

    /// Names of all tensors, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// To be called when a network has been built from the file.
    ///
    /// # Errors
    /// If a tensor was not asked for.
    pub fn finish(self) -> Result<()> {
        let extra: Vec<_> = self
            .tensors
            .keys()
            .filter(|name| !self.taken.contains(*name))
            .collect();
        match extra.first() {
            None => Ok(()),
            Some(name) => Err(Error::ExtraTensor {
                name: (*name).clone(),
                count: extra.len(),
            }),
        }
    }
}

fn wrong_type(name: &str, got: Dtype) -> Error {
    Error::TensorType {
        name: name.to_owned(),
        got: format!("{got:?}"),
    }
}

fn numbers(name: &str, view: &TensorView<'_>) -> Result<TensorData> {
    let bytes = view.data();
    let count = view.shape().iter().product::<usize>();
    let check = |values: &mut dyn Iterator<Item = f64>| match values
        .enumerate()
        .find(|(_, value)| !value.is_finite())
    {
        None => Ok(()),
        Some((position, value)) => Err(Error::NotFinite {
            name: name.to_owned(),
            position,
            value,
        }),
    };
    if view.dtype() == Dtype::F64 {
        let values: Vec<f64> = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect();
        check(&mut values.iter().copied())?;
        Ok(TensorData::new(values, [count]))
    } else {
        let values: Vec<f32> = bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        check(&mut values.iter().map(|&value| f64::from(value)))?;
        Ok(TensorData::new(values, [count]))
    }
}

impl ParameterSource for StoredModel {
    fn values(&mut self, name: &str, shape: &[usize], _: Init, role: Role) -> Result<Tensor<2>> {
        let stored = self.tensors.get(name).ok_or_else(|| Error::MissingTensor {
            name: name.to_owned(),
        })?;
        if stored.shape != shape {
            return Err(Error::TensorShape {
                name: name.to_owned(),
                expected: shape.to_vec(),
                got: stored.shape.clone(),
            });
        }
        if role == Role::Statistic && name.ends_with("var") {
            let mut values = stored.values.iter::<f64>().enumerate();
            if let Some((position, value)) = values.find(|(_, value)| *value < 0.0) {
                return Err(Error::NegativeVariance {
                    name: name.to_owned(),
                    position,
                    value,
                });
            }
        }
        self.taken.insert(name.to_owned());
        let flat = Tensor::<1>::from_data(stored.values.clone(), (&Device::cpu(), self.dtype));
        Ok(flat.reshape(Parameter::matrix_size(shape)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}

/// Numbers on their way into a file, with the shape that the file tells.
struct Stored<'a> {
    data: &'a TensorData,
    shape: Vec<usize>,
}

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        match self.data.dtype() {
            DType::F64 => Dtype::F64,
            _ => Dtype::F32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.data.to_le_bytes().into()
    }

    fn data_len(&self) -> usize {
        let size = match self.data.dtype() {
            DType::F64 => size_of::<f64>(),
            _ => size_of::<f32>(),
        };
        self.data.num_elements() * size
    }
}

fn view(data: &TensorData, shape: Vec<usize>) -> Stored<'_> {
    Stored { data, shape }
}

/// The same numbers in one dimension.
fn flattened(data: &TensorData) -> TensorData {
    let count = data.shape().num_elements();
    match data.dtype() {
        DType::F64 => TensorData::new(data.iter::<f64>().collect(), [count]),
        _ => TensorData::new(data.iter::<f32>().collect(), [count]),
    }
}

fn plain_data(parameter: &Parameter) -> TensorData {
    parameter.value.clone().without_autodiff().into_data()
}

impl Network {
    /// The bytes of a model file: all parameters, and `description` as our text in the header.
    #[must_use]
    pub fn to_file(&self, description: &str) -> Vec<u8> {
        self.to_file_with(description, &[])
    }

    /// The same with more lists of numbers, whose names no parameter has: the bytes of a checkpoint.
    ///
    /// # Panics
    /// If a name is used twice or a list holds other than `F32` or `F64`.
    #[must_use]
    pub fn to_file_with(&self, description: &str, more: &[(String, TensorData)]) -> Vec<u8> {
        let values = self.parameter_values();
        let parameters = self.parameters().into_iter().zip(&values);
        let own = parameters.map(|(parameter, data)| {
            let view = view(data, parameter.shape.clone());
            (parameter.name.as_str(), view)
        });
        let single = self.single_parameters();
        let single_values: Vec<TensorData> = single.iter().map(|one| plain_data(one)).collect();
        let single = single.into_iter().zip(&single_values);
        let single = single.map(|(parameter, data)| {
            let view = view(data, parameter.shape.clone());
            (parameter.name.as_str(), view)
        });
        let more = more.iter().map(|(name, data)| {
            let view = view(data, vec![data.shape().num_elements()]);
            (name.as_str(), view)
        });
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), description.to_owned())]);
        safetensors::serialize(own.chain(single).chain(more), Some(metadata))
            .expect("names are unique and sizes agree")
    }

    /// The values of all parameters, in file order.
    #[must_use]
    pub fn parameter_values(&self) -> Vec<TensorData> {
        self.parameters().into_iter().map(plain_data).collect()
    }

    /// Sets all parameters to values that [`Self::parameter_values`] gave; weights are no longer tracked, and a classifier of single
    /// inputs, which was of the embedding before, is dropped.
    ///
    /// # Errors
    /// If a list has another length than its parameter.
    pub fn set_parameter_values(&mut self, values: &[TensorData]) -> Result<()> {
        let (device, dtype) = (self.device(), self.dtype());
        self.single = None;
        for (parameter, values) in self.parameters_mut().into_iter().zip(values) {
            let got = values.shape().num_elements();
            if got != parameter.len() {
                return Err(Error::TensorShape {
                    name: parameter.name.clone(),
                    expected: parameter.shape.clone(),
                    got: vec![got],
                });
            }
            let size = Parameter::matrix_size(&parameter.shape);
            let flat = Tensor::<1>::from_data(flattened(values), (&device, dtype));
            parameter.value = flat.reshape(size);
        }
        Ok(())
    }

    /// Writes a model file: beside first, then renamed, so that no half-written one is ever seen.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path, description: &str) -> Result<()> {
        write_whole(path, |file| file.write_all(&self.to_file(description))).map_err(|source| {
            Error::Io {
                action: "write",
                path: path.display().to_string(),
                source,
            }
        })
    }
}
