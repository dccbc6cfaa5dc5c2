//! Discrete Fourier transforms of one line: Stockham's algorithm with mixed radices, and Bluestein's for lengths that
//! have a large prime factor. A complex number is a pair of a real and an imaginary part.

use crate::op::Context;
use bytemuck::Pod;
use executorch_abi::Result;
use executorch_simd::Real;
use std::f64::consts::PI;

/// A type that transforms are made in: f32 or f64.
pub trait Scalar: Real + Pod {}
impl<T: Real + Pod> Scalar for T {}

/// The largest prime factor that is transformed directly.
const DIRECT: usize = 31;

/// How lines of one length are transformed.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a, T> {
    n: usize,
    /// e^(-2πi t / n) for t in 0..n.
    roots: &'a [[T; 2]],
    bluestein: Option<Bluestein<'a, T>>,
}

/// A transform as a convolution with a chirp, of a length that is a power of two.
#[derive(Debug, Clone, Copy)]
struct Bluestein<'a, T> {
    m: usize,
    roots: &'a [[T; 2]],
    /// e^(-πi t² / n) for t in 0..n.
    chirp: &'a [[T; 2]],
    /// The transform of the chirp's conjugate, divided by m.
    filter: &'a [[T; 2]],
}

/// e^(-2πi t / n) for the first values of t.
fn fill_roots<T: Scalar>(roots: &mut [[T; 2]], n: usize) {
    for (t, root) in roots.iter_mut().enumerate() {
        *root = unit(t, n);
    }
}

/// e^(-2πi t / n).
fn unit<T: Scalar>(t: usize, n: usize) -> [T; 2] {
    let (sin, cos) = (2.0 * PI * t as f64 / n as f64).sin_cos();
    [T::of_f64(cos), T::of_f64(-sin)]
}

fn times<T: Scalar>(a: [T; 2], b: [T; 2]) -> [T; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn plus<T: Scalar>(a: [T; 2], b: [T; 2]) -> [T; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn minus<T: Scalar>(a: [T; 2], b: [T; 2]) -> [T; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn conjugate<T: Scalar>(a: [T; 2]) -> [T; 2] {
    [a[0], T::default() - a[1]]
}

/// -i a
fn turned<T: Scalar>(a: [T; 2]) -> [T; 2] {
    [a[1], T::default() - a[0]]
}

/// The next factor of `n`: 4 before 2, then the primes.
fn factor(n: usize) -> usize {
    if n.is_multiple_of(4) {
        return 4;
    }
    (2..).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)).unwrap_or(n)
}

fn largest_factor(mut n: usize) -> usize {
    let mut largest = 1;
    while n > 1 {
        let p = factor(n);
        largest = largest.max(p);
        n /= p;
    }
    largest
}

impl<'a, T: Scalar> Plan<'a, T> {
    /// A plan for lines of `n` numbers, in memory of the call.
    pub fn new(context: &mut Context, n: usize) -> Result<Self> {
        let roots = context.scratch::<[T; 2]>(n)?;
        fill_roots(roots, n);
        let bluestein = if largest_factor(n) > DIRECT { Some(Bluestein::new(context, n)?) } else { None };
        Ok(Self { n, roots, bluestein })
    }

    /// Complex numbers of scratch that a transform needs.
    pub fn scratch_len(&self) -> usize {
        self.bluestein.map_or(self.n, |b| 2 * b.m)
    }

    /// Transforms `line` in place, without a factor; backwards with the other sign of the exponent.
    ///
    /// # Panics
    /// If `line` has not `n` numbers or the scratch is shorter than [`Plan::scratch_len`].
    pub fn run(&self, backward: bool, line: &mut [[T; 2]], scratch: &mut [[T; 2]]) {
        assert!(line.len() == self.n, "a line of another length");
        // The backward transform is the forward one between two conjugations.
        if backward {
            line.iter_mut().for_each(|x| *x = conjugate(*x));
        }
        match &self.bluestein {
            Some(bluestein) => bluestein.run(line, scratch),
            None => stockham(self.roots, line, &mut scratch[..self.n]),
        }
        if backward {
            line.iter_mut().for_each(|x| *x = conjugate(*x));
        }
    }
}

impl<T: Scalar> Bluestein<'_, T> {
    fn new(context: &mut Context, n: usize) -> Result<Self> {
        let m = (2 * n - 1).next_power_of_two();
        let roots = context.scratch::<[T; 2]>(m)?;
        fill_roots(roots, m);
        let chirp = context.scratch::<[T; 2]>(n)?;
        // t² modulo 2n keeps the angle exact.
        for (t, root) in chirp.iter_mut().enumerate() {
            *root = unit((t as u128 * t as u128 % (2 * n as u128)) as usize, 2 * n);
        }
        let filter = context.scratch::<[T; 2]>(m)?;
        filter.fill([T::default(); 2]);
        let scale = T::of_f64(1.0 / m as f64);
        for (t, &root) in chirp.iter().enumerate() {
            let value = conjugate(root).map(|v| v * scale);
            filter[t] = value;
            if t > 0 {
                filter[m - t] = value;
            }
        }
        stockham(roots, filter, context.scratch(m)?);
        Ok(Self { m, roots, chirp, filter })
    }

    fn run(&self, line: &mut [[T; 2]], scratch: &mut [[T; 2]]) {
        let (x, scratch) = scratch.split_at_mut(self.m);
        let scratch = &mut scratch[..self.m];
        x.fill([T::default(); 2]);
        for ((x, &value), &chirp) in x.iter_mut().zip(line.iter()).zip(self.chirp) {
            *x = times(value, chirp);
        }
        stockham(self.roots, x, scratch);
        // Conjugated, so that the forward transform goes back.
        for (x, &filter) in x.iter_mut().zip(self.filter) {
            *x = conjugate(times(*x, filter));
        }
        stockham(self.roots, x, scratch);
        for ((value, &x), &chirp) in line.iter_mut().zip(x.iter()).zip(self.chirp) {
            *value = times(conjugate(x), chirp);
        }
    }
}

