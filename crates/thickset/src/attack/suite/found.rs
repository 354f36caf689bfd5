//! What a suite found, and how rows that were attacked in different ways come together.

use serde::Serialize;

use super::super::every_point::{self, KnownPoints};
use super::super::outcome::Attacked;
use super::checked::Member;
use crate::certify::CertifiedWorstCase;

/// What one member found alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberScore {
    /// The registry's id.
    pub attack: &'static str,
    /// Sharpness of the twin it followed, if it followed one.
    pub surrogate: Option<f64>,
    /// Whether it followed importances as shares of their sum.
    pub shares: bool,
    /// P@k of each row's worst point, 1 where the whole set is proved to stay; none of another row that it was not run on: all its points
    /// were tried, or what the members before it had found could not get worse.
    pub precision: Vec<Option<f64>>,
}

impl MemberScore {
    pub(super) fn new(member: &Member, rows: usize) -> Self {
        Self {
            attack: member.attack.kind,
            surrogate: member.surrogate,
            shares: member.shares,
            precision: vec![None; rows],
        }
    }

    /// Of the points that were all tried, of none so far.
    pub(super) fn of_points(rows: usize) -> Self {
        Self {
            attack: every_point::INFO.id,
            surrogate: None,
            shares: false,
            precision: vec![None; rows],
        }
    }
}

/// What the suite found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Suite {
    /// The worst of each row.
    pub rows: Vec<Attacked>,
    /// What each member found alone.
    pub members: Vec<MemberScore>,
    /// What gate search proved of each row, the rest of the suite's finds known; none with quick effort, and where the network
    /// has no gates to search, or threat set or explanation are of another kind.
    pub certified: Option<Vec<CertifiedWorstCase>>,
    /// What was proved of each row before it was attacked, where that was asked for.
    #[serde(skip)]
    pub(crate) proved: Option<Vec<CertifiedWorstCase>>,
    /// Of each row all points of whose set were tried, how it stands there.
    #[serde(skip)]
    pub(crate) known: Vec<Option<KnownPoints>>,
}

impl Suite {
    /// What was found of the rows at `own` places, and of the rows at `other` places whose points were all tried.
    pub(super) fn with(self, own: &[usize], tried: Self, other: &[usize]) -> Self {
        let places: Vec<usize> = own.iter().chain(other).copied().collect();
        let mut members = self.members;
        members.push(MemberScore::of_points(own.len()));
        for (member, tried) in members.iter_mut().zip(tried.members) {
            member.precision.extend(tried.precision);
            member.precision = in_order(&places, std::mem::take(&mut member.precision));
        }
        let chained = |own: Vec<CertifiedWorstCase>, tried: Vec<CertifiedWorstCase>| {
            in_order(&places, own.into_iter().chain(tried).collect())
        };
        let either = |own: Option<Vec<_>>, tried: Option<Vec<_>>| match (own, tried) {
            (None, None) => None,
            (own, tried) => Some(chained(own.unwrap_or_default(), tried.unwrap_or_default())),
        };
        let certified = either(self.certified, tried.certified);
        let proved = either(self.proved, tried.proved);
        Self {
            rows: in_order(&places, self.rows.into_iter().chain(tried.rows).collect()),
            known: in_order(&places, self.known.into_iter().chain(tried.known).collect()),
            members,
            certified,
            proved,
        }
    }
}

/// What belongs to these places, in their order.
fn in_order<T>(places: &[usize], of_places: Vec<T>) -> Vec<T> {
    let mut all: Vec<(usize, T)> = places.iter().copied().zip(of_places).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_places_comes_in_their_order() {
        assert_eq!(
            in_order(&[2, 0, 3, 1], vec!["c", "a", "d", "b"]),
            ["a", "b", "c", "d"]
        );
    }
}
