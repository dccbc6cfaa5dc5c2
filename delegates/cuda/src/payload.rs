//! What a program holds for the delegate: which named data is the library, and which are its constants.
//!
//! Three forms are known:
//! * the one of upstream 1.5's release, a binary list that starts with `ETCUDAFQN`: one named datum for each constant;
//! * before, two lines of text: the key of the library, and that of a file with all constants;
//! * before that, nothing: the keys follow from the method's name.

use executorch_abi::error::*;
use executorch_abi::{Dtype, Error, Result};

/// How the lists of constants start; the digit tells the version.
const MAGIC: &[u8; 9] = b"ETCUDAFQN";
/// More than any model has.
const MAX_ENTRIES: u32 = 1 << 20;
const MAX_VARIANTS: u32 = 256;
const MAX_RANK: u32 = 64;
/// Element types of constants that AOTInductor's containers have without PyTorch.
const DTYPES: [Dtype; 9] = [
    Dtype::UInt8,
    Dtype::Int8,
    Dtype::Int16,
    Dtype::Int32,
    Dtype::Int64,
    Dtype::Float16,
    Dtype::Float32,
    Dtype::Bool,
    Dtype::BFloat16,
];

/// A payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// One library, and one file with all its constants.
    Blob {
        /// The library's key.
        library: String,
        /// The constants' key; there may be no data under it if there are no constants.
        weights: String,
    },
    /// Libraries for different GPUs, and named data for each constant.
    List {
        /// At least one.
        variants: Vec<Variant>,
        /// The constants.
        weights: Vec<Weight>,
    },
}

/// A library for some GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The compute capability that it was compiled for (90 is 9.0); 0 if the payload does not say.
    pub capability: u32,
    /// The compute capability from which on its PTX can be compiled; 0 if it has none.
    pub ptx: u32,
    /// The library's key.
    pub library: String,
    /// It is for GPUs only that no other variant is for.
    pub fallback_only: bool,
}

/// A constant: a view of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// Its name in the model.
    pub name: String,
    /// The key of its storage.
    pub storage: String,
    /// The storage's bytes.
    pub bytes: usize,
    /// The element type.
    pub dtype: Dtype,
    /// Whether it belongs on the device; else on the host.
    pub on_device: bool,
    /// The first element in the storage.
    pub offset: i64,
    /// The sizes, outermost first.
    pub sizes: Vec<i64>,
    /// The strides in elements.
    pub strides: Vec<i64>,
}

impl Payload {
    /// Reads a payload; `method` is what the compile specs say, empty if they say nothing.
    pub fn read(bytes: &[u8], method: &str) -> Result<Self> {
        if let Some(rest) = bytes.strip_prefix(MAGIC) {
            return Reader { rest }.list().map_err(|e| e.within("the delegate's list of constants"));
        }
        if bytes.is_empty() {
            let prefix = if method.is_empty() { String::new() } else { format!("{method}_") };
            return Ok(Self::Blob {
                library: format!("{prefix}so_blob"),
                weights: format!("{prefix}weights_blob"),
            });
        }
        let lines = std::str::from_utf8(bytes).ok().and_then(|text| text.split_once('\n'));
        match lines {
            Some((library, weights)) if !library.is_empty() && !weights.contains('\n') => {
                Ok(Self::Blob { library: library.into(), weights: weights.into() })
            }
            _ => Err(Error::new(
                ET_ERROR_DELEGATE_INVALID_COMPATIBILITY,
                format!(
                    "the payload of {} bytes is none of the CUDA delegate's: two keys on two lines, or a list that starts \
                     with ETCUDAFQN, were expected; export the program again",
                    bytes.len()
                ),
            )),
        }
    }

    /// The key of the library for a GPU of this compute capability.
    pub fn library(&self, capability: u32) -> Result<&str> {
        let variants = match self {
            Self::Blob { library, .. } => return Ok(library),
            Self::List { variants, .. } => variants,
        };
        if let [only] = &variants[..]
            && only.capability == 0
        {
            return Ok(&only.library);
        }
        let native = variants.iter().find(|v| !v.fallback_only && v.capability == capability);
        let compiled = || {
            let usable = variants.iter().filter(|v| v.ptx != 0 && v.ptx <= capability);
            usable.min_by_key(|v| v.capability)
        };
        native.or_else(compiled).map(|variant| variant.library.as_str()).ok_or_else(|| {
            let known: Vec<_> = variants.iter().map(|v| v.capability.to_string()).collect();
            Error::new(
                ET_ERROR_NOT_SUPPORTED,
                format!(
                    "the program has code for GPUs of compute capability {}, and none that this one, of {capability}, could \
                     compile; export it for this GPU",
                    known.join(", ")
                ),
            )
        })
    }

    /// Whether it needs to be known which GPU there is.
    pub fn has_variants(&self) -> bool {
        matches!(self, Self::List { variants, .. } if variants.iter().any(|v| v.capability != 0))
    }
}

