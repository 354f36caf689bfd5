//! A tile of rows on its way through a chain.

use super::Tile;
use super::head::{bend, seed, seed_tangent};
use crate::Output;
use crate::kernel::{
    Activation, Bend, Packed, Real, Scratch, enter, leave, multiply, row_softmax, tile_numbers,
    tile_rows,
};
use crate::layer::Part;

/// The maps of a chain, the first one first.
#[derive(Debug)]
pub(super) struct Maps<T> {
    maps: Vec<Map<T>>,
    features: usize,
    classes: usize,
    /// Two classes and a piecewise linear network: the output is a function of the margin, whose gradient does not bend.
    margin_tells: bool,
}

/// A linear map with what follows it.
#[derive(Debug)]
struct Map<T> {
    up: Packed<T>,
    down: Packed<T>,
    bias: Vec<T>,
    activation: Activation<T>,
}

impl<T: Real> Maps<T> {
    /// `None` where an activation follows no linear map.
    pub(super) fn new(features: usize, parts: &[Part<'_>]) -> Option<Self> {
        let mut maps: Vec<Map<T>> = Vec::new();
        for part in parts {
            match part {
                Part::Linear { weight, bias } => {
                    let [outputs, inputs] = weight.dims();
                    let (w, bias) = (numbers::<T>(weight), numbers::<T>(bias));
                    maps.push(Map {
                        up: Packed::new(outputs, inputs, |row, column| w[row * inputs + column]),
                        down: Packed::new(inputs, outputs, |row, column| w[column * inputs + row]),
                        bias,
                        activation: Activation::None,
                    });
                }
                Part::Relu => maps.last_mut()?.follow(Activation::Relu)?,
                Part::Softplus { beta } => {
                    let beta = T::from_f64(*beta);
                    maps.last_mut()?.follow(Activation::Softplus { beta })?;
                }
            }
        }
        let classes = maps.last()?.bias.len();
        let is_smooth = |map: &Map<T>| matches!(map.activation, Activation::Softplus { .. });
        let ends_linear = maps.last()?.activation == Activation::None;
        Some(Self {
            margin_tells: classes == 2 && ends_linear && !maps.iter().any(is_smooth),
            maps,
            features,
            classes,
        })
    }
}

impl<T: Real> Map<T> {
    fn follow(&mut self, activation: Activation<T>) -> Option<()> {
        (self.activation == Activation::None).then(|| self.activation = activation)
    }
}

fn numbers<T: Real>(tensor: &burn::tensor::Tensor<2>) -> Vec<T> {
    tensor.to_data().iter::<f64>().map(T::from_f64).collect()
}

/// Room for the rows between two maps.
struct Place<T> {
    /// The output of the map before.
    bend: Bend<T>,
    /// An adjoint on its way down, or its change.
    adjoint: Scratch<T>,
    /// The change of the output on its way up.
    tangent: Scratch<T>,
}

/// A tile's room, and what was found of its rows.
pub(super) struct Run<'m, T> {
    of: &'m Maps<T>,
    places: Vec<Place<T>>,
    /// What enters or leaves at the input's side: rows, gradient, direction, product.
    input: Scratch<T>,
    output: Output,
    classes: Vec<usize>,
    logits: Vec<f64>,
    probabilities: Vec<f64>,
    /// Rows of as many numbers as there are classes.
    seeds: Vec<f64>,
    gradient: Vec<f64>,
    product: Vec<f64>,
}

impl<'m, T: Real> Run<'m, T> {
    pub(super) fn new(of: &'m Maps<T>) -> Self {
        let place = |map: &Map<T>| {
            let numbers = tile_numbers::<T>(map.bias.len());
            Place {
                bend: Bend::new(map.activation, numbers),
                adjoint: Scratch::new(numbers),
                tangent: Scratch::new(numbers),
            }
        };
        Self {
            places: of.maps.iter().map(place).collect(),
            input: Scratch::new(tile_numbers::<T>(of.features)),
            of,
            output: Output::Logit,
            classes: Vec::new(),
            logits: Vec::new(),
            probabilities: Vec::new(),
            seeds: Vec::new(),
            gradient: Vec::new(),
            product: Vec::new(),
        }
    }

    fn rows(&self) -> usize {
        self.classes.len()
    }

