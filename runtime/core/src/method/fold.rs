//! Calls that are run once at load: those of pure kernels on constants.
//!
//! The exporter leaves `permute_copy(weight)` in front of every linear layer. Its result becomes a constant of the
//! method with memory of its own, so that the product's kernel can pack it, and then gives its memory back.

use super::Call;
use super::constants::Constants;
use super::memory::Block;
use super::signature::Signature;
use super::uses::{Effort, Uses, members};
use crate::ir::{Plan, Tensor, Value};
use crate::program::next_identity;
use crate::registry::KernelRef;
use executorch_abi::kernel::ET_KERNEL_PURE;
use executorch_abi::tensor::ET_DEVICE_CPU;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Memory that results of folded calls may take beyond the size of the program's constants.
const SPARE: u64 = 1 << 20;

/// What a call computes, in numbers: the kernel, its arguments, and the results' types.
type Key = Vec<u64>;

/// The results of a program's folded calls, for all of its methods.
#[derive(Debug, Default)]
pub struct Folds {
    known: Mutex<HashMap<Key, Fold>>,
}

#[derive(Debug, Clone)]
struct Fold {
    identity: u64,
    results: Vec<Weak<Block>>,
}

/// The results of the programs of each file, while one of them is loaded.
static FILES: Mutex<Option<HashMap<u64, Weak<Folds>>>> = Mutex::new(None);

impl Folds {
    /// What the programs of a file share.
    pub fn of_file(identity: u64) -> Arc<Self> {
        let mut guard = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let files = guard.get_or_insert_default();
        if let Some(folds) = files.get(&identity).and_then(Weak::upgrade) {
            return folds;
        }
        files.retain(|_, folds| folds.strong_count() > 0);
        let folds = Arc::new(Self::default());
        files.insert(identity, Arc::downgrade(&folds));
        folds
    }

    /// The identity of a call's results, and their memory if a method still has it.
    fn find(&self, key: &Key) -> Option<(u64, Option<Vec<Arc<Block>>>)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fold = known.get(key)?;
        Some((fold.identity, fold.results.iter().map(Weak::upgrade).collect()))
    }

    /// Keeps the memory of a call's results, and gives their identity.
    fn keep(&self, key: Key, results: &[Arc<Block>]) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fold =
            known.entry(key).or_insert_with(|| Fold { identity: next_identity(), results: Vec::new() });
        fold.results = results.iter().map(Arc::downgrade).collect();
        fold.identity
    }
}

/// A call that can be folded.
pub struct Candidate {
    /// The values that it writes.
    pub outputs: Vec<u32>,
    key: Option<Key>,
}

impl Candidate {
    /// The results of the same call in another method, and the number that identifies them.
    pub fn shared(&self, folds: &Folds) -> Option<(u64, Vec<Arc<Block>>)> {
        let (identity, results) = folds.find(self.key.as_ref()?)?;
        Some((identity, results.filter(|r| r.len() == self.outputs.len())?))
    }

    /// Lets other methods use the results, and gives the number that identifies them.
    pub fn keep(&self, folds: &Folds, results: &[Arc<Block>]) -> u64 {
        self.key.as_ref().map_or_else(next_identity, |key| folds.keep(key.clone(), results))
    }
}

/// Finds calls to fold.
pub struct Folder<'a> {
    plan: &'a Plan,
    uses: &'a Uses,
    effort: Effort,
    /// Bytes that results may still take.
    room: u64,
}

impl<'a> Folder<'a> {
    /// A folder for a method.
    pub fn new(constants: &Constants<'a>, uses: &'a Uses) -> Self {
        let room = constants.program.constant_bytes().saturating_add(SPARE);
        Self { plan: constants.plan, uses, effort: Effort::new(), room }
    }

    /// Looks whether the call at `at` can be folded.
    pub fn candidate(
        &mut self,
        at: usize,
        call: &Call,
        args: &[u32],
        constants: &Constants<'_>,
    ) -> Option<Candidate> {
        if call.kernel.table.flags & ET_KERNEL_PURE == 0 {
            return None;
        }
        let signature = Signature::parse(call.kernel.signature.as_deref()?).ok()?;
        let (inputs, rest) = args.split_at_checked(signature.input_count())?;
        let (outputs, extra) = rest.split_at_checked(signature.output_count())?;
        let fits = |&value: &u32| {
            self.tensor(value).is_some_and(|t| {
                !t.is_dynamic && t.device.kind == ET_DEVICE_CPU && t.nbytes <= self.room && t.name.is_none()
            })
        };
        let distinct = outputs.iter().enumerate().all(|(i, v)| !outputs.iter().skip(i + 1).any(|w| w == v));
        let plain = !outputs.is_empty()
            && distinct
            && outputs.iter().all(fits)
            && extra.iter().all(|&value| {
                outputs.contains(&value) || members(self.plan, value).skip(1).all(|m| outputs.contains(&m))
            });
        if !plain || !inputs.iter().all(|&value| self.is_constant(value, constants)) {
            return None;
        }
        let alone = outputs.iter().all(|&v| self.uses.is_alone(self.plan, v, at, &mut self.effort));
        alone
            .then(|| Candidate { key: self.key(call, inputs, outputs, constants), outputs: outputs.to_vec() })
    }

