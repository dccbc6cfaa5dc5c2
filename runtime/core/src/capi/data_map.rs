//! Maps of named data that come with the runtime.

use super::{abi, code, give, given};
use crate::data_map;
use crate::source::Loader;
use executorch_abi::data_map::et_data_map_t;
use executorch_abi::error::*;
use executorch_abi::loader::et_data_loader_t;

abi! {
    data_map::fn et_data_map_load(
        loader: *const et_data_loader_t,
        out: *mut et_data_map_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives a valid loader away, and a place for the map.
        code(unsafe {
            given(loader, "loader")
                .and_then(|l| Loader::new(*l))
                .and_then(data_map::load)
                .and_then(|m| give(out, m))
        })
    }
    data_map::fn et_data_map_merge(
        maps: *const *const et_data_map_t,
        count: usize,
        out: *mut et_data_map_t,
    ) -> et_error_t, otherwise ET_ERROR_INTERNAL, {
        // SAFETY: the caller gives `count` maps that outlive the result, and a place for it.
        code(unsafe {
            let maps = if count == 0 { Ok(&[][..]) } else {
                given(maps, "maps").map(|first| std::slice::from_raw_parts(first, count))
            };
            maps.and_then(|maps| data_map::merge(maps)).and_then(|m| give(out, m))
        })
    }
}
