//! Writing to stdout and stderr.
//!
//! Names and cells come from other people's files. Characters that a terminal obeys instead of showing, and those that turn the
//! order of letters around, are written as `\u001b`: in one place, here, for all that is printed. The form is also JSON's and
//! TOML's, so what is printed in these languages means the same as before.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, Write as _};
use std::ops::ControlFlow;

use anyhow::{Context as _, Result};

/// Prints text. A reader that has seen enough, like `head`, is no failure.
pub fn print(text: &str) -> Result<()> {
    print_some(text).map(|_| ())
}

/// The same for text of which more follows; breaks when the reader has seen enough.
pub fn print_some(text: &str) -> Result<ControlFlow<()>> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(visible(text).as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        result => result
            .map(ControlFlow::Continue)
            .context("cannot write to stdout"),
    }
}

/// Says a line, or several, on stderr. The work is not lost with the talk: a stderr that is full or gone is no failure.
pub fn say(text: &str) {
    let line = format!("{}\n", visible(text));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

/// Says something that a user should know, on one line whatever names are in it.
pub fn note(text: &str) {
    say(&format!("note: {}", one_line(text)));
}

/// A p value; one that would round to 0 says how small it is at least.
pub fn p_value(p: f64) -> String {
    const LEAST: f64 = 1e-4;
    if p < LEAST {
        "p < 0.0001".to_owned()
    } else {
        format!("p {p:.4}")
    }
}

/// Prints a value as JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// The text with all characters visible; lines and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |letter| is_hidden(letter) && !"\n\t".contains(letter))
}

/// A name on one line, with all characters visible.
pub fn one_line(name: &str) -> Cow<'_, str> {
    escaped(name, is_hidden)
}

/// Whether a terminal obeys this character instead of showing it, or lets it turn the order of others around.
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_escaped(letter) {
            // Writing to a string cannot fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(letter));
        } else {
            safe.push(letter);
        }
    }
    Cow::Owned(safe)
}

/// A value as a word that a POSIX shell takes as it is; `None` if it has characters that cannot be seen or copied.
pub fn shell_word(value: &str) -> Option<String> {
    if value.contains(is_hidden) {
        return None;
    }
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,+@%".contains(letter);
    if !value.is_empty() && value.chars().all(is_plain) {
        return Some(value.to_owned());
    }
    Some(format!("'{}'", value.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(visible("a\u{1b}[2Jb\nc\td"), "a\\u001b[2Jb\nc\td");
        assert_eq!(visible("abc\u{202e}fdp.exe"), "abc\\u202efdp.exe");
        assert_eq!(visible("\u{9b}31m\u{7f}\r"), "\\u009b31m\\u007f\\u000d");
        assert_eq!(one_line("a\nerror: b"), "a\\u000aerror: b");
        for plain in ["Größe", "年齢", "א ב", "👩‍🔬", "a=b"] {
            assert!(matches!(visible(plain), Cow::Borrowed(_)), "{plain}");
        }
    }

    #[test]
    fn json_stays_json_and_means_the_same() {
        let name = "a\u{202e}b\u{85}";
        let text = serde_json::to_string(name).unwrap();
        let printed = visible(&text);
        assert!(!printed.contains(is_hidden));
        assert_eq!(serde_json::from_str::<String>(&printed).unwrap(), name);
    }

    #[test]
    fn a_word_in_a_hint_is_one_word_to_a_shell() {
        assert_eq!(shell_word("n/a").as_deref(), Some("n/a"));
        assert_eq!(shell_word("").as_deref(), Some("''"));
        assert_eq!(shell_word("a b").as_deref(), Some("'a b'"));
        assert_eq!(
            shell_word("'; touch pwned; '").as_deref(),
            Some(r"''\''; touch pwned; '\'''")
        );
        assert_eq!(shell_word("$(x)").as_deref(), Some("'$(x)'"));
        assert_eq!(shell_word("a\nb"), None);
    }
}
