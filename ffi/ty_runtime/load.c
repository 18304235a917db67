/* From a manifest to memory, and from one manifest to the next.
 *
 * A new state is built beside the old one and exchanged for it whole, so a file that turns out to be missing or damaged leaves the old
 * state answering. Only the tail of a delta is applied in place, and undone where it does not fit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "store.h"

#define RESERVE_MIN ((uint64_t)4 << 20)
#define TRIES 100
#define PAUSE_NS (20 * 1000 * 1000)

ty_status ty_shell(ty_env *env, const char *dir, ty_collection **out, ty_error *err) {
  size_t length = strlen(dir);
  if (length == 0 || length > TY_PATH_MAX - 128) return ty_fail(err, TY_INVALID, "the directory's path is empty or too long");
  ty_collection *c = calloc(1, sizeof *c);
  struct ty_store *s = calloc(1, sizeof *s);
  char *path = malloc(length + 32), *copy = malloc(length + 1);
  if (c == NULL || s == NULL || path == NULL || copy == NULL) {
    free(c), free(s), free(path), free(copy);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a collection");
  }
  memcpy(copy, dir, length + 1);
  memcpy(path, dir, length);
  memcpy(path + length, "/" TY_MANIFEST_NAME, sizeof "/" TY_MANIFEST_NAME);
  pthread_rwlock_init(&c->lock, NULL);
  pthread_mutex_init(&s->change, NULL);
  pthread_mutex_init(&s->derive, NULL);
  c->env = env;
  c->dir = copy;
  c->store = s;
  c->base.is_base = true;
  s->manifest_path = path;
  s->lock_fd = -1;
  *out = c;
  return TY_OK;
}

static void files_unmap(const ty_collection *c, ty_files *files) {
  ty_file_unmap(c, &files->base);
  ty_file_unmap(c, &files->ivf);
  ty_file_unmap(c, &files->lexical);
  for (uint32_t i = 0; i < files->delta_count; i++) ty_file_unmap(c, &files->deltas[i]);
  free(files->deltas);
  *files = (ty_files){0};
}

void ty_shell_free(ty_collection *c) {
  if (c == NULL) return;
  struct ty_store *s = c->store;
  ty_lexical_free(c->lexical_index);
  ty_ivf_free(c->ivf);
  ty_delta_free(c);
  free(c->base.keys);
  free(c->base.dead);
  free(c->spans);
  for (uint32_t i = 0; i < TY_MAX_COLUMNS; i++) ty_dict_free(&c->dicts[i]);
  ty_buffer_free(&c->schema);
  ty_derived_drop(c);
  ty_chunks_free(c);
  free(s->chunks);
  ty_buffer_free(&s->kept_schema);
  free(s->killed);
  files_unmap(c, &s->files);
  pthread_mutex_destroy(&s->change);
  pthread_mutex_destroy(&s->derive);
  pthread_rwlock_destroy(&c->lock);
  free(s->manifest_path);
  free(s);
  free(c->dir);
  free(c);
}

ty_status ty_adopt_schema(ty_collection *c, const ty_schema *schema, ty_error *err) {
  ty_buffer text = {0};
  ty_schema_write(schema, &text);
  if (text.failed) {
    ty_buffer_free(&text);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a schema");
  }
  ty_buffer_free(&c->schema);
  c->schema = text;
  c->dim = schema->dim;
  c->columns = schema->columns;
  c->lexical = schema->lexical;
  c->default_target_recall = schema->default_target_recall;
  return TY_OK;
}

static ty_status open_index(ty_collection *t, ty_file *file, uint32_t kind, bool check, ty_slice *out, ty_error *err) {
  ty_slab slab;
  ty_status status = ty_file_map(t, file, 0, err);
  if (status == TY_OK) status = ty_slab_open(t, file, kind, &slab, err);
  if (status != TY_OK) return status;
  const ty_slab_header *base = (const ty_slab_header *)(const void *)t->store->files.base.map;
  if (slab.header->base_generation != base->generation) return ty_fail(err, TY_CORRUPT, "%s belongs to another base", file->name);
  return ty_slab_get(t, &slab, TY_SECTION_INDEX, UINT64_MAX, check, out, err);
}

ty_status ty_open_indexes(ty_collection *t, const ty_collection *owner, ty_error *err) {
  ty_files *f = &t->store->files;
  ty_slice bytes;
  ty_status status = TY_OK;
  if (f->ivf.name[0] != 0) {
    status = open_index(t, &f->ivf, TY_SLAB_IVF, true, &bytes, err);
    if (status == TY_OK) status = ty_ivf_open(owner, &t->base, t->spans, t->span_count, bytes, &t->ivf, err);
    if (status != TY_OK) return status;
  }
  if (f->lexical.name[0] != 0) {
    /* The lexical index checks what it reads where it reads it. */
    status = open_index(t, &f->lexical, TY_SLAB_LEXICAL, false, &bytes, err);
    if (status == TY_OK) status = ty_lexical_open(owner, &t->base, bytes, &t->lexical_index, err);
  }
  return status;
}

