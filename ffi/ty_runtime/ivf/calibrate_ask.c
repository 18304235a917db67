/* The queries of a calibration: rows held out of k-means, in several forms, and the reach that their true neighbours
 * need. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf/calibrate.h"
#include "ivf/signs.h"
#include "rows/vector.h"

/* A row is used as it is (RAW), and cut (CUT): only a quarter of its coordinates are kept (at least 32), as a short
 * query shares only some features with a long text. The reach is the larger of what the two kinds need. On images,
 * clustered rows and texts of 1,024 dimensions whole rows need more, and cut ones only cost their calibration. On texts
 * of 256 dimensions cut ones need more: 693 real queries at target 0.95 find 0.89 with the reach of whole rows, 0.98
 * with that of cut ones. A sixteenth of the coordinates needs no more than a quarter. Weighted queries (rows/weights.h)
 * need no kind of their own: with runs of words as queries to 45,000 to 90,000 passages of manuals, documents and code
 * their recall was the same to 0.002, and at least 0.98 and 0.99 at targets 0.9 and 0.95. */
#define CUT_SHARE 4u
#define CUT_MIN   32u
/* The third kind (REST) is a row less most of its centroid: a short query has the distinctive terms of a text, and few
 * of those that all texts near it share. It is run only where RAW queries read a large part of a partition (WIDE), that
 * is, where clusters are loose. 93 real queries to 11,429 texts of 1,024 dimensions, of which RAW ones read 0.32, find
 * 0.91, 0.957, 0.981 at targets 0.9, 0.95, 0.98 with the reach that it needs, and 0.895, 0.933, 0.961 without it. On
 * images, of which RAW ones read 0.03, it would triple the rows read, and recall is above the target without it. Not
 * for L2: a row less its centroid is far from all rows. */
#define APART 0.85f

static uint32_t list_of(const ty_ivf_part *part, uint64_t at) {
  uint32_t low = 0, high = part->nlist; /* the last list that starts at or before `at` */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (part->list_starts[middle] <= at) low = middle;
    else high = middle;
  }
  return low;
}

static bool holds(const ty_ivf_part *part, uint64_t at) {
  return at >= part->list_starts[0] && at < part->list_starts[part->nlist];
}

const ty_ivf_part *calibrate_part_of(const calibration *m, uint64_t at) {
  for (uint32_t i = 0; i < m->r->ivf->count; i++) {
    if (holds(&m->r->ivf->parts[i], at)) return &m->r->ivf->parts[i];
  }
  return NULL;
}

static int kind_of(const calibration *m, uint64_t i) {
  return i < m->first[CUT] ? RAW : i < m->first[REST] ? CUT : REST;
}

/* A prime above the number of cut queries: it spreads the first of them over all held rows. */
#define SCATTER 7919u

static uint64_t held_row(const calibration *m, uint64_t i) {
  int kind = kind_of(m, i);
  if (kind == RAW) return m->held[i];
  return m->held[2 * ((i - m->first[kind]) * SCATTER % m->asked[kind])];
}

/* Keeps exactly `kept` coordinates, by Knuth's selection sampling. */
static void cut_row(float *row, uint64_t dim, uint64_t seed) {
  uint64_t kept = dim / CUT_SHARE < CUT_MIN ? CUT_MIN : dim / CUT_SHARE;
  for (uint64_t d = 0; d < dim && dim > CUT_MIN; d++) {
    bool keep = ty_random(&seed) % (dim - d) < kept;
    if (!keep) row[d] = 0;
    kept -= keep;
  }
}

static void make_query(const calibration *m, uint64_t i, float *room, float *query) {
  int kind = kind_of(m, i);
  uint64_t dim = m->r->c->dim, at = held_row(m, i);
  const float *row = ty_row_vector(m->r->c, m->base, at, room);
  const ty_ivf_part *part = kind == REST ? calibrate_part_of(m, at) : NULL;
  memcpy(query, row, (size_t)dim * sizeof *query);
  if (kind == CUT) cut_row(query, dim, 0xca11b7a7eull + at);
  const float *centroid = part == NULL ? NULL : part->centroids + list_of(part, at) * dim;
  for (uint64_t d = 0; d < dim && centroid != NULL; d++) query[d] -= APART * centroid[d];
  if (m->r->c->metric == TY_COSINE) m->r->c->env->kernel->normalize(query, 1, (size_t)dim);
}

/* ---- Exact results ---- */

/* Rows that all queries of a group scan before the next ones: with 784 dimensions 420 KB of blocks, which stay in the
 * L2 cache. Run one by one, each query would read all rows from memory. */
#define PASS_ROWS 1024u

