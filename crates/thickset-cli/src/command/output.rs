//! Writing to stdout.

use std::io::{self, ErrorKind, Write as _};

use anyhow::{Context as _, Result};

/// Prints text. A reader that has seen enough, like `head`, is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
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
