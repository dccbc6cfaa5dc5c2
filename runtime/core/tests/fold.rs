//! Calls on constants are run once, at load, and only where that cannot be told from running them every time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::made::{Data, Instruction, Made, Value};
use common::random::Random;
use common::*;
use executorch_abi::error::*;
use executorch_abi::kernel::*;
use executorch_abi::method::*;
use executorch_abi::value::et_value_t;
use executorch_abi::{Args, Error, Result};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// How often each kernel ran, and what `pack` was told; the tests take turns.
static TURN: Mutex<()> = Mutex::new(());
static TWICE: AtomicUsize = AtomicUsize::new(0);
static IDENTITIES: Mutex<Vec<[u64; 2]>> = Mutex::new(Vec::new());
static FREED: AtomicUsize = AtomicUsize::new(0);

fn report(result: Result<()>) -> et_error_t {
    result.map_or_else(|e| e.set_last(), |()| ET_OK)
}

/// out = 2 * a + b, where b may be absent.
unsafe extern "C" fn twice(
    context: *mut et_kernel_context_t,
    args: *const *mut et_value_t,
    count: usize,
) -> et_error_t {
    TWICE.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the runtime hands out a valid context and arguments.
    let (args, state) = unsafe { (Args::new(args, count), (*context).state.cast::<Vec<f32>>()) };
    report((|| {
        let a: Vec<f32> = args.tensor(0)?.data::<f32>()?.to_vec();
        let b: Vec<f32> = if args.is_none(1)? {
            vec![0.0; a.len()]
        } else if state.is_null() {
            args.tensor(1)?.data::<f32>()?.to_vec()
        } else {
            if args.tensor(1)?.data_ptr().is_null() {
                FREED.fetch_add(1, Ordering::Relaxed);
            }
            // SAFETY: `pack` made the state.
            unsafe { (*state).clone() }
        };
        // SAFETY: the inputs are not used from here on.
        let out = unsafe { args.out(2) }?.data::<f32>()?;
        if a.len() != out.len() || b.len() != out.len() {
            return Err(Error::new(ET_ERROR_INVALID_ARGUMENT, "the sizes differ"));
        }
        for (o, (a, b)) in out.iter_mut().zip(a.iter().zip(&b)) {
            *o = 2.0 * a + b;
        }
        Ok(())
    })())
}

/// Keeps a copy of a constant second argument, and lets its memory go.
unsafe extern "C" fn pack(
    context: *mut et_prepare_context_t,
    args: *const *mut et_value_t,
    count: usize,
    state: *mut *mut c_void,
) -> et_error_t {
    // SAFETY: the runtime hands out a valid context and arguments, here and below.
    let args = unsafe { Args::new(args, count) };
    // SAFETY: as above.
    if args.is_none(1).unwrap() || !unsafe { et_prepare_is_constant(context, 1) } {
        return ET_OK;
    }
    let packed: Vec<f32> = args.tensor(1).unwrap().data::<f32>().unwrap().to_vec();
    let mut identity = [0; 2];
    // SAFETY: as above; a place for two numbers, and one for the state.
    unsafe {
        assert_eq!(et_prepare_constant_identity(context, 1, identity.as_mut_ptr()), ET_OK);
        assert_eq!(et_prepare_release_constant(context, 1), ET_OK);
        *state = Box::into_raw(Box::new(packed)).cast();
    }
    IDENTITIES.lock().unwrap().push(identity);
    ET_OK
}

unsafe extern "C" fn unpack(state: *mut c_void) {
    // SAFETY: `pack` made the state.
    drop(unsafe { Box::from_raw(state.cast::<Vec<f32>>()) });
}

/// Operators of the programs below: folded, packed, and neither; all compute the same.
const FOLDED: i32 = 0;
const PACKED: i32 = 1;
const PLAIN: i32 = 2;

fn operators() -> Vec<(&'static str, &'static str)> {
    vec![("test::folded", "out"), ("test::packed", "out"), ("test::plain", "out")]
}

fn begin() -> MutexGuard<'static, ()> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let kernel = |name: &'static std::ffi::CStr, flags| et_kernel_t {
            struct_size: size_of::<et_kernel_t>() as u32,
            flags,
            name: name.as_ptr(),
            key: ptr::null(),
            signature: c"Tt>T".as_ptr(),
            run: Some(twice),
            prepare: None,
            release: None,
            user_data: ptr::null_mut(),
        };
        let packed = et_kernel_t {
            prepare: Some(pack),
            release: Some(unpack),
            ..kernel(c"test::packed.out", ET_KERNEL_PURE)
        };
        let table = Box::leak(Box::new([
            kernel(c"test::folded.out", ET_KERNEL_PURE),
            packed,
            kernel(c"test::plain.out", 0),
        ]));
        // SAFETY: the table is leaked.
        let code = unsafe { et_register_kernels(&registration(), table.as_ptr(), table.len()) };
        assert_eq!(code, ET_OK);
    });
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    TWICE.store(0, Ordering::Relaxed);
    FREED.store(0, Ordering::Relaxed);
    IDENTITIES.lock().unwrap().clear();
    turn
}