    /// From the input to the logits.
    fn forward(&mut self) {
        let rows = self.rows();
        let mut before = self.input.numbers();
        for (map, place) in self.of.maps.iter().zip(&mut self.places) {
            let out = place.bend.value.numbers();
            multiply(&map.up, Some(&map.bias), before, rows, out);
            place.bend.apply();
            before = place.bend.value.numbers();
        }
        leave(before, self.of.classes, &mut self.logits);
    }

    /// From the input's change to that of the logits, which goes where the seeds are.
    fn push(&mut self) {
        let rows = self.rows();
        let mut before = self.input.numbers();
        for (map, place) in self.of.maps.iter().zip(&mut self.places) {
            let out = place.tangent.numbers();
            multiply(&map.up, None, before, rows, out);
            place.bend.push(out);
            before = place.tangent.numbers();
        }
        leave(before, self.of.classes, &mut self.seeds);
    }

    /// From the seeds to the input. `step` is what the activations do.
    fn backward(&mut self, step: impl Fn(&mut Bend<T>, &mut [T])) {
        let rows = self.rows();
        let Some(last) = self.places.last_mut() else {
            return;
        };
        enter(&self.seeds, self.of.classes, last.adjoint.numbers());
        for (place, map) in self.of.maps.iter().enumerate().rev() {
            let (below, here) = self.places.split_at_mut(place);
            let adjoint = here[0].adjoint.numbers();
            step(&mut here[0].bend, adjoint);
            let out = match below.last_mut() {
                Some(below) => below.adjoint.numbers(),
                None => self.input.numbers(),
            };
            multiply(&map.down, None, adjoint, rows, out);
        }
    }

    /// `H u = f'' <∇m, u> ∇m` for the margin `m`, and the gradient is `f' ∇m`.
    fn product_by_margin(&mut self, direction: &[f64]) {
        let features = self.of.features;
        let rows = self
            .gradient
            .chunks(features)
            .zip(direction.chunks(features));
        let of_rows = rows
            .zip(self.product.chunks_mut(features))
            .zip(self.probabilities.chunks(2));
        for ((((g, u), product), p), &class) in of_rows.zip(&self.classes) {
            let along: f64 = g.iter().zip(u).map(|(g, u)| g * u).sum();
            let factor = along * bend(self.output, p[class], p[1 - class]);
            for (product, g) in product.iter_mut().zip(g) {
                *product = factor * g;
            }
        }
    }
}

impl<T: Real> Tile for Run<'_, T> {
    fn run(&mut self, x: &[f64], output: Output, classes: &[usize]) {
        let (features, count) = (self.of.features, self.of.classes);
        let rows = classes.len();
        assert!(rows <= tile_rows::<T>(), "the rows of a tile");
        assert_eq!(x.len(), rows * features, "rows of whole features");
        assert!(
            classes.iter().all(|class| *class < count),
            "classes of the network"
        );
        self.output = output;
        self.classes.clear();
        self.classes.extend_from_slice(classes);
        for of_classes in [&mut self.logits, &mut self.probabilities, &mut self.seeds] {
            of_classes.resize(rows * count, 0.0);
        }
        for of_features in [&mut self.gradient, &mut self.product] {
            of_features.resize(rows * features, 0.0);
        }
        enter(x, features, self.input.numbers());
        self.forward();
        let of_rows = self
            .logits
            .chunks(count)
            .zip(self.probabilities.chunks_mut(count));
        let of_rows = of_rows.zip(self.seeds.chunks_mut(count));
        for (((z, p), out), class) in of_rows.zip(classes) {
            row_softmax(z, p);
            seed(output, p, *class, out);
        }
        self.backward(Bend::pull_back);
        leave(self.input.numbers(), features, &mut self.gradient);
    }

    fn logits(&self) -> &[f64] {
        &self.logits
    }

    fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    fn hessian_product(&mut self, direction: &[f64]) -> &[f64] {
        assert_eq!(direction.len(), self.gradient.len(), "one direction a row");
        if self.of.margin_tells {
            self.product_by_margin(direction);
            return &self.product;
        }
        let count = self.of.classes;
        enter(direction, self.of.features, self.input.numbers());
        self.push();
        let of_rows = self
            .seeds
            .chunks_mut(count)
            .zip(self.probabilities.chunks(count));
        for ((seed, p), class) in of_rows.zip(&self.classes) {
            seed_tangent(self.output, p, seed, *class);
        }
        self.backward(Bend::pull_back_tangent);
        leave(self.input.numbers(), self.of.features, &mut self.product);
        &self.product
    }
}
