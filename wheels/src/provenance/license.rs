//! Licences: which are allowed (`wheels/licenses.toml`), which one each project is used under, and the texts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

/// More than any licence has, in bytes; what is longer is not read.
const LONGEST: u64 = 1 << 20;

/// The allowed licences; `wheels/licenses.toml` says what each field means.
#[derive(Debug)]
pub struct Policy {
    allow: Vec<Allowed>,
    licensees: Vec<Licensee>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    allow: Vec<Allowed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Allowed {
    id: String,
    phrase: String,
    #[serde(default)]
    generic: bool,
}

impl Policy {
    /// Reads `licenses.toml`.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads the text of a `licenses.toml`.
    pub fn parse(text: &str) -> Result<Self> {
        let File { allow } = toml::from_str(text)?;
        let licensee = |allowed: &Allowed| {
            Licensee::parse(&allowed.id).with_context(|| format!("`{}` is no SPDX identifier", allowed.id))
        };
        let licensees = allow.iter().map(licensee).collect::<Result<_>>()?;
        if let Some(empty) = allow.iter().find(|allowed| words(&allowed.phrase).is_empty()) {
            bail!("licence {} has no phrase", empty.id);
        }
        Ok(Self { allow, licensees })
    }

    /// The licences that `project` is used under: the fewest and most preferred that its expression asks for.
    pub fn choose(&self, project: &str, expression: Option<&str>) -> Result<BTreeSet<String>> {
        let expression = expression
            .with_context(|| format!("{project} names no licence: it cannot be linked into a wheel"))?;
        let parsed = Expression::parse_mode(expression, ParseMode::LAX)
            .with_context(|| format!("{project}: `{expression}` is no SPDX expression"))?;
        let chosen = parsed.minimized_requirements(&self.licensees).with_context(|| {
            format!("{project} has the licence `{expression}`, which wheels/licenses.toml does not allow")
        })?;
        Ok(chosen.iter().map(ToString::to_string).collect())
    }

    fn allowed(&self, id: &str) -> Result<&Allowed> {
        self.allow
            .iter()
            .find(|allowed| allowed.id == id)
            .with_context(|| format!("licence {id} is not allowed"))
    }
}

/// `expression` as the SPDX specification writes it today (old manifests have `MIT/Apache-2.0`).
pub fn canonical(expression: &str) -> Result<String> {
    Ok(Expression::canonicalize(expression)?.unwrap_or_else(|| expression.to_owned()))
}

/// The words of a text, so that blanks, line ends and case do not count.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The texts of a wheel: each is kept once, however many projects have it.
#[derive(Default)]
pub struct Collection {
    /// Words of a text, to licence and text.
    texts: BTreeMap<String, (String, String)>,
    /// Project, to each licence and the words of its text.
    projects: BTreeMap<String, Vec<(String, String)>>,
    /// Projects that ship no text of a licence that needs none of their own.
    borrowers: Vec<(String, String)>,
}

impl Collection {
    /// Adds `project`, which is used under the licences `chosen`; `files` are all texts that it ships.
    pub fn add(
        &mut self,
        policy: &Policy,
        project: &str,
        chosen: &BTreeSet<String>,
        files: &[PathBuf],
    ) -> Result<()> {
        let mut texts = Vec::new();
        for file in files {
            let length = fs::metadata(file).with_context(|| file.display().to_string())?.len();
            if length <= LONGEST {
                let bytes = fs::read(file).with_context(|| file.display().to_string())?;
                texts.push((file, String::from_utf8_lossy(&bytes).replace("\r\n", "\n")));
            }
        }
        for id in chosen {
            let allowed = policy.allowed(id)?;
            let phrase = words(&allowed.phrase);
            // The shortest text that has the phrase: one of all licences of a project is longer.
            let found = texts
                .iter()
                .filter(|(_, text)| words(text).contains(&phrase))
                .min_by_key(|(_, text)| text.len());
            match found {
                Some((_, text)) => self.keep(project, id, text),
                None if allowed.generic => self.borrowers.push((project.to_owned(), id.clone())),
                None => bail!(
                    "{project} is used under {id}, but ships no text with the words \"{}\": its copyright notice must \
                     come along, so it cannot be linked into a wheel",
                    allowed.phrase
                ),
            }
        }
        for (file, text) in &texts {
            let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            if name.starts_with("NOTICE") || name.starts_with("COPYRIGHT") {
                self.keep(project, "notice", text);
            }
        }
        Ok(())
    }

