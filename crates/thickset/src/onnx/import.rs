//! An ONNX file as a [`Model`], and what was understood of it.

use std::collections::BTreeMap;
use std::path::Path;

use thickset_engine::{MAX_FILE_BYTES, read_regular};

use super::about::{About, notes};
use super::classes::class_names;
use super::columns::ColumnScale;
use super::end::{are_probabilities, end};
use super::external::Beside;
use super::head::{self, Head};
use super::inputs::InputLayout;
use super::lower::{Lowering, Place};
use super::naming::{column_names, name_units, target};
use super::outputs::{choose_outputs, made_of};
use super::problem::{Result as OnnxResult, broken};
use super::read::Graph;
use crate::data::{Encoding, ReadRule};
use crate::model::{Description, ModelConfig, ModelSource};
use crate::{Error, Model, Result};

/// What a reader of an ONNX file may be told. Everything may be left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnnxOptions {
    /// The output that holds scores or probabilities; where absent, the one called like probabilities, else the first of numbers.
    pub output: Option<String>,
    /// Names of the columns, in order, for inputs that are whole matrices.
    pub columns: Vec<String>,
    /// Names of the classes, in order; the file's own where absent.
    pub classes: Vec<String>,
    /// The column of a table that holds the classes, so that audits can measure accuracy.
    pub target: Option<String>,
    /// The unit of each column of numbers that has one, by the column's name.
    pub units: BTreeMap<String, String>,
    /// How columns of numbers are scaled, by name; for graphs that hold no scaler (see [`super::scales`]).
    pub scales: BTreeMap<String, ColumnScale>,
}

/// A model and what was understood of its file.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The model.
    pub model: Model,
    /// What was understood.
    pub about: About,
    /// How rows of the graph's own inputs become rows of the model.
    pub(super) layout: InputLayout,
}

/// Whether a path is called like an ONNX file.
#[must_use]
pub fn is_onnx(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"))
}

/// Reads the model of a file; weights that lie beside it are read from its folder alone.
///
/// # Errors
/// [`Error::Onnx`] where the file is broken or holds what is not read, with what can be done.
pub fn open(path: &Path, options: &OnnxOptions) -> Result<Imported> {
    let bytes =
        read_regular(path, MAX_FILE_BYTES).map_err(|source| Error::io("read", path, source))?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let beside = Beside::Folder(folder.unwrap_or(Path::new(".")).to_owned());
    let mut imported = import(&bytes, &path.display().to_string(), beside, options)?;
    imported.model.source = ModelSource::File(path.to_owned());
    Ok(imported)
}

/// Reads a model from the bytes of a file, weights and all; `name` is what messages call it.
///
/// # Errors
/// As for [`open`], and if weights lie in another file.
pub fn parse(bytes: &[u8], name: &str, options: &OnnxOptions) -> Result<Imported> {
    import(bytes, name, Beside::Nothing, options)
}

fn import(bytes: &[u8], name: &str, beside: Beside, options: &OnnxOptions) -> Result<Imported> {
    let in_file = |source| Error::Onnx {
        file: name.to_owned(),
        source,
    };
    let graph = Graph::parse(bytes, beside).map_err(in_file)?;
    let built = match super::ours::description(&graph).map_err(in_file)? {
        Some(description) => ours(&graph, description).map_err(in_file)?,
        None => build(&graph, options).map_err(in_file)?,
    };
    let Built {
        description,
        weights,
        about,
        layout,
    } = built;
    description
        .check()
        .map_err(|problem| in_file(broken(problem)))?;
    let mut source = weights;
    let network = description.model.network(
        &description.input,
        description.features,
        description.classes.len(),
        &mut source,
    );
    let network = network.map_err(|error| match error {
        Error::Engine(error) => in_file(broken(error.to_string())),
        other => other,
    })?;
    let mut about = about;
    about.layers = network.forms().map_or(0, |forms| forms.len());
    Ok(Imported {
        model: Model::from_parts(description, network, ModelSource::Unknown),
        about,
        layout,
    })
}

