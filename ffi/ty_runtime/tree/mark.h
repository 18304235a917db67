/* The mark of an entry, and the hash of a file's content. Callers store both, so both are defined for good: XXH64. */
#pragma once

#include <stddef.h>

#include "os/os.h"

/* XXH64 (Collet, 2014) with seed 0. */
uint64_t ty_content_hash(const void *data, size_t bytes);
/* 53 bits of the hash of what changes with any edit, as an integer; never 0. */
double ty_mark_of(const ty_lstat *seen);
/* The later of both times, in ms since 1970, rounded down. */
double ty_changed_ms(const ty_lstat *seen);
