//! The Gauss-Legendre rule on the unit interval: exact for polynomials of degree `2 points - 1`.

use crate::check::as_f64;

/// Places from 0 to 1 with weights that add up to 1.
pub(super) struct Rule {
    pub(super) places: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// Newton steps from the usual first guess; five are enough for the last bit.
const STEPS: usize = 20;

impl Rule {
    /// The rule of so many points.
    pub(super) fn new(points: usize) -> Self {
        let mut rule = Self {
            places: Vec::with_capacity(points),
            weights: Vec::with_capacity(points),
        };
        // From the greatest root of the Legendre polynomial on [-1, 1] down; the places come out ascending.
        for place in 0..points {
            let angle = std::f64::consts::PI * (as_f64(place) + 0.75) / (as_f64(points) + 0.5);
            let mut root = angle.cos();
            let mut slope = 1.0;
            for _ in 0..STEPS {
                let (value, derivative) = legendre(points, root);
                slope = derivative;
                root -= value / derivative;
            }
            rule.places.push(0.5 - 0.5 * root);
            rule.weights
                .push(1.0 / ((1.0 - root * root) * slope * slope));
        }
        rule
    }
}

/// The Legendre polynomial of this degree, and its derivative.
fn legendre(degree: usize, x: f64) -> (f64, f64) {
    let (mut before, mut value) = (1.0, x);
    for step in 2..=degree {
        let n = as_f64(step);
        (before, value) = (
            value,
            ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n,
        );
    }
    let n = as_f64(degree);
    (value, n * (x * value - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_is_the_middle_and_two_are_known() {
        let one = Rule::new(1);
        assert!((one.places[0] - 0.5).abs() < 1e-15 && (one.weights[0] - 1.0).abs() < 1e-15);
        let two = Rule::new(2);
        let off = 0.5 / 3.0_f64.sqrt();
        assert!((two.places[0] - (0.5 - off)).abs() < 1e-15);
        assert!((two.places[1] - (0.5 + off)).abs() < 1e-15);
    }

    #[test]
    fn a_rule_integrates_polynomials_up_to_its_degree() {
        for points in 1_u8..=20 {
            let rule = Rule::new(points.into());
            for degree in 0..2 * i32::from(points) {
                let values = rule.places.iter().zip(&rule.weights);
                let sum: f64 = values
                    .map(|(place, weight)| weight * place.powi(degree))
                    .sum();
                let exact = 1.0 / f64::from(degree + 1);
                assert!((sum - exact).abs() < 1e-13, "{points} {degree}: {sum}");
            }
        }
    }
}
