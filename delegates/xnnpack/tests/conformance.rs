//! Programs that upstream's partitioner lowered, against eager PyTorch's results (`checks/conformance/xnnpack`), on each
//! executor.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::backend::*;
use executorch_abi::error::ET_OK;
use std::ffi::c_char;

/// Sets the option of the process, for methods that are loaded from now on.
fn set_executor(name: &str) {
    let mut option = et_backend_option_t {
        key: [0; ET_OPTION_KEY_SIZE],
        kind: ET_OPTION_STRING,
        number: 0,
        string: [0; ET_OPTION_STRING_SIZE],
    };
    let copy = |to: &mut [c_char], from: &str| {
        to.iter_mut().zip(from.bytes()).for_each(|(to, from)| *to = from as c_char);
    };
    copy(&mut option.key, "executor");
    copy(&mut option.string, name);
    // SAFETY: the backend is registered, so that its table lives as long as the process; the option is valid.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        assert_eq!(backend.set_options.unwrap()(backend.user_data, &option, 1), ET_OK);
    }
}

/// One test, since the option is the process's.
#[test]
fn programs_give_the_right_results_on_each_executor() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    for executor in ["library", "own", "auto"] {
        println!("executor {executor}");
        set_executor(executor);
        executorch_conformance::check("xnnpack");
    }
}
