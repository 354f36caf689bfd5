//! From the bytes of a file to a graph whose names are known, whose nodes stand in order, and whose constants fill their sizes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use prost::Message as _;

use super::array::Array;
use super::external::Beside;
use super::limits;
pub(super) use super::node::Node;
use super::ours::graph_hash;
use super::problem::{OnnxError, Result, broken};
use super::proto::{GraphProto, ModelProto, TensorProto, ValueInfoProto};

/// The oldest and the newest operator set that is read.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=25;

/// A checked graph.
pub(super) struct Graph {
    pub(super) producer: String,
    /// Of the standard operators.
    pub(super) opset: i64,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    /// In an order in which each reads only what was made before.
    pub(super) nodes: Vec<Node>,
    pub(super) constants: HashMap<String, TensorProto>,
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) beside: Beside,
    /// Of nodes and constants; see [`super::ours`].
    pub(super) hash: String,
    /// About how many numbers the file and those beside it hold.
    pub(super) held: usize,
    /// How often each value is read by nodes.
    pub(super) readers: HashMap<String, usize>,
}

/// An input of the graph that is no constant.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) element: i32,
    /// The sizes; `None` where one is not fixed.
    pub(super) dims: Option<Vec<Option<usize>>>,
}

/// An output of the graph.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: String,
    /// The element type of a tensor; `None` for a list of maps.
    pub(super) element: Option<i32>,
}

impl Graph {
    /// Reads and checks the bytes of a file.
    ///
    /// # Errors
    /// If they are no ONNX file, or contradict themselves.
    pub(super) fn parse(bytes: &[u8], beside: Beside) -> Result<Self> {
        if bytes.is_empty() {
            return Err(OnnxError::NotOnnx {
                reason: "it is empty".to_owned(),
            });
        }
        limits::check(bytes)?;
        let model = ModelProto::decode(bytes).map_err(|error| OnnxError::NotOnnx {
            reason: error.to_string(),
        })?;
        let opset = opset(&model)?;
        if let Some(function) = model.functions.first() {
            return Err(OnnxError::Refused {
                problem: format!(
                    "the model has functions of its own, the first is `{}`",
                    function.name.as_deref().unwrap_or_default()
                ),
                instead: "inline them before the model is written (`onnx.inliner.inline_local_functions`)".to_owned(),
            });
        }
        let graph = model.graph.ok_or_else(|| OnnxError::NotOnnx {
            reason: "there is no graph in it".to_owned(),
        })?;
        let metadata = model.metadata_props.into_iter();
        let metadata = metadata.map(|entry| {
            (
                entry.key.unwrap_or_default(),
                entry.value.unwrap_or_default(),
            )
        });
        let producer = [model.producer_name, model.producer_version];
        let producer = producer.into_iter().flatten().collect::<Vec<_>>().join(" ");
        check_names(&graph)?;
        let mut graph = Self::checked(graph, opset, producer, metadata.collect(), beside)?;
        let external = graph.beside.size(graph.constants.values());
        graph.held = (bytes.len() + external) / std::mem::size_of::<f32>();
        Ok(graph)
    }

    fn checked(
        graph: GraphProto,
        opset: i64,
        producer: String,
        metadata: BTreeMap<String, String>,
        beside: Beside,
    ) -> Result<Self> {
        let hash = graph_hash(&graph.node, &graph.initializer);
        let mut constants = HashMap::new();
        for tensor in graph.initializer {
            let name = tensor.name.clone().unwrap_or_default();
            if constants.insert(name.clone(), tensor).is_some() {
                return Err(broken(format!("two constants are called `{name}`")));
            }
        }
        let inputs = graph
            .input
            .iter()
            .filter(|input| !constants.contains_key(input.name.as_deref().unwrap_or_default()));
        let inputs: Vec<Input> = inputs.map(Input::read).collect();
        let mut names = BTreeSet::new();
        if let Some(input) = inputs.iter().find(|input| !names.insert(&input.name)) {
            return Err(broken(format!("two inputs are called `{}`", input.name)));
        }
        let outputs: Vec<Output> = graph.output.iter().map(Output::read).collect();
        let nodes = graph
            .node
            .into_iter()
            .map(Node::read)
            .collect::<Result<Vec<_>>>()?;
        let mut known: BTreeSet<String> = inputs.iter().map(|input| input.name.clone()).collect();
        known.extend(constants.keys().cloned());
        let nodes = in_order(nodes, known)?;
        let made: HashSet<&String> = nodes.iter().flat_map(|node| &node.outputs).collect();
        for output in &outputs {
            if !made.contains(&output.name) {
                return Err(broken(format!(
                    "output `{}` is made by no node",
                    output.name
                )));
            }
        }
        if outputs.is_empty() {
            return Err(broken("the graph has no output"));
        }
        let mut readers = HashMap::new();
        for input in nodes.iter().flat_map(|node| &node.inputs) {
            *readers.entry(input.clone()).or_insert(0) += 1;
        }
        Ok(Self {
            held: 0,
            readers,
            producer,
            opset,
            inputs,
            outputs,
            nodes,
            constants,
            metadata,
            beside,
            hash,
        })
    }

