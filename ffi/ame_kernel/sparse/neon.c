/* NEON, which every AArch64 CPU has. */
#if defined(__aarch64__)

#include "sparse/neon.h"

const isa_sparse isa_sparse_neon = ISA_SPARSE;

#else
typedef int sparse_neon_is_aarch64_only;
#endif
