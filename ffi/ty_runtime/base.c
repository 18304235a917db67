/* The base: written once in one pass over the rows for each section, then mapped and read in place. */
#include <stdlib.h>
#include <string.h>
#include "block.h"
#include "coding.h"
#include "store.h"

/* ---- Writing -------------------------------------------------------------------------------------------------------- */
typedef struct base_writer {
  ty_slab_writer slab;
  const ty_base_plan *plan;
  const ty_rebase *r;
  ty_coding coding; /* of the new blocks */
  uint64_t done; /* rows times sections, for progress */
  uint64_t total;
  uint64_t told; /* bytes written at the row before */
  uint64_t most; /* resident of what is read */
  float *row;    /* scratch, dim floats */
} base_writer;

/* Sections with an entry a row that tell `go_on`, at most: an int4 base has fewer, and one whose codes are its rows. */
#define ROW_SECTIONS 15u

typedef void (*row_fn)(base_writer *w, ty_ref row);

/* Told before each row of a section: false where writing is to end. */
static bool go_on(base_writer *w, uint64_t i) {
  const ty_ref *rows = w->r->rows;
  bool next = i > 0 && rows[i].segment == rows[i - 1].segment && rows[i].at == rows[i - 1].at + 1;
  /* Of a delta's row all parts lie side by side: reading one makes what is between it and the next row's resident. */
  uint64_t apart = !next ? TY_SCATTERED : rows[i].segment->is_base ? 0 : ty_vector_bytes(w->r->c);
  uint64_t written = w->slab.offset + w->slab.buffered;
  ty_read_row(w->r->c, rows[i], written - w->told + apart, w->most);
  w->told = written;
  if (w->slab.status == TY_OK && ++w->done % 1024 == 0) {
    ty_rebase_progress(w->r, TY_PHASE_WRITE, w->done, w->total);
    if (ty_cancelled(w->r->progress))
      w->slab.status = ty_fail(w->slab.err, TY_CANCELLED, "cancelled; the last saved state stands");
  }
  return w->slab.status == TY_OK;
}

/* Whether the base needs no vectors beside the codes: one row that its codes do not say, and all are stored. Other rows than the text embedder's
 * fail at the first. */
static bool codes_are_rows(base_writer *w) {
  const ty_collection *c = w->r->c;
  uint64_t bytes = ty_vector_bytes(c) + AME_CODE_STRIDE(c->dim);
  if (c->dtype != TY_F32) return false;
  for (uint64_t i = 0; i < w->r->count; i++) {
    ty_ref r = w->r->rows[i];
    if (!ty_row_is_codes(c, r.segment, r.at)) return false;
    if (!r.segment->is_base || r.segment->vectors != NULL) ty_read_row(c, r, bytes, w->most);
    if (i % 1024 == 0 && ty_cancelled(w->r->progress)) return false; /* the next section tells */
  }
  return true;
}

/* One section of one entry a row. */
static void column(base_writer *w, uint32_t id, row_fn append) {
  ty_slab_section_start(&w->slab, id);
  for (uint64_t i = 0; i < w->r->count && go_on(w, i); i++) append(w, w->r->rows[i]);
  ty_slab_section_end(&w->slab);
}

static void put_codes(base_writer *w, ty_ref r) {
  uint64_t stride = AME_CODE_STRIDE(w->r->c->dim);
  ty_slab_append(&w->slab, r.segment->codes + r.at * stride, stride);
}
static void put_info(base_writer *w, ty_ref r) {
  ty_slab_append(&w->slab, &r.segment->info[r.at], sizeof(ame_code_info));
}
/* f32 and f16 only: the stored form as it is, or as the codes of the base before say it. */
static void put_vector(base_writer *w, ty_ref r) {
  const ty_segment *s = r.segment;
  uint64_t bytes = ty_vector_bytes(w->r->c);
  const void *stored = s->is_base && s->vectors != NULL ? s->vectors + r.at * bytes : NULL;
  if (!s->is_base) stored = s->payload[r.at].vector;
  ty_slab_append(&w->slab, stored == NULL ? ty_row_vector(w->r->c, s, r.at, w->row) : stored, bytes);
}
static void put_row(base_writer *w, ty_ref r) {
  uint64_t row = w->plan->first_row + w->plan->rank[ty_place_of(w->r->c, r)];
  ty_slab_append(&w->slab, &row, sizeof row);
}
static void put_id(base_writer *w, ty_ref r) {
  ty_slice s = ty_row_id(r.segment, r.at);
  ty_slab_append(&w->slab, s.data, s.bytes);
}
static ty_slice meta_of(ty_ref r) {
  bool present;
  ty_slice s = ty_row_meta(r.segment, r.at, &present);
  return present ? s : (ty_slice){NULL, 0};
}
static ty_slice text_of(ty_ref r) {
  bool present;
  ty_slice s = ty_row_text(r.segment, r.at, &present);
  return present ? s : (ty_slice){NULL, 0};
}
static ty_slice id_of(ty_ref r) { return ty_row_id(r.segment, r.at); }
static ty_slice terms_of(ty_ref r) { return ty_row_terms(r.segment, r.at); }
static void put_meta(base_writer *w, ty_ref r) {
  ty_slice s = meta_of(r);
  ty_slab_append(&w->slab, s.data, s.bytes);
}
static void put_text(base_writer *w, ty_ref r) {
  ty_slice s = text_of(r);
  ty_slab_append(&w->slab, s.data, s.bytes);
}
static void put_terms(base_writer *w, ty_ref r) {
  ty_slice s = terms_of(r);
  ty_slab_append(&w->slab, s.data, s.bytes);
}
static void put_presence(base_writer *w, ty_ref r) {
  bool meta, text;
  ty_row_meta(r.segment, r.at, &meta);
  ty_row_text(r.segment, r.at, &text);
  uint8_t bits = (uint8_t)((meta ? TY_HAS_META : 0) | (text ? TY_HAS_TEXT : 0));
  ty_slab_append(&w->slab, &bits, 1);
}

