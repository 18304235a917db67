/* The table of watched mappings is read by a signal handler: chunks that are never freed or moved, of atomic fields. */
#include "os/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK 256u

struct ty_guard {
  _Atomic uintptr_t start; /* 0: free */
  _Atomic size_t bytes;
  _Atomic bool lost;
};

typedef struct chunk {
  ty_guard guards[CHUNK];
  _Atomic(struct chunk *) next;
} chunk;

static chunk first;
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct sigaction before;
static uintptr_t page;

/* Maps zeros over the watched mapping from the page of the address on; of a copy it may be a write that raised the
 * signal. False: no collection watches it. */
static bool lose(uintptr_t address) {
  for (chunk *c = &first; c != NULL; c = atomic_load(&c->next)) {
    for (unsigned i = 0; i < CHUNK; i++) {
      ty_guard *g = &c->guards[i];
      uintptr_t start = atomic_load(&g->start), from = address / page * page;
      size_t bytes = atomic_load(&g->bytes);
      if (start == 0 || address < start || address - start >= bytes) continue;
      atomic_store(&g->lost, true);
      void *to = mmap((void *)from, start + bytes - from, PROT_READ | PROT_WRITE,
                      MAP_FIXED | MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
      return to != MAP_FAILED;
    }
  }
  return false;
}

static void on_bus(int number, siginfo_t *info, void *context) {
  int kept = errno;
  /* A signal that a process sends has no address. */
  bool sent = info->si_code <= 0, ours = !sent && lose((uintptr_t)info->si_addr);
  errno = kept;
  if (ours) return;
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
  } else if (!sent || before.sa_handler == SIG_DFL) {
    /* The read is tried again and ends the process, as it would have without us. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGBUS, &plain, NULL);
    if (sent) raise(number);
  }
}

static void install(void) {
  page = (uintptr_t)sysconf(_SC_PAGESIZE);
  /* On the alternate stack, if the thread has one, as other programs' handlers expect it. */
  struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

static ty_guard *take_free(void) {
  for (chunk *c = &first;; c = atomic_load(&c->next)) {
    for (unsigned i = 0; i < CHUNK; i++) {
      if (atomic_load(&c->guards[i].start) == 0) return &c->guards[i];
    }
    if (atomic_load(&c->next) != NULL) continue;
    chunk *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) return NULL;
    atomic_store(&c->next, fresh);
  }
}

ty_guard *ty_guard_take(const void *address, size_t bytes) {
  pthread_once(&once, install);
  pthread_mutex_lock(&taking);
  ty_guard *g = take_free();
  if (g != NULL) {
    atomic_store(&g->lost, false);
    atomic_store(&g->bytes, bytes);
    atomic_store(&g->start, (uintptr_t)address);
  }
  pthread_mutex_unlock(&taking);
  return g;
}

void ty_guard_drop(ty_guard *guard) {
  if (guard != NULL) atomic_store(&guard->start, 0);
}

bool ty_guard_lost(const ty_guard *guard) {
  return guard != NULL && atomic_load_explicit(&guard->lost, memory_order_acquire);
}
