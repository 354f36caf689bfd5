//! A set of inputs in words.

use super::{Amount, Norm, OneHot, ThreatConfig};

impl ThreatConfig {
    /// What a row may become, in words, such as `errors of up to 5% in every number`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let named = |verb: &str, (name, amount): (&String, &Amount)| match (name.as_str(), amount) {
            ("*", amount) => format!("up to {amount} in every number"),
            (name, Amount::Free) => format!("any {verb} of {name}"),
            (name, amount) => format!("up to {amount} in {name}"),
        };
        let mut parts = Vec::new();
        if !self.error.is_empty() {
            let errors: Vec<String> = self.error.iter().map(|one| named("error", one)).collect();
            parts.push(format!("errors of {}", errors.join(", ")));
        }
        if !self.only.is_empty() {
            let only: Vec<String> = self.only.iter().map(|one| named("change", one)).collect();
            parts.push(format!(
                "changes of {} and of nothing else",
                only.join(", ")
            ));
        }
        if parts.is_empty() {
            let norm = match self.ball.norm {
                Norm::L2 => "",
                Norm::Linf => " in each number",
            };
            parts.push(format!(
                "changes of up to {} encoded units{norm}",
                self.ball.radius
            ));
        }
        let mut kept = Vec::new();
        if self.immutable {
            kept.push("immutable columns kept");
        }
        if self.one_hot == OneHot::Whole {
            kept.push("categories whole");
        }
        if self.integer {
            kept.push("whole numbers whole");
        }
        if self.r#box {
            kept.push("within the range of the training rows");
        }
        if kept.is_empty() {
            return parts.join(", and ");
        }
        format!("{} ({})", parts.join(", and "), kept.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_told_as_people_state_it() {
        assert_eq!(
            ThreatConfig::papers().in_words(),
            "changes of up to 0.5 encoded units"
        );
        let error = ThreatConfig {
            error: [
                ("*".to_owned(), Amount::Share(0.05)),
                ("age".to_owned(), Amount::Units(1.0)),
            ]
            .into(),
            ..ThreatConfig::papers()
        };
        assert_eq!(
            error.in_words(),
            "errors of up to 5% in every number, up to 1 in age"
        );
    }

    #[test]
    fn what_is_kept_stands_in_brackets() {
        let table = ThreatConfig {
            only: [
                ("income".to_owned(), Amount::Units(100.0)),
                ("job".to_owned(), Amount::Free),
            ]
            .into(),
            ..ThreatConfig::table()
        };
        assert_eq!(
            table.in_words(),
            "changes of up to 100 in income, any change of job and of nothing else (immutable columns kept, categories whole, \
             whole numbers whole, within the range of the training rows)"
        );
        let mut cube = ThreatConfig::papers();
        cube.ball.norm = Norm::Linf;
        cube.one_hot = OneHot::Simplex;
        assert_eq!(
            cube.in_words(),
            "changes of up to 0.5 encoded units in each number"
        );
    }
}
