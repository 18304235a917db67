/* The lexical index against the rows: the stored index of the base, and the counts of added and deleted rows. */
#include "validate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lexical/walk.h"

/* Numbers of rows that hold a term. */
typedef struct holders {
  uint64_t base, added; /* of the base, with a text; live ones of the delta */
} holders;

typedef struct recount {
  const ty_collection *c;
  ty_lexical *x;
  ty_bag terms;
  holders *of; /* by number in `terms` */
  uint32_t capacity;
  uint64_t base_tokens;
  ty_lengths base_totals, delta_totals; /* of live rows */
  uint32_t *delta_lengths;
  uint64_t *sums; /* how often each row of the base has terms, in the index */
  ty_tally tally;
} recount;

static bool has_text(const ty_segment *s, uint64_t at) { return (s->presence[at] & TY_HAS_TEXT) != 0; }

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
    r->of[number].added += !s->is_base && live;
  }
  if (status != TY_OK) return status;
  if (s->is_base) {
    TY_HOLD(r->x->image.lengths[at] == t->tokens, "the lexical index has row %" PRIu64 " with %u tokens, not %" PRIu64,
            s->row[at], r->x->image.lengths[at], t->tokens);
  } else {
    r->delta_lengths[at] = (uint32_t)t->tokens;
    if (live) ty_lengths_count(&r->delta_totals, s, at, t->tokens, 1);
  }
  return TY_OK;
}

/* A row without a text has its terms in the index only: what can be checked of them is their number. */
static ty_status check_base_row(recount *r, uint64_t at, ty_error *err) {
  const ty_segment *s = &r->c->base;
  uint64_t length = r->x->image.lengths[at], labels = r->sums[at] - length;
  bool text = has_text(s, at), terms = (s->presence[at] & TY_HAS_TERMS) != 0;
  r->base_tokens += length;
  if (!s->dead[at]) ty_lengths_count(&r->base_totals, s, at, length, 1);
  TY_HOLD(r->sums[at] >= length && labels <= (text ? 0 : TY_LABELS_MAX),
          "the lexical index has row %" PRIu64 " with %" PRIu64 " terms of %" PRIu64 " tokens", s->row[at], r->sums[at],
          length);
  TY_HOLD(terms == (!text && r->sums[at] > 0), "row %" PRIu64 " has %s terms without a text", s->row[at],
          terms ? "no" : "unmarked");
  return text ? count_row(r, s, at, err) : TY_OK;
}

/* Adds a term's postings to the rows' sums; *texts: how many are of rows with a text. */
static ty_status sum_list(recount *r, ty_walk *w, uint64_t *texts, ty_error *err) {
  uint64_t rows = 0;
  uint32_t n;
  *texts = 0;
  ty_status status = ty_walk_list(w, 0, err);
  if (status == TY_OK) status = ty_walk_postings(w, &n, err);
  for (; status == TY_OK && n > 0; status = ty_walk_postings(w, &n, err)) {
    for (uint32_t i = 0; i < n; i++) {
      r->sums[w->memory.docs[i]] += w->memory.tfs[i];
      *texts += has_text(&r->c->base, w->memory.docs[i]);
    }
    rows += n;
  }
  if (status != TY_OK) return status;
  TY_HOLD(rows == w->entry->df, "a list of the lexical index has %" PRIu64 " rows, not %u", rows, w->entry->df);
  return TY_OK;
}

static ty_status walk_lists(recount *r, ty_walk *w, bool count, ty_error *err) {
  uint64_t terms = 0, known = 0, texts;
  ty_walk_open(w, r->c, r->x);
  ty_status status = ty_walk_term(w, err);
  for (; status == TY_OK && w->entry != NULL; status = ty_walk_term(w, err)) {
    ty_dict_entry entry;
    if (!ty_dict_look(&r->x->image, w->entry->hash, &entry)) return ty_lexical_damaged(err, "a look-up");
    TY_HOLD(memcmp(&entry, w->entry, sizeof entry) == 0, "a term is looked up as another than it is");
    status = sum_list(r, w, &texts, err);
    if (status != TY_OK) return status;
    uint32_t number = count ? TY_NO_TERM : ty_bag_find(&r->terms, w->entry->hash);
    uint64_t want = number == TY_NO_TERM ? 0 : r->of[number].base;
    TY_HOLD(count || texts == want, "the lexical index has a term in %" PRIu64 " rows with a text, not %" PRIu64, texts,
            want);
    known += want > 0;
    terms++;
  }
  for (uint32_t i = 0; i < r->terms.count && !count; i++) known -= r->of[i].base > 0;
  TY_HOLD(status != TY_OK || (terms == r->x->image.terms && known == 0),
          "the lexical index lacks terms of the base's rows");
  return status;
}

