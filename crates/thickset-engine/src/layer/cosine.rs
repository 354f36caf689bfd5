//! Cosine similarity of the two embeddings of a pair: `[2 * rows, d]` to `[rows, 1]`.
//!
//! `s = a q` with `a = <u, v>`, `b = |u|^2`, `c = |v|^2` and `q = (b c + eps)^(-1/2)`.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};

/// Keeps the similarity of zero vectors defined (0). It shows where `|u| |v|` is near its root, 1e-6, or below: there the
/// similarity shrinks towards 0, by 0.5% at 1e-5 and by less than single precision resolves from 1e-2 on.
const EPSILON: f64 = 1e-12;

/// The head of a Siamese network: rows `2 r` and `2 r + 1` are the two sides.
#[derive(Clone, Copy, Debug)]
pub struct Cosine;

impl Layer for Cosine {
    fn kind(&self) -> &'static str {
        "cosine"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Cosine)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs.len() == 1).then_some(1)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let at = At::new(single(inputs));
        at.a * at.q
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At::new(single(inputs));
        (at.a.clone() * at.q.clone(), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

/// The two sides of each pair, `[rows, d]` each.
fn sides(batch: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let [double, d] = batch.dims();
    let folded = batch.reshape([double / 2, 2 * d]);
    let rows = double / 2;
    (
        folded.clone().slice([0..rows, 0..d]),
        folded.slice([0..rows, d..2 * d]),
    )
}

fn joined(u: Tensor<2>, v: Tensor<2>) -> Tensor<2> {
    let [rows, d] = u.dims();
    Tensor::cat(vec![u, v], 1).reshape([2 * rows, d])
}

fn dot(u: &Tensor<2>, v: &Tensor<2>) -> Tensor<2> {
    (u.clone() * v.clone()).sum_dim(1)
}

struct At {
    u: Tensor<2>,
    v: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    c: Tensor<2>,
    q: Tensor<2>,
}

impl At {
    #[expect(
        clippy::many_single_char_names,
        reason = "the names of the formula above"
    )]
    fn new(batch: Tensor<2>) -> Self {
        let (u, v) = sides(batch);
        let (a, b, c) = (dot(&u, &v), dot(&u, &u), dot(&v, &v));
        let q = (b.clone() * c.clone() + EPSILON).powf_scalar(-0.5);
        Self { u, v, a, b, c, q }
    }

    /// `a q^3`, the weight of the part along a vector itself.
    fn along(&self) -> Tensor<2> {
        self.a.clone() * self.q.clone().powi_scalar(3)
    }

    /// The changes of `a`, `b`, `c` and `q` along the given directions.
    fn moved(&self, du: &Tensor<2>, dv: &Tensor<2>) -> [Tensor<2>; 4] {
        let a = dot(du, &self.v) + dot(&self.u, dv);
        let b = dot(&self.u, du) * 2.0;
        let c = dot(&self.v, dv) * 2.0;
        let product = b.clone() * self.c.clone() + self.b.clone() * c.clone();
        let q = self.q.clone().powi_scalar(3) * product * -0.5;
        [a, b, c, q]
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let across = self.q.clone() * g.clone();
        let along = self.along() * g;
        vec![joined(
            self.v.clone() * across.clone() - self.u.clone() * (along.clone() * self.c.clone()),
            self.u.clone() * across - self.v.clone() * (along * self.b.clone()),
        )]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let (du, dv) = sides(single(v));
        let [a, _, _, q] = self.moved(&du, &dv);
        a * self.q.clone() + self.a.clone() * q
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let (du, dv) = sides(single(v));
        let [a_dot, b_dot, c_dot, q_dot] = self.moved(&du, &dv);
        let across = self.q.clone() * g.clone();
        let across_dot = q_dot.clone() * g.clone() + self.q.clone() * g_dot.clone();
        let along = self.along() * g.clone();
        let cube_dot = self.q.clone().powi_scalar(2) * q_dot * 3.0;
        let along_dot = (a_dot * self.q.clone().powi_scalar(3) + self.a.clone() * cube_dot)
            * g.clone()
            + self.along() * g_dot;
        let side = |own: &Tensor<2>,
                    own_dot: Tensor<2>,
                    other: &Tensor<2>,
                    other_dot: Tensor<2>,
                    square: &Tensor<2>,
                    square_dot: Tensor<2>| {
            let weight = along.clone() * square.clone();
            let weight_dot = along_dot.clone() * square.clone() + along.clone() * square_dot;
            other.clone() * across_dot.clone() + other_dot * across.clone()
                - own.clone() * weight_dot
                - own_dot * weight
        };
        vec![joined(
            side(&self.u, du.clone(), &self.v, dv.clone(), &self.c, c_dot),
            side(&self.v, dv, &self.u, du, &self.b, b_dot),
        )]
    }
}
