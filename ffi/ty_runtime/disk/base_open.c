/* Opening a base. The checksums of its small sections and all bounds that readers rely on are checked. The large
 * sections (vectors, codes, blocks, texts, metadata) hold no offsets: they are compared as they are read
 * (rows/checks.h). Damage of what follows from other sections is noted, and the base is opened without it:
 * base_damage.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "disk/base_reader.h"
#include "rows/block.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "rows/weights.h"

void base_damaged(base_reader *r, const char *what) {
  if (r->status == TY_OK) r->status = ty_fail(r->err, TY_CORRUPT, "%s: %s", r->slab.file->name, what);
}

static bool has_section(const base_reader *r, uint32_t id) { return ty_slab_find(&r->slab, id) != NULL; }

ty_slice base_section(base_reader *r, uint32_t id, uint64_t count, uint64_t width, bool check) {
  ty_slice out = {NULL, 0};
  uint64_t bytes = UINT64_MAX;
  if (r->status != TY_OK) return out;
  if (width > 0 && !ty_mul(count, width, &bytes)) base_damaged(r, "its shape is too large");
  else r->status = ty_slab_get(r->c, &r->slab, id, bytes, check, &out, r->err);
  return out;
}

const uint8_t *base_as_read(base_reader *r, uint32_t id, uint64_t count, uint64_t width, ty_part part, ty_intact *out) {
  ty_slice bytes = base_section(r, id, count, width, false);
  if (r->status == TY_OK) r->status = ty_slab_intact(r->c, &r->slab, id, part, out, r->err);
  out->rows = r->rows;
  return bytes.data;
}

/* Checksums of what can be read alone. */
static void own_sums(base_reader *r, uint32_t id, uint64_t count, ty_intact *out) {
  if (r->status == TY_OK && has_section(r, id)) base_as_read(r, id, count, sizeof(uint32_t), TY_PART_FILTER, out);
}

/* Cumulative ends over a section of bytes: ascending, the last one the section's length, no entry longer than
 * `longest`. NULL where the base has no such section: no row has any bytes. */
static const uint64_t *ends(base_reader *r, uint32_t id, ty_slice bytes, uint64_t longest) {
  if (r->status == TY_OK && !has_section(r, id) && bytes.bytes == 0) return NULL;
  const uint64_t *e = (const uint64_t *)(const void *)base_section(r, id, r->rows, sizeof *e, true).data;
  uint64_t before = 0;
  for (uint64_t i = 0; i < r->rows && r->status == TY_OK; i++) {
    if (e[i] < before || e[i] - before > longest) base_damaged(r, "the ends of its strings are out of order");
    before = e[i];
  }
  if (before != bytes.bytes) base_damaged(r, "its strings do not end where their section does");
  return e;
}

/* They are there twice, and read from the first place where they are sound. Where they are not in either, the base is
 * opened with none, with which no text can be read. */
static void symbols(base_reader *r) {
  if (r->status != TY_OK || (!has_section(r, TY_SECTION_SYMBOLS) && !has_section(r, TY_SECTION_SYMBOLS_AGAIN))) return;
  const bool one = ty_slab_sound(r->c, &r->slab, TY_SECTION_SYMBOLS),
             two = ty_slab_sound(r->c, &r->slab, TY_SECTION_SYMBOLS_AGAIN);
  ty_symbols *s = ty_damage_memory(r->c->damages, sizeof *s);
  r->c->base.symbols = s;
  if (s == NULL) {
    r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
  } else if (!one && !two) {
    base_lose_symbols(r);
  } else {
    if (!one || !two)
      (void)base_derived(r, one ? TY_SECTION_SYMBOLS_AGAIN : TY_SECTION_SYMBOLS,
                         "one of the two tables of symbols does not match its checksum");
    const ty_slice stored = base_section(r, one ? TY_SECTION_SYMBOLS : TY_SECTION_SYMBOLS_AGAIN, 0, 0, false);
    if (r->status == TY_OK && !ty_symbols_read(stored, s)) base_damaged(r, "the symbols of its texts are malformed");
  }
}

