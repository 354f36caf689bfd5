//! The library's one error type. Variants carry values; hints are the command line's business.

use std::path::Path;

/// Anything a caller can cause.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("cannot {action} `{path}`")]
    Io {
        /// What was tried: `read`, `write`, `create`.
        action: &'static str,
        /// The file or folder.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// Results could not be handed on.
    #[error("cannot write the results")]
    Output {
        /// What the operating system, or the format's writer, said.
        source: std::io::Error,
    },

    /// What is no part of the work of several machines.
    #[error("a shard is written like 3/64, the third of 64, got `{got}`")]
    Shard {
        /// What was given.
        got: String,
    },
    /// Parts of an audit that do not make a whole.
    #[error("the parts do not make an audit: {problem}")]
    Parts {
        /// Which parts, and what is wrong with them.
        problem: String,
    },

    /// A folder that another process writes to.
    #[error("`{path}` is in use by {holder}")]
    FolderInUse {
        /// The folder.
        path: String,
        /// Which process, on which machine, since when.
        holder: String,
    },

    // Data: the files that rows come from.
    /// A row of a table has another number of fields than the rows before it.
    #[error("`{path}` line {line}: the row has {found} fields, expected {expected}")]
    RaggedRow {
        /// The file.
        path: String,
        /// Counted from 1.
        line: u64,
        /// Fields of the first row.
        expected: u64,
        /// Fields of this row.
        found: u64,
    },
    /// A text stands where a number belongs.
    #[error("`{path}` line {line}: column `{column}` holds numbers, got `{value}`")]
    NotANumber {
        /// The file.
        path: String,
        /// Counted from 1; for formats without lines, the row.
        line: u64,
        /// The column's name.
        column: String,
        /// What stands there.
        value: String,
    },
    /// Bytes that are not UTF-8 text.
    #[error("`{path}` line {line}: expected UTF-8 text, got other bytes")]
    NotUtf8 {
        /// The file.
        path: String,
        /// Counted from 1.
        line: u64,
    },
    /// A file without a single row.
    #[error("`{path}` has no rows")]
    NoRows {
        /// The file or folder.
        path: String,
    },
    /// Too few rows to split.
    #[error("`{path}` has {rows} usable rows, expected at least {least}")]
    TooFewRows {
        /// The file or folder.
        path: String,
        /// Rows found.
        rows: usize,
        /// Rows needed.
        least: usize,
    },
    /// Every row has the same label.
    #[error(
        "`{path}`: every row has the class `{class}`, expected at least two classes in `{column}`"
    )]
    OneClass {
        /// The file or folder.
        path: String,
        /// The target.
        column: String,
        /// The only class.
        class: String,
    },
    /// So many labels that the target is a quantity, not a class.
    #[error("`{path}`: target `{column}` has more than {limit} different values, expected classes")]
    TooManyClasses {
        /// The file or folder.
        path: String,
        /// The target.
        column: String,
        /// The most classes allowed.
        limit: usize,
    },
    /// A label that no class of the recipe lists.
    #[error(
        "`{path}`: target `{column}` has the value `{value}`, which belongs to none of the classes"
    )]
    UnknownClass {
        /// The file.
        path: String,
        /// The target.
        column: String,
        /// The value.
        value: String,
    },
    /// A column that the file does not have.
    #[error("`{path}` has no column `{column}`; it has {}", quoted_list(.known))]
    UnknownColumn {
        /// The file.
        path: String,
        /// The column asked for.
        column: String,
        /// The columns present.
        known: Vec<String>,
    },
    /// Two columns of one name.
    #[error("`{path}` line 1: the header names `{column}` twice, in columns {first} and {second}")]
    DuplicateColumn {
        /// The file.
        path: String,
        /// The name.
        column: String,
        /// Counted from 1.
        first: usize,
        /// Counted from 1.
        second: usize,
    },
    /// A name that two things share.
    #[error("{what} must have different names, got `{name}` twice")]
    DuplicateName {
        /// `the features`, `the classes`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Labels that leave out a number.
    #[error(
        "class {class} has no row, though there is a label {label}; labels must count from 0 without a gap"
    )]
    EmptyClass {
        /// The class without a row.
        class: usize,
        /// The next label that there is.
        label: usize,
    },
    /// No column is left to learn from.
    #[error("`{path}` has no usable column beside the target `{column}`")]
    NoFeatures {
        /// The file.
        path: String,
        /// The target.
        column: String,
    },
    /// A category that was not in the training rows, where the recipe says to refuse those.
    #[error(
        "`{path}` row {row}: column `{column}` has the value `{value}`, which the encoding does not know"
    )]
    UnseenCategory {
        /// The file.
        path: String,
        /// Counted from 1, without the header.
        row: usize,
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A number that scaling takes beyond single precision.
    #[error(
        "`{path}` row {row}: column `{column}` has the value {value:e}, which is too far from the others to be scaled"
    )]
    BeyondScale {
        /// The file.
        path: String,
        /// Counted from 1, without the header.
        row: usize,
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },
    /// A row of more features than a model can have.
    #[error("`{path}`: a row of {features} features is more than the limit of {limit}")]
    TooManyFeatures {
        /// The file.
        path: String,
        /// Features of a row.
        features: usize,
        /// The most accepted.
        limit: usize,
    },
    /// Too few inputs to draw the pairs that a recipe asks for.
    #[error(
        "`{path}`: {inputs} {part} inputs gave {found} different pairs, expected {expected}; no further pair of {relation} was found"
    )]
    TooFewPairs {
        /// The dataset.
        path: String,
        /// The part of the data that they are drawn from.
        part: &'static str,
        /// Its inputs.
        inputs: usize,
        /// What the next pair must be of.
        relation: &'static str,
        /// Pairs found.
        found: usize,
        /// Pairs asked for.
        expected: usize,
    },
    /// A file ends before what its header promises.
    #[error("`{path}` ends early: {found} bytes, expected {expected}")]
    Truncated {
        /// The file.
        path: String,
        /// Bytes needed.
        expected: u64,
        /// Bytes present.
        found: u64,
    },
    /// A file claims, or unpacks to, more than we accept.
    #[error("`{path}`: {what} is more than the limit of {limit}")]
    TooLarge {
        /// The file.
        path: String,
        /// What is too large, with the claimed size where it is known.
        what: String,
        /// The most accepted, with its unit.
        limit: String,
    },
    /// A file that breaks the rules of its format.
    #[error("`{path}`{}: {problem}", line_suffix(*.line))]
    Malformed {
        /// The file.
        path: String,
        /// Counted from 1, for text formats.
        line: Option<u64>,
        /// What was expected and what came.
        problem: String,
    },
    /// A Parquet file that its reader refuses.
    #[error("`{path}` is not a Parquet file we can read")]
    Parquet {
        /// The file.
        path: String,
        /// What the reader said.
        source: parquet::errors::ParquetError,
    },
    /// An image that its reader refuses.
    #[error("`{path}` is not an image we can read")]
    Image {
        /// The file.
        path: String,
        /// What the reader said.
        source: crate::data::ImageError,
    },
    /// A known file whose content is not the pinned one.
    #[error("`{path}` is not the expected file: sha256 {found}, expected {expected}")]
    WrongContent {
        /// The file.
        path: String,
        /// The pinned hash of the decompressed content.
        expected: String,
        /// The hash found.
        found: String,
    },
    /// A known dataset that is in none of the data folders.
    #[error("dataset `{name}` needs `{file}`, which is in none of the data folders: {}", quoted_list(.folders))]
    MissingData {
        /// The dataset.
        name: String,
        /// The file, relative to a data folder.
        file: String,
        /// Where it comes from.
        url: String,
        /// Where we looked, in order.
        folders: Vec<String>,
    },
    /// Neither a dataset's name nor a file.
    #[error("`{name}` is neither a dataset we know nor a file; known are {}", quoted_list(.known))]
    UnknownDataset {
        /// What was asked for.
        name: String,
        /// The names we know.
        known: Vec<String>,
    },
    /// A recipe that does not parse.
    #[error("the recipe `{path}` is not valid")]
    Recipe {
        /// The file.
        path: String,
        /// What the parser said, with line and column.
        source: toml::de::Error,
    },
    /// A recipe that parses and makes no sense.
    #[error("the recipe `{name}`: {problem}")]
    RecipeRule {
        /// The recipe's name.
        name: String,
        /// What was expected and what came.
        problem: String,
    },

    /// No method of the registry has this id.
    #[error("there is no method `{given}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownMethod {
        /// What was asked for.
        given: String,
        /// A known id that looks like it.
        nearest: Option<String>,
    },

    /// The registry has no family of this name.
    #[error("there is no family `{given}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownFamily {
        /// What was asked for.
        given: String,
        /// A known name that looks like it.
        nearest: Option<String>,
    },

    /// A list that must have entries has none.
    #[error("{what} must not be empty")]
    Empty {
        /// What the list holds.
        what: &'static str,
    },

    /// An l-infinity ball without a radius.
    #[error(
        "an l-infinity ball needs a radius: the usual radii are of l2 balls, and an l-infinity ball of one holds far larger moves"
    )]
    RadiusMissing,

    /// Data without a row in the part that was asked for.
    #[error("`{data}` has no rows in that part")]
    EmptyPart {
        /// As it was given.
        data: String,
    },

    /// A row number past the end.
    #[error("`{data}` has {rows} rows, so there is no row {number}")]
    NoSuchRow {
        /// As it was given.
        data: String,
        /// How many rows it has.
        rows: usize,
        /// The number asked for, counted from 1.
        number: u64,
    },

    /// A choice of rows from a file that is taken whole.
    #[error(
        "`{path}` is a table's file and is taken whole; a part, a split seed and a random test part choose rows of a dataset"
    )]
    WholeFile {
        /// The file.
        path: String,
    },

    /// A dataset that was encoded by other rows than the model's.
    #[error(
        "`{data}` is encoded by other training rows than the model; it must be split as in training"
    )]
    OtherTrainingRows {
        /// As it was given.
        data: String,
    },

    /// A dataset of other columns than the model's.
    #[error("`{data}` has other columns than the data that the model was trained on")]
    OtherColumns {
        /// As it was given.
        data: String,
    },

    /// Rows of another shape than the model takes.
    #[error("`{data}` holds {got}, the model takes {expected}")]
    RowsShape {
        /// As it was given.
        data: String,
        /// What the model takes.
        expected: String,
        /// What the data holds.
        got: String,
    },

    /// Rows of another width than the model takes.
    #[error("`{data}` has rows of {got} features, the model takes {expected}")]
    RowsWidth {
        /// As it was given.
        data: String,
        /// What the model takes.
        expected: usize,
        /// What the data has.
        got: usize,
    },

    /// Two things that belong together differ in length.
    #[error("{what} must have length {expected}, got {got}")]
    LengthMismatch {
        /// Which list is off.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },

    /// A NaN or an infinity where a number is needed.
    #[error("{what} must be finite, got {value} at index {index}")]
    NotFinite {
        /// Which list holds it.
        what: &'static str,
        /// Where.
        index: usize,
        /// The value found.
        value: f64,
    },

    /// A number lies outside what its formula allows.
    #[error("{what} must be {expected}, got {got}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// The allowed values in words.
        expected: &'static str,
        /// The value given.
        got: f64,
    },

    /// An index points past the end.
    #[error("{what} must be below {bound}, got {got}")]
    IndexOutOfRange {
        /// Which index.
        what: &'static str,
        /// The first value that is too large.
        bound: usize,
        /// The value given.
        got: usize,
    },

    /// A number of salient features that the number of features does not allow.
    #[error("{}", top_k(*.k, *.largest))]
    TopKOutOfRange {
        /// The number asked for.
        k: usize,
        /// The largest number allowed.
        largest: usize,
    },

    // Explanations and attacks.
    /// A reduction was given inputs it is not made for.
    #[error("reduction `{reduction}` takes {expected}, got {got}")]
    ReductionInput {
        /// The registry's id.
        reduction: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// An attack was given inputs it is not made for.
    #[error("attack `{attack}` takes {expected}, got {got}")]
    AttackInput {
        /// The registry's id.
        attack: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// A certificate was asked of something that none can be given for.
    #[error("certificates are of {expected}, got {got}")]
    CertifyInput {
        /// What they are of.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Contributions asked for where there is nothing to compare a row with.
    #[error("contributions need {expected}, got {got}")]
    Contributions {
        /// What they need.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Reasons asked for without saying against what.
    #[error("which class is adverse must be said; the classes are {}", quoted_list(.known))]
    NoAdverseClass {
        /// What there is.
        known: Vec<String>,
    },
    /// A cut-off for more than two classes.
    #[error("a cut-off decides between two classes, got a model of {classes}")]
    CutoffClasses {
        /// How many there are.
        classes: usize,
    },
    /// A cut-off for a network that cannot be made to predict by it.
    #[error("a cut-off needs a network that ends in a linear layer with a bias, got another one")]
    CutoffNetwork,
    /// Reason codes that cannot be used.
    #[error("`{path}`: {problem}")]
    Codes {
        /// The file.
        path: String,
        /// What was expected and what came.
        problem: String,
    },
    /// A class that the model does not have.
    #[error("there is no class `{name}`; the classes are {}", quoted_list(.known))]
    NoSuchClass {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A threat set in which nothing can move.
    #[error("every column is immutable, so no attack can move anything")]
    AllImmutable,
    /// A column or feature that the model's input does not have.
    #[error("the input has no {what} `{name}`{}", did_you_mean(.nearest.as_deref()))]
    UnknownFeature {
        /// `column` or `feature`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// A known name that looks like it.
        nearest: Option<String>,
    },
    /// Settings that cannot be read.
    #[error("{what} `{text}` cannot be read: {problem}")]
    Settings {
        /// What they are of.
        what: &'static str,
        /// What was given.
        text: String,
        /// What was expected and what came.
        problem: String,
    },
    /// Rows of another width than the model's.
    #[error("the model takes rows of {expected} features, got {got}")]
    RowWidth {
        /// The model's.
        expected: usize,
        /// What came.
        got: usize,
    },

    // Models of other frameworks.
    /// An ONNX file that cannot be read as a model.
    #[error("`{file}` cannot be read as a model")]
    Onnx {
        /// The file.
        file: String,
        /// Why.
        source: crate::onnx::OnnxError,
    },
    /// Columns of numbers without a scale.
    #[error(
        "`{file}` reads columns of numbers without scaling them, so that a distance in one column means nothing in another"
    )]
    NoScale {
        /// The file.
        file: String,
    },
    /// A model gives other probabilities than its framework does.
    #[error(
        "{different} of {rows} rows have other probabilities than expected, by up to {largest:.6} (at most {tolerance} is rounding): {examples}"
    )]
    Disagreement {
        /// Rows that were compared.
        rows: usize,
        /// Rows that differ.
        different: usize,
        /// The largest difference.
        largest: f64,
        /// What may differ.
        tolerance: f64,
        /// The worst rows.
        examples: String,
    },
    /// A probability outside of 0 to 1.
    #[error("row {row} of the expected probabilities holds {value}, which is none")]
    NotAProbability {
        /// Counted from 1.
        row: usize,
        /// What came.
        value: f64,
    },
    /// A value that may not be missing is.
    #[error("{path}: row {row} has no `{column}`, and nothing stands in for it")]
    RequiredValue {
        /// The file.
        path: String,
        /// Counted from 1.
        row: usize,
        /// The column.
        column: String,
    },
    // Models.
    /// An architecture's size is impossible.
    #[error("`{name}` must be {expected}, got {got}")]
    ModelSize {
        /// The setting.
        name: &'static str,
        /// The allowed values in words.
        expected: &'static str,
        /// The value given.
        got: usize,
    },
    /// An architecture was given inputs it is not made for.
    #[error("model `{model}` takes {expected}, got {got}")]
    ModelInput {
        /// The registry's id.
        model: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// A model file that cannot be used.
    #[error("`{path}` is not a usable model")]
    ModelFile {
        /// The file.
        path: String,
        /// What is wrong with it.
        source: thickset_engine::Error,
    },
    /// A model file whose description cannot be read.
    #[error("`{path}`: the model's description in the file's header cannot be read")]
    ModelDescription {
        /// The file.
        path: String,
        /// Where the JSON is off.
        source: serde_json::Error,
    },
    /// A model file whose description makes no sense.
    #[error("`{path}`: the model's description in the file's header makes no sense: {problem}")]
    ModelContent {
        /// The file.
        path: String,
        /// What was expected and what came.
        problem: String,
    },
    /// A model file of another version.
    #[error("`{path}` has model format {got}, this release reads {expected}")]
    ModelFormat {
        /// The file.
        path: String,
        /// What is read.
        expected: u32,
        /// What came.
        got: u32,
    },
    /// The engine refused an architecture.
    #[error(transparent)]
    Engine(#[from] thickset_engine::Error),

    // Runs.
    /// A run's configuration that does not parse.
    #[error("the run's configuration `{path}` is not valid")]
    RunConfig {
        /// The file, with the line where it is known.
        path: String,
        /// What the parser said.
        source: Box<toml::de::Error>,
    },
    /// A `--set` that cannot be applied.
    #[error("cannot set `{given}`: {problem}")]
    Override {
        /// What was given.
        given: String,
        /// What was expected.
        problem: String,
    },
    /// A setting without which a run cannot begin.
    #[error("`{setting}` is missing: {expected}")]
    MissingSetting {
        /// The setting.
        setting: &'static str,
        /// What it is for.
        expected: &'static str,
    },
    /// Training rows that cannot be varied as images.
    #[error("`train.augment` varies images, got {got}")]
    AugmentInput {
        /// What the rows are.
        got: String,
    },
    /// A sweep that is none.
    #[error("the sweep cannot be made: {problem}")]
    Sweep {
        /// What was expected.
        problem: String,
    },
    /// The operating system gave no thread.
    #[error("cannot begin a thread: {problem}")]
    Threads {
        /// What it said.
        problem: String,
    },
    /// A run folder that would be overwritten.
    #[error("`{path}` already holds a run")]
    RunExists {
        /// The folder.
        path: String,
    },
    /// A run that cannot be resumed because something else would be trained.
    #[error("`{path}` holds another run: {what} has changed since it began")]
    RunChanged {
        /// The folder.
        path: String,
        /// The configuration or the data.
        what: &'static str,
    },
    /// A checkpoint that cannot be used.
    #[error("the checkpoint `{path}` cannot be used: {problem}")]
    Checkpoint {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The loss is no longer a number.
    #[error("training diverged: the loss is {loss} at step {step}")]
    Diverged {
        /// Counted from 0.
        step: u64,
        /// NaN or an infinity.
        loss: f64,
    },

    // Audits.
    /// A requirement that cannot be read.
    #[error("the requirement `{given}` cannot be read: {problem}")]
    Requirement {
        /// What was given.
        given: String,
        /// What was expected and what came.
        problem: String,
    },
    /// An audit was asked for what it is not made for.
    #[error("an audit takes {expected}, got {got}")]
    AuditInput {
        /// What it takes.
        expected: &'static str,
        /// What came.
        got: String,
    },
    /// Two audits that cannot be compared row by row.
    #[error("the two models cannot be compared: their {what} differ")]
    NotComparable {
        /// The rows, the classes or the settings.
        what: &'static str,
    },
    /// A file that should hold the result of an audit or a bench, and does not.
    #[error("`{path}` does not hold {what}")]
    ResultFile {
        /// The file.
        path: String,
        /// `an audit`, `a bench`.
        what: &'static str,
        /// Where the JSON is off.
        source: serde_json::Error,
    },
    /// A result of another version.
    #[error("`{path}` has schema {got}, this release reads {expected}")]
    ResultSchema {
        /// The file.
        path: String,
        /// What is read.
        expected: u32,
        /// What came.
        got: u32,
    },

    /// A numerical solver stopped without an answer.
    #[error("the solver of {problem} stopped without an answer: {status}")]
    Solver {
        /// What was to be solved.
        problem: &'static str,
        /// What the solver said.
        status: String,
    },
}

impl Error {
    /// An operating system's failure to do something (`read`, `write`, …) with a file or folder.
    #[must_use]
    pub fn io(action: &'static str, path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io {
            action,
            path: path.as_ref().display().to_string(),
            source,
        }
    }
}

fn line_suffix(line: Option<u64>) -> String {
    line.map_or_else(String::new, |line| format!(" line {line}"))
}

/// Where there is one feature alone, no number of salient ones leaves a rest.
fn top_k(k: usize, largest: usize) -> String {
    if largest == 0 {
        "there is only one feature, so it cannot be ranked against others; a top k needs at least two"
            .to_owned()
    } else {
        format!("k must lie in 1..={largest}, got {k}")
    }
}

/// Names in backticks with commas; a long list is cut, so that a message stays readable.
fn quoted_list(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        let more = format!(" and {} more", names.len() - SHOWN);
        text.push_str(&more);
    }
    if names.is_empty() {
        "none".to_owned()
    } else {
        text
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;
