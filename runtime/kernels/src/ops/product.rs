//! Matrix products: f32 and f64 on packed kernels, the other dtypes on the general one.

use crate::op::{Context, Table, bad, contiguous, entry, output};
use crate::pool::ProcessPool;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Args, Dtype, Element as AbiElement, Error, Result, TensorMut, TensorRef};
use executorch_gemm::{
    Addend, Batch, Element, Lhs, Matrix, MatrixMut, Product, Rhs, batched, batched_scratch_len,
};

use executorch_gemm::{Number, general_product};
use half::slice::HalfBitsSliceExt;
use half::{bf16, f16};

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    entry(c"aten::mm.out", c"TT>T", mm),
    entry(c"aten::addmm.out", c"TTTSS>T", addmm),
    entry(c"aten::bmm.out", c"TT>T", bmm),
    entry(c"aten::linear.out", c"TTt>T", linear),
]);

/// The element types of this family.
trait Real: Element + AbiElement + bytemuck::Pod {
    fn from_f64(value: f64) -> Self;
}

impl Real for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }
}

fn gemm_error(error: executorch_gemm::Error) -> Error {
    Error::new(ET_ERROR_INTERNAL, error.to_string())
}

/// The sizes of a tensor that must have `N` dimensions, in the contiguous order.
fn dims<const N: usize>(tensor: TensorRef<'_>, what: &str) -> Result<[usize; N]> {
    contiguous(tensor, what)?;
    let sizes: [i32; N] = tensor
        .sizes()
        .try_into()
        .map_err(|_| bad(format!("{what} should have {N} dimensions, found sizes {:?}", tensor.sizes())))?;
    Ok(sizes.map(|s| s as usize))
}

/// Calls a body for the dtype of the operands.
macro_rules! by_dtype {
    ($tensor:expr, $body:ident or $general:ident($($arg:expr),*)) => {
        match $tensor.dtype()? {
            Dtype::Float32 => $body::<f32>($($arg),*),
            Dtype::Float64 => $body::<f64>($($arg),*),
            Dtype::Float16 => $general::<f16, u16>($($arg),*, HALF),
            Dtype::BFloat16 => $general::<bf16, u16>($($arg),*, BRAIN),
            Dtype::UInt8 => $general::<u8, u8>($($arg),*, same()),
            Dtype::Int8 => $general::<i8, i8>($($arg),*, same()),
            Dtype::Int16 => $general::<i16, i16>($($arg),*, same()),
            Dtype::Int32 => $general::<i32, i32>($($arg),*, same()),
            Dtype::Int64 => $general::<i64, i64>($($arg),*, same()),
            other => Err(bad(format!("expected matrices of real numbers, found {other}"))),
        }
    };
}

fn mm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (a, b) = (args.tensor(0)?, args.tensor(1)?);
    by_dtype!(a, product or general(context, args, 2, a, b, false, None))
}

fn addmm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (addend, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let (beta, alpha) = (args.scalar(3)?.to_f64(), args.scalar(4)?.to_f64());
    by_dtype!(a, product or general(context, args, 5, a, b, false, Some((addend, beta, alpha))))
}

fn linear(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (a, weight) = (args.tensor(0)?, args.tensor(1)?);
    let bias = args.optional_tensor(2)?.map(|bias| (bias, 1.0, 1.0));
    by_dtype!(a, product or general(context, args, 3, a, weight, true, bias))
}

/// The sizes of a product, and of its right operand as it is stored.
struct Operands {
    m: usize,
    n: usize,
    k: usize,
    rows: usize,
    cols: usize,
}

/// Checks the operands of a product and gives its output the shape.
fn operands<'a>(
    args: &Args<'a>,
    out: usize,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    transposed: bool,
    addend: Option<TensorRef<'_>>,
) -> Result<(Operands, TensorMut<'a>)> {
    contiguous(a, "the left operand")?;
    let (&k, lead) =
        a.sizes().split_last().filter(|(_, lead)| transposed || lead.len() == 1).ok_or_else(|| {
            bad(format!("the left operand should be a matrix, found sizes {:?}", a.sizes()))
        })?;
    let (k, m) = (k as usize, lead.iter().map(|&s| s as usize).product::<usize>());
    let [rows, cols] = dims::<2>(b, "the right operand")?;
    let (b_k, n) = if transposed { (cols, rows) } else { (rows, cols) };
    if b_k != k {
        return Err(bad(format!("operands of sizes {:?} and {:?} have no product", a.sizes(), b.sizes())));
    }
    let mut sizes = crate::shape::Shape::new(a.sizes())?;
    sizes.set_last(n as i32);
    let result = output(args, out, sizes.sizes(), &[a, b, addend.unwrap_or(a)])?;
    contiguous(result.view(), "the output")?;
    Ok((Operands { m, n, k, rows, cols }, result))
}

