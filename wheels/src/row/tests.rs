use super::*;

const COMPONENTS: &str = include_str!("../../components.toml");
const ROWS: &str = include_str!("../../rows.toml");

fn components() -> Components {
    crate::component::parse(COMPONENTS).unwrap()
}

fn committed() -> Rows {
    parse(ROWS, &components()).unwrap()
}

/// Reads the committed rows with the first `from` of `row` changed to `to`.
fn changed(row: &str, from: &str, to: &str) -> Result<Rows> {
    let start = ROWS.find(&format!("\n[{row}]\n")).unwrap();
    let (before, after) = ROWS.split_at(start);
    assert!(after.contains(from), "{row}: {from}");
    parse(&format!("{before}{}", after.replacen(from, to, 1)), &components())
}

#[test]
fn the_committed_rows_are_sound() {
    let rows = committed();
    for name in ["cpu", "cpu-aarch64", "cu126", "cu130", "sbsa-cu130", "jp62", "tensorrt-cu130"] {
        assert_eq!(rows[name].name, name);
    }
    assert_eq!(rows["cpu"].tag().to_string(), "cp310-abi3-manylinux_2_28_x86_64");
    assert_eq!(rows["cpu"].requires_python().unwrap(), "3.10");
    assert!(rows["cpu"].skips("debian-11").contains(&"python.*".to_owned()));
    let skips = rows["cu130"].skips("debian-11");
    assert!(skips.contains(&"cuda.python".to_owned()) && skips.contains(&"python.*".to_owned()), "{skips:?}");
    assert!(rows["cpu"].skips("debian-12").is_empty());
    assert!(!rows["sbsa-cu130"].publish);
    assert!(find(&rows, "gpu").unwrap_err().to_string().contains("cpu"));
}

#[test]
fn nix_can_read_the_file() {
    // `builtins.fromTOML` has no dates and no special numbers.
    fn plain(value: &toml::Value) -> bool {
        match value {
            toml::Value::Datetime(_) | toml::Value::Float(_) => false,
            toml::Value::Array(items) => items.iter().all(plain),
            toml::Value::Table(table) => table.values().all(plain),
            _ => true,
        }
    }
    for text in [ROWS, COMPONENTS] {
        assert!(plain(&toml::Value::Table(toml::from_str(text).unwrap())));
    }
}

#[test]
fn search_paths_follow_the_row() {
    let (rows, components) = (committed(), components());
    let path = |row: &str, component: &str| rows[row].runpath(&components[component]);
    assert_eq!(path("cpu", "runtime"), None);
    assert_eq!(path("cpu", "python").unwrap(), "$ORIGIN/lib");
    assert_eq!(path("cu126", "backend_cuda").unwrap(), "$ORIGIN:$ORIGIN/../../nvidia/cuda_runtime/lib");
    assert_eq!(path("cu130", "backend_cuda").unwrap(), "$ORIGIN:$ORIGIN/../../nvidia/cu13/lib");
    assert_eq!(path("cu130", "aoti_cuda_shims"), path("cu130", "backend_cuda"));
    assert_eq!(path("cu130", "extension_cuda"), None);
    assert_eq!(path("jp62", "backend_cuda").unwrap(), "$ORIGIN");
    let delegate = "$ORIGIN:$ORIGIN/../../executorch_runtime/lib:$ORIGIN/../../tensorrt_libs:$ORIGIN/../../nvidia/cu13/lib";
    assert_eq!(path("tensorrt-cu130", "backend_tensorrt").unwrap(), delegate);
}

#[test]
fn delegates_are_pinned_to_their_own_release() {
    let requirements = committed()["tensorrt-jp62"].requirements("1.5.0+jp62");
    assert_eq!(requirements, ["executorch-runtime==1.5.0+jp62"]);
}

#[test]
fn rows_with_components_that_are_not_built_have_no_wheel() {
    let (rows, mut components) = (committed(), components());
    rows["cpu"].require_built(&components).unwrap();
    rows["cu130"].require_built(&components).unwrap();
    let error = rows["tensorrt-cu130"].require_built(&components).unwrap_err().to_string();
    assert!(error.contains("backend_tensorrt is declared"), "{error}");
    for component in components.values_mut() {
        component.built = true;
    }
    rows["tensorrt-cu130"].require_built(&components).unwrap();
}

