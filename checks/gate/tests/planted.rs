//! The gate against wheels with a planted fault: the check that is there for it must fail.
//!
//! It needs an input folder as `cargo xtask gate` writes it, whose path is in `EXECUTORCH_GATE_INPUT`: `cargo xtask test` runs it
//! after the gate. With that of a row with CUDA the shims get a fault too.

#![allow(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

use executorch_gate_report::{Outcome, Report, Rules, Verdict};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use wheelhouse::archive::{self, Entry};

const POOL: &str = "lib/libexecutorch_threadpool.so.1";

/// What is done to the wheel's files before they are packed again.
type Fault = fn(&mut Vec<Entry>);

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_tree(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Writes the wheel anew, with the fault. pip looks at the page's digest, not at RECORD.
fn plant(wheel: &Path, fault: Fault) {
    let mut entries = archive::read(&fs::read(wheel).unwrap()).unwrap();
    fault(&mut entries);
    fs::write(wheel, archive::write(&entries).unwrap()).unwrap();
}

fn entry<'a>(entries: &'a mut [Entry], name: &str) -> &'a mut Entry {
    entries.iter_mut().find(|entry| entry.path.ends_with(name)).unwrap()
}

/// Runs the gate on the input with the fault, and returns the outcome of `id` with its reason.
fn outcome(input: &Path, id: &str, change: impl FnOnce(&Path)) -> (Outcome, String) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("input");
    copy_tree(input, &folder);
    change(&folder);
    let out = dir.path().join("out");
    let status = Command::new(env!("CARGO_BIN_EXE_executorch-gate"))
        .args(["run", "--only", id])
        .arg("--out")
        .arg(&out)
        .arg("--work")
        .arg(dir.path().join("work"))
        .arg(&folder)
        .output()
        .unwrap();
    let report = Report::parse(&fs::read(out.join("report.json")).unwrap(), &Rules::default()).unwrap();
    let check = report.checks.iter().find(|check| check.id == id).unwrap();
    assert_eq!(status.status.success(), report.verdict == Verdict::Pass);
    (check.outcome, check.reason.clone())
}

/// Gives a function that compiled models call another name, as if it were hidden.
fn hide_a_shim(entries: &mut [Entry]) {
    let (from, to) = (b"\0aoti_torch_get_data_ptr\0", b"\0aoti_torch_got_data_ptr\0");
    let library = &mut entry(entries, "lib/libaoti_cuda_shims.so.1").data;
    let places: Vec<usize> = (0..library.len()).filter(|&place| library[place..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for place in places {
        library[place..place + to.len()].copy_from_slice(to);
    }
}

fn wheel_in(folder: &Path) -> PathBuf {
    let mut names = fs::read_dir(folder.join("index/staging")).unwrap().map(|entry| entry.unwrap().path());
    names.find(|path| path.extension().is_some_and(|extension| extension == "whl")).unwrap()
}

#[test]
#[ignore = "needs EXECUTORCH_GATE_INPUT, which cargo xtask test gives it"]
fn each_fault_fails_its_check() {
    let input = std::env::var_os("EXECUTORCH_GATE_INPUT").map(PathBuf::from).expect("EXECUTORCH_GATE_INPUT");
    let without_the_pool: Fault = |entries| entries.retain(|entry| !entry.path.ends_with(POOL));
    let mut faults: Vec<(&str, Fault, &str)> = vec![
        ("elf.closure", without_the_pool, "not in the installed wheel"),
        ("elf.load", without_the_pool, "not in the installed wheel"),
        (
            "elf.owners",
            |entries| {
                let registry = entry(entries, "lib/libexecutorch.so.1").data.clone();
                entry(entries, POOL).data = registry;
            },
            "has 2 owners",
        ),
        (
            "install.record",
            |entries| entry(entries, "portable_lib.py").data.extend(b"# changed\n"),
            "RECORD gives",
        ),
    ];
    if input.join("fakes").is_dir() {
        faults.push(("cuda.container", |entries| hide_a_shim(entries), "aoti_torch_get_data_ptr"));
    }
    for (id, fault, told) in faults {
        // The page's digest would stop pip before the check is reached.
        let (found, reason) = outcome(&input, id, |folder| {
            plant(&wheel_in(folder), fault);
            let page = folder.join("index/staging/simple/executorch-runtime/index.html");
            let text = fs::read_to_string(&page).unwrap();
            let (before, rest) = text.split_once("#sha256=").unwrap();
            fs::write(&page, format!("{before}{}", &rest[64..])).unwrap();
        });
        assert_eq!(found, Outcome::Fail, "{id}: {reason}");
        assert!(reason.contains(told), "{id}: {reason}");
    }
    // A wheel that was changed after the page was written is not installed at all.
    let (found, _) = outcome(&input, "install.pinned", |folder| {
        plant(&wheel_in(folder), |entries| entries.retain(|entry| !entry.path.ends_with(".pyi")));
    });
    assert_eq!(found, Outcome::Fail);
    // A wrong result.
    let (found, reason) = outcome(&input, "python.reference", |folder| {
        let path = folder.join("models/mlp_f16.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("case0_expected_0", "case0_input_0")).unwrap();
    });
    assert_eq!(found, Outcome::Fail);
    assert!(reason.contains("mlp_f16"), "{reason}");
}
