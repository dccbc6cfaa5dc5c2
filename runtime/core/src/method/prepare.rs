//! Prepares the call sites of a method in order, and folds those that only depend on constants.

use super::constants::{Constants, Identity, Preparing};
use super::context::Running;
use super::fold::{Candidate, Folder};
use super::memory::Block;
use super::run::run_kernel;
use super::uses::{Uses, members};
use super::{Action, Method};
use crate::ir::{Instruction, Plan, Storage, Value};
use crate::program::Program;
use executorch_abi::{Error, Result};
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;

impl Method {
    /// Prepares every kernel, runs what can be run at load, and takes that out of the steps.
    pub(super) fn prepare(&mut self, plan: &Plan, program: &Program, written: &[bool]) -> Result<()> {
        let uses = Uses::of(plan, &self.steps);
        let external: HashMap<u32, Identity> = (0..)
            .zip(&plan.values)
            .filter(|(_, v)| matches!(v, Value::Tensor(t) if t.storage == Storage::External))
            .filter_map(|(value, _)| Some((value, self.values.external_identity(value)?)))
            .collect();
        let mut constants = Constants::new(program, plan, &uses, written, external);
        let mut folder = Folder::new(&constants, &uses);
        let mut folded = vec![false; self.steps.len()];
        for (at, instruction) in plan.chains.iter().flatten().enumerate() {
            let Instruction::Kernel { args, .. } = instruction else { continue };
            let Some(Action::Kernel(call)) = self.steps.get(at).map(|s| &s.action) else { continue };
            let candidate = folder.candidate(at, call, args, &constants);
            let shared = candidate.as_ref().and_then(|c| c.shared(program.folds()));
            let mut released = Vec::new();
            if shared.is_none() {
                released = self.prepare_call(at, args, &constants).map_err(|e| e.within(self.place(at)))?;
            }
            if let Some(candidate) = candidate
                && let Some((identity, results)) =
                    shared.or_else(|| self.compute(at, &candidate, &folder, program))
            {
                folder.take(&candidate);
                for (output, (&value, block)) in (0..).zip(candidate.outputs.iter().zip(results)) {
                    self.values.set_constant(value, block);
                    constants.fold(value, [identity, output]);
                }
                if let Some(flag) = folded.get_mut(at) {
                    *flag = true;
                }
                // The call is never run again.
                released = args.iter().flat_map(|&arg| members(plan, arg)).collect();
                released.retain(|value| !candidate.outputs.contains(value));
                released.sort_unstable();
                released.dedup();
            }
            for value in released {
                if constants.release(value) {
                    self.give_back(value, plan, program, &mut folder);
                }
            }
        }
        self.remove(&folded);
        Ok(())
    }

    /// Lets the kernel at `at` prepare, and returns the values whose data it will not read.
    fn prepare_call(&mut self, at: usize, args: &[u32], constants: &Constants<'_>) -> Result<Vec<u32>> {
        let Some(step) = self.steps.get_mut(at) else { return Ok(Vec::new()) };
        let Action::Kernel(call) = &mut step.action else { return Ok(Vec::new()) };
        let Some(prepare) = call.kernel.table.prepare else { return Ok(Vec::new()) };
        let mut preparing = Preparing { constants, args, scratch: &mut self.scratch, released: Vec::new() };
        let mut state = ptr::null_mut();
        // SAFETY: the kernel obeys the ABI; its arguments are the method's values.
        let code = unsafe {
            prepare(
                ptr::from_mut(&mut preparing).cast(),
                self.args.at(step.args.start),
                step.args.len(),
                &mut state,
            )
        };
        Error::check(code).map_err(|e| e.within("while it was prepared"))?;
        call.state = state;
        call.release = call.kernel.table.release;
        Ok(preparing.released())
    }

    /// Runs a candidate with memory of its own for the results. A call that fails is left for the run, which tells why.
    fn compute(
        &mut self,
        at: usize,
        candidate: &Candidate,
        folder: &Folder<'_>,
        program: &Program,
    ) -> Option<(u64, Vec<Arc<Block>>)> {
        let blocks: Result<Vec<_>> = candidate
            .outputs
            .iter()
            .map(|&value| {
                Block::zeroed(usize::try_from(folder.size(value)).unwrap_or(usize::MAX)).map(Arc::new)
            })
            .collect();
        let blocks = blocks.ok()?;
        let step = self.steps.get(at)?;
        let Action::Kernel(call) = &step.action else { return None };
        let bind = |data: &mut dyn Iterator<Item = *mut std::ffi::c_void>| -> Vec<_> {
            candidate.outputs.iter().zip(data).map(|(&v, d)| self.values.rebind(v, d)).collect()
        };
        let planned = bind(&mut blocks.iter().map(|b| b.data().cast()));
        let mut running = Running { scratch: &mut self.scratch, tracer: ptr::null(), message: None };
        // SAFETY: the table holds the step's arguments, values of this method.
        let result =
            unsafe { run_kernel(call, self.args.at(step.args.start), step.args.len(), &mut running) };
        bind(&mut planned.into_iter());
        self.scratch.reset();
        result.ok()?;
        Some((candidate.keep(program.folds(), &blocks), blocks))
    }

    /// Gives memory back that no instruction reads any more.
    fn give_back(&mut self, value: u32, plan: &Plan, program: &Program, folder: &mut Folder<'_>) {
        if self.values.give_back(value) {
            folder.gave_back(value);
        } else if let Some(Value::Tensor(tensor)) = plan.values.get(value as usize) {
            match tensor.storage {
                Storage::External => self.values.discard_external(value),
                _ => program.give_back(tensor),
            }
        }
    }

    /// Takes steps out of the list.
    fn remove(&mut self, removed: &[bool]) {
        if !removed.contains(&true) {
            return;
        }
        // Each step's position afterwards; that of one that is taken out is its successor's.
        let mut kept = 0;
        let mut positions: Vec<usize> = removed
            .iter()
            .map(|&gone| {
                let position = kept;
                kept += usize::from(!gone);
                position
            })
            .collect();
        positions.push(kept);
        let mut flags = removed.iter();
        self.steps.retain(|_| flags.next() != Some(&true));
        for step in &mut self.steps {
            if let Action::JumpFalse { target, .. } = &mut step.action {
                *target = positions.get(*target).copied().unwrap_or(kept);
            }
        }
    }
}
