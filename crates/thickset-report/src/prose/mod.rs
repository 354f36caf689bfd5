//! Sentences that are computed from the numbers.

pub mod budget;
pub mod change;
pub mod nouns;
pub mod sentence;
pub mod verdict;
pub mod worth;

pub use nouns::Nouns;
pub use sentence::Sentence;
