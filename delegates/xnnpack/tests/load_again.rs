//! Loaded, run and destroyed over and over, from one thread and from several at once, programs leave nothing behind:
//! memory of either language, mappings, files, threads.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::counting::{Counting, bytes};
use executorch_abi::backend::*;
use executorch_abi::error::ET_OK;
use executorch_client::{MethodOptions, Program, Storage, Tensor, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What the process holds.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Bytes that Rust has allocated.
    rust: usize,
    /// Bytes that anybody has allocated, the C library among them.
    heap: usize,
    /// Bytes of memory that has been touched.
    resident: usize,
    mappings: usize,
    files: usize,
    threads: usize,
}

impl Held {
    fn now() -> Self {
        // SAFETY: always callable. The first gives free memory back, so that the rest is in use.
        let heap = unsafe {
            libc::malloc_trim(0);
            libc::mallinfo2()
        };
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
        let entries = |folder: &str| std::fs::read_dir(folder).unwrap().count();
        Self {
            rust: bytes(),
            heap: heap.uordblks + heap.hblkhd,
            resident: pages * 4096,
            mappings: std::fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            files: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
        }
    }

    /// Fails if there is more than before, by more than what tables and allocators keep for themselves.
    fn no_more_than(self, before: Self, loads: usize) {
        println!("{loads} loads: {before:?}\n    {self:?}");
        assert!(self.rust <= before.rust + loads, "less than a byte for each load");
        assert!(self.heap <= before.heap + 16 * loads, "less than the smallest block for each load");
        assert!(self.resident <= before.resident + (4 << 20));
        assert!(self.mappings <= before.mappings + 16);
        assert!(self.files <= before.files);
        assert!(self.threads <= before.threads);
    }
}

/// Loads every method of a program, runs it once, and destroys everything; how many there are.
fn live_once(path: &Path) -> usize {
    let program = Program::open(path).unwrap();
    let methods = program.methods();
    for meta in &methods {
        let mut method = program.load_method(&meta.name(), MethodOptions::default()).unwrap();
        for index in 0..meta.input_count() {
            if let Some(info) = method.input_tensor(index) {
                let zeros = Arc::new(Storage::zeroed(info.layout.nbytes()).unwrap());
                method.set_input(index, &Value::Tensor(Tensor::new(info.layout, zeros).unwrap())).unwrap();
            }
        }
        method.run().unwrap();
    }
    methods.len()
}

fn live_all(paths: &[PathBuf]) -> usize {
    paths.iter().map(|path| live_once(path)).sum()
}

/// The same from some threads that start and end, each with another program first.
fn live_all_in_threads(paths: &[PathBuf]) -> usize {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let mut paths = paths.to_vec();
                let first = thread * 5 % paths.len();
                paths.rotate_left(first);
                scope.spawn(move || live_all(&paths))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

fn set_folder(path: &str) {
    let option = et_backend_option_t::new("packed_cache_path", ET_OPTION_STRING, 0, path).unwrap();
    // SAFETY: the backend is registered, so that its table lives as long as the process; the option is valid.
    unsafe {
        let backend = &*et_backend_find(c"XnnpackBackend".as_ptr());
        assert_eq!(backend.set_options.unwrap()(backend.user_data, &option, 1), ET_OK);
    }
}

/// One test, since it counts what the process holds.
#[test]
fn nothing_is_left_behind() {
    executorch_kernels::register();
    executorch_backend_xnnpack::delegate::register_delegate().unwrap();
    let suites = executorch_conformance::suites(&executorch_conformance::folder("xnnpack"));
    let paths: Vec<PathBuf> = suites
        .iter()
        .filter(|path| !path.with_extension("ptd").exists())
        .map(|path| path.with_extension("pte"))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    for path in ["", folder.path().to_str().unwrap()] {
        set_folder(path);
        for (live, times) in [(live_all as fn(&[PathBuf]) -> usize, 4), (live_all_in_threads, 2)] {
            live(&paths);
            live(&paths);
            let before = Held::now();
            let loads = (0..times).map(|_| live(&paths)).sum();
            assert!(loads > 1000, "only {loads} methods were loaded");
            Held::now().no_more_than(before, loads);
        }
    }
    assert!(folder.path().read_dir().unwrap().count() > 20, "weights were kept on disk");
}