/// `out = alpha a b + beta addend`; `b` may be given transposed (a linear layer's weight), and `a` may then have any
/// number of leading dimensions.
fn product<T: Real>(
    context: &mut Context,
    args: &Args<'_>,
    out: usize,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    transposed: bool,
    addend: Option<(TensorRef<'_>, f64, f64)>,
) -> Result<()> {
    let (shape, mut result) = operands(args, out, a, b, transposed, addend.map(|a| a.0))?;
    let Operands { m, n, k, rows, cols } = shape;
    let left = Matrix::row_major(a.data::<T>()?, m, k).map_err(gemm_error)?;
    let right = Matrix::row_major(b.data::<T>()?, rows, cols).map_err(gemm_error)?;
    let right = if transposed { right.transposed() } else { right };
    let mut call = Product::new(Lhs::View(left), Rhs::View(right));
    if let Some((tensor, beta, alpha)) = addend {
        (call.beta, call.alpha) = (T::from_f64(beta), T::from_f64(alpha));
        call.addend = if beta == 0.0 { Addend::None } else { broadcast(tensor, m, n)? };
    }
    let pool = ProcessPool::now();
    let scratch = context.scratch::<T>(call.scratch_len(&pool).map_err(gemm_error)?)?;
    let target = MatrixMut::row_major(result.data::<T>()?, m, n).map_err(gemm_error)?;
    call.run(&pool, scratch, target).map_err(gemm_error)
}

/// The strides of an addend that broadcasts to `m × n`.
fn broadcast_strides(tensor: TensorRef<'_>, m: usize, n: usize) -> Result<[usize; 2]> {
    contiguous(tensor, "the addend")?;
    let (rows, cols) = match *tensor.sizes() {
        [] => (1, 1),
        [cols] => (1, cols as usize),
        [rows, cols] => (rows as usize, cols as usize),
        _ => return Err(bad(format!("the addend should be a matrix, found sizes {:?}", tensor.sizes()))),
    };
    if (rows != 1 && rows != m) || (cols != 1 && cols != n) {
        return Err(bad(format!("an addend of sizes {:?} does not broadcast to [{m}, {n}]", tensor.sizes())));
    }
    Ok([if rows == 1 { 0 } else { cols }, usize::from(cols != 1)])
}

/// An addend that broadcasts to `m × n`.
fn broadcast<'a, T: Real>(tensor: TensorRef<'a>, m: usize, n: usize) -> Result<Addend<'a, T>> {
    let strides = broadcast_strides(tensor, m, n)?;
    let data = tensor.data::<T>()?;
    if strides[0] == 0 && data.len() == n {
        return Ok(Addend::Row(data));
    }
    Ok(Addend::Full(Matrix::new(data, [m, n], strides).map_err(gemm_error)?))
}

/// How a tensor's elements are seen as numbers of the general product.
struct Seen<T, E> {
    read: fn(&[E]) -> &[T],
    write: fn(&mut [E]) -> &mut [T],
}

const HALF: Seen<f16, u16> = Seen { read: |s| s.reinterpret_cast(), write: |s| s.reinterpret_cast_mut() };
const BRAIN: Seen<bf16, u16> = Seen { read: |s| s.reinterpret_cast(), write: |s| s.reinterpret_cast_mut() };

fn same<T>() -> Seen<T, T> {
    Seen { read: |s| s, write: |s| s }
}

/// A factor in the type that products are summed in.
trait Factor: Copy {
    fn from_f64(value: f64) -> Self;
}

impl Factor for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

macro_rules! integer_factors {
    ($($t:ty)*) => {$(
        impl Factor for $t {
            fn from_f64(value: f64) -> Self {
                value as $t
            }
        }
    )*};
}
integer_factors!(u8 i8 i16 i32 i64);

