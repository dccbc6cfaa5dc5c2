//! Small graphs on the library, for tests and measurements.

#![allow(dead_code, clippy::unwrap_used, reason = "a test may panic, and uses what it needs")]

use executorch_xnnpack_sys::pool::Pool;
use executorch_xnnpack_sys::{self as sys, *};
use std::any::Any;
use std::ffi::c_void;
use std::ptr;

/// Panics with the status unless it is success.
pub fn ok(status: xnn_status) {
    assert!(status == xnn_status::xnn_status_success, "{}", sys::status_name(status));
}

/// The random numbers of a seed, from -1 to 1.
pub fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32() * 2.0 - 1.0).collect()
}

/// A graph with one input, value 0, and one output, value 1, and what it refers to.
pub struct Graph {
    subgraph: xnn_subgraph_t,
    /// What the subgraph points to.
    constants: Vec<Box<dyn Any>>,
}

impl Graph {
    pub fn new(input: &[usize], output: &[usize]) -> Self {
        sys::initialize().unwrap();
        let mut subgraph = ptr::null_mut();
        // SAFETY: the library is initialized.
        ok(unsafe { xnn_create_subgraph(2, 0, &mut subgraph) });
        let mut graph = Self { subgraph, constants: Vec::new() };
        graph.define(input, ptr::null(), 0, XNN_VALUE_FLAG_EXTERNAL_INPUT);
        graph.define(output, ptr::null(), 1, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
        graph
    }

    fn define(&mut self, dims: &[usize], data: *const c_void, external: u32, flags: u32) -> u32 {
        let mut id = XNN_INVALID_VALUE_ID;
        let fp32 = xnn_datatype::xnn_datatype_fp32;
        // SAFETY: the dimensions are read now; the data is kept by the graph.
        ok(unsafe {
            xnn_define_tensor_value(
                self.subgraph,
                fp32,
                dims.len(),
                dims.as_ptr(),
                data,
                external,
                flags,
                &mut id,
            )
        });
        id
    }

    /// A constant.
    pub fn constant(&mut self, dims: &[usize], data: &[f32]) -> u32 {
        assert_eq!(dims.iter().product::<usize>(), data.len());
        // Kernels may read a little beyond the end.
        let data: Box<[f32]> = [data, &[0.0; XNN_EXTRA_BYTES as usize / 4]].concat().into();
        let id = self.define(dims, data.as_ptr().cast(), XNN_INVALID_VALUE_ID, 0);
        self.constants.push(Box::new(data));
        id
    }

    /// An int8 matrix with a scale for each row.
    pub fn quantized_rows(&mut self, dims: [usize; 2], data: &[i8], scales: &[f32]) -> u32 {
        assert!(dims[0] * dims[1] == data.len() && dims[0] == scales.len());
        let data: Box<[i8]> = [data, &[0; XNN_EXTRA_BYTES as usize]].concat().into();
        let scales: Box<[f32]> = scales.into();
        let mut id = XNN_INVALID_VALUE_ID;
        // SAFETY: the dimensions are read now; data and scales are kept by the graph.
        ok(unsafe {
            xnn_define_channelwise_quantized_tensor_value_v2(
                self.subgraph,
                xnn_datatype::xnn_datatype_qcint8,
                0,
                scales.as_ptr(),
                dims.len(),
                0,
                dims.as_ptr(),
                data.as_ptr().cast(),
                XNN_INVALID_VALUE_ID,
                0,
                &mut id,
            )
        });
        self.constants.push(Box::new(scales));
        self.constants.push(Box::new(data));
        id
    }

    /// The input as int8, with a scale for each row that is found when the graph runs.
    pub fn quantized_input(&mut self, dims: &[usize]) -> u32 {
        let mut id = XNN_INVALID_VALUE_ID;
        // SAFETY: the dimensions are read now.
        ok(unsafe {
            xnn_define_dynamically_quantized_tensor_value(
                self.subgraph,
                xnn_datatype::xnn_datatype_qdint8,
                dims.len(),
                1,
                dims.as_ptr(),
                XNN_INVALID_VALUE_ID,
                0,
                &mut id,
            )
        });
        // SAFETY: both values are defined.
        ok(unsafe { xnn_define_convert(self.subgraph, 0, id, 0) });
        id
    }

    /// `output = input * filterᵀ + bias`, without limits.
    pub fn fully_connected(&mut self, input: u32, filter: u32, bias: u32) {
        let limit = f32::INFINITY;
        // SAFETY: all values are defined.
        ok(unsafe { xnn_define_fully_connected(self.subgraph, -limit, limit, input, filter, bias, 1, 0) });
    }

    /// A 3x3 convolution of the input that keeps its size, with `channels` in and out.
    pub fn convolution(&mut self, channels: usize, filter: u32, bias: u32) {
        let limit = f32::INFINITY;
        // SAFETY: all values are defined.
        ok(unsafe {
            xnn_define_convolution_2d(
                self.subgraph,
                1,
                1,
                1,
                1,
                3,
                3,
                1,
                1,
                1,
                1,
                1,
                channels,
                channels,
                -limit,
                limit,
                0,
                filter,
                bias,
                1,
                0,
            )
        });
    }

    /// Makes the graph executable.
    pub fn runtime(self, pool: Option<&Pool>) -> Runtime<'_> {
        let mut runtime = ptr::null_mut();
        let pointer = pool.map_or(ptr::null_mut(), Pool::as_ptr);
        // SAFETY: the graph is complete; the pool outlives the runtime, and so do the constants.
        ok(unsafe {
            xnn_create_runtime_v4(self.subgraph, ptr::null_mut(), ptr::null_mut(), pointer, 0, &mut runtime)
        });
        Runtime { runtime, pool, _graph: self }
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the subgraph any more.
        unsafe { xnn_delete_subgraph(self.subgraph) };
    }
}

