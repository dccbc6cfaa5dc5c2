//! Programs in Python that use the installed package. The scripts are in `projects/python`.

use crate::check::Check;
use crate::clean;
use crate::context::{Context, copy_tree};
use crate::outcome::{Found, Stop};
use anyhow::Context as _;
use std::path::Path;

const NEEDS: &[&str] = &["install.pinned"];

pub const CHECKS: &[Check] = &[
    Check {
        id: "python.import",
        title: "Importing needs no other package, imports neither NumPy nor torch, and registers everything without error",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("light.py", &[]),
    },
    Check {
        id: "python.modules",
        title: "Every module of the package imports, and has the names that it promises and that upstream's users need",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("modules.py", &[]),
    },
    Check {
        id: "python.reference",
        title: "Every reference program, delegated ones too, gives PyTorch's results, without NumPy",
        needs: NEEDS,
        limit: 120,
        run: |context| context.script("reference.py", &[&context.models()]),
    },
    Check {
        id: "python.sources",
        title: "A program is the same from a path, bytes and an open file, by both APIs",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("sources.py", &[&context.models()]),
    },
    Check {
        id: "python.numpy",
        title: "NumPy arrays, read-only ones too, go in and come out",
        needs: NEEDS,
        limit: 60,
        run: numpy,
    },
    Check {
        id: "python.external_weights",
        title: "A program takes its weights from a .ptd; missing or damaged weights are refused",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("external.py", &[&context.models(), &context.scratch("external")?]),
    },
    Check {
        id: "python.errors",
        title: "Mistakes and 300 damaged programs raise errors with a message, and the process goes on",
        needs: NEEDS,
        limit: 120,
        run: |context| context.script("errors.py", &[&context.models()]),
    },
    Check {
        id: "python.threads",
        title: "Threads run programs at once and get PyTorch's results",
        needs: NEEDS,
        limit: 120,
        run: |context| context.script("threads.py", &[&context.models()]),
    },
    Check {
        id: "python.command",
        title: "The command executorch-runtime tells what a program needs, runs it, and describes the machine",
        needs: NEEDS,
        limit: 60,
        run: command,
    },
    Check {
        id: "python.missing_backend",
        title: "A program for a backend that is not installed is refused with its name",
        needs: NEEDS,
        limit: 60,
        run: |context| {
            context.script("missing_backend.py", &[&context.projects().join("delegate/delegate.pte")])
        },
    },
    Check {
        id: "python.moved",
        title: "The package works from a copy in another folder, with nothing of the first",
        needs: NEEDS,
        limit: 60,
        run: moved,
    },
];

fn numpy(context: &Context) -> Found {
    context.python()?;
    let site = context.site()?;
    let system = |arguments: &[&Path]| {
        let mut python = context.command("python3");
        python.args(["-s", "-W", "error"]).args(arguments).env("PYTHONPATH", &site);
        python
    };
    // The machine's own NumPy: nothing can be fetched here.
    if clean::output(context.command("python3").args(["-c", "import numpy"])).is_err() {
        return Err(Stop::skip("the machine has no NumPy"));
    }
    let script = context.projects().join("python/with_numpy.py");
    Ok(vec![clean::output(&mut system(&[&script, &context.models()]))?.trim().to_owned()])
}

fn command(context: &Context) -> Found {
    context.python()?;
    let program = context.models().join("dynamic_mlp.pte");
    let run = |arguments: &[&str]| {
        let mut command = context.command(context.state.work.join("venv/bin/executorch-runtime"));
        clean::output(command.args(arguments))
    };
    let program = program.to_string_lossy();
    let inspected = run(&["inspect", &program])?;
    let (machine, outputs) = (run(&["env"])?, run(&["run", &program, "--inputs", "ones", "--json"])?);
    for (what, text, part) in [
        ("inspect", &inspected, "can run here: yes"),
        ("inspect", &inspected, "aten::addmm.out"),
        ("env", &machine, context.input.gate.release()),
        ("run", &outputs, "[["),
    ] {
        if !text.contains(part) {
            return Err(anyhow::anyhow!("{what} does not say {part:?}:\n{text}").into());
        }
    }
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    Ok(vec![first(&inspected), first(&machine), first(&outputs)])
}

fn moved(context: &Context) -> Found {
    context.python()?;
    let site = context.scratch("moved package/with a space")?;
    copy_tree(&context.package()?, &site.join("executorch_runtime"))?;
    let script = context.projects().join("python/reference.py");
    let mut python = context.command("python3");
    let script_of = "import runpy, sys; sys.argv[0] = sys.argv.pop(1); sys.path.insert(0, sys.argv.pop()); \
        import os; sys.path.insert(1, os.path.dirname(sys.argv[0])); runpy.run_path(sys.argv[0], run_name='__main__'); \
        print('\\n'.join(sorted({l.split(maxsplit=5)[5].strip() for l in open('/proc/self/maps') if 'executorch_runtime' in l})))";
    python.args(["-I", "-c", script_of]).arg(script).arg(context.models()).arg(&site);
    let text = clean::output(&mut python)?;
    let mapped: Vec<&str> = text.lines().filter(|line| line.starts_with('/')).collect();
    let elsewhere: Vec<&&str> = mapped.iter().filter(|path| !Path::new(path).starts_with(&site)).collect();
    if mapped.len() < 4 || !elsewhere.is_empty() {
        return Err(
            anyhow::anyhow!("expected every library below {}, found {mapped:?}", site.display()).into()
        );
    }
    let count = text.lines().count() - mapped.len();
    let folder = site.strip_prefix(&context.state.work).context("outside of the work folder")?;
    Ok(vec![format!("{count} programs, {} libraries below {}", mapped.len(), folder.display())])
}
