//! Parts that the project will have. As soon as a row ships one, its check fails until it is written: no part is
//! promoted unchecked.

use anyhow::Context as _;
use executorch_gate_report::CHECKS as CHECKS_OF_ALL;

use crate::check::Check;
use crate::context::Context;
use crate::outcome::{Found, Stop};

/// A check of components that no wheel has yet.
macro_rules! awaited {
    ($id:literal, $title:literal) => {
        Check { id: $id, title: $title, needs: &[], limit: 60, run: |context| await_parts(context, $id) }
    };
}

pub const CHECKS: &[Check] = &[
    awaited!("etdump.profile", "A program's profile is written by executorch::etdump and by Python"),
    awaited!("quantized.program", "A program of quantized_decomposed operators matches its reference"),
    awaited!("quantized.opt_in", "EXECUTORCH_LIBRARIES leaves the quantized kernels out"),
    awaited!("bundled.program", "A bundled program's own inputs give its own outputs"),
];

/// Those that come behind the checks of CUDA.
pub const LATER: &[Check] = &[
    awaited!(
        "tensorrt.delegate",
        "The TensorRT delegate's wheel joins the same registry, and is found by find_package(torchtrt_executorch)"
    ),
    awaited!(
        "tensorrt.boundaries",
        "Device-resident and CPU-boundary programs run, with TensorRT alone and beside CUDA"
    ),
];

fn await_parts(context: &Context, id: &str) -> Found {
    let known = CHECKS_OF_ALL.iter().find(|known| known.id == id);
    let components = known.with_context(|| format!("checks/report does not list {id}"))?.parts;
    let shipped: Vec<&str> = components.iter().copied().filter(|name| context.ships(name)).collect();
    if shipped.is_empty() {
        return Err(Stop::absent(format!("the row does not ship {}", components.join(", "))));
    }
    let reason = format!("the row ships {}, and the gate does not check it yet", shipped.join(", "));
    Err(anyhow::anyhow!(reason).into())
}
