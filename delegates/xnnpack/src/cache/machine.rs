//! What packed layouts depend on besides the graph: the CPU that the kernels are chosen for, and the code that packs.

use super::digest::{Digest, Fields};
use std::sync::LazyLock;

/// The version of everything here that a packed byte may depend on but a key does not say. Raise it when packing changes.
const LAYOUT: u64 = 1;

/// The machine and the code.
pub fn identity() -> Digest {
    static IDENTITY: LazyLock<Digest> = LazyLock::new(|| {
        let mut fields = Fields::new("machine and code");
        fields.number(LAYOUT).bytes(env!("CARGO_PKG_VERSION").as_bytes());
        fields.bytes(executorch_xnnpack_sys::BUILD.as_bytes());
        cpu(&mut fields);
        fields.finish()
    });
    *IDENTITY
}

/// The model and the instruction sets that both are there and may be used.
#[cfg(target_arch = "x86_64")]
fn cpu(fields: &mut Fields) {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    fields.bytes(b"x86-64");
    // Vendor, then family and model (the rest of leaf 1 differs from core to core).
    let vendor = __cpuid(0);
    for word in [vendor.ebx, vendor.ecx, vendor.edx, __cpuid(1).eax] {
        fields.number(word.into());
    }
    if vendor.eax >= 7 {
        for leaf in [__cpuid_count(7, 0), __cpuid_count(7, 1)] {
            for word in [leaf.eax, leaf.ebx, leaf.ecx, leaf.edx] {
                fields.number(word.into());
            }
        }
    }
    macro_rules! usable {
        ($($feature:tt)*) => { [$(std::arch::is_x86_feature_detected!($feature)),*] };
    }
    // With the operating system's leave.
    for usable in usable!("sse4.1" "avx" "f16c" "fma" "avx2" "avx512f" "avx512vnni" "avx512fp16") {
        fields.number(usable.into());
    }
}

/// The cores' models and the instruction sets that may be used.
#[cfg(target_arch = "aarch64")]
fn cpu(fields: &mut Fields) {
    fields.bytes(b"aarch64");
    for kind in [libc::AT_HWCAP, libc::AT_HWCAP2] {
        // SAFETY: the function has no precondition.
        fields.number(unsafe { libc::getauxval(kind) });
    }
    // Machines with several kinds of cores: all that are numbered in a row. Some kernels hide the files; the
    // capabilities above have to do then.
    let models = (0..).map_while(|cpu| {
        std::fs::read(format!("/sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1")).ok()
    });
    let mut models: Vec<_> = models.collect();
    models.sort_unstable();
    models.dedup();
    for model in models {
        fields.bytes(&model);
    }
}

/// Other machines have no kernels of their own, or none that differ.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu(fields: &mut Fields) {
    fields.bytes(std::env::consts::ARCH.as_bytes());
}
