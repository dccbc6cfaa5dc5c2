//! Links to the runtime's library, so that the loader finds the one that is already in the process.

fn main() {
    // Its name for the loader, which cargo gives none.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libdemo_delegate.so");
    println!("cargo::rerun-if-env-changed=EXECUTORCH_LIB");
    // Without it the runtime's functions stay undefined, which is enough where the program itself has them.
    if let Ok(folder) = std::env::var("EXECUTORCH_LIB") {
        println!("cargo::rustc-link-arg=-L{folder}");
        println!("cargo::rustc-link-arg=-l:libexecutorch.so.1");
    }
}
