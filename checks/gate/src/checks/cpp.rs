//! Consumers in C++, built against the installed wheel: `projects/cpp`.

use crate::arrays::Call;
use crate::check::Check;
use crate::checks::cmake;
use crate::clean;
use crate::context::{Context, copy_tree, facts, files};
use crate::outcome::{Found, Stop, expect, judge};
use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const NEEDS: &[&str] = &["cpp.build"];

pub const CHECKS: &[Check] = &[
    Check {
        id: "cpp.headers",
        title: "Every shipped header compiles alone, twice in one file, with warnings as errors; those of the C interface as C11 too",
        needs: &["install.pinned"],
        limit: 300,
        run: headers,
    },
    Check {
        id: "cpp.build",
        title: "Consumers build against the targets, aliases too, without warnings",
        needs: &["install.pinned"],
        limit: 180,
        run: build,
    },
    Check {
        id: "cpp.runtime_only",
        title: "With the runtime alone a program is refused, with the missing operators and the component that has them",
        needs: NEEDS,
        limit: 60,
        run: runtime_only,
    },
    Check {
        id: "cpp.kernels",
        title: "With kernels_optimized, which no symbol of the consumer asks for, programs give PyTorch's results",
        needs: NEEDS,
        limit: 60,
        run: kernels,
    },
    Check {
        id: "cpp.delegate",
        title: "A delegated program is refused without backend_xnnpack, and with it gives PyTorch's results",
        needs: NEEDS,
        limit: 60,
        run: delegate,
    },
    Check {
        id: "cpp.linkage",
        title: "The consumer needs the wheel's libraries by SONAME and finds them by RUNPATH, not RPATH",
        needs: NEEDS,
        limit: 60,
        run: linkage,
    },
    Check {
        id: "cpp.registry",
        title: "All components of a C++ process register in one registry",
        needs: NEEDS,
        limit: 60,
        run: registry,
    },
    Check {
        id: "cpp.relocatable",
        title: "An installed consumer runs from another folder with its own copy of the libraries",
        needs: NEEDS,
        limit: 60,
        run: relocatable,
    },
    Check {
        id: "cpp.pkg_config",
        title: "A consumer builds and runs with pkg-config instead of CMake",
        needs: &["install.pinned"],
        limit: 120,
        run: pkg_config,
    },
    Check {
        id: "cpp.readme",
        title: "The README's C++ example, as it stands there, builds and prints what its Python example prints",
        needs: &["install.pinned"],
        limit: 120,
        run: readme,
    },
];

/// The C++ compiler, or the reason to skip.
fn compiler(context: &Context) -> Result<PathBuf, Stop> {
    context.find("g++").ok_or_else(|| Stop::skip("the machine has no g++"))
}

/// Where consumers are built.
pub fn folder(context: &Context) -> PathBuf {
    context.state.work.join("cpp")
}

fn build(context: &Context) -> Found {
    compiler(context)?;
    let (source, build) = (context.projects().join("cpp"), context.scratch("cpp")?);
    let release = context.input.gate.release();
    let how = match cmake::usable(context) {
        Ok((_, version)) => {
            cmake::build(context, &source, &build, &[format!("-Drelease={release}")])?;
            format!("cmake {version}")
        }
        Err(stop) => {
            by_hand(context, &source, &build)?;
            format!("g++ alone: {}", stop.reason)
        }
    };
    let version = clean::output(context.command("g++").arg("--version"))?;
    let names =
        ["consumer_runtime", "consumer_kernels", "consumer_delegate", "liboperator.so", "libmixed.so"];
    for name in names {
        cmake::expect_file(&build.join(name))?;
    }
    Ok(vec![how, version.lines().next().unwrap_or_default().into(), names.join(" ")])
}

