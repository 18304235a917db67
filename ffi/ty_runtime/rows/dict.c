/* Filter values as small codes: two rows match when their codes do. */
#include <stdlib.h>
#include <string.h>
#include "os/assert.h"
#include "rows/dict.h"

ty_slice ty_dict_value(const ty_dict *d, uint32_t code) {
  if (code == 0 || code >= d->count) return (ty_slice){NULL, 0};
  uint64_t start = d->ends[code - 1];
  return (ty_slice){d->bytes.data + start, d->ends[code] - start};
}

static bool equal(ty_slice a, ty_slice b) {
  return a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, (size_t)a.bytes) == 0);
}

/* The slot that holds the value, or the empty one for it. */
static uint32_t slot_of(const ty_dict *d, const ame_kernel *k, ty_slice value) {
  uint32_t mask = d->table_size - 1;
  TY_ASSERT(d->table_size > d->count && (d->table_size & mask) == 0);
  uint32_t slot = (uint32_t)k->hash64(value.data, (size_t)value.bytes, 0) & mask;
  while (d->table[slot] != 0 && !equal(ty_dict_value(d, d->table[slot] - 1), value)) slot = (slot + 1) & mask;
  return slot;
}

uint32_t ty_dict_find(const ty_dict *d, const ame_kernel *k, ty_slice value) {
  if (value.bytes == 0) return 0;
  if (d->table_size == 0) return TY_NO_CODE;
  uint32_t entry = d->table[slot_of(d, k, value)];
  return entry == 0 ? TY_NO_CODE : entry - 1;
}

static bool grow_codes(ty_dict *d) {
  if (d->count < d->capacity) return true;
  if (d->capacity > UINT32_MAX / 4) return false;
  uint32_t capacity = d->capacity < 16 ? 16 : d->capacity * 2;
  uint64_t *ends = realloc(d->ends, (size_t)capacity * sizeof *ends);
  if (ends == NULL) return false;
  d->ends = ends;
  uint64_t *live = realloc(d->live, (size_t)capacity * sizeof *live);
  if (live == NULL) return false;
  memset(live + d->capacity, 0, (capacity - d->capacity) * sizeof *live);
  d->live = live;
  d->capacity = capacity;
  if (d->count == 0) { /* code 0: the empty key */
    d->ends[0] = 0;
    d->count = 1;
  }
  return true;
}

/* At most half full, so that runs of occupied slots stay short. */
static bool grow_table(ty_dict *d, const ame_kernel *k) {
  if ((uint64_t)(d->count + 1) * 2 <= d->table_size) return true;
  uint32_t size = d->table_size < 32 ? 32 : d->table_size * 2;
  while ((uint64_t)(d->count + 1) * 2 > size) size *= 2;
  uint32_t *table = calloc(size, sizeof *table);
  if (table == NULL) return false;
  free(d->table);
  d->table = table;
  d->table_size = size;
  for (uint32_t code = 1; code < d->count; code++) d->table[slot_of(d, k, ty_dict_value(d, code))] = code + 1;
  return true;
}

uint32_t ty_dict_intern(ty_dict *d, const ame_kernel *k, ty_slice value) {
  if (!grow_codes(d) || !grow_table(d, k)) return TY_NO_CODE;
  if (value.bytes == 0) return 0;
  uint32_t slot = slot_of(d, k, value);
  if (d->table[slot] != 0) return d->table[slot] - 1;
  ty_buffer_append(&d->bytes, value.data, value.bytes);
  if (d->bytes.failed) {
    d->bytes.failed = false; /* a failed append leaves the buffer unchanged */
    return TY_NO_CODE;
  }
  uint32_t code = d->count++;
  TY_ASSERT(code > 0 && d->count <= d->capacity && d->bytes.bytes > d->ends[code - 1]);
  d->ends[code] = d->bytes.bytes;
  d->table[slot] = code + 1;
  return code;
}

void ty_dict_count(ty_dict *d, uint32_t code, uint64_t rows) {
  TY_ASSERT(code < d->count);
  d->held += d->live[code] == 0 && rows > 0;
  d->live[code] += rows;
}

void ty_dict_uncount(ty_dict *d, uint32_t code) {
  /* Of a row whose code is in a truncated file, which reads as 0, the row is not of this value. */
  TY_ASSERT(code < d->count);
  if (d->live[code] == 0) return;
  d->held -= --d->live[code] == 0;
}

void ty_dict_free(ty_dict *d) {
  ty_buffer_free(&d->bytes);
  free(d->ends);
  free(d->live);
  free(d->table);
  *d = (ty_dict){0};
}
