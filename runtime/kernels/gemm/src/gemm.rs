//! The product `C = activation(alpha · A·B + beta · D + R)`: checks, choice of path, split over threads.

use crate::block::{ASource, BSource, Block, a_scratch_len};
use crate::error::{Error, Result, product};
use crate::isa::{Element, Isa, Kernels};
use crate::matrix::{Matrix, MatrixMut};
use crate::micro::{Init, Post};
use crate::pack::{PackedA, PackedB, align_offset, line, pack_b_panel};
use crate::pool::{self, Pool, Shared, Slots, TASKS_PER_THREAD};

/// The left operand.
#[derive(Debug, Clone, Copy)]
pub enum Lhs<'a, T> {
    /// As it lies in memory.
    View(Matrix<'a, T>),
    /// Packed before.
    Packed(&'a PackedA<T>),
}

/// The right operand.
#[derive(Debug, Clone, Copy)]
pub enum Rhs<'a, T> {
    /// As it lies in memory.
    View(Matrix<'a, T>),
    /// Packed before.
    Packed(&'a PackedB<T>),
}

/// What is added to the product.
#[derive(Debug, Clone, Copy)]
pub enum Addend<'a, T> {
    /// Nothing.
    None,
    /// One value for each column: `N` values, the bias of a linear layer.
    Row(&'a [T]),
    /// One value for each row: `M` values.
    Col(&'a [T]),
    /// An `M × N` matrix, of any strides (0 broadcasts).
    Full(Matrix<'a, T>),
}

/// What is applied to each result. NaN stays NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation<T> {
    /// Nothing.
    None,
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, low), high)`.
    Clamp(T, T),
    /// `x · min(max(x / 6 + 1/2, 0), 1)`.
    HardSwish,
}

/// A product, described; [`Product::run`] computes it.
///
/// If `alpha` or `beta` is 0, what it multiplies is not read, as in PyTorch.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a, T> {
    /// `M × K`.
    pub a: Lhs<'a, T>,
    /// `K × N`.
    pub b: Rhs<'a, T>,
    /// Factor of the product.
    pub alpha: T,
    /// Factor of the addend.
    pub beta: T,
    /// What is added.
    pub addend: Addend<'a, T>,
    /// What else is added, as it is: an `M × N` matrix, best with contiguous rows.
    pub residual: Option<Matrix<'a, T>>,
    /// What is applied last.
    pub activation: Activation<T>,
    /// The instruction set, for operands that are not packed; packed ones bring their own.
    pub isa: Isa,
}

/// Up to this many rows, an unpacked B is streamed as it lies instead of being packed.
const STREAM_ROWS: usize = 4;
/// Up to this many columns, plain rows of A are read in place: packing them would not pay.
const DIRECT_COLS: usize = 96;
/// Up to this many rows, plain rows of B are read in place: packing them would not pay.
const DIRECT_ROWS: usize = 28;

impl<'a, T: Element> Product<'a, T> {
    /// The plain product of two operands.
    pub fn new(a: Lhs<'a, T>, b: Rhs<'a, T>) -> Self {
        Self {
            a,
            b,
            alpha: T::ONE,
            beta: T::ONE,
            addend: Addend::None,
            residual: None,
            activation: Activation::None,
            isa: Isa::active(),
        }
    }

    /// `[M, N, K]`. Fails if the operands do not fit each other.
    pub fn shape(&self) -> Result<[usize; 3]> {
        let (m, k) = match self.a {
            Lhs::View(a) => (a.rows(), a.cols()),
            Lhs::Packed(a) => (a.m, a.k),
        };
        let (k2, n) = match self.b {
            Rhs::View(b) => (b.rows(), b.cols()),
            Rhs::Packed(b) => (b.k, b.n),
        };
        if k != k2 {
            return Err(Error::new(format!("cannot multiply {m}x{k} by {k2}x{n}: the inner sizes differ")));
        }
        product("matrix product", &[m.max(1), n.max(1), k.max(1)])?;
        Ok([m, n, k])
    }

    fn kernels(&self) -> Result<&'static Kernels<T>> {
        let mut isa = self.isa;
        if let Rhs::Packed(b) = self.b {
            isa = b.isa;
        }
        if let Lhs::Packed(a) = self.a {
            if matches!(self.b, Rhs::Packed(b) if b.isa != a.isa) {
                return Err(Error::new(format!(
                    "A is packed for {}, B for {}: pack both for one instruction set",
                    a.isa.name(),
                    isa.name()
                )));
            }
            isa = a.isa;
        }
        T::kernels(isa)
    }

    /// Elements of scratch that [`Product::run`] needs on this pool.
    pub fn scratch_len(&self, pool: &dyn Pool) -> Result<usize> {
        let [m, n, k] = self.shape()?;
        let kernels = self.kernels()?;
        if self.stream().is_some() {
            return Ok(0);
        }
        let b = match self.b {
            Rhs::View(_) => product("scratch", &[n.next_multiple_of(kernels.nr()), k])?,
            Rhs::Packed(_) => 0,
        };
        let a = match self.a {
            Lhs::View(_) => a_scratch_len(kernels, m, k),
            Lhs::Packed(_) => 0,
        };
        let slots = pool::useful_threads(pool, pool::product_work(m, n, k));
        Ok(line::<T>() + b.next_multiple_of(line::<T>()) + slots * a.next_multiple_of(line::<T>()))
    }

    fn check(&self, [m, n, k]: [usize; 3], out: &MatrixMut<'_, T>) -> Result<()> {
        if (out.rows, out.cols) != (m, n) {
            return Err(Error::new(format!(
                "the output of {m}x{k} by {k}x{n} is {m}x{n}, but {}x{} was given",
                out.rows, out.cols
            )));
        }
        let fits = match self.addend {
            Addend::None => true,
            Addend::Row(d) => d.len() >= n,
            Addend::Col(d) => d.len() >= m,
            Addend::Full(d) => (d.rows(), d.cols()) == (m, n),
        };
        if !fits || self.residual.is_some_and(|r| (r.rows(), r.cols()) != (m, n)) {
            return Err(Error::new(format!("the addend or residual does not fit the {m}x{n} output")));
        }
        Ok(())
    }

    /// Computes the product into `out`. `scratch` has at least [`Product::scratch_len`] elements, of
    /// any value; nothing is allocated. On an error `out` is unchanged.
    pub fn run(&self, pool: &dyn Pool, scratch: &mut [T], mut out: MatrixMut<'_, T>) -> Result<()> {
        let shape @ [m, n, k] = self.shape()?;
        let kernels = self.kernels()?;
        self.check(shape, &out)?;
        let need = self.scratch_len(pool)?;
        if scratch.len() < need {
            return Err(Error::new(format!(
                "a {m}x{n}x{k} product needs {need} elements of scratch, got {}",
                scratch.len()
            )));
        }
        if m == 0 || n == 0 {
            return Ok(());
        }
        let addend = if self.beta == T::ZERO { Addend::None } else { self.addend };
        if k == 0 || self.alpha == T::ZERO {
            for i in 0..m {
                let start = i * out.row_stride;
                out.data[start..start + n].fill(T::ZERO);
            }
            self.finish(addend, &mut out);
            return Ok(());
        }
        // What the tiles can do themselves: plain sums with contiguous addends.
        let plain = self.alpha == T::ONE
            && (self.beta == T::ONE || matches!(addend, Addend::None))
            && self.residual.is_none_or(|r| r.col_stride() == 1);
        let fused = match addend {
            _ if !plain => None,
            Addend::None => Some((Init::Zero, std::ptr::null(), 0)),
            Addend::Row(d) => Some((Init::Rows, d.as_ptr(), 0)),
            Addend::Col(d) => Some((Init::Splat, d.as_ptr(), 1)),
            Addend::Full(d) if d.col_stride() == 1 => Some((Init::Rows, d.as_ptr(), d.row_stride())),
            Addend::Full(d) if d.col_stride() == 0 => Some((Init::Splat, d.as_ptr(), d.row_stride())),
            Addend::Full(_) => None,
        };
        if let Some(stream) = self.stream() {
            stream.run(kernels, pool, &mut out);
            self.finish(addend, &mut out);
            return Ok(());
        }
        let (init, init_at, init_row) = fused.unwrap_or((Init::Zero, std::ptr::null(), 0));
        self.blocked(kernels, pool, scratch, &mut out, (init, init_at, init_row), fused.is_some())?;
        if fused.is_none() {
            self.finish(addend, &mut out);
        }
        Ok(())
    }

    /// How a product is computed whose operands are read once, as they lie.
    fn stream(&self) -> Option<Stream<'a, T>> {
        let (Lhs::View(a), Rhs::View(b)) = (self.a, self.b) else { return None };
        let few = a.rows() <= STREAM_ROWS;
        let dots = a.col_stride() == 1 && b.row_stride() == 1 && (few || b.cols() == 1);
        match () {
            () if few && b.col_stride() == 1 => Some(Stream::Rows(a, b)),
            () if dots => Some(Stream::Dots(a, b)),
            () => None,
        }
    }

    /// The general path, which also adds the residual and activates if it `finishes`: B packed by all threads (if it was not), then blocks of C as tasks.
    fn blocked(
        &self,
        kernels: &'static Kernels<T>,
        pool: &dyn Pool,
        scratch: &mut [T],
        out: &mut MatrixMut<'_, T>,
        (init, init_at, init_row): (Init, *const T, usize),
        finishes: bool,
    ) -> Result<()> {
        let [m, n, k] = [out.rows, out.cols, self.depth()];
        let nr = kernels.nr();
        let threads = pool::useful_threads(pool, pool::product_work(m, n, k));
        let start = align_offset(scratch);
        let scratch = &mut scratch[start..];
        let b_len = match self.b {
            Rhs::View(_) => (n.next_multiple_of(nr) * k).next_multiple_of(line::<T>()),
            Rhs::Packed(_) => 0,
        };
        let (packed_b, scratch) = scratch.split_at_mut(b_len);
        let b = match self.b {
            Rhs::Packed(b) => BSource::Packed { data: b.data()?.as_ptr() },
            Rhs::View(b) => {
                let to = Shared::new(packed_b);
                let direct = b.col_stride() == 1 && m <= DIRECT_ROWS;
                let panels = n.div_ceil(nr);
                if direct {
                    let tail = to.get().wrapping_add((panels - 1) * nr * k);
                    if n % nr != 0 {
                        // SAFETY: `packed_b` holds every panel.
                        unsafe { pack_b_panel(kernels, &b, panels - 1, tail) };
                    }
                    BSource::Direct { data: b.as_ptr(), ld: b.row_stride(), tail, n }
                } else {
                    let tasks = if threads == 1 { 1 } else { (threads * 2).min(panels) };
                    pool::run(pool, tasks, &|task| {
                        for panel in pool::part(panels, tasks, task) {
                            // SAFETY: `packed_b` holds every panel, and this task owns this one.
                            unsafe { pack_b_panel(kernels, &b, panel, to.get().add(panel * nr * k)) };
                        }
                    });
                    BSource::Packed { data: to.get() }
                }
            }
        };
        let (a, row_unit) = match self.a {
            Lhs::Packed(a) => (ASource::Packed { data: a.data()?.as_ptr(), mr: a.mr }, a.mr),
            Lhs::View(a) => {
                let aliases = (a.row_stride() * size_of::<T>()).is_multiple_of(1024);
                let few = m <= kernels.mr_direct || (n <= DIRECT_COLS && !aliases);
                if a.col_stride() == 1 && few {
                    (ASource::Direct(a), kernels.mr_direct)
                } else {
                    (ASource::Pack(a), kernels.mr)
                }
            }
        };
        let each = match a {
            ASource::Pack(_) => a_scratch_len(kernels, m, k).next_multiple_of(line::<T>()),
            _ => 0,
        };
        let slots = Slots::new(scratch, threads, each);
        let c_row = out.row_stride;
        let c = Shared::new(out.data);
        let init_at = Shared::from_const(init_at);
        let residual = self.residual.filter(|_| finishes);
        let residual_row = residual.map_or(0, |r| r.row_stride());
        let residual = Shared::from_const(residual.map_or(std::ptr::null(), |r| r.as_ptr()));
        let post = if finishes { Post::new(self.activation) } else { Post::None };
        let b = Shareable(b);
        let a = Shareable(a);
        let (m_units, n_units) = (m.div_ceil(row_unit), n.div_ceil(nr));
        let [m_tasks, n_tasks] =
            split(threads, [m_units, n_units], pool::product_work(m, n, k), matches!(a.0, ASource::Pack(_)));
        pool::run(pool, m_tasks * n_tasks, &|task| {
            let (a, b) = (&a, &b);
            let rows = pool::part(m_units, m_tasks, task % m_tasks);
            let cols = pool::part(n_units, n_tasks, task / m_tasks);
            let block = Block {
                kernels,
                k,
                a: a.0,
                b: b.0,
                c: c.get(),
                c_row,
                init,
                init_at: init_at.get(),
                init_row,
                residual: residual.get(),
                residual_row,
                post,
            };
            let rows = rows.start * row_unit..(rows.end * row_unit).min(m);
            let cols = cols.start * nr..(cols.end * nr).min(n);
            let mut slot = slots.take();
            // SAFETY: every view was checked against its slice; tasks own disjoint parts of C.
            unsafe { block.run(rows, cols, slot.get()) };
        });
        Ok(())
    }

    fn depth(&self) -> usize {
        match self.a {
            Lhs::View(a) => a.cols(),
            Lhs::Packed(a) => a.k,
        }
    }

    /// `out = activation(alpha · out + beta · addend + residual)`, where the tiles could not do it.
    fn finish(&self, addend: Addend<'_, T>, out: &mut MatrixMut<'_, T>) {
        let (m, n) = (out.rows, out.cols);
        let post = Post::new(self.activation);
        for i in 0..m {
            let start = i * out.row_stride;
            let row = &mut out.data[start..start + n];
            if self.alpha != T::ONE {
                row.iter_mut().for_each(|c| *c = *c * self.alpha);
            }
            match addend {
                Addend::None => {}
                Addend::Row(d) => {
                    row.iter_mut().zip(d).for_each(|(c, &d)| *c = *c + self.beta * d);
                }
                Addend::Col(d) => {
                    let add = self.beta * d[i];
                    row.iter_mut().for_each(|c| *c = *c + add);
                }
                Addend::Full(d) => {
                    for (j, c) in row.iter_mut().enumerate() {
                        *c = *c + self.beta * d.get(i, j);
                    }
                }
            }
            if let Some(r) = self.residual {
                row.iter_mut().enumerate().for_each(|(j, c)| *c = *c + r.get(i, j));
            }
            row.iter_mut().for_each(|c| *c = post.apply(*c));
        }
    }
}

/// Products that only stream through one operand: a row (or a few) times B, or A times a column.
enum Stream<'a, T> {
    /// B has contiguous rows, of which multiples are added up.
    Rows(Matrix<'a, T>, Matrix<'a, T>),
    /// Both have contiguous K.
    Dots(Matrix<'a, T>, Matrix<'a, T>),
}

impl<T: Element> Stream<'_, T> {
    /// The bare product.
    fn run(&self, kernels: &'static Kernels<T>, pool: &dyn Pool, out: &mut MatrixMut<'_, T>) {
        let (Self::Rows(a, b) | Self::Dots(a, b)) = self;
        let (m, n, k) = (a.rows(), b.cols(), a.cols());
        let tasks = match pool::useful_threads(pool, pool::product_work(m, n, k)) {
            1 => 1,
            threads => threads * TASKS_PER_THREAD,
        };
        let c = Shared::new(out.data);
        let c_row = out.row_stride;
        match self {
            Self::Rows(..) => {
                let panels = n.div_ceil(kernels.nr());
                let tasks = tasks.min(panels);
                pool::run(pool, tasks, &|task| {
                    let panels = pool::part(panels, tasks, task);
                    let cols = panels.start * kernels.nr()..(panels.end * kernels.nr()).min(n);
                    for i in 0..m {
                        // SAFETY: columns `cols` of row `i` belong to this task, and the views are checked.
                        unsafe {
                            let c = c.get().add(i * c_row + cols.start);
                            std::slice::from_raw_parts_mut(c, cols.len()).fill(T::ZERO);
                            let (a_at, b_at) = (a.at(i, 0), b.at(0, cols.start));
                            (kernels.axpy_rows)(k, a_at, a.col_stride(), b_at, b.row_stride(), c, cols.len());
                        }
                    }
                });
            }
            Self::Dots(..) => {
                // The larger side is shared out, and read once.
                let few = m <= STREAM_ROWS;
                let (outer, inner) = if few { (n, m) } else { (m, n) };
                let tasks = tasks.min(outer);
                pool::run(pool, tasks, &|task| {
                    for o in pool::part(outer, tasks, task) {
                        for i in 0..inner {
                            let (row, col) = if few { (i, o) } else { (o, i) };
                            // SAFETY: element `(row, col)` belongs to this task; the views are checked.
                            unsafe {
                                *c.get().add(row * c_row + col) =
                                    (kernels.dot)(k, a.at(row, 0), b.at(0, col));
                            }
                        }
                    }
                });
            }
        }
    }
}

/// Operand pointers that every task reads.
struct Shareable<S>(S);

// SAFETY: these are only read while tasks run.
unsafe impl<S> Sync for Shareable<S> {}

/// How many tasks share the rows and the columns. When each task packs A itself, rows are split
/// first, so that no rows are packed twice; else columns, so that each task keeps its part of B.
fn split(threads: usize, units: [usize; 2], macs: usize, packs_a: bool) -> [usize; 2] {
    if threads == 1 {
        return [1, 1];
    }
    let want = (threads * TASKS_PER_THREAD).min(macs / (pool::GRAIN_MACS / 2)).max(1);
    let first = usize::from(!packs_a);
    // Few panels for each task would read the other operand too often.
    let least = if packs_a { 4 } else { 1 };
    let mut tasks = [1, 1];
    tasks[first] = want.min(units[first].div_ceil(least));
    tasks[1 - first] = want.div_ceil(tasks[first]).min(units[1 - first]);
    tasks
}
