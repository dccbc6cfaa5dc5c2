//! Renders `runtime/cpp/cmake/*.j2`: the CMake package and the pkg-config file.

use anyhow::Result;
use minijinja::{Environment, UndefinedBehavior, context};
use serde::Serialize;

use crate::component::Components;
use crate::row::Row;

#[derive(Serialize)]
struct Target<'a> {
    name: &'a str,
    target: &'a str,
    aliases: &'a [String],
    file: &'a str,
    needs: &'a [String],
    registers: bool,
}

/// Renders `source` with `version` and `components` (name, target, aliases, file, needs, registers; link order).
pub fn render(source: &str, version: &str, row: &Row, components: &Components) -> Result<String> {
    let shipped = row.components.iter().filter_map(|name| Some((name, components.get(name)?)));
    let targets: Vec<Target<'_>> = shipped
        .filter_map(|(name, component)| {
            let (target, aliases) = component.cmake.split_first()?;
            let (file, needs) = (component.file_name(), &component.needs);
            Some(Target { name, target, aliases, file, needs, registers: component.registers })
        })
        .collect();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_keep_trailing_newline(true);
    environment.set_trim_blocks(true);
    Ok(environment.render_str(source, context! { version, components => targets })?)
}
