//! Cases of programs, for the consumers in C++: `checks/conformance/README.md` has the form.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Largest array that is read, in bytes.
const LARGEST: u64 = 64 << 20;

#[derive(Deserialize)]
struct Suite {
    program: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    method: String,
    inputs: Vec<Value>,
    expected: Vec<Value>,
    rtol: f64,
    atol: f64,
}

#[derive(Deserialize)]
struct Value {
    tensor: Option<String>,
    dtype: Option<String>,
    #[serde(default)]
    shape: Vec<usize>,
}

/// One call of a program whose inputs and outputs are float32 tensors.
pub struct Call {
    pub program: PathBuf,
    pub method: String,
    /// The inputs as `projects/cpp/inputs.h` reads them.
    pub inputs: String,
    expected: Vec<f32>,
    rtol: f64,
    atol: f64,
}

impl Call {
    /// The first case of `NAME.json` in `folder`.
    pub fn read(folder: &Path, name: &str) -> Result<Self> {
        Self::find(folder, name, |_| true)
    }

    /// The first case of a method.
    pub fn of_method(folder: &Path, name: &str, method: &str) -> Result<Self> {
        Self::find(folder, name, |case| case.method == method)
    }

    fn find(folder: &Path, name: &str, is_wanted: impl Fn(&Case) -> bool) -> Result<Self> {
        let path = folder.join(format!("{name}.json"));
        let suite: Suite =
            serde_json::from_slice(&fs::read(&path).with_context(|| path.display().to_string())?)?;
        let case = suite.cases.into_iter().find(is_wanted).context("no such case")?;
        let npz = path.with_extension("npz");
        let mut inputs = String::new();
        for value in &case.inputs {
            let sizes = value.shape.iter().map(|size| format!(" {size}")).collect::<String>();
            inputs += &format!("{}{sizes}\n", value.shape.len());
            for number in tensor(&npz, value)? {
                inputs += &format!("{number}\n");
            }
        }
        let mut expected = Vec::new();
        for value in &case.expected {
            expected.extend(tensor(&npz, value)?);
        }
        Ok(Self {
            program: folder.join(suite.program),
            method: case.method,
            inputs,
            expected,
            rtol: case.rtol,
            atol: case.atol,
        })
    }

    /// Compares what the consumer printed with PyTorch's results; returns what was seen.
    pub fn compare(&self, printed: &str) -> Result<String> {
        let found = printed
            .lines()
            .map(|line| line.trim().parse::<f32>().with_context(|| format!("printed {line:?}")));
        let found: Vec<f32> = found.collect::<Result<_>>()?;
        let (count, wanted) = (found.len(), self.expected.len());
        ensure!(count == wanted, "{count} values, expected {wanted}");
        let mut largest: f64 = 0.0;
        for (place, (have, want)) in found.iter().zip(&self.expected).enumerate() {
            let (have, want) = (f64::from(*have), f64::from(*want));
            let error = (have - want).abs();
            // Written so that NaN is no match.
            let close = error <= self.atol + self.rtol * want.abs();
            ensure!(close, "value {place} is {have}, PyTorch's is {want}");
            largest = largest.max(error);
        }
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{name} {}: {wanted} values, largest difference {largest:.1e}", self.method))
    }
}

fn tensor(npz: &Path, value: &Value) -> Result<Vec<f32>> {
    let (Some(name), Some("f32")) = (&value.tensor, value.dtype.as_deref()) else {
        bail!("{}: the case has values that are no float32 tensors", npz.display());
    };
    let mut archive = zip::ZipArchive::new(File::open(npz).with_context(|| npz.display().to_string())?)?;
    let file = archive.by_name(&format!("{name}.npy"))?;
    ensure!(file.size() <= LARGEST, "{name} has {} bytes", file.size());
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    let values = npy(&bytes).with_context(|| format!("{}: {name}", npz.display()))?;
    let count: usize = value.shape.iter().product();
    ensure!(values.len() == count, "{name} has {} values, and its shape {:?}", values.len(), value.shape);
    Ok(values)
}

/// The values of an `.npy` file of float32 in row-major order.
fn npy(bytes: &[u8]) -> Result<Vec<f32>> {
    let header = bytes.strip_prefix(b"\x93NUMPY\x01\x00").context("not an array of version 1")?;
    let [low, high, rest @ ..] = header else { bail!("truncated") };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let (text, data) = rest.split_at_checked(length).context("truncated")?;
    let text = String::from_utf8_lossy(text);
    ensure!(
        text.contains("'<f4'") && text.contains("'fortran_order': False"),
        "expected float32 rows, found {text}"
    );
    let (values, rest) = data.as_chunks::<4>();
    ensure!(rest.is_empty(), "truncated");
    Ok(values.iter().map(|value| f32::from_le_bytes(*value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance/programs");

    #[test]
    fn the_first_case_is_read() {
        let call = Call::read(Path::new(PROGRAMS), "cond").unwrap();
        assert!(call.inputs.starts_with("2 2 4\n") && call.inputs.lines().count() == 9);
        let exact: String = call.expected.iter().map(|value| format!("{value}\n")).collect();
        assert!(call.compare(&exact).unwrap().contains("cond.pte"));
        let mut wrong: Vec<f32> = call.expected.clone();
        wrong[0] += 0.1;
        let text = |values: &[f32]| values.iter().map(|value| format!("{value}\n")).collect::<String>();
        assert!(call.compare(&text(&wrong)).unwrap_err().to_string().contains("PyTorch's"));
        wrong[0] = f32::NAN;
        assert!(call.compare(&text(&wrong)).is_err());
        assert!(call.compare(&text(&wrong[1..])).is_err());
        assert!(Call::read(Path::new(PROGRAMS), "integers").is_err());
    }

    #[test]
    fn damaged_arrays_are_refused() {
        for bytes in
            [&b""[..], b"\x93NUMPY\x01\x00", b"\x93NUMPY\x01\x00\xff\xff", b"\x93NUMPY\x01\x00\x02\x00{}"]
        {
            assert!(npy(bytes).is_err());
        }
    }
}
