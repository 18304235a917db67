/* Four-bit codes and halves on every AArch64 CPU. */
#if defined(__aarch64__)

#include "isa/neon_i4.h"

const isa_i4_path isa_neon_i4 = NEON_I4_PATH;

#else
typedef int isa_neon_i4_is_aarch64_only;
#endif