/// What CMake would do, for machines whose CMake is too old for the package.
fn by_hand(context: &Context, source: &Path, build: &Path) -> Result<()> {
    let package = context.package()?;
    let demo = context.projects().join("delegate");
    let compile = |compiler: &str, arguments: &[&str]| {
        let mut command = context.command(compiler);
        command.current_dir(build).args(["-O2", "-fPIC", "-Wall", "-Wextra", "-Werror"]);
        command.arg("-I").arg(package.join("include")).arg("-I").arg(&demo).args(arguments);
        command
    };
    let link = |command: &mut Command, libraries: &[&str]| -> Result<()> {
        command.arg("-L").arg(package.join("lib")).arg("-Wl,--enable-new-dtags,--push-state,--no-as-needed");
        command.args(libraries.iter().map(|name| format!("-l:lib{name}.so.1"))).arg("-Wl,--pop-state");
        clean::output(command).map(drop)
    };
    let rpath = format!("-Wl,-rpath,{}", package.join("lib").display());
    let all =
        ["executorch", "executorch_threadpool", "executorch_kernels_optimized", "executorch_backend_xnnpack"];
    clean::output(
        compile("g++", &["-std=c++17", "-c", "-o", "consumer.o"]).arg(source.join("consumer.cpp")),
    )?;
    for (name, libraries) in [
        ("consumer_runtime", &all[..1]),
        ("consumer_kernels", &["executorch", "executorch_kernels_optimized"]),
        ("consumer_delegate", &["executorch", "executorch_kernels_optimized", "executorch_backend_xnnpack"]),
    ] {
        link(compile("g++", &["consumer.o", "-o", name]).arg(&rpath), libraries)?;
    }
    for (name, libraries) in [("operator", &all[..1]), ("mixed", &all[..])] {
        let (file, hidden) = (format!("lib{name}.so"), "-fvisibility=hidden");
        let mut command = compile("g++", &["-std=c++17", "-shared", hidden, "-o", &file]);
        link(command.arg(source.join(format!("{name}.cpp"))).arg(&rpath), libraries)?;
    }
    for (name, registration, macros) in [
        ("delegate", demo.join("register.c"), ""),
        ("another_abi", source.join("refused.c"), "-DGATE_MAJOR=ET_ABI_MAJOR+8"),
        ("another_minor", source.join("refused.c"), "-DGATE_MINOR=ET_ABI_MINOR+900"),
        ("another_release", source.join("refused.c"), "-DGATE_FLAGS=ET_REGISTRATION_LOCKSTEP"),
    ] {
        let (file, macros) = (format!("lib{name}.so"), if macros.is_empty() { "-DGATE" } else { macros });
        let mut command =
            compile("gcc", &["-std=c11", "-shared", "-fvisibility=hidden", macros, "-o", &file]);
        link(command.arg(demo.join("demo.c")).arg(registration), &all[..1])?;
    }
    Ok(())
}

/// A consumer, to be run without the loader's overrides.
fn consumer(context: &Context, name: &str, arguments: &[&str]) -> Command {
    let mut command = context.command(folder(context).join(name));
    command.args(arguments);
    command
}

/// A call of a program by a consumer.
fn call(context: &Context, name: &str, program: &str) -> Result<(Call, Command)> {
    let call = Call::read(&context.models(), program)?;
    let inputs = folder(context).join(format!("{program}.inputs"));
    fs::write(&inputs, &call.inputs)?;
    let mut command = consumer(context, name, &["run"]);
    command.arg(&call.program).arg(&call.method).arg(inputs);
    Ok((call, command))
}

/// Programs of float32 tensors without a delegate, and one with.
const PLAIN: [&str; 3] = ["dynamic_mlp", "cond", "conv1d"];
const DELEGATED: &str = "xnn_shared";

fn runtime_only(context: &Context) -> Found {
    let (_, mut command) = call(context, "consumer_runtime", PLAIN[0])?;
    let text = clean::refusal(&mut command)?;
    for part in ["aten::addmm.out", "executorch::kernels_optimized"] {
        expect(text.contains(part), || format!("the message does not say {part}: {text}"))?;
    }
    Ok(vec![text.trim().to_owned()])
}

