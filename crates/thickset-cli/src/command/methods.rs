//! `thickset methods`: what the registry knows, as a table, as one entry in full, or as JSON.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use thickset::registry::{self, Info};

use super::output::{print, print_json};

/// Lists the methods, or describes one.
#[derive(Args)]
#[command(after_help = "Examples:
  thickset methods
  thickset methods r2et
  thickset methods --family attack --json")]
pub struct Methods {
    /// The method to describe; all of them when left out
    id: Option<String>,
    /// Only methods of this family (model, explanation, objective, attack, metric, …)
    #[arg(long, conflicts_with = "id")]
    family: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Methods) -> Result<()> {
    if let Some(id) = &arguments.id {
        let info = registry::find(id)?;
        return if arguments.json {
            print_json(info)
        } else {
            print(&described(info))
        };
    }
    let methods: Vec<&Info> = match &arguments.family {
        Some(name) => registry::family(registry::family_named(name)?).collect(),
        None => registry::METHODS.to_vec(),
    };
    if arguments.json {
        print_json(&methods)
    } else {
        print(&table(&methods))
    }
}

// Writing to a string cannot fail, so its results are dropped below.

fn table(methods: &[&Info]) -> String {
    let width = |heading: &str, text: fn(&Info) -> &'static str| {
        let longest = methods.iter().map(|info| text(info).chars().count()).max();
        longest.unwrap_or(0).max(heading.len())
    };
    let family = width("FAMILY", |info| info.family.name());
    let id = width("ID", |info| info.id);
    let label = width("LABEL", |info| info.label);
    let mut text = String::new();
    let mut line = |columns: [&str; 4]| {
        let [of_family, of_id, of_label, summary] = columns;
        let _ = writeln!(
            text,
            "{of_family:family$}  {of_id:id$}  {of_label:label$}  {summary}"
        );
    };
    line(["FAMILY", "ID", "LABEL", "SUMMARY"]);
    for info in methods {
        line([info.family.name(), info.id, info.label, info.summary]);
    }
    text
}

fn described(info: &Info) -> String {
    let mut text = format!(
        "{} ({}, {})\n{}\n\nformula  {}\nsource   {}\n",
        info.id,
        info.label,
        info.family.name(),
        info.summary,
        info.formula,
        info.source
    );
    if let Some(direction) = info.direction {
        let _ = writeln!(text, "better   {}", direction.name());
    }
    let _ = writeln!(text, "cost     {}", info.cost);
    for setting in info.settings() {
        let (name, value, meaning) = (setting.name, setting.value, setting.meaning);
        let _ = writeln!(text, "default  {name} = {value}: {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_line_for_every_method_and_a_heading() {
        let printed = table(&registry::METHODS);
        assert_eq!(printed.lines().count(), registry::METHODS.len() + 1);
        assert!(printed.starts_with("FAMILY"));
    }

    #[test]
    fn one_method_is_described_with_its_formula_source_and_direction() {
        let printed = described(registry::find("sensitivity").unwrap());
        assert_eq!(
            printed,
            "sensitivity (Sen, metric)\n\
             Share of rows whose predicted class changed under the attack\n\n\
             formula  #{argmax f(x) != argmax f(x')} / N\n\
             source   R2ET, B.1.4\n\
             better   lower\n\
             cost     two predictions a row\n"
        );
    }
}
