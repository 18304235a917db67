/* NEON, which every AArch64 CPU has. */
#if defined(__aarch64__)

#include "isa/neon.h"

static uint32_t supported(void) { return 1; }

const isa_path isa_neon = ISA_PATH("neon", supported);

#else
typedef int isa_neon_is_aarch64_only;
#endif
