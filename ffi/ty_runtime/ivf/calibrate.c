/* Measures how far into the spread of its lists a query must reach (probe.c).
 *
 * Rows held out of k-means are used as queries, and the exact result of each is computed once. A true neighbour x in
 * list l is found if the list is read, which it is if middle + reach * spread is at least the k-th best value; so x
 * needs a reach of (value_k - middle) / spread, and recall as a function of reach is a cumulative histogram of such
 * needs: no search is repeated.
 *
 * A second need is that of a row alone, (value_x - middle) / spread. It applies where the value that ends the search
 * comes from elsewhere, the delta or other partitions. Then a partition's nearest few rows matter instead of its ten,
 * and the nearest need most: so the neighbours of each rank must reach the target. A mean over the ten was reached by
 * the far ones: 30,000 x 96 rows of 300 clusters in 20 partitions found 0.89 at a target of 0.95, 29,451 texts 0.91. So
 * with several partitions rows are also used as queries to all of them, as without a filter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf/calibrate.h"

/* Queries of kind REST are run where those of kind RAW read more than this share of a partition. */
#define WIDE 0.10
/* One-sided: the mean recall less this many standard errors must reach the target. */
#define CONFIDENCE 2.33
/* A partition of which queries would read more than this share by lists is read in full, in one run. */
#define ROWS_WORTH_IT 0.67
/* Calibration ends after so many queries if their exact results score more than this share of the rows in f32: then
 * bounds do not separate rows, all queries would take minutes (40,000 rows nearly alike: 26 s), and lists would
 * not help. */
#define TRIED       64u
#define SCORED_MOST 0.25

/* Of queries that may not be needed one in so many is run first. */
#define ASKED_FIRST 4u
/* Approximate queries use bounds by 8-bit codes that are this many times as wide as the widest that one of the
 * neighbours needed. There are 5,000 neighbours or more. */
#define WIDTH_MARGIN 1.5

typedef struct need {
  double reach;
  uint32_t query;
} need;

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
}

/* Cut rows cost as much as whole ones and only raise the reach where whole rows need too little: half as many are
 * enough. */
static uint64_t cut_count(uint64_t held) { return (held + 1) / 2; }

static int by_reach(const void *a, const void *b) {
  const need *x = a, *y = b;
  if (x->reach != y->reach) return x->reach < y->reach ? -1 : 1;
  return (x->query > y->query) - (x->query < y->query);
}

/* The smallest reach at which the mean recall is at least the target, with the margin: of all neighbours by `needs`, or
 * of those of one rank by `alone`. */
#define ALL_RANKS NEIGHBOURS
static double smallest_reach(const calibration *m, int kind, uint64_t asked, uint32_t rank, double target) {
  const answer *answers = m->answers + m->first[kind];
  need *needs = m->needs;
  double sum = 0, squares = 0, queries = 0;
  uint64_t n = 0;
  for (uint64_t i = 0; i < asked; i++) {
    const answer *a = &answers[i];
    m->found[i] = 0;
    if (rank == ALL_RANKS) {
      queries += a->count != 0;
      for (uint32_t j = 0; j < a->count; j++) needs[n++] = (need){a->needs[j], (uint32_t)i};
    } else if (rank < a->count) {
      queries++;
      needs[n++] = (need){a->alone[rank], (uint32_t)i};
    }
  }
  if (n == 0) return 0;
  qsort(needs, (size_t)n, sizeof *needs, by_reach);
  for (uint64_t i = 0; i < n && isfinite(needs[i].reach); i++) {
    double count = rank == ALL_RANKS ? answers[needs[i].query].count : 1;
    double before = m->found[needs[i].query]++;
    sum += 1 / count;
    squares += (2 * before + 1) / (count * count);
    if (i + 1 < n && needs[i + 1].reach == needs[i].reach) continue;
    double mean = sum / queries, variance = squares / queries - mean * mean;
    double error = variance > 0 ? sqrt(variance / queries) : 0;
    if (mean - CONFIDENCE * error >= target - 1e-9) return needs[i].reach;
  }
  return INFINITY;
}

/* Mean numbers of lists and rows that a RAW query reads with the reach found. */
static ty_status count_reading(calibration *m, double *lists, double *rows, ty_error *err) {
  double queries = (double)m->asked[RAW];
  *lists = *rows = 0;
  ty_status status = ty_crew_run(&m->crew, m->asked[RAW], calibrate_count, m, err);
  for (uint64_t i = 0; i < m->asked[RAW] && status == TY_OK; i++) {
    *lists += m->answers[i].lists / queries;
    *rows += m->answers[i].rows / queries;
  }
  return status;
}

static ty_status run_queries(calibration *m, uint64_t from, uint64_t count, ty_error *err) {
  m->asking_from = from;
  m->asking = count;
  return ty_crew_run(&m->crew, (count + ASKED_TOGETHER - 1) / ASKED_TOGETHER, calibrate_ask, m, err);
}

