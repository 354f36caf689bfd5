//! Activations of a [tile](super) in place, and the numbers that their derivatives need.
//!
//! They do what the layers of the tensor path do, in the same order of operations.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use crate::kernel::buffer::Scratch;
use crate::kernel::real::Real;
use crate::kernel::simd::{Task, Vector};
use crate::kernel::softplus::value_and_slope;

/// What follows a linear map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation<T> {
    /// Nothing.
    None,
    /// `max(x, 0)`, with derivative 0 at 0.
    Relu,
    /// `log(1 + exp(beta x)) / beta`.
    Softplus { beta: T },
}

/// An activation where it ran.
pub(crate) struct ActivationState<T> {
    activation: Activation<T>,
    /// The linear map's output, then the activation's.
    pub(crate) value: Scratch<T>,
    /// Of softplus alone, else empty: its first derivative, its second one times the adjoint of its output, and that times
    /// the change of its input.
    slope: Scratch<T>,
    curvature: Scratch<T>,
    curvature_change: Scratch<T>,
}

impl<T: Real> ActivationState<T> {
    /// Room for so many numbers.
    pub(crate) fn new(activation: Activation<T>, numbers: usize) -> Self {
        let of_smooth = match activation {
            Activation::Softplus { .. } => numbers,
            Activation::None | Activation::Relu => 0,
        };
        Self {
            activation,
            value: Scratch::new(numbers),
            slope: Scratch::new(of_smooth),
            curvature: Scratch::new(of_smooth),
            curvature_change: Scratch::new(of_smooth),
        }
    }

    /// The output in place of the input.
    pub(crate) fn forward(&mut self) {
        self.run(Operation::Forward, &mut []);
    }

    /// The adjoint of the input in place of that of the output.
    pub(crate) fn pullback(&mut self, adjoint: &mut [T]) {
        self.run(Operation::Pullback, adjoint);
    }

    /// The change of the output in place of that of the input.
    pub(crate) fn tangent(&mut self, tangent: &mut [T]) {
        self.run(Operation::Tangent, tangent);
    }

    /// The change of the input's adjoint in place of that of the output's, along the last tangent.
    pub(crate) fn pullback_tangent(&mut self, change: &mut [T]) {
        self.run(Operation::PullbackTangent, change);
    }

    fn run(&mut self, operation: Operation, moving: &mut [T]) {
        if self.activation != Activation::None {
            T::vectorised(Step {
                at: self,
                operation,
                moving,
            });
        }
    }
}

enum Operation {
    Forward,
    Pullback,
    Tangent,
    PullbackTangent,
}

struct Step<'a, T> {
    at: &'a mut ActivationState<T>,
    operation: Operation,
    moving: &'a mut [T],
}

impl<T: Real> Task<T> for Step<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let zero = T::default();
        let (value, slope) = (self.at.value.numbers(), self.at.slope.numbers());
        let (curvature, curvature_change) = (
            self.at.curvature.numbers(),
            self.at.curvature_change.numbers(),
        );
        let moving = self.moving.iter_mut();
        match (self.at.activation, self.operation) {
            (Activation::None, _) => {}
            (Activation::Relu, Operation::Forward) => {
                for value in value {
                    *value = if *value > zero { *value } else { zero };
                }
            }
            // The output is positive where the input is.
            (Activation::Relu, _) => {
                for (moving, value) in moving.zip(value) {
                    *moving = if *value > zero { *moving } else { zero };
                }
            }
            (Activation::Softplus { beta }, Operation::Forward) => {
                let shrink = T::ONE / beta;
                for (value, slope) in value.iter_mut().zip(slope) {
                    (*value, *slope) = value_and_slope(*value, beta, shrink);
                }
            }
            (Activation::Softplus { beta }, Operation::Pullback) => {
                for ((adjoint, slope), curvature) in moving.zip(slope).zip(curvature) {
                    *curvature = *adjoint * (*slope * (T::ONE - *slope) * beta);
                    *adjoint = *adjoint * *slope;
                }
            }
            (Activation::Softplus { .. }, Operation::Tangent) => {
                let places = moving.zip(slope).zip(curvature).zip(curvature_change);
                for (((tangent, slope), curvature), curvature_change) in places {
                    *curvature_change = *tangent * *curvature;
                    *tangent = *tangent * *slope;
                }
            }
            (Activation::Softplus { .. }, Operation::PullbackTangent) => {
                for ((change, slope), curvature_change) in moving.zip(slope).zip(curvature_change) {
                    *change = *change * *slope + *curvature_change;
                }
            }
        }
    }
}
