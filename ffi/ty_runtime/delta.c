/* The delta: operations in blocks, one block a save, appended behind the last committed byte.
 *
 * Whatever lies there already is the torn tail of a save that no manifest ever named, and is written over.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "work/pool.h"
#include "store.h"

bool ty_operation_size(const ty_collection *c, ty_operation *op) {
  op->bytes = sizeof *op;
  if (op->kind == TY_OPERATION_DELETE) return true;
  if (op->id_bytes < 1 || op->id_bytes > TY_ID_MAX || op->meta_bytes > TY_META_MAX || op->text_bytes > TY_TEXT_MAX ||
      op->keys_bytes > TY_KEY_MAX * TY_MAX_COLUMNS)
    return false;
  uint64_t bytes = op->bytes + ty_vector_bytes(c) + op->id_bytes + op->meta_bytes + op->text_bytes + op->terms_bytes +
                   (uint64_t)c->columns * sizeof(uint32_t) + op->keys_bytes;
  op->bytes = ty_align_up(bytes);
  return true;
}

ty_put_layout ty_put_place(const ty_collection *c, const ty_operation *op) {
  ty_put_layout p = {.vector = sizeof *op};
  p.id = p.vector + ty_vector_bytes(c);
  p.meta = p.id + op->id_bytes;
  p.text = p.meta + op->meta_bytes;
  p.terms = p.text + op->text_bytes;
  p.key_lengths = p.terms + op->terms_bytes;
  p.keys = p.key_lengths + (uint64_t)c->columns * sizeof(uint32_t);
  return p;
}

/* Of an operation that lies, or will lie, at `at`. */
static ty_payload payload_of(const ty_collection *c, const ty_operation *op, const uint8_t *at) {
  ty_put_layout p = ty_put_place(c, op);
  return (ty_payload){.vector = at + p.vector,
                      .id = {at + p.id, op->id_bytes},
                      .meta = {at + p.meta, op->meta_bytes},
                      .text = {at + p.text, op->text_bytes},
                      .terms = {at + p.terms, op->terms_bytes},
                      .has_meta = (op->flags & TY_HAS_META) != 0,
                      .has_text = (op->flags & TY_HAS_TEXT) != 0};
}

/* ---- Reading --------------------------------------------------------------------------------------------------------
 */
static ty_status damaged(ty_error *err, const ty_file *file, const char *what, uint64_t offset) {
  return ty_fail(err, TY_CORRUPT, "%s: %s at offset %llu", file->name, what, (unsigned long long)offset);
}

ty_status ty_delta_open(const ty_collection *c, ty_file *file, ty_error *err) {
  ty_status status = ty_file_map(c, file, ty_room_ahead(file->bytes), err);
  if (status == TY_OK) status = ty_slab_check(c, file, TY_SLAB_DELTA, err);
  if (status == TY_OK && ty_crc_mapped(c->env, 0, file->map, file->bytes) != file->crc)
    status = ty_wrong_sum(file, err);
  return status;
}

/* What a row is brought in through: memory for one. */
typedef struct replay {
  ty_coded coded;
  float *decoded;
} replay;