fn runs() -> usize {
    TWICE.swap(0, Ordering::Relaxed)
}

fn planned(offset: u32) -> Value {
    Value::Tensor(vec![4], Data::Planned(offset))
}

/// Value 0 is none, 1 the input, 2 the constant; the others have planned memory at the given offsets.
fn program(offsets: &[u32], instructions: Vec<Instruction>, output: i32) -> Made {
    let mut values = vec![Value::None, planned(0), Value::Tensor(vec![4], Data::Constant(1))];
    values.extend(offsets.iter().map(|&offset| planned(offset)));
    Made {
        values,
        inputs: vec![1],
        outputs: vec![output],
        instructions,
        operators: operators(),
        constants: vec![vec![1.0, 2.0, 3.0, 4.0]],
        planned: 1024,
        ..Made::default()
    }
}

fn call(operator: i32, a: i32, b: i32, out: i32) -> Instruction {
    Instruction::Kernel(operator, vec![a, b, out, out])
}

fn set(method: &Method, input: [f32; 4]) {
    // SAFETY: a live method, whose input is a tensor with planned memory.
    unsafe {
        let own = &*(*et_method_input(method.0, 0)).payload.as_tensor;
        let mut given = ptr::from_ref(own).read();
        let mut data = input;
        given.data = data.as_mut_ptr().cast();
        assert_eq!(et_method_set_input(method.0, 0, &et_value_t::tensor(&mut given)), ET_OK);
    }
}

fn run(method: &Method, input: [f32; 4]) -> Result<Vec<f32>> {
    set(method, input);
    execute(method)?;
    // SAFETY: a live method, whose output is a tensor.
    unsafe {
        let tensor = &*(*et_method_output(method.0, 0)).payload.as_tensor;
        Ok(executorch_abi::TensorRef::new(tensor).data::<f32>()?.to_vec())
    }
}

/// Loads a made program and tells how often its kernels ran at load.
fn load(made: &Made) -> (Method, usize) {
    let bytes = Aligned::new(&made.bytes());
    let program = load_bytes(Box::leak(Box::new(bytes))).unwrap();
    runs();
    let method = load_method(&program, c"forward").unwrap();
    (method, runs())
}

const INPUT: [f32; 4] = [1.0, 1.0, 0.0, -1.0];

#[test]
fn a_call_on_constants_runs_at_load() {
    let _turn = begin();
    let made = program(&[64, 128], vec![call(FOLDED, 2, 2, 3), call(PLAIN, 1, 3, 4)], 4);
    let (method, at_load) = load(&made);
    assert_eq!(at_load, 1);
    for _ in 0..3 {
        assert_eq!(run(&method, INPUT).unwrap(), [5.0, 8.0, 9.0, 10.0]);
    }
    assert_eq!(runs(), 3, "only the other call runs again");
}

#[test]
fn chains_of_calls_fold_and_give_memory_back() {
    let _turn = begin();
    let instructions = vec![call(FOLDED, 2, 0, 3), call(FOLDED, 3, 2, 4), call(PACKED, 1, 4, 5)];
    let (method, at_load) = load(&program(&[64, 128, 192], instructions, 5));
    assert_eq!(at_load, 2);
    assert_eq!(run(&method, INPUT).unwrap(), [7.0, 12.0, 15.0, 18.0]);
    assert_eq!(FREED.load(Ordering::Relaxed), 1, "the folded constant's memory was given back");
}

#[test]
fn memory_is_kept_for_other_readers() {
    let _turn = begin();
    let instructions = vec![call(FOLDED, 2, 0, 3), call(PACKED, 1, 3, 4), call(PLAIN, 4, 3, 5)];
    let (method, _) = load(&program(&[64, 128, 192], instructions, 5));
    assert_eq!(run(&method, INPUT).unwrap(), [10.0, 16.0, 18.0, 20.0]);
    assert_eq!(FREED.load(Ordering::Relaxed), 0);
}

