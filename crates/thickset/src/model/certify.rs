//! What no small move of a row can do to its explanation, proved.

use serde::Serialize;

use super::{ExplainOptions, Model};
use crate::attack::ThreatConfig;
use crate::certify::proof::{Proof, ProofHeader, SCHEMA};
use crate::certify::smoothed_top_k::{SmoothedRows, SmoothedTopKConfig};
use crate::certify::{
    CertifiedRadius, CertifiedWorstCase, CertifyConfig, CheckedCertify, Tolerance,
};
use crate::data::FeatureKind;
use crate::explain::Points;
use crate::{Result, Rows};

/// What is certified. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CertifyOptions {
    /// Salient features.
    pub k: Option<usize>,
    /// The largest move that is asked about, in encoded units. An l-infinity ball has no usual one.
    pub radius: Option<f64>,
    /// What a row may become; its radius counts only where `radius` and the data's own are absent.
    pub threat: ThreatConfig,
    /// Whether moves may change the predicted class.
    pub any_class: bool,
    /// Parts of a row's search, after which a bracket is given.
    pub nodes: Option<usize>,
    /// What is certified.
    pub explain: ExplainOptions,
}

/// The values that a number may take, everything else as it is, with the reasons proved to stay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToleratedRange {
    /// The feature's name.
    pub feature: String,
    /// The unit of its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The row's own value.
    pub value: f64,
    /// Above this.
    pub from: f64,
    /// Below this.
    pub to: f64,
}

/// What certificates say of some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificates {
    /// Salient features.
    pub k: usize,
    /// The largest move that was asked about.
    pub radius: f64,
    /// One a row.
    pub rows: Vec<CertifiedRow>,
}

/// What is known of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct CertifiedRow {
    /// The smallest move that changes its top-k set.
    pub radius: CertifiedRadius,
    /// The lowest P@k within the largest move.
    pub worst_case: CertifiedWorstCase,
}

/// How the explanation under noise is certified. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmoothedOptions {
    /// Salient features.
    pub k: Option<usize>,
    /// The largest move that is asked about, in encoded units.
    pub radius: Option<f64>,
    /// What a row may become.
    pub threat: ThreatConfig,
    /// Noisy copies of a row.
    pub draws: Option<usize>,
    /// Deviation of each feature's noise, in encoded units.
    pub sigma: Option<f64>,
    /// With which all bounds of a row hold together.
    pub confidence: Option<f64>,
    /// What is certified.
    pub explain: ExplainOptions,
}

/// What is certified of the explanations of some rows under noise.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothedCertificates {
    /// What was asked, with everything that was left out filled in.
    pub config: SmoothedTopKConfig,
    /// The rows.
    pub found: SmoothedRows,
    /// What the importances are of.
    pub names: Vec<String>,
}

impl Model {
    /// Certifies, row by row, how far the top-k set of the *smoothed* explanation stays: of any model, with a stated
    /// confidence.
    ///
    /// # Errors
    /// When rows do not fit the model or a setting is out of range.
    pub fn certify_smoothed(
        &self,
        rows: &Rows<'_>,
        options: &SmoothedOptions,
    ) -> Result<SmoothedCertificates> {
        let origin = self.origin()?;
        let explain = self.explain_config(&origin, &options.explain)?;
        let names = explain.check(rows.schema())?.names(0);
        let usual = SmoothedTopKConfig::default();
        let config = SmoothedTopKConfig {
            k: origin.k(rows, options.k, (&explain, names.len())),
            threat: origin.threat(rows, Some(&options.threat), options.radius)?,
            draws: options.draws.unwrap_or(usual.draws),
            sigma: options.sigma.unwrap_or(usual.sigma),
            confidence: options.confidence.unwrap_or(usual.confidence),
        };
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let seed = options.explain.seed;
        let found = config.certify(&explain, rows.schema(), &self.network, points, seed)?;
        Ok(SmoothedCertificates {
            config,
            found,
            names,
        })
    }

