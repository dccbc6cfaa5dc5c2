//! Packed weights on disk, with the real library and kernels: cold, warm and damaged, the results are right.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod lowered;

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

use executorch_abi::backend::*;
use executorch_abi::error::ET_OK;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Sets an option of the process, for methods that are loaded from now on.
fn set(key: &str, text: &str) {
    let option = et_backend_option_t::new(key, ET_OPTION_STRING, 0, text).unwrap();
    // SAFETY: the backend is registered, so that its table lives as long as the process; the option is valid.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        assert_eq!(backend.set_options.unwrap()(backend.user_data, &option, 1), ET_OK);
    }
}

/// The files of packed weights by name, with what changes when one is replaced.
fn packs(folder: &Path) -> BTreeMap<String, u64> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let named = files.map(|file| (file.file_name().into_string().unwrap(), file.metadata().unwrap().ino()));
    named.filter(|(name, _)| name.ends_with(".pack")).collect()
}

/// One test, since options are the process's.
#[test]
fn results_are_right_whatever_the_folder_holds() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    set("packed_cache_path", folder.path().to_str().unwrap());
    for executor in ["library", "own"] {
        set("executor", executor);
        lowered::check(&lowered::run_all());
    }
    let cold = packs(folder.path());
    assert!(cold.len() > 20, "{} graphs have weights", cold.len());

    for executor in ["library", "own"] {
        set("executor", executor);
        lowered::check(&lowered::run_all());
    }
    assert_eq!(packs(folder.path()), cold, "everything was found");

    for name in cold.keys() {
        let path = folder.path().join(name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() - 5000;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
    }
    for executor in ["library", "own"] {
        set("executor", executor);
        lowered::check(&lowered::run_all());
    }
    let rebuilt = packs(folder.path());
    assert!(rebuilt.keys().eq(cold.keys()));
    assert!(rebuilt.iter().all(|(name, inode)| cold[name] != *inode), "all were replaced");
}
