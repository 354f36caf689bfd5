//! Files that no exporter writes, field by field.

/// A number of seven bits a byte.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

/// A field of bytes.
fn bytes(number: u64, inner: &[u8]) -> Vec<u8> {
    [
        varint(number << 3 | 2),
        varint(inner.len() as u64),
        inner.to_vec(),
    ]
    .concat()
}

/// A field of a whole number.
fn whole(number: u64, value: i64) -> Vec<u8> {
    [varint(number << 3), varint(value.cast_unsigned())].concat()
}

/// An attribute of a node.
#[derive(Clone)]
pub enum Attribute<'a> {
    Int(i64),
    Ints(&'a [i64]),
    Float(f32),
    Floats(&'a [f32]),
    Text(&'a str),
    Texts(&'a [String]),
}

fn attribute(name: &str, value: &Attribute<'_>) -> Vec<u8> {
    let (kind, value) = match value {
        Attribute::Int(value) => (2, whole(3, *value)),
        Attribute::Ints(values) => (7, values.iter().flat_map(|&one| whole(8, one)).collect()),
        Attribute::Float(value) => (
            1,
            [varint(2 << 3 | 5), value.to_le_bytes().to_vec()].concat(),
        ),
        Attribute::Floats(values) => (
            6,
            values
                .iter()
                .flat_map(|value| [varint(7 << 3 | 5), value.to_le_bytes().to_vec()].concat())
                .collect(),
        ),
        Attribute::Text(text) => (3, bytes(4, text.as_bytes())),
        Attribute::Texts(texts) => (
            8,
            texts
                .iter()
                .flat_map(|text| bytes(9, text.as_bytes()))
                .collect(),
        ),
    };
    [bytes(1, name.as_bytes()), value, whole(20, kind)].concat()
}

/// A node.
pub fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> Vec<u8> {
    node_with(operator, inputs, outputs, &[])
}

/// A node with attributes.
pub fn node_with(
    operator: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, Attribute<'_>)],
) -> Vec<u8> {
    let is_learned = matches!(operator, "OneHotEncoder" | "LinearClassifier");
    let mut node = Vec::new();
    for input in inputs {
        node.extend(bytes(1, input.as_bytes()));
    }
    for output in outputs {
        node.extend(bytes(2, output.as_bytes()));
    }
    node.extend(bytes(4, operator.as_bytes()));
    for (name, value) in attributes {
        node.extend(bytes(5, &attribute(name, value)));
    }
    if is_learned {
        node.extend(bytes(7, b"ai.onnx.ml"));
    }
    node
}

/// A constant of single precision.
pub fn floats(name: &str, dims: &[i64], values: &[f32]) -> Vec<u8> {
    let raw: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut tensor: Vec<u8> = dims.iter().flat_map(|&size| whole(1, size)).collect();
    tensor.extend(whole(2, 1));
    tensor.extend(bytes(8, name.as_bytes()));
    tensor.extend(bytes(9, &raw));
    tensor
}

/// A list of whole numbers.
pub fn list(name: &str, values: &[i64]) -> Vec<u8> {
    let raw: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let mut tensor = whole(1, i64::try_from(values.len()).unwrap());
    tensor.extend(whole(2, 7));
    tensor.extend(bytes(8, name.as_bytes()));
    tensor.extend(bytes(9, &raw));
    tensor
}

/// A constant whose numbers lie in a file beside the model.
pub fn beside(name: &str, dims: &[i64], file: &str, length: u64) -> Vec<u8> {
    let entry = |key: &str, value: &str| {
        let entry = [bytes(1, key.as_bytes()), bytes(2, value.as_bytes())].concat();
        bytes(13, &entry)
    };
    let mut tensor: Vec<u8> = dims.iter().flat_map(|&size| whole(1, size)).collect();
    tensor.extend(whole(2, 1));
    tensor.extend(bytes(8, name.as_bytes()));
    tensor.extend(entry("location", file));
    tensor.extend(entry("length", &length.to_string()));
    tensor.extend(whole(14, 1));
    tensor
}

/// An input or an output; the rows stand first, and any number of them may come. `kind` is 1 for numbers, 7 for whole ones, 8 for texts.
pub fn value(name: &str, kind: i64, sizes: &[i64]) -> Vec<u8> {
    let rows = bytes(1, &bytes(2, b"N"));
    let rest = sizes.iter().flat_map(|&size| bytes(1, &whole(1, size)));
    let shape: Vec<u8> = rows.into_iter().chain(rest).collect();
    let tensor = [whole(1, kind), bytes(2, &shape)].concat();
    [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &tensor))].concat()
}

/// A model of these parts, whose output is `y`.
pub fn model(nodes: &[Vec<u8>], constants: &[Vec<u8>], inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut graph = Vec::new();
    for node in nodes {
        graph.extend(bytes(1, node));
    }
    for constant in constants {
        graph.extend(bytes(5, constant));
    }
    for input in inputs {
        graph.extend(bytes(11, input));
    }
    graph.extend(bytes(12, &value("y", 1, &[3])));
    let set = |domain: &str, version: i64| {
        bytes(
            8,
            &[bytes(1, domain.as_bytes()), whole(2, version)].concat(),
        )
    };
    let sets = [set("", 17), set("ai.onnx.ml", 3)].concat();
    [whole(1, 8), bytes(7, &graph), sets].concat()
}
