//! `cargo xtask bindings`: the Rust declarations of XNNPACK's C interface, generated from its header.

use crate::place::Place;
use anyhow::{Context, Result, bail};
use executorch_tools::command::{output, step};
use executorch_xnnpack_native::{Target, build};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The generator.
const BINDGEN: &str = "0.72.1";
/// The C parser that it loads; without headers of its own, so zig's are used.
const LIBCLANG: &str = "libclang==18.1.1";
/// The committed result.
const FILE: &str = "delegates/xnnpack/sys/src/bindings.rs";

/// The functions of `xnnpack.h` that the delegate calls.
const FUNCTIONS: &[&str] = &[
    "xnn_initialize",
    "xnn_(create|delete)_subgraph",
    "xnn_define_(quantized_|blockwise_quantized_|dynamically_quantized_)?tensor_value",
    "xnn_define_channelwise_quantized_tensor_value_v2",
    "xnn_define_(unary|binary|convert|copy|exp|tanh|prelu|softmax)",
    "xnn_define_(fully_connected|batch_matrix_multiply)",
    "xnn_define_(convolution|depthwise_convolution|deconvolution)_2d",
    "xnn_define_(average|max|argmax|global_average)_pooling_2d",
    "xnn_define_static_(constant_pad|reshape|resize_bilinear_2d|slice|transpose)",
    "xnn_define_concatenate[2345]",
    "xnn_create_runtime_v4",
    "xnn_delete_runtime",
    "xnn_reshape_(external_value|runtime)",
    "xnn_get_external_value_shape",
    "xnn_setup_runtime_v2",
    "xnn_invoke_runtime",
    "xnn_get_runtime_profiling_info",
    "xnn_(create|release)_workspace",
];

/// Writes the declarations, or with `check` fails if they differ from the committed ones.
pub fn generate(place: &Place, check: bool) -> Result<()> {
    let include = build(&place.xnnpack(Target::X86_64))?.include();
    let zig = place.tools.zig()?;
    let libclang = place.tools.venv("libclang", &[LIBCLANG])?;
    let library = libclang_folder(&libclang)?;
    let mut bindgen = Command::new(bindgen(place)?);
    bindgen.env("LIBCLANG_PATH", library).arg(include.join("xnnpack.h"));
    for function in FUNCTIONS {
        bindgen.args(["--allowlist-function", function]);
    }
    bindgen
        .args(["--allowlist-var", "XNN_.*"])
        .args(["--allowlist-type", "xnn_(weights_cache_provider|unary_operator|binary_operator|datatype)"])
        // Defined in Rust.
        .args(["--blocklist-type", "pthreadpool.*", "--raw-line", "use crate::pool::pthreadpool_t;"])
        // A C function may return a number that the enumeration does not name.
        .args(["--default-enum-style", "newtype", "--no-doc-comments", "--merge-extern-blocks"])
        .args(["--rust-edition", "2024", "--rust-target", "1.90", "--use-core"])
        // The integer types are the compiler's own, so that no C library is read.
        .args(["--", "-nostdinc", "-ffreestanding", "-target", "x86_64-linux-gnu", "-isystem"])
        .arg(zig.parent().context("zig lies in no folder")?.join("lib/include"))
        .arg("-I")
        .arg(&include);
    let text = output(bindgen.current_dir(&place.root))?;
    let text = format!("// Generated from xnnpack.h by cargo xtask bindings.\n\n{text}");
    let path = place.root.join(FILE);
    if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
        return Ok(());
    }
    if check {
        bail!("{FILE} differs: run cargo xtask bindings");
    }
    fs::write(path, text).context(FILE)
}

/// The generator's executable, which is compiled when it is first needed.
fn bindgen(place: &Place) -> Result<PathBuf> {
    let root = place.tools.dir().join("bindgen");
    let program = root.join("bin/bindgen");
    let version = output(Command::new(&program).arg("--version"));
    if !version.is_ok_and(|text| text.trim().ends_with(BINDGEN)) {
        step(&format!("install bindgen {BINDGEN}"), || {
            output(
                Command::new("cargo")
                    // It runs for a second: compiling it quickly counts.
                    .args(["install", "--quiet", "--debug", "--locked", "--force", "bindgen-cli"])
                    .args(["--version", &format!("={BINDGEN}"), "--root"])
                    .arg(&root)
                    .arg("--target-dir")
                    .arg(root.join("target"))
                    .current_dir(&place.root),
            )
        })?;
    }
    Ok(program)
}

/// The folder with `libclang.so` in a virtual environment.
fn libclang_folder(venv: &std::path::Path) -> Result<PathBuf> {
    let script = "import clang, os; print(os.path.join(os.path.dirname(clang.__file__), 'native'))";
    Ok(output(Command::new(venv.join("bin/python")).args(["-c", script]))?.trim().into())
}
