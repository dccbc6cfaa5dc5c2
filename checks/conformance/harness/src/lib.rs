//! Runs the programs of `checks/conformance` and compares what they give with what is right (see the README there).
//!
//! A test names a folder, after it has registered the kernels and backends that the programs there need:
//!
//! ```ignore
//! extern crate executorch_core as _;
//! extern crate executorch_threadpool as _;
//!
//! #[test]
//! fn programs_give_the_right_results() {
//!     executorch_kernels::register();
//!     executorch_conformance::check("programs");
//! }
//! ```
//!
//! `ET_CONFORMANCE=ops_pools,xnn_unary/tanh` runs those programs, or those methods of them, alone.

#![allow(clippy::unwrap_used, reason = "only tests use this crate, and a test may panic")]

mod arrays;
mod call;

use arrays::Arrays;
use call::Program;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A program with its cases: one `NAME.json`.
#[derive(Debug, Deserialize)]
pub struct Suite {
    /// The program's file, in the same folder.
    pub program: String,
    /// Files to load with it.
    pub data: Vec<String>,
    /// What the delegates of each method consist of, in order: `KIND DATATYPE, KIND DATATYPE`.
    #[serde(default)]
    pub delegates: HashMap<String, Vec<String>>,
    /// Calls, in the order in which they are to be done.
    pub cases: Vec<Case>,
}

/// One call of one method.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// Unique in its suite.
    pub name: String,
    /// The method to call.
    pub method: String,
    /// What it is given.
    pub inputs: Vec<Value>,
    /// What it is to give back.
    pub expected: Vec<Value>,
    /// How far results may lie from what is expected, relative to it.
    pub rtol: f64,
    /// What is added to that.
    pub atol: f64,
    /// Whether more than dtype and shape is defined.
    #[serde(default = "yes")]
    pub compare: bool,
}

fn yes() -> bool {
    true
}

/// An input or an output.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A tensor.
    Tensor {
        /// The name of its array in the archive.
        tensor: String,
        /// As the README names it.
        dtype: String,
        /// Its sizes.
        shape: Vec<i32>,
        /// Dimensions from the outermost to the innermost; row-major when absent.
        dim_order: Option<Vec<u8>>,
    },
    /// An integer.
    Int {
        /// Its value.
        int: i64,
    },
    /// A floating-point number.
    Double {
        /// A number, or the name of one that JSON lacks.
        double: serde_json::Value,
    },
    /// A boolean.
    Bool {
        /// Its value.
        bool: bool,
    },
    /// Text, which the exporter leaves out of programs.
    String {
        /// The text.
        #[serde(rename = "string")]
        text: String,
    },
    /// None.
    None {},
}

/// What came of running programs.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many cases ran.
    pub ran: usize,
    /// `PROGRAM, CASE: what is wrong` of those whose results are not right.
    pub wrong: Vec<String>,
}

/// The path of a folder of `checks/conformance`.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(name)
}

/// Runs a folder's programs, those that `ET_CONFORMANCE` names if it is set.
///
/// # Panics
///
/// When a case is wrong, or there is none.
pub fn check(name: &str) {
    let only = std::env::var("ET_CONFORMANCE").ok();
    let outcome = run(&folder(name), only.as_deref());
    assert!(outcome.ran > 0, "there is no such program in {name}: {only:?}");
    let Outcome { ran, wrong } = outcome;
    assert!(wrong.is_empty(), "{} of {ran} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs the programs of a folder whose names, or `NAME/METHOD`, are in a comma-separated list; all if there is none.
///
/// # Panics
///
/// When a file cannot be read.
#[must_use]
pub fn run(folder: &Path, only: Option<&str>) -> Outcome {
    let mut outcome = Outcome::default();
    for path in suites(folder) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let wanted = |method: &str| {
            only.is_none_or(|only| only.split(',').any(|o| o == name || o == format!("{name}/{method}")))
        };
        let suite = Suite::read(&path);
        if !suite.cases.iter().any(|case| wanted(&case.method)) {
            continue;
        }
        let arrays = Arrays::open(&path.with_extension("npz"));
        let program = match Program::load(folder, &suite) {
            Ok(program) => program,
            Err(error) => {
                outcome.ran += suite.cases.len();
                outcome.wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let mut methods = HashMap::new();
        for case in suite.cases.iter().filter(|case| wanted(&case.method)) {
            let method = methods.entry(&case.method).or_insert_with(|| program.method(&case.method));
            let result = match method {
                Err(error) => Err(error.to_string()),
                Ok(method) => method.run(case, &arrays),
            };
            outcome.ran += 1;
            outcome.wrong.extend(result.err().map(|error| format!("{name}, {}: {error}", case.name)));
        }
    }
    outcome
}

/// The descriptions of a folder's programs, by name.
///
/// # Panics
///
/// When the folder cannot be read.
#[must_use]
pub fn suites(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut found: Vec<PathBuf> =
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    found.sort();
    found
}

impl Suite {
    /// Reads a description.
    ///
    /// # Panics
    ///
    /// When it is none.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}
