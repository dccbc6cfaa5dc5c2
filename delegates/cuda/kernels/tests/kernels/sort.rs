//! The stable sort.

use super::common::{Array, Case, DEVICE, Plain, gpu};
use executorch_cuda_kernels::{Sort, SortType, sort};

/// Sorts `[outer][length][inner]`, and returns values and indices.
fn sorted<T: Plain>(
    element: SortType,
    values: &[T],
    shape: [u64; 3],
    descending: bool,
) -> (Vec<T>, Vec<i64>) {
    let given = Array::new(values);
    let (out, indices) = (Array::zeros::<T>(values.len()), Array::zeros::<i64>(values.len()));
    let [outer, length, inner] = shape;
    let call = Sort {
        element,
        values: given.at(),
        sorted: out.at_mut(),
        indices: indices.at_mut(),
        outer,
        length,
        inner,
        descending,
    };
    unsafe { sort(gpu(), DEVICE, &call) }.unwrap();
    (out.read(), indices.read())
}

fn check<T: Plain + PartialEq + std::fmt::Debug>(name: &str, element: SortType, cut: fn(i64) -> T) {
    let case = Case::read(&format!("sort_{name}"));
    let shape: Vec<u64> = case.array("shape", |size| size as u64);
    let values = case.array("values", cut);
    for (direction, descending) in [("ascending", false), ("descending", true)] {
        let (found, indices) = sorted(element, &values, [shape[0], shape[1], shape[2]], descending);
        assert_eq!(indices, case.array(&format!("{direction}_indices"), |index| index), "{name} {direction}");
        assert_eq!(found, case.array(direction, cut), "{name} {direction}");
    }
}

#[test]
fn all_types_sort_as_in_pytorch() {
    gpu();
    check("f32", SortType::Float32, |bits| bits as u32);
    check("f16", SortType::Float16, |bits| bits as u16);
    check("bf16", SortType::BFloat16, |bits| bits as u16);
    check("i32", SortType::Int32, |number| number as i32);
    check("i64", SortType::Int64, |number| number);
}

#[test]
fn any_length_is_sorted_stably() {
    gpu();
    let mut random = fastrand::Rng::with_seed(6);
    for shape @ [outer, length, inner] in [
        [1, 1, 1],
        [3, 2, 5],
        [1, 1023, 1],
        [2, 1024, 2],
        [1, 1025, 3],
        [2, 2049, 1],
        [1, 7000, 2],
        [0, 5, 1],
        [4, 0, 1],
    ] {
        let count = (outer * length * inner) as usize;
        for few in [true, false] {
            let values: Vec<i32> =
                (0..count).map(|_| if few { random.i32(-3..3) } else { random.i32(..) }).collect();
            for descending in [false, true] {
                let (found, indices) = sorted(SortType::Int32, &values, shape, descending);
                for slice in 0..outer * inner {
                    let at = |i: u64| ((slice / inner * length + i) * inner + slice % inner) as usize;
                    let mut expected: Vec<(i32, i64)> =
                        (0..length).map(|i| (values[at(i)], i as i64)).collect();
                    // A stable sort of the standard library.
                    expected.sort_by(|a, b| if descending { b.0.cmp(&a.0) } else { a.0.cmp(&b.0) });
                    let found: Vec<(i32, i64)> =
                        (0..length).map(|i| (found[at(i)], indices[at(i)])).collect();
                    assert_eq!(found, expected, "{shape:?} {descending}");
                }
            }
        }
    }
}

#[test]
fn too_many_elements_are_refused() {
    let null = std::ptr::null_mut();
    let base = Sort {
        element: SortType::Int64,
        values: null,
        sorted: null,
        indices: null,
        outer: 1 << 20,
        length: 1 << 20,
        inner: 1,
        descending: false,
    };
    for call in [base, Sort { outer: u64::MAX, ..base }, Sort { outer: 1, length: 1 << 32, ..base }] {
        let error = unsafe { sort(gpu(), DEVICE, &call) }.unwrap_err().to_string();
        assert!(error.contains("expected less than"), "{error}");
    }
}
