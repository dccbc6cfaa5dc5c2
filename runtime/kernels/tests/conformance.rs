//! Programs that upstream exported, against eager PyTorch's results (`checks/conformance/programs`).
//!
//! `ET_CONFORMANCE=ops_pools,cnn` runs those programs alone.

extern crate executorch_core as _;
extern crate executorch_threadpool as _;

#[test]
fn programs_give_pytorch_s_results() {
    executorch_kernels::register();
    executorch_conformance::check("programs");
}
