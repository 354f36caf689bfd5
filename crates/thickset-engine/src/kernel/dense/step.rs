//! A loss of a chain with its gradients, computed at once.
//!
//! With J the Jacobian of the logits z, s the gradient of a class's probability in z, and a bar for the loss's slope in something:
//!
//! - The input gradient is `g = Jᵀ s`. Its slope `ḡ` gives s the slope `J ḡ`, and each weight the product of what lies beside it on the
//!   way down from s and on the way up from `ḡ`.
//! - The Hessian product is `h = Jᵀ t`, where t is the change of s when z moves along `J u`. Its slope goes the same ways. Of
//!   two classes it is a function of z and g alone.
//! - The slopes in z of all of these together go down the chain once.
//!
//! Two classes have a shorter way; see `margin.rs`.

mod margin;
mod product;

use self::margin::Margin;
use self::product::Product;
use super::loops::SumSquares;
use super::recorded::record_loss;
use super::run::{Between, Kept, Ways};
use super::{Maps, narrowed, widened};
use crate::kernel::head::{Shape, Softmax};
use crate::kernel::storage::{Stored, size};
use crate::layer::Part;
use crate::tensor::{Array, DType, Tensor};
use crate::training_step::{Slopes, TrainingStep};

/// Runs `x` through the parts of a chain whose weights are tracked. `None` where they are no chain, or not tracked, or the rows
/// are.
pub(crate) fn training_step(x: &Tensor<2>, parts: &[Part<'_>]) -> Option<Box<dyn TrainingStep>> {
    let maps = Maps::new(parts).filter(|maps| maps.run_on(x))?;
    if x.is_autodiff() || !maps.tensors().any(Tensor::is_autodiff) {
        return None;
    }
    Some(match x.dtype() {
        DType::F32 => Box::new(Step::<f32>::new(&maps, x)),
        DType::F64 => Box::new(Step::<f64>::new(&maps, x)),
        _ => return None,
    })
}

struct Step<T> {
    kept: Kept<T>,
    /// The weights, then the biases.
    parents: Vec<Tensor<2>>,
    head: Head,
    /// The loss's slopes in the logits.
    logit_slopes: Vec<f64>,
    /// What half the squares of the weights count for.
    decay: f64,
    gradient: Option<Gradient<T>>,
    product: Option<Product<T>>,
}

/// An input gradient and the way down to it.
struct Gradient<T> {
    classes: Vec<usize>,
    /// On the way down from the margins where there are such, else from the probabilities.
    adjoints: Between<T>,
    value: Vec<f64>,
    margin: Option<Margin<T>>,
}

/// The logits of all rows and their softmax.
struct Head {
    logits: Vec<f64>,
    probabilities: Vec<f64>,
    shapes: Vec<Shape>,
    /// How many there are.
    classes: usize,
}

impl Head {
    fn new(logits: Vec<f64>, classes: usize) -> Self {
        let mut probabilities = vec![0.0; logits.len()];
        let rows = logits
            .chunks(classes)
            .zip(probabilities.chunks_mut(classes));
        let shapes = rows.map(|(z, p)| Softmax::new(z, p).shape()).collect();
        Self {
            logits,
            probabilities,
            shapes,
            classes,
        }
    }

    /// Each row's softmax.
    fn rows(&self) -> impl Iterator<Item = Softmax<'_>> {
        let probabilities = self.probabilities.chunks(self.classes);
        let shapes = self.shapes.iter();
        shapes
            .zip(probabilities)
            .map(|(shape, p)| Softmax::of_shape(*shape, p))
    }

    /// For every row `work(softmax, 1 at its class and else 0, its numbers of each list, output)`; what comes out of all rows.
    fn by_class<const N: usize>(
        &self,
        classes: &[usize],
        lists: [&[f64]; N],
        mut work: impl FnMut(Softmax<'_>, &[f64], [&[f64]; N], &mut [f64]),
    ) -> Vec<f64> {
        let count = self.classes;
        let mut hot = vec![0.0; count];
        let mut out = vec![0.0; self.logits.len()];
        let rows = self.rows().zip(classes).zip(out.chunks_mut(count));
        for (row, ((softmax, class), out)) in rows.enumerate() {
            hot[*class] = 1.0;
            let of_row = lists.map(|list| &list[row * count..(row + 1) * count]);
            work(softmax, &hot, of_row, out);
            hot[*class] = 0.0;
        }
        out
    }
}

impl<T: Stored> Step<T> {
    fn new(maps: &Maps, x: &Tensor<2>) -> Self {
        let kept = maps.run::<T>(x);
        let logits = widened(&kept.last_values());
        Self {
            head: Head::new(logits, kept.outputs()),
            logit_slopes: Vec::new(),
            decay: 0.0,
            parents: maps.tensors().cloned().collect(),
            gradient: None,
            product: None,
            kept,
        }
    }

    fn add_logit_slopes(&mut self, slopes: Vec<f64>) {
        if self.logit_slopes.is_empty() {
            self.logit_slopes = slopes;
            return;
        }
        for (sum, slope) in self.logit_slopes.iter_mut().zip(slopes) {
            *sum += slope;
        }
    }
}

impl<T: Stored> TrainingStep for Step<T> {
    fn logits(&self) -> &[f64] {
        &self.head.logits
    }

    fn cross_entropy(&mut self, labels: &Tensor<2>) -> f64 {
        let labels = widened(labels.array().values::<T>());
        let (head, count) = (&self.head, self.head.classes);
        assert!(labels.len() <= head.logits.len(), "a row a label");
        #[expect(
            clippy::cast_precision_loss,
            reason = "batches are far below 2^53 rows"
        )]
        let share = 1.0 / (labels.len() / count) as f64;
        let mut slopes = vec![0.0; head.logits.len()];
        let mut sum = 0.0;
        let rows = head.logits.chunks(count).zip(labels.chunks(count));
        let rows = rows.zip(slopes.chunks_mut(count));
        for (softmax, ((z, label), slopes)) in head.rows().zip(rows) {
            let surprises = softmax.surprises(z).zip(label);
            sum += surprises.map(|(one, label)| label * one).sum::<f64>();
            softmax.residual(label, label.iter().sum(), slopes);
            for slope in slopes {
                *slope *= share;
            }
        }
        self.add_logit_slopes(slopes);
        sum * share
    }

    fn input_gradient(&mut self, classes: &[usize]) -> &[f64] {
        assert!(self.kept.is_piecewise_linear(), "slopes that do not move");
        assert_eq!(classes.len(), self.kept.rows(), "a class a row");
        let classes = classes.to_vec();
        let gradient = if self.kept.has_linear_margin() {
            let (margin, adjoints, value) = Margin::new(&self.kept, &self.head, &classes);
            Gradient {
                classes,
                adjoints,
                value,
                margin: Some(margin),
            }
        } else {
            let seeds = self.head.by_class(&classes, [], |softmax, hot, [], out| {
                softmax.tilt(hot, out);
            });
            let (adjoints, value) = self.kept.down(&narrowed::<T>(&seeds), true);
            Gradient {
                classes,
                adjoints,
                value: widened(&value.unwrap_or_default()),
                margin: None,
            }
        };
        &self.gradient.insert(gradient).value
    }

    fn hessian_product(&mut self, direction: Vec<f64>) -> &[f64] {
        let Some(gradient) = &self.gradient else {
            panic!("a product is of the Hessian of what has a gradient");
        };
        assert_eq!(direction.len(), gradient.value.len(), "a direction a row");
        let product = Product::new(&self.kept, &self.head, gradient, direction);
        self.product.insert(product).value()
    }

    fn half_squares(&mut self, weight: f64) -> f64 {
        self.decay += weight;
        let squares = |tensor: &Tensor<2>| {
            let mut sum = 0.0;
            T::vectorised(SumSquares {
                numbers: tensor.array().values(),
                sum: &mut sum,
            });
            sum
        };
        0.5 * self.parents.iter().map(squares).sum::<f64>()
    }

    fn loss(mut self: Box<Self>, value: f64, slopes: Slopes) -> Tensor<1> {
        // Slopes in the logits that a loss brings along may be others than slopes in a margin.
        let is_of_margins = slopes.logits.is_empty();
        if !slopes.logits.is_empty() {
            assert_eq!(slopes.logits.len(), self.head.logits.len(), "slopes");
            self.add_logit_slopes(slopes.logits);
        }
        let gradient = self.gradient.take();
        let product = self.product.take();
        let mut of_gradient = slopes.gradient;
        let mut pulled = None;
        if let (Some(gradient), Some(product)) = (&gradient, &product)
            && !slopes.product.is_empty()
        {
            assert_eq!(slopes.product.len(), gradient.value.len(), "slopes");
            of_gradient.resize(gradient.value.len(), 0.0);
            let slopes = (&slopes.product[..], &mut of_gradient[..]);
            let (of_logits, ways) = product.pull_back(&self.kept, &self.head, gradient, slopes);
            self.add_logit_slopes(of_logits);
            pulled = ways;
        }
        let (mut seeds, mut mixture) = (None, None);
        if let Some(gradient) = &gradient
            && !of_gradient.is_empty()
        {
            assert_eq!(of_gradient.len(), gradient.value.len(), "slopes");
            if let Some(margin) = &gradient.margin {
                self.add_logit_slopes(margin.logit_slopes(&of_gradient));
                let factors = if is_of_margins {
                    let of_first = self.logit_slopes.iter().step_by(2);
                    of_first.map(|slope| T::from_f64(*slope)).collect()
                } else {
                    vec![T::default(); self.kept.rows()]
                };
                let mixed = margin.mixture(&self.kept, factors, &of_gradient);
                mixture = Some((mixed, &gradient.adjoints));
            } else {
                let along = narrowed::<T>(&of_gradient);
                let changes = self.kept.up(&along);
                let in_seeds = widened(&changes.last());
                let of_logits = seed_slopes(&self.head, &gradient.classes, &in_seeds);
                self.add_logit_slopes(of_logits);
                seeds = Some((&gradient.adjoints, along, changes));
            }
        }
        if self.logit_slopes.is_empty() {
            self.logit_slopes = vec![0.0; self.head.logits.len()];
        }
        let kept = &self.kept;
        let run = (!is_of_margins || mixture.is_none())
            .then(|| kept.down(&narrowed::<T>(&self.logit_slopes), false).0);
        let mut ways = Vec::new();
        ways.extend(run.as_ref().map(|adjoints| kept.as_run(adjoints)));
        ways.extend(mixture.iter().map(|(mixed, adjoints)| mixed.ways(adjoints)));
        ways.extend(seeds.iter().map(|(adjoints, along, changes)| Ways {
            adjoints,
            input: along,
            between: changes,
        }));
        if let (Some(product), Some(pulled)) = (&product, &pulled) {
            ways.extend(product.ways(pulled));
        }
        let mut gradients = kept.weights(&ways);
        match (&run, &mixture) {
            (None, Some((mixed, adjoints))) => {
                gradients.extend(kept.biases(adjoints, Some(&mixed.factors)));
            }
            (run, _) => gradients.extend(run.iter().flat_map(|it| kept.biases(it, None))),
        }
        if self.decay != 0.0 {
            let weights = gradients.into_iter().zip(&self.parents);
            gradients = weights.map(|it| decayed::<T>(it, self.decay)).collect();
        }
        record_loss::<T>(&self.parents, gradients, value)
    }
}

/// The slopes in the logits of a loss whose slopes in the seeds are these.
fn seed_slopes(head: &Head, classes: &[usize], slopes: &[f64]) -> Vec<f64> {
    let mut room = vec![0.0; head.classes];
    head.by_class(classes, [slopes], |softmax, hot, [slopes], out| {
        softmax.covariance_gradient(hot, slopes, &mut room, out);
    })
}

/// A gradient plus `decay` times what it is a gradient in.
fn decayed<T: Stored>((gradient, of): (Array, &Tensor<2>), decay: f64) -> Array {
    let decay = T::from_f64(decay);
    let sums = gradient.values::<T>().iter().zip(of.array().values::<T>());
    let sums = sums.map(|(gradient, of)| *gradient + decay * *of);
    Array::new(sums.collect(), size(&gradient))
}

#[cfg(test)]
mod tests;
