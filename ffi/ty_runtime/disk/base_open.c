/* Opening a base. The checksums of its small sections and all bounds that readers rely on are checked. The large
 * sections (vectors, codes, blocks, texts, metadata) hold no offsets; only ty_verify compares their checksums,
 * so that opening does not read them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "disk/base.h"
#include "disk/disk.h"
#include "disk/slab.h"
#include "rows/block.h"
#include "rows/by_value.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "rows/weights.h"

typedef struct base_reader {
  ty_collection *c;
  ty_slab slab;
  uint64_t rows;
  ty_error *err;
  ty_status status; /* sticky */
} base_reader;

static void damaged(base_reader *r, const char *what) {
  if (r->status == TY_OK) r->status = ty_fail(r->err, TY_CORRUPT, "%s: %s", r->slab.file->name, what);
}

static bool has_section(const base_reader *r, uint32_t id) {
  for (uint32_t i = 0; i < r->slab.header->sections; i++) {
    if (r->slab.sections[i].id == id) return true;
  }
  return false;
}

/* A section of `width` bytes for each of `count`, or of any length where width is 0. */
static ty_slice section(base_reader *r, uint32_t id, uint64_t count, uint64_t width, bool check) {
  ty_slice out = {NULL, 0};
  uint64_t bytes = UINT64_MAX;
  if (r->status != TY_OK) return out;
  if (width > 0 && !ty_mul(count, width, &bytes)) damaged(r, "its shape is too large");
  else r->status = ty_slab_get(r->c, &r->slab, id, bytes, check, &out, r->err);
  return out;
}

/* Cumulative ends over a section of bytes: ascending, the last one the section's length, no entry longer than
 * `longest`. NULL where the base has no such section: no row has any bytes. */
static const uint64_t *ends(base_reader *r, uint32_t id, ty_slice bytes, uint64_t longest) {
  if (r->status == TY_OK && !has_section(r, id) && bytes.bytes == 0) return NULL;
  const uint64_t *e = (const uint64_t *)(const void *)section(r, id, r->rows, sizeof *e, true).data;
  uint64_t before = 0;
  for (uint64_t i = 0; i < r->rows && r->status == TY_OK; i++) {
    if (e[i] < before || e[i] - before > longest) damaged(r, "the ends of its strings are out of order");
    before = e[i];
  }
  if (before != bytes.bytes) damaged(r, "its strings do not end where their section does");
  return e;
}

/* Strings that are packed. Steps are checked where they are read. */
static void packed(base_reader *r, uint32_t id, bool check, ty_packed *out) {
  if (r->status != TY_OK || (!has_section(r, id) && !has_section(r, id + 1))) return;
  uint64_t blocks = (r->rows + TY_PACKED_ROWS - 1) / TY_PACKED_ROWS, before = 0;
  const uint64_t *e = (const uint64_t *)(const void *)section(r, id, blocks, sizeof *e, true).data;
  ty_slice bytes = section(r, id + 1, 0, 0, check);
  for (uint64_t i = 0; i < blocks && r->status == TY_OK; i++) {
    if (e[i] < before) damaged(r, "the ends of its strings are out of order");
    before = e[i];
  }
  if (before != bytes.bytes) damaged(r, "its strings do not end where their section does");
  *out = (ty_packed){e, bytes.data};
}

/* The bytes of the rows' strings; none where the base has no such section. */
static ty_slice strings(base_reader *r, uint32_t id, bool check) {
  return r->status == TY_OK && !has_section(r, id) ? (ty_slice){NULL, 0} : section(r, id, 0, 0, check);
}

