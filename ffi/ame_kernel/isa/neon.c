/* NEON, which every AArch64 CPU has. */
#if defined(__aarch64__)

#include "isa/neon.h"

const isa_path isa_neon = ISA_PATH;

#else
typedef int isa_neon_is_aarch64_only;
#endif
