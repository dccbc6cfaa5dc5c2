/// \file
/// Types of the platform layer.

#pragma once

#include <cstdint>

/// A point in time in ticks of the platform's clock; see `et_pal_ticks_to_ns_multiplier`.
typedef uint64_t et_timestamp_t;
