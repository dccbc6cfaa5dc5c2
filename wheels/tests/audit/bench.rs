//! Small sound wheels, and what it takes to break them in one place.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use tempfile::TempDir;
use wheelhouse::archive::{self, Entry};
use wheelhouse::audit::{self, Expected, Finding};
use wheelhouse::component::{self, Components};
use wheelhouse::record;
use wheelhouse::row::{self, Rows};

pub const COMPONENTS: &str = r#"
    [runtime]
    package = "a"
    cargo-file = "liba.so"
    path = "lib/libexecutorch.so.1"
    exports = "et"

    [plugin]
    package = "b"
    cargo-file = "libb.so"
    path = "lib/libplugin.so.1"
    needs = ["runtime"]
    exports = "none"
    unload = false
    registers = true

    [device]
    package = "d"
    cargo-file = "libd.so"
    path = "lib/libdevice.so.1"
    exports = "none"
    device-code = true

    [planned]
    built = false
    package = "e"
    cargo-file = "libe.so"
    path = "lib/libplanned.so.1"
    exports = "none"

    [python]
    package = "c"
    cargo-file = "libc.so"
    path = "_x.abi3.so"
    needs = ["runtime"]
    exports = "python"
"#;

pub const ROWS: &str = r#"
    [cpu]
    system = "x86_64-linux"
    platform = "manylinux_2_28_x86_64"
    glibc = "2.28"
    python = "cp310"
    label = ""
    index = "cpu"
    components = ["runtime", "plugin", "python"]
    dependencies = []
    gate-images = ["debian-12"]
    publish = true
    tested = { executorch = "1.5.1", torch = "2.13.0", numpy = "2.4.0" }
    budget = { wheel = 120_000, runtime = 60_000, plugin = 60_000, python = 60_000 }

    [cu130]
    system = "x86_64-linux"
    platform = "manylinux_2_28_x86_64"
    glibc = "2.28"
    python = "cp310"
    label = "cu130"
    index = "cu130"
    components = ["device"]
    dependencies = ["nvidia-cuda-runtime>=13,<14; platform_system == 'Linux'"]
    gate-images = ["debian-12"]
    publish = true
    cuda = { version = "13.0", architectures = [80, 90], ptx = 90 }
    tested = { executorch = "1.5.1", torch = "2.13.0", numpy = "2.4.0" }
    budget = { wheel = 60_000, device = 60_000 }

    [planned]
    system = "x86_64-linux"
    platform = "manylinux_2_34_x86_64"
    glibc = "2.34"
    python = "cp310"
    label = ""
    index = "cpu"
    components = ["runtime", "plugin", "python", "planned"]
    dependencies = []
    gate-images = ["debian-12"]
    publish = true
    tested = { executorch = "1.5.1", torch = "2.13.0", numpy = "2.4.0" }
    budget = { wheel = 120_000, runtime = 60_000, plugin = 60_000, python = 60_000, planned = 1 }
"#;

static COMPONENT_TABLE: LazyLock<Components> = LazyLock::new(|| component::parse(COMPONENTS).unwrap());
static ROW_TABLE: LazyLock<Rows> = LazyLock::new(|| row::parse(ROWS, &COMPONENT_TABLE).unwrap());

pub const RUNTIME: &str = "executorch_runtime/lib/libexecutorch.so.1";
pub const PLUGIN: &str = "executorch_runtime/lib/libplugin.so.1";
pub const PYTHON: &str = "executorch_runtime/_x.abi3.so";
pub const DEVICE: &str = "executorch_runtime/lib/libdevice.so.1";
pub const DELEGATE: &str = "demo/libdemo.so";

/// A wheel before it is packed.
pub struct Bench {
    pub name: String,
    pub row: Option<&'static str>,
    pub files: BTreeMap<String, Vec<u8>>,
    pub dist_info: String,
    /// Changes RECORD.
    pub record: fn(String) -> String,
    /// Changes the archive.
    pub bytes: fn(&mut Vec<u8>),
}

