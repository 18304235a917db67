/* How far into the spread of its lists a question must reach (ivf_probe.c), measured instead of guessed.
 *
 * Rows that k-means did not see are asked as questions, and the exact answer of each is found once. A true neighbour x in list l is found
 * if the list is read, and it is if middle + reach * spread is at least the k-th best value; so the reach that x needs is
 * (value_k - middle) / spread, and recall as a function of reach is a cumulative histogram of such needs: no search is repeated.
 *
 * A second need is that of a row on its own, (value_x - middle) / spread. It counts where the value that ends the reading is the row's own
 * or one from elsewhere: fewer than ten answers are asked, or several partitions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf.h"

#define NEIGHBOURS 10u
/* A row is asked as it is, and cut: only a quarter of its coordinates are kept (but 32 at least), as a short question shares only some
 * features with a long text. The reach is the larger of what the two kinds need. On images, clustered rows and texts of 1,024 dimensions
 * it is the rows as they are that need more, and cut ones cost nothing but their calibration. On texts of 256 dimensions they do not: 693
 * real questions at target 0.95 find 0.89 with the reach of whole rows, 0.98 with that of cut ones. */
#define CUT_SHARE 4u
#define CUT_MIN   32u
enum { RAW, CUT, QUESTION_KINDS };
/* One-sided: the mean recall less this many standard errors must reach the target. */
#define CONFIDENCE 2.33
/* A partition of which questions would read more than this share by lists is read in full, in one run. */
#define ROWS_WORTH_IT 0.67

typedef struct need {
  double reach;
  uint32_t question;
} need;

typedef struct answer {
  double kth;         /* the value of the last neighbour */
  uint32_t count;     /* neighbours found */
  double needs[NEIGHBOURS], alone[NEIGHBOURS];
  double lists, rows; /* read at the reach chosen */
} answer;

typedef struct calibration {
  ty_rebase *r;
  const ty_segment *base;
  ty_ivf_part *part;
  ty_ivf_crew crew;
  ty_filter filter;
  answer *answers;    /* of held row i as it is, then of every other one cut */
  uint64_t asked[QUESTION_KINDS];
  float *query[TY_IVF_THREADS_MAX], *row[TY_IVF_THREADS_MAX];
  ty_ivf_outlook *outlook[TY_IVF_THREADS_MAX];
} calibration;

/* Cut ones cost as much to ask, and are only there to raise the reach where rows alone would say too little: half as many do. */
static uint64_t cut_count(uint64_t held) { return (held + 1) / 2; }

static uint64_t held_row(const calibration *m, uint64_t i) {
  return m->part->held[i < m->asked[RAW] ? i : 2 * (i - m->asked[RAW])];
}

static const float *make_question(const calibration *m, uint64_t i, uint32_t worker) {
  uint64_t dim = m->r->c->dim, at = held_row(m, i), seed = 0xca11b7a7eull + at;
  uint64_t kept = dim / CUT_SHARE < CUT_MIN ? CUT_MIN : dim / CUT_SHARE;
  float *query = m->query[worker];
  const float *row = ty_row_vector(m->r->c, m->base, at, m->row[worker]);
  bool cut = i >= m->asked[RAW] && dim > CUT_MIN;
  for (uint64_t d = 0; d < dim; d++) { /* Knuth's selection sampling: exactly `kept` of them */
    bool keep = !cut || ty_random(&seed) % (dim - d) < kept;
    query[d] = keep ? row[d] : 0;
    kept -= cut && keep;
  }
  if (m->r->c->metric == TY_COSINE) m->r->c->env->kernel->normalize(query, 1, (size_t)dim);
  return query;
}

