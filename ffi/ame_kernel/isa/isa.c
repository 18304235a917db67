/* Detects which paths this CPU runs and chooses one, or the one forced.
 *
 * On x86-64 detection reads CPUID and XGETBV itself. __builtin_cpu_supports needs a runtime table that zig cc does not
 * link, and does not report whether the operating system saves the wide registers. */
#include "isa/isa.h"

#include <stdatomic.h>

#if defined(__x86_64__)

#include <cpuid.h>

/* XCR0: which register files the operating system saves; 0 if unknown. */
static uint64_t cpu_xcr0(void) {
  uint32_t a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0; /* OSXSAVE */
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((uint64_t)high << 32) | low;
}

/* AVX2, FMA, F16C and SSE4.2, with the upper halves of the registers saved. */
uint32_t cpu_has_avx2(void) {
  uint32_t a, b, c, d;
  if ((cpu_xcr0() & 0x6u) != 0x6u) return 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const uint32_t need = (1u << 12) | (1u << 20) | (1u << 23) | (1u << 28) | (1u << 29); /* FMA SSE4.2 POPCNT AVX F16C */
  if ((c & need) != need) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (b >> 5) & 1u;
}

/* AVX-512 F, BW, VL, DQ and VNNI, with ZMM and mask registers saved. */
uint32_t cpu_has_avx512(void) {
  uint32_t a, b, c, d;
  if (!cpu_has_avx2() || (cpu_xcr0() & 0xe6u) != 0xe6u) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  const uint32_t need = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31); /* F DQ BW VL */
  return (b & need) == need && ((c >> 11) & 1u);
}

#endif

#if defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

/* The int8 products and CRC-32, by the numbers of the Linux ABI: the headers of glibc 2.17 lack these names. */
uint32_t cpu_has_neon_dot(void) {
  const unsigned long need = 1ul << 20 | 1ul << 7; /* HWCAP_ASIMDDP, HWCAP_CRC32 */
  return (getauxval(AT_HWCAP) & need) == need;
}

#elif defined(__aarch64__)

/* Every Mac with an arm64 CPU has both. */
uint32_t cpu_has_neon_dot(void) { return 1; }

#endif

static const isa_path *const paths[] = {
    &isa_scalar,
#if defined(__x86_64__)
    &isa_avx2,   &isa_avx512,
#endif
#if defined(__aarch64__)
    &isa_neon,   &isa_neon_dot,
#endif
};
#define PATHS (sizeof paths / sizeof paths[0])

/* The only global state. Threads that race at the first use store the same pointer. */
static _Atomic(const isa_path *) active;

const isa_path *isa_active(void) {
  const isa_path *p = atomic_load_explicit(&active, memory_order_acquire);
  if (p) return p;
  for (size_t i = PATHS; i-- > 0 && !p;) {
    if (paths[i]->supported()) p = paths[i];
  }
  atomic_store_explicit(&active, p, memory_order_release);
  return p;
}

uint32_t ame_isa_count(void) { return (uint32_t)PATHS; }

const char *ame_isa_name(uint32_t index) { return index < PATHS ? paths[index]->name : NULL; }

uint32_t ame_isa_supported(uint32_t index) { return index < PATHS && paths[index]->supported(); }

const char *ame_isa_active(void) { return isa_active()->name; }

int32_t ame_isa_force(const char *name) {
  if (!name) return 1;
  for (size_t i = 0; i < PATHS; i++) {
    if (strcmp(paths[i]->name, name) == 0 && paths[i]->supported()) {
      atomic_store_explicit(&active, paths[i], memory_order_release);
      return 0;
    }
  }
  return 1;
}
