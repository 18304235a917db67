/* Rows by value, and the rows that a filter gathers from them, against comparing the code of every row. */
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/scan/filter.h"
#include "check.h"

#define COLUMNS 3u

typedef struct world {
  ty_env env;
  ty_collection c;
  uint8_t *sections[COLUMNS]; /* of the rows by value */
  uint64_t bytes[COLUMNS];
} world;

static void *keep(void *p) {
  if (p == NULL) abort();
  return p;
}

/* What the values of a column are. */
enum { SAME, OWN, OWN_SHUFFLED, PAIRS, NONE, RUNS, SCATTERED, MOSTLY, KINDS };

static uint32_t value_of(int kind, uint64_t at, uint64_t rows, uint64_t *s) {
  uint64_t r = ty_random(s);
  switch (kind) {
  case SAME: return 1;
  case OWN: return 1 + (uint32_t)at;
  case OWN_SHUFFLED: return 1 + (uint32_t)((at * 7919) % (rows * 3 + 1));
  case PAIRS: return 1 + (uint32_t)(at / 2);
  case NONE: return 0;
  case RUNS: return (uint32_t)(at / 37 % 20);
  case SCATTERED: return (uint32_t)(r % 30);
  default: return r % 4 == 0 ? (uint32_t)(r >> 8) % 9 : 5;
  }
}

