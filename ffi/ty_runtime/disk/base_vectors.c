/* The sections of a base that rows are screened and scored by, and the sums that weighted queries use. */
#include <string.h>

#include "disk/base_writer.h"
#include "rows/block.h"
#include "rows/checks.h"
#include "rows/coded.h"
#include "rows/vector.h"
#include "rows/vertical.h"

/* Rows whose zeros are counted: so many after each other, at so many places. A vertical row makes a line of each
 * dimension resident, which the rows after it share. */
#define DENSITY_ROWS 32u
#define DENSITY_RUNS 16u

/* Whether the codes of a row of the old base are damaged; its vector is not, else no base is written. */
static bool is_to_be_coded(const base_writer *w, ty_ref r) {
  return r.segment->is_base && r.segment->vectors != NULL && !ty_codes_intact(w->r->c, r.segment, r.at);
}

/* Its codes, in w->codes, and their summary, made of the vector as by a put. */
static ame_code_info code_again(const base_writer *w, ty_ref r) {
  const ty_collection *c = w->r->c;
  ame_code_info info;
  float bias;
  ty_coded to = {.codes = w->codes, .info = &info, .bias = &bias, .c = c};
  const float *row = ty_row_vector(c, r.segment, r.at, w->coded);
  ty_vector_screen(c, c->dtype, r.segment->vectors + r.at * ty_vector_bytes(c), row, 1, &to, 0);
  if (c->dtype == TY_F32) (void)ty_coded_is_row(&to, 0, row);
  return info;
}

static bool is_codes(const base_writer *w, ty_ref r) {
  const ty_collection *c = w->r->c;
  if (!is_to_be_coded(w, r)) return ty_row_is_codes(c, r.segment, r.at);
  ame_code_info info = code_again(w, r);
  return ty_codes_are(w->codes, info.scale, c->dim, r.segment->vectors + r.at * ty_vector_bytes(c));
}

/* Whether the base needs no vectors beside the codes, because each row equals its decoded codes. Rows that are not the
 * text embedder's mostly differ at the first. */
static bool codes_are_rows(base_writer *w) {
  const ty_collection *c = w->r->c;
  uint64_t bytes = ty_vector_bytes(c) + AME_CODE_STRIDE(c->dim);
  if (c->dtype != TY_F32) return false;
  for (uint64_t i = 0; i < w->r->count; i++) {
    ty_ref r = w->r->rows[i];
    if (!is_codes(w, r)) return false;
    if (!r.segment->is_base || r.segment->vectors != NULL) ty_read_row(c, r, bytes, w->most);
    if (i % 1024 == 0 && ty_cancelled(w->r->phases.progress)) return false; /* the next section ends the write */
  }
  return true;
}

/* Whether on average few enough of the codes of a sample of rows are not zero. Codes of four bits have no zero: the
 * rows are those of files, whose parts are short. */
static bool mostly_zero(const base_writer *w) {
  const ty_rebase *r = w->r;
  uint32_t dim = r->c->dim;
  uint64_t every = r->count / DENSITY_RUNS + 1, nonzero = 0, rows = 0;
  if (r->c->dtype == TY_INT4) return true;
  for (uint64_t first = 0; first < r->count; first += every) {
    for (uint64_t i = first; i < r->count && i < first + DENSITY_ROWS && i < first + every; i++, rows++) {
      const int8_t *codes = base_codes(w, i);
      for (uint32_t d = 0; d < dim; d++) nonzero += codes[d] != 0;
    }
  }
  return (double)nonzero <= r->c->env->vertical_density * (double)rows * dim;
}

/* Vertical rows make all lines of their dimensions resident, which the rows beside them share: a block of a base, or
 * the lines of 64 or 128 rows of a delta. */
void base_read_lines(const base_writer *w, uint64_t i) {
  const ty_rebase *r = w->r;
  ty_ref row = r->rows[i], before = r->rows[i == 0 ? 0 : i - 1];
  if (ty_is_sparse(row.segment, row.at)) {
    const bool next = i > 0 && before.segment == row.segment && before.at / TY_SPARSE_ROWS == row.at / TY_SPARSE_ROWS;
    ty_read_row(r->c, row, next ? 0 : ty_sparse_block_at(row.segment, row.at)->bytes, w->most);
    return;
  }
  const uint64_t sparse = row.segment->vertical.sparse_rows;
  ty_line_place p = ty_line_place_of(r->c, row.segment->vertical.run, row.segment->count - sparse, row.at - sparse);
  const uint64_t first = p.first + sparse;
  bool same = i > 0 && before.segment == row.segment && before.at >= first && before.at - first < p.rows;
  ty_read_row(r->c, row, same ? 0 : p.run * r->c->dim, w->most);
}

