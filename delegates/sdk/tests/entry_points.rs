//! What the table's functions do with what the runtime hands them, called as the runtime calls them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::*;
use executorch_abi::backend::*;
use executorch_abi::error::*;
use executorch_abi::loader::et_buffer_t;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_delegate::*;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

/// A delegate that does what the first byte of its payload says.
struct Probe {
    level: AtomicI32,
}

struct Handle<'m> {
    payload: Payload<'m>,
    named_data: NamedData<'m>,
    memory: Option<&'m mut [std::mem::MaybeUninit<u8>]>,
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
        assert_ne!(self.payload.first(), Some(&b'D'), "dropped");
    }
}

export_delegate!(Probe = Probe { level: AtomicI32::new(3) });

impl Delegate for Probe {
    type Handle<'m> = Handle<'m>;
    const NAME: &'static CStr = c"ProbeBackend";

    fn init<'m>(
        &self,
        context: &InitContext<'m>,
        payload: Payload<'m>,
        specs: CompileSpecs<'_>,
    ) -> Result<Handle<'m>> {
        assert_eq!(context.method_name(), "forward");
        match payload.first() {
            Some(b'I') => panic!("init of {} bytes", payload.len()),
            Some(b'E') => return Err(Error::new(ET_ERROR_OUT_OF_RESOURCES, "no room")),
            Some(b'O') => {
                context.options().only(&["one", "two"])?;
                context.options().int("one")?;
                context.options().string("two")?;
            }
            Some(b'S') => {
                let found: Vec<_> = specs.iter().collect();
                assert_eq!(found, [("a", &b"xyz"[..]), ("b", &[]), ("a", b"!")]);
                assert_eq!((specs.get("a"), specs.get("c")), (Some(&b"xyz"[..]), None));
            }
            _ => {}
        }
        let memory = context.allocate(24, 8)?;
        Ok(Handle { payload, named_data: context.named_data(), memory })
    }

    fn execute(
        &self,
        handle: &mut Handle<'_>,
        context: &ExecuteContext,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        match handle.payload.first() {
            Some(b'X') => panic!("{}", format!("{} arguments", arguments.len())),
            Some(b'N') => {
                assert_eq!(&*handle.named_data.get("key")?, b"value");
                assert!(handle.named_data.contains("key") && !handle.named_data.contains("other"));
                let mut part = [0; 3];
                handle.named_data.load_into("key", &mut part)?;
                assert_eq!(&part, b"val");
                handle.named_data.load_into("key", &mut [0; 9])?;
            }
            Some(b'T') => {
                let tracer = context.tracer();
                assert!(tracer.is_attached());
                tracer.begin(c"outer", None).end_with(b"bytes");
                tracer.log(c"whole", Some(7), 10, 20, b"");
                drop(tracer.begin(c"node", Some(4)));
            }
            Some(b'M') => {
                assert!(handle.memory.as_ref().unwrap().as_ptr().addr().is_multiple_of(8));
                let (a, b) = (context.zeros::<i64>(3)?, context.allocate(5, 32)?);
                assert_eq!((&*a, b.len()), (&[0; 3][..], 5));
                assert!(b.as_ptr().addr().is_multiple_of(32));
                assert_eq!(context.allocate(0, 64)?.len(), 0);
                context.allocate(1 << 20, 64)?;
            }
            Some(b'A') => {
                let (inputs, mut outputs) = arguments.split(4, 2)?;
                assert_eq!(inputs.int(0)?, -5);
                assert!(inputs.is_none(1)?);
                assert_eq!(inputs.ints(2)?, [1, 2, 3]);
                let x = inputs.tensor(3)?;
                assert_eq!((x.dtype()?, x.sizes(), x.strides()), (Dtype::Float32, &[2, 2][..], &[2, 1][..]));
                assert!(inputs.tensor(4).is_err(), "outputs are not among the inputs");
                outputs.set(1, Scalar::Int(99))?;
                assert!(outputs.set(1, Scalar::Bool(true)).is_err());
                let mut y = outputs.tensor(0)?;
                y.resize(&[1, 2])?;
                y.data::<f32>()?.copy_from_slice(&x.data::<f32>()?[1..3]);
                assert_eq!(y.view().data::<f32>()?, y.view().data::<f32>()?);
                assert!(y.data::<i32>().is_err());
                assert_eq!(y.into_bytes()?.len(), 8);
                outputs.tensor(1)?;
            }
            Some(b'2') => {
                let (_, mut outputs) = arguments.split(1, 2)?;
                let all = outputs.tensors().collect::<Result<Vec<_>>>()?;
                let mut all = all.into_iter().map(Output::into_data::<f32>).collect::<Result<Vec<_>>>()?;
                all[0].fill(1.0);
                all[1].fill(2.0);
            }
            _ => {}
        }
        Ok(())
    }

    fn set_options(&self, options: Options<'_>) -> Result<()> {
        let level = options.int("level")?.ok_or_else(|| Error::new(ET_ERROR_INVALID_ARGUMENT, "no level"))?;
        assert!(level >= 0, "negative");
        self.level.store(level, Relaxed);
        Ok(())
    }

    fn get_option(&self, key: &str) -> Result<OptionValue<'_>> {
        match key {
            "level" => Ok(OptionValue::Int(self.level.load(Relaxed))),
            "on" => Ok(OptionValue::Bool(true)),
            "name" => Ok(OptionValue::String("probe".into())),
            "long" => Ok(OptionValue::String("x".repeat(256).into())),
            _ => Err(Error::new(ET_ERROR_NOT_FOUND, format!("no option {key:?}"))),
        }
    }
}

