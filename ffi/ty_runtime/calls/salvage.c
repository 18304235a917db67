/* ty_salvage: the parts of rows that can be read of a damaged collection. */
#include <stdlib.h>
#include <string.h>
#include "disk/delta.h"
#include "disk/operations.h"
#include "disk/partial.h"
#include "rows/vector.h"
#include "state/load.h"

#define PARTS 5u /* of a row beside its filter values */

struct ty_salvage {
  ty_collection *c; /* an object for the directory, the schema and the files: files.deltas[0] is the base */
  ty_partial base;
  uint64_t rows;   /* of the base */
  bool is_sure;    /* that the schema is what was written */
  ty_buffer items; /* what the files hold: of ty_salvage_row_args, from the first call of ty_salvage_next on */
  bool listed;
  uint64_t next;
  ty_symbols symbols; /* of the base; none where they are damaged: then no coded text is read */
  /* The row that is read. */
  ty_buffer row;
  ty_unpack unpack;
  ty_buffer text;
  float decoded[TY_DIM_MAX];
};

static bool has(const ty_salvage *s, uint32_t id) { return ty_slab_find(&s->base.slab, id) != NULL; }

static bool get(const ty_salvage *s, uint32_t section, uint64_t at, void *out, uint64_t bytes) {
  const uint8_t *data = ty_partial_at(&s->base, section, at, bytes, 0, 0);
  if (data != NULL) memcpy(out, data, (size_t)bytes);
  return data != NULL;
}

/* ---- Opening ---- */

static bool read_symbols(ty_salvage *s, uint32_t id) {
  const ty_slab_section *section = ty_slab_find(&s->base.slab, id);
  const uint8_t *stored = section == NULL ? NULL : ty_partial_at(&s->base, id, 0, section->bytes, 0, 0);
  return stored != NULL && ty_symbols_read((ty_slice){stored, section->bytes}, &s->symbols);
}

/* What the base says of itself counts more than its manifest, which may be damaged or was edited. */
static void set_schema(ty_salvage *s, ty_salvage_open_args *args) {
  ty_collection *c = s->c;
  const ty_slab_section *presence = ty_slab_find(&s->base.slab, TY_SECTION_PRESENCE);
  ty_shape shape = {.dim = args->dim, .columns = args->columns, .dtype = args->dtype};
  const bool own = get(s, TY_SECTION_SHAPE, 0, &shape, sizeof shape);
  if (!own && presence != NULL) shape.rows = presence->bytes;
  s->is_sure = own || args->written == 1;
  const uint64_t most = (s->base.slab.file->bytes + s->base.slab.file->mapped) / sizeof(uint64_t); /* and more */
  s->rows = shape.rows < most ? shape.rows : most;
  if (s->rows > TY_ROWS_MAX) s->rows = TY_ROWS_MAX;
  const bool known = shape.dim >= 1 && shape.dim <= TY_DIM_MAX && shape.dtype <= TY_INT4;
  args->dim = c->dim = known ? (uint32_t)shape.dim : 0;
  args->dtype = c->dtype = known ? (ty_dtype)shape.dtype : TY_F32;
  if (!read_symbols(s, TY_SECTION_SYMBOLS) && !read_symbols(s, TY_SECTION_SYMBOLS_AGAIN)) s->symbols = (ty_symbols){0};
  args->columns = c->columns = shape.columns <= TY_MAX_COLUMNS ? (uint32_t)shape.columns : 0;
}

