//! Region search: from region to region of a `ReLU` network, one gate at a time.
//!
//! On such a network the gradient of a margin is constant in each region, the inputs that share all gates; on a network of two
//! classes the ranking of the gradient depends on the region alone. So the search is one over regions:
//!
//! 1. A region's half-spaces say exactly whether it meets the threat set while the prediction holds, and where it comes
//!    nearest to the row (a [projection]).
//! 2. A neighbour has one gate more or less. Its gradient differs by a multiple of that gate's own gradient, so all
//!    neighbours of a [region] are ranked without running the network.
//! 3. A beam holds the best regions of a depth: those with the least overlap of the top-k sets, then with the smallest
//!    gaps between the weakest salient features that are left and the strongest others, the next to swap places.
//!
//! A [suite](super::suite) searches a second time, from the regions of what its members found and of random points, which lie further away than a
//! beam comes from the row itself. Each start keeps a few places of the beam, so that it does not fill up with regions next to each other.
//!
//! What was found is scored by the network itself, as in every attack. With more than two classes the probabilities of the
//! region's nearest point stand for those of the region.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

mod layers;
mod projection;
mod region;

use std::collections::HashSet;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thickset_engine::Network;
use thickset_engine::kernel::{VectorLoop, vectorised};

use self::layers::Layers;
use self::region::{Region, Score, Target};
use super::outcome::Attacked;
use super::start_points::StartPoints;
use super::state::AttackState;
use super::threat::ball::Surface;
use super::{Attack, AttackOption, Plan, Search, Setup};
use crate::check::as_f64;
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, ExplanationConfig, Of, Per};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result, Stream};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "region-search",
    label: "Region search",
    family: Family::Attack,
    summary: "Goes from region to region of a ReLU network, those first whose ranking has changed most",
    formula: "argmin over regions A that meet the threat set of P@k(I(x), I_A)",
    source: "thickset; the ranking of a ReLU network's gradient depends on its gates alone",
    direction: None,
    cost: "`beam` times `depth` regions, each with some projections onto half-spaces",
    defaults: &[
        Setting::new("beam", "regions that the search goes on with at each depth"),
        Setting::new("depth", "gates that are crossed one after the other"),
        Setting::new("tries", "neighbours tried for each region of the beam"),
    ],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegionSearchConfig {
    /// Regions that the search goes on with at each depth.
    pub beam: usize,
    /// Gates that are crossed one after the other.
    pub depth: usize,
    /// Neighbours tried for each region of the beam.
    pub tries: usize,
}

impl Default for RegionSearchConfig {
    fn default() -> Self {
        Self {
            beam: 8,
            depth: 12,
            tries: 4,
        }
    }
}

/// The most of each setting.
const MOST: usize = 10_000;

/// The most numbers in the gates' gradients of one region; a network with more is too large to search.
const MOST_NUMBERS: usize = 1 << 20;

/// The best points of a row that the network scores. The first is the worst one already, unless rounding or whole numbers
/// come in between.
const SCORED: usize = 8;

/// The most regions of a beam that come from one start, where there are several.
const OF_ONE_START: usize = 2;

impl RegionSearchConfig {
    /// Whether an explanation is one that regions decide: the gradient of features, signed or absolute.
    #[must_use]
    pub fn explains(explain: &ExplainConfig) -> bool {
        let is_plain = matches!(
            explain.reduce,
            ReductionConfig::Absolute | ReductionConfig::Signed
        );
        let is_gradient = matches!(explain.explanation, ExplanationConfig::Grad(_));
        is_gradient && is_plain && explain.per == Per::Feature
    }
}

impl Attack for RegionSearchConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        &[AttackOption::Constraint, AttackOption::Radius]
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        for (what, got) in [
            ("`region-search.beam`", self.beam),
            ("`region-search.depth`", self.depth),
            ("`region-search.tries`", self.tries),
        ] {
            if !(1..=MOST).contains(&got) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "in 1..=10000",
                    got: as_f64(got),
                });
            }
        }
        self.plan_from(setup.explain.config(), StartPoints::default(), 0)
    }
}

