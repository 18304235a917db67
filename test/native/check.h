/* The whole test framework of the native tests: count, say what failed and where, go on. Each test program includes it
 * once and ends with `return check_report();`. */
#pragma once

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* Atomic: some tests check on several threads. */
static _Atomic uint64_t check_passed, check_failed;

/* After this many lines a failure is only counted: the first ones show what is wrong. */
#define CHECK_LINES_MAX 40

static inline int check_at(int ok, const char *file, int line, const char *format, ...) {
  if (ok) {
    check_passed++;
    return 1;
  }
  if (check_failed++ < CHECK_LINES_MAX) {
    va_list args;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
  }
  return 0;
}

/* CHECK(condition) or CHECK_MESSAGE(condition, "format", ...); the value is the condition's. */
#define CHECK(condition)              check_at((condition) ? 1 : 0, __FILE__, __LINE__, "%s", #condition)
#define CHECK_MESSAGE(condition, ...) check_at((condition) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)

static inline int check_report(void) {
  printf("%llu passed, %llu failed\n", (unsigned long long)check_passed, (unsigned long long)check_failed);
  return check_failed ? 1 : 0;
}