static const uint32_t *keys(base_reader *r, uint32_t index) {
  uint32_t id = TY_SECTION_KEYS + 3 * index;
  const uint32_t *codes = (const uint32_t *)(const void *)section(r, id, r->rows, sizeof *codes, true).data;
  ty_slice end_bytes = section(r, id + 1, 0, 0, true), bytes = section(r, id + 2, 0, 0, true);
  if (r->status != TY_OK) return codes;
  const uint64_t *e = (const uint64_t *)(const void *)end_bytes.data;
  uint64_t count = end_bytes.bytes / sizeof *e;
  if (end_bytes.bytes % sizeof *e != 0 || count == 0 || count > TY_ROWS_MAX || e[0] != 0 || e[count - 1] != bytes.bytes)
    damaged(r, "a dictionary is malformed");
  ty_dict *d = &r->c->dicts[index];
  for (uint64_t i = 0; i < count && r->status == TY_OK; i++) {
    uint64_t start = i == 0 ? 0 : e[i - 1];
    if (e[i] < start || e[i] > bytes.bytes) {
      damaged(r, "a dictionary is malformed");
      break;
    }
    uint32_t code = ty_dict_intern(d, r->c->env->kernel, (ty_slice){bytes.data + start, e[i] - start});
    if (code == TY_NO_CODE) r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
    else if (code != i) damaged(r, "a dictionary has a value twice");
  }
  for (uint64_t i = 0; i < r->rows && r->status == TY_OK; i++) {
    if (codes[i] >= count) damaged(r, "a row has a value that no dictionary knows");
    else if (index > 0) /* spans() counts the partition key */ ty_dict_count(d, codes[i], 1);
  }
  return codes;
}

/* After keys(), which counted each value's rows. */
static void by_value(base_reader *r, uint32_t index) {
  ty_slice bytes = section(r, TY_SECTION_BY_VALUE + index, 0, 0, true);
  if (r->status != TY_OK) return;
  const ty_segment *b = &r->c->base;
  if (!ty_by_value_open(bytes, r->rows, &r->c->dicts[index], &b->by_value[index]))
    damaged(r, "the rows by value are not those of a filter column");
}

static void spans(base_reader *r, uint32_t count) {
  ty_slice bytes = section(r, TY_SECTION_SPANS, count, sizeof(ty_span), true);
  if (r->status != TY_OK) return;
  ty_span *s = malloc((size_t)bytes.bytes + 1);
  r->c->spans = s;
  if (s == NULL) {
    r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
    return;
  }
  memcpy(s, bytes.data, (size_t)bytes.bytes);
  r->c->span_count = count;
  uint64_t next = 0;
  for (uint32_t i = 0; i < count && r->status == TY_OK; i++) {
    if (s[i].first != next || s[i].count == 0 || s[i].count > r->rows - next || s[i].pad != 0 ||
        (i > 0 && s[i].key <= s[i - 1].key)) {
      damaged(r, "its partitions are out of order");
      return;
    }
    next += s[i].count;
    for (uint64_t at = s[i].first; at < next; at++) {
      if (r->c->base.keys[0][at] != s[i].key) {
        damaged(r, "a row lies in another partition than its own");
        return;
      }
    }
    ty_dict_count(&r->c->dicts[0], s[i].key, s[i].count);
  }
  if (next != r->rows) damaged(r, "its partitions do not cover its rows");
}

/* A wrong anchor makes bounds wrong but no read unsafe: only finiteness is checked. An int4 base has none, as its codes
 * are the rows. */
static void coding(base_reader *r) {
  const ty_collection *c = r->c;
  ty_slice bytes = section(r, TY_SECTION_CODING, 0, 0, true);
  if (r->status != TY_OK) return;
  const ty_coding_head *head = (const ty_coding_head *)(const void *)bytes.data;
  uint64_t floats = bytes.bytes < sizeof *head ? 0 : (bytes.bytes - sizeof *head) / sizeof(float);
  if (bytes.bytes < sizeof *head || !ty_all_zero(head->reserved, sizeof head->reserved) || head->anchored > 1 ||
      head->rotated > 1 || (c->dtype == TY_INT4 && (head->anchored || head->rotated)) ||
      bytes.bytes != sizeof *head + head->anchored * 2 * (uint64_t)c->dim * sizeof(float)) {
    damaged(r, "the coding of its blocks is malformed");
    return;
  }
  const float *anchor = head->anchored ? (const float *)(const void *)(bytes.data + sizeof *head) : NULL;
  if (anchor != NULL && !c->env->kernel->all_finite(anchor, (size_t)floats))
    damaged(r, "the coding of its blocks is not finite");
  r->c->base.coding = (ty_coding){anchor, anchor == NULL ? NULL : anchor + c->dim, head->rotated != 0};
}

