//! Whether a column of whole numbers names rows instead of measuring something: customer numbers, keys, references.

/// With fewer rows than this, nothing is called an identifier by its digits alone.
const LEAST_ROWS: usize = 50;

/// With fewer rows than this, nothing is called one by its name.
const LEAST_NAMED: usize = 20;

/// Numbers of fewer digits are never called random.
const LEAST_DIGITS: usize = 5;

/// Of random numbers, a tenth ends with 0; of amounts that people round, more do.
const MOST_ROUND: f64 = 0.2;

/// Among numbers that have an identifier's name, at most this share may come twice.
const MOST_REPEATED: f64 = 0.05;

/// Seconds since 1970 of 1985 to 2033: a time, not a name.
const SECONDS: [f64; 2] = [4.8e8, 2e9];

/// Last words of names that identifiers have.
const NAMES: [&str; 14] = [
    "id",
    "ids",
    "key",
    "uuid",
    "guid",
    "nr",
    "no",
    "num",
    "ref",
    "reference",
    "identifier",
    "ssn",
    "account",
    "customer",
];

/// Refuses the ascending whole numbers of a column if they name rows.
///
/// # Errors
/// Why it is left out: the rest of a sentence that begins with the column.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
pub fn check(name: &str, sorted: &[f64]) -> Result<(), String> {
    let rows = sorted.len();
    let repeated = sorted.windows(2).filter(|pair| pair[0] >= pair[1]).count();
    let distinct = rows - repeated;
    if has_name(name) && rows >= LEAST_NAMED && repeated as f64 <= MOST_REPEATED * rows as f64 {
        return Err(format!(
            "looks like a row identifier by its name and values ({distinct} distinct whole numbers in {rows} training rows)"
        ));
    }
    let (Some(least), Some(greatest)) = (sorted.first(), sorted.last()) else {
        return Ok(());
    };
    let digits = |value: f64| format!("{value}").len();
    let round = sorted.iter().filter(|value| *value % 10.0 == 0.0).count();
    let is_time = SECONDS[0] <= *least && *greatest <= SECONDS[1];
    if rows >= LEAST_ROWS
        && repeated == 0
        && *least > 0.0
        && digits(*least) >= LEAST_DIGITS
        && digits(*least) == digits(*greatest)
        && round as f64 <= MOST_ROUND * rows as f64
        && !is_time
    {
        return Err(format!(
            "looks like random customer numbers ({rows} distinct numbers of {} digits in {rows} training rows)",
            digits(*least)
        ));
    }
    Ok(())
}

/// Whether the last word of a name is an identifier's: `customer_id`, `CustomerID`, `loan nr`.
fn has_name(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    let last = words.iter().rev().find(|word| !word.is_empty());
    last.is_some_and(|word| NAMES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    #[test]
    fn random_customer_numbers_are_told_from_amounts_and_times() {
        let mut stream = Seed::new(1).stream("numbers");
        let mut draw = |from: f64, to: f64, step: f64| {
            let draws = (0..200).map(|_| {
                let value: f64 = from + (to - from) * stream.uniform();
                (value / step).floor() * step
            });
            sorted(draws.collect())
        };
        let customers = draw(1e7, 1e8, 1.0);
        assert!(
            check("kunde", &customers)
                .unwrap_err()
                .contains("random customer numbers")
        );
        assert_eq!(
            check("income", &draw(1e4, 1e5, 10.0)),
            Ok(()),
            "rounded amounts"
        );
        assert_eq!(
            check("amount", &draw(0.0, 1e6, 1.0)),
            Ok(()),
            "amounts of any length"
        );
        assert_eq!(check("seen", &draw(1.6e9, 1.7e9, 1.0)), Ok(()), "seconds");
    }

    #[test]
    fn an_identifiers_name_is_enough_if_numbers_hardly_repeat() {
        let numbers: Vec<f64> = (0..100_u8).map(|row| f64::from(row) * 7.0).collect();
        for name in ["customer_id", "CustomerID", "LoanId", "loan nr", "id"] {
            assert!(check(name, &numbers).is_err(), "{name}");
        }
        for name in ["paid", "number of children", "nose", "humid"] {
            assert_eq!(check(name, &numbers), Ok(()), "{name}");
        }
        let few: Vec<f64> = (0..100_u8).map(|row| f64::from(row / 20)).collect();
        assert_eq!(check("branch_id", &few), Ok(()), "a category by number");
    }
}
