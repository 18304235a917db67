/* NEON with the products of four bytes at once. */
#if defined(__aarch64__)

#include "sparse/neon.h"

const isa_sparse isa_sparse_neon_dot = ISA_SPARSE;

#else
typedef int sparse_neon_dot_is_aarch64_only;
#endif