const int8_t *base_codes(const base_writer *w, uint64_t i) {
  const ty_collection *c = w->r->c;
  ty_ref r = w->r->rows[i];
  if (r.segment == w->r->sorted) { /* a copy has no vertical codes, but its payload has them side by side */
    const uint8_t *stored = ty_payload_stored(c, &r.segment->payload[r.at], w->stored);
    return memcpy(w->codes, stored + sizeof(float), c->dim);
  }
  if (r.segment->vertical.lines != NULL) {
    base_read_lines(w, i);
    if (c->dtype == TY_INT4 && !r.segment->is_base) /* the stored form has them side by side */
      return (const int8_t *)(r.segment->payload[r.at].vector + TY_LEVELS_BYTES);
    ty_line_take(c, r.segment, r.at, w->codes);
  } else if (c->dtype == TY_INT4) {
    ty_block_codes(r.segment->blocks, c->dim, r.at, 0, AME_I4_BYTES(c->dim) / 4, (uint8_t *)w->codes);
  } else if (is_to_be_coded(w, r)) {
    (void)code_again(w, r);
  } else {
    return r.segment->codes + r.at * AME_CODE_STRIDE(c->dim);
  }
  return w->codes;
}

ame_code_info base_info(const base_writer *w, ty_ref r) {
  if (is_to_be_coded(w, r)) return code_again(w, r);
  return r.segment->vertical.lines != NULL ? ty_line_info(w->r->c, r.segment, r.at) : r.segment->info[r.at];
}

static void put_codes(base_writer *w) {
  ty_slab_section_start(&w->slab, TY_SECTION_CODES);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    const int8_t *codes = base_codes(w, i);
    const ame_code_info info = base_info(w, w->r->rows[i]);
    if (w->counted == TY_SECTION_CODES) {
      ty_codes_decode(codes, info.scale, w->r->c->dim, w->row);
      base_count(w, i, w->row);
    }
    base_append(w, codes, AME_CODE_STRIDE(w->r->c->dim), &info);
  }
  ty_slab_section_end(&w->slab);
  base_put_crcs(w, TY_SECTION_CODE_SUMS);
}
static void put_info(base_writer *w, ty_ref r) {
  ame_code_info info = base_info(w, r);
  ty_slab_append(&w->slab, &info, sizeof info);
}
/* f32 and f16 only: the stored form, or the decoded codes of a row that has no other. */
static void put_vector(base_writer *w, uint64_t i) {
  const ty_ref r = w->r->rows[i];
  const ty_segment *s = r.segment;
  uint64_t bytes = ty_vector_bytes(w->r->c);
  const void *stored = s->is_base && s->vectors != NULL ? s->vectors + r.at * bytes : NULL;
  if (!s->is_base && !s->payload[r.at].coded) stored = s->payload[r.at].vector;
  const float *row =
      stored == NULL || w->counted == TY_SECTION_VECTORS ? ty_row_vector(w->r->c, s, r.at, w->row) : NULL;
  if (w->counted == TY_SECTION_VECTORS) base_count(w, i, row);
  base_append(w, stored == NULL ? row : (const void *)stored, bytes, NULL);
}
static void put_stored(base_writer *w) {
  ty_slab_section_start(&w->slab, TY_SECTION_VECTORS);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) put_vector(w, i);
  ty_slab_section_end(&w->slab);
  base_put_crcs(w, TY_SECTION_VECTOR_SUMS);
}

/* How the blocks are coded. */
static void put_coding(base_writer *w) {
  ty_coding_head head = {.anchored = w->coding.anchor != NULL, .rotated = w->coding.rotated};
  ty_slab_section_start(&w->slab, TY_SECTION_CODING);
  ty_slab_append(&w->slab, &head, sizeof head);
  if (head.anchored) ty_slab_append(&w->slab, w->coding.anchor, (uint64_t)w->r->c->dim * sizeof(float));
  if (head.anchored) ty_slab_append(&w->slab, w->coding.mirror, (uint64_t)w->r->c->dim * sizeof(float));
  ty_slab_section_end(&w->slab);
}

