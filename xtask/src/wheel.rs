//! `cargo xtask wheel ROW`: links the row's components in order and packs them.

use crate::place::Place;
use crate::{linker, provenance};
use anyhow::{Context, Result, bail};
use executorch_tools::command::{output, run, step};
use executorch_xnnpack_native::Target;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::component::{self, Component, Components};
use wheelhouse::digest::{hex, sha256};
use wheelhouse::row::{self, Row};
use wheelhouse::{pack, version::Version};

/// Environment: the folders that hold the crates' sources, instead of those of cargo's registries.
const CRATES: &str = "EXECUTORCH_CRATES";

/// What a wheel is made from, besides the tools.
const INPUTS: [&str; 16] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "LICENSE",
    ".cargo",
    "runtime",
    "delegates",
    "wheels/Cargo.toml",
    "wheels/components.toml",
    "wheels/description.md",
    "wheels/exports",
    "wheels/licenses.toml",
    "wheels/rows.toml",
    "wheels/src",
    "xtask/src",
    "xtask/tools",
];

/// Builds the wheel of `name` into `out`, with its statement beside it, and returns its path; does nothing if nothing
/// changed.
pub fn build(place: &Place, name: &str, out: &Path) -> Result<PathBuf> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, name)?;
    row.require_built(&components)?;
    let version: Version = env!("CARGO_PKG_VERSION").parse()?;
    let stage = place.target.join("wheel").join(name);
    fs::create_dir_all(&stage)?;
    fs::create_dir_all(out)?;

    let inputs = digest(place)?;
    let stamp = stage.join(format!("stamp-{}", sha256(out.as_os_str().as_encoded_bytes())));
    if let Some(path) = unchanged(&stamp, &inputs) {
        eprintln!("xtask: wheel {name}: nothing changed");
        // The commit may be another one.
        provenance::state(place, name, &stage, &INPUTS, &path)?;
        return Ok(path);
    }
    let zig = place.tools.zig()?;
    if row.components.iter().any(|component| component == "backend_xnnpack") {
        // Its build script would do it, but cargo shows nothing of what build scripts tell.
        let target = Target::from_arch(row.system.arch())?;
        let library = executorch_xnnpack_native::build(&place.xnnpack(target))?;
        let licenses = stage.join("licenses");
        fs::create_dir_all(&licenses)?;
        for license in fs::read_dir(library.licenses())? {
            let license = license?;
            fs::copy(license.path(), licenses.join(license.file_name()))?;
        }
    }
    provenance::toolchain(place, &stage, &zig)?;
    for component in &row.components {
        let declared = components.get(component).context("rows are checked against components")?;
        step(&format!("build {}", declared.package), || {
            link(place, &zig, &stage, row, declared, &components)
        })?;
    }
    let wheel = step(&format!("pack and audit wheel {name}"), || {
        pack::pack(&place.root, &stage, row, &components, &version)
    })?;
    let path = out.join(&wheel.name);
    fs::write(&path, &wheel.bytes)?;
    eprintln!("xtask: {} has {} bytes", wheel.name, wheel.bytes.len());
    provenance::state(place, name, &stage, &INPUTS, &path)?;
    fs::write(stamp, format!("{inputs}\n{}\n{}", sha256(&wheel.bytes), path.display()))?;
    Ok(path)
}

/// Builds again from a copy in another folder and compares the bytes.
pub fn check_reproducible(place: &Place, name: &str, wheel: &Path) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("a-folder-with-another-and-longer-name").tempdir()?;
    let copy = Place {
        root: dir.path().join("src"),
        target: dir.path().join("t"),
        tools: place.tools.clone(),
        native: place.native.clone(),
    };
    let list = output(
        Command::new("git").args(["ls-files", "-zco", "--exclude-standard"]).current_dir(&place.root),
    )?;
    for file in list.split_terminator('\0').filter(|file| place.root.join(file).is_file()) {
        let to = copy.root.join(file);
        fs::create_dir_all(to.parent().context("no parent")?)?;
        fs::copy(place.root.join(file), to)?;
    }
    let second = build(&copy, name, &dir.path().join("dist"))?;
    if fs::read(&second)? != fs::read(wheel)? {
        let kept = dir.keep();
        bail!("not reproducible: {} differs from the wheel in {}", wheel.display(), kept.display());
    }
    eprintln!("xtask: wheel {name}: both builds have the same bytes");
    Ok(())
}

