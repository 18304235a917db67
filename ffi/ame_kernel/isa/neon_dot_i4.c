/* Four-bit codes and halves with the products of four bytes at once; flags and detection as for neon_dot.c. */
#if defined(__aarch64__)

#include "isa/neon_i4.h"

const isa_i4_path isa_neon_dot_i4 = NEON_I4_PATH;

#else
typedef int isa_neon_dot_i4_is_aarch64_only;
#endif
