//! Which attacks a suite is made of.

use super::SuiteConfig;
use super::effort::Plan;
use crate::attack::border::BorderConfig;
use crate::attack::constraint::qp::QpConfig;
use crate::attack::er_attack::ErAttackConfig;
use crate::attack::mass_center::MassCenterConfig;
use crate::attack::mse_attack::MseAttackConfig;
use crate::attack::random::RandomConfig;
use crate::attack::region_search::RegionSearchConfig;
use crate::attack::target::TargetConfig;
use crate::attack::threat::ball::Surface;
use crate::attack::top_k::TopKConfig;
use crate::attack::{AttackConfig, AttackKind};
use crate::data::{InputShape, Schema};
use crate::explain::ExplainConfig;
use crate::explain::reduce::ReductionConfig;

impl SuiteConfig {
    /// What all members have in common.
    fn base(&self, plan: &Plan) -> AttackConfig {
        AttackConfig {
            k: self.k,
            threat: self.threat.clone(),
            steps: plan.long,
            ..AttackConfig::default()
        }
    }

    /// The attacks that the suite is made of.
    #[must_use]
    pub fn members(&self, explain: &ExplainConfig, schema: &Schema) -> Vec<AttackConfig> {
        let plan = self.effort.plan();
        let base = self.base(&plan);
        let with = |method: &AttackKind| AttackConfig {
            method: method.clone(),
            ..base.clone()
        };
        // Where the explanation's own slopes lead on, twins would only cost.
        let has_slopes = explain.explanation.behaviour().has_slopes();
        let twins = if has_slopes { &[] } else { plan.twins };
        let directions: Vec<Option<f64>> = std::iter::once(None)
            .chain(twins.iter().copied().map(Some))
            .collect();
        let mut methods: Vec<AttackKind> =
            vec![ErAttackConfig {}.into(), MseAttackConfig::default().into()];
        let mut members: Vec<AttackConfig> = methods.iter().map(with).collect();
        if plan.all_methods {
            // In shares it is ERAttack.
            members.push(with(&TopKConfig {}.into()));
            let own = members.clone();
            for &surrogate in &directions[1..] {
                members.extend(own.iter().map(|member| AttackConfig {
                    surrogate,
                    ..member.clone()
                }));
            }
            methods.push(TargetConfig::default().into());
            let has_places = matches!(schema.shape, InputShape::Image { .. })
                && explain.reduce != ReductionConfig::Signed
                && !explain.explanation.is_of_units();
            if has_places {
                methods.push(MassCenterConfig {}.into());
            }
        }
        for surrogate in directions {
            for shares in [true, false] {
                if !(shares || plan.all_directions) {
                    continue;
                }
                members.extend(methods.iter().map(|method| AttackConfig {
                    surrogate,
                    shares,
                    steps: plan.short,
                    restarts: plan.starts,
                    ..with(method)
                }));
            }
            if plan.all_directions {
                members.push(AttackConfig {
                    surrogate,
                    shares: true,
                    constraint: QpConfig {}.into(),
                    ..base.clone()
                });
            }
        }
        let followed: Vec<Option<f64>> = if has_slopes {
            vec![None]
        } else {
            twins.iter().copied().map(Some).collect()
        };
        for surrogate in followed {
            members.push(AttackConfig {
                surrogate,
                steps: plan.border.0,
                restarts: plan.border.1,
                ..with(&BorderConfig::default().into())
            });
        }
        if RegionSearchConfig::explains(explain) {
            members.push(with(&plan.regions.into()));
        }
        members.extend(Self::random_points((plan.on_sphere, plan.in_ball), &base));
        members
    }

    /// Random points on the ball's surface and inside of it.
    fn random_points(
        (on_sphere, in_ball): (usize, usize),
        base: &AttackConfig,
    ) -> impl Iterator<Item = AttackConfig> {
        let places = [(Surface::Sphere, on_sphere), (Surface::Ball, in_ball)];
        let asked = places.into_iter().filter(|(_, points)| *points > 0);
        asked.map(|(surface, points)| AttackConfig {
            method: RandomConfig { points, surface }.into(),
            ..base.clone()
        })
    }

    /// The shorter list of attacks for networks whose regions decide, which are then searched from where these ended; nothing where this
    /// effort, or the explanation, has none.
    #[must_use]
    pub fn members_by_regions(&self, explain: &ExplainConfig) -> Vec<AttackConfig> {
        let plan = self.effort.plan();
        let base = self.base(&plan);
        let explains = RegionSearchConfig::explains(explain);
        let Some(short) = plan.by_regions.filter(|_| explains) else {
            return Vec::new();
        };
        let with = |method: AttackKind| AttackConfig {
            method,
            ..base.clone()
        };
        let mut members = vec![with(ErAttackConfig {}.into())];
        for &twin in plan.twins {
            members.push(AttackConfig {
                surrogate: Some(twin),
                shares: true,
                steps: plan.short,
                restarts: short.starts,
                ..with(ErAttackConfig {}.into())
            });
            // Where a network is nearly linear within reach, as weight decay makes it, shares lead nowhere and this does.
            members.push(AttackConfig {
                surrogate: Some(twin),
                steps: plan.short,
                ..with(ErAttackConfig {}.into())
            });
            members.push(AttackConfig {
                surrogate: Some(twin),
                steps: short.border.0,
                restarts: short.border.1,
                ..with(BorderConfig::default().into())
            });
        }
        members.extend(Self::random_points((short.on_sphere, 0), &base));
        members
    }
}
