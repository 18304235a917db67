/* Which rows have texts of a call, byte for byte. A base has a checksum of each text: four bytes a row are read and
 * looked up in a filter, and texts only where the checksum is one of the call's. Those of a delta are kept in memory. A
 * row of a base whose checksums are lost is looked at by the length of its text first. What is found is compared byte
 * by byte, so that damage makes no answer wrong; it may hide a row. */
#include <string.h>

#include "calls/calls.h"
#include "calls/arguments.h"
#include "os/arena.h"
#include "rows/checks.h"
#include "state/state.h"
#include "state/text_sums.h"

/* Bits of a filter: of ten thousand texts one row in fifty passes that has none of them. */
#define FILTER_BITS ((uint32_t)1 << 19)

typedef struct sought {
  ty_collection *c;
  const ty_same_args *args;
  ty_answer answer;
  uint32_t *table; /* texts by checksum: which one + 1; 0: free */
  uint32_t *sums, *found;
  uint64_t size;
  uint8_t *by_sum, *by_length;
  ty_arena memory;
} sought;

static void set(uint8_t *filter, uint32_t value) { filter[value % FILTER_BITS / 8] |= (uint8_t)(1u << value % 8); }

static bool is_set(const uint8_t *filter, uint32_t value) {
  return (filter[value % FILTER_BITS / 8] >> value % 8 & 1) != 0;
}

static ty_slice text_of(const sought *s, uint64_t i) { return ty_nth(s->args->texts, s->args->text_ends, i); }

static uint32_t sum_of(const sought *s, ty_slice text) {
  return text.bytes == 0 ? 0 : s->c->env->kernel->crc32c(0, text.data, (size_t)text.bytes);
}

static ty_status fill(sought *s, ty_error *err) {
  uint64_t n = s->args->n;
  for (s->size = 16; s->size < n * 2;) s->size *= 2;
  s->table = ty_arena_zero(&s->memory, s->size, sizeof *s->table);
  s->sums = ty_arena_take(&s->memory, n, sizeof *s->sums);
  s->found = ty_arena_zero(&s->memory, n, sizeof *s->found);
  s->by_sum = ty_arena_zero(&s->memory, FILTER_BITS / 8, 1);
  s->by_length = ty_arena_zero(&s->memory, FILTER_BITS / 8, 1);
  if (s->memory.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu texts", (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    ty_slice text = text_of(s, i);
    uint64_t slot = (s->sums[i] = sum_of(s, text)) & (s->size - 1);
    while (s->table[slot] != 0) slot = (slot + 1) & (s->size - 1);
    s->table[slot] = (uint32_t)i + 1;
    set(s->by_sum, s->sums[i]);
    set(s->by_length, (uint32_t)text.bytes);
  }
  return TY_OK;
}

/* A row whose text has the checksum of one of the call's. */
static void compare(sought *s, ty_ref row, uint32_t sum) {
  bool present;
  ty_slice text = ty_row_text(row.segment, row.at, &present);
  if (!present || row.segment->dead[row.at]) return;
  for (uint64_t slot = sum & (s->size - 1); s->table[slot] != 0; slot = (slot + 1) & (s->size - 1)) {
    uint32_t i = s->table[slot] - 1;
    ty_slice other = text_of(s, i);
    if (s->sums[i] != sum || s->found[i] == s->args->most || text.bytes != other.bytes) continue;
    if (text.bytes > 0 && memcmp(text.data, other.data, (size_t)text.bytes) != 0) continue;
    s->found[i]++;
    ty_answer_row(&s->answer, s->c, row, i, 0, (ty_slice){NULL, 0});
  }
}

/* The same of a row whose checksum is not stored. */
static void compare_by_length(sought *s, ty_ref row) {
  bool present;
  ty_slice text = ty_row_text(row.segment, row.at, &present);
  if (!present || !is_set(s->by_length, (uint32_t)text.bytes) || row.segment->dead[row.at]) return;
  uint32_t sum = sum_of(s, text);
  if (is_set(s->by_sum, sum)) compare(s, row, sum);
}

static ty_status look(sought *s, ty_error *err) {
  const ty_segment *base = &s->c->base, *delta = &s->c->delta;
  const uint32_t *added = ty_text_sums(s->c);
  if (added == NULL && delta->count > 0) return ty_fail(err, TY_NO_MEMORY, "out of memory for checksums of texts");
  const uint8_t *sums = base->checks == NULL ? NULL : base->checks->text_sums.data;
  for (uint64_t at = 0; at < base->count; at++) {
    uint32_t sum;
    if (sums == NULL) {
      compare_by_length(s, (ty_ref){base, at});
      continue;
    }
    memcpy(&sum, sums + at * sizeof sum, sizeof sum);
    if (is_set(s->by_sum, sum)) compare(s, (ty_ref){base, at}, sum);
  }
  for (uint64_t at = 0; at < delta->count; at++)
    if (is_set(s->by_sum, added[at])) compare(s, (ty_ref){delta, at}, added[at]);
  return TY_OK;
}

ty_status ty_same(ty_collection *c, ty_same_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  sought s = {.c = c, .args = args, .answer = {.out = args->out, .capacity = args->out_capacity}};
  status = ty_check_texts(args->texts, args->text_ends, args->n, err);
  if (status == TY_OK && args->n > 0) status = fill(&s, err);
  if (status == TY_OK && args->n > 0) status = look(&s, err);
  if (status == TY_OK) status = ty_answer_end(&s.answer, c, err);
  ty_arena_free(&s.memory);
  status = ty_leave(c, status, err);
  args->out_bytes = s.answer.bytes;
  args->out_count = s.answer.count;
  return status;
}