/// [`product`] for the other dtypes.
#[allow(clippy::too_many_arguments, reason = "the arguments of `product`, and how its elements are seen")]
fn general<T: Number<Sum: Factor>, E: AbiElement>(
    _: &mut Context,
    args: &Args<'_>,
    out: usize,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    transposed: bool,
    addend: Option<(TensorRef<'_>, f64, f64)>,
    seen: Seen<T, E>,
) -> Result<()> {
    let (shape, mut result) = operands(args, out, a, b, transposed, addend.map(|a| a.0))?;
    let Operands { m, n, k, rows, cols } = shape;
    let left = Matrix::row_major((seen.read)(a.data::<E>()?), m, k).map_err(gemm_error)?;
    let right = Matrix::row_major((seen.read)(b.data::<E>()?), rows, cols).map_err(gemm_error)?;
    let right = if transposed { right.transposed() } else { right };
    let alpha = T::Sum::from_f64(addend.map_or(1.0, |a| a.2));
    let added = match addend {
        Some((tensor, beta, _)) if beta != 0.0 => {
            let strides = broadcast_strides(tensor, m, n)?;
            let matrix =
                Matrix::new((seen.read)(tensor.data::<E>()?), [m, n], strides).map_err(gemm_error)?;
            Some((T::Sum::from_f64(beta), matrix))
        }
        _ => None,
    };
    let target = MatrixMut::row_major((seen.write)(result.data::<E>()?), m, n).map_err(gemm_error)?;
    general_product(&ProcessPool::now(), &left, &right, alpha, added, target).map_err(gemm_error)
}

/// [`batched_product`] for the other dtypes.
fn batched_general<T: Number<Sum: Factor>, E: AbiElement>(
    _: &mut Context,
    args: &Args<'_>,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
    seen: Seen<T, E>,
) -> Result<()> {
    let ([_, m, k], [_, _, n], mut result) = batch_operands(args, a, b)?;
    if m * n == 0 {
        return Ok(());
    }
    let (left, right) = ((seen.read)(a.data::<E>()?), (seen.read)(b.data::<E>()?));
    let target = (seen.write)(result.data::<E>()?);
    let part = |data, at: usize, sizes: [usize; 2]| -> Result<Matrix<'_, T>> {
        let data: &[T] = data;
        let size = sizes[0] * sizes[1];
        let data = data.get(at * size..(at + 1) * size).unwrap_or_default();
        Matrix::row_major(data, sizes[0], sizes[1]).map_err(gemm_error)
    };
    for (at, out) in target.chunks_exact_mut(m * n).enumerate() {
        let (x, y) = (part(left, at, [m, k])?, part(right, at, [k, n])?);
        let out = MatrixMut::row_major(out, m, n).map_err(gemm_error)?;
        general_product(&ProcessPool::now(), &x, &y, T::Sum::from_f64(1.0), None, out).map_err(gemm_error)?;
    }
    Ok(())
}

fn bmm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (a, b) = (args.tensor(0)?, args.tensor(1)?);
    by_dtype!(a, batched_product or batched_general(context, args, a, b))
}

/// Checks the operands of a batch of products and gives its output the shape.
fn batch_operands<'a>(
    args: &Args<'a>,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
) -> Result<([usize; 3], [usize; 3], TensorMut<'a>)> {
    let (left, right) = (dims::<3>(a, "the left operand")?, dims::<3>(b, "the right operand")?);
    if left[0] != right[0] || left[2] != right[1] {
        return Err(bad(format!("operands of sizes {:?} and {:?} have no product", a.sizes(), b.sizes())));
    }
    let result = output(args, 2, &[left[0] as i32, left[1] as i32, right[2] as i32], &[a, b])?;
    contiguous(result.view(), "the output")?;
    Ok((left, right, result))
}

fn batched_product<T: Real>(
    context: &mut Context,
    args: &Args<'_>,
    a: TensorRef<'_>,
    b: TensorRef<'_>,
) -> Result<()> {
    let (left, right, mut result) = batch_operands(args, a, b)?;
    let ([_, m, k], [_, _, n]) = (left, right);
    let left = Batch::new(a.data::<T>()?, left, [m * k, k, 1]).map_err(gemm_error)?;
    let right = Batch::new(b.data::<T>()?, right, [k * n, n, 1]).map_err(gemm_error)?;
    let pool = ProcessPool::now();
    let scratch = context.scratch::<T>(batched_scratch_len(&pool, &left, &right).map_err(gemm_error)?)?;
    batched(&pool, scratch, T::ONE, &left, &right, result.data::<T>()?).map_err(gemm_error)
}