impl Bench {
    fn new(project: &str, version: &str, tag: &str, row: Option<&'static str>, requires: &[&str]) -> Self {
        let dist_info = format!("{project}-{version}.dist-info");
        let mut metadata = format!(
            "Metadata-Version: 2.4\nName: {}\nVersion: {version}\nLicense-File: LICENSE\nRequires-Python: >=3.10\n",
            project.replace('_', "-")
        );
        requires.iter().for_each(|requirement| metadata += &format!("Requires-Dist: {requirement}\n"));
        metadata += "\n# Text\n\nRequires-Dist: not a header\n";
        let wheel = format!("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: {tag}\n");
        let files = BTreeMap::from([
            (format!("{dist_info}/METADATA"), metadata.into_bytes()),
            (format!("{dist_info}/WHEEL"), wheel.into_bytes()),
            (format!("{dist_info}/licenses/LICENSE"), b"Do as you like.\n".to_vec()),
        ]);
        let name = format!("{project}-{version}-{tag}.whl");
        Self { name, row, files, dist_info, record: |text| text, bytes: |_| {} }
    }

    /// A sound wheel of the row `cpu`.
    pub fn cpu() -> Self {
        let mut bench =
            Self::new("executorch_runtime", "1.5.0", "cp310-abi3-manylinux_2_28_x86_64", Some("cpu"), &[]);
        bench.add("executorch_runtime/__init__.py", b"\"\"\"Opens '/tmp/a,b'.\"\"\"\n".to_vec());
        bench.add("executorch_runtime/a,b.py", b"".to_vec());
        bench.add(RUNTIME, runtime("", &[]));
        bench.add(PLUGIN, plugin(REGISTERS, PLUGIN_FLAGS));
        bench.add(PYTHON, python("PyLong_FromLong(1)"));
        bench
    }

    /// A sound wheel of the row `cu130`, with device code for `entries` (kind and architecture).
    pub fn cuda(entries: &[(u16, u32)]) -> Self {
        let requires = ["nvidia-cuda-runtime>=13,<14; platform_system == 'Linux'"];
        let tag = "cp310-abi3-manylinux_2_28_x86_64";
        let mut bench = Self::new("executorch_runtime", "1.5.0+cu130", tag, Some("cu130"), &requires);
        let mut library = compile("static int a;", &["-Wl,-soname,libdevice.so.1"]);
        library.extend(fat_binary(entries));
        bench.add(DEVICE, library);
        bench
    }

    /// A sound delegate's wheel.
    pub fn delegate() -> Self {
        let tag = "py3-none-manylinux_2_28_x86_64";
        let mut bench = Self::new("demo", "0.1.0", tag, None, &["executorch-runtime>=1.5"]);
        bench.add("demo/__init__.py", b"def load(): ...\n".to_vec());
        bench.add(
            "demo-0.1.0.dist-info/entry_points.txt",
            b"[executorch_runtime.delegates]\ndemo = demo:load\n".to_vec(),
        );
        bench.add(DELEGATE, delegate(REGISTERS, &["-Wl,-soname,libdemo.so"]));
        bench
    }

    pub fn add(&mut self, path: &str, data: Vec<u8>) {
        self.files.insert(path.into(), data);
    }

    /// Replaces `from` in a text file.
    pub fn edit(&mut self, file: &str, from: &str, to: &str) {
        let path = format!("{}/{file}", self.dist_info);
        let text = String::from_utf8(self.files.remove(&path).unwrap()).unwrap();
        assert!(text.contains(from), "{from}");
        self.files.insert(path, text.replacen(from, to, 1).into_bytes());
    }

    pub fn pack(&self) -> Vec<u8> {
        let mut entries: Vec<Entry> = self
            .files
            .iter()
            .map(|(path, data)| Entry { path: path.clone(), data: data.clone(), executable: false })
            .collect();
        let path = format!("{}/RECORD", self.dist_info);
        let text = record::render(entries.iter().map(|e| (e.path.as_str(), e.data.as_slice())), &path);
        entries.push(Entry { path, data: (self.record)(text).into_bytes(), executable: false });
        let mut bytes = archive::write(&entries).unwrap();
        (self.bytes)(&mut bytes);
        bytes
    }