/// Transforms of an even number of real numbers as half as many complex ones: number t holds the reals 2t and 2t + 1.
#[derive(Debug, Clone, Copy)]
pub struct Halves<'a, T> {
    /// n / 2
    half: usize,
    /// e^(-2πi f / n) for f in 0..=n / 4.
    roots: &'a [[T; 2]],
}

impl<T: Scalar> Halves<'_, T> {
    /// For `n` real numbers, an even number, in memory of the call.
    pub fn new(context: &mut Context, n: usize) -> Result<Self> {
        let roots = context.scratch::<[T; 2]>(n / 4 + 1)?;
        fill_roots(roots, n);
        Ok(Self { half: n / 2, roots })
    }

    /// Makes the first n / 2 + 1 numbers of the transform of the real numbers of the transform of the complex ones.
    ///
    /// # Panics
    /// If `line` has not that many numbers.
    pub fn forward(&self, line: &mut [[T; 2]]) {
        let half = T::of_f64(0.5);
        line[self.half] = line[0];
        for (f, &root) in self.roots.iter().enumerate() {
            let (a, b) = (line[f], conjugate(line[self.half - f]));
            let even = plus(a, b).map(|v| v * half);
            let odd = times(turned(minus(a, b).map(|v| v * half)), root);
            line[f] = plus(even, odd);
            line[self.half - f] = conjugate(minus(even, odd));
        }
    }

    /// The inverse of [`Halves::forward`], times two.
    ///
    /// # Panics
    /// If `line` has not n / 2 + 1 numbers.
    pub fn backward(&self, line: &mut [[T; 2]]) {
        for (f, &root) in self.roots.iter().enumerate() {
            let (a, b) = (line[f], conjugate(line[self.half - f]));
            let even = plus(a, b);
            // The conjugate of -i times the conjugate is i times the number.
            let odd = conjugate(turned(conjugate(times(minus(a, b), conjugate(root)))));
            line[self.half - f] = conjugate(minus(even, odd));
            line[f] = plus(even, odd);
        }
    }
}

/// Transforms `line` in place; every step reads one of the two arrays and writes the other.
fn stockham<T: Scalar>(roots: &[[T; 2]], line: &mut [[T; 2]], scratch: &mut [[T; 2]]) {
    let n = line.len();
    let (mut done, mut in_line) = (1, true);
    while done < n {
        let p = factor(n / done);
        let (from, to) = if in_line { (&*line, &mut *scratch) } else { (&*scratch, &mut *line) };
        match p {
            2 => step::<T, 2>(roots, from, to, done, |[a, b]| [plus(a, b), minus(a, b)]),
            3 => step::<T, 3>(roots, from, to, done, three),
            4 => step::<T, 4>(roots, from, to, done, four),
            5 => step::<T, 5>(roots, from, to, done, five),
            _ => any_step(roots, from, to, done, p),
        }
        in_line = !in_line;
        done *= p;
    }
    if !in_line {
        line.copy_from_slice(scratch);
    }
}

/// One step: of the lines that the steps before have made of `done`, each is split into `P` of a `P`th of its length.
#[inline(always)]
fn step<T: Scalar, const P: usize>(
    roots: &[[T; 2]],
    from: &[[T; 2]],
    to: &mut [[T; 2]],
    done: usize,
    butterfly: impl Fn([[T; 2]; P]) -> [[T; 2]; P],
) {
    let width = from.len() / (P * done);
    for (k, from) in from.chunks_exact(P * width).enumerate() {
        for i in 0..width {
            let values = butterfly(std::array::from_fn(|q| from[i + q * width]));
            to[i + k * width] = values[0];
            for (j, &value) in values.iter().enumerate().skip(1) {
                to[i + (k + done * j) * width] = times(value, roots[j * i * done]);
            }
        }
    }
}