impl RegionSearchConfig {
    /// The search that begins at these points of a row and at so many random points beside them for each region of its beam, and
    /// at the row itself where it has none.
    ///
    /// # Errors
    /// Where regions do not decide the explanation.
    pub(super) fn plan_from(
        &self,
        explain: &ExplainConfig,
        starts: StartPoints,
        random_starts: usize,
    ) -> Result<Plan> {
        match &explain.explanation {
            ExplanationConfig::Grad(grad) if Self::explains(explain) => {
                Ok(Plan::Search(Arc::new(Regions {
                    config: *self,
                    of: grad.of,
                    is_absolute: explain.reduce == ReductionConfig::Absolute,
                    starts,
                    random_starts,
                })))
            }
            other => Err(Error::AttackInput {
                attack: INFO.id,
                expected: "the gradient of features, signed or absolute",
                got: format!("`{}`, `{}`", other.kind(), explain.reduce.kind()),
            }),
        }
    }
}

fn no_regions() -> Error {
    Error::AttackInput {
        attack: INFO.id,
        expected: "a chain of dense layers with ReLU between them, not too large",
        got: "another network".to_owned(),
    }
}

/// The search with what it needs to know of the explanation.
#[derive(Debug)]
struct Regions {
    config: RegionSearchConfig,
    of: Of,
    is_absolute: bool,
    starts: StartPoints,
    /// Random points that a search which is given starts begins at too, for each region of its beam.
    random_starts: usize,
}

impl Search for Regions {
    fn fits(&self, network: &Network) -> bool {
        Layers::of(network).is_some()
    }

    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let Some(layers) = Layers::of(state.network) else {
            return Err(no_regions());
        };
        let features = state.features();
        let targets: Vec<Target> = (0..state.count())
            .map(|row| self.target(&state, row))
            .collect();
        let mut streams = state.streams("region search");
        let starts: Vec<Vec<Vec<f64>>> = targets
            .iter()
            .zip(state.rows().ids)
            .zip(&mut streams)
            .map(|((target, id), stream)| self.start_points(&state, target, *id, stream))
            .collect();
        let found: Vec<Vec<Vec<f64>>> = targets
            .par_iter()
            .zip(&starts)
            .map(|(target, starts)| self.worst_points(&layers, target, starts))
            .collect();
        let most = found.iter().map(Vec::len).max().unwrap_or(0);
        let origin = state.origin();
        let mut points = origin.to_vec();
        for rank in 0..most {
            for (row, found) in found.iter().enumerate() {
                let place = row * features..(row + 1) * features;
                let x = &origin[place.clone()];
                match found.get(rank) {
                    Some(point) => {
                        let mut moved = point.clone();
                        state.attack.threat.project(x, &mut moved);
                        state.settle(x, &moved, &mut points[place]);
                    }
                    None => points[place].copy_from_slice(x),
                }
            }
            state.evaluate(&points)?;
            for row in 0..found.len() {
                state.keep_if_worst(row, &points);
            }
        }
        state.finish()
    }
}

impl Regions {
    /// What is searched at a row.
    fn target(&self, state: &AttackState<'_>, row: usize) -> Target {
        let features = state.features();
        let x = &state.origin()[row * features..(row + 1) * features];
        Target {
            x: x.to_vec(),
            bounds: state.attack.threat.reach(x),
            radius: state.attack.threat.largest_move(x),
            top: (0..features)
                .map(|feature| state.top[row].contains(feature))
                .collect(),
            k: state.k(),
            class: state.class(row),
            holds: !state.attack.constraint.behaviour().ignores_predictions(),
            of: self.of,
            is_absolute: self.is_absolute,
        }
    }

    /// Where the search of a row begins: what was given, and random points beside it; nowhere but at the row itself where nothing was.
    fn start_points(
        &self,
        state: &AttackState<'_>,
        target: &Target,
        id: u64,
        stream: &mut Stream,
    ) -> Vec<Vec<f64>> {
        let mut starts = self.starts.of(id, &target.x).to_vec();
        if !starts.is_empty() {
            let threat = &state.attack.threat;
            let drawn = (0..self.random_starts * self.config.beam)
                .map(|_| threat.draw(&target.x, Surface::Sphere, stream));
            starts.extend(drawn);
        }
        starts
    }

