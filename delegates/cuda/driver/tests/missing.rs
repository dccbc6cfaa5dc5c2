//! A machine without CUDA: errors that say what to do, and nothing worse.

use executorch_cuda_driver::{Error, FOLDERS, Loader};

#[test]
fn a_file_that_is_no_library_is_named() {
    let folder = std::env::temp_dir().join(format!("executorch-no-cuda-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libcuda.so.1"), [b'x'; 4096]).unwrap();
    let loader = Loader { folders: vec![folder.clone()], majors: vec![12] };
    let error = loader.load().unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.is_unavailable());
    let Error::Unavailable(text) = error else { panic!("{error}") };
    let file = folder.join("libcuda.so.1");
    for part in ["NVIDIA driver", file.to_str().unwrap(), FOLDERS, "invalid ELF header"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn what_is_missing_is_told_with_the_places() {
    let loader = Loader { folders: vec!["/nowhere".into()], majors: vec![12] };
    match loader.load() {
        // A machine with a driver and a runtime library.
        Ok(cuda) => assert_eq!(cuda.runtime_version() / 1000, 12),
        Err(Error::Unavailable(text)) => {
            assert!(
                text.contains("/nowhere/libcuda.so.1") || text.contains("/nowhere/libcudart.so.12"),
                "{text}"
            );
            assert!(text.contains(FOLDERS), "{text}");
        }
        Err(error) => panic!("{error}"),
    }
}
