// All kernels, as one program.

#include "int4pack.cu"
#include "plain.cu"
#include "random.cu"
#include "sort.cu"
