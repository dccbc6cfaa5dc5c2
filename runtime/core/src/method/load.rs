//! Loads a method: memory, delegates, operators resolved and prepared.

use super::memory::{Scratch, Table};
use super::signature::Signature;
use super::trace::Tracer;
use super::values::Values;
use super::{Action, Call, Method, Step};
use crate::data_map::DataMap;
use crate::ir::{Instruction, Plan, Value};
use crate::program::Program;
use crate::registry::Kernel;
use crate::{prim, registry};
use executorch_abi::backend::et_backend_options_t;
use executorch_abi::data_map::et_data_map_t;
use executorch_abi::error::*;
use executorch_abi::memory::{et_allocator_t, et_arena_t};
use executorch_abi::tracer::et_event_tracer_t;
use executorch_abi::value::et_value_t;
use executorch_abi::{Error, Result};
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::Arc;

/// How a method is loaded; what is borrowed outlives the load, and the tables' targets outlive the method.
#[derive(Default, Clone, Copy)]
pub struct Options<'a> {
    /// The caller's planned buffers.
    pub planned: Option<&'a [et_arena_t]>,
    /// The caller's allocator for delegates.
    pub method_allocator: Option<&'a et_allocator_t>,
    /// The caller's allocator for single instructions.
    pub temp_allocator: Option<et_allocator_t>,
    /// External data.
    pub data_map: Option<*const et_data_map_t>,
    /// A tracer.
    pub tracer: Option<et_event_tracer_t>,
    /// Options for backends.
    pub backend_options: &'a [et_backend_options_t],
    /// Kernels that are looked up before the registered ones.
    pub kernels: &'a [Arc<Kernel>],
}

impl Method {
    /// Loads a method of a program.
    pub fn load(program: Arc<Program>, name: &CStr, options: Options<'_>) -> Result<Self> {
        let tracer = Tracer::new(options.tracer);
        tracer.block(c"Default");
        let events = [tracer.begin(c"Program::load_method"), tracer.begin(c"Method::init")];
        let method = Self::init(program, name, options, tracer);
        events.into_iter().rev().for_each(|event| tracer.end(event));
        method
    }

    fn init(program: Arc<Program>, name: &CStr, options: Options<'_>, tracer: Tracer) -> Result<Self> {
        let plan_index = program.plan_index(name)?;
        let plan = program.plan_at(plan_index)?;
        check_operators(plan, options.kernels)?;
        let external = match options.data_map {
            // SAFETY: the caller's map outlives the method.
            Some(map) => Some(unsafe { DataMap::new(map) }?),
            None => None,
        };
        let values = Values::new(&program, plan, options.planned, external)?;
        if options.planned.is_none() {
            tracer.allocated(c"planned memory", plan.buffers.iter().map(|b| b.size));
        }
        let written = written(plan);
        let (steps, table) = steps(plan, &values, &written, options.kernels)?;
        let mut method = Self {
            steps,
            delegates: Vec::new(),
            args: table,
            values,
            scratch: Scratch::new(options.temp_allocator),
            restored: restored(plan),
            inputs_set: plan.inputs.iter().map(|&i| !is_tensor(plan, i)).collect(),
            uses_devices: plan.values.iter().any(|v| matches!(v, Value::Tensor(t) if !t.device.is_host())),
            next: 0,
            executed: 0,
            tracer,
            plan_index,
            data_map: None,
            program: Arc::clone(&program),
        };
        method.init_delegates(plan, &program, options)?;
        method.prepare(plan, &program, &written)?;
        Ok(method)
    }
}

fn is_tensor(plan: &Plan, value: u32) -> bool {
    matches!(plan.values.get(value as usize), Some(Value::Tensor(_)))
}

/// All operators that nothing registers are told at once.
fn check_operators(plan: &Plan, own: &[Arc<Kernel>]) -> Result<()> {
    let exists = |name: &CString| {
        prim::find(name).is_some() || own.iter().any(|k| k.name == *name) || registry::has_kernel(name)
    };
    let used = plan.chains.iter().flatten().filter_map(|i| match i {
        Instruction::Kernel { operator, .. } => plan.operators.get(*operator as usize),
        _ => None,
    });
    let mut missing: Vec<&CString> = used.filter(|name| !exists(name)).collect();
    missing.sort();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|n| n.to_string_lossy()).collect();
    Err(Error::new(
        ET_ERROR_OPERATOR_MISSING,
        format!(
            "the method {:?} needs operators that no loaded library has: {}; {} kernels are registered{}. Load a kernel \
             library (link executorch::kernels_optimized)",
            plan.name,
            names.join(", "),
            registry::kernel_count(),
            registry::refusals(),
        ),
    ))
}

