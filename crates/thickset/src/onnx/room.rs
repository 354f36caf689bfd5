//! How much may be made of a file while it is read: a small file must not ask for all of the memory, or for hours.
//!
//! What a graph makes is counted where it is made: constants and their sums, cells of columns, the features of layers. The room grows
//! with what the file itself holds, so that large models are read and small files stay small.

use super::problem::{Result, broken};

/// The numbers that any file may make, 32 megabytes of them; of 735 real exports none made 12,000 more than four times what it held.
const LEAST_NUMBERS: usize = 1 << 22;
/// How many more for each number that it holds: weights are read, turned, and become a layer's.
const FOR_EACH: usize = 4;
/// Numbers that may be read and made together, about a second of work.
const LEAST_STEPS: usize = 1 << 26;
/// The numbers that a layer of any file may make of a row: an image of a million pixels and four channels.
const LEAST_WIDTH: usize = 1 << 22;

/// What is left of it.
#[derive(Clone, Debug)]
pub(super) struct Room {
    numbers: usize,
    steps: usize,
    widest: usize,
}

impl Room {
    /// For a file that holds so many numbers.
    pub(super) fn new(held: usize) -> Self {
        Self {
            numbers: LEAST_NUMBERS.saturating_add(held.saturating_mul(FOR_EACH)),
            steps: LEAST_STEPS.saturating_add(held.saturating_mul(16 * FOR_EACH)),
            widest: LEAST_WIDTH.saturating_add(held),
        }
    }

    /// The most numbers that a layer may make of a row.
    pub(super) fn widest(&self) -> usize {
        self.widest
    }

    /// Whether there is room for numbers that are about to be made.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn check(&self, numbers: usize) -> Result<()> {
        if numbers <= self.numbers {
            return Ok(());
        }
        Err(broken(
            "the graph makes far more numbers than its file holds",
        ))
    }

    /// Takes numbers that stay in memory.
    ///
    /// # Errors
    /// If there is no room for them.
    pub(super) fn keep(&mut self, numbers: usize) -> Result<()> {
        self.check(numbers)?;
        self.numbers -= numbers;
        Ok(())
    }

    /// Takes numbers that are read or computed.
    ///
    /// # Errors
    /// If there is no room for them.
    pub(super) fn work(&mut self, steps: usize) -> Result<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(broken(
                "reading the graph takes far more steps than its file holds numbers",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_makes_room() {
        let (mut small, mut large) = (Room::new(0), Room::new(1 << 26));
        assert!(small.keep(LEAST_NUMBERS + 1).is_err());
        assert!(small.keep(LEAST_NUMBERS).is_ok());
        assert!(small.keep(1).is_err());
        assert!(large.keep(LEAST_NUMBERS + FOR_EACH * (1 << 26)).is_ok());
        assert!(large.keep(1).is_err());
        assert!(small.work(usize::MAX).is_err());
    }
}