#[test]
fn a_file_s_constants_have_one_identity_for_all_who_load_it() {
    let _turn = begin();
    let path = std::env::temp_dir().join(format!("executorch-fold-{}.pte", std::process::id()));
    let instructions = vec![call(FOLDED, 2, 0, 3), call(PACKED, 1, 3, 4), call(PACKED, 4, 2, 5)];
    std::fs::write(&path, program(&[64, 128, 192], instructions, 5).bytes()).unwrap();
    let programs = [load_file(&path).unwrap(), load_file(&path).unwrap()];
    let methods: Vec<_> = programs.iter().map(|p| load_method(p, c"forward").unwrap()).collect();
    for method in &methods {
        assert_eq!(run(method, INPUT).unwrap(), [9.0, 14.0, 15.0, 16.0]);
    }
    let seen = IDENTITIES.lock().unwrap().clone();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[..2], seen[2..], "the same constants have the same identities");
    assert_ne!(seen[0], seen[1]);
    // Another state of the file is another file.
    let mut other = program(&[64, 128, 192], vec![call(PACKED, 1, 2, 3)], 3);
    other.constants[0][0] = 100.0;
    std::fs::write(&path, other.bytes()).unwrap();
    let replaced = load_file(&path).unwrap();
    let method = load_method(&replaced, c"forward").unwrap();
    assert_eq!(run(&method, INPUT).unwrap()[0], 102.0);
    assert!(!seen.contains(IDENTITIES.lock().unwrap().last().unwrap()));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn methods_share_the_memory_of_results() {
    let _turn = begin();
    let made = program(&[64, 128], vec![call(FOLDED, 2, 0, 3), call(PLAIN, 1, 3, 4)], 4);
    let bytes = Aligned::new(&made.bytes());
    let program = load_bytes(&bytes).unwrap();
    let first = load_method(&program, c"forward").unwrap();
    let second = load_method(&program, c"forward").unwrap();
    assert_eq!(runs(), 1, "the second method uses the first one's result");
    drop(first);
    assert_eq!(run(&second, INPUT).unwrap(), [4.0, 6.0, 6.0, 6.0]);
    drop(second);
    runs();
    let third = load_method(&program, c"forward").unwrap();
    assert_eq!(runs(), 1, "nobody had it any more");
    assert_eq!(run(&third, INPUT).unwrap(), [4.0, 6.0, 6.0, 6.0]);
}

/// What must not be folded, or not in a way that shows.
#[test]
fn folding_changes_no_result() {
    let _turn = begin();
    let twice = |a: i32, b: i32, out: i32| call(FOLDED, a, b, out);
    /// What it shows, offsets of values 3.., instructions, output, calls at load, result.
    type Case = (&'static str, &'static [u32], Vec<Instruction>, i32, usize, [f32; 4]);
    let cases: Vec<Case> = vec![
        ("an output", &[64], vec![twice(2, 0, 3)], 3, 0, [2.0, 4.0, 6.0, 8.0]),
        (
            "a value that is written twice",
            &[64, 128],
            vec![twice(2, 0, 3), call(PLAIN, 1, 3, 4), call(PLAIN, 1, 0, 3), call(PLAIN, 4, 3, 4)],
            4,
            0,
            [10.0, 14.0, 12.0, 10.0],
        ),
        (
            "a view that the exporter left out",
            &[64, 64, 128],
            vec![twice(2, 0, 3), call(PLAIN, 1, 4, 5)],
            5,
            0,
            [4.0, 6.0, 6.0, 6.0],
        ),
        (
            "memory that is used again",
            &[64, 128, 64, 192],
            vec![twice(2, 0, 3), call(PLAIN, 1, 3, 4), call(PLAIN, 4, 0, 5), call(PLAIN, 5, 4, 6)],
            6,
            1,
            [20.0, 30.0, 30.0, 30.0],
        ),
        (
            "memory that is used again, and read through a view that the exporter left out",
            &[64, 64, 64, 192, 128],
            vec![twice(2, 0, 3), call(PLAIN, 1, 3, 7), call(PLAIN, 7, 0, 5), call(PLAIN, 4, 7, 6)],
            6,
            1,
            [20.0, 30.0, 30.0, 30.0],
        ),
        (
            "memory that was used before",
            &[64, 128, 64, 192],
            vec![call(PLAIN, 1, 0, 5), call(PLAIN, 5, 0, 4), twice(2, 0, 3), call(PLAIN, 3, 4, 6)],
            6,
            1,
            [8.0, 12.0, 12.0, 12.0],
        ),
        (
            "a value in the place of another that is still read",
            &[64, 64, 128],
            vec![twice(2, 0, 3), call(PLAIN, 1, 0, 4), call(PLAIN, 1, 3, 5)],
            5,
            0,
            [4.0, 4.0, 0.0, -4.0],
        ),
        (
            "a value that is read before it is written",
            &[64, 128, 192],
            vec![call(PLAIN, 1, 3, 4), twice(2, 0, 3), call(PLAIN, 4, 3, 5)],
            5,
            0,
            [6.0, 8.0, 6.0, 4.0],
        ),
        (
            "a value that is moved",
            &[64, 128, 192],
            vec![twice(2, 0, 3), Instruction::Move(3, 4), call(PLAIN, 1, 4, 5)],
            5,
            0,
            [4.0, 6.0, 6.0, 6.0],
        ),
    ];
    for (what, offsets, instructions, output, at_load, expected) in cases {
        let (method, found) = load(&program(offsets, instructions, output));
        assert_eq!(found, at_load, "{what}");
        // The first run of the value that is read too early sees zeroed memory; later ones what the one before left.
        assert_eq!(run(&method, INPUT).unwrap(), expected, "{what}");
    }
}

