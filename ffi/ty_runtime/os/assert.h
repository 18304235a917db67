/* What the code takes for granted, said where it does. With TY_ASSERTS, as tests and fuzzers are built, a condition
 * that does not hold ends the process; without it nothing is compiled in. Never about what a file or a caller may hold:
 * that is a failure with a sentence. */
#ifndef TY_ASSERT_H
#define TY_ASSERT_H

#ifdef TY_ASSERTS
#include <stdio.h>
#include <stdlib.h>
#define TY_ASSERT(condition) ((condition) ? (void)0 : ty_assert_failed(__FILE__, __LINE__, #condition))
static inline _Noreturn void ty_assert_failed(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  abort();
}
#else
#define TY_ASSERT(condition) ((void)sizeof(condition))
#endif
/* The collection's lock is held exclusively, or its writer is waiting for readers. */
#define TY_ASSERT_EXCLUSIVE(c) TY_ASSERT(pthread_rwlock_tryrdlock(&(c)->lock) != 0)

#endif
