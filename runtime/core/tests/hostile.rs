//! Files that are well-formed FlatBuffers but say what cannot be: one test for each class, with what is told.
//!
//! Damaged structure (offsets, lengths, absent fields) is the business of `mutants.rs`, headers and shapes that of the unit
//! tests beside the code that reads them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{Data, Instruction, Made, Value};
use common::*;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};

fn planned(size: i32, offset: u32) -> Value {
    Value::Tensor(vec![size], Data::Planned(offset))
}

/// out = a + a, with the number 1 and none as further values.
fn base() -> Made {
    Made {
        values: vec![planned(4, 0), planned(4, 16), Value::Int(1), Value::None],
        inputs: vec![0],
        outputs: vec![1],
        instructions: vec![Instruction::Kernel(0, vec![0, 0, 2, 1, 1])],
        operators: vec![("aten::add", "out"), ("executorch_prim::add", "Scalar")],
        planned: 32,
        ..Made::default()
    }
}

fn load(made: &Made) -> Result<Method> {
    register_kernels();
    let bytes = Box::leak(Box::new(Aligned::new(&made.bytes())));
    load_method(&load_bytes(bytes)?, c"forward")
}

#[track_caller]
fn refused(made: Made, parts: &[&str]) -> Error {
    let error = load(&made).err().unwrap();
    for part in parts {
        assert!(error.message.contains(part), "{error} does not say {part:?}");
    }
    error
}

#[test]
fn the_base_is_fine() {
    load(&base()).unwrap();
}

#[test]
fn indices_that_name_nothing() {
    for bad in [4, -1, i32::MAX, i32::MIN] {
        let shown = bad.to_string();
        let values = ["there are 4", shown.as_str()];
        refused(Made { inputs: vec![bad], ..base() }, &values);
        refused(Made { outputs: vec![bad], ..base() }, &values);
        let instructions: [(Instruction, &[&str]); 8] = [
            (Instruction::Kernel(0, vec![0, 0, 2, bad, 1]), &values),
            (Instruction::Kernel(bad, vec![0, 0, 2, 1, 1]), &["operator", "there are 2"]),
            (Instruction::Delegate(bad, vec![0]), &["delegate", "there are 0"]),
            (Instruction::Move(bad, 0), &values),
            (Instruction::Move(0, bad), &values),
            (Instruction::JumpFalse(bad, 0), &values),
            (Instruction::JumpFalse(0, bad), &["jump", "there are 2"]),
            (Instruction::Free(bad), &values),
        ];
        for (instruction, parts) in instructions {
            let error = refused(Made { instructions: vec![instruction], ..base() }, parts);
            assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM);
            assert!(error.message.contains("instruction 0 of chain 0"), "{error}");
        }
        for list in [Value::Ints(vec![i64::from(bad)]), Value::Tensors(vec![bad])] {
            let mut made = base();
            made.values[3] = list;
            refused(made, &["value 3", &shown]);
        }
    }
}

#[test]
fn values_of_the_wrong_kind() {
    let call = |args: &[i32]| Made { instructions: vec![Instruction::Kernel(0, args.to_vec())], ..base() };
    refused(call(&[0, 2, 2, 1, 1]), &["aten::add.out", "argument 1 should be a tensor, found an int"]);
    refused(call(&[0, 0, 3, 1, 1]), &["argument 2 should be a number, found none"]);
    refused(call(&[0, 0, 2]), &["3 arguments, expected at least 4"]);
    refused(call(&[]), &["0 arguments"]);
    let prim = |args: &[i32]| Made { instructions: vec![Instruction::Kernel(1, args.to_vec())], ..base() };
    refused(prim(&[2, 2]), &["2 arguments, expected 3"]);
    // Numbers are only looked at when they are added.
    let method = load(&Made { inputs: vec![], ..prim(&[2, 3, 2]) }).unwrap();
    assert!(execute(&method).unwrap_err().message.contains("expected") || execute(&method).is_err());
    let method = load(&Made { inputs: vec![], ..prim(&[2, 2, 1]) }).unwrap();
    assert!(execute(&method).unwrap_err().message.contains("is a tensor"));
    for (from, to) in [(0, 2), (2, 0), (3, 1)] {
        refused(Made { instructions: vec![Instruction::Move(from, to)], ..base() }, &["mixes a tensor"]);
    }
    refused(Made { instructions: vec![Instruction::Free(2)], ..base() }, &["is no tensor"]);
    for list in [Value::Ints(vec![0]), Value::Tensors(vec![2])] {
        let mut made = base();
        made.values[3] = list;
        refused(made, &["value 3", "another type"]);
    }
    let method =
        load(&Made { inputs: vec![], instructions: vec![Instruction::JumpFalse(3, 0)], ..base() }).unwrap();
    assert!(execute(&method).unwrap_err().message.contains("condition is none"));
}

