//! Project tasks: `cargo xtask --help`.

mod bindings;
mod checks;
mod demo;
mod dry_run;
mod fakes;
mod gate;
mod headers;
mod installed;
mod linker;
mod nix;
mod nvidia;
mod place;
mod provenance;
mod readme;
mod rows;
mod schema;
mod wheel;
mod wheelhouse;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Project tasks")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the wheel, install it, and run a trained model from Python and from C++.
    Demo,
    /// Compare with upstream's runtime; arguments go to checks/bench/bench.py.
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Export the test programs again with upstream's exporter; arguments go to checks/conformance/export.py.
    Models {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run every check and test; the last line is "N passed, N failed".
    Test,
    /// Build and audit the wheel of a row of wheels/rows.toml; prints its path.
    Wheel {
        /// The row.
        row: String,
        /// Folder for the wheel.
        #[arg(long, default_value = "dist")]
        out: PathBuf,
        /// Build a second time from a copy in another folder, and compare.
        #[arg(long)]
        check_reproducible: bool,
        /// Build again by the flake, and compare.
        #[arg(long)]
        check_flake: bool,
    },
    /// One step of `wheel`, for builders with steps of their own: link a component, or compile what all depend on.
    Component {
        /// The row.
        row: String,
        /// The component; without it, only what the row's components depend on is compiled.
        name: Option<String>,
        /// Folder with the components that it needs, and for the component.
        #[arg(long)]
        stage: PathBuf,
    },
    /// The last step of `wheel`, for builders with steps of their own: pack and audit linked components; prints the wheel's
    /// path.
    Assemble {
        /// The row.
        row: String,
        /// Folder with the components; `licenses` in it has those of C libraries.
        #[arg(long)]
        stage: PathBuf,
        /// Folder for the wheel.
        #[arg(long)]
        out: PathBuf,
    },
    /// Run a command of Nix on this flake with no network but the package registries (docs/nix.md).
    Nix {
        /// `build .#wheel-cpu`, `flake check`, `develop`, …
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        args: Vec<String>,
    },
    /// Generate the C headers from runtime/abi, and compile each alone.
    Headers {
        /// Fail if the committed headers differ, instead of writing them.
        #[arg(long)]
        check: bool,
    },
    /// Generate the readers of the file formats from runtime/schema/fbs.
    Schema {
        /// Fail if the committed readers differ, instead of writing them.
        #[arg(long)]
        check: bool,
    },
    /// Generate the Rust declarations of XNNPACK's C interface from its header.
    Bindings {
        /// Fail if the committed declarations differ, instead of writing them.
        #[arg(long)]
        check: bool,
    },
    /// Build the XNNPACK C library, which cargo does by itself when it needs it; prints its folder.
    Native {
        /// Processor architecture: x86_64 or aarch64.
        #[arg(long, default_value = std::env::consts::ARCH)]
        arch: String,
    },
    /// Print the rows of wheels/rows.toml.
    Rows {
        /// For people (table), for tools (json), or as the matrix of CI's jobs (ci).
        #[arg(long, default_value = "table")]
        format: rows::Format,
    },
    /// Try the wheel of a row as it is installed, and write the report that promotion asks for (docs/gate.md).
    Gate {
        /// The row.
        row: String,
        /// A clean machine, such as debian-12.
        #[arg(long, value_name = "IMAGE", conflicts_with = "here")]
        vm: Option<String>,
        /// This machine, in namespaces of its own; so it is if no image is named.
        #[arg(long)]
        here: bool,
        /// A wheel; otherwise the row's is built.
        #[arg(long)]
        wheel: Option<PathBuf>,
        /// New folder for the report and the logs.
        #[arg(long)]
        out: Option<PathBuf>,
        /// Only these checks and those that they build on: ids, or `group.*`.
        #[arg(long)]
        only: Vec<String>,
    },
    /// One step of `gate`, for builders with steps of their own: fill a folder with what the gate is handed, but for its
    /// program.
    GateInput {
        /// The row.
        row: String,
        /// The clean machine.
        #[arg(long)]
        image: String,
        /// The wheel.
        #[arg(long)]
        wheel: PathBuf,
        /// The `wheelhouse` command.
        #[arg(long)]
        wheelhouse: PathBuf,
        /// For rows with CUDA, the folder that `fakes` has filled.
        #[arg(long)]
        fakes: Option<PathBuf>,
        /// A wheel that the row depends on (wheels/nvidia.toml); may be given several times.
        #[arg(long = "dependency")]
        dependencies: Vec<PathBuf>,
        /// The new folder.
        folder: PathBuf,
    },
    /// One step of `gate`, for builders with steps of their own: build the libraries that stand in for NVIDIA's without a GPU.
    Fakes {
        /// The row.
        row: String,
        /// The folder.
        folder: PathBuf,
    },
    /// Take the wheel of a row the whole way to its users and back, all local: audit, gate, approvals, promotion,
    /// installation, yank and rollback.
    ReleaseDryRun {
        /// The row.
        row: String,
        /// Gate on these clean machines instead of all that the row names.
        #[arg(long, value_name = "IMAGE")]
        image: Vec<String>,
        /// Take wheel and report from what the flake's gate on that image has left, instead of building and gating.
        #[arg(long, value_name = "FOLDER")]
        gated: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let called = args.next().unwrap_or_default();
    let result = if Path::new(&called).file_name().is_some_and(|name| name == linker::NAME) {
        linker::run(args.collect())
    } else {
        task(Cli::parse().task)
    };
    result.unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

fn task(task: Task) -> Result<ExitCode> {
    let place = place::Place::here()?;
    match task {
        Task::Test => return checks::run(&place),
        Task::Demo => demo::run(&place)?,
        Task::Bench { args } => {
            // Both runtimes are installed in one environment; each is measured in processes of its own.
            let environment = conformance(&place)?.with_wheel(&place, "cpu")?;
            let mut bench = environment.python();
            let interpreter = bench.get_program().to_owned();
            bench
                .arg("checks/bench/bench.py")
                .arg("--ours")
                .arg(&interpreter)
                .arg("--upstream")
                .arg(interpreter);
            executorch_tools::command::run(bench.args(args).current_dir(&place.root))?;
        }
        Task::Models { args } => {
            let mut python = conformance(&place)?.python();
            executorch_tools::command::run(
                python.arg("checks/conformance/export.py").args(args).current_dir(&place.root),
            )?;
        }
        Task::Wheel { row, out, check_reproducible, check_flake } => {
            let out = std::path::absolute(out).context("--out")?;
            let path = wheel::build(&place, &row, &out)?;
            if check_reproducible {
                wheel::check_reproducible(&place, &row, &path)?;
            }
            if check_flake {
                nix::same_wheel(&place, &row, &path)?;
            }
            println!("{}", path.display());
        }
        Task::Component { row, name, stage } => {
            wheel::component(&place, &row, name.as_deref(), &std::path::absolute(stage)?)?;
        }
        Task::Assemble { row, stage, out } => {
            println!("{}", wheel::assemble(&place, &row, &stage, &out)?.display());
        }
        Task::Nix { args } => return nix::run(&place, &args),
        Task::Headers { check } => {
            headers::generate(&place, check)?;
            headers::compile(&place)?;
        }
        Task::Schema { check } => schema::generate(&place, check)?,
        Task::Bindings { check } => bindings::generate(&place, check)?,
        Task::Native { arch } => {
            let target = executorch_xnnpack_native::Target::from_arch(&arch)?;
            let library = executorch_xnnpack_native::build(&place.xnnpack(target))?;
            println!("{}", library.root().display());
        }
        Task::Rows { format } => rows::print(&place, format)?,
        Task::Gate { row, vm, here: _, wheel, out, only } => {
            gate::gate(&place, &gate::Request { row, image: vm, wheel, out, only })?;
        }
        Task::GateInput { row, image, wheel, wheelhouse, fakes, dependencies, folder } => {
            gate::fill(
                &place,
                &row,
                &image,
                &gate::Made { wheel, wheelhouse, fakes, dependencies },
                &folder,
            )?;
        }
        Task::Fakes { row, folder } => fakes::build_named(&place, &row, &std::path::absolute(folder)?)?,
        Task::ReleaseDryRun { row, image, gated } => {
            dry_run::dry_run(&place, &dry_run::Request { row, images: image, gated })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The environment with upstream's exporter and runtime.
fn conformance(place: &place::Place) -> Result<installed::Environment> {
    let wanted = executorch_tools::requirements(&place.root.join("checks/conformance/requirements.txt"))?;
    installed::Environment::new(place, "conformance", &wanted)
}
