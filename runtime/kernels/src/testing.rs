//! Calls of operators in unit tests, without a program.

use crate::elements::{Source, store};
use crate::op::Context;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Args, Dtype, Result, TensorRef};
use std::ptr;

/// A tensor with memory of its own.
pub struct Tensor {
    raw: et_tensor_t,
    // What `raw` points to.
    sizes: Box<[i32]>,
    strides: Box<[i32]>,
    _order: Box<[u8]>,
    data: Box<[u64]>,
}

impl Tensor {
    /// A tensor of real numbers or bools, dense in an order of its dimensions, whose elements are given by their
    /// places in row-major order.
    pub fn new(dtype: Dtype, sizes: &[i32], order: &[u8], value: impl Fn(usize) -> f64) -> Self {
        let mut sizes = Box::<[i32]>::from(sizes);
        let mut order = Box::<[u8]>::from(order);
        let mut strides = vec![0; sizes.len()].into_boxed_slice();
        let mut stride = 1;
        for &dim in order.iter().rev() {
            strides[usize::from(dim)] = stride;
            stride *= sizes[usize::from(dim)].max(1);
        }
        let count = sizes.iter().product::<i32>() as usize;
        let mut data = vec![0_u64; (count * dtype.size()).div_ceil(8) + 1].into_boxed_slice();
        let raw = et_tensor_t {
            data: data.as_mut_ptr().cast(),
            sizes: sizes.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            dim_order: order.as_mut_ptr(),
            numel: count as u64,
            capacity_bytes: (count * dtype.size()) as u64,
            struct_size: size_of::<et_tensor_t>() as u16,
            rank: sizes.len() as u8,
            dtype: dtype as i8,
            dynamism: 0,
            device_type: 0,
            device_index: 0,
            flags: 0,
            user_data: ptr::null_mut(),
        };
        let mut tensor = Self { raw, sizes, strides, _order: order, data };
        for i in 0..count {
            let at = tensor.place(i) * dtype.size();
            let bytes = bytemuck::cast_slice_mut::<u64, u8>(&mut tensor.data);
            // Through an aligned buffer.
            let mut word = [0_u64];
            let word = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut word)[..dtype.size()];
            store(&[value(i)], dtype, word);
            bytes[at..at + dtype.size()].copy_from_slice(word);
        }
        tensor
    }

    /// [`Tensor::new`] in the order of the dimensions.
    pub fn contiguous(dtype: Dtype, sizes: &[i32], value: impl Fn(usize) -> f64) -> Self {
        let order: Vec<u8> = (0..sizes.len() as u8).collect();
        Self::new(dtype, sizes, &order, value)
    }

    /// Where the element at a place in row-major order lies.
    fn place(&self, mut i: usize) -> usize {
        let mut at = 0;
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            at += i % *size as usize * *stride as usize;
            i /= *size as usize;
        }
        at
    }

    /// The tensor as the ABI describes it.
    pub fn raw(&mut self) -> *mut et_tensor_t {
        &mut self.raw
    }

    /// The elements in row-major order.
    pub fn values(&self) -> Vec<f64> {
        // SAFETY: the description is that of the memory that the tensor owns, which nobody writes to here.
        let source = Source::of(unsafe { TensorRef::new(&self.raw) }).unwrap();
        (0..self.raw.numel as usize).map(|i| source.get(self.place(i))).collect()
    }
}

impl From<&mut Tensor> for et_value_t {
    fn from(tensor: &mut Tensor) -> Self {
        Self::tensor(&mut tensor.raw)
    }
}

/// A list of integers; the value borrows it.
pub fn ints(list: &[i64]) -> et_value_t {
    let list = et_int_list_t { data: list.as_ptr(), length: list.len() };
    et_value_t { payload: et_payload_t { as_int_list: list }, tag: ET_TAG_LIST_INT, reserved: 0 }
}

/// A list of tensors, some of which may be absent; the value borrows it.
pub fn tensors(list: &[*mut et_tensor_t]) -> et_value_t {
    let list = et_tensor_list_t { data: list.as_ptr(), length: list.len() };
    et_value_t {
        payload: et_payload_t { as_tensor_list: list },
        tag: ET_TAG_LIST_OPTIONAL_TENSOR,
        reserved: 0,
    }
}

/// Calls the operator `name` of any family.
pub fn call(name: &str, args: &mut [et_value_t]) -> Result<()> {
    let body = crate::TABLES.iter().find_map(|table| table.body(name)).unwrap();
    let pointers: Vec<*mut et_value_t> = args.iter_mut().map(ptr::from_mut).collect();
    // SAFETY: the values live as long as the call; tensors among them belong to the caller.
    body(&mut Context::detached(), &unsafe { Args::new(pointers.as_ptr(), pointers.len()) })
}
