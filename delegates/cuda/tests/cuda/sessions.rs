//! Sessions with mutable buffers of their own.

use crate::common::{Program, Tensor, fakes};
use crate::references::{Cache, close, numbers};
use executorch_abi::error::*;
use executorch_backend_cuda::session::*;

/// Undoes what a failed test left on its thread.
struct Context(i32);

impl Context {
    fn new(names: &[&str]) -> Self {
        let context = Self(create());
        register(context.0, names.iter().map(|name| (*name).to_owned())).unwrap();
        context
    }

    fn loading<T>(&self, load: impl FnOnce() -> T) -> T {
        begin_load(self.0).unwrap();
        let loaded = load();
        end_load();
        loaded
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        end_load();
        set_active(0, NO_SESSION);
        destroy(self.0);
    }
}

#[test]
fn each_session_has_a_cache_of_its_own() {
    let fakes = fakes();
    let before = fakes.live();
    {
        let context = Context::new(&["cache"]);
        let program = Program::open("cuda_cache");
        let (mut decode, mut prefill) =
            context.loading(|| (program.method("decode").unwrap(), program.method("prefill").unwrap()));
        assert!(is_available(context.0));
        validate(context.0).unwrap();
        assert_eq!(bytes(context.0), 96);
        let sessions = [create_session(context.0).unwrap(), create_session(context.0).unwrap()];
        let mut caches = [Cache::new(&program), Cache::new(&program)];
        for seed in 0..4 {
            let which = seed as usize % 2;
            set_active(context.0, sessions[which]);
            let (one, five) = (numbers(8, seed), numbers(40, seed + 10));
            let got = decode.run(&[Tensor::floats(&[8], &one)]).unwrap();
            close(&got[0].to_floats(), &caches[which].decode(&one));
            let got = prefill.run(&[Tensor::floats(&[5, 8], &five)]).unwrap();
            close(&got[0].to_floats(), &caches[which].prefill(&five));
        }
        let error = |method: &mut crate::common::Method<'_>| {
            method.run(&[Tensor::floats(&[8], &numbers(8, 1))]).err().unwrap().code
        };
        set_active(context.0, NO_SESSION);
        assert_eq!(error(&mut decode), ET_ERROR_INVALID_STATE);
        set_active(context.0, 99);
        assert_eq!(error(&mut decode), ET_ERROR_INVALID_ARGUMENT);
        destroy_session(context.0, sessions[0]);
        set_active(context.0, sessions[0]);
        assert_eq!(error(&mut decode), ET_ERROR_INVALID_ARGUMENT);
        // A method of no context, and one of another.
        let mut outside = program.method("decode").unwrap();
        set_active(context.0, sessions[1]);
        assert_eq!(error(&mut outside), ET_ERROR_INTERNAL);
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn mistakes_close_the_way() {
    let _fakes = fakes();
    let code = |result: executorch_abi::Result<()>| result.unwrap_err().code;
    assert_eq!(code(validate(9999)), ET_ERROR_INVALID_ARGUMENT);
    assert_eq!((is_available(9999), bytes(9999)), (false, 0));
    destroy(9999);
    let empty = Context::new(&[]);
    assert_eq!(code(validate(empty.0)), ET_ERROR_NOT_SUPPORTED);
    assert_eq!(create_session(empty.0).unwrap_err().code, ET_ERROR_NOT_SUPPORTED);
    let program = Program::open("cuda_cache");
    let _method = empty.loading(|| program.method("decode").unwrap());
    assert_eq!(code(validate(empty.0)), ET_ERROR_INVALID_STATE);
    let lost = Context::new(&["cache", "no.such.buffer"]);
    let _other = lost.loading(|| program.method("decode").unwrap());
    let error = validate(lost.0).unwrap_err();
    assert!(error.code == ET_ERROR_INVALID_PROGRAM && error.message.contains("no.such.buffer"), "{error}");
    assert_eq!(code(register(lost.0, ["late".to_owned()])), ET_ERROR_INVALID_STATE);
    assert_eq!(code(validate(lost.0)), ET_ERROR_INVALID_STATE);
    let nested = Context::new(&["cache"]);
    begin_load(nested.0).unwrap();
    assert_eq!(code(begin_load(nested.0)), ET_ERROR_INVALID_STATE);
    end_load();
    assert_eq!(code(validate(nested.0)), ET_ERROR_INVALID_STATE);
}
