//! The shared library exports every function that a compiled model may import, unmangled.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

/// The list that the gate's compiled model has too.
fn functions() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../functions.h").lines();
    lines.filter_map(|line| line.strip_prefix("SHIM(")?.strip_suffix(')'))
}

#[test]
fn all_functions_are_exported() {
    let test = std::env::current_exe().unwrap();
    let library = test.parent().unwrap().join("libexecutorch_aoti_cuda_shims.so");
    // SAFETY: the library of this crate, whose undefined symbols this program has.
    let library = unsafe { libloading::Library::new(&library) }.unwrap();
    assert!(functions().count() > 70);
    for function in functions() {
        // SAFETY: the address is not used.
        let found = unsafe { library.get::<unsafe extern "C" fn()>(function.as_bytes()) };
        assert!(found.is_ok(), "{function} is missing");
    }
}