static ty_status copy_files(ty_files *to, const ty_files *from, ty_error *err) {
  *to = *from;
  to->deltas = NULL;
  if (from->delta_count == 0) return TY_OK;
  to->deltas = malloc(from->delta_count * sizeof *to->deltas);
  if (to->deltas == NULL) {
    *to = (ty_files){0};
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", TY_MANIFEST_NAME);
  }
  memcpy(to->deltas, from->deltas, from->delta_count * sizeof *to->deltas);
  return TY_OK;
}

static ty_status wrong_sum(ty_error *err, const ty_file *file) {
  return ty_fail(err, TY_CORRUPT, "%s: its %llu committed bytes do not match their checksum", file->name, (unsigned long long)file->bytes);
}

ty_status ty_load(ty_collection *t, const ty_collection *owner, const ty_saved *m, ty_error *err) {
  struct ty_store *s = t->store;
  ty_status status = ty_adopt_schema(t, &m->schema, err);
  if (status == TY_OK) status = copy_files(&s->files, &m->files, err);
  if (status == TY_OK) status = ty_file_map(t, &s->files.base, 0, err);
  if (status == TY_OK) status = ty_base_open(t, m->generation, err);
  if (status == TY_OK) status = ty_open_indexes(t, owner, err);
  for (uint32_t i = 0; i < s->files.delta_count && status == TY_OK; i++) {
    ty_file *file = &s->files.deltas[i];
    status = ty_file_map(t, file, file->bytes > RESERVE_MIN ? file->bytes : RESERVE_MIN, err);
    if (status == TY_OK && t->env->kernel->crc32c(0, file->map, (size_t)file->bytes) != file->crc) status = wrong_sum(err, file);
    if (status == TY_OK) status = ty_delta_check_header(t, file, err);
    if (status == TY_OK) status = ty_delta_replay(t, file, 0, err);
  }
  if (status != TY_OK) return status;
  if (ty_total_rows(t) != m->total_rows || t->base.live + t->delta.live != m->live_rows)
    return ty_fail(err, TY_CORRUPT, "%s: its counts of rows are not those of its files", TY_MANIFEST_NAME);
  t->generation = m->generation;
  s->manifest_bytes = m->text.bytes;
  ty_note_lexical(t);
  ty_mark(t);
  return TY_OK;
}

#define SWAP(a, b)                     \
  do {                                 \
    unsigned char swap_[sizeof(a)];    \
    memcpy(swap_, &(a), sizeof(a));    \
    memcpy(&(a), &(b), sizeof(a));     \
    memcpy(&(b), swap_, sizeof(a));    \
  } while (0)

