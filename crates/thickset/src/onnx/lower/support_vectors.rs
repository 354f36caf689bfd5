//! Support-vector machines: a score for each pair of classes, and the probabilities that libsvm makes of them.

use thickset_engine::layer::Form;

use super::learned::complement;
use super::reduce::along;
use super::{Lowering, Made};
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// The layers grow with the classes, and their sizes with the square of them.
const MOST_CLASSES: usize = 32;

/// Probabilities, or scores where the file has no probabilities and something is computed of the scores.
pub(super) fn support_vectors(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let inputs = made.dims.last().copied().unwrap_or(1);
    let per_class = node.ints("vectors_per_class").unwrap_or_default();
    let vectors = node.floats("support_vectors");
    let count = vectors.len() / inputs.max(1);
    let classes = per_class.len();
    let starts = starts(&per_class);
    if !(2..=MOST_CLASSES).contains(&classes)
        || made.features() != inputs
        || count == 0
        || vectors.len() != count * inputs
        || starts.last() != Some(&count)
    {
        return Err(node.unsupported(
            format!("support vectors of 2 to {MOST_CLASSES} classes are read"),
            "calibrate the model (`CalibratedClassifierCV`), which gives probabilities that are read",
        ));
    }
    let pairs = classes * (classes - 1) / 2;
    let coefficients = node.floats("coefficients");
    let (a, b, rho) = (
        node.floats("prob_a"),
        node.floats("prob_b"),
        node.floats("rho"),
    );
    if coefficients.len() != (classes - 1) * count || rho.len() != pairs {
        return Err(node.broken(format!(
            "{} coefficients and {} offsets for {count} vectors of {classes} classes",
            coefficients.len(),
            rho.len()
        )));
    }
    if a.is_empty() && is_output(to, node) {
        return Err(node.unsupported(
            "it gives scores and no probabilities",
            "train it with `probability=True`, or calibrate it (`CalibratedClassifierCV`)",
        ));
    }
    if !a.is_empty() && (a.len() != pairs || b.len() != pairs) {
        return Err(node.broken(format!(
            "{} and {} parameters of probabilities for {pairs} pairs of classes",
            a.len(),
            b.len()
        )));
    }
    // A score for each pair, from the vectors of both its classes.
    let mut weight = vec![0.0; pairs * count];
    let mut pair = 0;
    for i in 0..classes {
        for j in i + 1..classes {
            let row = &mut weight[pair * count..][..count];
            for (class, of) in [(i, j - 1), (j, i)] {
                let vectors = starts[class]..starts[class + 1];
                row[vectors.clone()].copy_from_slice(&coefficients[of * count..][vectors]);
            }
            pair += 1;
        }
    }
    if a.is_empty() {
        let scores = pair_scores(to, node, &made, &vectors, weight, rho)?;
        if classes > 2 {
            return Ok(scores);
        }
        // As onnxruntime has them: the score of the first class is the second number.
        let other = to.affine(&scores, &[-1.0], &[0.0], None)?;
        return to.add(Form::Concatenate, &[&other, &scores], vec![1, 2]);
    }
    // Calibrated: the logit of the second class of each pair, `a score + b`.
    for (pair, a) in a.iter().enumerate() {
        for value in &mut weight[pair * count..][..count] {
            *value *= a;
        }
    }
    let bias = (0..pairs).map(|pair| a[pair] * rho[pair] + b[pair]);
    let logits = pair_scores(to, node, &made, &vectors, weight, bias.collect())?;
    if classes == 2 {
        let logit = to.apply(Form::PairwiseCoupling, &logits)?;
        return complement(to, &logit);
    }
    let logits = to.affine(&logits, &[-1.0], &[0.0], None)?;
    let limit = coupled(to, &logits, classes)?;
    to.add(
        Form::StoppedCoupling { classes },
        &[&limit, &logits],
        vec![1, classes],
    )
}

/// Where each class's vectors begin, and where the last one's end.
fn starts(per_class: &[i64]) -> Vec<usize> {
    let mut starts = vec![0_usize];
    for &count in per_class {
        let last = starts.last().copied().unwrap_or(0);
        starts.push(last.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)));
    }
    starts
}

