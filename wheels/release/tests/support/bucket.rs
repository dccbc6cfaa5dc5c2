//! An S3 server on this machine, from PyPI.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use executorch_tools::Tools;

/// The bucket that it serves, and what it takes for credentials and a region.
pub const BUCKET: &str = "wheels";
pub const ACCESS: &str = "anybody";
pub const REGION: &str = "us-east-1";

/// The server's address: one for the whole process, which ends with it, because its standard input does.
pub fn endpoint() -> &'static str {
    static SERVER: OnceLock<(Child, String)> = OnceLock::new();
    let (_, endpoint) = SERVER.get_or_init(|| {
        // This program lies in target/PROFILE/deps.
        let program = std::env::current_exe().unwrap();
        let tools = Tools::new(program.ancestors().nth(3).unwrap().join("tools"));
        let venv = tools.venv("bucket", &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"]).unwrap();
        let mut child = Command::new(venv.join("bin/python"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../release/tests/support/bucket.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It tells of every request.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        assert!(port.trim().parse::<u16>().is_ok(), "the server of the bucket said: {port:?}");
        (child, format!("http://127.0.0.1:{}", port.trim()))
    });
    endpoint
}
