//! How hard the suite tries, and what each effort comes to.

use serde::{Deserialize, Serialize};

use super::super::region_search::RegionSearchConfig;

/// How hard the suite tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// To see something soon.
    Quick,
    /// To report.
    #[default]
    Standard,
    /// To be sure.
    Thorough,
}

/// What an effort comes to.
#[derive(Debug)]
pub(super) struct Plan {
    /// Steps of the papers' attacks, as they are written.
    pub(super) long: usize,
    /// Steps and starts of the attacks on shares.
    pub(super) short: usize,
    pub(super) starts: usize,
    /// Sharpness of the twins.
    pub(super) twins: &'static [f64],
    pub(super) on_sphere: usize,
    pub(super) in_ball: usize,
    /// Steps and starts of the border attack on each twin.
    pub(super) border: (usize, usize),
    /// The search of regions, where a network has them.
    pub(super) regions: RegionSearchConfig,
    /// The same again, from the regions of what all attacks found.
    pub(super) regions_again: Option<RegionsAgain>,
    /// What is run in place of all this where regions decide, if that is less.
    pub(super) by_regions: Option<ByRegions>,
    /// Parts of the gate search of a row, where a network has gates. A quick suite searches none; its audits certify so far.
    pub(super) gate_parts: usize,
    /// A threat set of at most so many points is gone through, and the row has no need of other attacks.
    pub(super) listed: usize,
    /// Training rows that are gone towards, where there are some.
    pub(super) donors: usize,
    /// Random steps from the worst point found, where gate search cannot tell whether there is a worse one.
    pub(super) refine: usize,
    /// Also the older attacks.
    pub(super) all_methods: bool,
    /// Also many starts without shares, and a run that weighs the prediction instead of stopping at it.
    pub(super) all_directions: bool,
}

/// A search of regions that begins where other attacks ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionsAgain {
    pub(super) search: RegionSearchConfig,
    /// Random points that it begins at too, for each region of its beam.
    pub(super) random_starts: usize,
}

/// A shorter list of attacks for networks whose regions decide: the first of all, few starts on the twin, random points, and regions from there. From
/// where others ended, a search of few regions finds more than a larger one from the row itself.
#[derive(Debug)]
pub(super) struct ByRegions {
    /// Starts of the attack on shares.
    pub(super) starts: usize,
    /// Steps and starts of the border attack.
    pub(super) border: (usize, usize),
    /// Random points on the sphere.
    pub(super) on_sphere: usize,
    /// The search of regions, which begins where these ended.
    pub(super) regions: RegionsAgain,
}

impl Effort {
    /// As a configuration spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }

    /// What it comes to in this version, as text: results of another text are of another suite.
    #[must_use]
    pub fn settings(self) -> String {
        format!("{:?}", self.plan())
    }

    /// Parts of the search of a row's certificate.
    #[must_use]
    pub fn gate_parts(self) -> usize {
        self.plan().gate_parts
    }

    /// Training rows that a suite of this effort goes towards, where there are some.
    #[must_use]
    pub fn donors(self) -> usize {
        self.plan().donors
    }

    pub(super) fn plan(self) -> Plan {
        match self {
            Self::Quick => Plan {
                long: 30,
                short: 10,
                starts: 8,
                twins: &[10.0],
                on_sphere: 50,
                in_ball: 0,
                border: (10, 4),
                regions: RegionSearchConfig {
                    beam: 3,
                    depth: 8,
                    tries: 4,
                },
                regions_again: None,
                by_regions: Some(ByRegions {
                    starts: 2,
                    border: (10, 1),
                    on_sphere: 50,
                    regions: RegionsAgain {
                        search: RegionSearchConfig {
                            beam: 2,
                            depth: 6,
                            tries: 4,
                        },
                        random_starts: 0,
                    },
                }),
                gate_parts: 3,
                listed: 400,
                donors: 16,
                refine: 0,
                all_methods: false,
                all_directions: false,
            },
            Self::Standard => Plan {
                long: 100,
                short: 10,
                starts: 20,
                twins: &[3.0, 10.0, 30.0],
                on_sphere: 200,
                in_ball: 100,
                border: (30, 6),
                regions: RegionSearchConfig {
                    beam: 16,
                    depth: 24,
                    tries: 4,
                },
                regions_again: Some(RegionsAgain {
                    search: RegionSearchConfig {
                        beam: 64,
                        depth: 24,
                        tries: 4,
                    },
                    random_starts: 2,
                }),
                by_regions: None,
                gate_parts: 300,
                listed: 4_000,
                donors: 64,
                refine: 200,
                all_methods: true,
                all_directions: false,
            },
            Self::Thorough => Plan {
                long: 200,
                short: 15,
                starts: 40,
                twins: &[3.0, 10.0, 30.0],
                on_sphere: 2000,
                in_ball: 1000,
                border: (60, 20),
                regions: RegionSearchConfig {
                    beam: 64,
                    depth: 24,
                    tries: 4,
                },
                regions_again: Some(RegionsAgain {
                    search: RegionSearchConfig {
                        beam: 128,
                        depth: 24,
                        tries: 4,
                    },
                    random_starts: 2,
                }),
                by_regions: None,
                gate_parts: 5_000,
                listed: 20_000,
                donors: 256,
                refine: 2_000,
                all_methods: true,
                all_directions: true,
            },
        }
    }
}
