//! Tensors on the host.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "every call gives handles of this library and arrays of their rank"
)]

mod common;

use common::*;
use executorch_abi::error::*;
use executorch_aoti_cuda_shims::symbols::{
    attributes::*, constants::*, contents::*, create::*, diagnostics::*, items::*,
};
use executorch_aoti_cuda_shims::tensor::Tensor;
use std::ptr::null_mut;

fn count(from: i32, to: i32) -> Vec<f32> {
    (from..to).map(|number| number as f32).collect()
}

#[test]
fn attributes_are_those_that_were_given() {
    let mut data = count(0, 40);
    let tensor = blob(data.as_mut_ptr().cast(), &[2, 3], Some(&[10, 2]), 5, F32, CPU).unwrap();
    assert_eq!(tensor.data(), data[5..].as_mut_ptr().cast());
    assert_eq!(tensor.numbers(aoti_torch_get_sizes), [2, 3]);
    assert_eq!(tensor.numbers(aoti_torch_get_strides), [10, 2]);
    assert_eq!(tensor.number(aoti_torch_get_dim), 2);
    assert_eq!(tensor.number(aoti_torch_get_numel), 6);
    assert_eq!(tensor.number(aoti_torch_get_storage_offset), 5);
    assert_eq!(tensor.number(aoti_torch_get_storage_size), 4 * (5 + 10 + 4 + 1));
    assert_eq!(tensor.code(aoti_torch_get_dtype), aoti_torch_dtype_float32());
    assert_eq!(tensor.code(aoti_torch_get_device_type), aoti_torch_device_type_cpu());
    assert_eq!(tensor.code(aoti_torch_get_device_index), 0);
    let mut size = 0;
    assert_eq!(unsafe { aoti_torch_get_size(tensor.0, -1, &raw mut size) }, ET_OK);
    assert_eq!(size, 3);
    assert_eq!(unsafe { aoti_torch_get_stride(tensor.0, 0, &raw mut size) }, ET_OK);
    assert_eq!(size, 10);
    for dim in [2, -3, i64::MIN, i64::MAX] {
        assert_eq!(unsafe { aoti_torch_get_size(tensor.0, dim, &raw mut size) }, ET_ERROR_INVALID_ARGUMENT);
    }
    assert_eq!(tensor.elements::<f32>(), [5., 7., 9., 15., 17., 19.]);
}

#[test]
fn null_is_refused_everywhere() {
    let tensor = empty(&[2], None, F32, CPU).unwrap();
    let (mut pointer, mut handle) = (null_mut(), null_mut::<Tensor>());
    let (mut wide, mut flag, mut numbers) = (0_i64, false, null_mut());
    let out = &raw mut handle;
    let codes = unsafe {
        [
            aoti_torch_get_data_ptr(null_mut(), &raw mut pointer),
            aoti_torch_get_data_ptr(tensor.0, null_mut()),
            aoti_torch_get_sizes(null_mut(), &raw mut numbers),
            aoti_torch_get_numel(null_mut(), &raw mut wide),
            aoti_torch_get_numel(tensor.0, null_mut()),
            aoti_torch_get_device_type(tensor.0, null_mut()),
            aoti_torch_delete_tensor_object(null_mut()),
            aoti_torch_new_tensor_handle(null_mut(), out),
            aoti_torch_new_tensor_handle(tensor.0, null_mut()),
            aoti_torch_clone(null_mut(), out),
            aoti_torch_clone(tensor.0, null_mut()),
            aoti_torch_assign_tensors_out(null_mut(), out),
            aoti_torch__reinterpret_tensor(null_mut(), 0, std::ptr::null(), std::ptr::null(), 0, out),
            aoti_torch__reinterpret_tensor(tensor.0, 1, std::ptr::null(), std::ptr::null(), 0, out),
            aoti_torch_copy_(tensor.0, null_mut(), 0),
            aoti_torch_copy_(null_mut(), tensor.0, 0),
            aoti_torch_zero_(null_mut()),
            aoti_torch_item_bool(null_mut(), &raw mut flag),
            aoti_torch_item_bool(tensor.0, null_mut()),
            aoti_torch_empty_strided(1, std::ptr::null(), std::ptr::null(), F32, CPU, 0, out),
            aoti_torch_empty_strided(1, [2].as_ptr(), std::ptr::null(), F32, CPU, 0, null_mut()),
            aoti_torch_create_tensor_from_blob(
                null_mut(),
                1,
                [2].as_ptr(),
                [1].as_ptr(),
                0,
                F32,
                CPU,
                0,
                out,
            ),
        ]
    };
    assert_eq!(codes, [ET_ERROR_INVALID_ARGUMENT; 22]);
    assert!(pointer.is_null() && handle.is_null() && numbers.is_null());
    assert!(message().starts_with("aoti_torch_create_tensor_from_blob: "), "{}", message());
}

