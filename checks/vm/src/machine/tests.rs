//! Runs with emulators that are shell scripts: they see the disks that a machine would see.

use super::*;
use crate::cache::tests::fake;
use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// Finds the disks in the emulator's arguments, and has `results`, which writes a folder to the third disk.
const PRELUDE: &str = r#"#!/bin/sh
here=$(dirname "$0")
for word; do
    case $word in
    id=d1,*) files=${word##*file=} ;;
    id=d2,*) disk=${word##*file=} ;;
    esac
    if [ "$last" = -initrd ]; then initrd=$word; fi
    last=$word
done
say() { printf 'executorch-vm: %s\r\n' "$1"; }
results() {
    printf 'status %s\nbegin 1\nend %s\n' "$1" "$2" >"$here/.executorch-vm-end"
    tar -cf "$here/tar" -C "$here/results" . -C "$here" .executorch-vm-end
    dd if="$here/tar" of="$disk" conv=notrunc status=none
}
mkdir "$here/results"
"#;

struct Bench {
    dir: tempfile::TempDir,
    machine: Machine,
    job: Job,
}

impl Bench {
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let emulator = dir.path().join("emulator");
        fs::write(&emulator, format!("{PRELUDE}{script}")).unwrap();
        fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755)).unwrap();
        tools::ensure(&[tools::MKSQUASHFS]).unwrap();
        let entry = cache::get(&dir.path().join("cache"), "debian-12", "a", &|_| {}, fake).unwrap();
        let arch = Arch::X86_64;
        let kind = Kind::Emulated { entry, arch, emulator, acceleration: Acceleration::Tcg };
        let files = dir.path().join("files");
        fs::create_dir(&files).unwrap();
        let job = Job::new(files, "sh /job/try.sh", dir.path().join("out"));
        Self { machine: Machine { name: "debian-12".into(), kind }, job, dir }
    }

    fn run(&self) -> Result<Outcome, Error> {
        self.machine.run(&self.job, &|_| {})
    }

    fn remains(&self) -> Remains {
        match self.run() {
            Err(Error::NoReport(remains) | Error::TimedOut(remains)) => *remains,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_go_in_and_results_come_back() {
    let mut bench = Bench::new(
        r#"say 'kernel started'
        unsquashfs -q -n -d "$here/job" "$files" >&2
        ls -l "$here/job/secret"
        grep -a 'sh /job/try.sh' "$initrd" && grep -a 'limit=7' "$initrd"
        say 'job starts'
        cp "$here/job/wheel" "$here/results/report.json"
        results 3 5.5
        say 'results written'
        "#,
    );
    bench.job.timeout = Duration::from_secs(7);
    fs::write(bench.job.files.join("wheel"), "bytes of the wheel").unwrap();
    let secret = bench.job.files.join("secret");
    fs::write(&secret, "").unwrap();
    fs::set_permissions(secret, fs::Permissions::from_mode(0o600)).unwrap();
    let lines = RefCell::new(Vec::new());
    let outcome = bench.machine.run(&bench.job, &|line| lines.borrow_mut().push(line.to_owned())).unwrap();
    assert_eq!(fs::read_to_string(&outcome.report).unwrap(), "bytes of the wheel");
    // The exit status is told, and decides nothing.
    assert_eq!((outcome.exit_status, outcome.seconds), (3, 4.5));
    let console = fs::read_to_string(&outcome.console).unwrap();
    assert!(console.contains("-rw-r--r--"), "users of the machine can read the files: {console}");
    assert!(console.contains("limit=7") && console.contains("try.sh"), "{console}");
    let lines = lines.into_inner();
    assert!(lines.iter().any(|line| line.starts_with("debian-12: ") && line.ends_with("results written")));
    let left: Vec<_> = fs::read_dir(&bench.job.out).unwrap().flatten().map(|file| file.file_name()).collect();
    assert_eq!(left.len(), 2, "only results and the console stay: {left:?}");
}

#[test]
fn without_a_report_there_is_no_verdict() {
    let bench = Bench::new(
        "say 'job starts'; echo all tests passed; touch \"$here/results/log\"; results 0 2; exit 0",
    );
    let remains = bench.remains();
    assert!(remains.reason.contains("status 0 and left no report.json"), "{remains:?}");
    assert!(remains.tail.contains("all tests passed"), "{remains:?}");
    assert!(remains.results.join("log").exists(), "what there is comes back");
}

#[test]
fn machines_that_write_no_results_say_how_far_they_came() {
    let bench = Bench::new("say 'system mounted'; echo Kernel panic - not syncing; exit 0");
    let remains = bench.remains();
    assert_eq!(remains.stage, "system mounted");
    assert!(remains.reason.contains("cut off") && remains.tail.contains("Kernel panic"), "{remains:?}");

    let bench = Bench::new("echo 'qemu: no such device' >&2; exit 1");
    let remains = bench.remains();
    assert!(remains.reason.contains("emulator failed (exit status: 1)"), "{remains:?}");
    assert!(remains.stage.contains("said nothing") && remains.tail.contains("no such device"), "{remains:?}");
}

#[test]
fn machines_that_do_not_start_are_stopped() {
    let mut bench = Bench::new("echo Booting from ROM; exec sleep 1000");
    bench.job.boot_timeout = Duration::from_millis(300);
    let start = Instant::now();
    let error = bench.run().unwrap_err();
    assert!(
        matches!(&error, Error::TimedOut(remains) if remains.reason.contains("did not start within 0.3 s"))
    );
    assert!(error.to_string().contains("Booting from ROM"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(100), "the emulator was not waited for");
}

#[test]
fn jobs_that_do_not_end_are_stopped() {
    let mut bench = Bench::new("echo $$ >\"$here/pid\"; say 'job starts'; exec sleep 1000");
    bench.job.timeout = Duration::from_millis(200);
    let remains = bench.remains();
    assert!(remains.reason.contains("did not end within 0.2 s"), "{remains:?}");
    assert_eq!(remains.stage, "job starts");
    let pid = fs::read_to_string(bench.dir.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the emulator has ended");
}

#[test]
fn a_report_of_a_job_whose_time_was_over_is_no_verdict() {
    let mut bench = Bench::new("say 'job starts'; echo {} >\"$here/results/report.json\"; results 124 4");
    bench.job.timeout = Duration::from_secs(3);
    assert!(matches!(bench.run(), Err(Error::TimedOut(_))));
    // A status that only looks like it.
    let bench = Bench::new("say 'job starts'; echo {} >\"$here/results/report.json\"; results 124 4");
    assert_eq!(bench.run().unwrap().exit_status, 124);
}

#[test]
fn reports_are_files() {
    let bench = Bench::new("say 'job starts'; ln -s /etc/passwd \"$here/results/report.json\"; results 0 2");
    assert!(bench.remains().reason.contains("left no report.json"));
    let bench = Bench::new("say 'job starts'; mkdir \"$here/results/report.json\"; results 0 2");
    assert!(bench.remains().reason.contains("left no report.json"));
}

#[test]
fn results_of_an_earlier_run_are_not_taken_for_new_ones() {
    let bench = Bench::new("say 'job starts'; results 0 2");
    fs::create_dir_all(bench.job.out.join("results")).unwrap();
    fs::write(bench.job.out.join("results/report.json"), "{}").unwrap();
    let error = format!("{:#}", anyhow::Error::from(bench.run().unwrap_err()));
    assert!(error.contains("is not empty"), "{error}");
}

#[test]
fn a_missing_emulator_is_named() {
    let mut bench = Bench::new("");
    if let Kind::Emulated { emulator, .. } = &mut bench.machine.kind {
        *emulator = "/no/such/emulator".into();
    }
    let error = format!("{:#}", anyhow::Error::from(bench.run().unwrap_err()));
    assert!(error.contains("cannot start /no/such/emulator"), "{error}");
}