static void texts(base_reader *r) {
  ty_segment *b = &r->c->base;
  ty_intact *x = &r->checks->texts;
  symbols(r);
  if (r->status == TY_OK && has_section(r, TY_SECTION_TEXTS)) {
    b->texts = base_as_read(r, TY_SECTION_TEXTS, 0, 0, TY_PART_TEXTS, x);
    own_sums(r, TY_SECTION_TEXT_SUMS, r->rows, &r->checks->text_sums);
  }
  x->per = 1;
  /* Coded, a text is at most twice as long. */
  const uint64_t most = b->symbols == NULL ? TY_TEXT_MAX : 2 * TY_TEXT_MAX;
  x->ends = b->text_ends = ends(r, TY_SECTION_TEXT_ENDS, (ty_slice){x->data, x->bytes}, most);
}

/* Strings that are packed. Steps are checked where they are read. */
static void packed(base_reader *r, uint32_t id, ty_intact *as_read, ty_packed *out) {
  if (r->status != TY_OK || (!has_section(r, id) && !has_section(r, id + 1))) return;
  uint64_t blocks = (r->rows + TY_PACKED_ROWS - 1) / TY_PACKED_ROWS, before = 0;
  const uint64_t *e = (const uint64_t *)(const void *)base_section(r, id, blocks, sizeof *e, true).data;
  ty_slice bytes = base_section(r, id + 1, 0, 0, as_read == NULL);
  if (as_read != NULL) {
    base_as_read(r, id + 1, 0, 0, TY_PART_METADATA, as_read);
    as_read->per = TY_PACKED_ROWS;
    as_read->ends = e;
    own_sums(r, TY_SECTION_META_SUMS, blocks, &r->checks->meta_sums);
  }
  for (uint64_t i = 0; i < blocks && r->status == TY_OK; i++) {
    if (e[i] < before) base_damaged(r, "the ends of its strings are out of order");
    before = e[i];
  }
  if (before != bytes.bytes) base_damaged(r, "its strings do not end where their section does");
  *out = (ty_packed){e, bytes.data};
}

static const uint32_t *keys(base_reader *r, uint32_t index) {
  uint32_t id = TY_SECTION_KEYS + 3 * index;
  const uint32_t *codes = (const uint32_t *)(const void *)base_section(r, id, r->rows, sizeof *codes, true).data;
  ty_slice end_bytes = base_section(r, id + 1, 0, 0, true), bytes = base_section(r, id + 2, 0, 0, true);
  if (r->status != TY_OK) return codes;
  const uint64_t *e = (const uint64_t *)(const void *)end_bytes.data;
  uint64_t count = end_bytes.bytes / sizeof *e;
  if (end_bytes.bytes % sizeof *e != 0 || count == 0 || count > TY_ROWS_MAX || e[0] != 0 || e[count - 1] != bytes.bytes)
    base_damaged(r, "a dictionary is malformed");
  ty_dict *d = &r->c->dicts[index];
  for (uint64_t i = 0; i < count && r->status == TY_OK; i++) {
    uint64_t start = i == 0 ? 0 : e[i - 1];
    if (e[i] < start || e[i] > bytes.bytes) {
      base_damaged(r, "a dictionary is malformed");
      break;
    }
    uint32_t code = ty_dict_intern(d, r->c->env->kernel, (ty_slice){bytes.data + start, e[i] - start});
    if (code == TY_NO_CODE) r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
    else if (code != i) base_damaged(r, "a dictionary has a value twice");
  }
  for (uint64_t i = 0; i < r->rows && r->status == TY_OK; i++) {
    if (codes[i] >= count) base_damaged(r, "a row has a value that no dictionary knows");
    else if (index > 0) /* spans() counts the partition key */ ty_dict_count(d, codes[i], 1);
  }
  return codes;
}

/* After keys(), which counted each value's rows. */
static void by_value(base_reader *r, uint32_t index) {
  const uint32_t id = TY_SECTION_BY_VALUE + index;
  ty_slice bytes = base_section(r, id, 0, 0, false);
  if (r->status != TY_OK) return;
  const ty_segment *b = &r->c->base;
  b->by_value[index].missing = !base_derived(r, id, "the rows by value do not match their checksum");
  if (b->by_value[index].missing) return;
  if (!ty_by_value_open(bytes, r->rows, &r->c->dicts[index], &b->by_value[index]))
    base_damaged(r, "the rows by value are not those of a filter column");
}

