//! Runs the README's examples as a user would, so that they stay true.

use crate::installed::Environment;
use crate::place::Place;
use anyhow::{Context, Result, ensure};
use executorch_tools::command::output;
use std::fs;
use std::process::Command;

/// Runs the Python example, builds and runs the C++ one, and compares what they print.
pub fn run(place: &Place) -> Result<()> {
    let text = fs::read_to_string(place.root.join("README.md")).context("README.md")?;
    let folder = place.target.join("readme");
    fs::create_dir_all(&folder)?;
    for (language, name) in [("python", "digits.py"), ("cpp", "main.cpp"), ("cmake", "CMakeLists.txt")] {
        let block =
            block(&text, language).with_context(|| format!("README.md has no ```{language} block"))?;
        write_if_changed(&folder.join(name), block)?;
    }
    let environment = Environment::new::<&str>(place, "clean", &[])?.with_wheel(place, "cpu")?;
    let build = environment.cmake(place, "readme", &folder, &[])?;
    let python = output(environment.python().arg(folder.join("digits.py")).current_dir(&place.root))?;
    let cpp = output(Command::new(build.join("digits")).current_dir(&place.root))?;
    ensure!(!python.trim().is_empty(), "the Python example prints nothing");
    ensure!(python == cpp, "the examples disagree: Python prints {python:?}, C++ {cpp:?}");
    Ok(())
}

/// The first fenced block of a language.
fn block<'a>(text: &'a str, language: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("\n```{language}\n"))?;
    rest.split_once("```\n").map(|(block, _)| block)
}

/// Keeps the time stamp of a file that is right, so that nothing is built again.
fn write_if_changed(path: &std::path::Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn finds_blocks() {
        let text = "a\n```c\nno\n```\n\n```cpp\nint x;\n```\nb\n```cpp\nlater\n```\n";
        assert_eq!(block(text, "cpp"), Some("int x;\n"));
        assert_eq!(block(text, "python"), None);
    }
}
