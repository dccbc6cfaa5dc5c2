//! The CUDA program of the gate's own, `cuda_gate`: its compiled model is made here, from `projects/cuda/container.c`.

use crate::arrays::Call;
use crate::clean;
use crate::context::Context;
use crate::outcome::{Found, Stop};
use crate::ptd;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "cuda_gate";
/// The key under which the program looks for its compiled model.
const KEY: &str = "gate_so_blob";
/// Where memory of the host goes in and comes out, and where memory of the device does.
const METHODS: [&str; 2] = ["forward", "resident"];

/// What stands behind CUDA's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The machine's.
    Machine,
    /// The libraries of the input folder, which need no GPU (`delegates/cuda/fakes`).
    StandIn,
}

/// The program, in a folder with all its files.
pub struct Program<'a> {
    context: &'a Context,
    folder: PathBuf,
}

impl<'a> Program<'a> {
    /// Compiles the model, and lays the program out in a new folder with it among its named data.
    pub fn make(context: &'a Context) -> Result<Self, Stop> {
        let gcc = context.find("gcc").ok_or_else(|| Stop::skip("the machine has no gcc"))?;
        let folder = context.scratch(NAME)?;
        let projects = context.projects().join("cuda");
        // A driver of which nothing is there but the name, to be linked to; as where PyTorch compiles models.
        let driver = folder.join("libcuda.so.1");
        let mut link = context.command(&gcc);
        link.args(["-shared", "-Wl,-soname,libcuda.so.1", "-x", "c", "/dev/null", "-o"]).arg(&driver);
        clean::output(&mut link)?;
        let library = folder.join("container.so");
        let mut compile = context.command(&gcc);
        compile
            .args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&library);
        compile.args(["container.c", "shims.c"].map(|name| projects.join(name)));
        clean::output(compile.arg("-Wl,--no-as-needed").arg(&driver))?;
        fs::remove_file(&driver)?;

        for ending in ["pte", "json", "npz"] {
            let name = format!("{NAME}.{ending}");
            fs::copy(projects.join(&name), folder.join(&name)).context(name)?;
        }
        let name = format!("{NAME}.ptd");
        let weights = fs::read(projects.join(&name)).with_context(|| name.clone())?;
        let data = ptd::with(&weights, KEY, &fs::read(&library)?).with_context(|| name.clone())?;
        fs::write(folder.join(name), data)?;
        Ok(Self { context, folder })
    }

    /// The program that [`Program::make`] has made.
    pub fn made(context: &'a Context) -> Self {
        Self { context, folder: context.state.work.join(NAME) }
    }

    /// Both methods from Python, on every case.
    pub fn python(&self, driver: Driver) -> Found {
        let python = self.context.python()?;
        self.script(python, driver, "cuda_program.py", |command| {
            command.arg(self.folder.join(format!("{NAME}.json"))).arg(driver.name());
        })
    }

    /// Both methods from C++, by the consumer that `cuda.consumer` has built.
    pub fn cpp(&self, driver: Driver) -> Found {
        let mut evidence = Vec::new();
        for method in METHODS {
            let call = Call::of_method(&self.folder, NAME, method)?;
            let inputs = self.folder.join(method);
            fs::write(&inputs, &call.inputs)?;
            let mut command = self.context.command(self.context.state.work.join("cuda/cuda_program"));
            command.arg(&call.program).arg(call.program.with_extension("ptd")).arg(method).arg(inputs);
            let printed = clean::output(self.on(&mut command, driver).arg(driver.name()))?;
            evidence.push(format!("C++: {}", call.compare(&printed)?));
        }
        Ok(evidence)
    }

    /// With its file of weights, without it, and with a damaged one.
    pub fn external_weights(&self, driver: Driver) -> Found {
        // Methods that take memory of the device are another matter.
        let folder = self.context.scratch("cuda_weights")?;
        let work = self.context.scratch("cuda_damaged")?;
        for ending in ["pte", "npz", "ptd"] {
            let name = format!("{NAME}.{ending}");
            fs::copy(self.folder.join(&name), folder.join(&name)).context(name)?;
        }
        let name = format!("{NAME}.json");
        let text = fs::read_to_string(self.folder.join(&name)).with_context(|| name.clone())?;
        let mut suite: serde_json::Value = serde_json::from_str(&text).with_context(|| name.clone())?;
        if let Some(cases) = suite["cases"].as_array_mut() {
            cases.retain(|case| case["method"] == METHODS[0]);
        }
        fs::write(folder.join(name), suite.to_string())?;
        let python = self.context.python()?;
        self.script(python, driver, "external.py", |command| {
            command.arg(&folder).arg(&work);
        })
    }

    fn script(
        &self,
        mut python: Command,
        driver: Driver,
        name: &str,
        arguments: impl Fn(&mut Command),
    ) -> Found {
        python.arg(self.context.projects().join("python").join(name));
        arguments(&mut python);
        let text = clean::output(self.on(&mut python, driver))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Puts the stand-in into the reach of this one process.
    fn on<'c>(&self, command: &'c mut Command, driver: Driver) -> &'c mut Command {
        match driver {
            Driver::Machine => command,
            Driver::StandIn => command.env("LD_LIBRARY_PATH", self.context.state.input.join("fakes")),
        }
    }
}

impl Driver {
    /// What the programs call it.
    fn name(self) -> &'static str {
        match self {
            Self::Machine => "gpu",
            Self::StandIn => "fakes",
        }
    }
}
