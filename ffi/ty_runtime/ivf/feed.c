/* An approximate query reads its lists one after the other, the most promising first, and scores the rows that their
 * signs do not exclude.
 *
 * 100,000 x 384 rows in broad clusters, with a target of 0.99: of 5,600 rows in 55 lists some 110 are scored. With
 * 4-bit codes in place of signs a query takes 1.4 times as long, over images 1.3 times. Most of the time that is left
 * is waiting for memory; signs are a quarter of that. */
#include <float.h>

#include "ivf/signs.h"
#include "os/arena.h"
#include "rows/block.h"
#include "scan/heap.h"

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to choose the IVF lists of a search");
}

/* The list that is read next: it is prefetched while the one before it is read. */
typedef struct choice {
  const ty_ivf_part *part; /* NULL: none */
  uint32_t list;
  ty_ivf_product product;
} choice;

/* Feeds the rows of a list that may attain the threshold by their signs; all of them if there are no signs or they are
 * damaged. */
static ty_status feed_choice(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base, const choice *x,
                             ty_error *err) {
  if (x->part == NULL) return TY_OK;
  const ty_ivf_signs *s = &x->part->signs;
  uint64_t block = AME_SIGN_BLOCK_BYTES(q->c->dim), end = x->part->list_starts[x->list + 1];
  if (q->tables == NULL || s->rows == NULL) return ty_ivf_feed_list(scanner, base, x->part, x->list, err);
  const uint8_t *blocks = s->rows + s->starts[x->list] * block;
  uint64_t bytes = (s->starts[x->list + 1] - s->starts[x->list]) * block;
  if (!ty_is_intact(s->intact, (uint64_t)(blocks - s->intact->data), bytes))
    return ty_ivf_feed_list(scanner, base, x->part, x->list, err);
  float least;
  ame_sign_query query = ty_sign_question(q, x->part, x->list, x->product, ty_scanner_threshold(scanner), &least);
  for (uint64_t at = x->part->list_starts[x->list]; at < end; at += TY_MARKED_ROWS) {
    uint16_t marks[TY_MARKED_ROWS / AME_BLOCK_ROWS];
    uint64_t n = end - at < TY_MARKED_ROWS ? end - at : TY_MARKED_ROWS;
    q->c->env->kernel->screen_signs(&query, blocks, (size_t)ty_block_count(n), q->c->dim, least, marks, NULL);
    ty_range range = {base, at, n};
    ty_status status = ty_scanner_feed_marked(scanner, &range, marks, err);
    if (status != TY_OK) return status;
    blocks += TY_MARKED_ROWS / AME_BLOCK_ROWS * block;
  }
  return TY_OK;
}

/* Lists lie far apart in memory. So the codes of the centroids that may come next are prefetched, and the signs of a
 * list while the list before it is read. */
#define PREFETCHED 8192u
static void prefetch(const void *data, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes && at < PREFETCHED; at += 64) __builtin_prefetch((const uint8_t *)data + at);
}

static void prefetch_centroid(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list) {
  size_t stride = AME_CODE_STRIDE(q->c->dim);
  __builtin_prefetch(part->info + list);
  prefetch(part->codes + list * stride, stride);
}

static void prefetch_rows(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list) {
  const ty_ivf_signs *s = &part->signs;
  uint64_t block = AME_SIGN_BLOCK_BYTES(q->c->dim);
  if (q->tables != NULL && s->rows != NULL)
    prefetch(s->rows + s->starts[list] * block, (s->starts[list + 1] - s->starts[list]) * block);
}

/* The promise of each list of a part: it is read while the threshold is not above that. Infinite if it is not known,
 * -infinity for a list without rows. */
static void promises(const ty_ivf_question *q, const ty_ivf_part *part, double reach, float *out, float *spread) {
  ty_ivf_estimate(q, part, out, spread);
  for (uint32_t i = 0; i < part->nlist; i++) out[i] += (float)reach * spread[i];
  for (uint32_t i = 0; i < part->nlist; i++) {
    if (part->list_starts[i] == part->list_starts[i + 1]) out[i] = -INFINITY;
    else if (!(out[i] <= FLT_MAX)) out[i] = INFINITY;
  }
}

/* The promise of one list by the 8-bit codes of its centroid, which is more exact. */
static double promise_of(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, bool alone,
                         ty_ivf_product *product) {
  size_t stride = AME_CODE_STRIDE(q->c->dim);
  int32_t dot;
  q->c->env->kernel->dot_i8(q->codes, part->codes + list * stride, 1, stride, &dot);
  *product = ty_ivf_product_of(q, part, list, dot);
  ty_ivf_outlook o = ty_ivf_outlook_of(q, part, list, *product);
  double promise = o.middle + (alone ? part->reach_alone : part->reach) * o.spread;
  return promise < o.most ? promise : o.most;
}

