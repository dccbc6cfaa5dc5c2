//! Fully connected nodes of 8-bit numbers that make one row. Their weights are read once for each result, where the program
//! has them: packing them, into memory of their own, would take longer than many products.

use super::product::makes_one_row;
use super::slices::{Operand, constant, elements};
use crate::graph::{Constant, Dims, Element, Graph, Node, Op, Role};
use crate::pages;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use executorch_gemm::Pool;
use executorch_simd::{Isa, isa};
use std::sync::atomic::{AtomicI32, Ordering};

/// Weights that are worth a task of their own.
const GRAIN: usize = 1 << 17;

/// Whether [`QuantizedRow`] does a node.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    let element = |v: &_| &graph.value(*v).element;
    let is_constant = |v: &_| matches!(graph.value(*v).role, Role::Constant(_));
    let ([x, filter, rest @ ..], [y]) = (&node.inputs[..], &node.outputs[..]) else { return false };
    node.op == Op::FullyConnected
        && !node.transposed_weight
        && matches!(
            (element(x), element(filter), element(y)),
            (Element::QInt8(_), Element::QCInt8(_), Element::QInt8(_))
        )
        && rest.iter().all(|v| matches!(element(v), Element::QCInt32(_) | Element::QInt32(_)))
        && !is_constant(x)
        && node.inputs.iter().skip(1).all(is_constant)
        && makes_one_row(graph, node)
}

/// A fully connected node of 8-bit numbers, with a scale for each output.
#[derive(Debug)]
pub struct QuantizedRow {
    /// `[outs, ins]`.
    weights: Constant,
    ins: usize,
    bias: Option<Vec<i32>>,
    /// For each output, its sum's scale to the result's.
    scales: Vec<f32>,
    /// The integers that stand for 0.
    zero_points: [i32; 2],
    /// Least and greatest result, the zero point left out.
    limits: [f32; 2],
    /// One for each output of a row, filled in by threads. An operation runs on one thread at a time otherwise.
    sums: Vec<AtomicI32>,
    input: Operand,
    output: Operand,
    rows: usize,
}

impl QuantizedRow {
    /// Prepares a node for which [`can_run`] holds.
    pub fn new(graph: &Graph, node: &Node) -> Result<Self> {
        let (&[x, filter, ref rest @ ..], &[y]) = (&node.inputs[..], &node.outputs[..]) else {
            return Err(super::no_kernel());
        };
        let (Element::QInt8(from), Element::QCInt8(channels), Element::QInt8(to)) =
            (&graph.value(x).element, &graph.value(filter).element, &graph.value(y).element)
        else {
            return Err(super::no_kernel());
        };
        let &[outs, ins] = &graph.value(filter).dims[..] else { return Err(super::no_kernel()) };
        let weights = constant(graph, filter)?;
        let bias = match rest.first() {
            Some(&id) => Some(elements::<i32>(constant(graph, id)?).into_owned()),
            None => None,
        };
        let has_all = |length: usize| length == outs;
        if outs.checked_mul(ins) != Some(weights.size())
            || !has_all(channels.scales.len())
            || !bias.as_ref().is_none_or(|bias| has_all(bias.len()))
        {
            return Err(Error::new(ET_ERROR_INTERNAL, "weights, scales and biases have different sizes"));
        }
        pages::read_ahead(weights.bytes());
        let [min, max] =
            node.clamp.map_or([f32::NEG_INFINITY, f32::INFINITY], |clamp| [clamp.min, clamp.max]);
        let limits = [min, max].map(|real| {
            let zero = to.zero_point as f32;
            // Rounded before the zero point is added, as the library does.
            ((real / to.scale).round_ties_even() + zero).clamp(-128.0, 127.0) - zero
        });
        Ok(Self {
            weights: weights.clone(),
            ins,
            bias,
            scales: channels.scales.iter().map(|scale| from.scale * scale / to.scale).collect(),
            zero_points: [from.zero_point, to.zero_point],
            limits,
            sums: (0..outs).map(|_| AtomicI32::new(0)).collect(),
            input: Operand::new(x),
            output: Operand::new(y),
            rows: 0,
        })
    }

