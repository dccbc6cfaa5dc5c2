//! Indexes with small wheels, servers for them, and installers from PyPI.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use executorch_tools::Tools;
use wheelhouse_release::index::{Index, Wheel};
use wheelhouse_release::store::Store;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The virtual environment with the installers.
pub fn environment() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    Tools::new(target.join("tools"))
        .venv("installers", &["pip==26.3", "uv==0.13.9", "pypi-simple==1.8.0"])
        .unwrap()
}

/// A wheel with one module, which installers accept.
pub fn wheel(project: &str, version: &str) -> Wheel {
    let name = project.replace('-', "_");
    let info = format!("{name}-{version}.dist-info");
    let metadata =
        format!("Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nRequires-Python: >=3.8, <4\n");
    let wheel = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned();
    // Not compressed below, so that one changed byte damages the content and not the archive.
    let module = format!("VERSION = \"{version}\"\n# {}\n", "x".repeat(500));
    let record = format!("{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n");
    let files = [
        (format!("{name}.py"), module),
        (format!("{info}/METADATA"), metadata),
        (format!("{info}/WHEEL"), wheel),
        (format!("{info}/RECORD"), record),
    ];
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (path, text) in files {
        zip.start_file(path, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    Wheel::read(&format!("{name}-{version}-py3-none-any.whl"), bytes).unwrap()
}

/// Adds wheels of `project` to an index below `root`; a version with a reason is yanked.
pub fn publish(root: &Path, index: &str, project: &str, versions: &[(&str, Option<&str>)]) {
    let store = Store::open(root.to_str().unwrap()).unwrap();
    let index = Index::new(&store, index).unwrap();
    let time = "2026-01-31T12:00:00Z";
    for (version, yanked) in versions {
        let wheel = wheel(project, version);
        index.put_files(&wheel, None).unwrap();
        index
            .change(|catalogue| {
                catalogue.insert(wheel.entry("cpu", time, Vec::new()))?;
                yanked.map_or(Ok(()), |reason| catalogue.yank(wheel.filename(), time, reason))
            })
            .unwrap();
    }
}

/// A server of a folder, which ends when it is dropped.
pub struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT/`
    pub url: String,
    log: PathBuf,
}

impl Server {
    /// Python's plain file server.
    pub fn plain(venv: &Path, root: &Path) -> Self {
        Self::start(venv, root, &["-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
    }

    /// The same, which answers with `index.json` those who ask for JSON.
    pub fn negotiating(venv: &Path, root: &Path) -> Self {
        Self::start(venv, root, &[concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/negotiate.py")])
    }

    fn start(venv: &Path, root: &Path, arguments: &[&str]) -> Self {
        let log = root.with_extension("log");
        let mut child = Command::new(venv.join("bin/python"))
            .arg("-u")
            .args(arguments)
            .arg(root)
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        assert!(!port.is_empty(), "the server said: {line}");
        Self { child, url: format!("http://127.0.0.1:{port}/"), log }
    }

    /// What was asked for so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that installs wheels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installer {
    Pip,
    Uv,
}

/// What an installation gave.
pub struct Installed {
    /// Names of the `.dist-info` folders without their ending: `project-version`.
    pub projects: BTreeSet<String>,
    /// Everything that the installer printed.
    pub output: String,
}

impl Installer {
    /// Installs into an empty folder with `arguments`, without settings from elsewhere and without caches.
    pub fn install(self, venv: &Path, arguments: &[&str]) -> Installed {
        let folder = tempfile::tempdir().unwrap();
        let mut command = match self {
            Self::Pip => Command::new(venv.join("bin/pip")),
            Self::Uv => Command::new(venv.join("bin/uv")),
        };
        match self {
            Self::Pip => {
                command.args(["--isolated", "--disable-pip-version-check", "--no-cache-dir", "install"])
            }
            Self::Uv => command
                .args(["--no-config", "--no-cache", "pip", "install", "--python"])
                .arg(venv.join("bin/python")),
        };
        command.arg("--target").arg(folder.path()).args(arguments);
        for variable in [
            "http_proxy",
            "https_proxy",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "UV_INDEX_URL",
            "UV_DEFAULT_INDEX",
            "PIP_INDEX_URL",
        ] {
            command.env_remove(variable);
        }
        let Output { stdout, stderr, .. } = command.output().unwrap();
        let output = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        let names = std::fs::read_dir(folder.path()).unwrap().map(|item| item.unwrap().file_name());
        let projects =
            names.filter_map(|name| Some(name.to_str()?.strip_suffix(".dist-info")?.to_owned())).collect();
        Installed { projects, output }
    }

    /// Like [`Installer::install`], and expects exactly one project.
    pub fn expect(self, venv: &Path, project: &str, arguments: &[&str]) -> String {
        let installed = self.install(venv, arguments);
        let found: Vec<_> = installed.projects.iter().collect();
        assert_eq!(found, [project], "{self:?} {arguments:?}:\n{}", installed.output);
        installed.output
    }

    /// Expects that nothing is installed; returns what was printed.
    pub fn refuses(self, venv: &Path, arguments: &[&str]) -> String {
        let installed = self.install(venv, arguments);
        assert!(installed.projects.is_empty(), "{self:?} {arguments:?}:\n{}", installed.output);
        installed.output
    }
}