/* Files that are missing, or are something else, stay closed. */
static ty_status open_files(ty_salvage *s, ty_salvage_open_args *args, ty_error *err) {
  ty_files *files = &s->c->store->files;
  const char *name = args->names;
  files->deltas = calloc((size_t)args->n, sizeof *files->deltas);
  if (files->deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for damaged files");
  for (uint64_t i = 0; i < args->n; i++, name += strlen(name) + 1) {
    ty_file *file = &files->deltas[files->delta_count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->bytes = args->sizes[i];
    ty_status status = file->name[0] == 0 ? TY_OK : ty_file_map(s->c, file, TY_MAP_COPY, err);
    if (status != TY_OK && !ty_is_lost(status, err)) return status;
  }
  ty_status status = ty_partial_open(&s->base, s->c, files->deltas, err);
  if (s->base.header.sections == 0) ty_file_unmap(s->c, files->deltas);
  if (status == TY_OK) set_schema(s, args);
  return status;
}

ty_status ty_salvage_open(ty_env *env, ty_salvage_open_args *args, ty_salvage **out, ty_error *err) {
  ty_salvage *s = *out = calloc(1, sizeof *s);
  if (s == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a damaged collection");
  ty_status status = ty_shell(env, args->dir, &s->c, err);
  if (status == TY_OK) status = open_files(s, args, err);
  if (status == TY_OK) return TY_OK;
  ty_salvage_close(s);
  *out = NULL;
  return status;
}

void ty_salvage_close(ty_salvage *s) {
  ty_shell_free(s->c);
  ty_buffer_free(&s->items);
  ty_buffer_free(&s->row);
  ty_buffer_free(&s->text);
  free(s);
}

uint32_t ty_restore_bit(ty_env *env, uint8_t *data, uint64_t bytes, uint32_t crc) {
  uint64_t bits = 0;
  return ty_mend(env->kernel, data, bytes, crc, &bits) ? (uint32_t)bits : 2;
}

/* ---- Parts of rows ---- */

/* Adds a part to the row. Without data it is damaged, where the row has it. */
static void add(ty_salvage *s, bool present, ty_slice part) {
  const bool good = present && part.data != NULL && part.bytes < TY_SALVAGE_ABSENT;
  const uint32_t mark = good ? (uint32_t)part.bytes : present ? TY_SALVAGE_DAMAGED : TY_SALVAGE_ABSENT;
  ty_buffer_append(&s->row, &mark, sizeof mark);
  if (good) ty_buffer_append(&s->row, part.data, part.bytes);
}

static void add_vector(ty_salvage *s, const float *vector) {
  const bool good = vector != NULL && s->is_sure && s->c->env->kernel->all_finite(vector, s->c->dim);
  add(s, true, (ty_slice){good ? (const uint8_t *)vector : NULL, s->c->dim * sizeof *vector});
}

static const ty_slice empty = {(const uint8_t *)"", 0};

/* ---- Rows of the base ---- */

/* Above TY_TIME_MAX where they are damaged. */
static ty_times times_of(const ty_salvage *s, uint64_t at) {
  const ty_slab_section *section = ty_slab_find(&s->base.slab, TY_SECTION_TIMES);
  const uint8_t *head = ty_partial_at(&s->base, TY_SECTION_TIMES, 0, sizeof(ty_times_head), 0, 0);
  ty_packed_times p;
  uint64_t bytes;
  if (head == NULL || !ty_times_open((ty_slice){head, section->bytes}, s->rows, &p) ||
      !get(s, TY_SECTION_TIMES, (uint64_t)(p.created - head) + at * p.created_bytes, &bytes, p.created_bytes) ||
      !get(s, TY_SECTION_TIMES, (uint64_t)(p.later - head) + at * p.later_bytes, &bytes, p.later_bytes))
    return (ty_times){UINT64_MAX, UINT64_MAX};
  return ty_times_at(&p, at);
}

/* What lies between two ends, in the section after that of the ends; `sums`: with checksums of their own. */
static ty_slice between(const ty_salvage *s, uint32_t ends, uint64_t index, uint32_t sums) {
  uint64_t e[2] = {0}, n = index > 0 ? 2 : 1;
  if (!get(s, ends, (index + 1 - n) * sizeof *e, e + 2 - n, n * sizeof *e) || e[1] < e[0]) return (ty_slice){0};
  return (ty_slice){ty_partial_at(&s->base, ends + 1, e[0], e[1] - e[0], sums, index), e[1] - e[0]};
}

static ty_slice packed(ty_salvage *s, uint32_t ends, uint64_t at, uint32_t sums) {
  const ty_slice block = between(s, ends, at / TY_PACKED_ROWS, sums);
  const ty_packed one = {.ends = &block.bytes, .bytes = block.data};
  if (block.data == NULL) return block;
  ty_unpack_init(&s->unpack);
  ty_slice row = ty_packed_at(&s->unpack, &one, at % TY_PACKED_ROWS, TY_META_MAX);
  return row.bytes > 0 ? row : s->unpack.damaged ? (ty_slice){0} : empty;
}

/* A text, decoded where the base has symbols. */
static ty_slice text_of(ty_salvage *s, uint64_t at) {
  const ty_slice stored = between(s, TY_SECTION_TEXT_ENDS, at, TY_SECTION_TEXT_SUMS);
  if (stored.data == NULL || stored.bytes == 0 || (!has(s, TY_SECTION_SYMBOLS) && !has(s, TY_SECTION_SYMBOLS_AGAIN)))
    return stored;
  s->text.bytes = 0;
  const bool good = ty_symbols_decode(&s->symbols, stored, TY_TEXT_MAX + 1, &s->text) && s->text.bytes <= TY_TEXT_MAX;
  s->row.failed |= s->text.failed;
  return good ? (ty_slice){s->text.data, s->text.bytes} : (ty_slice){0};
}

/* Its 8-bit codes, which have one checksum together with their summary. */
static const int8_t *codes_of(const ty_salvage *s, uint64_t at, const ame_code_info **info) {
  const uint64_t stride = AME_CODE_STRIDE(s->c->dim);
  const uint8_t *codes = ty_partial_at(&s->base, TY_SECTION_CODES, at * stride, stride, 0, 0);
  const ame_kernel *k = s->c->env->kernel;
  uint32_t crc;
  *info = (const void *)ty_partial_at(&s->base, TY_SECTION_INFO, at * sizeof **info, sizeof **info, 0, 0);
  const bool good = codes != NULL && *info != NULL &&
                    (!get(s, TY_SECTION_CODE_SUMS, at * sizeof crc, &crc, sizeof crc) ||
                     k->crc32c(k->crc32c(0, codes, (size_t)stride), *info, sizeof **info) == crc);
  return good ? (const int8_t *)codes : NULL;
}

/* Not of a vertical base: its embedder makes the vectors again. NULL too where the sections do not fit the schema. */
static const float *base_vector(ty_salvage *s, uint64_t at) {
  const ty_collection *c = s->c;
  const uint64_t bytes = ty_vector_bytes(c), block = AME_BLOCK_BYTES(c->dim), nth = at / AME_BLOCK_ROWS;
  ty_segment row = {.is_base = true, .count = AME_BLOCK_ROWS}; /* alone, or its block */
  if (c->dim == 0 || has(s, TY_SECTION_LINES)) return NULL;
  if (has(s, TY_SECTION_VECTORS))
    row.vectors = ty_partial_at(&s->base, TY_SECTION_VECTORS, at * bytes, bytes, TY_SECTION_VECTOR_SUMS, at);
  else if (has(s, TY_SECTION_CODES)) row.codes = codes_of(s, at, &row.info);
  else row.blocks = ty_partial_at(&s->base, TY_SECTION_BLOCKS, nth * block, block, TY_SECTION_VECTOR_SUMS, nth);
  const bool good = row.vectors != NULL ? c->dtype == TY_F32 || c->dtype == TY_F16
                    : row.codes != NULL ? c->dtype == TY_F32 || c->dtype == TY_INT8
                                        : row.blocks != NULL && c->dtype == TY_INT4;
  return good ? ty_row_vector(c, &row, row.blocks == NULL ? 0 : at % AME_BLOCK_ROWS, s->decoded) : NULL;
}

/* Metadata or a text. `known`: `present` is as it was written; else what is empty counts as absent. */
static void add_optional(ty_salvage *s, bool known, bool present, uint32_t ends, uint64_t at) {
  ty_slice part = empty; /* without the sections no row has bytes of that kind */
  if (has(s, ends)) part = ends == TY_SECTION_TEXT_ENDS ? text_of(s, at) : packed(s, ends, at, TY_SECTION_META_SUMS);
  add(s, known ? present : part.data == NULL || part.bytes > 0, part);
}

static void read_base(ty_salvage *s, uint64_t at) {
  const ty_collection *c = s->c;
  uint8_t flags = 0;
  const bool known = get(s, TY_SECTION_PRESENCE, at, &flags, sizeof flags);
  add_vector(s, base_vector(s, at));
  add(s, true, packed(s, TY_SECTION_ID_ENDS, at, 0));
  add_optional(s, known, flags & TY_HAS_META, TY_SECTION_META_ENDS, at);
  add_optional(s, known, flags & TY_HAS_TEXT, TY_SECTION_TEXT_ENDS, at);
  add(s, flags & TY_HAS_TERMS, empty);
  for (uint32_t i = 0; i < c->columns; i++) {
    const uint32_t section = TY_SECTION_KEYS + 3 * i;
    uint32_t code;
    const bool coded = get(s, section, at * sizeof code, &code, sizeof code);
    add(s, true, coded ? between(s, section + 1, code, 0) : (ty_slice){0});
  }
}

static void list_base(ty_salvage *s) {
  for (uint64_t at = 0; at < s->rows && !s->items.failed; at++) {
    ty_salvage_row_args row = {.kind = TY_SALVAGE_ROW, .at = at, .row = TY_NO_ROW, .replaced = TY_NO_ROW};
    (void)get(s, TY_SECTION_ROW, at * sizeof row.row, &row.row, sizeof row.row);
    const ty_times times = times_of(s, at);
    row.created = times.created, row.updated = times.updated;
    ty_buffer_append(&s->items, &row, sizeof row);
  }
}

/* ---- Operations of a delta ---- */

/* An operation at `at`, of a put with its filter values. */
static bool get_operation(const ty_salvage *s, const ty_file *file, uint64_t at, uint64_t end, ty_operation *op,
                          ty_slice keys[TY_MAX_COLUMNS]) {
  if (at % TY_ALIGN != 0 || at > end || !ty_operation_get(s->c, file->map + at, end - at, op)) return false;
  return op->kind != TY_OPERATION_PUT || (s->c->dim > 0 && ty_put_keys(s->c, op, file->map + at, keys));
}

/* Bytes that say nothing. */
static void list_lost(ty_salvage *s, uint32_t file, uint64_t at, uint64_t end) {
  ty_salvage_row_args item = {.kind = TY_SALVAGE_LOST, .file = file, .at = at, .bytes = end - at};
  ty_buffer_append(&s->items, &item, sizeof item);
}

/* One changed bit of a block's header or its payload is restored. Where a header is damaged, the next block is looked
 * for after it. */
static void list_delta(ty_salvage *s, uint32_t i) {
  const ame_kernel *k = s->c->env->kernel;
  const ty_file *file = &s->c->store->files.deltas[i];
  uint8_t *data = (uint8_t *)(uintptr_t)file->map;
  const uint64_t end = file->mapped < file->bytes ? file->mapped : file->bytes;
  ty_block_header b;
  ty_operation op;
  ty_slice keys[TY_MAX_COLUMNS];
  for (uint64_t at = sizeof(ty_slab_header), next; at < end; at = next) {
    const ty_block_header *head = (const ty_block_header *)(const void *)(data + at);
    if (end - at >= sizeof b) (void)ty_mend(k, data + at, sizeof b - sizeof b.crc, head->crc, &s->base.bits);
    next = ty_block_find(k, file, TY_BLOCK_MAGIC, at, end, &b);
    if (next > at) {
      list_lost(s, i, at, next);
      continue;
    }
    const uint64_t first = at + sizeof b, before = s->items.bytes;
    next = first + b.payload_bytes;
    bool good = ty_mend(k, data + first, b.payload_bytes, b.payload_crc, &s->base.bits);
    for (uint64_t from = first; good && from < next; from += good ? op.bytes : 0) {
      good = get_operation(s, file, from, next, &op, keys);
      if (!good || op.kind == TY_OPERATION_ORIGIN) continue;
      ty_salvage_row_args item = {.file = i, .at = from, .row = op.row, .replaced = op.replaced};
      item.kind = op.kind == TY_OPERATION_PUT ? TY_SALVAGE_ROW : TY_SALVAGE_DELETE;
      item.created = op.kind == TY_OPERATION_PUT ? ty_put_created(s->c, &op, file->map + from) : op.updated;
      item.updated = op.updated;
      ty_buffer_append(&s->items, &item, sizeof item);
    }
    if (good) continue;
    s->items.bytes = before;
    list_lost(s, i, at, next);
  }
  if (end < file->bytes) list_lost(s, i, end, file->bytes); /* what is missing was committed too */
}

static void read_put(ty_salvage *s, const ty_operation *op, const uint8_t *at, const ty_slice *keys) {
  const ty_payload put = ty_put_payload(s->c, op, at);
  add_vector(s, ty_payload_vector(s->c, &put, s->decoded));
  add(s, true, put.id);
  add(s, put.has_meta, put.meta);
  add(s, put.has_text, put.text);
  add(s, !put.has_text && put.terms.bytes > 0, empty);
  for (uint32_t i = 0; i < s->c->columns; i++) add(s, true, keys[i]);
}

/* ---- Both ---- */

static void list(ty_salvage *s) {
  const ty_files *files = &s->c->store->files;
  s->listed = true;
  for (uint32_t i = 0; i < files->delta_count; i++) {
    const ty_file *file = &files->deltas[i];
    const uint64_t before = s->items.bytes;
    if (file->map != NULL && i == 0) list_base(s);
    if (file->map != NULL && i > 0) list_delta(s, i);
    /* It cannot be read, or was truncated meanwhile: what was found may be zeros in its place. */
    if (file->name[0] == 0 || (file->map != NULL && !ty_guard_lost(file->guard))) continue;
    s->items.bytes = before;
    list_lost(s, i, 0, file->bytes);
  }
}

ty_status ty_salvage_next(ty_salvage *s, ty_salvage_row_args *args, ty_error *err) {
  if (!s->listed) list(s);
  if (s->items.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for the rows of damaged files");
  *args = (ty_salvage_row_args){.kind = TY_SALVAGE_END};
  if (s->next < s->items.bytes) memcpy(args, s->items.data + s->next, sizeof *args);
  s->next += sizeof *args;
  args->restored = s->base.bits;
  return TY_OK;
}

ty_status ty_salvage_read(ty_salvage *s, ty_salvage_row_args *args, ty_error *err) {
  const ty_files *files = &s->c->store->files;
  ty_operation op;
  ty_slice keys[TY_MAX_COLUMNS];
  if (args->file >= files->delta_count) return ty_fail(err, TY_INVALID, "there is no such file");
  const ty_file *file = &files->deltas[args->file];
  s->row.bytes = 0;
  if (args->file == 0 && args->at < s->rows) read_base(s, args->at);
  if (file->map != NULL && args->file > 0 && get_operation(s, file, args->at, file->mapped, &op, keys) &&
      op.kind == TY_OPERATION_PUT)
    read_put(s, &op, file->map + args->at, keys);
  /* Where the file was truncated meanwhile, some of these bytes may be zeros in place of the row's. */
  if (ty_guard_lost(file->guard)) s->row.bytes = 0;
  const bool none = s->row.bytes == 0;
  for (uint32_t i = 0; none && i < PARTS + s->c->columns; i++) add(s, true, (ty_slice){0});
  args->out_bytes = s->row.bytes;
  if (s->row.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for a row");
  if (s->row.bytes > args->out_capacity)
    return ty_fail(err, TY_BUFFER, "%llu bytes are needed", (unsigned long long)s->row.bytes);
  memcpy(args->out, s->row.data, (size_t)s->row.bytes);
  return TY_OK;
}
