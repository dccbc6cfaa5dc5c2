//! Who may publish what: `wheels/indexes.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use wheelhouse::row::Rows;

use crate::index::Catalogue;
use crate::log::Rollback;
use crate::sign::PublicKey;

/// All indexes of the project.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indexes {
    /// Folder of the store where wheels wait for promotion.
    pub staging: String,
    /// The indexes that users install from, by name.
    #[serde(default)]
    pub index: BTreeMap<String, Policy>,
}

/// The rules of one index; the head of `wheels/indexes.toml` says what each field means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "documented once, at the head of indexes.toml")]
pub struct Policy {
    pub public: bool,
    #[serde(default)]
    pub url: Option<String>,
    pub rows: Vec<String>,
    pub approvals: usize,
    #[serde(default)]
    pub owners: Vec<Key>,
    #[serde(default)]
    pub writers: Vec<Key>,
    #[serde(default)]
    pub gate: Vec<Key>,
    #[serde(default)]
    pub builders: Vec<Key>,
    #[serde(default)]
    pub modified: bool,
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

/// A key with the name of who holds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Who holds it. A holder may have several keys, and still counts once.
    pub name: String,
    /// The public half.
    pub key: PublicKey,
    /// The last log entry that it may have signed or that may rest on its signature; none while it is in use.
    #[serde(default)]
    pub until: Option<u64>,
}

/// What was asked for in the past.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Earlier {
    /// The last log entry that this held for.
    pub until: u64,
    /// What `approvals` was then.
    pub approvals: usize,
    /// Whether reports needed no signature then, although `gate` names keys now.
    #[serde(default)]
    pub unsigned: bool,
    /// Whether wheels needed no builder's statement then, although `builders` names keys now.
    #[serde(default)]
    pub unstated: bool,
    /// What `modified` was then.
    #[serde(default)]
    pub modified: bool,
}

impl Indexes {
    /// Reads and checks `indexes.toml`.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("cannot read {}: name the project's indexes.toml with --indexes", path.display())
        })?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Reads and checks the text of an `indexes.toml`.
    pub fn parse(text: &str) -> Result<Self> {
        let indexes: Self = toml::from_str(text)?;
        check_name(&indexes.staging).context("staging")?;
        ensure!(
            !indexes.index.contains_key(&indexes.staging),
            "`{}` is the staging folder and cannot be an index too: rename one of them",
            indexes.staging
        );
        let mut taken = BTreeMap::new();
        for (name, policy) in &indexes.index {
            check_name(name).and_then(|()| policy.check()).with_context(|| format!("index `{name}`"))?;
            for row in &policy.rows {
                if let Some(other) = taken.insert(row, name) {
                    bail!("row `{row}` is taken by `{other}` and `{name}`: a row has one index");
                }
            }
        }
        Ok(indexes)
    }

    /// Checks that indexes and rows agree: each row is taken by the index that it names, and by no other.
    pub fn check_rows(&self, rows: &Rows) -> Result<()> {
        for (name, policy) in &self.index {
            for row in &policy.rows {
                let found = wheelhouse::row::find(rows, row)
                    .with_context(|| format!("indexes.toml: index `{name}`"))?;
                ensure!(
                    found.index == *name,
                    "indexes.toml: index `{name}` takes row `{row}`, but rows.toml says index = \"{}\"",
                    found.index
                );
            }
        }
        for (name, row) in rows {
            let takes = self.index.get(&row.index).is_some_and(|policy| policy.rows.contains(name));
            ensure!(
                takes,
                "rows.toml: row `{name}` names index `{}`, which does not take it: list the row there in \
                 indexes.toml",
                row.index
            );
        }
        Ok(())
    }

    /// The rules of index `name`, or an error that lists the indexes.
    pub fn find(&self, name: &str) -> Result<&Policy> {
        self.index.get(name).with_context(|| {
            let names: Vec<&str> = self.index.keys().map(String::as_str).collect();
            format!("no index `{name}`: indexes.toml has {}", names.join(", "))
        })
    }
}

impl Policy {
    fn check(&self) -> Result<()> {
        let mut rows = BTreeSet::new();
        for row in &self.rows {
            ensure!(rows.insert(row), "row `{row}` is listed twice");
        }
        let mut listing = Catalogue::new("cpu");
        listing.url = self.url.clone();
        listing.settle().context("url")?;
        ensure!(self.approvals > 0, "approvals = 0: an index needs at least one owner's approval");
        for pair in self.earlier.windows(2) {
            let ordered = matches!(pair, [a, b] if a.until < b.until);
            ensure!(ordered, "`earlier`: list the rules in the order of their `until`, each once");
        }
        ensure!(
            self.earlier.iter().all(|rule| rule.approvals > 0),
            "`earlier`: approvals = 0: an index always needed at least one"
        );
        // A key stands for one holder in one place: else one signature could count for two.
        for (role, keys) in [
            ("owners", &self.owners),
            ("writers", &self.writers),
            ("gate", &self.gate),
            ("builders", &self.builders),
        ] {
            let mut seen = BTreeMap::new();
            for key in keys {
                ensure!(!key.name.trim().is_empty(), "`{role}`: a key has no name");
                if let Some(other) = seen.insert(key.key.to_string(), &key.name) {
                    bail!(
                        "`{role}`: `{other}` and `{}` have the same key: each needs one of their own",
                        key.name
                    );
                }
            }
        }
        let machines = || self.gate.iter().chain(&self.builders);
        let machine = |key: &&Key| machines().any(|machine| machine.key == key.key);
        if let Some(key) = self.owners.iter().chain(&self.writers).find(machine) {
            bail!(
                "the key of `{}` is also a gate's or a builder's key: what a machine signs must not count as a person's \
                 word",
                key.name
            );
        }
        if let Some(key) = self.builders.iter().find(|key| self.gate.iter().any(|gate| gate.key == key.key)) {
            bail!(
                "builder `{}` has the key of a gate: who builds a wheel must not vouch for its gate",
                key.name
            );
        }
        Ok(())
    }

