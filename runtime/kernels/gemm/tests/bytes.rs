//! Packed operands as bytes: written in one place, used in another; and bytes that are not what they
//! should be.
#![allow(clippy::unwrap_used)] // A test may panic.

mod common;

use common::{Rng, Threads, isas};
use executorch_gemm::conv::{
    ConvPacking, ConvParams, ConvWeight, Layout, PackedConv, PackedConvTransposed, Tensor4, Tensor4Mut,
    TransposedPacking,
};
use executorch_gemm::{
    Activation, BytesOwner, Isa, Lhs, Matrix, MatrixMut, PACKED_ALIGNMENT, PackedA, PackedB, PackedBytes,
    Product, Rhs, Serial,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes as a file has them: not at the start of the mapping, and with something after them.
fn mapped(bytes: &[u8]) -> PackedBytes {
    let mut file = vec![0xee; bytes.len() + 4 * PACKED_ALIGNMENT];
    let start = file.as_ptr().align_offset(PACKED_ALIGNMENT) + PACKED_ALIGNMENT;
    file[start..start + bytes.len()].copy_from_slice(bytes);
    PackedBytes::new(Arc::new(file), start..start + bytes.len()).unwrap()
}

fn multiply(a: Lhs<'_, f32>, b: Rhs<'_, f32>, isa: Isa) -> executorch_gemm::Result<Vec<f32>> {
    let mut product = Product::new(a, b);
    product.isa = isa;
    let [m, n, _] = product.shape()?;
    let mut out = vec![0.0; m * n];
    let mut scratch = vec![f32::NAN; product.scratch_len(&Serial)?];
    product.run(&Serial, &mut scratch, MatrixMut::row_major(&mut out, m, n)?)?;
    Ok(out)
}

#[test]
fn operands_work_from_bytes() {
    for isa in isas() {
        let mut rng = Rng(1);
        for [m, n, k] in [[5, 7, 9], [40, 100, 300], [1, 65, 33], [3, 0, 4], [20, 33, 0], [2, 700, 500]] {
            let (left, right) = (rng.floats(m * k), rng.floats(k * n));
            let a = Matrix::row_major(&left, m, k).unwrap();
            let b = Matrix::row_major(&right, k, n).unwrap();
            let want = multiply(Lhs::View(a), Rhs::Packed(&PackedB::new(&b).unwrap()), isa).unwrap();

            let packed = PackedB::pack(&b, isa, &Threads(3)).unwrap();
            assert_eq!(packed.bytes().get().unwrap().len(), PackedB::<f32>::packed_len([k, n], isa).unwrap());
            let again = PackedB::from_bytes([k, n], isa, mapped(packed.bytes().get().unwrap())).unwrap();
            let left_packed = PackedA::with_isa(&a, isa).unwrap();
            let bytes = mapped(left_packed.bytes().get().unwrap());
            let left_again = PackedA::from_bytes([m, k], isa, bytes).unwrap();
            for got in [
                multiply(Lhs::View(a), Rhs::Packed(&again), isa).unwrap(),
                multiply(Lhs::Packed(&left_again), Rhs::Packed(&again), isa).unwrap(),
            ] {
                assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-3), "{isa:?} {m}x{n}x{k}");
            }
        }
    }
}

fn convolve(
    conv: &PackedConv,
    input: &Tensor4<'_, f32>,
    layout: Layout,
) -> executorch_gemm::Result<Vec<f32>> {
    let [n, _, h, w] = input.sizes();
    let [oh, ow] = conv.params().out_size([h, w])?;
    let sizes = [n, conv.params().out_channels, oh, ow];
    let mut out = vec![0.0; sizes.iter().product()];
    let mut scratch = vec![f32::NAN; conv.scratch_len(input.sizes(), &Serial)?];
    let mut output = Tensor4Mut::dense(&mut out, sizes, layout)?;
    conv.run(&Serial, &mut scratch, input, &mut output, Activation::None)?;
    Ok(out)
}