/// Links the component `name` of a row into `stage`, where the components that it needs are already; without a name,
/// compiles what all of the row's components depend on.
pub fn component(place: &Place, row: &str, name: Option<&str>, stage: &Path) -> Result<()> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    let row = row::find(&rows, row)?;
    row.require_built(&components)?;
    fs::create_dir_all(stage)?;
    let zig = place.tools.zig()?;
    match name {
        Some(name) => {
            let listed = row.components.iter().any(|component| component == name);
            let declared = components.get(name).filter(|_| listed);
            let declared = declared.with_context(|| {
                format!("row `{}` has no component `{name}`: it has {}", row.name, row.components.join(", "))
            })?;
            link(place, &zig, stage, row, declared, &components)
        }
        None => row.components.iter().filter_map(|name| components.get(name)).try_for_each(|declared| {
            // Where all sources are empty, nothing but the dependencies is of use.
            run(&mut cargo(place, &zig, stage, row, declared)?)
        }),
    }
}

/// Packs and audits the wheel of a row from the libraries in `stage`, with the licences of C libraries in `licenses` there;
/// returns its path in `out`.
pub fn assemble(place: &Place, row: &str, stage: &Path, out: &Path) -> Result<PathBuf> {
    let components = component::load(&place.root.join("wheels/components.toml"))?;
    let rows = row::load(&place.root.join("wheels/rows.toml"), &components)?;
    provenance::toolchain(place, stage, &place.tools.zig()?)?;
    let version: Version = env!("CARGO_PKG_VERSION").parse()?;
    let wheel = pack::pack(&place.root, stage, row::find(&rows, row)?, &components, &version)?;
    fs::create_dir_all(out)?;
    let path = out.join(&wheel.name);
    fs::write(&path, wheel.bytes).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Links one component into `stage` under its shipped name.
fn link(
    place: &Place,
    zig: &Path,
    stage: &Path,
    row: &Row,
    component: &Component,
    all: &Components,
) -> Result<()> {
    let mut command = cargo(place, zig, stage, row, component)?;
    for argument in link_arguments(place, row, component, all)? {
        command.arg("-C").arg(format!("link-arg={argument}"));
    }
    run(&mut command)?;
    let built = place.target.join(row.system.triple()).join("release").join(&component.cargo_file);
    fs::copy(&built, stage.join(component.file_name())).with_context(|| built.display().to_string())?;
    Ok(())
}

/// The command that compiles and links a component; arguments for rustc may follow.
fn cargo(place: &Place, zig: &Path, stage: &Path, row: &Row, component: &Component) -> Result<Command> {
    let mut command = cargo_for(place, zig, stage, row)?;
    command.args(["rustc", "--quiet", "--locked", "--release", "--lib", "--crate-type", "cdylib"]).args([
        "--package",
        &component.package,
        "--target",
        &row.system.triple(),
        "--",
    ]);
    Ok(command)
}

/// Cargo with what compiles and links for a row; arguments are to follow.
pub fn cargo_for(place: &Place, zig: &Path, stage: &Path, row: &Row) -> Result<Command> {
    let arch = row.system.arch();
    let triple = row.system.triple();
    let wrapper = place.tools.dir().join(linker::NAME);
    let this = std::env::current_exe()?;
    if fs::read_link(&wrapper).ok().as_ref() != Some(&this) {
        let _missing_is_fine = fs::remove_file(&wrapper);
        fs::create_dir_all(place.tools.dir())?;
        std::os::unix::fs::symlink(this, &wrapper)?;
    }
    let variable = triple.replace('-', "_");
    let mut command = Command::new("cargo");
    command
        .current_dir(&place.root)
        .env("CARGO_TARGET_DIR", &place.target)
        .env(format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase()), &wrapper)
        .env("CARGO_ENCODED_RUSTFLAGS", remaps(place)?.join("\u{1f}"))
        .env(executorch_xnnpack_native::CACHE, &place.native)
        .env("SOURCE_DATE_EPOCH", "315532800")
        .env("PYO3_NO_PYTHON", "1")
        .env("ZIG_GLOBAL_CACHE_DIR", place.tools.zig_cache())
        .env("ZIG_LOCAL_CACHE_DIR", place.tools.zig_cache())
        .env(linker::ZIG, zig)
        .env(linker::TARGET, format!("{arch}-linux-gnu.{}", row.glibc))
        .env(linker::STAGE, stage);
    if let Some(cuda) = row.cuda.as_ref().filter(|cuda| !cuda.architectures.is_empty()) {
        let architectures = cuda.architectures.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        // What the CUDA crates' build scripts read.
        command
            .env(executorch_cuda_native::VERSION, &cuda.version)
            .env(executorch_cuda_native::ARCHITECTURES, architectures)
            .env(executorch_cuda_native::PTX, cuda.ptx.to_string());
    }
    Ok(command)
}

