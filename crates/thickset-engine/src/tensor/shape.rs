//! The sizes of a tensor's axes.

/// The most axes of a tensor.
pub(crate) const MOST_AXES: usize = 6;

/// The sizes of a tensor's axes, the slowest first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    rank: usize,
    sizes: [usize; MOST_AXES],
}

impl Shape {
    /// The sizes, the slowest axis first.
    #[must_use]
    pub fn as_slice(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }

    /// How many numbers a tensor of this shape holds.
    #[must_use]
    pub fn num_elements(&self) -> usize {
        self.as_slice().iter().product()
    }

    /// The sizes of a shape that is known to have `D` axes.
    ///
    /// # Panics
    /// If it has another number of axes.
    #[must_use]
    pub fn dims<const D: usize>(&self) -> [usize; D] {
        assert_eq!(self.rank, D, "axes of a tensor of shape {self:?}");
        std::array::from_fn(|axis| self.sizes[axis])
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// The size of one axis.
    pub(crate) fn size(&self, axis: usize) -> usize {
        self.as_slice()[axis]
    }

    /// The same shape with another size of one axis.
    pub(crate) fn with_size(mut self, axis: usize, size: usize) -> Self {
        assert!(axis < self.rank, "axis {axis} of shape {self:?}");
        self.sizes[axis] = size;
        self
    }

    /// The same shape with two axes exchanged.
    pub(crate) fn swapped(mut self, first: usize, second: usize) -> Self {
        let rank = self.rank;
        self.sizes[..rank].swap(first, second);
        self
    }

    /// The numbers before an axis, along it and after it: every operation along one axis sees a tensor as such blocks.
    pub(crate) fn around(&self, axis: usize) -> [usize; 3] {
        let sizes = self.as_slice();
        assert!(axis < self.rank, "axis {axis} of shape {self:?}");
        [
            sizes[..axis].iter().product(),
            sizes[axis],
            sizes[axis + 1..].iter().product(),
        ]
    }

    /// The shape of an elementwise operation's result: sizes are equal, or one of them is 1 and is stretched.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub(crate) fn broadcast(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let fits = |axis: usize| {
            let (a, b) = (self.sizes[axis], other.sizes[axis]);
            a == b || a == 1 || b == 1
        };
        assert!(
            self.rank == other.rank && (0..self.rank).all(fits),
            "shapes {self:?} and {other:?} do not fit an elementwise operation"
        );
        let mut sizes = self.sizes;
        for (size, other) in sizes.iter_mut().zip(other.sizes).take(self.rank) {
            if *size == 1 {
                *size = other;
            }
        }
        Self {
            rank: self.rank,
            sizes,
        }
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(formatter)
    }
}

impl From<&[usize]> for Shape {
    fn from(given: &[usize]) -> Self {
        let rank = given.len();
        assert!(rank <= MOST_AXES, "at most {MOST_AXES} axes, got {rank}");
        let mut sizes = [1; MOST_AXES];
        sizes[..rank].copy_from_slice(given);
        Self { rank, sizes }
    }
}

impl<const D: usize> From<[usize; D]> for Shape {
    fn from(sizes: [usize; D]) -> Self {
        sizes.as_slice().into()
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Self {
        sizes.as_slice().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_are_stretched() {
        let shape = Shape::from([4, 1, 3]).broadcast(Shape::from([1, 2, 3]));
        assert_eq!(shape, Shape::from([4, 2, 3]));
        assert_eq!(shape.num_elements(), 24);
        assert_eq!(shape.around(1), [4, 2, 3]);
        assert_eq!(shape.swapped(0, 2), Shape::from([3, 2, 4]));
    }

    #[test]
    #[should_panic(expected = "[2, 3] and [2, 4] do not fit")]
    fn other_sizes_are_refused() {
        let _ = Shape::from([2, 3]).broadcast(Shape::from([2, 4]));
    }
}
