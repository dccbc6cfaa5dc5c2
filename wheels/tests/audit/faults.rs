//! The faults. Each says which rules must object, in the order of the audit.

use wheelhouse::audit::Rule::{self, *};

use crate::bench::*;

pub struct Fault {
    pub name: &'static str,
    pub rules: &'static [Rule],
    pub sound: fn() -> Bench,
    pub change: fn(&mut Bench),
}

/// Pairs of a name, rules and a change of the sound wheel.
macro_rules! faults {
    ($sound:expr; $($name:literal => $rules:expr, |$bench:ident| $change:expr;)+) => {
        vec![$(Fault {
            name: $name,
            rules: &$rules,
            sound: $sound,
            change: |$bench| { $change; },
        }),+]
    };
}

pub fn all() -> Vec<Fault> {
    [archive(), record(), metadata(), layout(), libraries(), gpu(), delegates()]
        .into_iter()
        .flatten()
        .collect()
}

/// Where `needle` is in `bytes` for the `nth` time.
fn find(bytes: &[u8], needle: &[u8], nth: usize) -> usize {
    let places = bytes.windows(needle.len()).enumerate().filter(|(_, window)| *window == needle);
    places.map(|(at, _)| at).nth(nth).unwrap()
}

/// The first file's own header, and its record in the directory.
fn headers(bytes: &[u8]) -> (usize, usize) {
    (find(bytes, b"PK\x03\x04", 0), find(bytes, b"PK\x01\x02", 0))
}

fn archive() -> Vec<Fault> {
    faults! { Bench::cpu;
        "parent folder in a name" => [ZipName], |b| b.add("executorch_runtime/../../evil.py", vec![]);
        "absolute name" => [ZipName], |b| b.add("/etc/evil", vec![]);
        "backslash in a name" => [ZipName], |b| b.add("executorch_runtime\\evil.py", vec![]);
        "drive in a name" => [ZipName], |b| b.add("c:evil.py", vec![]);
        "line break in a name" => [ZipName], |b| b.add("executorch_runtime/a\nb.py", vec![]);
        "one name twice" => [ZipDuplicate], |b| {
            b.add("executorch_runtime/dup1.py", b"a".to_vec());
            b.add("executorch_runtime/dup2.py", b"b".to_vec());
            b.bytes = |bytes| while let Some(at) = bytes.windows(7).position(|w| w == b"dup2.py") {
                bytes[at + 3] = b'1';
            };
        };
        "names that differ in case" => [ZipDuplicate], |b| {
            b.add("executorch_runtime/dup.py", vec![]);
            b.add("executorch_runtime/Dup.py", vec![]);
        };
        "zip bomb" => [ZipBomb], |b| b.add("executorch_runtime/zeros.bin", vec![0; 4 << 20]);
        "unpacks to more than it says" => [ZipBomb], |b| b.bytes = |bytes| {
            let (own, directory) = headers(bytes);
            bytes[own + 22..own + 26].fill(0);
            bytes[directory + 24..directory + 28].fill(0);
        };
        "unpacks to less than it says" => [ZipStructure], |b| b.bytes = |bytes| {
            let (own, directory) = headers(bytes);
            bytes[own + 22] += 1;
            bytes[directory + 24] += 1;
        };
        "wrong checksum" => [ZipStructure], |b| b.bytes = |bytes| {
            let (own, directory) = headers(bytes);
            bytes[own + 14] ^= 1;
            bytes[directory + 16] ^= 1;
        };
        "headers that contradict each other" => [ZipStructure], |b| b.bytes = |bytes| {
            let (own, _) = headers(bytes);
            bytes[own + 30] ^= 1;
        };
        "bytes before the archive" => [ZipStructure], |b| b.bytes = |bytes| { bytes.insert(0, 0); };
        "bytes behind the archive" => [ZipStructure], |b| b.bytes = |bytes| bytes.push(0);
        "cut off" => [ZipStructure], |b| b.bytes = |bytes| bytes.truncate(bytes.len() / 2);
        "empty" => [ZipStructure], |b| b.bytes = Vec::clear;
        "encrypted" => [ZipStructure], |b| b.bytes = |bytes| {
            let (own, directory) = headers(bytes);
            bytes[own + 6] |= 1;
            bytes[directory + 8] |= 1;
        };
        "symbolic link" => [ZipLink], |b| b.bytes = |bytes| {
            let (_, directory) = headers(bytes);
            bytes[directory + 41] = 0xa1;
        };
    }
}

