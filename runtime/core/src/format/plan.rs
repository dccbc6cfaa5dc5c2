//! Checks and reads a method of a program.

use super::tensor::Context;
use super::{c_string, device, index, invalid, required};
use crate::ir::{ByteRange, Delegate, Device, Instruction, Layout, Payload, Plan, PlannedBuffer, Value};
use executorch_abi::Result;
use executorch_schema::program as fb;
use flatbuffers::{ForwardsUOffset, Vector};

/// Upstream's bound of an operator's full name.
const OPERATOR_NAME_MAX: usize = 99;

/// What plans are checked against.
pub struct Shared<'a> {
    /// What the methods share.
    pub layout: &'a Layout,
    /// Payloads that lie in the structure.
    pub inline_payloads: &'a [ByteRange],
}

/// Checks and reads a method.
pub fn read(table: fb::ExecutionPlan<'_>, shared: &Shared<'_>) -> Result<Plan> {
    let name = c_string(required(table.name(), "name")?, "the method's name")?;
    let buffers = buffers(table)?;
    let values = values(table, shared, &buffers)?;
    let count = values.len();
    let operators = operators(table)?;
    let delegates = delegates(table, shared)?;
    let mut chains = Vec::new();
    for (c, chain) in required(table.chains(), "chains")?.iter().enumerate() {
        let instructions = required(chain.instructions(), "instructions")?;
        let limits = Limits {
            values: count,
            operators: operators.len(),
            delegates: delegates.len(),
            instructions: instructions.len(),
        };
        let read = |(i, instruction)| {
            limits.instruction(instruction).map_err(|e| e.within(format!("instruction {i} of chain {c}")))
        };
        chains.push(instructions.iter().enumerate().map(read).collect::<Result<_>>()?);
    }
    let encoding = table.container_meta_type().and_then(|c| c.encoded_out_str()).unwrap_or("");
    let plan = Plan {
        name,
        inputs: indices(table.inputs(), count, "input value")?,
        outputs: indices(table.outputs(), count, "output value")?,
        chains,
        operators,
        delegates,
        buffers,
        output_encoding: c_string(encoding, "the output encoding")?,
        values,
    };
    check_moves(&plan)?;
    Ok(plan)
}

fn indices(list: Option<Vector<'_, i32>>, count: usize, what: &str) -> Result<Vec<u32>> {
    list.map_or(Ok(Vec::new()), |l| l.iter().map(|i| index(i64::from(i), count, what)).collect())
}

fn buffers(table: fb::ExecutionPlan<'_>) -> Result<Vec<PlannedBuffer>> {
    // Entry 0 is reserved; the others are the buffers.
    let sizes = table.non_const_buffer_sizes().map(|s| s.iter().skip(1)).into_iter().flatten();
    let mut buffers = sizes
        .map(|size| {
            let size =
                u64::try_from(size).map_err(|_| invalid(format!("a planned buffer has {size} bytes")))?;
            Ok(PlannedBuffer { size, device: Device::HOST })
        })
        .collect::<Result<Vec<_>>>()?;
    let mut placed = vec![false; buffers.len()];
    for entry in table.non_const_buffer_device().into_iter().flatten() {
        let at = index(i64::from(entry.buffer_idx()) - 1, buffers.len(), "planned buffer (counted from 0)")?;
        let device = device(entry.device_type(), entry.device_index())
            .map_err(|e| e.within(format!("planned buffer {at}")))?;
        if let (Some(buffer), Some(placed)) = (buffers.get_mut(at as usize), placed.get_mut(at as usize)) {
            if std::mem::replace(placed, true) {
                return Err(invalid(format!("planned buffer {at} is put on a device twice")));
            }
            buffer.device = device;
        }
    }
    Ok(buffers)
}

