/* Ranks the rows of a lexical query: MaxScore (Turtle and Flood, "Query evaluation: strategies and optimizations",
 * 1995) with bounds of blocks (Ding and Suel, "Faster top-k document retrieval using block-max indexes", 2011), a
 * window of positions at a time as Lucene does it.
 *
 * In a window each term adds at most the largest bound of its blocks there. Terms whose bounds together do not reach
 * the k-th best score are looked up only for rows that other terms, the essential ones, have found; those are summed
 * into an accumulator. All sums are integers, so that the final sum is the score, and no row is scored again.
 *
 * A row of a skipped block may still be found through another term, with less than its score. It is rejected all the
 * same: its score is below the threshold at which the block was skipped, and thresholds never fall.
 */
#include <stdlib.h>

#include "lexical/question.h"
#include "os/arena.h"

/* Positions in a window. Fewer make bounds tighter, which helps queries of one word, but more numerous, which hurts
 * those of twenty: with 1,024 and 8,192 one kind took a tenth longer, and the other as much less. */
#define WINDOW 2048u
/* Above this the lists are summed one by one over all positions: a cursor has 1.6 KB, and a long text as a query has
 * thousands of terms. */
#define CURSORS_MOST 4096u
/* Looking a row up costs as much as summing so many postings: with 2 queries took a tenth longer. */
#define POSTINGS_PER_LOOK 16u

typedef struct ranking {
  const question *q;
  const ty_filter *filter;
  const ty_segment *segment;
  ty_best *best;
  ty_error *err;
  uint64_t low, high; /* the window */
  uint32_t *sums;     /* of the window's positions; zero between windows */
  uint32_t *rows;     /* of the window, relative to `low`: the candidates */
  uint32_t row_count;
  ty_cursor *cursors;
  ty_cursor **order; /* by rising bound in the window */
  uint32_t *bounds;  /* in that order */
  uint32_t count;
} ranking;

/* The most that the cursor's term can add to a row of the window. */
static ty_status window_bound(ranking *r, ty_cursor *c, uint32_t *bound) {
  *bound = 0;
  ty_status status = ty_cursor_seek(c, r->low, r->err);
  if (status != TY_OK || c->ended) return status;
  if (c->count > 0) c->from = ty_cursor_lower(c, r->low);
  if (ty_cursor_first(c) >= r->high) return TY_OK;
  *bound = ty_cursor_bound(c, c->block);
  for (uint32_t b = c->block + 1; b < c->blocks && ty_load32(c->directory + 4ull * (b - 1)) < r->high - 1; b++) {
    uint32_t next = ty_cursor_bound(c, b);
    *bound = next > *bound ? next : *bound;
  }
  return TY_OK;
}

/* Bounds and order for the window that begins at `low`, or at the first later posting. `*any` is false where no list
 * has one. */
static ty_status open_window(ranking *r, uint64_t end, uint64_t *all, bool *any) {
  uint64_t first = end;
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < r->count && status == TY_OK; i++) {
    ty_cursor *c = &r->cursors[i];
    status = ty_cursor_seek(c, r->low, r->err);
    if (status != TY_OK || c->ended) continue;
    if (c->count > 0) c->from = ty_cursor_lower(c, r->low);
    uint64_t at = ty_cursor_first(c);
    first = at < first ? at : first;
  }
  *any = first < end;
  *all = 0;
  if (!*any) return status;
  r->low = first > r->low ? first : r->low;
  r->high = end - r->low < WINDOW ? end : r->low + WINDOW;
  TY_ASSERT(r->low < r->high && r->high <= end && r->high - r->low <= WINDOW);
  for (uint32_t i = 0; i < r->count && status == TY_OK; i++) {
    /* Insertion sort: the order hardly changes between windows. */
    ty_cursor *c = r->order[i];
    uint32_t bound, at = i;
    status = window_bound(r, c, &bound);
    for (; at > 0 && r->bounds[at - 1] > bound; at--) {
      r->bounds[at] = r->bounds[at - 1];
      r->order[at] = r->order[at - 1];
    }
    r->bounds[at] = bound;
    r->order[at] = c;
    *all += bound;
  }
  return status;
}

