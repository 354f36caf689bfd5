//! Average pooling over windows that may overlap and reach beyond the image: a convolution of each channel with ones, and a
//! factor for each window.

use crate::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Form, Layer, Linearised, single};
use crate::Result;
use crate::kernel::{ConvShape, PoolShape, conv2d, conv2d_input};

/// What a window that reaches beyond the image is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Divisor {
    /// The size of the window: what lies beyond counts as zeros.
    Window,
    /// The pixels of the image in it.
    Pixels,
}

/// Means of windows over each channel, of any [`PoolShape`].
#[derive(Clone, Copy, Debug)]
pub struct SlidingAveragePool {
    shape: PoolShape,
    divisor: Divisor,
}

impl SlidingAveragePool {
    /// Pools images of this shape.
    ///
    /// # Errors
    /// If the window does not fit.
    pub fn new(shape: PoolShape, divisor: Divisor) -> Result<Self> {
        Ok(Self {
            shape: shape.checked()?,
            divisor,
        })
    }

    fn at(&self, like: &Tensor<2>) -> At {
        let PoolShape {
            height,
            width,
            window,
            stride,
            padding,
            ..
        } = self.shape;
        let conv = ConvShape {
            kernel: window,
            stride,
            padding,
            ..ConvShape::square([1, height, width], 1, 1, 1, 0)
        };
        let (device, dtype) = (like.device().without_autodiff(), like.dtype());
        let factors = TensorData::new(self.factors(), [1, conv.out_pixels()]);
        At {
            ones: Tensor::ones([1, conv.taps()], (&device, dtype)),
            factors: Tensor::from_data(factors, (&device, dtype)),
            channels: self.shape.channels,
            conv,
        }
    }

    /// One over the divisor of each window.
    #[expect(
        clippy::cast_precision_loss,
        reason = "windows are far below 2^53 pixels"
    )]
    fn factors(&self) -> Vec<f64> {
        let shape = &self.shape;
        let (height, width) = (shape.out_height(), shape.out_width());
        let windows = (0..height * width).map(|at| (at / width, at % width));
        let pixels = windows.map(|(y, x)| match self.divisor {
            Divisor::Window => shape.window[0] * shape.window[1],
            Divisor::Pixels => shape.covered(0, y).len() * shape.covered(1, x).len(),
        });
        pixels.map(|pixels| 1.0 / pixels as f64).collect()
    }
}

impl Layer for SlidingAveragePool {
    fn kind(&self) -> &'static str {
        "sliding-average-pool"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::SlidingAveragePool {
            shape: self.shape,
            divisor: self.divisor,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.shape.in_features()]).then(|| self.shape.out_features())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = self.at(&inputs[0]);
        (at.tangent(inputs), Box::new(at))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    ones: Tensor<2>,
    factors: Tensor<2>,
    channels: usize,
    /// Of one channel.
    conv: ConvShape,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let [rows, _] = g.dims();
        let planes = g.reshape([rows * self.channels, self.conv.out_features()]);
        let spread = conv2d_input(planes * self.factors.clone(), self.ones.clone(), self.conv);
        vec![spread.reshape([rows, self.channels * self.conv.in_features()])]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let v = single(v);
        let [rows, _] = v.dims();
        let planes = v.reshape([rows * self.channels, self.conv.in_features()]);
        let sums = conv2d(planes, self.ones.clone(), self.conv) * self.factors.clone();
        sums.reshape([rows, self.channels * self.conv.out_features()])
    }
}
