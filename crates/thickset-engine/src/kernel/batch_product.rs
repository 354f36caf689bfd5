//! Products of the matrices that the rows of two tensors hold: one product a row, a closed family under differentiation.
//!
//! With `C = l(A) r(B)`, where `l` and `r` leave a factor as it is stored or transpose it, the gradients of `<C, G>` in `A` and `B`
//! are such products of `G` and the other factor. Each has its own fixed order of summation, as every matrix product here.

#![expect(unsafe_code, reason = "an output that is written in parallel")]

use rayon::prelude::*;

use super::adjoint::Bilinear;
use super::buffer::{Shared, filled};
use super::matrix_product::{Side, Strided, fill_product};
use super::simd::Number;
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Tensor};

/// A factor of a product: the matrix that each row holds, row by row, and whether it stands transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    rows: usize,
    columns: usize,
    transposed: bool,
}

impl Factor {
    /// A matrix of this size, as it is stored.
    #[must_use]
    pub const fn plain(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            transposed: false,
        }
    }

    /// A matrix that is stored with this size and stands transposed.
    #[must_use]
    pub const fn transposed(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            transposed: true,
        }
    }

    pub(super) const fn turned(self) -> Self {
        Self {
            transposed: !self.transposed,
            ..self
        }
    }

    /// Rows and columns in the product.
    pub(super) const fn size(self) -> [usize; 2] {
        if self.transposed {
            [self.columns, self.rows]
        } else {
            [self.rows, self.columns]
        }
    }

    pub(super) const fn stored(self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    pub(super) const fn is_transposed(self) -> bool {
        self.transposed
    }

    const fn side(self) -> Side {
        if self.transposed {
            Side::Transposed
        } else {
            Side::Plain
        }
    }
}

/// For each row the product of its two matrices, row by row.
///
/// # Panics
/// If a factor does not fill a row, the inner sizes differ, or the tensors have other numbers of rows.
#[must_use]
pub fn batch_product(left: Tensor<2>, right: Tensor<2>, shape: [Factor; 2]) -> Tensor<2> {
    let [l, r] = shape;
    assert_eq!(left.dims()[1], l.rows * l.columns, "the left factor");
    assert_eq!(right.dims()[1], r.rows * r.columns, "the right factor");
    assert_eq!(l.size()[1], r.size()[0], "inner sizes of a matrix product");
    assert_eq!(left.dims()[0], right.dims()[0], "one pair of factors a row");
    if !on_cpu(&left) {
        return composed::batch_product(left, right, shape);
    }
    Bilinear {
        forward: product,
        left: to_left,
        right: to_right,
        shape,
    }
    .apply(left, right)
}

fn product(left: &Array, right: &Array, shape: [Factor; 2]) -> Array {
    let [count, _] = size(left);
    let [rows, columns] = [shape[0].size()[0], shape[1].size()[1]];
    by_type!(
        |left, right| products(left, right, count, shape),
        [count, rows * columns]
    )
}

fn products<T: Number>(left: &[T], right: &[T], count: usize, [l, r]: [Factor; 2]) -> Vec<T> {
    let ([rows, depth], [_, columns]) = (l.size(), r.size());
    let numbers = rows * columns;
    if numbers == 0 || depth == 0 {
        return vec![T::default(); count * numbers];
    }
    let (l_numbers, r_numbers) = (l.rows * l.columns, r.rows * r.columns);
    // SAFETY: every product writes all of its own numbers.
    unsafe {
        filled(count * numbers, |out| {
            (0..count).into_par_iter().for_each(|row| {
                let left = &left[row * l_numbers..(row + 1) * l_numbers];
                let right = &right[row * r_numbers..(row + 1) * r_numbers];
                let left = Strided::new(left, l.columns, l.side());
                let right = Strided::new(right, r.columns, r.side());
                // SAFETY: the row's numbers lie within the output, and no other row has them.
                let to = Shared(out.at(row * numbers));
                fill_product(left, right, [rows, columns, depth], None, to);
            });
        })
    }
}

