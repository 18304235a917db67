/* Errors, and sizes checked for overflow. */
#pragma once

#include <stdbool.h>
#include "ty_runtime.h"

/* Fills err (cutting the message to fit on a character boundary) and returns status. */
ty_status ty_fail(ty_error *err, ty_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Not an errno (those are smaller): TY_NOT_REGULAR + k says that the path is not a regular file but a ty_kind k. */
#define TY_NOT_REGULAR 4096
/* For a negative result of the os table: TY_IO with the errno's text, `what` (a verb) and a file's name. Beyond
 * TY_NOT_REGULAR it is TY_CORRUPT, and the message names what is at the path. */
ty_status ty_fail_io(ty_error *err, int negative_errno, const char *what, const char *name);
/* Checked sizes: false on overflow. */
bool ty_mul(uint64_t a, uint64_t b, uint64_t *out);
bool ty_add(uint64_t a, uint64_t b, uint64_t *out);
/* For reserved bytes: one that is not zero was written by a later version and has a meaning there. */
bool ty_all_zero(const void *bytes, uint64_t n);

/* Alignment of sections, blocks, operations and vectors, on disk and in memory: a cache line, best for the kernel's
 * loads. */
#define TY_ALIGN 64u
static inline uint64_t ty_align_up(uint64_t n) { return (n + (TY_ALIGN - 1)) & ~(uint64_t)(TY_ALIGN - 1); }