fn record() -> Vec<Fault> {
    faults! { Bench::cpu;
        "a digest of something else" => [Record], |b| b.record = |text| text.replacen("sha256=", "sha256=A", 1);
        "a wrong size" => [Record], |b| b.record = |text| text.replacen(",0\n", ",1\n", 1);
        "a file that is not named" => [Record], |b| b.record = |text| text.split_once('\n').unwrap().1.into();
        "a named file that is not there" => [Record], |b| b.record = |text| text + "executorch_runtime/x.py,sha256=,0\n";
        "a name twice" => [Record], |b| b.record = |text| format!("{text}{text}");
        "a digest of itself" => [Record], |b| b.record = |text| text.replace("RECORD,,", "RECORD,sha256=x,1");
        "no table" => [Record], |b| b.record = |_| "\"".into();
        "two fields" => [Record], |b| b.record = |text| text + "a,b\n";
    }
}

fn metadata() -> Vec<Fault> {
    faults! { Bench::cpu;
        "not a wheel's name" => [Name], |b| b.name = "executorch_runtime.zip".into();
        "file name of another version" => [Name], |b| b.name = b.name.replace("1.5.0", "1.6.0");
        "another project" => [Name], |b| b.edit("METADATA", "executorch-runtime", "executorch");
        "another version in METADATA" => [Version], |b| b.edit("METADATA", "Version: 1.5.0", "Version: 1.5.1");
        "a label that is not the row's" => [Version], |b| {
            *b = Bench::cpu();
            for (path, data) in std::mem::take(&mut b.files) {
                b.files.insert(path.replace("-1.5.0.", "-1.5.0+cu126."), data);
            }
            b.dist_info = "executorch_runtime-1.5.0+cu126.dist-info".into();
            b.name = b.name.replace("1.5.0", "1.5.0+cu126");
            b.edit("METADATA", "Version: 1.5.0", "Version: 1.5.0+cu126");
        };
        "a newer Python floor" => [Python], |b| b.edit("METADATA", ">=3.10", ">=3.12");
        "a dependency too much" => [Dependencies], |b| b.edit("METADATA", "\n\n", "\nRequires-Dist: numpy>=2\n\n");
        "no METADATA" => [Metadata], |b| { b.files.remove("executorch_runtime-1.5.0.dist-info/METADATA"); };
        "no WHEEL" => [Metadata], |b| { b.files.remove("executorch_runtime-1.5.0.dist-info/WHEEL"); };
        "two names" => [Metadata], |b| b.edit("METADATA", "Version:", "Name: executorch-runtime\nVersion:");
        "a licence that is not shipped" => [Metadata], |b| b.edit("METADATA", "LICENSE", "COPYING");
        "pure" => [Metadata], |b| b.edit("WHEEL", "Purelib: false", "Purelib: true");
        "tags that contradict each other" => [Tag], |b| b.edit("WHEEL", "manylinux_2_28", "manylinux_2_17");
        "the tag of a newer system" => [Tag], |b| {
            b.name = b.name.replace("manylinux_2_28", "manylinux_2_34");
            b.edit("WHEEL", "manylinux_2_28", "manylinux_2_34");
        };
        "the tag of another machine" => [Tag], |b| {
            b.name = b.name.replace("x86_64", "aarch64");
            b.edit("WHEEL", "x86_64", "aarch64");
        };
    }
}

fn layout() -> Vec<Fault> {
    faults! { Bench::cpu;
        "a file of another package" => [Layout], |b| b.add("numpy/__init__.py", vec![]);
        "compiled Python" => [Layout], |b| b.add("executorch_runtime/__pycache__/a.cpython-310.pyc", vec![]);
        "a library over its budget" => [Budget], |b| b.add(RUNTIME, runtime("const char et_big[60000] = {1};", &[]));
        "a wheel over its budget" => [Budget], |b| {
            let mut state = 1_u32;
            let noise = std::iter::repeat_with(|| { state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); (state >> 24) as u8 });
            let noise = noise.take(130_000).collect();
            b.add("executorch_runtime/noise.bin", noise);
        };
        "a component that is not there" => [Missing], |b| { b.files.remove(PLUGIN); };
        "a library of no component" => [Unexpected], |b| {
            b.add("executorch_runtime/lib/libextra.so.1", compile("static int a;", &["-Wl,-soname,libextra.so.1"]));
        };
        "a component that is not built" => [Unbuilt, Tag, Missing], |b| b.row = Some("planned");
        "a build path in a library" => [BuildPath], |b| {
            b.add(RUNTIME, runtime("const char *et_a = \"/home/me/src/a.c\";", &[]));
        };
        "a build path in a text" => [BuildPath], |b| b.add("executorch_runtime/a.pc", b"prefix=/root/src\n".to_vec());
    }
}