#[test]
fn the_matrix_is_printed() {
    let (rows, components) = (committed(), components());
    let table = table(&rows, &components);
    let line = |row: &str| table.lines().find(|line| line.split_whitespace().next() == Some(row)).unwrap();
    assert!(line("cpu").ends_with("published"));
    assert!(line("cu130").ends_with("published"));
    assert!(line("tensorrt-cu130").ends_with("not built: backend_tensorrt"));
    let ci = serde_json::to_value(ci(&rows, &components)).unwrap();
    let build = ci["build"]["include"].as_array().unwrap();
    assert_eq!(
        build.iter().map(|job| job["row"].as_str().unwrap()).collect::<Vec<_>>(),
        ["cpu", "cpu-aarch64", "cu126", "cu130", "jp62", "sbsa-cu130"]
    );
    let gate = ci["gate"]["include"].as_array().unwrap();
    assert_eq!(gate[0], serde_json::json!({ "row": "cpu", "arch": "x86_64", "image": "debian-11" }));
    let json = serde_json::to_value(&rows).unwrap();
    assert_eq!(json["cu130"]["cuda"]["architectures"][5], 120);
    assert_eq!(json["cpu"]["gate-images"][1], "debian-12");
}

#[test]
fn what_a_row_leaves_out_or_invents_is_named() {
    for (row, from, to, message) in [
        ("cpu", "publish = true", "publish = true\nspeed = 3", "unknown field `speed`"),
        ("cpu", "numpy = ", "nunpy = ", "unknown field `nunpy`"),
        ("cu126", "ptx = 90", "ptx = 90\nsass = 1", "unknown field `sass`"),
        ("cpu", "index = \"cpu\"\n", "", "missing field `index`"),
        ("cpu", "x86_64-linux", "riscv64-linux", "riscv64-linux"),
        ("cpu", "glibc = \"2.28\"", "glibc = \"new\"", "expected a version such as 2.28"),
        ("cpu", "\"cp310\"", "\"python3\"", "expected a tag such as cp310"),
        ("cpu", "\"2.13.0\"", "\">=2.13\"", "expected one exact version"),
        ("cpu", "threadpool = 700_000", "threadpool = -1", "invalid value"),
        ("cpu", "\"python.*\"]", "\"*\"]", "expected `group.check`"),
        ("cpu", "\"python.*\"]", "\"*.*\"]", "expected `group.check`"),
        ("tensorrt-cu130", "torch-tensorrt-executorch-runtime", "Torch.TensorRT", "write its normal form"),
    ] {
        let error = format!("{:#}", changed(row, from, to).unwrap_err());
        assert!(error.contains(message), "{row}: {from} -> {to}: {error}");
    }
}

