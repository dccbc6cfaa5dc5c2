//! A GPU that the CPU emulates: `libcuda.so.1` and `libcudart.so.12`, built by the C++ compiler from this folder and the kernels'
//! own sources.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds both libraries from `sources`, this folder, and writes a container of device code that they accept, in a folder of the
/// test's own, which is returned.
pub fn build(sources: &Path, temporary: &Path, name: &str) -> PathBuf {
    let folder = temporary.join(format!("emulator-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    for (library, files) in
        [("libcuda.so.1", &["cuda.cpp", "fibers.cpp"][..]), ("libcudart.so.12", &["cudart.cpp"])]
    {
        let status = Command::new("c++")
            // Products and sums are rounded apart, as the compiler for GPUs may or may not do.
            .args([
                "-std=c++17",
                "-O1",
                "-ffp-contract=off",
                "-Wall",
                "-Wno-unknown-pragmas",
                "-shared",
                "-fPIC",
                "-I",
            ])
            .arg(sources)
            .args(files.iter().map(|file| sources.join(file)))
            .arg("-o")
            .arg(folder.join(library))
            .status()
            .unwrap();
        assert!(status.success());
    }
    std::fs::write(folder.join("kernels.bin"), container()).unwrap();
    folder
}

/// PTX for an old architecture, which the emulator does not read.
fn container() -> Vec<u8> {
    let text = b"// emulated\n\0";
    let mut bytes = b"ETCUDA01".to_vec();
    for number in [1_u32, 0, 1, 50] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [40, text.len() as u64] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(text);
    bytes
}
