//! How a method is loaded.

use crate::data_map::DataMap;
use crate::text;
use executorch_abi::Result;
use executorch_abi::backend::*;
use executorch_abi::method::et_method_options_t;
use std::ffi::CString;
use std::ptr::null;

/// How a method is loaded.
#[derive(Debug, Clone, Default)]
pub struct MethodOptions {
    /// External data, for programs whose constants lie in a `.ptd` file.
    pub data: Option<DataMap>,
    /// What backends are told.
    pub backends: BackendOptions,
}

impl MethodOptions {
    /// Calls `use_it` with the options as the ABI has them, which are valid during that call only, and whose data map
    /// is there as long as these options.
    pub(crate) fn raw<T>(&self, use_it: impl FnOnce(&et_method_options_t) -> T) -> T {
        let entry = |(backend, options): &(CString, Vec<et_backend_option_t>)| et_backend_options_t {
            backend: backend.as_ptr(),
            options: options.as_ptr(),
            count: options.len(),
        };
        let backends: Vec<_> = self.backends.entries.iter().map(entry).collect();
        use_it(&et_method_options_t {
            struct_size: size_of::<et_method_options_t>() as u32,
            reserved: 0,
            memory: null(),
            data_map: self.data.as_ref().map_or(null(), DataMap::raw),
            tracer: null(),
            backend_options: backends.as_ptr(),
            backend_options_count: backends.len(),
            kernels: null(),
            kernel_count: 0,
        })
    }
}

/// The value of a backend's option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i32),
    /// A text of at most 255 bytes.
    String(String),
}

/// Options for the backends of a method, by backend and key.
#[derive(Debug, Clone, Default)]
pub struct BackendOptions {
    entries: Vec<(CString, Vec<et_backend_option_t>)>,
}

impl BackendOptions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an option; of two under one key the backend decides, commonly for the last. Fails if the key or a text is
    /// too long for the ABI.
    pub fn set(&mut self, backend: &str, key: &str, value: &OptionValue) -> Result<()> {
        let (kind, number, text) = match value {
            OptionValue::Bool(value) => (ET_OPTION_BOOL, i32::from(*value), ""),
            OptionValue::Int(value) => (ET_OPTION_INT, *value, ""),
            OptionValue::String(value) => (ET_OPTION_STRING, 0, value.as_str()),
        };
        let option = et_backend_option_t::new(key, kind, number, text)?;
        let backend = text::to_c(backend, "the backend's id")?;
        match self.entries.iter_mut().find(|(id, _)| *id == backend) {
            Some((_, options)) => options.push(option),
            None => self.entries.push((backend, vec![option])),
        }
        Ok(())
    }
}
