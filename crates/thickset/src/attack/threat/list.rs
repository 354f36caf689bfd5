//! Sets that can be listed: where nothing but whole numbers can move, a row can become only so many points.

use super::Threat;

impl Threat {
    /// Whether every feature that can move is a whole number, so that the points of a row's set can be listed.
    pub(crate) fn can_be_listed(&self) -> bool {
        let is_whole = |feature: usize| self.whole.iter().any(|whole| whole.feature == feature);
        (0..self.limits.len()).all(|feature| self.limits[feature] == 0.0 || is_whole(feature))
    }

    /// The features of a row that can move.
    pub(crate) fn moving(&self, x: &[f64]) -> Vec<usize> {
        let moves = |feature: &usize| {
            let (low, high) = self.bounds(*feature, x[*feature]);
            low < high
        };
        (0..x.len()).filter(moves).collect()
    }

    /// All points of a row's set but the row itself, the nearest first and settled; none where the set cannot be listed, or its
    /// numbers come together in more than `most` ways.
    pub(crate) fn list(&self, x: &[f64], most: usize) -> Option<Vec<Vec<f64>>> {
        if !self.can_be_listed() {
            return None;
        }
        let mut ways = 1_usize;
        let mut axes = Vec::new();
        for feature in self.moving(x) {
            let whole = self.whole.iter().find(|whole| whole.feature == feature)?;
            let (at, (low, high)) = (x[feature], self.bounds(feature, x[feature]));
            let reach = self.ball.radius;
            let mut values = whole.between(low.max(at - reach), high.min(at + reach), most)?;
            values.retain(|value| !whole.is_same(*value, at));
            // To stay is one more.
            ways = ways.checked_mul(values.len() + 1)?;
            if ways > most {
                return None;
            }
            axes.push((whole, values));
        }
        let mut points = vec![x.to_vec()];
        for (whole, values) in &axes {
            let moved = |point: &Vec<f64>, value: f64| {
                let mut moved = point.clone();
                moved[whole.feature] = value;
                moved
            };
            let more: Vec<Vec<f64>> = points
                .iter()
                .flat_map(|point| values.iter().map(move |value| moved(point, *value)))
                .collect();
            points.extend(more);
        }
        let mut settled: Vec<(f64, Vec<f64>)> = Vec::with_capacity(points.len());
        for wanted in points {
            let size = self.ball.size(x, &wanted);
            // Its numbers are whole and within their bounds, and nothing else has moved.
            let point = if size <= self.ball.radius {
                wanted
            } else {
                let mut near = wanted.clone();
                self.project(x, &mut near);
                let mut point = near.clone();
                self.settle(x, &near, &mut point);
                // Where the ball is too small for the numbers that are wanted, it settles at others, which are listed themselves.
                let is_reached = axes
                    .iter()
                    .all(|(whole, _)| whole.is_same(wanted[whole.feature], point[whole.feature]));
                if !is_reached {
                    continue;
                }
                point
            };
            if point != x {
                settled.push((self.ball.size(x, &point), point));
            }
        }
        settled.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(settled.into_iter().map(|(_, point)| point).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BallConfig, Norm, OneHot, ThreatConfig};
    use crate::Schema;

    /// Two whole numbers of 10 and 4 units, and a third feature that is as given.
    fn schema(third_is_whole: bool, third_stays: bool) -> Schema {
        let mut schema = Schema::table(&["a", "b", "c"]);
        for (feature, factor) in schema.features.iter_mut().zip([10.0, 4.0, 1.0]) {
            feature.integer = true;
            feature.factor = factor;
            (feature.low, feature.high) = (0.0, 1.0);
        }
        schema.features[2].integer = third_is_whole;
        schema.features[2].immutable = third_stays;
        schema
    }

    fn config(norm: Norm, radius: f64) -> ThreatConfig {
        ThreatConfig {
            ball: BallConfig { norm, radius },
            ..ThreatConfig::table()
        }
    }

    fn decoded(points: &[Vec<f64>]) -> Vec<[f64; 2]> {
        let of = |point: &Vec<f64>| [(10.0 * point[0]).round(), (4.0 * point[1]).round()];
        points.iter().map(of).collect()
    }

    #[test]
    fn only_whole_numbers_and_what_stays_can_be_listed() {
        for (is_whole, stays, expected) in [
            (true, false, true),
            (false, true, true),
            (false, false, false),
        ] {
            let threat = config(Norm::L2, 0.5).check(&schema(is_whole, stays));
            let threat = threat.unwrap();
            assert_eq!(threat.can_be_listed(), expected);
            assert_eq!(threat.list(&[0.5, 0.5, 0.5], 1000).is_some(), expected);
        }
        let free = ThreatConfig {
            integer: false,
            one_hot: OneHot::Free,
            ..config(Norm::L2, 0.5)
        };
        let threat = free.check(&schema(true, true)).unwrap();
        assert!(!threat.can_be_listed());
    }

    #[test]
    fn the_points_of_a_ball_are_listed_the_nearest_first() {
        let threat = config(Norm::L2, 0.3).check(&schema(false, true)).unwrap();
        // Of (5, 2): three tenths on both sides, or a quarter and one tenth.
        let points = threat.list(&[0.5, 0.5, 0.7], 100).unwrap();
        let got = decoded(&points);
        let expected = [
            [4.0, 2.0],
            [6.0, 2.0],
            [3.0, 2.0],
            [7.0, 2.0],
            [5.0, 1.0],
            [5.0, 3.0],
            [4.0, 1.0],
            [4.0, 3.0],
            [6.0, 1.0],
            [6.0, 3.0],
            [2.0, 2.0],
            [8.0, 2.0],
        ];
        assert_eq!(got.len(), expected.len(), "{got:?}");
        assert!(expected.iter().all(|one| got.contains(one)), "{got:?}");
        let sizes: Vec<f64> = points
            .iter()
            .map(|point| threat.ball().size(&[0.5, 0.5, 0.7], point))
            .collect();
        assert!(sizes.is_sorted() && sizes[11] < 0.3 + 1e-12);
        assert!(
            points
                .iter()
                .all(|point| point[2].to_bits() == 0.7_f64.to_bits())
        );
    }

    #[test]
    fn a_box_and_a_largest_norm_bound_each_number_by_itself() {
        let threat = config(Norm::Linf, 0.3).check(&schema(false, true)).unwrap();
        // Of (9, 4): down by three and by one, up by one and by none.
        let got = decoded(&threat.list(&[0.9, 1.0, 0.0], 100).unwrap());
        assert_eq!(got.len(), 5 * 2 - 1, "{got:?}");
        assert!(got.contains(&[6.0, 3.0]) && got.contains(&[10.0, 4.0]));
        // Nine are wanted, and the row itself.
        assert!(threat.list(&[0.9, 1.0, 0.0], 9).is_none());
        assert!(threat.list(&[0.9, 1.0, 0.0], 10).is_some());
    }

    #[test]
    fn every_point_that_a_search_settles_at_is_listed() {
        for norm in [Norm::L2, Norm::Linf] {
            let threat = config(norm, 0.37).check(&schema(true, true)).unwrap();
            let x = [f64::from(0.3_f32), 0.55, 0.2];
            let listed = threat.list(&x, 1000).unwrap();
            let mut stream = crate::Seed::new(3).stream("points");
            for _ in 0..500 {
                let drawn = threat.draw(&x, super::super::ball::Surface::Ball, &mut stream);
                let mut point = drawn.clone();
                threat.settle(&x, &drawn, &mut point);
                let is_near = |one: &Vec<f64>| {
                    let apart = one.iter().zip(&point).map(|(a, b)| (a - b).abs());
                    apart.fold(0.0, f64::max) < 1e-3
                };
                assert!(
                    is_near(&x.to_vec()) || listed.iter().any(is_near),
                    "{point:?}"
                );
            }
        }
    }
}
