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

    /// The first layer is `x0 + 1` and `x1 + 0.1`, the second `2 max(0, .) - 3 max(0, .) - 0.25`, which speaks for class 0.
    fn two_layers() -> DenseNetwork {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        DenseNetwork {
            hidden: vec![
                layer(&[1.0, 0.0, 0.0, 1.0], &[1.0, 0.1]),
                layer(&[2.0, -3.0], &[-0.25]),
            ],
            head: layer(&[1.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    fn with_checker<T>(
        ranked: Ranked,
        change: impl FnOnce(&mut Proof),
        run: impl FnOnce(&mut Checker<'_>) -> T,
    ) -> T {
        let network = two_layers();
        let explained = Explained::new(&network, ranked, 0).unwrap();
        let mut proof = Proof {
            radius: 0.5,
            of: ranked,
            ..proof()
        };
        change(&mut proof);
        run(&mut Checker::new(&network, &explained, &proof, 1))
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            assert!((one - other).abs() < 1e-6, "{found:?} {expected:?}");
        }
    }

    /// The lines of the first layer, and of the second between these bounds.
    fn lines(least: f64, most: f64) -> [Line; 3] {
        let decided = |least, most| decide(Side::Unsplit, least, most, 0.0).unwrap().1;
        [decided(0.5, 1.5), decided(-0.4, 0.6), decided(least, most)]
    }

    #[test]
    fn a_chord_is_raised_by_what_its_own_rounding_may_take_away() {
        let (gate, line) = decide(Side::Unsplit, -1.0, 3.0, 0.5).unwrap();
        assert_eq!(gate, Gate::Free);
        let raised = 0.75 + 8.0 * f64::EPSILON * 4.0;
        assert_eq!(
            vec![line.low_slope, line.high_slope, line.high_offset],
            [1.0, 0.75, raised]
        );
        let (_, line) = decide(Side::Unsplit, -3.0, 1.0, 0.5).unwrap();
        assert_eq!(
            vec![line.low_slope, line.high_slope, line.high_offset],
            [0.0, 0.25, raised]
        );
    }

    #[test]
    fn a_side_that_bounds_exclude_is_empty_and_else_decides_its_gate() {
        let of = |side, least, most| {
            decide(side, least, most, 0.5).map(|(gate, line)| {
                let numbers = vec![line.low_slope, line.high_slope, line.high_offset];
                (gate, numbers)
            })
        };
        let (open, closed) = (
            Some((Gate::Open, vec![1.0, 1.0, 0.5])),
            Some((Gate::Closed, vec![0.0, 0.0, 0.5])),
        );
        assert_eq!(of(Side::Open, -2.0, -0.5), open);
        assert_eq!(of(Side::Open, -2.0, -0.6), None);
        assert_eq!(of(Side::Closed, 0.5, 2.0), closed);
        assert_eq!(of(Side::Closed, 0.6, 2.0), None);
        // What is never positive gives nothing.
        let (gate, line) = of(Side::Unsplit, -2.0, 0.0).unwrap();
        assert_eq!((gate, line), (Gate::Free, vec![0.0; 3]));
    }

    #[test]
    fn lines_are_put_into_lines_down_to_the_move() {
        with_checker(
            Ranked::Logit,
            |_| (),
            |checker| {
                let lines = lines(-0.5, 2.75);
                // Above and below 2 z0 - 3 z1 - 1/4, with z1 below 0.6 z + 0.24 and above z.
                for (above, slope, at) in [(false, [2.0, -1.8], 0.85), (true, [2.0, -3.0], 1.45)] {
                    let (line, offset) = checker.line(&lines, 1, &[2.0, -3.0], -0.25, above);
                    assert_near(&line, &slope);
                    assert_near(&[offset], &[at]);
                }
            },
        );
        // Of a row that is elsewhere, with a feature that stays.
        let change = |proof: &mut Proof| {
            proof.x = vec![0.5, 2.0];
            (proof.low[0], proof.high[0]) = (Some(0.0), Some(0.0));
        };
        with_checker(Ranked::Logit, change, |checker| {
            assert_eq!(checker.moving, [1]);
            let (line, offset) = checker.line(&[], 0, &[2.0, -3.0], -0.25, true);
            assert_near(&line, &[-3.0]);
            assert_near(&[offset], &[1.0 - 6.0 - 0.25]);
        });
    }

    #[test]
    fn limits_of_features_are_cuts_where_the_radius_does_not_keep_them() {
        let change = |proof: &mut Proof| {
            proof.x = vec![3.0, 0.0];
            (proof.low[0], proof.high[1]) = (Some(-0.25), Some(0.125));
            proof.low[1] = Some(-0.5);
        };
        with_checker(Ranked::Logit, change, |checker| {
            let cuts = checker.limits();
            let wide = [3.25, 0.125].map(|size| 4.0 * f64::EPSILON * size);
            let found: Vec<(Vec<f64>, f64)> = cuts.into_iter().map(|cut| (cut.a, cut.c)).collect();
            let expected = [
                (vec![1.0, 0.0], 0.25 + wide[0]),
                (vec![0.0, -1.0], 0.125 + wide[1]),
            ];
            assert_eq!(found, expected);
        });
    }

    #[test]
    fn a_part_is_bounded_as_on_paper_on_either_side_of_its_split() {
        with_checker(
            Ranked::Logit,
            |_| (),
            |checker| {
                let whole = checker.bound(&[Side::Unsplit; 3]).unwrap();
                assert_eq!(whole.gates, [Gate::Open, Gate::Free, Gate::Free]);
                assert!(whole.cuts.is_empty());
                for (side, gate, normal, at) in [
                    (Side::Open, Gate::Open, [2.0, -3.0], 1.45),
                    (Side::Closed, Gate::Closed, [-2.0, 1.8], -0.85),
                ] {
                    let part = checker
                        .bound(&[Side::Unsplit, Side::Unsplit, side])
                        .unwrap();
                    assert_eq!(part.gates, [Gate::Open, Gate::Free, gate]);
                    assert_near(&part.cuts[0].a, &normal);
                    assert_near(&[part.cuts[0].c], &[at]);
                    assert!(part.cuts[0].c > at);
                }
                // Both sides are wider by what rounding can do.
                checker.slack.gate[2] = 0.125;
                for (side, at) in [(Side::Open, 1.45), (Side::Closed, -0.85)] {
                    let part = checker.bound(&[Side::Unsplit, Side::Unsplit, side]);
                    assert_near(&[part.unwrap().cuts[0].c], &[at + 0.125]);
                }
                checker.slack.gate[2] = 0.0;
                // Without the second neuron the third is 2 d0 + 1.75.
                let part = checker
                    .bound(&[Side::Unsplit, Side::Closed, Side::Unsplit])
                    .unwrap();
                assert_eq!(part.gates, [Gate::Open, Gate::Closed, Gate::Open]);
                assert!(
                    checker
                        .bound(&[Side::Unsplit, Side::Closed, Side::Closed])
                        .is_none()
                );
                assert!(
                    checker
                        .bound(&[Side::Closed, Side::Unsplit, Side::Unsplit])
                        .is_none()
                );
            },
        );
    }

    #[test]
    fn margins_matter_where_the_class_must_stay_or_the_scale_follows_them() {
        let least = 0.85 - 0.5 * (4.0_f64 + 3.24).sqrt();
        let slope = 2.75 / (2.75 - least);
        let most = slope * (1.45 + 0.5 * 13.0_f64.sqrt() - least);
        for (ranked, hold, expected, count) in [
            (Ranked::Logit, false, [0.0, 0.0], 0),
            (Ranked::Logit, true, [0.0, most + 0.125], 1),
            (Ranked::Probability, false, [least - 0.125, most + 0.125], 0),
            (Ranked::Probability, true, [0.0, most + 0.125], 1),
        ] {
            with_checker(
                ranked,
                |proof| proof.hold = hold,
                |checker| {
                    // What rounding can do widens them to either side.
                    checker.slack.class[0] = 0.125;
                    let mut cuts = Vec::new();
                    let (low, high) = checker.margins(&lines(least, 2.75), &mut cuts).unwrap();
                    assert_near(&[low, high], &expected);
                    assert_eq!(cuts.len(), count, "{ranked:?} {hold}");
                    if let [cut] = &cuts[..] {
                        assert_near(&cut.a, &[2.0 * slope, -3.0 * slope]);
                        assert_near(&[cut.c], &[slope * (1.45 - least) + 0.125]);
                    }
                },
            );
        }
    }

    #[test]
    fn what_lies_behind_a_gate_comes_through_those_that_are_open_or_may_be() {
        with_checker(
            Ranked::Logit,
            |_| (),
            |checker| {
                let behind = |gate| checker.behind(&[Gate::Open, Gate::Free, gate]);
                assert_eq!(behind(Gate::Open), [(2.0, 2.0), (-3.0, -3.0), (1.0, 1.0)]);
                assert_eq!(behind(Gate::Free), [(0.0, 2.0), (-3.0, 0.0), (1.0, 1.0)]);
                assert_eq!(behind(Gate::Closed)[..2], [(0.0, 0.0), (0.0, 0.0)]);
                // 5 g0 - g1, with the first gate open and the second either.
                let gates = [Gate::Open, Gate::Free, Gate::Open];
                let form = checker.form(&gates, &behind(Gate::Open), &[(0, 5.0), (1, -1.0)]);
                assert_eq!(form, (10.0, 13.0));
                // |g0| is 2 and |g1| up to 3.
                let bounds = |slack: f64| Bounds {
                    gates: vec![Gate::Open, Gate::Closed, Gate::Open],
                    importance_slack: vec![slack, slack],
                    cuts: Vec::new(),
                };
                let can_lose = |bounds: &Bounds| checker.can_lose(bounds, &behind(Gate::Open));
                assert!(!can_lose(&bounds(0.9)) && can_lose(&bounds(1.0)));
                let open = Bounds {
                    gates: gates.to_vec(),
                    ..bounds(0.0)
                };
                assert!(can_lose(&open));
                assert_eq!(checker.next_split(&gates, &behind(Gate::Open)), Some(1));
                // The third weighs the root of 13 and the second 3.
                let both = [Gate::Open, Gate::Free, Gate::Free];
                assert_eq!(checker.next_split(&both, &behind(Gate::Free)), Some(2));
                assert_eq!(
                    checker.next_split(&[Gate::Open; 3], &behind(Gate::Open)),
                    None
                );
            },
        );
    }

    #[test]
    fn behind_a_closed_layer_the_first_features_win() {
        let is_constant = |salient: usize, gates: [Gate; 3]| {
            with_checker(
                Ranked::Logit,
                |proof| proof.salient = vec![salient],
                |checker| checker.is_constant(&gates),
            )
        };
        let closed = [Gate::Closed, Gate::Closed, Gate::Free];
        assert!(is_constant(0, closed));
        assert!(!is_constant(1, closed));
        assert!(is_constant(0, [Gate::Open, Gate::Free, Gate::Closed]));
        assert!(!is_constant(0, [Gate::Closed, Gate::Free, Gate::Open]));
    }

    #[test]
    fn a_tree_must_end_where_it_says() {
        let follow = |splits: &[i64]| {
            let network = two_layers();
            let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
            let proof = Proof {
                radius: 1e-3,
                ..proof()
            };
            // Near the row g is (2, -3), and the claim is that the second stays.
            let proof = Proof {
                salient: vec![1],
                ..proof
            };
            Checker::new(&network, &explained, &proof, 5).follow(splits)
        };
        assert_eq!(follow(&[-1]), Ok(()));
        assert_eq!(follow(&[2, -1, -1]), Ok(()));
        assert!(follow(&[]).is_err() && follow(&[2, -1]).is_err());
        assert!(follow(&[-1, -1]).is_err() && follow(&[-2]).is_err());
        assert!(follow(&[2, 2, -1, -1, -1]).is_err() && follow(&[3, -1, -1]).is_err());
    }

    #[test]
    fn a_line_from_below_goes_along_zero_where_most_is_closed() {
        with_checker(
            Ranked::Logit,
            |_| (),
            |checker| {
                let decided = |least, most| decide(Side::Unsplit, least, most, 0.0).unwrap().1;
                let lines = [decided(0.5, 1.5), decided(-0.6, 0.4)];
                // 2 z0 + 3 z1 - 1/4, with z1 above 0 and below 0.4 z + 0.24.
                for (above, slope, at) in [(false, [2.0, 0.0], 1.75), (true, [2.0, 1.2], 2.59)] {
                    let (line, offset) = checker.line(&lines, 1, &[2.0, 3.0], -0.25, above);
                    assert_near(&line, &slope);
                    assert_near(&[offset], &[at]);
                }
            },
        );
    }

    #[test]
    fn with_their_signs_features_are_compared_by_their_difference_alone() {
        // The gradient is (2, -3).
        let network = two_layers();
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let proof = proof();
        for absolute in [false, true] {
            explained.absolute = absolute;
            let checker = Checker::new(&network, &explained, &proof, 1);
            let bounds = Bounds {
                gates: vec![Gate::Open; 3],
                importance_slack: vec![0.0, 0.0],
                cuts: Vec::new(),
            };
            let behind = checker.behind(&bounds.gates);
            assert_eq!(checker.can_lose(&bounds, &behind), absolute);
            // Worth more is what weighs more times what lies behind it.
            let free = [Gate::Open, Gate::Free, Gate::Free];
            let behind = [(0.0, 0.0), (-4.0, 0.0), (1.0, 1.0)];
            assert_eq!(checker.next_split(&free, &behind), Some(1));
        }
    }

    #[test]
    fn ways_lead_through_every_neuron_of_the_layer_behind() {
        let mut network = two_layers();
        network.hidden[1] = DenseLayer {
            weight: vec![2.0, -3.0, 1.0, 4.0],
            bias: vec![0.0, 0.0],
            inputs: 2,
        };
        network.head = DenseLayer {
            weight: vec![1.0, -1.0, 0.0, 0.0],
            bias: vec![0.0, 0.0],
            inputs: 2,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let proof = proof();
        let checker = Checker::new(&network, &explained, &proof, 1);
        let behind = |first, second| {
            let behind = checker.behind(&[Gate::Open, Gate::Open, first, second]);
            (behind[0], behind[1])
        };
        assert_eq!(behind(Gate::Open, Gate::Closed), ((2.0, 2.0), (-3.0, -3.0)));
        assert_eq!(
            behind(Gate::Closed, Gate::Open),
            ((-1.0, -1.0), (-4.0, -4.0))
        );
        assert_eq!(behind(Gate::Open, Gate::Free), ((1.0, 2.0), (-7.0, -3.0)));
    }

    #[test]
    fn a_feature_that_can_only_fall_has_the_slack_of_one_that_can_only_rise() {
        for (low, high) in [(Some(-0.25), Some(0.0)), (Some(0.0), Some(0.25))] {
            let change = |proof: &mut Proof| {
                (proof.low, proof.high) = (vec![low, Some(0.0)], vec![high, Some(0.0)]);
            };
            with_checker(Ranked::Logit, change, |checker| {
                assert_near(&checker.slack.low[..1], &[0.75]);
                assert_near(&checker.slack.high[..1], &[1.25]);
            });
        }
        // A move of length 1/2 takes x0 + x1 no further than the root of 1/2.
        let network = DenseNetwork {
            hidden: vec![DenseLayer {
                weight: vec![1.0, 1.0],
                bias: vec![0.0],
                inputs: 2,
            }],
            ..two_layers()
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        for (norm, most) in [(MoveNorm::L2, 0.5_f64.sqrt()), (MoveNorm::Linf, 1.0)] {
            let proof = Proof {
                radius: 0.5,
                norm,
                ..proof()
            };
            let checker = Checker::new(&network, &explained, &proof, 1);
            assert_near(&checker.slack.high, &[most]);
        }
    }
}
