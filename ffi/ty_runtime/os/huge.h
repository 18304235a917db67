/* Huge pages for large blocks of memory: the faults on small pages took 15 of the 50 us of CPU of each row of an import
 * of passages. */
#pragma once

#include <stdint.h>

/* Smaller blocks have no whole huge page for certain. */
#define TY_HUGE_LEAST ((uint64_t)4 << 20)

/* Asks the system for huge pages where a block of fresh memory is large enough for them. Linux only, and no more than a
 * wish: a block whose end is not touched takes 2 MiB more at most. */
void ty_huge_pages(void *block, uint64_t bytes);
