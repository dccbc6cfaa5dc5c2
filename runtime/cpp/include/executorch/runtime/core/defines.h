/// \file
/// Compile-time settings.

#pragma once

/// Errors and tags have names: the runtime library carries them.
#ifndef ET_ENABLE_ENUM_STRINGS
#define ET_ENABLE_ENUM_STRINGS 1
#endif
