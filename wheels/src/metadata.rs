//! The text files of `.dist-info`: `METADATA`, `WHEEL` and `entry_points.txt`.

use crate::tag::Tag;

/// What `METADATA` says of a distribution.
#[derive(Clone, Debug)]
pub struct Metadata<'a> {
    /// Distribution name.
    pub name: &'a str,
    /// Version with its label.
    pub version: &'a str,
    /// One line.
    pub summary: &'a str,
    /// SPDX expression.
    pub license: &'a str,
    /// File names below `licenses/`.
    pub license_files: &'a [&'a str],
    /// Project page.
    pub homepage: &'a str,
    /// Oldest Python as `3.10`.
    pub requires_python: &'a str,
    /// `Requires-Dist` entries.
    pub dependencies: &'a [String],
    /// Long description in Markdown.
    pub description: &'a str,
}

impl Metadata<'_> {
    /// The text of `METADATA` (core metadata 2.4).
    pub fn render(&self) -> String {
        let mut head = format!(
            "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nLicense-Expression: {}\n",
            self.name, self.version, self.summary, self.license
        );
        for file in self.license_files {
            head.push_str(&format!("License-File: {file}\n"));
        }
        head.push_str(&format!("Project-URL: Source, {}\n", self.homepage));
        for classifier in [
            "Intended Audience :: Developers",
            "Operating System :: POSIX :: Linux",
            "Programming Language :: C",
            "Programming Language :: C++",
            "Programming Language :: Python :: 3",
            "Programming Language :: Rust",
            "Topic :: Scientific/Engineering :: Artificial Intelligence",
        ] {
            head.push_str(&format!("Classifier: {classifier}\n"));
        }
        head.push_str(&format!("Requires-Python: >={}\n", self.requires_python));
        for dependency in self.dependencies {
            head.push_str(&format!("Requires-Dist: {dependency}\n"));
        }
        format!("{head}Description-Content-Type: text/markdown\n\n{}", self.description)
    }
}

/// The text of `WHEEL` for a wheel with compiled code.
pub fn wheel(generator: &str, tag: &Tag) -> String {
    format!("Wheel-Version: 1.0\nGenerator: {generator}\nRoot-Is-Purelib: false\nTag: {tag}\n")
}

/// The text of `entry_points.txt` for console scripts (command and `module:function`).
pub fn entry_points(scripts: &[(&str, &str)]) -> String {
    let lines: String = scripts.iter().map(|(command, target)| format!("{command} = {target}\n")).collect();
    format!("[console_scripts]\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_has_one_header_a_dependency_and_then_the_description() {
        let metadata = Metadata {
            name: "n",
            version: "1.5.0",
            summary: "s",
            license: "BSD-3-Clause",
            license_files: &["LICENSE"],
            homepage: "https://example.org",
            requires_python: "3.10",
            dependencies: &["a>=1".to_owned(), "b".to_owned()],
            description: "# Title\n",
        };
        let text = metadata.render();
        let (head, body) = text.split_once("\n\n").unwrap();
        assert_eq!(body, "# Title\n");
        let dependencies: Vec<_> = head.lines().filter(|line| line.starts_with("Requires-Dist")).collect();
        assert_eq!(dependencies, ["Requires-Dist: a>=1", "Requires-Dist: b"]);
        assert!(head.lines().all(|line| line.contains(": ")));
    }
}