    /// Proves, row by row, how far a row can move before its top-k set changes, and how low P@k can go within the radius. Of networks
    /// of dense layers with `ReLU`, and of segmented models.
    ///
    /// # Errors
    /// [`Error::CertifyInput`](crate::Error::CertifyInput) where no certificate can be given, and when rows do not fit the model or a
    /// setting is out of range.
    pub fn certify(&self, rows: &Rows<'_>, options: &CertifyOptions) -> Result<Certificates> {
        let certify = self.certify_settings(rows, options)?;
        let network = self.network_on_cpu()?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let radii = certify.radius(&network, points)?;
        let worst = certify.worst_case(&network, points)?;
        Ok(Certificates {
            k: certify.k(),
            radius: certify.largest_radius(),
            rows: radii
                .into_iter()
                .zip(worst)
                .map(|(radius, worst_case)| CertifiedRow { radius, worst_case })
                .collect(),
        })
    }

    /// Certifies, row by row, how far each feature may move alone before the top-k set changes: the range of its values, in the
    /// column's own unit, in which the reasons are proved to stay.
    ///
    /// # Errors
    /// As for [`Model::certify`].
    pub fn tolerances(
        &self,
        rows: &Rows<'_>,
        options: &CertifyOptions,
    ) -> Result<Vec<Vec<ToleratedRange>>> {
        let certify = self.certify_settings(rows, options)?;
        let network = self.network_on_cpu()?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let found = certify.tolerances(&network, points)?;
        Ok(in_units(rows, &values, found))
    }

    /// The same of contributions, for the features of each row that are wanted; nothing of other explanations.
    pub(super) fn tolerances_of(
        &self,
        rows: &Rows<'_>,
        options: &CertifyOptions,
        wanted: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Vec<Vec<ToleratedRange>>> {
        let certify = self.certify_settings(rows, options)?;
        let network = self.network_on_cpu()?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let found = certify.tolerances_of(&network, points, wanted)?;
        Ok(in_units(rows, &values, found))
    }

    /// What is certified of some rows as proofs, which [`ProofChecker`](crate::certify::check::ProofChecker) can check.
    ///
    /// # Errors
    /// As for [`Model::certify`].
    pub fn prove(
        &self,
        rows: &Rows<'_>,
        options: &CertifyOptions,
    ) -> Result<(ProofHeader, Vec<Proof>)> {
        let certify = self.certify_settings(rows, options)?;
        let network = self.network_on_cpu()?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let numbers: Vec<u64> = ids.iter().map(|id| id + 1).collect();
        let proofs = certify.proofs(&network, points, &numbers)?;
        let header = ProofHeader {
            thickset_proof: SCHEMA,
            model_sha256: self.origin()?.sha256,
        };
        Ok((header, proofs.into_iter().flatten().collect()))
    }

    fn certify_settings(
        &self,
        rows: &Rows<'_>,
        options: &CertifyOptions,
    ) -> Result<CheckedCertify> {
        let origin = self.origin()?;
        let explain = self.explain_config(&origin, &options.explain)?;
        let width = explain.check(rows.schema())?.names(0).len();
        let usual = CertifyConfig::default();
        let config = CertifyConfig {
            k: origin.k(rows, options.k, (&explain, width)),
            threat: origin.threat(rows, Some(&options.threat), options.radius)?,
            hold_prediction: !options.any_class,
            nodes: options.nodes.unwrap_or(usual.nodes),
        };
        config.check(&explain, rows.schema())
    }
}

/// Tolerances in the columns' own units, of numbers.
fn in_units(
    rows: &Rows<'_>,
    values: &[f64],
    found: Vec<Vec<Tolerance>>,
) -> Vec<Vec<ToleratedRange>> {
    let schema = rows.schema();
    let of_row = |(x, row): (&[f64], Vec<Tolerance>)| -> Vec<ToleratedRange> {
        let ranges = row.into_iter().filter_map(|tolerance| {
            let feature = &schema.features[tolerance.feature];
            let own = |encoded: f64| feature.offset + feature.factor * encoded;
            let at = x[tolerance.feature];
            (feature.kind == FeatureKind::Number).then(|| ToleratedRange {
                feature: feature.name.clone(),
                unit: feature.unit.clone(),
                value: own(at),
                from: own(at - tolerance.down),
                to: own(at + tolerance.up),
            })
        });
        ranges.collect()
    };
    let rows = values.chunks(schema.len().max(1)).zip(found);
    rows.map(of_row).collect()
}