#[test]
fn memory_outside_of_its_buffer() {
    for (size, offset) in [(4, 20), (5, 16), (4, u32::MAX), (i32::MAX, 0)] {
        let mut made = base();
        made.values[1] = planned(size, offset);
        refused(made, &["value 1", "planned buffer 0", "but the buffer has 32"]);
    }
    for bytes in [-1, i64::MIN] {
        refused(Made { planned: bytes, ..base() }, &["planned buffer has"]);
    }
    // A size that nobody has is refused by the allocator, not by a crash.
    let error = load(&Made { planned: i64::MAX, ..base() }).err().unwrap();
    assert_eq!(error.code, ET_ERROR_MEMORY_ALLOCATION_FAILED);
}

#[test]
fn constants_outside_of_their_segment() {
    let with = |constant, size, segment| {
        let mut made = base();
        made.values[0] = Value::Tensor(vec![size], Data::Constant(constant));
        made.inputs.clear();
        Made { constants: vec![vec![1.0; 4], vec![2.0; 4]], segment, ..made }
    };
    load(&with(2, 4, (0, 0))).unwrap();
    refused(with(3, 4, (0, 0)), &["constant 3 does not exist: there are 3"]);
    refused(with(2, 5, (0, 0)), &["needs 20 bytes, but constant 2 has 16"]);
    refused(with(2, 4, (0, 1)), &["segment 0", "but the file has"]);
    refused(with(2, 4, (0, u64::MAX)), &["constant"]);
    refused(with(2, 4, (u64::MAX - 63, 64)), &["segment 0"]);
    refused(with(2, 4, (1 << 63, 0)), &["segment 0"]);
    // The segment of what remains starts at an odd byte.
    let error = load(&with(1, 4, (1, 0))).err().unwrap();
    assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT);
    assert!(error.message.contains("multiple of 16"), "{error}");
}

#[test]
fn constants_that_are_written() {
    let mut made = base();
    made.values[1] = Value::Tensor(vec![4], Data::Constant(1));
    made.constants = vec![vec![1.0; 4]];
    made.inputs.clear();
    let method = load(&made).unwrap();
    assert!(execute(&method).unwrap_err().message.contains("must not be written"));
}

#[test]
fn names_given_twice() {
    refused(Made { named: vec![("key", 0), ("other", 0), ("key", 0)], ..base() }, &["\"key\"", "two"]);
    refused(Made { named: vec![("key", 1)], ..base() }, &["\"key\"", "segment 1 does not exist"]);
    refused(Made { copies: 2, ..base() }, &["two methods are named \"forward\""]);
}

#[test]
fn delegates_without_a_backend() {
    let error = refused(Made { backends: vec!["Nobody"], ..base() }, &["Nobody", "not registered"]);
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
}

#[test]
fn programs_that_never_end() {
    let mut made = base();
    made.values[2] = Value::Bool(false);
    made.inputs.clear();
    made.instructions = vec![Instruction::JumpFalse(2, 0)];
    let method = load(&made).unwrap();
    for _ in 0..2 {
        let error = execute(&method).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM);
        assert!(error.message.contains("10000000 instructions"), "{error}");
    }
}

/// What takes time or memory in the square of what the file holds would not end here.
#[test]
fn a_hundred_thousand_of_everything() {
    const MANY: i32 = 100_000;
    let mut made = base();
    made.values.extend((0..MANY).map(|i| Value::Tensors(vec![i % 2; 4])));
    made.values.push(Value::Tensors(vec![0; MANY as usize]));
    let all = MANY + 4;
    made.inputs = vec![0; MANY as usize];
    made.outputs = (0..MANY).collect();
    made.instructions = (0..MANY).map(|i| Instruction::Kernel(0, vec![0, 0, 2, 1, 4 + i])).collect();
    made.instructions.extend((0..MANY).map(|_| Instruction::Kernel(0, vec![0, 0, 2, 1, all])));
    made.instructions.extend((0..MANY).map(|i| Instruction::JumpFalse(2, i)));
    load(&made).unwrap();
    let wide = Made {
        instructions: vec![Instruction::Kernel(
            0,
            [0, 0, 2].into_iter().chain(vec![1; MANY as usize]).collect(),
        )],
        ..base()
    };
    load(&wide).unwrap();
    // One table that is named so often is more than the file can hold.
    refused(Made { copies: MANY as usize, ..base() }, &["Too many tables"]);
    refused(Made { backends: vec!["Nobody"; MANY as usize], ..base() }, &["delegate 0"]);
    refused(
        Made { operators: vec![("aten::absent", "out"); MANY as usize], ..base() },
        &["aten::absent.out"],
    );
}