/// [`step`] for any factor up to [`DIRECT`].
fn any_step<T: Scalar>(roots: &[[T; 2]], from: &[[T; 2]], to: &mut [[T; 2]], done: usize, p: usize) {
    let n = from.len();
    let width = n / (p * done);
    for (k, from) in from.chunks_exact(p * width).enumerate() {
        for i in 0..width {
            for j in 0..p {
                let terms = (0..p).map(|q| times(from[i + q * width], roots[q * j % p * (n / p)]));
                let value = terms.fold([T::default(); 2], plus);
                to[i + (k + done * j) * width] = times(value, roots[j * i * done]);
            }
        }
    }
}

#[inline(always)]
fn three<T: Scalar>([a, b, c]: [[T; 2]; 3]) -> [[T; 2]; 3] {
    let (sum, difference) = (plus(b, c), turned(minus(b, c)));
    let middle = plus(a, sum.map(|v| v * T::of_f64(-0.5)));
    let side = difference.map(|v| v * T::of_f64(0.75_f64.sqrt()));
    [plus(a, sum), plus(middle, side), minus(middle, side)]
}

#[inline(always)]
fn four<T: Scalar>([a, b, c, d]: [[T; 2]; 4]) -> [[T; 2]; 4] {
    let (even, odd) = (plus(a, c), plus(b, d));
    let (other_even, other_odd) = (minus(a, c), turned(minus(b, d)));
    [plus(even, odd), plus(other_even, other_odd), minus(even, odd), minus(other_even, other_odd)]
}

#[inline(always)]
fn five<T: Scalar>([a, b, c, d, e]: [[T; 2]; 5]) -> [[T; 2]; 5] {
    let root = 5_f64.sqrt();
    let (cos1, cos2) = (T::of_f64((root - 1.0) / 4.0), T::of_f64((-root - 1.0) / 4.0));
    let (sin1, sin2) =
        (T::of_f64((10.0 + 2.0 * root).sqrt() / 4.0), T::of_f64((10.0 - 2.0 * root).sqrt() / 4.0));
    let (outer, inner) = (plus(b, e), plus(c, d));
    let (outer_turned, inner_turned) = (turned(minus(b, e)), turned(minus(c, d)));
    let scaled = |x: [T; 2], by: T| x.map(|v| v * by);
    let first = plus(a, plus(scaled(outer, cos1), scaled(inner, cos2)));
    let second = plus(a, plus(scaled(outer, cos2), scaled(inner, cos1)));
    let first_side = plus(scaled(outer_turned, sin1), scaled(inner_turned, sin2));
    let second_side = minus(scaled(outer_turned, sin2), scaled(inner_turned, sin1));
    [
        plus(a, plus(outer, inner)),
        plus(first, first_side),
        plus(second, second_side),
        minus(second, second_side),
        minus(first, first_side),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum by definition, with exact angles.
    fn naive(x: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let n = x.len();
        let term = |f: usize, t: usize| times(x[t], unit(f * t % n, n));
        (0..n).map(|f| (0..n).map(|t| term(f, t)).fold([0.0; 2], plus)).collect()
    }

    fn numbers(n: usize) -> Vec<[f64; 2]> {
        (0..n).map(|t| [(t as f64 * 0.7).sin(), (t as f64 * 1.3 + 0.2).cos()]).collect()
    }

    fn close(a: &[[f64; 2]], b: &[[f64; 2]]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| (a[0] - b[0]).abs() < 1e-9 && (a[1] - b[1]).abs() < 1e-9)
    }

    #[test]
    fn every_radix_agrees_with_the_definition() {
        for n in (1..70).chain([74, 96, 111, 120, 127, 128, 210, 211, 400, 541]) {
            let x = numbers(n);
            let mut roots = vec![[0.0; 2]; n];
            fill_roots(&mut roots, n);
            let mut line = x.clone();
            stockham(&roots, &mut line, &mut vec![[0.0; 2]; n]);
            assert!(close(&line, &naive(&x)), "length {n}");
        }
    }

    #[test]
    fn halves_agree_with_the_definition() {
        for n in [2, 4, 6, 8, 10, 12, 18, 30] {
            let real: Vec<f64> = numbers(n).iter().map(|v| v[0]).collect();
            let expected = naive(&real.iter().map(|&v| [v, 0.0]).collect::<Vec<_>>());
            let mut roots = vec![[0.0; 2]; n / 4 + 1];
            fill_roots(&mut roots, n);
            let halves = Halves { half: n / 2, roots: &roots };
            let packed: Vec<[f64; 2]> = real.chunks(2).map(|c| [c[0], c[1]]).collect();
            let mut line = naive(&packed);
            line.push([0.0; 2]);
            halves.forward(&mut line);
            assert!(close(&line, &expected[..n / 2 + 1]), "length {n}");
            halves.backward(&mut line);
            let twice: Vec<[f64; 2]> = naive(&packed).iter().map(|v| v.map(|v| 2.0 * v)).collect();
            assert!(close(&line[..n / 2], &twice), "length {n}, back");
        }
    }
}
