//! What can be wrong with an ONNX file, or be beyond what we read.

/// A problem of one ONNX file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// The bytes are no ONNX file.
    #[error("not an ONNX file: {reason}")]
    NotOnnx {
        /// What the reader stumbled on.
        reason: String,
    },
    /// The file contradicts itself.
    #[error("{problem}")]
    Broken {
        /// What is wrong.
        problem: String,
    },
    /// The file is sound, but holds something that has no gradient here.
    #[error("operator `{operator}` is not supported{at}: {reason}")]
    Unsupported {
        /// The operator.
        operator: String,
        /// Where it stands, as ` (node ...)`; empty where the node has no name.
        at: String,
        /// Why.
        reason: String,
        /// What can be done.
        instead: String,
    },
    /// The model as a whole is of a kind that is not read.
    #[error("{problem}")]
    Refused {
        /// What it is.
        problem: String,
        /// What can be done.
        instead: String,
    },
}

impl OnnxError {
    /// What can be done about it, if something can.
    #[must_use]
    pub fn instead(&self) -> Option<&str> {
        match self {
            Self::Unsupported { instead, .. } | Self::Refused { instead, .. } => {
                Some(if instead.is_empty() {
                    WITHOUT_GRADIENT
                } else {
                    instead
                })
            }
            Self::NotOnnx { .. } | Self::Broken { .. } => None,
        }
    }
}

/// A result of reading an ONNX file.
pub(crate) type Result<T> = std::result::Result<T, OnnxError>;

/// A contradiction in the file.
pub(crate) fn broken(problem: impl Into<String>) -> OnnxError {
    OnnxError::Broken {
        problem: short(problem.into()),
    }
}

/// A sentence that can be read: texts of the file may be of any length.
pub(crate) fn short(mut text: String) -> String {
    /// A message that lists the sizes of a large tensor is a tenth of it.
    const LONGEST: usize = 2000;
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
    text
}

/// What to do about a model that has no gradient.
pub(crate) const WITHOUT_GRADIENT: &str = "audit it from its probabilities alone: `thickset::audit::gradient_free` in Rust, `thickset.audit(predict=…, explain=…, X=…)` in Python; that audit is weaker, since no attack can follow a gradient";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_file_does_not_fill_the_screen() {
        let message = broken("ö".repeat(1 << 20)).to_string();
        assert!(
            message.len() < 2010 && message.ends_with("ö…"),
            "{}",
            message.len()
        );
        assert_eq!(broken("short").to_string(), "short");
    }
}
