/* The lexical index in memory: updating the statistics to those of the live rows.
 *
 * Notes (added, died, reset) only mark the index stale; the next query compares its marks of dead rows with the
 * segments'. So the number and order of notes do not matter, and a change allocates nothing. The comparison is a memcmp
 * of one byte a row: 100,000 rows in 3 microseconds. */
#include "lexical/statistics.h"

#include <stdlib.h>

void ty_lexical_free(ty_env *env, ty_lexical *x) {
  if (x == NULL) return;
  ty_lexical_free(env, atomic_load(&x->rebuilt));
  ty_spill_free(env, &x->memory);
  for (uint32_t i = 0; i < x->changed.count && i < x->changed_capacity; i++) free(x->change[i].list.bytes);
  ty_tally_free(&x->tally);
  pthread_mutex_destroy(&x->lock);
  ty_bag_free(&x->changed);
  free(x->change);
  free(x->base_dead);
  free(x->delta_dead);
  free(x->delta_lengths);
  free(x->parts);
  free(x);
}

void ty_lexical_added(ty_lexical *x, uint64_t first_delta_at) {
  for (; x != NULL; x = atomic_load(&x->rebuilt)) {
    x->stale = true;
    if (first_delta_at < x->delta_count) x->restart = true; /* counted rows were replaced */
  }
}

void ty_lexical_died(ty_lexical *x) {
  for (; x != NULL; x = atomic_load(&x->rebuilt)) x->stale = true;
}

void ty_lexical_reset(ty_lexical *x) {
  for (; x != NULL; x = atomic_load(&x->rebuilt)) x->stale = x->restart = true;
}

/* ---- Updating ---- */

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for the lexical index of the newest rows");
}

/* The number of a term among the changed ones, where it is added. */
static uint32_t changed_term(ty_lexical *x, uint32_t hash) {
  uint32_t known = x->changed.count, number = ty_bag_add(&x->changed, hash);
  if (number == TY_NO_TERM) return number;
  if (x->changed_capacity < x->changed.capacity) {
    size_t n = x->changed.capacity;
    ty_change *grown = realloc(x->change, n * sizeof *grown);
    if (grown == NULL) {
      /* The table still has the new term, but after a failure the next query starts afresh. */
      x->changed.count = known;
      return TY_NO_TERM;
    }
    x->change = grown;
    x->changed_capacity = (uint32_t)n;
  }
  if (number == known) x->change[number] = (ty_change){0};
  return number;
}

static bool list_add(ty_list *l, uint32_t doc, uint32_t tf) {
  TY_ASSERT(doc >= l->next && l->used <= l->capacity);
  if (l->capacity - l->used < TY_STREAM_MOST) {
    uint32_t capacity = l->capacity == 0 ? 16 : l->capacity + l->capacity / 2;
    uint8_t *grown = capacity < l->capacity ? NULL : realloc(l->bytes, capacity);
    if (grown == NULL) return false;
    l->bytes = grown;
    l->capacity = capacity;
  }
  l->used += (uint32_t)ty_stream_put(l->bytes + l->used, doc - l->next, tf);
  l->next = doc + 1;
  return true;
}

/* Adds (sign 1) or subtracts (-1) a row among all rows and those of its partition. */
static void account(ty_lexical *x, const ty_segment *s, uint64_t at, uint64_t length, int sign) {
  uint64_t *docs = s->is_base ? &x->base_docs : &x->delta_docs;
  TY_ASSERT(sign > 0 || *docs > 0);
  *docs += (uint64_t)(int64_t)sign;
  ty_lengths_count(s->is_base ? &x->base_totals : &x->delta_totals, s, at, length, sign);
  ty_parts_count(x, s, at, length, sign);
}

/* The same of a row of the delta, with its terms; with `post` adds its postings too. */
static ty_status account_delta(ty_lexical *x, const ame_kernel *k, const ty_segment *s, uint64_t at, int sign,
                               bool post, ty_error *err) {
  ty_tally *t = &x->tally;
  ty_status status = ty_tally_row(t, k, (ty_ref){s, at}, err);
  if (status != TY_OK) return status;
  for (uint64_t i = 0; i < t->count; i++) {
    uint32_t number = changed_term(x, (uint32_t)(t->items[i] >> 32));
    if (number == TY_NO_TERM) return no_memory(err);
    ty_change *change = &x->change[number];
    change->added += sign;
    if (post && !list_add(&change->list, (uint32_t)at, (uint32_t)t->items[i])) return no_memory(err);
  }
  account(x, s, at, t->tokens, sign);
  if (post) x->delta_lengths[at] = (uint32_t)t->tokens;
  return TY_OK;
}

static void forget_delta(ty_lexical *x) {
  for (uint32_t i = 0; i < x->changed.count; i++) {
    free(x->change[i].list.bytes);
    x->change[i].list = (ty_list){0};
    x->change[i].added = 0;
  }
  x->delta_count = x->delta_docs = 0;
  x->delta_totals = (ty_lengths){0};
}

