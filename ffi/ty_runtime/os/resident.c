#include "os/assert.h"
#include "os/resident.h"

void ty_touched(ty_resident *r, unsigned kinds, uint64_t bytes, uint64_t most) {
  TY_ASSERT(kinds != 0 && kinds >> TY_KINDS == 0);
  for (unsigned i = 0; i < TY_KINDS; i++) {
    _Atomic uint64_t *touched = &r->touched[i];
    if ((kinds >> i & 1) == 0) continue;
    if (atomic_fetch_add_explicit(touched, bytes, memory_order_relaxed) + bytes < most) continue;
    atomic_store_explicit(touched, 0, memory_order_relaxed);
    r->evict(r->owner, 1u << i);
  }
}

uint32_t ty_crc_mapped(ty_env *env, uint32_t crc, const uint8_t *data, uint64_t bytes) {
  for (uint64_t at = 0, n; at < bytes; at += n) {
    n = bytes - at < TY_RESIDENT_MOST ? bytes - at : TY_RESIDENT_MOST;
    crc = env->kernel->crc32c(crc, data + at, (size_t)n);
    /* Small sections stay resident for the next reader. */
    if (n == TY_RESIDENT_MOST) env->os.evict(&env->os, data + at, (size_t)n);
  }
  return crc;
}