fn table() -> &'static et_backend_t {
    register_delegate().unwrap();
    // SAFETY: a NUL-terminated name; a registered table lives as long as the process.
    unsafe { et_backend_find(c"ProbeBackend".as_ptr()).as_ref() }.unwrap()
}

fn failure(code: et_error_t) -> Error {
    Error::check(code).unwrap_err()
}

fn init(payload: &[u8], options: &[et_backend_option_t]) -> Result<*mut c_void> {
    let world = World::new();
    world.context.options = options.as_ptr();
    world.context.option_count = options.len();
    let spec = |key: &'static CStr, value: &'static [u8]| et_compile_spec_t {
        key: key.as_ptr(),
        value: value.as_ptr().cast(),
        size: value.len(),
    };
    let specs = [spec(c"a", b"xyz"), spec(c"b", b""), spec(c"a", b"!")];
    let mut handle = ptr::null_mut();
    // SAFETY: arguments as the ABI asks for; the payload is given away, and the rest is leaked by `World`.
    Error::check(unsafe {
        (table().init.unwrap())(
            table().user_data,
            world.context,
            &counted(payload),
            specs.as_ptr(),
            specs.len(),
            &mut handle,
        )
    })?;
    Ok(handle)
}

fn execute(handle: *mut c_void, args: &mut [et_value_t], tracer: bool) -> Result<()> {
    let args: Vec<_> = args.iter_mut().map(ptr::from_mut).collect();
    let context = execute_context(tracer);
    // SAFETY: a live handle, and valid arguments.
    Error::check(unsafe {
        (table().execute.unwrap())(table().user_data, context, handle, args.as_ptr(), args.len())
    })
}

fn destroy(handle: *mut c_void) {
    // SAFETY: a live handle, given away.
    unsafe { (table().destroy.unwrap())(table().user_data, handle) }
}

fn run(payload: &[u8], args: &mut [et_value_t]) -> Result<()> {
    let handle = init(payload, &[])?;
    let result = execute(handle, args, false);
    destroy(handle);
    result
}

#[test]
fn errors_and_panics_arrive_with_their_messages() {
    let _turn = turn();
    let before = freed();
    let error = init(b"E", &[]).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (ET_ERROR_OUT_OF_RESOURCES, "no room"));
    let panic = init(b"Ixx", &[]).unwrap_err();
    assert_eq!(panic.code, ET_ERROR_INTERNAL);
    assert!(panic.message.contains("ProbeBackend hit a bug: init of 3 bytes"), "{panic}");
    assert_eq!(freed() - before, 2, "a failed init frees the payload too");
    let panic = run(b"X", &mut [et_value_t::int(1)]).unwrap_err();
    assert!(panic.message.contains("1 arguments") && panic.code == ET_ERROR_INTERNAL, "{panic}");
    assert_eq!(execute(ptr::null_mut(), &mut [], false).unwrap_err().code, ET_ERROR_DELEGATE_INVALID_HANDLE);
    // A handle that panics while it is dropped is gone all the same.
    let dropped = DROPPED.load(Relaxed);
    run(b"D", &mut []).unwrap();
    assert_eq!(DROPPED.load(Relaxed), dropped + 1);
    assert_eq!(freed() - before, 4, "the handle kept the payload");
}

