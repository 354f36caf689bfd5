//! For how long a gate is open on a way.

/// From a least to a greatest number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    pub(super) fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Half of its length.
    pub(super) fn rest(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A line in t by its values at 0 and 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) at_0: f64,
    pub(super) at_1: f64,
}

impl Line {
    #[inline]
    pub(super) fn at(self, t: f64) -> f64 {
        self.at_0 + t * (self.at_1 - self.at_0)
    }

    /// Where it reaches a level.
    pub(super) fn reaches(self, level: f64) -> Option<f64> {
        let slope = self.at_1 - self.at_0;
        let t = (level - self.at_0) / slope;
        (slope != 0.0 && t > 0.0 && t < 1.0).then_some(t)
    }

    /// The share of `from..to` in which it is above a level.
    #[inline]
    pub(super) fn time_above(self, level: f64, from: f64, to: f64) -> f64 {
        let (a, b) = (self.at(from) - level, self.at(to) - level);
        let length = to - from;
        match (a > 0.0, b > 0.0) {
            (true, true) => length,
            (false, false) => 0.0,
            (true, false) => length * (a / (a - b)),
            (false, true) => length * (b / (b - a)),
        }
    }
}

/// A neuron before its gate, over all ways: between two lines, each widened by what rounding can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neuron {
    pub(super) low: Line,
    pub(super) high: Line,
    pub(super) slack: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closed,
    Either,
}

impl Neuron {
    pub(super) fn state(&self, t: f64) -> State {
        if self.low.at(t) > self.slack {
            State::Open
        } else if self.high.at(t) < -self.slack {
            State::Closed
        } else {
            State::Either
        }
    }

    /// The least and the greatest time in which it is open between two times.
    #[inline]
    pub(super) fn open_time(&self, from: f64, to: f64) -> Interval {
        Interval {
            low: self.low.time_above(self.slack, from, to),
            high: self.high.time_above(-self.slack, from, to),
        }
    }
}

/// From the smaller to the larger of two numbers.
pub(super) fn ordered(a: f64, b: f64) -> Interval {
    Interval {
        low: a.min(b),
        high: a.max(b),
    }
}

/// What some time adds to the adjoint of one neuron of the layer before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Added {
    /// Its integral over the time.
    pub(super) integral: Interval,
    /// The most that the integral of its absolute value can be.
    pub(super) most: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_above_a_level_from_where_it_reaches_it() {
        let rising = Line {
            at_0: 0.0,
            at_1: 4.0,
        };
        let falling = Line {
            at_0: 4.0,
            at_1: 0.0,
        };
        // They reach 1 at a quarter and at three quarters.
        for (line, from, to, expected) in [
            (rising, 0.0, 1.0, 0.75),
            (falling, 0.0, 1.0, 0.75),
            (rising, 0.0, 0.5, 0.25),
            (falling, 0.5, 1.0, 0.25),
            (rising, 0.5, 1.0, 0.5),
            (falling, 0.75, 1.0, 0.0),
        ] {
            let found = line.time_above(1.0, from, to);
            assert!((found - expected).abs() < 1e-15, "{line:?}, {from} to {to}");
        }
    }

    #[test]
    fn a_line_reaches_the_levels_between_its_ends() {
        let line = Line {
            at_0: 1.0,
            at_1: 5.0,
        };
        assert_eq!(line.reaches(2.0), Some(0.25));
        for level in [0.0, 1.0, 5.0, 6.0] {
            assert_eq!(line.reaches(level), None, "{level}");
        }
        let flat = Line {
            at_0: 1.0,
            at_1: 1.0,
        };
        assert_eq!((flat.reaches(1.0), flat.reaches(2.0)), (None, None));
    }

    #[test]
    fn the_middle_of_an_interval_and_half_of_its_length() {
        let interval = ordered(5.0, 1.0);
        assert_eq!(vec![interval.low, interval.high], [1.0, 5.0]);
        assert_eq!(vec![interval.middle(), interval.rest()], [3.0, 2.0]);
    }

    #[test]
    fn a_neuron_is_decided_beyond_its_slack_and_open_no_longer_than_its_lines() {
        let neuron = Neuron {
            low: Line {
                at_0: -3.0,
                at_1: 5.0,
            },
            high: Line {
                at_0: -2.0,
                at_1: 6.0,
            },
            slack: 1.0,
        };
        // The lower line is at 1 at 1/2, the upper one at -1 at 1/8.
        for (t, state) in [
            (0.1, State::Closed),
            (0.125, State::Either),
            (0.5, State::Either),
            (0.51, State::Open),
        ] {
            assert_eq!(neuron.state(t), state, "{t}");
        }
        let time = neuron.open_time(0.0, 1.0);
        assert_eq!(vec![time.low, time.high], [0.5, 0.875]);
        let time = neuron.open_time(0.25, 0.75);
        assert_eq!(vec![time.low, time.high], [0.25, 0.5]);
    }
}
