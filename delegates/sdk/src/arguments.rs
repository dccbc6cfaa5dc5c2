//! The arguments of a call: inputs that are read, and outputs that are written.

use crate::{Args, Dtype, Element, Error, Result, Scalar, TensorMut, TensorRef};
use executorch_abi::args::tag_name;
use executorch_abi::error::*;
use executorch_abi::tensor::et_tensor_t;
use executorch_abi::value::*;
use std::marker::PhantomData;
use std::ops::{Deref, Range};

/// The arguments of one call, valid while it lasts: the inputs, then the outputs.
#[derive(Debug)]
pub struct Arguments<'c> {
    values: &'c [*mut et_value_t],
}

impl<'c> Arguments<'c> {
    /// # Safety
    /// `args` holds `count` pointers to values that, with all that they point to, are valid during `'c`, obey the
    /// guarantee of [`executorch_abi::view`] and are used by nobody else.
    #[inline]
    pub(crate) unsafe fn new(args: *const *mut et_value_t, count: usize) -> Self {
        if args.is_null() || count == 0 {
            return Self { values: &[] };
        }
        // SAFETY: the caller's promise.
        Self { values: unsafe { std::slice::from_raw_parts(args, count) } }
    }

    /// The number of arguments.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The first `inputs` arguments to read, and the `outputs` that follow to write.
    ///
    /// Fails if the call has another number of arguments, or if an output's memory is also that of another argument:
    /// no exporter makes such a program, but a damaged file may.
    pub fn split(self, inputs: usize, outputs: usize) -> Result<(Inputs<'c>, Outputs<'c>)> {
        if inputs.checked_add(outputs) != Some(self.values.len()) {
            return Err(Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!(
                    "the payload takes {inputs} inputs and {outputs} outputs, but the call has {} arguments",
                    self.values.len()
                ),
            ));
        }
        let (read, written) = self.values.split_at(inputs);
        // SAFETY: `new`'s contract.
        unsafe { check_distinct(read, written) }?;
        // SAFETY: as above; what is read here is written by nobody, since the outputs lie elsewhere.
        let args = unsafe { Args::new(read.as_ptr(), read.len()) };
        Ok((Inputs { args }, Outputs { values: written, life: PhantomData }))
    }
}

/// The inputs of a call: [`Args`] by number, from 0.
#[derive(Clone, Copy)]
pub struct Inputs<'c> {
    args: Args<'c>,
}

impl<'c> Deref for Inputs<'c> {
    type Target = Args<'c>;

    #[inline]
    fn deref(&self) -> &Args<'c> {
        &self.args
    }
}

/// The outputs of a call, by number from 0.
pub struct Outputs<'c> {
    values: &'c [*mut et_value_t],
    life: PhantomData<&'c mut et_value_t>,
}

impl Outputs<'_> {
    /// The number of outputs.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Output `index`, a tensor.
    #[inline]
    pub fn tensor(&mut self, index: usize) -> Result<Output<'_>> {
        let value = self.value(index)?;
        // SAFETY: a value of the call, which nobody else uses; here and below.
        let (tag, payload) = unsafe { ((*value).tag, (*value).payload) };
        if tag != ET_TAG_TENSOR {
            return Err(wrong(index, "a tensor", tag));
        }
        // SAFETY: the tag says which member holds. The tensor is no other argument's (`split`), and this view
        // borrows all outputs, so it is the only one.
        Ok(Output { tensor: unsafe { TensorMut::new(&mut *payload.as_tensor) } })
    }

    /// All outputs at once; all must be tensors.
    pub fn tensors(&mut self) -> impl ExactSizeIterator<Item = Result<Output<'_>>> {
        self.values.iter().enumerate().map(|(index, &value)| {
            // SAFETY: as for `tensor`.
            let (tag, payload) = unsafe { ((*value).tag, (*value).payload) };
            if tag != ET_TAG_TENSOR {
                return Err(wrong(index, "a tensor", tag));
            }
            // SAFETY: as for `tensor`; `split` found that no two outputs are one tensor.
            Ok(Output { tensor: unsafe { TensorMut::new(&mut *payload.as_tensor) } })
        })
    }

    /// Sets output `index`, a number of the same kind.
    pub fn set(&mut self, index: usize, number: Scalar) -> Result<()> {
        let value = self.value(index)?;
        // SAFETY: as for `tensor`.
        let value = unsafe { &mut *value };
        match (value.tag, number) {
            (ET_TAG_INT, Scalar::Int(number)) => value.payload.as_int = number,
            (ET_TAG_DOUBLE, Scalar::Double(number)) => value.payload.as_double = number,
            (ET_TAG_BOOL, Scalar::Bool(number)) => value.payload.as_bool = number,
            (tag, number) => return Err(wrong(index, &format!("{number:?}"), tag)),
        }
        Ok(())
    }

    #[inline]
    fn value(&self, index: usize) -> Result<*mut et_value_t> {
        self.values.get(index).copied().ok_or_else(|| {
            Error::new(
                ET_ERROR_INVALID_PROGRAM,
                format!("output {index} is missing: there are {}", self.values.len()),
            )
        })
    }
}

