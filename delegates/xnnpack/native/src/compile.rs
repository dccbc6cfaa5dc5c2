//! Compiles the unpacked sources.

use crate::wrapper::{self, Wrappers};
use crate::{Config, Target};
use anyhow::{Context, Result, bail};
use executorch_tools::command::{output, step};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project that ties the sources together.
pub const PROJECT: &str = include_str!("../cmake/CMakeLists.txt");

/// Flags of every compilation.
///
/// Sections let the linker drop what is not used. zig would add undefined-behaviour traps to builds without
/// optimisation, and takes 512-bit registers for absent until told otherwise, even where AVX-512 is asked for.
pub const FLAGS: &str =
    "-fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -fno-sanitize=undefined -g0";
/// Flags of C++ besides [`FLAGS`]: the library needs no C++ runtime.
pub const CXX_FLAGS: &str = "-fno-exceptions -fno-rtti";

/// Flags for a machine besides [`FLAGS`].
pub fn machine_flags(target: Target) -> &'static str {
    match target {
        Target::X86_64 => "-mevex512",
        Target::Aarch64 => "",
    }
}

/// Definitions for cmake that do not depend on where things lie. All micro-kernels that clang knows are built; the
/// library chooses among them when it runs.
pub const DEFINITIONS: &[&str] = &[
    "CMAKE_BUILD_TYPE=Release",
    "CMAKE_POSITION_INDEPENDENT_CODE=ON",
    "CMAKE_POLICY_VERSION_MINIMUM=3.5",
    "CMAKE_SYSTEM_NAME=Linux",
    // Probes compile and link nothing.
    "CMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
    "CCACHE_BINARY=",
    "XNNPACK_LIBRARY_TYPE=static",
    "XNNPACK_BUILD_TESTS=OFF",
    "XNNPACK_BUILD_BENCHMARKS=OFF",
    "XNNPACK_BUILD_ALL_MICROKERNELS=OFF",
    "XNNPACK_ENABLE_KLEIDIAI=OFF",
    "CPUINFO_LIBRARY_TYPE=static",
    "CPUINFO_LOG_LEVEL=none",
    "CPUINFO_BUILD_TOOLS=OFF",
    "CPUINFO_BUILD_UNIT_TESTS=OFF",
    "CPUINFO_BUILD_MOCK_TESTS=OFF",
    "CPUINFO_BUILD_BENCHMARKS=OFF",
    "CPUINFO_BUILD_PKG_CONFIG=OFF",
];

/// The archives that cmake makes, below its folder; they become one.
const ARCHIVES: [&str; 3] =
    ["xnnpack/libXNNPACK.a", "xnnpack/libmicrokernels-prod.a", "cpuinfo/libcpuinfo.a"];

/// Compiles `sources` (project to folder) with `work` as scratch space, and returns the library's path in it.
pub fn compile(config: &Config, sources: &BTreeMap<String, PathBuf>, work: &Path) -> Result<PathBuf> {
    let zig = config.tools.zig()?;
    let bin = config.tools.cmake()?.join("bin");
    let wrappers = wrapper::write(&work.join("bin"), &zig, config.target)?;
    let project = work.join("project");
    fs::create_dir_all(&project)?;
    fs::write(project.join("CMakeLists.txt"), PROJECT)?;
    let build = work.join("build");
    let command = |program: &Path| {
        let mut command = Command::new(program);
        command
            .env("ZIG_GLOBAL_CACHE_DIR", config.tools.zig_cache())
            .env("ZIG_LOCAL_CACHE_DIR", work.join("zig-cache"));
        command
    };
    step("configure XNNPACK", || {
        let mut cmake = command(&bin.join("cmake"));
        cmake.args(["-G", "Ninja", "-S"]).arg(&project).arg("-B").arg(&build);
        cmake.args(definitions(config, &wrappers, &bin, work, sources));
        output(&mut cmake)
    })?;
    step("compile XNNPACK", || {
        let mut ninja = command(&bin.join("ninja"));
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        ninja.arg("-C").arg(&build).args(["-j", &jobs.to_string()]);
        watch(ninja.args(["XNNPACK", "microkernels-prod", "cpuinfo"]))
    })?;
    let library = work.join("libxnnpack.a");
    let mut ar = command(&wrappers.ar);
    output(ar.arg("qcsDL").arg(&library).args(ARCHIVES.map(|archive| build.join(archive))))?;
    Ok(library)
}