    /// Takes shapes, and tells how many 32-bit elements of scratch memory are needed: for a row of 16-bit numbers.
    pub fn reshape(&mut self, shapes: &[Dims]) -> Result<usize> {
        self.input.reshape(shapes)?;
        self.output.reshape(shapes)?;
        let outs = self.sums.len();
        self.rows = self.output.len() / outs.max(1);
        if self.rows.checked_mul(self.ins) != Some(self.input.len()) || self.rows * outs != self.output.len()
        {
            return Err(Error::new(ET_ERROR_INTERNAL, "input and output have different numbers of rows"));
        }
        Ok(self.ins.div_ceil(2))
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        // SAFETY: the caller's promise.
        let (input, output) =
            unsafe { (self.input.read::<i8>(addresses)?, self.output.write::<i8>(addresses)?) };
        let centred = bytemuck::cast_slice_mut::<f32, i16>(scratch).get_mut(..self.ins);
        let centred =
            centred.ok_or_else(|| Error::new(ET_ERROR_INTERNAL, "the scratch memory is too short"))?;
        let (outs, [zero, _]) = (self.sums.len(), self.zero_points);
        for (x, y) in input.chunks_exact(self.ins.max(1)).zip(output.chunks_exact_mut(outs.max(1))) {
            for (to, &q) in centred.iter_mut().zip(x) {
                // Within 16 bits: both are within 8.
                *to = (i32::from(q) - zero) as i16;
            }
            self.sum(centred, pool);
            self.finish(y);
        }
        Ok(())
    }

    /// Works out the sums of a row, on all threads if that is worth it.
    fn sum(&self, x: &[i16], pool: &dyn Pool) {
        let weights = bytemuck::cast_slice::<u8, i8>(self.weights.bytes());
        let tasks = (weights.len() / GRAIN).clamp(1, pool.threads().max(1));
        let share = self.sums.len().div_ceil(tasks).max(1);
        let task = |index: usize| {
            let first = index * share;
            let sums = self.sums.iter().skip(first).take(share);
            rows(x, weights.get(first * self.ins..).unwrap_or_default(), sums);
        };
        match tasks {
            1 => task(0),
            _ => pool.run(tasks, &task),
        }
    }

    /// Results of sums.
    fn finish(&self, output: &mut [i8]) {
        let [_, zero] = self.zero_points;
        let [least, greatest] = self.limits;
        for (index, ((to, sum), scale)) in output.iter_mut().zip(&self.sums).zip(&self.scales).enumerate() {
            let bias = self.bias.as_ref().and_then(|bias| bias.get(index)).copied().unwrap_or(0);
            let sum = sum.load(Ordering::Relaxed).wrapping_add(bias);
            let rounded = (sum as f32 * scale).clamp(least, greatest).round_ties_even();
            // Within 8 bits: the limits are.
            *to = (rounded as i32 + zero) as i8;
        }
    }
}

/// Sums of products of `x` with rows of weights, one after the other.
fn rows<'s>(x: &[i16], weights: &[i8], sums: impl Iterator<Item = &'s AtomicI32>) {
    match isa() {
        // SAFETY: `isa()` tells what this processor has.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { rows_avx512(x, weights, sums) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { rows_avx2(x, weights, sums) },
        _ => rows_anywhere(x, weights, sums),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
fn rows_avx512<'s>(x: &[i16], weights: &[i8], sums: impl Iterator<Item = &'s AtomicI32>) {
    rows_anywhere(x, weights, sums);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn rows_avx2<'s>(x: &[i16], weights: &[i8], sums: impl Iterator<Item = &'s AtomicI32>) {
    rows_anywhere(x, weights, sums);
}

/// In every function that calls it, compiled for what that has: the compiler finds the products of 16-bit numbers.
#[inline(always)]
fn rows_anywhere<'s>(x: &[i16], weights: &[i8], sums: impl Iterator<Item = &'s AtomicI32>) {
    for (sum, row) in sums.zip(weights.chunks_exact(x.len().max(1))) {
        let products = x.iter().zip(row).map(|(&a, &b)| i32::from(a).wrapping_mul(i32::from(b)));
        sum.store(products.fold(0, i32::wrapping_add), Ordering::Relaxed);
    }
}