/* Sums the cursor's postings of the window. `others` is the most that all other terms can add: blocks that cannot reach
 * the threshold with it are skipped. */
static ty_status sum(ranking *r, ty_cursor *c, uint64_t others) {
  ty_status status = ty_cursor_seek(c, r->low, r->err);
  while (status == TY_OK && !c->ended && ty_cursor_first(c) < r->high) {
    if (c->directory != NULL && ty_cursor_bound(c, c->block) + others < ty_best_need(r->best)) {
      if (ty_cursor_last(c) >= r->high) break; /* it continues in the next window, where other bounds may be higher */
      status = ty_cursor_next(c, r->err);
      continue;
    }
    status = ty_cursor_parts(c, r->err);
    if (status != TY_OK) break;
    const uint32_t *docs = c->p->docs, *parts = c->p->parts;
    uint32_t i = ty_cursor_lower(c, r->low), n = c->count;
    uint32_t *sums = r->sums;
    const uint64_t low = r->low, high = r->high;
    if (docs[n - 1] < high) {
      for (; i < n; i++) sums[docs[i] - low] += parts[i];
    } else {
      for (; docs[i] < high; i++) sums[docs[i] - low] += parts[i];
    }
    c->from = i;
    if (i < n) break;
    status = ty_cursor_next(c, r->err);
  }
  return status;
}

/* The window's rows that the filter allows and that `rest` more could take to the threshold. */
static void collect(ranking *r, uint64_t rest) {
  uint32_t need = ty_best_need(r->best), least = need > rest ? (uint32_t)(need - rest) : 1;
  uint32_t found = (uint32_t)r->q->c->env->kernel->select(r->sums, (size_t)(r->high - r->low), least, r->rows);
  r->row_count = 0;
  for (uint32_t i = 0; i < found; i++) {
    if (ty_filter_allows(r->filter, r->segment, r->low + r->rows[i])) r->rows[r->row_count++] = r->rows[i];
  }
}

/* Keeps the rows that `rest` more could take to the threshold. */
static void keep(ranking *r, uint64_t rest) {
  uint32_t need = ty_best_need(r->best), kept = 0;
  for (uint32_t i = 0; i < r->row_count; i++) {
    r->rows[kept] = r->rows[i];
    kept += r->sums[r->rows[i]] + rest >= need;
  }
  r->row_count = kept;
}

/* Adds a non-essential term to the remaining candidates; later terms can add `rest`. */
static ty_status look_up(ranking *r, ty_cursor *c, uint32_t bound, uint64_t rest) {
  if (bound == 0) return TY_OK;
  uint32_t need = ty_best_need(r->best), kept = 0;
  uint64_t postings = c->directory == NULL ? c->count : (uint64_t)c->term->stored.df * (r->high - r->low) / c->limit;
  ty_status status = TY_OK;
  if ((uint64_t)r->row_count * POSTINGS_PER_LOOK > postings) {
    status = sum(r, c, UINT32_MAX);
    keep(r, rest);
    return status;
  }
  for (uint32_t i = 0; i < r->row_count; i++) {
    uint32_t row = r->rows[i], tf, now = r->sums[row];
    uint64_t doc = r->low + row;
    if (now + rest + bound < need) continue;
    status = ty_cursor_seek(c, doc, r->err);
    if (status != TY_OK) break;
    if (!c->ended && now + rest + ty_cursor_bound(c, c->block) < need) continue;
    status = ty_cursor_find(c, doc, &tf, r->err);
    if (status != TY_OK) break;
    if (tf > 0) r->sums[row] = now += ty_cursor_part(c, (uint32_t)doc, tf);
    if (now + rest >= need) r->rows[kept++] = row;
  }
  r->row_count = kept;
  return status;
}

static void offer(ranking *r) {
  for (uint32_t i = 0; i < r->row_count; i++) {
    uint64_t at = r->low + r->rows[i];
    ty_best_offer(r->best, &(ty_ranked){.birth = r->segment->birth[at],
                                        .score = r->sums[r->rows[i]],
                                        .at = (uint32_t)at & INT32_MAX,
                                        .delta = !r->segment->is_base});
  }
}

