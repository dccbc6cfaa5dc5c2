//! Links the XNNPACK C library, which is built if it is not in the cache.

use executorch_xnnpack_native::{CACHE, Config, FLAGS, SOURCES, build};

fn main() -> anyhow::Result<()> {
    let library = build(&Config::from_build_script()?)?;
    println!("cargo::rerun-if-changed=build.rs");
    // Rebuilt when the cache has been emptied.
    println!("cargo::rerun-if-changed={}", library.lib().join("libxnnpack.a").display());
    for variable in [SOURCES, CACHE, FLAGS] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rustc-link-search=native={}", library.lib().display());
    println!("cargo::rustc-link-lib=static=xnnpack");
    println!("cargo::rustc-link-lib=dylib=m");
    println!("cargo::rustc-env=XNNPACK_BUILD={}", library.id());
    Ok(())
}