static ty_status replay_put(ty_collection *c, const ty_file *file, uint64_t offset, const replay *r, ty_error *err) {
  const uint8_t *at = file->map + offset;
  const ty_operation *op = (const ty_operation *)(const void *)at;
  const ame_kernel *k = c->env->kernel;
  if (op->row != c->next_row || (op->flags & ~(TY_HAS_META | TY_HAS_TEXT)) != 0 ||
      (!(op->flags & TY_HAS_META) && op->meta_bytes > 0) || (!(op->flags & TY_HAS_TEXT) && op->text_bytes > 0))
    return damaged(err, file, "a row is malformed", offset);
  ty_place victim = 0;
  uint64_t birth = op->row;
  if (op->replaced != TY_NO_ROW) {
    if (!ty_place_of_row(c, op->replaced, &victim))
      return damaged(err, file, "a row replaces one that does not exist", offset);
    ty_ref old = ty_ref_of(c, victim);
    if (old.segment->dead[old.at]) return damaged(err, file, "a row replaces one that is gone", offset);
    birth = old.segment->birth[old.at];
  }
  if (op->birth != birth) return damaged(err, file, "a row's birth is not its own", offset);
  ty_put_layout p = ty_put_place(c, op);
  uint32_t key_codes[TY_MAX_COLUMNS];
  uint64_t key = p.keys, keys_end = p.keys + op->keys_bytes;
  ty_status status = ty_delta_reserve(c, 1, true, err);
  if (status == TY_OK) status = ty_kill_reserve(c, 1, err);
  if (status != TY_OK) return status;
  for (uint32_t i = 0; i < c->columns; i++) {
    uint32_t length;
    memcpy(&length, at + p.key_lengths + i * sizeof length, sizeof length);
    if (length > keys_end - key) return damaged(err, file, "a row's filter values are malformed", offset);
    key_codes[i] = ty_dict_intern(&c->dicts[i], k, (ty_slice){at + key, length});
    if (key_codes[i] == TY_NO_CODE) return ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", file->name);
    key += length;
  }
  if (key != keys_end) return damaged(err, file, "a row's filter values are malformed", offset);
  ty_new_row row = {.row = op->row, .birth = birth, .codes = key_codes, .payload = payload_of(c, op, at)};
  const float *decoded = ty_vector_decode(c, row.payload.vector, r->decoded);
  if (!ty_vector_good(c, row.payload.vector, decoded)) return damaged(err, file, "a row's vector is malformed", offset);
  ty_vector_screen(c, row.payload.vector, decoded, 1, &r->coded, 0);
  if (op->replaced != TY_NO_ROW) ty_kill(c, victim);
  ty_delta_push(c, &row, &r->coded, 0);
  c->next_row++;
  ty_derived_added(c, (ty_place)(c->base.count + c->delta.count - 1));
  return TY_OK;
}

static ty_status replay_delete(ty_collection *c, const ty_file *file, uint64_t offset, ty_error *err) {
  const ty_operation *op = (const ty_operation *)(const void *)(file->map + offset);
  ty_place victim;
  if (!ty_place_of_row(c, op->row, &victim)) return damaged(err, file, "a row is deleted that does not exist", offset);
  ty_ref old = ty_ref_of(c, victim);
  if (old.segment->dead[old.at]) return damaged(err, file, "a row is deleted twice", offset);
  ty_status status = ty_kill_reserve(c, 1, err);
  if (status == TY_OK) ty_kill(c, victim);
  return status;
}

ty_status ty_delta_replay(ty_collection *c, const ty_file *file, uint64_t from, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  uint64_t at = from == 0 ? sizeof(ty_slab_header) : from, to = file->bytes;
  uint64_t first = c->delta.count;
  replay r = {.decoded = malloc((size_t)c->dim * sizeof(float))};
  if (r.decoded == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory reading %s", file->name);
  ty_status status = ty_coded_open(&r.coded, c, 1, err);
  while (at < to && status == TY_OK) {
    const ty_block_header *b = (const ty_block_header *)(const void *)(file->map + at);
    if (at % TY_ALIGN != 0 || to - at < sizeof *b || b->magic != TY_BLOCK_MAGIC ||
        b->crc != k->crc32c(0, b, sizeof *b - sizeof b->crc) || b->payload_bytes % TY_ALIGN != 0 ||
        b->payload_bytes > to - at - sizeof *b || b->first_row != c->next_row ||
        !ty_all_zero(b->reserved, sizeof b->reserved)) {
      status = damaged(err, file, "a block is malformed", at);
      break;
    }
    at += sizeof *b;
    uint64_t end = at + b->payload_bytes, ops = 0;
    for (; at < end && status == TY_OK; ops++) {
      ty_operation op; /* both sides are 64-byte aligned, so there is room for a header */
      memcpy(&op, file->map + at, sizeof op);
      uint64_t bytes = op.bytes;
      if ((op.kind != TY_OPERATION_PUT && op.kind != TY_OPERATION_DELETE) || !ty_operation_size(c, &op) ||
          op.bytes != bytes || bytes > end - at || op.reserved != 0) {
        status = damaged(err, file, "an operation is malformed", at);
        break;
      }
      status = op.kind == TY_OPERATION_PUT ? replay_put(c, file, at, &r, err) : replay_delete(c, file, at, err);
      at += bytes;
      ty_touched(c->resident, TY_OF_DELTA, bytes, TY_RESIDENT_MOST);
    }
    if (status == TY_OK && ops != b->ops)
      status = damaged(err, file, "a block has another number of operations than it says", at);
  }
  ty_coded_free(&r.coded);
  free(r.decoded);
  if (c->lexical_index != NULL && c->delta.count > first) ty_lexical_added(c->lexical_index, first);
  return status;
}

/* The operations are still in memory as well: the mapping need not be touched, which would make all of it resident. */
void ty_delta_settle(ty_collection *c, const ty_file *file, uint64_t from, uint64_t at) {
  const struct ty_store *s = c->store;
  const uint8_t *to = file->map + from;
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const uint8_t *data = s->chunks[i].memory.data;
    for (uint64_t offset = i == 0 ? sizeof(ty_block_header) : 0; offset < s->chunks[i].used;) {
      const ty_operation *op = (const ty_operation *)(const void *)(data + offset);
      TY_ASSERT(op->bytes >= sizeof *op && op->bytes <= s->chunks[i].used - offset && at <= c->delta.count);
      if (op->kind == TY_OPERATION_PUT) c->delta.payload[at++] = payload_of(c, op, to + offset);
      offset += op->bytes;
      ty_touched(c->resident, TY_OF_DELTA, sizeof(ty_payload), TY_RESIDENT_MOST);
      ty_touched(c->resident, TY_OF_OPERATIONS, op->bytes, TY_RESIDENT_MOST);
    }
    to += s->chunks[i].used;
  }
  TY_ASSERT(at == c->delta.count);
}