/// The plugin, with flags that replace or add to the sound ones.
fn plugin_with(flags: &[&str]) -> Vec<u8> {
    plugin(REGISTERS, &[PLUGIN_FLAGS, flags].concat())
}

fn libraries() -> Vec<Fault> {
    faults! { Bench::cpu;
        "not a library" => [Malformed], |b| b.add(PLUGIN, b"text".to_vec());
        "half a library" => [Malformed], |b| b.files.get_mut(PLUGIN).unwrap().truncate(5000);
        "no section headers" => [Malformed], |b| b.files.get_mut(PLUGIN).unwrap()[40..48].fill(0);
        "a 32-bit library" => [Malformed], |b| b.files.get_mut(PLUGIN).unwrap()[4] = 1;
        "a library for another machine" => [Machine], |b| b.files.get_mut(PLUGIN).unwrap()[18] = 183;
        "too new glibc" => [Ceiling], |b| {
            b.add(RUNTIME, runtime("int gettid(void); int et_a(void) { return gettid(); }", &[]));
        };
        "another SONAME" => [Soname], |b| b.add(PLUGIN, plugin_with(&["-Wl,-soname,libplugin.so"]));
        "no SONAME" => [Soname], |b| b.add(PLUGIN, plugin(REGISTERS, &PLUGIN_FLAGS[1..]));
        "RPATH" => [Rpath], |b| b.add(RUNTIME, runtime("", &["-Wl,--disable-new-dtags,-rpath,$ORIGIN"]));
        "an absolute search path" => [Runpath], |b| b.add(PLUGIN, plugin_with(&["-Wl,-rpath,/opt/lib"]));
        "no search path" => [Runpath, Needed], |b| {
            b.add(PLUGIN, plugin(REGISTERS, &["-Wl,-soname,libplugin.so.1", "-Wl,-z,nodelete", "-l:libexecutorch.so.1"]));
        };
        "a library that systems lack" => [Needed], |b| b.add(PLUGIN, plugin_with(&["-lgcc_s"]));
        "a symbol that nothing defines" => [Undefined], |b| {
            b.add(RUNTIME, runtime("int other(void); int et_a(void) { return other(); }", &[]));
        };
        "a symbol that the needed library has no longer" => [Undefined, Definer], |b| {
            let source = "int et_register_kernels(void) { return 1; } int et_register_device_allocator(void) { return 1; }";
            b.add(RUNTIME, compile(source, &["-Wl,-soname,libexecutorch.so.1"]));
        };
        "two owners of the registry" => [Exports, Definer], |b| {
            b.add(PLUGIN, plugin("int et_register_backend(void) { return 2; } __attribute__((constructor)) static void r(void) {}", PLUGIN_FLAGS));
        };
        "a symbol that is no interface" => [Exports], |b| b.add(RUNTIME, runtime("int other;", &[]));
        "Python symbols that are not stable" => [Abi3], |b| b.add(PYTHON, python("PyUnicode_AsUTF8(1)"));
        "Python symbols newer than the floor" => [Abi3], |b| b.add(PYTHON, python("PyObject_GetBuffer(1)"));
        "a library that is unmapped too early" => [Unload], |b| {
            b.add(PLUGIN, plugin(REGISTERS, &[PLUGIN_FLAGS[0], PLUGIN_FLAGS[1], PLUGIN_FLAGS[3]]));
        };
        "nothing is registered" => [Registers], |b| {
            b.add(PLUGIN, plugin("int et_register_backend(void); static int (*volatile f)(void) = et_register_backend;", PLUGIN_FLAGS));
        };
        "an executable stack" => [Hardening], |b| b.add(RUNTIME, runtime("", &["-Wl,-z,execstack"]));
    }
}

