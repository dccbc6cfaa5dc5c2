//! What the stand-in is told of this machine, and what its sandbox sees of it.

use super::{Nix, add, unless};
use crate::place::Place;
use crate::wheel;
use anyhow::{Context, Result};
use executorch_tools::command::{output, run};
use executorch_tools::{Program, Tools};
use executorch_vm::{Image, Settings, to_stderr};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::digest::hex;

/// The packages of Debian that what is built may depend on.
const PACKAGES: [&str; 7] = ["bash", "binutils", "coreutils", "gcc", "libc6-dev", "python3", "tar"];

/// What the stand-in's builders call of the machine.
pub const PROGRAMS: [Program; 2] = [("xz", "xz-utils"), ("zstd", "zstd")];

/// What looks at Nix files: the formatter of nixpkgs in Rust, and a finder of dead code. No registry has them built.
const LINTS: [&str; 2] = ["nixfmt_rs@0.5.3", "deadnix@1.3.1"];

/// Installs [`LINTS`], once.
pub fn lints(place: &Place) -> Result<()> {
    let root = lints_folder(place);
    let stamp = root.join("lints.stamp");
    let wanted = LINTS.join("\n");
    let done = fs::read_to_string(&stamp).is_ok_and(|text| text == wanted).then_some(());
    unless(done, "install what looks at Nix files", || {
        let mut cargo = Command::new("cargo");
        cargo.args(["install", "--quiet", "--locked", "--force", "--root"]).arg(&root).args(LINTS);
        // They run for an instant, and are compiled for longer than that.
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "false").env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        output(cargo.env("CARGO_TARGET_DIR", place.target.join("nix/lints")).current_dir(&place.root))?;
        Ok(fs::write(&stamp, &wanted)?)
    })
}

fn lints_folder(place: &Place) -> PathBuf {
    place.tools.dir().join("lints")
}

/// Settings of Nix: what the sandbox sees of the machine, at places that are the same everywhere. Outside of the sandbox
/// there are links at the same places, for what is run there.
/// `cuda` says whether the compilers of CUDA code are needed.
pub fn settings(place: &Place, cuda: bool) -> Result<String> {
    let own = [
        ("/nix/host/rust", sysroot(place)?),
        ("/nix/host/zig", folder_of(&place.tools.zig()?)?),
        ("/nix/host/cmake", cmake_data(place)?),
        ("/nix/host/ninja", place.tools.cmake()?.join("bin/ninja")),
    ];
    let lints = lints_folder(place).join("bin");
    let mut own = own.map(|(at, path)| (at.to_owned(), path)).to_vec();
    own.extend(lints.is_dir().then(|| ("/nix/host/lints".to_owned(), lints)));
    for (version, folder) in nvrtc(place, cuda)? {
        own.push((format!("/nix/host/nvrtc-{version}"), folder));
    }
    let mut paths = Vec::new();
    for (at, path) in own {
        link(Path::new(&at), &path)?;
        paths.push(format!("{at}={}", path.display()));
    }
    let system = [
        "/bin=/usr/bin",
        "/lib=/usr/lib",
        "/lib64=/usr/lib64",
        "/usr",
        "/etc/alternatives",
        "/etc/ld.so.cache",
    ];
    paths.extend(system.map(String::from));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(format!(
        "sandbox-paths = {}\nmax-jobs = {cores}\ncores = {cores}\nextra-platforms = aarch64-linux\n",
        paths.join(" ")
    ))
}

/// The compilers of CUDA code by version: those that are here, or all, downloaded, if they are `wanted`.
fn nvrtc(place: &Place, wanted: bool) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for (version, pin) in executorch_cuda_native::pins()? {
        let here = place.native.join(format!("nvrtc-{}-{}", pin.version, std::env::consts::ARCH));
        if wanted || here.is_dir() {
            found.push((version, executorch_cuda_native::download(&pin, &place.native, &place.tools)?));
        }
    }
    Ok(found)
}

/// Makes `at` a link to `path`.
fn link(at: &Path, path: &Path) -> Result<()> {
    if fs::read_link(at).is_ok_and(|target| target == path) {
        return Ok(());
    }
    let context = || format!("cannot make {} a link to {}", at.display(), path.display());
    fs::create_dir_all(at.parent().context("the root folder")?).with_context(context)?;
    // Replaced at once: what runs meanwhile in another tree finds the one or the other.
    let new = at.with_extension(std::process::id().to_string());
    std::os::unix::fs::symlink(path, &new).with_context(context)?;
    fs::rename(&new, at).with_context(context)
}

/// Copies `pkgs/offline` beside a description of this machine with `images`, and those that were made before; returns
/// the folder.
pub fn stand_in(place: &Place, folder: &Path, nix: &Nix, images: &[Image]) -> Result<PathBuf> {
    let mut machines = serde_json::Map::new();
    for image in images {
        machines.insert(image.name(), machine(place, folder, nix, image)?.into());
    }
    for image in Image::all() {
        let known = fs::read_to_string(stamp(folder, &image)).ok();
        if let Some(path) = known.filter(|path| Path::new(path).exists()) {
            machines.entry(image.name()).or_insert(path.into());
        }
    }
    let to = folder.join("offline");
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    output(Command::new("cp").arg("-R").arg(place.root.join("pkgs/offline/.")).arg(&to))?;
    let text = serde_json::to_string_pretty(&description(place, machines.into())?)?;
    fs::write(to.join("host.json"), text)?;
    Ok(to)
}

