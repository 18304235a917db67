/* NEON with the products of four bytes at once (ARMv8.2, FEAT_DotProd): every Apple CPU that we run on, and server
 * cores since 2018. */
#if defined(__aarch64__)

#include "isa/neon.h"

const isa_path isa_neon_dot = NEON_PATH("neon_dot", cpu_has_neon_dot, &isa_neon_dot_i4);

#else
typedef int isa_neon_dot_is_aarch64_only;
#endif
