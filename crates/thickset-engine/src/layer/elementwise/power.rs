//! Numbers to a fixed power; -1 gives the reciprocal.

use crate::tensor::Tensor;

use super::{Elementwise, finite};
use crate::layer::Form;
use crate::{Error, Result};

/// The largest exponent: numbers but 1 are 0 or infinite long before.
const LARGEST: f64 = 1e9;

/// `x^exponent`; numbers that are not positive want a whole exponent.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    exponent: f64,
}

impl Power {
    /// To this power.
    ///
    /// # Errors
    /// If `exponent` is not finite, or beyond what is a power in any useful sense: Burn reads whole exponents as `i64`.
    pub fn new(exponent: f64) -> Result<Self> {
        let exponent = finite("exponent", exponent)?;
        if exponent.abs() > LARGEST {
            return Err(Error::Exponent {
                largest: LARGEST,
                got: exponent,
            });
        }
        Ok(Self { exponent })
    }
}

/// `factor x^exponent`, and a constant where the exponent is 0, whatever `x`.
#[expect(
    clippy::float_cmp,
    reason = "these exponents alone have a form of their own"
)]
fn term(x: Tensor<2>, factor: f64, exponent: f64) -> Tensor<2> {
    if exponent == 0.0 {
        x.zeros_like() + factor
    } else if exponent == 1.0 {
        x * factor
    } else {
        x.powf_scalar(exponent) * factor
    }
}

impl Elementwise for Power {
    const KIND: &'static str = "power";

    fn form(&self) -> Option<Form> {
        Some(Form::Power {
            exponent: self.exponent,
        })
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2> {
        term(x, 1.0, self.exponent)
    }

    fn slope(&self, x: Tensor<2>) -> Tensor<2> {
        term(x, self.exponent, self.exponent - 1.0)
    }

    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>> {
        let factor = self.exponent * (self.exponent - 1.0);
        (factor != 0.0).then(|| term(x, factor, self.exponent - 2.0))
    }

    fn is_curved(&self) -> bool {
        self.exponent * (self.exponent - 1.0) != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_beyond_all_whole_numbers_are_refused() {
        assert!(Power::new(1e9).is_ok());
        let refused = Power::new(-1e30).unwrap_err().to_string();
        assert_eq!(
            refused,
            "`exponent` must be between -1e9 and 1e9, got -1e30"
        );
    }
}
