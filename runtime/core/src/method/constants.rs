//! Which of a method's values are constant, what identifies their contents, and who still reads them.

use super::uses::{Uses, members};
use crate::ir::{Plan, Storage, Value};
use crate::program::Program;
use executorch_abi::error::*;
use executorch_abi::{Error, Result};
use std::collections::HashMap;

/// Identifies the contents of a constant: equal for the same constant of the same file, and never used again.
pub type Identity = [u64; 2];

/// What is known of a method's constants while it is loaded.
pub struct Constants<'a> {
    /// The program.
    pub program: &'a Program,
    /// The method.
    pub plan: &'a Plan,
    /// Which values an instruction writes, apart from kernels, which write the data of tensors only.
    written: &'a [bool],
    /// Which values are inputs of the method.
    inputs: Vec<bool>,
    /// Tensors that were computed at load.
    folded: HashMap<u32, Identity>,
    /// Tensors of mapped data files.
    external: HashMap<u32, Identity>,
    /// How many instructions still need each value's data; none if that cannot be told.
    readers: Vec<Option<u32>>,
}

impl<'a> Constants<'a> {
    /// The constants before any call is folded.
    pub fn new(
        program: &'a Program,
        plan: &'a Plan,
        uses: &Uses,
        written: &'a [bool],
        external: HashMap<u32, Identity>,
    ) -> Self {
        let mut inputs = vec![false; plan.values.len()];
        for &input in &plan.inputs {
            if let Some(flag) = inputs.get_mut(input as usize) {
                *flag = true;
            }
        }
        let readers = |value| (!uses.is_opaque(value)).then(|| uses.readers(value));
        let readers = (0..).take(plan.values.len()).map(readers).collect();
        Self { program, plan, written, inputs, folded: HashMap::new(), external, readers }
    }

    fn never_written(&self, value: u32) -> bool {
        self.written.get(value as usize) == Some(&false)
    }

    /// Whether a value never changes after load.
    pub fn is_constant(&self, value: u32) -> bool {
        let fixed = match self.plan.values.get(value as usize) {
            Some(Value::Tensor(tensor)) => {
                let stored = matches!(tensor.storage, Storage::Constant { .. } | Storage::External);
                !tensor.is_dynamic && (stored || self.folded.contains_key(&value))
            }
            Some(Value::IntList(items)) => items.iter().all(|&i| self.never_written(i)),
            Some(Value::TensorList(_) | Value::OptionalTensorList(_)) => {
                members(self.plan, value).skip(1).all(|item| self.is_constant(item))
            }
            Some(_) => self.inputs.get(value as usize) == Some(&false),
            None => false,
        };
        fixed && self.never_written(value)
    }

    /// The identity of a constant tensor's contents; none if they have none or it is no constant tensor.
    pub fn identity(&self, value: u32) -> Option<Identity> {
        if !self.is_constant(value) {
            return None;
        }
        if let Some(&identity) = self.folded.get(&value) {
            return Some(identity);
        }
        match self.plan.values.get(value as usize) {
            Some(Value::Tensor(tensor)) => match tensor.storage {
                Storage::Constant { index } => Some([self.program.identity(), u64::from(index)]),
                _ => self.external.get(&value).copied(),
            },
            _ => None,
        }
    }

    /// Takes note that a tensor was computed at load.
    pub fn fold(&mut self, value: u32, identity: Identity) {
        self.folded.insert(value, identity);
    }

    /// Takes note that one of the instructions that read a value no longer needs its data. Returns whether none does.
    pub fn release(&mut self, value: u32) -> bool {
        match self.readers.get_mut(value as usize) {
            Some(Some(readers)) => {
                *readers = readers.saturating_sub(1);
                *readers == 0
            }
            _ => false,
        }
    }
}

/// Preparing a call site; behind `et_prepare_context_t`.
pub struct Preparing<'a> {
    /// The method's constants.
    pub constants: &'a Constants<'a>,
    /// The values of the call's arguments.
    pub args: &'a [u32],
    /// Memory for the calls to come.
    pub scratch: &'a mut super::memory::Scratch,
    /// The arguments whose data the kernel will not read.
    pub released: Vec<usize>,
}

impl Preparing<'_> {
    /// Whether an argument never changes after load.
    pub fn is_constant(&self, index: usize) -> bool {
        self.args.get(index).is_some_and(|&value| self.constants.is_constant(value))
    }

    fn tensor(&self, index: usize) -> Result<u32> {
        let is_tensor =
            |&value: &u32| matches!(self.constants.plan.values.get(value as usize), Some(Value::Tensor(_)));
        self.args.get(index).copied().filter(is_tensor).filter(|&v| self.constants.is_constant(v)).ok_or_else(
            || {
                Error::new(
                    ET_ERROR_INVALID_ARGUMENT,
                    format!("argument {index} of the call is no constant tensor"),
                )
            },
        )
    }

    /// The identity of a constant tensor's contents.
    pub fn identity(&self, index: usize) -> Result<Identity> {
        let value = self.tensor(index)?;
        self.constants.identity(value).ok_or_else(|| {
            Error::new(ET_ERROR_NOT_SUPPORTED, format!("the data of argument {index} has no identity"))
        })
    }

    /// Takes note that the kernel will not read an argument's data.
    pub fn release(&mut self, index: usize) -> Result<()> {
        self.tensor(index)?;
        self.released.push(index);
        Ok(())
    }

    /// Reserves scratch.
    pub fn reserve(&mut self, size: usize, alignment: usize) -> Result<()> {
        self.scratch.reserve(size, alignment)
    }

    /// The values that the call names only where their data is not read.
    pub fn released(&self) -> Vec<u32> {
        let plan = self.constants.plan;
        let kept = |value: u32| {
            let places = self.args.iter().enumerate();
            places
                .filter(|(i, _)| !self.released.contains(i))
                .any(|(_, &arg)| members(plan, arg).any(|m| m == value))
        };
        let mut values: Vec<u32> = self.released.iter().filter_map(|&i| self.args.get(i).copied()).collect();
        values.sort_unstable();
        values.dedup();
        values.retain(|&value| !kept(value));
        values
    }
}
