//! How a method's instructions use its values, in the order in which they stand.
//!
//! This is what folding constants and giving their memory back rest on. Whatever is not plainly the input or output of
//! a kernel with a signature makes a value *opaque*: nothing is concluded about it.

use super::signature::Signature;
use super::{Action, Step};
use crate::ir::{Instruction, Place, Plan, Storage, Tensor, Value};

/// What an instruction does with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads it, or may.
    Read,
    /// Writes all of it and reads nothing.
    Write,
}

/// An instruction's use of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// The instruction's position among those of all chains.
    pub at: usize,
    /// What it does.
    pub kind: Kind,
}

/// The uses of all values of a method.
pub struct Uses {
    events: Vec<Vec<Event>>,
    opaque: Vec<bool>,
    inputs: Vec<bool>,
    /// Whether a jump may skip the instruction.
    skipped: Vec<bool>,
    /// The last instruction that may run after an instruction without anything before it being run again.
    settled: Vec<usize>,
    /// Whether no instruction jumps back, so that instructions run in the order in which they stand.
    straight: bool,
    /// The values with planned memory, by buffer.
    planned: Vec<Vec<u32>>,
    /// How many more uses are recorded; at 0, every value is opaque.
    room: usize,
}

/// Uses that are recorded at most: lists make them as many as calls times items.
const MAX_USES: usize = 1 << 22;

/// Work that one method may cause in [`Uses::is_alone`], which is quadratic for a hostile file.
const MAX_CHECKS: usize = 1 << 24;

/// How much of [`MAX_CHECKS`] is left.
pub struct Effort(usize);

impl Effort {
    /// All of it.
    pub fn new() -> Self {
        Self(MAX_CHECKS)
    }

    /// Takes note of work; false once it is used up.
    pub fn spend(&mut self, checks: usize) -> bool {
        self.0 = self.0.saturating_sub(checks.max(1));
        self.0 > 0
    }
}

impl Uses {
    /// Collects the uses. `steps` are the plan's instructions, in order.
    pub(super) fn of(plan: &Plan, steps: &[Step]) -> Self {
        let count = plan.values.len();
        let mut uses = Self {
            events: vec![Vec::new(); count],
            opaque: vec![false; count],
            inputs: vec![false; count],
            skipped: Vec::new(),
            settled: Vec::new(),
            straight: steps
                .iter()
                .enumerate()
                .all(|(at, step)| !matches!(step.action, Action::JumpFalse { target, .. } if target <= at)),
            planned: vec![Vec::new(); plan.buffers.len()],
            room: MAX_USES,
        };
        for &input in &plan.inputs {
            mark(&mut uses.inputs, input);
            mark(&mut uses.opaque, input);
        }
        for (at, (instruction, step)) in plan.chains.iter().flatten().zip(steps).enumerate() {
            uses.instruction(plan, at, instruction, &step.action);
        }
        for &output in &plan.outputs {
            uses.opaque(plan, output, steps.len(), Kind::Read);
        }
        for (i, value) in (0..).zip(&plan.values) {
            if let Some((place, _)) = place(value)
                && let Some(values) = uses.planned.get_mut(place.buffer as usize)
            {
                values.push(i);
            }
        }
        (uses.skipped, uses.settled) = flow(steps);
        if uses.straight {
            uses.find_origins(plan);
        }
        uses
    }

    /// Gives values that are read without being written, views that the exporter left out of the program, the last
    /// write that surely fills their memory before: what they show was not there any earlier.
    fn find_origins(&mut self, plan: &Plan) {
        let mut effort = Effort::new();
        let mut origins = Vec::new();
        for &view in self.planned.iter().flatten() {
            let Some(&Event { at: read, kind: Kind::Read }) = self.events(view).first() else { continue };
            let Some((at, size)) = plan.values.get(view as usize).and_then(place) else { continue };
            let others = self.planned.get(at.buffer as usize).map_or(&[][..], Vec::as_slice);
            if !effort.spend(others.len()) {
                return;
            }
            let fills = |other: u32| {
                plan.values.get(other as usize).and_then(place).is_some_and(|(p, s)| {
                    p.offset <= at.offset && p.offset.saturating_add(s) >= at.offset.saturating_add(size)
                })
            };
            let writes = others.iter().filter(|&&other| fills(other)).flat_map(|&other| {
                self.events(other).iter().filter(|e| {
                    e.kind == Kind::Write && e.at < read && self.skipped.get(e.at) == Some(&false)
                })
            });
            origins.extend(writes.max_by_key(|e| e.at).map(|&origin| (view, origin)));
        }
        for (view, origin) in origins {
            if let Some(events) = self.events.get_mut(view as usize) {
                events.insert(0, origin);
            }
        }
    }

