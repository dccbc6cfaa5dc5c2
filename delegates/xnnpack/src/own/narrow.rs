//! Conversions between bfloat16 and 32-bit floats, which the library lacks.

use super::slices::Operand;
use crate::graph::{Dims, Element, Graph, Node, Op};
use executorch_abi::Result;
use executorch_simd::convert;
use half::bf16;

/// Whether [`Narrow`] does a node.
pub fn can_run(graph: &Graph, node: &Node) -> bool {
    let element = |v: &_| &graph.value(*v).element;
    node.op == Op::Convert
        && node.clamp.is_none()
        && matches!(
            (node.inputs.first().map(element), node.outputs.first().map(element)),
            (Some(Element::Float32), Some(Element::BFloat16))
                | (Some(Element::BFloat16), Some(Element::Float32))
        )
}

/// One conversion. Narrowing rounds to the nearest, to even on a tie.
#[derive(Debug)]
pub struct Narrow {
    input: Operand,
    output: Operand,
    /// The output is the narrow one.
    narrows: bool,
}

impl Narrow {
    /// A node for which [`can_run`] holds.
    pub fn new(graph: &Graph, node: &Node) -> Result<Self> {
        let ([input, ..], [output, ..]) = (&node.inputs[..], &node.outputs[..]) else {
            return Err(super::no_kernel());
        };
        let narrows = matches!(graph.value(*output).element, Element::BFloat16);
        Ok(Self { input: Operand::new(*input), output: Operand::new(*output), narrows })
    }

    /// Takes shapes. No scratch memory is needed.
    pub fn reshape(&mut self, shapes: &[Dims]) -> Result<usize> {
        self.input.reshape(shapes)?;
        self.output.reshape(shapes)?;
        Ok(0)
    }

    /// # Safety
    /// As for [`super::Operation::run`].
    pub unsafe fn run(&self, addresses: &[*mut u8]) -> Result<()> {
        // SAFETY: the caller's promise, for both.
        unsafe {
            if self.narrows {
                convert(self.input.read::<f32>(addresses)?, self.output.write::<bf16>(addresses)?);
            } else {
                convert(self.input.read::<bf16>(addresses)?, self.output.write::<f32>(addresses)?);
            }
        }
        Ok(())
    }
}
