//! One part of a proof: bounds of its gates and margins, and whether enough pairs can change their order in it.

use super::super::ball::MoveNorm;
use super::super::case::Moves;
use super::super::explained::{Explained, Scale};
use super::super::network::DenseNetwork;
use super::super::proof::Proof;
use super::super::rounding::{FeatureReach, Slack};
use super::dual::{Cut, Dual};

/// What a part says of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Unsplit,
    Open,
    Closed,
}

/// What is known of a gate in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Free,
    Open,
    Closed,
}

/// `low_slope z <= max(0, z) <= high_slope z + high_offset`.
#[derive(Clone, Copy, Debug)]
struct Line {
    low_slope: f64,
    high_slope: f64,
    high_offset: f64,
}

/// The bounds of a part that holds some move.
struct Bounds {
    gates: Vec<Gate>,
    importance_slack: Vec<f64>,
    cuts: Vec<Cut>,
}

/// Follows the tree of one proof.
pub(super) struct Checker<'a> {
    network: &'a DenseNetwork,
    explained: &'a Explained,
    proof: &'a Proof,
    moves: Moves,
    /// The features that can move.
    moving: Vec<usize>,
    slack: Slack,
    /// The first neuron of each hidden layer, and one past the last.
    starts: Vec<usize>,
    others: Vec<usize>,
    parts_left: usize,
}

type Shown = Result<(), &'static str>;

impl<'a> Checker<'a> {
    pub(super) fn new(
        network: &'a DenseNetwork,
        explained: &'a Explained,
        proof: &'a Proof,
        parts_left: usize,
    ) -> Self {
        let moves = proof.moves();
        let features = network.features();
        let reach: Vec<f64> = (0..features)
            .map(|feature| {
                let most = moves.high[feature].max(-moves.low[feature]);
                most.clamp(0.0, moves.radius)
            })
            .collect();
        let length = (moves.norm == MoveNorm::L2).then_some(moves.radius);
        let slack = Slack::new(
            network,
            explained,
            &proof.x,
            &FeatureReach {
                features: reach,
                length,
            },
        );
        let mut starts = vec![0];
        for layer in &network.hidden {
            starts.push(starts[starts.len() - 1] + layer.outputs());
        }
        let others = 0..explained.importances(features);
        Self {
            moving: (0..features)
                .filter(|feature| moves.low[*feature] < moves.high[*feature])
                .collect(),
            others: others
                .filter(|index| !proof.salient.contains(index))
                .collect(),
            network,
            explained,
            proof,
            moves,
            slack,
            starts,
            parts_left,
        }
    }

    /// Whether every part of the tree is closed.
    pub(super) fn follow(&mut self, splits: &[i64]) -> Shown {
        let neurons = self.network.neurons();
        let mut listed = splits.iter();
        let mut parts = vec![vec![Side::Unsplit; neurons]];
        while let Some(part) = parts.pop() {
            let split = *listed.next().ok_or("the tree ends too soon")?;
            if split == -1 {
                self.close(part)?;
                continue;
            }
            let gate = usize::try_from(split).map_err(|_| "a split of no gate")?;
            if part.get(gate) != Some(&Side::Unsplit) {
                return Err("a split of a gate that is split already, or of none");
            }
            parts.extend(sides(&part, gate));
        }
        if listed.next().is_some() {
            return Err("the tree goes on after its end");
        }
        Ok(())
    }

    /// Shows that no move of a part loses too many features, splitting it further where that is needed.
    fn close(&mut self, part: Vec<Side>) -> Shown {
        let mut parts = vec![part];
        while let Some(part) = parts.pop() {
            let left = self.parts_left.checked_sub(1);
            self.parts_left = left.ok_or("the bounds of a part leave too much open")?;
            let Some(bounds) = self.bound(&part) else {
                continue;
            };
            let behind = self.behind(&bounds.gates);
            if self.is_constant(&bounds.gates) || !self.can_lose(&bounds, &behind) {
                continue;
            }
            let gate = self.next_split(&bounds.gates, &behind);
            match gate {
                Some(gate) => parts.extend(sides(&part, gate)),
                None if self.dual(&bounds.cuts).is_surely_empty() => {}
                None => return Err("a part without free gates loses more features"),
            }
        }
        Ok(())
    }

