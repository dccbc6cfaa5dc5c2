//! Payloads of all forms over named data that is made here, and such as are wrong.

use crate::common::{Program, Raw, Tensor, bool_option, fakes};
use crate::references::{Layer, close, constant};
use executorch_abi::backend::*;
use executorch_abi::data_map::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::tensor::ET_DEVICE_CUDA;
use executorch_abi::value::et_value_t;
use executorch_abi::{Dtype, Error, Result};
use executorch_backend_cuda::options::SHARED_WEIGHTS;
use executorch_cuda_driver::{Cuda, Device, DeviceBuffer};
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// Named data.
struct World {
    entries: Vec<(CString, Vec<u8>)>,
    table: et_data_map_t,
}

unsafe extern "C" fn data(world: *mut c_void, key: *const c_char, out: *mut et_buffer_t) -> et_error_t {
    // SAFETY: the map's own user data, a NUL-terminated key, and a place for the buffer; so below.
    let (world, key) = unsafe { (&*world.cast::<World>(), CStr::from_ptr(key)) };
    match world.entries.iter().find(|entry| entry.0.as_c_str() == key) {
        None => Error::new(ET_ERROR_NOT_FOUND, "no such key").set_last(),
        Some((_, bytes)) => {
            let buffer = et_buffer_t {
                data: bytes.as_ptr().cast(),
                size: bytes.len(),
                free: None,
                context: ptr::null_mut(),
            };
            // SAFETY: as above.
            unsafe { out.write(buffer) };
            ET_OK
        }
    }
}

unsafe extern "C" fn count(world: *mut c_void) -> usize {
    // SAFETY: as above.
    unsafe { &*world.cast::<World>() }.entries.len()
}

unsafe extern "C" fn key(world: *mut c_void, index: usize) -> *const c_char {
    // SAFETY: as above.
    unsafe { &*world.cast::<World>() }.entries.get(index).map_or(ptr::null(), |entry| entry.0.as_ptr())
}

impl World {
    fn new(entries: &[(&str, &[u8])]) -> Box<Self> {
        let entries =
            entries.iter().map(|(key, bytes)| (CString::new(*key).unwrap(), bytes.to_vec())).collect();
        let table = et_data_map_t {
            struct_size: size_of::<et_data_map_t>() as u32,
            reserved: 0,
            user_data: ptr::null_mut(),
            layout: None,
            data: Some(data),
            load_into: None,
            count: Some(count),
            key: Some(key),
            destroy: None,
        };
        let mut world = Box::new(Self { entries, table });
        world.table.user_data = ptr::from_mut(&mut *world).cast();
        world
    }

    fn init(&self, payload: &[u8], method: &[u8], options: &[et_backend_option_t]) -> Result<Handle<'_>> {
        let context = et_backend_init_context_t {
            struct_size: size_of::<et_backend_init_context_t>() as u32,
            reserved: 0,
            method_name: c"forward".as_ptr(),
            data_map: &self.table,
            method_allocator: ptr::null(),
            tracer: ptr::null(),
            options: options.as_ptr(),
            option_count: options.len(),
            internal: ptr::null_mut(),
        };
        let processed = et_buffer_t {
            data: payload.as_ptr().cast(),
            size: payload.len(),
            free: None,
            context: ptr::null_mut(),
        };
        let spec = et_compile_spec_t {
            key: c"method_name".as_ptr(),
            value: method.as_ptr().cast(),
            size: method.len(),
        };
        let mut handle = ptr::null_mut();
        // SAFETY: arguments as the interface asks for; the world outlives the handle.
        Error::check(unsafe {
            (backend().init.unwrap())(backend().user_data, &context, &processed, &spec, 1, &mut handle)
        })?;
        Ok(Handle { raw: handle, world: std::marker::PhantomData })
    }
}

fn backend() -> &'static et_backend_t {
    // SAFETY: a registered table lives as long as the process.
    unsafe { et_backend_find(c"CudaBackend".as_ptr()).as_ref() }.unwrap()
}

struct Handle<'w> {
    raw: *mut c_void,
    world: std::marker::PhantomData<&'w World>,
}

impl Handle<'_> {
    /// Runs the container of `cuda_layer`.
    fn layer(&self, x: &[f32]) -> Result<Vec<f32>> {
        let input = Layer::tensor(x);
        let memory = DeviceBuffer::new(Cuda::get().unwrap(), Device(0), 192).unwrap();
        let mut raw = [
            Raw::new(Dtype::Float32, &[4, 16], input.memory.as_ptr(), 256, ET_DEVICE_CUDA),
            Raw::new(Dtype::Float32, &[4, 12], memory.as_ptr(), 192, ET_DEVICE_CUDA),
        ];
        let mut values: Vec<et_value_t> = raw.iter_mut().map(|raw| raw.value()).collect();
        let arguments: Vec<_> = values.iter_mut().map(ptr::from_mut).collect();
        let context = et_backend_execute_context_t {
            struct_size: size_of::<et_backend_execute_context_t>() as u32,
            reserved: 0,
            method_name: c"forward".as_ptr(),
            temp_allocator: ptr::null(),
            tracer: ptr::null(),
            internal: ptr::null_mut(),
        };
        // SAFETY: a live handle, and arguments that live through the call.
        Error::check(unsafe {
            (backend().execute.unwrap())(
                backend().user_data,
                &context,
                self.raw,
                arguments.as_ptr(),
                arguments.len(),
            )
        })?;
        Tensor { dtype: Dtype::Float32, sizes: vec![4, 12], memory }.try_floats()
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        // SAFETY: a live handle, given away.
        unsafe { (backend().destroy.unwrap())(backend().user_data, self.raw) };
    }
}

