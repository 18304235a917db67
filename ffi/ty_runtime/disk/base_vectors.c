/* The sections of a base that rows are screened and scored by, and the sums that weighted queries use. */
#include <stdlib.h>
#include "disk/base_writer.h"
#include "rows/block.h"
#include "rows/vector.h"
#include "rows/weights.h"

/* Whether the base needs no vectors beside the codes, because each row equals its decoded codes. Rows that are not the
 * text embedder's mostly differ at the first. */
static bool codes_are_rows(base_writer *w) {
  const ty_collection *c = w->r->c;
  uint64_t bytes = ty_vector_bytes(c) + AME_CODE_STRIDE(c->dim);
  if (c->dtype != TY_F32) return false;
  for (uint64_t i = 0; i < w->r->count; i++) {
    ty_ref r = w->r->rows[i];
    if (!ty_row_is_codes(c, r.segment, r.at)) return false;
    if (!r.segment->is_base || r.segment->vectors != NULL) ty_read_row(c, r, bytes, w->most);
    if (i % 1024 == 0 && ty_cancelled(w->r->phases.progress)) return false; /* the next section ends the write */
  }
  return true;
}

/* Adds a row to the sums. */
static void count(base_writer *w, const float *row) { ty_weights_count(w->squares, row, w->r->c->dim, false); }

static void put_codes(base_writer *w, ty_ref r) {
  uint64_t stride = AME_CODE_STRIDE(w->r->c->dim);
  const int8_t *codes = r.segment->codes + r.at * stride;
  if (w->counted == TY_SECTION_CODES) {
    ty_codes_decode(codes, r.segment->info[r.at].scale, w->r->c->dim, w->row);
    count(w, w->row);
  }
  ty_slab_append(&w->slab, codes, stride);
}
static void put_info(base_writer *w, ty_ref r) {
  ty_slab_append(&w->slab, &r.segment->info[r.at], sizeof(ame_code_info));
}
/* f32 and f16 only: the stored form, or the decoded codes of a row that has no other. */
static void put_vector(base_writer *w, ty_ref r) {
  const ty_segment *s = r.segment;
  uint64_t bytes = ty_vector_bytes(w->r->c);
  const void *stored = s->is_base && s->vectors != NULL ? s->vectors + r.at * bytes : NULL;
  if (!s->is_base && !s->payload[r.at].coded) stored = s->payload[r.at].vector;
  const float *row =
      stored == NULL || w->counted == TY_SECTION_VECTORS ? ty_row_vector(w->r->c, s, r.at, w->row) : NULL;
  if (w->counted == TY_SECTION_VECTORS) count(w, row);
  ty_slab_append(&w->slab, stored == NULL ? row : stored, bytes);
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
  uint8_t *block = malloc((size_t)bytes), *codes = malloc(AME_I4_BYTES(c->dim));
  float *scratch = malloc((size_t)c->dim * sizeof *scratch);
  bool copied = ty_coding_same(&w->coding, &c->base.coding, c->dim);
  if ((block == NULL || codes == NULL || scratch == NULL) && w->slab.status == TY_OK)
    w->slab.status = ty_fail(w->slab.err, TY_NO_MEMORY, "out of memory writing %s", w->slab.name);
  ty_slab_section_start(&w->slab, TY_SECTION_BLOCKS);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    ty_ref r = w->r->rows[i];
    if (i % AME_BLOCK_ROWS == 0) ty_block_clear(block, c->dim);
    if (copied) {
      ty_block_copy(block, i % AME_BLOCK_ROWS, r.segment->blocks, r.at, c->dim);
    } else {
      ame_i4_info info;
      const float *decoded = ty_row_vector(c, r.segment, r.at, w->row);
      ty_coding_quantize(c->env->kernel, &w->coding, c->dim, decoded, 1, scratch, codes, &info);
      ty_block_put(block, c->dim, i % AME_BLOCK_ROWS, codes, &info, r.segment->info[r.at].bias);
    }
    if (w->counted == TY_SECTION_BLOCKS) count(w, ty_row_vector(c, r.segment, r.at, w->row));
    if (i % AME_BLOCK_ROWS == AME_BLOCK_ROWS - 1 || i + 1 == w->r->count) ty_slab_append(&w->slab, block, bytes);
  }
  ty_slab_section_end(&w->slab);
  free(block);
  free(codes);
  free(scratch);
}

/* Counted while the section of the stored rows was written, so that no row is read again. */
static void put_squares(base_writer *w) {
  if (w->counted == 0) return;
  ty_slab_section_start(&w->slab, TY_SECTION_SQUARES);
  ty_slab_append(&w->slab, w->squares, (uint64_t)w->r->c->dim * sizeof *w->squares);
  ty_slab_section_end(&w->slab);
}

void base_put_vectors(base_writer *w) {
  const ty_collection *c = w->r->c;
  bool coded = c->dtype != TY_INT4, stored = c->dtype == TY_F16 || (c->dtype == TY_F32 && !codes_are_rows(w));
  w->row = malloc((size_t)c->dim * sizeof *w->row);
  w->squares = calloc(c->dim, sizeof *w->squares);
  if ((w->row == NULL || w->squares == NULL) && w->slab.status == TY_OK)
    w->slab.status = ty_fail(w->slab.err, TY_NO_MEMORY, "out of memory writing %s", w->slab.name);
  if (c->metric == TY_INNER_PRODUCT)
    w->counted = stored ? TY_SECTION_VECTORS : coded ? TY_SECTION_CODES : TY_SECTION_BLOCKS;
  put_coding(w);
  put_blocks(w);
  if (coded) base_column(w, TY_SECTION_CODES, put_codes);
  if (coded) base_column(w, TY_SECTION_INFO, put_info);
  if (stored) base_column(w, TY_SECTION_VECTORS, put_vector);
  if (w->slab.status == TY_OK) put_squares(w);
  free(w->row);
  free(w->squares);
}
