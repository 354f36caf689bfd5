//! Training: from a checked run and its data to the selected model, in memory or in a run folder.
//!
//! Every draw comes from a named stream of the run's seed, and a checkpoint holds all that the next step depends on. So a
//! run that was killed at any moment and resumed ends with the same bytes as one that was not.

mod augment;
mod begin;
mod checkpoint;
mod epoch_record;
mod few_rows;
mod fingerprint;
mod fit;
mod folder;
mod observer;
mod optimizer;
mod parallel;
mod row_weights;
mod selection;
mod settings;
mod sink;
mod sweep;
mod trainer;
mod validation;
mod validation_attack;

pub use augment::AugmentConfig;
pub use begin::OnnxSource;
pub(crate) use checkpoint::read_sealed as read_sealed_checkpoint;
pub use epoch_record::EpochRecord;
pub use folder::RunFolder;
pub use observer::{Event, Observer};
pub use optimizer::{OptimizerConfig, Schedule};
pub use parallel::{Job, JobObserver, train_all};
pub use row_weights::ClassWeight;
pub(crate) use row_weights::is_weight;
pub use selection::{Quality, SelectionConfig, Standing};
pub use settings::{RetrainConfig, TrainConfig, salient_features, salient_reasons};
pub use sink::Sink;
pub use sweep::{Sweep, SweepRun, sweep, sweep_share};
pub use trainer::{Trained, train, train_into, train_objective, train_observed};
pub use validation_attack::{Against, ValidationAttackConfig};