    fn instruction(&mut self, plan: &Plan, at: usize, instruction: &Instruction, action: &Action) {
        match (instruction, action) {
            (Instruction::Kernel { args, .. }, Action::Kernel(call)) => {
                let signature = call.kernel.signature.as_deref().and_then(|s| Signature::parse(s).ok());
                match signature.and_then(|s| args.split_at_checked(s.input_count())) {
                    Some((inputs, outputs)) => {
                        inputs.iter().for_each(|&v| self.add(plan, v, at, Kind::Read));
                        outputs.iter().for_each(|&v| self.add(plan, v, at, Kind::Write));
                    }
                    None => args.iter().for_each(|&v| self.opaque(plan, v, at, Kind::Read)),
                }
            }
            (Instruction::Kernel { operator, args }, _) => {
                let name = plan.operators.get(*operator as usize);
                let is_view = name.is_some_and(|n| n.as_c_str() == c"executorch_prim::et_view.default");
                for (i, &value) in args.iter().enumerate() {
                    let kind = if is_view && i == 2 { Kind::Write } else { Kind::Read };
                    self.opaque(plan, value, at, kind);
                }
            }
            (Instruction::Delegate { args, .. }, _) => {
                args.iter().for_each(|&v| self.opaque(plan, v, at, Kind::Read));
            }
            (Instruction::Move { from, to }, _) => {
                self.opaque(plan, *from, at, Kind::Read);
                self.opaque(plan, *to, at, Kind::Write);
            }
            (Instruction::JumpFalse { condition, .. }, _) => {
                self.opaque(plan, *condition, at, Kind::Read);
            }
            (Instruction::Free { value }, _) => mark(&mut self.opaque, *value),
        }
    }

    fn add(&mut self, plan: &Plan, value: u32, at: usize, kind: Kind) {
        for member in members(plan, value) {
            if self.room == 0 {
                return;
            }
            self.room -= 1;
            let event = Event { at, kind };
            if let Some(events) = self.events.get_mut(member as usize)
                && events.last() != Some(&event)
            {
                events.push(event);
            }
        }
    }

    fn opaque(&mut self, plan: &Plan, value: u32, at: usize, kind: Kind) {
        self.add(plan, value, at, kind);
        members(plan, value).take(self.room).for_each(|member| mark(&mut self.opaque, member));
    }

    /// Whether a value is used by something other than a kernel with a signature.
    pub fn is_opaque(&self, value: u32) -> bool {
        self.room == 0 || self.opaque.get(value as usize) != Some(&false)
    }

    fn events(&self, value: u32) -> &[Event] {
        self.events.get(value as usize).map_or(&[], Vec::as_slice)
    }

    /// How many instructions read a value.
    pub fn readers(&self, value: u32) -> u32 {
        let reads = self.events(value).iter().filter(|e| e.kind == Kind::Read);
        u32::try_from(reads.count()).unwrap_or(u32::MAX)
    }

    /// Whether the instruction at `at` runs whenever one after it does, and computes a value that nothing else writes
    /// and that only later kernels read, by its name alone: not through another value in the same memory.
    pub fn is_alone(&self, plan: &Plan, value: u32, at: usize, effort: &mut Effort) -> bool {
        let Some((at_place, size)) = plan.values.get(value as usize).and_then(place) else { return false };
        let events = self.events(value);
        let (mut last, mut written) = (at, false);
        for event in events {
            match event.kind {
                Kind::Write if event.at == at => written = true,
                Kind::Read if event.at > at => last = last.max(event.at),
                _ => return false,
            }
        }
        if !written || self.is_opaque(value) || self.skipped.get(at) != Some(&false) {
            return false;
        }
        let last = self.settled.get(last).copied().unwrap_or(usize::MAX);
        let others = self.planned.get(at_place.buffer as usize).map_or(&[][..], Vec::as_slice);
        if !effort.spend(events.len() + others.len()) {
            return false;
        }
        others.iter().filter(|&&other| other != value).all(|&other| {
            let Some((place, other_size)) = plan.values.get(other as usize).and_then(place) else {
                return true;
            };
            let apart = place.offset >= at_place.offset.saturating_add(size)
                || at_place.offset >= place.offset.saturating_add(other_size);
            apart || self.is_stranger(plan, other, at, last, effort)
        })
    }

