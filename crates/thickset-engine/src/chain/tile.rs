//! A tile of rows on its way through a chain.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::Tile;
use super::head::{curvature_ratio, seed, seed_tangent};
use crate::kernel::{
    Activation, ActivationState, PackedMatrix, Real, Scratch, VectorLoop, boundary_numbers,
    multiply, pack_rows, sum_of_pairs, tile_numbers, tile_rows, unpack_rows, vectorised,
};
use crate::layer::Part;
use crate::{Output, interrupt};

/// The maps of a chain, the first one first.
#[derive(Debug)]
pub(super) struct Maps<T> {
    list: Vec<Map<T>>,
    pub(super) features: usize,
    classes: usize,
    /// Two classes and a piecewise linear network: the output is a function of the margin, whose gradient does not bend.
    pub(super) depends_on_margin_only: bool,
}

/// A linear map with what follows it.
#[derive(Debug)]
struct Map<T> {
    up: PackedMatrix<T>,
    down: PackedMatrix<T>,
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
                        up: PackedMatrix::new(outputs, inputs, |row, column| {
                            w[row * inputs + column]
                        }),
                        down: PackedMatrix::new(inputs, outputs, |row, column| {
                            w[column * inputs + row]
                        }),
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
            depends_on_margin_only: classes == 2 && ends_linear && !maps.iter().any(is_smooth),
            list: maps,
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

fn numbers<T: Real>(tensor: &crate::tensor::Tensor<2>) -> Vec<T> {
    tensor.to_data().iter::<f64>().map(T::from_f64).collect()
}

/// Room for the rows between two maps.
pub(super) struct Place<T> {
    /// The output of the map before.
    pub(super) activation: ActivationState<T>,
    /// An adjoint on its way down, or its change.
    pub(super) adjoint: Scratch<T>,
    /// The change of the output on its way up.
    tangent: Scratch<T>,
}

/// The place behind the last map.
pub(super) fn last<T>(places: &mut [Place<T>]) -> &mut Place<T> {
    let last = places.last_mut();
    last.unwrap_or_else(|| unreachable!("a chain has a map"))
}

/// A tile's room, and what was found of its rows.
pub(super) struct Run<'m, T> {
    of: &'m Maps<T>,
    pub(super) places: Vec<Place<T>>,
    /// What enters or leaves at the input's side: rows, gradient, direction, product.
    pub(super) input: Scratch<T>,
    /// Of what enters or leaves.
    room: Scratch<T>,
    output: Output,
    classes: Vec<usize>,
    logits: Vec<f64>,
    probabilities: Vec<f64>,
    /// Rows of as many numbers as there are classes: 1 at the row's class, else 0.
    hot: Vec<f64>,
    /// The same for the gradient in the logits.
    seeds: Vec<f64>,
    /// Two rows of them.
    spare: [Vec<f64>; 2],
    gradient: Vec<f64>,
}

impl<'m, T: Real> Run<'m, T> {
    pub(super) fn new(of: &'m Maps<T>) -> Self {
        let edge = boundary_numbers::<T>(of.features).max(boundary_numbers::<T>(of.classes));
        let last = of.list.len() - 1;
        let place = |(place, map): (usize, &Map<T>)| {
            let numbers = if place == last {
                boundary_numbers::<T>(of.classes)
            } else {
                tile_numbers::<T>(map.bias.len())
            };
            Place {
                activation: ActivationState::new(map.activation, numbers),
                adjoint: Scratch::new(numbers),
                tangent: Scratch::new(numbers),
            }
        };
        Self {
            places: of.list.iter().enumerate().map(place).collect(),
            input: Scratch::new(edge),
            room: Scratch::new(edge),
            of,
            output: Output::Logit,
            classes: Vec::new(),
            logits: Vec::new(),
            probabilities: Vec::new(),
            hot: Vec::new(),
            seeds: Vec::new(),
            spare: [(); 2].map(|()| vec![0.0; of.classes]),
            gradient: Vec::new(),
        }
    }

    fn rows(&self) -> usize {
        self.classes.len()
    }

    /// From the input to the logits, which stay in the last place.
    pub(super) fn ascend(&mut self, rows: usize) {
        let mut before = self.input.numbers();
        for (map, place) in self.of.list.iter().zip(&mut self.places) {
            let out = place.activation.value.numbers();
            multiply(&map.up, Some(&map.bias), before, rows, out);
            place.activation.forward();
            before = place.activation.value.numbers();
        }
    }

    /// From the input's change to that of the logits, which goes where the seeds are.
    fn push(&mut self) {
        let rows = self.rows();
        let mut before = self.input.numbers();
        for (map, place) in self.of.list.iter().zip(&mut self.places) {
            let out = place.tangent.numbers();
            multiply(&map.up, None, before, rows, out);
            place.activation.tangent(out);
            before = place.tangent.numbers();
        }
        unpack_rows(
            before,
            self.of.classes,
            self.room.numbers(),
            &mut self.seeds,
        );
    }

