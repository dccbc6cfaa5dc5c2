//! Loading real programs, and what is said of those that cannot run.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::*;
use executorch_abi::error::*;
use executorch_abi::loader::*;
use executorch_abi::program::*;
use std::ffi::CStr;
use std::path::Path;

#[test]
fn every_program_loads_in_every_mode() {
    for path in programs() {
        for mode in [ET_LOAD_FILE, ET_LOAD_MMAP, ET_LOAD_MMAP_MLOCK_IGNORE_ERRORS, ET_LOAD_MMAP_MADVISE] {
            let loader = open(&path, mode).unwrap();
            let mut program = std::ptr::null_mut();
            // SAFETY: the loader is given away; a place for the handle.
            let code = unsafe { et_program_load(&loader, &mut program) };
            assert_eq!(code, ET_OK, "{}", path.display());
            let program = Program(program);
            // SAFETY: a live program.
            unsafe {
                assert!(et_program_method_count(program.0) >= 1);
                let meta = et_program_method_at(program.0, 0);
                assert!(et_method_meta_instruction_count(meta) >= 1, "{}", path.display());
            }
        }
    }
}

#[test]
fn methods_are_described() {
    let program = load_file(&file("multi.pte")).unwrap();
    // SAFETY: a live program; names are NUL-terminated.
    let names: Vec<_> = unsafe {
        (0..et_program_method_count(program.0))
            .map(|i| CStr::from_ptr(et_method_meta_name(et_program_method_at(program.0, i))).to_owned())
            .collect()
    };
    assert!(names.contains(&c"forward".to_owned()) && names.contains(&c"mul".to_owned()), "{names:?}");
    let error = load_method(&program, c"nothing").err().unwrap();
    assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT);
    assert!(error.message.contains("forward") && error.message.contains("mul"), "{error}");
}

#[test]
fn missing_operators_are_all_named() {
    let program = load_file(&file("dynmlp.pte")).unwrap();
    let error = load_method(&program, c"forward").err().unwrap();
    assert_eq!(error.code, ET_ERROR_OPERATOR_MISSING);
    for operator in ["aten::addmm.out", "aten::permute_copy.out", "executorch::kernels_optimized"] {
        assert!(error.message.contains(operator), "{error}");
    }
}

#[test]
fn a_missing_backend_is_named() {
    let program = load_file(&file("add_xnnpack.pte")).unwrap();
    let error = load_method(&program, c"forward").err().unwrap();
    assert_eq!(error.code, ET_ERROR_NOT_FOUND);
    assert!(error.message.contains("XnnpackBackend"), "{error}");
}

#[test]
fn what_is_no_program_is_told() {
    let missing = open(Path::new("/nonexistent/model.pte"), ET_LOAD_MMAP).err().unwrap();
    assert_eq!(missing.code, ET_ERROR_NOT_FOUND);
    assert!(missing.message.contains("/nonexistent/model.pte"), "{missing}");
    let text = Aligned::new(&[b'x'; 200]);
    let error = load_bytes(&text).err().unwrap();
    assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM);
    assert!(error.message.contains("ET12"), "{error}");
    assert_eq!(load_bytes(&Aligned::new(b"short")).err().unwrap().code, ET_ERROR_INVALID_ARGUMENT);
}

#[test]
fn every_truncation_is_refused() {
    let whole = std::fs::read(file("add.pte")).unwrap();
    let program = load_bytes(&Aligned::new(&whole));
    assert!(program.is_ok());
    for length in 0..whole.len() {
        // The file may end in padding; whatever loads must still be a program that can be asked.
        if let Ok(program) = load_bytes(&Aligned::new(&whole[..length])) {
            // SAFETY: a live program.
            assert_eq!(unsafe { et_program_method_count(program.0) }, 1);
        }
    }
    assert!(load_bytes(&Aligned::new(&whole[..whole.len() / 2])).is_err());
}
