/* Collections made by hand for the tests of queries: rows in, a ty_collection out, without a file. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/rows/block.h"
#include "../../ffi/ty_runtime/rows/vector.h"
#include "../../ffi/ty_runtime/calls/calls.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/lexical/index.h"
#include "../../ffi/ty_runtime/lexical/labels.h"
#include "../../ffi/ty_runtime/lexical/runs.h"
#include "../../ffi/ty_runtime/scan/scanner.h"
#include "validate/validate.h"

typedef struct model_row { /* what the naive answers are computed from */
  uint64_t row;
  uint32_t keys[2];
  bool dead;
  const float *vector;
  const char *text;
} model_row;

typedef struct fixture {
  ty_env env;
  ty_collection c;
  ty_resident resident;
  model_row *rows; /* base first, by position, then the delta */
  uint64_t count;
  void *memory[160];
  uint32_t memory_count;
} fixture;

static void *keep(fixture *f, void *p) {
  if (p == NULL || f->memory_count == 160) abort();
  return f->memory[f->memory_count++] = p;
}

static uint64_t test_random(uint64_t *s) { return ty_random(s); }
static double test_unit(uint64_t *s) { return (double)(ty_random(s) >> 11) * 0x1p-53; }
static double test_normal(uint64_t *s) {
  return sqrt(-2 * log(1 - test_unit(s))) * cos(6.283185307179586 * test_unit(s));
}

