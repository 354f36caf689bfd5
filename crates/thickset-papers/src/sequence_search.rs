//! The search for a sequence of IGR's Theorem 1: from X to X' by exchanges of two entries and by entries made smaller, so that the cosine
//! with Y never rises. The appendix says that such searches succeed in at least 0.8 of all cases for up to ten entries, and not how.
//!
//! The cosine does not change when all of X' is scaled, so X' is first made so small that its entries, sorted, lie below those of X.
//! Then X' is X with its entries exchanged and made smaller. A try draws which entry goes where, and takes the remaining operations in
//! random order, each only while it keeps the cosine from rising; a try that gets stuck is dropped.

use thickset::{Result, Stream};

use crate::simulation::{Similarity, positive};

/// Tries for one X, X' and Y.
const TRIES: usize = 200;

/// How far rounding may raise a cosine.
const ROUNDING: f64 = 1e-12;

/// The share of drawn cases of this many entries for which a sequence is found.
pub(crate) fn success_rate(cases: usize, size: usize, stream: &mut Stream) -> Result<f64> {
    let mut found = 0;
    for _ in 0..cases {
        let (mut x, mut end, y) = (
            positive(size, stream),
            positive(size, stream),
            positive(size, stream),
        );
        if Similarity::of(&x, &y)?.cosine < Similarity::of(&end, &y)?.cosine {
            std::mem::swap(&mut x, &mut end);
        }
        found += usize::from(exists(&x, &end, &y, stream));
    }
    Ok(crate::count::as_f64(found) / crate::count::as_f64(cases.max(1)))
}

/// Whether a sequence from `x` to a multiple of `end` is found.
fn exists(x: &[f64], end: &[f64], y: &[f64], stream: &mut Stream) -> bool {
    let order = |values: &[f64]| {
        let mut places: Vec<usize> = (0..values.len()).collect();
        places.sort_by(|&a, &b| values[b].total_cmp(&values[a]).then(a.cmp(&b)));
        places
    };
    let (from, to) = (order(x), order(end));
    let ratios = from.iter().zip(&to).map(|(&from, &to)| x[from] / end[to]);
    let largest = ratios.fold(f64::INFINITY, f64::min);
    (0..TRIES).any(|number| {
        // Every other try leaves more room below.
        let scale = if number % 2 == 0 {
            largest
        } else {
            largest * stream.uniform()
        };
        let target: Vec<f64> = end.iter().map(|value| value * scale).collect();
        one_try(x, &target, y, (&from, &to), stream)
    })
}

/// One try: first which entry of `x` becomes which of the target, then the operations.
fn one_try(
    x: &[f64],
    target: &[f64],
    y: &[f64],
    (from, to): (&[usize], &[usize]),
    stream: &mut Stream,
) -> bool {
    let size = x.len();
    // The j-th largest entry goes to the place of the j-th largest target, then exchanges that still fit are drawn.
    let mut source = vec![0; size];
    for (&from, &to) in from.iter().zip(to) {
        source[to] = from;
    }
    for _ in 0..size {
        let (a, b) = (stream.below(size), stream.below(size));
        if x[source[b]] >= target[a] && x[source[a]] >= target[b] {
            source.swap(a, b);
        }
    }
    // `now[place]` is what stands there; `source[place]` is the entry of x that has to.
    let mut now = x.to_vec();
    let mut holds: Vec<usize> = (0..size).collect();
    let mut cosine = cosine_of(&now, y);
    loop {
        let mut operations = Vec::new();
        for place in 0..size {
            let wanted = holds.iter().position(|&entry| entry == source[place]);
            if let Some(other) = wanted.filter(|other| *other != place) {
                operations.push((place, Some(other)));
            }
            // An entry may shrink before it travels, once it is known what becomes of it.
            let becomes = source.iter().position(|&entry| entry == holds[place]);
            if becomes.is_some_and(|end| now[place] > target[end]) {
                operations.push((place, None));
            }
        }
        if operations.is_empty() {
            return true;
        }
        stream.shuffle(&mut operations);
        let step = operations.into_iter().find_map(|(place, other)| {
            let mut next = now.clone();
            if let Some(other) = other {
                next.swap(place, other);
            } else {
                let end = source.iter().position(|&entry| entry == holds[place])?;
                next[place] = target[end];
            }
            let after = cosine_of(&next, y);
            (after <= cosine + ROUNDING).then_some((next, after, place, other))
        });
        let Some((next, after, place, other)) = step else {
            return false;
        };
        now = next;
        cosine = after;
        if let Some(other) = other {
            holds.swap(place, other);
        }
    }
}

fn cosine_of(a: &[f64], b: &[f64]) -> f64 {
    let dot: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let length = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
    dot / (length(a) * length(b)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use thickset::Seed;

    use super::*;

    #[test]
    fn an_exchange_that_lowers_the_cosine_is_a_sequence_and_its_reverse_is_none() {
        let mut stream = Seed::new(1).stream("sequence");
        let (x, end, y) = ([3.0, 1.0], [1.0, 3.0], [2.0, 1.0]);
        assert!(exists(&x, &end, &y, &mut stream));
        // Back, the cosine would have to rise, whatever is done.
        assert!(!exists(&end, &x, &y, &mut stream));
    }

    #[test]
    fn one_entry_made_smaller_is_a_sequence() {
        let mut stream = Seed::new(1).stream("sequence");
        assert!(exists(
            &[3.0, 1.0, 2.0],
            &[3.0, 1.0, 0.5],
            &[1.0, 1.0, 1.0],
            &mut stream
        ));
    }

    #[test]
    fn two_entries_nearly_always_have_one() {
        let mut stream = Seed::new(2).stream("sequence");
        let rate = success_rate(100, 2, &mut stream).unwrap();
        assert!(rate > 0.9, "{rate}");
    }
}