fn values(
    table: fb::ExecutionPlan<'_>,
    shared: &Shared<'_>,
    buffers: &[PlannedBuffer],
) -> Result<Vec<Value>> {
    let list = required(table.values(), "values")?;
    let context =
        Context { constants: &shared.layout.constants, mutable_data: &shared.layout.mutable_data, buffers };
    let tags: Vec<fb::KernelTypes> = list.iter().map(|v| v.val_type()).collect();
    let items = |items: Option<Vector<'_, i32>>, kind, what: &str| {
        let check = |i| element(&tags, i, kind, what);
        items.map_or(Ok(Vec::new()), |v| v.iter().map(|i| check(i64::from(i))).collect::<Result<Vec<u32>>>())
    };
    let read = |value: fb::EValue<'_>| -> Result<Value> {
        let missing = || invalid(format!("a value of type {} has no content", value.val_type().0));
        Ok(match value.val_type() {
            fb::KernelTypes::Null => Value::None,
            fb::KernelTypes::Int => Value::Int(value.val_as_int().ok_or_else(missing)?.int_val()),
            fb::KernelTypes::Bool => Value::Bool(value.val_as_bool().ok_or_else(missing)?.bool_val()),
            fb::KernelTypes::Double => Value::Double(value.val_as_double().ok_or_else(missing)?.double_val()),
            fb::KernelTypes::String => {
                let text = value.val_as_string().ok_or_else(missing)?.string_val();
                Value::String(c_string(required(text, "string_val")?, "a string value")?)
            }
            fb::KernelTypes::IntList => {
                let list = value.val_as_int_list().ok_or_else(missing)?.items();
                let check = |i| element(&tags, i, fb::KernelTypes::Int, "int list");
                Value::IntList(list.map_or(Ok(Vec::new()), |v| v.iter().map(check).collect())?)
            }
            fb::KernelTypes::DoubleList => {
                let list = value.val_as_double_list().ok_or_else(missing)?.items();
                Value::DoubleList(list.map(|v| v.iter().collect()).unwrap_or_default())
            }
            fb::KernelTypes::BoolList => {
                let list = value.val_as_bool_list().ok_or_else(missing)?.items();
                Value::BoolList(list.map(|v| v.iter().collect()).unwrap_or_default())
            }
            fb::KernelTypes::TensorList => {
                let list = value.val_as_tensor_list().ok_or_else(missing)?.items();
                Value::TensorList(items(list, fb::KernelTypes::Tensor, "tensor list")?)
            }
            fb::KernelTypes::OptionalTensorList => {
                let list = value.val_as_optional_tensor_list().ok_or_else(missing)?.items();
                Value::OptionalTensorList(optional_items(&tags, list)?)
            }
            fb::KernelTypes::Tensor => {
                Value::Tensor(context.read(value.val_as_tensor().ok_or_else(missing)?)?)
            }
            other => return Err(invalid(format!("{} is no type of value", other.0))),
        })
    };
    list.iter().enumerate().map(|(i, v)| read(v).map_err(|e| e.within(format!("value {i}")))).collect()
}

fn element(tags: &[fb::KernelTypes], found: i64, kind: fb::KernelTypes, what: &str) -> Result<u32> {
    let at = index(found, tags.len(), &format!("the value of a {what}"))?;
    match tags.get(at as usize) {
        Some(&tag) if tag == kind => Ok(at),
        _ => Err(invalid(format!("an item of a {what} is value {at}, which is of another type"))),
    }
}

fn optional_items(tags: &[fb::KernelTypes], list: Option<Vector<'_, i32>>) -> Result<Vec<Option<u32>>> {
    let read = |found: i32| {
        if found == -1 {
            return Ok(None);
        }
        let at = index(i64::from(found), tags.len(), "the value of an optional tensor list")?;
        if tags.get(at as usize) == Some(&fb::KernelTypes::Null) {
            return Ok(None);
        }
        element(tags, i64::from(found), fb::KernelTypes::Tensor, "optional tensor list").map(Some)
    };
    list.map_or(Ok(Vec::new()), |v| v.iter().map(read).collect())
}

fn operators(table: fb::ExecutionPlan<'_>) -> Result<Vec<std::ffi::CString>> {
    let read = |(i, operator): (usize, fb::Operator<'_>)| {
        let name = required(operator.name(), "name").map_err(|e| e.within(format!("operator {i}")))?;
        let full = match operator.overload() {
            None | Some("") => name.to_owned(),
            Some(overload) => format!("{name}.{overload}"),
        };
        if full.len() > OPERATOR_NAME_MAX {
            return Err(invalid(format!(
                "the name of operator {i} has {} bytes, at most {OPERATOR_NAME_MAX} are allowed",
                full.len()
            )));
        }
        c_string(&full, "an operator's name")
    };
    table.operators().map_or(Ok(Vec::new()), |o| o.iter().enumerate().map(read).collect())
}

fn delegates(table: fb::ExecutionPlan<'_>, shared: &Shared<'_>) -> Result<Vec<Delegate>> {
    let read = |(i, delegate)| delegate_of(delegate, shared).map_err(|e| e.within(format!("delegate {i}")));
    table.delegates().map_or(Ok(Vec::new()), |d| d.iter().enumerate().map(read).collect())
}

