/* From a manifest to memory: the object of a collection, what a manifest names loaded into it, and the exchange of one
 * state for another. */
#include <stdlib.h>
#include <string.h>
#include "store.h"
#include "rows/weights.h"

/* glibc lets readers pass a waiting writer unless told otherwise: under steady questions a save would wait for ever.
 * Nobody takes the lock twice, so readers can safely wait their turn. */
static void lock_init(pthread_rwlock_t *lock) {
#if defined(__GLIBC__)
  pthread_rwlockattr_t attributes;
  if (pthread_rwlockattr_init(&attributes) == 0) {
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return;
  }
#endif
  pthread_rwlock_init(lock, NULL);
}

static void let_go_file(const ty_collection *c, const ty_file *file) {
  if (file->map != NULL) c->env->os.let_go(&c->env->os, file->map, (size_t)file->mapped);
}

/* What ty_touched calls. */
static void let_go(void *owner, unsigned kind) {
  const ty_collection *c = owner;
  struct ty_store *s = c->store;
  switch (kind) {
  case TY_OF_BASE: let_go_file(c, &s->files.base); break;
  case TY_OF_DELTA:
    for (int i = 0; i < TY_DELTA_COLUMNS; i++) ty_spill_let_go(c->env, &s->delta.columns[i]);
    for (uint32_t i = 0; i < s->files.delta_count; i++) let_go_file(c, &s->files.deltas[i]);
    break;
  case TY_OF_OPERATIONS:
    for (uint32_t i = 0; i < s->chunk_count; i++) ty_spill_let_go(c->env, &s->chunks[i].memory);
    break;
  default:
    ty_spill_let_go(c->env, &s->id_table);
    ty_spill_let_go(c->env, &s->order);
    ty_spill_let_go(c->env, &s->base_at);
  }
}

ty_status ty_shell(ty_env *env, const char *dir, ty_collection **out, ty_error *err) {
  size_t length = strlen(dir);
  if (length == 0 || length > TY_PATH_MAX - 128)
    return ty_fail(err, TY_INVALID, "the directory's path is empty or too long");
  ty_collection *c = calloc(1, sizeof *c);
  struct ty_store *s = calloc(1, sizeof *s);
  ty_weights *weights = ty_weights_new();
  char *path = malloc(length + 32), *copy = malloc(length + 1);
  if (c == NULL || s == NULL || weights == NULL || path == NULL || copy == NULL) {
    free(c), free(s), ty_weights_free(weights), free(path), free(copy);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a collection");
  }
  memcpy(copy, dir, length + 1);
  memcpy(path, dir, length);
  memcpy(path + length, "/" TY_MANIFEST_NAME, sizeof "/" TY_MANIFEST_NAME);
  lock_init(&c->lock);
  pthread_mutex_init(&s->change, NULL);
  pthread_mutex_init(&s->derive, NULL);
  pthread_mutex_init(&c->submitted_lock, NULL);
  pthread_cond_init(&c->submitted_none, NULL);
  c->env = env;
  c->dir = copy;
  c->store = s;
  s->resident = (ty_resident){.let_go = let_go, .owner = c};
  c->resident = &s->resident;
  c->weights = weights;
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
  ty_weights_free(c->weights);
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
  pthread_mutex_destroy(&c->submitted_lock);
  pthread_cond_destroy(&c->submitted_none);
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
  c->dtype = schema->dtype;
  c->metric = schema->metric;
  c->columns = schema->columns;
  c->lexical = schema->lexical;
  c->default_target_recall = schema->default_target_recall;
  return TY_OK;
}

static ty_status open_index(ty_collection *t, ty_file *file, uint32_t kind, bool check, ty_slice *out, ty_error *err) {
  ty_slab slab;
  ty_status status = ty_file_map(t, file, 0, err);
  if (status == TY_OK) status = ty_slab_open(t, file, kind, &slab, err);
  return status == TY_OK ? ty_slab_get(t, &slab, TY_SECTION_INDEX, UINT64_MAX, check, out, err) : status;
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
    /* The lexical index checks what it reads where it reads it. One that is damaged is no reason to refuse the rows. */
    ty_error why;
    status = open_index(t, &f->lexical, TY_SLAB_LEXICAL, false, &bytes, &why);
    if (status == TY_OK) status = ty_lexical_open(owner, &t->base, bytes, &t->lexical_index, err);
    else if (status == TY_CORRUPT) status = ty_lexical_open_none(&why, &t->lexical_index, err);
    else if (err != NULL) *err = why;
  }
  return status;
}

ty_status ty_files_copy(ty_files *to, const ty_files *from, ty_error *err) {
  *to = *from;
  to->base.map = to->ivf.map = to->lexical.map = NULL;
  to->deltas = NULL;
  if (from->delta_count == 0) return TY_OK;
  to->deltas = malloc(from->delta_count * sizeof *to->deltas);
  if (to->deltas == NULL) {
    *to = (ty_files){0};
    return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", TY_MANIFEST_NAME);
  }
  memcpy(to->deltas, from->deltas, from->delta_count * sizeof *to->deltas);
  for (uint32_t i = 0; i < to->delta_count; i++) to->deltas[i].map = NULL;
  return TY_OK;
}

ty_status ty_wrong_sum(const ty_file *file, ty_error *err) {
  return ty_fail(err, TY_CORRUPT, "%s: its %llu committed bytes do not match their checksum", file->name,
                 (unsigned long long)file->bytes);
}

/* Room for the rows of a delta at once, which growing would copy again and again: as many as the manifest says, if the
 * file can hold them. */
static ty_status reserve_for(ty_collection *t, const ty_saved *m, const ty_file *file, ty_error *err) {
  uint64_t most = file->bytes / (sizeof(ty_operation) + ty_vector_bytes(t)), said = m->total_rows - ty_total_rows(t);
  if (m->total_rows < ty_total_rows(t)) return TY_OK; /* it is damaged, which the end of the reading tells */
  return ty_delta_reserve(t, said < most ? said : most, true, err);
}

ty_status ty_load(ty_collection *t, const ty_collection *owner, const ty_saved *m, ty_error *err) {
  struct ty_store *s = t->store;
  ty_status status = ty_adopt_schema(t, &m->schema, err);
  if (status == TY_OK) status = ty_files_copy(&s->files, &m->files, err);
  if (status == TY_OK) status = ty_file_map(t, &s->files.base, 0, err);
  if (status == TY_OK) status = ty_base_open(t, err);
  if (status == TY_OK) status = ty_open_indexes(t, owner, err);
  for (uint32_t i = 0; i < s->files.delta_count && status == TY_OK; i++) {
    ty_file *file = &s->files.deltas[i];
    status = ty_delta_open(t, file, err);
    if (status == TY_OK) status = reserve_for(t, m, file, err);
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

#define SWAP(a, b)                                                                                                     \
  do {                                                                                                                 \
    unsigned char swap_[sizeof(a)];                                                                                    \
    memcpy(swap_, &(a), sizeof(a));                                                                                    \
    memcpy(&(a), &(b), sizeof(a));                                                                                     \
    memcpy(&(b), swap_, sizeof(a));                                                                                    \
  } while (0)

void ty_swap_state(ty_collection *c, ty_collection *t) {
  SWAP(c->schema, t->schema);
  SWAP(c->metric, t->metric);
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
  SWAP(c->store->delta, t->store->delta);
  ty_derived_drop(c);
  ty_mark(c);
  ty_note_lexical(c);
  ty_weights_note(c->weights, TY_WEIGHTS_ALL);
}