    pub fn audit(&self) -> Vec<Finding> {
        let row = self.row.map(|name| &ROW_TABLE[name]);
        audit::wheel(&self.name, &self.pack(), &Expected { row, components: &COMPONENT_TABLE })
    }
}

/// A fat binary with an entry for each kind (1 PTX, 2 machine code) and architecture.
pub fn fat_binary(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut fat = b"\x50\xed\x55\xba\x01\x00\x10\x00".to_vec();
    fat.extend((64 * entries.len() as u64).to_le_bytes());
    for (kind, architecture) in entries {
        fat.extend(kind.to_le_bytes());
        fat.extend(0x101_u16.to_le_bytes());
        fat.extend(64_u32.to_le_bytes());
        fat.extend([0; 20]);
        fat.extend(architecture.to_le_bytes());
        fat.extend([0; 32]);
    }
    fat
}

/// C source that registers at load time.
pub const REGISTERS: &str = "int et_register_backend(void); __attribute__((constructor)) static void r(void) { et_register_backend(); }";

pub const PLUGIN_FLAGS: &[&str] = &[
    "-Wl,-soname,libplugin.so.1",
    "-Wl,--enable-new-dtags,-rpath,$ORIGIN",
    "-Wl,-z,nodelete",
    "-l:libexecutorch.so.1",
];

/// The runtime's library, with more source and flags.
pub fn runtime(more: &str, flags: &[&str]) -> Vec<u8> {
    let source = "int et_register_backend(void) { return 1; } int et_register_kernels(void) { return 1; }
                  int et_register_device_allocator(void) { return 1; }";
    compile(&format!("{source} {more}"), &[&["-Wl,-soname,libexecutorch.so.1"], flags].concat())
}

pub fn plugin(source: &str, flags: &[&str]) -> Vec<u8> {
    compile(source, flags)
}

/// The extension module, which evaluates `call` of Python's API.
pub fn python(call: &str) -> Vec<u8> {
    let source = format!(
        "void *PyLong_FromLong(long); void *PyUnicode_AsUTF8(long); void *PyObject_GetBuffer(long);
         int et_register_kernels(void);
         void *PyInit__x(void) {{ et_register_kernels(); return {call}; }}"
    );
    compile(&source, &["-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib", "-l:libexecutorch.so.1"])
}

pub fn delegate(source: &str, flags: &[&str]) -> Vec<u8> {
    compile(source, &[flags, &["-l:libexecutorch.so.1"]].concat())
}

/// Compiles a shared library, which may link to the runtime's.
pub fn compile(source: &str, flags: &[&str]) -> Vec<u8> {
    static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let source =
            "int et_register_backend(void) { return 1; } int et_register_kernels(void) { return 1; }";
        std::fs::write(folder.path().join("runtime.c"), source).unwrap();
        cc(folder.path(), "runtime.c", "libexecutorch.so.1", &["-Wl,-soname,libexecutorch.so.1"]);
        folder
    });
    static TURN: Mutex<()> = Mutex::new(());
    let _one_at_a_time = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = FOLDER.path();
    std::fs::write(folder.join("a.c"), source).unwrap();
    cc(folder, "a.c", "a.so", flags);
    std::fs::read(folder.join("a.so")).unwrap()
}

fn cc(folder: &Path, source: &str, output: &str, flags: &[&str]) {
    let mut cc = Command::new("cc");
    cc.current_dir(folder).args([
        "-shared",
        "-fPIC",
        "-s",
        "-Wl,--no-as-needed",
        source,
        "-o",
        output,
        "-L.",
    ]);
    assert!(cc.args(flags).status().unwrap().success(), "{flags:?}");
}
