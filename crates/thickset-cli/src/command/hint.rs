//! What to do about an error, for those where there is something.

use thickset::Error;

use super::output::shell_word;

/// A label that an ONNX model does not have: the file may not name its classes at all.
#[derive(Debug)]
struct ClassOfOnnx(Error);

impl std::fmt::Display for ClassOfOnnx {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for ClassOfOnnx {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

/// An error of reading rows for a model, with the hint that fits the model.
pub fn for_model(error: Error, is_onnx: bool) -> anyhow::Error {
    if is_onnx && matches!(error, Error::UnknownClass { .. }) {
        return ClassOfOnnx(error).into();
    }
    error.into()
}

/// The hint of the first library error in the chain, if it has one.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    if error.downcast_ref::<ClassOfOnnx>().is_some() {
        return Some(
            "name the classes with --classes, in the order of the file's output, as the target has them".to_owned(),
        );
    }
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Error>())
        .and_then(of)
}

fn of(error: &Error) -> Option<String> {
    Some(match error {
        Error::RaggedRow { .. } => {
            "check that line for a missing delimiter or an unclosed quote; --delimiter sets the delimiter".to_owned()
        }
        Error::NotANumber { column, value, .. } => {
            let missing = option("missing", value);
            let category = option("category", column);
            format!("if that text means a missing value, add {missing}; if the column is a category, add {category}")
        }
        Error::NotUtf8 { .. } => {
            "a file from western Europe (Latin-1, Windows) is read with --text-encoding windows-1252 where columns are inferred (`data show`, `init`); any file is converted by `iconv -f cp1252 -t utf-8`, with cp1251 for Cyrillic".to_owned()
        }
        Error::FolderInUse { .. } => "wait until that process ends, or choose another folder with --out".to_owned(),
        Error::OneClass { .. } => "choose another column with --target".to_owned(),
        Error::TooManyClasses { .. } => {
            "choose another column with --target, or write a recipe whose classes are ranges (`at_least`, `below`)".to_owned()
        }
        Error::UnknownColumn { .. } => {
            "names are matched exactly, with upper and lower case; to predict rows without it, train with `missing_column = \"impute\"`".to_owned()
        },
        Error::DuplicateColumn { .. } => {
            "rename one of them, or set `number_duplicates = true` under [read] in a recipe".to_owned()
        }
        Error::UnseenCategory { .. } => {
            "set `unseen` of that category to \"zero\" or \"other\" in the recipe".to_owned()
        }
        Error::UnknownClass { .. } => {
            "list the value under a class of the recipe's target".to_owned()
        }
        Error::Truncated { .. } => "the file is incomplete; get it again".to_owned(),
        Error::WrongContent { .. } => "the file was changed, or is another version; get it again".to_owned(),
        Error::MissingData { file, url, folders, .. } => {
            let place = folders.first().map_or("a data folder", String::as_str);
            format!("get it from {url} and put it at {place}/{file} (plain or with .gz), or name the folder with --data-dir or THICKSET_DATA")
        }
        Error::UnknownDataset { .. } => "`thickset data list` shows what is known".to_owned(),
        Error::Parquet { .. } => {
            "the file must be complete, and uncompressed or compressed with snappy, gzip or lz4".to_owned()
        }
        Error::TooLarge { .. } => "if the file is sound, unpack it first or split it".to_owned(),
        Error::TooManyFeatures { .. } => "scale the images of a folder down, for instance with --image-size 32x32".to_owned(),
        Error::BeyondScale { column, .. } => format!(
            "correct the value, or set `clip` of `{column}` in a recipe, which brings values that far back into the range"
        ),
        Error::RunConfig { .. } => "`thickset init` writes a configuration with comments; `thickset methods` lists what can be chosen".to_owned(),
        Error::RunExists { .. } => "add --resume to go on with it, or give this one another name with --set name=NAME".to_owned(),
        Error::RunChanged { .. } => {
            "resume with the configuration and data it began with, or give this one another name with --set name=NAME".to_owned()
        }
        Error::Diverged { .. } => {
            "lower the step size (train.optimizer.rate), clip gradients (train.clip), or lower the objective's weights".to_owned()
        }
        Error::OtherTrainingRows { .. } => "give --split-seed and --random-test as in training".to_owned(),
        Error::Onnx { source, .. } => return source.instead().map(str::to_owned),
        Error::NoScale { .. } => {
            "add --scale data to take means and deviations from the rows, or --scale none to keep the columns' own units".to_owned()
        }
        Error::Disagreement { .. } => {
            "the converter or this reader computes another model than the framework does; nothing that is said of the file would hold for the model".to_owned()
        }
        Error::RadiusMissing => "give --radius".to_owned(),
        Error::WholeFile { .. } => "leave out --part, --split-seed and --random-test".to_owned(),
        Error::TopKOutOfRange { largest: 0 | 1, .. } => "give the model at least two columns to rank".to_owned(),
        Error::TopKOutOfRange { .. } => "set `k` to at least 1 and to fewer than the features".to_owned(),
        Error::Requirement { .. } => "write it like 'p_at_k>=0.9' or 'auc.low>0.85'; `thickset audit --help` and `thickset compare --help` list the figures".to_owned(),
        Error::AllImmutable => "`--keep-immutable=false` lets them move; `thickset data show` lists which columns are fixed".to_owned(),
        Error::NoAdverseClass { .. } | Error::NoSuchClass { .. } => "name it with --adverse, or set `adverse` under [decision] in run.toml".to_owned(),
        Error::Contributions { .. } => "train the model again with this release, or name a reference row: --explanation '{ kind = \"contributions\", reference = \"row.csv\" }'".to_owned(),
        Error::CertifyInput { .. } => "`--explanation grad` certifies the gradient of a network of dense layers with ReLU; `--smoothed` certifies the average of any explanation under noise".to_owned(),
        Error::Codes { .. } => "`thickset reasons --codes-template` prints a file to begin with".to_owned(),
        Error::AuditInput { .. } => "choose another with --explanation; `thickset methods --family explanation` lists them".to_owned(),
        Error::NotComparable { .. } => "compare models of the same classes on the same rows; where their runs split the data differently, --part all takes every row".to_owned(),
        Error::ResultFile { .. } => "give an audit.json of `thickset audit`".to_owned(),
        Error::ResultSchema { .. } => "audit the model again with this release".to_owned(),
        _ => return None,
    })
}

