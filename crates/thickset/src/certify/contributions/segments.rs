//! Segmented models whose gates take the largest score: how far the gates at every point of the quadrature stand still.

use thickset_engine::Network;
use thickset_engine::layer::Gating;

use super::move_set::MoveSet;
use super::{Bounds, PairBound};
use crate::explain::contributions::{quadrature_rule, score_weights};
use crate::host::read;
use crate::{Error, Result};

/// Share of what was added up that rounding can have changed: these contributions are computed in `f32`.
const SINGLE_SLACK: f64 = 1e-4;

/// A score must be ahead by this share of what was added up for a gate to be decided in `f32`.
const SCORE_SLACK: f64 = 1e-5;

/// A segmented network and a class, with the reference that ways begin at.
pub(in super::super) struct SegmentWays<'a> {
    groups: &'a [Vec<usize>],
    reference: &'a [f64],
    /// Places and weights of the quadrature.
    rule: (Vec<f64>, Vec<f64>),
    features: usize,
    blocks: Vec<usize>,
    scores: Vec<f64>,
    score_bias: Vec<f64>,
    /// The score's gradient where no gate adds to it.
    common: Vec<f64>,
    /// What each gate adds.
    gated: Vec<Vec<f64>>,
}

impl<'a> SegmentWays<'a> {
    /// The network as numbers.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] where its gates are of another kind.
    pub(in super::super) fn new(
        network: &Network,
        groups: &'a [Vec<usize>],
        reference: &'a [f64],
        points: usize,
        class: usize,
    ) -> Result<Self> {
        let refused = |got: &str| Error::CertifyInput {
            expected: "segmented models whose gate is `argmax`, for contributions",
            got: got.to_owned(),
        };
        let (Some(gates), Some(gated)) = (network.gates(), network.gated_linear()) else {
            return Err(refused("a network of another kind"));
        };
        if gates.gating() != Gating::Argmax {
            return Err(refused("another gate"));
        }
        let features = network.features();
        let count: usize = gates.blocks().iter().sum();
        let weight = read(gated.weight().clone());
        let gated = read(gated.gated_weight().clone());
        let maps = weight.len() / features.max(1);
        // Of two classes the one map is the second's margin, and the first's logit is zero.
        let weights = score_weights(class, network.classes());
        let of_map = |map: usize| if maps == 1 { weights[1] } else { weights[map] };
        let mut common = vec![0.0; features];
        let mut added = vec![vec![0.0; features]; count];
        for map in 0..maps {
            for (sum, part) in common.iter_mut().zip(&weight[map * features..]) {
                *sum += of_map(map) * part;
            }
            for (gate, added) in added.iter_mut().enumerate() {
                let start = (map * count + gate) * features;
                for (sum, part) in added.iter_mut().zip(&gated[start..]) {
                    *sum += of_map(map) * part;
                }
            }
        }
        Ok(Self {
            groups,
            reference,
            rule: quadrature_rule(points),
            features,
            blocks: gates.blocks().to_vec(),
            scores: read(gates.weight().clone()),
            score_bias: read(gates.bias().clone()),
            common,
            gated: added,
        })
    }

    fn score_of(&self, gate: usize) -> &[f64] {
        &self.scores[gate * self.features..(gate + 1) * self.features]
    }

    /// The gate that every way has open in a block at a point; none where that is not the same for all.
    fn open_gate(
        &self,
        set: &MoveSet<'_>,
        place: f64,
        gates: std::ops::Range<usize>,
    ) -> Option<usize> {
        let at: Vec<f64> = self
            .reference
            .iter()
            .zip(set.x)
            .map(|(b, x)| b + place * (x - b))
            .collect();
        let score = |gate: usize| {
            let products = self.score_of(gate).iter().zip(&at).map(|(w, x)| w * x);
            let (sum, size) = products.fold((0.0, 0.0), |(sum, size), part: f64| {
                (sum + part, size + part.abs())
            });
            let bias = self.score_bias[gate];
            (sum + bias, size + bias.abs())
        };
        let scores: Vec<(f64, f64)> = gates.clone().map(score).collect();
        let first = (0..scores.len()).max_by(|&a, &b| {
            let by_score = scores[a].0.total_cmp(&scores[b].0);
            by_score.then(b.cmp(&a))
        })?;
        let open = gates.start + first;
        for (place_of_gate, gate) in gates.enumerate() {
            if gate == open {
                continue;
            }
            let ahead = scores[first].0 - scores[place_of_gate].0;
            let slack = SCORE_SLACK * (scores[first].1 + scores[place_of_gate].1);
            let terms = self.score_of(open).iter().zip(self.score_of(gate));
            let terms = terms.map(|(a, b)| a - b).enumerate();
            // A move of the row moves the point by its share of the way.
            if ahead - place * set.fall(terms) <= slack {
                return None;
            }
        }
        Some(open)
    }

