/* The failures that a test injects: every system call of the table begins with RETURN_IF_INJECTED or asks `injected`.
 */
#pragma once

#include "os/os.h"

/* Counts a call. 0, or the injected failure. */
static inline int injected(ty_os *os) {
  uint64_t n = __atomic_add_fetch(&os->calls, 1, __ATOMIC_RELAXED);
  uint64_t nth = __atomic_load_n(&os->fail_nth, __ATOMIC_RELAXED);
  if (nth == 0 || n < nth) return 0;
  if (n > nth && !__atomic_load_n(&os->fail_sticky, __ATOMIC_RELAXED)) return 0;
  return -__atomic_load_n(&os->fail_errno, __ATOMIC_RELAXED);
}
#define RETURN_IF_INJECTED(os)                                                                                         \
  do {                                                                                                                 \
    int failure = injected(os);                                                                                        \
    if (failure != 0) return failure;                                                                                  \
  } while (0)
