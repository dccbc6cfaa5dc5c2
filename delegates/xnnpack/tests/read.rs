//! Payloads that upstream's exporter wrote.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Program, programs, read};

#[test]
fn every_lowered_program_is_read() {
    for path in programs() {
        let program = Program::open(&path);
        for (i, payload) in program.payloads.iter().enumerate() {
            let graph = read(payload, &program.named)
                .unwrap_or_else(|error| panic!("payload {i} of {}: {error}", path.display()));
            assert!(!graph.nodes.is_empty());
        }
    }
}
