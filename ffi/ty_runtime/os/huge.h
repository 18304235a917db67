/* Huge pages for large blocks of memory: the faults on small pages took 15 of the 50 us of CPU of each row of an import
 * of passages. */
#pragma once

#include <stdint.h>

/* A smaller block may contain no whole huge page. */
#define TY_HUGE_LEAST ((uint64_t)4 << 20)

/* Asks the system to use huge pages for a block of fresh memory, if it has at least TY_HUGE_LEAST bytes. Only Linux can
 * do so, and it may use small pages all the same. A block of which only a part is used takes up to 2 MiB more. */
void ty_huge_pages(void *block, uint64_t bytes);