#[test]
fn convolutions_work_from_bytes() {
    for isa in isas() {
        let mut rng = Rng(2);
        for (ins, outs, groups, kernel) in [(6, 70, 1, 3), (12, 18, 3, 2), (40, 40, 40, 3), (33, 5, 1, 1)] {
            for layout in [Layout::ChannelsFirst, Layout::ChannelsLast] {
                let mut params = ConvParams::new(ins, outs, [kernel; 2]);
                params.groups = groups;
                let packing = ConvPacking { params, layout, isa };
                let depth = ins / groups * kernel * kernel;
                let data = rng.floats(outs * depth);
                let bias = rng.floats(outs);
                // The same weights in both orders.
                let first = [depth, kernel * kernel, kernel, 1];
                let last = [depth, 1, kernel * (ins / groups), ins / groups];
                let mut ordered = vec![0.0; data.len()];
                for o in 0..outs {
                    for i in 0..ins / groups {
                        for t in 0..kernel * kernel {
                            ordered[o * depth + t * (ins / groups) + i] =
                                data[o * depth + i * kernel * kernel + t];
                        }
                    }
                }
                let weight = ConvWeight { data: &data, strides: first };
                let conv = PackedConv::pack(packing, weight, Some(&bias), &Serial).unwrap();
                let weight = ConvWeight { data: &ordered, strides: last };
                let other = PackedConv::pack(packing, weight, Some(&bias), &Threads(3)).unwrap();
                let bytes = conv.bytes().get().unwrap();
                assert_eq!(bytes, other.bytes().get().unwrap(), "the order of the weights does not matter");
                assert_eq!(bytes.len(), packing.packed_len().unwrap());

                let image = rng.floats(2 * ins * 11 * 9);
                let input = Tensor4::dense(&image, [2, ins, 11, 9], layout).unwrap();
                let again = PackedConv::from_bytes(packing, mapped(bytes)).unwrap();
                let want = convolve(&conv, &input, layout).unwrap();
                assert_eq!(convolve(&again, &input, layout).unwrap(), want);
            }
        }
    }
}

#[test]
fn transposed_convolutions_work_from_bytes() {
    for isa in isas() {
        let mut rng = Rng(3);
        let mut params = ConvParams::new(6, 10, [3, 2]);
        params.groups = 2;
        params.stride = [2, 2];
        let packing = TransposedPacking { params, output_padding: [1, 0], isa };
        let data = rng.floats(6 * 5 * 6);
        let weight = ConvWeight { data: &data, strides: [30, 6, 2, 1] };
        let conv = PackedConvTransposed::pack(packing, weight, Some(&rng.floats(10))).unwrap();
        let bytes = conv.bytes().get().unwrap();
        assert_eq!(bytes.len(), packing.packed_len().unwrap());
        let again = PackedConvTransposed::from_bytes(packing, mapped(bytes)).unwrap();
        let image = rng.floats(6 * 7 * 5);
        let input = Tensor4::dense(&image, [1, 6, 7, 5], Layout::ChannelsFirst).unwrap();
        let [oh, ow] = params.transposed_out_size([7, 5], [1, 0]).unwrap();
        let run = |conv: &PackedConvTransposed| {
            let mut out = vec![0.0; 10 * oh * ow];
            let mut scratch = vec![0.0; conv.scratch_len([1, 6, 7, 5], &Serial).unwrap()];
            let mut output = Tensor4Mut::dense(&mut out, [1, 10, oh, ow], Layout::ChannelsFirst).unwrap();
            conv.run(&Serial, &mut scratch, &input, &mut output, Activation::None).unwrap();
            out
        };
        assert_eq!(run(&again), run(&conv));
        let other = TransposedPacking { output_padding: [0, 0], ..packing };
        assert!(PackedConvTransposed::from_bytes(other, mapped(bytes)).is_err());
        assert!(PackedConvTransposed::from_bytes(packing, mapped(&bytes[..bytes.len() - 64])).is_err());
    }
}

