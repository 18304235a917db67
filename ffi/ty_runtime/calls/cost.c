#include "calls/cost.h"

#include "ivf/ivf.h"
#include "rows/vertical.h"
#include "rows/weights.h"

/* Weighing a row takes 2 us, counting its terms some 10, reading a posting 1 ns, looking an edit up 0.3 us. */
#define BYTES_PER_WEIGHED ((uint64_t)64 << 10)
#define BYTES_PER_COUNTED ((uint64_t)256 << 10)
#define BYTES_PER_POSTING 32u
#define BYTES_PER_EDIT    ((uint64_t)9 << 10)

static uint64_t times(uint64_t n, uint64_t bytes) {
  uint64_t out;
  return ty_mul(n, bytes, &out) ? out : UINT64_MAX;
}

uint64_t ty_cost_plus(uint64_t a, uint64_t b) {
  uint64_t out;
  return ty_add(a, b, &out) ? out : UINT64_MAX;
}

/* Rows `first` .. `end` of the base; with `near`, of a part that is read by lists only the share that is read on
 * average. */
static uint64_t base_rows(const ty_collection *c, uint64_t first, uint64_t end, bool near) {
  uint64_t rows = end - first;
  for (uint32_t i = 0; near && c->ivf != NULL && i < c->ivf->count; i++) {
    const ty_ivf_part *part = &c->ivf->parts[i];
    uint64_t from = part->list_starts[0], to = part->list_starts[part->nlist];
    if (from < first || to > end || part->nlist == 0) continue;
    rows -= (to - from) - (uint64_t)((double)(to - from) * part->nprobe / part->nlist);
  }
  return rows;
}

uint64_t ty_weights_cost(const ty_collection *c, const ty_filter *filter) {
  return times(ty_weights_pending(c, ty_filter_partition(filter)), BYTES_PER_WEIGHED);
}

/* Bytes of a row's codes that a query reads. */
static uint64_t row_bytes(const ty_collection *c, const ty_segment *s, const float *query) {
  uint64_t touched = 0;
  if (s->vertical.lines == NULL) return c->dim;
  for (uint32_t i = 0; i < c->dim; i++) touched += query[i] != 0;
  return (touched * ty_line_bits(c) + 7) / 8;
}

uint64_t ty_search_cost(const ty_collection *c, const ty_filter *filter, bool near, const float *query) {
  uint64_t end = filter->first + filter->count, rows = c->base.count, compared = c->delta.count;
  if (filter->none) return 0;
  if (filter->all || filter->column == 0) rows = base_rows(c, filter->first, end, near);
  if (filter->all) {
    rows += c->delta.count;
    compared = 0;
  } else {
    uint64_t live = c->dicts[filter->column].live[filter->code];
    if (filter->column == 0) rows += live < c->delta.count ? live : c->delta.count;
    else {
      rows = live;
      compared += filter->how == TY_FILTER_COMPARES ? c->base.count : 0;
    }
  }
  if (filter->under != NULL) {
    rows = rows < filter->under_rows ? rows : filter->under_rows;
    compared += (filter->how == TY_FILTER_COMPARES ? filter->count : 0) + c->delta.count;
  }
  uint64_t bytes = row_bytes(c, &c->base, query), other = c->delta.count > 0 ? row_bytes(c, &c->delta, query) : 0;
  return ty_cost_plus(times(rows, bytes > other ? bytes : other), times(compared, sizeof(uint32_t)));
}

uint64_t ty_lexical_sync_cost(ty_lexical *x, const ty_collection *c) {
  return ty_cost_plus(times(ty_lexical_pending(x, c), BYTES_PER_COUNTED), ty_lexical_unread(x));
}

uint64_t ty_unknown_cost(const question *q) {
  uint64_t questions = 0;
  for (const question *each = q; each != NULL; each = each->next) questions++;
  return times(ty_unknown_edits(q), questions * BYTES_PER_EDIT);
}

uint64_t ty_question_cost(const question *q) {
  const ty_collection *c = q->c;
  const ty_filter *filter = q->filter;
  double share = c->base.count == 0 ? 0 : (double)filter->count / (double)c->base.count, postings = 0;
  bool part = !filter->all && filter->column == 0; /* the newest rows' postings are counted first (statistics.h) */
  for (uint32_t i = 0; i < q->count && !filter->none; i++) {
    const query_term *t = &q->terms[i];
    postings += (double)t->stored.df * share;
    if (t->added != TY_NO_TERM) postings += (double)q->x->change[t->added].added * (part ? 2 : 1);
  }
  return times((uint64_t)postings, BYTES_PER_POSTING);
}

ty_status ty_cost_check(uint64_t cost, uint64_t most, ty_error *err) {
  if (most == 0 || cost <= most) return TY_OK;
  return ty_fail(err, TY_LARGE, "the query reads more than %llu bytes: run it on a worker", (unsigned long long)most);
}