/// The product of the incoming gradient with the right factor, in the left one's stored form.
fn to_left(gradient: &Array, right: &Array, [l, r]: [Factor; 2]) -> Array {
    let incoming = Factor::plain(l.size()[0], r.size()[1]);
    if l.transposed {
        product(right, gradient, [r, incoming.turned()])
    } else {
        product(gradient, right, [incoming, r.turned()])
    }
}

/// The product of the left factor with the incoming gradient, in the right one's stored form.
fn to_right(left: &Array, gradient: &Array, [l, r]: [Factor; 2]) -> Array {
    let incoming = Factor::plain(l.size()[0], r.size()[1]);
    if r.transposed {
        product(gradient, left, [incoming.turned(), l])
    } else {
        product(left, gradient, [l.turned(), incoming])
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        alone, bits, check_gradients, cpu, on_threads, random, same, same_in_every_argument, values,
    };

    /// Factors of a product of `rows`, `depth` and `columns`, each stored as it stands or transposed.
    fn factors([rows, depth, columns]: [usize; 3], turned: [bool; 2]) -> [Factor; 2] {
        let factor = |rows, columns, turned| {
            if turned {
                Factor::transposed(columns, rows)
            } else {
                Factor::plain(rows, columns)
            }
        };
        [
            factor(rows, depth, turned[0]),
            factor(depth, columns, turned[1]),
        ]
    }

    #[test]
    fn two_products_by_hand() {
        let tensor = |values: Vec<f32>, size: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, size), &cpu())
        };
        let left = tensor(vec![1.0, 2.0, 3.0, 4.0, 1.0, 0.0, 0.0, 2.0], [2, 4]);
        let right = tensor(vec![5.0, 6.0, 7.0, 8.0], [2, 2]);
        let shape = [Factor::plain(2, 2), Factor::plain(2, 1)];
        let product = batch_product(left.clone(), right.clone(), shape);
        assert_eq!(values(&product), [17.0, 39.0, 7.0, 16.0]);
        let shape = [Factor::transposed(2, 2), Factor::transposed(1, 2)];
        assert_eq!(
            values(&batch_product(left, right, shape)),
            [23.0, 34.0, 7.0, 16.0]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn kernels_equal_the_composed_operations_in_value_and_every_gradient(
            count in 1..4usize, rows in 1..20usize, depth in 1..20usize, columns in 1..20usize,
            turned: [bool; 2], seed: u64,
        ) {
            let shape = factors([rows, depth, columns], turned);
            let left = random([count, rows * depth], seed, DType::F64) + 1.5;
            let right = random([count, depth * columns], seed ^ 1, DType::F64) + 1.5;
            same_in_every_argument(
                &[left, right],
                |t| batch_product(t[0].clone(), t[1].clone(), shape),
                |t| composed::batch_product(t[0].clone(), t[1].clone(), shape),
                1e-12,
            );
        }

        #[test]
        fn gradients_equal_central_differences(
            count in 1..3usize, rows in 1..4usize, depth in 1..4usize, columns in 1..4usize,
            turned: [bool; 2], seed: u64,
        ) {
            let shape = factors([rows, depth, columns], turned);
            let left = random([count, rows * depth], seed, DType::F64);
            let right = random([count, depth * columns], seed ^ 1, DType::F64);
            check_gradients(&[left, right], |t| batch_product(t[0].clone(), t[1].clone(), shape));
        }

        #[test]
        fn a_row_has_the_same_bits_alone_and_for_any_number_of_threads(
            count in 1..9usize, rows in 1..40usize, depth in 1..300usize, columns in 1..40usize, seed: u64,
        ) {
            let shape = factors([rows, depth, columns], [false, true]);
            let left = random([count, rows * depth], seed, DType::F32);
            let right = random([count, depth * columns], seed ^ 1, DType::F32);
            let work = || bits(&batch_product(left.clone(), right.clone(), shape));
            prop_assert_eq!(on_threads(1, work), on_threads(3, work));
            let row = count / 2;
            let all = batch_product(left.clone(), right.clone(), shape);
            let one = batch_product(alone(&left, row), alone(&right, row), shape);
            prop_assert_eq!(bits(&one), bits(&alone(&all, row)));
            same(&all, &composed::batch_product(left, right, shape), 1e-4);
        }
    }
}
