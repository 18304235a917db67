#include "os/huge.h"

#include <sys/mman.h>
#include <unistd.h>

void ty_huge_pages(void *block, uint64_t bytes) {
#if defined(MADV_HUGEPAGE)
  if (bytes < TY_HUGE_LEAST) return;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)block + page - 1) / page * page;
  (void)madvise((void *)first, ((uintptr_t)block + bytes - first) / page * page, MADV_HUGEPAGE);
#else
  (void)block;
  (void)bytes;
#endif
}