/// Whether scores are given out as they are.
fn is_output(to: &Lowering<'_>, node: &Node) -> bool {
    let mut names: Vec<&str> = node.outputs.iter().skip(1).map(String::as_str).collect();
    let mut next = 0;
    while next < names.len() {
        for reader in &to.graph.nodes {
            let passes = matches!(reader.operator.as_str(), "Cast" | "Identity" | "ZipMap");
            let is_new = |made: &&String| !names.contains(&made.as_str());
            if passes
                && reader.inputs.iter().any(|input| input == names[next])
                && let Some(made) = reader.outputs.first().filter(is_new)
            {
                names.push(made);
            }
        }
        next += 1;
    }
    let outputs = &to.graph.outputs;
    outputs
        .iter()
        .any(|output| names.contains(&output.name.as_str()))
}

/// Weighted sums of the kernels of the row and each vector. Of a linear kernel they are linear in the row, and added up here, where
/// numbers have double precision.
fn pair_scores(
    to: &mut Lowering<'_>,
    node: &Node,
    made: &Made,
    vectors: &[f64],
    weight: Vec<f64>,
    bias: Vec<f64>,
) -> Result<Made> {
    let inputs = made.features();
    let is_linear = node.text("kernel_type").is_none_or(|kind| kind == "LINEAR");
    if !is_linear {
        let kernels = kernels(to, node, made, vectors)?;
        return to.dense(&kernels, weight, bias);
    }
    let count = vectors.len() / inputs;
    let mut sums = vec![0.0; bias.len() * inputs];
    for (pair, sums) in sums.chunks_mut(inputs).enumerate() {
        for (vector, weight) in vectors.chunks(inputs).zip(&weight[pair * count..][..count]) {
            for (sum, value) in sums.iter_mut().zip(vector) {
                *sum += weight * value;
            }
        }
    }
    to.dense(made, sums, bias)
}

/// The kernel of the row and each vector.
fn kernels(to: &mut Lowering<'_>, node: &Node, made: &Made, vectors: &[f64]) -> Result<Made> {
    let inputs = made.features();
    let count = vectors.len() / inputs;
    let parameters = node.floats("kernel_params");
    let parameter = |place: usize| parameters.get(place).copied().unwrap_or(0.0);
    let (gamma, shift, degree) = (parameter(0), parameter(1), parameter(2));
    let kernel = node
        .text("kernel_type")
        .unwrap_or_else(|| "LINEAR".to_owned());
    match kernel.as_str() {
        "RBF" => {
            // exp(-gamma |x - v|^2), by 2 gamma <x, v> - gamma |v|^2 - gamma |x|^2
            let lengths = vectors
                .chunks(inputs)
                .map(|vector| -gamma * vector.iter().map(|v| v * v).sum::<f64>());
            let weight = vectors.iter().map(|v| 2.0 * gamma * v).collect();
            let products = to.dense(made, weight, lengths.collect())?;
            let squares = to.apply(Form::Power { exponent: 2.0 }, made)?;
            let last = made.dims.len() - 1;
            let length = along(to, node, &squares, &[last], "Sum")?;
            let length = to.affine(&length, &[-gamma], &[0.0], None)?;
            let exponent = to.of_two(node, "Add", &products, &length)?;
            to.apply(Form::Exp, &exponent)
        }
        "POLY" | "SIGMOID" => {
            let weight = vectors.iter().map(|v| gamma * v).collect();
            let products = to.dense(made, weight, vec![shift; count])?;
            let form = if kernel == "POLY" {
                Form::Power { exponent: degree }
            } else {
                Form::Tanh
            };
            to.apply(form, &products)
        }
        other => Err(node.unsupported(format!("the kernel `{other}`"), "")),
    }
}