/// The library of `cuda_layer`, and its constants as the file that held them before 1.5.
fn parts(program: &Program) -> (Vec<u8>, Vec<u8>) {
    let library = program.data(|key| key.ends_with("_so_blob")).remove(0).1;
    // PyTorch pads each of a model for the CPU, and none of one for CUDA alone.
    let padded = |name: &str| {
        let mut bytes = constant(program, name);
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes
    };
    let weights = ["l.weight", "l.bias", "shift"].map(padded).concat();
    (library, weights)
}

#[test]
fn files_of_constants_are_loaded_by_all_names() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let (layer, (library, weights)) = (Layer::new(&program), parts(&program));
    let before = fakes.live();
    let x = Layer::input(5);
    for (payload, method, names) in [
        (&b"a_so_blob\nb_weights_blob"[..], &b"forward"[..], ["a_so_blob", "b_weights_blob"]),
        (b"", b"decode", ["decode_so_blob", "decode_weights_blob"]),
        (b"", b"", ["so_blob", "weights_blob"]),
    ] {
        let world = World::new(&[(names[0], &library), (names[1], &weights)]);
        let handle = world.init(payload, method, &[]).unwrap();
        close(&handle.layer(&x).unwrap(), &layer.expected(&x));
        drop(handle);
        let error = world.init(b"x_so_blob\ny_weights_blob", method, &[]).err().unwrap();
        assert_eq!(error.code, ET_ERROR_NOT_FOUND);
        assert!(error.message.contains("x_so_blob"), "{error}");
        // The containers are of a cut file, or of none.
        let short = World::new(&[("a", &library), ("b", &weights[..weights.len() - 1])]);
        let error = short.init(b"a\nb", method, &[]).err().unwrap();
        assert_eq!(error.code, ET_ERROR_INVALID_EXTERNAL_DATA, "{error}");
        let error = short.init(b"a\nc", method, &[]).err().unwrap();
        assert!(error.code == ET_ERROR_NOT_FOUND && error.message.contains(".ptd"), "{error}");
    }
    assert_eq!(fakes.live(), before);
}

#[test]
fn constants_of_a_file_are_shared_where_that_is_asked_for() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let (layer, (library, weights)) = (Layer::new(&program), parts(&program));
    let before = fakes.live();
    {
        let world = World::new(&[("a", &library), ("b", &weights)]);
        let options = [bool_option(SHARED_WEIGHTS, true)];
        let first = world.init(b"a\nb", b"one", &options).unwrap();
        let one = fakes.live();
        // The second takes all from the first: its file is not even there.
        let second = world.init(b"a\nmissing", b"two", &options).unwrap();
        assert_eq!(fakes.live().blocks, one.blocks);
        let x = Layer::input(6);
        // The memory outlives the method that loaded it.
        drop(first);
        close(&second.layer(&x).unwrap(), &layer.expected(&x));
        let third = world.init(b"a\nb", b"three", &[]).unwrap();
        assert_eq!(fakes.live().blocks, one.blocks + 1);
        close(&third.layer(&x).unwrap(), &layer.expected(&x));
    }
    assert_eq!(fakes.live(), before);
    assert_eq!(fakes.faults(), Vec::<String>::new());
}

#[test]
fn what_is_no_compiled_model_is_refused() {
    let fakes = fakes();
    let program = Program::open("cuda_layer");
    let (library, _) = parts(&program);
    let before = fakes.live();
    let init = |bytes: &[u8]| World::new(&[("a", bytes)]).init(b"a\nb", b"", &[]).err().unwrap();
    let mut foreign = library.clone();
    foreign[18] = if library[18] == 62 { 183 } else { 62 };
    // A library of this machine that is none of AOTInductor's: the tests' driver.
    let other = std::fs::read(executorch_cuda_fakes::folder().join("libcudart.so.13")).unwrap();
    for (bytes, code, part) in [
        (&b"MZ not for this system"[..], ET_ERROR_INVALID_PROGRAM, "no shared library"),
        (&foreign, ET_ERROR_INVALID_PROGRAM, "this machine is"),
        (&library[..4096], ET_ERROR_INVALID_PROGRAM, "cut off"),
        (&other, ET_ERROR_INVALID_PROGRAM, "AOTInductorModelContainerCreateWithDevice"),
    ] {
        let error = init(bytes);
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(part), "{error}");
    }
    let none = World::new(&[]).init(b"one line", b"", &[]).err().unwrap();
    assert_eq!(none.code, ET_ERROR_DELEGATE_INVALID_COMPATIBILITY);
    let left = std::fs::read_dir(std::env::temp_dir()).unwrap().filter_map(std::result::Result::ok);
    let prefix = format!("executorch-cuda-{}-", std::process::id());
    let own = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(&prefix);
    assert_eq!(left.filter(own).count(), 0, "temporary files are left");
    assert_eq!(fakes.live(), before);
}
