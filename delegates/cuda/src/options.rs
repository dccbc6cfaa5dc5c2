//! Options: of the process, and of one load. Names, kinds and limits are upstream's.

use executorch_abi::error::ET_ERROR_NOT_FOUND;
use executorch_abi::{Error, Result};
use executorch_delegate::{OptionValue, Options};
use std::borrow::Cow;

/// A bool: whether all handles that are made from now on use one stream.
pub const SHARED_STREAM: &str = "use_shared_cuda_stream";
/// A bool: whether constants of the same name are loaded once for all methods of a model. Programs of upstream 1.5 always do.
pub const SHARED_WEIGHTS: &str = "weight_sharing_across_methods";
/// A string: the methods, separated by commas, that are recorded as CUDA graphs.
pub const GRAPH_METHODS: &str = "enable_cuda_graph_for_method";
/// Without effect, of any kind: programs copy their outputs themselves.
pub const SKIP_COPY: &str = "skip_copy_output_to_cpu_for_method";

/// What was set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// [`SHARED_STREAM`].
    pub shared_stream: bool,
    /// [`SHARED_WEIGHTS`].
    pub shared_weights: bool,
    /// [`GRAPH_METHODS`].
    pub graph_methods: String,
}

impl Settings {
    /// These settings, changed by options. A value of a wrong kind is `InvalidArgument`; other keys are ignored, as upstream
    /// does.
    pub fn with(&self, options: Options<'_>) -> Result<Self> {
        let mut changed = self.clone();
        if let Some(value) = options.bool(SHARED_STREAM)? {
            // Once there is a shared stream, it stays.
            changed.shared_stream |= value;
        }
        if let Some(value) = options.bool(SHARED_WEIGHTS)? {
            changed.shared_weights = value;
        }
        if let Some(methods) = options.string(GRAPH_METHODS)? {
            changed.graph_methods = methods.into_owned();
        }
        Ok(changed)
    }

    /// Whether a method is recorded as a graph.
    pub fn has_graph(&self, method: &str) -> bool {
        !method.is_empty() && self.graph_methods.split(',').any(|name| name.trim() == method)
    }

    /// The value of an option.
    pub fn get(&self, key: &str) -> Result<OptionValue<'static>> {
        match key {
            SHARED_STREAM => Ok(OptionValue::Bool(self.shared_stream)),
            SHARED_WEIGHTS => Ok(OptionValue::Bool(self.shared_weights)),
            GRAPH_METHODS => Ok(OptionValue::String(Cow::Owned(self.graph_methods.clone()))),
            SKIP_COPY => Ok(OptionValue::String(Cow::Borrowed(""))),
            _ => Err(Error::new(
                ET_ERROR_NOT_FOUND,
                format!(
                    "there is no option {key:?}; the options are {SHARED_STREAM}, {SHARED_WEIGHTS} and {GRAPH_METHODS}"
                ),
            )),
        }
    }
}
