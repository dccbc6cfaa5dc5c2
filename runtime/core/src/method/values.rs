//! The values of a loaded method: its plan's values at addresses that kernels, delegates and callers hold.

use super::arenas::Arenas;
use super::memory::{Block, Table};
use crate::data_map::{DataMap, check_layout};
use crate::ir::{Plan, Storage, Tensor, Value};
use crate::program::Program;
use crate::source::{Buffer, Segment, in_memory};
use executorch_abi::error::*;
use executorch_abi::loader::ET_SEGMENT_MUTABLE;
use executorch_abi::memory::et_arena_t;
use executorch_abi::tensor::*;
use executorch_abi::value::*;
use executorch_abi::{Error, Result};
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// A list whose items are values, kept in step with them.
#[derive(Debug)]
enum List {
    Ints { value: u32, items: Vec<u32>, data: Table<i64> },
    Tensors { value: u32, items: Vec<Option<u32>>, data: Table<*mut et_tensor_t> },
}

impl List {
    fn value(&self) -> u32 {
        match self {
            Self::Ints { value, .. } | Self::Tensors { value, .. } => *value,
        }
    }
}

/// The values of a method and all that they point to.
pub struct Values {
    /// The values.
    pub values: Table<et_value_t>,
    /// The tensors, in the order of their values.
    tensors: Table<et_tensor_t>,
    /// Where each tensor's data is at the start of a run, and how much memory it has.
    homes: Vec<(*mut c_void, u64)>,
    /// Each value's tensor, by its number.
    of_value: HashMap<u32, usize>,
    lists: Vec<List>,
    /// Each list's number, by its value.
    list_of_value: HashMap<u32, u32>,
    /// Memory of tensors that were computed at load.
    folded: HashMap<u32, Arc<Block>>,
    _dims: Table<i32>,
    _orders: Table<u8>,
    _arenas: Arenas,
    /// External data, by its address.
    external: HashMap<usize, Buffer>,
}

/// Where the data of tensors comes from.
struct Binder<'a> {
    program: &'a Program,
    external: Option<DataMap>,
    arenas: &'a Arenas,
    shared: HashMap<&'a std::ffi::CStr, *mut c_void>,
    buffers: Vec<Buffer>,
}

impl<'a> Binder<'a> {
    fn bind(&mut self, tensor: &'a Tensor) -> Result<*mut c_void> {
        match tensor.storage {
            Storage::Unbound => Ok(ptr::null_mut()),
            Storage::Constant { index } => {
                let bytes = self.program.constant(index)?;
                Ok(bytes.as_ptr().cast_mut().cast())
            }
            Storage::Planned(place) => {
                if tensor.name.is_some() && !tensor.device.is_host() {
                    // State without an initial value starts at zero, as in host memory.
                    self.arenas.fill(place, in_memory(tensor.nbytes)?, |_| Ok(()))?;
                }
                Ok(self.arenas.at(place))
            }
            Storage::PlannedInitial { place, index } => {
                let range = self.program.layout().mutable_data.get(index as usize);
                let offset = range.map_or(0, |r| r.offset);
                let segment =
                    Segment { kind: ET_SEGMENT_MUTABLE, index: index as usize, name: tensor.name.as_deref() };
                self.arenas.fill(place, in_memory(tensor.nbytes)?, |data| {
                    self.program.loader().load_into(offset, data, segment)
                })?;
                Ok(self.arenas.at(place))
            }
            Storage::External => {
                let key = self.key(tensor)?;
                if let Some(&data) = self.shared.get(key) {
                    return Ok(data);
                }
                let buffer = self.external(tensor)?;
                let data = buffer.bytes().as_ptr().cast_mut().cast();
                self.buffers.push(buffer);
                self.shared.insert(key, data);
                Ok(data)
            }
            Storage::PlannedExternal(place) => {
                let buffer = self.external(tensor)?;
                self.arenas.fill(place, in_memory(tensor.nbytes)?, |data| {
                    data.copy_from_slice(buffer.bytes().get(..data.len()).unwrap_or_default());
                    Ok(())
                })?;
                Ok(self.arenas.at(place))
            }
        }
    }

