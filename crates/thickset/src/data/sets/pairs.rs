//! Pairs of inputs for a Siamese network, as appendix B.1.1 makes them. The label is 1 if both have the same class.
//!
//! The paper draws validation and test pairs from the same test images; here no image serves both.

use std::collections::BTreeSet;

use super::recipe::PairRule;
use super::split::{Part, Split};
use crate::data::dataset::{Dataset, Pairs};
use crate::data::schema::Schema;
use crate::{Error, Result, Seed};

/// Of the official test inputs, one in this many makes validation pairs.
const VALIDATION_SHARE: usize = 3;

/// Labels of pairs.
const DIFFERENT: usize = 0;
const SAME: usize = 1;

/// Turns a dataset of single inputs into one of pairs.
///
/// # Errors
/// If the rule names an unknown class, or there are too few inputs to draw as many different pairs.
pub fn pair(inputs: Dataset, rule: &PairRule, seed: Seed) -> Result<Dataset> {
    let inputs = restrict(inputs, &rule.classes)?;
    let mut made = Made {
        labels: Vec::new(),
        pairs: Vec::new(),
        split: Split::default(),
    };
    if let Some([train, validation, test]) = rule.drawn {
        let (mut for_validation, mut for_test) = (Vec::new(), Vec::new());
        for (place, &row) in inputs.split.test.iter().enumerate() {
            if place % VALIDATION_SHARE == 0 {
                for_validation.push(row);
            } else {
                for_test.push(row);
            }
        }
        let for_train: Vec<usize> =
            [&inputs.split.train[..], &inputs.split.validation[..]].concat();
        made.draw(&inputs, Part::Train, &for_train, train, seed)?;
        made.draw(&inputs, Part::Validation, &for_validation, validation, seed)?;
        made.draw(&inputs, Part::Test, &for_test, test, seed)?;
    } else {
        let train = &inputs.split.train;
        for (place, &left) in train.iter().enumerate() {
            for &right in &train[place + 1..] {
                made.push(&inputs, Part::Train, left, right);
            }
        }
        for part in [Part::Validation, Part::Test] {
            for &left in inputs.split.rows(part) {
                for &right in train {
                    made.push(&inputs, part, left, right);
                }
            }
        }
    }
    let of_inputs = Pairs {
        rows: made.pairs,
        labels: inputs.labels,
        classes: inputs.classes,
    };
    Ok(Dataset {
        labels: made.labels,
        classes: vec!["different".to_owned(), "same".to_owned()],
        schema: Schema::pair(&inputs.schema),
        split: made.split,
        pairs: Some(of_inputs),
        ..inputs
    })
}

struct Made {
    labels: Vec<usize>,
    pairs: Vec<[u32; 2]>,
    split: Split,
}

impl Made {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "readers accept fewer than 2^32 inputs"
    )]
    fn push(&mut self, inputs: &Dataset, part: Part, left: usize, right: usize) {
        let row = self.labels.len();
        match part {
            Part::Train => self.split.train.push(row),
            Part::Validation => self.split.validation.push(row),
            Part::Test => self.split.test.push(row),
        }
        let same = inputs.labels[left] == inputs.labels[right];
        self.labels.push(if same { SAME } else { DIFFERENT });
        self.pairs.push([left as u32, right as u32]);
    }

    /// Draws different pairs, every other one of the same class.
    fn draw(
        &mut self,
        inputs: &Dataset,
        part: Part,
        from: &[usize],
        count: usize,
        seed: Seed,
    ) -> Result<()> {
        // Far more tries than a sensible request needs; a request that cannot be met must end.
        const TRIES: usize = 1000;
        let mut stream = seed.stream(&format!("pairs/{}", part.name()));
        let mut drawn = BTreeSet::new();
        for number in 0..count {
            let want_same = number % 2 == 0;
            let found = (0..TRIES).find_map(|_| {
                let (left, right) = (
                    from.get(stream.below(from.len()))?,
                    from.get(stream.below(from.len()))?,
                );
                let fits =
                    left != right && (inputs.labels[*left] == inputs.labels[*right]) == want_same;
                (fits && drawn.insert((*left.min(right), *left.max(right))))
                    .then_some((*left, *right))
            });
            let Some((left, right)) = found else {
                return Err(Error::TooFewPairs {
                    path: inputs.name.clone(),
                    part: part.name(),
                    inputs: from.len(),
                    relation: if want_same {
                        "one class"
                    } else {
                        "two classes"
                    },
                    found: number,
                    expected: count,
                });
            };
            self.push(inputs, part, left, right);
        }
        Ok(())
    }
}

