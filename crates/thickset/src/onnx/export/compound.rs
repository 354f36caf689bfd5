//! Layers that several operators are written for.

#![expect(clippy::cast_possible_wrap, reason = "sizes are far below 2^63")]

use thickset_engine::layer::Gating;

use super::writer::Writer;

/// Added to the product of lengths by the cosine layer.
const COSINE_EPSILON: f64 = 1e-12;

pub(super) fn gelu(w: &mut Writer, x: &str, tanh: bool) -> String {
    let half = w.number(0.5);
    let one = w.number(1.0);
    let inner = if tanh {
        // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
        let (three, factor, root) = (
            w.number(3.0),
            w.number(0.044_715),
            w.number((2.0 / std::f64::consts::PI).sqrt()),
        );
        let cube = w.node("Pow", &[x, &three], &[]);
        let cube = w.node("Mul", &[&cube, &factor], &[]);
        let sum = w.node("Add", &[x, &cube], &[]);
        let scaled = w.node("Mul", &[&sum, &root], &[]);
        w.node("Tanh", &[&scaled], &[])
    } else {
        let root = w.number(std::f64::consts::SQRT_2);
        let scaled = w.node("Div", &[x, &root], &[]);
        w.node("Erf", &[&scaled], &[])
    };
    let sum = w.node("Add", &[&inner, &one], &[]);
    let product = w.node("Mul", &[x, &sum], &[]);
    w.node("Mul", &[&product, &half], &[])
}

pub(super) fn yeo_johnson(w: &mut Writer, x: &str, lambda: &str) -> String {
    let (zero, one, two, minus) = (w.number(0.0), w.number(1.0), w.number(2.0), w.number(-1.0));
    let least = w.number(1e-6);
    let is_negative = w.node("Less", &[x, &zero], &[]);
    let other = w.node("Sub", &[&two, lambda], &[]);
    let power = w.node("Where", &[&is_negative, &other, lambda], &[]);
    let size = w.node("Abs", &[x], &[]);
    let size = w.node("Add", &[&size, &one], &[]);
    let log = w.node("Log", &[&size], &[]);
    let distance = w.node("Abs", &[&power], &[]);
    let is_log = w.node("Less", &[&distance, &least], &[]);
    let divisor = w.node("Where", &[&is_log, &one, &power], &[]);
    let exponent = w.node("Mul", &[&log, &divisor], &[]);
    let grown = w.node("Exp", &[&exponent], &[]);
    let grown = w.node("Sub", &[&grown, &one], &[]);
    let by_power = w.node("Div", &[&grown, &divisor], &[]);
    let made = w.node("Where", &[&is_log, &log, &by_power], &[]);
    let sign = w.node("Where", &[&is_negative, &minus, &one], &[]);
    w.node("Mul", &[&made, &sign], &[])
}

/// Rows `2 r` and `2 r + 1`, of `width` numbers each, are the two sides.
pub(super) fn cosine(w: &mut Writer, x: &str, width: usize) -> String {
    let pairs = w.reshape(x, &[2, width]);
    let side = |w: &mut Writer, place: i64| {
        let index = w.whole(&[place]);
        let made = w.node("Gather", &[&pairs, &index], &[("axis", 1_i64.into())]);
        w.reshape(&made, &[width])
    };
    let (u, v) = (side(w, 0), side(w, 1));
    let axes = w.whole(&[1]);
    let dot = |w: &mut Writer, a: &str, b: &str| {
        let product = w.node("Mul", &[a, b], &[]);
        w.node(
            "ReduceSum",
            &[&product, &axes],
            &[("keepdims", 1_i64.into())],
        )
    };
    let (product, first, second) = (dot(w, &u, &v), dot(w, &u, &u), dot(w, &v, &v));
    let lengths = w.node("Mul", &[&first, &second], &[]);
    let epsilon = w.number(COSINE_EPSILON);
    let lengths = w.node("Add", &[&lengths, &epsilon], &[]);
    let root = w.node("Sqrt", &[&lengths], &[]);
    w.node("Div", &[&product, &root], &[])
}

