/* NEON, which every AArch64 CPU has. */
#if defined(__aarch64__)

#include "isa/neon.h"

static uint32_t supported(void) { return 1; }

const isa_path isa_neon = NEON_PATH("neon", supported, &isa_neon_i4);

#else
typedef int isa_neon_is_aarch64_only;
#endif