/* The rows' blocks by their new positions, copied where the coding stays the same. */
static void put_blocks(base_writer *w) {
  const ty_collection *c = w->r->c;
  uint64_t bytes = AME_BLOCK_BYTES(c->dim);
  uint8_t *block = ty_arena_take(&w->memory, bytes, 1), *codes = ty_arena_take(&w->memory, AME_I4_BYTES(c->dim), 1);
  float *scratch = ty_arena_take(&w->memory, c->dim, sizeof *scratch);
  bool copied = ty_coding_same(&w->coding, &c->base.coding, c->dim);
  if (w->memory.failed) ty_slab_no_memory(&w->slab);
  ty_slab_section_start(&w->slab, TY_SECTION_BLOCKS);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    ty_ref r = w->r->rows[i];
    if (i % AME_BLOCK_ROWS == 0) ty_block_clear(block, c->dim);
    bool vertical = r.segment->vertical.lines != NULL;
    if (copied && !vertical && (!r.segment->is_base || ty_block_intact(c, r.segment, r.at))) {
      ty_block_copy(block, i % AME_BLOCK_ROWS, r.segment->blocks, r.at, c->dim);
    } else {
      ame_i4_info info;
      const float *decoded = ty_row_vector(c, r.segment, r.at, w->row);
      if (c->dtype == TY_INT4) {
        const ty_vertical *v = &r.segment->vertical;
        ty_line_take(c, r.segment, r.at, codes);
        info = ty_stored_i4_info(codes, v->scales[r.at], v->offsets[r.at], c->dim, decoded);
      } else {
        ty_coding_quantize(c->env->kernel, &w->coding, c->dim, decoded, 1, scratch, codes, &info);
      }
      ty_block_put(block, c->dim, i % AME_BLOCK_ROWS, codes, &info, vertical ? 0 : base_info(w, r).bias);
    }
    if (w->counted == TY_SECTION_BLOCKS) base_count(w, i, ty_row_vector(c, r.segment, r.at, w->row));
    if (i % AME_BLOCK_ROWS != AME_BLOCK_ROWS - 1 && i + 1 < w->r->count) continue;
    if (c->dtype == TY_INT4) base_append(w, block, bytes, NULL);
    else ty_slab_append(&w->slab, block, bytes);
  }
  ty_slab_section_end(&w->slab);
  if (c->dtype == TY_INT4) base_put_crcs(w, TY_SECTION_VECTOR_SUMS);
}

static void put_vectors(base_writer *w) {
  const ty_collection *c = w->r->c;
  bool weighs = c->metric == TY_INNER_PRODUCT, codes = c->dtype != TY_F16 && (c->dtype != TY_F32 || codes_are_rows(w));
  if (c->hashed && c->metric != TY_L2 && codes && w->r->count >= c->env->vertical_least && w->r->count > 0 &&
      mostly_zero(w)) {
    w->counted = weighs ? TY_SECTION_LINES : 0;
    base_put_lines(w);
    return;
  }
  bool coded = c->dtype != TY_INT4, stored = !codes;
  if (weighs) w->counted = stored ? TY_SECTION_VECTORS : coded ? TY_SECTION_CODES : TY_SECTION_BLOCKS;
  ty_error *err = w->slab.err;
  ty_status status = ty_coding_choose(w->r, w->anchor, &w->coding, err);
  if (status != TY_OK) w->slab.status = status;
  put_coding(w);
  put_blocks(w);
  if (coded) put_codes(w);
  if (coded) base_column(w, TY_SECTION_INFO, put_info);
  if (stored) put_stored(w);
}

void base_put_vectors(base_writer *w) {
  const ty_collection *c = w->r->c;
  w->row = ty_arena_take(&w->memory, c->dim, sizeof *w->row);
  w->sums.all = ty_arena_zero(&w->memory, c->dim, sizeof *w->sums.all);
  w->sums.some = ty_arena_zero(&w->memory, c->dim, sizeof *w->sums.some);
  w->coded = ty_arena_take(&w->memory, c->dim, sizeof *w->coded);
  w->codes = ty_arena_align(&w->memory, AME_CODE_STRIDE(c->dim), 1);
  w->stored = ty_arena_align(&w->memory, sizeof(float) + (uint64_t)c->dim, 1);
  if (w->memory.failed) ty_slab_no_memory(&w->slab);
  if (w->slab.status == TY_OK) put_vectors(w);
  if (w->slab.status == TY_OK) base_put_squares(w);
  ty_spill_free(c->env, &w->sums.stored.memory);
}
