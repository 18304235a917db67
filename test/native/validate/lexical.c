/* The lexical index against the rows: the stored index of the base, and the counts of added and deleted rows. */
#include "validate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lexical/index.h"

/* Numbers of rows that hold a term. */
typedef struct holders {
  uint64_t base, died, added; /* of the base; dead ones of these; live ones of the delta */
} holders;

typedef struct recount {
  const ty_collection *c;
  ty_lexical *x;
  ty_bag terms;
  holders *of; /* by number in `terms` */
  uint32_t capacity;
  uint64_t base_tokens, live_base_tokens, live_delta_tokens;
  uint32_t *delta_lengths;
  ty_tally tally;
} recount;

static ty_status count_row(recount *r, const ty_segment *s, uint64_t at, ty_error *err) {
  ty_tally *t = &r->tally;
  bool live = !s->dead[at];
  ty_status status = ty_tally_row(t, r->c->env->kernel, (ty_ref){s, at}, err);
  for (uint64_t i = 0; i < t->count && status == TY_OK; i++) {
    uint32_t known = r->terms.count, number = ty_bag_add(&r->terms, (uint32_t)(t->items[i] >> 32));
    if (number != TY_NO_TERM && r->capacity < r->terms.capacity) {
      holders *grown = realloc(r->of, (size_t)r->terms.capacity * sizeof *grown);
      if (grown == NULL) return ty_invalid_memory(err);
      r->of = grown;
      r->capacity = r->terms.capacity;
    }
    if (number == TY_NO_TERM) return ty_invalid_memory(err);
    if (number == known) r->of[number] = (holders){0};
    r->of[number].base += s->is_base;
    r->of[number].died += s->is_base && !live;
    r->of[number].added += !s->is_base && live;
  }
  if (status != TY_OK) return status;
  if (s->is_base) {
    TY_HOLD(r->x->image.lengths[at] == t->tokens, "the lexical index has row %" PRIu64 " with %u tokens, not %" PRIu64,
            s->row[at], r->x->image.lengths[at], t->tokens);
    r->base_tokens += t->tokens;
    r->live_base_tokens += live ? t->tokens : 0;
  } else {
    r->delta_lengths[at] = (uint32_t)t->tokens;
    r->live_delta_tokens += live ? t->tokens : 0;
  }
  return TY_OK;
}

static ty_status check_stored(const recount *r, ty_error *err) {
  const ty_lexical_image *image = &r->x->image;
  uint64_t terms = 0;
  for (uint32_t i = 0; i < r->terms.count; i++) {
    ty_dict_entry entry;
    if (!ty_dict_look(image, r->terms.hash[i], &entry)) return ty_lexical_damaged(err, "a term cannot be looked up");
    TY_HOLD(entry.df == r->of[i].base, "the lexical index has a term in %u rows of the base, not %" PRIu64, entry.df,
            r->of[i].base);
    terms += entry.df > 0;
  }
  TY_HOLD(terms == image->terms && r->base_tokens == image->tokens,
          "the lexical index has %" PRIu64 " terms of %" PRIu64 " tokens, not %" PRIu64 " of %" PRIu64, image->terms,
          image->tokens, terms, r->base_tokens);
  return TY_OK;
}

