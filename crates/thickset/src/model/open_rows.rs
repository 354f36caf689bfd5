//! How a model opens rows: which file or part is meant, whether it fits, and what of it is read.

use std::path::{Path, PathBuf};

use super::Model;
use super::file_rows::{FilePlan, FileRows};
use super::opened_rows::{OpenedRows, PartChoice, RowsConfig, Selection, Source};
use super::row_choice::Shard;
use crate::audit::result::SplitRecord;
use crate::config::RunConfig;
use crate::data::{
    self, Dataset, EncodedReader, Encoding, FileBytes, GivenValues, InputShape, Known, OpenOptions,
    Part, Schema,
};
use crate::train::RetrainConfig;
use crate::{Error, Result, Seed};

impl Model {
    /// Opens rows to explain or attack. A table's file is taken whole, encoded by the model, and its target is not looked at; of
    /// anything else, and of the data that the model's own run was trained on where a part is asked for, that part.
    ///
    /// # Errors
    /// For whatever is missing or wrong, and if the rows do not fit the model.
    pub fn open_rows(&self, config: &RowsConfig) -> Result<OpenedRows> {
        self.open_selected(config, &Selection::default())
    }

    /// The same for some of the rows. Of a table's files, only these are held; what does not fit into memory is held on disk.
    ///
    /// # Errors
    /// As for [`Model::open_rows`], and if there is no such row.
    pub fn open_selected(&self, config: &RowsConfig, selection: &Selection) -> Result<OpenedRows> {
        if config.chooses_part() {
            return self.open_labelled_selected(config, selection);
        }
        self.open_other(config, selection, false)
    }

    /// Opens rows to audit: with labels where a file has the target. Data that the model's own run was trained on is read and
    /// split as it was there, where nothing else is given, and the part asked for is taken.
    ///
    /// # Errors
    /// As for [`Model::open_rows`].
    pub fn open_labelled_rows(&self, config: &RowsConfig) -> Result<OpenedRows> {
        self.open_labelled_selected(config, &Selection::default())
    }

    /// The same for some of the rows.
    ///
    /// # Errors
    /// As for [`Model::open_selected`].
    pub fn open_labelled_selected(
        &self,
        config: &RowsConfig,
        selection: &Selection,
    ) -> Result<OpenedRows> {
        let run = self.origin()?.run;
        match run.filter(|run| is_same(&run.data.source, &config.data)) {
            Some(run) => {
                let opened = self.open_as_in_run(config, &run)?;
                Ok(opened.choose(&selection.choice)?.share(selection.shard))
            }
            None => self.open_other(config, selection, true),
        }
    }

    /// Where the bytes of a table's files lie that [`Model::open_labelled_selected`] reads some of the rows from: of Parquet files their
    /// footers and, where they hold some of the rows, the model's columns of their row groups; of other files all. Only the first
    /// bytes and footers of Parquet files are read to find this out. `None` where the rows are not taken from a table's files as they
    /// lie there.
    ///
    /// # Errors
    /// As for [`Model::open_rows`].
    pub fn bytes_of_rows(
        &self,
        config: &RowsConfig,
        selection: &Selection,
    ) -> Result<Option<Vec<FileBytes>>> {
        let run = self.origin()?.run;
        if run.is_some_and(|run| is_same(&run.data.source, &config.data)) {
            return Ok(None);
        }
        let Some((files, encoding)) = self.table_files(config)? else {
            return Ok(None);
        };
        let plan = FilePlan::new(&config.data, &files, encoding, selection)?;
        let reader = EncodedReader::new(&files, encoding, true);
        Ok(Some(reader.bytes_of(&plan.ranges())?))
    }

    /// The files of a table and the encoding that they are read by, if that is what is asked for.
    pub(super) fn table_files(
        &self,
        config: &RowsConfig,
    ) -> Result<Option<(Vec<PathBuf>, &Encoding)>> {
        let Some(encoding) = self.description.encoding.as_ref() else {
            return Ok(None);
        };
        if Known::find(&config.data).is_some() {
            return Ok(None);
        }
        let Some(files) = data::find_table_files(&config.data)? else {
            return Ok(None);
        };
        if config.chooses_part() {
            return Err(Error::WholeFile {
                path: config.data.clone(),
            });
        }
        Ok(Some((files, encoding)))
    }

    fn open_as_in_run(&self, config: &RowsConfig, run: &RunConfig) -> Result<OpenedRows> {
        let mut data = run.data.clone();
        if let Some(folder) = &config.folder {
            data.folder = Some(folder.clone());
        }
        data.random_test |= config.random_test;
        data.image_size = config.image_size.or(data.image_size);
        let split = SplitRecord {
            seed: config.split_seed.unwrap_or(run.seed.number()),
            random_test: data.random_test,
            image_size: data.image_size,
            recipe: data.recipe.as_deref().map(file_name),
        };
        let seed = Seed::new(split.seed);
        let began_with_another = run.retrain.as_ref().is_some_and(RetrainConfig::is_onnx);
        let dataset = if began_with_another {
            let run = RunConfig {
                seed,
                data,
                ..run.clone()
            };
            run.open_data_for(self)?
        } else {
            data.open(seed)?
        };
        self.part_of(config, dataset, split)
    }

