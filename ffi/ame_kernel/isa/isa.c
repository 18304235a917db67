/* Detects which paths this CPU runs and chooses one, or the one forced.
 *
 * On x86-64 detection reads CPUID and XGETBV itself. __builtin_cpu_supports needs a runtime table that zig cc does not
 * link, and does not report whether the operating system saves the wide registers. This file is compiled without any
 * path's flags: a compiler may use AVX-512 in any function of a file that is compiled for it, and did so in the
 * function that detects AVX-512. */
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
static uint32_t cpu_has_avx2(void) {
  uint32_t a, b, c, d;
  if ((cpu_xcr0() & 0x6u) != 0x6u) return 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const uint32_t need = (1u << 12) | (1u << 20) | (1u << 23) | (1u << 28) | (1u << 29); /* FMA SSE4.2 POPCNT AVX F16C */
  if ((c & need) != need) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return (b >> 5) & 1u;
}

/* AVX-512 F, BW, VL, DQ and VNNI, with ZMM and mask registers saved. */
static uint32_t cpu_has_avx512(void) {
  uint32_t a, b, c, d;
  if (!cpu_has_avx2() || (cpu_xcr0() & 0xe6u) != 0xe6u) return 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  const uint32_t need = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31); /* F DQ BW VL */
  return (b & need) == need && ((c >> 11) & 1u);
}

/* The same with VBMI2 and VPOPCNTDQ, which Cascade Lake lacks. */
static uint32_t cpu_has_vbmi2(void) {
  uint32_t a, b, c, d;
  if (!cpu_has_avx512() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  return ((c >> 6) & 1u) && ((c >> 14) & 1u);
}

#endif

#if defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

/* The int8 products and CRC-32, by the numbers of the Linux ABI: the headers of glibc 2.17 lack these names. */
static uint32_t cpu_has_neon_dot(void) {
  const unsigned long need = 1ul << 20 | 1ul << 7; /* HWCAP_ASIMDDP, HWCAP_CRC32 */
  return (getauxval(AT_HWCAP) & need) == need;
}

#elif defined(__aarch64__)

/* Every Mac with an arm64 CPU has both. */
static uint32_t cpu_has_neon_dot(void) { return 1; }

#endif

static uint32_t always(void) { return 1; }

typedef struct choice {
  const char *name;
  uint32_t (*supported)(void);
  const isa_path *path;
  const isa_sparse *sparse;
} choice;

/* The last supported one is the best. */
static const choice choices[] = {
    {"scalar", always, &isa_scalar, &isa_sparse_scalar},
#if defined(__x86_64__)
    {"avx2", cpu_has_avx2, &isa_avx2, &isa_sparse_avx2},
    {"avx512", cpu_has_avx512, &isa_avx512, &isa_sparse_avx2},
    {"avx512_vbmi2", cpu_has_vbmi2, &isa_avx512, &isa_sparse_vbmi2},
#endif
#if defined(__aarch64__)
    {"neon", always, &isa_neon, &isa_sparse_neon},
    {"neon_dot", cpu_has_neon_dot, &isa_neon_dot, &isa_sparse_neon_dot},
#endif
};
#define CHOICES (sizeof choices / sizeof choices[0])

/* The only global state. Threads that race at the first use store the same pointer. */
static _Atomic(const choice *) active;

static const choice *chosen(void) {
  const choice *p = atomic_load_explicit(&active, memory_order_acquire);
  if (p) return p;
  for (size_t i = CHOICES; i-- > 0 && !p;) {
    if (choices[i].supported()) p = &choices[i];
  }
  atomic_store_explicit(&active, p, memory_order_release);
  return p;
}

const isa_path *isa_active(void) { return chosen()->path; }

const isa_sparse *isa_active_sparse(void) { return chosen()->sparse; }

uint32_t ame_isa_count(void) { return (uint32_t)CHOICES; }

const char *ame_isa_name(uint32_t index) { return index < CHOICES ? choices[index].name : NULL; }

uint32_t ame_isa_supported(uint32_t index) { return index < CHOICES && choices[index].supported(); }

const char *ame_isa_active(void) { return chosen()->name; }

int32_t ame_isa_force(const char *name) {
  if (!name) return 1;
  for (size_t i = 0; i < CHOICES; i++) {
    if (strcmp(choices[i].name, name) == 0 && choices[i].supported()) {
      atomic_store_explicit(&active, &choices[i], memory_order_release);
      return 0;
    }
  }
  return 1;
}
