//! How far a small change of a row changes its explanation.

use thickset_engine::Network;

use super::{ExplainOptions, Model, Origin};
use crate::attack::suite::{Effort, SuiteConfig, SuiteRows, over_radii};
use crate::attack::threat::Norm;
use crate::attack::{
    AttackConfig, AttackKind, Attacked, ConstraintConfig, PairPredictions, ThreatConfig,
};
use crate::config::RunConfig;
use crate::decision::DecisionConfig;
use crate::explain::{CheckedExplain, ExplainConfig, Explained, Points};
use crate::statistics::{Estimate, mean};
use crate::{Error, Result, Rows, defaults};

/// How explanations are attacked. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttackOptions {
    /// One attack; the suite of all of them where absent.
    pub method: Option<AttackKind>,
    /// How hard the suite tries.
    pub effort: Option<Effort>,
    /// Salient features.
    pub k: Option<usize>,
    /// The largest move in encoded units. An l-infinity ball has no usual one.
    pub radius: Option<f64>,
    /// Which inputs an attack may reach; its radius counts only where `radius` and the data's own are absent. The run's, or what
    /// such rows could become, where absent.
    pub threat: Option<ThreatConfig>,
    /// The decision that attacks keep; the run's, or the most probable class, where nothing is said.
    pub decision: DecisionConfig,
    /// How a single attack keeps the prediction.
    pub constraint: Option<ConstraintConfig>,
    /// Steps of a single attack.
    pub steps: Option<usize>,
    /// Length of a single attack's step.
    pub step_size: Option<f64>,
    /// Largest change of a feature in one step of a single attack.
    pub step_cap: Option<f64>,
    /// Runs of a single attack.
    pub restarts: Option<usize>,
    /// Sharpness of the smooth twin that a single attack's directions come from.
    pub surrogate: Option<f64>,
    /// Whether a single attack follows importances as shares of their sum.
    pub shares: bool,
    /// Which predictions of a pair a single attack keeps beside its own.
    pub pair_predictions: PairPredictions,
    /// What is attacked.
    pub explain: ExplainOptions,
}

/// What attacks came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Attacks {
    /// What the importances are of.
    pub names: Vec<String>,
    /// Salient features.
    pub k: usize,
    /// One a row.
    pub rows: Vec<AttackedRow>,
}

/// What the suite found within several radii.
#[derive(Clone, Debug, PartialEq)]
pub struct RadiusCurve {
    /// Salient features.
    pub k: usize,
    /// Each radius with its rows, the smallest radius first.
    pub radii: Vec<(f64, Vec<Attacked>)>,
}

/// One row before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct AttackedRow {
    /// The row's explanation.
    pub before: Explained,
    /// The explanation of the same class at the worst point.
    pub after: Explained,
    /// The worst point, and how it was found.
    pub found: Attacked,
}

impl Attacks {
    /// The mean share of a row's top-k features that survive, with its 95% interval.
    ///
    /// # Errors
    /// When there is no row.
    pub fn precision_at_k(&self) -> Result<Estimate> {
        let precision: Vec<f64> = self.rows.iter().map(|row| row.found.precision).collect();
        Ok(mean::estimate(&precision)?.of_share())
    }
}

impl Model {
    /// Searches for the smallest share of each row's top-k features that survives a small change of the row.
    ///
    /// # Errors
    /// When rows do not fit the model, a setting is out of range, or something is not finite.
    pub fn attack(&self, rows: &Rows<'_>, options: &AttackOptions) -> Result<Attacks> {
        let origin = self.origin()?;
        let explain = self.explain_config(&origin, &options.explain)?;
        let explain = explain.check(rows.schema())?;
        let seed = options.explain.seed;
        let deciding = self.deciding(&origin, &options.decision)?;
        let network = &deciding.network;
        let mut before = explain.attribute_rows(network, rows, seed)?;
        let width = before.first().map_or(0, |row| row.importance.len());
        let k = origin.k(rows, options.k, (explain.config(), width));
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let found = found(&origin, network, rows, options, (&explain, k, points))?;
        let worst: Vec<f64> = found.iter().flat_map(|row| row.perturbed.clone()).collect();
        let classes: Vec<usize> = before.iter().map(|row| row.class).collect();
        let worst = Points {
            values: &worst,
            ids: &ids,
        };
        let mut after = explain.attribute_classes(network, worst, &classes, seed)?;
        for row in before.iter_mut().chain(&mut after) {
            row.probabilities = deciding.own_probabilities(&row.probabilities);
        }
        let rows = before.into_iter().zip(after).zip(found);
        Ok(Attacks {
            names: explain.names(width),
            k,
            rows: rows
                .map(|((before, after), found)| AttackedRow {
                    before,
                    after,
                    found,
                })
                .collect(),
        })
    }

    /// What rows could become where nothing else is said: what the model's run says, or what such rows could be.
    ///
    /// # Errors
    /// If a file of the run's folder cannot be read.
    pub fn usual_threat(&self) -> Result<ThreatConfig> {
        let run = self.origin()?.run;
        let schema = self.schema();
        Ok(match run {
            Some(run) => run.threat_of(schema),
            None => ThreatConfig::usual(&schema.shape),
        })
    }