static const uint32_t *sorted_by;
static int by_code(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  if (sorted_by[x] != sorted_by[y]) return sorted_by[x] < sorted_by[y] ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* Packs the section as a base does, from a plain sort. */
static void pack(world *w, uint32_t column) {
  const ty_dict *d = &w->c.dicts[column];
  const uint32_t *codes = w->c.base.keys[column];
  uint64_t rows = w->c.base.count, n = 0;
  uint32_t *listed = keep(malloc((rows + 1) * sizeof *listed)), end = 0;
  for (uint32_t at = 0; at < rows; at++) {
    if (codes[at] != 0 && !ty_by_value_leaves_out(d->live[codes[at]], rows)) listed[n++] = at;
  }
  sorted_by = codes;
  qsort(listed, n, sizeof *listed, by_code);
  uint64_t blocks = (n + AME_PACK - 1) / AME_PACK;
  uint8_t *out = keep(aligned_alloc(64, (blocks * (512 + sizeof(ty_by_value_entry)) + 64) / 64 * 64 + 64));
  ty_by_value_entry *entries = (ty_by_value_entry *)(void *)out;
  for (uint64_t b = 0; b < blocks; b++) {
    uint32_t many = n - b * AME_PACK < AME_PACK ? (uint32_t)(n - b * AME_PACK) : AME_PACK;
    bool plain;
    uint32_t bits = ty_by_value_pack(w->env.kernel, listed + b * AME_PACK, many,
                                     out + blocks * sizeof *entries + 16 * (uint64_t)end, &plain);
    end += bits;
    entries[b] = (ty_by_value_entry){listed[b * AME_PACK], end << 1 | plain};
  }
  w->sections[column] = out;
  w->bytes[column] = blocks * sizeof *entries + 16 * (uint64_t)end;
  ty_by_value *list = &w->c.base.by_value[column];
  ty_slice section = {out, w->bytes[column]};
  if (!CHECK(ty_by_value_open(section, rows, d, list)) || !CHECK(list->count == n)) abort();
  uint32_t *back = keep(malloc((n + 1) * sizeof *back));
  ty_by_value_read(w->env.kernel, list, 0, n, back);
  CHECK(memcmp(back, listed, n * sizeof *back) == 0);
  bool found = true;
  for (uint32_t code = 0, at = 0; code <= d->count; code++) {
    while (at < n && codes[listed[at]] < code) at++;
    found &= ty_by_value_find(w->env.kernel, list, codes, code) == at;
  }
  CHECK(found);
  free(back);
  free(listed);
}

static void fill(world *w, uint64_t rows, int kind, int other, uint64_t *s) {
  ty_segment *b = &w->c.base;
  w->env.kernel = ame_kernel_table();
  w->c.env = &w->env;
  w->c.columns = COLUMNS;
  b->is_base = true;
  b->count = rows;
  b->dead = keep(calloc(rows + 1, 1));
  b->keys = keep(calloc(COLUMNS, sizeof *b->keys));
  b->by_value = keep(calloc(COLUMNS, sizeof *b->by_value));
  for (uint32_t column = 0; column < COLUMNS; column++) {
    ty_dict *d = &w->c.dicts[column];
    uint32_t *codes = keep(calloc(rows + 1, sizeof *codes));
    b->keys[column] = codes;
    for (uint64_t at = 0; at < rows; at++) {
      char text[32];
      uint32_t value = column == 0 ? 1 + (uint32_t)(at * 3 / rows) : value_of(column == 1 ? kind : other, at, rows, s);
      int bytes = value == 0 ? 0 : snprintf(text, sizeof text, "d%u/f%u", value % 5, value);
      codes[at] = ty_dict_intern(d, w->env.kernel, (ty_slice){(uint8_t *)text, (uint64_t)bytes});
      ty_dict_count(d, codes[at], 1);
    }
    if (column > 0) pack(w, column);
  }
  w->c.spans = keep(calloc(3, sizeof *w->c.spans));
  for (uint64_t at = 0; at < rows; at++) { /* the partitions are in the order of their codes */
    ty_span *span = &w->c.spans[w->c.base.keys[0][at] - 1];
    if (span->count++ == 0) *span = (ty_span){b->keys[0][at], 0, at, 1};
    if (span->key > w->c.span_count) w->c.span_count = span->key;
  }
  for (uint64_t at = 0; at < rows; at++) {
    b->dead[at] = ty_random(s) % 5 == 0;
    for (uint32_t column = 0; b->dead[at] && column < COLUMNS; column++)
      ty_dict_uncount(&w->c.dicts[column], b->keys[column][at]);
  }
}

static void drop(world *w) {
  for (uint32_t column = 0; column < COLUMNS; column++) {
    free((void *)(uintptr_t)w->c.base.keys[column]);
    free(w->sections[column]);
    ty_dict_free(&w->c.dicts[column]);
  }
  free(w->c.base.keys);
  free(w->c.base.by_value);
  free(w->c.base.dead);
  free(w->c.spans);
}

/* What was gathered, in any run of positions, is what comparing allows. Returns whether anything was. */
static bool check_filter(const world *w, ty_filter *f, uint64_t *s) {
  const ty_segment *b = &w->c.base;
  static uint16_t offsets[2][UINT16_MAX];
  ty_error err;
  ty_filter compares = *f;
  CHECK(ty_filter_gather(&w->c, f, &err) == TY_OK);
  CHECK((f->rows != NULL) == (f->how != TY_FILTER_COMPARES && !f->none));
  for (int i = 0; i < 6; i++) {
    uint64_t first = f->first + (i == 0 || f->count == 0 ? 0 : ty_random(s) % f->count);
    uint64_t left = f->first + f->count - first, n = i == 0 || left == 0 ? left : ty_random(s) % left;
    if (n > UINT16_MAX) n = UINT16_MAX;
    uint32_t a = ty_filter_select(f, b, first, (uint32_t)n, offsets[0]);
    uint32_t c = ty_filter_select(&compares, b, first, (uint32_t)n, offsets[1]);
    CHECK(a == c && memcmp(offsets[0], offsets[1], a * sizeof offsets[0][0]) == 0);
    uint64_t next = ty_filter_next(f, b, first, first + n);
    CHECK(f->rows == NULL ? next == first : next == first + (c == 0 ? n : offsets[1][0]));
  }
  return f->rows != NULL;
}

static void test_filters(uint64_t rows, int kind, int other, uint64_t seed) {
  static uint64_t gathered[3];
  uint64_t s = seed;
  world w = {0};
  ty_error err;
  fill(&w, rows, kind, other, &s);
  for (int i = 0; i < 60; i++) {
    char key[32], under[32];
    ty_filter f;
    uint64_t column = ty_random(&s) % 4, value = ty_random(&s) % 3 ? ty_random(&s) % 12 : ty_random(&s) % (rows + 2);
    if (column == 0) value = value % 4;
    if (column == 3) column = TY_NO_FILTER;
    uint64_t bytes = (uint64_t)snprintf(key, sizeof key, "d%u/f%u", (unsigned)(value % 5), (unsigned)value);
    CHECK(ty_filter_open(&w.c, column, (ty_slice){(uint8_t *)key, bytes}, &f, &err) == TY_OK);
    if (ty_random(&s) % 2 == 0) {
      bool whole = ty_random(&s) % 2 == 0;
      value = ty_random(&s) % (rows + 2);
      bytes =
          (uint64_t)snprintf(under, sizeof under, whole ? "d%u/f%u" : "d%u", (unsigned)(value % 5), (unsigned)value);
      CHECK(ty_filter_under(&w.c, 1 + ty_random(&s) % 2, (ty_slice){(uint8_t *)under, bytes}, &f, &err) == TY_OK);
    }
    ty_filter_how how = f.how;
    if (check_filter(&w, &f, &s)) gathered[how]++;
    ty_filter_close(&f);
  }
  drop(&w);
  if (rows == 0) CHECK(gathered[TY_FILTER_VALUE] > 100 && gathered[TY_FILTER_UNDER] > 20);
}

/* Whatever a changed byte makes of the list, rows that are gathered exist and ascend. */
static void test_damage(int kind, uint64_t seed) {
  uint64_t s = seed, rows = 300 + ty_random(&s) % 200, refused[2] = {0};
  world w = {0};
  ty_error err;
  fill(&w, rows, kind, SCATTERED, &s);
  ty_dict *d = &w.c.dicts[1];
  for (uint64_t at = 0; at < rows; at++) {
    if (w.c.base.dead[at]) ty_dict_count(d, w.c.base.keys[1][at], 1); /* as when a base is opened */
  }
  ty_slice section = {w.sections[1], w.bytes[1]};
  ty_by_value *list = &w.c.base.by_value[1], before = *list;
  for (uint64_t at = 0; at < section.bytes * 8; at++) {
    w.sections[1][at / 8] ^= (uint8_t)(1 << at % 8);
    bool open = ty_by_value_open(section, rows, d, list);
    refused[0] += !open;
    for (uint32_t code = 1; open && code < d->count; code += 1 + d->count / 16) {
      ty_filter f;
      ty_slice none = {(const uint8_t *)"d1", 2};
      CHECK(ty_filter_open(&w.c, code % 2 ? 1 : TY_NO_FILTER, ty_dict_value(d, code), &f, &err) == TY_OK);
      if (code % 2 == 0) CHECK(ty_filter_under(&w.c, 1, none, &f, &err) == TY_OK);
      ty_status status = ty_filter_gather(&w.c, &f, &err);
      refused[1] += status == TY_CORRUPT;
      bool good = status == TY_OK || status == TY_CORRUPT;
      for (uint64_t i = 0; status == TY_OK && i < f.row_count; i++)
        good &= f.rows[i] < rows && (i == 0 || f.rows[i - 1] < f.rows[i]);
      CHECK(good);
      ty_filter_close(&f);
    }
    w.sections[1][at / 8] ^= (uint8_t)(1 << at % 8);
  }
  for (uint64_t bytes = 0; bytes < section.bytes; bytes += 1 + bytes / 7)
    CHECK(!ty_by_value_open((ty_slice){section.data, bytes}, rows, d, list));
  CHECK(section.bytes == 0 || refused[0] > 20);
  CHECK((kind != RUNS && kind != SCATTERED) || refused[1] > 20);
  CHECK(ty_by_value_open(section, rows, d, list) && list->count == before.count);
  drop(&w);
}

int main(void) {
  static const uint64_t sizes[] = {1, 2, 3, 5, 127, 128, 129, 1000, 9001, 0};
  for (uint32_t path = 0; path < ame_isa_count(); path++) {
    if (!ame_isa_supported(path)) continue;
    CHECK(ame_isa_force(ame_isa_name(path)) == 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      for (int kind = 0; kind < KINDS; kind++)
        test_filters(sizes[i], kind, (kind + (int)i) % KINDS, 1 + i * 31 + (uint64_t)kind);
    }
    for (int kind = 0; kind < KINDS; kind++) test_damage(kind, 7 + (uint64_t)kind);
  }
  return check_report();
}
