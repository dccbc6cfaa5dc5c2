//! Matrix products: f32 and f64 on packed kernels, half floats there too if the right operand was packed at load,
//! the other dtypes on the general one.

use crate::elements::{Item, items, items_mut, narrow, widen};
use crate::op::{Context, Prepare, Prepared, Table, bad, contiguous, entry, output, prepared};
use crate::ops::complex;
use crate::packed::Cache;
use crate::pool::ProcessPool;
use crate::shape::Shape;
use crate::with_item;
use executorch_abi::error::ET_ERROR_INTERNAL;
use executorch_abi::{Args, Dtype, Error, Result, Scalar, TensorMut, TensorRef};
use executorch_gemm::{
    Addend, Batch, Element, Lhs, Matrix, MatrixMut, Number, PackedB, Product, Rhs, batched,
    batched_scratch_len, general_product,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// What this family registers.
pub static TABLE: Table = Table::new(&[
    prepared::<Site<Mm>>(c"aten::mm.out", c"TT>T"),
    prepared::<Site<Addmm>>(c"aten::addmm.out", c"TTTSS>T"),
    entry(c"aten::bmm.out", c"TT>T", bmm),
    prepared::<Site<Linear>>(c"aten::linear.out", c"TTt>T"),
]);

fn gemm_error(error: executorch_gemm::Error) -> Error {
    Error::new(ET_ERROR_INTERNAL, error.to_string())
}

/// The arguments of a product, by operator.
trait Form: Send + Sync + 'static {
    /// The places of the left operand, the right one and the output.
    const PLACES: [usize; 3];
    /// Whether the right operand is stored transposed (a linear layer's weight); the left one may then have any
    /// number of leading dimensions.
    const TRANSPOSED: bool;

    /// What is added to the product, with its factor, and the factor of the product.
    fn added<'a>(args: &Args<'a>) -> Result<Option<Added<'a>>>;
}

/// `beta · tensor`, added to `alpha` times a product.
#[derive(Clone, Copy)]
struct Added<'a> {
    tensor: TensorRef<'a>,
    beta: Scalar,
    alpha: Scalar,
}

struct Mm;
struct Addmm;
struct Linear;

impl Form for Mm {
    const PLACES: [usize; 3] = [0, 1, 2];
    const TRANSPOSED: bool = false;

    fn added<'a>(_: &Args<'a>) -> Result<Option<Added<'a>>> {
        Ok(None)
    }
}

impl Form for Addmm {
    const PLACES: [usize; 3] = [1, 2, 5];
    const TRANSPOSED: bool = false;

    fn added<'a>(args: &Args<'a>) -> Result<Option<Added<'a>>> {
        Ok(Some(Added { tensor: args.tensor(0)?, beta: args.scalar(3)?, alpha: args.scalar(4)? }))
    }
}

impl Form for Linear {
    const PLACES: [usize; 3] = [0, 1, 3];
    const TRANSPOSED: bool = true;

    fn added<'a>(args: &Args<'a>) -> Result<Option<Added<'a>>> {
        let one = Scalar::Int(1);
        Ok(args.optional_tensor(2)?.map(|tensor| Added { tensor, beta: one, alpha: one }))
    }
}

/// A product of two matrices that fit each other.
struct Operands<'a> {
    a: TensorRef<'a>,
    b: TensorRef<'a>,
    m: usize,
    n: usize,
    k: usize,
    transposed: bool,
    added: Option<Added<'a>>,
    /// Strides of the addend, broadcast to `m × n`.
    added_strides: [usize; 2],
}

