//! Products of batches of matrices of 32-bit floats, neither of which is packed.

use super::convolution::activation;
use super::kernel;
use super::slices::Operand;
use crate::graph::{Dims, Element, Graph, MAX_RANK, Node, Op, Role};
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Error, Result};
use executorch_gemm::{Activation, Batch, Lhs, Matrix, MatrixMut, Pool, Product, Rhs};
use executorch_gemm::{batched, batched_scratch_len};

/// Whether [`BatchProduct`] does a node.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    let float = |v: &_| matches!(graph.value(*v).element, Element::Float32);
    let computed = |v: &_| !matches!(graph.value(*v).role, Role::Constant(_));
    node.op == Op::BatchMatrixMultiply
        && node.inputs.iter().chain(&node.outputs).all(float)
        && node.inputs.iter().all(computed)
}

/// A batched product.
#[derive(Debug)]
pub struct BatchProduct {
    activation: Activation<f32>,
    /// `b` lies as `[…, N, K]`.
    transposed: bool,
    operands: [Operand; 2],
    output: Operand,
    /// `[M, N, K]` of each product.
    sizes: [usize; 3],
    /// The output's batch dimensions.
    batch: Dims,
    /// How far apart the operands' matrices are in each batch dimension: 0 where one is repeated.
    strides: [Dims; 2],
    /// No matrix is repeated, so that the batch is one row of them.
    is_plain: bool,
}

impl BatchProduct {
    /// Prepares a node for which [`can_run`] holds.
    pub fn new(_: &Graph, node: &Node) -> Result<Self> {
        let (&[a, b], &[output]) = (&node.inputs[..], &node.outputs[..]) else {
            return Err(super::no_kernel());
        };
        Ok(Self {
            activation: activation(node),
            transposed: node.transposed_weight,
            operands: [Operand::new(a), Operand::new(b)],
            output: Operand::new(output),
            sizes: [0; 3],
            batch: Dims::new(),
            strides: [Dims::new(), Dims::new()],
            is_plain: false,
        })
    }

    /// Takes shapes, and tells how much scratch memory is needed.
    pub fn reshape(&mut self, shapes: &[Dims], pool: &dyn Pool) -> Result<usize> {
        let unfit = || Error::new(ET_ERROR_INTERNAL, "the shapes of a batched product do not fit");
        let [a, b] = &mut self.operands;
        let (a, b, c) = (a.reshape(shapes)?, b.reshape(shapes)?, self.output.reshape(shapes)?);
        let (Some((a_batch, &[m, k])), Some((b_batch, &[first, second])), Some((batch, &[m_c, n_c]))) =
            (a.split_last_chunk(), b.split_last_chunk(), c.split_last_chunk())
        else {
            return Err(unfit());
        };
        let (k_b, n) = if self.transposed { (second, first) } else { (first, second) };
        if k != k_b || (m, n) != (m_c, n_c) {
            return Err(unfit());
        }
        self.sizes = [m, n, k];
        self.batch = batch.iter().copied().collect();
        let strides = [strides(a_batch, batch, m * k), strides(b_batch, batch, k * n)];
        let [Some(a_strides), Some(b_strides)] = strides else { return Err(unfit()) };
        self.strides = [a_strides, b_strides];
        self.is_plain = a_batch == batch && b_batch == batch && self.activation == Activation::None;
        if self.is_plain {
            let count = batch.iter().product();
            // Only the sizes matter: one element, repeated, stands for all.
            let a = Batch::new(&[0.0_f32], [count, m, k], [0; 3]).map_err(kernel)?;
            let b = Batch::new(&[0.0_f32], [count, k, n], [0; 3]).map_err(kernel)?;
            return batched_scratch_len(pool, &a, &b).map_err(kernel);
        }
        let a = Matrix::new(&[0.0_f32], [m, k], [0; 2]).map_err(kernel)?;
        let b = Matrix::new(&[0.0_f32], [k, n], [0; 2]).map_err(kernel)?;
        Product::new(Lhs::View(a), Rhs::View(b)).scratch_len(pool).map_err(kernel)
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8], pool: &dyn Pool, scratch: &mut [f32]) -> Result<()> {
        let [a, b] = self.operands;
        // SAFETY: the caller's promise.
        let (a, b, output) =
            unsafe { (a.read(addresses)?, b.read(addresses)?, self.output.write::<f32>(addresses)?) };
        let [m, n, k] = self.sizes;
        let (row, column) = if self.transposed { (1, k) } else { (n, 1) };
        if self.is_plain {
            let count = self.batch.iter().product();
            let a = Batch::new(a, [count, m, k], [m * k, k, 1]).map_err(kernel)?;
            let b = Batch::new(b, [count, k, n], [k * n, row, column]).map_err(kernel)?;
            return batched(pool, scratch, 1.0, &a, &b, output).map_err(kernel);
        }
        for (index, output) in output.chunks_exact_mut((m * n).max(1)).enumerate() {
            let [a_at, b_at] = self.offsets(index);
            let a = Matrix::row_major(a.get(a_at..).unwrap_or_default(), m, k).map_err(kernel)?;
            let b = b.get(b_at..).unwrap_or_default();
            let b = Matrix::new(b, [k, n], [row, column]).map_err(kernel)?;
            let mut product = Product::new(Lhs::View(a), Rhs::View(b));
            product.activation = self.activation;
            product
                .run(pool, scratch, MatrixMut::row_major(output, m, n).map_err(kernel)?)
                .map_err(kernel)?;
        }
        Ok(())
    }

    /// Where the operands' matrices for matrix `index` of the output begin.
    fn offsets(&self, mut index: usize) -> [usize; 2] {
        let mut places = [0; MAX_RANK];
        for (place, &size) in places.iter_mut().zip(&self.batch).rev() {
            (*place, index) = (index % size.max(1), index / size.max(1));
        }
        let sum = |strides: &Dims| strides.iter().zip(places).map(|(stride, place)| stride * place).sum();
        [sum(&self.strides[0]), sum(&self.strides[1])]
    }
}

/// How far apart matrices of `step` elements are in each dimension of `batch`, if they lie in batches of `own`; nothing
/// if those do not broadcast to it.
fn strides(own: &[usize], batch: &[usize], step: usize) -> Option<Dims> {
    let missing = batch.len().checked_sub(own.len())?;
    let mut strides: Dims = batch.iter().map(|_| 0).collect();
    let mut step = step;
    for ((stride, &size), &wanted) in
        strides.iter_mut().skip(missing).zip(own).zip(batch.get(missing..)?).rev()
    {
        match size {
            _ if size == wanted => *stride = step,
            1 => {}
            _ => return None,
        }
        step *= size;
    }
    Some(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_broadcast() {
        let of = |own: &[usize], batch: &[usize]| strides(own, batch, 6).map(|s| s.to_vec());
        assert_eq!(of(&[2, 3], &[2, 3]), Some(vec![18, 6]));
        assert_eq!(of(&[1, 3], &[2, 3]), Some(vec![0, 6]));
        assert_eq!(of(&[2, 1], &[2, 3]), Some(vec![6, 0]));
        assert_eq!(of(&[3], &[2, 3]), Some(vec![0, 6]));
        assert_eq!(of(&[], &[2]), Some(vec![0]));
        assert_eq!(of(&[2], &[3]), None);
        assert_eq!(of(&[2, 3], &[3]), None);
    }
}
