//! Functions of angles and of hyperbolas: two layers of their own, the others of these, of powers, exponentials and logarithms.

use std::f64::consts::FRAC_PI_2;

use thickset_engine::layer::Form;

use super::{Lowering, Made};
use crate::onnx::problem::Result;

/// Whether an operator is one of them.
pub(super) fn is_one(operator: &str) -> bool {
    matches!(
        operator,
        "Tan" | "Atan" | "Asin" | "Acos" | "Sinh" | "Cosh" | "Asinh" | "Acosh" | "Atanh"
    )
}

impl Lowering<'_> {
    /// The layers of an operator for which [`is_one`] holds.
    pub(super) fn trigonometric(&mut self, operator: &str, x: &Made) -> Result<Made> {
        let dims = || x.dims.clone();
        match operator {
            "Tan" => {
                let sine = self.apply(Form::Sine, x)?;
                let turned = self.affine(x, &[1.0], &[FRAC_PI_2], None)?;
                let cosine = self.apply(Form::Sine, &turned)?;
                let share = self.apply(Form::Power { exponent: -1.0 }, &cosine)?;
                self.add(Form::Multiply, &[&sine, &share], dims())
            }
            "Atan" => self.apply(Form::Arctangent, x),
            // The angle whose tangent is `x / sqrt(1 - x^2)`.
            "Asin" | "Acos" => {
                let square = self.apply(Form::Power { exponent: 2.0 }, x)?;
                let rest = self.affine(&square, &[-1.0], &[1.0], None)?;
                let share = self.apply(Form::Power { exponent: -0.5 }, &rest)?;
                let tangent = self.add(Form::Multiply, &[x, &share], dims())?;
                let angle = self.apply(Form::Arctangent, &tangent)?;
                if operator == "Asin" {
                    return Ok(angle);
                }
                self.affine(&angle, &[-1.0], &[FRAC_PI_2], None)
            }
            "Sinh" | "Cosh" => {
                let sign = if operator == "Sinh" { -0.5 } else { 0.5 };
                let growing = self.apply(Form::Exp, x)?;
                let growing = self.affine(&growing, &[0.5], &[0.0], None)?;
                let opposite = self.affine(x, &[-1.0], &[0.0], None)?;
                let falling = self.apply(Form::Exp, &opposite)?;
                let falling = self.affine(&falling, &[sign], &[0.0], None)?;
                self.add(Form::Add, &[&growing, &falling], dims())
            }
            "Asinh" => self.apply(Form::InverseSinh, x),
            // `log(x + sqrt(x^2 - 1))`
            "Acosh" => {
                let square = self.apply(Form::Power { exponent: 2.0 }, x)?;
                let rest = self.affine(&square, &[1.0], &[-1.0], None)?;
                let root = self.apply(Form::SquareRoot, &rest)?;
                let sum = self.add(Form::Add, &[x, &root], dims())?;
                self.apply(Form::Log, &sum)
            }
            // Half of `log(1 + x) - log(1 - x)`.
            _ => {
                let above = self.affine(x, &[1.0], &[1.0], None)?;
                let above = self.apply(Form::Log, &above)?;
                let above = self.affine(&above, &[0.5], &[0.0], None)?;
                let below = self.affine(x, &[-1.0], &[1.0], None)?;
                let below = self.apply(Form::Log, &below)?;
                let below = self.affine(&below, &[-0.5], &[0.0], None)?;
                self.add(Form::Add, &[&above, &below], dims())
            }
        }
    }
}
