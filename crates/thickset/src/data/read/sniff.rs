//! Guessing a text file's delimiter from its start, and telling what stands for no value.

/// Delimiters that are tried, the first of equals wins.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiter that cuts the first lines into the same number of fields, and into the most. A space, which texts have as
/// well, is one only if no other cuts all lines alike.
pub fn delimiter(head: &[u8], comment: Option<char>) -> u8 {
    let comment = comment.and_then(|c| u8::try_from(c).ok());
    let lines: Vec<&[u8]> = head
        .split(|&byte| byte == b'\n')
        .filter(|line| {
            !line.trim_ascii().is_empty() && (comment.is_none() || line.first().copied() != comment)
        })
        .take(10)
        .collect();
    let places = |line: &[u8], delimiter: u8| -> Vec<usize> {
        let mut quoted = false;
        let places = line.iter().enumerate().filter(|&(_, &byte)| {
            quoted ^= byte == b'"';
            byte == delimiter && !quoted
        });
        places.map(|(place, _)| place).collect()
    };
    let count = |line: &[u8], delimiter: u8| places(line, delimiter).len();
    // Commas that all stand between digits are decimal commas, if a semicolon or a tab cuts all lines alike.
    let is_decimal = |line: &[u8], place: usize| {
        let is_digit = |place: Option<usize>| {
            place
                .and_then(|place| line.get(place))
                .is_some_and(u8::is_ascii_digit)
        };
        is_digit(place.checked_sub(1)) && is_digit(Some(place + 1))
    };
    for delimiter in [b';', b'\t'] {
        let first = lines.first().map_or(0, |line| count(line, delimiter));
        let steady = first > 0 && lines.iter().all(|line| count(line, delimiter) == first);
        let decimal = |line: &&[u8]| {
            places(line, b',')
                .iter()
                .all(|&place| is_decimal(line, place))
        };
        if steady && lines.iter().all(decimal) {
            return delimiter;
        }
    }
    let mut best = (0, b',');
    let mut try_one = |delimiter| {
        let least = lines.iter().map(|line| count(line, delimiter)).min();
        let least = least.unwrap_or(0);
        let steady = least > 0 && lines.iter().all(|line| count(line, delimiter) == least);
        // A delimiter that gives every line as many fields beats one that does not.
        let score = if steady { 2 * least } else { least };
        if score > best.0 {
            best = (score, delimiter);
        }
        steady
    };
    let steady = DELIMITERS.map(&mut try_one);
    if !steady.contains(&true) {
        try_one(b' ');
    }
    best.1
}

/// Whether a text stands for no value.
pub fn is_missing(text: &str, missing: &[String]) -> bool {
    text.is_empty() || missing.iter().any(|marker| marker == text)
}