/// Keeps the inputs of some classes; all if none is named.
fn restrict(inputs: Dataset, classes: &[String]) -> Result<Dataset> {
    if classes.is_empty() {
        return Ok(inputs);
    }
    let mut kept = Vec::new();
    for class in classes {
        kept.push(
            inputs
                .classes
                .iter()
                .position(|name| name == class)
                .ok_or_else(|| Error::UnknownClass {
                    path: inputs.name.clone(),
                    column: "pairs.classes".to_owned(),
                    value: class.clone(),
                })?,
        );
    }
    let rows: Vec<usize> = (0..inputs.rows())
        .filter(|&row| kept.contains(&inputs.labels[row]))
        .collect();
    let mut new_row = vec![None; inputs.rows()];
    for (new, &old) in rows.iter().enumerate() {
        new_row[old] = Some(new);
    }
    let renumber = |old: &[usize]| old.iter().filter_map(|&row| new_row[row]).collect();
    let split = Split {
        train: renumber(&inputs.split.train),
        validation: renumber(&inputs.split.validation),
        test: renumber(&inputs.split.test),
    };
    let values = inputs.gather(&rows);
    Ok(Dataset {
        labels: inputs.gather_labels(&rows),
        values,
        split,
        ..inputs
    })
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    reason = "row numbers below 2^23 as values"
)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn inputs(rows: usize) -> Dataset {
        let labels: Vec<usize> = (0..rows).map(|row| row % 3).collect();
        Dataset {
            name: "a".to_owned(),
            title: String::new(),
            recipe: None,
            split: Split::stratified(&labels, Seed::new(1)),
            labels,
            classes: ["x", "y", "z"].map(str::to_owned).to_vec(),
            schema: Schema::graph(2, 0.0, 1.0),
            encoding: None,
            missing: BTreeMap::new(),
            notes: Vec::new(),
            attack: None,
            values: (0..rows).map(|row| row as f32).collect(),
            pairs: None,
            weights: None,
            given: None,
        }
    }

    #[test]
    fn all_pairs_are_train_with_train_and_others_against_train() {
        let single = inputs(30);
        let (train, validation, test) = (
            single.split.train.len(),
            single.split.validation.len(),
            single.split.test.len(),
        );
        let paired = pair(
            single.clone(),
            &PairRule {
                classes: Vec::new(),
                drawn: None,
            },
            Seed::new(1),
        )
        .unwrap();
        assert_eq!(paired.split.train.len(), train * (train - 1) / 2);
        assert_eq!(paired.split.validation.len(), validation * train);
        assert_eq!(paired.split.test.len(), test * train);
        for &row in &paired.split.test {
            let [left, right] = paired.pairs().unwrap()[row];
            assert!(
                single.split.test.contains(&(left as usize))
                    && single.split.train.contains(&(right as usize))
            );
            assert_eq!(paired.gather(&[row]), [left as f32, right as f32]);
        }
    }

    #[test]
    fn single_inputs_of_a_part_are_each_there_once_with_their_own_class() {
        let rule = PairRule {
            classes: vec!["x".to_owned(), "z".to_owned()],
            drawn: Some([40, 10, 20]),
        };
        let single = inputs(300);
        let paired = pair(single.clone(), &rule, Seed::new(1)).unwrap();
        let inputs = paired.single_inputs(Part::Validation).unwrap();
        assert_eq!(inputs.classes, ["x", "z"]);
        let mut seen = BTreeSet::new();
        for (value, label) in inputs.values.iter().zip(&inputs.labels) {
            assert!(seen.insert(value.to_bits()), "{value} twice");
            // The value of a row is its number, and rows take the three classes by turns.
            let original = [0.0, 2.0][*label];
            assert!((value % 3.0 - original).abs() < 0.1, "{value} {label}");
        }
        let rows = paired.part(Part::Validation).iter();
        let used: BTreeSet<u32> = rows
            .flat_map(|row| paired.gather(&[*row]))
            .map(f32::to_bits)
            .collect();
        assert_eq!(seen, used);
        assert!(single.single_inputs(Part::Train).is_none());
    }

    #[test]
    fn drawn_pairs_are_balanced_and_no_input_serves_two_parts() {
        let rule = PairRule {
            classes: vec!["x".to_owned(), "z".to_owned()],
            drawn: Some([40, 10, 20]),
        };
        let paired = pair(inputs(300), &rule, Seed::new(1)).unwrap();
        let mut seen = Vec::new();
        for (part, count) in [(Part::Train, 40), (Part::Validation, 10), (Part::Test, 20)] {
            let rows = paired.part(part);
            assert_eq!(rows.len(), count);
            assert_eq!(
                rows.iter()
                    .filter(|&&row| paired.labels[row] == SAME)
                    .count(),
                count / 2
            );
            let used: BTreeSet<u32> = rows
                .iter()
                .flat_map(|&row| paired.pairs().unwrap()[row])
                .collect();
            assert!(
                seen.iter()
                    .all(|other: &BTreeSet<u32>| other.is_disjoint(&used))
            );
            seen.push(used);
        }
    }

    #[test]
    fn too_many_pairs_are_refused_and_do_not_hang() {
        let rule = PairRule {
            classes: Vec::new(),
            drawn: Some([100_000, 1, 1]),
        };
        assert!(matches!(
            pair(inputs(30), &rule, Seed::new(1)),
            Err(Error::TooFewPairs {
                relation: "one class",
                ..
            })
        ));
    }
}
