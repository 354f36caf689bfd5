//! Writes a layer, `x²`, and checks its derivatives against finite differences.
//!
//! A layer states its forward and, linearised at the point where it ran, its pullback, its tangent and how the pullback changes.
//! With these, input gradients, Hessian products and every objective and attack work on a network that has it.
//!
//! `cargo run --release -p thickset --example new_layer`

use thickset::Seed;
use thickset::host::read;
use thickset::model::Fresh;
use thickset_engine::layer::{Layer, Linear, Linearised};
use thickset_engine::{Network, NetworkBuilder, Output, Result, Tensor, one_hot};

/// `x²`, value by value.
#[derive(Clone, Copy, Debug)]
struct Square;

impl Layer for Square {
    fn kind(&self) -> &'static str {
        "square"
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [features] = inputs else { return None };
        Some(*features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        inputs[0].clone() * inputs[0].clone()
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = inputs[0].clone();
        (self.forward(inputs), Box::new(SquareAt { x }))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

/// The square at one input.
struct SquareAt {
    x: Tensor<2>,
}

impl Linearised for SquareAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![self.x.clone() * 2.0 * g]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.x.clone() * 2.0 * v[0].clone()
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        vec![v[0].clone() * 2.0 * g.clone() + self.x.clone() * 2.0 * g_dot]
    }
}

/// Three features, four squared units, two classes, in double precision.
fn network() -> Result<Network> {
    let mut source = Fresh::double(Seed::new(1));
    let mut builder = NetworkBuilder::new(3, &mut source);
    builder.then(|scope| Linear::new(3, 4, scope))?;
    builder.then(|_| Ok(Square))?;
    builder.then(|scope| Linear::new(4, 2, scope))?;
    builder.finish()
}

fn main() -> Result<()> {
    let network = network()?;
    let gradient = |x: &[f64]| {
        let x = network.batch(x);
        let class = one_hot(&[1], 2, network.dtype(), &x.device());
        let pass = network.pass(x);
        read(pass.input_gradient(Output::Probability, class).value())
    };
    let probability = |x: &[f64]| read(network.probabilities(network.batch(x)))[1];
    let x = [0.3, -0.2, 0.9];
    let step = 1e-6;
    for (feature, exact) in gradient(&x).into_iter().enumerate() {
        let moved = |by: f64| {
            let mut moved = x;
            moved[feature] += by;
            probability(&moved)
        };
        let difference = (moved(step) - moved(-step)) / (2.0 * step);
        println!("feature {feature}: {exact:.9} exact, {difference:.9} by differences");
        assert!((exact - difference).abs() < 1e-8);
    }
    Ok(())
}