void ty_swap_state(ty_collection *c, ty_collection *t) {
  SWAP(c->schema, t->schema);
  SWAP(c->default_target_recall, t->default_target_recall);
  SWAP(c->generation, t->generation);
  SWAP(c->next_row, t->next_row);
  SWAP(c->base, t->base);
  SWAP(c->delta, t->delta);
  SWAP(c->spans, t->spans);
  SWAP(c->span_count, t->span_count);
  SWAP(c->dicts, t->dicts);
  SWAP(c->ivf, t->ivf);
  SWAP(c->lexical_index, t->lexical_index);
  SWAP(c->store->files, t->store->files);
  SWAP(c->store->first_row, t->store->first_row);
  SWAP(c->store->manifest_bytes, t->store->manifest_bytes);
  SWAP(c->store->delta_capacity, t->store->delta_capacity);
  ty_derived_drop(c);
  ty_mark(c);
  ty_note_lexical(c);
}

/* ---- Following ------------------------------------------------------------------------------------------------------ */
static bool same_file(const ty_file *a, const ty_file *b) { return strcmp(a->name, b->name) == 0 && a->bytes == b->bytes && a->crc == b->crc; }

/* Whether the manifest only adds to what is loaded: the same base and indexes, deltas that are equal but for the last, which may be longer,
 * and fresh ones behind it. */
static bool extends(const ty_collection *c, const ty_saved *m) {
  const ty_files *have = &c->store->files, *want = &m->files;
  if (c->generation == 0 || m->generation < c->generation || !same_file(&have->base, &want->base) || !same_file(&have->ivf, &want->ivf) ||
      !same_file(&have->lexical, &want->lexical) || want->delta_count < have->delta_count)
    return false;
  for (uint32_t i = 0; i < have->delta_count; i++) {
    const ty_file *a = &have->deltas[i], *b = &want->deltas[i];
    if (i + 1 < have->delta_count ? !same_file(a, b) : strcmp(a->name, b->name) != 0 || b->bytes < a->bytes) return false;
  }
  return true;
}

