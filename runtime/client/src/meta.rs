//! What a program says of its methods, without loading them.

use crate::device::Device;
use crate::layout::Layout;
use crate::program::Program;
use crate::text;
use crate::value::Kind;
use executorch_abi::error::*;
use executorch_abi::program::*;
use executorch_abi::tensor::*;
use executorch_abi::value::ET_TAG_NONE;
use executorch_abi::{Dtype, Error, Result};
use std::ptr::{self, NonNull};
use std::slice;

/// A method as its program describes it. Keeps the program alive; cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct MethodMeta {
    raw: NonNull<et_method_meta_t>,
    program: Program,
}

// SAFETY: metadata is immutable and lives as long as the program, which may be shared between threads.
unsafe impl Send for MethodMeta {}
// SAFETY: as above.
unsafe impl Sync for MethodMeta {}

/// A tensor as its program describes it.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    /// Dtype, sizes (upper bounds if the shape is dynamic) and order.
    pub layout: Layout,
    /// Whether the shape may change within its bounds.
    pub is_dynamic: bool,
    /// Whether its memory is the method's.
    pub is_memory_planned: bool,
    /// The qualified name, if the exporter kept it.
    pub name: Option<String>,
    /// Where its memory is planned; for a tensor without planned memory, where the program wants it.
    pub device: Device,
}

/// A planned buffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferInfo {
    /// Its bytes.
    pub size: u64,
    /// Where it must live.
    pub device: Device,
}

/// A delegate: a part of the program that a backend runs.
#[derive(Debug, Clone)]
pub struct DelegateInfo {
    /// The backend's id.
    pub backend: String,
    /// Bytes of its payload.
    pub payload_size: u64,
    /// The number of its compile specs.
    pub compile_spec_count: usize,
}

/// An instruction; arguments are indices of values.
#[derive(Debug, Clone)]
pub enum Instruction {
    /// Calls an operator.
    Kernel {
        /// Its full name.
        operator: String,
        /// The arguments, outputs included.
        args: Vec<u32>,
    },
    /// Calls a delegate.
    Delegate {
        /// Its number in the method.
        delegate: usize,
        /// The arguments, outputs included.
        args: Vec<u32>,
    },
    /// Copies a value over another.
    Move,
    /// Jumps within its chain if a value is false.
    JumpFalse {
        /// The destination.
        target: usize,
    },
    /// Unbinds a tensor's memory.
    Free,
}

type TagOf = unsafe extern "C" fn(*const et_method_meta_t, usize, *mut u32) -> et_error_t;
type TensorOf = unsafe extern "C" fn(*const et_method_meta_t, usize, *mut et_tensor_info_t) -> et_error_t;

impl MethodMeta {
    /// Wraps metadata of `program`.
    ///
    /// # Safety
    /// `raw` is metadata of `program`.
    pub(crate) unsafe fn new(raw: NonNull<et_method_meta_t>, program: Program) -> Self {
        Self { raw, program }
    }

