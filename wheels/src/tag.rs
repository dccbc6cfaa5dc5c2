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

/// The parts of a wheel's file name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WheelName {
    /// Distribution, as it stands in the name.
    pub distribution: String,
    /// Version.
    pub version: String,
    /// Tag; each part may be several, with dots between.
    pub tag: Tag,
}

impl Tag {
    /// Each tag that a compressed one stands for.
    pub fn each(&self) -> Vec<String> {
        let mut tags = Vec::new();
        for python in self.python.split('.') {
            for abi in self.abi.split('.') {
                tags.extend(self.platform.split('.').map(|platform| format!("{python}-{abi}-{platform}")));
            }
        }
        tags
    }
}

/// Reads the file name of a wheel, with or without a build number.
pub fn parse_wheel_file_name(name: &str) -> Option<WheelName> {
    let parts: Vec<&str> = name.strip_suffix(".whl")?.split('-').collect();
    let (distribution, version, python, abi, platform) = match parts[..] {
        [distribution, version, python, abi, platform] => (distribution, version, python, abi, platform),
        [distribution, version, build, python, abi, platform]
            if build.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            (distribution, version, python, abi, platform)
        }
        _ => return None,
    };
    let plain = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+!".contains(&byte))
    };
    if ![distribution, version, python, abi, platform].iter().all(plain) {
        return None;
    }
    let tag = Tag { python: python.into(), abi: abi.into(), platform: platform.into() };
    Some(WheelName { distribution: distribution.into(), version: version.into(), tag })
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

    #[test]
    fn file_names_are_read_back() {
        let name = "a_b-1.5.0+cu126-cp310-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";
        let parsed = parse_wheel_file_name(name).unwrap();
        assert_eq!((parsed.distribution.as_str(), parsed.version.as_str()), ("a_b", "1.5.0+cu126"));
        let each = ["cp310-abi3-manylinux_2_17_x86_64", "cp310-abi3-manylinux2014_x86_64"];
        assert_eq!(parsed.tag.each(), each);
        assert_eq!(parse_wheel_file_name("a-1-2-py3-none-any.whl").unwrap().tag.to_string(), "py3-none-any");
        for name in
            ["a-1-py3-none-any.zip", "a-1-py3-none.whl", "a-1-b2-py3-none-any.whl", "../a-1-py3-none-any.whl"]
        {
            assert_eq!(parse_wheel_file_name(name), None, "{name}");
        }
    }
}
