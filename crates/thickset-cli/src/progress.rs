//! Progress on stderr: one bar with a message, one JSON object a line, or nothing. The library tells, this draws.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::command::output::{note, one_line};

/// The option of every command that takes long.
#[derive(Args, Clone, Copy)]
pub struct ProgressOption {
    /// How progress is shown on stderr
    #[arg(long, value_enum, default_value = "bar")]
    progress: Style,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Style {
    /// A bar, on a terminal only
    Bar,
    /// One JSON object a line
    Jsonl,
    /// None
    Off,
}

impl ProgressOption {
    /// Begins to show progress; nothing is drawn before [`Progress::begin`].
    pub fn start(self) -> Progress {
        let silent = self.progress == Style::Bar && !io::stderr().is_terminal();
        Progress {
            style: if silent { Style::Off } else { self.progress },
            bar: ProgressBar::hidden(),
        }
    }
}

/// Shows how far a command is.
pub struct Progress {
    style: Style,
    bar: ProgressBar,
}

/// No colours: it reads the same everywhere.
const TEMPLATE: &str = "{bar:16} {pos}/{len} {eta} {wide_msg}";

impl Progress {
    /// Begins a bar of `length` steps, of which `done` are done already.
    pub fn begin(&mut self, length: u64, done: u64) {
        self.finish();
        if self.style != Style::Bar {
            return;
        }
        let style =
            ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = ProgressBar::new(length).with_style(style);
        self.bar.set_position(done);
        // What was done before does not count for the time that is left.
        self.bar.reset_eta();
    }

    /// So many steps are done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// What stands beside the bar.
    pub fn message(&self, text: impl Into<Cow<'static, str>>) {
        let text = text.into();
        self.bar.set_message(one_line(&text).into_owned());
    }

    /// A line that stays, above the bar; only where there is a bar.
    pub fn line(&self, text: &str) {
        if self.style == Style::Bar {
            self.bar.suspend(|| say!("{text}"));
        }
    }

    /// What a command does, in every style but that for machines.
    pub fn say(&self, text: &str) {
        if self.style != Style::Jsonl {
            self.bar.suspend(|| say!("{text}"));
        }
    }

    /// A line that must be seen, in every style but that for machines.
    pub fn note(&self, text: &str) {
        if self.style != Style::Jsonl {
            self.bar.suspend(|| note(text));
        }
    }

    /// An event for machines; only in their style.
    pub fn event(&self, event: &impl Serialize) {
        if self.style != Style::Jsonl {
            return;
        }
        if let Ok(line) = serde_json::to_string(event) {
            say!("{line}");
        }
    }

    /// Takes the bar away.
    pub fn finish(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