#[test]
fn bad_descriptions_are_refused_with_what_was_found() {
    let refused = |result: Result<Handle, (u32, String)>, words: &str| {
        let (code, text) = result.err().unwrap();
        assert_eq!(code, ET_ERROR_INVALID_ARGUMENT);
        assert!(text.contains(words), "{text}");
    };
    refused(empty(&[2, -1], None, F32, CPU), "[2, -1]");
    refused(empty(&[i64::MAX, 2], None, F32, CPU), "too large");
    refused(empty(&[i64::MAX / 2], None, F32, CPU), "bytes");
    refused(empty(&[2], Some(&[-1]), F32, CPU), "negative");
    refused(empty(&[2], None, 99, CPU), "99 is no dtype");
    refused(empty(&[2], None, F32, 2), "device type 2");
    let rank =
        made(|out| unsafe { aoti_torch_empty_strided(-1, [1].as_ptr(), std::ptr::null(), F32, CPU, 0, out) });
    refused(rank, "-1 dimensions");
    let rank = made(|out| unsafe {
        aoti_torch_empty_strided(65, [1; 65].as_ptr(), std::ptr::null(), F32, CPU, 0, out)
    });
    refused(rank, "65 dimensions");
    let (code, text) = empty(&[1 << 50], None, F32, CPU).err().unwrap();
    assert_eq!(code, ET_ERROR_MEMORY_ALLOCATION_FAILED);
    assert!(text.contains(&(1_u64 << 52).to_string()), "{text}");
    let layout = made(|out| unsafe {
        let (sizes, data) = ([1_i64], 16 as *mut _);
        aoti_torch_create_tensor_from_blob_v2(
            data,
            1,
            sizes.as_ptr(),
            std::ptr::null(),
            0,
            F32,
            CPU,
            0,
            out,
            1,
            std::ptr::null(),
            0,
        )
    });
    assert_eq!(layout.err().unwrap().0, ET_ERROR_NOT_SUPPORTED);
}

#[test]
fn views_share_memory_and_keep_it() {
    let base = empty(&[4, 3], None, F32, CPU).unwrap();
    let mut numbers = count(0, 12);
    base.copy_from(&over(&mut numbers, &[4, 3], &[3, 1], F32, CPU)).unwrap();
    let row = base.view(&[3], &[1], 6).unwrap();
    let transposed = row.view(&[3, 4], &[1, 3], 0).unwrap();
    assert_eq!(row.elements::<f32>(), [6., 7., 8.]);
    assert_eq!(transposed.elements::<f32>()[..5], [0., 3., 6., 9., 1.]);
    let same = made(|out| unsafe { aoti_torch_new_tensor_handle(row.0, out) }).unwrap();
    let assigned = made(|out| unsafe { aoti_torch_assign_tensors_out(row.0, out) }).unwrap();
    assert_eq!((same.data(), assigned.data()), (row.data(), row.data()));
    drop((base, row));
    unsafe { aoti_torch_zero_(same.0) };
    assert_eq!(transposed.elements::<f32>(), [0., 3., 0., 9., 1., 4., 0., 10., 2., 5., 0., 11.]);
    let (code, text) = transposed.view(&[13], &[1], 0).err().unwrap();
    assert_eq!(code, ET_ERROR_INVALID_ARGUMENT);
    assert!(text.contains("needs 52 bytes, the storage has 48"), "{text}");
    assert!(transposed.view(&[2], &[1], 11).is_err() && transposed.view(&[1], &[1], -1).is_err());
    assert!(transposed.view(&[0], &[1], 11).is_ok());
    let strided =
        made(|out| unsafe { aoti_torch_as_strided(same.0, [2].as_ptr(), [3].as_ptr(), out) }).unwrap();
    assert_eq!(strided.elements::<f32>(), [0., 9.]);
}

