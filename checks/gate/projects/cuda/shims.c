// All that the shim library has to offer to compiled models: the loader looks for each name when it loads this library's data,
// and refuses the library if one is not there.
#define SHIM(name) void name(void);
#include "functions.h"
#undef SHIM

#define SHIM(name) name,
void (*const gate_shims[])(void) = {
#include "functions.h"
};
