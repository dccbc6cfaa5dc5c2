//! Programs made for one test: what the exporter would not write, or only on a bad day.

use executorch_schema::program as fb;
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

/// Where a tensor's data lies.
#[derive(Debug, Clone, Copy)]
pub enum Data {
    /// With whoever sets it.
    Unbound,
    /// In constant number `.0`, counted from 1.
    Constant(u32),
    /// In the one planned buffer, at an offset.
    Planned(u32),
    /// In the one planned buffer, at offset 0, with constant number `.0` as its initial value.
    Initial(u32),
}

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    /// Nothing.
    None,
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
    /// Integers, by value.
    Ints(Vec<i64>),
    /// Tensors, by value.
    Tensors(Vec<i32>),
    /// A float32 tensor.
    Tensor(Vec<i32>, Data),
    /// A float32 tensor on a device, by type and index.
    On(Vec<i32>, Data, (i8, i8)),
}

/// An instruction.
#[derive(Debug, Clone)]
pub enum Instruction {
    /// Calls operator `.0`.
    Kernel(i32, Vec<i32>),
    /// Calls delegate `.0`.
    Delegate(i32, Vec<i32>),
    /// Copies a value over another.
    Move(i32, i32),
    /// Jumps to `.1` if value `.0` is false.
    JumpFalse(i32, i32),
    /// Unbinds a tensor.
    Free(i32),
}

/// A program with one method, `forward`, and one planned buffer.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// Its values.
    pub values: Vec<Value>,
    /// Its inputs.
    pub inputs: Vec<i32>,
    /// Its outputs.
    pub outputs: Vec<i32>,
    /// Its instructions.
    pub instructions: Vec<Instruction>,
    /// Its operators: name and overload.
    pub operators: Vec<(&'static str, &'static str)>,
    /// Its delegates' backends.
    pub backends: Vec<&'static str>,
    /// Its constants, from number 1.
    pub constants: Vec<Vec<f32>>,
    /// Bytes of the planned buffer.
    pub planned: i64,
    /// Buffers on devices: number, counted from 1, type and index.
    pub devices: Vec<(i32, i8, i8)>,
    /// Named data: key and segment; there is one segment, number 0.
    pub named: Vec<(&'static str, u32)>,
    /// How many copies of the method there are, all of one name; 0 for one.
    pub copies: usize,
    /// Where the segment starts, and how many bytes more than there are it claims.
    pub segment: (u64, u64),
}

type Builder<'a> = FlatBufferBuilder<'a>;
type Content = Option<WIPOffset<UnionWIPOffset>>;