impl<'a> Operands<'a> {
    /// Reads and checks the arguments; gives the sizes of the output, too.
    fn of<F: Form>(args: &Args<'a>) -> Result<(Self, Shape)> {
        let (a, b) = (args.tensor(F::PLACES[0])?, args.tensor(F::PLACES[1])?);
        contiguous(a, "the left operand")?;
        let (&k, lead) =
            a.sizes().split_last().filter(|(_, lead)| F::TRANSPOSED || lead.len() == 1).ok_or_else(|| {
                bad(format!("the left operand should be a matrix, found sizes {:?}", a.sizes()))
            })?;
        let (k, m) = (k as usize, lead.iter().map(|&s| s as usize).product::<usize>());
        let [rows, cols] = dims::<2>(b, "the right operand")?;
        let (b_k, n) = if F::TRANSPOSED { (cols, rows) } else { (rows, cols) };
        if b_k != k {
            return Err(bad(format!(
                "operands of sizes {:?} and {:?} have no product",
                a.sizes(),
                b.sizes()
            )));
        }
        let mut shape = Shape::new(a.sizes())?;
        shape.set_last(n as i32);
        let added = F::added(args)?;
        let added_strides = added.map_or(Ok([0; 2]), |d| broadcast_strides(d.tensor, m, n))?;
        Ok((Self { a, b, m, n, k, transposed: F::TRANSPOSED, added, added_strides }, shape))
    }

    /// The right operand as `k × n`.
    fn right<T: Item>(&self) -> Result<Matrix<'a, T>> {
        let data = items(self.b).map_err(|e| e.within("the right operand"))?;
        if self.transposed {
            Ok(Matrix::row_major(data, self.n, self.k).map_err(gemm_error)?.transposed())
        } else {
            Matrix::row_major(data, self.k, self.n).map_err(gemm_error)
        }
    }

    fn left<T: Item>(&self) -> Result<&'a [T]> {
        items(self.a).map_err(|e| e.within("the left operand"))
    }

    /// What is added, unless its factor is 0: then it is not looked at, as in PyTorch.
    fn used(&self) -> Option<Added<'a>> {
        self.added.filter(|d| d.beta.to_f64() != 0.0)
    }

    /// Multiplies packed or plain f32 or f64 operands; `added` holds the addend's elements.
    fn run<T: Real>(
        &self,
        context: &mut Context,
        left: &[T],
        right: Rhs<'_, T>,
        added: Option<&[T]>,
        out: &mut [T],
    ) -> Result<()> {
        let left = Matrix::row_major(left, self.m, self.k).map_err(gemm_error)?;
        let mut call = Product::new(Lhs::View(left), right);
        if let Some(d) = self.added {
            call.alpha = T::from_f64(d.alpha.to_f64());
            call.beta = T::from_f64(d.beta.to_f64());
        }
        call.addend = match added {
            None => Addend::None,
            Some(data) if self.added_strides == [0, 1] => Addend::Row(data),
            Some(data) => {
                Addend::Full(Matrix::new(data, [self.m, self.n], self.added_strides).map_err(gemm_error)?)
            }
        };
        let pool = ProcessPool::now();
        let scratch = context.scratch::<T>(call.scratch_len(&pool).map_err(gemm_error)?)?;
        let target = MatrixMut::row_major(out, self.m, self.n).map_err(gemm_error)?;
        call.run(&pool, scratch, target).map_err(gemm_error)
    }

    /// [`Operands::run`] on tensors of this type.
    fn run_tensors<T: Real>(
        &self,
        context: &mut Context,
        right: Rhs<'_, T>,
        out: &mut TensorMut<'_>,
    ) -> Result<()> {
        let added = self.used().map(|d| items(d.tensor)).transpose().map_err(|e| e.within("the addend"))?;
        self.run(context, self.left()?, right, added, items_mut(out).map_err(|e| e.within("the output"))?)
    }

    /// [`Operands::run`] on tensors of another floating-point type, converted to f32 and back.
    fn run_widened(
        &self,
        context: &mut Context,
        right: &PackedB<f32>,
        out: &mut TensorMut<'_>,
    ) -> Result<()> {
        let left = context.scratch(self.a.numel())?;
        widen(self.a, left)?;
        let added = match self.used() {
            None => None,
            Some(d) => {
                let data = context.scratch(d.tensor.numel())?;
                widen(d.tensor, data)?;
                Some(&*data)
            }
        };
        let result = context.scratch(self.m * self.n)?;
        self.run(context, left, Rhs::Packed(right), added, result)?;
        narrow(result, out)
    }

    /// Multiplies operands of any number type.
    fn run_general<T: Item + Number<Sum: Factor>>(&self, out: &mut TensorMut<'_>) -> Result<()> {
        let left = Matrix::row_major(self.left::<T>()?, self.m, self.k).map_err(gemm_error)?;
        let right = self.right::<T>()?;
        let alpha = T::Sum::of(self.added.map_or(Scalar::Int(1), |d| d.alpha))?;
        let added = match self.used() {
            None => None,
            Some(d) => {
                let data = items::<T>(d.tensor).map_err(|e| e.within("the addend"))?;
                let matrix = Matrix::new(data, [self.m, self.n], self.added_strides).map_err(gemm_error)?;
                Some((T::Sum::of(d.beta)?, matrix))
            }
        };
        let data = items_mut::<T>(out).map_err(|e| e.within("the output"))?;
        let target = MatrixMut::row_major(data, self.m, self.n).map_err(gemm_error)?;
        general_product(&ProcessPool::now(), &left, &right, alpha, added, target).map_err(gemm_error)
    }
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