    /// Whether a value that shares memory with one that lives from `from` to `to` has nothing to do with it: memory
    /// that is used again holds another value only once that one is written ([`Uses::find_origins`] tells when views
    /// are).
    fn is_stranger(&self, plan: &Plan, value: u32, from: usize, to: usize, effort: &mut Effort) -> bool {
        let planned = matches!(
            plan.values.get(value as usize),
            Some(Value::Tensor(Tensor { storage: Storage::Planned(_), .. }))
        );
        let events = self.events(value);
        let starts_written = |event: Option<&Event>| event.is_none_or(|e| e.kind == Kind::Write);
        planned
            && effort.spend(events.len())
            && (self.straight
                || self.inputs.get(value as usize) == Some(&true)
                || starts_written(events.first()))
            && starts_written(events.iter().find(|e| e.at > from))
            && !events.iter().any(|e| e.kind == Kind::Write && e.at > from && e.at <= to)
    }
}

fn mark(flags: &mut [bool], value: u32) {
    if let Some(flag) = flags.get_mut(value as usize) {
        *flag = true;
    }
}

/// A value, and the tensors that it is a list of.
pub fn members(plan: &Plan, value: u32) -> impl Iterator<Item = u32> {
    let (all, some) = match plan.values.get(value as usize) {
        Some(Value::TensorList(items)) => (items.as_slice(), &[][..]),
        Some(Value::OptionalTensorList(items)) => (&[][..], items.as_slice()),
        _ => (&[][..], &[][..]),
    };
    std::iter::once(value).chain(all.iter().copied()).chain(some.iter().copied().flatten())
}

fn place(value: &Value) -> Option<(Place, u64)> {
    let Value::Tensor(tensor) = value else { return None };
    match tensor.storage {
        Storage::Planned(place) | Storage::PlannedInitial { place, .. } | Storage::PlannedExternal(place) => {
            (tensor.nbytes > 0).then_some((place, tensor.nbytes))
        }
        Storage::Unbound | Storage::Constant { .. } | Storage::External => None,
    }
}

/// For each instruction, whether a jump may skip it, and where it is settled (see [`Uses::settled`]).
fn flow(steps: &[Step]) -> (Vec<bool>, Vec<usize>) {
    let count = steps.len();
    // How many jumps skip an instruction, as differences; the farthest jump back to it or before it.
    let mut skips = vec![0_i64; count + 1];
    let mut back = vec![0; count];
    for (at, step) in steps.iter().enumerate() {
        let Action::JumpFalse { target, .. } = step.action else { continue };
        if target > at {
            // Positions lie within the list: a jump's target is at most its length.
            if let Some(first) = skips.get_mut(at + 1) {
                *first += 1;
            }
            if let Some(end) = skips.get_mut(target) {
                *end -= 1;
            }
        } else if let Some(farthest) = back.get_mut(target) {
            *farthest = at.max(*farthest);
        }
    }
    let mut depth = 0;
    let skipped = skips
        .iter()
        .take(count)
        .map(|change| {
            depth += change;
            depth > 0
        })
        .collect();
    let mut farthest = 0;
    let mut settled: Vec<usize> = back
        .iter()
        .enumerate()
        .map(|(at, &jump)| {
            farthest = farthest.max(jump);
            farthest.max(at)
        })
        .collect();
    for at in (0..count).rev() {
        let next = settled.get(at).and_then(|&end| settled.get(end)).copied();
        if let (Some(next), Some(slot)) = (next, settled.get_mut(at)) {
            *slot = next;
        }
    }
    (skipped, settled)
}
