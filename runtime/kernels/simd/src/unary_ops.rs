//! The functions behind [`Unary`], and the table from operation to loop.

use crate::isa::Level;
use crate::loops::{Loop1, Map1, Params, narrow1, plain1, wide1};
use crate::math::{erf, exp, log, trig};
use crate::unary::Unary;
use crate::unary::private::Lookup;

/// One type per operation, to carry the implementations.
macro_rules! declare {
    ($($name:ident)*) => { $( struct $name; )* };
}
declare! {
    Abs Neg Sign Ceil Floor Trunc Round Sqrt Rsqrt Reciprocal Square Exp Expm1 Log Log1p Log2 Log10 Sin Cos Tan Asin
    Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Erf Sigmoid Silu Gelu GeluTanh Relu Hardswish Hardsigmoid Clamp Elu
    LeakyRelu Logit LogitClamped Affine
}

/// min(max(x, low), high) that keeps NaN.
macro_rules! clamp {
    ($x:expr, $low:expr, $high:expr) => {{
        let x = $x;
        let x = if x < $low { $low } else { x };
        if x > $high { $high } else { x }
    }};
}

macro_rules! define {
    // The same expression for both types.
    ($name:ident($x:ident, $p:ident) = $e:expr) => {
        define!(f32, $name($x, $p) = $e);
        define!(f64, $name($x, $p) = $e);
    };
    ($t:ty, $name:ident($x:ident, $p:ident) = $e:expr) => {
        impl Map1<$t> for $name {
            #[inline(always)]
            fn apply<L: Level>($x: $t, $p: Params<$t>) -> $t {
                $e
            }
        }
    };
}

define!(Abs(x, _p) = x.abs());
define!(Neg(x, _p) = -x);
define!(
    Sign(x, _p) = if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
);
define!(Ceil(x, _p) = x.ceil());
define!(Floor(x, _p) = x.floor());
define!(Trunc(x, _p) = x.trunc());
define!(Round(x, _p) = x.round_ties_even());
define!(Sqrt(x, _p) = x.sqrt());
define!(Rsqrt(x, _p) = 1.0 / x.sqrt());
define!(Reciprocal(x, _p) = 1.0 / x);
define!(Square(x, _p) = x * x);
define!(Tan(x, _p) = x.tan());
define!(Asin(x, _p) = x.asin());
define!(Acos(x, _p) = x.acos());
define!(Atan(x, _p) = x.atan());
define!(Sinh(x, _p) = x.sinh());
define!(Cosh(x, _p) = x.cosh());
define!(Relu(x, _p) = if x < 0.0 { 0.0 } else { x });
define!(Hardswish(x, _p) = x * clamp!(x + 3.0, 0.0, 6.0) * (1.0 / 6.0));
define!(Hardsigmoid(x, _p) = clamp!(x + 3.0, 0.0, 6.0) * (1.0 / 6.0));
define!(Clamp(x, p) = clamp!(x, p[0], p[1]));
define!(LeakyRelu(x, p) = if x > 0.0 { x } else { x * p[0] });

define!(f32, Exp(x, _p) = exp::exp::<L>(x));
define!(f32, Expm1(x, _p) = exp::expm1::<L>(x));
define!(f32, Log(x, _p) = log::log::<L>(x));
define!(f32, Log1p(x, _p) = log::log1p::<L>(x));
define!(f32, Log2(x, _p) = log::log2::<L>(x));
define!(f32, Log10(x, _p) = log::log10::<L>(x));
define!(f32, Tanh(x, _p) = exp::tanh::<L>(x));
define!(f32, Erf(x, _p) = erf::erf::<L>(x));
define!(f32, Sigmoid(x, _p) = exp::sigmoid::<L>(x));
define!(f32, Silu(x, _p) = exp::silu::<L>(x));
define!(f32, Gelu(x, _p) = erf::gelu::<L>(x));
define!(f32, GeluTanh(x, _p) = exp::gelu_tanh::<L>(x));
define!(f32, Elu(x, p) = if x > 0.0 { x * p[1] } else { exp::expm1::<L>(x * p[2]) * p[0] });
define!(f32, Logit(x, _p) = log::log::<L>(x / (1.0 - x)));
define!(
    f32,
    LogitClamped(x, p) = {
        let z = clamp!(x, p[0], 1.0 - p[0]);
        log::log::<L>(z / (1.0 - z))
    }
);
define!(f32, Affine(x, p) = L::fma(x, p[0], p[1]));
// The standard library's f32 versions lose bits near 0 and 1.
define!(f32, Asinh(x, _p) = libm::asinh(x.into()) as f32);
define!(f32, Acosh(x, _p) = acosh(x.into()) as f32);
define!(f32, Atanh(x, _p) = libm::atanh(x.into()) as f32);