    fn key(&self, tensor: &'a Tensor) -> Result<&'a std::ffi::CStr> {
        tensor
            .name
            .as_deref()
            .ok_or_else(|| Error::new(ET_ERROR_INVALID_PROGRAM, "an external tensor has no name"))
    }

    fn external(&self, tensor: &'a Tensor) -> Result<Buffer> {
        let key = self.key(tensor)?;
        let missing = |why: &str| {
            Error::new(
                ET_ERROR_INVALID_EXTERNAL_DATA,
                format!(
                    "the tensor {key:?} lies in an external data file, {why}; pass the .ptd that was exported with the program"
                ),
            )
        };
        let map = self.external.ok_or_else(|| missing("but none was given"))?;
        let layout = map.layout(key).map_err(|e| match e.code {
            ET_ERROR_NOT_FOUND => missing("but the given one does not have it"),
            _ => e,
        })?;
        check_layout(key, &layout, tensor.dtype, &tensor.sizes, &tensor.dim_order)?;
        let buffer = map.data(key)?;
        if (buffer.bytes().len() as u64) < tensor.nbytes {
            return Err(missing(&format!("which has {} bytes of {}", buffer.bytes().len(), tensor.nbytes)));
        }
        Ok(buffer)
    }
}

impl Values {
    /// Makes the values of a method. `given` are the caller's planned buffers, if it has any.
    pub fn new(
        program: &Program,
        plan: &Plan,
        given: Option<&[et_arena_t]>,
        external: Option<DataMap>,
    ) -> Result<Self> {
        let arenas = match given {
            Some(given) => Arenas::given(plan, given)?,
            None => Arenas::own(plan)?,
        };
        let tensors = || {
            plan.values.iter().enumerate().filter_map(|(i, v)| match v {
                Value::Tensor(t) => Some((i, t)),
                _ => None,
            })
        };
        let dims =
            Table::new(tensors().flat_map(|(_, t)| t.sizes.iter().chain(&t.strides).copied()).collect());
        let orders = Table::new(tensors().flat_map(|(_, t)| t.dim_order.iter().copied()).collect());
        let mut binder =
            Binder { program, external, arenas: &arenas, shared: HashMap::new(), buffers: Vec::new() };
        let (mut raw, mut homes, mut of_value) = (Vec::new(), Vec::new(), HashMap::new());
        let (mut dim, mut order) = (0, 0);
        for (i, tensor) in tensors() {
            let data = binder.bind(tensor).map_err(|e| e.within(format!("value {i}")))?;
            of_value.insert(i as u32, raw.len());
            let rank = tensor.sizes.len();
            let flags = match tensor.storage {
                Storage::Constant { .. } | Storage::External => ET_TENSOR_CONSTANT,
                Storage::Unbound => 0,
                _ => ET_TENSOR_PLANNED,
            };
            raw.push(et_tensor_t {
                data,
                sizes: dims.at(dim),
                strides: dims.at(dim + rank),
                dim_order: orders.at(order),
                numel: tensor.numel,
                capacity_bytes: tensor.nbytes,
                struct_size: size_of::<et_tensor_t>() as u16,
                rank: rank as u8,
                dtype: tensor.dtype as i8,
                dynamism: if tensor.is_dynamic { ET_DYNAMISM_BOUND } else { ET_DYNAMISM_STATIC },
                device_type: tensor.device.kind,
                device_index: tensor.device.index,
                flags,
                user_data: ptr::null_mut(),
            });
            homes.push((data, tensor.nbytes));
            dim += 2 * rank;
            order += rank;
        }
        let external = binder.buffers.into_iter().map(|b| (b.bytes().as_ptr().addr(), b)).collect();
        let tensors = Table::new(raw);
        let tensor_at = |value: u32| of_value.get(&value).map_or(ptr::null_mut(), |&t| tensors.at(t));
        let mut lists = Vec::new();
        let mut values = Vec::with_capacity(plan.values.len());
        for (i, value) in plan.values.iter().enumerate() {
            let value_index = i as u32;
            values.push(match value {
                Value::None => et_value_t::NONE,
                Value::Int(v) => et_value_t::int(*v),
                Value::Bool(v) => et_value_t::bool(*v),
                Value::Double(v) => et_value_t::double(*v),
                Value::Tensor(_) => et_value_t::tensor(tensor_at(value_index)),
                Value::String(text) => raw_value(
                    ET_TAG_STRING,
                    et_payload_t {
                        as_string: et_string_t { data: text.as_ptr(), length: text.as_bytes().len() },
                    },
                ),
                Value::DoubleList(items) => raw_value(
                    ET_TAG_LIST_DOUBLE,
                    et_payload_t {
                        as_double_list: et_double_list_t { data: items.as_ptr(), length: items.len() },
                    },
                ),
                Value::BoolList(items) => raw_value(
                    ET_TAG_LIST_BOOL,
                    et_payload_t {
                        as_bool_list: et_bool_list_t { data: items.as_ptr(), length: items.len() },
                    },
                ),
                Value::IntList(items) => {
                    let data = Table::new(vec![0_i64; items.len()]);
                    let list = et_int_list_t { data: data.at(0), length: items.len() };
                    lists.push(List::Ints { value: value_index, items: items.clone(), data });
                    raw_value(ET_TAG_LIST_INT, et_payload_t { as_int_list: list })
                }
                Value::TensorList(items) => {
                    let items: Vec<_> = items.iter().map(|&i| Some(i)).collect();
                    tensor_list(ET_TAG_LIST_TENSOR, value_index, items, &mut lists)
                }
                Value::OptionalTensorList(items) => {
                    tensor_list(ET_TAG_LIST_OPTIONAL_TENSOR, value_index, items.clone(), &mut lists)
                }
            });
        }
        let result = Self {
            values: Table::new(values),
            tensors,
            homes,
            of_value,
            list_of_value: (0..).zip(&lists).map(|(i, list)| (list.value(), i)).collect(),
            folded: HashMap::new(),
            lists,
            _dims: dims,
            _orders: orders,
            _arenas: arenas,
            external,
        };
        for list in 0..result.lists.len() {
            result.refresh(list)?;
        }
        Ok(result)
    }

