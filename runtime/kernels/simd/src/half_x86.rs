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

#[target_feature(enable = "avx,f16c")]
fn widen(x: &[f16], y: &mut [f32]) {
    let whole = x.len() / WIDTH * WIDTH;
    for (x, y) in x.chunks_exact(WIDTH).zip(y.chunks_exact_mut(WIDTH)) {
        // SAFETY: both have `WIDTH` elements; the instructions need no alignment.
        unsafe { _mm256_storeu_ps(y.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(x.as_ptr().cast()))) }
    }
    for (x, y) in x.iter().zip(y.iter_mut()).skip(whole) {
        *y = x.cast();
    }
}

#[target_feature(enable = "avx,f16c")]
fn narrow(x: &[f32], y: &mut [f16]) {
    let whole = x.len() / WIDTH * WIDTH;
    for (x, y) in x.chunks_exact(WIDTH).zip(y.chunks_exact_mut(WIDTH)) {
        // SAFETY: as above.
        unsafe {
            let halves = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(x.as_ptr()));
            _mm_storeu_si128(y.as_mut_ptr().cast(), halves);
        }
    }
    for (x, y) in x.iter().zip(y.iter_mut()).skip(whole) {
        *y = x.cast();
    }
}