/// A tensor that is written. Its memory overlaps with no other argument's.
#[derive(Debug)]
pub struct Output<'c> {
    tensor: TensorMut<'c>,
}

impl<'c> Output<'c> {
    /// The tensor, to read its dtype and shape, and what has been written so far.
    #[inline]
    pub fn view(&self) -> TensorRef<'_> {
        self.tensor.view()
    }

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> Result<Dtype> {
        self.view().dtype()
    }

    /// Gives the tensor new sizes, as far as the program allows; nothing happens if it has them.
    #[inline]
    pub fn resize(&mut self, sizes: &[i32]) -> Result<()> {
        self.tensor.resize(sizes)
    }

    /// The elements in memory order.
    #[inline]
    pub fn data<T: Element>(&mut self) -> Result<&mut [T]> {
        self.tensor.data()
    }

    /// The data as bytes, in memory order.
    #[inline]
    pub fn bytes(&mut self) -> Result<&mut [u8]> {
        self.tensor.bytes()
    }

    /// [`data`](Self::data) for as long as the outputs are borrowed.
    #[inline]
    pub fn into_data<T: Element>(mut self) -> Result<&'c mut [T]> {
        self.tensor.data()
    }

    /// [`bytes`](Self::bytes) for as long as the outputs are borrowed.
    #[inline]
    pub fn into_bytes(mut self) -> Result<&'c mut [u8]> {
        self.tensor.bytes()
    }
}

fn wrong(index: usize, expected: &str, found: et_tag_t) -> Error {
    Error::new(
        ET_ERROR_INVALID_PROGRAM,
        format!("output {index} should be {expected}, found {}", tag_name(found)),
    )
}

/// Fails if a tensor that is written is also read, or written as another output.
///
/// # Safety
/// The values are valid and obey the guarantee of [`executorch_abi::view`].
unsafe fn check_distinct(read: &[*mut et_value_t], written: &[*mut et_value_t]) -> Result<()> {
    for (index, &output) in written.iter().enumerate() {
        // SAFETY: the caller's promise, here and below.
        let Some(output) = (unsafe { tensor(output) }) else { continue };
        let same = |other: *const et_tensor_t| {
            // SAFETY: as above.
            std::ptr::eq(output, other) || unsafe { overlap(&*output, &*other) }
        };
        // SAFETY: as above.
        if written.iter().take(index).filter_map(|&v| unsafe { tensor(v) }).any(same) {
            return Err(shared(index, "another output"));
        }
        for &input in read {
            // SAFETY: as above.
            let found = match unsafe { (*input).tag } {
                // SAFETY: as above.
                ET_TAG_TENSOR => unsafe { tensor(input) }.is_some_and(same),
                ET_TAG_LIST_TENSOR | ET_TAG_LIST_OPTIONAL_TENSOR => {
                    // SAFETY: the tag says which member holds, and a list holds as many items as it says.
                    let items = unsafe {
                        let list = (*input).payload.as_tensor_list;
                        if list.length == 0 {
                            &[]
                        } else {
                            std::slice::from_raw_parts(list.data, list.length)
                        }
                    };
                    items.iter().any(|&item| !item.is_null() && same(item))
                }
                _ => false,
            };
            if found {
                return Err(shared(index, "an input"));
            }
        }
    }
    Ok(())
}

/// # Safety
/// `value` is valid.
#[inline]
unsafe fn tensor(value: *mut et_value_t) -> Option<*const et_tensor_t> {
    // SAFETY: the caller's promise; the tag says which member holds.
    unsafe { ((*value).tag == ET_TAG_TENSOR).then(|| (*value).payload.as_tensor.cast_const()) }
}

#[inline]
fn overlap(a: &et_tensor_t, b: &et_tensor_t) -> bool {
    let (a, b) = (span(a), span(b));
    !a.is_empty() && !b.is_empty() && a.start < b.end && b.start < a.end
}

/// The addresses that a tensor may come to use.
#[inline]
fn span(tensor: &et_tensor_t) -> Range<usize> {
    let start = tensor.data.addr();
    if start == 0 {
        return 0..0;
    }
    start..start.saturating_add(usize::try_from(tensor.capacity_bytes).unwrap_or(usize::MAX))
}

fn shared(index: usize, with: &str) -> Error {
    Error::new(ET_ERROR_INVALID_PROGRAM, format!("output {index} shares memory with {with}"))
}
