/* The allowed rows of the base, from its rows by value. */
#include <stdlib.h>

#include "scan/filter.h"

/* Listed rows of consecutive codes: indices in the list. */
typedef struct run {
  uint64_t from, to;
} run;

typedef struct gathering {
  const ty_collection *c;
  ty_filter *f;
  uint32_t column; /* whose rows by value are read */
  const ty_by_value *list;
  const uint32_t *codes;
  run *runs;
  uint32_t run_count;
} gathering;

static void add_run(gathering *g, uint32_t first, uint32_t end) {
  const ame_kernel *k = g->c->env->kernel;
  uint64_t from = ty_by_value_find(k, g->list, g->codes, first), to = ty_by_value_find(k, g->list, g->codes, end);
  if (to > from) g->runs[g->run_count++] = (run){from, to};
}

static void find_runs(gathering *g) {
  const ty_filter *f = g->f;
  if (f->how == TY_FILTER_VALUE) {
    add_run(g, f->code, f->code + 1);
    return;
  }
  uint32_t count = g->c->dicts[f->under_column].count;
  for (uint32_t first = 1, end; first < count; first = end) {
    for (end = first + 1; end < count && f->under[end] == f->under[first];) end++;
    if (f->under[first]) add_run(g, first, end);
  }
  TY_ASSERT(g->run_count <= f->under_runs);
}

/* Whether a listed row is allowed by what the list does not say. */
static bool is_allowed(const ty_filter *f, const ty_segment *s, uint64_t at) {
  if (s->dead[at] || at < f->first || at - f->first >= f->count) return false;
  if (f->how == TY_FILTER_UNDER) return f->all || f->column == 0 || s->keys[f->column][at] == f->code;
  return f->under == NULL || f->under[s->keys[f->under_column][at]] != 0;
}

/* Reads a run after the rows so far. False: the base is damaged. */
static bool read_run(const gathering *g, run r) {
  const ty_segment *s = &g->c->base;
  ty_filter *f = g->f;
  uint32_t *rows = f->rows + f->row_count;
  uint64_t kept = 0, least = 0;
  ty_by_value_read(g->c->env->kernel, g->list, r.from, r.to, rows);
  for (uint64_t i = 0; i < r.to - r.from; i++) {
    uint32_t at = rows[i];
    if (at >= s->count || at < least) return false;
    if (f->how == TY_FILTER_VALUE) least = (uint64_t)at + 1;
    rows[kept] = at;
    kept += is_allowed(f, s, at);
  }
  f->row_count += kept;
  return true;
}

/* Rows of several codes are in the order of the codes. */
static void sort(ty_filter *f, uint64_t *bits, uint64_t words) {
  for (uint64_t i = 0; i < f->row_count; i++) bits[f->rows[i] / 64] |= (uint64_t)1 << f->rows[i] % 64;
  f->row_count = 0;
  for (uint64_t i = 0; i < words; i++) {
    for (uint64_t left = bits[i]; left != 0; left &= left - 1)
      f->rows[f->row_count++] = (uint32_t)(64 * i + (uint64_t)__builtin_ctzll(left));
  }
}

static ty_status gather(gathering *g, ty_error *err) {
  ty_filter *f = g->f;
  uint64_t most = 0, words = g->c->base.count / 64 + 1;
  find_runs(g);
  for (uint32_t i = 0; i < g->run_count; i++) most += g->runs[i].to - g->runs[i].from;
  bool several = f->how == TY_FILTER_UNDER;
  uint64_t *bits = several ? calloc((size_t)words, sizeof *bits) : NULL;
  f->rows = malloc((size_t)(most + 1) * sizeof *f->rows);
  ty_status status = TY_OK;
  if (f->rows == NULL || (several && bits == NULL))
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a filter");
  for (uint32_t i = 0; i < g->run_count && status == TY_OK; i++) {
    if (!read_run(g, g->runs[i]))
      status = ty_fail(err, TY_CORRUPT, "the rows by value of filter column %u are out of order", g->column);
  }
  if (status == TY_OK && several) sort(f, bits, words);
  free(bits);
  return status;
}

ty_status ty_filter_gather(const ty_collection *c, ty_filter *f, ty_error *err) {
  if (f->how == TY_FILTER_COMPARES || f->none) return TY_OK;
  gathering g = {.c = c, .f = f, .column = f->how == TY_FILTER_UNDER ? f->under_column : f->column};
  g.list = &c->base.by_value[g.column];
  g.codes = c->base.keys[g.column];
  g.runs = malloc(((size_t)f->under_runs + 1) * sizeof *g.runs);
  if (g.runs == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a filter");
  ty_status status = gather(&g, err);
  free(g.runs);
  return status;
}
