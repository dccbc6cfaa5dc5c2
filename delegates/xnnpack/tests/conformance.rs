//! Programs that upstream's partitioner lowered, against eager PyTorch's results (`checks/conformance/xnnpack`): on each
//! executor, in several threads at once, with scratch memory shared in each way, with any number of threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod lowered;

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_abi::threadpool::et_threadpool_set_thread_count;
use lowered::{check, run_all};

fn option(key: &str, kind: et_option_kind_t, number: i32, text: &str) -> et_backend_option_t {
    et_backend_option_t::new(key, kind, number, text).unwrap()
}

/// Sets options of the process, for methods that are loaded from now on.
fn set(options: &[et_backend_option_t]) -> et_error_t {
    // SAFETY: the backend is registered, so that its table lives as long as the process; the options are valid.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        backend.set_options.unwrap()(backend.user_data, options.as_ptr(), options.len())
    }
}

/// The number that an option of the process has.
fn number(key: &str) -> i32 {
    let mut option = option(key, ET_OPTION_BOOL, -1, "");
    // SAFETY: as above; there is a place for the value.
    let code = unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        backend.get_options.unwrap()(backend.user_data, &mut option, 1)
    };
    assert_eq!(code, ET_OK);
    option.number
}

fn set_executor(name: &str) {
    assert_eq!(set(&[option("executor", ET_OPTION_STRING, 0, name)]), ET_OK);
}

fn set_sharing(mode: i32) {
    assert_eq!(set(&[option("workspace_sharing_mode", ET_OPTION_INT, mode, "")]), ET_OK);
    assert_eq!(number("workspace_sharing_mode"), mode);
}

/// One test, since the options are the process's.
#[test]
fn programs_give_the_right_results() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    wrong_options_change_nothing();
    for executor in ["library", "own", "auto"] {
        println!("executor {executor}");
        set_executor(executor);
        check(&run_all());
    }
    for threads in [1, 3, 0] {
        // SAFETY: always callable.
        assert_eq!(unsafe { et_threadpool_set_thread_count(threads) }, ET_OK);
        check(&run_all());
    }
    for sharing in [1, 2, 0] {
        println!("sharing {sharing}");
        set_sharing(sharing);
        let outcomes = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(run_all)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        outcomes.iter().for_each(check);
    }
}

fn wrong_options_change_nothing() {
    let wrong = [
        option("workspace_sharing_mode", ET_OPTION_INT, 3, ""),
        option("workspace_sharing_mode", ET_OPTION_INT, -1, ""),
        option("workspace_sharing_mode", ET_OPTION_BOOL, 1, ""),
        option("weight_cache_enabled", ET_OPTION_INT, 1, ""),
        option("packed_cache_path", ET_OPTION_BOOL, 1, ""),
        option("executor", ET_OPTION_STRING, 0, "fastest"),
        option("executor", ET_OPTION_INT, 0, ""),
    ];
    for wrong in wrong {
        let right = option("weight_cache_enabled", ET_OPTION_BOOL, 0, "");
        assert_eq!(set(&[right, wrong]), ET_ERROR_INVALID_ARGUMENT);
        assert_eq!(number("weight_cache_enabled"), 1, "all options or none");
    }
    assert_eq!(set(&[option("unheard_of", ET_OPTION_BOOL, 1, "")]), ET_OK, "as upstream does");
}