#[test]
fn jumps_find_their_targets_among_folded_calls() {
    let _turn = begin();
    for (condition, expected) in [(true, [5.0, 8.0, 9.0, 10.0]), (false, [2.0, 2.0, 0.0, -2.0])] {
        // if condition { t = 2c + c; out = 2x + t } else { out = 2x }
        let instructions = vec![
            call(FOLDED, 2, 0, 3),
            Instruction::JumpFalse(6, 5),
            call(FOLDED, 2, 2, 4),
            call(PLAIN, 1, 4, 5),
            Instruction::JumpFalse(7, 6),
            call(PLAIN, 1, 0, 5),
            call(FOLDED, 2, 3, 8),
            call(PLAIN, 5, 8, 9),
        ];
        let mut made = program(&[64, 128, 192], instructions, 9);
        made.values.extend([Value::Bool(condition), Value::Bool(false), planned(256), planned(320)]);
        let (method, at_load) = load(&made);
        assert_eq!(at_load, 2, "a call that a jump may skip is left alone");
        let expected: Vec<f32> =
            expected.iter().zip([4.0, 8.0, 12.0, 16.0]).map(|(e, t)| 2.0 * e + t).collect();
        for _ in 0..2 {
            assert_eq!(run(&method, INPUT).unwrap(), expected);
        }
    }
}

#[test]
fn a_call_that_fails_fails_when_it_runs() {
    let _turn = begin();
    let mut made = program(&[64, 128], vec![call(FOLDED, 2, 0, 3), call(PLAIN, 1, 3, 4)], 4);
    made.values[3] = Value::Tensor(vec![3], Data::Planned(64));
    let (method, at_load) = load(&made);
    assert_eq!(at_load, 1);
    let error = run(&method, INPUT).unwrap_err();
    assert!(error.message.contains("instruction 0") && error.message.contains("sizes differ"), "{error}");
}

#[test]
fn results_are_bounded_by_the_file_s_constants() {
    let _turn = begin();
    // 64 results of 256 KiB each, of a file that has four numbers.
    let large = |offset| Value::Tensor(vec![1 << 16], Data::Planned(offset));
    let instructions: Vec<_> = (0..64).map(|i| call(FOLDED, 3, 0, 4 + i)).collect();
    let mut made = program(&[], instructions, 2);
    made.values.push(Value::Tensor(vec![1 << 16], Data::Constant(2)));
    made.constants.push(vec![1.0; 1 << 16]);
    made.values.extend((0..64).map(|_| large(1024)));
    made.planned = 1 << 20;
    let (_, at_load) = load(&made);
    assert!((1..=6).contains(&at_load), "{at_load} results were kept");
}

/// Straight programs over few places in memory, so that values overlap in every way.
#[test]
fn random_programs_give_what_they_give_unfolded() {
    let _turn = begin();
    let mut folded = 0;
    for seed in 1..6000_u64 {
        let mut random = Random::new(seed);
        let values = 4 + random.below(6) as i32;
        let spread = 8 + random.below(60);
        let offsets: Vec<u32> = (0..values).map(|_| 64 + 8 * random.below(spread) as u32).collect();
        let mut instructions = Vec::new();
        for _ in 0..2 + random.below(7) {
            let operator = if random.below(3) == 0 { PLAIN } else { FOLDED };
            let any = |random: &mut Random| match random.below(8) {
                0 => 1,
                1..4 => 2,
                _ => 3 + random.below(values as usize) as i32,
            };
            let (a, b) = (any(&mut random), any(&mut random));
            let out = 3 + random.below(values as usize) as i32;
            instructions.push(call(operator, a, b, out));
        }
        let output = 3 + random.below(values as usize) as i32;
        let made = program(&offsets, instructions, output);
        let mut plain = made.clone();
        for instruction in &mut plain.instructions {
            if let Instruction::Kernel(operator, _) = instruction {
                *operator = PLAIN;
            }
        }
        let (method, at_load) = load(&made);
        let (reference, _) = load(&plain);
        folded += at_load;
        // Only the first run: a program may read what the one before left in its memory.
        assert_eq!(run(&method, INPUT), run(&reference, INPUT), "seed {seed}: {made:?}");
    }
    assert!(folded > 300, "only {folded} calls were folded");
}