    /// How many approvals entry `number` of the log needs.
    pub fn approvals_at(&self, number: u64) -> usize {
        self.earlier_at(number).map_or(self.approvals, |rule| rule.approvals)
    }

    /// Whether the reports of entry `number` must be signed by a gate.
    pub fn signed_reports_at(&self, number: u64) -> bool {
        !self.gate.is_empty() && self.earlier_at(number).is_none_or(|rule| !rule.unsigned)
    }

    /// Whether the wheel of entry `number` needs the statement of a builder.
    pub fn statements_at(&self, number: u64) -> bool {
        !self.builders.is_empty() && self.earlier_at(number).is_none_or(|rule| !rule.unstated)
    }

    /// Whether the wheel of entry `number` may be built from sources that are no commit's.
    pub fn modified_at(&self, number: u64) -> bool {
        self.earlier_at(number).map_or(self.modified, |rule| rule.modified)
    }

    fn earlier_at(&self, number: u64) -> Option<&Earlier> {
        self.earlier.iter().find(|rule| number <= rule.until)
    }

    /// Refuses an index whose owners are too few for its own rule at entry `number`.
    pub fn check_open(&self, index: &str, number: u64) -> Result<()> {
        let owners: BTreeSet<&str> =
            self.owners.iter().filter(|key| key.holds_at(number)).map(|key| key.name.as_str()).collect();
        let needed = self.approvals_at(number);
        ensure!(
            owners.len() >= needed,
            "index `{index}` is closed: it asks for {needed} approvals and has {} owners. Make keys with \
             `wheelhouse keygen` and list them under [[index.{index}.owners]] in indexes.toml",
            owners.len()
        );
        Ok(())
    }

    /// The owner who holds `key`.
    pub fn owner(&self, key: &PublicKey) -> Option<&str> {
        self.owners.iter().find(|held| held.key == *key).map(|held| held.name.as_str())
    }

    /// The keys that may approve a promotion in entry `number`.
    pub fn owners_at(&self, number: u64) -> Vec<PublicKey> {
        held_at(&self.owners, number).collect()
    }

    /// The keys that may sign entry `number`: owners' and writers'.
    pub fn writers_at(&self, number: u64) -> Vec<PublicKey> {
        held_at(&self.owners, number).chain(held_at(&self.writers, number)).collect()
    }

    /// The keys that may sign reports for entry `number`.
    pub fn gates_at(&self, number: u64) -> Vec<PublicKey> {
        held_at(&self.gate, number).collect()
    }

    /// The keys that may sign statements for entry `number`.
    pub fn builders_at(&self, number: u64) -> Vec<PublicKey> {
        held_at(&self.builders, number).collect()
    }

    /// Refuses a key that may not sign entry `number`.
    pub fn check_writer(&self, index: &str, key: &PublicKey, number: u64) -> Result<()> {
        ensure!(
            self.writers_at(number).contains(key),
            "{key} may not write the log of index `{index}`: use the key of a writer or an owner that indexes.toml \
             lists, or have it listed there"
        );
        Ok(())
    }

    /// Refuses a rollback that brings yanked wheels back, unless an owner's key signs it.
    pub fn check_restore(
        &self,
        index: &str,
        key: &PublicKey,
        number: u64,
        rollback: &Rollback,
    ) -> Result<()> {
        ensure!(
            rollback.restored.is_empty() || self.owners_at(number).contains(key),
            "bringing back what was yanked ({}) is for an owner of index `{index}`, and {key} is not the key of one",
            rollback.restored.join(", ")
        );
        Ok(())
    }
}

impl Key {
    fn holds_at(&self, number: u64) -> bool {
        self.until.is_none_or(|last| number <= last)
    }
}

fn held_at(keys: &[Key], number: u64) -> impl Iterator<Item = PublicKey> {
    keys.iter().filter(move |key| key.holds_at(number)).map(|key| key.key)
}

/// Index names are folders of the store and parts of addresses.
fn check_name(name: &str) -> Result<()> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ensure!(
        !name.is_empty() && name.bytes().all(plain),
        "`{name}` cannot be the name of an index: use lower-case letters, digits and `-`"
    );
    Ok(())
}
