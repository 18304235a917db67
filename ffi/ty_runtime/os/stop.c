/* Two handlers: the one of SIGINT and SIGTERM sets a timer, and that of the timer ends the process. Neither waits for a
 * lock or allocates: what was interrupted may hold any lock. setitimer is a system call and no more, on Linux and on
 * macOS, which lacks the timers of POSIX. */
#include "os/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static struct sigaction before_interrupt, before_terminate;
static struct itimerval after;
static uint8_t said[TY_STOP_BYTES];
static size_t said_bytes;
static uint8_t exit_code;
static bool is_set;
static atomic_bool is_running;

static void on_alarm(int number) {
  (void)number;
  for (size_t at = 0; at < said_bytes;) {
    ssize_t n = write(STDERR_FILENO, said + at, said_bytes - at);
    if (n <= 0) break;
    at += (size_t)n;
  }
  _exit(exit_code);
}

static void on_signal(int number, siginfo_t *info, void *context) {
  int kept = errno;
  const struct sigaction *before = number == SIGINT ? &before_interrupt : &before_terminate;
  if (!atomic_exchange(&is_running, true)) setitimer(ITIMER_REAL, &after, NULL);
  if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(number, info, context);
  else before->sa_handler(number);
  errno = kept;
}

/* Where nothing handles the signal it ends the process at once, or is ignored: that stays. */
static int watch(int number, struct sigaction *before) {
  if (sigaction(number, NULL, before) < 0) return -1;
  bool is_plain = (before->sa_flags & SA_SIGINFO) == 0;
  if (is_plain && (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN)) return 0;
  struct sigaction action = *before;
  action.sa_sigaction = on_signal;
  action.sa_flags |= SA_SIGINFO | SA_RESTART;
  return sigaction(number, &action, NULL);
}

int ty_stop_set(uint64_t milliseconds, uint8_t code, const uint8_t *message, size_t bytes) {
  if (is_set) return 0;
  struct sigaction action = {.sa_handler = on_alarm};
  after.it_value.tv_sec = (time_t)(milliseconds / 1000);
  after.it_value.tv_usec = (suseconds_t)(milliseconds % 1000 * 1000);
  exit_code = code;
  said_bytes = bytes;
  if (bytes > 0) memcpy(said, message, bytes);
  sigemptyset(&action.sa_mask);
  is_set = sigaction(SIGALRM, &action, NULL) == 0 && watch(SIGINT, &before_interrupt) == 0 &&
           watch(SIGTERM, &before_terminate) == 0;
  return is_set ? 0 : -errno;
}
