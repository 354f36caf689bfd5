//! Matrix products.

use super::Tensor;
use super::primitive::{matrix_product, sum_to};
use crate::kernel::Side::{Plain, Transposed};

impl<const D: usize> Tensor<D> {
    /// The products of the matrices in the last two axes; sizes of 1 of the other axes are stretched.
    ///
    /// # Panics
    /// If the sizes do not fit.
    #[must_use]
    pub fn matmul(self, right: Self) -> Self {
        let ((a, a_track), (b, b_track)) = (self.into_parts(), right.into_parts());
        let product = matrix_product((&a, Plain), (&b, Plain));
        let shapes = [a.shape, b.shape];
        let (a, b) = (
            b_track.is_some().then_some(a),
            a_track.is_some().then_some(b),
        );
        Self::recorded(product, vec![a_track, b_track], move |gradient, parents| {
            if let Some(b) = &b {
                let of_left = matrix_product((&gradient, Plain), (b, Transposed));
                parents.give(0, sum_to(of_left, shapes[0]));
            }
            if let Some(a) = &a {
                let of_right = matrix_product((a, Transposed), (&gradient, Plain));
                parents.give(1, sum_to(of_right, shapes[1]));
            }
        })
    }
}