#[test]
fn a_handle_keeps_its_payload() {
    let _turn = turn();
    let (before, dropped) = (freed(), DROPPED.load(Relaxed));
    let handle = init(b"-", &[]).unwrap();
    execute(handle, &mut [], false).unwrap();
    assert_eq!((freed(), DROPPED.load(Relaxed)), (before, dropped));
    destroy(handle);
    assert_eq!((freed(), DROPPED.load(Relaxed)), (before + 1, dropped + 1));
    destroy(ptr::null_mut());
}

#[test]
fn options_are_typed_and_known() {
    let _turn = turn();
    let load = |options: &[et_backend_option_t]| init(b"O", options).map(destroy);
    let (int, text) = (option("one", ET_OPTION_INT, 5, ""), option("two", ET_OPTION_STRING, 0, "text"));
    load(&[]).unwrap();
    load(&[int, text]).unwrap();
    let told = |options: &[et_backend_option_t], parts: &[&str]| {
        let error = load(options).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_ARGUMENT);
        assert!(parts.iter().all(|part| error.message.contains(part)), "{error}");
    };
    told(&[int, option("three", ET_OPTION_INT, 0, "")], &["\"three\"", "one, two"]);
    told(&[option("one", ET_OPTION_BOOL, 1, "")], &["\"one\"", "an int", "the bool true"]);
    told(&[option("two", ET_OPTION_INT, 4, "")], &["\"two\"", "a string", "the int 4"]);
    told(&[int, option("two", 9, 0, "")], &["option 1", "kind 9"]);
    let endless = et_backend_option_t { key: [b'x' as c_char; ET_OPTION_KEY_SIZE], ..int };
    told(&[endless], &["option 0", "key"]);
    let foreign = et_backend_option_t { string: [-1; ET_OPTION_STRING_SIZE], ..text };
    told(&[foreign], &["option 0", "UTF-8"]);
    // Of two, the last one counts.
    told(&[int, option("one", ET_OPTION_STRING, 0, "s")], &["the string \"s\""]);
}

#[test]
fn options_of_the_process_are_set_and_read() {
    let _turn = turn();
    let set = |options: &[et_backend_option_t]| {
        // SAFETY: valid options.
        Error::check(unsafe {
            (table().set_options.unwrap())(table().user_data, options.as_ptr(), options.len())
        })
    };
    let get = |options: &mut [et_backend_option_t]| {
        // SAFETY: valid options.
        Error::check(unsafe {
            (table().get_options.unwrap())(table().user_data, options.as_mut_ptr(), options.len())
        })
    };
    set(&[option("level", ET_OPTION_INT, 8, "")]).unwrap();
    assert!(set(&[]).unwrap_err().message.contains("no level"));
    assert!(set(&[option("level", ET_OPTION_INT, -1, "")]).unwrap_err().message.contains("negative"));
    let ask = |key| option(key, ET_OPTION_BOOL, -9, "old");
    let mut asked = [ask("level"), ask("on"), ask("name")];
    get(&mut asked).unwrap();
    assert_eq!((asked[0].kind, asked[0].number), (ET_OPTION_INT, 8));
    assert_eq!((asked[1].kind, asked[1].number), (ET_OPTION_BOOL, 1));
    // SAFETY: the option's text is NUL-terminated.
    assert_eq!(unsafe { CStr::from_ptr(asked[2].string.as_ptr()) }, c"probe");
    let mut unknown = [ask("level"), ask("volume")];
    assert!(get(&mut unknown).unwrap_err().message.contains("volume"));
    assert_eq!(unknown[0].number, -9, "nothing is written on failure");
    assert!(get(&mut [ask("long")]).is_err());
}

#[test]
fn what_the_context_gives_may_be_kept() {
    let _turn = turn();
    run(b"S", &mut []).unwrap();
    let short = run(b"N", &mut []).unwrap_err();
    assert!(short.message.contains("\"key\"") && short.message.contains('9'), "{short}");
    let exhausted = run(b"M", &mut []).unwrap_err();
    assert_eq!(exhausted.code, ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED);
    assert!(exhausted.message.contains("1048576"), "{exhausted}");
}

