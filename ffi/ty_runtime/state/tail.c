#include "state/tail.h"

#include <stdlib.h>
#include <string.h>

#include "disk/idmap.h"
#include "disk/operations.h"
#include "state/ids.h"

/* The most bytes that are collected for one write. */
#define PIECE ((uint64_t)1 << 20)

/* Sets the number of a row in the new state. False if the row is not in it. */
static bool renumber(const ty_tail *x, uint64_t row, uint64_t *out) {
  const ty_rewriting *w = x->w;
  ty_place place;
  if (row >= x->next_row) {
    *out = w->plan.first_row + w->r.count + (row - x->next_row);
    return row < w->c->next_row;
  }
  if (!ty_place_of_row(w->c, row, &place) || place >= x->places) return false;
  const uint64_t rank = w->gathered.rank[place];
  if (rank >= w->r.count || w->gathered.by_birth[rank] != place) return false; /* it was dead before the rewrite */
  *out = w->plan.first_row + rank;
  return true;
}

ty_status ty_tail_open(ty_tail *x, ty_rewriting *w, ty_error *err) {
  const ty_collection *c = w->c;
  const ty_files *files = &c->store->files;
  *x = (ty_tail){.w = w,
                 .next_row = c->next_row,
                 .places = ty_total_rows(c),
                 .delta_rows = c->delta.count,
                 .delta = files->delta_count > 0 ? files->delta_count - 1 : 0,
                 .at = files->delta_count > 0 ? files->deltas[files->delta_count - 1].bytes : 0,
                 .meaning = files->meaning};
  ty_buffer_append(&x->origin, c->store->last_origin.data, c->store->last_origin.bytes);
  w->t->store->id_map_checked = true; /* the rewrite has just written it */
  return x->origin.failed ? ty_fail(err, TY_NO_MEMORY, "out of memory for a save") : TY_OK;
}

void ty_tail_close(ty_tail *x) {
  if (x->open) (void)ty_append_drop(&x->append, 0, NULL);
  x->open = false;
  ty_buffer_free(&x->origin);
  ty_buffer_free(&x->piece);
}

/* ---- The operations ---- */

/* Drops the delta if a write to it failed. */
static ty_status written(ty_tail *x, int result, ty_error *err) {
  if (result >= 0) return TY_OK;
  x->open = false;
  return ty_append_drop(&x->append, result, err);
}

static ty_status flush(ty_tail *x, ty_error *err) {
  const uint64_t bytes = x->piece.bytes;
  if (x->piece.failed) return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", x->file.name);
  x->piece.bytes = 0;
  return bytes == 0 ? TY_OK : written(x, ty_append_put(&x->append, &x->file, x->piece.data, bytes), err);
}

static ty_status put(ty_tail *x, const void *data, uint64_t bytes, ty_error *err) {
  if (x->piece.bytes + bytes > PIECE) {
    const ty_status status = flush(x, err);
    if (status != TY_OK) return status;
  }
  if (bytes > PIECE) return written(x, ty_append_put(&x->append, &x->file, data, bytes), err);
  ty_buffer_append(&x->piece, data, bytes);
  return TY_OK;
}

/* A block that is copied in two passes. Its header precedes its operations, and has the checksum of these with their
 * new row numbers: the first pass computes the checksum, and the second one writes. */
typedef struct block {
  const ty_file *file;
  uint64_t from, end; /* of its operations */
  ty_block_header head;
  bool writes; /* in the second pass */
  bool has_origin;
} block;

/* Takes the next bytes of a block in either pass. */
static ty_status take_bytes(ty_tail *x, block *b, const void *data, uint64_t bytes, ty_error *err) {
  if (b->writes) return put(x, data, bytes, err);
  b->head.payload_crc = x->w->c->env->kernel->crc32c(b->head.payload_crc, data, (size_t)bytes);
  b->head.payload_bytes += bytes;
  return TY_OK;
}

/* Adds an origin to the first block of the new delta. A block without one has the origin of the block before, which is
 * not in this delta. */