    /// Bounds of a part; none if no move is in it.
    fn bound(&self, part: &[Side]) -> Option<Bounds> {
        let (network, dimensions) = (self.network, self.moving.len());
        let mut cuts = self.limits();
        let mut lines: Vec<Line> = Vec::new();
        let mut gates: Vec<Gate> = Vec::new();
        for (depth, layer) in network.hidden.iter().enumerate() {
            let start = self.starts[depth];
            let mut of_layer = Vec::new();
            for neuron in 0..layer.outputs() {
                let rounding = self.slack.line[start + neuron];
                let weights = layer.row(neuron);
                let (low, below) = self.line(&lines, depth, weights, layer.bias[neuron], false);
                let (high, above) = self.line(&lines, depth, weights, layer.bias[neuron], true);
                of_layer.push((low, below - rounding, high, above + rounding));
            }
            for (neuron, (low, below, high, above)) in of_layer.iter().enumerate() {
                let slack = self.slack.gate[start + neuron];
                match part[start + neuron] {
                    Side::Unsplit => {}
                    Side::Open => cuts.push(Cut {
                        a: high.clone(),
                        c: above + slack,
                    }),
                    Side::Closed => cuts.push(Cut {
                        a: low.iter().map(|a| -a).collect(),
                        c: slack - below,
                    }),
                }
            }
            let dual = self.dual(&cuts);
            if dual.is_empty(dimensions) {
                return None;
            }
            for (neuron, (low, below, high, above)) in of_layer.iter().enumerate() {
                let slack = self.slack.gate[start + neuron];
                let negative: Vec<f64> = high.iter().map(|a| -a).collect();
                let least = (below + dual.least(low)).max(self.slack.low[start + neuron]);
                let most = (above - dual.least(&negative)).min(self.slack.high[start + neuron]);
                let (gate, line) = decide(part[start + neuron], least, most, slack)?;
                gates.push(gate);
                lines.push(line);
            }
        }
        let margins = self.margins(&lines, &mut cuts)?;
        Some(Bounds {
            cuts,
            gates,
            importance_slack: self.slack.importance.at(margins),
        })
    }

    /// Where features have limits of their own.
    fn limits(&self) -> Vec<Cut> {
        let mut cuts = Vec::new();
        for (place, &feature) in self.moving.iter().enumerate() {
            for (limit, sign) in [
                (-self.moves.low[feature], 1.0),
                (self.moves.high[feature], -1.0),
            ] {
                if limit < self.moves.radius {
                    let mut a = vec![0.0; self.moving.len()];
                    a[place] = sign;
                    // The limit is a difference of two numbers, each rounded.
                    let wide = 4.0 * f64::EPSILON * (self.proof.x[feature].abs() + limit.abs());
                    cuts.push(Cut { a, c: limit + wide });
                }
            }
        }
        cuts
    }