/// `r_i S_ij r_j` with `S = A + I` and `r` one over the root of the sum of `|S_ij|`.
pub(super) fn adjacency(w: &mut Writer, x: &str, nodes: usize) -> String {
    let edges = nodes * (nodes - 1) / 2;
    // The diagonal is a column of ones after the last edge.
    let (first, zero, one) = (w.whole(&[0]), w.number(0.0), w.number(1.0));
    let ones = w.node("Gather", &[x, &first], &[("axis", 1_i64.into())]);
    let ones = w.node("Mul", &[&ones, &zero], &[]);
    let ones = w.node("Add", &[&ones, &one], &[]);
    let all = w.node("Concat", &[x, &ones], &[("axis", 1_i64.into())]);
    let mut places = vec![edges as i64; nodes * nodes];
    let mut edge = 0;
    for i in 0..nodes {
        for j in i + 1..nodes {
            places[i * nodes + j] = edge;
            places[j * nodes + i] = edge;
            edge += 1;
        }
    }
    let places = w.whole(&places);
    let flat = w.node("Gather", &[&all, &places], &[("axis", 1_i64.into())]);
    let matrix = w.reshape(&flat, &[nodes, nodes]);
    let sizes = w.node("Abs", &[&matrix], &[]);
    let axes = w.whole(&[2]);
    let degree = w.node("ReduceSum", &[&sizes, &axes], &[("keepdims", 1_i64.into())]);
    let root = w.node("Sqrt", &[&degree], &[]);
    let turned = w.node("Transpose", &[&root], &[("perm", vec![0_i64, 2, 1].into())]);
    let scaled = w.node("Div", &[&matrix, &root], &[]);
    let scaled = w.node("Div", &[&scaled, &turned], &[]);
    w.reshape(&scaled, &[nodes * nodes])
}

/// Scores, block by block: 1 for the largest, or `sparsemax(s / delta)`, whose threshold is the largest of
/// `(sum of the j largest - 1) / j`.
pub(super) fn gates(w: &mut Writer, scores: &str, blocks: &[usize], gating: Gating) -> String {
    let (mut parts, mut start) = (Vec::new(), 0);
    for &size in blocks {
        let places: Vec<i64> = (start..start + size).map(|place| place as i64).collect();
        start += size;
        let places = w.whole(&places);
        let block = w.node("Gather", &[scores, &places], &[("axis", 1_i64.into())]);
        parts.push(match gating {
            Gating::Argmax => {
                let best = w.node("ArgMax", &[&block], &[("axis", 1_i64.into())]);
                let all: Vec<i64> = (0..size as i64).collect();
                let all = w.whole(&all);
                let is_best = w.node("Equal", &[&best, &all], &[]);
                w.node("Cast", &[&is_best], &[("to", 1_i64.into())])
            }
            Gating::Softmax { beta } => {
                let beta = w.number(beta);
                let sharp = w.node("Mul", &[&block, &beta], &[]);
                w.node("Softmax", &[&sharp], &[("axis", 1_i64.into())])
            }
            Gating::Sparsemax { delta } => sparsemax(w, &block, size, delta),
        });
    }
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    w.node("Concat", &names, &[("axis", 1_i64.into())])
}

#[expect(clippy::cast_precision_loss, reason = "gates are few")]
fn sparsemax(w: &mut Writer, block: &str, size: usize, delta: f64) -> String {
    let (delta, one) = (w.number(delta), w.number(1.0));
    let scaled = w.node("Div", &[block, &delta], &[]);
    let count = w.whole(&[size as i64]);
    let sorted = w.node("TopK", &[&scaled, &count], &[("axis", 1_i64.into())]);
    let axis = w.whole_number(1);
    let sums = w.node("CumSum", &[&sorted, &axis], &[]);
    let over = w.node("Sub", &[&sums, &one], &[]);
    let counts = w.floats(&[1, size], (1..=size).map(|count| count as f32).collect());
    let means = w.node("Div", &[&over, &counts], &[]);
    let settings = [("axes", vec![1_i64].into()), ("keepdims", 1_i64.into())];
    let threshold = w.node("ReduceMax", &[&means], &settings);
    let above = w.node("Sub", &[&scaled, &threshold], &[]);
    w.node("Relu", &[&above], &[])
}

