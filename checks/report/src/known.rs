//! What the gate tries. Promotion asks for all of it, so that a report from which checks were left out does not count.

/// A check of the gate, as everybody but the gate knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// `group.name`.
    pub id: &'static str,
    /// The components that it is about: it is absent where a row ships none of them. Empty if every wheel is asked.
    pub parts: &'static [&'static str],
}

const fn always(id: &'static str) -> Known {
    Known { id, parts: &[] }
}

const fn about(id: &'static str, parts: &'static [&'static str]) -> Known {
    Known { id, parts }
}

/// Every check of the gate, in the order in which they run. A test of the gate compares its own list with this one.
pub const CHECKS: &[Known] = &[
    always("install.machine"),
    always("install.pinned"),
    always("install.floor"),
    always("install.record"),
    always("install.metadata"),
    always("install.size"),
    always("elf.inventory"),
    always("elf.paths"),
    always("elf.ceiling"),
    always("elf.closure"),
    always("elf.owners"),
    always("elf.load"),
    always("elf.moved"),
    always("python.import"),
    always("python.modules"),
    always("python.reference"),
    always("python.sources"),
    always("python.numpy"),
    always("python.external_weights"),
    always("python.errors"),
    always("python.threads"),
    always("python.command"),
    always("python.missing_backend"),
    always("python.moved"),
    always("cmake.version"),
    always("cmake.components"),
    always("cmake.twice"),
    always("cmake.without_python"),
    always("cmake.moved"),
    always("cmake.own_libraries"),
    always("cpp.headers"),
    always("cpp.build"),
    always("cpp.runtime_only"),
    always("cpp.kernels"),
    always("cpp.delegate"),
    always("cpp.linkage"),
    always("cpp.registry"),
    always("cpp.relocatable"),
    always("cpp.pkg_config"),
    always("cpp.readme"),
    always("custom.operator"),
    always("custom.delegate_elf"),
    always("custom.delegate"),
    always("custom.refused"),
    always("process.one_of_each"),
    always("process.late_delegate"),
    about("etdump.profile", &["etdump"]),
    about("quantized.program", &["kernels_quantized"]),
    about("quantized.opt_in", &["kernels_quantized"]),
    about("bundled.program", &["bundled_program"]),
    about("cuda.libraries", &["backend_cuda", "extension_cuda"]),
    about("cuda.architectures", &["backend_cuda"]),
    about("cuda.registers", &["backend_cuda"]),
    about("cuda.consumer", &["backend_cuda", "extension_cuda"]),
    about("cuda.container", &["backend_cuda"]),
    about("cuda.python", &["backend_cuda"]),
    about("cuda.cpp", &["backend_cuda", "extension_cuda"]),
    about("cuda.external_weights", &["backend_cuda"]),
    about("tensorrt.delegate", &["backend_tensorrt"]),
    about("tensorrt.boundaries", &["backend_tensorrt"]),
];