define!(f64, Exp(x, _p) = x.exp());
define!(f64, Expm1(x, _p) = x.exp_m1());
define!(f64, Log(x, _p) = x.ln());
define!(f64, Log1p(x, _p) = x.ln_1p());
define!(f64, Log2(x, _p) = x.log2());
define!(f64, Log10(x, _p) = x.log10());
define!(f64, Sin(x, _p) = x.sin());
define!(f64, Cos(x, _p) = x.cos());
define!(f64, Tanh(x, _p) = x.tanh());
define!(f64, Asinh(x, _p) = libm::asinh(x));
define!(f64, Acosh(x, _p) = acosh(x));
define!(f64, Atanh(x, _p) = libm::atanh(x));
define!(f64, Erf(x, _p) = libm::erf(x));
define!(f64, Sigmoid(x, _p) = 1.0 / (1.0 + (-x).exp()));
define!(f64, Silu(x, _p) = x / (1.0 + (-x).exp()));
define!(f64, Gelu(x, _p) = 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2));
define!(
    f64,
    GeluTanh(x, _p) = {
        /// √(2/π)
        const BETA: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
        0.5 * x * (1.0 + (BETA * (x + 0.044_715 * x * x * x)).tanh())
    }
);
define!(f64, Elu(x, p) = if x > 0.0 { x * p[1] } else { (x * p[2]).exp_m1() * p[0] });
define!(f64, Logit(x, _p) = (x / (1.0 - x)).ln());
define!(
    f64,
    LogitClamped(x, p) = {
        let z = clamp!(x, p[0], 1.0 - p[0]);
        (z / (1.0 - z)).ln()
    }
);
define!(f64, Affine(x, p) = L::fma64(x, p[0], p[1]));

/// arcosh; `libm` is accurate but does not check its domain.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The C library's function takes over where the reduction of the argument would lose bits.
macro_rules! with_rare {
    ($name:ident, $exact:ident) => {
        impl Map1<f32> for $name {
            const HAS_RARE: bool = true;

            #[inline(always)]
            fn apply<L: Level>(x: f32, _p: Params<f32>) -> f32 {
                trig::$exact::<L>(x)
            }

            #[inline(always)]
            fn is_rare(x: f32) -> bool {
                x.abs() > trig::LIMIT
            }

            fn slow(x: f32, _p: Params<f32>) -> f32 {
                x.$exact()
            }
        }
    };
}
with_rare!(Sin, sin);
with_rare!(Cos, cos);

macro_rules! lookup {
    ($t:ty, $math:ident) => {
        impl Lookup for $t {
            fn lookup(op: Unary) -> (Loop1<$t, $t>, Params<$t>) {
                // What is exact, or one instruction, runs at memory speed on AVX2 already for f64.
                let none = [0.0; 3];
                match op {
                    Unary::Abs => (narrow1::<_, _, Abs>, none),
                    Unary::Neg => (narrow1::<_, _, Neg>, none),
                    Unary::Sign => (narrow1::<_, _, Sign>, none),
                    Unary::Ceil => (narrow1::<_, _, Ceil>, none),
                    Unary::Floor => (narrow1::<_, _, Floor>, none),
                    Unary::Trunc => (narrow1::<_, _, Trunc>, none),
                    Unary::Round => (narrow1::<_, _, Round>, none),
                    Unary::Sqrt => (narrow1::<_, _, Sqrt>, none),
                    Unary::Rsqrt => (narrow1::<_, _, Rsqrt>, none),
                    Unary::Reciprocal => (narrow1::<_, _, Reciprocal>, none),
                    Unary::Square => (narrow1::<_, _, Square>, none),
                    Unary::Exp => ($math::<_, _, Exp>, none),
                    Unary::Expm1 => ($math::<_, _, Expm1>, none),
                    Unary::Log => ($math::<_, _, Log>, none),
                    Unary::Log1p => ($math::<_, _, Log1p>, none),
                    Unary::Log2 => ($math::<_, _, Log2>, none),
                    Unary::Log10 => ($math::<_, _, Log10>, none),
                    Unary::Sin => ($math::<_, _, Sin>, none),
                    Unary::Cos => ($math::<_, _, Cos>, none),
                    Unary::Tan => (plain1::<_, _, Tan>, none),
                    Unary::Asin => (plain1::<_, _, Asin>, none),
                    Unary::Acos => (plain1::<_, _, Acos>, none),
                    Unary::Atan => (plain1::<_, _, Atan>, none),
                    Unary::Sinh => (plain1::<_, _, Sinh>, none),
                    Unary::Cosh => (plain1::<_, _, Cosh>, none),
                    Unary::Tanh => ($math::<_, _, Tanh>, none),
                    Unary::Asinh => (plain1::<_, _, Asinh>, none),
                    Unary::Acosh => (plain1::<_, _, Acosh>, none),
                    Unary::Atanh => (plain1::<_, _, Atanh>, none),
                    Unary::Erf => ($math::<_, _, Erf>, none),
                    Unary::Sigmoid => ($math::<_, _, Sigmoid>, none),
                    Unary::Silu => ($math::<_, _, Silu>, none),
                    Unary::Gelu => ($math::<_, _, Gelu>, none),
                    Unary::GeluTanh => ($math::<_, _, GeluTanh>, none),
                    Unary::Relu => (narrow1::<_, _, Relu>, none),
                    Unary::Hardswish => (narrow1::<_, _, Hardswish>, none),
                    Unary::Hardsigmoid => (narrow1::<_, _, Hardsigmoid>, none),
                    Unary::Clamp { min, max } => (narrow1::<_, _, Clamp>, [min as $t, max as $t, 0.0]),
                    Unary::Elu { alpha, scale, input_scale } => {
                        ($math::<_, _, Elu>, [(alpha * scale) as $t, scale as $t, input_scale as $t])
                    }
                    Unary::LeakyRelu { slope } => (narrow1::<_, _, LeakyRelu>, [slope as $t, 0.0, 0.0]),
                    Unary::Logit { eps: None } => ($math::<_, _, Logit>, none),
                    Unary::Logit { eps: Some(eps) } => ($math::<_, _, LogitClamped>, [eps as $t, 0.0, 0.0]),
                    Unary::Affine { scale, shift } => {
                        (narrow1::<_, _, Affine>, [scale as $t, shift as $t, 0.0])
                    }
                }
            }
        }
    };
}
lookup!(f32, wide1);
lookup!(f64, plain1);
