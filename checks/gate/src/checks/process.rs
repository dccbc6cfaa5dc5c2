//! One of each in a process that Python and C++ share.

use crate::check::Check;
use crate::checks::custom::{library, suite};
use crate::context::Context;
use crate::outcome::Found;

const NEEDS: &[&str] = &["cpp.build"];

pub const CHECKS: &[Check] = &[
    Check {
        id: "process.one_of_each",
        title: "Python and C++ in one process have one registry, one thread pool, one copy of each library, and the same results",
        needs: NEEDS,
        limit: 60,
        run: mixed,
    },
    Check {
        id: "process.late_delegate",
        title: "A delegate that the process opens late, by dlopen alone, is in the same registry and runs",
        needs: NEEDS,
        limit: 60,
        run: |context| context.script("late.py", &[&library(context, "delegate"), &suite(context)]),
    },
];

fn mixed(context: &Context) -> Found {
    let program = context.models().join("xnn_shared.json");
    context.script("mixed.py", &[&library(context, "mixed"), &program, &context.package()?])
}