/* The place of the most promising list; n if there is none. In four maxima, which the processor takes side by
 * side. */
static uint64_t best_of(const float *promise, uint64_t n) {
  float most[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  uint64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (uint32_t l = 0; l < 4; l++) most[l] = promise[i + l] > most[l] ? promise[i + l] : most[l];
  }
  for (; i < n; i++) most[0] = promise[i] > most[0] ? promise[i] : most[0];
  for (uint32_t l = 1; l < 4; l++) most[0] = most[l] > most[0] ? most[l] : most[0];
  for (i = 0; i < n && promise[i] != most[0];) i++;
  return i;
}

/* Lists read one by one before the others are put into a heap: mostly the first one's rows already set a threshold
 * that few lists attain, and a heap of all of 948 lists takes longer than to read the first. */
#define TAKEN_SINGLY 4u

/* The lists of all parts, part by part. */
typedef struct listing {
  const ty_ivf_part *const *parts;
  uint32_t count;
  bool alone;
  float *promise;        /* -infinity: the list was read, or has no rows */
  scan_candidate *lists; /* `upper` is the promise, `at` the part's number and the list's */
} listing;

static scan_candidate at_place(const listing *l, uint64_t place) {
  uint32_t part = 0;
  float promise = l->promise[place];
  while (place >= l->parts[part]->nlist) place -= l->parts[part++]->nlist;
  return (scan_candidate){(double)promise, (uint64_t)part << 32 | place};
}

static ty_status feed_listed(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base, const listing *l,
                             uint64_t total, uint64_t *probed, ty_error *err) {
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < TAKEN_SINGLY && isinf(ty_scanner_threshold(scanner)); i++) {
    uint64_t best = best_of(l->promise, total);
    if (best == total || l->promise[best] == -INFINITY) return TY_OK;
    scan_candidate list = at_place(l, best);
    l->promise[best] = -INFINITY;
    status = ty_ivf_feed_list(scanner, base, l->parts[list.at >> 32], (uint32_t)list.at, err);
    if (status != TY_OK) return status;
    ++*probed;
  }
  float threshold = (float)ty_scanner_threshold(scanner);
  uint64_t n = 0, place = 0;
  for (uint32_t i = 0; i < l->count; place += l->parts[i++]->nlist) {
    for (uint64_t j = 0; j < l->parts[i]->nlist; j++) {
      float promise = l->promise[place + j];
      l->lists[n] = (scan_candidate){(double)promise, (uint64_t)i << 32 | j};
      n += promise >= threshold && promise > -INFINITY;
    }
  }
  for (uint64_t i = n / 2; i-- > 0;) candidates_sink(l->lists, n, i);
  choice next = {0};
  while (n > 0 && !(l->lists[0].upper < ty_scanner_threshold(scanner))) {
    choice x = {l->parts[l->lists[0].at >> 32], (uint32_t)l->lists[0].at, {0, 0}};
    l->lists[0] = l->lists[--n];
    if (n > 0) candidates_sink(l->lists, n, 0);
    for (uint64_t i = 0; i < n && i < 3; i++)
      prefetch_centroid(q, l->parts[l->lists[i].at >> 32], (uint32_t)l->lists[i].at);
    if (promise_of(q, x.part, x.list, l->alone, &x.product) < ty_scanner_threshold(scanner)) continue;
    prefetch_rows(q, x.part, x.list);
    status = feed_choice(q, scanner, base, &next, err);
    if (status != TY_OK) return status;
    next = x;
    ++*probed;
  }
  return feed_choice(q, scanner, base, &next, err);
}

ty_status ty_ivf_feed_near(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                           const ty_ivf_part *const *parts, uint32_t count, bool alone, uint64_t *probed,
                           ty_error *err) {
  uint64_t total = 0;
  ty_arena memory = {0};
  uint32_t longest = 0;
  for (uint32_t i = 0; i < count; i++) {
    total += parts[i]->nlist;
    longest = parts[i]->nlist > longest ? parts[i]->nlist : longest;
  }
  listing l = {.parts = parts, .count = count, .alone = alone};
  float *spread = ty_arena_take(&memory, longest, sizeof *spread);
  l.promise = ty_arena_take(&memory, total, sizeof *l.promise);
  l.lists = ty_arena_take(&memory, total + 1, sizeof *l.lists);
  ty_status status = memory.failed ? no_memory(err) : TY_OK;
  uint64_t place = 0;
  for (uint32_t i = 0; i < count && status == TY_OK; place += parts[i++]->nlist)
    promises(q, parts[i], alone ? parts[i]->reach_alone : parts[i]->reach, l.promise + place, spread);
  if (status == TY_OK) status = feed_listed(q, scanner, base, &l, total, probed, err);
  ty_arena_free(&memory);
  return status;
}