    /// Attacks with the suite within each of these radii, the smallest first. A larger radius keeps what smaller ones found.
    ///
    /// # Errors
    /// As for [`Model::attack`].
    pub fn attack_over_radii(
        &self,
        rows: &Rows<'_>,
        options: &AttackOptions,
        radii: &[f64],
    ) -> Result<RadiusCurve> {
        let origin = self.origin()?;
        let explain = self.explain_config(&origin, &options.explain)?;
        let width = explain.check(rows.schema())?.names(0).len();
        let k = origin.k(rows, options.k, (&explain, width));
        let deciding = self.deciding(&origin, &options.decision)?;
        let suite = SuiteConfig {
            effort: options.effort.or(origin.audit().effort).unwrap_or_default(),
            k,
            // Radii are given, so none is looked for.
            threat: origin.threat(rows, options.threat.as_ref(), Some(defaults::RADIUS))?,
        };
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let seed = options.explain.seed;
        let schema = rows.schema();
        let donors = rows.donors(suite.effort.donors());
        let on = SuiteRows {
            network: &deciding.network,
            rows: points,
            donors: &donors,
            seed,
        };
        let found = over_radii(&suite, radii, &explain, schema, &on)?;
        Ok(RadiusCurve { k, radii: found })
    }
}

/// What attacks find.
fn found(
    origin: &Origin,
    network: &Network,
    rows: &Rows<'_>,
    options: &AttackOptions,
    (explain, k, points): (&CheckedExplain, usize, Points<'_>),
) -> Result<Vec<Attacked>> {
    // The multi-objective attack knows the ball alone.
    let ball = ThreatConfig::default();
    let is_of_ball = matches!(options.method, Some(AttackKind::Moo(_)));
    let given = options.threat.as_ref().or(is_of_ball.then_some(&ball));
    let threat = origin.threat(rows, given, options.radius)?;
    let (schema, seed) = (rows.schema(), options.explain.seed);
    let Some(method) = &options.method else {
        let effort = options.effort.or(origin.audit().effort);
        let suite = SuiteConfig {
            effort: effort.unwrap_or_default(),
            k,
            threat,
        };
        let donors = rows.donors(suite.effort.donors());
        let suite = suite
            .check(explain.config(), schema)?
            .with_donors(&donors)?;
        return Ok(suite.perturb(network, points, seed)?.rows);
    };
    let usual = AttackConfig::default();
    let attack = AttackConfig {
        method: method.clone(),
        k,
        threat,
        constraint: options.constraint.unwrap_or(usual.constraint),
        steps: options.steps.unwrap_or(usual.steps),
        step_size: options.step_size,
        step_cap: options.step_cap,
        restarts: options.restarts.unwrap_or(usual.restarts),
        surrogate: options.surrogate,
        shares: options.shares,
        pair_predictions: options.pair_predictions,
    };
    let attack = attack.check(explain.config(), schema)?;
    attack.perturb(network, points, seed)
}

impl Origin {
    /// The size of the salient set: the given one, or that of the model's run or of its data.
    pub(super) fn k(
        &self,
        rows: &Rows<'_>,
        given: Option<usize>,
        (explain, importances): (&ExplainConfig, usize),
    ) -> usize {
        // A run's k is that of what it hands out.
        let is_handed_out = |run: &&RunConfig| {
            let own = run.handed_out(rows.schema());
            own.per == explain.per && own.explanation.kind() == explain.explanation.kind()
        };
        let run = || self.run.as_ref().filter(is_handed_out);
        let of_run = || run().and_then(|run| run.k);
        let of_data = rows.attack_defaults().map(|attack| attack.k);
        let of_data = || defaults::salient_of(explain, of_data);
        let own = || self.audit().k.or_else(of_run).or_else(of_data);
        // One that was given and does not fit is refused where it is used.
        given.unwrap_or_else(|| defaults::salient(own(), importances))
    }

    /// The set of inputs that attacks may reach: the given one, the run's, or what such rows could become; with the given radius,
    /// or that of the model's run or of its data. Where single columns are named, their amounts are the limit.
    pub(super) fn threat(
        &self,
        rows: &Rows<'_>,
        threat: Option<&ThreatConfig>,
        given: Option<f64>,
    ) -> Result<ThreatConfig> {
        let of_run = || self.run.as_ref().and_then(|run| run.threat.clone());
        let usual = || ThreatConfig::usual(&rows.schema().shape);
        let threat = threat.cloned().or_else(of_run);
        let mut threat = threat.unwrap_or_else(usual);
        let of_data = || rows.attack_defaults().map(|attack| attack.epsilon);
        threat.ball.radius = match (given, threat.ball.norm) {
            (Some(radius), _) => radius,
            (None, _) if threat.names_columns() => threat.reach(rows.schema()),
            (None, Norm::L2) => {
                let own = self.audit().radius.or_else(of_data);
                own.unwrap_or(threat.ball.radius)
            }
            (None, Norm::Linf) => return Err(Error::RadiusMissing),
        };
        Ok(threat)
    }
}
