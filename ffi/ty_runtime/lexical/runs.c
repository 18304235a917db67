#include "lexical/runs.h"

#include <stdlib.h>

#include "lexical/bits.h"

#define ROW_BITS    20u
#define TF_BITS     12u
#define TF_MOST     ((uint32_t)1 << TF_BITS)
#define FIRST_ITEMS 4096u
/* Compressed, a group of items takes at most 5 bytes for its hash, those of its count, and for each item 3 for its row
 * and 2 for its tf. */
#define ITEM_MOST 12u

void ty_runs_open(ty_runs *r, const ty_collection *c) { *r = (ty_runs){.c = c, .memory = c->env->run_memory}; }

/* Sorts by hash, stable, as rows were added in ascending order. Three passes of 11 bits; the last one leaves the result
 * in `scratch`. */
static void sort_items(uint64_t *items, uint64_t *scratch, uint64_t n) {
  enum { DIGITS = 2048 };
  static const unsigned shifts[3] = {32, 43, 54};
  uint32_t starts[3][DIGITS];
  memset(starts, 0, sizeof starts);
  for (uint64_t i = 0; i < n; i++) {
    for (int p = 0; p < 3; p++) starts[p][items[i] >> shifts[p] & (DIGITS - 1)]++;
  }
  for (int p = 0; p < 3; p++) {
    uint32_t *start = starts[p], at = 0;
    for (uint32_t d = 0; d < DIGITS; d++) {
      uint32_t count = start[d];
      start[d] = at;
      at += count;
    }
    for (uint64_t i = 0; i < n; i++) scratch[start[items[i] >> shifts[p] & (DIGITS - 1)]++] = items[i];
    uint64_t *swap = items;
    items = scratch;
    scratch = swap;
  }
}

/* Equal terms of a row become one item, up to the largest tf of an item. */
static uint64_t collapse(const uint64_t *from, uint64_t n, uint64_t *to) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < n; i++) {
    if (kept > 0 && to[kept - 1] >> TF_BITS == from[i] >> TF_BITS) {
      uint64_t sum = (to[kept - 1] & (TF_MOST - 1)) + (from[i] & (TF_MOST - 1)) + 1;
      if (sum < TF_MOST) {
        to[kept - 1] = (from[i] & ~(uint64_t)(TF_MOST - 1)) | sum;
        continue;
      }
    }
    to[kept++] = from[i];
  }
  return kept;
}

/* For each hash LEB128 of: its difference from the one before; the number of items; for each item 2 * (row - the one
 * before) + (tf is 1), and the tf where it is not 1. */
static uint64_t compress(const uint64_t *items, uint64_t n, uint8_t *out) {
  uint8_t *p = out;
  uint32_t before = 0;
  for (uint64_t i = 0; i < n;) {
    uint32_t hash = (uint32_t)(items[i] >> 32), row = 0;
    uint64_t end = i + 1;
    while (end < n && items[end] >> 32 == hash) end++;
    p += ty_leb_put(p, hash - before);
    p += ty_leb_put(p, end - i);
    before = hash;
    for (; i < end; i++) {
      uint32_t now = (uint32_t)items[i] >> TF_BITS, more = (uint32_t)items[i] & (TF_MOST - 1);
      p += ty_leb_put(p, 2 * (uint64_t)(now - row) + (more == 0));
      if (more > 0) p += ty_leb_put(p, more + 1);
      row = now;
    }
  }
  return (uint64_t)(p - out);
}

/* Allocates a run's bytes, in a chunk for several runs unless it is the last one. */
static uint8_t *chunk_room(ty_runs *r, uint64_t bytes, bool last) {
  uint32_t n = r->chunk_count;
  if (n == 0 || r->chunks[n - 1].bytes - r->used[n - 1] < bytes) {
    ty_spill fresh = {0}, *chunks = realloc(r->chunks, (n + 1) * sizeof *chunks);
    if (chunks != NULL) r->chunks = chunks;
    uint64_t *used = realloc(r->used, (n + 1) * sizeof *used);
    if (used != NULL) r->used = used;
    if (chunks == NULL || used == NULL ||
        !ty_spill_grow(ty_dir_of(r->c), &fresh, 0, last || bytes > r->c->env->run_chunk ? bytes : r->c->env->run_chunk))
      return NULL;
    r->chunks[n] = fresh;
    r->used[n] = 0;
    r->chunk_count = ++n;
  }
  uint8_t *at = (uint8_t *)r->chunks[n - 1].data + r->used[n - 1];
  r->used[n - 1] += bytes;
  TY_ASSERT(r->used[n - 1] <= r->chunks[n - 1].bytes);
  return at;
}

static void store_run(ty_runs *r, bool last) {
  if (r->failed || r->count == 0) return;
  if (r->run_count == r->run_capacity) {
    uint32_t capacity = r->run_capacity == 0 ? 8 : 2 * r->run_capacity;
    ty_run *runs = realloc(r->runs, capacity * sizeof *runs);
    r->failed = runs == NULL;
    if (r->failed) return;
    r->runs = runs;
    r->run_capacity = capacity;
  }
  uint64_t *sorted = (uint64_t *)(void *)r->scratch;
  sort_items(r->items, sorted, r->count);
  uint64_t n = collapse(sorted, r->count, r->items), bytes = compress(r->items, n, r->scratch);
  TY_ASSERT(bytes <= r->capacity * ITEM_MOST);
  uint8_t *at = chunk_room(r, bytes, last);
  r->failed = at == NULL;
  if (r->failed) return;
  memcpy(at, r->scratch, (size_t)bytes);
  ty_spill_evict(r->c->env, &r->chunks[r->chunk_count - 1]);
  r->runs[r->run_count] = (ty_run){.at = at, .end = at + bytes, .first_row = r->first_row, .number = r->run_count};
  r->run_count++;
  r->count = 0;
  r->first_row = r->row;
}

