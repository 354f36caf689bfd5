//! Matrix products.

use crate::kernel::Side;
use crate::kernel::matrix_product::product_of_slices;
use crate::tensor::array::Array;
use crate::tensor::numbers::{Element, Numbers};
use crate::tensor::shape::Shape;

/// The products of the matrices in the last two axes, each factor as it is stored or transposed; sizes of 1 of the other axes
/// are stretched.
///
/// # Panics
/// If the sizes or types do not fit.
pub(crate) fn matrix_product(left: (&Array, Side), right: (&Array, Side)) -> Array {
    let shape = product_shape(left, right);
    let ((a, a_side), (b, b_side)) = (left, right);
    let rank = shape.rank();
    let [a_outer, b_outer] = [a.shape, b.shape].map(outer);
    let ([rows, depth], [_, columns]) = (sizes(a.shape, a_side), sizes(b.shape, b_side));
    let size = [rows, columns, depth];
    let stored = [a.shape, b.shape].map(|shape| shape.size(rank - 1));
    let sides = [a_side, b_side];
    match (a.numbers(), b.numbers()) {
        (Numbers::F32(a), Numbers::F32(b)) => {
            let factors = Factors {
                a,
                b,
                stored,
                sides,
            };
            Array::new(factors.product(size, [a_outer, b_outer], shape), shape)
        }
        (Numbers::F64(a), Numbers::F64(b)) => {
            let factors = Factors {
                a,
                b,
                stored,
                sides,
            };
            Array::new(factors.product(size, [a_outer, b_outer], shape), shape)
        }
        _ => panic!(
            "a matrix product's tensors must have one floating type, got {:?} and {:?}",
            a.dtype(),
            b.dtype()
        ),
    }
}

/// The shape of [`matrix_product`].
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn product_shape((a, a_side): (&Array, Side), (b, b_side): (&Array, Side)) -> Shape {
    let rank = a.shape.rank();
    assert!(
        rank >= 2 && rank == b.shape.rank(),
        "a matrix product of shapes {:?} and {:?}",
        a.shape,
        b.shape
    );
    let [rows, depth] = sizes(a.shape, a_side);
    let [inner, columns] = sizes(b.shape, b_side);
    assert_eq!(
        depth, inner,
        "inner sizes of a matrix product of shapes {:?} and {:?}",
        a.shape, b.shape
    );
    let [a_outer, b_outer] = [a.shape, b.shape].map(outer);
    a_outer
        .broadcast(b_outer)
        .with_size(rank - 2, rows)
        .with_size(rank - 1, columns)
}

/// Rows and columns of the matrices, as they stand in the product.
fn sizes(shape: Shape, side: Side) -> [usize; 2] {
    let rank = shape.rank();
    let [rows, columns] = [shape.size(rank - 2), shape.size(rank - 1)];
    match side {
        Side::Plain => [rows, columns],
        Side::Transposed => [columns, rows],
    }
}

/// The axes before those of the matrices.
fn outer(shape: Shape) -> Shape {
    let rank = shape.rank();
    shape.with_size(rank - 2, 1).with_size(rank - 1, 1)
}

struct Factors<'a, T> {
    a: &'a [T],
    b: &'a [T],
    /// Columns of the matrices as they are stored.
    stored: [usize; 2],
    sides: [Side; 2],
}

impl<T: Element + crate::kernel::Real> Factors<'_, T> {
    fn product(&self, size: [usize; 3], outer: [Shape; 2], shape: Shape) -> Vec<T> {
        let [rows, columns, depth] = size;
        let one = |a: &[T], b: &[T]| {
            product_of_slices(
                (a, self.stored[0], self.sides[0]),
                (b, self.stored[1], self.sides[1]),
                size,
            )
        };
        let whole = outer[0].broadcast(outer[1]);
        if whole.num_elements() == 1 {
            return one(self.a, self.b);
        }
        let mut out = Vec::with_capacity(shape.num_elements());
        for matrix in 0..whole.num_elements() {
            let [a, b] = outer.map(|outer| place(outer, whole, matrix));
            let a = &self.a[a * rows * depth..][..rows * depth];
            let b = &self.b[b * depth * columns..][..depth * columns];
            out.extend(one(a, b));
        }
        out
    }
}

/// Which matrix of a factor stands at a place of the result.
fn place(outer: Shape, whole: Shape, matrix: usize) -> usize {
    let (mut rest, mut step, mut at) = (matrix, 1, 0);
    for axis in (0..whole.rank()).rev() {
        let within = rest % whole.size(axis);
        rest /= whole.size(axis);
        at += step * within.min(outer.size(axis) - 1);
        step *= outer.size(axis);
    }
    at
}
