//! Lets the tests' programs export the runtime's functions, so that a test can load the shared library.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-tests=-Wl,--export-dynamic");
}