#[test]
fn other_bytes_are_refused() {
    let isa = Isa::active();
    let data = Rng(4).floats(64 * 40);
    let packed = PackedB::new(&Matrix::row_major(&data, 64, 40).unwrap()).unwrap();
    let bytes = packed.bytes().get().unwrap().to_vec();
    let open = |bytes: &[u8], shape, isa| PackedB::<f32>::from_bytes(shape, isa, mapped(bytes));
    assert!(open(&bytes, [64, 40], isa).is_ok());
    // The same length, but another shape, instruction set, kind or number type.
    for shape in [[64, 41], [64, 39], [32, 80], [0, 0], [usize::MAX, 2]] {
        assert!(open(&bytes, shape, isa).is_err(), "{shape:?}");
    }
    for other in Isa::ALL {
        assert_eq!(open(&bytes, [64, 40], other).is_ok(), other == isa);
    }
    assert!(PackedA::<f32>::from_bytes([64, 40], isa, mapped(&bytes)).is_err());
    assert!(PackedB::<f64>::from_bytes([64, 40], isa, mapped(&bytes)).is_err());
    // Every length, and every damaged byte of the header.
    for len in 0..bytes.len() {
        assert!(open(&bytes[..len], [64, 40], isa).is_err());
    }
    let mut damaged = bytes.clone();
    for at in 0..64 {
        damaged[at] ^= 0x10;
        assert!(open(&damaged, [64, 40], isa).is_err(), "byte {at}");
        damaged[at] ^= 0x10;
    }
    // Wrong values give wrong numbers, nothing else.
    damaged[64..].fill(0xff);
    let a = vec![1.0; 64];
    let b = open(&damaged, [64, 40], isa).unwrap();
    multiply(Lhs::View(Matrix::row_major(&a, 1, 64).unwrap()), Rhs::Packed(&b), isa).unwrap();

    let owner: BytesOwner = Arc::new(bytes.clone());
    assert!(PackedBytes::new(Arc::clone(&owner), 0..bytes.len() + 1).is_err());
    #[allow(clippy::reversed_empty_ranges)]
    let backwards = 9..3;
    assert!(PackedBytes::new(Arc::clone(&owner), backwards).is_err());
    let crooked = owner.as_ref().as_ref().as_ptr().align_offset(PACKED_ALIGNMENT) + 4;
    assert!(PackedBytes::new(owner, crooked..crooked + 64).is_err());
    // A buffer to pack into of the wrong length or alignment.
    let mut room = vec![0; bytes.len() + 2 * PACKED_ALIGNMENT];
    let matrix = Matrix::row_major(&data, 64, 40).unwrap();
    let at = room.as_ptr().align_offset(PACKED_ALIGNMENT);
    for range in [at..at + bytes.len() - 1, at..at + bytes.len() + 64, at + 4..at + 4 + bytes.len()] {
        assert!(PackedB::pack_into(&matrix, isa, &Serial, &mut room[range]).is_err());
    }
    assert!(room.iter().all(|&byte| byte == 0));
    PackedB::pack_into(&matrix, isa, &Serial, &mut room[at..at + bytes.len()]).unwrap();
    assert_eq!(room[at..at + bytes.len()], bytes);
}

/// An owner that loses its bytes.
struct Fickle {
    bytes: Vec<u8>,
    gone: Arc<AtomicBool>,
}

impl AsRef<[u8]> for Fickle {
    fn as_ref(&self) -> &[u8] {
        if self.gone.load(Ordering::Relaxed) { &[] } else { &self.bytes }
    }
}

#[test]
fn an_owner_that_loses_its_bytes_is_noticed() {
    let data = Rng(5).floats(900);
    let packed = PackedB::new(&Matrix::row_major(&data, 30, 30).unwrap()).unwrap();
    let from = packed.bytes().get().unwrap();
    let mut bytes = vec![0; from.len() + PACKED_ALIGNMENT];
    let start = bytes.as_ptr().align_offset(PACKED_ALIGNMENT);
    bytes[start..start + from.len()].copy_from_slice(from);
    let gone = Arc::new(AtomicBool::new(false));
    let range = start..start + from.len();
    let owner = Fickle { bytes, gone: Arc::clone(&gone) };
    let bytes = PackedBytes::new(Arc::new(owner), range).unwrap();
    let b = PackedB::from_bytes([30, 30], Isa::active(), bytes).unwrap();
    let a = Matrix::row_major(&data, 30, 30).unwrap();
    assert!(multiply(Lhs::View(a), Rhs::Packed(&b), Isa::active()).is_ok());
    gone.store(true, Ordering::Relaxed);
    assert!(multiply(Lhs::View(a), Rhs::Packed(&b), Isa::active()).is_err());
}
