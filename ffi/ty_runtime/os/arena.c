/* Arrays that are freed together. */
#include "os/arena.h"

#include <stdlib.h>

#include "os/fail.h"
#include "os/huge.h"

/* An array begins behind this. */
typedef struct ty_arena_piece {
  struct ty_arena_piece *next;
  uint64_t pad[7]; /* so that the array is aligned as this is */
} piece;

_Static_assert(sizeof(piece) == TY_ALIGN, "the head of an array");

/* The size of an array with its head; 0: too large. */
static size_t size_of(uint64_t n, uint64_t width) {
  uint64_t bytes;
  return ty_mul(n, width, &bytes) && bytes <= SIZE_MAX / 2 ? sizeof(piece) + (size_t)bytes : 0;
}

static void *keep(ty_arena *a, piece *p, size_t bytes) {
  a->failed |= p == NULL;
  if (p == NULL) return NULL;
  ty_huge_pages(p, bytes);
  p->next = a->pieces;
  a->pieces = p;
  return p + 1;
}

void *ty_arena_take(ty_arena *a, uint64_t n, uint64_t width) {
  size_t bytes = size_of(n, width);
  return keep(a, bytes == 0 ? NULL : malloc(bytes), bytes);
}

void *ty_arena_zero(ty_arena *a, uint64_t n, uint64_t width) {
  size_t bytes = size_of(n, width);
  return keep(a, bytes == 0 ? NULL : calloc(1, bytes), bytes);
}

void *ty_arena_align(ty_arena *a, uint64_t n, uint64_t width) {
  size_t bytes = size_of(n, width);
  return keep(a, bytes == 0 ? NULL : aligned_alloc(TY_ALIGN, (size_t)ty_align_up(bytes)), bytes);
}

void ty_arena_free(ty_arena *a) {
  while (a->pieces != NULL) {
    piece *next = a->pieces->next;
    free(a->pieces);
    a->pieces = next;
  }
  a->failed = false;
}
