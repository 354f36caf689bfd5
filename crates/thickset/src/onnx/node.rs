//! One operation of a graph, and its settings.

use std::collections::HashMap;

use super::array::readable;
use super::problem::{OnnxError, Result, broken, short};
use super::proto::{AttributeProto, NodeProto, TensorProto, attribute as kind};

/// Attributes that are of one kind in every operator that is read. A file that says otherwise would be read as if it did not have them.
const KINDS: [(i32, &[&str]); 4] = [
    (
        kind::INT,
        &[
            "axis",
            "keepdims",
            "to",
            "group",
            "transA",
            "transB",
            "allowzero",
            "ceil_mode",
            "count_include_pad",
            "training_mode",
            "noop_with_empty_axes",
            "num_groups",
            "blocksize",
            "batch_dims",
            "antialias",
        ],
    ),
    (
        kind::INTS,
        &[
            "axes",
            "perm",
            "pads",
            "strides",
            "dilations",
            "kernel_shape",
            "output_padding",
            "classlabels_ints",
            "cats_int64s",
            "keys_int64s",
            "values_int64s",
        ],
    ),
    (
        kind::FLOAT,
        &["alpha", "beta", "gamma", "epsilon", "lambd", "value_float"],
    ),
    (
        kind::STRING,
        &[
            "mode",
            "auto_pad",
            "equation",
            "norm",
            "post_transform",
            "approximate",
            "nearest_mode",
            "coordinate_transformation_mode",
        ],
    ),
];

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    attributes: HashMap<String, AttributeProto>,
}

/// Refuses an attribute of another kind than its name has, and writes out a zero that its writer left out.
fn check_kind(operator: &str, name: &str, attribute: &mut AttributeProto) -> Result<()> {
    let Some(own) = attribute.r#type.filter(|&own| own != 0) else {
        return Ok(());
    };
    let expected = KINDS.iter().find(|(_, names)| names.contains(&name));
    if let Some((expected, _)) = expected.filter(|(expected, _)| *expected != own) {
        return Err(broken(format!(
            "`{name}` of a node `{operator}` must be {}, got {}",
            kind::name(*expected),
            kind::name(own)
        )));
    }
    match own {
        kind::INT => attribute.i = attribute.i.or(Some(0)),
        kind::FLOAT => attribute.f = attribute.f.or(Some(0.0)),
        kind::STRING => attribute.s = attribute.s.take().or(Some(Vec::new())),
        _ => {}
    }
    Ok(())
}

impl Node {
    pub(super) fn read(node: NodeProto) -> Result<Self> {
        let operator = node.op_type.unwrap_or_default();
        let operator = match node.domain.as_deref() {
            None | Some("" | "ai.onnx" | "ai.onnx.ml") => operator,
            Some(domain) => format!("{domain}.{operator}"),
        };
        let mut attributes = HashMap::new();
        for mut attribute in node.attribute {
            let name = attribute.name.clone().unwrap_or_default();
            check_kind(&operator, &name, &mut attribute)?;
            if attributes.insert(name.clone(), attribute).is_some() {
                return Err(broken(format!(
                    "a node `{operator}` has two attributes `{name}`"
                )));
            }
        }
        let name = node.name.filter(|name| !name.is_empty());
        Ok(Self {
            name: name
                .or_else(|| node.output.first().cloned())
                .unwrap_or_default(),
            operator,
            inputs: node.input,
            outputs: node.output,
            attributes,
        })
    }

    /// A stand-in for messages about what is computed from columns.
    pub(super) fn of_columns() -> Self {
        Self {
            name: String::new(),
            operator: "encoder".to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            attributes: HashMap::new(),
        }
    }

    /// Whole numbers in the place of an attribute's: one number or a list, each operator reads what it knows.
    pub(super) fn set_ints(&mut self, name: &str, values: &[i64]) {
        let attribute = self.attributes.entry(name.to_owned()).or_default();
        attribute.i = values.first().copied();
        attribute.ints = values.to_vec();
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        let found = self.attributes.get(name).and_then(|attribute| attribute.i);
        found.unwrap_or(default)
    }

    pub(super) fn float(&self, name: &str, default: f64) -> f64 {
        let found = self.attributes.get(name).and_then(|attribute| attribute.f);
        found.map_or(default, f64::from)
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        let found = self
            .attributes
            .get(name)
            .and_then(|attribute| attribute.s.as_ref());
        found.map(|text| readable(text))
    }

    pub(super) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attributes
            .get(name)
            .map(|attribute| attribute.ints.clone())
    }

    pub(super) fn floats(&self, name: &str) -> Vec<f64> {
        let found = self.attributes.get(name).into_iter();
        found
            .flat_map(|attribute| attribute.floats.iter().copied().map(f64::from))
            .collect()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let found = self.attributes.get(name).into_iter();
        found
            .flat_map(|attribute| attribute.strings.iter().map(|text| readable(text)))
            .collect()
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&TensorProto> {
        self.attributes
            .get(name)
            .and_then(|attribute| attribute.t.as_deref())
    }

    /// The name of an input; `None` where it is left out.
    pub(super) fn input(&self, place: usize) -> Option<&str> {
        self.inputs
            .get(place)
            .map(String::as_str)
            .filter(|name| !name.is_empty())
    }

    /// Where it stands, for messages.
    pub(super) fn at(&self) -> String {
        if self.name.is_empty() {
            String::new()
        } else {
            format!(" (node `{}`)", self.name)
        }
    }

    /// What it is not supported for.
    pub(super) fn unsupported(
        &self,
        reason: impl Into<String>,
        instead: impl Into<String>,
    ) -> OnnxError {
        OnnxError::Unsupported {
            operator: self.operator.clone(),
            at: self.at(),
            reason: short(reason.into()),
            instead: instead.into(),
        }
    }

    /// A contradiction in it.
    pub(super) fn broken(&self, problem: impl std::fmt::Display) -> OnnxError {
        broken(format!(
            "operator `{}`{}: {problem}",
            self.operator,
            self.at()
        ))
    }
}
