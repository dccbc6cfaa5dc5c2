//! Preparing the segments of a plan: on several threads where that takes long.

use crate::graph::{Dims, Graph};
use crate::library::{self, Workspace};
use crate::plan::{Executor, Plan, Segment, cost};
use crate::{own, parallel};
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use std::sync::{Mutex, PoisonError};

/// What runs a segment.
#[derive(Debug)]
pub enum Step {
    /// The library.
    Library(library::Segment),
    /// Our own kernels.
    Own(own::Operation),
}

/// Nanoseconds of preparation that are not worth waking a thread for.
const LITTLE: u64 = 200_000;

/// Prepares all segments for the shapes that the values have at first. Tells how many elements of scratch memory our own
/// kernels need.
///
/// # Safety
/// The context's threads outlive the steps. Unless instances share the context's workspace, no other thread uses it
/// meanwhile.
pub unsafe fn steps(
    graph: &Graph,
    plan: &Plan,
    shapes: &[Dims],
    context: &library::Context<'_>,
) -> Result<(Vec<Step>, usize)> {
    let make = |index: usize| {
        let segment = plan.segments.get(index).ok_or_else(lost)?;
        // SAFETY: the caller's promise. All segments on the context's own workspace are in one job, which one thread does.
        let mut step = unsafe { step(graph, segment, context)? };
        let scratch = match &mut step {
            Step::Library(segment) => segment.reshape(shapes, &context.workspace.access()).map(|()| 0)?,
            // Without access, for which they would have to wait.
            Step::Own(operation) => operation.reshape(shapes, context.threads.count())?,
        };
        Ok((step, scratch))
    };
    let Some(work) = Work::new(graph, plan, context) else {
        return collect((0..plan.segments.len()).map(make));
    };
    // What threads would otherwise do one after the other, or wait for each other to do.
    parallel::start();
    context.session.prepare();
    let mut made: Vec<Option<Result<(Step, usize)>>> = plan.segments.iter().map(|_| None).collect();
    let mut keep = |index: usize, step| {
        if let Some(place) = made.get_mut(index) {
            *place = Some(step);
        }
    };
    for &index in &work.alone {
        keep(index, make(index));
    }
    let done = parallel::map(work.jobs.len(), |job| {
        let job = work.jobs.get(job).map_or(&[][..], |job| job);
        job.iter().map(|&index| (index, make(index))).collect::<Vec<_>>()
    });
    done.into_iter().flatten().flatten().for_each(|(index, step)| keep(index, step));
    collect(made.into_iter().map(|step| step.unwrap_or_else(|| Err(lost()))))
}

/// Steps, and the most of the elements that each needs.
fn collect(made: impl Iterator<Item = Result<(Step, usize)>>) -> Result<(Vec<Step>, usize)> {
    let (steps, scratch): (Vec<_>, Vec<_>) = made.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok((steps, scratch.into_iter().max().unwrap_or(0)))
}

fn lost() -> Error {
    Error::new(ET_ERROR_INTERNAL, "a thread failed to prepare nodes")
}

/// # Safety
/// As for [`steps`].
unsafe fn step(graph: &Graph, segment: &Segment, context: &library::Context<'_>) -> Result<Step> {
    if segment.executor == Executor::Own {
        return own::Operation::new(graph, segment, context.session).map(Step::Own);
    }
    let apart;
    let mut context = *context;
    if segment.is_apart {
        apart = context.workspace.apart()?;
        context.workspace = &apart;
    }
    // SAFETY: the caller's promise; nobody else knows a workspace that is apart.
    unsafe { library::Segment::new(graph, segment, &context) }.map(Step::Library)
}

/// How the preparation of a plan is divided. All are places of segments.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    /// One after the other, each on all threads: they are so large that threads would wait for the last one.
    alone: Vec<usize>,
    /// Each by one thread, in the order of its segments; the longest jobs first.
    jobs: Vec<Vec<usize>>,
}

