//! Wheel tags and file names (PEP 427, PEP 425).

use std::fmt;

/// `python-abi-platform`, for example `cp310-abi3-manylinux_2_28_x86_64`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Oldest interpreter: `cp310`.
    pub python: String,
    /// ABI: `abi3`.
    pub abi: String,
    /// Platform: `manylinux_2_28_x86_64`.
    pub platform: String,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.python, self.abi, self.platform)
    }
}

/// A distribution's name as it stands in file names: runs of `-`, `_` and `.` become one `_`, in lower case.
pub fn normalize(distribution: &str) -> String {
    let parts: Vec<&str> = distribution.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
    parts.join("_").to_ascii_lowercase()
}

/// The file name of a wheel.
pub fn wheel_file_name(distribution: &str, version: &str, tag: &Tag) -> String {
    format!("{}-{version}-{tag}.whl", normalize(distribution))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_name() {
        let tag =
            Tag { python: "cp310".into(), abi: "abi3".into(), platform: "manylinux_2_28_x86_64".into() };
        assert_eq!(
            wheel_file_name("executorch-runtime", "1.5.0+cu126", &tag),
            "executorch_runtime-1.5.0+cu126-cp310-abi3-manylinux_2_28_x86_64.whl"
        );
    }

    #[test]
    fn names_are_normalized() {
        assert_eq!(normalize("Torch--TensorRT.executorch_runtime"), "torch_tensorrt_executorch_runtime");
    }
}