static int by_partition(const void *a, const void *b) {
  const model_row *x = a, *y = b;
  if (x->keys[0] != y->keys[0]) return x->keys[0] < y->keys[0] ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

/* Ids of eight bytes each. */
static ty_packed fixture_pack(fixture *f, const uint8_t *ids, uint64_t n) {
  uint64_t *ends = keep(f, calloc(n / TY_PACKED_ROWS + 2, 8));
  ty_buffer bytes = {0};
  for (uint64_t i = 0; i < n; i++) {
    ty_slice before = {i == 0 ? NULL : ids + 8 * (i - 1), i % TY_PACKED_ROWS == 0 ? 0 : 8};
    ty_packed_put(&bytes, before, (ty_slice){ids + 8 * i, 8});
    ends[i / TY_PACKED_ROWS] = bytes.bytes;
  }
  return (ty_packed){ends, keep(f, bytes.data != NULL ? bytes.data : malloc(1))};
}

static void fill_segment(fixture *f, ty_segment *s, const model_row *rows, uint64_t n) {
  uint32_t dim = f->c.dim;
  uint64_t stride = AME_CODE_STRIDE(dim);
  int8_t *codes = keep(f, aligned_alloc(64, (size_t)(stride * (n + 1))));
  ame_code_info *info = keep(f, calloc(n + 1, sizeof *info));
  uint64_t *row = keep(f, calloc(n + 1, 8)), *birth = keep(f, calloc(n + 1, 8));
  uint64_t *terms_ends = keep(f, calloc(n + 1, 8));
  const uint32_t **keys = keep(f, calloc(2, sizeof *keys));
  uint32_t *key0 = keep(f, calloc(n + 1, 4)), *key1 = keep(f, calloc(n + 1, 4));
  float *vectors = keep(f, malloc((size_t)(n + 1) * dim * 4));
  uint8_t *ids = keep(f, calloc(n + 1, 8));
  uint64_t *text_ends = keep(f, calloc(n + 1, 8));
  uint8_t *presence = keep(f, calloc(n + 1, 1));
  ty_buffer terms = {0}, texts = {0};
  ty_tally tally = {0};
  ty_error err;
  memset(codes, 0, (size_t)(stride * (n + 1)));
  s->count = n;
  s->dead = keep(f, calloc(n + 1, 1));
  for (uint64_t i = 0; i < n; i++) {
    memcpy(vectors + i * dim, rows[i].vector, dim * 4ul);
    row[i] = birth[i] = rows[i].row;
    key0[i] = rows[i].keys[0];
    key1[i] = rows[i].keys[1];
    memcpy(ids + 8 * i, &rows[i].row, 8);
    if (rows[i].text != NULL) {
      ty_slice text = {(const uint8_t *)rows[i].text, strlen(rows[i].text)};
      bool stored = s->is_base; /* the terms of others are in an index only, which there is none of yet */
      if (stored) ty_buffer_append(&texts, text.data, text.bytes);
      else if (ty_terms_encode(&tally, f->env.kernel, text, NULL, (ty_slice){NULL, 0}, &terms, &err) != TY_OK) abort();
      presence[i] = stored ? TY_HAS_TEXT : 0;
    }
    text_ends[i] = texts.bytes;
    terms_ends[i] = terms.bytes;
    s->dead[i] = rows[i].dead;
    s->live += !rows[i].dead;
  }
  f->env.kernel->quantize_i8(vectors, (size_t)n, dim, codes, info);
  keys[0] = key0;
  keys[1] = key1;
  s->codes = codes;
  s->info = info;
  s->row = row;
  s->birth = birth;
  s->keys = keys;
  ty_tally_free(&tally);
  uint8_t *text_data = keep(f, texts.data != NULL ? texts.data : malloc(1));
  uint8_t *terms_data = keep(f, terms.data != NULL ? terms.data : malloc(1));
  if (s->is_base) {
    s->vectors = (const uint8_t *)vectors;
    s->ids = fixture_pack(f, ids, n);
    s->text_ends = text_ends;
    s->texts = text_data;
    s->presence = presence;
    return;
  }
  s->payload = keep(f, calloc(n + 1, sizeof *s->payload));
  s->created = s->updated = keep(f, calloc(n + 1, sizeof *s->created));
  for (uint64_t i = 0; i < n; i++) {
    uint64_t start = i == 0 ? 0 : terms_ends[i - 1];
    const char *text = rows[i].text;
    s->payload[i] = (ty_payload){.vector = (const uint8_t *)(vectors + i * dim),
                                 .id = {ids + 8 * i, 8},
                                 .text = {(const uint8_t *)text, text == NULL ? 0 : strlen(text)},
                                 .has_text = text != NULL,
                                 .terms = {terms_data + start, terms_ends[i] - start}};
  }
}

/* What ty_base_write adds to the fixture's columns: screening blocks, and the bias of L2. */
static void add_blocks(fixture *f, ty_segment *s) {
  const ame_kernel *k = f->env.kernel;
  uint32_t dim = f->c.dim;
  uint64_t bytes = AME_BLOCK_BYTES(dim), blocks = ty_block_count(s->count);
  uint8_t *out_blocks = keep(f, aligned_alloc(64, (size_t)((blocks + 1) * bytes)));
  uint8_t *codes = malloc(AME_I4_BYTES(dim));
  ame_code_info *info = (ame_code_info *)(uintptr_t)s->info;
  for (uint64_t b = 0; b < blocks; b++) ty_block_clear(out_blocks + b * bytes, dim);
  for (uint64_t i = 0; i < s->count; i++) {
    const float *row = ty_row_vector(&f->c, s, i, NULL);
    ame_i4_info level;
    double squares = 0;
    for (uint32_t d = 0; d < dim; d++) squares += (double)row[d] * (double)row[d];
    if (f->c.metric == TY_L2) info[i].bias = (float)(-squares / 2);
    k->quantize_i4(row, 1, dim, codes, &level);
    ty_block_put(out_blocks, dim, i, codes, &level, info[i].bias);
  }
  free(codes);
  s->blocks = out_blocks;
}

static void no_evict(void *owner, unsigned kind) { (void)owner, (void)kind; }

/* Takes a copy of the rows. Keys are codes: 1 .. 8 in both columns, with the value "k<code>". */
static fixture *fixture_make(uint32_t dim, const model_row *rows, uint64_t base, uint64_t delta) {
  fixture *f = calloc(1, sizeof *f);
  f->env.kernel = ame_kernel_table();
  f->env.spill_from = UINT64_MAX;
  f->env.run_memory = TY_RUN_MEMORY;
  f->env.run_chunk = TY_RUN_CHUNK;
  ty_os_init(&f->env.os);
  ty_spare_open(&f->env);
  f->c.env = &f->env;
  f->resident.evict = no_evict;
  f->c.resident = &f->resident;
  f->c.dim = dim;
  f->c.columns = 2;
  f->c.lexical = f->c.words = true;
  f->c.default_target_recall = 1;
  pthread_rwlock_init(&f->c.lock, NULL);
  f->count = base + delta;
  f->rows = keep(f, calloc(f->count + 1, sizeof *rows));
  memcpy(f->rows, rows, (size_t)f->count * sizeof *rows);
  qsort(f->rows, (size_t)base, sizeof *rows, by_partition);
  for (uint32_t column = 0; column < 2; column++) {
    if (ty_dict_intern(&f->c.dicts[column], f->env.kernel, (ty_slice){NULL, 0}) != 0) abort();
    for (uint32_t code = 1; code <= 8; code++) {
      uint8_t value[2] = {'k', (uint8_t)('0' + code)};
      if (ty_dict_intern(&f->c.dicts[column], f->env.kernel, (ty_slice){value, 2}) != code) abort();
    }
  }
  f->c.base.is_base = true;
  fill_segment(f, &f->c.base, f->rows, base);
  fill_segment(f, &f->c.delta, f->rows + base, delta);
  add_blocks(f, &f->c.base);
  add_blocks(f, &f->c.delta);
  f->c.spans = keep(f, calloc(16, sizeof *f->c.spans));
  for (uint64_t i = 0; i < base; i++) {
    if (i == 0 || f->rows[i].keys[0] != f->rows[i - 1].keys[0]) {
      f->c.spans[f->c.span_count++] = (ty_span){f->rows[i].keys[0], 0, i, 0};
    }
    f->c.spans[f->c.span_count - 1].count++;
  }
  return f;
}

static void fixture_free(fixture *f) {
  for (uint32_t i = 0; i < 2; i++) ty_dict_free(&f->c.dicts[i]);
  ty_ivf_free(f->c.ivf);
  ty_lexical_free(f->c.env, f->c.lexical_index);
  pthread_rwlock_destroy(&f->c.lock);
  while (f->memory_count > 0) free(f->memory[--f->memory_count]);
  ty_spare_close(&f->env);
  free(f);
}

static void fixture_kill(fixture *f, uint64_t i) {
  ty_segment *s = i < f->c.base.count ? &f->c.base : &f->c.delta;
  uint64_t at = i < f->c.base.count ? i : i - f->c.base.count;
  f->rows[i].dead = true;
  s->live -= s->dead[at] == 0;
  s->dead[at] = 1;
  if (f->c.lexical_index != NULL) ty_lexical_died(f->c.lexical_index);
}

/* Counts the live rows again, where they were not killed one by one. */
static void fixture_count(fixture *f) {
  for (int i = 0; i < 2; i++) {
    ty_segment *s = i == 0 ? &f->c.base : &f->c.delta;
    s->live = 0;
    for (uint64_t at = 0; at < s->count; at++) s->live += s->dead[at] == 0;
  }
}

static bool fixture_append(void *bytes, const void *data, uint64_t n) {
  ty_buffer_append(bytes, data, n);
  return true;
}

/* The stored lexical index in memory. */
static ty_status fixture_encode(const ty_rebase *r, ty_buffer *out, ty_error *err) {
  return ty_lexical_encode(r, &(ty_lexical_sink){fixture_append, out}, err);
}

/* The live rows as a rebase would gather them. */
static ty_rebase fixture_rebase(fixture *f, ty_span *spans) {
  ty_rebase r = {.c = &f->c, .spans = spans, .most = UINT64_MAX, .lexical_built = true};
  model_row *order = malloc((size_t)(f->count + 1) * sizeof *order);
  r.rows = malloc((size_t)(f->count + 1) * sizeof *r.rows);
  for (uint64_t i = 0; i < f->count; i++) {
    if (f->rows[i].dead) continue;
    order[r.count] = f->rows[i];
    order[r.count++].vector = (const float *)(const void *)&f->rows[i]; /* where it came from */
  }
  qsort(order, (size_t)r.count, sizeof *order, by_partition);
  for (uint64_t i = 0; i < r.count; i++) {
    uint64_t from = (uint64_t)((const model_row *)(const void *)order[i].vector - f->rows);
    r.rows[i] = from < f->c.base.count ? (ty_ref){&f->c.base, from} : (ty_ref){&f->c.delta, from - f->c.base.count};
    if (i == 0 || order[i].keys[0] != order[i - 1].keys[0])
      spans[r.span_count++] = (ty_span){order[i].keys[0], 0, i, 0};
    spans[r.span_count - 1].count++;
  }
  free(order);
  return r;
}
