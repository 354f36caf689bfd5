//! `thickset methods`: what the registry knows, as a table, as one entry in full, or as JSON.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use thickset::registry::{self, Info};

/// Lists the methods, or describes one.
#[derive(Args)]
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
    let mut out = io::stdout().lock();
    if let Some(id) = &arguments.id {
        let info = registry::find(id)?;
        return if arguments.json {
            json(&mut out, info)
        } else {
            describe(&mut out, info)
        };
    }
    let methods: Vec<&Info> = match &arguments.family {
        Some(name) => registry::family(registry::family_named(name)?).collect(),
        None => registry::METHODS.to_vec(),
    };
    if arguments.json {
        json(&mut out, &methods)
    } else {
        table(&mut out, &methods)
    }
}

fn json(out: &mut impl Write, value: &impl serde::Serialize) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

fn table(out: &mut impl Write, methods: &[&Info]) -> Result<()> {
    let width = |heading: &str, text: fn(&Info) -> &'static str| {
        let longest = methods.iter().map(|info| text(info).chars().count()).max();
        longest.unwrap_or(0).max(heading.len())
    };
    let family = width("FAMILY", |info| info.family.name());
    let id = width("ID", |info| info.id);
    let label = width("LABEL", |info| info.label);
    writeln!(
        out,
        "{:family$}  {:id$}  {:label$}  SUMMARY",
        "FAMILY", "ID", "LABEL"
    )?;
    for info in methods {
        writeln!(
            out,
            "{:family$}  {:id$}  {:label$}  {}",
            info.family.name(),
            info.id,
            info.label,
            info.summary
        )?;
    }
    Ok(())
}

fn describe(out: &mut impl Write, info: &Info) -> Result<()> {
    writeln!(out, "{} ({}, {})", info.id, info.label, info.family.name())?;
    writeln!(out, "{}", info.summary)?;
    writeln!(out)?;
    writeln!(out, "formula  {}", info.formula)?;
    writeln!(out, "source   {}", info.source)?;
    if let Some(direction) = info.direction {
        writeln!(out, "better   {}", direction.name())?;
    }
    writeln!(out, "cost     {}", info.cost)?;
    for setting in info.defaults {
        let (name, value, meaning) = (setting.name, setting.value, setting.meaning);
        writeln!(out, "default  {name} = {value}: {meaning}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(print: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> String {
        let mut out = Vec::new();
        print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_a_line_for_every_method_and_a_heading() {
        let printed = text(|out| table(out, registry::METHODS));
        assert_eq!(printed.lines().count(), registry::METHODS.len() + 1);
        assert!(printed.starts_with("FAMILY"));
    }

    #[test]
    fn one_method_is_described_with_its_formula_source_and_direction() {
        let printed = text(|out| describe(out, registry::find("sensitivity").unwrap()));
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

    #[test]
    fn json_is_what_the_registry_holds() {
        let printed = text(|out| json(out, registry::find("sensitivity").unwrap()));
        let value: serde_json::Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(value["family"], "metric");
        assert_eq!(value["direction"], "lower");
    }
}
