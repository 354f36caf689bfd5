//! The same numbers in other places.

use std::ops::Range;

use super::primitive::{concatenate, embed, expand, slice, sum_axis, sum_to, swap_axes};
use super::{Kind, Tensor};

impl<const D: usize, K: Kind> Tensor<D, K> {
    /// The same numbers, row by row, in another shape.
    ///
    /// # Panics
    /// If it does not hold as many numbers.
    #[must_use]
    pub fn reshape<const E: usize>(self, size: [usize; E]) -> Tensor<E, K> {
        let shape = self.array.shape;
        self.linear(
            |x| x.reshaped(size),
            move |gradient| gradient.reshaped(shape),
        )
    }

    /// The axes from `first` to `last` as one.
    ///
    /// # Panics
    /// If there are no such axes, or the result has not `E` of them.
    #[must_use]
    pub fn flatten<const E: usize>(self, first: usize, last: usize) -> Tensor<E, K> {
        let sizes = self.dims();
        let mut flat = sizes[..first].to_vec();
        flat.push(sizes[first..=last].iter().product());
        flat.extend_from_slice(&sizes[last + 1..]);
        let Ok(size) = <[usize; E]>::try_from(flat) else {
            panic!(
                "axes {first} to {last} of {sizes:?} as one leave another number of axes than {E}"
            )
        };
        self.reshape(size)
    }

    /// Two axes exchanged.
    #[must_use]
    pub fn swap_dims(self, first: usize, second: usize) -> Self {
        self.linear(
            |x| swap_axes(&x, first, second),
            move |gradient| swap_axes(&gradient, first, second),
        )
    }

    /// The last two axes exchanged.
    #[must_use]
    pub fn transpose(self) -> Self {
        self.swap_dims(D - 2, D - 1)
    }

    /// A range of every axis.
    ///
    /// # Panics
    /// If one goes beyond its axis.
    #[must_use]
    pub fn slice(self, ranges: [Range<usize>; D]) -> Self {
        let (shape, back) = (self.array.shape, ranges.clone());
        self.linear(
            |x| slice(&x, &ranges),
            move |gradient| embed(&gradient, shape, &back),
        )
    }

    /// A range of one axis.
    ///
    /// # Panics
    /// If it goes beyond the axis.
    #[must_use]
    pub fn slice_dim(self, axis: usize, range: Range<usize>) -> Self {
        let mut ranges = self.dims().map(|size| 0..size);
        ranges[axis] = range;
        self.slice(ranges)
    }

    /// `length` places of an axis from `start` on.
    ///
    /// # Panics
    /// If they go beyond the axis.
    #[must_use]
    pub fn narrow(self, axis: usize, start: usize, length: usize) -> Self {
        self.slice_dim(axis, start..start + length)
    }
}

impl<const D: usize> Tensor<D> {
    /// Tensors one after the other along an axis.
    ///
    /// # Panics
    /// If there are none, or another axis differs.
    #[must_use]
    pub fn cat(tensors: Vec<Self>, axis: usize) -> Self {
        let (parts, tracks): (Vec<_>, Vec<_>) = tensors.into_iter().map(Self::into_parts).unzip();
        let joined = concatenate(&parts, axis);
        let sizes: Vec<usize> = parts.iter().map(|part| part.shape.size(axis)).collect();
        Self::recorded(joined, tracks, move |gradient, parents| {
            let mut start = 0;
            for (place, size) in sizes.iter().enumerate() {
                if parents.wants(place) {
                    let whole: [usize; D] = gradient.shape.dims();
                    let mut ranges = whole.map(|size| 0..size);
                    ranges[axis] = start..start + size;
                    parents.give(place, slice(&gradient, &ranges));
                }
                start += size;
            }
        })
    }

    /// Sizes of 1 stretched.
    ///
    /// # Panics
    /// If another size differs.
    #[must_use]
    pub fn expand(self, size: [usize; D]) -> Self {
        let shape = self.array.shape;
        self.linear(
            |x| expand(&x, size.into()),
            move |gradient| sum_to(gradient, shape),
        )
    }

    /// The whole tensor so many times along an axis.
    #[must_use]
    pub fn repeat_dim(self, axis: usize, times: usize) -> Self {
        let shape = self.array.shape;
        let [before, size, after] = shape.around(axis);
        let blocks = [before, 1, size * after];
        let repeated = [before, times, size * after];
        self.linear(
            |x| {
                let blocks = expand(&x.reshaped(blocks), repeated.into());
                blocks.reshaped(shape.with_size(axis, size * times))
            },
            move |gradient| sum_axis(&gradient.reshaped(repeated), 1).reshaped(shape),
        )
    }
}
