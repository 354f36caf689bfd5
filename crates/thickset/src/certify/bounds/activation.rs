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
