//! An S3 server on this machine, from PyPI.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use executorch_tools::Tools;

/// The bucket that it serves, and what it takes for credentials and a region.
pub const BUCKET: &str = "wheels";
pub const ACCESS: &str = "anybody";
pub const REGION: &str = "us-east-1";

/// A server that ends when it is dropped or this process ends, because its standard input does.
pub struct Server {
    _process: Child,
    /// Its address.
    pub endpoint: String,
}

impl Server {
    /// Starts a server; with TLS if `certificate` names a file for what clients have to trust.
    pub fn start(certificate: Option<&Path>) -> Self {
        // This program lies in target/PROFILE/deps.
        let program = std::env::current_exe().unwrap();
        let tools = Tools::new(program.ancestors().nth(3).unwrap().join("tools"));
        let venv = tools.venv("bucket", &["moto[s3]==5.2.5", "flask==3.1.3", "flask-cors==6.0.5"]).unwrap();
        let mut process = Command::new(venv.join("bin/python"))
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../release/tests/support/bucket.py"))
            .args(certificate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // It tells of every request.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        assert!(port.trim().parse::<u16>().is_ok(), "the server of the bucket said: {port:?}");
        let scheme = if certificate.is_some() { "https" } else { "http" };
        let endpoint = format!("{scheme}://127.0.0.1:{}", port.trim());
        Self { _process: process, endpoint }
    }
}