static ty_status add_origin(ty_tail *x, block *b, ty_error *err) {
  static const uint8_t unknown[] = "{}";
  const ty_slice origin =
      x->origin.bytes > 0 ? (ty_slice){x->origin.data, x->origin.bytes} : (ty_slice){unknown, sizeof unknown - 1};
  ty_operation op = {.kind = TY_OPERATION_ORIGIN, .replaced = TY_NO_ROW, .text_bytes = (uint32_t)origin.bytes};
  ty_buffer bytes = {0};
  ty_operation_size(x->w->c, &op);
  ty_buffer_append(&bytes, &op, sizeof op);
  ty_buffer_append(&bytes, origin.data, origin.bytes);
  ty_buffer_align(&bytes, TY_ALIGN);
  b->head.ops += !b->writes;
  ty_status status = bytes.failed ? ty_fail(err, TY_NO_MEMORY, "out of memory for %s", b->file->name)
                                  : take_bytes(x, b, bytes.data, bytes.bytes, err);
  ty_buffer_free(&bytes);
  return status;
}

/* Goes through all operations of a block once. */
static ty_status pass(ty_tail *x, block *b, bool needs_origin, ty_error *err) {
  const ty_collection *c = x->w->c;
  ty_status status = TY_OK;
  for (uint64_t at = b->from; at < b->end && status == TY_OK;) {
    ty_operation op;
    const uint8_t *data = b->file->map + at;
    if (!ty_operation_get(c, data, b->end - at, &op)) return ty_damaged(b->file, "an operation is malformed", at, err);
    const bool has_row = op.kind != TY_OPERATION_ORIGIN;
    if ((has_row && !renumber(x, op.row, &op.row)) ||
        (has_row && op.replaced != TY_NO_ROW && !renumber(x, op.replaced, &op.replaced)))
      return ty_damaged(b->file, "an operation names a row that does not exist", at, err);
    b->has_origin |= !has_row;
    b->head.ops += !b->writes;
    status = take_bytes(x, b, &op, sizeof op, err);
    if (status == TY_OK) status = take_bytes(x, b, data + sizeof op, op.bytes - sizeof op, err);
    at += op.bytes;
    ty_touched(c->resident, TY_OF_DELTA, op.bytes, TY_RESIDENT_MOST);
  }
  return status == TY_OK && needs_origin ? add_origin(x, b, err) : status;
}

static ty_status copy_block(ty_tail *x, const ty_file *file, ty_error *err) {
  const ty_collection *c = x->w->c;
  ty_block_header h;
  /* Its checksum was compared when the save was followed. If it is not the same now, the file was truncated. */
  if (ty_block_find(c->env->kernel, file, TY_BLOCK_MAGIC, x->at, file->bytes, &h) != x->at || h.first_row < x->next_row)
    return ty_damaged(file, "a block is malformed", x->at, err);
  block b = {.file = file,
             .from = x->at + sizeof h,
             .end = x->at + sizeof h + h.payload_bytes,
             .head = {.magic = TY_BLOCK_MAGIC,
                      .generation = h.generation,
                      .first_row = x->w->plan.first_row + x->w->r.count + (h.first_row - x->next_row),
                      .time = h.time}};
  ty_status status = TY_OK;
  const bool first = !x->open;
  if (first) {
    x->append = (ty_append){.c = x->w->t, .kind = TY_SLAB_DELTA, .generation = x->w->plan.generation};
    x->file = (ty_file){0};
    status = ty_append_open(&x->append, &x->file, err);
    x->open = status == TY_OK;
  }
  if (status == TY_OK) status = pass(x, &b, false, err);
  const bool needs_origin = first && !b.has_origin;
  if (status == TY_OK && needs_origin) status = add_origin(x, &b, err);
  if (status != TY_OK) return status;
  ty_block_seal(c->env->kernel, &b.head);
  b.writes = true;
  status = put(x, &b.head, sizeof b.head, err);
  if (status == TY_OK) status = pass(x, &b, needs_origin, err);
  if (status == TY_OK) status = flush(x, err);
  x->at = b.end;
  x->bytes += b.end - b.from;
  return status;
}

static ty_status copy_blocks(ty_tail *x, ty_error *err) {
  const ty_files *files = &x->w->c->store->files;
  ty_status status = TY_OK;
  while (x->delta < files->delta_count && status == TY_OK) {
    const ty_file *file = &files->deltas[x->delta];
    if (x->at < sizeof(ty_slab_header)) x->at = sizeof(ty_slab_header);
    while (x->at < file->bytes && status == TY_OK) status = copy_block(x, file, err);
    if (x->delta + 1 == files->delta_count) break; /* more blocks may be appended to the last one */
    x->delta++;
    x->at = 0;
  }
  return status;
}

/* ---- The vectors of meaning ---- */

typedef struct copying_meaning {
  ty_tail *x;
  ty_error *err;
  ty_status status;
} copying_meaning;

