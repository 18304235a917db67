/* Arrays that one call or one object needs together, and that are freed together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct ty_arena {
  struct ty_arena_piece *pieces;
  bool failed; /* an array could not be had: to be asked once, after the last one */
} ty_arena;

/* An array of n entries of `width` bytes, which are not set. NULL: out of memory, or too large. */
void *ty_arena_take(ty_arena *a, uint64_t n, uint64_t width);
/* The same, all zero. */
void *ty_arena_zero(ty_arena *a, uint64_t n, uint64_t width);
/* The same, not set, and 64-byte aligned. */
void *ty_arena_align(ty_arena *a, uint64_t n, uint64_t width);
/* Frees all arrays. */
void ty_arena_free(ty_arena *a);