/* A query of a group. */
typedef struct asked {
  ty_ivf_question q;
  ty_scanner *scanner;
  ty_ivf_outlook *outlook;
} asked;

static ty_status cancelled(ty_error *err) {
  return ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
}

static ty_status feed_range(asked *group, uint32_t n, const ty_segment *base, uint64_t from, uint64_t to,
                            ty_error *err) {
  for (; from < to; from += PASS_ROWS) {
    ty_range range = {base, from, to - from < PASS_ROWS ? to - from : PASS_ROWS};
    for (uint32_t i = 0; i < n; i++) {
      ty_status status = ty_scanner_feed(group[i].scanner, &range, err);
      if (status != TY_OK) return status;
    }
  }
  return TY_OK;
}

static ty_status feed_part(const calibration *m, asked *group, uint32_t n, const ty_ivf_part *part, ty_error *err) {
  for (uint32_t i = 0; i < n; i++) {
    ty_ivf_look(&group[i].q, part, group[i].outlook);
    ty_status status = ty_ivf_feed_first(group[i].scanner, m->base, part, NEIGHBOURS + 1, group[i].outlook, err);
    if (status != TY_OK) return status;
  }
  for (uint32_t from = 0, to = 0; from < part->nlist; from = to) {
    do to++;
    while (to < part->nlist && part->list_starts[to + 1] - part->list_starts[from] <= PASS_ROWS);
    if (ty_cancelled(m->crew.progress)) return cancelled(err);
    for (uint32_t i = 0; i < n; i++) {
      ty_status status = ty_ivf_feed_rest(group[i].scanner, m->base, part, group[i].outlook, from, to, err);
      if (status != TY_OK) return status;
    }
  }
  return TY_OK;
}

/* Feeds the rows that exact queries read. */
static ty_status feed_all(const calibration *m, asked *group, uint32_t n, ty_error *err) {
  if (m->part != NULL) return feed_part(m, group, n, m->part, err);
  const ty_ivf *ivf = m->r->ivf;
  uint64_t at = 0;
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < ivf->count && status == TY_OK; i++) {
    const ty_ivf_part *part = &ivf->parts[i];
    status = feed_range(group, n, m->base, at, part->list_starts[0], err);
    if (status == TY_OK) status = feed_part(m, group, n, part, err);
    at = part->list_starts[part->nlist];
  }
  return status == TY_OK ? feed_range(group, n, m->base, at, m->base->count, err) : status;
}

/* ---- The reach that neighbours need ---- */

static double need_of(double middle, double spread, double value) {
  if (value <= middle) return 0;
  return spread > 0 ? (value - middle) / spread : INFINITY;
}

/* The share of the proved width of its bound by 8-bit codes that a row needs, so that the bound holds its value. */
static double needed_width_share(const calibration *m, const ty_ivf_question *q, uint64_t at, double value) {
  size_t stride = AME_CODE_STRIDE(m->r->c->dim);
  int32_t dot;
  if (m->base->codes == NULL) return 0;
  const ame_code_info *x = &m->base->info[at];
  m->r->c->env->kernel->dot_i8(q->codes, m->base->codes + at * stride, 1, stride, &dot);
  double product = q->scale * (double)x->scale * (double)dot;
  if (m->r->c->metric == TY_L2) value -= (double)x->bias;
  double width = q->per_norm * (double)x->norm + q->per_err * (double)x->err, off = fabs(product - value);
  return off <= width ? off / (width + q->slack) : 1; /* 1 also if the value is that of a rounded or clamped score */
}

/* The reach with which a query whose last answer has `value` finds a row. Its list is read if both the estimate and the
 * outlook, each with this reach, attain the value. A row that its signs exclude is missed at any reach. */
static double need_at(const calibration *m, uint32_t worker, const asked *x, const ty_ivf_part *part, uint64_t at,
                      double value) {
  uint32_t list = (uint32_t)list_of(part, at);
  const float *middle = m->estimates[worker], *spread = middle + m->most_lists;
  const ty_ivf_outlook *o = &x->outlook[list];
  double need = need_of(o->middle, o->spread, value);
  double other = need_of((double)middle[list], (double)spread[list], value);
  if (part->signs.mean != NULL && x->q.tables != NULL) {
    const float *row = ty_row_vector(m->r->c, m->base, at, m->row[worker]);
    if (ty_sign_excludes(&x->q, part, list, row, value, m->scratch[worker])) return INFINITY;
  }
  return need > other ? need : other;
}

