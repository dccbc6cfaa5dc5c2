//! Damaged programs: whatever a file says, loading and running it ends in a result or an error, in bounded memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

// The kernels call the pool, which programs get from its library.
extern crate executorch_threadpool as _;

use common::counting::{Counting, bytes, peak};
use common::random::{Random, WORDS};
use common::*;
use executorch_abi::error::ET_OK;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::threadpool::et_threadpool_set_thread_count;
use executorch_abi::value::*;
use std::ffi::CStr;
use std::path::PathBuf;
use std::ptr;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a load may allocate: so many bytes for each byte of the file, and so many more. (A value of a program takes
/// about 12 bytes of the file and 150 of memory.) A method may take the planned memory that the program asks for on top.
const BYTES_PER_BYTE: usize = 64;
const FLOOR: usize = 1 << 20;

/// Gives every tensor input its own description back, with zeros of the size that it asks for. The data is returned,
/// since the method may use it in place.
fn feed(method: &Method) -> Vec<Vec<u64>> {
    let mut kept = Vec::new();
    // SAFETY: a live method, whose inputs are valid; the data outlives the runs.
    unsafe {
        for i in 0..et_method_input_count(method.0) {
            let value = *et_method_input(method.0, i);
            if value.tag != ET_TAG_TENSOR {
                et_method_set_input(method.0, i, &value);
                continue;
            }
            let tensor: &et_tensor_t = &*value.payload.as_tensor;
            let bytes =
                tensor.numel.saturating_mul(executorch_abi::tensor::et_dtype_size(tensor.dtype) as u64);
            if bytes > 1 << 20 {
                continue;
            }
            let mut data = vec![0_u64; bytes as usize / 8 + 1];
            let mut given = ptr::from_ref(tensor).read();
            given.data = data.as_mut_ptr().cast();
            kept.push(data);
            et_method_set_input(method.0, i, &et_value_t::tensor(&mut given));
        }
    }
    kept
}

/// Bytes of planned memory that a method asks for.
fn planned(program: &Program, method: usize) -> usize {
    // SAFETY: a live program, and a place for each buffer.
    unsafe {
        let meta = et_program_method_at(program.0, method);
        let size = |i| {
            let mut info = std::mem::zeroed::<et_buffer_info_t>();
            et_method_meta_buffer(meta, i, &mut info);
            info.size as usize
        };
        (0..et_method_meta_buffer_count(meta)).map(size).fold(0, usize::saturating_add)
    }
}

/// Loads a file and runs all of its methods; whether it loads at all.
fn exercise(file: &Aligned, size: usize, map: Option<&DataMap>) -> bool {
    let before = bytes();
    peak();
    let program = load_bytes(file);
    let allowed = before + BYTES_PER_BYTE * size + FLOOR;
    let used = peak();
    assert!(used <= allowed, "loading a file of {size} bytes took {} bytes", used - before);
    let Ok(program) = program else { return false };
    let options = map.map(DataMap::options);
    let options = options.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a live program.
    for i in 0..unsafe { et_program_method_count(program.0) } {
        // SAFETY: as above; the name is NUL-terminated.
        let name = unsafe { CStr::from_ptr(et_method_meta_name(et_program_method_at(program.0, i))) };
        let method = load_method_with(&program, name, options);
        let used = peak();
        let planned = planned(&program, i);
        assert!(
            used <= allowed.saturating_add(planned),
            "a method of {planned} planned bytes took {} bytes",
            used - before
        );
        if let Ok(method) = method {
            let _data = feed(&method);
            let _ = execute(&method);
            let _ = execute(&method);
        }
        peak();
    }
    true
}

/// `ET_MUTANTS` sets how many mutants of each file are tried.
fn count() -> u64 {
    std::env::var("ET_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn conformance(name: &str) -> PathBuf {
    file("../../../../checks/conformance").join(name)
}

/// A mix of what programs have: arithmetic, state, control flow, views, methods, delegates, dynamic shapes.
fn programs() -> Vec<PathBuf> {
    let own = ["add", "cond", "dynmlp", "kv", "multi", "ptdmlp", "add_xnnpack"];
    let exported = [
        "cond_nested",
        "external_weights",
        "integers",
        "lstm",
        "map_rows",
        "methods",
        "mlp",
        "nested_values",
        "scalar_inputs",
        "separable_cnn",
        "state_cache_index_put",
        "state_counter",
        "symbolic_shapes",
        "views_dynamic",
    ];
    let own = own.iter().map(|name| file(&format!("{name}.pte")));
    let exported = exported.iter().map(|name| conformance(&format!("programs/{name}.pte")));
    own.chain(exported).chain([conformance("delegates/delegate.pte")]).collect()
}

/// Every field of a file, whatever it is: each aligned word of 2, 4 and 8 bytes becomes what hurts most as an offset (also
/// one to nowhere: an absent field), a length, an index, a size.
fn every_field(original: &[u8], mut use_it: impl FnMut(&Aligned)) {
    const SHORTS: [u16; 3] = [0, 4, 0xffff];
    const LONGS: [u64; 5] = [u64::MAX, u64::MAX - 63, 1 << 63, 1 << 32, i64::MAX as u64];
    let mut bytes = original.to_vec();
    let mut change = |size: usize, words: &[[u8; 8]]| {
        for at in (0..=original.len() - size).step_by(size) {
            for word in words {
                bytes[at..at + size].copy_from_slice(&word[..size]);
                use_it(&Aligned::new(&bytes));
            }
            bytes[at..at + size].copy_from_slice(&original[at..at + size]);
        }
    };
    change(2, &SHORTS.map(|w| u64::from(w).to_le_bytes()));
    change(4, &WORDS.map(|w| u64::from(w).to_le_bytes()));
    change(8, &LONGS.map(u64::to_le_bytes));
}

fn every_field_of_small_files() {
    for name in ["add.pte", "cond.pte", "kv.pte", "multi.pte"] {
        let original = std::fs::read(file(name)).unwrap();
        every_field(&original, |mutant| {
            exercise(mutant, original.len(), None);
        });
    }
    let delegate = std::fs::read(conformance("delegates/delegate.pte")).unwrap();
    every_field(&delegate, |mutant| {
        exercise(mutant, delegate.len(), None);
    });
    let program = Aligned::new(&std::fs::read(file("ptdmlp.pte")).unwrap());
    let data = std::fs::read(file("ptdmlp.ptd")).unwrap();
    every_field(&data, |mutant| {
        if let Ok(map) = DataMap::of_bytes(mutant) {
            exercise(&program, data.len(), Some(&map));
        }
    });
}

/// One test, since it measures what the process allocates.
#[test]
fn mutants_never_crash_and_stay_small() {
    executorch_kernels::register();
    // The programs are small, and a second thread's work could not be told from the first one's.
    // SAFETY: always callable.
    assert_eq!(unsafe { et_threadpool_set_thread_count(1) }, ET_OK);
    every_field_of_small_files();
    for path in programs() {
        let original = std::fs::read(&path).unwrap();
        let data = path.with_extension("ptd");
        let map = data.exists().then(|| DataMap::open(&data));
        let mut loaded = 0;
        for seed in 1..=count() {
            let mut bytes = original.clone();
            Random::new(seed).damage(&mut bytes);
            loaded += u64::from(exercise(&Aligned::new(&bytes), bytes.len(), map.as_ref()));
        }
        assert!(loaded > 0 && loaded < count(), "{}: {loaded} of {} mutants load", path.display(), count());
        if map.is_some() {
            external_mutants(&original, &std::fs::read(&data).unwrap());
        }
    }
}

/// The same for a data file, under an intact program.
fn external_mutants(program: &[u8], data: &[u8]) {
    let program = Aligned::new(program);
    let mut loaded = 0;
    for seed in 1..=count() {
        let mut bytes = data.to_vec();
        Random::new(seed).damage(&mut bytes);
        let bytes = Aligned::new(&bytes);
        if let Ok(map) = DataMap::of_bytes(&bytes) {
            loaded += 1;
            exercise(&program, data.len(), Some(&map));
        }
    }
    assert!(loaded > 0 && loaded < count(), "{loaded} of {} mutants load", count());
}