static void copy_records(void *context, const ty_block_header *b, const ty_meaning_record *records, uint64_t at) {
  (void)at;
  copying_meaning *k = context;
  ty_meaning_save *to = &k->x->w->meaning;
  if (!to->open) to->write.encoder = b->encoder;
  for (uint64_t i = 0; i < b->ops && k->status == TY_OK && b->encoder == to->write.encoder; i++) {
    uint64_t row;
    if (ty_meaning_is_valid(&records[i]) && renumber(k->x, records[i].row, &row))
      k->status = ty_meaning_rewrite_put(to, &records[i].encoding, row, k->err);
  }
}

/* Removes the vectors that were written: the file that they were read from was replaced. */
static void drop_meaning(ty_rewriting *w) {
  ty_file *file = &w->t->store->files.meaning;
  ty_error unused;
  (void)ty_meaning_rewrite_end(&w->meaning, &unused);
  if (file->name[0] != 0) ty_file_remove(w->t, file->name);
  *file = (ty_file){0};
}

/* If the file of meaning has another name, the vectors before were replaced: all of them are in that file. */
static ty_status copy_meaning(ty_tail *x, ty_error *err) {
  ty_collection *c = x->w->c;
  const ty_file *named = &c->store->files.meaning;
  if (strcmp(named->name, x->meaning.name) != 0) {
    drop_meaning(x->w);
    x->meaning = *named;
    x->meaning.bytes = sizeof(ty_slab_header);
  }
  if (named->name[0] == 0 || named->bytes == x->meaning.bytes || ty_meaning_view_of(c).at == NULL) return TY_OK;
  copying_meaning k = {x, err, TY_OK};
  if (!ty_meaning_file_read(c, &c->store->meaning, x->meaning.bytes, copy_records, &k)) return TY_OK;
  x->meaning = *named;
  return k.status;
}

/* ---- The id map ---- */

static ty_slice id_of(void *context, uint64_t i) {
  ty_tail *x = context;
  ty_rewriting *w = x->w;
  if (i < w->r.count) return ty_rewriting_id(w, i);
  return ty_row_id(&w->c->delta, x->delta_rows + (i - w->r.count), &w->unpack);
}

static ty_id_list ids_of(ty_tail *x) {
  const ty_collection *c = x->w->c;
  return (ty_id_list){c, x->w->r.count + (c->delta.count - x->delta_rows), id_of, x};
}

static void copy_ids(ty_tail *x) {
  const ty_id_list ids = ids_of(x);
  const uint64_t had = x->w->r.count + x->rows;
  ty_file map = x->w->t->store->files.id_map;
  if (x->ids_outgrown || ids.rows == had) return;
  x->ids_outgrown = !ty_id_map_append(x->w->t, &ids, had, &map);
  x->rows = ids.rows - x->w->r.count;
  x->w->t->store->files.id_map = map;
}

ty_status ty_tail_copy(ty_tail *x, ty_error *err) {
  ty_status status = copy_blocks(x, err);
  if (status == TY_OK) status = copy_meaning(x, err);
  if (status == TY_OK) copy_ids(x);
  return status;
}

ty_status ty_tail_sync(const ty_tail *x, ty_error *err) {
  ty_os *os = &x->w->c->env->os;
  const ty_append *meaning = &x->w->meaning.write.append;
  int result = x->open ? os->sync(os, x->append.fd) : 0;
  if (result < 0) return ty_fail_io(err, result, "sync", x->append.name);
  result = x->w->meaning.open ? os->sync(os, meaning->fd) : 0;
  return result < 0 ? ty_fail_io(err, result, "sync", meaning->name) : TY_OK;
}

ty_status ty_tail_end(ty_tail *x, ty_error *err) {
  ty_files *files = &x->w->t->store->files;
  ty_status status = TY_OK;
  bool lost;
  if (x->ids_outgrown) {
    const ty_id_list ids = ids_of(x);
    status = ty_id_map_write(x->w->t, &ids, &files->id_map, err);
  }
  if (status == TY_OK) status = ty_meaning_rewrite_end(&x->w->meaning, err);
  if (status != TY_OK || !x->open) return status;
  files->deltas = calloc(1, sizeof *files->deltas);
  if (files->deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a save");
  files->deltas[files->delta_count++] = x->file;
  x->open = false;
  ty_append_sync(&x->append);
  return ty_append_finish(&x->append, &lost, err);
}
