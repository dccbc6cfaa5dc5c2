//! This machine as a stand-in for a clean one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_vm::{Error, Job, Machine, Outcome};
use std::fs;
use std::time::Duration;

struct Bench {
    dir: tempfile::TempDir,
    machine: Machine,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::here().unwrap();
        fs::create_dir(dir.path().join("files")).unwrap();
        Self { dir, machine }
    }

    fn job(&self, command: &str) -> Job {
        Job::new(self.dir.path().join("files"), command, self.dir.path().join("out"))
    }

    fn run(&self, job: &Job) -> Result<Outcome, Error> {
        self.machine.run(job, &|_| {})
    }
}

#[test]
fn files_go_in_and_results_come_back() {
    let bench = Bench::new();
    fs::write(bench.dir.path().join("files/wheel"), "bytes").unwrap();
    let outcome = bench.run(&bench.job("cp /job/wheel /results/report.json; echo done; exit 3")).unwrap();
    assert_eq!(fs::read_to_string(outcome.report).unwrap(), "bytes");
    assert_eq!(outcome.exit_status, 3);
    assert!(fs::read_to_string(outcome.console).unwrap().contains("done"));
}

#[test]
fn neither_the_network_nor_this_source_tree_is_there() {
    let bench = Bench::new();
    // Something that answers out here, and a source tree whose files are there.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let tree = env!("CARGO_MANIFEST_DIR");
    assert!(fs::exists(format!("{tree}/Cargo.toml")).unwrap());
    let script = format!(
        "import json, os, socket\n\
         def reached(*address):\n\
         \ttry:\n\
         \t\tsocket.create_connection(address, 5)\n\
         \t\treturn True\n\
         \texcept OSError:\n\
         \t\treturn False\n\
         def writable(path):\n\
         \ttry:\n\
         \t\topen(path, 'w')\n\
         \t\treturn True\n\
         \texcept OSError:\n\
         \t\treturn False\n\
         json.dump(dict(local=reached('127.0.0.1', {port}), far=reached('192.0.2.1', 80),\n\
         tree=os.path.exists('{tree}'), home=os.listdir(os.environ['HOME']), tmp=os.listdir('/tmp'),\n\
         user=os.getuid(), files=writable('/job/x'), system=writable('/usr/x'),\n\
         variable='EXECUTORCH_SECRET' in os.environ), open('/results/report.json', 'w'), sort_keys=True)\n"
    );
    fs::write(bench.dir.path().join("files/try.py"), script).unwrap();
    let outcome = bench.run(&bench.job("python3 /job/try.py")).unwrap();
    let expected = r#"{"far": false, "files": false, "home": [], "local": false, "system": false, "tmp": [], "tree": false, "user": 1000, "variable": false}"#;
    assert_eq!(fs::read_to_string(outcome.report).unwrap(), expected);
}

#[test]
fn without_a_report_there_is_no_verdict() {
    let bench = Bench::new();
    let error = bench.run(&bench.job("echo fine")).unwrap_err();
    let Error::NoReport(remains) = error else { panic!("{error}") };
    assert!(remains.reason.contains("status 0 and left no report.json"), "{remains}");
    assert!(remains.tail.contains("fine"), "{remains}");
}

#[test]
fn commands_that_do_not_end_are_stopped_with_what_they_started() {
    let bench = Bench::new();
    let job = Job {
        timeout: Duration::from_millis(500),
        ..bench.job(
            "echo {} > /results/report.json; (while :; do date > /results/alive; sleep 0.02; done) & wait",
        )
    };
    let error = bench.run(&job).unwrap_err();
    assert!(matches!(error, Error::TimedOut(_)), "{error}");
    let alive = job.out.join("results/alive");
    assert!(alive.exists());
    fs::remove_file(&alive).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(!alive.exists(), "the command's children go on");
}
