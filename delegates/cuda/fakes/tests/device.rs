//! The fake device as programs see it, through the functions that they call.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use executorch_cuda_fakes::{Fakes, folder};
use std::ffi::c_void;
use std::ptr;

/// A function of the runtime, which is found by name as programs find it.
macro_rules! cuda {
    ($name:ident($($argument:expr => $type:ty),*)) => {{
        // SAFETY: declared as CUDA declares it, and called by its rules.
        unsafe {
            let address = libc::dlsym(libc::RTLD_DEFAULT, concat!(stringify!($name), "\0").as_ptr().cast());
            assert!(!address.is_null());
            let function: unsafe extern "C" fn($($type),*) -> i32 = std::mem::transmute(address);
            function($($argument),*)
        }
    }};
}

fn allocate(size: usize) -> *mut c_void {
    let mut data = ptr::null_mut();
    assert_eq!(cuda!(cudaMalloc(&mut data => *mut *mut c_void, size => usize)), 0);
    data
}

#[test]
fn work_waits_until_somebody_waits_for_it() {
    let fakes = Fakes::load();
    let before = fakes.live();
    let mut stream = ptr::null_mut();
    assert_eq!(cuda!(cudaStreamCreate(&mut stream => *mut *mut c_void)), 0);
    let (data, mut host) = (allocate(4), [0_u8; 4]);
    assert_eq!(cuda!(cudaMemsetAsync(data => *mut c_void, 7 => i32, 4 => usize, stream => *mut c_void)), 0);
    let to = host.as_mut_ptr().cast();
    assert_eq!(
        cuda!(cudaMemcpyAsync(to => *mut c_void, data => *mut c_void, 4 => usize, 2 => i32, stream => *mut c_void)),
        0
    );
    assert_eq!((host, fakes.count("pending")), ([0; 4], 2));
    assert_eq!(cuda!(cudaStreamSynchronize(stream => *mut c_void)), 0);
    assert_eq!(host, [7; 4]);
    assert_eq!(cuda!(cudaFree(data => *mut c_void)), 0);
    // Whoever uses it now is found out.
    assert_eq!(cuda!(cudaMemcpy(to => *mut c_void, data => *mut c_void, 4 => usize, 2 => i32)), 700);
    assert_eq!(fakes.faults().len(), 1);
    fakes.forgive();
    assert_eq!(cuda!(cudaStreamDestroy(stream => *mut c_void)), 0);
    assert_eq!(fakes.live(), before);
}

#[test]
fn the_planned_call_fails() {
    let fakes = Fakes::load();
    fakes.watch();
    fakes.fail("cudaMalloc", 2, 2);
    let mut data = [ptr::null_mut(); 3];
    let codes = data.each_mut().map(|place| cuda!(cudaMalloc(place => *mut *mut c_void, 8 => usize)));
    assert_eq!(codes, [0, 2, 0]);
    assert_eq!((data[1], fakes.calls("cudaMalloc")), (ptr::null_mut(), 3));
    // What gives something back does so all the same.
    let before = fakes.count("blocks");
    fakes.fail("", 1, 999);
    assert_eq!(cuda!(cudaFree(data[0] => *mut c_void)), 999);
    assert_eq!(cuda!(cudaFree(data[2] => *mut c_void)), 0);
    assert_eq!(fakes.count("blocks"), before - 2);
}

#[test]
fn a_graph_does_again_what_was_recorded() {
    let fakes = Fakes::load();
    let before = fakes.live();
    let (mut stream, mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    assert_eq!(cuda!(cudaStreamCreate(&mut stream => *mut *mut c_void)), 0);
    let (from, to) = (allocate(4), allocate(4));
    assert_eq!(cuda!(cudaStreamBeginCapture(stream => *mut c_void, 2 => i32)), 0);
    assert_eq!(
        cuda!(cudaMemcpyAsync(to => *mut c_void, from => *mut c_void, 4 => usize, 3 => i32, stream => *mut c_void)),
        0
    );
    assert_eq!(cuda!(cudaStreamEndCapture(stream => *mut c_void, &mut graph => *mut *mut c_void)), 0);
    let out = &mut executable;
    assert_eq!(cuda!(cudaGraphInstantiate(out => *mut *mut c_void, graph => *mut c_void, 0 => u64)), 0);
    for value in [3_u8, 9] {
        let (source, mut result) = ([value; 4], [0_u8; 4]);
        let place = result.as_mut_ptr().cast();
        assert_eq!(
            cuda!(cudaMemcpy(from => *mut c_void, source.as_ptr().cast() => *const c_void, 4 => usize, 1 => i32)),
            0
        );
        assert_eq!(cuda!(cudaGraphLaunch(executable => *mut c_void, stream => *mut c_void)), 0);
        assert_eq!(cuda!(cudaMemcpy(place => *mut c_void, to => *mut c_void, 4 => usize, 2 => i32)), 0);
        assert_eq!(result, source);
    }
    assert_eq!(cuda!(cudaGraphExecDestroy(executable => *mut c_void)), 0);
    assert_eq!(cuda!(cudaGraphDestroy(graph => *mut c_void)), 0);
    // Waiting for a stream that records ends the recording.
    assert_eq!(cuda!(cudaStreamBeginCapture(stream => *mut c_void, 2 => i32)), 0);
    assert_eq!(cuda!(cudaStreamSynchronize(stream => *mut c_void)), 900);
    assert_eq!(cuda!(cudaStreamEndCapture(stream => *mut c_void, &mut graph => *mut *mut c_void)), 901);
    assert!(graph.is_null());
    for data in [from, to] {
        assert_eq!(cuda!(cudaFree(data => *mut c_void)), 0);
    }
    assert_eq!(cuda!(cudaStreamDestroy(stream => *mut c_void)), 0);
    assert_eq!(fakes.live(), before);
    assert!(folder().join("libcudart.so.12").is_file() && folder().join("libcudart.so.13").is_file());
}
