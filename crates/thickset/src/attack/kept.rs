//! The predictions that an attack keeps: one of a row, three of a pair (R2ET, B.2.3: S = 1 and S = 3).

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

/// Which predictions of a pair are kept beside its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairPredictions {
    /// Those of each input alone, by the classifier of single inputs that the network has, `f^CL(x_s)` and `f^CL(x_t)`; for a network
    /// without one, as `halves`.
    #[default]
    Single,
    /// Those of the pair with only one of its inputs moved.
    Halves,
}

impl std::str::FromStr for PairPredictions {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "single" => Ok(Self::Single),
            "halves" => Ok(Self::Halves),
            _ => Err("expected single or halves".to_owned()),
        }
    }
}

impl PairPredictions {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// One prediction to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Of the whole row.
    Whole,
    /// Of the pair with its left input moved.
    Left,
    /// Of the pair with its right input moved.
    Right,
    /// Of the left input alone.
    SingleLeft,
    /// Of the right input alone.
    SingleRight,
}

impl Kept {
    /// The predictions to keep of a row, or of a pair.
    pub(super) fn of(network: &Network, is_pair: bool, beside: PairPredictions) -> &'static [Self] {
        if !is_pair {
            &[Self::Whole]
        } else if beside == PairPredictions::Single && network.single_classifier().is_some() {
            &[Self::Whole, Self::SingleLeft, Self::SingleRight]
        } else {
            &[Self::Whole, Self::Left, Self::Right]
        }
    }

    /// What predicts.
    pub(super) fn network(self, network: &Network) -> &Network {
        match self {
            Self::SingleLeft | Self::SingleRight => network.single_classifier().unwrap_or(network),
            _ => network,
        }
    }

    /// Which of a row's features decide.
    fn half(self, features: usize) -> std::ops::Range<usize> {
        match self {
            Self::Whole => 0..features,
            Self::Left | Self::SingleLeft => 0..features / 2,
            Self::Right | Self::SingleRight => features / 2..features,
        }
    }

    /// The inputs of what predicts, row-major, when rows have moved from `origin` to `points`.
    pub(super) fn inputs(self, features: usize, origin: &[f64], points: &[f64]) -> Vec<f64> {
        let half = self.half(features);
        match self {
            Self::Whole => points.to_vec(),
            Self::SingleLeft | Self::SingleRight => points
                .chunks_exact(features)
                .flat_map(|row| &row[half.clone()])
                .copied()
                .collect(),
            Self::Left | Self::Right => {
                let mut mixed = origin.to_vec();
                let rows = mixed.chunks_exact_mut(features);
                for (mixed, moved) in rows.zip(points.chunks_exact(features)) {
                    mixed[half.clone()].copy_from_slice(&moved[half.clone()]);
                }
                mixed
            }
        }
    }

    /// A gradient in [`Self::inputs`] as one in the rows' features, zero in those that do not decide.
    pub(super) fn spread(self, features: usize, mut gradient: Vec<f64>) -> Vec<f64> {
        let half = self.half(features);
        match self {
            Self::Whole => gradient,
            Self::SingleLeft | Self::SingleRight => {
                let mut spread = vec![0.0; 2 * gradient.len()];
                let rows = spread.chunks_exact_mut(features);
                for (spread, gradient) in rows.zip(gradient.chunks_exact(features / 2)) {
                    spread[half.clone()].copy_from_slice(gradient);
                }
                spread
            }
            Self::Left | Self::Right => {
                for (place, value) in gradient.iter_mut().enumerate() {
                    if !half.contains(&(place % features)) {
                        *value = 0.0;
                    }
                }
                gradient
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_and_gradients_of_every_prediction_by_hand() {
        let (origin, points) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let cases: [(Kept, &[f64], &[f64]); 5] = [
            (Kept::Whole, &[5.0, 6.0, 7.0, 8.0], &[5.0, 6.0, 7.0, 8.0]),
            (Kept::Left, &[5.0, 6.0, 3.0, 4.0], &[5.0, 6.0, 0.0, 0.0]),
            (Kept::Right, &[1.0, 2.0, 7.0, 8.0], &[0.0, 0.0, 7.0, 8.0]),
            (Kept::SingleLeft, &[5.0, 6.0], &[5.0, 6.0, 0.0, 0.0]),
            (Kept::SingleRight, &[7.0, 8.0], &[0.0, 0.0, 7.0, 8.0]),
        ];
        for (kept, inputs, spread) in cases {
            let got = kept.inputs(4, &origin, &points);
            assert_eq!(got, inputs, "{kept:?}");
            assert_eq!(kept.spread(4, got), spread, "{kept:?}");
        }
    }

    #[test]
    fn only_what_differs_from_the_default_is_written() {
        assert!(PairPredictions::Single.is_default() && !PairPredictions::Halves.is_default());
    }
}
