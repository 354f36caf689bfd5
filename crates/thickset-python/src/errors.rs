//! Errors as exceptions: our sentence, and a class that is both `ThicksetError` and the builtin that fits.

use std::error::Error as _;
use std::io::ErrorKind;

use pyo3::prelude::*;
use thickset::Error;

/// What an error is to a Python program.
#[derive(Clone, Copy)]
enum Class {
    /// A value that cannot be used: the usual case.
    Value,
    /// A file that is not there.
    NotFound,
    /// A file that cannot be read or written.
    Os,
    /// Neither the caller nor the data is to blame.
    Runtime,
}

impl Class {
    /// In `thickset._errors`.
    fn name(self) -> &'static str {
        match self {
            Self::Value => "ThicksetValueError",
            Self::NotFound => "ThicksetFileNotFoundError",
            Self::Os => "ThicksetOSError",
            Self::Runtime => "ThicksetRuntimeError",
        }
    }
}

/// The exception of an error of the library.
pub fn exception(error: &Error) -> PyErr {
    let class = match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => Class::NotFound,
        Error::Io { .. } | Error::FolderInUse { .. } => Class::Os,
        Error::MissingData { .. } | Error::UnknownDataset { .. } => Class::NotFound,
        Error::ModelFile { source, .. } => match source {
            thickset_engine::Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                Class::NotFound
            }
            thickset_engine::Error::Io { .. } => Class::Os,
            _ => Class::Value,
        },
        Error::Threads { .. } | Error::Diverged { .. } => Class::Runtime,
        _ => Class::Value,
    };
    raised(class, &sentence(error))
}

/// The exception of a bad argument.
pub fn bad_value(sentence: &str) -> PyErr {
    raised(Class::Value, sentence)
}

/// The exception of a failure that nobody's input explains.
pub fn failure(sentence: &str) -> PyErr {
    raised(Class::Runtime, sentence)
}

/// The message, then each cause.
fn sentence(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    if let Error::Onnx { source, .. } = error
        && let Some(instead) = source.instead()
    {
        text = format!("{text}; {instead}");
    }
    text
}

fn raised(class: Class, sentence: &str) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("thickset._errors")
            .and_then(|module| module.getattr(class.name()))
            .and_then(|class| class.call1((sentence,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// A library's result as Python's.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for thickset::Result<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error))
    }
}
