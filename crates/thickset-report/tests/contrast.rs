//! Text and marks stand out from their ground in both colour schemes (WCAG 2.2, level AA).

use std::collections::BTreeMap;

/// Least contrast of text.
const TEXT: f64 = 4.5;

/// Least contrast of marks and lines that mean something.
const MARK: f64 = 3.0;

/// The colours that a part of the style sheet names.
fn colours(style: &str) -> BTreeMap<&str, &str> {
    style
        .split("--")
        .filter_map(|part| part.split_once(": #"))
        .filter_map(|(name, rest)| Some((name, rest.get(..6)?)))
        .collect()
}

/// Relative luminance, as the guidelines define it.
fn luminance(hex: &str) -> f64 {
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.040_45 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn black_on_white_has_the_most_contrast() {
    assert!((contrast("000000", "ffffff") - 21.0).abs() < 1e-9);
}

#[test]
fn every_pair_of_colours_is_readable_in_both_schemes() {
    let style = include_str!("../templates/style.css");
    let (light, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
    let dark = dark.split_once("\n}").unwrap().0;
    let pairs = [
        ("text", "page", TEXT),
        ("muted", "page", TEXT),
        ("accent", "page", TEXT),
        ("text", "soft", TEXT),
        ("text", "accent-soft", TEXT),
        ("good", "good-soft", TEXT),
        ("fair", "fair-soft", TEXT),
        ("poor", "poor-soft", TEXT),
        ("bar", "page", MARK),
        ("s0", "page", MARK),
        ("s1", "page", MARK),
        ("s2", "page", MARK),
        ("s3", "page", MARK),
        ("s4", "page", MARK),
        ("s5", "page", MARK),
    ];
    for scheme in [light, dark] {
        let colours = colours(scheme);
        for (front, ground, least) in pairs {
            let found = contrast(colours[front], colours[ground]);
            assert!(found >= least, "{front} on {ground}: {found:.2}");
        }
    }
}
