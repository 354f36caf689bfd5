//! A sentence with names in it. The page shows a name as code; a name may hold anything, so it is never found by its quotes.

use std::fmt;

/// Pieces in the order of reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The pieces.
    pub parts: Vec<Fragment>,
}

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// Words of ours.
    Words(String),
    /// A name from the data.
    Name(String),
}

impl Sentence {
    /// Adds words.
    #[must_use]
    pub fn say(mut self, words: impl Into<String>) -> Self {
        self.parts.push(Fragment::Words(words.into()));
        self
    }

    /// Adds a name.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.parts.push(Fragment::Name(name.to_owned()));
        self
    }

    /// Adds another sentence's pieces.
    #[must_use]
    pub fn then(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Adds several, with commas and an "and" before the last.
    #[must_use]
    pub fn list(mut self, items: Vec<Self>) -> Self {
        let count = items.len();
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                let between = if index + 1 == count { " and " } else { ", " };
                self = self.say(between);
            }
            self = self.then(item);
        }
        self
    }

    /// With a capital at the beginning, if it begins with words.
    #[must_use]
    pub fn capitalised(mut self) -> Self {
        if let Some(Fragment::Words(words)) = self.parts.first_mut() {
            let mut letters = words.chars();
            if let Some(first) = letters.next() {
                *words = first.to_uppercase().chain(letters).collect();
            }
        }
        self
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Fragment::Words(words) => formatter.write_str(words),
            Fragment::Name(name) => write!(formatter, "`{name}`"),
        })
    }
}
