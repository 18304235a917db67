/* The object of a collection: created, freed, and its state swapped with another's. */
#include <stdlib.h>
#include <string.h>
#include "disk/operations.h"
#include "ivf/ivf.h"
#include "lexical/lexical.h"
#include "meaning/meaning.h"
#include "rows/weights.h"
#include "state/decision.h"
#include "state/history.h"
#include "state/ids.h"
#include "state/load.h"

/* By default glibc lets readers pass a waiting writer: under steady queries a save would wait for ever. No thread takes
 * the lock twice, so readers can wait for the writer. */
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

static void evict_file(const ty_collection *c, const ty_file *file) {
  if (file->map != NULL) c->env->os.evict(&c->env->os, file->map, (size_t)file->mapped);
}

/* Called by ty_touched. */
static void evict(void *owner, unsigned kind) {
  const ty_collection *c = owner;
  const struct ty_store *s = c->store;
  const struct ty_state *state = c->state;
  switch (kind) {
  case TY_OF_BASE: evict_file(c, &s->files.base); break;
  case TY_OF_DELTA:
    for (int i = 0; i < TY_DELTA_COLUMNS; i++) ty_spill_evict(c->env, &state->delta.columns[i]);
    ty_delta_sparse_evict(c->env, &state->delta.sparse);
    for (uint32_t i = 0; i < s->files.delta_count; i++) evict_file(c, &s->files.deltas[i]);
    break;
  case TY_OF_OPERATIONS:
    for (uint32_t i = 0; i < s->chunk_count; i++) ty_spill_evict(c->env, &s->chunks[i].memory);
    break;
  default:
    ty_spill_evict(c->env, &state->id_table);
    ty_spill_evict(c->env, &state->order);
    ty_spill_evict(c->env, &state->base_at);
    ty_spill_evict(c->env, &state->text_sums.memory);
  }
}

ty_status ty_shell(ty_env *env, const char *dir, ty_collection **out, ty_error *err) {
  size_t length = strlen(dir);
  if (length == 0 || length > TY_PATH_MAX - 128)
    return ty_fail(err, TY_INVALID, "the directory's path is empty or too long");
  ty_collection *c = calloc(1, sizeof *c);
  struct ty_store *s = calloc(1, sizeof *s);
  struct ty_state *state = calloc(1, sizeof *state);
  ty_weights *weights = ty_weights_new();
  ty_damage_list *damages = ty_damage_list_new();
  ty_meaning *meaning = ty_meaning_new();
  char *path = malloc(length + 32), *copy = malloc(length + 1);
  if (c == NULL || s == NULL || state == NULL || weights == NULL || damages == NULL || meaning == NULL ||
      path == NULL || copy == NULL) {
    free(c), free(s), free(state), ty_weights_free(weights), ty_damage_list_free(damages),
        ty_meaning_free(env, meaning), free(path), free(copy);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for a collection");
  }
  memcpy(copy, dir, length + 1);
  memcpy(path, dir, length);
  memcpy(path + length, "/" TY_MANIFEST_NAME, sizeof "/" TY_MANIFEST_NAME);
  lock_init(&c->lock);
  pthread_mutex_init(&state->change, NULL);
  pthread_mutex_init(&state->derive, NULL);
  pthread_mutex_init(&state->past_lock, NULL);
  pthread_mutex_init(&c->submitted_lock, NULL);
  pthread_cond_init(&c->submitted_none, NULL);
  c->env = env;
  c->dir = copy;
  c->store = s;
  c->state = state;
  state->resident = (ty_resident){.evict = evict, .owner = c};
  c->resident = &state->resident;
  c->weights = weights;
  c->damages = damages;
  c->meaning = meaning;
  c->base.is_base = true;
  s->manifest_path = path;
  s->lock_fd = -1;
  s->version = TY_SLAB_VERSION;
  *out = c;
  return TY_OK;
}

void ty_shell_free(ty_collection *c) {
  if (c == NULL) return;
  struct ty_store *s = c->store;
  struct ty_state *state = c->state;
  ty_lexical_free(c->env, c->lexical_index);
  ty_ivf_free(c->ivf);
  ty_weights_free(c->weights);
  ty_damage_list_free(c->damages);
  ty_meaning_free(c->env, c->meaning);
  ty_buffer_free(&s->staged);
  ty_file_unmap(c, &s->meaning);
  ty_delta_free(c);
  free(c->base.keys);
  free(c->base.by_value);
  free(c->base.dead);
  free(c->spans);
  for (uint32_t i = 0; i < TY_MAX_COLUMNS; i++) ty_dict_free(&c->dicts[i]);
  ty_buffer_free(&c->schema);
  ty_derived_drop(c);
  ty_chunks_free(c);
  free(s->chunks);
  ty_buffer_free(&state->kept_schema);
  free(state->killed);
  ty_buffer_free(&s->origin);
  ty_buffer_free(&s->last_origin);
  ty_past_forget(c);
  ty_decision_free(c->decision);
  ty_files_unmap(c, &s->files);
  pthread_mutex_destroy(&state->change);
  pthread_mutex_destroy(&state->derive);
  pthread_mutex_destroy(&state->past_lock);
  pthread_mutex_destroy(&c->submitted_lock);
  pthread_cond_destroy(&c->submitted_none);
  pthread_rwlock_destroy(&c->lock);
  free(s->manifest_path);
  free(s);
  free(state);
  free(c->dir);
  free(c);
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
  SWAP(c->words, t->words);
  SWAP(c->default_target_recall, t->default_target_recall);
  SWAP(c->history, t->history);
  SWAP(c->generation, t->generation);
  SWAP(c->next_row, t->next_row);
  SWAP(c->base, t->base);
  SWAP(c->delta, t->delta);
  SWAP(c->spans, t->spans);
  SWAP(c->span_count, t->span_count);
  SWAP(c->dicts, t->dicts);
  SWAP(c->ivf, t->ivf);
  SWAP(c->ivf_lost, t->ivf_lost);
  SWAP(c->lexical_index, t->lexical_index);
  SWAP(c->damages, t->damages);
  SWAP(c->meaning, t->meaning);
  SWAP(c->store->meaning, t->store->meaning);
  SWAP(c->store->version, t->store->version);
  SWAP(c->store->files, t->store->files);
  SWAP(c->store->first_row, t->store->first_row);
  SWAP(c->store->blocks, t->store->blocks);
  SWAP(c->store->manifest_bytes, t->store->manifest_bytes);
  SWAP(c->state->delta, t->state->delta);
  SWAP(c->store->history_compared, t->store->history_compared);
  SWAP(c->store->last_origin, t->store->last_origin);
  ty_derived_drop(c);
  ty_past_forget(c);
  ty_mark(c);
  ty_note_lexical(c);
  ty_weights_note(c->weights, TY_WEIGHTS_ALL);
}