    fn dual<'c>(&self, cuts: &'c [Cut]) -> Dual<'c> {
        Dual {
            norm: self.moves.norm,
            radius: self.moves.radius,
            cuts,
        }
    }

    /// `<weights, values of layer depth - 1> + bias` as a line in the move, from below or from above.
    fn line(
        &self,
        lines: &[Line],
        depth: usize,
        weights: &[f64],
        bias: f64,
        above: bool,
    ) -> (Vec<f64>, f64) {
        let mut weights = weights.to_vec();
        let mut offset = bias;
        for below in (0..depth).rev() {
            let layer = &self.network.hidden[below];
            let mut next = vec![0.0; layer.inputs];
            for (neuron, &weight) in weights.iter().enumerate() {
                let line = &lines[self.starts[below] + neuron];
                let slope = if (weight > 0.0) == above {
                    offset += weight * line.high_offset;
                    weight * line.high_slope
                } else {
                    weight * line.low_slope
                };
                offset += slope * layer.bias[neuron];
                for (next, w) in next.iter_mut().zip(layer.row(neuron)) {
                    *next += slope * w;
                }
            }
            weights = next;
        }
        offset += weights
            .iter()
            .zip(&self.proof.x)
            .map(|(w, x)| w * x)
            .sum::<f64>();
        let moving = self.moving.iter().map(|feature| weights[*feature]);
        (moving.collect(), offset)
    }

    /// Bounds of the class's margins, whose half-spaces are added where it must stay; none if it cannot.
    fn margins(&self, lines: &[Line], cuts: &mut Vec<Cut>) -> Option<(f64, f64)> {
        let depth = self.network.hidden.len();
        let mut found = (0.0_f64, 0.0_f64);
        if !self.moves.hold && self.explained.scale == Scale::One {
            return Some(found);
        }
        for (margin, slack) in self.explained.margins.iter().zip(&self.slack.class) {
            let (high, above) = self.line(lines, depth, &margin.weights, margin.bias, true);
            let negative: Vec<f64> = high.iter().map(|a| -a).collect();
            let most = above + slack - self.dual(cuts).least(&negative);
            found.1 = found.1.max(most);
            if self.moves.hold {
                if most < 0.0 {
                    return None;
                }
                cuts.push(Cut {
                    a: high,
                    c: above + slack,
                });
            } else {
                let (low, below) = self.line(lines, depth, &margin.weights, margin.bias, false);
                found.0 = found.0.min(below - slack + self.dual(cuts).least(&low));
            }
        }
        (!self.dual(cuts).is_empty(self.moving.len())).then_some(found)
    }

    /// Intervals of the sum over the ways from behind each gate to the output.
    fn behind(&self, gates: &[Gate]) -> Vec<(f64, f64)> {
        let mut behind = vec![(0.0, 0.0); gates.len()];
        let Some(last) = self.network.hidden.len().checked_sub(1) else {
            return behind;
        };
        for (place, seed) in self.explained.seed.iter().enumerate() {
            behind[self.starts[last] + place] = (*seed, *seed);
        }
        for depth in (1..=last).rev() {
            for (neuron, row) in self.network.hidden[depth].rows().enumerate() {
                let place = self.starts[depth] + neuron;
                let (low, high) = through(gates[place], behind[place]);
                for (below, weight) in row.iter().enumerate() {
                    let (a, b) = (weight * low, weight * high);
                    let sum = &mut behind[self.starts[depth - 1] + below];
                    *sum = (sum.0 + a.min(b), sum.1 + a.max(b));
                }
            }
        }
        behind
    }

    /// The least and the greatest of `Σ weight_f g_f` over the part.
    fn form(&self, gates: &[Gate], behind: &[(f64, f64)], weights: &[(usize, f64)]) -> (f64, f64) {
        let Some(first) = self.network.hidden.first() else {
            let parts = weights.iter();
            let sum = parts.map(|(feature, weight)| weight * self.explained.seed[*feature]);
            let sum = sum.sum::<f64>();
            return (sum, sum);
        };
        let (mut least, mut most) = (0.0, 0.0);
        for (neuron, row) in first.rows().enumerate() {
            let parts = weights.iter();
            let weight: f64 = parts.map(|(feature, weight)| weight * row[*feature]).sum();
            let (low, high) = through(gates[neuron], behind[neuron]);
            let (a, b) = (weight * low, weight * high);
            least += a.min(b);
            most += a.max(b);
        }
        (least, most)
    }

    /// The features that an importance sums, each with this weight.
    fn features(&self, importance: usize, weight: f64) -> Vec<(usize, f64)> {
        match &self.explained.groups {
            None => vec![(importance, weight)],
            Some(groups) => groups[importance]
                .iter()
                .map(|feature| (*feature, weight))
                .collect(),
        }
    }

    /// Whether the pairs that stay open hold one salient feature more, and as many others, than the claim allows.
    fn can_lose(&self, bounds: &Bounds, behind: &[(f64, f64)]) -> bool {
        let t = self.proof.lost_at_most + 1;
        let form = |weights: &[(usize, f64)]| self.form(&bounds.gates, behind, weights);
        let open: Vec<Vec<usize>> = self
            .proof
            .salient
            .iter()
            .map(|&salient| {
                let (low, high) = form(&self.features(salient, 1.0));
                let sign = if self.explained.absolute && low + high < 0.0 {
                    -1.0
                } else {
                    1.0
                };
                let signs: &[f64] = if self.explained.absolute {
                    &[1.0, -1.0]
                } else {
                    &[-1.0]
                };
                let is_open = |other: &usize| {
                    let needed = bounds.importance_slack[salient] + bounds.importance_slack[*other];
                    signs.iter().any(|beta| {
                        let mut weights = self.features(salient, sign);
                        weights.extend(self.features(*other, *beta));
                        let least = form(&weights).0;
                        least.is_nan() || least <= needed
                    })
                };
                self.others.iter().copied().filter(is_open).collect()
            })
            .collect();
        holds_complete(&open, t, &self.others)
    }

    /// Whether a layer is closed altogether, so that every importance is zero in any arithmetic, and the ties, which the first
    /// features win, lose no more than the claim allows.
    fn is_constant(&self, gates: &[Gate]) -> bool {
        let k = self.proof.salient.len();
        let lost = self.proof.salient.iter().filter(|one| **one >= k).count();
        let mut layers = self.starts.windows(2);
        lost <= self.proof.lost_at_most
            && layers.any(|layer| {
                let mut gates = gates[layer[0]..layer[1]].iter();
                gates.all(|gate| *gate == Gate::Closed)
            })
    }

    /// A free gate with much behind it.
    fn next_split(&self, gates: &[Gate], behind: &[(f64, f64)]) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (depth, layer) in self.network.hidden.iter().enumerate() {
            for (neuron, row) in layer.rows().enumerate() {
                let place = self.starts[depth] + neuron;
                if gates[place] != Gate::Free {
                    continue;
                }
                let weight: f64 = row.iter().map(|w| w * w).sum::<f64>().sqrt();
                let worth = weight * behind[place].0.abs().max(behind[place].1.abs());
                if best.is_none_or(|(most, _)| worth > most) {
                    best = Some((worth, place));
                }
            }
        }
        best.map(|(_, place)| place)
    }
}