/// A file that we wrote: the description says everything but the weights.
fn ours(graph: &Graph, description: Description) -> OnnxResult<Built> {
    let mut weights = super::lower::Weights::new();
    for (name, tensor) in graph
        .constants
        .iter()
        .filter(|(name, _)| name.starts_with("layers."))
    {
        let array = graph.array(tensor)?;
        let values = array.to_floats()?;
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(broken(format!(
                "`{name}` holds {value}; weights must be finite"
            )));
        }
        weights.insert(name.clone(), (array.dims, values));
    }
    let encoding = description.encoding.as_ref();
    let columns: Vec<String> = encoding
        .map(|encoding| {
            encoding
                .columns
                .iter()
                .map(|column| column.name().to_owned())
                .collect()
        })
        .unwrap_or_default();
    let about = About {
        producer: graph.producer.clone(),
        opset: graph.opset,
        output: "probabilities".to_owned(),
        other_outputs: vec!["label".to_owned()],
        head: Head::Softmax,
        unread: Vec::new(),
        columns: columns.clone(),
        wants_scale: false,
        notes: Vec::new(),
        layers: 0,
    };
    Ok(Built {
        layout: InputLayout::ours(graph, &description),
        description,
        weights: super::assemble::GraphWeights {
            weights,
            dtype: thickset_engine::DType::F32,
        },
        about,
    })
}

struct Built {
    description: Description,
    weights: super::assemble::GraphWeights,
    about: About,
    layout: InputLayout,
}

fn build(graph: &Graph, options: &OnnxOptions) -> OnnxResult<Built> {
    let outputs = choose_outputs(graph, options)?;
    let mut to = Lowering::new(graph)?;
    let names = column_names(&to, options)?;
    let made = made_of(&mut to, &outputs)?;
    let output = outputs.join(", ");
    let scales = &options.scales;
    let mut check = |to: &Lowering<'_>, place: Place, reach: f64| {
        are_probabilities(to.clone(), place, &names, reach)
    };
    let (logits, head) = head::logits(&mut to, &made, &mut check)?;
    let classes = logits.features();
    let ended = end(&mut to, logits.place, &names, scales)?;
    let class_names = class_names(graph, classes, &options.classes)?;
    let (encoding, read) = match &ended.front {
        Some(front) => {
            let mut columns = front.encodings(&names, scales);
            name_units(&mut columns, &options.units)?;
            let read: Vec<String> = columns
                .iter()
                .map(|column| column.name().to_owned())
                .collect();
            let target = target(options, &read, &class_names);
            let encoding = Encoding {
                read: ReadRule::default(),
                target,
                missing_column: crate::data::MissingColumn::Error,
                columns,
            };
            (Some(encoding), read)
        }
        None => (None, Vec::new()),
    };
    let others = graph.outputs.iter().map(|other| other.name.clone());
    let others: Vec<String> = others.filter(|other| !outputs.contains(other)).collect();
    let unread = names
        .iter()
        .filter(|name| encoding.is_some() && !read.contains(name));
    let wants_scale = ended
        .front
        .as_ref()
        .is_some_and(|front| front.wants_scale(&names, scales));
    let about = About {
        producer: graph.producer.clone(),
        opset: graph.opset,
        output,
        other_outputs: others,
        head,
        unread: unread.cloned().collect(),
        columns: read,
        wants_scale,
        notes: notes(&ended.assembled.graph),
        layers: ended.assembled.graph.layers.len(),
    };
    let written = match &outputs[..] {
        [output] => output.as_str(),
        _ => "probabilities",
    };
    let layout = InputLayout::new(graph, &to, &names, ended.white, (written, head));
    Ok(Built {
        description: Description {
            references: None,
            format: crate::model::FORMAT,
            model: ModelConfig::from(ended.assembled.graph),
            input: ended.input,
            features: ended.features,
            classes: class_names,
            encoding,
            schema: None,
            single_classes: None,
        },
        weights: ended.assembled.weights,
        about,
        layout,
    })
}