static uint32_t list_of(const ty_ivf_part *part, uint64_t at) {
  uint32_t low = 0, high = part->nlist; /* the last list that starts at or before `at` */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (part->list_starts[middle] <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static double need_of(const ty_ivf_outlook *o, double value) {
  if (value <= o->middle) return 0;
  return o->spread > 0 ? (value - o->middle) / o->spread : INFINITY;
}

static ty_status ask_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  calibration *m = context;
  const ty_collection *c = m->r->c;
  const ty_ivf_part *part = m->part;
  answer *a = &m->answers[task];
  const float *query = make_question(m, task, worker);
  uint64_t at = held_row(m, task), count = 0;
  ty_scored *truth = NULL;
  ty_scanner *scanner = NULL;
  ty_ivf_question q;
  ty_status status = ty_ivf_question_open(c, query, &q, err);
  if (status == TY_OK)
    status = ty_scanner_open(c, m->base, NULL, query, NEIGHBOURS + 1, m->filter.count, &m->filter, &scanner, err);
  if (status == TY_OK) status = ty_ivf_feed_exact(&q, scanner, m->base, part, NEIGHBOURS + 1, err);
  if (status == TY_OK) status = ty_scanner_answer(scanner, &truth, &count, err);
  if (status != TY_OK) goto done;
  ty_ivf_look(&q, part, m->outlook[worker]);
  double values[NEIGHBOURS];
  uint32_t lists[NEIGHBOURS];
  for (uint64_t i = 0; i < count && a->count < NEIGHBOURS; i++) {
    if (truth[i].ref.at == at) continue; /* the row itself */
    double score = (double)truth[i].score;
    values[a->count] = c->metric == TY_L2 ? (score + q.squares) / 2 : score;
    lists[a->count++] = list_of(part, truth[i].ref.at);
  }
  if (a->count > 0) a->kth = values[a->count - 1];
  for (uint32_t i = 0; i < a->count; i++) {
    a->needs[i] = need_of(&m->outlook[worker][lists[i]], a->kth);
    a->alone[i] = need_of(&m->outlook[worker][lists[i]], values[i]);
  }
  ty_ivf_crew_step(&m->crew, 1);
done:
  ty_scanner_close(scanner);
  ty_ivf_question_close(&q);
  free(truth);
  return status;
}

static ty_status count_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  calibration *m = context;
  const ty_ivf_part *part = m->part;
  answer *a = &m->answers[task];
  ty_ivf_question q;
  ty_status status =
      ty_ivf_question_open(m->r->c, make_question(m, task, worker), &q, err);
  if (status != TY_OK) return status;
  ty_ivf_outlook *outlook = m->outlook[worker];
  ty_ivf_look(&q, part, outlook);
  for (uint32_t l = 0; l < part->nlist; l++) {
    if (a->count != 0 && outlook[l].middle + part->reach * outlook[l].spread < a->kth) continue;
    a->lists++;
    a->rows += (double)(part->list_starts[l + 1] - part->list_starts[l]);
  }
  ty_ivf_question_close(&q);
  return status;
}

static int by_reach(const void *a, const void *b) {
  const need *x = a, *y = b;
  if (x->reach != y->reach) return x->reach < y->reach ? -1 : 1;
  return (x->question > y->question) - (x->question < y->question);
}

/* The smallest reach at which the mean recall is at least the target, with the margin. */
static double smallest_reach(const calibration *m, int kind, bool alone, need *needs, uint32_t *found, double target) {
  const answer *answers = m->answers + (kind == CUT ? m->asked[RAW] : 0);
  double sum = 0, squares = 0, questions = 0;
  uint64_t n = 0;
  for (uint64_t i = 0; i < m->asked[kind]; i++) {
    const answer *a = &answers[i];
    found[i] = 0;
    questions += a->count != 0;
    for (uint32_t j = 0; j < a->count; j++) needs[n++] = (need){alone ? a->alone[j] : a->needs[j], (uint32_t)i};
  }
  qsort(needs, (size_t)n, sizeof *needs, by_reach);
  for (uint64_t i = 0; i < n && isfinite(needs[i].reach); i++) {
    double count = answers[needs[i].question].count;
    double before = found[needs[i].question]++;
    sum += 1 / count;
    squares += (2 * before + 1) / (count * count);
    if (i + 1 < n && needs[i + 1].reach == needs[i].reach) continue;
    double mean = sum / questions, variance = squares / questions - mean * mean;
    double error = variance > 0 ? sqrt(variance / questions) : 0;
    if (mean - CONFIDENCE * error >= target - 1e-9) return needs[i].reach;
  }
  return INFINITY;
}