    fn is_constant(&mut self, value: u32, constants: &Constants<'_>) -> bool {
        let items = match self.plan.values.get(value as usize) {
            Some(Value::IntList(items) | Value::TensorList(items)) => items.len(),
            Some(Value::OptionalTensorList(items)) => items.len(),
            _ => 1,
        };
        self.effort.spend(items) && constants.is_constant(value)
    }

    fn tensor(&self, value: u32) -> Option<&'a Tensor> {
        match self.plan.values.get(value as usize) {
            Some(Value::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// What the call computes; none if an argument or the kernel has no identity.
    fn key(&self, call: &Call, inputs: &[u32], outputs: &[u32], constants: &Constants<'_>) -> Option<Key> {
        // A registered kernel lives as long as the process, so the address is never that of another one.
        let KernelRef::Registered(kernel) = call.kernel else { return None };
        let mut key = vec![std::ptr::from_ref(kernel).addr() as u64];
        for &value in inputs {
            self.describe(value, constants, &mut key)?;
        }
        for &value in outputs {
            describe_type(self.tensor(value)?, &mut key);
        }
        Some(key)
    }

    fn describe(&self, value: u32, constants: &Constants<'_>, key: &mut Key) -> Option<()> {
        let found = self.plan.values.get(value as usize)?;
        key.push(kind(found));
        match found {
            Value::None => {}
            Value::Int(v) => key.push(v.cast_unsigned()),
            Value::Bool(v) => key.push(u64::from(*v)),
            Value::Double(v) => key.push(v.to_bits()),
            Value::String(text) => {
                let bytes = text.as_bytes();
                key.push(bytes.len() as u64);
                key.extend(bytes.iter().map(|&b| u64::from(b)));
            }
            Value::IntList(items) => {
                key.push(items.len() as u64);
                for &item in items {
                    self.describe(item, constants, key)?;
                }
            }
            Value::DoubleList(items) => {
                key.push(items.len() as u64);
                key.extend(items.iter().map(|v| v.to_bits()));
            }
            Value::BoolList(items) => {
                key.push(items.len() as u64);
                key.extend(items.iter().map(|&v| u64::from(v)));
            }
            Value::TensorList(items) => {
                key.push(items.len() as u64);
                for &item in items {
                    self.describe(item, constants, key)?;
                }
            }
            Value::OptionalTensorList(items) => {
                key.push(items.len() as u64);
                for item in items {
                    match item {
                        Some(item) => self.describe(*item, constants, key)?,
                        None => key.push(kind(&Value::None)),
                    }
                }
            }
            Value::Tensor(tensor) => {
                key.extend(constants.identity(value)?);
                describe_type(tensor, key);
            }
        }
        Some(())
    }

    /// Takes note of memory that results use.
    pub fn take(&mut self, candidate: &Candidate) {
        for &value in &candidate.outputs {
            self.room = self.room.saturating_sub(self.size(value));
        }
    }

    /// Takes note that a result's memory was given back.
    pub fn gave_back(&mut self, value: u32) {
        self.room = self.room.saturating_add(self.size(value));
    }

    /// Bytes of a tensor.
    pub fn size(&self, value: u32) -> u64 {
        self.tensor(value).map_or(0, |t| t.nbytes)
    }
}

fn describe_type(tensor: &Tensor, key: &mut Key) {
    key.extend([(tensor.dtype as i8).cast_unsigned().into(), tensor.sizes.len() as u64]);
    key.extend(tensor.sizes.iter().map(|&s| u64::from(s.cast_unsigned())));
    key.extend(tensor.dim_order.iter().map(|&d| u64::from(d)));
}

fn kind(value: &Value) -> u64 {
    match value {
        Value::None => 0,
        Value::Int(_) => 1,
        Value::Bool(_) => 2,
        Value::Double(_) => 3,
        Value::String(_) => 4,
        Value::IntList(_) => 5,
        Value::DoubleList(_) => 6,
        Value::BoolList(_) => 7,
        Value::TensorList(_) => 8,
        Value::OptionalTensorList(_) => 9,
        Value::Tensor(_) => 10,
    }
}
