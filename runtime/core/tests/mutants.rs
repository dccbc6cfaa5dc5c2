//! Damaged programs: whatever a file says, loading and running it ends in a result or an error.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::random::Random;
use common::*;
use executorch_abi::method::et_method_input_count;
use executorch_abi::program::*;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::value::*;
use std::ffi::CStr;

const WORDS: [u32; 10] = [0, 1, 2, 16, 17, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0xffff_fffe, 0x4000_0000];

fn mutate(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            _ => {
                let at = at & !3;
                let word = WORDS[random.below(WORDS.len())].to_le_bytes();
                if let Some(place) = bytes.get_mut(at..at + 4) {
                    place.copy_from_slice(&word);
                }
            }
        }
    }
}

/// Gives every tensor input its own description back, with data of the size that it asks for.
fn feed(method: &Method) {
    // SAFETY: a live method, whose inputs are valid; the data outlives the run below.
    unsafe {
        for i in 0..et_method_input_count(method.0) {
            let value = *executorch_abi::method::et_method_input(method.0, i);
            if value.tag != ET_TAG_TENSOR {
                continue;
            }
            let tensor: &et_tensor_t = &*value.payload.as_tensor;
            let bytes = tensor.numel * executorch_abi::tensor::et_dtype_size(tensor.dtype) as u64;
            if bytes > 1 << 20 {
                continue;
            }
            let data = vec![0_u64; bytes as usize / 8 + 1].leak();
            let mut given = std::ptr::from_ref(tensor).read();
            given.data = data.as_mut_ptr().cast();
            let _ = executorch_abi::method::et_method_set_input(method.0, i, &et_value_t::tensor(&mut given));
        }
    }
}

fn exercise(program: &Program) {
    // SAFETY: a live program.
    for i in 0..unsafe { et_program_method_count(program.0) } {
        // SAFETY: as above; the name is NUL-terminated.
        let name = unsafe { CStr::from_ptr(et_method_meta_name(et_program_method_at(program.0, i))) };
        if let Ok(method) = load_method(program, name) {
            feed(&method);
            let _ = execute(&method);
            let _ = execute(&method);
        }
    }
}

/// `ET_MUTANTS` sets how many mutants of each program are tried.
#[test]
fn mutants_never_crash() {
    register_kernels();
    let per_program: u64 = std::env::var("ET_MUTANTS").ok().and_then(|n| n.parse().ok()).unwrap_or(4000);
    for name in ["add.pte", "cond.pte", "dynmlp.pte", "kv.pte", "multi.pte", "ptdmlp.pte", "add_xnnpack.pte"]
    {
        let original = std::fs::read(file(name)).unwrap();
        let mut loaded = 0;
        for seed in 1..=per_program {
            let mut bytes = original.clone();
            mutate(&mut bytes, &mut Random::new(seed));
            if let Ok(program) = load_bytes(&Aligned::new(&bytes)) {
                loaded += 1;
                exercise(&program);
            }
        }
        assert!(loaded > 0 && loaded < per_program, "{name}: {loaded} of {per_program} mutants load");
    }
}