/// The closed side of a gate, then its open side: the last is looked at first.
fn sides(part: &[Side], gate: usize) -> [Vec<Side>; 2] {
    [Side::Closed, Side::Open].map(|side| {
        let mut part = part.to_vec();
        part[gate] = side;
        part
    })
}

/// What a gate lets through of what lies behind it.
fn through(gate: Gate, (low, high): (f64, f64)) -> (f64, f64) {
    match gate {
        Gate::Open => (low, high),
        Gate::Closed => (0.0, 0.0),
        Gate::Free => (low.min(0.0), high.max(0.0)),
    }
}

/// What bounds of the exact pre-activation say of the deployed gate and of the exact output; none where the part's own side of
/// the gate cannot be.
fn decide(side: Side, least: f64, most: f64, slack: f64) -> Option<(Gate, Line)> {
    let line = |low_slope: f64, high_slope: f64, high_offset: f64| Line {
        low_slope,
        high_slope,
        high_offset,
    };
    match side {
        Side::Open if most < -slack => None,
        Side::Closed if least > slack => None,
        // The deployed gate may be open down to -slack, where the exact output is within slack of the pre-activation.
        Side::Open => Some((Gate::Open, line(1.0, 1.0, slack))),
        Side::Closed => Some((Gate::Closed, line(0.0, 0.0, slack))),
        Side::Unsplit => {
            let gate = if least >= slack {
                Gate::Open
            } else if most <= -slack {
                Gate::Closed
            } else {
                Gate::Free
            };
            let of_output = if least >= 0.0 {
                line(1.0, 1.0, 0.0)
            } else if most <= 0.0 {
                line(0.0, 0.0, 0.0)
            } else {
                let slope = most / (most - least);
                let nearer = if most > -least { 1.0 } else { 0.0 };
                // The chord, raised by what its own rounding may take away.
                let raised = 8.0 * f64::EPSILON * (most - least);
                line(nearer, slope, -slope * least + raised)
            };
            Some((gate, of_output))
        }
    }
}

