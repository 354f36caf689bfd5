//! What is known of a hidden neuron's gate in one part of the search, and what that says of its output.

/// A gate of the deployed model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// Open at some moves and closed at others, as far as is known.
    Free,
    /// Open at every move of this part.
    Open,
    /// Closed at every move of this part.
    Closed,
    /// This part of the search is where it is open; rounding may let it be so a little below the kink.
    SplitOpen,
    /// The same where it is closed.
    SplitClosed,
}

impl Gate {
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::SplitOpen)
    }

    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::Closed | Self::SplitClosed)
    }
}

/// Lines below and above `max(0, z)` for the exact pre-activation z: `slope z + offset`. The lower one goes through 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Relaxation {
    pub low_slope: f64,
    pub high_slope: f64,
    pub high_offset: f64,
}

impl Relaxation {
    /// Where the pre-activation is in `[low, high]` and the deployed gate decides within `slack` of the kink.
    pub(super) fn new(gate: Gate, low: f64, high: f64, slack: f64) -> Self {
        let (low_slope, high_slope, high_offset) = match gate {
            Gate::Open => (1.0, 1.0, 0.0),
            Gate::Closed => (0.0, 0.0, 0.0),
            // z >= -slack, so the output is within slack of z.
            Gate::SplitOpen => (1.0, 1.0, slack),
            // z <= slack, so the output is within slack of 0.
            Gate::SplitClosed => (0.0, 0.0, slack),
            Gate::Free if low >= 0.0 => (1.0, 1.0, 0.0),
            Gate::Free if high <= 0.0 => (0.0, 0.0, 0.0),
            Gate::Free => {
                let slope = high / (high - low);
                let nearer = if high > -low { 1.0 } else { 0.0 };
                (nearer, slope, -slope * low)
            }
        };
        Self {
            low_slope,
            high_slope,
            high_offset,
        }
    }

    /// Slope and offset of a bound of `weight` times the output, from below or from above.
    pub(super) fn line(&self, weight: f64, from_above: bool) -> (f64, f64) {
        if (weight > 0.0) == from_above {
            (weight * self.high_slope, weight * self.high_offset)
        } else {
            (weight * self.low_slope, 0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_hold_the_output_between_them() {
        let slack = 1e-3;
        let gates = [
            (Gate::Free, -1.0, 2.0),
            (Gate::Free, -2.0, 1.0),
            (Gate::Free, 0.5, 2.0),
            (Gate::Free, -2.0, -0.5),
            (Gate::Open, slack, 2.0),
            (Gate::Closed, -2.0, -slack),
            (Gate::SplitOpen, -slack, 2.0),
            (Gate::SplitClosed, -2.0, slack),
        ];
        for (gate, low, high) in gates {
            let lines = Relaxation::new(gate, low, high, slack);
            for step in 0..=100 {
                let z = low + (high - low) * f64::from(step) / 100.0;
                let output = z.max(0.0);
                for weight in [-2.0, 3.0] {
                    let (slope, offset) = lines.line(weight, false);
                    assert!(
                        slope * z + offset <= weight * output + 1e-12,
                        "{gate:?} at {z}"
                    );
                    let (slope, offset) = lines.line(weight, true);
                    assert!(
                        slope * z + offset >= weight * output - 1e-12,
                        "{gate:?} at {z}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_free_gate_is_held_by_its_chord_and_by_the_nearer_side() {
        // Between -1 and 3 the chord is 3/4 z + 3/4; most of it is open. Between -3 and 1 most is closed.
        let open = Relaxation::new(Gate::Free, -1.0, 3.0, 0.5);
        let closed = Relaxation::new(Gate::Free, -3.0, 1.0, 0.5);
        let numbers = |of: &Relaxation| vec![of.low_slope, of.high_slope, of.high_offset];
        assert_eq!(numbers(&open), [1.0, 0.75, 0.75]);
        assert_eq!(numbers(&closed), [0.0, 0.25, 0.75]);
        // A negative weight turns above and below round.
        assert_eq!(open.line(2.0, true), (1.5, 1.5));
        assert_eq!(open.line(2.0, false), (2.0, 0.0));
        assert_eq!(open.line(-2.0, false), (-1.5, -1.5));
        assert_eq!(open.line(-2.0, true), (-2.0, 0.0));
    }

    #[test]
    fn a_gate_whose_neuron_stays_on_one_side_needs_no_chord() {
        let numbers = |gate, low, high| {
            let of = Relaxation::new(gate, low, high, 0.5);
            vec![of.low_slope, of.high_slope, of.high_offset]
        };
        assert_eq!(numbers(Gate::Free, 0.0, 2.0), [1.0, 1.0, 0.0]);
        assert_eq!(numbers(Gate::Free, -2.0, 0.0), [0.0, 0.0, 0.0]);
        assert_eq!(numbers(Gate::SplitOpen, -1.0, 3.0), [1.0, 1.0, 0.5]);
        assert_eq!(numbers(Gate::SplitClosed, -1.0, 3.0), [0.0, 0.0, 0.5]);
        let both = [
            Gate::Free,
            Gate::Open,
            Gate::Closed,
            Gate::SplitOpen,
            Gate::SplitClosed,
        ]
        .map(|gate| (gate.is_open(), gate.is_closed()));
        let (neither, open, closed) = ((false, false), (true, false), (false, true));
        assert_eq!(both, [neither, open, closed, open, closed]);
    }
}