/// The element types of packed products.
trait Real: Element + Item {
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

/// A factor in the type that products are summed in.
trait Factor: Copy {
    fn of(value: Scalar) -> Result<Self>;
}

macro_rules! float_factors {
    ($($t:ty)*) => {$(
        impl Factor for $t {
            fn of(value: Scalar) -> Result<Self> {
                Ok(value.to_f64() as $t)
            }
        }
    )*};
}
float_factors!(f32 f64);

macro_rules! integer_factors {
    ($($t:ty)*) => {$(
        impl Factor for $t {
            fn of(value: Scalar) -> Result<Self> {
                match value {
                    Scalar::Double(v) => Err(bad(format!(
                        "alpha and beta of a product of integers should be integers, found {v}"
                    ))),
                    whole => Ok(whole.to_i64() as $t),
                }
            }
        }
    )*};
}
integer_factors!(u8 i8 i16 i32 i64);

/// A right operand, packed.
enum Right {
    Single(Arc<PackedB<f32>>),
    Double(Arc<PackedB<f64>>),
    /// Half floats, packed in f32.
    Widened(Dtype, Arc<PackedB<f32>>),
}

/// What a packed copy depends on: the constant, its sizes, and whether it is transposed.
type Key = ([u64; 2], [usize; 2], bool);

static SINGLE: Cache<Key, PackedB<f32>> = Cache::new();
static DOUBLE: Cache<Key, PackedB<f64>> = Cache::new();

impl Right {
    /// Packs the right operand of a call, or finds it packed by its identity; none if the call has to do without.
    fn pack<'a, F: Form>(
        args: &Args<'a>,
        identity: Option<[u64; 2]>,
    ) -> Result<Option<(Self, Operands<'a>)>> {
        // What is wrong with the arguments is told by the run, if it ever comes.
        let Ok((call, _)) = Operands::of::<F>(args) else { return Ok(None) };
        let key = identity.map(|id| (id, [call.k, call.n], call.transposed));
        let right = match call.b.dtype()? {
            Dtype::Float32 => Self::Single(SINGLE.get(key, || pack(call.right::<f32>()?))?),
            Dtype::Float64 => Self::Double(DOUBLE.get(key, || pack(call.right::<f64>()?))?),
            dtype @ (Dtype::Float16 | Dtype::BFloat16) => {
                let packed = SINGLE.get(key, || {
                    let mut wide = vec![0.0; call.b.numel()];
                    widen(call.b, &mut wide)?;
                    let (rows, cols) = if call.transposed { (call.n, call.k) } else { (call.k, call.n) };
                    let view = Matrix::row_major(&wide, rows, cols).map_err(gemm_error)?;
                    pack(if call.transposed { view.transposed() } else { view })
                })?;
                Self::Widened(dtype, packed)
            }
            _ => return Ok(None),
        };
        Ok(Some((right, call)))
    }
}