    /// The nearest points of the worst regions, the worst first.
    fn worst_points(&self, layers: &Layers, target: &Target, starts: &[Vec<f64>]) -> Vec<Vec<f64>> {
        vectorised(SearchRow {
            regions: self,
            layers,
            target,
            starts,
        })
    }

    #[inline(always)]
    fn search_row(&self, layers: &Layers, target: &Target, starts: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let place = target.place(layers);
        let mut found: Vec<(usize, Vec<f64>)> = Vec::new();
        let mut begun: Vec<(Score, Region)> = Vec::with_capacity(starts.len());
        for point in starts {
            begun.extend(place.start_at(point));
        }
        // Stable: of equals, the one that was given first.
        begun.sort_by(|(a, _), (b, _)| a.before(b));
        begun.dedup_by(|(_, b), (_, a)| a.gates() == b.gates());
        begun.truncate(self.config.beam);
        let mut beam: Vec<Region> = begun.into_iter().map(|(_, region)| region).collect();
        if beam.is_empty() {
            beam.push(place.start());
        }
        let mut seen: HashSet<Vec<bool>> =
            beam.iter().map(|region| region.gates().to_vec()).collect();
        // From which of the starts each region of the beam came. Of one start they soon are all alike, so it may not have them all.
        let mut origins: Vec<usize> = (0..beam.len()).collect();
        let most = if beam.len() > 1 {
            OF_ONE_START
        } else {
            self.config.beam
        };
        for _ in 0..self.config.depth {
            let mut neighbours = Vec::new();
            for (parent, region) in beam.iter().enumerate() {
                let of_region = place.neighbours(region).into_iter();
                neighbours.extend(of_region.map(|(score, gate)| (score, parent, gate)));
            }
            neighbours.sort_by(|a, b| a.0.before(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            let (mut next, mut next_origins) = (Vec::new(), Vec::new());
            let mut of_start = vec![0; self.config.beam];
            let mut tried = 0;
            for (score, parent, gate) in neighbours {
                if next.len() == self.config.beam || tried == self.config.tries * self.config.beam {
                    break;
                }
                let origin = origins[parent];
                if of_start[origin] == most {
                    continue;
                }
                let mut gates = beam[parent].gates().to_vec();
                gates[gate] = !gates[gate];
                if !seen.insert(gates) {
                    continue;
                }
                tried += 1;
                if let Some(region) = place.cross(&beam[parent], gate) {
                    if score.kept < target.k {
                        found.push((score.kept, place.point(&region)));
                    }
                    of_start[origin] += 1;
                    next.push(region);
                    next_origins.push(origin);
                }
            }
            if next.is_empty() {
                break;
            }
            (beam, origins) = (next, next_origins);
        }
        // Stable: of equals, the one that was found first.
        found.sort_by_key(|(kept, _)| *kept);
        found.truncate(SCORED);
        found.into_iter().map(|(_, point)| point).collect()
    }
}

/// The search of one row.
struct SearchRow<'a> {
    regions: &'a Regions,
    layers: &'a Layers,
    target: &'a Target,
    starts: &'a [Vec<f64>],
}

impl VectorLoop for SearchRow<'_> {
    type Output = Vec<Vec<f64>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self {
            regions,
            layers,
            target,
            starts,
        } = self;
        regions.search_row(layers, target, starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::AttackConfig;
    use crate::data::Schema;
    use crate::explain::Points;
    use crate::toy::{KINKED_ROW, kinked_precision, one_hidden_layer};

    #[test]
    fn the_ranking_changes_where_the_ball_reaches_the_kink_and_not_before() {
        for (radius, expected) in [(0.29, 1.0), (0.5, 0.0)] {
            let got = kinked_precision(RegionSearchConfig::default().into(), radius);
            assert!((got - expected).abs() < 1e-12, "{radius}: {got}");
        }
    }

    #[test]
    fn signed_gradients_are_ranked_by_their_signs() {
        // The margin is 10 relu(x0) + relu(3 x1 - 4 x0). Beyond the kink at x0 = 0 its gradient is (-4, 3) instead of (6, 3): the first feature is
        // no longer the largest, but still the largest in absolute value.
        let network = one_hidden_layer(2, 2, [vec![1.0, 0.0, -4.0, 3.0], vec![10.0, 1.0]]);
        let schema = Schema::table(&["x0", "x1"]);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        for (reduce, expected) in [
            (ReductionConfig::Signed, 0.0),
            (ReductionConfig::Absolute, 1.0),
        ] {
            let explain = ExplainConfig {
                reduce,
                ..ExplainConfig::default()
            };
            let mut config = AttackConfig {
                method: RegionSearchConfig::default().into(),
                k: 1,
                ..AttackConfig::default()
            };
            config.threat.ball.radius = 0.35;
            let attack = config.check(&explain, &schema).unwrap();
            let found = attack.perturb(&network, rows, crate::Seed::new(1)).unwrap();
            let got = found[0].precision;
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
    }

    #[test]
    fn regions_explain_plain_gradients_of_features_in_networks_with_kinks() {
        use crate::explain::contributions::ContributionsConfig;
        let plain = ExplainConfig::default();
        let of = |change: &dyn Fn(&mut ExplainConfig)| {
            let mut explain = plain.clone();
            change(&mut explain);
            RegionSearchConfig::explains(&explain)
        };
        assert!(of(&|_| {}));
        assert!(of(&|explain| explain.reduce = ReductionConfig::Signed));
        assert!(!of(&|explain| explain.reduce = ReductionConfig::ChannelSum));
        assert!(!of(&|explain| explain.per = Per::Column));
        assert!(!of(
            &|explain| explain.explanation = ContributionsConfig::default().into()
        ));
        let network = crate::toy::kinked_network();
        let fits = |network: &Network| {
            let config = AttackConfig {
                method: RegionSearchConfig::default().into(),
                k: 1,
                ..AttackConfig::default()
            };
            let attack = config.check(&plain, &Schema::table(&["x0", "x1"])).unwrap();
            attack.fits(network)
        };
        assert!(fits(&network) && !fits(&network.smooth_twin(3.0)));
    }

    #[test]
    fn a_target_is_its_own_row_and_holds_its_class_unless_classes_are_ignored() {
        use crate::attack::constraint::none::NoneConfig;
        use crate::attack::state::Networks;
        let rows = Points {
            values: &[0.3, 1.0, 0.5, 2.0],
            ids: &[3, 5],
        };
        let network = crate::toy::kinked_network();
        let networks = Networks::new(&network, None);
        for (constraint, holds) in [
            (AttackConfig::default().constraint, true),
            (NoneConfig {}.into(), false),
        ] {
            let mut config = AttackConfig {
                k: 1,
                constraint,
                ..AttackConfig::default()
            };
            config.threat.ball.radius = 0.25;
            let schema = Schema::table(&["x0", "x1"]);
            let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
            let state = AttackState::new(&attack, &networks, rows, crate::Seed::new(1)).unwrap();
            let found = [(5, &[0.5, 2.0][..], &[0.4, 2.0][..])];
            let regions = Regions {
                config: RegionSearchConfig::default(),
                of: Of::Loss,
                is_absolute: true,
                starts: StartPoints::new(found.into_iter()),
                random_starts: 2,
            };
            let target = regions.target(&state, 1);
            assert_eq!(
                (target.x.as_slice(), target.holds),
                (&[0.5, 2.0][..], holds)
            );
            assert_eq!(
                (target.top.as_slice(), target.k, target.class),
                (&[true, false][..], 1, 0)
            );
            assert!((target.radius - 0.25).abs() < 1e-15 && target.of == Of::Loss);
            // Beside what was found, twice as many random points as the beam is wide; where nothing was found, none.
            let mut stream = crate::Seed::new(1).stream("starts");
            let starts = regions.start_points(&state, &target, 5, &mut stream);
            assert_eq!((starts.len(), starts[0].as_slice()), (17, &[0.4, 2.0][..]));
            let none = regions.start_points(&state, &target, 3, &mut stream);
            assert!(none.is_empty());
        }
    }
}