fn delegate_of(table: fb::BackendDelegate<'_>, shared: &Shared<'_>) -> Result<Delegate> {
    let processed = required(table.processed(), "processed")?;
    let found = i64::from(processed.index());
    let payload = match processed.location() {
        fb::DataLocation::SEGMENT => Payload::Segment(index(found, shared.layout.segments.len(), "segment")?),
        fb::DataLocation::INLINE => {
            let at = index(found, shared.inline_payloads.len(), "inline payload")?;
            Payload::Inline(
                shared.inline_payloads.get(at as usize).copied().unwrap_or(ByteRange { offset: 0, size: 0 }),
            )
        }
        other => return Err(invalid(format!("{} is no location of a payload", other.0))),
    };
    let payload_size = match payload {
        Payload::Inline(range) => range.size,
        Payload::Segment(at) => shared.layout.segments.get(at as usize).map_or(0, |s| s.size),
    };
    let spec = |spec: fb::CompileSpec<'_>| {
        let key = c_string(required(spec.key(), "compile_specs.key")?, "a compile spec's key")?;
        Ok((key, required(spec.value(), "compile_specs.value")?.bytes().to_vec()))
    };
    let specs =
        |list: Vector<'_, ForwardsUOffset<fb::CompileSpec<'_>>>| list.iter().map(spec).collect::<Result<_>>();
    Ok(Delegate {
        backend: c_string(required(table.id(), "id")?, "a backend's id")?,
        payload,
        payload_size,
        specs: table.compile_specs().map_or(Ok(Vec::new()), specs)?,
    })
}

struct Limits {
    values: usize,
    operators: usize,
    delegates: usize,
    instructions: usize,
}

impl Limits {
    fn value(&self, found: i32) -> Result<u32> {
        index(i64::from(found), self.values, "value")
    }

    fn args(&self, list: Option<Vector<'_, i32>>) -> Result<Vec<u32>> {
        indices(list, self.values, "argument value")
    }

    fn instruction(&self, table: fb::Instruction<'_>) -> Result<Instruction> {
        let kind = table.instr_args_type();
        let missing = || invalid(format!("an instruction of type {} has no content", kind.0));
        Ok(match kind {
            fb::InstructionArguments::KernelCall => {
                let call = table.instr_args_as_kernel_call().ok_or_else(missing)?;
                Instruction::Kernel {
                    operator: index(i64::from(call.op_index()), self.operators, "operator")?,
                    args: self.args(call.args())?,
                }
            }
            fb::InstructionArguments::DelegateCall => {
                let call = table.instr_args_as_delegate_call().ok_or_else(missing)?;
                Instruction::Delegate {
                    delegate: index(i64::from(call.delegate_index()), self.delegates, "delegate")?,
                    args: self.args(call.args())?,
                }
            }
            fb::InstructionArguments::MoveCall => {
                let call = table.instr_args_as_move_call().ok_or_else(missing)?;
                Instruction::Move { from: self.value(call.move_from())?, to: self.value(call.move_to())? }
            }
            fb::InstructionArguments::JumpFalseCall => {
                let call = table.instr_args_as_jump_false_call().ok_or_else(missing)?;
                // A jump to the end of the chain ends it.
                let destination = i64::from(call.destination_instruction());
                let target = index(destination, self.instructions + 1, "the jump's destination")?;
                Instruction::JumpFalse { condition: self.value(call.cond_value_index())?, target }
            }
            fb::InstructionArguments::FreeCall => {
                let call = table.instr_args_as_free_call().ok_or_else(missing)?;
                Instruction::Free { value: self.value(call.value_index())? }
            }
            other => return Err(invalid(format!("{} is no type of instruction", other.0))),
        })
    }
}

/// Lists hold the addresses of their tensors, so a move must not turn an item of one into something else.
fn check_moves(plan: &Plan) -> Result<()> {
    let is_tensor = |at: u32| matches!(plan.values.get(at as usize), Some(Value::Tensor(_)));
    for instruction in plan.chains.iter().flatten() {
        match *instruction {
            Instruction::Move { from, to } if is_tensor(from) != is_tensor(to) => {
                return Err(invalid(format!(
                    "a move from value {from} to {to} mixes a tensor and another type"
                )));
            }
            Instruction::Free { value } if !is_tensor(value) => {
                return Err(invalid(format!("value {value} is freed, but it is no tensor")));
            }
            _ => {}
        }
    }
    Ok(())
}