/* ---- Mapping --------------------------------------------------------------------------------------------------------
 */
static void shift(ty_slice *s, const uint8_t *from, const uint8_t *to) {
  if (s->data != NULL) s->data = to + (s->data - from);
}

ty_status ty_delta_remap(ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err) {
  if (file->map != NULL && bytes <= file->mapped) return TY_OK;
  ty_file fresh = *file;
  fresh.map = NULL;
  ty_status status = ty_file_map(c, &fresh, bytes - fresh.bytes + ty_room_ahead(bytes), err);
  if (status != TY_OK) return status;
  if (file->map != NULL && (fresh.device != file->device || fresh.inode != file->inode)) {
    ty_file_unmap(c, &fresh);
    return ty_fail(err, TY_CORRUPT, "%s is another file than the one that was opened", file->name);
  }
  uint64_t length = file->map == NULL ? 0 : file->mapped;
  for (uint64_t i = 0; i < c->delta.count && length > 0; i++) {
    ty_payload *p = &c->delta.payload[i];
    const uint8_t *vector = p->vector;
    if ((uintptr_t)vector - (uintptr_t)file->map >= length) continue;
    p->vector = fresh.map + (vector - file->map);
    shift(&p->id, file->map, fresh.map);
    shift(&p->meta, file->map, fresh.map);
    shift(&p->text, file->map, fresh.map);
    shift(&p->terms, file->map, fresh.map);
  }
  ty_file_unmap(c, file);
  *file = fresh;
  return TY_OK;
}

/* ---- Appending ------------------------------------------------------------------------------------------------------
 */
static int write_block(ty_collection *c, int fd, ty_file *file, uint64_t generation) {
  struct ty_store *s = c->store;
  const ame_kernel *k = c->env->kernel;
  ty_os *os = &c->env->os;
  TY_ASSERT(atomic_load(&s->writing) && s->chunk_count > 0 && s->ops > 0);
  ty_block_header *b = s->chunks[0].memory.data;
  *b = (ty_block_header){
      .magic = TY_BLOCK_MAGIC, .ops = s->ops, .generation = generation, .first_row = s->kept_next_row};
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    uint64_t skip = i == 0 ? sizeof *b : 0;
    b->payload_crc = k->crc32c(b->payload_crc, (uint8_t *)chunk->memory.data + skip, (size_t)(chunk->used - skip));
    b->payload_bytes += chunk->used - skip;
    ty_spill_let_go(c->env, &chunk->memory);
  }
  TY_ASSERT(b->payload_bytes > 0 && b->payload_bytes % TY_ALIGN == 0 && file->bytes % TY_ALIGN == 0);
  b->crc = k->crc32c(0, b, sizeof *b - sizeof b->crc);
  for (uint32_t i = 0; i < s->chunk_count; i++) {
    const ty_chunk *chunk = &s->chunks[i];
    for (uint64_t at = 0, n; at < chunk->used; at += n) {
      n = chunk->used - at < TY_WRITE_PIECE ? chunk->used - at : TY_WRITE_PIECE;
      const uint8_t *piece = (const uint8_t *)chunk->memory.data + at;
      int result = os->pwrite(os, fd, piece, (size_t)n, file->bytes);
      if (result < 0) return result;
      file->crc = k->crc32c(file->crc, piece, (size_t)n);
      file->bytes += n;
    }
    ty_spill_let_go(c->env, &chunk->memory);
  }
  return 0;
}

