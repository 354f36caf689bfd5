//! The noise floor: the mean P@k over random points on the sphere of the threat set.
//!
//! Whether the prediction changes there does not matter: the class that is explained is the row's own.

use super::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::Result;
use crate::attack::threat::ball::Surface;
use crate::audit::measure::MeasuredRows;
use crate::audit::row_status::Compared;
use crate::check::as_f64;
use crate::registry::Direction;

/// The entry of the table.
pub static FIGURE: Figure = Figure {
    id: "noise",
    key: "noise",
    label: "noise",
    title: "Noise floor",
    meaning: "mean share of the {k} {reasons} that stay under random noise of the same size",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Measured(measure),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: true,
    method: None,
};

fn measure(part: &MeasuredRows<'_>) -> Result<Vec<f64>> {
    let MeasuredRows {
        audit,
        network,
        rows,
        ..
    } = part;
    let seed = audit.config.seed;
    let compared = Compared::new(part)?;
    let width = network.features();
    let ids = rows.ids.iter();
    let mut streams: Vec<_> = ids.map(|id| seed.stream_at("audit noise", *id)).collect();
    let mut points = vec![0.0; rows.values.len()];
    let all: Vec<usize> = (0..streams.len()).collect();
    let mut kept = vec![0; streams.len()];
    for _ in 0..audit.config.noise_draws {
        for (place, stream) in streams.iter_mut().enumerate() {
            let range = place * width..(place + 1) * width;
            let x = &rows.values[range.clone()];
            let drawn = audit.threat.draw(x, Surface::Sphere, stream);
            audit.threat.settle(x, &drawn, &mut points[range]);
        }
        for (kept, found) in kept.iter_mut().zip(compared.at(&all, &points)?) {
            *kept += found.kept;
        }
    }
    let draws = as_f64(audit.config.noise_draws * audit.k());
    let shares = kept.into_iter().map(|kept| as_f64(kept) / draws).collect();
    Ok(part.zero_without_ranking(shares))
}
