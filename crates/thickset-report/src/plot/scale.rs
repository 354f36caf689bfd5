//! From values to places, and the round values worth a tick.

/// A linear scale.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Takes `low` to the place `from` and `high` to the place `to`. A range that is empty or not finite is widened to one
    /// that can be drawn.
    pub fn new((low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let (low, high) = if low.is_finite() && high.is_finite() && low <= high {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        let (low, high) = if high - low > f64::EPSILON * high.abs().max(low.abs()) {
            (low, high)
        } else {
            let half = if low == 0.0 { 0.5 } else { low.abs() * 0.1 };
            (low - half, high + half)
        };
        Self {
            low,
            high,
            from,
            to,
        }
    }

    /// The place of a value; values beyond the range stand at its end.
    pub fn at(&self, value: f64) -> f64 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + share * (self.to - self.from)
    }

    /// About `count` round values within the range, and how many decimals they need.
    pub fn ticks(&self, count: usize, of: Kind) -> Ticks {
        ticks((self.low, self.high), count, of)
    }
}

/// What values an axis has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any.
    Any,
    /// Counts, ranks, epochs: whole numbers only.
    Whole,
}

/// Round values.
#[derive(Clone, Debug, PartialEq)]
pub struct Ticks {
    /// In rising order.
    pub values: Vec<f64>,
    /// Decimals that tell them apart.
    pub decimals: usize,
}

impl Ticks {
    /// A tick's text.
    pub fn label(&self, value: f64) -> String {
        let size = value.abs();
        if size >= 1e6 || (size > 0.0 && self.decimals > 4) {
            return format!("{value:.1e}");
        }
        if size >= 1e4 {
            let thousands = format!("{:.1}", value / 1e3);
            return format!("{}k", thousands.trim_end_matches(".0"));
        }
        let rounded = format!("{value:.*}", self.decimals);
        if rounded
            .trim_start_matches('-')
            .chars()
            .all(|one| matches!(one, '0' | '.'))
        {
            return "0".to_owned();
        }
        rounded
    }
}

fn ticks((low, high): (f64, f64), count: usize, of: Kind) -> Ticks {
    let rough = (high - low) / f64::from(u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    let magnitude = 10_f64.powf(rough.log10().floor());
    // Of the round steps the one nearest to the wanted one.
    let far = |step: f64| (step / rough).ln().abs();
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .filter(|step| of == Kind::Any || (step - step.round()).abs() < 1e-9)
        .min_by(|a, b| far(*a).total_cmp(&far(*b)))
        .unwrap_or(1.0);
    let decimals = (0..12_u8)
        .find(|decimals| {
            let shifted = step * 10_f64.powi(i32::from(*decimals));
            (shifted - shifted.round()).abs() < 1e-6 * shifted.max(1.0) && shifted >= 0.5
        })
        .unwrap_or(12);
    let first = (low / step - 1e-9).ceil();
    // Twice the wanted count is far more than a round step can give.
    let values = (0..=2 * u32::try_from(count).unwrap_or(10))
        .map(|index| (first + f64::from(index)) * step)
        .take_while(|value| *value <= high + 1e-9 * step)
        .collect();
    Ticks {
        values,
        decimals: usize::from(decimals),
    }
}

/// The least and the greatest of the finite values; none if there is none.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .into_iter()
        .filter(|value| value.is_finite())
        .fold(None, |range, value| match range {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        })
}

/// The range with a little room on both sides.
pub fn with_room((low, high): (f64, f64), share: f64) -> (f64, f64) {
    let room = (high - low) * share;
    (low - room, high + room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = Scale::new((0.83, 0.97), (0.0, 1.0)).ticks(4, Kind::Any);
        let labels: Vec<String> = ticks
            .values
            .iter()
            .map(|value| ticks.label(*value))
            .collect();
        assert_eq!(labels, ["0.85", "0.90", "0.95"]);
    }

    #[test]
    fn counts_and_ranks_have_whole_ticks() {
        for high in [1.0, 2.0, 3.0, 7.0, 12.0, 40.0] {
            let ticks = Scale::new((0.0, high), (0.0, 1.0)).ticks(4, Kind::Whole);
            assert_eq!(ticks.decimals, 0);
            assert!((2..=8).contains(&ticks.values.len()), "{high}: {ticks:?}");
        }
    }

    #[test]
    fn zero_has_no_decimals() {
        let ticks = Scale::new((-1.0, 1.0), (0.0, 1.0)).ticks(4, Kind::Any);
        let labels: Vec<String> = ticks
            .values
            .iter()
            .map(|value| ticks.label(*value))
            .collect();
        assert_eq!(labels, ["-1.0", "-0.5", "0", "0.5", "1.0"]);
    }

    #[test]
    fn large_and_tiny_steps_are_written_short() {
        let ticks = Scale::new((0.0, 3e7), (0.0, 1.0)).ticks(3, Kind::Any);
        assert_eq!(ticks.label(1e7), "1.0e7");
        let ticks = Scale::new((0.0, 3e-7), (0.0, 1.0)).ticks(3, Kind::Any);
        assert_eq!(ticks.label(1e-7), "1.0e-7");
        let ticks = Scale::new((0.0, 100.0), (0.0, 1.0)).ticks(4, Kind::Any);
        assert_eq!(
            (ticks.label(0.0), ticks.label(25.0)),
            ("0".to_owned(), "25".to_owned())
        );
    }

    #[test]
    fn a_range_of_nothing_can_still_be_drawn() {
        for range in [
            (f64::NAN, 1.0),
            (2.0, 2.0),
            (0.0, 0.0),
            (1.0, 0.0),
            (f64::NEG_INFINITY, f64::INFINITY),
        ] {
            let scale = Scale::new(range, (0.0, 100.0));
            assert!(scale.at(2.0).is_finite(), "{range:?}");
            assert!(!scale.ticks(4, Kind::Any).values.is_empty(), "{range:?}");
        }
    }

    #[test]
    fn the_range_ignores_what_is_not_finite() {
        assert_eq!(
            range([f64::NAN, 2.0, f64::INFINITY, -1.0]),
            Some((-1.0, 2.0))
        );
        assert_eq!(range([f64::NAN]), None);
    }
}
