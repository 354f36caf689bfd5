//! Two layers whose units each read a single feature, as the pieces of a [binned model](crate::model::BinnedConfig) are: every feature is cut into
//! pieces, on each of which all its units are lines.

use super::super::network::{DenseLayer, DenseNetwork};
use super::super::vector::{add_scaled, dot};

/// `max(0, outer max(0, inner x + shift) + offset)` of one feature.
#[derive(Clone, Copy, Debug)]
struct Unit {
    feature: usize,
    inner: f64,
    shift: f64,
    outer: f64,
    offset: f64,
}

impl Unit {
    fn first(&self, x: f64) -> f64 {
        (self.inner * x + self.shift).max(0.0)
    }

    fn at(&self, x: f64) -> f64 {
        (self.outer * self.first(x) + self.offset).max(0.0)
    }

    /// Its slope away from its kinks.
    fn slope(&self, x: f64) -> f64 {
        let is_open = self.first(x) > 0.0 && self.at(x) > 0.0;
        if is_open {
            self.outer * self.inner
        } else {
            0.0
        }
    }

    /// Where its slope changes.
    fn kinks(&self) -> impl Iterator<Item = f64> {
        let first = -self.shift / self.inner;
        let behind = (-self.offset / self.outer - self.shift) / self.inner;
        let all = [first, behind].into_iter();
        all.filter(|kink| kink.is_finite())
    }

    /// What is added up for it at a feature up to this size.
    fn magnitude(&self, x: f64) -> f64 {
        self.outer.abs() * (self.inner.abs() * x + self.shift.abs()) + self.offset.abs()
    }
}

/// The one entry of each row that is not zero, with its place; none where a row has more.
fn single_entries(layer: &DenseLayer) -> Option<Vec<(usize, f64)>> {
    let single = |row: &[f64]| {
        let mut entries = row.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        let first = entries
            .next()
            .map_or((0, 0.0), |(at, weight)| (at, *weight));
        entries.next().is_none().then_some(first)
    };
    layer.rows().map(single).collect()
}

/// The two layers, and the layer that reads them.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    units: Vec<Unit>,
    /// Of each feature, its units, and what each neuron of the layer behind takes of them.
    columns: Vec<Vec<(Unit, Vec<f64>)>>,
    /// Of each feature, the places at which its pieces meet, ascending.
    kinks: Vec<Vec<f64>>,
    /// How each output of the layer behind moves with a feature, piece by piece.
    pub(super) slopes: Slopes,
}

/// Of each feature and each of its pieces, the slope of some outputs.
#[derive(Clone, Debug)]
pub(super) struct Slopes(pub(super) Vec<Vec<Vec<f64>>>);

impl Slopes {
    /// The same pieces with zeros for so many outputs, of these features alone.
    pub(super) fn zeros(&self, outputs: usize, features: &[usize]) -> Self {
        let mut zeros = vec![Vec::new(); self.0.len()];
        for &feature in features {
            zeros[feature] = vec![vec![0.0; outputs]; self.0[feature].len()];
        }
        Self(zeros)
    }
}

/// Pieces from a first to a last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PieceRange {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// How far the place of a kink may be off, relatively.
const KINK_ROUNDING: f64 = 1e-12;

impl Pieces {
    /// `None` where the network does not begin with two such layers.
    pub(crate) fn of(network: &DenseNetwork) -> Option<Self> {
        let [first, second, behind, ..] = &network.hidden[..] else {
            return None;
        };
        let (inner, outer) = (single_entries(first)?, single_entries(second)?);
        let units: Vec<Unit> = outer
            .iter()
            .zip(&second.bias)
            .map(|(&(unit, outer), &offset)| Unit {
                feature: inner[unit].0,
                inner: inner[unit].1,
                shift: first.bias[unit],
                outer,
                offset,
            })
            .collect();
        let mut kinks = vec![Vec::new(); network.features()];
        for unit in &units {
            kinks[unit.feature].extend(unit.kinks());
        }
        let mut columns = vec![Vec::new(); kinks.len()];
        for (place, unit) in units.iter().enumerate() {
            let column: Vec<f64> = behind.rows().map(|row| row[place]).collect();
            columns[unit.feature].push((*unit, column));
        }
        let mut slopes = Vec::with_capacity(kinks.len());
        for (feature, kinks) in kinks.iter_mut().enumerate() {
            kinks.sort_by(f64::total_cmp);
            kinks.dedup();
            let pieces = (0..=kinks.len()).map(|piece| {
                let at = inside(kinks, piece);
                let mut slope = vec![0.0; behind.outputs()];
                for (unit, column) in &columns[feature] {
                    add_scaled(&mut slope, unit.slope(at), column);
                }
                slope
            });
            slopes.push(pieces.collect());
        }
        Some(Self {
            units,
            columns,
            kinks,
            slopes: Slopes(slopes),
        })
    }