fn gpu() -> Vec<Fault> {
    let mut all = faults! { || Bench::cuda(&[(2, 80), (2, 90), (1, 90)]);
        "an architecture is missing" => [Gpu], |b| *b = Bench::cuda(&[(2, 90), (1, 90)]);
        "an architecture too much" => [Gpu], |b| *b = Bench::cuda(&[(2, 80), (2, 86), (2, 90), (1, 90)]);
        "no PTX" => [Gpu], |b| *b = Bench::cuda(&[(2, 80), (2, 90)]);
        "PTX of an older architecture" => [Gpu], |b| *b = Bench::cuda(&[(2, 80), (2, 90), (1, 80)]);
        "the train's runtime is not declared" => [Dependencies], |b| b.edit("METADATA", "Requires-Dist: nvidia-cuda-runtime>=13,<14; platform_system == 'Linux'\n", "");
        "another train's runtime" => [Dependencies], |b| b.edit("METADATA", ">=13,<14", ">=12,<13");
    };
    all.extend(faults! { Bench::cpu;
        "device code in a row without GPU" => [Gpu], |b| b.files.get_mut(PLUGIN).unwrap().extend(fat_binary(&[(2, 80)]));
    });
    all
}

/// The delegate's library, with more source and flags.
fn demo(more: &str, flags: &[&str]) -> Vec<u8> {
    delegate(
        &format!("{REGISTERS} {more}"),
        &[&["-Wl,-soname,libdemo.so", "-Wl,--enable-new-dtags"], flags].concat(),
    )
}

fn delegates() -> Vec<Fault> {
    faults! { Bench::delegate;
        "a registry of its own" => [Coreless, Imports], |b| {
            b.add(DELEGATE, demo("int et_register_backend(void) { return 2; }", &[]));
        };
        "a name of the runtime" => [Coreless], |b| b.add(DELEGATE, demo("int et_mine;", &[]));
        "no import of the registry" => [Imports], |b| {
            b.add(DELEGATE, delegate("static int a;", &["-Wl,-soname,libdemo.so"]));
        };
        "an extension module" => [Abi3, Pyinit], |b| b.add(DELEGATE, demo("int PyInit_demo;", &[]));
        "a delegate with RPATH" => [Rpath], |b| b.add(DELEGATE, demo("", &["-Wl,--disable-new-dtags,-rpath,$ORIGIN"]));
        "an absolute path" => [Runpath], |b| b.add(DELEGATE, demo("", &["-Wl,-rpath,/opt/lib"]));
        "an empty path" => [Runpath], |b| b.add(DELEGATE, demo("", &["-Wl,-rpath,$ORIGIN:"]));
        "a path into nothing" => [Runpath], |b| b.add(DELEGATE, demo("", &["-Wl,-rpath,$ORIGIN/lib"]));
        "a path into a wheel that is not declared" => [Runpath], |b| {
            b.add(DELEGATE, demo("", &["-Wl,-rpath,$ORIGIN/../nvidia/cu13/lib"]));
        };
        "the C library of a newer system" => [Ceiling], |b| {
            b.add(DELEGATE, demo("int gettid(void); int f(void) { return gettid(); }", &[]));
        };
        "a library from nowhere" => [Needed], |b| {
            b.add("demo/other/liba.so.1", compile("static int a;", &["-Wl,-soname,liba.so.1"]));
            b.add(DELEGATE, {
                let mut library = demo("", &["-lgcc_s"]);
                let at = find(&library, b"libgcc_s.so.1", 0);
                library[at..at + 13].copy_from_slice(b"liba.so.1\0\0\0\0");
                library
            });
        };
        "no entry point" => [EntryPoint], |b| { b.files.remove("demo-0.1.0.dist-info/entry_points.txt"); };
        "an entry point into nothing" => [EntryPoint], |b| b.edit("entry_points.txt", "demo:load", "demo.loader:load");
        "an entry point of another group" => [EntryPoint], |b| b.edit("entry_points.txt", "delegates", "plugins");
        "the runtime is not declared" => [Runtime], |b| b.edit("METADATA", "executorch-runtime>=1.5", "executorch>=1.5");
        "a tag without a floor" => [Tag], |b| {
            b.name = b.name.replace("manylinux_2_28", "linux");
            b.edit("WHEEL", "manylinux_2_28", "linux");
        };
    }
}