/* What questions of rows as they are read at the part's reach. */
static ty_status count_lists(calibration *m, ty_error *err) {
  ty_ivf_part *part = m->part;
  double questions = (double)m->asked[RAW], lists = 0, rows = 0;
  part->nprobe = part->nlist;
  if (!isfinite(part->reach)) return TY_OK;
  ty_status status = ty_ivf_crew_run(&m->crew, m->asked[RAW], count_task, m, err);
  if (status != TY_OK) return status;
  for (uint64_t i = 0; i < m->asked[RAW]; i++) {
    lists += m->answers[i].lists;
    rows += m->answers[i].rows;
  }
  if (rows > ROWS_WORTH_IT * (double)m->filter.count * questions) {
    part->reach = part->reach_alone = INFINITY;
    return TY_OK;
  }
  double mean = ceil(lists / questions);
  part->nprobe = mean < 1 ? 1 : mean > part->nlist ? part->nlist : (uint32_t)mean;
  return TY_OK;
}

static ty_status calibrate_part(calibration *m, ty_error *err) {
  ty_ivf_part *part = m->part;
  const ty_span *span = &m->r->spans[part->span];
  double target = m->r->ivf->target_recall, most[2] = {0, 0};
  ty_filter_span(&m->filter, span->first, span->count);
  m->asked[RAW] = part->held_count;
  m->asked[CUT] = cut_count(part->held_count);
  uint64_t all = m->asked[RAW] + m->asked[CUT];
  m->answers = calloc((size_t)all + 1, sizeof *m->answers);
  need *needs = malloc((size_t)(all + 1) * NEIGHBOURS * sizeof *needs);
  uint32_t *found = malloc((size_t)(all + 1) * sizeof *found);
  ty_status status = TY_OK;
  if (m->answers == NULL || needs == NULL || found == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
    goto done;
  }
  status = ty_ivf_crew_run(&m->crew, all, ask_task, m, err);
  if (status != TY_OK) goto done;
  for (int kind = 0; kind < QUESTION_KINDS; kind++) {
    for (int alone = 0; alone < 2; alone++) {
      double reach = smallest_reach(m, kind, alone == 1, needs, found, target);
      if (reach > most[alone]) most[alone] = reach;
    }
  }
  part->reach = most[0];
  part->reach_alone = most[1] > most[0] ? most[1] : most[0];
  status = count_lists(m, err);
done:
  free(m->answers);
  free(needs);
  free(found);
  return status;
}

ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err) {
  if (r->ivf == NULL) return TY_OK;
  ty_status status = TY_OK;
  calibration m = {.r = r, .base = base};
  uint32_t most = 1;
  ty_ivf_crew_init(&m.crew, r->ivf_threads, r->progress);
  for (uint32_t i = 0; i < r->ivf->count; i++) {
    const ty_ivf_part *part = &r->ivf->parts[i];
    most = part->nlist > most ? part->nlist : most;
    m.crew.total += part->held_count + cut_count(part->held_count);
  }
  bool fits = true;
  for (uint32_t i = 0; i < m.crew.threads; i++) {
    m.query[i] = malloc(r->c->dim * sizeof(float));
    m.row[i] = malloc(r->c->dim * sizeof(float));
    m.outlook[i] = malloc(most * sizeof **m.outlook);
    fits = fits && m.query[i] != NULL && m.row[i] != NULL && m.outlook[i] != NULL;
  }
  if (!fits) status = ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
  for (uint32_t i = 0; i < r->ivf->count && status == TY_OK; i++) {
    m.part = &r->ivf->parts[i];
    if (m.part->held_count != 0) status = calibrate_part(&m, err); /* else: kept, with its reach */
  }
  for (uint32_t i = 0; i < m.crew.threads; i++) {
    free(m.query[i]);
    free(m.row[i]);
    free(m.outlook[i]);
  }
  return status;
}