    /// From the seeds to the input. `step` is what the activations do.
    fn backward(&mut self, step: impl Fn(&mut ActivationState<T>, &mut [T])) {
        let rows = self.rows();
        let last = last(&mut self.places);
        pack_rows(
            &self.seeds,
            self.of.classes,
            self.room.numbers(),
            last.adjoint.numbers(),
        );
        self.descend(rows, step);
    }

    /// From the adjoint in the last place to the input.
    pub(super) fn descend(
        &mut self,
        rows: usize,
        step: impl Fn(&mut ActivationState<T>, &mut [T]),
    ) {
        for (place, map) in self.of.list.iter().enumerate().rev() {
            let (below, here) = self.places.split_at_mut(place);
            let adjoint = here[0].adjoint.numbers();
            step(&mut here[0].activation, adjoint);
            let out = match below.last_mut() {
                Some(below) => below.adjoint.numbers(),
                None => self.input.numbers(),
            };
            multiply(&map.down, None, adjoint, rows, out);
        }
    }
}

/// Hessian products where the output is a function f of the margin `m` alone: `H u = f'' <∇m, u> ∇m`, and the gradient is
/// `f' ∇m`.
struct ByMargin<'a> {
    gradient: &'a [f64],
    direction: &'a [f64],
    features: usize,
    probabilities: &'a [f64],
    classes: &'a [usize],
    output: Output,
    product: &'a mut [f64],
}

impl VectorLoop for ByMargin<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let features = self.features;
        let rows = self
            .gradient
            .chunks(features)
            .zip(self.direction.chunks(features));
        let rows = rows.zip(self.product.chunks_mut(features));
        let rows = rows.zip(self.probabilities.chunks(2).zip(self.classes));
        for (((g, u), product), (p, &class)) in rows {
            let along = sum_of_pairs(g, u, |g, u| g * u);
            let factor = along * curvature_ratio(self.output, p[class], p[1 - class]);
            for (product, g) in product.iter_mut().zip(g) {
                *product = factor * g;
            }
        }
    }
}

impl<T: Real> Tile for Run<'_, T> {
    fn run(&mut self, x: &[f64], output: Output, classes: &[usize]) {
        interrupt::check();
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
        self.gradient.resize(rows * features, 0.0);
        pack_rows(x, features, self.room.numbers(), self.input.numbers());
        self.ascend(rows);
        unpack_rows(
            last(&mut self.places).activation.value.numbers(),
            count,
            self.room.numbers(),
            &mut self.logits,
        );
        self.hot.clear();
        self.hot.resize(rows * count, 0.0);
        for (hot, class) in self.hot.chunks_mut(count).zip(classes) {
            hot[*class] = 1.0;
        }
        let given = self.logits.chunks(count).zip(self.hot.chunks(count));
        let found = self
            .probabilities
            .chunks_mut(count)
            .zip(self.seeds.chunks_mut(count));
        for ((z, hot), (p, out)) in given.zip(found) {
            seed(output, z, hot, p, out);
        }
        self.backward(ActivationState::pullback);
        unpack_rows(
            self.input.numbers(),
            features,
            self.room.numbers(),
            &mut self.gradient,
        );
    }

    fn logits(&self) -> &[f64] {
        &self.logits
    }

    fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    fn hessian_product(&mut self, direction: &[f64], product: &mut [f64]) {
        let numbers = self.gradient.len();
        assert_eq!(direction.len(), numbers, "one direction a row");
        assert_eq!(product.len(), numbers, "one product a row");
        if self.of.depends_on_margin_only {
            return vectorised(ByMargin {
                gradient: &self.gradient,
                direction,
                features: self.of.features,
                probabilities: &self.probabilities,
                classes: &self.classes,
                output: self.output,
                product,
            });
        }
        let count = self.of.classes;
        pack_rows(
            direction,
            self.of.features,
            self.room.numbers(),
            self.input.numbers(),
        );
        self.push();
        let [q, change] = &mut self.spare;
        let given = self.logits.chunks(count).zip(self.hot.chunks(count));
        let found = self
            .seeds
            .chunks_mut(count)
            .zip(self.probabilities.chunks_mut(count));
        for ((z, hot), (v, p)) in given.zip(found) {
            seed_tangent(self.output, z, hot, v, [p, q, change]);
        }
        self.backward(ActivationState::pullback_tangent);
        unpack_rows(
            self.input.numbers(),
            self.of.features,
            self.room.numbers(),
            product,
        );
    }
}
