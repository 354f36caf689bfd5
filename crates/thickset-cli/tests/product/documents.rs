//! The documents that come with the program.

use std::path::{Path, PathBuf};

/// The Markdown files at the top and in `docs/`.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [root.to_owned(), root.join("docs")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The targets of a document's links and images, `[text](target)` outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Every second piece between backticks is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for rest in prose.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                found.push(target.to_owned());
            }
        }
    }
    found
}

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut broken = Vec::new();
    for document in documents(&root) {
        let text = std::fs::read_to_string(&document).unwrap();
        for target in targets(&text) {
            let is_elsewhere = target.contains("://") || target.starts_with("mailto:");
            let file = target.split('#').next().unwrap_or_default();
            if !is_elsewhere && !file.is_empty() && !document.with_file_name(file).exists() {
                broken.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn a_link_in_code_is_none() {
    let text = "[a](b.md) `[c](d)` ![e](f.png)\n```\n[g](h)\n```\n[i](j#k)";
    assert_eq!(targets(text), ["b.md", "f.png", "j#k"]);
}
