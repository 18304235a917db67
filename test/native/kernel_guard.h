/* Memory between two pages that may not be touched: a function that reads or writes one byte before the first or beyond
 * the last ends the program, also in a vector instruction that no sanitizer sees. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct guarded {
  uint8_t *map;
  size_t size;
  void *at; /* the memory, zero at first */
} guarded;

/* Which end lies at an untouchable page. */
typedef enum guard_end { GUARD_BEFORE, GUARD_BEHIND } guard_end;

static inline guarded guarded_memory(size_t bytes, guard_end end) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
  guarded g = {NULL, body + 2 * page, NULL};
  g.map = mmap(NULL, g.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (g.map == MAP_FAILED || (body && mprotect(g.map + page, body, PROT_READ | PROT_WRITE))) abort();
  g.at = g.map + page + (end == GUARD_BEHIND ? body - bytes : 0);
  return g;
}

static inline void guarded_free(guarded g) { munmap(g.map, g.size); }
