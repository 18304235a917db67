/* Writing a base: one pass over the rows for each section. The sections of the vectors are in base_vectors.c,
 * the rows by value in base_by_value.c, their texts in base_texts.c, their times in base_times.c. */
#include <stdlib.h>
#include "disk/base_writer.h"

/* The most sections with an entry a row that call base_go_on; an int4 base has fewer. */
#define ROW_SECTIONS 12u

static void put_row(base_writer *w, ty_ref r) {
  uint64_t row = w->plan->first_row + w->plan->rank[ty_rebase_place(w->r, r)];
  TY_ASSERT(row - w->plan->first_row < w->r->count);
  ty_slab_append(&w->slab, &row, sizeof row);
}
static ty_slice meta_of(base_writer *w, ty_ref r) {
  bool present;
  return ty_row_meta(r.segment, r.at, &w->unpack, &present);
}
static ty_slice id_of(base_writer *w, ty_ref r) { return ty_row_id(r.segment, r.at, &w->unpack); }
static void put_presence(base_writer *w, ty_ref r) {
  bool meta, text = ty_row_has_text(r.segment, r.at);
  ty_row_meta(r.segment, r.at, &w->unpack, &meta);
  bool terms = ty_row_has_terms(r.segment, r.at);
  uint8_t bits = (uint8_t)((meta ? TY_HAS_META : 0) | (text ? TY_HAS_TEXT : 0) | (terms ? TY_HAS_TERMS : 0));
  ty_slab_append(&w->slab, &bits, 1);
}

/* Packed strings, in the section before it where each block of them ends, and the checksums of these in `sums_id`
 * unless that is 0. All are left out where all are empty. */
static void put_packed(base_writer *w, uint32_t ends_id, uint32_t sums_id, ty_slice (*of)(base_writer *, ty_ref)) {
  uint64_t first = 0, end = 0;
  ty_buffer row = {0}, block = {0}, before = {0}, ends = {0};
  while (first < w->r->count && of(w, w->r->rows[first]).bytes == 0) first++;
  if (first == w->r->count) return;
  ty_slab_section_start(&w->slab, ends_id + 1);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    ty_slice s = of(w, w->r->rows[i]);
    row.bytes = 0;
    ty_packed_put(&row, (ty_slice){before.data, i % TY_PACKED_ROWS == 0 ? 0 : before.bytes}, s);
    before.bytes = 0;
    ty_buffer_append(&before, s.data, s.bytes);
    ty_buffer_append(&block, row.data, row.bytes);
    if ((i + 1) % TY_PACKED_ROWS != 0 && i + 1 < w->r->count) continue;
    end += block.bytes;
    base_append(w, block.data, block.bytes, NULL);
    ty_buffer_append(&ends, &end, sizeof end);
    block.bytes = 0;
  }
  ty_slab_section_end(&w->slab);
  ty_slab_section_put(&w->slab, ends_id, ends.data, ends.bytes);
  if (sums_id != 0) base_put_crcs(w, sums_id);
  else ty_buffer_free(&w->crcs);
  if (row.failed || block.failed || before.failed || ends.failed) ty_slab_no_memory(&w->slab);
  if (w->slab.status == TY_OK && w->unpack.damaged)
    w->slab.status = ty_fail(w->slab.err, TY_CORRUPT, "the ids or metadata of the base are damaged");
  ty_buffer_free(&row);
  ty_buffer_free(&block);
  ty_buffer_free(&before);
  ty_buffer_free(&ends);
}

/* A column's codes, renumbered over the values that live rows have, in the same order; and those of `spans` (column 0
 * only). */
static void put_keys(base_writer *w, uint32_t column_index, ty_span *spans) {
  const ty_collection *c = w->r->c;
  const ty_dict *d = &c->dicts[column_index];
  uint32_t *fresh = calloc((size_t)d->count + 1, sizeof *fresh);
  if (fresh == NULL) {
    ty_slab_no_memory(&w->slab);
    return;
  }
  for (uint64_t i = 0; i < w->r->count; i++) fresh[w->r->rows[i].segment->keys[column_index][w->r->rows[i].at]] = 1;
  fresh[0] = 0;
  uint32_t count = 1;
  for (uint32_t code = 1; code < d->count; code++) fresh[code] = fresh[code] ? count++ : 0;
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
  if (spans == NULL) base_put_by_value(w, column_index, fresh, count);
  free(fresh);
}

ty_status ty_base_write(const ty_base_plan *plan, ty_file *out, ty_error *err) {
  const ty_rebase *r = plan->rebase;
  const ty_collection *c = r->c;
  base_writer w = {.plan = plan, .r = r, .total = r->count * ROW_SECTIONS, .most = r->most};
  ty_span *spans = ty_arena_take(&w.memory, (uint64_t)r->span_count + 1, sizeof *spans);
  ty_unpack_init(&w.unpack);
  w.anchor = ty_arena_take(&w.memory, (uint64_t)c->dim * 3, sizeof *w.anchor);
  ty_status status = TY_OK;
  if (w.memory.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory writing a base");
  if (status == TY_OK)
    status = ty_slab_create(&w.slab, plan->into, TY_SLAB_BASE, plan->generation, plan->generation,
                            TY_SECTION_SPAN_SQUARES + 4 * c->columns, err);
  if (status != TY_OK) {
    ty_arena_free(&w.memory);
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
  ty_slab_section_put(&w.slab, TY_SECTION_SHAPE, &shape, sizeof shape);
  base_put_vectors(&w);
  base_column(&w, TY_SECTION_ROW, put_row);
  for (uint32_t i = 0; i < c->columns; i++) put_keys(&w, i, i == 0 ? spans : NULL);
  ty_slab_section_put(&w.slab, TY_SECTION_SPANS, spans, r->span_count * sizeof *spans);
  put_packed(&w, TY_SECTION_ID_ENDS, 0, id_of);
  put_packed(&w, TY_SECTION_META_ENDS, TY_SECTION_META_SUMS, meta_of);
  base_put_texts(&w);
  base_column(&w, TY_SECTION_PRESENCE, put_presence);
  base_put_times(&w);
  base_put_symbols_again(&w);
  ty_arena_free(&w.memory);
  ty_buffer_free(&w.crcs);
  return ty_slab_finish(&w.slab, out);
}
