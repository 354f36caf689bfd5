//! Average pooling over windows that tile the image; one window is global average pooling.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};
use crate::{Error, Result};

/// Means of `window` by `window` pixels (or of whole channels), without overlap.
#[derive(Clone, Copy, Debug)]
pub struct AveragePool {
    channels: usize,
    height: usize,
    width: usize,
    window_height: usize,
    window_width: usize,
}

impl AveragePool {
    /// Square windows; they must tile the image.
    ///
    /// # Errors
    /// If `window` does not divide height and width.
    pub fn new(channels: usize, height: usize, width: usize, window: usize) -> Result<Self> {
        Self::rectangular(channels, height, width, [window; 2])
    }

    /// Windows of this many rows and columns; they must tile the image.
    ///
    /// # Errors
    /// If they do not divide height and width.
    pub fn rectangular(
        channels: usize,
        height: usize,
        width: usize,
        window: [usize; 2],
    ) -> Result<Self> {
        for (side, window) in [(height, window[0]), (width, window[1])] {
            if window == 0 || !side.is_multiple_of(window) {
                return Err(Error::Size {
                    name: "window",
                    most: side,
                    got: window,
                });
            }
        }
        Ok(Self {
            channels,
            height,
            width,
            window_height: window[0],
            window_width: window[1],
        })
    }

    /// One mean per channel.
    #[must_use]
    pub fn global(channels: usize, height: usize, width: usize) -> Self {
        Self {
            channels,
            height,
            width,
            window_height: height,
            window_width: width,
        }
    }

    fn in_features(self) -> usize {
        self.channels * self.height * self.width
    }

    fn out_size(self) -> (usize, usize) {
        (
            self.height / self.window_height,
            self.width / self.window_width,
        )
    }

    /// `[rows, channels * out_height, window_height, out_width, window_width]`
    fn windows(self, x: Tensor<2>) -> Tensor<5> {
        let rows = x.dims()[0];
        let (out_height, out_width) = self.out_size();
        x.reshape([
            rows,
            self.channels * out_height,
            self.window_height,
            out_width,
            self.window_width,
        ])
    }

    fn mean(self, x: Tensor<2>) -> Tensor<2> {
        let rows = x.dims()[0];
        let (out_height, out_width) = self.out_size();
        self.windows(x)
            .mean_dim(4)
            .mean_dim(2)
            .reshape([rows, self.channels * out_height * out_width])
    }

    fn spread(self, g: Tensor<2>) -> Tensor<2> {
        let rows = g.dims()[0];
        let (out_height, out_width) = self.out_size();
        #[expect(
            clippy::cast_precision_loss,
            reason = "windows are far below 2^53 pixels"
        )]
        let share = 1.0 / (self.window_height * self.window_width) as f64;
        (g * share)
            .reshape([rows, self.channels * out_height, 1, out_width, 1])
            .expand([
                rows,
                self.channels * out_height,
                self.window_height,
                out_width,
                self.window_width,
            ])
            .reshape([rows, self.in_features()])
    }
}

impl Layer for AveragePool {
    fn kind(&self) -> &'static str {
        "average-pool"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::AveragePool {
            channels: self.channels,
            height: self.height,
            width: self.width,
            window: [self.window_height, self.window_width],
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let (out_height, out_width) = self.out_size();
        (inputs == [self.in_features()]).then_some(self.channels * out_height * out_width)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.mean(single(inputs))
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        (self.forward(inputs), Box::new(*self))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

impl Linearised for AveragePool {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![self.spread(g)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.mean(single(v))
    }
}