static ty_status check_stored(recount *r, ty_error *err) {
  const ty_collection *c = r->c;
  ty_walk *w = malloc(sizeof *w);
  ty_status status = w == NULL ? ty_invalid_memory(err) : walk_lists(r, w, true, err);
  for (uint64_t at = 0; at < c->base.count && status == TY_OK; at++) status = check_base_row(r, at, err);
  if (status == TY_OK) status = walk_lists(r, w, false, err);
  free(w);
  if (status != TY_OK) return status;
  TY_HOLD(r->base_tokens == r->x->image.tokens, "the lexical index has %" PRIu64 " tokens, not %" PRIu64,
          r->x->image.tokens, r->base_tokens);
  return TY_OK;
}

static bool same_lengths(const ty_lengths *a, const ty_lengths *b) { return memcmp(a, b, sizeof *a) == 0; }

/* Under x->lock. A stale index is not checked: the next query updates it. */
static ty_status check_counted(const recount *r, ty_error *err) {
  const ty_lexical *x = r->x;
  const ty_collection *c = r->c;
  if (x->stale || x->delta_count != c->delta.count) return TY_OK;
  TY_HOLD(x->base_docs == c->base.live && x->delta_docs == c->delta.live,
          "the lexical statistics are of %" PRIu64 " rows of %" PRIu64, x->base_docs + x->delta_docs,
          c->base.live + c->delta.live);
  TY_HOLD(same_lengths(&x->base_totals, &r->base_totals) && same_lengths(&x->delta_totals, &r->delta_totals),
          "the lexical statistics have other lengths of rows or numbers of tokens");
  TY_HOLD(c->delta.count == 0 ||
              (memcmp(x->delta_lengths, r->delta_lengths, (size_t)c->delta.count * sizeof *x->delta_lengths) == 0 &&
               memcmp(x->delta_dead, c->delta.dead, (size_t)c->delta.count) == 0),
          "the lexical statistics have other lengths or deaths of the delta's rows");
  TY_HOLD(c->base.count == 0 || memcmp(x->base_dead, c->base.dead, (size_t)c->base.count) == 0,
          "the lexical statistics have other deaths of the base's rows");
  for (uint32_t i = 0; i < r->terms.count; i++) {
    uint32_t number = ty_bag_find(&x->changed, r->terms.hash[i]);
    ty_change none = {0}, change = number == TY_NO_TERM ? none : x->change[number];
    TY_HOLD(change.added == (int64_t)r->of[i].added, "a term is counted for %" PRId64 " new rows, not %" PRIu64,
            change.added, r->of[i].added);
  }
  for (uint32_t i = 0; i < x->changed.count; i++)
    TY_HOLD(ty_bag_find(&r->terms, x->changed.hash[i]) != TY_NO_TERM || x->change[i].added == 0,
            "a term is counted that no row holds");
  return TY_OK;
}

/* Of the partitions that were asked about. Under x->lock. */
static ty_status check_parts(const recount *r, ty_error *err) {
  const ty_lexical *x = r->x;
  const ty_collection *c = r->c;
  if (x->stale || x->delta_count != c->delta.count) return TY_OK;
  for (uint32_t code = 0; code < x->part_count; code++) {
    uint64_t base = 0, delta = 0;
    ty_lengths lengths = {0};
    if (!x->parts[code].known) continue;
    for (uint64_t at = 0; at < c->base.count; at++) {
      bool counts = !c->base.dead[at] && c->base.keys[0][at] == code;
      base += counts;
      if (counts) ty_lengths_count(&lengths, &c->base, at, x->image.lengths[at], 1);
    }
    for (uint64_t at = 0; at < c->delta.count; at++) {
      bool counts = !c->delta.dead[at] && c->delta.keys[0][at] == code;
      delta += counts;
      if (counts) ty_lengths_count(&lengths, &c->delta, at, r->delta_lengths[at], 1);
    }
    const ty_lexical_part *p = &x->parts[code];
    TY_HOLD(p->base_docs == base && p->delta_docs == delta && same_lengths(&p->lengths, &lengths),
            "a partition is counted with %" PRIu64 " and %" PRIu64 " rows, not %" PRIu64 " and %" PRIu64
            ", or with other lengths",
            p->base_docs, p->delta_docs, base, delta);
  }
  return TY_OK;
}

static ty_status check_all(recount *r, ty_error *err) {
  const ty_collection *c = r->c;
  ty_status status = TY_OK;
  status = check_stored(r, err);
  for (uint64_t at = 0; at < c->delta.count && status == TY_OK; at++) status = count_row(r, &c->delta, at, err);
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
  r.sums = calloc((size_t)c->base.count + 1, sizeof *r.sums);
  ty_status status = r.delta_lengths == NULL || r.sums == NULL ? ty_invalid_memory(err) : check_all(&r, err);
  ty_bag_free(&r.terms);
  ty_tally_free(&r.tally);
  free(r.of);
  free(r.delta_lengths);
  free(r.sums);
  return status;
}