impl Work {
    /// Nothing if threads would not help.
    fn new(graph: &Graph, plan: &Plan, context: &library::Context<'_>) -> Option<Self> {
        let threads = context.threads.count();
        let costs: Vec<u64> = plan.segments.iter().map(|segment| cost::of_segment(graph, segment)).collect();
        let all = costs.iter().copied().fold(0, u64::saturating_add);
        if threads < 2 || all < LITTLE {
            return None;
        }
        Some(Self::divide(plan, &costs, all / (2 * threads as u64), context.workspace.is_shared()))
    }

    /// `large` is the cost of an operation that all threads take part in.
    fn divide(plan: &Plan, costs: &[u64], large: u64, is_shared: bool) -> Self {
        let (mut alone, mut library, mut jobs) = (Vec::new(), (0, Vec::new()), Vec::new());
        for ((index, segment), &cost) in plan.segments.iter().enumerate().zip(costs) {
            match segment.executor {
                Executor::Own if cost > large => alone.push(index),
                Executor::Own => jobs.push((cost, vec![index])),
                Executor::Library if segment.is_apart && !is_shared => jobs.push((cost, vec![index])),
                Executor::Library => {
                    library.0 += cost;
                    library.1.push(index);
                }
            }
        }
        jobs.push(library);
        jobs.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
        Self { alone, jobs: jobs.into_iter().map(|(_, job)| job).filter(|job| !job.is_empty()).collect() }
    }
}

/// Gives all steps the shapes that the values of the graph have from now on, and `threads` threads. Tells how many elements
/// of scratch memory our own kernels need.
pub fn reshape(
    steps: &mut [Step],
    plan: &Plan,
    shapes: &[Dims],
    workspace: &Workspace,
    threads: usize,
) -> Result<usize> {
    let access = workspace.access();
    // Those on a workspace of their own take a thread of their own.
    let (mut jobs, mut together) = (Vec::new(), Vec::new());
    for (step, segment) in steps.iter_mut().zip(&plan.segments) {
        match segment.is_apart && !workspace.is_shared() {
            true => jobs.push(Mutex::new(vec![step])),
            false => together.push(step),
        }
    }
    jobs.insert(0, Mutex::new(together));
    let done = parallel::map(jobs.len(), |job| {
        let mut scratch = 0;
        let mut job = jobs.get(job).ok_or_else(lost)?.lock().unwrap_or_else(PoisonError::into_inner);
        for step in job.iter_mut() {
            match step {
                Step::Library(segment) => segment.reshape(shapes, &access)?,
                Step::Own(operation) => scratch = scratch.max(operation.reshape(shapes, threads)?),
            }
        }
        Ok(scratch)
    });
    done.into_iter().try_fold(0, |most, scratch| Ok(most.max(scratch.unwrap_or_else(|| Err(lost()))?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(executor: Executor, is_apart: bool) -> Segment {
        Segment { executor, nodes: vec![], reads: vec![], writes: vec![], is_apart }
    }

    #[test]
    fn work_is_divided() {
        use Executor::{Library, Own};
        let kinds =
            [(Library, false), (Own, false), (Own, false), (Library, false), (Library, true), (Own, false)];
        let plan = Plan { segments: kinds.map(|(executor, is_apart)| segment(executor, is_apart)).to_vec() };
        let costs = [10, 20, 200, 15, 50, 30];
        let divide = |is_shared| Work::divide(&plan, &costs, 100, is_shared);
        let jobs = vec![vec![4], vec![5], vec![0, 3], vec![1]];
        assert_eq!(divide(false), Work { alone: vec![2], jobs });
        let jobs = vec![vec![0, 3, 4], vec![5], vec![1]];
        assert_eq!(
            divide(true),
            Work { alone: vec![2], jobs },
            "all of the library's on the shared workspace"
        );
    }
}
