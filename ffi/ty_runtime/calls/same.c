/* Which rows have texts of a call, byte for byte. A base has a checksum of each text as it is stored: four bytes a row
 * are read and looked up in a filter, and texts only where the checksum is one of the call's. Where texts are coded,
 * those of the call are coded too for their checksums. Those of a delta are kept in memory. A row of a base whose
 * checksums are lost is looked at by the length of its text first. What is found is compared byte by byte, so that
 * damage makes no answer wrong; it may hide a row. */
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "calls/arguments.h"
#include "os/arena.h"
#include "rows/checks.h"
#include "state/state.h"
#include "state/text_sums.h"

/* Bits of a filter. With ten thousand texts one row in fifty passes although it has none of them, with five hundred one
 * in a thousand. The checksum of each row that passes is looked up in a table. For one text, as most calls have, memory
 * that the system has to clear would cost more than looking through ten thousand rows. */
#define FILTER_BITS_LEAST ((uint32_t)1 << 12)
#define FILTER_BITS_MOST  ((uint32_t)1 << 19)
#define FILTER_BITS_EACH  1024u

typedef struct sought {
  ty_collection *c;
  const ty_same_args *args;
  ty_answer answer;
  uint32_t *table; /* texts by checksum: which one + 1; 0: free */
  uint32_t *sums, *found;
  uint32_t *coded_table; /* by the checksum of their coded form; of equal ones the last */
  uint32_t *coded_sums;
  uint64_t size;                  /* of each table */
  uint32_t filter_bits;           /* of each of: */
  uint8_t *by_sum;                /* of the texts */
  uint8_t *by_stored, *by_length; /* of the texts as the base stores them */
  ty_text_reader reader;
  ty_arena memory;
} sought;

static void set(const sought *s, uint8_t *filter, uint32_t value) {
  filter[(value & (s->filter_bits - 1)) / 8] |= (uint8_t)(1u << value % 8);
}

static bool is_set(const sought *s, const uint8_t *filter, uint32_t value) {
  return (filter[(value & (s->filter_bits - 1)) / 8] >> value % 8 & 1) != 0;
}

static ty_slice text_of(const sought *s, uint64_t i) { return ty_nth(s->args->texts, s->args->text_ends, i); }

static uint32_t sum_of(const sought *s, ty_slice text) {
  return text.bytes == 0 ? 0 : s->c->env->kernel->crc32c(0, text.data, (size_t)text.bytes);
}

/* The slot of a text with this checksum, or the free slot where one would be. */
static uint32_t *find_slot(const sought *s, uint32_t *table, const uint32_t *sums, uint32_t sum) {
  uint64_t slot = sum & (s->size - 1);
  while (table[slot] != 0 && sums[table[slot] - 1] != sum) slot = (slot + 1) & (s->size - 1);
  return &table[slot];
}

/* Sets the tables and filters that rows of the base are looked up in. False: out of memory. */
static bool fill_stored(sought *s) {
  const ty_symbols *symbols = s->c->base.symbols;
  ty_symbol_coder *coder = symbols == NULL ? NULL : ty_symbol_coder_new(symbols);
  ty_buffer coded = {0};
  bool good = symbols == NULL || coder != NULL;
  for (uint64_t i = 0; i < s->args->n && good; i++) {
    ty_slice text = text_of(s, i);
    coded.bytes = 0;
    if (coder != NULL) {
      ty_symbols_encode(coder, text, &coded);
      text = (ty_slice){coded.data, coded.bytes};
    }
    good = !coded.failed;
    s->coded_sums[i] = sum_of(s, text);
    set(s, s->by_stored, s->coded_sums[i]);
    *find_slot(s, s->coded_table, s->coded_sums, s->coded_sums[i]) = (uint32_t)i + 1;
    set(s, s->by_length, (uint32_t)text.bytes);
  }
  ty_buffer_free(&coded);
  free(coder);
  return good;
}

static ty_status fill(sought *s, ty_error *err) {
  uint64_t n = s->args->n;
  for (s->size = 16; s->size < n * 2;) s->size *= 2;
  s->filter_bits = FILTER_BITS_LEAST;
  while (s->filter_bits < FILTER_BITS_MOST && s->filter_bits / FILTER_BITS_EACH < n) s->filter_bits *= 2;
  s->table = ty_arena_zero(&s->memory, s->size, sizeof *s->table);
  s->sums = ty_arena_take(&s->memory, n, sizeof *s->sums);
  s->coded_table = ty_arena_zero(&s->memory, s->size, sizeof *s->coded_table);
  s->coded_sums = ty_arena_take(&s->memory, n, sizeof *s->coded_sums);
  s->found = ty_arena_zero(&s->memory, n, sizeof *s->found);
  s->by_sum = ty_arena_zero(&s->memory, s->filter_bits / 8, 1);
  s->by_stored = ty_arena_zero(&s->memory, s->filter_bits / 8, 1);
  s->by_length = ty_arena_zero(&s->memory, s->filter_bits / 8, 1);
  if (s->memory.failed || !fill_stored(s))
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %llu texts", (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    ty_slice text = text_of(s, i);
    uint64_t slot = (s->sums[i] = sum_of(s, text)) & (s->size - 1);
    while (s->table[slot] != 0) slot = (slot + 1) & (s->size - 1);
    s->table[slot] = (uint32_t)i + 1;
    set(s, s->by_sum, s->sums[i]);
  }
  return TY_OK;
}

/* Whether a row of the base with this checksum probably has one of the texts. */
static bool is_sought_sum(const sought *s, uint32_t sum) {
  return is_set(s, s->by_stored, sum) && *find_slot(s, s->coded_table, s->coded_sums, sum) != 0;
}

/* A row whose text is probably one of the call's. */
static void compare(sought *s, ty_ref row) {
  bool present;
  if (row.segment->dead[row.at]) return;
  ty_slice text = ty_row_text(row.segment, row.at, &s->reader, &present);
  if (!present) return;
  const uint32_t sum = sum_of(s, text);
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
  const ty_slice stored = ty_row_stored_text(row.segment, row.at);
  if (is_set(s, s->by_length, (uint32_t)stored.bytes) && is_sought_sum(s, sum_of(s, stored))) compare(s, row);
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
    if (is_sought_sum(s, sum)) compare(s, (ty_ref){base, at});
  }
  for (uint64_t at = 0; at < delta->count; at++)
    if (is_set(s, s->by_sum, added[at]) && *find_slot(s, s->table, s->sums, added[at]) != 0)
      compare(s, (ty_ref){delta, at});
  return s->reader.text.failed ? ty_fail(err, TY_NO_MEMORY, "out of memory for a text") : TY_OK;
}

ty_status ty_same(ty_collection *c, ty_same_args *args, ty_error *err) {
  args->out_bytes = args->out_count = 0;
  ty_status status = ty_enter(c, err);
  if (status != TY_OK) return status;
  sought s = {.c = c, .args = args, .answer = {.out = args->out, .capacity = args->out_capacity}};
  status = ty_check_texts(args->texts, args->text_ends, args->n, err);
  if (status == TY_OK && args->n > 0) status = fill(&s, err);
  if (status == TY_OK && args->n > 0) status = look(&s, err);
  status = ty_answer_end(&s.answer, status, c, err);
  ty_arena_free(&s.memory);
  ty_buffer_free(&s.reader.text);
  status = ty_leave(c, status, err);
  args->out_bytes = s.answer.bytes;
  args->out_count = s.answer.count;
  return status;
}
