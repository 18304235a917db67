/* What the collections of one call have in common: the weights of the query, and one ranking of their rows. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "calls/ask_run.h"

ty_status ty_ask_run_in(ty_ask_part *part, ty_status status) {
  part->failed |= status != TY_OK;
  return status;
}

ty_status ty_ask_run_weigh(ty_ask_run *x, ty_error *err) {
  ty_weights_sum sum = {0};
  ty_status status = TY_OK;
  if (x->n == 1) {
    ty_ask_part *part = x->parts;
    status = ty_ask_run_in(part, ty_weights_open(part->c, ty_filter_partition(&part->filter), &x->weighing, err));
    part->trouble |= x->weighing.trouble;
    return status;
  }
  for (uint64_t i = 0; i < x->n && status == TY_OK; i++) {
    ty_ask_part *part = &x->parts[i];
    uint32_t partition = ty_filter_partition(&part->filter);
    status = ty_ask_run_in(part, ty_weights_add(part->c, partition, &sum, &part->trouble, err));
  }
  if (status == TY_OK) status = ty_weights_open_sum(x->parts[0].c, &sum, &x->weighing, err);
  ty_weights_sum_free(&sum);
  return status;
}

/* ---- One ranking of those of the parts ---- */

static ty_candidate candidate(const ty_ask_part *part, bool by_words, uint64_t place) {
  if (by_words) {
    const ty_ranked *one = &part->best.items[place];
    return (ty_candidate){part->births + one->birth, ldexp(one->score, -part->words.scale)};
  }
  const ty_scored *hit = &part->found.hits[place];
  return (ty_candidate){part->births + hit->birth, ty_reported_score(part->c, hit->score)};
}

static uint64_t ranked_of(const ty_ask_part *part, bool by_words) {
  return by_words ? part->best.count : part->found.count;
}

/* For qsort: a ty_listed begins with its ty_candidate. */
static int by_score(const void *a, const void *b) {
  const ty_candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

/* The best of some listed rows. */
static uint64_t best_of(ty_listed *items, uint64_t count, uint64_t most) {
  qsort(items, (size_t)count, sizeof *items, by_score);
  return count < most ? count : most;
}

/* Twice as many as the ranking has are kept before they are sorted and the worse half is dropped. From then on the rest
 * of a part's ranking is passed over at its first row that is not better than the last one kept. */
static ty_status merge(ty_ask_run *x, bool by_words, ty_error *err) {
  uint64_t all = 0, most = x->depth > UINT64_MAX / 2 ? UINT64_MAX : 2 * x->depth, n = 0;
  bool cut = false;
  for (uint64_t i = 0; i < x->n; i++) all += ranked_of(&x->parts[i], by_words);
  if (all < most) most = all;
  ty_listed *items = most < SIZE_MAX / sizeof *items ? malloc((size_t)(most + 1) * sizeof *items) : NULL;
  if (items == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to rank %" PRIu64 " rows", all);
  for (uint64_t i = 0; i < x->n; i++) {
    const ty_ask_part *part = &x->parts[i];
    for (uint64_t k = 0; k < ranked_of(part, by_words); k++) {
      ty_listed one = {candidate(part, by_words, k), (uint32_t)i, (uint32_t)k};
      if (cut && by_score(&one, &items[x->depth - 1]) > 0) break;
      if (n == most) {
        n = best_of(items, n, x->depth);
        cut = n == x->depth;
      }
      items[n++] = one;
    }
  }
  x->listed[by_words] = items;
  x->ranked[by_words] = best_of(items, n, x->depth);
  return TY_OK;
}

ty_status ty_ask_run_merge(ty_ask_run *x, ty_error *err) {
  if (x->n == 1) {
    x->ranked[0] = x->parts[0].found.count;
    x->ranked[1] = x->parts[0].best.count;
    return TY_OK;
  }
  ty_status status = merge(x, false, err);
  return status == TY_OK ? merge(x, true, err) : status;
}

/* ---- Its rows ---- */

ty_candidate ty_ask_run_candidate(const ty_ask_run *x, bool by_words, uint64_t place) {
  return x->n == 1 ? candidate(x->parts, by_words, place) : x->listed[by_words][place].row;
}

ty_ask_row ty_ask_run_listed(const ty_ask_run *x, bool by_words, uint64_t place) {
  ty_ask_part *part = x->parts;
  if (x->n > 1) {
    part = &x->parts[x->listed[by_words][place].part];
    place = x->listed[by_words][place].place;
  }
  if (!by_words) return (ty_ask_row){part, part->found.hits[place].ref};
  const ty_ranked *one = &part->best.items[place];
  return (ty_ask_row){part, {one->delta ? &part->c->delta : &part->c->base, one->at}};
}

ty_ask_part *ty_ask_run_part(const ty_ask_run *x, uint64_t birth) {
  uint64_t low = 0, high = x->n;
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (x->parts[middle].births <= birth) low = middle;
    else high = middle;
  }
  return &x->parts[low];
}

ty_ask_row ty_ask_run_row(const ty_ask_run *x, const ty_fused *f) {
  if (f->vector != UINT64_MAX) return ty_ask_run_listed(x, false, f->vector);
  if (f->words != UINT64_MAX) return ty_ask_run_listed(x, true, f->words);
  const ty_meaning_hit *meant = ty_ask_run_meant(x, f->row.birth);
  if (meant != NULL) {
    ty_ask_part *part = &x->parts[meant->part];
    return (ty_ask_row){part, ty_ref_of(part->c, meant->place)};
  }
  ty_ask_part *part = ty_ask_run_part(x, f->row.birth);
  return (ty_ask_row){part, part->turns.rows[ty_turns_find(&part->turns, f->row.birth - part->births)].ref};
}
