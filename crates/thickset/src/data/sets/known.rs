//! The datasets known by name: their recipes, and the four small ones that come with the program.

use super::recipe::Recipe;
use crate::{Error, Result};

/// A dataset that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The name it is asked for by.
    pub name: &'static str,
    /// Its recipe, as TOML.
    pub recipe: &'static str,
    /// Its one file, gzipped, if it comes with the program.
    pub bundled: Option<&'static [u8]>,
}

macro_rules! known {
    ($name:literal) => {
        Known {
            name: $name,
            recipe: include_str!(concat!("recipes/", $name, ".toml")),
            bundled: None,
        }
    };
    ($name:literal, bundled) => {
        Known {
            name: $name,
            recipe: include_str!(concat!("recipes/", $name, ".toml")),
            bundled: Some(include_bytes!(concat!("bundled/", $name, ".csv.gz"))),
        }
    };
}

/// All of them, the bundled ones first.
pub const KNOWN: &[Known] = &[
    known!("breast-cancer", bundled),
    known!("german-credit", bundled),
    known!("digits", bundled),
    known!("wine-quality", bundled),
    known!("adult"),
    known!("bank"),
    known!("compas"),
    known!("heloc"),
    known!("give-me-some-credit"),
    known!("diabetes130"),
    known!("mnist"),
    known!("fashion-mnist"),
    known!("cifar10"),
    known!("gtsrb"),
    known!("abide"),
    known!("adhd-kki"),
    known!("adhd-ohsu"),
    known!("adhd-peking"),
    known!("schizophrenia-fnc28"),
    known!("oct2017"),
    known!("oct2017-cnv"),
    known!("mnist-3-8-pairs"),
    known!("abide-pairs"),
    known!("adhd-kki-pairs"),
    known!("adhd-ohsu-pairs"),
    known!("adhd-peking-pairs"),
    known!("schizophrenia-fnc28-pairs"),
];

impl Known {
    /// The dataset of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name == name)
    }

    /// Its recipe.
    ///
    /// # Errors
    /// Never for the recipes that come with the program; a test reads them all.
    pub fn recipe(&self) -> Result<Recipe> {
        Recipe::parse(self.recipe, &format!("{}.toml", self.name))
    }
}

/// The error of a name that is none of ours.
pub(in crate::data) fn unknown(name: &str) -> Error {
    Error::UnknownDataset {
        name: name.to_owned(),
        known: KNOWN.iter().map(|known| known.name.to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read::source;

    #[test]
    fn every_recipe_reads_and_bears_its_own_name() {
        for known in KNOWN {
            let recipe = known
                .recipe()
                .unwrap_or_else(|error| panic!("{}: {error:?}", known.name));
            assert_eq!(recipe.name, known.name);
            assert!(
                recipe.origin.is_some(),
                "{} does not say where it comes from",
                known.name
            );
            assert!(!recipe.files.is_empty(), "{} has no file", known.name);
        }
    }

    #[test]
    fn a_recipe_survives_being_printed() {
        for known in KNOWN {
            let recipe = known.recipe().unwrap();
            let printed = recipe.to_toml().unwrap();
            assert_eq!(
                Recipe::parse(&printed, "printed").unwrap(),
                recipe,
                "{printed}"
            );
        }
    }

    #[test]
    fn bundled_files_have_their_pinned_content() {
        for known in KNOWN {
            let Some(bytes) = known.bundled else { continue };
            let recipe = known.recipe().unwrap();
            let mut content = Vec::new();
            std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut content)
                .unwrap();
            assert_eq!(
                Some(source::hash(&content)),
                recipe.files[0].sha256,
                "{}",
                known.name
            );
        }
    }
}
