//! Times: `14:30`, `02:30:15 PM`, and durations like `72:15`.

/// The hours that a time stands for.
pub(super) fn hours(text: &str) -> Option<f64> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let (digits, half) = if let Some(rest) = upper.strip_suffix("AM") {
        (rest.trim_end(), Some(0.0))
    } else if let Some(rest) = upper.strip_suffix("PM") {
        (rest.trim_end(), Some(12.0))
    } else {
        (upper.as_str(), None)
    };
    let mut parts = digits.split(':');
    let hours = whole(parts.next()?, 4)?;
    let minutes = whole(parts.next()?, 2).filter(|minutes| *minutes < 60.0)?;
    let seconds = parts.next().map_or(Some(0.0), seconds)?;
    if parts.next().is_some() {
        return None;
    }
    let hours = match half {
        None => hours,
        Some(half) if (1.0..=12.0).contains(&hours) => hours % 12.0 + half,
        Some(_) => return None,
    };
    Some(hours + minutes / 60.0 + seconds / 3600.0)
}

/// The time of so many hours; the seconds where there are some.
#[expect(clippy::cast_possible_truncation, reason = "the size was checked")]
pub(super) fn written(hours: f64) -> Option<String> {
    if !(hours.is_finite() && hours.abs() < 1e9) {
        return None;
    }
    let seconds = (hours.abs() * 3600.0).round() as i64;
    let sign = if hours < 0.0 && seconds > 0 { "-" } else { "" };
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Some(if seconds == 0 {
        format!("{sign}{hours}:{minutes:02}")
    } else {
        format!("{sign}{hours}:{minutes:02}:{seconds:02}")
    })
}

fn whole(text: &str, most: usize) -> Option<f64> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn seconds(text: &str) -> Option<f64> {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let value = whole(whole_part, 2).filter(|seconds| *seconds <= 60.0)?;
    let fraction = whole(fraction, 9).map(|_| format!("0.{fraction}"))?;
    Some(value + fraction.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_hours() {
        for (text, expected) in [
            ("00:00", 0.0),
            ("14:30", 14.5),
            ("2:30 pm", 14.5),
            ("12:00 AM", 0.0),
            ("12:15PM", 12.25),
            ("72:45:36", 72.76),
            ("01:00:00.5", 1.0 + 0.5 / 3600.0),
        ] {
            let found = hours(text).unwrap();
            assert!((found - expected).abs() < 1e-12, "{text}: {found}");
        }
        for text in ["14", "14:60", "1:2:3:4", "13:00 PM", "a:b", "14:3x", ""] {
            assert_eq!(hours(text), None, "{text}");
        }
    }
}
