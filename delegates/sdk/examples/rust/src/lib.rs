//! A delegate in Rust, as somebody else would write it: a crate of its own, shipped in a wheel of its own.
//!
//! It runs the payloads of the exporter in `checks/conformance/fixtures/delegates.py`:
//! `out = ((a + b) * scale + bias) * gain`, for float32 tensors. A payload is `DEMO`, a version, and the key of the named
//! data that holds `scale`; `bias` is a compile spec, and `gain` an option of the load. The example in C beside it does
//! the same.

use executorch_delegate::abi::error::*;
use executorch_delegate::{
    Arguments, Buffer, CompileSpecs, Delegate, Description, Error, ExecuteContext, InitContext, Node,
    Options, Payload, Result, Role, TensorRef, Value, export_delegate,
};
use std::ffi::CStr;

/// What a load may set: an int, a bool, a text.
const OPTIONS: [&str; 3] = ["gain", "fails", "label"];
/// Bytes of a payload before the key.
const HEADER: usize = 8;

/// The backend: it keeps nothing for the process.
pub struct Demo;

/// One payload, ready to run.
pub struct Handle<'m> {
    /// Empty if the payload names none.
    scale: Option<Buffer<'m>>,
    bias: f32,
    gain: f32,
    fails: bool,
}

export_delegate!(Demo = Demo);

impl Delegate for Demo {
    type Handle<'m> = Handle<'m>;
    const NAME: &'static CStr = c"DemoBackend";

    fn init<'m>(
        &self,
        context: &InitContext<'m>,
        payload: Payload<'m>,
        specs: CompileSpecs<'_>,
    ) -> Result<Handle<'m>> {
        let options = context.options();
        let gain = gain(options)?;
        options.string("label")?;
        let scale = match key_of_scale(&payload)? {
            "" => None,
            key => Some(context.named_data().get(key)?),
        };
        Ok(Handle { scale, bias: bias(specs)?, gain, fails: options.bool("fails")?.unwrap_or(false) })
    }

    fn execute(
        &self,
        handle: &mut Handle<'_>,
        context: &ExecuteContext,
        arguments: Arguments<'_>,
    ) -> Result<()> {
        if handle.fails {
            return Err(Error::new(ET_ERROR_DELEGATE_INVALID_HANDLE, "the demo was told to fail"));
        }
        let (inputs, mut outputs) = arguments.split(2, 1)?;
        let (a, b, mut out) = (inputs.tensor(0)?, inputs.tensor(1)?, outputs.tensor(0)?);
        same_sizes(a, b)?;
        out.resize(a.sizes())?;
        let sum = context.zeros::<f32>(a.numel())?;
        let event = context.tracer().begin(c"add", Some(0));
        for ((sum, a), b) in sum.iter_mut().zip(a.data::<f32>()?).zip(b.data::<f32>()?) {
            *sum = a + b;
        }
        drop(event);
        let _event = context.tracer().begin(c"scale", Some(1));
        let scales = handle.scale.as_deref().unwrap_or(&ONE).chunks_exact(4).map(float).cycle();
        for ((out, sum), scale) in out.data::<f32>()?.iter_mut().zip(sum).zip(scales) {
            *out = (*sum * scale + handle.bias) * handle.gain;
        }
        Ok(())
    }

    fn describe(
        &self,
        context: &InitContext<'_>,
        payload: Payload<'_>,
        specs: CompileSpecs<'_>,
    ) -> Result<Description> {
        let (key, bias, gain) = (key_of_scale(&payload)?, bias(specs)?, gain(context.options())?);
        let floats = if key.is_empty() { 1 } else { context.named_data().get(key)?.len() / 4 };
        let value = |id, name: &str, role| Value {
            id,
            name: name.into(),
            dtype: "float32".into(),
            role,
            ..Value::default()
        };
        let node = |name: &str, inputs: &[u32], output, detail| Node {
            name: name.into(),
            inputs: inputs.into(),
            outputs: vec![output],
            executor: "loop".into(),
            detail,
        };
        Ok(Description {
            format: "DEMO 1".into(),
            nodes: vec![
                node("Add", &[0, 1], 4, String::new()),
                node("Scale", &[4, 2], 3, format!("bias {bias}, gain {gain}")),
            ],
            values: vec![
                value(0, "a", Role::Input),
                value(1, "b", Role::Input),
                Value { shape: Some(vec![floats as u64]), ..value(2, key, Role::Constant) },
                value(3, "out", Role::Output),
                value(4, "sum", Role::Internal),
            ],
            notes: Vec::new(),
        })
    }
}

/// The bytes of 1.0.
const ONE: [u8; 4] = 1.0f32.to_le_bytes();

fn float(bytes: &[u8]) -> f32 {
    bytes.try_into().map_or(f32::NAN, f32::from_le_bytes)
}

fn key_of_scale(payload: &[u8]) -> Result<&str> {
    let bad = |what| Err(Error::new(ET_ERROR_DELEGATE_INVALID_COMPATIBILITY, what));
    if payload.len() < HEADER || !payload.starts_with(b"DEMO") {
        return bad("the payload does not start with DEMO");
    }
    let (header, key) = payload.split_at(HEADER);
    if header[4..] != 1u32.to_le_bytes() {
        return bad("the payload is of another version than 1");
    }
    // The exporter pads keys with NUL.
    let end = key.iter().position(|&b| b == 0).unwrap_or(key.len());
    match std::str::from_utf8(&key[..end]) {
        Ok(key) => Ok(key),
        Err(_) => bad("the payload's key is no UTF-8 text"),
    }
}

fn bias(specs: CompileSpecs<'_>) -> Result<f32> {
    match specs.get("bias") {
        None => Ok(0.0),
        Some(bytes) if bytes.len() == 4 => Ok(float(bytes)),
        Some(bytes) => Err(Error::new(
            ET_ERROR_DELEGATE_INVALID_COMPATIBILITY,
            format!("the compile spec `bias` should be 4 bytes, found {}", bytes.len()),
        )),
    }
}

fn gain(options: Options<'_>) -> Result<f32> {
    options.only(&OPTIONS)?;
    Ok(options.int("gain")?.unwrap_or(1) as f32)
}

fn same_sizes(a: TensorRef<'_>, b: TensorRef<'_>) -> Result<()> {
    if a.sizes() == b.sizes() {
        return Ok(());
    }
    Err(Error::new(
        ET_ERROR_INVALID_ARGUMENT,
        format!("the demo adds tensors of one shape, found {:?} and {:?}", a.sizes(), b.sizes()),
    ))
}
