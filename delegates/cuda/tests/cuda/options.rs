//! Options of the process and of a load.

use crate::common::{Program, bool_option, fakes, text_option};
use executorch_abi::Error;
use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_backend_cuda::options::*;

fn set(options: &[et_backend_option_t]) -> Result<(), Error> {
    // SAFETY: a registered table lives as long as the process, and the options through the call.
    Error::check(unsafe {
        let table = et_backend_find(c"CudaBackend".as_ptr()).as_ref().unwrap();
        (table.set_options.unwrap())(table.user_data, options.as_ptr(), options.len())
    })
}

#[test]
fn kinds_are_checked_and_others_keys_ignored() {
    let _fakes = fakes();
    set(&[text_option("somebody_elses", "x"), text_option(SKIP_COPY, "forward")]).unwrap();
    set(&[bool_option(SKIP_COPY, true)]).unwrap();
    for (wrong, key) in [
        (text_option(SHARED_STREAM, "yes"), SHARED_STREAM),
        (text_option(SHARED_WEIGHTS, "yes"), SHARED_WEIGHTS),
        (bool_option(GRAPH_METHODS, true), GRAPH_METHODS),
    ] {
        let error = set(&[wrong]).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT);
        assert!(error.message.contains(key), "{error}");
    }
}

#[test]
fn handles_may_share_a_stream() {
    let fakes = fakes();
    let program = Program::open("cuda_cache");
    let shared = [bool_option(SHARED_STREAM, true)];
    let first = program.method_with("decode", &shared).unwrap();
    let streams = fakes.live().streams;
    let second = program.method_with("prefill", &shared).unwrap();
    assert_eq!(fakes.live().streams, streams);
    let own = program.method("prefill").unwrap();
    assert_eq!(fakes.live().streams, streams + 1);
    drop((first, second, own));
    // It stays for those to come.
    assert_eq!(fakes.live().streams, streams);
}
