//! The eigenvector of a small symmetric matrix that belongs to its largest eigenvalue, by Jacobi rotations.
//!
//! Class-by-class matrices have a handful of rows, where Jacobi's method is short, unconditionally stable and accurate.

use crate::check::as_f64;

/// Sweeps over all entries; quadratic convergence needs fewer than ten.
const MOST_SWEEPS: usize = 50;

/// The eigenvector of unit length, of a row-major symmetric matrix with `size` rows.
#[must_use]
pub fn largest_eigenvector(mut matrix: Vec<f64>, size: usize) -> Vec<f64> {
    let at = |row: usize, column: usize| row * size + column;
    let mut vectors = vec![0.0; size * size];
    for index in 0..size {
        vectors[at(index, index)] = 1.0;
    }
    let scale = matrix.iter().map(|entry| entry * entry).sum::<f64>();
    for _ in 0..MOST_SWEEPS {
        let mut off = 0.0;
        for p in 0..size {
            for q in p + 1..size {
                off += matrix[at(p, q)].powi(2);
            }
        }
        if off <= scale * f64::EPSILON.powi(2) / as_f64(size.max(1)) {
            break;
        }
        for p in 0..size {
            for q in p + 1..size {
                let entry = matrix[at(p, q)];
                if entry == 0.0 {
                    continue;
                }
                let theta = (matrix[at(q, q)] - matrix[at(p, p)]) / (2.0 * entry);
                let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let turn = tangent * cosine;
                for other in 0..size {
                    let (a, b) = (matrix[at(other, p)], matrix[at(other, q)]);
                    matrix[at(other, p)] = cosine * a - turn * b;
                    matrix[at(other, q)] = turn * a + cosine * b;
                }
                for other in 0..size {
                    let (a, b) = (matrix[at(p, other)], matrix[at(q, other)]);
                    matrix[at(p, other)] = cosine * a - turn * b;
                    matrix[at(q, other)] = turn * a + cosine * b;
                    let (a, b) = (vectors[at(other, p)], vectors[at(other, q)]);
                    vectors[at(other, p)] = cosine * a - turn * b;
                    vectors[at(other, q)] = turn * a + cosine * b;
                }
            }
        }
    }
    let mut best = 0;
    for index in 1..size {
        if matrix[at(index, index)] > matrix[at(best, best)] {
            best = index;
        }
    }
    (0..size).map(|row| vectors[at(row, best)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_two_rows_by_hand() {
        // Eigenvalues 3 and 1, eigenvectors (1, 1) and (1, -1).
        let vector = largest_eigenvector(vec![2.0, 1.0, 1.0, 2.0], 2);
        assert!((vector[0] - vector[1]).abs() < 1e-15);
        assert!((vector[0].abs() - 0.5_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn no_direction_has_a_larger_quotient() {
        let size = 7;
        let mut stream = crate::Seed::new(9).stream("matrix");
        let half: Vec<f64> = (0..size * size).map(|_| stream.normal()).collect();
        let matrix: Vec<f64> = (0..size * size)
            .map(|entry| {
                let (row, column) = (entry / size, entry % size);
                (0..size)
                    .map(|k| half[row * size + k] * half[column * size + k])
                    .sum()
            })
            .collect();
        let quotient = |v: &[f64]| {
            let square: f64 = v.iter().map(|entry| entry * entry).sum();
            let form: f64 = (0..size * size)
                .map(|entry| v[entry / size] * matrix[entry] * v[entry % size])
                .sum();
            form / square
        };
        let vector = largest_eigenvector(matrix.clone(), size);
        let most = quotient(&vector);
        for row in matrix.chunks(size) {
            let image: f64 = row.iter().zip(&vector).map(|(a, b)| a * b).sum();
            let place = row.as_ptr() as usize - matrix.as_ptr() as usize;
            let index = place / (size * size_of::<f64>());
            assert!((image - most * vector[index]).abs() < 1e-12 * most);
        }
        for _ in 0..200 {
            let direction: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
            assert!(quotient(&direction) <= most * (1.0 + 1e-12));
        }
    }
}