#[test]
fn copies_between_any_strides() {
    let layouts: [&[i64]; 5] = [&[12, 4, 1], &[1, 2, 6], &[30, 8, 2], &[4, 8, 1], &[1, 10, 33]];
    for from in layouts {
        for to in layouts {
            let (mut source, mut target) = (count(0, 200), vec![-1.0_f32; 200]);
            let source = over(&mut source, &[2, 3, 4], from, F32, CPU);
            let result = over(&mut target, &[2, 3, 4], to, F32, CPU);
            result.copy_from(&source).unwrap();
            assert_eq!(result.elements::<f32>(), source.elements::<f32>(), "{from:?} {to:?}");
            let touched = target.iter().filter(|&&value| value != -1.0).count();
            assert_eq!(touched, 24, "only the tensor's own elements change");
        }
    }
    let other = empty(&[2, 3], None, F32, CPU).unwrap();
    let refused = |other: &Handle, words: &str| {
        let (code, text) = empty(&[3, 2], None, F32, CPU).unwrap().copy_from(other).unwrap_err();
        assert_eq!(code, ET_ERROR_INVALID_ARGUMENT);
        assert!(text.contains(words), "{text}");
    };
    refused(&other, "[2, 3]");
    refused(&empty(&[3, 2], None, 4, CPU).unwrap(), "int64");
    empty(&[0, 3], None, F32, CPU).unwrap().copy_from(&empty(&[0, 3], None, F32, CPU).unwrap()).unwrap();
}

#[test]
fn clones_are_deep_and_keep_strides() {
    let mut data = count(0, 50);
    for strides in [[3_i64, 1], [1, 2], [10, 2], [0, 1]] {
        let source = over(&mut data, &[2, 3], &strides, F32, CPU);
        let copy = source.duplicate();
        assert_eq!(copy.numbers(aoti_torch_get_strides), strides);
        assert_eq!(copy.elements::<f32>(), source.elements::<f32>());
        assert_ne!(copy.data(), source.data());
        let plain = made(|out| unsafe { aoti_torch_clone(source.0, out) }).unwrap();
        assert_eq!(plain.elements::<f32>(), source.elements::<f32>());
    }
}

#[test]
fn items_are_read_by_their_own_dtype() {
    macro_rules! check {
        ($($get:ident, $dtype:ident, $type:ty, $value:expr;)*) => {$({
            let mut value: $type = $value;
            let tensor = over(std::slice::from_mut(&mut value), &[1, 1], &[1, 1], $dtype(), CPU);
            let mut found = <$type>::default();
            assert_eq!(unsafe { $get(tensor.0, &raw mut found) }, ET_OK);
            assert_eq!(found, $value);
        })*};
    }
    check! {
        aoti_torch_item_bool, aoti_torch_dtype_bool, bool, true;
        aoti_torch_item_uint8, aoti_torch_dtype_uint8, u8, 200;
        aoti_torch_item_int8, aoti_torch_dtype_int8, i8, -100;
        aoti_torch_item_int16, aoti_torch_dtype_int16, i16, -30000;
        aoti_torch_item_int32, aoti_torch_dtype_int32, i32, -2_000_000_000;
        aoti_torch_item_int64, aoti_torch_dtype_int64, i64, i64::MIN;
        aoti_torch_item_uint16, aoti_torch_dtype_uint16, u16, 60000;
        aoti_torch_item_uint32, aoti_torch_dtype_uint32, u32, 4_000_000_000;
        aoti_torch_item_uint64, aoti_torch_dtype_uint64, u64, u64::MAX;
        aoti_torch_item_float32, aoti_torch_dtype_float32, f32, 1.5;
        aoti_torch_item_float64, aoti_torch_dtype_float64, f64, -1e300;
    }
    let pair = empty(&[2], None, F32, CPU).unwrap();
    let mut value = 0.0;
    assert_eq!(unsafe { aoti_torch_item_float32(pair.0, &raw mut value) }, ET_ERROR_INVALID_ARGUMENT);
    assert!(message().contains("[2]"), "{}", message());
    let long = empty(&[1], None, 4, CPU).unwrap();
    assert_eq!(unsafe { aoti_torch_item_float32(long.0, &raw mut value) }, ET_ERROR_INVALID_ARGUMENT);
    assert!(message().contains("int64, expected float32"), "{}", message());
}

#[test]
fn modes_and_sizes() {
    assert!(!aoti_torch_grad_mode_is_enabled());
    assert_eq!(aoti_torch_grad_mode_set_enabled(false), ET_OK);
    assert_eq!(aoti_torch_grad_mode_set_enabled(true), ET_ERROR_NOT_SUPPORTED);
    assert_eq!(aoti_torch_dtype_element_size(aoti_torch_dtype_complex128()), 16);
    assert_eq!(aoti_torch_dtype_element_size(99), 0);
}