/// `plain + sum over gates c of pi_c (V_c x + b_c)`, behind a zero for the first of two classes.
pub(super) fn gated_linear(
    w: &mut Writer,
    (x, pi): (&str, &str),
    plain: &str,
    (weight, bias): (&str, &str),
    [features, gates, classes]: [usize; 3],
) -> String {
    let maps = if classes == 2 { 1 } else { classes };
    let weight = w.resized(weight, &[maps * gates, features]);
    let bias = w.resized(bias, &[maps * gates]);
    let each = w.node("Gemm", &[x, &weight, &bias], &[("transB", 1_i64.into())]);
    let each = w.reshape(&each, &[maps, gates]);
    let open = w.reshape(pi, &[1, gates]);
    let gated = w.node("Mul", &[&each, &open], &[]);
    let axes = w.whole(&[2]);
    let sum = w.node("ReduceSum", &[&gated, &axes], &[("keepdims", 0_i64.into())]);
    let margin = w.node("Add", &[plain, &sum], &[]);
    if classes != 2 {
        return margin;
    }
    let nothing = w.number(0.0);
    let zero = w.node("Mul", &[&margin, &nothing], &[]);
    w.node("Concat", &[&zero, &margin], &[("axis", 1_i64.into())])
}

/// The iteration of [`thickset_engine::layer::PairwiseCoupling`], unrolled: two classes need at most two rounds, and a round that
/// comes after the stop is passed over.
pub(super) fn pairwise_coupling(w: &mut Writer, logit: &str) -> String {
    /// One more than are ever made.
    const ROUNDS: usize = 3;
    let minus = w.node("Neg", &[logit], &[]);
    let first = w.node("Sigmoid", &[&minus], &[]);
    let (least, most) = (w.number(1e-7), w.number(1.0 - 1e-7));
    let likely = w.node("Clip", &[&first, &least, &most], &[]);
    let (one, two, half, stop) = (
        w.number(1.0),
        w.number(2.0),
        w.number(0.5),
        w.number(0.0025),
    );
    let unlikely = w.node("Sub", &[&one, &likely], &[]);
    let both = w.node("Mul", &[&likely, &unlikely], &[]);
    let diagonal = [
        w.node("Mul", &[&unlikely, &unlikely], &[]),
        w.node("Mul", &[&likely, &likely], &[]),
    ];
    let across = w.node("Neg", &[&both], &[]);
    let zero = w.node("Sub", &[&likely, &likely], &[]);
    let start = w.node("Add", &[&zero, &half], &[]);
    let mut p = [start.clone(), start];
    for _ in 0..ROUNDS {
        let mut q_p = [0, 1].map(|t: usize| {
            let own = w.node("Mul", &[&diagonal[t], &p[t]], &[]);
            let other = w.node("Mul", &[&across, &p[1 - t]], &[]);
            w.node("Add", &[&own, &other], &[])
        });
        let parts = [0, 1].map(|t: usize| w.node("Mul", &[&p[t], &q_p[t]], &[]));
        let mut product = w.node("Add", &[&parts[0], &parts[1]], &[]);
        let errors = [0, 1].map(|t: usize| {
            let error = w.node("Sub", &[&q_p[t], &product], &[]);
            w.node("Abs", &[&error], &[])
        });
        let error = w.node("Max", &[&errors[0], &errors[1]], &[]);
        let is_done = w.node("Less", &[&error, &stop], &[]);
        let mut next = p.clone();
        for t in 0..2 {
            let rest = w.node("Sub", &[&product, &q_p[t]], &[]);
            let step = w.node("Div", &[&rest, &diagonal[t]], &[]);
            let sum = w.node("Add", &[&one, &step], &[]);
            next[t] = w.node("Add", &[&next[t], &step], &[]);
            let own = w.node("Mul", &[&step, &diagonal[t]], &[]);
            let twice = w.node("Mul", &[&two, &q_p[t]], &[]);
            let change = w.node("Add", &[&own, &twice], &[]);
            let change = w.node("Mul", &[&step, &change], &[]);
            let changed = w.node("Add", &[&product, &change], &[]);
            let changed = w.node("Div", &[&changed, &sum], &[]);
            product = w.node("Div", &[&changed, &sum], &[]);
            for j in 0..2 {
                let row = if j == t { &diagonal[t] } else { &across };
                let change = w.node("Mul", &[&step, row], &[]);
                let changed = w.node("Add", &[&q_p[j], &change], &[]);
                q_p[j] = w.node("Div", &[&changed, &sum], &[]);
                next[j] = w.node("Div", &[&next[j], &sum], &[]);
            }
        }
        p = [0, 1].map(|t: usize| w.node("Where", &[&is_done, &p[t], &next[t]], &[]));
    }
    let odds = w.node("Div", &[&p[1], &p[0]], &[]);
    w.node("Log", &[&odds], &[])
}