impl Made {
    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut b = Builder::new();
        let plan = self.plan(&mut b);
        let plans = b.create_vector(&vec![plan; self.copies.max(1)]);
        let mut data = Vec::new();
        let mut offsets = vec![0];
        for constant in &self.constants {
            data.resize(data.len().next_multiple_of(64), 0);
            offsets.push(data.len() as u64);
            data.extend(constant.iter().flat_map(|v| v.to_le_bytes()));
        }
        let (offset, more) = self.segment;
        let size = (data.len() as u64).wrapping_add(more).wrapping_sub(offset);
        let segment = fb::DataSegment::create(&mut b, &fb::DataSegmentArgs { offset, size });
        let named: Vec<_> = self
            .named
            .iter()
            .map(|(key, segment_index)| {
                let key = Some(b.create_string(key));
                fb::NamedData::create(&mut b, &fb::NamedDataArgs { key, segment_index: *segment_index })
            })
            .collect();
        let named = b.create_vector(&named);
        let segments = b.create_vector(&[segment]);
        let offsets = b.create_vector(&offsets);
        let args = fb::SubsegmentOffsetsArgs { segment_index: 0, offsets: Some(offsets) };
        let constants = fb::SubsegmentOffsets::create(&mut b, &args);
        let initial = b.create_vector(&[constants]);
        let args = fb::ProgramArgs {
            execution_plan: Some(plans),
            segments: Some(segments),
            constant_segment: Some(constants),
            mutable_data_segments: Some(initial),
            named_data: Some(named),
            ..fb::ProgramArgs::default()
        };
        let root = fb::Program::create(&mut b, &args);
        b.finish(root, Some("ET12"));
        with_segments(b.finished_data(), &data)
    }

    fn plan<'a>(&self, b: &mut Builder<'a>) -> WIPOffset<fb::ExecutionPlan<'a>> {
        let values: Vec<_> = self.values.iter().map(|v| v.write(b)).collect();
        let operators: Vec<_> = self
            .operators
            .iter()
            .map(|(name, overload)| {
                let args = fb::OperatorArgs {
                    name: Some(b.create_string(name)),
                    overload: Some(b.create_string(overload)),
                };
                fb::Operator::create(b, &args)
            })
            .collect();
        let delegates: Vec<_> = self
            .backends
            .iter()
            .map(|id| {
                let processed = fb::BackendDelegateDataReference::create(
                    b,
                    &fb::BackendDelegateDataReferenceArgs { location: fb::DataLocation::SEGMENT, index: 0 },
                );
                let args = fb::BackendDelegateArgs {
                    id: Some(b.create_string(id)),
                    processed: Some(processed),
                    compile_specs: None,
                };
                fb::BackendDelegate::create(b, &args)
            })
            .collect();
        let instructions: Vec<_> = self.instructions.iter().map(|i| i.write(b)).collect();
        let instructions = b.create_vector(&instructions);
        let chain = fb::Chain::create(
            b,
            &fb::ChainArgs { instructions: Some(instructions), ..fb::ChainArgs::default() },
        );
        let devices: Vec<_> = self
            .devices
            .iter()
            .map(|&(buffer_idx, kind, device_index)| {
                let device_type = fb::DeviceType(kind);
                let args = fb::NonConstBufferDeviceArgs { buffer_idx, device_type, device_index };
                fb::NonConstBufferDevice::create(b, &args)
            })
            .collect();
        let args = fb::ExecutionPlanArgs {
            name: Some(b.create_string("forward")),
            values: Some(b.create_vector(&values)),
            inputs: Some(b.create_vector(&self.inputs)),
            outputs: Some(b.create_vector(&self.outputs)),
            chains: Some(b.create_vector(&[chain])),
            operators: Some(b.create_vector(&operators)),
            delegates: Some(b.create_vector(&delegates)),
            non_const_buffer_sizes: Some(b.create_vector(&[0, self.planned])),
            non_const_buffer_device: Some(b.create_vector(&devices)),
            ..fb::ExecutionPlanArgs::default()
        };
        fb::ExecutionPlan::create(b, &args)
    }
}

/// Puts the extended header into a finished structure, and segments behind it.
pub fn with_segments(structure: &[u8], data: &[u8]) -> Vec<u8> {
    const HEADER: usize = 32;
    let root = u32::from_le_bytes(structure[..4].try_into().unwrap()) + HEADER as u32;
    let size = structure.len() + HEADER;
    let base = size.next_multiple_of(64);
    let mut bytes = root.to_le_bytes().to_vec();
    bytes.extend(b"ET12eh00");
    bytes.extend((HEADER as u32).to_le_bytes());
    for word in [size, base, data.len()] {
        bytes.extend((word as u64).to_le_bytes());
    }
    bytes.extend(&structure[8..]);
    bytes.resize(base, 0);
    bytes.extend(data);
    bytes
}

