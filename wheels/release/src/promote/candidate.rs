//! A wheel in staging, looked at as if nobody could be trusted who may write there.

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use executorch_gate_report::Rules;
use wheelhouse::audit;
use wheelhouse::component::Components;
use wheelhouse::provenance::statement;
use wheelhouse::row::{self, Row};

use super::Site;
use super::indexes::Policy;
use crate::index::{Catalogue, Entry, Wheel, normalize};
use crate::log::Demand;

/// A wheel that may be promoted, if the evidence is enough.
pub(super) struct Candidate {
    pub row: String,
    pub demands: Vec<Demand>,
    pub wheel: Wheel,
    pub provenance: Option<Statement>,
}

/// The file that says how the wheel was made.
pub(super) struct Statement {
    pub filename: String,
    pub bytes: Bytes,
}

impl Candidate {
    /// Finds `filename` in staging, and checks that `index` takes such a wheel.
    pub(super) fn find(site: &Site<'_>, index: &str, policy: &Policy, filename: &str) -> Result<Self> {
        let staging = &site.indexes.staging;
        let listed = listed(site, filename)?;
        let path = format!("{staging}/{filename}");
        let bytes = site
            .store
            .get(&path)?
            .with_context(|| format!("{path}: staging lists it, but it is not there"))?;
        let wheel = Wheel::read(filename, bytes.bytes).with_context(|| path.clone())?;
        ensure!(
            wheel.sha256() == listed.sha256,
            "{path}: sha256 is {}, but it was {} when it was added: it was changed since; build it anew",
            wheel.sha256(),
            listed.sha256
        );
        let row = row::find(site.rows, &listed.row)?;
        check_row(index, policy, &listed.row, row).with_context(|| format!("cannot promote {filename}"))?;
        check_name(&wheel, &listed.row, row).with_context(|| path.clone())?;
        check_content(&wheel, row, site.components).with_context(|| path.clone())?;
        let provenance = listed.provenance.map(|filename| -> Result<Statement> {
            let path = format!("{staging}/{filename}");
            // Any other name could be one that another file has a right to.
            let names =
                [statement::signed_file_name, statement::file_name].map(|name| name(wheel.filename()));
            ensure!(
                names.contains(&filename),
                "{path}: the statement of {} is called {}: add it to staging under that name",
                wheel.filename(),
                names.join(" or, unsigned, ")
            );
            let object = site.store.get(&path)?;
            let object = object.with_context(|| format!("{path}: staging lists it, but it is not there"))?;
            Ok(Statement { filename, bytes: object.bytes })
        });
        Ok(Self { demands: demands(row), wheel, provenance: provenance.transpose()?, row: listed.row })
    }

    /// The content of the statement, if there is one.
    pub(super) fn statement(&self) -> Option<&Bytes> {
        self.provenance.as_ref().map(|statement| &statement.bytes)
    }
}

/// What the row asks of the gate on each of its images.
fn demands(row: &Row) -> Vec<Demand> {
    let demand =
        |image: &String| Demand { image: image.clone(), rules: Rules::of(&row.components, row.skips(image)) };
    row.gate_images.iter().map(demand).collect()
}

/// What staging says of `filename`.
fn listed(site: &Site<'_>, filename: &str) -> Result<Entry> {
    let path = format!("{}/entries.json", site.indexes.staging);
    let object = site.store.get(&path)?;
    let object = object.with_context(|| {
        format!(
            "{path} in {}: not there: add wheels to staging with `wheelhouse index add`",
            site.store.name()
        )
    })?;
    let catalogue: Catalogue = serde_json::from_slice(&object.bytes).with_context(|| path.clone())?;
    let names: Vec<String> = catalogue.entries.iter().map(|entry| entry.filename.clone()).collect();
    catalogue.entries.into_iter().find(|entry| entry.filename == filename).with_context(|| {
        format!(
            "{path}: no `{filename}`, only: {}; add it to staging with `wheelhouse index add`",
            names.join(", ")
        )
    })
}

/// Refuses a row that the index does not take.
fn check_row(index: &str, policy: &Policy, name: &str, row: &Row) -> Result<()> {
    ensure!(
        row.index == index && policy.rows.iter().any(|taken| taken == name),
        "row `{name}` belongs to index `{}`, and index `{index}` takes {}",
        row.index,
        policy.rows.join(", ")
    );
    ensure!(
        !policy.public || row.publish,
        "row `{name}` may not be published (publish = false in rows.toml), and index `{index}` is public"
    );
    ensure!(!row.gate_images.is_empty(), "row `{name}` names no gate images: nothing would be tried");
    Ok(())
}

/// Refuses a wheel that is not what its row makes, whatever staging says.
fn check_name(wheel: &Wheel, name: &str, row: &Row) -> Result<()> {
    ensure!(
        normalize(wheel.project()) == row.project,
        "staging says that it is for row `{name}`, which is of {}, but it is a wheel of {}",
        row.project,
        wheel.project()
    );
    let tag = row.tag().to_string();
    ensure!(
        wheel.filename().ends_with(&format!("-{tag}.whl")),
        "staging says that it is for row `{name}`, whose wheels are tagged {tag}"
    );
    // `Wheel::read` saw that the metadata say the same version.
    let version = wheel.filename().split('-').nth(1).unwrap_or_default();
    let label = version.split_once('+').map_or("", |(_, label)| label);
    ensure!(
        label == row.label,
        "staging says that it is for row `{name}`, whose version label is `{}`, but the version is {version}",
        row.label
    );
    Ok(())
}

/// Repeats the audit that a wheel passes when it is packed: whoever put this one into staging may have packed it
/// otherwise.
fn check_content(wheel: &Wheel, row: &Row, components: &Components) -> Result<()> {
    let findings =
        audit::wheel(wheel.filename(), wheel.bytes(), &audit::Expected { row: Some(row), components });
    match findings.first() {
        None => Ok(()),
        Some(first) => bail!(
            "it fails the audit with {} findings, which `wheelhouse audit` lists, such as {first}",
            findings.len()
        ),
    }
}