    /// Adds a text of `project` as it is.
    pub fn keep(&mut self, project: &str, id: &str, text: &str) {
        let key = words(text);
        self.texts.entry(key.clone()).or_insert_with(|| (id.to_owned(), text.to_owned()));
        self.projects.entry(project.to_owned()).or_default().push((id.to_owned(), key));
    }

    /// All texts by file name, with `INDEX.txt`, which says whose they are.
    pub fn finish(mut self) -> Result<BTreeMap<String, Vec<u8>>> {
        for (project, id) in std::mem::take(&mut self.borrowers) {
            let lender =
                self.texts.iter().filter(|(_, (of, _))| *of == id).min_by_key(|(words, _)| words.len());
            let (key, _) = lender.with_context(|| {
                format!("{project} is used under {id}, and neither it nor any other project ships its text")
            })?;
            let entry = (id, key.clone());
            self.projects.entry(project).or_default().push(entry);
        }
        // Numbered in the order of the projects, so that names do not depend on the texts.
        let mut names: BTreeMap<&str, String> = BTreeMap::new();
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut index =
            String::from("Projects whose code is in this wheel, and the licences that it is used under.\n\n");
        for (project, texts) in &self.projects {
            for (id, key) in texts {
                let (stem, text) = self.texts.get(key).context("a text is missing")?;
                let name = names.entry(key).or_insert_with(|| {
                    let number = numbers.entry(stem).and_modify(|number| *number += 1).or_insert(1);
                    let ending = if text.trim_start().starts_with('<') { "html" } else { "txt" };
                    format!("{}-{number}.{ending}", stem.replace(' ', "-"))
                });
                index.push_str(&format!("{project}: {id}: {name}\n"));
            }
        }
        let mut files = BTreeMap::from([("INDEX.txt".to_owned(), index.into_bytes())]);
        for (key, (_, text)) in &self.texts {
            let name = names.get(key.as_str()).context("a text belongs to no project")?;
            files.insert(name.clone(), text.clone().into_bytes());
        }
        Ok(files)
    }
}

/// The files of a crate's folder that hold licences and notices, in order.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    const BEGINNINGS: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
    let mut files = Vec::new();
    for item in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let item = item?;
        let name = item.file_name().to_string_lossy().to_uppercase();
        // `LICENSES` is the folder of the REUSE specification.
        if name == "LICENSES" && item.file_type()?.is_dir() {
            for text in fs::read_dir(item.path())? {
                files.push(text?.path());
            }
        } else if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning)) && item.path().is_file() {
            files.push(item.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        Policy::parse(include_str!("../../licenses.toml")).unwrap()
    }

    fn chosen(expression: &str) -> Vec<String> {
        policy().choose("p", Some(expression)).unwrap().into_iter().collect()
    }

    #[test]
    fn the_preferred_licence_is_chosen() {
        assert_eq!(chosen("MIT OR Apache-2.0"), ["MIT"]);
        assert_eq!(chosen("Apache-2.0/MIT"), ["MIT"]);
        assert_eq!(chosen("CC0-1.0 OR Apache-2.0"), ["Apache-2.0"]);
        assert_eq!(chosen("(MIT OR GPL-3.0-only) AND Unicode-3.0"), ["MIT", "Unicode-3.0"]);
        assert_eq!(chosen("Apache-2.0 WITH LLVM-exception"), ["Apache-2.0 WITH LLVM-exception"]);
    }

    #[test]
    fn what_is_not_allowed_is_refused_by_name() {
        for (expression, word) in [
            (Some("GPL-3.0-only"), "does not allow"),
            (Some("MIT AND GPL-3.0-only"), "does not allow"),
            (Some("my own"), "no SPDX expression"),
            (None, "names no licence"),
        ] {
            let error = format!("{:#}", policy().choose("crate bad 1.0.0", expression).unwrap_err());
            assert!(error.contains("crate bad 1.0.0") && error.contains(word), "{error}");
        }
        assert!(Policy::parse("[[allow]]\nid = \"Nonsense\"\nphrase = \"x\"").is_err());
        assert!(Policy::parse("[[allow]]\nid = \"MIT\"\nphrase = \" \"").is_err());
        assert!(Policy::parse("[[allow]]\nid = \"MIT\"\nphrase = \"x\"\nfoo = 1").is_err());
    }

    const MIT: &str =
        "Copyright A\n\nThe above copyright notice\nand this permission notice shall be included";
    const APACHE: &str = "Apache\nTERMS AND CONDITIONS FOR USE, REPRODUCTION,\n  AND DISTRIBUTION";

    fn project(dir: &Path, name: &str, files: &[(&str, &str)]) -> Vec<PathBuf> {
        let folder = dir.join(name);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        super::files(&folder).unwrap()
    }

    #[test]
    fn equal_texts_are_kept_once_and_the_index_names_all_owners() {
        let dir = tempfile::tempdir().unwrap();
        let (mit, apache) = (BTreeSet::from(["MIT".to_owned()]), BTreeSet::from(["Apache-2.0".to_owned()]));
        let spaced = MIT.replace('\n', "\r\n  ");
        let other = MIT.replace("Copyright A", "Copyright B");
        let both = [("LICENSE-MIT", &spaced[..]), ("LICENSE-APACHE", APACHE), ("notice.md", "N")];
        let mut all = Collection::default();
        all.add(&policy(), "a 1", &mit, &project(dir.path(), "a", &[("LICENSE", MIT)])).unwrap();
        all.add(&policy(), "b 1", &mit, &project(dir.path(), "b", &both)).unwrap();
        all.add(&policy(), "c 1", &mit, &project(dir.path(), "c", &[("COPYING", &other)])).unwrap();
        all.add(&policy(), "d 1", &apache, &project(dir.path(), "d", &[("LICENSE", APACHE)])).unwrap();
        all.add(&policy(), "e 1", &apache, &project(dir.path(), "e", &[("readme", "")])).unwrap();
        let files = all.finish().unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["Apache-2.0-1.txt", "INDEX.txt", "MIT-1.txt", "MIT-2.txt", "notice-1.txt"]);
        assert_eq!(files["MIT-1.txt"], MIT.as_bytes());
        let index = String::from_utf8(files["INDEX.txt"].clone()).unwrap();
        for line in [
            "a 1: MIT: MIT-1.txt\n",
            "b 1: MIT: MIT-1.txt\n",
            "b 1: notice: notice-1.txt\n",
            "c 1: MIT: MIT-2.txt\n",
            "d 1: Apache-2.0: Apache-2.0-1.txt\n",
            "e 1: Apache-2.0: Apache-2.0-1.txt\n",
        ] {
            assert!(index.contains(line), "{line}{index}");
        }
    }

    #[test]
    fn a_missing_text_fails_and_names_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let only_apache = project(dir.path(), "a", &[("LICENSE", APACHE)]);
        let mit = BTreeSet::from(["MIT".to_owned()]);
        let error = Collection::default().add(&policy(), "crate a 1.0.0", &mit, &only_apache).unwrap_err();
        assert!(error.to_string().contains("crate a 1.0.0 is used under MIT"), "{error}");
        // A text that nobody ships cannot be borrowed.
        let mut all = Collection::default();
        all.add(&policy(), "crate b 1.0.0", &BTreeSet::from(["Apache-2.0".to_owned()]), &[]).unwrap();
        assert!(all.finish().unwrap_err().to_string().contains("crate b 1.0.0"));
    }
}