    /// A constant by its name.
    pub(super) fn constant(&self, name: &str) -> Option<Result<Array>> {
        self.constants.get(name).map(|tensor| self.array(tensor))
    }

    /// A tensor of the file.
    pub(super) fn array(&self, tensor: &TensorProto) -> Result<Array> {
        Array::read(tensor, &mut |tensor, expected| {
            self.beside.read(tensor, expected)
        })
    }
}

/// Refuses names that no message could show.
fn check_names(graph: &GraphProto) -> Result<()> {
    /// Exporters put the path of a module into a name, not more.
    const LONGEST: usize = 1 << 12;
    let of_nodes = graph.node.iter().flat_map(|node| {
        let own = [&node.name, &node.op_type, &node.domain]
            .into_iter()
            .flatten();
        let attributes = node.attribute.iter().filter_map(|one| one.name.as_ref());
        own.chain(&node.input).chain(&node.output).chain(attributes)
    });
    let values = graph.input.iter().chain(&graph.output);
    let of_values = values.filter_map(|value| value.name.as_ref());
    let of_tensors = graph.initializer.iter().filter_map(|one| one.name.as_ref());
    let mut all = of_nodes.chain(of_values).chain(of_tensors);
    match all.find(|name| name.len() > LONGEST) {
        None => Ok(()),
        Some(name) => Err(broken(format!(
            "a name of {} bytes; the longest that is read has {LONGEST}",
            name.len()
        ))),
    }
}

/// The version of the standard operators, which every model states.
fn opset(model: &ModelProto) -> Result<i64> {
    let standard = model
        .opset_import
        .iter()
        .filter(|set| matches!(set.domain.as_deref(), None | Some("" | "ai.onnx")));
    let version = standard.filter_map(|set| set.version).max();
    let Some(version) = version else {
        return Err(OnnxError::NotOnnx {
            reason: "it does not say which operators it uses (`opset_import`)".to_owned(),
        });
    };
    if OPSETS.contains(&version) {
        return Ok(version);
    }
    let (oldest, newest) = (OPSETS.start(), OPSETS.end());
    Err(OnnxError::Refused {
        problem: format!("operators of version {oldest} to {newest} are read, got {version}"),
        instead: "export with `opset_version=17`, or convert with `onnx.version_converter`"
            .to_owned(),
    })
}

/// Orders nodes so that each reads what was made before; in the file's order where that will do.
fn in_order(nodes: Vec<Node>, known: BTreeSet<String>) -> Result<Vec<Node>> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        for output in node.outputs.iter().filter(|output| !output.is_empty()) {
            if known.contains(output) || makers.insert(output, place).is_some() {
                return Err(broken(format!("`{output}` is made twice")));
            }
        }
    }
    let mut waits_for = vec![0_usize; nodes.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate() {
        for input in node.inputs.iter().filter(|input| !input.is_empty()) {
            if known.contains(input) {
                continue;
            }
            let maker = makers.get(input.as_str()).ok_or_else(|| {
                broken(format!(
                    "node `{}` ({}) reads `{input}`, which nothing makes",
                    node.name, node.operator
                ))
            })?;
            waits_for[place] += 1;
            readers[*maker].push(place);
        }
    }
    let mut ready: BTreeSet<usize> = (0..nodes.len())
        .filter(|&place| waits_for[place] == 0)
        .collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(place) = ready.pop_first() {
        order.push(place);
        for &reader in &readers[place] {
            waits_for[reader] -= 1;
            if waits_for[reader] == 0 {
                ready.insert(reader);
            }
        }
    }
    if order.len() < nodes.len() {
        return Err(broken("nodes read one another in a circle"));
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    Ok(order
        .into_iter()
        .filter_map(|place| nodes[place].take())
        .collect())
}

impl Input {
    fn read(info: &ValueInfoProto) -> Self {
        let tensor = info
            .r#type
            .as_ref()
            .and_then(|kind| kind.tensor_type.as_ref());
        let dims = tensor
            .and_then(|tensor| tensor.shape.as_ref())
            .map(|shape| {
                let dims = shape.dim.iter();
                // A size of zero is how some exporters write that it is not fixed.
                dims.map(|dim| {
                    dim.dim_value
                        .and_then(|size| usize::try_from(size).ok())
                        .filter(|&size| size > 0)
                })
                .collect()
            });
        Self {
            name: info.name.clone().unwrap_or_default(),
            element: tensor.and_then(|tensor| tensor.elem_type).unwrap_or(0),
            dims,
        }
    }
}

impl Output {
    fn read(info: &ValueInfoProto) -> Self {
        let tensor = info
            .r#type
            .as_ref()
            .and_then(|kind| kind.tensor_type.as_ref());
        Self {
            name: info.name.clone().unwrap_or_default(),
            element: tensor.map(|tensor| tensor.elem_type.unwrap_or(0)),
        }
    }
}