/// A call site whose right operand is constant.
struct Site<F> {
    right: Right,
    form: PhantomData<F>,
}

impl<F: Form> Prepared for Site<F> {
    fn prepare(context: &mut Prepare, args: &Args<'_>) -> Result<Option<Self>> {
        let at = F::PLACES[1];
        if !context.is_constant(at) {
            return Ok(None);
        }
        let Some((right, call)) = Right::pack::<F>(args, context.identity(at))? else { return Ok(None) };
        context.release(at)?;
        let [m, n, k] = [call.m, call.n, call.k];
        match &right {
            Right::Single(b) => context.reserve::<f32>(scratch_len(b, m, k)?)?,
            Right::Double(b) => context.reserve::<f64>(scratch_len(b, m, k)?)?,
            Right::Widened(_, b) => {
                let added = call.added.map_or(0, |d| d.tensor.numel());
                // Each of the four parts starts on a line of its own.
                context.reserve::<f32>(scratch_len(b, m, k)? + m * k + m * n + added + 4 * 32)?;
            }
        }
        Ok(Some(Self { right, form: PhantomData }))
    }

    fn run(state: Option<&Self>, context: &mut Context, args: &Args<'_>) -> Result<()> {
        let (call, shape) = Operands::of::<F>(args)?;
        let added = call.added.map_or(call.a, |d| d.tensor);
        let mut out = output(args, F::PLACES[2], shape.sizes(), &[call.a, call.b, added])?;
        contiguous(out.view(), "the output")?;
        let Some(state) = state else {
            return match call.a.dtype()? {
                Dtype::Float32 => call.run_tensors::<f32>(context, Rhs::View(call.right()?), &mut out),
                Dtype::Float64 => call.run_tensors::<f64>(context, Rhs::View(call.right()?), &mut out),
                dtype => with_item!(dtype, number T => call.run_general::<T>(&mut out)),
            };
        };
        match &state.right {
            Right::Single(right) => call.run_tensors(context, Rhs::Packed(right), &mut out),
            Right::Double(right) => call.run_tensors(context, Rhs::Packed(right), &mut out),
            Right::Widened(dtype, right) => {
                let addend = call.used().map_or(call.a, |d| d.tensor);
                for tensor in [call.a, addend, out.view()] {
                    if tensor.dtype()? != *dtype {
                        let found = tensor.dtype()?;
                        return Err(bad(format!("expected {dtype}, as the right operand is, found {found}")));
                    }
                }
                call.run_widened(context, right, &mut out)
            }
        }
    }
}

fn pack<T: Real>(right: Matrix<'_, T>) -> Result<PackedB<T>> {
    PackedB::new(&right).map_err(gemm_error)
}

/// The scratch of a product of `m` rows.
fn scratch_len<T: Real>(right: &PackedB<T>, m: usize, k: usize) -> Result<usize> {
    // One repeated element stands for the left operand: only its shape counts.
    let element = [T::ZERO];
    let left = Matrix::new(&element, [m, k], [0, 0]).map_err(gemm_error)?;
    Product::new(Lhs::View(left), Rhs::Packed(right)).scratch_len(&ProcessPool::now()).map_err(gemm_error)
}

