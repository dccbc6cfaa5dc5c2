//! Conversion between f16 and f32 by the processor's own instructions (F16C): several times as fast as the arithmetic
//! on bits that other processors do it with. The two agree except for the payloads of NaN.

use crate::element::Element;
use crate::isa::{Isa, isa};
use half::f16;
use std::any::TypeId;
use std::arch::x86_64::*;

/// Values that one instruction converts.
const WIDTH: usize = 8;

/// Converts between f16 and f32 and says whether it did: not for other types, nor on other processors. The slices have
/// equal lengths.
#[inline]
pub(crate) fn convert<S: Element, D: Element>(x: &[S], y: &mut [D]) -> bool {
    let types = (TypeId::of::<S>(), TypeId::of::<D>());
    let (half, single) = (TypeId::of::<f16>(), TypeId::of::<f32>());
    if isa() < Isa::Avx2 {
        return false;
    }
    if types == (half, single) {
        // SAFETY: the types are these, and `isa()` returns AVX2 or more only where F16C is supported too.
        unsafe { widen(same(x), same_mut(y)) }
        return true;
    }
    if types == (single, half) {
        // SAFETY: as above.
        unsafe { narrow(same(x), same_mut(y)) }
        return true;
    }
    false
}

/// # Safety
/// `A` and `B` are the same type.
unsafe fn same<A, B>(x: &[A]) -> &[B] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast(), x.len()) }
}

/// # Safety
/// `A` and `B` are the same type.
unsafe fn same_mut<A, B>(x: &mut [A]) -> &mut [B] {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(x.as_mut_ptr().cast(), x.len()) }
}

// Loops over indices: iterators' functions may be compiled apart, for processors without these instructions.

#[target_feature(enable = "avx,f16c")]
fn widen(x: &[f16], y: &mut [f32]) {
    let length = x.len().min(y.len());
    let (from, to) = (x.as_ptr(), y.as_mut_ptr());
    let mut at = 0;
    while at + WIDTH <= length {
        // SAFETY: both slices have `WIDTH` elements from `at` on; the instructions need no alignment.
        unsafe { _mm256_storeu_ps(to.add(at), _mm256_cvtph_ps(_mm_loadu_si128(from.add(at).cast()))) }
        at += WIDTH;
    }
    while at < length {
        y[at] = x[at].cast();
        at += 1;
    }
}

#[target_feature(enable = "avx,f16c")]
fn narrow(x: &[f32], y: &mut [f16]) {
    let length = x.len().min(y.len());
    let (from, to) = (x.as_ptr(), y.as_mut_ptr());
    let mut at = 0;
    while at + WIDTH <= length {
        // SAFETY: as above.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.add(at)));
            _mm_storeu_si128(to.add(at).cast(), halves);
        }
        at += WIDTH;
    }
    while at < length {
        y[at] = x[at].cast();
        at += 1;
    }
}
