//! Folders that are full or cannot be written to: everything runs from memory, and what is there stays as it is.
//!
//! Such folders are made for child processes: small and read-only file systems in a mount namespace of their own, and a
//! limit on the size of files.

use super::*;
use std::process::{Command, Stdio};

/// What a child does, and in which folder.
const TASK: &str = "ET_TEST_CACHE_TASK";
const PLACE: &str = "ET_TEST_CACHE_PLACE";

/// Loads a graph whose packed weights (132,000 bytes) cannot be written.
fn refused_but_right(settings: &Settings, graph: &Graph, reason: &str) {
    let packer = Packer::default();
    let session = Session::with_table(table(), settings, graph, b"configuration");
    let packed = packer.get(&session, graph).unwrap();
    let kept = session.finish();
    assert!(!kept.is_saved());
    let Role::Constant(filter) = &graph.values[1].role else { unreachable!() };
    assert!((*packed).as_ref().iter().rev().eq(filter.bytes()) && !packed.is_mapped());
    let error = save_all().unwrap_err();
    assert!(error.message.contains(reason), "{error}");
    drop(kept);
    save_all().unwrap();
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Does in a child what the tests below ask for.
#[test]
fn child_with_a_folder() {
    let (Ok(task), Some(place)) = (std::env::var(TASK), std::env::var_os(PLACE)) else { return };
    let place = Path::new(&place);
    let (settings, small, large) = (on_disk(place), Digest::of(b"small"), graph(&weights(5)));
    let folder = Folder::new(place);
    match task.as_str() {
        // The other graph's file is here: it is used, and this one's cannot be written.
        "read-only" => {
            let before = names(place);
            let (warm, packed) = Packer::default().load(table(), &settings, &graph(&weights(3)));
            assert!(!packed && warm.is_mapped());
            refused_but_right(&settings, &large, "Read-only file system");
            assert_eq!(names(place), before);
        }
        reason => {
            folder.write_pack(small, &[]).unwrap();
            let before = names(place);
            for _ in 0..3 {
                refused_but_right(&settings, &large, reason);
                assert_eq!(names(place), before, "nothing half-written is left");
            }
            assert!(folder.pack(small, None).is_some());
            let reference = Reference { graph: small, whole: None };
            folder.write_reference(small, &reference).unwrap();
            assert_eq!(folder.reference(small), Some(reference));
        }
    }
}

/// Runs a child after some lines of shell, in which `$0` is the folder.
fn child(mut shell: Command, script: &str, folder: &Path, task: &str) {
    let output = shell
        .args(["sh", "-ec", &format!("{script}\nexec \"$@\"")])
        .arg(folder)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "cache::tests::unwritable::child_with_a_folder"])
        .envs([(TASK, task.as_ref()), (PLACE, folder.as_os_str())])
        .output()
        .unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// A program that runs another where it may mount; none if the system does not let this user.
fn with_mounts() -> Option<Command> {
    let command = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount"]);
        command
    };
    let probe = ["sh", "-c", "mount -t tmpfs -o size=4k none /mnt"];
    let status = command().args(probe).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Some(command());
    }
    eprintln!("left out: this user may not mount file systems here");
    None
}

#[test]
fn a_limit_on_the_size_of_files() {
    let folder = tempfile::tempdir().unwrap();
    // In units of 512 bytes. The signal would end the process, as it ends any that does not ignore it.
    child(Command::new("env"), "trap '' XFSZ; ulimit -f 64", folder.path(), "File too large");
}

#[test]
fn a_full_file_system() {
    let Some(shell) = with_mounts() else { return };
    let folder = tempfile::tempdir().unwrap();
    child(shell, "mount -t tmpfs -o size=64k,mode=700 none \"$0\"", folder.path(), "No space left on device");
    assert!(names(folder.path()).is_empty(), "the child wrote to the small file system");
}

#[test]
fn a_read_only_file_system() {
    let Some(shell) = with_mounts() else { return };
    let folder = tempfile::tempdir().unwrap();
    Packer::default().load(table(), &on_disk(folder.path()), &graph(&weights(3)));
    let script = "here=$PWD; cd \"$0\"; mount -t tmpfs -o size=4m,mode=700 none \"$0\"
        cp * \"$0\"; mount -o remount,ro \"$0\"; cd \"$here\"";
    child(shell, script, folder.path(), "read-only");
}