    /// The layer behind, before its gates.
    pub(super) fn values(&self, behind: &DenseLayer, x: &[f64]) -> Vec<f64> {
        let units: Vec<f64> = self
            .units
            .iter()
            .map(|unit| unit.at(x[unit.feature]))
            .collect();
        let rows = behind.rows().zip(&behind.bias);
        rows.map(|(row, bias)| dot(row, &units) + bias).collect()
    }

    /// Adds to the layer behind, before its gates, what it changes by when one feature goes from a value to another.
    pub(super) fn add_change(&self, behind: &mut [f64], feature: usize, from: f64, to: f64) {
        for (unit, column) in &self.columns[feature] {
            let change = unit.at(to) - unit.at(from);
            if change != 0.0 {
                add_scaled(behind, change, column);
            }
        }
    }

    /// What is added up for each of its neurons at features up to these sizes.
    pub(super) fn magnitudes(&self, behind: &DenseLayer, sizes: &[f64]) -> Vec<f64> {
        let units: Vec<f64> = self
            .units
            .iter()
            .map(|unit| unit.magnitude(sizes[unit.feature]))
            .collect();
        let rows = behind.rows().zip(&behind.bias);
        rows.map(|(row, bias)| {
            let parts = row
                .iter()
                .zip(&units)
                .map(|(weight, unit)| weight.abs() * unit);
            bias.abs() + parts.sum::<f64>()
        })
        .collect()
    }

    /// How the outputs of the layer behind move with a feature, piece by piece.
    pub(crate) fn slopes(&self, feature: usize) -> &[Vec<f64>] {
        &self.slopes.0[feature]
    }

    /// The kinks of a feature.
    pub(crate) fn kinks(&self, feature: usize) -> &[f64] {
        &self.kinks[feature]
    }

    /// Every piece that a feature between two values can be on.
    pub(super) fn range(&self, feature: usize, low: f64, high: f64) -> PieceRange {
        let kinks = &self.kinks[feature];
        let off = |value: f64| KINK_ROUNDING * (1.0 + value.abs());
        PieceRange {
            first: kinks.partition_point(|kink| *kink < low - off(low)),
            last: kinks.partition_point(|kink| *kink <= high + off(high)),
        }
    }
}

