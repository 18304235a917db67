/* Writes the lines of a vertical base of four bits, with one block in memory at a time, and the levels of every
 * vertical base. base_sparse.c writes the lines of eight bits. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "disk/base_writer.h"
#include "rows/block.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "rows/weights.h"

typedef struct lines_writer {
  base_writer *w;
  uint8_t *line;  /* a line of each dimension: rows are put into these, which stay in the L2 cache */
  uint8_t *block; /* runs of so many bytes */
  uint32_t *runs; /* checksums, by block and dimension */
} lines_writer;

typedef struct levels {
  float scale, offset, norm;
} levels;

static levels levels_of(const base_writer *w, ty_ref r) {
  const ty_collection *c = w->r->c;
  const ty_vertical *v = &r.segment->vertical;
  if (v->lines != NULL) return (levels){v->scales[r.at], c->dtype == TY_INT4 ? v->offsets[r.at] : 0, v->norms[r.at]};
  if (c->dtype != TY_INT4) {
    ame_code_info info = base_info(w, r);
    return (levels){info.scale, 0, info.norm};
  }
  ame_i4_info info;
  float bias;
  ty_block_summary(r.segment->blocks, c->dim, r.at, &info, &bias);
  /* Of so large or small a row no norm was computed. */
  return (levels){info.scale, info.offset, isinf(info.err) ? FLT_MAX : info.norm};
}

/* The field at this offset of all rows' levels. */
static void put_levels(base_writer *w, size_t field) {
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    levels l = levels_of(w, w->r->rows[i]);
    ty_slab_append(&w->slab, (const uint8_t *)&l + field, sizeof(float));
  }
}

static void count(base_writer *w, uint64_t i, const int8_t *codes) {
  const ty_collection *c = w->r->c;
  if (w->counted == 0) return;
  levels l = levels_of(w, w->r->rows[i]);
  ame_i4_info info = {.scale = l.scale, .offset = l.offset};
  c->env->kernel->dequantize_i4((const uint8_t *)codes, &info, c->dim, w->row);
  base_count(w, i, w->row);
}

/* Rows put into the lines one by one. */
static void put_rows(lines_writer *x, uint64_t i, uint64_t n, uint8_t *to, uint64_t run) {
  base_writer *w = x->w;
  const ty_collection *c = w->r->c;
  memset(x->line, 0, (size_t)c->dim * AME_LINE);
  for (uint64_t k = 0; k < n && base_go_on(w, i + k); k++) {
    const int8_t *codes = base_codes(w, i + k);
    ty_line_put(c, x->line, AME_LINE, k, codes);
    count(w, i + k, codes);
  }
  for (uint64_t d = 0; d < c->dim; d++) memcpy(to + d * run, x->line + d * AME_LINE, AME_LINE);
}

/* Whether n rows from the i-th on are those of whole lines of four bits, in their order: nearly all of a first base. */
static bool are_lines(const base_writer *w, uint64_t i, uint64_t n) {
  const ty_collection *c = w->r->c;
  const ty_ref first = w->r->rows[i];
  if (n < ty_line_rows(c) || first.at % ty_line_rows(c) != 0) return false;
  bool are = first.segment->vertical.lines != NULL && !first.segment->is_base;
  for (uint64_t k = 1; k < n; k++)
    are &= w->r->rows[i + k].segment == first.segment && w->r->rows[i + k].at == first.at + k;
  return are;
}

static void copy_lines(lines_writer *x, uint64_t i, uint64_t n, uint8_t *to, uint64_t run) {
  base_writer *w = x->w;
  const ty_collection *c = w->r->c;
  const ty_line_source from = ty_line_source_of(c, w->r->rows[i].segment, w->r->rows[i].at);
  for (uint64_t d = 0; d < c->dim; d++) memcpy(to + d * run, from.bytes + d * from.run, AME_LINE);
  for (uint64_t k = 0; k < n && base_go_on(w, i + k); k++) count(w, i + k, base_codes(w, i + k));
}

/* The rows of a block, `n` from the i-th on, and the checksums of its runs. */
static void put_block(lines_writer *x, uint64_t i, uint64_t n, uint64_t run) {
  base_writer *w = x->w;
  const ty_collection *c = w->r->c;
  const uint64_t together = ty_line_rows(c), dim = c->dim;
  for (uint64_t first = 0; first < n && w->slab.status == TY_OK; first += together) {
    uint64_t rows = n - first < together ? n - first : together;
    uint8_t *to = x->block + first / together * AME_LINE;
    if (are_lines(w, i + first, rows)) copy_lines(x, i + first, rows, to, run);
    else put_rows(x, i + first, rows, to, run);
  }
  for (uint64_t d = 0; d < dim; d++)
    x->runs[i / TY_RUN_ROWS * dim + d] = c->env->kernel->crc32c(0, x->block + d * run, run);
  ty_slab_append(&w->slab, x->block, dim * run);
}

static void put_dense(base_writer *w) {
  const ty_collection *c = w->r->c;
  const ty_line_runs runs = ty_line_runs_of(c, NULL, w->r->count, 0);
  ty_arena memory = {0};
  lines_writer x = {.w = w,
                    .line = ty_arena_take(&memory, c->dim, AME_LINE),
                    .block = ty_arena_take(&memory, runs.run * c->dim, 1),
                    .runs = ty_arena_take(&memory, runs.blocks * c->dim, sizeof *x.runs)};
  if (memory.failed) ty_slab_no_memory(&w->slab);
  ty_slab_section_start(&w->slab, TY_SECTION_LINES);
  for (uint64_t i = 0; i < runs.blocks && w->slab.status == TY_OK; i++)
    put_block(&x, i * TY_RUN_ROWS, ty_line_block_rows(&runs, i), i + 1 < runs.blocks ? runs.run : runs.last_run);
  ty_slab_section_end(&w->slab);
  if (w->slab.status == TY_OK)
    ty_slab_section_put(&w->slab, TY_SECTION_RUNS, x.runs, runs.blocks * c->dim * sizeof *x.runs);
  ty_arena_free(&memory);
}

void base_put_lines(base_writer *w) {
  const ty_collection *c = w->r->c;
  if (c->dtype == TY_INT4) put_dense(w);
  else base_put_sparse(w);
  ty_slab_section_start(&w->slab, TY_SECTION_LEVELS);
  put_levels(w, offsetof(levels, scale));
  if (c->dtype == TY_INT4) put_levels(w, offsetof(levels, offset));
  put_levels(w, offsetof(levels, norm));
  ty_slab_section_end(&w->slab);
}
