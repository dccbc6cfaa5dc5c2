//! What is in a payload, for people.

use crate::payload::{Payload, Variant};
use executorch_delegate::{Description, NamedData, Node, Role, Value};

/// Describes a payload. Nothing is loaded, so this works without a GPU.
pub fn describe(payload: &Payload, named_data: &NamedData<'_>) -> Description {
    let size = |key: &str| {
        named_data.get(key).map_or_else(|_| "missing".into(), |data| format!("{} bytes", data.len()))
    };
    let node = |key: &str, what: String| Node {
        name: "AOTInductor library".into(),
        executor: "CUDA".into(),
        detail: format!("{what}{}", size(key)),
        ..Node::default()
    };
    match payload {
        Payload::Blob { library, weights } => Description {
            format: "library and one file of constants".into(),
            nodes: vec![node(library, String::new())],
            notes: vec![format!("constants: {}", size(weights))],
            ..Description::default()
        },
        Payload::List { variants, weights } => Description {
            format: "libraries and a list of constants".into(),
            nodes: variants.iter().map(|variant| node(&variant.library, gpus(variant))).collect(),
            values: (0..)
                .zip(weights)
                .map(|(id, weight)| Value {
                    id,
                    name: weight.name.clone(),
                    dtype: weight.dtype.name().into(),
                    shape: weight.sizes.iter().map(|&size| u64::try_from(size).ok()).collect(),
                    role: Role::Constant,
                    detail: if weight.on_device { String::new() } else { "on the host".into() },
                })
                .collect(),
            notes: Vec::new(),
        },
    }
}

fn gpus(variant: &Variant) -> String {
    match variant {
        Variant { capability: 0, .. } => String::new(),
        Variant { fallback_only: true, ptx, .. } => format!("for other GPUs from compute capability {ptx}, "),
        Variant { capability, .. } => format!("for compute capability {capability}, "),
    }
}
