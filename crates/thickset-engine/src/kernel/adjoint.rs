//! Recording bilinear and trilinear operations.
//!
//! A bilinear operation's derivative in one argument is another bilinear operation of the incoming gradient and the other
//! argument. So what it keeps is its arguments, and only those that a gradient will ask for.

use crate::tensor::{Array, Tensor};

/// An operation of two arrays and a description of their shape.
type Pair<S> = fn(&Array, &Array, S) -> Array;

/// A bilinear operation and its derivatives.
pub(crate) struct Bilinear<S> {
    pub forward: Pair<S>,
    /// Of the gradient and the right argument.
    pub left: Pair<S>,
    /// Of the left argument and the gradient.
    pub right: Pair<S>,
    pub shape: S,
}

impl<S: Copy + Send + Sync + 'static> Bilinear<S> {
    /// Applies the operation and records it.
    pub(crate) fn apply(self, left: Tensor<2>, right: Tensor<2>) -> Tensor<2> {
        let ((left, left_track), (right, right_track)) = (left.into_parts(), right.into_parts());
        let result = (self.forward)(&left, &right, self.shape);
        let left = right_track.is_some().then_some(left);
        let right = left_track.is_some().then_some(right);
        let tracks = vec![left_track, right_track];
        Tensor::recorded(result, tracks, move |gradient, parents| {
            if let Some(right) = &right {
                parents.give(0, (self.left)(&gradient, right, self.shape));
            }
            if let Some(left) = &left {
                parents.give(1, (self.right)(left, &gradient, self.shape));
            }
        })
    }
}

/// An operation of three arrays.
type Triple = fn(&Array, &Array, &Array) -> Array;

/// A trilinear operation and its derivatives: of the gradient and the other two arguments, in their order.
pub(crate) struct Trilinear {
    pub forward: Triple,
    pub derivatives: [Triple; 3],
}

impl Trilinear {
    /// Applies the operation and records it.
    pub(crate) fn apply(self, arguments: [Tensor<2>; 3]) -> Tensor<2> {
        let [first, second, third] = arguments.map(Tensor::into_parts);
        let result = (self.forward)(&first.0, &second.0, &third.0);
        let (arrays, tracks): (Vec<_>, Vec<_>) = [first, second, third].into_iter().unzip();
        let others = [[1, 2], [0, 2], [0, 1]];
        let is_needed = |place: usize| others[place].iter().any(|&one| tracks[one].is_some());
        let kept: Vec<Option<Array>> = arrays
            .into_iter()
            .enumerate()
            .map(|(place, array)| is_needed(place).then_some(array))
            .collect();
        Tensor::recorded(result, tracks, move |gradient, parents| {
            for (place, [first, second]) in others.into_iter().enumerate() {
                if let (true, Some(first), Some(second)) =
                    (parents.wants(place), &kept[first], &kept[second])
                {
                    let derivative = (self.derivatives[place])(&gradient, first, second);
                    parents.give(place, derivative);
                }
            }
        })
    }
}
