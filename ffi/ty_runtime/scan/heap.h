/* A scan's state: the k best lower bounds, whose worst is the threshold, and the rows that may still reach it. */
#pragma once

#include <math.h>
#include <stdlib.h>

#include "os/fail.h"

/* The k best lower bounds, a binary min-heap. */
typedef struct scan_bounds {
  double *items; /* room for `wanted` */
  uint64_t wanted, count;
  double threshold; /* items[0] once full, before that -infinity */
} scan_bounds;

static inline void bounds_offer(scan_bounds *b, double value) {
  double *heap = b->items;
  uint64_t i, n = b->wanted;
  if (b->count < n) {
    for (i = b->count++; i > 0 && heap[(i - 1) / 2] > value; i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
    heap[i] = value;
    if (b->count == n) b->threshold = heap[0];
    return;
  }
  if (value <= heap[0]) return;
  for (i = 0;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= value) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = value;
  b->threshold = heap[0];
}

/* Whether the heap is in order, and the threshold its smallest once there are as many as wanted. */
static inline bool bounds_hold(const scan_bounds *b) {
  bool good = b->count <= b->wanted && (b->count < b->wanted ? b->threshold == -INFINITY : b->threshold == b->items[0]);
  for (uint64_t i = 1; i < b->count; i++) good &= b->items[(i - 1) / 2] <= b->items[i];
  return good;
}

typedef struct scan_candidate {
  double upper;
  uint64_t at; /* position; the top bit marks the delta */
} scan_candidate;

typedef struct scan_candidates {
  scan_candidate *items;
  uint64_t count, capacity;
} scan_candidates;

/* Drops the candidates that are below the threshold now. */
static inline void candidates_drop(scan_candidates *c, double threshold) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < c->count; i++) {
    if (c->items[i].upper >= threshold) c->items[kept++] = c->items[i];
  }
  c->count = kept;
}

/* Reserves `more` entries. It grows only where dropping did not free half, to stay near the size that it needs. */
static inline bool candidates_reserve(scan_candidates *c, uint64_t more, double threshold) {
  if (c->capacity - c->count >= more) return true;
  candidates_drop(c, threshold);
  if (c->count <= c->capacity / 2 && c->capacity - c->count >= more) return true;
  uint64_t capacity = c->capacity == 0 ? 4 * more : 2 * c->capacity, bytes;
  if (capacity - c->count < more) capacity = c->count + more;
  if (!ty_mul(capacity, sizeof *c->items, &bytes) || bytes > SIZE_MAX) return false;
  scan_candidate *grown = realloc(c->items, (size_t)bytes);
  if (grown == NULL) return false;
  c->items = grown;
  c->capacity = capacity;
  return true;
}

/* Moves candidate i of n down to its place in a heap with the largest upper bound first. */
static inline void candidates_sink(scan_candidate *heap, uint64_t n, uint64_t i) {
  scan_candidate moving = heap[i];
  for (;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap[child + 1].upper > heap[child].upper) child++;
    if (heap[child].upper <= moving.upper) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}