static void put_ends(base_writer *w, uint32_t id, ty_slice (*of)(ty_ref)) {
  uint64_t end = 0;
  ty_slab_section_start(&w->slab, id);
  for (uint64_t i = 0; i < w->r->count && go_on(w, i); i++) {
    end += of(w->r->rows[i]).bytes;
    ty_slab_append(&w->slab, &end, sizeof end);
  }
  ty_slab_section_end(&w->slab);
}

/* How the blocks are coded, where that is not plainly. */
static void put_coding(base_writer *w) {
  if (w->coding.anchor == NULL && !w->coding.rotated) return;
  ty_coding_head head = {.anchored = w->coding.anchor != NULL, .rotated = w->coding.rotated};
  ty_slab_section_start(&w->slab, TY_SECTION_CODING);
  ty_slab_append(&w->slab, &head, sizeof head);
  if (head.anchored) ty_slab_append(&w->slab, w->coding.anchor, (uint64_t)w->r->c->dim * sizeof(float));
  if (head.anchored) ty_slab_append(&w->slab, w->coding.mirror, (uint64_t)w->r->c->dim * sizeof(float));
  ty_slab_section_end(&w->slab);
}

/* The rows' blocks by their new positions, copied where they are coded as they will be. */
static void put_blocks(base_writer *w) {
  const ty_collection *c = w->r->c;
  uint64_t bytes = AME_BLOCK_BYTES(c->dim);
  uint8_t *block = malloc((size_t)bytes), *codes = malloc(AME_I4_BYTES(c->dim));
  float *scratch = malloc((size_t)c->dim * sizeof *scratch);
  bool copied = ty_coding_same(&w->coding, &c->base.coding, c->dim);
  if ((block == NULL || codes == NULL || scratch == NULL) && w->slab.status == TY_OK)
    w->slab.status = ty_fail(w->slab.err, TY_NO_MEMORY, "out of memory writing %s", w->slab.name);
  ty_slab_section_start(&w->slab, TY_SECTION_BLOCKS);
  for (uint64_t i = 0; i < w->r->count && go_on(w, i); i++) {
    ty_ref r = w->r->rows[i];
    if (i % AME_BLOCK_ROWS == 0) ty_block_clear(block, c->dim);
    if (r.segment->blocks != NULL && copied) {
      ty_block_copy(block, i % AME_BLOCK_ROWS, r.segment->blocks, r.at, c->dim);
    } else {
      ame_i4_info info;
      const float *decoded = ty_row_vector(c, r.segment, r.at, w->row);
      ty_coding_quantize(c->env->kernel, &w->coding, c->dim, decoded, 1, scratch, codes, &info);
      ty_block_put(block, c->dim, i % AME_BLOCK_ROWS, codes, &info, r.segment->info[r.at].bias);
    }
    if (i % AME_BLOCK_ROWS == AME_BLOCK_ROWS - 1 || i + 1 == w->r->count) ty_slab_append(&w->slab, block, bytes);
  }
  ty_slab_section_end(&w->slab);
  free(block);
  free(codes);
  free(scratch);
}