/// The linker's arguments; none depends on where the source tree lies.
fn link_arguments(place: &Place, row: &Row, component: &Component, all: &Components) -> Result<Vec<String>> {
    let script = format!("wheels/{}", component.exports.version_script());
    fs::metadata(place.root.join(&script)).context(script.clone())?;
    let mut arguments = vec!["-Wl,--build-id=sha1".to_owned(), format!("-Wl,--version-script={script}")];
    match component.soname() {
        Some(soname) => arguments.extend([format!("-Wl,-soname,{soname}"), "-Wl,--no-undefined".into()]),
        // CPython's symbols come from the interpreter that loads the module.
        None => arguments.push("-Wl,--allow-shlib-undefined".into()),
    }
    if !component.unload {
        arguments.push("-Wl,-z,nodelete".into());
    }
    if let Some(runpath) = row.runpath(component) {
        arguments.extend(["-Wl,--enable-new-dtags".into(), format!("-Wl,-rpath,{runpath}")]);
    }
    for need in &component.needs {
        let need = all.get(need).with_context(|| format!("unknown component `{need}`"))?;
        arguments.push(format!("-l:{}", need.file_name()));
    }
    Ok(arguments)
}

/// Flags that replace this machine's folders in panic messages.
fn remaps(place: &Place) -> Result<Vec<String>> {
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cargo"))?;
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![remap(&place.root, "/src"), remap(&place.target, "/out")];
    if let Some(folders) = std::env::var_os(CRATES) {
        flags.extend(std::env::split_paths(&folders).map(|folder| remap(&folder, "/crates")));
    } else {
        let registries = Path::new(&home).join("registry/src");
        if !registries.is_dir() {
            run(Command::new("cargo").args(["fetch", "--locked"]).current_dir(&place.root))?;
        }
        for registry in fs::read_dir(registries)? {
            flags.push(remap(&registry?.path(), "/crates"));
        }
    }
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(&place.root))?;
    flags.push(remap(&Path::new(sysroot.trim()).join("lib/rustlib/src/rust"), "/rust"));
    Ok(flags)
}

/// The wheel that `stamp` tells of, if it was made from the same inputs and is still there.
fn unchanged(stamp: &Path, inputs: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(stamp).ok()?;
    let (before, rest) = text.split_once('\n')?;
    let (wheel, path) = rest.split_once('\n')?;
    let bytes = fs::read(path).ok()?;
    (before == inputs && sha256(bytes) == wheel).then(|| path.into())
}

/// A digest over all inputs, their names, and the compiler.
fn digest(place: &Place) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(output(Command::new("rustc").arg("-vV").current_dir(&place.root))?);
    for input in INPUTS {
        hash_tree(&mut hash, &place.root.join(input), input)?;
    }
    Ok(hex(&hash.finalize()))
}

fn hash_tree(hash: &mut Sha256, path: &Path, name: &str) -> Result<()> {
    if path.is_dir() {
        let mut names: Vec<_> =
            fs::read_dir(path)?.map(|item| Ok(item?.file_name())).collect::<Result<_>>()?;
        names.sort();
        for item in names.iter().filter(|item| *item != "__pycache__" && *item != "tests") {
            hash_tree(hash, &path.join(item), &format!("{name}/{}", item.to_string_lossy()))?;
        }
        return Ok(());
    }
    let data = fs::read(path).with_context(|| path.display().to_string())?;
    hash.update(format!("{name}\0{}\0", data.len()));
    hash.update(data);
    Ok(())
}

/// The SHA-256 of a file, in hexadecimal digits.
pub fn file_digest(path: &Path) -> Result<String> {
    Ok(sha256(fs::read(path).with_context(|| path.display().to_string())?))
}