/// Whether t rows share t of their columns.
fn holds_complete(open: &[Vec<usize>], t: usize, columns: &[usize]) -> bool {
    fn extend(open: &[Vec<usize>], t: usize, chosen: usize, columns: &[usize]) -> bool {
        if columns.len() < t {
            return false;
        }
        if chosen == t {
            return true;
        }
        let Some((first, rest)) = open.split_first() else {
            return false;
        };
        if open.len() < t - chosen {
            return false;
        }
        let shared: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|column| first.contains(column))
            .collect();
        extend(rest, t, chosen + 1, &shared) || extend(rest, t, chosen, columns)
    }
    extend(open, t, 0, columns)
}

#[cfg(test)]
mod tests {
    use super::super::super::explained::Ranked;
    use super::super::super::network::DenseLayer;
    use super::super::super::rounding::Arithmetic;
    use super::*;

    /// Of a row at 0 with two features, the first of which is salient; nothing was split.
    fn proof() -> Proof {
        Proof {
            row: 1,
            x: vec![0.0, 0.0],
            class: 0,
            salient: vec![0],
            of: Ranked::Logit,
            absolute: true,
            groups: None,
            norm: MoveNorm::L2,
            radius: 0.1,
            low: vec![None; 2],
            high: vec![None; 2],
            hold: false,
            lost_at_most: 0,
            splits: vec![-1],
        }
    }

    #[test]
    fn rows_that_share_columns_are_found() {
        let open = [vec![1, 2], vec![3], vec![1, 2, 3]];
        assert!(holds_complete(&open, 2, &[1, 2, 3]));
        assert!(!holds_complete(&open, 3, &[1, 2, 3]));
        assert!(!holds_complete(&[vec![], vec![]], 1, &[1]));
    }

    #[test]
    fn a_gate_is_decided_where_its_bounds_are_beyond_the_slack() {
        let gate = |least: f64, most: f64| decide(Side::Unsplit, least, most, 0.5).unwrap().0;
        assert_eq!(gate(0.5, 2.0), Gate::Open);
        assert_eq!(gate(0.4, 2.0), Gate::Free);
        assert_eq!(gate(-2.0, -0.4), Gate::Free);
        assert_eq!(gate(-2.0, -0.5), Gate::Closed);
    }

    #[test]
    fn what_is_never_negative_passes_as_it_is() {
        let (_, line) = decide(Side::Unsplit, 0.0, 1.0, 0.0).unwrap();
        let numbers = [line.low_slope, line.high_slope, line.high_offset];
        assert_eq!(numbers.map(f64::to_bits), [1.0, 1.0, 0.0].map(f64::to_bits));
    }

    #[test]
    fn what_rounding_can_add_to_a_line_leaves_its_gate_free() {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        // The one gate is closed by 1/4 at the row.
        let network = DenseNetwork {
            hidden: vec![layer(&[1.0, 0.0], &[-0.25])],
            head: layer(&[1.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let proof = proof();
        for (rounding, gate) in [(0.0, Gate::Closed), (0.5, Gate::Free)] {
            let mut checker = Checker::new(&network, &explained, &proof, 1);
            checker.slack.line[0] = rounding;
            // The bounds of intervals, which know nothing of that rounding, are left out.
            (checker.slack.low[0], checker.slack.high[0]) = (f64::NEG_INFINITY, f64::INFINITY);
            let bounds = checker.bound(&[Side::Unsplit]).unwrap();
            assert_eq!(bounds.gates, [gate], "{rounding}");
        }
    }

    #[test]
    fn without_hidden_layers_a_form_is_a_sum_of_weights() {
        let network = DenseNetwork {
            hidden: Vec::new(),
            head: DenseLayer {
                weight: vec![2.0, 3.0, 0.0, 0.0],
                bias: vec![0.0, 0.0],
                inputs: 2,
            },
            arithmetic: Arithmetic::DOUBLE,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let proof = proof();
        let checker = Checker::new(&network, &explained, &proof, 1);
        let (least, most) = checker.form(&[], &[], &[(0, 5.0), (1, -1.0)]);
        assert_eq!([least, most].map(f64::to_bits), [7.0_f64.to_bits(); 2]);
    }
}