/* Ensures space for one more item. */
static bool reserve(ty_runs *r) {
  if (r->count < r->capacity) return true;
  uint64_t most = r->memory / sizeof *r->items;
  if (r->capacity >= most) {
    store_run(r, false);
    return !r->failed;
  }
  uint64_t capacity = r->capacity == 0 ? FIRST_ITEMS : 2 * r->capacity;
  if (capacity > most) capacity = most;
  free(r->scratch); /* it is empty between runs */
  r->scratch = malloc((size_t)(capacity * ITEM_MOST));
  uint64_t *items = realloc(r->items, (size_t)capacity * sizeof *items);
  if (items != NULL) r->items = items;
  r->failed = items == NULL || r->scratch == NULL;
  if (!r->failed) r->capacity = capacity;
  return !r->failed;
}

void ty_runs_row(ty_runs *r, uint64_t row) {
  TY_ASSERT(row >= r->row);
  r->row = row;
  if (r->count == 0) r->first_row = row;
  if (((row - r->first_row) >> ROW_BITS) != 0) store_run(r, false);
}

void ty_runs_add(ty_runs *r, uint32_t hash, uint32_t tf) {
  while (tf > 0 && !r->failed && reserve(r)) {
    TY_ASSERT(r->count < r->capacity && (r->row - r->first_row) >> ROW_BITS == 0);
    uint32_t part = tf < TF_MOST ? tf : TF_MOST;
    r->items[r->count++] = (uint64_t)hash << 32 | (r->row - r->first_row) << TF_BITS | (part - 1);
    tf -= part;
  }
}

/* ---- Merging ---- */

/* Reads the head of a run's next group; false at the end. Reads stay within the run whatever its bytes. */
static bool next_group(ty_run *run) {
  uint64_t more;
  if (!ty_leb_get(&run->at, run->end, &more) || !ty_leb_get(&run->at, run->end, &run->count)) return false;
  run->hash += (uint32_t)more;
  return true;
}

static bool before(const ty_run *a, const ty_run *b) {
  return a->hash != b->hash ? a->hash < b->hash : a->number < b->number;
}

static void sink_run(ty_run *heap, uint32_t count, uint32_t at) {
  ty_run moving = heap[at];
  for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && before(&heap[child + 1], &heap[child])) child++;
    if (!before(&heap[child], &moving)) break;
    heap[at] = heap[child];
  }
  heap[at] = moving;
}

/* Passes the group's postings to the sink; returns the bytes that were read. */
static uint64_t pass_group(ty_run *run, const ty_runs_sink *sink) {
  const uint8_t *start = run->at;
  uint64_t row = run->first_row, gap, tf;
  for (uint64_t i = 0; i < run->count && ty_leb_get(&run->at, run->end, &gap); i++) {
    tf = 1;
    if ((gap & 1) == 0 && !ty_leb_get(&run->at, run->end, &tf)) break;
    row += gap >> 1;
    sink->posting(sink->ctx, row, (uint32_t)tf);
  }
  return (uint64_t)(run->at - start);
}

ty_status ty_runs_merge(ty_runs *r, const ty_runs_sink *sink, ty_error *err) {
  store_run(r, true);
  if (r->failed) return ty_fail(err, TY_NO_MEMORY, "not enough memory to build the lexical index");
  free(r->items);
  free(r->scratch);
  r->items = NULL;
  r->scratch = NULL;
  uint32_t count = 0;
  uint64_t read = 0;
  for (uint32_t i = 0; i < r->run_count; i++) {
    if (next_group(&r->runs[i])) r->runs[count++] = r->runs[i];
  }
  for (uint32_t i = count; i-- > 0;) sink_run(r->runs, count, i);
  ty_status status = TY_OK;
  while (count > 0 && status == TY_OK) {
    uint32_t hash = r->runs[0].hash;
    while (count > 0 && r->runs[0].hash == hash) {
      read += pass_group(&r->runs[0], sink);
      if (!next_group(&r->runs[0])) r->runs[0] = r->runs[--count];
      if (count > 0) sink_run(r->runs, count, 0);
    }
    TY_ASSERT(count == 0 || r->runs[0].hash > hash);
    status = sink->term(sink->ctx, hash);
    if (read >= TY_RESIDENT_MOST) {
      for (uint32_t i = 0; i < r->chunk_count; i++) ty_spill_evict(r->c->env, &r->chunks[i]);
      read = 0;
    }
  }
  return status;
}

void ty_runs_free(ty_runs *r) {
  for (uint32_t i = 0; i < r->chunk_count; i++) ty_spill_free(r->c->env, &r->chunks[i]);
  free(r->chunks);
  free(r->used);
  free(r->runs);
  free(r->items);
  free(r->scratch);
  *r = (ty_runs){0};
}