static ty_status rank_window(ranking *r, uint64_t all) {
  uint32_t need = ty_best_need(r->best), i, first = 0;
  uint64_t rest = 0;
  if (all < need) return TY_OK;
  while (first < r->count && rest + r->bounds[first] < need) rest += r->bounds[first++];
  ty_status status = TY_OK;
  for (i = r->count; i-- > first && status == TY_OK;) status = sum(r, r->order[i], all - r->bounds[i]);
  collect(r, rest);
  for (i = first; i-- > 0 && status == TY_OK && r->row_count > 0;) {
    rest -= r->bounds[i];
    status = look_up(r, r->order[i], r->bounds[i], rest);
  }
  if (status == TY_OK) offer(r);
  memset(r->sums, 0, (size_t)(r->high - r->low) * sizeof *r->sums);
  return status;
}

static ty_status rank_segment(ranking *r, uint64_t first, uint64_t end, ty_postings *memory) {
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < r->count && status == TY_OK; i++) {
    status = ty_cursor_open(&r->cursors[i], r->q, &r->q->terms[i], !r->segment->is_base, &memory[i], r->err);
    r->order[i] = &r->cursors[i];
  }
  for (r->low = first; r->low < end && status == TY_OK; r->low = r->high) {
    uint64_t all;
    bool any;
    status = open_window(r, end, &all, &any);
    if (status != TY_OK || !any) break;
    status = rank_window(r, all);
  }
  return status;
}

/* One window over all positions, list by list. */
static ty_status rank_long(ranking *r, uint64_t first, uint64_t end, ty_postings *memory) {
  ty_status status = TY_OK;
  r->low = first;
  r->high = end;
  for (uint32_t i = 0; i < r->q->count && status == TY_OK; i++) {
    status = ty_cursor_open(&r->cursors[0], r->q, &r->q->terms[i], !r->segment->is_base, memory, r->err);
    if (status == TY_OK) status = sum(r, &r->cursors[0], UINT32_MAX);
  }
  collect(r, 0);
  if (status == TY_OK) offer(r);
  memset(r->sums, 0, (size_t)(end - first) * sizeof *r->sums);
  return status;
}

ty_status ty_question_rank(const question *q, uint64_t top_k, ty_best *out, ty_error *err) {
  const ty_collection *c = q->c;
  const ty_filter *filter = q->filter;
  uint64_t rows = c->base.count + c->delta.count, window = WINDOW;
  bool one_by_one = q->count > CURSORS_MOST;
  if (one_by_one) window = c->base.count > c->delta.count ? c->base.count : c->delta.count;
  ranking r = {.q = q, .filter = filter, .best = out, .err = err, .count = one_by_one ? 1 : q->count};
  *out = (ty_best){.k = top_k < rows ? top_k : rows};
  if (out->k == 0 || q->count == 0 || filter->none) return TY_OK;
  ty_status status = TY_OK;
  ty_arena arena = {0};
  ty_postings *memory = ty_arena_take(&arena, r.count, sizeof *memory);
  r.sums = ty_arena_zero(&arena, window, sizeof *r.sums);
  r.rows = ty_arena_take(&arena, window + 1, sizeof *r.rows);
  r.cursors = ty_arena_take(&arena, r.count, sizeof *r.cursors);
  r.order = ty_arena_take(&arena, r.count, sizeof *r.order);
  r.bounds = ty_arena_take(&arena, r.count, sizeof *r.bounds);
  out->items = out->k <= SIZE_MAX / sizeof *out->items ? malloc((size_t)out->k * sizeof *out->items) : NULL;
  if (arena.failed || out->items == NULL) status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
  ty_status (*rank)(ranking *, uint64_t, uint64_t, ty_postings *) = one_by_one ? rank_long : rank_segment;
  r.segment = &c->base;
  if (status == TY_OK && filter->count > 0) status = rank(&r, filter->first, filter->first + filter->count, memory);
  r.segment = &c->delta;
  if (status == TY_OK && c->delta.count > 0) status = rank(&r, 0, c->delta.count, memory);
  ty_best_sort(out);
  ty_arena_free(&arena);
  return status;
}