#[test]
fn a_tracer_is_told() {
    let _turn = turn();
    let handle = init(b"T", &[]).unwrap();
    execute(handle, &mut [], true).unwrap();
    destroy(handle);
    let told = ["begin outer outer -1", "end 1 bytes", "log whole 7 10 20", "begin node node 4", "end 4 "];
    assert_eq!(traced(), told);
}

#[test]
fn arguments_are_checked_and_typed() {
    let _turn = turn();
    let ints = [1i64, 2, 3];
    let mut list = et_value_t::int(0);
    list.tag = ET_TAG_LIST_INT;
    list.payload.as_int_list = et_int_list_t { data: ints.as_ptr(), length: 3 };
    let mut x = Floats::new(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let mut y = Floats::new(&[4, 2], &[0.0; 8]);
    let mut args = [et_value_t::int(-5), et_value_t::NONE, list, x.value(), y.value(), et_value_t::int(0)];
    let error = run(b"A", &mut args).unwrap_err();
    assert!(error.message.contains("output 1 should be a tensor, found an int"), "{error}");
    assert_eq!(y.numbers[..2], [2.0, 3.0]);
    assert_eq!((y.sizes[..].to_vec(), y.raw.numel), (vec![1, 2], 2));
    // SAFETY: the tag says which member holds.
    assert_eq!(unsafe { args[5].payload.as_int }, 99);
    let error = run(b"A", &mut args[1..]).unwrap_err();
    assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM);
    assert!(
        error.message.contains("4 inputs and 2 outputs") && error.message.contains("5 arguments"),
        "{error}"
    );
}

#[test]
fn outputs_that_share_memory_are_refused() {
    let _turn = turn();
    let (mut a, mut b, mut c) = (Floats::of(4), Floats::of(4), Floats::of(4));
    run(b"2", &mut [a.value(), b.value(), c.value()]).unwrap();
    assert_eq!((&b.numbers[..], &c.numbers[..]), (&[1.0; 4][..], &[2.0; 4][..]));
    let refused = |args: &mut [et_value_t], with: &str| {
        let error = run(b"2", args).unwrap_err();
        assert_eq!(error.code, ET_ERROR_INVALID_PROGRAM);
        assert!(error.message.contains(with), "{error}");
    };
    refused(&mut [a.value(), b.value(), b.value()], "output 1 shares memory with another output");
    refused(&mut [a.value(), b.value(), a.value()], "output 1 shares memory with an input");
    let items = [ptr::null_mut(), ptr::from_mut(&mut b.raw)];
    let mut list = et_value_t::NONE;
    list.tag = ET_TAG_LIST_OPTIONAL_TENSOR;
    list.payload.as_tensor_list = et_tensor_list_t { data: items.as_ptr(), length: 2 };
    refused(&mut [list, b.value(), c.value()], "output 0 shares memory with an input");
    // Half of one tensor lies in the other, as far as it may grow.
    let mut inside = Floats::of(2);
    inside.raw.data = b.numbers[3..].as_mut_ptr().cast();
    refused(&mut [inside.value(), b.value(), c.value()], "output 0 shares memory with an input");
    inside.raw.data = b.numbers[..].as_mut_ptr().wrapping_add(4).cast();
    inside.raw.capacity_bytes = 0;
    run(b"2", &mut [inside.value(), b.value(), c.value()]).unwrap();
}

#[test]
fn memory_of_a_device_is_not_read() {
    let _turn = turn();
    let (mut a, mut b, mut c) = (Floats::of(4), Floats::of(4), Floats::of(4));
    c.raw.device_type = ET_DEVICE_CUDA;
    let error = run(b"2", &mut [a.value(), b.value(), c.value()]).unwrap_err();
    assert_eq!(error.code, ET_ERROR_NOT_SUPPORTED);
    assert!(error.message.contains("device's memory"), "{error}");
}

#[test]
fn what_is_not_implemented_says_so() {
    let _turn = turn();
    let world = World::new();
    unsafe extern "C" fn sink(_: *mut c_void, _: *const c_char, _: usize) {
        panic!("nothing is written");
    }
    let before = freed();
    // SAFETY: arguments as the ABI asks for.
    let code = unsafe {
        let processed: et_buffer_t = counted(b"-");
        let describe = table().describe.unwrap();
        describe(table().user_data, world.context, &processed, ptr::null(), 0, Some(sink), ptr::null_mut())
    };
    assert_eq!(failure(code).code, ET_ERROR_NOT_IMPLEMENTED);
    assert_eq!(freed() - before, 1);
}