#[test]
fn contradictions_are_named() {
    let mut failures = Vec::new();
    for (row, from, to, message) in [
        // Platform, system, glibc, Python.
        ("cpu", "glibc = \"2.28\"", "glibc = \"2.34\"", "call for manylinux_2_34_x86_64"),
        ("cpu", "x86_64-linux", "aarch64-linux", "call for manylinux_2_28_aarch64"),
        ("cpu", "\"cp310\"", "\"cp39\"", "needs cp310"),
        // Label, index, train.
        ("cpu", "label = \"\"", "label = \"cu126\"", "call for \"\""),
        ("cu126", "label = \"cu126\"", "label = \"cu130\"", "call for \"cu126\""),
        ("cu126", "index = \"cu126\"", "index = \"cpu\"", "belongs to index cu126"),
        ("jp62", "label = \"jp62\"", "label = \"cu126\"", "call for \"jp62\""),
        ("cpu", "index = \"cpu\"", "index = \"cu126\"", "belongs to index cpu"),
        // Components and their budgets.
        ("cpu", "\"runtime\", \"threadpool\",", "\"threadpool\",", "needs `runtime`"),
        ("cpu", "\"python\"]", "\"python\", \"xnnpack\"]", "not declared"),
        ("cpu", "\"python\"]", "\"python\", \"python\"]", "named twice"),
        (
            "cpu",
            "\"python\"]",
            "\"python\", \"backend_tensorrt\"]",
            "belongs to torch-tensorrt-executorch-runtime",
        ),
        ("cpu", "threadpool = 700_000", "other = 1", "`threadpool` has no size budget"),
        ("cpu", "threadpool = 700_000", "threadpool = 700_000\nother = 1", "budget names `other`"),
        ("cpu", "threadpool = 700_000", "threadpool = 0", "budget of `threadpool` is 0"),
        ("cpu", "\nwheel = ", "\n# wheel = ", "wheel has no size budget"),
        ("cpu", "wheel = 6_000_000", "wheel = 60_000_000", "packed, they take less"),
        // Pins.
        ("jp62", "numpy = \"1.26.4\"", "numpy = \"2.0.0\"", "needs numpy<2"),
        ("cpu", "numpy = \"2.4.0\"", "numpy = \"2.4.0\"\njetpack = \"6.2\"", "JetPack runs on aarch64"),
        (
            "cpu",
            "numpy = \"2.4.0\"",
            "numpy = \"2.4.0\"\ntensorrt = \"11.1.0\"",
            "rows that ship backend_tensorrt",
        ),
        // GPU architectures.
        ("jp62", "[jp62.cuda]\nversion = \"12.6\"\narchitectures = [87]\nptx = 87", "", "no [cuda]"),
        ("cu126", "[80, 86, 89, 90]", "[80, 86, 89, 90, 120]", "120 is none of CUDA 12.6"),
        ("cu126", "[80, 86, 89, 90]", "[86, 80, 89, 90]", "in ascending order"),
        ("cu126", "[80, 86, 89, 90]", "[80, 80, 90]", "each once"),
        ("cu126", "ptx = 90", "ptx = 80", "of the newest architecture"),
        ("cu126", "version = \"12.6\"", "version = \"11.8\"", "call for \"cu118\""),
        (
            "tensorrt-cu130",
            "version = \"13.0\"",
            "version = \"13.0\"\narchitectures = [90]\nptx = 90",
            "leave it empty",
        ),
        // Dependencies.
        ("cpu", "dependencies = []", "dependencies = [\"nvidia-cuda-runtime>=13,<14\"]", "calls for []"),
        ("cpu", "dependencies = []", "dependencies = [\"numpy>=2\"]", "depends on nothing but CUDA"),
        ("cu126", "nvidia-cuda-runtime-cu12>=12,<13", "nvidia-cuda-runtime>=13,<14", "CUDA train calls for"),
        (
            "cu126",
            "dependencies = [\"nvidia-cuda-runtime-cu12>=12,<13; platform_system == 'Linux'\"]",
            "dependencies = []",
            "CUDA train calls for",
        ),
        (
            "jp62",
            "dependencies = []",
            "dependencies = [\"nvidia-cuda-runtime-cu12>=12,<13; platform_system == 'Linux'\"]",
            "calls for []",
        ),
        ("tensorrt-cu130", "=={version}", ">={version}", "must pin `=={version}`"),
        (
            "tensorrt-cu130",
            "    \"executorch-runtime=={version}\",\n",
            "",
            "add `executorch-runtime=={version}`",
        ),
        (
            "tensorrt-cu130",
            "tensorrt-cu13>=11.1,<11.2",
            "tensorrt-cu13>=10.1,<11",
            "calls for `tensorrt-cu13>=11.",
        ),
        (
            "tensorrt-jp62",
            "[\"executorch-runtime=={version}\"]",
            "[\"executorch-runtime=={version}\", \"tensorrt>=10.3\"]",
            "comes with the system",
        ),
        // Libraries from elsewhere.
        ("cu126", "libcudart.so.12", "libcudart.so.13", "is not of CUDA 12.6"),
        ("cu126", "libcudart.so.12", "libcublas.so.12", "no component of the row links to"),
        (
            "cu126",
            "[cu126.external]\n\"libcudart.so.12\" = \"nvidia/cuda_runtime/lib\"",
            "",
            "links to libcudart",
        ),
        ("cu126", "nvidia/cuda_runtime/lib", "/usr/lib", "expected a folder in site-packages"),
        ("cu126", "nvidia/cuda_runtime/lib", "../lib", "expected a folder in site-packages"),
        (
            "jp62",
            "\"libcudart.so.12\" = \"system\"",
            "\"libcudart.so.12\" = \"nvidia/cuda_runtime/lib\"",
            "comes with the system",
        ),
        // Gate and publication.
        ("cpu", "\"debian-12\"", "\"debian-12-arm64\"", "a machine for aarch64"),
        ("cpu-aarch64", "\"debian-12-arm64\"", "\"debian-12\"", "a machine for x86_64"),
        ("cpu", "debian-11 = [", "debian-10 = [", "no gate image of the row"),
        ("cpu", "\"python.*\"]", "\"cuda.*\"]", "no GPU code to skip"),
        (
            "cpu-aarch64",
            "[\"debian-12-arm64\", \"debian-13-arm64\"]",
            "[]",
            "publish = true without gate-images",
        ),
        ("cpu", "publish = true", "publish = true\nwithheld = \"broken\"", "says why not"),
        ("cpu", "publish = true", "publish = false", "what is missing"),
    ] {
        let error = changed(row, from, to).map_or_else(|error| format!("{error:#}"), |_| "none".into());
        if !error.contains(message) {
            failures.push(format!("{row}: {from} -> {to}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn two_rows_make_no_wheel_of_one_name() {
    let start = ROWS.find("[cpu]").unwrap();
    let end = ROWS.find("[cpu-aarch64]").unwrap();
    let twin = ROWS[start..end].replace("[cpu", "[copy");
    let error = parse(&format!("{ROWS}\n{twin}"), &components()).unwrap_err().to_string();
    assert!(error.contains("rows `copy` and `cpu`"), "{error}");
}