/// An option that can be pasted into a shell, whatever characters its value has; one that cannot be typed is left to the user.
fn option(name: &str, value: &str) -> String {
    match shell_word(value) {
        // A value that looks like an option is joined to its own.
        Some(word) if value.starts_with('-') => format!("--{name}={word}"),
        Some(word) => format!("--{name} {word}"),
        None => format!("--{name} and the value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_for_files_of_other_frameworks_alone() {
        let of_model = |is_onnx| {
            let error = Error::UnknownClass {
                path: "a.csv".to_owned(),
                column: "paid".to_owned(),
                value: "perhaps".to_owned(),
            };
            let text = error.to_string();
            let error = for_model(error, is_onnx);
            assert_eq!(error.to_string(), text);
            hint(&error).unwrap()
        };
        assert!(of_model(true).contains("--classes"));
        assert!(!of_model(false).contains("--classes"));
    }

    #[test]
    fn a_hint_can_be_pasted_whatever_the_file_says() {
        let hint = |value: &str| {
            of(&Error::NotANumber {
                path: "a.csv".to_owned(),
                line: 2,
                column: "income".to_owned(),
                value: value.to_owned(),
            })
            .unwrap()
        };
        assert!(hint("n/a").contains("add --missing n/a; if"));
        assert!(hint("not known").contains("add --missing 'not known'; if"));
        let quoted = r"add --missing ''\''; touch pwned; '\'''; if";
        assert!(hint("'; touch pwned; '").contains(quoted));
        assert!(hint("--out").contains("add --missing=--out; if"));
        assert!(hint("\u{1b}[2J").contains("add --missing and the value; if"));
    }
}