    fn open_other(
        &self,
        config: &RowsConfig,
        selection: &Selection,
        with_labels: bool,
    ) -> Result<OpenedRows> {
        if let Some((files, encoding)) = self.table_files(config)? {
            let opened = read_files(&config.data, &files, encoding, selection, with_labels)?;
            return self.fitting(opened);
        }
        if let Some(opened) = self.open_image(config)? {
            let opened = self.fitting(opened)?.choose(&selection.choice)?;
            return Ok(opened.share(selection.shard));
        }
        let split = SplitRecord {
            seed: config.split_seed.unwrap_or(0),
            random_test: config.random_test,
            image_size: config.image_size,
            recipe: None,
        };
        let options = OpenOptions {
            data_dir: config.folder.clone(),
            seed: Seed::new(split.seed),
            random_test: split.random_test,
            image_size: split.image_size,
            ..OpenOptions::default()
        };
        let dataset = data::open(&config.data, &options)?;
        let opened = self.part_of(config, dataset, split)?;
        Ok(opened.choose(&selection.choice)?.share(selection.shard))
    }

    /// A single image's file, for a model of images.
    fn open_image(&self, config: &RowsConfig) -> Result<Option<OpenedRows>> {
        let path = Path::new(&config.data);
        let InputShape::Image {
            channels,
            height,
            width,
        } = self.description.input
        else {
            return Ok(None);
        };
        if !path.is_file() || !data::is_image(path) {
            return Ok(None);
        }
        let size = config.image_size.unwrap_or((height, width));
        let (values, schema) = data::read_image(path, size, channels)?;
        Ok(Some(OpenedRows {
            notes: Vec::new(),
            data: config.data.clone(),
            source: Source::Some {
                schema,
                values,
                labels: vec![None],
                ids: vec![0],
                given: GivenValues::default(),
            },
            chosen: None,
            all: 1,
            selected: 1,
            shard: Shard::WHOLE,
            before_share: None,
        }))
    }

    fn part_of(
        &self,
        config: &RowsConfig,
        dataset: Dataset,
        split: SplitRecord,
    ) -> Result<OpenedRows> {
        let encoding = self.description.encoding.as_ref();
        if let (Some(own), theirs) = (encoding, dataset.encoding.as_ref())
            && theirs != Some(own)
        {
            let data = config.data.clone();
            return Err(if has_columns_of(own, theirs) {
                Error::OtherTrainingRows { data }
            } else {
                Error::OtherColumns { data }
            });
        }
        let part = match config.part.unwrap_or(PartChoice::Part(Part::Test)) {
            PartChoice::Part(part) => Some(part),
            PartChoice::All => None,
        };
        let chosen = match part {
            Some(part) => dataset.part(part).to_vec(),
            None => (0..dataset.rows()).collect(),
        };
        self.fitting(OpenedRows {
            notes: Vec::new(),
            data: config.data.clone(),
            all: chosen.len(),
            selected: chosen.len(),
            shard: Shard::WHOLE,
            before_share: None,
            chosen: Some(chosen),
            source: Source::Dataset {
                dataset: Box::new(dataset),
                part,
                split,
            },
        })
    }

    fn fitting(&self, opened: OpenedRows) -> Result<OpenedRows> {
        let schema = match &opened.source {
            Source::Dataset { dataset, .. } => &dataset.schema,
            Source::File { schema, .. } | Source::Some { schema, .. } => schema,
        };
        self.check_schema(&opened.data, schema)?;
        Ok(opened)
    }

    /// Refuses rows that the model does not take.
    pub(super) fn check_schema(&self, data: &str, schema: &Schema) -> Result<()> {
        let description = &self.description;
        if schema.shape != description.input {
            return Err(Error::RowsShape {
                data: data.to_owned(),
                expected: description.input.to_string(),
                got: schema.shape.to_string(),
            });
        }
        if schema.len() != description.features {
            return Err(Error::RowsWidth {
                data: data.to_owned(),
                expected: description.features,
                got: schema.len(),
            });
        }
        Ok(())
    }
}

/// Reads the selected rows of a table's files: into memory, or to disk where they are many.
fn read_files(
    data: &str,
    files: &[PathBuf],
    encoding: &Encoding,
    selection: &Selection,
    with_labels: bool,
) -> Result<OpenedRows> {
    let schema = encoding.schema();
    let read =
        FilePlan::new(data, files, encoding, selection)?.read(files, encoding, with_labels)?;
    let source = match read.rows {
        FileRows::Stored { store, first } => Source::File {
            schema,
            store,
            first,
        },
        FileRows::Some(some) => Source::Some {
            schema,
            values: some.values,
            labels: some.labels,
            ids: some.ids,
            given: some.given,
        },
    };
    Ok(OpenedRows {
        notes: read.notes,
        data: data.to_owned(),
        source,
        chosen: None,
        all: read.all,
        selected: read.selected,
        shard: selection.shard,
        before_share: None,
    })
}

/// Whether an encoding is of the same columns, so that only what was learned from the rows differs.
fn has_columns_of(own: &Encoding, other: Option<&Encoding>) -> bool {
    let names = |encoding: &Encoding| -> Vec<String> {
        let schema = encoding.schema();
        let columns = schema.by_column().into_iter();
        columns.map(|(name, _)| name.to_owned()).collect()
    };
    other.is_some_and(|other| names(own) == names(other))
}

/// Whether both name the same dataset or file.
fn is_same(first: &str, second: &str) -> bool {
    let place = |path: &str| std::fs::canonicalize(path).ok();
    first == second || place(first).is_some_and(|first| Some(first) == place(second))
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
