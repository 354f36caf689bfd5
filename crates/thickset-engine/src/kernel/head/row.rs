//! What a head computes of one row, in `f64` whatever the network's type. The kernels and the fast path of chains both call
//! these, so a row has the same bits on either.
//!
//! With `p = softmax(z)`, formulas like `p (c - <p, c>)` subtract numbers that agree to all their digits where one class has
//! nearly all of the probability. Each of them stays what it is when the same number is taken from every `c`; taking the
//! one of the most probable class leaves sums over the *other* classes, which do not cancel: there the weights are `c - c_top`,
//! zero at the top, and `1 - p_top` is the sum of the other probabilities.

/// The softmax of a row of logits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Softmax<'p> {
    /// One a class.
    p: &'p [f64],
    /// The most probable class, the first of equals.
    top: usize,
    /// The probability of all others together.
    others: f64,
    /// The same as a multiple of the top's.
    odds: f64,
}

/// What a softmax is beside its probabilities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    top: usize,
    others: f64,
    odds: f64,
}

impl<'p> Softmax<'p> {
    /// Of the logits `z`; the probabilities are written to `p`.
    pub(crate) fn new(z: &[f64], p: &'p mut [f64]) -> Self {
        let mut top = 0;
        for (class, value) in z.iter().enumerate() {
            if *value > z[top] {
                top = class;
            }
        }
        let most = z[top];
        let mut others = 0.0;
        for (class, (p, z)) in p.iter_mut().zip(z).enumerate() {
            if class == top {
                *p = 1.0;
            } else {
                *p = (z - most).exp();
                others += *p;
            }
        }
        let sum = 1.0 + others;
        for p in p.iter_mut() {
            *p /= sum;
        }
        Self {
            p,
            top,
            others: others / sum,
            odds: others,
        }
    }

    /// Takes up what [`Self::shape`] gave, with the same probabilities.
    pub(crate) fn of_shape(shape: Shape, p: &'p [f64]) -> Self {
        let Shape { top, others, odds } = shape;
        Self {
            p,
            top,
            others,
            odds,
        }
    }

    /// What it is beside its probabilities.
    pub(crate) fn shape(self) -> Shape {
        Shape {
            top: self.top,
            others: self.others,
            odds: self.odds,
        }
    }

    /// `-log p` of every class, of which `z` are the logits.
    pub(crate) fn surprises(self, z: &[f64]) -> impl Iterator<Item = f64> {
        let (most, of_top) = (z[self.top], self.odds.ln_1p());
        z.iter().map(move |z| of_top + (most - z))
    }

    /// `p (g - <p, g>)`: the gradient of `<p, g>` in the logits.
    pub(crate) fn tilt(self, g: &[f64], out: &mut [f64]) {
        let at_top = g[self.top];
        let mean = self.mean(g);
        for ((out, p), g) in out.iter_mut().zip(self.p).zip(g) {
            *out = p * ((g - at_top) - mean);
        }
    }

    /// The change of [`Self::tilt`] of `g` when the logits move along `v`: `q (g - <p, g>) - p <q, g>` with `q` the tilt of `v`,
    /// for which there must be room.
    pub(crate) fn tilt_tangent(self, v: &[f64], g: &[f64], q: &mut [f64], out: &mut [f64]) {
        self.tilt(v, q);
        let at_top = g[self.top];
        let (mean, mean_change) = (self.mean(g), centred(q, g, at_top));
        for (((out, p), q), g) in out.iter_mut().zip(self.p).zip(&*q).zip(g) {
            *out = q * ((g - at_top) - mean) - p * mean_change;
        }
    }

    /// `p total - c`: the gradient of `-<c, log p>` in the logits, where the classes' weights sum to `total`.
    pub(crate) fn residual(self, c: &[f64], total: f64, out: &mut [f64]) {
        for ((out, p), c) in out.iter_mut().zip(self.p).zip(c) {
            *out = p * total - c;
        }
        out[self.top] = (total - c[self.top]) - total * self.others;
    }

    /// The gradient in the logits of `<tilt(c), h>`, the covariance of `c` and `h` under `p`. There must be room for `r`.
    pub(crate) fn covariance_gradient(self, c: &[f64], h: &[f64], r: &mut [f64], out: &mut [f64]) {
        self.in_probabilities(c, h, r);
        self.tilt(r, out);
    }

    /// The change of [`Self::covariance_gradient`] when the logits move along `v`. There must be room for three rows.
    #[expect(
        clippy::many_single_char_names,
        reason = "the names of the formulas above"
    )]
    pub(crate) fn covariance_gradient_tangent(
        self,
        v: &[f64],
        c: &[f64],
        h: &[f64],
        [q, r, change]: [&mut [f64]; 3],
        out: &mut [f64],
    ) {
        self.tilt(v, q);
        self.in_probabilities(c, h, r);
        let (c_top, h_top) = (c[self.top], h[self.top]);
        let (along_c, along_h) = (centred(q, c, c_top), centred(q, h, h_top));
        for ((change, c), h) in change.iter_mut().zip(c).zip(h) {
            *change = -(c - c_top) * along_h - (h - h_top) * along_c;
        }
        // Both are zero at the top.
        let mean = centred(self.p, r, 0.0);
        let mean_change = centred(q, r, 0.0) + centred(self.p, change, 0.0);
        let rows = out.iter_mut().zip(self.p).zip(q).zip(r).zip(change);
        for ((((out, p), q), r), change) in rows {
            *out = *q * (*r - mean) + p * (*change - mean_change);
        }
    }

    /// The gradient in `p` of the covariance of `c` and `h`, less its value at the top.
    fn in_probabilities(self, c: &[f64], h: &[f64], out: &mut [f64]) {
        let (c_top, h_top) = (c[self.top], h[self.top]);
        let (along_c, along_h) = (self.mean(c), self.mean(h));
        for ((out, c), h) in out.iter_mut().zip(c).zip(h) {
            let (c, h) = (c - c_top, h - h_top);
            *out = h * c - c * along_h - h * along_c;
        }
    }

    /// `<p, g - g_top>`
    fn mean(self, g: &[f64]) -> f64 {
        centred(self.p, g, g[self.top])
    }
}

/// The sum of `p (g - centre)`.
fn centred(p: &[f64], g: &[f64], centre: f64) -> f64 {
    p.iter().zip(g).map(|(p, g)| p * (g - centre)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sure_row_by_hand() {
        // e^-69 is 1.08e-30; beside it, 1 - p is far below the last bit of 1.
        let (z, mut p) = ([69.0, 0.0, -1.0], [0.0; 3]);
        let at = Softmax::new(&z, &mut p);
        let (second, third) = ((-69.0_f64).exp(), (-70.0_f64).exp());
        let near = |got: f64, expected: f64| {
            assert!(
                (got - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "got {got}, expected {expected}"
            );
        };
        let mut out = [0.0; 3];
        at.tilt(&[1.0, 0.0, 0.0], &mut out);
        near(out[0], second + third);
        near(out[1], -second);
        near(out[2], -third);
        at.residual(&[1.0, 0.0, 0.0], 1.0, &mut out);
        near(out[0], -(second + third));
        near(out[1], second);
        near(out[2], third);
        let surprises: Vec<f64> = at.surprises(&z).collect();
        near(surprises[0], second + third);
        near(surprises[1], 69.0);
        // The second derivative of p_0 along the first logit is p'' = (1 - p)(1 - 2p)p, nearly -(1 - p).
        let mut q = [0.0; 3];
        at.tilt_tangent(&[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0], &mut q, &mut out);
        near(out[0], -(second + third));
    }
}