/// What `pkgs/offline` reads from `host.json`.
fn description(place: &Place, machines: Value) -> Result<Value> {
    let rustc = output(Command::new("rustc").arg("-vV").current_dir(&place.root))?;
    let release =
        rustc.lines().find_map(|line| line.strip_prefix("release: ")).context("rustc tells no release")?;
    let format = "${Package} ${Version}\n";
    // Packages that are not there have no line.
    let listed = Command::new("dpkg-query").args(["-W", "-f", format]).args(PACKAGES).output();
    let packages = listed.context("dpkg-query")?.stdout;
    let mut hash = Sha256::new();
    hash.update(&rustc);
    hash.update(Tools::ZIG);
    hash.update(packages);
    let digest: String = hex(&hash.finalize());
    Ok(json!({
        "fingerprint": digest,
        "rust": release,
        "zig": Tools::ZIG.rsplit('=').next().unwrap_or_default(),
        "machines": machines,
        "nvrtc": nvrtc(place, false)?.into_iter().map(|(version, _)| version).collect::<Vec<_>>(),
        "lints": lints_folder(place).is_dir(),
    }))
}

/// The clean machine in the store: its image, and the program that starts it. Made if the machine's mirror has a newer one.
fn machine(place: &Place, folder: &Path, nix: &Nix, image: &Image) -> Result<String> {
    let name = image.name();
    let settings = Settings::from_environment(place.target.join("vm"));
    image.prepare(&settings, &to_stderr)?;
    let mut cargo = Command::new("cargo");
    cargo.current_dir(&place.root).env("CARGO_TARGET_DIR", &place.target);
    cargo.args(["build", "--quiet", "--locked", "--profile", "xtask", "--package", "executorch-vm"]);
    run(cargo.args(["--example", "machine"]))?;
    let program = place.target.join("xtask/examples/machine");
    let made = newest(&settings.cache, &name)?;
    let key = format!("{} {}", wheel::file_digest(&program)?, made.display());
    let (stamp, keys) = (stamp(folder, image), folder.join(format!("{name}.key")));
    let known = fs::read_to_string(&keys).is_ok_and(|text| text == key);
    let known = fs::read_to_string(&stamp).ok().filter(|path| known && Path::new(path).exists());
    unless(known, &format!("add the clean machine {name} to the store"), || {
        let parts = folder.join(format!("{name}.part"));
        if parts.exists() {
            fs::remove_dir_all(&parts)?;
        }
        let images = parts.join("images");
        let to = images.join(made.file_name().context("an image without a name")?);
        fs::create_dir_all(&to)?;
        for file in fs::read_dir(&made)? {
            let file = file?;
            fs::hard_link(file.path(), to.join(file.file_name()))
                .or_else(|_| fs::copy(file.path(), to.join(file.file_name())).map(drop))?;
        }
        fs::copy(&program, parts.join("machine"))?;
        let path = add(nix, &name, &parts)?;
        fs::write(&stamp, &path)?;
        fs::write(&keys, key)?;
        fs::remove_dir_all(parts)?;
        Ok(path)
    })
}

/// The file that remembers where a machine lies in the store.
fn stamp(folder: &Path, image: &Image) -> PathBuf {
    folder.join(format!("{}.stamp", image.name()))
}

/// The folder of the newest image called `name`.
fn newest(cache: &Path, name: &str) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(cache).with_context(|| cache.display().to_string())? {
        let path = entry?.path();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // `debian-12-arm64-…` is another image than `debian-12-…`.
        let key = file.strip_prefix(&format!("{name}-")).filter(|key| !key.starts_with("arm64"));
        if key.is_some() && path.join("image.json").is_file() {
            found.push((fs::metadata(path.join("image.json"))?.modified()?, path));
        }
    }
    let newest = found.into_iter().max();
    newest.map(|(_, path)| path).with_context(|| format!("{} has no image {name}", cache.display()))
}

fn sysroot(place: &Place) -> Result<PathBuf> {
    let text = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(&place.root))?;
    Ok(PathBuf::from(text.trim()))
}

fn folder_of(file: &Path) -> Result<PathBuf> {
    let folder = file.parent().with_context(|| format!("{} lies in no folder", file.display()))?;
    Ok(fs::canonicalize(folder)?)
}

/// The folder of cmake's own files: what lies in its `bin` are scripts that name the environment.
fn cmake_data(place: &Place) -> Result<PathBuf> {
    let environment = place.tools.cmake()?;
    let script = "import cmake, os; print(os.path.join(os.path.dirname(cmake.__file__), 'data'))";
    let text = output(Command::new(environment.join("bin/python")).args(["-c", script]))?;
    Ok(PathBuf::from(text.trim()))
}