    /// The mean gradient on every way; none where ways differ.
    fn gradient(&self, set: &MoveSet<'_>) -> Option<Vec<f64>> {
        let mut mean = self.common.clone();
        for (place, weight) in self.rule.0.iter().zip(&self.rule.1) {
            let mut start = 0;
            for &size in &self.blocks {
                let open = self.open_gate(set, *place, start..start + size)?;
                for (mean, part) in mean.iter_mut().zip(&self.gated[open]) {
                    *mean += weight * part;
                }
                start += size;
            }
        }
        Some(mean)
    }

    /// The contributions of the columns of a row.
    pub(in super::super) fn contributions(&self, x: &[f64]) -> Option<Vec<f64>> {
        let still = vec![0.0; x.len()];
        let set = MoveSet {
            x,
            norm: super::MoveNorm::L2,
            radius: 0.0,
            low: &still,
            high: &still,
        };
        let gradient = self.gradient(&set)?;
        let sum = |group: &Vec<usize>| -> f64 {
            let parts = group.iter();
            parts
                .map(|&feature| gradient[feature] * (x[feature] - self.reference[feature]))
                .sum()
        };
        Some(self.groups.iter().map(sum).collect())
    }
}

impl Bounds for SegmentWays<'_> {
    fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
        let Some(gradient) = self.gradient(set) else {
            return Box::new(Nothing);
        };
        let count = self.groups.len();
        let mut least = vec![f64::NEG_INFINITY; count * count];
        let of_column = |column: usize| {
            let group = self.groups[column].iter();
            let parts = group
                .map(|&feature| gradient[feature] * (set.x[feature] - self.reference[feature]));
            parts.fold((0.0, 0.0), |(sum, size), part: f64| {
                (sum + part, size + part.abs())
            })
        };
        let columns: Vec<(f64, f64)> = (0..count).map(of_column).collect();
        for ahead in 0..count {
            for behind in (0..count).filter(|behind| *behind != ahead) {
                let of = |column: usize, sign: f64| {
                    let gradient = &gradient;
                    let group = self.groups[column].iter();
                    group.map(move |&feature| (feature, sign * gradient[feature]))
                };
                let falls = set.fall(of(ahead, 1.0).chain(of(behind, -1.0)));
                let size = columns[ahead].1 + columns[behind].1 + falls;
                least[ahead * count + behind] =
                    columns[ahead].0 - columns[behind].0 - falls - SINGLE_SLACK * size;
            }
        }
        Box::new(Known { least, count })
    }
}

/// Nothing is known.
struct Nothing;

impl PairBound for Nothing {
    fn least(&self, _: usize, _: usize) -> f64 {
        f64::NEG_INFINITY
    }
}

struct Known {
    least: Vec<f64>,
    count: usize,
}

