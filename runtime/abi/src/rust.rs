//! What Rust code on either side of the ABI shares: an error with its message, dtypes, and checked views of
//! values. Nothing here crosses the boundary.

use crate::error::*;
use crate::tensor::*;
use std::any::Any;
use std::ffi::{CStr, CString};
use std::fmt;

/// A failure: upstream's code and a message for the person who sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// One of the `ET_ERROR_…` codes.
    pub code: et_error_t,
    /// What was expected, what was found, where, and what to do.
    pub message: String,
}

/// The result of anything that can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of a code.
    pub fn new(code: et_error_t, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The same error with `place` in front of its message.
    pub fn within(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// Makes this the calling thread's last error and returns its code.
    pub fn set_last(&self) -> et_error_t {
        // A NUL inside a message (from a file's bytes) would cut it short.
        let text = CString::new(self.message.replace('\0', "\u{fffd}")).unwrap_or_default();
        // SAFETY: the pointer is a NUL-terminated string that lives through the call, which copies it.
        unsafe { et_set_last_error(self.code, text.as_ptr()) };
        self.code
    }

    /// Turns a code that a call returned into a result, taking the message from the thread's last error.
    #[inline]
    pub fn check(code: et_error_t) -> Result<()> {
        if code == ET_OK { Ok(()) } else { Self::last(code) }
    }

    #[cold]
    fn last(code: et_error_t) -> Result<()> {
        // SAFETY: both return static or thread-owned NUL-terminated strings that outlive this expression.
        let (last, message) = unsafe { (et_last_error_code(), CStr::from_ptr(et_last_error_message())) };
        let message = if last == code { message.to_string_lossy().into_owned() } else { String::new() };
        Err(Self { code, message })
    }
}

/// What a caught panic said, if it was a text.
pub fn panic_text(panic: &(dyn Any + Send)) -> Option<&str> {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = error_name(self.code);
        if self.message.is_empty() {
            write!(f, "{name} (0x{:02x})", self.code)
        } else {
            write!(f, "{} [{name}, 0x{:02x}]", self.message, self.code)
        }
    }
}

impl std::error::Error for Error {}

/// The name of an error code, as upstream spells it.
pub fn error_name(code: et_error_t) -> &'static str {
    error_name_c(code).to_str().unwrap_or("Unknown")
}

/// [`error_name`] as a C string.
pub fn error_name_c(code: et_error_t) -> &'static CStr {
    match code {
        ET_OK => c"Ok",
        ET_ERROR_INTERNAL => c"Internal",
        ET_ERROR_INVALID_STATE => c"InvalidState",
        ET_ERROR_END_OF_METHOD => c"EndOfMethod",
        ET_ERROR_ALREADY_LOADED => c"AlreadyLoaded",
        ET_ERROR_NOT_SUPPORTED => c"NotSupported",
        ET_ERROR_NOT_IMPLEMENTED => c"NotImplemented",
        ET_ERROR_INVALID_ARGUMENT => c"InvalidArgument",
        ET_ERROR_INVALID_TYPE => c"InvalidType",
        ET_ERROR_OPERATOR_MISSING => c"OperatorMissing",
        ET_ERROR_REGISTRATION_EXCEEDING_MAX_KERNELS => c"RegistrationExceedingMaxKernels",
        ET_ERROR_REGISTRATION_ALREADY_REGISTERED => c"RegistrationAlreadyRegistered",
        ET_ERROR_NOT_FOUND => c"NotFound",
        ET_ERROR_MEMORY_ALLOCATION_FAILED => c"MemoryAllocationFailed",
        ET_ERROR_ACCESS_FAILED => c"AccessFailed",
        ET_ERROR_INVALID_PROGRAM => c"InvalidProgram",
        ET_ERROR_INVALID_EXTERNAL_DATA => c"InvalidExternalData",
        ET_ERROR_OUT_OF_RESOURCES => c"OutOfResources",
        ET_ERROR_DELEGATE_INVALID_COMPATIBILITY => c"DelegateInvalidCompatibility",
        ET_ERROR_DELEGATE_MEMORY_ALLOCATION_FAILED => c"DelegateMemoryAllocationFailed",
        ET_ERROR_DELEGATE_INVALID_HANDLE => c"DelegateInvalidHandle",
        _ => c"Unknown",
    }
}

