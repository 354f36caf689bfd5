//! The ball's steps and projection for whole batches of tensors, as a training step searches; the same as in
//! [`ball`](super::ball), which an attack takes row by row in plain numbers.

use thickset_engine::Tensor;

use super::ball::{BallConfig, Norm};
use crate::objective::term::hessian_norm::lengths;

/// Each row of unit length; zero where it is zero. The largest entry is divided out first: the squares of a confident row's
/// gradient would vanish in `f32`.
fn unit(rows: Tensor<2>) -> Tensor<2> {
    let largest = rows.clone().abs().max_dim(1);
    let safe = largest.clone().mask_fill(largest.equal_elem(0.0), 1.0);
    let scaled = rows / safe;
    scaled.clone() / lengths(scaled)
}

impl BallConfig {
    /// The direction of a step up the gradient of each row, of length 1 in the ball's norm; none where the gradient is zero.
    pub(crate) fn directions(self, gradient: Tensor<2>) -> Tensor<2> {
        match self.norm {
            Norm::Linf => gradient.sign(),
            Norm::L2 => unit(gradient),
        }
    }

    /// Brings rows `z` into the balls around `x`.
    pub(crate) fn nearest(self, x: &Tensor<2>, z: Tensor<2>) -> Tensor<2> {
        let change = z - x.clone();
        let change = match self.norm {
            Norm::Linf => change.clamp(-self.radius, self.radius),
            Norm::L2 => {
                let factor = (lengths(change.clone()).recip() * self.radius).clamp_max(1.0);
                change * factor
            }
        };
        x.clone() + change
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::{DType, Device, TensorData};

    use super::*;
    use crate::host::read;

    const FEATURES: usize = 4;

    fn batch(values: &[f64]) -> Tensor<2> {
        let data = TensorData::new(values.to_vec(), [values.len() / FEATURES, FEATURES]);
        Tensor::from_data(data, (&Device::cpu(), DType::F64))
    }

    #[test]
    fn steps_and_projections_are_those_of_single_rows() {
        let mut stream = crate::Seed::new(2).stream("rows");
        let mut draw = |scale: f64| -> Vec<f64> {
            (0..3 * FEATURES).map(|_| scale * stream.normal()).collect()
        };
        let (x, mut gradient) = (draw(1.0), draw(1.0));
        gradient[..FEATURES].fill(0.0);
        for norm in [Norm::L2, Norm::Linf] {
            let ball = BallConfig { norm, radius: 0.3 };
            let mut stepped = x.clone();
            // Attacks step down, training up.
            ball.step(FEATURES, &mut stepped, &gradient, -0.2);
            let direction = read(ball.directions(batch(&gradient)));
            for ((x, direction), stepped) in x.iter().zip(direction).zip(&stepped) {
                assert!((x + 0.2 * direction - stepped).abs() < 1e-12, "{norm:?}");
            }
            let far: Vec<f64> = x
                .iter()
                .zip(draw(0.4))
                .map(|(x, move_by)| x + move_by)
                .collect();
            let near = read(ball.nearest(&batch(&x), batch(&far)));
            let rows = x
                .chunks(FEATURES)
                .zip(near.chunks(FEATURES))
                .zip(far.chunks(FEATURES));
            for ((x, near), far) in rows {
                assert!(ball.size(x, near) < 0.3 + 1e-12, "{norm:?}");
                if ball.size(x, far) <= 0.3 {
                    assert!(
                        near.iter()
                            .zip(far)
                            .all(|(near, far)| (near - far).abs() < 1e-15)
                    );
                }
            }
        }
    }
}