/* A column's codes, renumbered over the values that live rows have; the order of codes stays. `spans` (column 0 only) are renumbered too. */
static void put_keys(base_writer *w, uint32_t column_index, ty_span *spans) {
  const ty_collection *c = w->r->c;
  const ty_dict *d = &c->dicts[column_index];
  uint32_t *fresh = calloc((size_t)d->count + 1, sizeof *fresh);
  if (fresh == NULL) {
    if (w->slab.status == TY_OK)
      w->slab.status = ty_fail(w->slab.err, TY_NO_MEMORY, "out of memory writing %s", w->slab.name);
    return;
  }
  for (uint64_t i = 0; i < w->r->count; i++) fresh[w->r->rows[i].segment->keys[column_index][w->r->rows[i].at]] = 1;
  fresh[0] = 0;
  for (uint32_t code = 1, next = 1; code < d->count; code++) fresh[code] = fresh[code] ? next++ : 0;
  uint32_t section = TY_SECTION_KEYS + 3 * column_index;
  ty_slab_section_start(&w->slab, section);
  for (uint64_t i = 0; i < w->r->count; i++) {
    ty_ref r = w->r->rows[i];
    ty_slab_append(&w->slab, &fresh[r.segment->keys[column_index][r.at]], sizeof *fresh);
  }
  ty_slab_section_end(&w->slab);
  ty_slab_section_start(&w->slab, section + 1);
  uint64_t end = 0;
  ty_slab_append(&w->slab, &end, sizeof end); /* code 0, the empty key */
  for (uint32_t code = 1; code < d->count; code++) {
    if (fresh[code] == 0) continue;
    end += ty_dict_value(d, code).bytes;
    ty_slab_append(&w->slab, &end, sizeof end);
  }
  ty_slab_section_end(&w->slab);
  ty_slab_section_start(&w->slab, section + 2);
  for (uint32_t code = 1; code < d->count; code++) {
    ty_slice value = ty_dict_value(d, code);
    if (fresh[code] != 0) ty_slab_append(&w->slab, value.data, value.bytes);
  }
  ty_slab_section_end(&w->slab);
  for (uint32_t i = 0; spans != NULL && i < w->r->span_count; i++) spans[i].key = fresh[spans[i].key];
  free(fresh);
}

ty_status ty_base_write(const ty_base_plan *plan, const char *name, ty_file *out, ty_error *err) {
  const ty_rebase *r = plan->rebase;
  const ty_collection *c = r->c;
  base_writer w = {.plan = plan, .r = r, .total = r->count * ROW_SECTIONS, .most = r->want_ivf ? ty_resident_build(c) : TY_RESIDENT_MOST};
  ty_span *spans = malloc(((size_t)r->span_count + 1) * sizeof *spans);
  float *anchor = malloc((size_t)c->dim * 4 * sizeof *anchor); /* ty_coding_choose's three rows, and w.row */
  ty_status status = TY_OK;
  if (anchor != NULL) w.row = anchor + (size_t)c->dim * 3;
  if (spans == NULL || anchor == NULL) status = ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", name);
  if (status == TY_OK) status = ty_coding_choose(r, anchor, &w.coding, err);
  if (status == TY_OK)
    status = ty_slab_create(&w.slab, c, name, TY_SLAB_BASE, plan->generation, plan->generation,
                            TY_SECTION_CODING + 3 * c->columns, err);
  if (status != TY_OK) {
    free(spans);
    free(anchor);
    return status;
  }
  for (uint32_t i = 0; i < r->span_count; i++)
    spans[i] = (ty_span){r->spans[i].key, 0, r->spans[i].first, r->spans[i].count};
  ty_shape shape = {.rows = r->count,
                    .first_row = plan->first_row,
                    .dim = c->dim,
                    .columns = c->columns,
                    .spans = r->span_count,
                    .lexical = c->lexical,
                    .dtype = c->dtype,
                    .metric = c->metric};
  ty_slab_section_start(&w.slab, TY_SECTION_SHAPE);
  ty_slab_append(&w.slab, &shape, sizeof shape);
  ty_slab_section_end(&w.slab);
  put_coding(&w);
  put_blocks(&w);
  if (c->dtype != TY_INT4) column(&w, TY_SECTION_CODES, put_codes);
  if (c->dtype != TY_INT4) column(&w, TY_SECTION_INFO, put_info);
  if (c->dtype == TY_F16 || (c->dtype == TY_F32 && !codes_are_rows(&w))) column(&w, TY_SECTION_VECTORS, put_vector);
  column(&w, TY_SECTION_ROW, put_row);
  column(&w, TY_SECTION_BIRTH, put_row); /* in a fresh base a row is as old as its number says */
  for (uint32_t i = 0; i < c->columns; i++) put_keys(&w, i, i == 0 ? spans : NULL);
  ty_slab_section_start(&w.slab, TY_SECTION_SPANS);
  ty_slab_append(&w.slab, spans, r->span_count * sizeof *spans);
  ty_slab_section_end(&w.slab);
  put_ends(&w, TY_SECTION_ID_ENDS, id_of);
  column(&w, TY_SECTION_IDS, put_id);
  put_ends(&w, TY_SECTION_META_ENDS, meta_of);
  column(&w, TY_SECTION_METAS, put_meta);
  put_ends(&w, TY_SECTION_TEXT_ENDS, text_of);
  column(&w, TY_SECTION_TEXTS, put_text);
  put_ends(&w, TY_SECTION_TERMS_ENDS, terms_of);
  column(&w, TY_SECTION_TERMS, put_terms);
  column(&w, TY_SECTION_PRESENCE, put_presence);
  free(spans);
  free(anchor);
  return ty_slab_finish(&w.slab, out);
}