/* Applies what the manifest adds. On failure everything is as it was. */
static ty_status follow_tail(ty_collection *c, const ty_saved *m, ty_error *err) {
  ty_files *have = &c->store->files;
  const ty_files *want = &m->files;
  ty_status status = TY_OK;
  uint32_t known = have->delta_count;
  if (want->delta_count > known) {
    ty_file *deltas = realloc(have->deltas, want->delta_count * sizeof *deltas);
    if (deltas == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", TY_MANIFEST_NAME);
    have->deltas = deltas;
  }
  ty_file kept = known > 0 ? have->deltas[known - 1] : (ty_file){0};
  ty_mark(c);
  for (uint32_t i = known > 0 ? known - 1 : 0; i < want->delta_count && status == TY_OK; i++) {
    uint64_t from = 0;
    ty_file *file = &have->deltas[i];
    if (i >= known) {
      *file = want->deltas[i];
      have->delta_count = i + 1;
      status = ty_file_map(c, file, file->bytes > RESERVE_MIN ? file->bytes : RESERVE_MIN, err);
      if (status == TY_OK && c->env->kernel->crc32c(0, file->map, (size_t)file->bytes) != file->crc) status = wrong_sum(err, file);
      if (status == TY_OK) status = ty_delta_check_header(c, file, err);
    } else {
      if (want->deltas[i].bytes == file->bytes) {
        if (want->deltas[i].crc != file->crc) status = wrong_sum(err, file);
        continue;
      }
      from = file->bytes;
      ty_file longer = *file; /* its size on disk is checked by mapping it, so map it at its new length */
      longer.bytes = want->deltas[i].bytes;
      status = ty_delta_remap(c, file, longer.bytes, err);
      if (status != TY_OK) break;
      uint64_t size = 0;
      status = ty_file_size(c, file->name, &size, err);
      if (status == TY_OK && size < longer.bytes) status = wrong_sum(err, &want->deltas[i]);
      if (status != TY_OK) break;
      kept = *file;
      uint32_t crc = c->env->kernel->crc32c(file->crc, file->map + from, (size_t)(longer.bytes - from));
      if (crc != want->deltas[i].crc) status = wrong_sum(err, &want->deltas[i]);
      file->bytes = longer.bytes;
      file->crc = want->deltas[i].crc;
    }
    if (status == TY_OK) status = ty_delta_replay(c, file, from, err);
  }
  if (status == TY_OK && (ty_total_rows(c) != m->total_rows || c->base.live + c->delta.live != m->live_rows))
    status = ty_fail(err, TY_CORRUPT, "%s: its counts of rows are not those of its files", TY_MANIFEST_NAME);
  if (status == TY_OK) status = ty_adopt_schema(c, &m->schema, err);
  if (status != TY_OK) {
    ty_undo_locked(c);
    for (uint32_t i = known; i < have->delta_count; i++) ty_file_unmap(c, &have->deltas[i]);
    have->delta_count = known;
    if (known > 0) have->deltas[known - 1].bytes = kept.bytes, have->deltas[known - 1].crc = kept.crc;
    return status;
  }
  have->id_map = want->id_map;
  c->generation = m->generation;
  c->store->manifest_bytes = m->text.bytes;
  ty_mark(c);
  return TY_OK;
}

static ty_status follow_once(ty_collection *c, ty_saved *m, ty_error *err) {
  if (c->schema.bytes > 0) {
    ty_schema mine;
    ty_status status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &mine, err);
    if (status == TY_OK) status = ty_schema_agree(&mine, &m->schema, err);
    if (status != TY_OK) return status;
  }
  if (extends(c, m) && follow_tail(c, m, err) == TY_OK) return TY_OK;
  ty_collection *t;
  ty_status status = ty_shell(c->env, c->dir, &t, err);
  if (status != TY_OK) return status;
  if (c->dim == 0) status = ty_adopt_schema(c, &m->schema, err);
  if (status == TY_OK) status = ty_load(t, c, m, err);
  if (status == TY_OK) {
    ty_swap_state(c, t);
    c->store->id_map_checked = false;
    c->store->abandon_delta = false;
    t->columns = c->columns; /* what t holds now is freed by it */
  }
  ty_shell_free(t);
  return status;
}

ty_status ty_follow(ty_collection *c, bool missing_ok, ty_error *err) {
  ty_os *os = &c->env->os;
  ty_status status = TY_OK;
  for (int i = 0; i < TRIES; i++) {
    ty_stamp stamp, again;
    int result = os->stamp(os, c->store->manifest_path, &stamp);
    if (result == -ENOENT || result == -ENOTDIR) {
      if (missing_ok && c->generation == 0) return TY_OK;
      return ty_fail(err, TY_NOT_FOUND, "there is no %s", TY_MANIFEST_NAME);
    }
    if (result < 0) return ty_fail_io(err, result, "look at", TY_MANIFEST_NAME);
    if (memcmp(&stamp, &c->store->stamp, sizeof stamp) == 0) return TY_OK;
    ty_buffer text = {0};
    ty_saved m = {0};
    status = ty_file_read(c, TY_MANIFEST_NAME, TY_MANIFEST_MAX, &text, err);
    if (status == TY_OK) status = ty_saved_read(&text, &m, err);
    if (status == TY_OK) status = follow_once(c, &m, err);
    ty_buffer_free(&text);
    ty_saved_free(&m);
    if (status == TY_OK) {
      c->store->stamp = stamp; /* of before the read: a save in between is seen at the next look */
      return TY_OK;
    }
    if (status != TY_IO && status != TY_CORRUPT && status != TY_NOT_FOUND) return status;
    /* A writer may have moved on under our hands. If it did not, the failure is real. */
    if (os->stamp(os, c->store->manifest_path, &again) < 0 || memcmp(&stamp, &again, sizeof stamp) == 0) return status;
    if (i > 2) nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
  }
  return status;
}
