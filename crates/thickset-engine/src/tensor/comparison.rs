//! Truth values of tensors, and what is done where they hold. Comparisons have no gradient.

use super::primitive::{Comparison, compare, compare_scalar, mask_fill, mask_where, not};
use super::{Bool, Tensor};

impl<const D: usize> Tensor<D> {
    /// Where a number equals another.
    #[must_use]
    pub fn equal_elem(self, other: f64) -> Tensor<D, Bool> {
        self.compared(Comparison::Equal, other)
    }

    #[must_use]
    pub fn lower_elem(self, other: f64) -> Tensor<D, Bool> {
        self.compared(Comparison::Lower, other)
    }

    #[must_use]
    pub fn lower_equal_elem(self, other: f64) -> Tensor<D, Bool> {
        self.compared(Comparison::LowerEqual, other)
    }

    #[must_use]
    pub fn greater_elem(self, other: f64) -> Tensor<D, Bool> {
        self.compared(Comparison::Greater, other)
    }

    #[must_use]
    pub fn greater_equal_elem(self, other: f64) -> Tensor<D, Bool> {
        self.compared(Comparison::GreaterEqual, other)
    }

    /// Where a number is lower than the other tensor's.
    #[must_use]
    pub fn lower(self, other: Self) -> Tensor<D, Bool> {
        Tensor::constant(compare(Comparison::Lower, &self.array, &other.array))
    }

    /// The larger of each pair of numbers; of equals, and where one is no number, the first.
    #[must_use]
    pub fn max_pair(self, other: Self) -> Self {
        let mask = self.clone().lower(other.clone());
        self.mask_where(mask, other)
    }

    /// The smaller of each pair of numbers; of equals, and where one is no number, the first.
    #[must_use]
    pub fn min_pair(self, other: Self) -> Self {
        let mask = other.clone().lower(self.clone());
        self.mask_where(mask, other)
    }

    /// `value` where the mask holds; no gradient goes there.
    #[must_use]
    pub fn mask_fill(self, mask: Tensor<D, Bool>, value: f64) -> Self {
        let mask = mask.array;
        let (x, track) = self.into_parts();
        let filled = mask_fill(x, &mask, value);
        Self::recorded(filled, vec![track], move |gradient, parents| {
            parents.give(0, mask_fill(gradient, &mask, 0.0));
        })
    }

    /// The numbers of `other` where the mask holds.
    #[must_use]
    pub fn mask_where(self, mask: Tensor<D, Bool>, other: Self) -> Self {
        let mask = mask.array;
        let ((x, x_track), (other, other_track)) = (self.into_parts(), other.into_parts());
        let chosen = mask_where(x, &mask, &other);
        let tracks = vec![x_track, other_track];
        Self::recorded(chosen, tracks, move |gradient, parents| {
            if parents.wants(1) {
                parents.give(1, mask_fill(gradient.clone(), &not(&mask), 0.0));
            }
            if parents.wants(0) {
                parents.give(0, mask_fill(gradient, &mask, 0.0));
            }
        })
    }

    fn compared(self, relation: Comparison, other: f64) -> Tensor<D, Bool> {
        Tensor::constant(compare_scalar(relation, &self.array, other))
    }
}

impl<const D: usize> Tensor<D, Bool> {
    #[must_use]
    pub fn bool_not(self) -> Self {
        Self::constant(not(&self.array))
    }
}