fn kernels(context: &Context) -> Found {
    let mut evidence = Vec::new();
    for program in PLAIN {
        let (call, mut command) = call(context, "consumer_kernels", program)?;
        evidence.push(call.compare(&clean::output(&mut command)?)?);
    }
    Ok(evidence)
}

fn delegate(context: &Context) -> Found {
    let (_, mut without) = call(context, "consumer_kernels", DELEGATED)?;
    let text = clean::refusal(&mut without)?;
    let named = text.contains("XnnpackBackend");
    expect(named, || format!("without the delegate the message does not name it: {text}"))?;
    let (call, mut with) = call(context, "consumer_delegate", DELEGATED)?;
    Ok(vec![text.trim().to_owned(), call.compare(&clean::output(&mut with)?)?])
}

fn linkage(context: &Context) -> Found {
    let facts = facts(&folder(context).join("consumer_delegate"))?;
    let mut findings = Vec::new();
    for name in
        ["libexecutorch.so.1", "libexecutorch_kernels_optimized.so.1", "libexecutorch_backend_xnnpack.so.1"]
    {
        if !facts.needed.iter().any(|needed| needed == name) {
            findings.push(format!("the consumer does not need {name}: {:?}", facts.needed));
        }
    }
    if let Some(needed) = facts.needed.iter().find(|needed| needed.contains('/')) {
        findings.push(format!("the consumer needs {needed} by its path"));
    }
    if let Some(rpath) = &facts.rpath {
        findings.push(format!("the consumer has DT_RPATH {rpath}"));
    }
    let lib = context.package()?.join("lib");
    let runpath = facts.runpath.clone().unwrap_or_default();
    if !runpath.split(':').any(|entry| Path::new(entry) == lib) {
        findings.push(format!("RUNPATH {runpath:?} has no {}", lib.display()));
    }
    judge(findings, vec![facts.needed.join(" "), "RUNPATH leads to the installed lib/".into()])
}

fn registry(context: &Context) -> Found {
    let counts = |name: &str| -> Result<(usize, usize)> {
        let text = clean::output(&mut consumer(context, name, &["registry"]))?;
        let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<usize>, _>>()?;
        match numbers.as_slice() {
            [backends, operators] => Ok((*backends, *operators)),
            _ => anyhow::bail!("{name} printed {text:?}"),
        }
    };
    let (bare, kernels, all) =
        (counts("consumer_runtime")?, counts("consumer_kernels")?, counts("consumer_delegate")?);
    let told = format!(
        "backends and operators: runtime {bare:?}, with kernels {kernels:?}, with the delegate {all:?}"
    );
    expect(kernels.1 > bare.1 + 100, || format!("the kernels are in another registry: {told}"))?;
    let one_more = kernels.0 == bare.0 && all == (kernels.0 + 1, kernels.1);
    expect(one_more, || format!("one delegate more adds another number: {told}"))?;
    Ok(vec![told])
}

fn relocatable(context: &Context) -> Found {
    let home = context.scratch("another place")?;
    let lib = context.package()?.join("lib");
    let (program, _) = cmake::usable(context)?;
    let build = folder(context);
    clean::output(context.command(program).arg("--install").arg(&build).arg("--prefix").arg(&home))?;
    copy_tree(&lib, &home.join("lib"))?;
    let app = home.join("bin/consumer_delegate");
    let maps = clean::output(context.command(&app).arg("maps"))?;
    let strangers: Vec<&str> = maps.lines().filter(|path| !Path::new(path).starts_with(&home)).collect();
    let own = strangers.is_empty() && maps.lines().count() >= 3;
    expect(own, || format!("libraries of the process: {maps}"))?;
    let call = Call::read(&context.models(), DELEGATED)?;
    let inputs = home.join("inputs");
    fs::write(&inputs, &call.inputs)?;
    let mut run = context.command(&app);
    run.arg("run").arg(&call.program).arg(&call.method).arg(inputs);
    let mut libraries: Vec<&str> = maps.lines().filter_map(|path| path.rsplit('/').next()).collect();
    libraries.sort_unstable();
    libraries.dedup();
    Ok(vec![call.compare(&clean::output(&mut run)?)?, format!("its own {}", libraries.join(" "))])
}