fn bmm(context: &mut Context, args: &Args<'_>) -> Result<()> {
    let (a, b) = (args.tensor(0)?, args.tensor(1)?);
    let (left, right) = (dims::<3>(a, "the left operand")?, dims::<3>(b, "the right operand")?);
    if left[0] != right[0] || left[2] != right[1] {
        return Err(bad(format!("operands of sizes {:?} and {:?} have no product", a.sizes(), b.sizes())));
    }
    let mut out = output(args, 2, &[left[0] as i32, left[1] as i32, right[2] as i32], &[a, b])?;
    contiguous(out.view(), "the output")?;
    match a.dtype()? {
        Dtype::Float32 => batched_real::<f32>(context, (a, left), (b, right), &mut out),
        Dtype::Float64 => batched_real::<f64>(context, (a, left), (b, right), &mut out),
        dtype if complex::is_complex(dtype) => {
            complex::products(a, b, [left[1], left[2], right[2]], &mut out)
        }
        dtype => with_item!(dtype, number T => batched_general::<T>((a, left), (b, right), &mut out)),
    }
}

fn batched_real<T: Real>(
    context: &mut Context,
    (a, left): (TensorRef<'_>, [usize; 3]),
    (b, right): (TensorRef<'_>, [usize; 3]),
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let ([_, m, k], [_, _, n]) = (left, right);
    let left = Batch::new(items::<T>(a)?, left, [m * k, k, 1]).map_err(gemm_error)?;
    let right = Batch::new(items::<T>(b)?, right, [k * n, n, 1]).map_err(gemm_error)?;
    let pool = ProcessPool::now();
    let scratch = context.scratch::<T>(batched_scratch_len(&pool, &left, &right).map_err(gemm_error)?)?;
    batched(&pool, scratch, T::ONE, &left, &right, items_mut(out)?).map_err(gemm_error)
}

fn batched_general<T: Item + Number>(
    (a, left): (TensorRef<'_>, [usize; 3]),
    (b, right): (TensorRef<'_>, [usize; 3]),
    out: &mut TensorMut<'_>,
) -> Result<()> {
    let ([_, m, k], [_, _, n]) = (left, right);
    if m * n == 0 {
        return Ok(());
    }
    let (left, right) = (items::<T>(a)?, items::<T>(b)?);
    let part = |data, at: usize, sizes: [usize; 2]| -> Result<Matrix<'_, T>> {
        let data: &[T] = data;
        let size = sizes[0] * sizes[1];
        let data = data.get(at * size..(at + 1) * size).unwrap_or_default();
        Matrix::row_major(data, sizes[0], sizes[1]).map_err(gemm_error)
    };
    for (at, out) in items_mut::<T>(out)?.chunks_exact_mut(m * n).enumerate() {
        let (x, y) = (part(left, at, [m, k])?, part(right, at, [k, n])?);
        let out = MatrixMut::row_major(out, m, n).map_err(gemm_error)?;
        general_product(&ProcessPool::now(), &x, &y, T::ONE, None, out).map_err(gemm_error)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::testing::Tensor;
    use executorch_abi::value::et_value_t;
    use std::ptr;

    fn with_args<T>(args: &mut [et_value_t], body: impl FnOnce(&Args<'_>) -> T) -> T {
        let pointers: Vec<_> = args.iter_mut().map(ptr::from_mut).collect();
        // SAFETY: the values live as long as the call, as do the tensors among them.
        body(&unsafe { Args::new(pointers.as_ptr(), pointers.len()) })
    }

    /// Runs a call with and without a packed right operand.
    fn both<F: Form>(args: &mut [et_value_t], mut check: impl FnMut()) {
        let right =
            with_args(args, |args| Right::pack::<F>(args, None).unwrap().map(|(right, _)| right)).unwrap();
        let site = Site::<F> { right, form: PhantomData };
        for state in [None, Some(&site)] {
            with_args(args, |args| Site::<F>::run(state, &mut Context::detached(), args)).unwrap();
            check();
        }
    }

    #[test]
    fn packed_and_plain_products_are_right() {
        let value = |i: usize| ((i * 37 % 29) as f64 - 14.0) / 8.0;
        let (beta, alpha) = (-0.5, 1.5);
        for (dtype, rounding) in
            [(Dtype::Float32, 1e-5), (Dtype::Float64, 1e-12), (Dtype::Float16, 2e-3), (Dtype::BFloat16, 1e-2)]
        {
            for (m, n, k) in [(1, 40, 33), (3, 5, 1), (9, 70, 64), (2, 3, 0), (0, 4, 4)] {
                let mut a = Tensor::contiguous(dtype, &[m, k], value);
                let mut b = Tensor::contiguous(dtype, &[k, n], |i| value(i + 3));
                let mut weight = Tensor::contiguous(dtype, &[n, k], |i| {
                    let (row, col) = (i / k as usize, i % k as usize);
                    value(col * n as usize + row + 3)
                });
                let mut added = Tensor::contiguous(dtype, &[n], |i| value(i + 7));
                let mut out = Tensor::contiguous(dtype, &[m, n], |_| 77.0);
                let (av, bv, dv) = (a.values(), b.values(), added.values());
                let (n, k) = (n as usize, k as usize);
                let product =
                    |at: usize| -> f64 { (0..k).map(|j| av[at / n * k + j] * bv[j * n + at % n]).sum() };
                let check = |out: *const Tensor, want: &dyn Fn(usize) -> f64| {
                    // SAFETY: the tensor is alive, and no call writes it now.
                    for (i, got) in unsafe { &*out }.values().into_iter().enumerate() {
                        let want = want(i);
                        let close = (got - want).abs() <= rounding * want.abs().max(1.0);
                        assert!(close, "{dtype} {m}x{n}x{k}: element {i} is {got}, not {want}");
                    }
                };
                let target = &raw const out;
                let result = et_value_t::from(&mut out);
                both::<Mm>(&mut [(&mut a).into(), (&mut b).into(), result], || check(target, &product));
                let mut args = [
                    (&mut added).into(),
                    (&mut a).into(),
                    (&mut b).into(),
                    et_value_t::double(beta),
                    et_value_t::double(alpha),
                    result,
                ];
                both::<Addmm>(&mut args, || check(target, &|i| alpha * product(i) + beta * dv[i % n]));
                let mut args = [(&mut a).into(), (&mut weight).into(), (&mut added).into(), result];
                both::<Linear>(&mut args, || check(target, &|i| product(i) + dv[i % n]));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let tensor = |dtype, sizes: &[i32]| Tensor::contiguous(dtype, sizes, |_| 1.0);
        let (mut a, mut b) = (tensor(Dtype::Float32, &[2, 3]), tensor(Dtype::Float32, &[4, 5]));
        let mut out = tensor(Dtype::Float32, &[2, 5]);
        let run = |args: &mut [et_value_t]| {
            with_args(args, |args| Site::<Mm>::run(None, &mut Context::detached(), args)).unwrap_err().message
        };
        assert!(run(&mut [(&mut a).into(), (&mut b).into(), (&mut out).into()]).contains("have no product"));
        let mut b = tensor(Dtype::Int64, &[3, 5]);
        assert!(
            run(&mut [(&mut a).into(), (&mut b).into(), (&mut out).into()]).contains("the right operand")
        );
        let (mut a, mut b) = (tensor(Dtype::Int64, &[2, 3]), tensor(Dtype::Int64, &[3, 5]));
        let (mut added, mut out) = (tensor(Dtype::Int64, &[5]), tensor(Dtype::Int64, &[2, 5]));
        let (one, half) = (et_value_t::int(1), et_value_t::double(0.5));
        let mut args = [(&mut added).into(), (&mut a).into(), (&mut b).into(), one, half, (&mut out).into()];
        let error = with_args(&mut args, |args| Site::<Addmm>::run(None, &mut Context::detached(), args));
        assert!(error.unwrap_err().message.contains("should be integers"));
    }
}
