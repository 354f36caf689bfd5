#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::Recipe;

fuzz_target!(|text: &str| {
    if let Ok(recipe) = Recipe::parse(text, "fuzz.toml") {
        let printed = recipe.to_toml().expect("a recipe that was read can be printed");
        let again = Recipe::parse(&printed, "printed.toml").expect("and read again");
        // NaN is not equal to itself, so texts are compared.
        assert_eq!(again.to_toml().ok(), Some(printed));
    }
});
