//! Nix for this tree alone: Debian's packages of it, unpacked into cargo's target folder. Of the machine, only `/nix` is
//! written to, where the store has to be.

use super::{no_other_nix, unless};
use anyhow::{Context, Result, bail, ensure};
use executorch_tools::command::output;
use executorch_tools::ensure;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of Debian whose Nix is taken: the first with a Nix that crane and the lock file are written for.
const SUITE: &str = "trixie";
/// What `nix-bin` needs: libraries, and a shell for the sandbox that needs no libraries. Not what its scripts call.
const WANTED: [&str; 4] = ["lib", "zlib1g", "nix-bin", "bash-static"];
/// Libraries of programs that are not run.
const UNWANTED: [&str; 7] = ["libperl", "libpam", "libdebconf", "libdb", "libgdbm", "libwww", "libsemanage"];

/// Settings of the installation. The stand-in adds the paths of the sandbox.
fn configuration(prefix: &Path) -> String {
    format!(
        "experimental-features = nix-command flakes\n\
         build-users-group =\n\
         substituters =\n\
         flake-registry =\n\
         sandbox = true\n\
         sandbox-paths = /bin/sh={}\n\
         warn-dirty = false\n",
        prefix.join("usr/bin/bash-static").display()
    )
}

/// The program, which is installed below `folder` if it is not there.
pub fn nix(folder: &Path) -> Result<PathBuf> {
    no_other_nix()?;
    let prefix = folder.join(SUITE);
    let program = prefix.join("bin/nix");
    let installed = program.is_file().then_some(());
    unless(installed, "install Nix from Debian's packages, for this tree alone", || {
        ensure_root()?;
        let part = folder.join(format!("{SUITE}.part"));
        if part.exists() {
            fs::remove_dir_all(&part)?;
        }
        download(&part.join("apt"), &part.join("prefix"))?;
        // Programs name their loader by its whole path.
        if prefix.exists() {
            fs::remove_dir_all(&prefix)?;
        }
        fs::rename(part.join("prefix"), &prefix)?;
        fs::remove_dir_all(part)?;
        finish(&prefix, &program)
    })?;
    Ok(program)
}

/// Without a daemon, only root can have a store in `/nix`.
fn ensure_root() -> Result<()> {
    let user = output(Command::new("id").arg("-u"))?;
    ensure!(
        user.trim() == "0",
        "Nix is installed without a daemon, which only root can use: be root, or install Nix and type `nix`"
    );
    Ok(())
}

/// Unpacks the packages into `prefix`. apt works on lists and states of its own in `apt`: the machine's are left alone.
fn download(apt_folder: &Path, prefix: &Path) -> Result<()> {
    let debs = apt_folder.join("debs");
    for folder in [&apt_folder.join("lists/partial"), &debs.join("partial"), &prefix.to_owned()] {
        fs::create_dir_all(folder)?;
    }
    let file = |name: &str| apt_folder.join(name);
    fs::write(file("status"), "")?;
    fs::write(file("sources.list"), format!("deb {} {SUITE} main\n", mirror()?))?;
    let quoted = |path: PathBuf| format!("\"{}\"", path.display());
    let settings = [
        ("Dir::Etc::sourcelist", quoted(file("sources.list"))),
        ("Dir::Etc::sourceparts", "\"/dev/null\"".into()),
        ("Dir::Etc::preferences", "\"/dev/null\"".into()),
        ("Dir::Etc::preferencesparts", "\"/dev/null\"".into()),
        ("Dir::State::lists", quoted(file("lists"))),
        ("Dir::State::status", quoted(file("status"))),
        ("Dir::Cache::archives", quoted(debs.clone())),
        ("Dir::Cache::pkgcache", "\"\"".into()),
        ("Dir::Cache::srcpkgcache", "\"\"".into()),
        ("APT::Install-Recommends", "\"false\"".into()),
        ("APT::Sandbox::User", "\"root\"".into()),
        ("Acquire::Languages", "\"none\"".into()),
    ];
    let text: String = settings.iter().map(|(name, value)| format!("{name} {value};\n")).collect();
    fs::write(
        file("apt.conf"),
        text + "#clear APT::Update::Post-Invoke-Success;\n#clear DPkg::Pre-Install-Pkgs;\n",
    )?;
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("APT_CONFIG", file("apt.conf")).current_dir(&debs);
        command
    };
    output(&mut apt_get(&["-q", "update"]))?;
    let plan = output(&mut apt_get(&["-s", "install", "nix-bin"]))?;
    let packages = wanted(&plan);
    ensure!(packages.contains(&"nix-bin"), "apt plans no installation of nix-bin:\n{plan}");
    output(apt_get(&["-q", "download"]).args(&packages))?;
    for deb in fs::read_dir(&debs)? {
        let path = deb?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            output(Command::new("dpkg-deb").arg("-x").arg(path).arg(prefix))?;
        }
    }
    Ok(())
}

