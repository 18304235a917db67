/* A process that is at something else when a signal comes ends all the same, with the exit status and the message that
 * were set; its own handler is called; and a signal that nothing handles keeps its effect. */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../ffi/ty_runtime/ty_runtime.h"
#include "check.h"

#define SAID "stopped\n"

static ty_error err;
static volatile sig_atomic_t handled;

static void count(int number) { handled += number == SIGTERM ? 1 : 100; }

static void count_info(int number, siginfo_t *info, void *context) {
  (void)info, (void)context;
  count(number);
}

static ty_status set(uint64_t milliseconds, uint64_t code, uint64_t bytes) {
  static uint8_t message[2048] = SAID;
  return ty_stop_after_signal(milliseconds, code, message, bytes, &err);
}

typedef enum handler { NONE, PLAIN, WITH_INFO } handler;

/* In a process of its own: sets the handlers, sends itself the signals, and goes on until it is ended. */
static void run(handler kind, int first, int second, bool ends_itself) {
  struct sigaction action = {.sa_handler = count};
  if (kind == WITH_INFO) action = (struct sigaction){.sa_sigaction = count_info, .sa_flags = SA_SIGINFO};
  if (kind != NONE) sigaction(SIGTERM, &action, NULL), sigaction(SIGINT, &action, NULL);
  if (set(50, 130, strlen(SAID)) != TY_OK || set(60000, 1, 0) != TY_OK) _exit(2);
  raise(first);
  if (second != 0) raise(second);
  if (handled != (first == SIGTERM ? 1 : 100) + (second == 0 ? 0 : second == SIGTERM ? 1 : 100)) _exit(3);
  if (ends_itself) _exit(7);
  for (;;) {
  }
}

/* The status of such a process, and what it wrote to stderr. */
static int status_of(handler kind, int first, int second, bool ends_itself, char said[64]) {
  int ends[2], status = 0;
  size_t bytes = 0;
  if (!CHECK(pipe(ends) == 0)) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    run(kind, first, second, ends_itself);
  }
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], said + bytes, 63 - bytes)) > 0;) bytes += (size_t)n;
  said[bytes] = 0;
  close(ends[0]);
  CHECK(waitpid(pid, &status, 0) == pid);
  return status;
}

int main(void) {
  char said[64];
  for (int kind = PLAIN; kind <= WITH_INFO; kind++) {
    for (int i = 0; i < 4; i++) {
      int first = (i & 1) ? SIGINT : SIGTERM, second = (i & 2) ? SIGTERM : 0;
      int status = status_of((handler)kind, first, second, false, said);
      CHECK_MESSAGE(WIFEXITED(status) && WEXITSTATUS(status) == 130, "%d, %d: status %x", kind, i, (unsigned)status);
      CHECK_MESSAGE(strcmp(said, SAID) == 0, "%d, %d: '%s'", kind, i, said);
    }
    int status = status_of((handler)kind, SIGTERM, 0, true, said);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7 && said[0] == 0);
  }
  int status = status_of(NONE, SIGTERM, 0, false, said);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM && said[0] == 0);

  CHECK(set(0, 130, 0) == TY_INVALID && strstr(err.message, "0 milliseconds") != NULL);
  CHECK(set(60001, 130, 0) == TY_INVALID && set(UINT64_MAX, 130, 0) == TY_INVALID);
  CHECK(set(50, 256, 0) == TY_INVALID && strstr(err.message, "exit status of 256") != NULL);
  CHECK(set(50, 130, 1025) == TY_INVALID && strstr(err.message, "1025 bytes") != NULL);
  return check_report();
}
