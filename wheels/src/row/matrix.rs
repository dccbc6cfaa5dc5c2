//! The matrix for people and for CI.

use serde::Serialize;

use super::{Row, Rows};
use crate::component::Components;

/// The rows as a table; its last column says what keeps a row from users.
pub fn table(rows: &Rows, components: &Components) -> String {
    let head = ["row", "project", "tag", "glibc", "label", "index", "CUDA", "GPU", "gate", "state"];
    let mut lines = vec![head.map(str::to_owned)];
    for (name, row) in rows {
        let cuda = row.cuda.as_ref();
        let gpu =
            cuda.map(|cuda| cuda.architectures.iter().map(u32::to_string).collect::<Vec<_>>().join(" "));
        lines.push([
            name.clone(),
            row.project.clone(),
            row.tag().to_string(),
            row.glibc.clone(),
            row.label.clone(),
            row.index.clone(),
            cuda.map(|cuda| cuda.version.clone()).unwrap_or_default(),
            gpu.unwrap_or_default(),
            row.gate_images.join(" "),
            state(row, components),
        ]);
    }
    let mut width = [0; 10];
    for line in &lines {
        for (width, cell) in width.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(width).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn state(row: &Row, components: &Components) -> String {
    let unbuilt = row.unbuilt(components);
    match (unbuilt.is_empty(), row.publish) {
        (false, _) => format!("not built: {}", unbuilt.join(" ")),
        (true, false) => format!("withheld: {}", row.withheld),
        (true, true) => "published".into(),
    }
}

/// The matrix that CI takes: one job for each row that can be built, and one for each of its gate images.
#[derive(Debug, Serialize)]
pub struct Ci<'a> {
    /// Jobs that build and audit a wheel.
    pub build: Include<BuildJob<'a>>,
    /// Jobs that try it on a clean machine.
    pub gate: Include<GateJob<'a>>,
}

/// A list of jobs.
#[derive(Debug, Serialize)]
pub struct Include<T> {
    /// The jobs.
    pub include: Vec<T>,
}

/// A job that builds a wheel.
#[derive(Debug, Serialize)]
pub struct BuildJob<'a> {
    /// The row.
    pub row: &'a str,
    /// Processor architecture.
    pub arch: &'a str,
    /// Index that the wheel goes to.
    pub index: &'a str,
    /// Whether it may go there.
    pub publish: bool,
}

/// A job that runs the gate.
#[derive(Debug, Serialize)]
pub struct GateJob<'a> {
    /// The row.
    pub row: &'a str,
    /// Processor architecture.
    pub arch: &'a str,
    /// The clean machine.
    pub image: &'a str,
}

/// The CI matrix of the rows whose components are all built.
pub fn ci<'a>(rows: &'a Rows, components: &Components) -> Ci<'a> {
    let built = || rows.iter().filter(|(_, row)| row.unbuilt(components).is_empty());
    let build = built().map(|(name, row)| BuildJob {
        row: name,
        arch: row.system.arch(),
        index: &row.index,
        publish: row.publish,
    });
    let gate = built().flat_map(|(name, row)| {
        row.gate_images.iter().map(move |image| GateJob { row: name, arch: row.system.arch(), image })
    });
    Ci { build: Include { include: build.collect() }, gate: Include { include: gate.collect() } }
}
