/* Assertions of invariants. With TY_ASSERTS, as in tests and fuzzers, a failed one ends the process; else nothing is
 * compiled in. Never for the contents of a file or the arguments of a caller: these get an error with a message. */
#pragma once

#ifdef TY_ASSERTS
#include <stdio.h>
#include <stdlib.h>
#define TY_ASSERT(condition) ((condition) ? (void)0 : ty_assert_failed(__FILE__, __LINE__, #condition))
static inline _Noreturn void ty_assert_failed(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  abort();
}
#else
#define TY_ASSERT(condition) ((void)sizeof(condition))
#endif
/* The collection's lock is held exclusively, or its writer is waiting for readers. */
#define TY_ASSERT_EXCLUSIVE(c) TY_ASSERT(pthread_rwlock_tryrdlock(&(c)->lock) != 0)
