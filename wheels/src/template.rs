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

/// Renders `source` with `version`, `release` and `components` (name, target, aliases, file, needs, registers; link order).
pub fn render(source: &str, version: &str, row: &Row, components: &Components) -> Result<String> {
    let shipped = row.components.iter().filter_map(|name| Some((name, components.get(name)?)));
    let targets: Vec<Target<'_>> = shipped
        .filter_map(|(name, component)| {
            let (target, aliases) = component.cmake.split_first()?;
            let (file, needs) = (component.file_name(), &component.needs);
            Some(Target { name, target, aliases, file, needs, registers: component.registers })
        })
        .collect();
    // `X.Y.Z`, without the label that CMake's comparisons do not know.
    let release = version.split('+').next();
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_keep_trailing_newline(true);
    environment.set_trim_blocks(true);
    Ok(environment.render_str(source, context! { version, release, components => targets })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(source: &str) -> Result<String> {
        let components = crate::component::parse(include_str!("../components.toml"))?;
        let rows = crate::row::parse(include_str!("../rows.toml"), &components)?;
        render(source, "1.5.0+cu126", &rows["cpu"], &components)
    }

    #[test]
    fn components_come_in_link_order_without_the_extension_module() {
        let text =
            with("{{ release }}{% for c in components %} {{ c.target }}={{ c.file }}{% endfor %}\n").unwrap();
        assert_eq!(
            text,
            "1.5.0 runtime=libexecutorch.so.1 threadpool=libexecutorch_threadpool.so.1 \
             kernels_optimized=libexecutorch_kernels_optimized.so.1 \
             backend_xnnpack=libexecutorch_backend_xnnpack.so.1"
        );
    }

    #[test]
    fn unknown_names_are_errors() {
        assert!(with("{{ versoin }}").is_err());
    }
}
