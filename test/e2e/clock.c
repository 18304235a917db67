/*
 * Loaded before the C library (LD_PRELOAD): the time of day is SVC_TEST_CLOCK_AHEAD seconds ahead, or behind where that
 * is negative. Durations are as they are.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void) {
  const char *seconds = getenv("SVC_TEST_CLOCK_AHEAD");
  return seconds == NULL ? 0 : strtol(seconds, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
  int failed = (int)syscall(SYS_clock_gettime, clock, out);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += ahead();
  return failed;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
  int failed = (int)syscall(SYS_gettimeofday, out, zone);
  if (!failed) out->tv_sec += ahead();
  return failed;
}

time_t time(time_t *out) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return (time_t)-1;
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}
