//! How long an index of many wheels takes: `cargo bench -p wheelhouse-release --profile dev`.
//!
//! Everything is written to a folder and synced to the disk. The wheels themselves are left out: only their entries
//! count here.

use std::time::Instant;

use anyhow::{Context, Result};
use wheelhouse_release::index::{Catalogue, Entry, GateResult, Index};
use wheelhouse_release::store::Store;

const WHEELS: u32 = 10_000;
const ROUNDS: usize = 9;

fn entry(project: &str, number: u32) -> Entry {
    let version = format!("1.{}.{}+cu126", number / 100, number % 100);
    let digest = format!("{number:064x}");
    let gate = |image: &str| GateResult {
        image: image.into(),
        report_sha256: digest.clone(),
        passed: 60,
        failed: 0,
        skipped: 2,
        absent: 1,
    };
    Entry {
        filename: format!("{}-{version}-cp310-abi3-manylinux_2_28_x86_64.whl", project.replace('-', "_")),
        project: project.into(),
        version,
        sha256: digest.clone(),
        size: 4_000_000 + u64::from(number),
        requires_python: Some(">=3.10".into()),
        upload_time: "2026-01-31T12:00:00Z".into(),
        metadata_sha256: digest.clone(),
        yanked: number.is_multiple_of(50).then(|| "wrong results of a kernel".into()),
        row: "cu126".into(),
        gate: ["bullseye", "bookworm", "sid"].map(gate).into(),
        provenance: None,
    }
}

/// Seconds that the processors have spent on this program, in steps of Linux's clock of 100 Hz.
fn processor_seconds() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').context("/proc/self/stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    Ok(ticks.sum::<Result<u64, _>>()? as f64 / 100.0)
}

/// What a round takes: the median by the clock, and the mean of the processors' time.
fn measure(mut round: impl FnMut(usize) -> Result<()>) -> Result<String> {
    let mut times = Vec::new();
    let before = processor_seconds()?;
    for number in 0..ROUNDS {
        let start = Instant::now();
        round(number)?;
        times.push(start.elapsed().as_secs_f64());
    }
    let spent = (processor_seconds()? - before) / ROUNDS as f64;
    times.sort_by(f64::total_cmp);
    let median = times.get(ROUNDS / 2).context("no rounds")?;
    Ok(format!("{median:.3} s ({spent:.3} s of processors)"))
}

fn main() -> Result<()> {
    for projects in [1, 4] {
        let folder = tempfile::tempdir()?;
        let store = Store::open(folder.path().to_str().context("temporary folder")?)?;
        let index = Index::new(&store, "cu126")?;
        let entries: Vec<Entry> =
            (0..WHEELS).map(|number| entry(&format!("project-{}", number % projects), number)).collect();
        let mut catalogue = Catalogue::new("cu126");
        catalogue.entries = entries;
        catalogue.settle()?;
        store.put("cu126/entries.json", catalogue.json()?)?;

        let whole = measure(|_| {
            for page in store.list("cu126/simple")? {
                store.delete(&page.path)?;
            }
            store.delete("cu126/index.html")?;
            index.render().map(drop)
        })?;
        let one = measure(|round| {
            let added = entry("project-0", WHEELS + u32::try_from(round)?);
            index.change(|catalogue| catalogue.insert(added.clone())).map(drop)
        })?;
        let bytes: u64 = store.list("cu126")?.iter().map(|item| item.size).sum();
        println!("{WHEELS} wheels of {projects} projects, {:.1} MB of lists and pages:", bytes as f64 / 1e6);
        println!("  all pages: {whole}    one wheel added: {one}");
    }
    Ok(())
}
