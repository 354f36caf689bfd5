//! Gradients of functions of single numbers.

use burn_backend::ops::FloatTensorOps;
use burn_wgpu::Wgpu;

use super::{Array, DType, Tensor, filled, floats, number, tensor, unary};
use crate::tensor::primitive::Unary;

/// `gradient * slope`, the slope being a function of what was kept: the function's input or its output.
pub(crate) fn unary_gradient(function: Unary, kept: Option<Array>, gradient: Array) -> Array {
    let shape = gradient.shape;
    let kept = match (function, kept) {
        (Unary::Negate, _) => return unary(Unary::Negate, gradient),
        (Unary::Sign, _) => return filled(shape, 0.0, DType::F32),
        (_, Some(kept)) => tensor(&kept),
        (_, None) => panic!("the gradient of {function:?} needs what was kept of it"),
    };
    let g = tensor(&gradient);
    let value = match function {
        Unary::Absolute => Wgpu::float_mul(g, Wgpu::float_sign(kept)),
        Unary::Exp => Wgpu::float_mul(g, kept),
        Unary::Log => Wgpu::float_div(g, kept),
        Unary::LogOnePlus => Wgpu::float_div(g, one_more(kept)),
        Unary::SquareRoot => Wgpu::float_div(g, Wgpu::float_mul_scalar(kept, number(2.0))),
        Unary::Reciprocal => Wgpu::float_neg(Wgpu::float_mul(g, square(kept))),
        Unary::Sine => Wgpu::float_mul(g, Wgpu::float_cos(kept)),
        Unary::Cosine => Wgpu::float_neg(Wgpu::float_mul(g, Wgpu::float_sin(kept))),
        Unary::Tanh => Wgpu::float_mul(g, rest_of_one(square(kept))),
        Unary::Arctangent => Wgpu::float_div(g, one_more(square(kept))),
        Unary::InverseSinh => Wgpu::float_div(g, Wgpu::float_sqrt(one_more(square(kept)))),
        Unary::Erf => {
            let bell = Wgpu::float_exp(Wgpu::float_neg(square(kept)));
            let slope = Wgpu::float_mul_scalar(bell, number(std::f64::consts::FRAC_2_SQRT_PI));
            Wgpu::float_mul(g, slope)
        }
        Unary::Sigmoid => {
            let slope = Wgpu::float_mul(kept.clone(), rest_of_one(kept));
            Wgpu::float_mul(g, slope)
        }
        Unary::Negate | Unary::Sign => unreachable!("its gradient needs nothing"),
    };
    floats(value, shape)
}

fn square(x: Tensor) -> Tensor {
    Wgpu::float_mul(x.clone(), x)
}

fn one_more(x: Tensor) -> Tensor {
    Wgpu::float_add_scalar(x, number(1.0))
}

fn rest_of_one(x: Tensor) -> Tensor {
    one_more(Wgpu::float_neg(x))
}