    fn raw(&self) -> *const et_method_meta_t {
        self.raw.as_ptr()
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The name.
    pub fn name(&self) -> String {
        // SAFETY: the metadata lives as long as the program that `self` holds, here and in all functions below.
        unsafe { text::from_c(et_method_meta_name(self.raw())) }.unwrap_or_default()
    }

    /// The number of inputs.
    pub fn input_count(&self) -> usize {
        // SAFETY: as for `name`.
        unsafe { et_method_meta_input_count(self.raw()) }
    }

    /// The number of outputs.
    pub fn output_count(&self) -> usize {
        // SAFETY: as for `name`.
        unsafe { et_method_meta_output_count(self.raw()) }
    }

    /// The number of attributes: named tensors with mutable memory.
    pub fn attribute_count(&self) -> usize {
        // SAFETY: as for `name`.
        unsafe { et_method_meta_attribute_count(self.raw()) }
    }

    /// What input `index` holds; fails past the end.
    pub fn input_kind(&self, index: usize) -> Result<Kind> {
        self.kind(et_method_meta_input_tag, index)
    }

    /// What output `index` holds; fails past the end.
    pub fn output_kind(&self, index: usize) -> Result<Kind> {
        self.kind(et_method_meta_output_tag, index)
    }

    /// The tensor of input `index`; fails past the end and for what is no tensor.
    pub fn input_tensor(&self, index: usize) -> Result<TensorInfo> {
        self.tensor(et_method_meta_input_tensor, index)
    }

    /// The tensor of output `index`; fails past the end and for what is no tensor.
    pub fn output_tensor(&self, index: usize) -> Result<TensorInfo> {
        self.tensor(et_method_meta_output_tensor, index)
    }

    /// The tensor of attribute `index`; fails past the end.
    pub fn attribute_tensor(&self, index: usize) -> Result<TensorInfo> {
        self.tensor(et_method_meta_attribute_tensor, index)
    }

    /// The number of values.
    pub fn value_count(&self) -> usize {
        // SAFETY: as for `name`.
        unsafe { et_method_meta_value_count(self.raw()) }
    }

    /// What value `index` holds at load; fails past the end.
    pub fn value_kind(&self, index: usize) -> Result<Kind> {
        self.kind(et_method_meta_value_tag, index)
    }

    /// Which value input `index` is; fails past the end.
    pub fn input_value(&self, index: usize) -> Result<usize> {
        let mut value = 0;
        // SAFETY: as for `name`, and a place for the result.
        Error::check(unsafe { et_method_meta_input_value(self.raw(), index, &mut value) })?;
        Ok(value)
    }

    /// Which value output `index` is; fails past the end.
    pub fn output_value(&self, index: usize) -> Result<usize> {
        let mut value = 0;
        // SAFETY: as for `name`, and a place for the result.
        Error::check(unsafe { et_method_meta_output_value(self.raw(), index, &mut value) })?;
        Ok(value)
    }

    /// The planned buffers.
    pub fn buffers(&self) -> Result<Vec<BufferInfo>> {
        // SAFETY: as for `name`.
        let count = unsafe { et_method_meta_buffer_count(self.raw()) };
        let read = |index| {
            let mut info =
                et_buffer_info_t { size: 0, device_type: ET_DEVICE_CPU, device_index: 0, reserved: [0; 6] };
            // SAFETY: as for `name`, and a place for the result.
            Error::check(unsafe { et_method_meta_buffer(self.raw(), index, &mut info) })?;
            Ok(BufferInfo {
                size: info.size,
                device: Device { kind: info.device_type, index: info.device_index },
            })
        };
        (0..count).map(read).collect()
    }

    /// The delegates.
    pub fn delegates(&self) -> Result<Vec<DelegateInfo>> {
        // SAFETY: as for `name`.
        let count = unsafe { et_method_meta_delegate_count(self.raw()) };
        let read = |index| {
            let mut info =
                et_delegate_info_t { backend: ptr::null(), payload_size: 0, compile_spec_count: 0 };
            // SAFETY: as for `name`, and a place for the result; the id is copied at once.
            let backend = unsafe {
                Error::check(et_method_meta_delegate(self.raw(), index, &mut info))?;
                text::from_c(info.backend)
            };
            Ok(DelegateInfo {
                backend: backend.unwrap_or_default(),
                payload_size: info.payload_size,
                compile_spec_count: info.compile_spec_count,
            })
        };
        (0..count).map(read).collect()
    }

    /// The names of all operators that the method names, each once.
    pub fn operators(&self) -> Vec<String> {
        // SAFETY: as for `name`.
        let count = unsafe { et_method_meta_operator_count(self.raw()) };
        // SAFETY: as for `name`.
        (0..count).filter_map(|i| unsafe { text::from_c(et_method_meta_operator(self.raw(), i)) }).collect()
    }

    /// The instructions of all chains, in order.
    pub fn instructions(&self) -> Result<Vec<Instruction>> {
        // SAFETY: as for `name`.
        let count = unsafe { et_method_meta_instruction_count(self.raw()) };
        (0..count).map(|index| self.instruction(index)).collect()
    }

    fn instruction(&self, index: usize) -> Result<Instruction> {
        let mut info = et_instruction_info_t {
            name: ptr::null(),
            args: ptr::null(),
            arg_count: 0,
            kind: ET_INSTRUCTION_KERNEL,
            chain: 0,
            target: 0,
            reserved: 0,
        };
        // SAFETY: as for `name`, and a place for the result; what it points to is copied at once.
        let (name, args) = unsafe {
            Error::check(et_method_meta_instruction(self.raw(), index, &mut info))?;
            let args = match info.arg_count {
                0 => Vec::new(),
                count => slice::from_raw_parts(info.args, count).to_vec(),
            };
            (text::from_c(info.name).unwrap_or_default(), args)
        };
        Ok(match info.kind {
            ET_INSTRUCTION_KERNEL => Instruction::Kernel { operator: name, args },
            ET_INSTRUCTION_DELEGATE => Instruction::Delegate { delegate: info.target as usize, args },
            ET_INSTRUCTION_MOVE => Instruction::Move,
            ET_INSTRUCTION_JUMP_FALSE => Instruction::JumpFalse { target: info.target as usize },
            _ => Instruction::Free,
        })
    }

    /// The keys of the external data that the method needs (from `.ptd` files).
    pub fn external_keys(&self) -> Vec<String> {
        // SAFETY: as for `name`.
        let count = unsafe { et_method_meta_external_count(self.raw()) };
        // SAFETY: as for `name`.
        let key = |i| unsafe { text::from_c(et_method_meta_external_key(self.raw(), i)) };
        (0..count).filter_map(key).collect()
    }

    fn kind(&self, read: TagOf, index: usize) -> Result<Kind> {
        let mut tag = ET_TAG_NONE;
        // SAFETY: as for `name`, and a place for the result.
        Error::check(unsafe { read(self.raw(), index, &mut tag) })?;
        Kind::from_raw(tag)
            .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, format!("{tag} is no tag of a value")))
    }

    fn tensor(&self, read: TensorOf, index: usize) -> Result<TensorInfo> {
        let mut info = et_tensor_info_t {
            sizes: ptr::null(),
            dim_order: ptr::null(),
            name: ptr::null(),
            nbytes: 0,
            rank: 0,
            dtype: 0,
            dynamism: ET_DYNAMISM_STATIC,
            device_type: ET_DEVICE_CPU,
            device_index: 0,
            is_memory_planned: false,
            reserved: [0; 7],
        };
        // SAFETY: as for `name`, and a place for the result.
        Error::check(unsafe { read(self.raw(), index, &mut info) })?;
        let dtype = Dtype::from_raw(info.dtype)
            .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, format!("{} is no dtype", info.dtype)))?;
        let rank = info.rank as usize;
        // SAFETY: the runtime's arrays hold `rank` entries and live as long as the program.
        let (sizes, order) = unsafe {
            if rank == 0 {
                (&[][..], &[][..])
            } else {
                (slice::from_raw_parts(info.sizes, rank), slice::from_raw_parts(info.dim_order, rank))
            }
        };
        Ok(TensorInfo {
            layout: Layout::dense(dtype, sizes, order)?,
            is_dynamic: info.dynamism != ET_DYNAMISM_STATIC,
            is_memory_planned: info.is_memory_planned,
            // SAFETY: null or a NUL-terminated string of the program.
            name: unsafe { text::from_c(info.name) },
            device: Device { kind: info.device_type, index: info.device_index },
        })
    }
}

impl std::fmt::Debug for MethodMeta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "MethodMeta({:?}, {} inputs, {} outputs)",
            self.name(),
            self.input_count(),
            self.output_count()
        )
    }
}
