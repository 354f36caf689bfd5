//! What an audit adds for tables whose contributions are handed out: columns, subgroups, and three people.

use super::decide::DecidingModel;
use super::{Model, Origin, ReasonsOptions};
use crate::audit::{
    AuditConfig, Person, ReasonRows, RowList, SampledRow, chosen_people, sample_step,
};
use crate::decision::{Decision, DecisionConfig};
use crate::explain::{Points, chunk_rows};
use crate::{Result, Rows};

/// Where rows that are audited stand among those of all machines.
pub(super) struct AuditedRows<'a> {
    pub(super) rows: &'a Rows<'a>,
    /// The place of the first of them among all.
    pub(super) start: usize,
    /// How many there are in all.
    pub(super) all: usize,
    /// What was measured of them, with the probabilities of the model that predicts the decision.
    pub(super) records: &'a RowList,
    pub(super) deciding: &'a DecidingModel,
}

impl Model {
    /// The decision that a record of reasons is about; none where it is not clear which class is adverse.
    pub(super) fn recorded_decision(&self, config: &AuditConfig) -> Result<Option<DecisionConfig>> {
        let is_contributions = config.explain.explanation.behaviour().contributions();
        let explain = config.explain.check(self.schema())?;
        let second = || self.classes().get(1).filter(|_| self.classes().len() == 2);
        let adverse = config.decision.adverse.clone();
        let adverse = adverse.or_else(|| second().cloned());
        let is_told = is_contributions.is_some() && explain.column_features().is_some();
        Ok(adverse.filter(|_| is_told).map(|adverse| DecisionConfig {
            adverse: Some(adverse),
            cutoff: config.decision.cutoff,
        }))
    }

    /// What the record is made of; none where importances are no contributions of columns, or it is not clear which class they push
    /// towards.
    pub(super) fn reason_rows(
        &self,
        origin: &Origin,
        audited: &AuditedRows<'_>,
        config: &AuditConfig,
    ) -> Result<Option<ReasonRows>> {
        let Some(decision) = self.recorded_decision(config)? else {
            return Ok(None);
        };
        let decided = decision.of(self.classes())?;
        let people = self.people(audited, decided);
        let options = ReasonsOptions {
            k: Some(config.suite.k),
            decision,
            // Whether they are decided against is known already.
            all_rows: true,
            explain: super::ExplainOptions {
                explanation: Some(config.explain.explanation.clone()),
                reduce: Some(config.explain.reduce),
                per: Some(config.explain.per),
                seed: config.seed,
            },
            threat: Some(config.suite.threat.clone()),
            radius: Some(config.suite.threat.ball.radius),
            effort: config.suite.effort,
            ..ReasonsOptions::default()
        };
        let numbers = audited.rows.numbers(people.iter().map(|(_, place)| *place));
        let told = self.reasons_of(origin, &audited.rows.only(&numbers)?, &options)?;
        let columns = told.reference_values.into_iter();
        Ok(Some(ReasonRows {
            adverse: told.adverse,
            reference: told.reference,
            columns: columns.map(|value| (value.column, value.text)).collect(),
            change: told.change,
            rows: self.sampled_rows(audited, config, decided)?,
            people: people
                .into_iter()
                .zip(told.rows)
                .map(|((probability, _), told)| Person { probability, told })
                .collect(),
        }))
    }

    /// Probabilities and places of the people of these rows who may be told of.
    fn people(&self, audited: &AuditedRows<'_>, decided: Decision) -> Vec<(f64, usize)> {
        let mut found: Vec<(f64, u64)> = Vec::new();
        for (place, row) in audited.records.iter().enumerate() {
            let own = audited.deciding.own_probabilities(&row.probabilities);
            if decided.is_adverse(&own) {
                found.push((own[decided.adverse], place as u64));
            }
        }
        let chosen = chosen_people(found.iter().copied(), decided, self.classes().len());
        let person = |place: u64| {
            let found = found.iter().find(|(_, one)| *one == place)?;
            Some((found.0, usize::try_from(place).ok()?))
        };
        chosen.into_iter().filter_map(person).collect()
    }

    /// Every so-manyth row, with what its columns contribute.
    fn sampled_rows(
        &self,
        audited: &AuditedRows<'_>,
        config: &AuditConfig,
        decided: Decision,
    ) -> Result<Vec<SampledRow>> {
        let explain = config.explain.check(self.schema())?;
        let encoding = self.description.encoding.as_ref();
        let step = sample_step(audited.all);
        let places = audited.start..audited.start + audited.rows.len();
        let places: Vec<usize> = places
            .filter(|place| place.is_multiple_of(step))
            .map(|place| place - audited.start)
            .collect();
        let mut found = Vec::with_capacity(places.len());
        for places in places.chunks(chunk_rows(self.network.features())) {
            let numbers = audited.rows.numbers(places.iter().copied());
            let part = audited.rows.only(&numbers)?;
            let (values, ids) = (part.gather(0..part.len()), part.ids());
            let points = Points {
                values: &values,
                ids: &ids,
            };
            let classes = vec![decided.adverse; ids.len()];
            let explained =
                explain.attribute_classes(&self.network, points, &classes, config.seed)?;
            for (place, explained) in explained.into_iter().enumerate() {
                found.push(SampledRow::new(
                    &part,
                    place,
                    encoding,
                    explained.importance,
                ));
            }
        }
        Ok(found)
    }
}