impl Weight {
    /// Fails unless the view lies in its storage.
    fn check(&self) -> Result<()> {
        let mut last = usize::try_from(self.offset).ok();
        let mut is_empty = false;
        for (&size, &stride) in self.sizes.iter().zip(&self.strides) {
            is_empty |= size == 0;
            let span = usize::try_from(size.saturating_sub(1).max(0))
                .ok()
                .zip(usize::try_from(stride).ok())
                .and_then(|(steps, stride)| steps.checked_mul(stride));
            last = last.zip(span).and_then(|(last, span)| last.checked_add(span));
        }
        let needed = if is_empty {
            Some(0)
        } else {
            last.and_then(|last| last.checked_add(1)).and_then(|count| count.checked_mul(self.dtype.size()))
        };
        if needed.is_some_and(|needed| needed <= self.bytes) {
            return Ok(());
        }
        Err(damaged(format!(
            "the constant {:?} of {} with sizes {:?}, strides {:?} and offset {} does not lie in its storage of {} bytes",
            self.name, self.dtype, self.sizes, self.strides, self.offset, self.bytes
        )))
    }
}

fn damaged(what: impl Into<String>) -> Error {
    Error::new(ET_ERROR_INVALID_PROGRAM, what)
}

/// Reads little-endian numbers and texts.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn list(mut self) -> Result<Payload> {
        let version = self.take(1)?;
        let variants = match version {
            b"3" => {
                let library = self.text("the library's key")?;
                vec![Variant { capability: 0, ptx: 0, library, fallback_only: false }]
            }
            b"4" => self.variants(false)?,
            b"5" => self.variants(true)?,
            other => {
                return Err(Error::new(
                    ET_ERROR_DELEGATE_INVALID_COMPATIBILITY,
                    format!(
                        "it is of version {:?}, and 3, 4 and 5 are known; install a newer release of this runtime, or export \
                         the program with executorch 1.5",
                        String::from_utf8_lossy(other)
                    ),
                ));
            }
        };
        let count = self.count(MAX_ENTRIES, "constants")?;
        let mut weights = Vec::new();
        for _ in 0..count {
            let weight = self.weight()?;
            weight.check()?;
            weights.push(weight);
        }
        if self.rest.is_empty() {
            return Ok(Payload::List { variants, weights });
        }
        Err(damaged(format!("{} bytes follow its end", self.rest.len())))
    }

    fn variants(&mut self, has_flags: bool) -> Result<Vec<Variant>> {
        let count = self.count(MAX_VARIANTS, "libraries")?;
        let mut variants: Vec<Variant> = Vec::new();
        for _ in 0..count {
            let (capability, ptx) = (self.u32()?, self.u32()?);
            let flags = if has_flags { self.u32()? } else { 0 };
            let library = self.text("a library's key")?;
            let fallback_only = flags & 1 != 0;
            let twice = variants
                .iter()
                .any(|v| v.fallback_only == fallback_only && (fallback_only || v.capability == capability));
            if capability == 0 || ptx > capability || flags > 1 || (fallback_only && ptx == 0) || twice {
                return Err(damaged(format!(
                    "the library {library:?} for compute capability {capability} (PTX {ptx}, flags {flags}) makes no sense"
                )));
            }
            variants.push(Variant { capability, ptx, library, fallback_only });
        }
        if variants.is_empty() { Err(damaged("it names no library")) } else { Ok(variants) }
    }

    fn weight(&mut self) -> Result<Weight> {
        let name = self.text("a constant's name")?;
        let storage = self.text("a storage's key")?;
        let bytes = usize::try_from(self.u64()?)
            .ok()
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or_else(|| damaged(format!("the storage {storage:?} is larger than memory can be")))?;
        let number = self.u32()?;
        let dtype = i8::try_from(number)
            .ok()
            .and_then(Dtype::from_raw)
            .filter(|dtype| DTYPES.contains(dtype))
            .ok_or_else(|| {
                damaged(format!("the constant {name:?} is of an unknown element type, {number}"))
            })?;
        let on_device = match self.u32()? {
            0 => false,
            1 => true,
            device => {
                return Err(damaged(format!(
                    "the constant {name:?} is on a device of unknown type {device}"
                )));
            }
        };
        let offset = self.i64()?;
        let rank = self.count(MAX_RANK, "dimensions")?;
        let sizes = (0..rank).map(|_| self.i64()).collect::<Result<Vec<_>>>()?;
        let strides = (0..rank).map(|_| self.i64()).collect::<Result<Vec<_>>>()?;
        if offset < 0 || sizes.iter().chain(&strides).any(|&number| number < 0) {
            return Err(damaged(format!("the constant {name:?} has a negative size, stride or offset")));
        }
        Ok(Weight { name, storage, bytes, dtype, on_device, offset, sizes, strides })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(count) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(damaged(format!("it ends where {count} bytes more were expected"))),
        }
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().unwrap_or_default()))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_le_bytes(self.take(8)?.try_into().unwrap_or_default()))
    }

    fn count(&mut self, most: u32, what: &str) -> Result<usize> {
        match self.u32()? {
            count if count <= most => Ok(count as usize),
            count => Err(damaged(format!("it has {count} {what}, expected at most {most}"))),
        }
    }

    fn text(&mut self, what: &str) -> Result<String> {
        let size = self.u32()? as usize;
        let bytes = self.take(size)?;
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty() && !text.contains('\0'));
        text.map(str::to_owned).ok_or_else(|| damaged(format!("{what} is empty or no UTF-8 text")))
    }
}

#[cfg(test)]
mod tests;