/* Goes back to the stored index. The base's counts are kept unless broken. */
static bool start_afresh(ty_lexical *x, const ty_segment *base) {
  forget_delta(x);
  ty_parts_forget(x);
  if (x->base_dead != NULL && !x->broken) return true;
  ty_bag_free(&x->changed);
  free(x->change);
  x->change = NULL;
  x->changed_capacity = 0;
  x->base_docs = x->image.docs;
  x->base_totals = (ty_lengths){0};
  for (uint64_t at = 0; at < x->image.docs; at++) ty_lengths_count(&x->base_totals, base, at, x->image.lengths[at], 1);
  if (x->base_dead == NULL) x->base_dead = malloc((size_t)x->image.docs + 1);
  if (x->base_dead == NULL) return false;
  memset(x->base_dead, 0, (size_t)x->image.docs);
  x->broken = false;
  return true;
}

/* What dead rows hold is found in the lists when it is asked for (statistics.h): a row's terms are not stored beside
 * the index, and counting them here took 10 us a row where they were. */
static void follow_base(ty_lexical *x, const ty_segment *base) {
  for (uint64_t at = 0; at < x->image.docs; at += 4096) {
    uint64_t n = x->image.docs - at < 4096 ? x->image.docs - at : 4096;
    if (memcmp(x->base_dead + at, base->dead + at, (size_t)n) == 0) continue;
    for (uint64_t i = at; i < at + n; i++) {
      if ((x->base_dead[i] != 0) == (base->dead[i] != 0)) continue;
      account(x, base, i, x->image.lengths[i], base->dead[i] != 0 ? -1 : 1);
      x->base_dead[i] = base->dead[i] != 0;
    }
  }
}

static ty_status follow_delta(ty_lexical *x, const ame_kernel *k, const ty_segment *delta, ty_error *err) {
  bool same = x->delta_count == 0 || memcmp(x->delta_dead, delta->dead, (size_t)x->delta_count) == 0;
  for (uint64_t i = 0; i < x->delta_count && !same; i++) { /* a dead row keeps its postings: ranking skips it */
    if ((x->delta_dead[i] != 0) == (delta->dead[i] != 0)) continue;
    ty_status status = account_delta(x, k, delta, i, delta->dead[i] != 0 ? -1 : 1, false, err);
    if (status != TY_OK) return status;
    x->delta_dead[i] = delta->dead[i] != 0;
  }
  if (delta->count > x->delta_capacity) {
    uint64_t capacity = delta->count + delta->count / 2 + 64;
    uint8_t *dead = realloc(x->delta_dead, (size_t)capacity);
    if (dead != NULL) x->delta_dead = dead;
    uint32_t *lengths = realloc(x->delta_lengths, (size_t)capacity * sizeof *lengths);
    if (lengths != NULL) x->delta_lengths = lengths;
    if (dead == NULL || lengths == NULL) return no_memory(err);
    x->delta_capacity = capacity;
  }
  for (uint64_t at = x->delta_count; at < delta->count; at++) {
    ty_status status = account_delta(x, k, delta, at, 1, true, err);
    if (status == TY_OK && delta->dead[at] != 0) status = account_delta(x, k, delta, at, -1, false, err);
    if (status != TY_OK) return status;
    x->delta_dead[at] = delta->dead[at] != 0;
    x->delta_count = at + 1;
  }
  return TY_OK;
}

uint64_t ty_lexical_pending(ty_lexical *x, const ty_collection *c) {
  if (pthread_mutex_trylock(&x->lock) != 0) return UINT64_MAX;
  uint64_t rows = c->delta.count;
  if (x->base_dead != NULL && !x->broken && !x->restart && x->delta_count <= rows) rows -= x->delta_count;
  pthread_mutex_unlock(&x->lock);
  return rows;
}

ty_status ty_lexical_sync(ty_lexical *x, const ty_collection *c, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  ty_status status = TY_OK;
  pthread_mutex_lock(&x->lock);
  if (c->delta.count != x->delta_count) x->stale = true;
  if (!x->stale) goto done;
  status = ty_lexical_look(x, err);
  if (status != TY_OK) goto done;
  if (c->delta.count < x->delta_count) x->restart = true;
  if (c->base.count != x->image.docs) {
    status = ty_lexical_damaged(err, "it is over another number of rows than the base");
  } else if (c->delta.count > UINT32_MAX / 4 || (x->restart && !start_afresh(x, &c->base))) {
    status = no_memory(err);
  }
  if (status == TY_OK) follow_base(x, &c->base);
  if (status == TY_OK) status = follow_delta(x, k, &c->delta, err);
  /* After a failure the counts are wrong: the next query begins from the stored index. */
  x->restart = x->broken = x->stale = status != TY_OK;
done:
  pthread_mutex_unlock(&x->lock);
  return status;
}