static void spans(base_reader *r, uint32_t count) {
  ty_slice bytes = base_section(r, TY_SECTION_SPANS, count, sizeof(ty_span), false);
  if (r->status != TY_OK) return;
  ty_span *s = calloc((size_t)count + 1, sizeof *s);
  r->c->spans = s;
  if (s == NULL) {
    r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
    return;
  }
  if (base_derived(r, TY_SECTION_SPANS, "the partitions do not match their checksum"))
    memcpy(s, bytes.data, (size_t)bytes.bytes);
  else base_make_spans(r, s, count);
  r->c->span_count = count;
  uint64_t next = 0;
  for (uint32_t i = 0; i < count && r->status == TY_OK; i++) {
    if (s[i].first != next || s[i].count == 0 || s[i].count > r->rows - next || s[i].pad != 0 ||
        (i > 0 && s[i].key <= s[i - 1].key)) {
      base_damaged(r, "its partitions are out of order");
      return;
    }
    next += s[i].count;
    for (uint64_t at = s[i].first; at < next; at++) {
      if (r->c->base.keys[0][at] != s[i].key) {
        base_damaged(r, "a row lies in another partition than its own");
        return;
      }
    }
    ty_dict_count(&r->c->dicts[0], s[i].key, s[i].count);
  }
  if (next != r->rows) base_damaged(r, "its partitions do not cover its rows");
}

/* A wrong anchor makes bounds wrong but no read unsafe: only finiteness is checked. An int4 base has none, as its codes
 * are the rows. */
static void coding(base_reader *r) {
  const ty_collection *c = r->c;
  ty_slice bytes = base_section(r, TY_SECTION_CODING, 0, 0, false);
  if (r->status != TY_OK) return;
  if (!ty_slab_sound(c, &r->slab, TY_SECTION_CODING)) {
    base_lose_coding(r);
    return;
  }
  const ty_coding_head *head = (const ty_coding_head *)(const void *)bytes.data;
  uint64_t floats = bytes.bytes < sizeof *head ? 0 : (bytes.bytes - sizeof *head) / sizeof(float);
  if (bytes.bytes < sizeof *head || !ty_all_zero(head->reserved, sizeof head->reserved) || head->anchored > 1 ||
      head->rotated > 1 || (c->dtype == TY_INT4 && (head->anchored || head->rotated)) ||
      bytes.bytes != sizeof *head + head->anchored * 2 * (uint64_t)c->dim * sizeof(float)) {
    base_damaged(r, "the coding of its blocks is malformed");
    return;
  }
  const float *anchor = head->anchored ? (const float *)(const void *)(bytes.data + sizeof *head) : NULL;
  if (anchor != NULL && !c->env->kernel->all_finite(anchor, (size_t)floats))
    base_damaged(r, "the coding of its blocks is not finite");
  r->c->base.coding = (ty_coding){anchor, anchor == NULL ? NULL : anchor + c->dim, head->rotated != 0};
}

