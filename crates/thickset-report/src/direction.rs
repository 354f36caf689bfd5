//! Names from other people's files may be written from right to left, or hold marks that turn the direction of what follows. On a page
//! neither may rearrange what stands beside them.

use std::fmt::Write as _;

/// Opens and closes a piece of text whose direction is its own, as `<bdi>` does, in attributes and drawings too.
const ISOLATE: [char; 2] = ['\u{2068}', '\u{2069}'];

/// Marks that turn the direction of the text around them.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Letters that are written from right to left.
fn is_leftward(letter: char) -> bool {
    matches!(letter,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// The page with marks of direction shown as escapes, and each run of words from right to left as a piece of its own.
pub(crate) fn isolated(page: String) -> String {
    if !page.contains(|letter| is_mark(letter) || is_leftward(letter)) {
        return page;
    }
    let mut safe = String::with_capacity(page.len() + page.len() / 16);
    // What follows a run and belongs to it if another word from right to left comes.
    let mut blanks = String::new();
    let mut is_inside = false;
    for letter in page.chars() {
        if is_leftward(letter) && !is_mark(letter) {
            if !is_inside {
                safe.push(ISOLATE[0]);
                is_inside = true;
            }
            safe.push_str(&blanks);
            blanks.clear();
            safe.push(letter);
            continue;
        }
        if is_inside && letter == ' ' {
            blanks.push(letter);
            continue;
        }
        if is_inside {
            safe.push(ISOLATE[1]);
            is_inside = false;
        }
        safe.push_str(&blanks);
        blanks.clear();
        if is_mark(letter) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    if is_inside {
        safe.push(ISOLATE[1]);
    }
    safe + &blanks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_shown_and_words_from_right_to_left_stand_by_themselves() {
        let cases = [
            ("<b>age</b> 3 €", "<b>age</b> 3 €"),
            ("a\u{202e}ge", "a\\u202ege"),
            ("\u{2066}x\u{2069}\u{61c}", "\\u2066x\\u2069\\u061c"),
            ("גיל 12 of 30", "\u{2068}גיל\u{2069} 12 of 30"),
            ("<td>שם פרטי</td>", "<td>\u{2068}שם פרטי\u{2069}</td>"),
            ("دخل", "\u{2068}دخل\u{2069}"),
            ("دخل ", "\u{2068}دخل\u{2069} "),
        ];
        for (page, expected) in cases {
            assert_eq!(isolated(page.to_owned()), expected);
        }
    }
}