fn headers(context: &Context) -> Found {
    let gxx = compiler(context)?;
    let include = context.package()?.join("include");
    let headers: Vec<String> =
        files(&include)?.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let scratch = context.scratch("headers")?;
    let mut jobs = Vec::new();
    for (number, header) in headers.iter().enumerate() {
        let text = format!("#include <{header}>\n#include <{header}>\n");
        let languages: &[(&str, &str)] = match header.starts_with("executorch/c/") {
            true => &[("c++", "c++17"), ("c", "c11")],
            false => &[("c++", "c++17")],
        };
        for (language, standard) in languages {
            let file = scratch.join(format!("{number}.{language}"));
            fs::write(&file, &text)?;
            jobs.push((header, *language, *standard, file));
        }
    }
    let (next, findings) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((header, language, standard, file)) =
                    jobs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let mut command = context.command(&gxx);
                    command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]);
                    command.args(["-x", language]).arg(format!("-std={standard}")).arg("-I").arg(&include);
                    if let Err(error) = clean::output(command.arg(file)) {
                        let finding = format!("{header} as {standard}: {error:#}");
                        findings.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
                    }
                }
            });
        }
    });
    let mut findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    if headers.len() < 60 {
        findings.push(format!("only {} headers", headers.len()));
    }
    judge(findings, vec![format!("{} headers, {} compilations", headers.len(), jobs.len())])
}

fn pkg_config(context: &Context) -> Found {
    compiler(context)?;
    let program = context.find("pkg-config").ok_or_else(|| Stop::skip("the machine has no pkg-config"))?;
    let scratch = context.scratch("pkg-config")?;
    let mut ask = context.command(program);
    ask.args(["--cflags", "--libs", "executorch"]);
    let flags = clean::output(ask.env("PKG_CONFIG_PATH", context.package()?.join("lib/pkgconfig")))?;
    let app = scratch.join("app");
    let mut build = context.command("g++");
    build.arg("-std=c++17").arg(context.projects().join("cpp/consumer.cpp")).arg("-o").arg(&app);
    clean::output(build.args(flags.split_whitespace()))?;
    let call = Call::read(&context.models(), DELEGATED)?;
    let inputs = scratch.join("inputs");
    fs::write(&inputs, &call.inputs)?;
    let mut run = context.command(&app);
    let printed = clean::output(run.arg("run").arg(&call.program).arg(&call.method).arg(inputs))?;
    Ok(vec![flags.trim().to_owned(), call.compare(&printed)?])
}

fn readme(context: &Context) -> Found {
    compiler(context)?;
    cmake::usable(context)?;
    let text = fs::read_to_string(context.state.input.join("README.md")).context("README.md")?;
    let source = context.scratch("readme")?;
    for (language, name) in [("python", "digits.py"), ("cpp", "main.cpp"), ("cmake", "CMakeLists.txt")] {
        let block =
            block(&text, language).with_context(|| format!("README.md has no ```{language} block"))?;
        fs::write(source.join(name), block)?;
    }
    let build = source.join("build");
    cmake::build(context, &source, &build, &[])?;
    let root = &context.state.input;
    let cpp = clean::output(context.command(build.join("digits")).current_dir(root))?;
    let python = match context.python() {
        Ok(mut python) => clean::output(python.arg(source.join("digits.py")).current_dir(root))?,
        Err(stop) => {
            return Ok(vec![format!("C++ prints {}; Python was not tried: {}", cpp.trim(), stop.reason)]);
        }
    };
    let same = !cpp.trim().is_empty() && cpp == python;
    expect(same, || format!("C++ prints {cpp:?}, Python {python:?}"))?;
    Ok(vec![format!("both print {}", cpp.trim())])
}

/// The first fenced block of a language.
fn block<'a>(text: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n```{language}\n"))?;
    rest.split_once("```\n").map(|(block, _)| block)
}
