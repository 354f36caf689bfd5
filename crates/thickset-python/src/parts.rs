//! Rows in parts, so that progress is told and a stop is heard between them. What comes out of a row does not depend on its part.

use thickset::Rows;

use crate::supervise::Reporter;

/// Asks about the rows part by part and joins the answers; nothing for no rows.
///
/// # Errors
/// The first failure.
pub fn in_parts<T>(
    rows: Rows<'_>,
    size: usize,
    reporter: &Reporter,
    mut ask: impl FnMut(&Rows<'_>, usize) -> thickset::Result<T>,
    mut join: impl FnMut(&mut T, T),
) -> thickset::Result<Option<T>> {
    let total = rows.len();
    let mut all = None;
    for start in (0..total).step_by(size) {
        reporter.say(start, total, String::new);
        let part = rows.slice(start..(start + size).min(total));
        let found = ask(&part, start)?;
        match &mut all {
            None => all = Some(found),
            Some(all) => join(all, found),
        }
    }
    Ok(all)
}
