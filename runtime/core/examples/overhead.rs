//! What a call costs beyond its arithmetic: an `add` of 2×4 through the C ABI, inputs set and output read every time.
//!
//! `cargo run --release -p executorch-core --example overhead [program] [runs]`

use executorch_abi::error::ET_OK;
use executorch_abi::loader::*;
use executorch_abi::method::*;
use executorch_abi::program::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result};
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Instant;

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/add.pte");

fn load(path: &str) -> Result<*mut et_method_t> {
    let path = CString::new(path).unwrap_or_default();
    let (mut loader, mut program, mut method) = (MaybeUninit::uninit(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: NUL-terminated strings, and places for what is made; the loader is given away.
    unsafe {
        Error::check(et_data_loader_open_file(path.as_ptr(), ET_LOAD_MMAP, loader.as_mut_ptr()))?;
        Error::check(et_program_load(&loader.assume_init(), &mut program))?;
        Error::check(et_program_load_method(program, c"forward".as_ptr(), ptr::null(), &mut method))?;
        et_program_release(program);
    }
    Ok(method)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    executorch_kernels::register();
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| DEFAULT.to_owned());
    let runs: u32 = args.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let method = load(&path)?;
    let mut inputs = Vec::new();
    // SAFETY: a live method; its tensors live as long, and the inputs' data is leaked.
    unsafe {
        for i in 0..et_method_input_count(method) {
            let own = et_method_input(method, i);
            if (*own).tag == ET_TAG_TENSOR {
                let mut tensor = Box::new((*own).payload.as_tensor.read());
                tensor.data = vec![0_u64; tensor.capacity_bytes as usize / 8 + 1].leak().as_mut_ptr().cast();
                inputs.push((i, tensor));
            }
        }
    }
    let mut call = |set: bool, execute: bool| {
        // SAFETY: as above.
        unsafe {
            if set {
                for (i, tensor) in &mut inputs {
                    let value = et_value_t::tensor(&mut **tensor);
                    assert_eq!(et_method_set_input(method, *i, &value), ET_OK);
                }
            }
            if execute {
                assert_eq!(et_method_execute(method), ET_OK);
                std::hint::black_box((*et_method_output(method, 0)).payload.as_tensor);
            }
        }
    };
    call(true, true);
    for (what, set, execute) in
        [("inputs, run, output", true, true), ("run, output", false, true), ("inputs", true, false)]
    {
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..runs / 5 {
                call(set, execute);
            }
            best = best.min(start.elapsed().as_nanos() as f64 / f64::from(runs / 5));
        }
        println!("{best:8.1} ns  {what}");
    }
    // SAFETY: the method is owned.
    unsafe { et_method_release(method) };
    Ok(())
}