/// The address of the machine's own mirror.
fn mirror() -> Result<String> {
    let targets =
        output(Command::new("apt-get").args(["indextargets", "--format", "$(SITE) $(LABEL) $(CREATED_BY)"]))?;
    let known =
        |text: &str| text.lines().find_map(|line| line.strip_suffix(" Debian Packages")).map(String::from);
    if let Some(site) = known(&targets) {
        return Ok(site);
    }
    // Before the first update apt knows what it would fetch, and no labels.
    let uris = output(Command::new("apt-get").args(["update", "--print-uris"]))?;
    let mut sites = uris.lines().filter_map(|line| line.strip_prefix('\'')?.split_once("/dists/"));
    let site = sites.next().map(|(site, _)| site.to_owned());
    site.context("apt is configured with no mirror of Debian: add one to its sources")
}

/// The packages of apt's plan that are unpacked.
fn wanted(plan: &str) -> Vec<&str> {
    let planned = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
    planned
        .filter(|name| WANTED.iter().any(|start| name.starts_with(start)))
        .filter(|name| !UNWANTED.iter().any(|start| name.starts_with(start)))
        .collect()
}

/// Makes the unpacked program find its loader and libraries, and writes its settings and a script that names them.
fn finish(prefix: &Path, program: &Path) -> Result<()> {
    ensure(&[("patchelf", "patchelf")])?;
    let libraries = prefix.join("usr/lib/x86_64-linux-gnu");
    let inner = prefix.join("usr/bin/nix");
    // RPATH instead of RUNPATH: it holds for what the libraries need, too.
    output(
        Command::new("patchelf")
            .arg("--set-interpreter")
            .arg(libraries.join("ld-linux-x86-64.so.2"))
            .args(["--force-rpath", "--set-rpath"])
            .arg(&libraries)
            .arg(&inner),
    )?;
    let settings = prefix.join("etc/nix");
    fs::create_dir_all(&settings)?;
    fs::write(settings.join("nix.conf"), configuration(prefix))?;
    let bin = prefix.join("bin");
    fs::create_dir_all(&bin)?;
    for name in ["nix", "nix-store"] {
        let script = format!(
            "#!/bin/bash\nexport NIX_CONF_DIR='{}'\nexec -a {name} '{}' \"$@\"\n",
            settings.display(),
            inner.display()
        );
        let path = bin.join(name);
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let version = output(Command::new(program).arg("--version"))?;
    if !version.starts_with("nix (Nix)") {
        bail!("{} does not start as Nix: {version}", program.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_taken_and_perl_is_not() {
        let plan = "Inst libc6 (2.41-12 Debian:13 [amd64])\nInst perl-base (5.40 Debian:13 [amd64]) []\n\
                    Inst libperl5.40 (5.40)\nInst zlib1g (1.3)\nInst bash-static (5.2)\nInst nix-bin (2.26)\nConf libc6 (2.41)\n";
        assert_eq!(wanted(plan), ["libc6", "zlib1g", "bash-static", "nix-bin"]);
    }
}
