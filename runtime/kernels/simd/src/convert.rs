//! Conversion of slices from one element type to another.

use crate::element::Element;
use crate::isa::{Kernel, Level, dispatch_narrow};

struct Convert<'a, S, D> {
    x: &'a [S],
    y: &'a mut [D],
}

impl<S: Element, D: Element> Kernel for Convert<'_, S, D> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = x.cast();
        }
    }
}

/// `y[i] = x[i]` in another type, by the rules of [`Element::cast`].
///
/// # Panics
/// If the slices differ in length.
pub fn convert<S: Element, D: Element>(x: &[S], y: &mut [D]) {
    assert_eq!(x.len(), y.len(), "operand and output differ in length");
    #[cfg(target_arch = "x86_64")]
    if crate::half_x86::convert(x, y) {
        return;
    }
    dispatch_narrow(Convert { x, y });
}