/// The probabilities that fit pairs best, from the logits of `P(i | i or j)`: the least `sum_(i<j) (r_ji p_i - r_ij p_j)^2 = p'Qp` among
/// those that sum to 1.
///
/// There `Qp` has equal numbers, so `p` is a multiple of the solution of `(Q + 1 1') x = 1`, a system that is well conditioned where
/// `Q` itself is singular (pairs that fit together exactly). It is solved as Gauss and Jordan do; the matrix is positive definite, so no
/// order of pivots is needed.
fn coupled(to: &mut Lowering<'_>, logits: &Made, classes: usize) -> Result<Made> {
    let opposite = to.affine(logits, &[-1.0], &[0.0], None)?;
    let pairs = logits.features();
    let both = to.add(Form::Concatenate, &[logits, &opposite], vec![1, 2 * pairs])?;
    let shares = to.apply(Form::Sigmoid, &both)?;
    // Where r_ij stands.
    let place = |i: usize, j: usize| {
        let (low, high) = (i.min(j), i.max(j));
        let pair = low * (2 * classes - low - 1) / 2 + high - low - 1;
        if i < j { pair } else { pairs + pair }
    };
    let columns = classes + 1;
    // Off the diagonal 1 - r_ji r_ij; on it 1 + sum r_ji^2; beside the matrix 1.
    let mut first = vec![0; classes * classes];
    let mut second = first.clone();
    for i in 0..classes {
        for j in (0..classes).filter(|&j| j != i) {
            first[i * classes + j] = place(j, i);
            second[i * classes + j] = place(i, j);
        }
    }
    let dims = vec![1, classes * classes];
    let (a, b) = (
        to.gathered(&shares, dims.clone(), &first)?,
        to.gathered(&shares, dims.clone(), &second)?,
    );
    let products = to.add(Form::Multiply, &[&a, &b], dims.clone())?;
    let squares = to.add(Form::Multiply, &[&a, &a], dims)?;
    let all = vec![1, 2 * classes * classes];
    let parts = to.add(Form::Concatenate, &[&products, &squares], all)?;
    let read = 2 * classes * classes;
    let mut weight = vec![0.0; classes * columns * read];
    for i in 0..classes {
        for j in 0..classes {
            let row = &mut weight[(i * columns + j) * read..][..read];
            if i == j {
                let own = (0..classes).filter(|&t| t != i);
                own.for_each(|t| row[classes * classes + i * classes + t] = 1.0);
            } else {
                row[i * classes + j] = -1.0;
            }
        }
    }
    let mut matrix = to.dense(&parts, weight, vec![1.0; classes * columns])?;
    for pivot in 0..classes {
        matrix = eliminated(to, &matrix, [classes, columns], pivot)?;
    }
    let last: Vec<usize> = (0..classes).map(|i| i * columns + classes).collect();
    let solution = to.gathered(&matrix, vec![1, classes], &last)?;
    let sum = to.dense(&solution, vec![1.0; classes], vec![0.0])?;
    let share = to.apply(Form::Power { exponent: -1.0 }, &sum)?;
    let share = to.gathered(&share, vec![1, classes], &vec![0; classes])?;
    to.add(Form::Multiply, &[&solution, &share], vec![1, classes])
}

/// One step of Gauss and Jordan: the pivot's row divided by the pivot, and taken from every other row as often as the pivot's column says.
fn eliminated(
    to: &mut Lowering<'_>,
    matrix: &Made,
    [rows, columns]: [usize; 2],
    pivot: usize,
) -> Result<Made> {
    let dims = matrix.dims.clone();
    let places = 0..rows * columns;
    let own = vec![pivot * columns + pivot; rows * columns];
    let row: Vec<usize> = places
        .clone()
        .map(|at| pivot * columns + at % columns)
        .collect();
    let column: Vec<usize> = places
        .clone()
        .map(|at| at / columns * columns + pivot)
        .collect();
    let is_pivot = |at: usize| at / columns == pivot;
    let minus = |at: usize| if is_pivot(at) { 0.0 } else { -1.0 };
    let one = |at: usize| if is_pivot(at) { 1.0 } else { 0.0 };
    let (times, plus): (Vec<f64>, Vec<f64>) = places.map(|at| (minus(at), one(at))).unzip();
    let own = to.gathered(matrix, dims.clone(), &own)?;
    let share = to.apply(Form::Power { exponent: -1.0 }, &own)?;
    let row = to.gathered(matrix, dims.clone(), &row)?;
    let row = to.add(Form::Multiply, &[&row, &share], dims.clone())?;
    let column = to.gathered(matrix, dims.clone(), &column)?;
    let factor = to.affine(&column, &times, &plus, None)?;
    let change = to.add(Form::Multiply, &[&factor, &row], dims.clone())?;
    let keep: Vec<f64> = times.iter().map(|time| -time).collect();
    let kept = to.affine(matrix, &keep, &[0.0], None)?;
    to.add(Form::Add, &[&kept, &change], dims)
}