/* No sum may be larger than that of as many rows of the largest elements. */
static void squares(base_reader *r) {
  const ty_collection *c = r->c;
  if (c->metric != TY_INNER_PRODUCT) return;
  const uint64_t *sums =
      (const uint64_t *)(const void *)base_section(r, TY_SECTION_SQUARES, c->dim, sizeof *sums, false).data;
  if (r->status != TY_OK) return;
  if (!base_derived(r, TY_SECTION_SQUARES, "the sums of squares do not match their checksum")) {
    r->checks->squares_lost = true;
    return;
  }
  for (uint32_t i = 0; i < c->dim && r->status == TY_OK; i++) {
    if (sums[i] > r->rows * TY_WEIGHTS_ONE) base_damaged(r, "its sums of squares are larger than its rows can be");
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
  if (!ty_mul(count, c->dim, &sums)) base_damaged(r, "its shape is too large");
  r->c->base.span_squares = (const uint64_t *)(const void *)base_as_read(
      r, TY_SECTION_SPAN_SQUARES, sums, sizeof(uint64_t), TY_PART_FILTER, &r->checks->span_squares);
}

/* Makes the blocks as the kernel takes them, which queries use. */
static void list_sparse(base_reader *r, const ty_line_runs *runs) {
  ty_vertical *v = &r->c->base.vertical;
  ame_sparse_block *blocks = ty_damage_memory(r->c->damages, runs->blocks * sizeof *blocks);
  if (blocks == NULL) {
    r->status = ty_fail(r->err, TY_NO_MEMORY, "out of memory opening %s", r->slab.file->name);
    return;
  }
  for (uint64_t i = 0; i < runs->blocks; i++) blocks[i] = ty_sparse_block_of(runs, v->lines, i);
  v->sparse = blocks;
  v->sparse_rows = r->rows;
}

/* Levels that are wrong make bounds wrong but no read unsafe: only their range is checked. A norm may be infinite, as
 * that of a row of elements of 1e38 is. */
static void vertical(base_reader *r) {
  const ty_collection *c = r->c;
  ty_vertical *v = &r->c->base.vertical;
  uint64_t arrays = c->dtype == TY_INT4 ? 3 : 2;
  if (c->metric == TY_L2 || c->dtype == TY_F16 || r->rows == 0) base_damaged(r, "its rows cannot be vertical");
  if (r->status != TY_OK) return;
  const bool sparse = has_section(r, TY_SECTION_DIRECTORY);
  const ty_slice lines = base_section(r, TY_SECTION_LINES, 0, 0, false);
  const ty_slice directory = sparse ? base_section(r, TY_SECTION_DIRECTORY, 0, 0, false) : (ty_slice){NULL, 0};
  const ty_line_runs runs = ty_line_runs_of(c, directory.data, r->rows, lines.bytes);
  /* The kernel may read up to AME_SPARSE_SLACK bytes beyond the last run: they must be in the file. */
  const uint64_t after = r->slab.file->bytes - (uint64_t)(lines.data - r->slab.file->map) - lines.bytes;
  if (!ty_line_runs_fit(&runs, directory.bytes) || (sparse && (c->dtype == TY_INT4 || after < AME_SPARSE_SLACK)))
    base_damaged(r, "the size of its lines does not fit its rows");
  v->run = runs.block_rows;
  v->lines = lines.data;
  ty_slice levels = base_section(r, TY_SECTION_LEVELS, r->rows, arrays * sizeof(float), false);
  base_line_sums(r, &runs);
  if (r->status != TY_OK) return;
  if (!ty_slab_sound(c, &r->slab, TY_SECTION_LEVELS)) base_lose_levels(r);
  if (sparse && !ty_slab_sound(c, &r->slab, TY_SECTION_DIRECTORY)) base_lose_directory(r);
  for (uint64_t i = 0; sparse && i < runs.blocks; i++) {
    if (!ty_line_sums_lost(&r->checks->lines, i * runs.block_rows) && !ty_directory_good(&runs, i))
      base_damaged(r, "the directory of its lines is malformed");
  }
  if (sparse) list_sparse(r, &runs);
  v->scales = (const float *)(const void *)levels.data;
  v->offsets = arrays == 3 ? v->scales + r->rows : NULL;
  v->norms = v->scales + (arrays - 1) * r->rows;
  for (uint64_t i = 0; i < r->rows && r->status == TY_OK; i++) {
    if (ty_line_sums_lost(&r->checks->lines, i)) continue;
    float offset = v->offsets == NULL ? 0 : v->offsets[i], width = ty_line_width(v->scales[i], offset);
    v->width_most = v->width_most > width ? v->width_most : width;
    v->norm_most = v->norm_most > v->norms[i] ? v->norm_most : v->norms[i];
    if (!isfinite(v->scales[i]) || !isfinite(offset)) base_damaged(r, "its levels are not finite");
    if (!(v->norms[i] >= 0)) base_damaged(r, "the norm of a row is below zero or not a number");
  }
}

/* What rows are screened and scored by. */
static void columns_of_vectors(base_reader *r) {
  const ty_collection *c = r->c;
  ty_segment *b = &r->c->base;
  ty_checks *k = r->checks;
  if (r->status == TY_OK && has_section(r, TY_SECTION_LINES)) {
    vertical(r);
    return;
  }
  const uint64_t stride = AME_CODE_STRIDE(c->dim), block = AME_BLOCK_BYTES(c->dim);
  b->blocks = base_as_read(r, TY_SECTION_BLOCKS, ty_block_count(r->rows), block, TY_PART_CODES, &k->blocks);
  k->blocks.per = AME_BLOCK_ROWS, k->blocks.width = block;
  coding(r);
  if (c->dtype != TY_INT4) {
    b->codes = (const int8_t *)base_as_read(r, TY_SECTION_CODES, r->rows, stride, TY_PART_CODES, &k->codes);
    k->codes.per = 1, k->codes.width = stride;
    own_sums(r, TY_SECTION_CODE_SUMS, r->rows, &k->code_sums);
  } else {
    own_sums(r, TY_SECTION_VECTOR_SUMS, ty_block_count(r->rows), &k->vector_sums);
  }
  if (c->dtype != TY_INT4) {
    b->info =
        (const ame_code_info *)(const void *)base_section(r, TY_SECTION_INFO, r->rows, sizeof *b->info, false).data;
    if (r->status == TY_OK && !ty_slab_sound(c, &r->slab, TY_SECTION_INFO)) base_lose_info(r);
  }
  if (c->dtype != TY_F16 && (c->dtype != TY_F32 || !has_section(r, TY_SECTION_VECTORS))) return;
  b->vectors = base_as_read(r, TY_SECTION_VECTORS, r->rows, ty_vector_bytes(c), TY_PART_VECTORS, &k->vectors);
  k->vectors.per = 1, k->vectors.width = ty_vector_bytes(c);
  own_sums(r, TY_SECTION_VECTOR_SUMS, r->rows, &k->vector_sums);
}

ty_status ty_base_open(ty_collection *c, ty_error *err) {
  base_reader r = {.c = c, .err = err};
  ty_segment *b = &c->base;
  *b = (ty_segment){.is_base = true};
  ty_status status = ty_slab_open(c, &c->store->files.base, TY_SLAB_BASE, &r.slab, err);
  if (status != TY_OK) return status;
  b->checks = r.checks = ty_damage_memory(c->damages, sizeof *r.checks);
  if (r.checks == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory opening %s", r.slab.file->name);
  ty_slice shape_bytes = base_section(&r, TY_SECTION_SHAPE, 1, sizeof(ty_shape), true);
  if (r.status != TY_OK) return r.status;
  const ty_shape *shape = (const ty_shape *)(const void *)shape_bytes.data;
  if (shape->rows > TY_ROWS_MAX || shape->first_row > (uint64_t)1 << 62 || shape->spans > shape->rows ||
      shape->metric > TY_L2)
    base_damaged(&r, "its shape is out of range");
  if (shape->dim != c->dim || shape->columns != c->columns || shape->lexical != c->lexical || shape->dtype != c->dtype)
    base_damaged(&r, "its shape is not the manifest's");
  if (r.status != TY_OK) return r.status;
  r.rows = b->count = b->live = shape->rows;
  c->metric = (ty_metric)shape->metric;
  c->store->first_row = shape->first_row;
  c->next_row = shape->first_row + shape->rows;

  columns_of_vectors(&r);
  squares(&r);
  b->row = (const uint64_t *)(const void *)base_section(&r, TY_SECTION_ROW, r.rows, sizeof *b->row, true).data;
  b->birth = b->row; /* a base row's birth is its number */
  for (uint64_t i = 0; i < r.rows && r.status == TY_OK; i++) {
    if (b->row[i] - shape->first_row >= r.rows) base_damaged(&r, "a row's number is out of range");
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
  if (r.rows > 0 && !has_section(&r, TY_SECTION_IDS)) base_damaged(&r, "its rows have no ids");
  packed(&r, TY_SECTION_ID_ENDS, NULL, &b->ids);
  packed(&r, TY_SECTION_META_ENDS, &r.checks->metas, &b->metas);
  texts(&r);
  b->presence = base_section(&r, TY_SECTION_PRESENCE, r.rows, 1, true).data;
  ty_slice times = base_section(&r, TY_SECTION_TIMES, 0, 0, true);
  if (r.status == TY_OK && !ty_times_open(times, r.rows, &b->times))
    base_damaged(&r, "the times of its rows are malformed");
  /* Evicts what only the checks read: queries map what they need. A failure leaves it resident. */
  if (r.status == TY_OK) c->env->os.evict(&c->env->os, c->store->files.base.map, (size_t)c->store->files.base.mapped);
  return r.status;
}