macro_rules! dtypes {
    ($($name:ident = $constant:ident, $size:expr, $text:literal, $doc:literal;)*) => {
        /// An element type that tensors may have.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i8)]
        pub enum Dtype { $(#[doc = $doc] $name = $constant,)* }

        impl Dtype {
            /// All element types.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$name,)*];

            /// The element type of a number, if it is one.
            pub const fn from_raw(raw: et_dtype_t) -> Option<Self> {
                match raw { $($constant => Some(Dtype::$name),)* _ => None }
            }

            /// Bytes of one element.
            pub const fn size(self) -> usize {
                match self { $(Dtype::$name => $size,)* }
            }

            /// The name, as a C string.
            pub const fn name_c(self) -> &'static CStr {
                match self { $(Dtype::$name => $text,)* }
            }
        }
    };
}

dtypes! {
    UInt8 = ET_DTYPE_UINT8, 1, c"uint8", "Unsigned 8-bit integer.";
    Int8 = ET_DTYPE_INT8, 1, c"int8", "Signed 8-bit integer.";
    Int16 = ET_DTYPE_INT16, 2, c"int16", "Signed 16-bit integer.";
    Int32 = ET_DTYPE_INT32, 4, c"int32", "Signed 32-bit integer.";
    Int64 = ET_DTYPE_INT64, 8, c"int64", "Signed 64-bit integer.";
    Float16 = ET_DTYPE_FLOAT16, 2, c"float16", "IEEE binary16.";
    Float32 = ET_DTYPE_FLOAT32, 4, c"float32", "IEEE binary32.";
    Float64 = ET_DTYPE_FLOAT64, 8, c"float64", "IEEE binary64.";
    Complex32 = ET_DTYPE_COMPLEX32, 4, c"complex32", "Complex of two binary16.";
    Complex64 = ET_DTYPE_COMPLEX64, 8, c"complex64", "Complex of two binary32.";
    Complex128 = ET_DTYPE_COMPLEX128, 16, c"complex128", "Complex of two binary64.";
    Bool = ET_DTYPE_BOOL, 1, c"bool", "Boolean in one byte.";
    QInt8 = ET_DTYPE_QINT8, 1, c"qint8", "Quantized signed 8-bit integer.";
    QUInt8 = ET_DTYPE_QUINT8, 1, c"quint8", "Quantized unsigned 8-bit integer.";
    QInt32 = ET_DTYPE_QINT32, 4, c"qint32", "Quantized signed 32-bit integer.";
    BFloat16 = ET_DTYPE_BFLOAT16, 2, c"bfloat16", "bfloat16.";
    QUInt4x2 = ET_DTYPE_QUINT4X2, 1, c"quint4x2", "Two unsigned 4-bit integers a byte.";
    QUInt2x4 = ET_DTYPE_QUINT2X4, 1, c"quint2x4", "Four unsigned 2-bit integers a byte.";
    Bits1x8 = ET_DTYPE_BITS1X8, 1, c"bits1x8", "Eight 1-bit elements a byte.";
    Bits2x4 = ET_DTYPE_BITS2X4, 1, c"bits2x4", "Four 2-bit elements a byte.";
    Bits4x2 = ET_DTYPE_BITS4X2, 1, c"bits4x2", "Two 4-bit elements a byte.";
    Bits8 = ET_DTYPE_BITS8, 1, c"bits8", "8 opaque bits.";
    Bits16 = ET_DTYPE_BITS16, 2, c"bits16", "16 opaque bits.";
    Float8E5M2 = ET_DTYPE_FLOAT8_E5M2, 1, c"float8_e5m2", "8-bit float, 5 exponent bits.";
    Float8E4M3Fn = ET_DTYPE_FLOAT8_E4M3FN, 1, c"float8_e4m3fn", "8-bit float, 4 exponent bits, finite.";
    Float8E5M2Fnuz = ET_DTYPE_FLOAT8_E5M2FNUZ, 1, c"float8_e5m2fnuz", "8-bit float, 5 exponent bits, no -0.";
    Float8E4M3Fnuz = ET_DTYPE_FLOAT8_E4M3FNUZ, 1, c"float8_e4m3fnuz", "8-bit float, 4 exponent bits, no -0.";
    UInt16 = ET_DTYPE_UINT16, 2, c"uint16", "Unsigned 16-bit integer.";
    UInt32 = ET_DTYPE_UINT32, 4, c"uint32", "Unsigned 32-bit integer.";
    UInt64 = ET_DTYPE_UINT64, 8, c"uint64", "Unsigned 64-bit integer.";
}

impl Dtype {
    /// The name, as PyTorch spells it.
    pub fn name(self) -> &'static str {
        self.name_c().to_str().unwrap_or("unknown")
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