/* Adds the needs of the neighbours in a part. */
static void add_needs(const calibration *m, uint32_t worker, const asked *x, const ty_ivf_part *part,
                      const ty_scored *truth, const double *values, uint32_t count, answer *a) {
  bool looked = false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t at = truth[i].ref.at;
    if (!holds(part, at)) continue;
    if (!looked) {
      ty_ivf_estimate(&x->q, part, m->estimates[worker], m->estimates[worker] + m->most_lists);
      ty_ivf_look(&x->q, part, x->outlook);
    }
    looked = true;
    a->needs[a->count] = need_at(m, worker, x, part, at, values[count - 1]);
    a->alone[a->count++] = need_at(m, worker, x, part, at, values[i]);
    a->width_share = fmax(a->width_share, needed_width_share(m, &x->q, at, values[i]));
  }
}

/* Takes the result of a query and stores the needs of its neighbours. */
static ty_status conclude(calibration *m, uint32_t worker, uint64_t number, asked *x, ty_error *err) {
  answer *a = &m->answers[number];
  uint64_t at = held_row(m, number), count = 0;
  ty_scored *truth = NULL;
  double values[NEIGHBOURS];
  uint32_t found = 0;
  ty_status status = ty_scanner_answer(x->scanner, &truth, &count, err);
  for (uint64_t i = 0; status == TY_OK && i < count && found < NEIGHBOURS; i++) {
    if (truth[i].ref.at == at) continue; /* the row itself */
    double score = (double)truth[i].score;
    values[found] = m->r->c->metric == TY_L2 ? (score + x->q.squares) / 2 : score;
    truth[found++] = truth[i];
  }
  memset(a, 0, sizeof *a);
  if (found > 0) a->kth = values[found - 1];
  a->scored = ty_scanner_counts(x->scanner).scored;
  if (found > 0 && m->part != NULL) {
    add_needs(m, worker, x, m->part, truth, values, found, a);
  } else if (found > 0) {
    for (uint32_t i = 0; i < m->r->ivf->count; i++) {
      const ty_ivf_part *part = &m->r->ivf->parts[i];
      if (isfinite(part->reach)) add_needs(m, worker, x, part, truth, values, found, a);
    }
  }
  free(truth);
  return status;
}

ty_status calibrate_ask(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  calibration *m = context;
  uint64_t first = task * ASKED_TOGETHER, dim = m->r->c->dim, left = m->asking - first;
  uint32_t n = left < ASKED_TOGETHER ? (uint32_t)left : ASKED_TOGETHER, opened = 0;
  asked group[ASKED_TOGETHER] = {0};
  ty_status status = TY_OK;
  first += m->asking_from;
  while (opened < n && status == TY_OK) {
    asked *x = &group[opened];
    float *query = m->query[worker] + opened * dim;
    x->outlook = m->outlook[worker] + opened * (uint64_t)m->most_lists;
    make_query(m, first + opened, m->row[worker], query);
    status = ty_ivf_question_open(m->r->c, query, true, &x->q, err);
    opened++;
    if (status == TY_OK)
      status =
          ty_scanner_open(m->r->c, m->base, NULL, query, NEIGHBOURS + 1, m->filter.count, &m->filter, &x->scanner, err);
  }
  if (status == TY_OK) status = feed_all(m, group, n, err);
  for (uint32_t i = 0; i < n && status == TY_OK; i++)
    status = ty_cancelled(m->crew.progress) ? cancelled(err) : conclude(m, worker, first + i, &group[i], err);
  for (uint32_t i = 0; i < opened; i++) {
    ty_scanner_close(group[i].scanner);
    ty_ivf_question_close(&group[i].q);
  }
  if (status == TY_OK) ty_crew_step(&m->crew, n);
  return status;
}

ty_status calibrate_count(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  calibration *m = context;
  const ty_ivf *ivf = m->r->ivf;
  answer *a = &m->answers[task];
  ty_ivf_question q;
  make_query(m, task, m->row[worker], m->query[worker]);
  ty_status status = ty_ivf_question_open(m->r->c, m->query[worker], true, &q, err);
  if (status != TY_OK) return status;
  ty_ivf_outlook *outlook = m->outlook[worker];
  a->lists = a->rows = 0;
  for (uint32_t i = 0; i < ivf->count; i++) {
    const ty_ivf_part *part = &ivf->parts[i];
    double reach = m->part != NULL ? part->reach : part->reach_alone;
    if ((m->part != NULL && m->part != part) || !isfinite(part->reach)) continue;
    ty_ivf_look(&q, part, outlook);
    for (uint32_t l = 0; l < part->nlist; l++) {
      if (a->count != 0 && outlook[l].middle + reach * outlook[l].spread < a->kth) continue;
      a->lists++;
      a->rows += (double)(part->list_starts[l + 1] - part->list_starts[l]);
    }
  }
  ty_ivf_question_close(&q);
  return status;
}