    /// Which lists have an item that `changes` says may change.
    pub fn changing_lists(&self, changes: impl Fn(u32) -> bool) -> Vec<bool> {
        let changing = |list: &List| match list {
            List::Ints { items, .. } => items.iter().any(|&i| changes(i)),
            List::Tensors { items, .. } => items.iter().flatten().any(|&i| changes(i)),
        };
        self.lists.iter().map(changing).collect()
    }

    /// The lists among some values, by number.
    pub fn lists_among(&self, values: &[u32]) -> Vec<u32> {
        let mut lists: Vec<u32> = values.iter().filter_map(|v| self.list_of_value.get(v).copied()).collect();
        lists.sort_unstable();
        lists.dedup();
        lists
    }

    fn tensor(&self, value: u32) -> Option<*mut et_tensor_t> {
        self.of_value.get(&value).map(|&tensor| self.tensors.at(tensor))
    }

    /// Lets a tensor use other memory of its size, and returns what it used.
    pub fn rebind(&self, value: u32, data: *mut c_void) -> *mut c_void {
        // SAFETY: a tensor of the table, which this thread alone uses.
        self.tensor(value).map_or(ptr::null_mut(), |t| unsafe { std::mem::replace(&mut (*t).data, data) })
    }

    /// Makes a tensor the constant that `block` holds.
    pub fn set_constant(&mut self, value: u32, block: Arc<Block>) {
        let Some(tensor) = self.tensor(value) else { return };
        // SAFETY: as in `rebind`.
        unsafe {
            (*tensor).data = block.data().cast();
            (*tensor).flags = ET_TENSOR_CONSTANT;
        }
        self.folded.insert(value, block);
    }