/* Under x->lock. A stale index is not checked: the next query updates it. */
static ty_status check_counted(const recount *r, ty_error *err) {
  const ty_lexical *x = r->x;
  const ty_collection *c = r->c;
  if (x->stale || x->delta_count != c->delta.count) return TY_OK;
  TY_HOLD(x->base_docs == c->base.live && x->delta_docs == c->delta.live,
          "the lexical statistics are of %" PRIu64 " rows of %" PRIu64, x->base_docs + x->delta_docs,
          c->base.live + c->delta.live);
  TY_HOLD(x->base_tokens == r->live_base_tokens && x->delta_tokens == r->live_delta_tokens,
          "the lexical statistics are of %" PRIu64 " tokens of %" PRIu64, x->base_tokens + x->delta_tokens,
          r->live_base_tokens + r->live_delta_tokens);
  TY_HOLD(c->delta.count == 0 ||
              (memcmp(x->delta_lengths, r->delta_lengths, (size_t)c->delta.count * sizeof *x->delta_lengths) == 0 &&
               memcmp(x->delta_dead, c->delta.dead, (size_t)c->delta.count) == 0),
          "the lexical statistics have other lengths or deaths of the delta's rows");
  TY_HOLD(c->base.count == 0 || memcmp(x->base_dead, c->base.dead, (size_t)c->base.count) == 0,
          "the lexical statistics have other deaths of the base's rows");
  for (uint32_t i = 0; i < r->terms.count; i++) {
    uint32_t number = ty_bag_find(&x->changed, r->terms.hash[i]);
    ty_change none = {0}, change = number == TY_NO_TERM ? none : x->change[number];
    TY_HOLD(change.died == (int64_t)r->of[i].died && change.added == (int64_t)r->of[i].added,
            "a term is counted for %" PRId64 " dead and %" PRId64 " new rows, not %" PRIu64 " and %" PRIu64,
            change.died, change.added, r->of[i].died, r->of[i].added);
  }
  for (uint32_t i = 0; i < x->changed.count; i++)
    TY_HOLD(ty_bag_find(&r->terms, x->changed.hash[i]) != TY_NO_TERM ||
                (x->change[i].died == 0 && x->change[i].added == 0),
            "a term is counted that no row holds");
  return TY_OK;
}

/* Of the partitions that were asked about. Under x->lock. */
static ty_status check_parts(const recount *r, ty_error *err) {
  const ty_lexical *x = r->x;
  const ty_collection *c = r->c;
  if (x->stale || x->delta_count != c->delta.count) return TY_OK;
  for (uint32_t code = 0; code < x->part_count; code++) {
    uint64_t base = 0, delta = 0, tokens = 0;
    if (!x->parts[code].known) continue;
    for (uint64_t at = 0; at < c->base.count; at++) {
      bool counts = !c->base.dead[at] && c->base.keys[0][at] == code;
      base += counts;
      tokens += counts ? x->image.lengths[at] : 0;
    }
    for (uint64_t at = 0; at < c->delta.count; at++) {
      bool counts = !c->delta.dead[at] && c->delta.keys[0][at] == code;
      delta += counts;
      tokens += counts ? r->delta_lengths[at] : 0;
    }
    const ty_lexical_part *p = &x->parts[code];
    TY_HOLD(p->base_docs == base && p->delta_docs == delta && p->tokens == tokens,
            "a partition is counted with %" PRIu64 " and %" PRIu64 " rows of %" PRIu64 " tokens, not %" PRIu64
            " and %" PRIu64 " of %" PRIu64,
            p->base_docs, p->delta_docs, p->tokens, base, delta, tokens);
  }
  return TY_OK;
}

static ty_status check_all(recount *r, ty_error *err) {
  const ty_collection *c = r->c;
  ty_status status = TY_OK;
  for (uint64_t at = 0; at < c->base.count && status == TY_OK; at++) status = count_row(r, &c->base, at, err);
  for (uint64_t at = 0; at < c->delta.count && status == TY_OK; at++) status = count_row(r, &c->delta, at, err);
  if (status == TY_OK) status = check_stored(r, err);
  if (status != TY_OK) return status;
  pthread_mutex_lock(&r->x->lock);
  status = check_counted(r, err);
  if (status == TY_OK) status = check_parts(r, err);
  pthread_mutex_unlock(&r->x->lock);
  return status;
}

ty_status ty_validate_lexical(const ty_collection *c, ty_error *err) {
  recount r = {.c = c, .x = c->lexical_index};
  TY_HOLD(c->words == (r.x != NULL) && c->words >= c->lexical, "a lexical index is missing, or one too many");
  if (!ty_lexical_usable(r.x)) return TY_OK;
  TY_HOLD(r.x->image.docs == c->base.count, "the lexical index is over other rows than the base");
  if (!ty_validate_all(c)) return TY_OK;
  r.delta_lengths = malloc((size_t)(c->delta.count + 1) * sizeof *r.delta_lengths);
  ty_status status = r.delta_lengths == NULL ? ty_invalid_memory(err) : check_all(&r, err);
  ty_bag_free(&r.terms);
  ty_tally_free(&r.tally);
  free(r.of);
  free(r.delta_lengths);
  return status;
}