/* No sum may be larger than that of as many rows of the largest elements. */
static void squares(base_reader *r) {
  const ty_collection *c = r->c;
  if (c->metric != TY_INNER_PRODUCT) return;
  const uint64_t *sums =
      (const uint64_t *)(const void *)section(r, TY_SECTION_SQUARES, c->dim, sizeof *sums, true).data;
  for (uint32_t i = 0; i < c->dim && r->status == TY_OK; i++) {
    if (sums[i] > r->rows * TY_WEIGHTS_ONE) damaged(r, "its sums of squares are larger than its rows can be");
  }
  r->c->base.squares = sums;
}

/* Those of large partitions, which queries check: a handle reads few of them. */
static void span_squares(base_reader *r) {
  const ty_collection *c = r->c;
  uint64_t count = 0, sums;
  if (c->metric != TY_INNER_PRODUCT || r->status != TY_OK) return;
  for (uint32_t i = 0; i < c->span_count; i++) count += c->spans[i].count >= c->env->summed_from;
  if (count == 0) return;
  if (!ty_mul(count, c->dim, &sums)) damaged(r, "its shape is too large");
  r->c->base.span_squares =
      (const uint64_t *)(const void *)section(r, TY_SECTION_SPAN_SQUARES, sums, sizeof(uint64_t), false).data;
}

/* Levels that are wrong make bounds wrong but no read unsafe: only their range is checked. A norm may be infinite, as
 * that of a row of elements of 1e38 is. */
static void vertical(base_reader *r) {
  const ty_collection *c = r->c;
  ty_vertical *v = &r->c->base.vertical;
  uint64_t arrays = c->dtype == TY_INT4 ? 3 : 2;
  if (c->metric == TY_L2 || c->dtype == TY_F16 || r->rows == 0) damaged(r, "its rows cannot be vertical");
  if (r->status != TY_OK) return;
  v->run = TY_RUN_ROWS;
  v->lines = section(r, TY_SECTION_LINES, ty_lines_bytes(c, v->run, r->rows), 1, false).data;
  ty_slice levels = section(r, TY_SECTION_LEVELS, r->rows, arrays * sizeof(float), true);
  section(r, TY_SECTION_RUNS, (r->rows + v->run - 1) / v->run * c->dim, sizeof(uint32_t), false);
  if (r->status != TY_OK) return;
  v->scales = (const float *)(const void *)levels.data;
  v->offsets = arrays == 3 ? v->scales + r->rows : NULL;
  v->norms = v->scales + (arrays - 1) * r->rows;
  if (!c->env->kernel->all_finite(v->scales, (size_t)((arrays - 1) * r->rows))) damaged(r, "its levels are not finite");
  for (uint64_t i = 0; i < r->rows; i++) {
    float width = ty_line_width(v->scales[i], v->offsets == NULL ? 0 : v->offsets[i]);
    v->width_most = v->width_most > width ? v->width_most : width;
    v->norm_most = v->norm_most > v->norms[i] ? v->norm_most : v->norms[i];
    if (!(v->norms[i] >= 0)) damaged(r, "the norm of a row is below zero or not a number");
  }
}

/* What rows are screened and scored by. */
static void columns_of_vectors(base_reader *r) {
  const ty_collection *c = r->c;
  ty_segment *b = &r->c->base;
  if (r->status == TY_OK && has_section(r, TY_SECTION_LINES)) {
    vertical(r);
    return;
  }
  coding(r);
  b->blocks = section(r, TY_SECTION_BLOCKS, ty_block_count(r->rows), AME_BLOCK_BYTES(c->dim), false).data;
  if (c->dtype != TY_INT4) {
    b->codes = (const int8_t *)section(r, TY_SECTION_CODES, r->rows, AME_CODE_STRIDE(c->dim), false).data;
    b->info = (const ame_code_info *)(const void *)section(r, TY_SECTION_INFO, r->rows, sizeof *b->info, true).data;
  }
  if (c->dtype == TY_F16 || (c->dtype == TY_F32 && has_section(r, TY_SECTION_VECTORS)))
    b->vectors = section(r, TY_SECTION_VECTORS, r->rows, ty_vector_bytes(c), false).data;
}

