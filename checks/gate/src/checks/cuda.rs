//! The CUDA components: what can be known without a GPU, and a program for any GPU, which runs without one too.

use crate::check::Check;
use crate::checks::cmake;
use crate::checks::cuda_program::{Driver, Program};
use crate::clean;
use crate::context::Context;
use crate::outcome::{Found, Stop, expect, judge};
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use wheelhouse::audit::DeviceCode;

pub const CHECKS: &[Check] = &[
    Check {
        id: "cuda.libraries",
        title: "The CUDA delegate, its extension and the shims ship, with RUNPATH entries that lead to the declared NVIDIA wheels",
        needs: &["install.pinned"],
        limit: 60,
        run: libraries,
    },
    Check {
        id: "cuda.architectures",
        title: "Device code covers exactly the row's GPU architectures, with PTX for the newest",
        needs: &["install.pinned"],
        limit: 60,
        run: architectures,
    },
    Check {
        id: "cuda.registers",
        title: "CudaBackend registers in Python without a GPU, and loading a program says what is missing",
        needs: &["install.pinned"],
        limit: 120,
        run: registers,
    },
    Check {
        id: "cuda.consumer",
        title: "A C++ consumer links executorch::cuda_backend and ::extension_cuda, and is told the same",
        needs: &["install.pinned"],
        limit: 180,
        run: consumer,
    },
    Check {
        id: "cuda.container",
        title: "On a stand-in for a driver a compiled model finds every shim, runs from Python and C++, gives its reference, and leaves nothing",
        needs: &["cuda.consumer", "cuda.registers"],
        limit: 120,
        run: container,
    },
    Check {
        id: "cuda.python",
        title: "A CUDA program runs from Python and matches its reference",
        needs: &["cuda.container"],
        limit: 60,
        run: |context| on_a_gpu(context, Program::python),
    },
    Check {
        id: "cuda.cpp",
        title: "A C++ consumer of executorch::backend_cuda and ::extension_cuda runs a CUDA program",
        needs: &["cuda.container"],
        limit: 60,
        run: |context| on_a_gpu(context, Program::cpp),
    },
    Check {
        id: "cuda.external_weights",
        title: "A program with CUDA and CPU parts takes its weights from a .ptd",
        needs: &["cuda.container"],
        limit: 60,
        run: |context| on_a_gpu(context, Program::external_weights),
    },
];

/// What the row must ship for these checks.
const PARTS: [&str; 3] = ["extension_cuda", "aoti_cuda_shims", "backend_cuda"];
/// A program for the delegate whose container is no matter here: without a GPU it is not loaded.
const PROGRAM: &str = "cuda_rows";

fn shipped(context: &Context) -> Result<(), Stop> {
    if PARTS.iter().any(|part| context.ships(part)) {
        return Ok(());
    }
    Err(Stop::absent("the row does not ship backend_cuda, extension_cuda"))
}

fn libraries(context: &Context) -> Found {
    shipped(context)?;
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    for part in PARTS.iter().filter(|part| !context.ships(part)) {
        findings.push(format!("{part} is not shipped"));
    }
    let site = context.site()?;
    for library in context.libraries()? {
        let name = library.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(linked) = library.facts.needed.iter().find(|needed| needed.starts_with("libcud")) {
            findings.push(format!("{name} is linked to {linked}, so that it does not load without CUDA"));
        }
        if library.component.external.is_empty() {
            continue;
        }
        let folder = library.path.parent().context("no folder")?;
        let runpath = library.facts.runpath.clone().unwrap_or_default();
        for (external, place) in context.input.row.external.iter().filter(|(_, place)| *place != "system") {
            let reached = runpath
                .split(':')
                .filter_map(|entry| entry.strip_prefix("$ORIGIN"))
                .map(|rest| folder.join(rest.trim_start_matches('/')).join(external))
                .find(|path| path.is_file());
            match reached.and_then(|path| path.canonicalize().ok()) {
                Some(path) if path.starts_with(site.join(place).canonicalize()?) => {
                    evidence.push(format!("{name} reaches {place}/{external}"));
                }
                _ => findings.push(format!("{name}: {runpath} does not lead to {external} in {place}")),
            }
        }
    }
    judge(findings, evidence)
}

fn architectures(context: &Context) -> Found {
    shipped(context)?;
    let cuda = context.input.row.cuda.as_ref().context("the row has no [cuda]")?;
    let (mut findings, mut evidence) = (Vec::new(), Vec::new());
    for library in context.libraries()? {
        let code = DeviceCode::of(&std::fs::read(&library.path)?);
        let name = library.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let expected = if library.component.device_code {
            DeviceCode { cubins: cuda.architectures.iter().copied().collect(), ptx: [cuda.ptx].into() }
        } else {
            DeviceCode::default()
        };
        if code != expected {
            findings.push(format!("{name}: expected {expected:?}, found {code:?}"));
        } else if library.component.device_code {
            evidence.push(format!("{name}: machine code for {:?}, PTX for {:?}", code.cubins, code.ptx));
        }
    }
    judge(findings, evidence)
}

fn program(context: &Context) -> [PathBuf; 2] {
    ["pte", "ptd"].map(|ending| context.projects().join("cuda").join(format!("{PROGRAM}.{ending}")))
}

/// Whether loading said what is missing here.
fn told(text: &str) -> Result<(), Stop> {
    let missing = ["driver", "GPU", "runtime library"].iter().any(|part| text.contains(part));
    expect(has_gpu() || missing, || {
        format!("the error does not say that the driver or the GPU is missing: {text}")
    })
}

fn registers(context: &Context) -> Found {
    shipped(context)?;
    let [program, data] = program(context);
    let lines = context.script("cuda.py", &[&program, &data])?;
    told(&lines.join("\n"))?;
    Ok(lines)
}

fn consumer(context: &Context) -> Found {
    shipped(context)?;
    cmake::usable(context)?;
    let (source, build) = (context.projects().join("cuda"), context.scratch("cuda")?);
    let release = context.input.gate.release();
    cmake::build(context, &source, &build, &[format!("-Drelease={release}")])?;
    let [program, data] = program(context);
    let text = clean::output(context.command(build.join("cuda_consumer")).arg(program).arg(data))?;
    told(&text)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Whether the driver shows a GPU, on a server or on a Jetson.
fn has_gpu() -> bool {
    ["/dev/nvidia0", "/dev/nvhost-gpu"].iter().any(|path| Path::new(path).exists())
}

fn container(context: &Context) -> Found {
    shipped(context)?;
    let program = Program::make(context)?;
    let mut evidence = program.python(Driver::StandIn)?;
    evidence.extend(program.cpp(Driver::StandIn)?);
    evidence.extend(program.external_weights(Driver::StandIn)?);
    Ok(evidence)
}

fn on_a_gpu<'a>(context: &'a Context, run: impl Fn(&Program<'a>, Driver) -> Found) -> Found {
    shipped(context)?;
    if !has_gpu() {
        return Err(Stop::skip("the machine has no NVIDIA GPU"));
    }
    run(&Program::made(context), Driver::Machine)
}