impl Value {
    fn write<'a>(&self, b: &mut Builder<'a>) -> WIPOffset<fb::EValue<'a>> {
        use fb::KernelTypes as Kind;
        let (val_type, val): (_, Content) = match self {
            Self::None => (Kind::Null, Some(fb::Null::create(b, &fb::NullArgs {}).as_union_value())),
            Self::Int(v) => {
                (Kind::Int, Some(fb::Int::create(b, &fb::IntArgs { int_val: *v }).as_union_value()))
            }
            Self::Bool(v) => {
                (Kind::Bool, Some(fb::Bool::create(b, &fb::BoolArgs { bool_val: *v }).as_union_value()))
            }
            Self::Ints(items) => {
                let items = Some(b.create_vector(items));
                (Kind::IntList, Some(fb::IntList::create(b, &fb::IntListArgs { items }).as_union_value()))
            }
            Self::Tensors(items) => {
                let items = Some(b.create_vector(items));
                let list = fb::TensorList::create(b, &fb::TensorListArgs { items });
                (Kind::TensorList, Some(list.as_union_value()))
            }
            Self::Tensor(sizes, data) => (Kind::Tensor, Some(tensor(b, sizes, *data, None).as_union_value())),
            Self::On(sizes, data, device) => {
                (Kind::Tensor, Some(tensor(b, sizes, *data, Some(*device)).as_union_value()))
            }
        };
        fb::EValue::create(b, &fb::EValueArgs { val_type, val })
    }
}

fn tensor<'a>(
    b: &mut Builder<'a>,
    sizes: &[i32],
    data: Data,
    device: Option<(i8, i8)>,
) -> WIPOffset<fb::Tensor<'a>> {
    let order: Vec<u8> = (0..sizes.len() as u8).collect();
    let offset = match data {
        Data::Planned(offset) => Some(offset),
        Data::Initial(_) => Some(0),
        _ => None,
    };
    let extra_tensor_info = match (device, data) {
        (Some((kind, device_index)), _) => Some((fb::DeviceType(kind), device_index)),
        (None, Data::Initial(_)) => Some((fb::DeviceType::CPU, 0)),
        (None, _) => None,
    };
    let extra_tensor_info = extra_tensor_info.map(|(device_type, device_index)| {
        let args =
            fb::ExtraTensorInfoArgs { device_type, device_index, ..fb::ExtraTensorInfoArgs::default() };
        fb::ExtraTensorInfo::create(b, &args)
    });
    let allocation_info = offset.map(|offset| {
        fb::AllocationDetails::create(
            b,
            &fb::AllocationDetailsArgs { memory_id: 1, memory_offset_low: offset, memory_offset_high: 0 },
        )
    });
    let args = fb::TensorArgs {
        scalar_type: fb::ScalarType::FLOAT,
        sizes: Some(b.create_vector(sizes)),
        dim_order: Some(b.create_vector(&order)),
        data_buffer_idx: if let Data::Constant(index) | Data::Initial(index) = data { index } else { 0 },
        allocation_info,
        extra_tensor_info,
        ..fb::TensorArgs::default()
    };
    fb::Tensor::create(b, &args)
}

impl Instruction {
    fn write<'a>(&self, b: &mut Builder<'a>) -> WIPOffset<fb::Instruction<'a>> {
        use fb::InstructionArguments as Kind;
        let (instr_args_type, instr_args) = match self {
            Self::Kernel(op_index, args) => {
                let args = Some(b.create_vector(args));
                let call = fb::KernelCall::create(b, &fb::KernelCallArgs { op_index: *op_index, args });
                (Kind::KernelCall, call.as_union_value())
            }
            Self::Delegate(delegate_index, args) => {
                let args = Some(b.create_vector(args));
                let args = fb::DelegateCallArgs { delegate_index: *delegate_index, args };
                (Kind::DelegateCall, fb::DelegateCall::create(b, &args).as_union_value())
            }
            Self::Move(move_from, move_to) => {
                let args = fb::MoveCallArgs { move_from: *move_from, move_to: *move_to };
                (Kind::MoveCall, fb::MoveCall::create(b, &args).as_union_value())
            }
            Self::JumpFalse(cond_value_index, destination_instruction) => {
                let args = fb::JumpFalseCallArgs {
                    cond_value_index: *cond_value_index,
                    destination_instruction: *destination_instruction,
                };
                (Kind::JumpFalseCall, fb::JumpFalseCall::create(b, &args).as_union_value())
            }
            Self::Free(value_index) => {
                let args = fb::FreeCallArgs { value_index: *value_index };
                (Kind::FreeCall, fb::FreeCall::create(b, &args).as_union_value())
            }
        };
        fb::Instruction::create(b, &fb::InstructionArgs { instr_args_type, instr_args: Some(instr_args) })
    }
}
