/* NEON with the products of four bytes at once (ARMv8.2, FEAT_DotProd): every Apple CPU that we run on, and server
 * cores since 2018. */
#if defined(__aarch64__)

#include "isa/neon.h"

const isa_path isa_neon_dot = ISA_PATH;

#else
typedef int isa_neon_dot_is_aarch64_only;
#endif