ty_status ty_base_open(ty_collection *c, ty_error *err) {
  base_reader r = {.c = c, .err = err};
  ty_segment *b = &c->base;
  *b = (ty_segment){.is_base = true};
  ty_status status = ty_slab_open(c, &c->store->files.base, TY_SLAB_BASE, &r.slab, err);
  if (status != TY_OK) return status;
  ty_slice shape_bytes = section(&r, TY_SECTION_SHAPE, 1, sizeof(ty_shape), true);
  if (r.status != TY_OK) return r.status;
  const ty_shape *shape = (const ty_shape *)(const void *)shape_bytes.data;
  if (shape->rows > TY_ROWS_MAX || shape->first_row > (uint64_t)1 << 62 || shape->spans > shape->rows ||
      shape->metric > TY_L2)
    damaged(&r, "its shape is out of range");
  if (shape->dim != c->dim || shape->columns != c->columns || shape->lexical != c->lexical || shape->dtype != c->dtype)
    damaged(&r, "its shape is not the manifest's");
  if (r.status != TY_OK) return r.status;
  r.rows = b->count = b->live = shape->rows;
  c->metric = (ty_metric)shape->metric;
  c->store->first_row = shape->first_row;
  c->next_row = shape->first_row + shape->rows;

  columns_of_vectors(&r);
  squares(&r);
  b->row = (const uint64_t *)(const void *)section(&r, TY_SECTION_ROW, r.rows, sizeof *b->row, true).data;
  b->birth = b->row; /* a base row's birth is its number */
  for (uint64_t i = 0; i < r.rows && r.status == TY_OK; i++) {
    if (b->row[i] - shape->first_row >= r.rows) damaged(&r, "a row's number is out of range");
  }
  b->keys = calloc(c->columns, sizeof *b->keys);
  b->by_value = calloc(c->columns, sizeof *b->by_value);
  b->dead = calloc((size_t)r.rows + 1, 1);
  if (b->keys == NULL || b->by_value == NULL || b->dead == NULL)
    return ty_fail(err, TY_NO_MEMORY, "out of memory opening %s", r.slab.file->name);
  for (uint32_t i = 0; i < c->columns && r.status == TY_OK; i++) b->keys[i] = keys(&r, i);
  for (uint32_t i = 1; i < c->columns && r.status == TY_OK; i++) by_value(&r, i);
  spans(&r, (uint32_t)shape->spans);
  span_squares(&r);
  if (r.rows > 0 && !has_section(&r, TY_SECTION_IDS)) damaged(&r, "its rows have no ids");
  packed(&r, TY_SECTION_ID_ENDS, true, &b->ids);
  packed(&r, TY_SECTION_META_ENDS, false, &b->metas);
  ty_slice texts = strings(&r, TY_SECTION_TEXTS, false);
  b->texts = texts.data;
  b->text_ends = ends(&r, TY_SECTION_TEXT_ENDS, texts, TY_TEXT_MAX);
  b->presence = section(&r, TY_SECTION_PRESENCE, r.rows, 1, true).data;
  ty_slice times = section(&r, TY_SECTION_TIMES, 0, 0, true);
  if (r.status == TY_OK && !ty_times_open(times, r.rows, &b->times)) damaged(&r, "the times of its rows are malformed");
  /* Evicts what only the checks read: queries map what they need. A failure leaves it resident. */
  if (r.status == TY_OK) c->env->os.let_go(&c->env->os, c->store->files.base.map, (size_t)c->store->files.base.mapped);
  return r.status;
}