impl PairBound for Known {
    fn least(&self, ahead: usize, behind: usize) -> f64 {
        self.least[ahead * self.count + behind]
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::{
        DType, Device, Init, Parameter, ParameterSource, Role, Tensor, TensorData,
    };

    use super::super::MoveNorm;
    use super::*;
    use crate::attack::ThreatConfig;
    use crate::attack::threat::BallConfig;
    use crate::certify::CertifyConfig;
    use crate::data::{InputShape, Schema};
    use crate::explain::contributions::ContributionsConfig;
    use crate::explain::reduce::ReductionConfig;
    use crate::explain::{ExplainConfig, Per, Points};
    use crate::model::{Gate, ModelConfig, SegmentedConfig};

    /// Two categories (features 0 and 1) and two numbers: the score is `2 a + b` in the first category, `a + 2 b` in the second.
    struct Toy;

    impl ParameterSource for Toy {
        fn values(
            &mut self,
            name: &str,
            shape: &[usize],
            _: Init,
            _: Role,
        ) -> thickset_engine::Result<Tensor<2>> {
            let values = match name {
                "layers.0.score_weight" => vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
                "layers.1.weight" => vec![0.0, 0.0, 1.0, 1.0],
                "layers.1.gated_weight" => vec![0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
                _ => vec![0.0; shape.iter().product()],
            };
            let data = TensorData::new(values, Parameter::matrix_size(shape));
            Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
        }

        fn dtype(&self) -> DType {
            DType::F32
        }
    }

    fn network(gate: Gate) -> Network {
        let model = ModelConfig::Segmented(SegmentedConfig {
            gate,
            prototypes: None,
            blocks: vec![2],
        });
        model.network(&InputShape::Table, 4, 2, &mut Toy).unwrap()
    }

    fn certified(x: [f64; 4], reference: [f64; 4], gate: Gate) -> Result<f64> {
        let schema = Schema::table(&["c0", "c1", "a", "b"]);
        let explain = ExplainConfig {
            explanation: ContributionsConfig {
                row: Some(reference.to_vec()),
                ..ContributionsConfig::default()
            }
            .into(),
            reduce: ReductionConfig::Signed,
            per: Per::Column,
        };
        let config = CertifyConfig {
            k: 1,
            threat: ThreatConfig {
                ball: BallConfig {
                    radius: 0.5,
                    ..BallConfig::default()
                },
                ..ThreatConfig::papers()
            },
            ..CertifyConfig::default()
        };
        let rows = Points {
            values: &x,
            ids: &[0],
        };
        let found = config
            .check(&explain, &schema)?
            .radius(&network(gate), rows)?;
        Ok(found[0].certified)
    }

    #[test]
    fn within_a_segment_the_radius_is_that_of_a_linear_model() {
        // 2 a - b = 0.5 falls by sqrt(5) a unit; no gate changes before 1 / sqrt(2).
        let found = certified([1.0, 0.0, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0], Gate::Argmax).unwrap();
        let exact = 0.5 / 5.0_f64.sqrt();
        assert!(found <= exact && found > exact - 1e-3, "{found} {exact}");
    }

    #[test]
    fn a_gate_that_is_about_to_change_ends_it() {
        // a is far ahead, and the categories' scores lie 0.2 apart: a gate changes at 0.2 / sqrt(2).
        let found = certified([0.6, 0.4, 5.0, 0.0], [0.6, 0.4, 0.0, 0.0], Gate::Argmax).unwrap();
        let border = 0.2 / 2.0_f64.sqrt();
        assert!(
            found > 0.9 * border && found < 1.1 * border,
            "{found} {border}"
        );
    }

    #[test]
    fn gates_that_share_are_refused() {
        let gate = Gate::Sparsemax { delta: 0.2 };
        let refused = certified([1.0, 0.0, 0.5, 0.5], [1.0, 0.0, 0.0, 0.0], gate);
        assert!(matches!(refused, Err(Error::CertifyInput { .. })));
    }

    /// As [`Toy`], with three classes whose scores are `3 a + b`, `4 b` and `2 a`, whatever the category.
    struct ThreeClasses;

    impl ParameterSource for ThreeClasses {
        fn values(
            &mut self,
            name: &str,
            shape: &[usize],
            init: Init,
            role: Role,
        ) -> thickset_engine::Result<Tensor<2>> {
            let values = match name {
                "layers.1.weight" => {
                    vec![0.0, 0.0, 3.0, 1.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 2.0, 0.0]
                }
                "layers.1.gated_weight" => vec![0.0; shape.iter().product()],
                _ => return Toy.values(name, shape, init, role),
            };
            let data = TensorData::new(values, Parameter::matrix_size(shape));
            Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
        }

        fn dtype(&self) -> DType {
            DType::F32
        }
    }

    #[test]
    fn of_three_classes_the_others_count_half_each() {
        let model = ModelConfig::Segmented(SegmentedConfig {
            gate: Gate::Argmax,
            prototypes: None,
            blocks: vec![2],
        });
        let shape = InputShape::Table;
        let network = model.network(&shape, 4, 3, &mut ThreeClasses).unwrap();
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [1.0, 0.0, 0.0, 0.0];
        let ways = SegmentWays::new(&network, &groups, &reference, 4, 0).unwrap();
        // 3 a + b - 4 b / 2 - 2 a / 2 is 2 a - b.
        let found = ways.contributions(&[1.0, 0.0, 0.5, 0.5]).unwrap();
        for (found, expected) in found.iter().zip([0.0, 0.0, 1.0, -0.5]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// Moves of up to `by` of a row, in the largest norm.
    fn around<'s>(x: &'s [f64], limits: &'s [[f64; 4]; 2], radius: f64) -> MoveSet<'s> {
        MoveSet {
            x,
            norm: MoveNorm::Linf,
            radius,
            low: &limits[0],
            high: &limits[1],
        }
    }

    const FREE: [[f64; 4]; 2] = [[-1.0; 4], [1.0; 4]];

    #[test]
    fn a_way_from_one_category_to_the_other_has_half_of_each() {
        let network = network(Gate::Argmax);
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [0.0, 1.0, 0.0, 1.0];
        for (class, sign) in [(1, 1.0), (0, -1.0)] {
            let ways = SegmentWays::new(&network, &groups, &reference, 4, class).unwrap();
            // (0, 0, 1, 1) and the gates' parts.
            let found = ways.contributions(&[1.0, 0.0, 2.0, 3.0]).unwrap();
            for (found, expected) in found.iter().zip([0.0, 0.0, 3.0, 3.0]) {
                assert!((found - sign * expected).abs() < 1e-6, "{found} {expected}");
            }
            let found = ways.contributions(&[0.0, 1.0, 2.0, 3.0]).unwrap();
            for (found, expected) in found.iter().zip([0.0, 0.0, 2.0, 4.0]) {
                assert!((found - sign * expected).abs() < 1e-6, "{found} {expected}");
            }
        }
    }

    #[test]
    fn a_gate_is_open_while_no_move_brings_another_as_far() {
        let network = network(Gate::Argmax);
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [0.0; 4];
        let ways = SegmentWays::new(&network, &groups, &reference, 4, 1).unwrap();
        let x = [0.2, 0.8, 0.0, 0.0];
        // The scores are 0.6 apart at the row and come together by 2 for each unit of a move; half way all of it counts half.
        for (radius, open) in [(0.29, Some(1)), (0.31, None)] {
            let set = around(&x, &FREE, radius);
            for place in [0.5, 1.0] {
                assert_eq!(ways.open_gate(&set, place, 0..2), open, "{radius} {place}");
            }
        }
        // A tie is nobody's, and gates without a rival stay.
        let tied = [0.5, 0.5, 0.0, 0.0];
        let set = around(&tied, &FREE, 0.0);
        assert_eq!(ways.open_gate(&set, 1.0, 0..2), None);
        assert_eq!(ways.open_gate(&set, 1.0, 1..2), Some(1));
        assert!(ways.contributions(&tied).is_none());
    }

    #[test]
    fn within_a_segment_a_pair_falls_by_moves_and_rounding() {
        let network = network(Gate::Argmax);
        // Columns of both categories, and of each number.
        let groups = vec![vec![0, 1], vec![2], vec![3]];
        let reference = [1.0, 0.0, 0.0, 0.0];
        let ways = SegmentWays::new(&network, &groups, &reference, 4, 1).unwrap();
        let x = [1.0, 0.0, 0.5, 0.5];
        let limits = [[-0.1, -0.1, -0.1, -0.05], [0.1, 0.1, 0.05, 0.1]];
        let bound = ways.bound(&around(&x, &limits, 0.1));
        // 2 a and b are 1 and 1/2, and fall and rise by 0.2 and 0.1, or by 0.05 and 0.1.
        for (ahead, behind, apart, falls, size) in [
            (1, 2, 0.5, 0.2 + 0.1, 1.5),
            (2, 1, -0.5, 0.05 + 0.1, 1.5),
            (1, 0, 1.0, 0.2, 1.0),
        ] {
            let expected = apart - falls - SINGLE_SLACK * (size + falls);
            let found = bound.least(ahead, behind);
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        // Where a gate may change nothing is known.
        let bound = ways.bound(&around(&x, &FREE, 0.6));
        assert_eq!(vec![bound.least(1, 2)], [f64::NEG_INFINITY]);
    }

    /// The ways of a network of one block of two gates, with these scores and what each gate adds.
    fn ways_of<'s>(
        groups: &'s [Vec<usize>],
        reference: &'s [f64],
        bias: [f64; 2],
    ) -> SegmentWays<'s> {
        let mut ways = SegmentWays::new(&network(Gate::Argmax), groups, reference, 4, 1).unwrap();
        ways.score_bias = bias.to_vec();
        ways
    }

    #[test]
    fn a_gate_must_be_ahead_by_a_share_of_what_its_score_adds_up() {
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [0.0; 4];
        let still = [[0.0; 4]; 2];
        let open = |x: [f64; 4], bias: [f64; 2]| {
            ways_of(&groups, &reference, bias).open_gate(&around(&x, &still, 0.0), 1.0, 0..2)
        };
        // Biases decide where scores are equal.
        assert_eq!(open([0.5, 0.5, 0.0, 0.0], [0.1, 0.0]), Some(0));
        assert_eq!(open([0.5, 0.5, 0.0, 0.0], [0.0, 0.1]), Some(1));
        // Scores of 1000 and less, of which 2000 are added up: a lead of 0.02 is too little, of products or of biases.
        assert_eq!(open([1000.0, 999.981, 0.0, 0.0], [0.0, 0.0]), None);
        assert_eq!(open([1000.0, 999.979, 0.0, 0.0], [0.0, 0.0]), Some(0));
        assert_eq!(open([0.0; 4], [1000.0, 999.981]), None);
        assert_eq!(open([0.0; 4], [1000.0, 999.979]), Some(0));
        assert_eq!(open([0.0; 4], [-999.979, -1000.0]), Some(0));
    }

    #[test]
    fn a_gate_stays_where_features_may_only_move_in_its_favour() {
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [0.0; 4];
        let ways = ways_of(&groups, &reference, [0.0; 2]);
        // The first category may only fall and the second only rise.
        let limits = [[-1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]];
        let x = [0.2, 0.8, 0.0, 0.0];
        assert_eq!(
            ways.open_gate(&around(&x, &limits, 0.9), 1.0, 0..2),
            Some(1)
        );
        let turned = [0.8, 0.2, 0.0, 0.0];
        assert_eq!(
            ways.open_gate(&around(&turned, &limits, 0.9), 1.0, 0..2),
            None
        );
    }

    #[test]
    fn contributions_begin_at_the_reference() {
        let groups = vec![vec![0, 1], vec![2], vec![3]];
        let reference = [1.0, 0.0, 0.25, -0.5];
        let ways = ways_of(&groups, &reference, [0.0; 2]);
        let x = [1.0, 0.0, 0.5, 0.5];
        let still = [[0.0; 4]; 2];
        let bound = ways.bound(&around(&x, &still, 0.0));
        // 2 a and b are 0.5 and 1 further on.
        let found = bound.least(2, 1);
        assert!((found - (0.5 - SINGLE_SLACK * 1.5)).abs() < 1e-6, "{found}");
    }

    /// As [`ThreeClasses`], with gates that add other numbers for each class.
    struct GatedClasses;

    impl ParameterSource for GatedClasses {
        fn values(
            &mut self,
            name: &str,
            shape: &[usize],
            init: Init,
            role: Role,
        ) -> thickset_engine::Result<Tensor<2>> {
            if name != "layers.1.gated_weight" {
                return ThreeClasses.values(name, shape, init, role);
            }
            let values: Vec<f64> = (0..24_u32).map(f64::from).collect();
            let data = TensorData::new(values, Parameter::matrix_size(shape));
            Ok(Tensor::from_data(data, (&Device::cpu(), DType::F32)))
        }

        fn dtype(&self) -> DType {
            DType::F32
        }
    }

    #[test]
    fn each_class_has_its_own_numbers_for_each_gate() {
        let model = ModelConfig::Segmented(SegmentedConfig {
            gate: Gate::Argmax,
            prototypes: None,
            blocks: vec![2],
        });
        let shape = InputShape::Table;
        let network = model.network(&shape, 4, 3, &mut GatedClasses).unwrap();
        let groups: Vec<Vec<usize>> = (0..4).map(|feature| vec![feature]).collect();
        let reference = [0.0; 4];
        let ways = SegmentWays::new(&network, &groups, &reference, 4, 2).unwrap();
        // The third class less half of the others: of gates numbered 4, 5 and so on, 20 - (4 + 12) / 2.
        assert_eq!(ways.gated[1], [12.0; 4]);
        assert_eq!(ways.gated[0], [12.0; 4]);
        assert_eq!(ways.common, [0.0, 0.0, 2.0 - 1.5, -2.5]);
    }
}