/* Raises the two reaches to what the first `asked` queries of a kind need. */
static void raise_reach(calibration *m, int kind, uint64_t asked, double *together, double *alone) {
  for (uint64_t i = 0; i < asked; i++)
    m->width_share = fmax(m->width_share, m->answers[m->first[kind] + i].width_share);
  for (uint32_t rank = 0; rank <= ALL_RANKS; rank++) {
    double reach = smallest_reach(m, kind, asked, rank, m->r->ivf->target_recall);
    if (rank == ALL_RANKS && reach > *together) *together = reach;
    if (reach > *alone) *alone = reach;
  }
}

/* Runs the rows in m->held as queries of this kind, of which `done` have results already. Kinds after the first can
 * only raise its reach: they end as soon as a sample, with the wider margin of its size, does not raise it. */
static ty_status run_kind(calibration *m, int kind, uint64_t done, double *together, double *alone, ty_error *err) {
  uint64_t all = m->asked[kind], some = kind == RAW ? all : (all + ASKED_FIRST - 1) / ASKED_FIRST;
  for (;; some = some < all / 2 ? 2 * some : all) {
    ty_status status = done < some ? run_queries(m, m->first[kind] + done, some - done, err) : TY_OK;
    if (status != TY_OK) return status;
    double raised = *together, raised_alone = *alone;
    raise_reach(m, kind, some, &raised, &raised_alone);
    if (some < all && (raised > *together || raised_alone > *alone)) {
      done = some;
      continue;
    }
    *together = raised;
    *alone = raised_alone;
    ty_crew_step(&m->crew, all - some);
    return TY_OK;
  }
}

static void hold(calibration *m, ty_ivf_part *part, const uint64_t *rows, uint64_t count) {
  uint64_t at = 0;
  m->part = part;
  m->held = rows;
  for (int kind = 0; kind < QUERY_KINDS; kind++) {
    m->first[kind] = at;
    m->asked[kind] = kind == RAW ? count : cut_count(count);
    at += m->asked[kind];
  }
}

/* Runs a few RAW queries; hopeless: exact ones score a large part of the rows. */
static ty_status try_some(calibration *m, uint64_t *tried, bool *hopeless, ty_error *err) {
  double scored = 0;
  *hopeless = false;
  *tried = 0;
  if (m->asked[RAW] < 2 * TRIED) return TY_OK;
  ty_status status = run_queries(m, 0, TRIED, err);
  *tried = TRIED;
  for (uint32_t i = 0; i < TRIED && status == TY_OK; i++) scored += (double)m->answers[i].scored / TRIED;
  *hopeless = scored > SCORED_MOST * (double)m->filter.count;
  return status;
}

static ty_status calibrate_part(calibration *m, ty_ivf_part *part, ty_error *err) {
  const ty_span *span = &m->r->spans[part->span];
  double together = 0, alone = 0, lists = 0, rows = 0;
  m->width_share = 0;
  part->width_share = 1;
  hold(m, part, part->held, part->held_count);
  ty_filter_span(&m->filter, span->first, span->count);
  bool hopeless;
  uint64_t tried;
  ty_status status = try_some(m, &tried, &hopeless, err);
  part->nprobe = part->nlist;
  part->reach = part->reach_alone = INFINITY;
  if (status != TY_OK || hopeless) return status;
  status = run_kind(m, RAW, tried, &together, &alone, err);
  if (status == TY_OK) status = run_kind(m, CUT, 0, &together, &alone, err);
  part->reach = together;
  part->reach_alone = alone;
  if (status == TY_OK && isfinite(part->reach)) status = count_reading(m, &lists, &rows, err);
  bool wide = rows > WIDE * (double)span->count && m->r->c->metric != TY_L2;
  if (status == TY_OK && wide) {
    m->wide = true;
    status = run_kind(m, REST, 0, &together, &alone, err);
    part->reach = together;
    part->reach_alone = alone;
    if (status == TY_OK && isfinite(part->reach)) status = count_reading(m, &lists, &rows, err);
  } else {
    ty_crew_step(&m->crew, m->asked[REST]);
  }
  if (part->signs.mean != NULL) part->width_share = fmin(1, WIDTH_MARGIN * m->width_share);
  if (status != TY_OK || !isfinite(part->reach)) return status;
  if (rows > ROWS_WORTH_IT * (double)span->count) {
    part->reach = part->reach_alone = INFINITY;
  } else {
    lists = ceil(lists);
    part->nprobe = lists < 1 ? 1 : lists > part->nlist ? part->nlist : (uint32_t)lists;
  }
  return TY_OK;
}

/* Chooses the queries to the whole base: one row from each of equal ranges, but a held one where the part has any. */
static void choose_rows(const calibration *m, uint64_t *rows) {
  uint64_t seed = 0xa110f17ull;
  for (uint64_t i = 0; i < m->base_asked; i++) {
    uint64_t from = m->base->count * i / m->base_asked, to = m->base->count * (i + 1) / m->base_asked;
    rows[i] = from + ty_random(&seed) % (to - from);
    const ty_ivf_part *part = calibrate_part_of(m, rows[i]);
    if (part != NULL && part->held_count != 0) rows[i] = part->held[ty_random(&seed) % part->held_count];
  }
}

