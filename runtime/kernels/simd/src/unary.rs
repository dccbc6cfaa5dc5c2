//! Element-wise functions of one floating-point operand.

use crate::loops::{Arg, apply1};

/// An element-wise function of one floating-point operand. Parameters are given in f64 and rounded to the type of
/// the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    /// |x|
    Abs,
    /// -x
    Neg,
    /// -1, 0 or 1; 0 for NaN, as in PyTorch.
    Sign,
    /// The next integer above.
    Ceil,
    /// The next integer below.
    Floor,
    /// The next integer towards zero.
    Trunc,
    /// The nearest integer, halves to even.
    Round,
    /// √x
    Sqrt,
    /// 1/√x
    Rsqrt,
    /// 1/x
    Reciprocal,
    /// x²
    Square,
    /// eˣ
    Exp,
    /// eˣ - 1
    Expm1,
    /// log x
    Log,
    /// log(1 + x)
    Log1p,
    /// log₂ x
    Log2,
    /// log₁₀ x
    Log10,
    /// sin x
    Sin,
    /// cos x
    Cos,
    /// tan x
    Tan,
    /// arcsin x
    Asin,
    /// arccos x
    Acos,
    /// arctan x
    Atan,
    /// sinh x
    Sinh,
    /// cosh x
    Cosh,
    /// tanh x
    Tanh,
    /// arsinh x
    Asinh,
    /// arcosh x
    Acosh,
    /// artanh x
    Atanh,
    /// The error function.
    Erf,
    /// 1 / (1 + e⁻ˣ)
    Sigmoid,
    /// x / (1 + e⁻ˣ)
    Silu,
    /// x Φ(x)
    Gelu,
    /// x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2
    GeluTanh,
    /// max(x, 0); NaN stays.
    Relu,
    /// x clamp(x + 3, 0, 6) / 6
    Hardswish,
    /// clamp(x + 3, 0, 6) / 6
    Hardsigmoid,
    /// min(max(x, min), max); NaN stays. Also hardtanh and relu6.
    Clamp {
        /// Lower bound.
        min: f64,
        /// Upper bound, which wins where it is below `min`.
        max: f64,
    },
    /// x > 0: scale·x; otherwise alpha·scale·(exp(input_scale·x) - 1).
    Elu {
        /// Limit of the negative side, before `scale`.
        alpha: f64,
        /// Factor of the result.
        scale: f64,
        /// Factor of a negative argument.
        input_scale: f64,
    },
    /// x > 0: x; otherwise slope·x.
    LeakyRelu {
        /// Factor of negative arguments.
        slope: f64,
    },
    /// log(x / (1 - x)), with x first clamped to [eps, 1 - eps] if `eps` is given.
    Logit {
        /// Distance that is kept from 0 and 1.
        eps: Option<f64>,
    },
    /// x·scale + shift
    Affine {
        /// Factor.
        scale: f64,
        /// Addend.
        shift: f64,
    },
}

/// f32 and f64.
pub trait Float: Copy + Default + private::Lookup {}
impl Float for f32 {}
impl Float for f64 {}

/// `y[i] = op(x[i])`. The call is single-threaded.
///
/// f32 results are within 4 units in the last place of the exact value (`Gelu`: 7, far in the negative tail;
/// `GeluTanh` and `Logit`: where the formula
/// itself is well conditioned). f64 functions are those of the C library.
///
/// # Panics
/// If `x` is a slice of another length than `y`.
pub fn unary<'a, T: Float + 'a>(op: Unary, x: impl Into<Arg<'a, T>>, y: &mut [T]) {
    let (f, p) = T::lookup(op);
    apply1(f, x.into(), y, p);
}

/// `x[i] = op(x[i])`. See [`unary`].
pub fn unary_in_place<T: Float>(op: Unary, x: &mut [T]) {
    unary(op, Arg::Out, x);
}

pub(crate) mod private {
    use crate::loops::{Loop1, Params};

    pub trait Lookup: Sized {
        /// The loop that computes `op`, and its parameters.
        fn lookup(op: super::Unary) -> (Loop1<Self, Self>, Params<Self>);
    }
}