/// A value inside of a piece.
fn inside(kinks: &[f64], piece: usize) -> f64 {
    match (
        piece.checked_sub(1).map(|before| kinks[before]),
        kinks.get(piece),
    ) {
        (Some(from), Some(to)) => f64::midpoint(from, *to),
        (Some(from), None) => from + 1.0 + from.abs(),
        (None, Some(to)) => to - 1.0 - to.abs(),
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::rounding::Arithmetic;
    use super::*;

    #[test]
    fn a_feature_at_a_kink_can_be_on_both_of_its_pieces() {
        // max(0, x - 1), passed on twice.
        let layer = |bias: f64| DenseLayer {
            weight: vec![1.0],
            bias: vec![bias],
            inputs: 1,
        };
        let network = DenseNetwork {
            hidden: vec![layer(-1.0), layer(0.0), layer(0.0)],
            head: layer(0.0),
            arithmetic: Arithmetic::DOUBLE,
        };
        let pieces = Pieces::of(&network).unwrap();
        let range = |low: f64, high: f64| {
            let PieceRange { first, last } = pieces.range(0, low, high);
            (first, last)
        };
        assert_eq!(range(0.0, 0.5), (0, 0));
        assert_eq!(range(1.5, 2.0), (1, 1));
        for (low, high) in [(1.0, 1.0), (0.5, 1.0), (1.0, 1.5)] {
            assert_eq!(range(low, high), (0, 1), "{low} to {high}");
        }
    }

    #[test]
    fn the_size_of_a_unit_counts_all_that_it_adds_up() {
        let unit = Unit {
            feature: 0,
            inner: -2.0,
            shift: -3.0,
            outer: -5.0,
            offset: 7.0,
        };
        assert!((unit.magnitude(10.0) - 122.0).abs() < 1e-12);
    }

    /// `max(0, 6 - 2 max(0, 3 x - 6))`: 6 up to 2, then falling by 6 up to 3.
    const FALLING: Unit = Unit {
        feature: 0,
        inner: 3.0,
        shift: -6.0,
        outer: -2.0,
        offset: 6.0,
    };

    #[test]
    fn a_unit_bends_where_either_of_its_layers_does() {
        let at = [0.0, 2.0, 2.5, 3.0, 4.0].map(|x| FALLING.at(x));
        assert_eq!(at.to_vec(), [6.0, 6.0, 3.0, 0.0, 0.0]);
        let slopes = [1.0, 2.5, 3.5].map(|x| FALLING.slope(x));
        assert_eq!(slopes.to_vec(), [0.0, -6.0, 0.0]);
        assert_eq!(FALLING.kinks().collect::<Vec<_>>(), [2.0, 3.0]);
        // Without a weight there is no kink.
        let flat = Unit {
            inner: 0.0,
            ..FALLING
        };
        assert_eq!(flat.kinks().count(), 0);
    }

    #[test]
    fn each_row_has_at_most_one_entry() {
        let layer = |weight: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: vec![0.0; 2],
            inputs: 3,
        };
        let single = single_entries(&layer(&[0.0, 0.0, 4.0, 0.0, 0.0, 0.0]));
        assert_eq!(single, Some(vec![(2, 4.0), (0, 0.0)]));
        assert_eq!(
            single_entries(&layer(&[0.0, 1.0, 4.0, 0.0, 0.0, 0.0])),
            None
        );
    }

    /// Two features, the first with the falling unit and one that rises from 1 on, the second passed on from 0 on; and two neurons behind them.
    fn two_features() -> DenseNetwork {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        DenseNetwork {
            hidden: vec![
                layer(&[3.0, 0.0, 1.0, 0.0, 0.0, 1.0], &[-6.0, -1.0, 0.0]),
                layer(
                    &[-2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
                    &[6.0, 0.0, 0.0],
                ),
                layer(&[1.0, 2.0, -3.0, 0.5, -1.0, 4.0], &[10.0, -20.0]),
            ],
            head: layer(&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    #[test]
    fn pieces_add_up_their_units_feature_by_feature() {
        let network = two_features();
        let pieces = Pieces::of(&network).unwrap();
        assert_eq!(
            (pieces.kinks(0), pieces.kinks(1)),
            (&[1.0, 2.0, 3.0][..], &[0.0][..])
        );
        // Up to 1 nothing moves; then the second unit rises by 1, from 2 to 3 the first falls by 6.
        let first = [
            [0.0, 0.0],
            [2.0, -1.0],
            [2.0 - 6.0, -1.0 - 3.0],
            [2.0, -1.0],
        ];
        assert_eq!(pieces.slopes.0[0], first);
        assert_eq!(pieces.slopes.0[1], [[0.0, 0.0], [-3.0, 4.0]]);
        let behind = &network.hidden[2];
        // At (2.5, 2) the units are 3, 1.5 and 2.
        let values = pieces.values(behind, &[2.5, 2.0]);
        assert_eq!(values, [10.0 + 3.0 + 3.0 - 6.0, -20.0 + 1.5 - 1.5 + 8.0]);
        // From there to 4 the first unit loses 3 and the second gains 1.5.
        let mut moved = values.clone();
        pieces.add_change(&mut moved, 0, 2.5, 4.0);
        assert_eq!(moved, [values[0] - 3.0 + 3.0, values[1] - 1.5 - 1.5]);
        assert_eq!(moved, pieces.values(behind, &[4.0, 2.0]));
        // Up to sizes of 5 and 2 the units add up 2 * (15 + 6) + 6, 5 + 1 and 2.
        let sizes = pieces.magnitudes(behind, &[5.0, 2.0]);
        assert_eq!(sizes, [10.0 + 48.0 + 12.0 + 6.0, 20.0 + 24.0 + 6.0 + 8.0]);
        assert_eq!(
            pieces.slopes.zeros(3, &[1]).0,
            [vec![], vec![vec![0.0; 3]; 2]]
        );
    }

    #[test]
    fn a_value_inside_of_a_piece_is_off_its_kinks() {
        let kinks = [-4.0, 2.0];
        let inside = [0, 1, 2].map(|piece| inside(&kinks, piece));
        assert_eq!(inside.to_vec(), [-9.0, -1.0, 5.0]);
        assert_eq!(vec![super::inside(&[], 0)], [0.0]);
    }

    #[test]
    fn a_kink_counts_a_little_beside_its_place() {
        let pieces = Pieces::of(&two_features()).unwrap();
        let range = |low: f64, high: f64| {
            let PieceRange { first, last } = pieces.range(0, low, high);
            (first, last)
        };
        // The kinks of the first are 1, 2 and 3, and at 2 places are off by up to 3e-12.
        assert_eq!(range(2.0 + 1e-12, 2.5), (1, 2));
        assert_eq!(range(2.0 + 9e-12, 2.5), (2, 2));
        assert_eq!(range(1.5, 2.0 - 1e-12), (1, 2));
        assert_eq!(range(1.5, 2.0 - 9e-12), (1, 1));
    }
}
