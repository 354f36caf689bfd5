//! What no small move of a row can do to its explanation, proved.

use super::{ExplainOptions, Model};
use crate::attack::ThreatConfig;
use crate::certify::{CertifiedRadius, CertifiedWorstCase, CertifyConfig};
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

impl Model {
    /// Proves, row by row, how far a row can move before its top-k set changes, and how low P@k can go within the radius. Of networks
    /// of dense layers with `ReLU` only.
    ///
    /// # Errors
    /// [`Error::CertifyInput`](crate::Error::CertifyInput) where no certificate can be given, and when rows do not fit the model or a
    /// setting is out of range.
    pub fn certify(&self, rows: &Rows<'_>, options: &CertifyOptions) -> Result<Certificates> {
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
        let certify = config.check(&explain, rows.schema())?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let radii = certify.radius(&self.network, points)?;
        let worst = certify.worst_case(&self.network, points)?;
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
}