/* Queries to several partitions. Their neighbours in a partition are nearer than those of queries to it alone, mostly
 * its first or second, and such a row lies farther from its centroid in the direction of the query than the tenth does.
 * Where most rows would be read the partitions are read in full, which is no slower: 57 % of 30,000 rows by lists took
 * 0.23 ms, all of them 0.26, and 84 % of 29,451 texts as long as all. */
static ty_status calibrate_base(calibration *m, ty_error *err) {
  double reach = 0, together = 0, lists = 0, rows = 0, indexed = 0;
  uint64_t *held = malloc((size_t)(m->base_asked + 1) * sizeof *held);
  if (held == NULL) return no_memory(err);
  choose_rows(m, held);
  hold(m, NULL, held, m->base_asked);
  ty_filter_span(&m->filter, 0, m->base->count);
  ty_status status = TY_OK;
  for (int kind = RAW; kind < (m->wide ? QUERY_KINDS : REST) && status == TY_OK; kind++)
    status = run_kind(m, kind, 0, &together, &reach, err);
  if (!m->wide) ty_crew_step(&m->crew, m->asked[REST]);
  for (uint32_t i = 0; i < m->r->ivf->count; i++) {
    ty_ivf_part *part = &m->r->ivf->parts[i];
    if (part->reach_alone < reach) part->reach_alone = reach;
    if (part->signs.mean != NULL) part->width_share = fmax(part->width_share, fmin(1, WIDTH_MARGIN * m->width_share));
    if (isfinite(part->reach)) indexed += (double)(part->list_starts[part->nlist] - part->list_starts[0]);
  }
  if (status == TY_OK && isfinite(reach)) status = count_reading(m, &lists, &rows, err);
  for (uint32_t i = 0; i < m->r->ivf->count && status == TY_OK; i++) {
    if (rows > ROWS_WORTH_IT * indexed) m->r->ivf->parts[i].reach_alone = INFINITY;
  }
  free(held);
  return status;
}

ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err) {
  if (r->ivf == NULL) return TY_OK;
  ty_status status = TY_OK;
  calibration m = {.r = r, .base = base};
  uint64_t longest = 0, indexed = 0;
  bool measured = false;
  ty_crew_for(&m.crew, r->ivf_threads, &r->phases, TY_PHASE_CALIBRATE);
  for (uint32_t i = 0; i < r->ivf->count; i++) {
    const ty_ivf_part *part = &r->ivf->parts[i];
    if (part->nlist > m.most_lists) m.most_lists = part->nlist;
    indexed += part->list_starts[part->nlist] - part->list_starts[0];
    if (part->held_count > longest) longest = part->held_count;
    m.crew.total += part->held_count + 2 * cut_count(part->held_count);
  }
  if (longest == 0) return TY_OK; /* the old index with its reach is kept */
  if (r->ivf->count > 1 || base->count - indexed > indexed / TY_IVF_OTHERS_SHARE)
    m.base_asked = base->count < TY_IVF_HELD_MAX ? base->count : TY_IVF_HELD_MAX;
  m.crew.total += m.base_asked + 2 * cut_count(m.base_asked);
  if (m.base_asked > longest) longest = m.base_asked;
  uint64_t all = longest + 2 * cut_count(longest);
  ty_arena memory = {0};
  m.answers = ty_arena_take(&memory, all, sizeof *m.answers);
  m.needs = ty_arena_take(&memory, longest * NEIGHBOURS, sizeof *m.needs);
  m.found = ty_arena_take(&memory, longest, sizeof *m.found);
  for (uint32_t i = 0; i < m.crew.threads; i++) {
    m.query[i] = ty_arena_take(&memory, (uint64_t)r->c->dim * ASKED_TOGETHER, sizeof(float));
    m.row[i] = ty_arena_take(&memory, r->c->dim, sizeof(float));
    m.estimates[i] = ty_arena_take(&memory, 2ull * m.most_lists, sizeof(float));
    m.scratch[i] = ty_arena_align(&memory, 2ull * r->c->dim * sizeof(float) + AME_SIGN_BLOCK_BYTES(r->c->dim), 1);
    m.outlook[i] = ty_arena_take(&memory, (uint64_t)m.most_lists * ASKED_TOGETHER, sizeof **m.outlook);
  }
  if (memory.failed) status = no_memory(err);
  for (uint32_t i = 0; i < r->ivf->count && status == TY_OK; i++) {
    if (r->ivf->parts[i].held_count != 0) status = calibrate_part(&m, &r->ivf->parts[i], err);
    measured = measured || isfinite(r->ivf->parts[i].reach);
  }
  if (status == TY_OK && measured && m.base_asked != 0) status = calibrate_base(&m, err);
  ty_arena_free(&memory);
  return status;
}
