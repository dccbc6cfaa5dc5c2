//! A real machine. Ignored by default: making an image takes minutes and a mirror of Debian.
//! `EXECUTORCH_VM_CACHE` names a folder that keeps images.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_vm::{Image, Job, Settings, to_stderr};
use std::fs;

#[test]
#[ignore = "makes an image of Debian, which takes minutes"]
fn a_machine_boots_and_is_clean() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings::from_environment(dir.path().join("cache"));
    let machine = "debian-12".parse::<Image>().unwrap().prepare(&settings, &to_stderr).unwrap();
    assert!(machine.facts().unwrap().packages.contains_key("g++"));
    let files = dir.path().join("files");
    fs::create_dir(&files).unwrap();
    fs::write(files.join("input"), "handed in").unwrap();
    let tree = env!("CARGO_MANIFEST_DIR");
    let script = format!(
        "set -u\n\
         interfaces=$(ls /sys/class/net | tr '\\n' ' ')\n\
         python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 5)' && interfaces=network\n\
         touch /job/x && interfaces=writable\n\
         [ -e {tree} ] && interfaces=tree\n\
         echo \"$interfaces$(id -u) $(ls -A /home/user /tmp | wc -w) $(cat /job/input)\" > /results/report.json\n\
         sleep 1000 &\n\
         exit 7\n"
    );
    fs::write(files.join("try.sh"), script).unwrap();
    let outcome =
        machine.run(&Job::new(files, "sh /job/try.sh", dir.path().join("out")), &to_stderr).unwrap();
    // Two names of folders, and nothing in them.
    assert_eq!(fs::read_to_string(outcome.report).unwrap(), "lo 1000 2 handed in\n");
    assert_eq!(outcome.exit_status, 7);
}
