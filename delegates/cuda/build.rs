//! Lets the tests' programs export the functions that containers import.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-tests=-Wl,--export-dynamic");
    println!("cargo::rustc-link-arg-examples=-Wl,--export-dynamic");
}