/// All definitions for cmake.
fn definitions(
    config: &Config,
    wrappers: &Wrappers,
    bin: &Path,
    work: &Path,
    sources: &BTreeMap<String, PathBuf>,
) -> Vec<String> {
    // The folder of the build must not stand in its result.
    let map = format!("\"-ffile-prefix-map={}=/xnnpack\"", work.display());
    let flags = format!("{FLAGS} {} {map} {}", machine_flags(config.target), config.flags);
    let mut all: Vec<String> = DEFINITIONS.iter().map(|&text| text.to_owned()).collect();
    all.extend([
        format!("CMAKE_SYSTEM_PROCESSOR={}", config.target.arch()),
        format!("CMAKE_C_FLAGS={flags}"),
        format!("CMAKE_CXX_FLAGS={flags} {CXX_FLAGS}"),
        format!("CMAKE_ASM_FLAGS={flags}"),
    ]);
    let paths = [
        ("CMAKE_C_COMPILER", wrappers.cc.clone()),
        ("CMAKE_CXX_COMPILER", wrappers.cxx.clone()),
        ("CMAKE_AR", wrappers.ar.clone()),
        ("CMAKE_RANLIB", wrappers.ranlib.clone()),
        ("CMAKE_MAKE_PROGRAM", bin.join("ninja")),
        ("Python_EXECUTABLE", bin.join("python")),
    ];
    all.extend(paths.iter().map(|(name, path)| format!("{name}={}", path.display())));
    for (project, folder) in sources {
        all.push(format!("{}_SOURCE_DIR={}", project.to_uppercase(), folder.display()));
    }
    all.iter().map(|definition| format!("-D{definition}")).collect()
}

/// Runs ninja, and tells at each tenth how far it is.
fn watch(ninja: &mut Command) -> Result<()> {
    let mut child = ninja.stdout(Stdio::piped()).spawn().context("cannot start ninja")?;
    let mut rest = String::new();
    let mut told = 0;
    for line in BufReader::new(child.stdout.take().context("no standard output")?).lines() {
        let line = line.context("cannot read ninja's output")?;
        match progress(&line) {
            Some((done, all)) if done * 10 / all > told => {
                told = done * 10 / all;
                eprintln!("xtask: compile XNNPACK: {done} of {all}");
            }
            Some(_) => {}
            None => rest = rest + &line + "\n",
        }
    }
    let status = child.wait()?;
    if status.success() { Ok(()) } else { bail!("the compilation failed ({status}):\n{rest}") }
}

/// The numbers of a line such as `[3/1031] Building …`.
fn progress(line: &str) -> Option<(u64, u64)> {
    let (done, rest) = line.strip_prefix('[')?.split_once('/')?;
    let (all, _) = rest.split_once(']')?;
    Some((done.parse().ok()?, all.parse().ok().filter(|&all| all > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read() {
        assert_eq!(progress("[3/1031] Building C object x.o"), Some((3, 1031)));
        assert_eq!(progress("FAILED: [code=1] x.o"), None);
        assert_eq!(progress("[0/0] nothing"), None);
    }

    #[test]
    fn failures_show_what_was_printed() {
        let script = "echo '[1/2] fine'; echo 'x.c:1: error'; exit 3";
        let error = watch(Command::new("sh").args(["-c", script])).unwrap_err().to_string();
        assert!(error.contains("x.c:1: error") && !error.contains("fine"), "{error}");
    }
}
