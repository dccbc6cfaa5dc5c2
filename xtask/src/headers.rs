//! `cargo xtask headers`: one C header for each noun of `runtime/abi/src`.

use crate::place::Place;
use anyhow::{Context, Result, bail};
use executorch_tools::command::run;
use std::fs;
use std::process::Command;

/// The nouns. A header includes those before it that it uses; of one after it, it declares the types it points to.
const NOUNS: [&str; 18] = [
    "error",
    "log",
    "tensor",
    "value",
    "registration",
    "memory",
    "device",
    "loader",
    "data_map",
    "tracer",
    "kernel",
    "backend",
    "program",
    "method",
    "threadpool",
    "caller_stream",
    "current_stream",
    "cuda_state",
];

/// Writes the headers, or with `check` fails if they differ from the committed ones.
pub fn generate(place: &Place, check: bool) -> Result<()> {
    let folder = place.root.join("runtime/abi/include/executorch/c");
    fs::create_dir_all(&folder)?;
    let mut stale = Vec::new();
    for (position, noun) in NOUNS.iter().enumerate() {
        let text = header(place, position, noun).with_context(|| format!("runtime/abi/src/{noun}.rs"))?;
        let path = folder.join(format!("{noun}.h"));
        if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        if check {
            stale.push(format!("{noun}.h"));
        } else {
            fs::write(path, text)?;
        }
    }
    if stale.is_empty() { Ok(()) } else { bail!("{} differ: run cargo xtask headers", stale.join(", ")) }
}

/// Compiles each header alone, as C11 and as C++17, with every warning an error.
pub fn compile(place: &Place) -> Result<()> {
    for noun in NOUNS {
        for (compiler, language, standard) in [("cc", "c", "c11"), ("c++", "c++", "c++17")] {
            let include = format!("executorch/c/{noun}.h");
            run(Command::new(compiler)
                .args([
                    "-x",
                    language,
                    &format!("-std={standard}"),
                    "-pedantic",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                ])
                .args(["-fsyntax-only", "-I", "runtime/abi/include", "-include", &include, "/dev/null"])
                .current_dir(&place.root))?;
        }
    }
    Ok(())
}

fn header(place: &Place, position: usize, noun: &str) -> Result<String> {
    let path = place.root.join("runtime/abi/src").join(format!("{noun}.rs"));
    let source = fs::read_to_string(&path)?;
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        cpp_compat: true,
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(String::from).into(),
        include_guard: Some(format!("EXECUTORCH_C_{}_H", noun.to_uppercase())),
        header: Some(comment(&source, noun)),
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        usize_is_size_t: true,
        ..cbindgen::Config::default()
    };
    config.function.args = cbindgen::Layout::Auto;
    // Without this, a type that no function of the same noun uses would be left out.
    config.export.include = types(&source);
    let mut forward = String::new();
    for (other, types) in uses(&source) {
        let place =
            NOUNS.iter().position(|noun| *noun == other).with_context(|| format!("unknown noun {other}"))?;
        if place < position {
            config.includes.push(format!("executorch/c/{other}.h"));
        } else {
            forward.extend(types.iter().map(|name| format!("typedef struct {name} {name};\n")));
        }
    }
    if !forward.is_empty() {
        config.after_includes = Some(format!("\n{}", forward.trim_end()));
    }
    let bindings = cbindgen::Builder::new().with_config(config).with_src(&path).generate()?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text)?)
}

/// The head of the header: the module's own documentation.
fn comment(source: &str, noun: &str) -> String {
    let mut text = String::from("/**\n");
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        text.push_str(&format!(" *{line}\n"));
    }
    text + &format!(" *\n * Generated from runtime/abi/src/{noun}.rs by cargo xtask headers.\n */")
}

/// The public types of a module.
fn types(source: &str) -> Vec<String> {
    let public = |line: &str| {
        let rest =
            ["pub struct ", "pub type ", "pub union "].iter().find_map(|start| line.strip_prefix(start))?;
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().map(String::from)
    };
    source.lines().filter_map(public).collect()
}

/// The nouns that a module imports, with the imported types.
fn uses(source: &str) -> Vec<(&str, Vec<&str>)> {
    let imports = source.lines().filter_map(|line| line.strip_prefix("use crate::")?.strip_suffix(';'));
    let pairs = imports.filter_map(|import| import.split_once("::"));
    pairs.map(|(noun, types)| (noun, types.trim_matches(['{', '}']).split(", ").collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::uses;

    #[test]
    fn imports_are_read() {
        let source = "//! x\nuse crate::error::et_error_t;\nuse crate::a::{b, c};\nuse std::fmt;\n";
        assert_eq!(uses(source), [("error", vec!["et_error_t"]), ("a", vec!["b", "c"])]);
    }
}
