//! Activations, the lines that hold them, and the chords of their slopes.

/// What stands behind a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Activation {
    Relu,
    Softplus { beta: f64 },
}

impl Activation {
    pub(super) fn slope(self, z: f64) -> f64 {
        match self {
            Self::Relu => f64::from(u8::from(z > 0.0)),
            Self::Softplus { beta } => {
                let e = (-(beta * z).abs()).exp();
                if z >= 0.0 {
                    1.0 / (1.0 + e)
                } else {
                    e / (1.0 + e)
                }
            }
        }
    }

    pub(super) fn value(self, z: f64) -> f64 {
        match self {
            Self::Relu => z.max(0.0),
            Self::Softplus { beta } => z.max(0.0) + (-(beta * z).abs()).exp().ln_1p() / beta,
        }
    }

    /// Slope and offset of a line above the activation, and of one below, between two places.
    pub(super) fn lines(self, low: f64, high: f64) -> [(f64, f64); 2] {
        let (at_low, at_high) = (self.value(low), self.value(high));
        let width = high - low;
        let above = if width > 0.0 {
            ((at_high - at_low) / width).clamp(0.0, 1.0)
        } else {
            self.slope(low)
        };
        // Convex: the chord through one end lies above up to the other, whatever was rounded, if the larger offset is taken.
        let offset = (at_low - above * low).max(at_high - above * high);
        let middle = f64::midpoint(low, high);
        let below = self.slope(middle);
        [
            (above, offset),
            (below, self.value(middle) - below * middle),
        ]
    }

    /// Gate and chord between two places.
    pub(super) fn gate(self, low: f64, high: f64) -> [f64; 5] {
        let (first, last) = match self {
            // At the kink itself either may be.
            Self::Relu => (self.slope(low), f64::from(u8::from(high >= 0.0))),
            Self::Softplus { .. } => (self.slope(low), self.slope(high)),
        };
        let flat = [
            first,
            last,
            0.0,
            f64::midpoint(first, last),
            (last - first) / 2.0,
        ];
        let Self::Softplus { beta } = self else {
            return flat;
        };
        let width = high - low;
        if !(width > 0.0 && last > first) {
            return flat;
        }
        let chord = (last - first) / width;
        // The gate less the chord is extreme at the ends, or where its slope, beta d (1 - d), is the chord's.
        let mut apart = vec![first - chord * low, last - chord * high];
        let root = 1.0 - 4.0 * chord / beta;
        if root > 0.0 {
            for gate in [(1.0 - root.sqrt()) / 2.0, f64::midpoint(1.0, root.sqrt())] {
                if gate > first && gate < last {
                    let z = (gate / (1.0 - gate)).ln() / beta;
                    apart.push(gate - chord * z);
                }
            }
        }
        let least = apart.iter().copied().fold(f64::INFINITY, f64::min);
        let most = apart.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        [
            first,
            last,
            chord,
            f64::midpoint(least, most),
            (most - least) / 2.0,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFT: Activation = Activation::Softplus { beta: 2.0 };

    /// Ends of intervals: on one side of the kink, around it, up to it and of no width.
    const ENDS: [(f64, f64); 6] = [
        (-3.0, -1.0),
        (-1.0, 2.0),
        (-2.0, 0.5),
        (0.0, 1.5),
        (1.0, 4.0),
        (0.7, 0.7),
    ];

    fn grid(low: f64, high: f64) -> impl Iterator<Item = f64> {
        (0..=1000).map(move |step| low + (high - low) * f64::from(step) / 1000.0)
    }

    #[test]
    fn softplus_and_its_slope_are_a_logarithm_and_a_sigmoid() {
        for z in [-2.0, -0.5, 0.0, 0.3, 1.5] {
            let value = f64::exp(2.0 * z).ln_1p() / 2.0;
            assert!((SOFT.value(z) - value).abs() < 1e-12, "{z}");
            let slope = 1.0 / (1.0 + f64::exp(-2.0 * z));
            assert!((SOFT.slope(z) - slope).abs() < 1e-12, "{z}");
        }
        let relu = [-1.0, 0.0, 2.0].map(|z| (Activation::Relu.value(z), Activation::Relu.slope(z)));
        assert_eq!(relu.to_vec(), [(0.0, 0.0), (0.0, 0.0), (2.0, 1.0)]);
    }

    #[test]
    fn an_activation_lies_between_its_chord_and_a_tangent() {
        for activation in [SOFT, Activation::Relu] {
            for (low, high) in ENDS {
                let [over, under] = activation.lines(low, high);
                let [over, under] =
                    [over, under].map(|(slope, at_0)| move |z: f64| slope * z + at_0);
                for z in grid(low, high) {
                    let value = activation.value(z);
                    assert!(over(z) >= value - 1e-12, "{activation:?} above {z}");
                    assert!(under(z) <= value + 1e-12, "{activation:?} below {z}");
                }
                for end in [low, high] {
                    let off = over(end) - activation.value(end);
                    assert!(off.abs() < 1e-12, "{activation:?} at {end}");
                }
                let middle = f64::midpoint(low, high);
                let off = under(middle) - activation.value(middle);
                assert!(off.abs() < 1e-12, "{activation:?} at {middle}");
            }
        }
    }

    #[test]
    fn a_gate_strays_from_its_chord_as_far_as_is_said_and_no_further() {
        for (low, high) in ENDS {
            let [first, last, chord, offset, error] = SOFT.gate(low, high);
            assert!((first - SOFT.slope(low)).abs() < 1e-12);
            assert!((last - SOFT.slope(high)).abs() < 1e-12);
            let rises = chord * (high - low) - (last - first);
            assert!(rises.abs() < 1e-12, "{low} to {high}");
            let astray = grid(low, high).map(|z| SOFT.slope(z) - chord * z - offset);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for astray in astray {
                (least, most) = (least.min(astray), most.max(astray));
            }
            assert!(
                (most - error).abs() < 1e-5,
                "{low} to {high}: {most} {error}"
            );
            assert!(
                (least + error).abs() < 1e-5,
                "{low} to {high}: {least} {error}"
            );
        }
    }

    #[test]
    fn a_relu_gate_is_zero_below_its_kink_one_above_and_either_at_it() {
        let (closed, open, either) = (
            [0.0; 5],
            [1.0, 1.0, 0.0, 1.0, 0.0],
            [0.0, 1.0, 0.0, 0.5, 0.5],
        );
        let ends = [
            (-2.0, -1.0),
            (1.0, 2.0),
            (-1.0, 1.0),
            (0.0, 1.0),
            (-1.0, 0.0),
        ];
        let gates = ends.map(|(low, high)| Activation::Relu.gate(low, high));
        assert_eq!(gates.to_vec(), [closed, open, either, either, either]);
    }
}