    /// Gives the memory of a tensor that was computed at load back; false if it is no such tensor.
    pub fn give_back(&mut self, value: u32) -> bool {
        let block = self.folded.remove(&value);
        if block.is_some() {
            self.rebind(value, ptr::null_mut());
        }
        block.is_some()
    }

    /// The buffer and bytes of an external tensor.
    fn external(&self, value: u32) -> Option<(&Buffer, &[u8])> {
        let &(data, size) = self.homes.get(*self.of_value.get(&value)?)?;
        let buffer = self.external.get(&data.addr())?;
        Some((buffer, buffer.bytes().get(..usize::try_from(size).ok()?)?))
    }

    /// What identifies the data of an external tensor, if it lies in a mapped file.
    pub fn external_identity(&self, value: u32) -> Option<[u64; 2]> {
        self.external(value).and_then(|(buffer, bytes)| buffer.identity(bytes))
    }

    /// Gives the memory of an external tensor back, as far as it can be had again.
    pub fn discard_external(&self, value: u32) {
        if let Some((buffer, bytes)) = self.external(value) {
            buffer.discard(bytes);
        }
    }

    /// Brings a list's items up to date.
    pub fn refresh(&self, list: usize) -> Result<()> {
        let item = |index: u32| -> Result<et_value_t> {
            let value = self.values.at(index as usize);
            if value.is_null() {
                return Err(Error::new(
                    ET_ERROR_INTERNAL,
                    "a checked list names a value that does not exist",
                ));
            }
            // SAFETY: the address is that of a value of this table.
            Ok(unsafe { *value })
        };
        match self.lists.get(list) {
            Some(List::Ints { items, data, .. }) => {
                for (i, &index) in items.iter().enumerate() {
                    let value = item(index)?;
                    if value.tag != ET_TAG_INT {
                        return Err(Error::new(
                            ET_ERROR_INVALID_PROGRAM,
                            format!(
                                "item {i} of a list of ints is {}",
                                executorch_abi::args::tag_name(value.tag)
                            ),
                        ));
                    }
                    // SAFETY: `data` holds as many items as `items`; the tag says which member holds.
                    unsafe { data.at(i).write(value.payload.as_int) };
                }
            }
            Some(List::Tensors { items, data, .. }) => {
                for (i, index) in items.iter().enumerate() {
                    let tensor = match index {
                        None => ptr::null_mut(),
                        // SAFETY: the format's checks keep tensors' values tensors.
                        Some(index) => unsafe { item(*index)?.payload.as_tensor },
                    };
                    // SAFETY: `data` holds as many items as `items`.
                    unsafe { data.at(i).write(tensor) };
                }
            }
            None => {}
        }
        Ok(())
    }

    /// Gives a value its own tensor back, and the tensor the memory that it had at load, after a run that moved
    /// another one there, freed it or made it a view.
    pub fn restore(&self, value: u32) {
        let Some(&tensor) = self.of_value.get(&value) else { return };
        let Some(&(data, capacity)) = self.homes.get(tensor) else { return };
        // SAFETY: both are items of their tables, which this thread alone uses.
        unsafe {
            let raw = &mut *self.tensors.at(tensor);
            (raw.data, raw.capacity_bytes) = (data, capacity);
            self.values.at(value as usize).write(et_value_t::tensor(self.tensors.at(tensor)));
        }
    }
}

fn raw_value(tag: et_tag_t, payload: et_payload_t) -> et_value_t {
    et_value_t { payload, tag, reserved: 0 }
}

fn tensor_list(tag: et_tag_t, value: u32, items: Vec<Option<u32>>, lists: &mut Vec<List>) -> et_value_t {
    let data = Table::new(vec![ptr::null_mut(); items.len()]);
    let list = et_tensor_list_t { data: data.at(0), length: items.len() };
    lists.push(List::Tensors { value, items, data });
    raw_value(tag, et_payload_t { as_tensor_list: list })
}