/// An executable graph.
pub struct Runtime<'a> {
    runtime: xnn_runtime_t,
    pool: Option<&'a Pool>,
    _graph: Graph,
}

impl Runtime<'_> {
    /// Sets the input's shape, and returns the output's.
    pub fn reshape(&mut self, input: &[usize]) -> Vec<usize> {
        let (mut rank, mut dims) = (0, [0; XNN_MAX_TENSOR_DIMS as usize]);
        // SAFETY: there is room for the largest rank.
        unsafe {
            ok(xnn_reshape_external_value(self.runtime, 0, input.len(), input.as_ptr()));
            ok(xnn_reshape_runtime(self.runtime));
            ok(xnn_get_external_value_shape(self.runtime, 1, &mut rank, dims.as_mut_ptr()));
        }
        dims[..rank].to_vec()
    }

    /// Runs `times` on an input of the shape that was set, and returns the output's `count` elements.
    pub fn run(&mut self, input: &[f32], count: usize, times: usize) -> Vec<f32> {
        let mut input = [input, &[0.0; XNN_EXTRA_BYTES as usize / 4]].concat();
        let mut output = vec![f32::NAN; count];
        let values = [
            xnn_external_value { id: 0, data: input.as_mut_ptr().cast() },
            xnn_external_value { id: 1, data: output.as_mut_ptr().cast() },
        ];
        // SAFETY: the buffers have the sizes of the shapes that were set, and outlive the runs.
        unsafe {
            ok(xnn_setup_runtime_v2(self.runtime, values.len(), values.as_ptr()));
            for _ in 0..times {
                ok(xnn_invoke_runtime(self.runtime));
            }
        }
        output
    }
}

impl Drop for Runtime<'_> {
    fn drop(&mut self) {
        // SAFETY: not used afterwards.
        unsafe { xnn_delete_runtime(self.runtime) };
    }
}