/// Which values a run may change: targets of moves and of the runtime's own operators, and what is handed to
/// delegates. Kernels write the data of tensors only, and constants among those are protected by their flag.
fn written(plan: &Plan) -> Vec<bool> {
    let mut written = vec![false; plan.values.len()];
    let mut mark = |value: u32| {
        if let Some(flag) = written.get_mut(value as usize) {
            *flag = true;
        }
    };
    for instruction in plan.chains.iter().flatten() {
        match instruction {
            Instruction::Move { to, .. } => mark(*to),
            Instruction::Free { value } => mark(*value),
            Instruction::JumpFalse { .. } => {}
            Instruction::Delegate { args, .. } => args.iter().for_each(|&a| mark(a)),
            Instruction::Kernel { operator, args } => {
                let name = plan.operators.get(*operator as usize);
                if name.is_some_and(|n| prim::find(n).is_some()) {
                    args.iter().for_each(|&a| mark(a));
                }
            }
        }
    }
    written
}

/// The values whose tensors a run may move, free or make views of.
fn restored(plan: &Plan) -> Vec<u32> {
    let mut restored = Vec::new();
    for instruction in plan.chains.iter().flatten() {
        match instruction {
            Instruction::Move { to, .. } => restored.push(*to),
            Instruction::Free { value } => restored.push(*value),
            Instruction::Kernel { operator, args } => {
                let name = plan.operators.get(*operator as usize);
                if name.is_some_and(|n| n.as_c_str() == c"executorch_prim::et_view.default") {
                    restored.extend(args.get(2));
                }
            }
            _ => {}
        }
    }
    restored.retain(|&value| is_tensor(plan, value));
    restored.sort_unstable();
    restored.dedup();
    restored
}

fn steps(
    plan: &Plan,
    values: &Values,
    written: &[bool],
    own: &[Arc<Kernel>],
) -> Result<(Vec<Step>, Table<*mut et_value_t>)> {
    let changing = values.changing_lists(|value| written.get(value as usize) != Some(&false));
    let mut steps = Vec::new();
    let mut table = Vec::new();
    let mut base = 0;
    for (chain, instructions) in plan.chains.iter().enumerate() {
        for (number, instruction) in instructions.iter().enumerate() {
            let start = table.len();
            let mut lists = Vec::new();
            if let Instruction::Kernel { args, .. } | Instruction::Delegate { args, .. } = instruction {
                table.extend(args.iter().map(|&a| values.values.at(a as usize)));
                lists = values.lists_among(args);
                lists.retain(|&list| changing.get(list as usize) == Some(&true));
            }
            let action = match instruction {
                Instruction::Kernel { operator, args } => resolve(plan, *operator, args, own)
                    .map_err(|e| e.within(format!("instruction {number} of chain {chain}")))?,
                Instruction::Delegate { delegate, .. } => Action::Delegate(*delegate as usize),
                Instruction::Move { from, to } => Action::Move { from: *from, to: *to },
                Instruction::JumpFalse { condition, target } => {
                    Action::JumpFalse { condition: *condition, target: base + *target as usize }
                }
                Instruction::Free { value } => Action::Free { value: *value },
            };
            steps.push(Step {
                action,
                args: start..table.len(),
                lists,
                chain: chain as u32,
                instruction: number as u32,
            });
        }
        base = steps.len();
    }
    Ok((steps, Table::new(table)))
}

fn resolve(plan: &Plan, operator: u32, args: &[u32], own: &[Arc<Kernel>]) -> Result<Action> {
    let name = plan
        .operators
        .get(operator as usize)
        .ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "a checked instruction names no operator"))?;
    let place = |e: Error| e.within(name.to_string_lossy());
    if let Some(prim) = prim::find(name) {
        if args.len() < prim.arity {
            let text = format!("the call has {} arguments, expected {}", args.len(), prim.arity);
            return Err(place(Error::new(ET_ERROR_INVALID_PROGRAM, text)));
        }
        return Ok(Action::Prim(prim.run));
    }
    let kernel = registry::resolve(own, name, &kernel_key(plan, args)).ok_or_else(|| {
        Error::new(
            ET_ERROR_OPERATOR_MISSING,
            format!("no kernel of {name:?} serves the dtypes and dim orders of this call"),
        )
    })?;
    if let Some(signature) = kernel.signature.as_deref() {
        Signature::parse(signature).and_then(|s| s.check(args, &plan.values)).map_err(place)?;
    }
    Ok(Action::Kernel(Call { kernel, state: ptr::null_mut(), release: None }))
}

/// The key of a call: dtype and dim order of each tensor among its arguments, as upstream writes them.
fn kernel_key(plan: &Plan, args: &[u32]) -> CString {
    let tensors = args.iter().filter_map(|&a| match plan.values.get(a as usize) {
        Some(Value::Tensor(tensor)) => Some(tensor),
        _ => None,
    });
    let entries: Vec<String> = tensors
        .map(|t| {
            let order: Vec<String> = t.dim_order.iter().map(u8::to_string).collect();
            format!("{};{}", t.dtype as i8, order.join(","))
        })
        .collect();
    CString::new(format!("v1/{}", entries.join("|"))).unwrap_or_default()
}
