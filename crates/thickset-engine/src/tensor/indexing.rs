//! Reading and adding at places that another tensor names.

use super::primitive::{full, gather, scatter_add, select, select_add};
use super::{Int, Kind, Tensor};

impl<const D: usize, K: Kind> Tensor<D, K> {
    /// Along the axis, the number at each of `places`, a tensor of the same size but along the axis.
    ///
    /// # Panics
    /// If the sizes do not fit or a place lies outside the axis.
    #[must_use]
    pub fn gather(self, axis: usize, places: Tensor<D, Int>) -> Self {
        let (shape, places) = (self.array.shape, places.array);
        let back = places.clone();
        self.linear(
            |x| gather(&x, axis, &places),
            move |gradient| {
                let zeros = full(shape, 0.0, gradient.dtype(), gradient.device());
                scatter_add(zeros, axis, &back, &gradient)
            },
        )
    }

    /// Along the axis, the parts at each of `places`.
    ///
    /// # Panics
    /// If a place lies outside the axis.
    #[must_use]
    pub fn select(self, axis: usize, places: Tensor<1, Int>) -> Self {
        let (shape, places) = (self.array.shape, places.array);
        let back = places.clone();
        self.linear(
            |x| select(&x, axis, &places),
            move |gradient| {
                let zeros = full(shape, 0.0, gradient.dtype(), gradient.device());
                select_add(zeros, axis, &back, &gradient)
            },
        )
    }
}

impl<const D: usize> Tensor<D> {
    /// The adjoint of [`Self::gather`]: along the axis, each of `values` added at its place.
    ///
    /// # Panics
    /// If the sizes do not fit or a place lies outside the axis.
    #[must_use]
    pub fn scatter_add(self, axis: usize, places: Tensor<D, Int>, values: Self) -> Self {
        let places = places.array;
        let ((x, x_track), (values, track)) = (self.into_parts(), values.into_parts());
        let sum = scatter_add(x, axis, &places, &values);
        Self::recorded(sum, vec![x_track, track], move |gradient, parents| {
            if parents.wants(1) {
                parents.give(1, gather(&gradient, axis, &places));
            }
            parents.give(0, gradient);
        })
    }

    /// The adjoint of [`Self::select`]: along the axis, each part of `values` added at its place.
    ///
    /// # Panics
    /// If the sizes do not fit or a place lies outside the axis.
    #[must_use]
    pub fn select_add(self, axis: usize, places: Tensor<1, Int>, values: Self) -> Self {
        let places = places.array;
        let ((x, x_track), (values, track)) = (self.into_parts(), values.into_parts());
        let sum = select_add(x, axis, &places, &values);
        Self::recorded(sum, vec![x_track, track], move |gradient, parents| {
            if parents.wants(1) {
                parents.give(1, select(&gradient, axis, &places));
            }
            parents.give(0, gradient);
        })
    }
}