static int write_header(ty_collection *c, int fd, ty_file *file, uint64_t generation) {
  const ame_kernel *k = c->env->kernel;
  const ty_slab_header *base = (const ty_slab_header *)(const void *)c->store->files.base.map;
  ty_slab_header h = {.magic = TY_SLAB_MAGIC,
                      .version = TY_SLAB_VERSION,
                      .kind = TY_SLAB_DELTA,
                      .bytes = sizeof h,
                      .generation = generation,
                      .base_generation = base->generation};
  h.crc = k->crc32c(0, &h, sizeof h - sizeof h.crc);
  file->crc = k->crc32c(0, &h, sizeof h);
  file->bytes = sizeof h;
  return c->env->os.pwrite(&c->env->os, fd, &h, sizeof h, 0);
}

ty_status ty_delta_append(ty_collection *c, uint64_t generation, ty_files *files, ty_delta_write *w, ty_error *err) {
  struct ty_store *s = c->store;
  ty_os *os = &c->env->os;
  *w = (ty_delta_write){.c = c, .fresh = files->delta_count == 0 || s->abandon_delta};
  if (w->fresh && files->delta_count + 8 > TY_FILES_MAX)
    return ty_fail(err, TY_IO, "too many delta files: compact the collection");
  ty_file file = {0};
  if (w->fresh) {
    ty_slab_name(file.name, TY_SLAB_DELTA, generation);
    ty_status status = ty_file_create(c, file.name, &w->fd, err);
    if (status != TY_OK) return status;
  } else {
    file = files->deltas[files->delta_count - 1];
    char path[TY_PATH_MAX];
    ty_path(c->dir, file.name, path);
    w->fd = os->open(os, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (w->fd < 0) return ty_fail_io(err, w->fd, "open", file.name);
    /* What is written here is read back through the mapping. */
    ty_status status = ty_file_same(c, &file, w->fd, file.bytes, err);
    if (status != TY_OK) {
      os->close(os, w->fd);
      return status;
    }
  }
  memcpy(w->name, file.name, sizeof w->name);
  int result = w->fresh ? write_header(c, w->fd, &file, generation) : 0;
  w->from = file.bytes;
  if (result >= 0) result = write_block(c, w->fd, &file, generation);
  if (result < 0) {
    os->close(os, w->fd);
    if (w->fresh) ty_file_remove(c, file.name);
    return ty_fail_io(err, result, "write", file.name);
  }
  if (w->fresh) files->deltas[files->delta_count++] = file; /* the caller left room for one more */
  else files->deltas[files->delta_count - 1] = file;
  w->beside = ty_side_sync(c->env, w->fd);
  return TY_OK;
}

ty_status ty_delta_finish(ty_delta_write *w, ty_error *err) {
  ty_os *os = &w->c->env->os;
  const char *what = "sync";
  int result = w->beside ? ty_side_wait(w->c->env) : os->sync(os, w->fd);
  if (result < 0) w->c->store->abandon_delta = true; /* its pages may count as clean and yet be lost */
  int closed = os->close(os, w->fd);
  if (result >= 0 && closed < 0) result = closed, what = "close";
  if (result < 0) return ty_fail_io(err, result, what, w->name);
  return w->fresh ? ty_file_sync_dir(w->c, w->c->dir, err) : TY_OK;
}
