//! A program and its methods, loaded as they are used.

use crate::data_map::DataMap;
use crate::method::{Method, Outputs};
use crate::options::MethodOptions;
use crate::program::Program;
use crate::tensor::TensorView;
use crate::value::Value;
use executorch_abi::Result;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// A program with those of its methods that were used. One thread at a time uses it, which `&mut` sees to.
#[derive(Debug)]
pub struct Module {
    program: Program,
    options: MethodOptions,
    methods: HashMap<String, Method>,
}

impl Module {
    /// Opens the program at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Ok(Self::new(Program::open(path)?, None))
    }

    /// A module of a program that is loaded, with its external data.
    pub fn new(program: Program, data: Option<DataMap>) -> Self {
        Self { program, options: MethodOptions { data, ..MethodOptions::default() }, methods: HashMap::new() }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The method of a name, loaded at its first use.
    pub fn method(&mut self, name: &str) -> Result<&mut Method> {
        match self.methods.entry(name.to_owned()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(self.program.load_method(name, self.options.clone())?)),
        }
    }

    /// Runs a method; see [`Method::execute`].
    pub fn execute<'a>(
        &'a mut self,
        method: &str,
        inputs: &'a [Value<TensorView<'a>>],
    ) -> Result<Outputs<'a>> {
        self.method(method)?.execute(inputs)
    }

    /// Runs the method `forward`.
    pub fn forward<'a>(&'a mut self, inputs: &'a [Value<TensorView<'a>>]) -> Result<Outputs<'a>> {
        self.execute("forward", inputs)
    }
}
