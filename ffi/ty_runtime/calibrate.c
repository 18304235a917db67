/* How far into the spread of its lists a question must reach (ivf_probe.c), measured instead of guessed.
 *
 * Rows that k-means did not see are asked as questions, and the exact answer of each is found once. A true neighbour x in list l is found
 * if the list is read, and it is if middle + reach * spread is at least the k-th best value; so the reach that x needs is
 * (value_k - middle) / spread, and recall as a function of reach is a cumulative histogram of such needs: no search is repeated.
 *
 * A second need is that of a row on its own, (value_x - middle) / spread. It counts where the value that ends the reading comes from
 * elsewhere, from the delta or from other partitions. There the nearest few of a partition's rows matter and not its ten, and the nearest
 * need most: the target is required of the neighbours of each rank. A mean over the ten reached it by the far ones: 30,000 x 96 rows of 300
 * clusters in 20 partitions found 0.89 where 0.95 was asked, 29,451 texts 0.91. So where there are several partitions rows are also asked
 * of all of them together, as a question without a filter is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ivf.h"

#define NEIGHBOURS 10u
/* A row is asked as it is, and cut: only a quarter of its coordinates are kept (but 32 at least), as a short question shares only some
 * features with a long text. The reach is the larger of what the two kinds need. On images, clustered rows and texts of 1,024 dimensions
 * it is the rows as they are that need more, and cut ones cost nothing but their calibration. On texts of 256 dimensions they do not: 693
 * real questions at target 0.95 find 0.89 with the reach of whole rows, 0.98 with that of cut ones. A sixteenth of the coordinates needs
 * no more than a quarter. */
#define CUT_SHARE 4u
#define CUT_MIN   32u
/* The third kind is a row less most of its centroid: a short question holds what sets a text apart, and little of what all texts near it
 * share. It is asked only where rows as they are already read more than this share of a partition, which is so where rows lie loosely
 * together. 93 real questions to 11,429 texts of 1,024 dimensions, of which rows read 0.32, find 0.91, 0.957, 0.981 at 0.9, 0.95, 0.98 with
 * the reach that it needs, and 0.895, 0.933, 0.961 without it. On images, of which rows read 0.03, it would triple the rows read, and
 * questions find more than the target as it is. Lengths mean something else for L2: a row less its centroid lies far from all rows. */
#define APART 0.85f
#define WIDE  0.10
enum { RAW, CUT, REST, QUESTION_KINDS };
/* One-sided: the mean recall less this many standard errors must reach the target. */
#define CONFIDENCE 2.33
/* A partition of which questions would read more than this share by lists is read in full, in one run. */
#define ROWS_WORTH_IT 0.67
/* Before all questions are asked, so many are: where their exact answers score more than this share of the rows in f32, no bound tells rows apart,
 * a thousand of them would take minutes (40,000 rows nearly alike: 26 s), and lists would not help. */
#define TRIED       64u
#define SCORED_MOST 0.25

typedef struct need {
  double reach;
  uint32_t question;
} need;

typedef struct answer {
  double kth;         /* the value of the last neighbour */
  uint32_t count;     /* neighbours found */
  double needs[NEIGHBOURS], alone[NEIGHBOURS];
  double lists, rows; /* read at the reach chosen */
  uint64_t scored;    /* rows scored for the exact answer */
} answer;

typedef struct calibration {
  ty_rebase *r;
  const ty_segment *base;
  ty_ivf_part *part; /* whose questions these are; NULL for those of the whole base */
  ty_ivf_crew crew;
  ty_filter filter;
  const uint64_t *held; /* rows asked, by position */
  uint64_t held_count;
  answer *answers; /* of held row i as it is, then of every other one cut, then of every other one cut sharper */
  uint64_t first[QUESTION_KINDS], asked[QUESTION_KINDS];
  uint64_t asking; /* the question that is task 0 of ask_task */
  uint64_t base_asked;
  bool wide; /* some part is */
  need *needs;
  uint32_t *found;
  float *query[TY_IVF_THREADS_MAX], *row[TY_IVF_THREADS_MAX];
  ty_ivf_outlook *outlook[TY_IVF_THREADS_MAX];
} calibration;

/* Rows asked of the whole base: as many as of a large partition, so that this takes about as long as its partitions did. */
#define BASE_ASKED 1000u

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to calibrate the IVF index");
}

/* Cut ones cost as much to ask, and are only there to raise the reach where rows alone would say too little: half as many do. */
static uint64_t cut_count(uint64_t held) { return (held + 1) / 2; }

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

static bool holds(const ty_ivf_part *part, uint64_t at) {
  return at >= part->list_starts[0] && at < part->list_starts[part->nlist];
}

/* The part that holds a position; NULL for a row outside of the index. */
static const ty_ivf_part *part_of(const calibration *m, uint64_t at) {
  for (uint32_t i = 0; i < m->r->ivf->count; i++) {
    if (holds(&m->r->ivf->parts[i], at)) return &m->r->ivf->parts[i];
  }
  return NULL;
}

static int kind_of(const calibration *m, uint64_t i) { return i < m->first[CUT] ? RAW : i < m->first[REST] ? CUT : REST; }

static uint64_t held_row(const calibration *m, uint64_t i) {
  int kind = kind_of(m, i);
  return m->held[kind == RAW ? i : 2 * (i - m->first[kind])];
}

/* Keeps some coordinates by Knuth's selection sampling: exactly so many of them. */
static void cut_row(float *row, uint64_t dim, uint64_t seed) {
  uint64_t kept = dim / CUT_SHARE < CUT_MIN ? CUT_MIN : dim / CUT_SHARE;
  for (uint64_t d = 0; d < dim && dim > CUT_MIN; d++) {
    bool keep = ty_random(&seed) % (dim - d) < kept;
    if (!keep) row[d] = 0;
    kept -= keep;
  }
}

static const float *make_question(const calibration *m, uint64_t i, uint32_t worker) {
  int kind = kind_of(m, i);
  uint64_t dim = m->r->c->dim, at = held_row(m, i);
  float *query = m->query[worker];
  const float *row = ty_row_vector(m->r->c, m->base, at, m->row[worker]);
  const ty_ivf_part *part = kind == REST ? part_of(m, at) : NULL;
  memcpy(query, row, (size_t)dim * sizeof *query);
  if (kind == CUT) cut_row(query, dim, 0xca11b7a7eull + at);
  const float *centroid = part == NULL ? NULL : part->centroids + list_of(part, at) * dim;
  for (uint64_t d = 0; d < dim && centroid != NULL; d++) query[d] -= APART * centroid[d];
  if (m->r->c->metric == TY_COSINE) m->r->c->env->kernel->normalize(query, 1, (size_t)dim);
  return query;
}

static double need_of(const ty_ivf_outlook *o, double value) {
  if (value <= o->middle) return 0;
  return o->spread > 0 ? (value - o->middle) / o->spread : INFINITY;
}

/* Feeds what a question reads of the base, exactly. */
static ty_status feed_all(const calibration *m, const ty_ivf_question *q, ty_scanner *scanner, ty_error *err) {
  if (m->part != NULL) return ty_ivf_feed_exact(q, scanner, m->base, m->part, NEIGHBOURS + 1, err);
  const ty_ivf *ivf = m->r->ivf;
  uint64_t at = 0;
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < ivf->count && status == TY_OK; i++) {
    const ty_ivf_part *part = &ivf->parts[i];
    ty_range before = {m->base, at, part->list_starts[0] - at};
    status = ty_scanner_feed(scanner, &before, err);
    if (status == TY_OK) status = ty_ivf_feed_exact(q, scanner, m->base, part, NEIGHBOURS + 1, err);
    at = part->list_starts[part->nlist];
  }
  ty_range rest = {m->base, at, m->base->count - at};
  return status == TY_OK ? ty_scanner_feed(scanner, &rest, err) : status;
}

/* Adds what the neighbours in a part need. */
static void add_needs(const ty_ivf_question *q, const ty_ivf_part *part, const ty_scored *truth, const double *values,
                      uint32_t count, ty_ivf_outlook *outlook, answer *a) {
  bool looked = false;
  for (uint32_t i = 0; i < count; i++) {
    uint64_t at = truth[i].ref.at;
    if (!holds(part, at)) continue;
    if (!looked) ty_ivf_look(q, part, outlook);
    looked = true;
    const ty_ivf_outlook *o = &outlook[list_of(part, at)];
    a->needs[a->count] = need_of(o, values[count - 1]);
    a->alone[a->count++] = need_of(o, values[i]);
  }
}

static ty_status ask_task(void *context, uint64_t task, uint32_t worker, ty_error *err) {
  calibration *m = context;
  const ty_collection *c = m->r->c;
  uint64_t number = m->asking + task, at = held_row(m, number), count = 0;
  answer *a = &m->answers[number];
  const float *query = make_question(m, number, worker);
  ty_scored *truth = NULL;
  ty_scanner *scanner = NULL;
  ty_ivf_question q;
  ty_status status = ty_ivf_question_open(c, query, &q, err);
  if (status == TY_OK)
    status = ty_scanner_open(c, m->base, NULL, query, NEIGHBOURS + 1, m->filter.count, &m->filter, &scanner, err);
  if (status == TY_OK) status = feed_all(m, &q, scanner, err);
  if (status == TY_OK) status = ty_scanner_answer(scanner, &truth, &count, err);
  if (status != TY_OK) goto done;
  double values[NEIGHBOURS];
  uint32_t found = 0;
  for (uint64_t i = 0; i < count && found < NEIGHBOURS; i++) {
    if (truth[i].ref.at == at) continue; /* the row itself */
    double score = (double)truth[i].score;
    values[found] = c->metric == TY_L2 ? (score + q.squares) / 2 : score;
    truth[found++] = truth[i];
  }
  if (found > 0) a->kth = values[found - 1];
  a->scored = ty_scanner_counts(scanner).scored;
  if (m->part != NULL) {
    add_needs(&q, m->part, truth, values, found, m->outlook[worker], a);
  } else {
    for (uint32_t i = 0; i < m->r->ivf->count; i++) {
      const ty_ivf_part *part = &m->r->ivf->parts[i];
      if (isfinite(part->reach)) add_needs(&q, part, truth, values, found, m->outlook[worker], a);
    }
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
  const ty_ivf *ivf = m->r->ivf;
  answer *a = &m->answers[task];
  ty_ivf_question q;
  ty_status status = ty_ivf_question_open(m->r->c, make_question(m, task, worker), &q, err);
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

static int by_reach(const void *a, const void *b) {
  const need *x = a, *y = b;
  if (x->reach != y->reach) return x->reach < y->reach ? -1 : 1;
  return (x->question > y->question) - (x->question < y->question);
}

/* The smallest reach at which the mean recall is at least the target, with the margin: of all neighbours by what they need together, or of
 * the neighbours of one rank by what each needs alone. */
#define ALL_RANKS NEIGHBOURS
static double smallest_reach(const calibration *m, int kind, uint32_t rank, double target) {
  const answer *answers = m->answers + m->first[kind];
  need *needs = m->needs;
  double sum = 0, squares = 0, questions = 0;
  uint64_t n = 0;
  for (uint64_t i = 0; i < m->asked[kind]; i++) {
    const answer *a = &answers[i];
    m->found[i] = 0;
    if (rank == ALL_RANKS) {
      questions += a->count != 0;
      for (uint32_t j = 0; j < a->count; j++) needs[n++] = (need){a->needs[j], (uint32_t)i};
    } else if (rank < a->count) {
      questions++;
      needs[n++] = (need){a->alone[rank], (uint32_t)i};
    }
  }
  if (n == 0) return 0;
  qsort(needs, (size_t)n, sizeof *needs, by_reach);
  for (uint64_t i = 0; i < n && isfinite(needs[i].reach); i++) {
    double count = rank == ALL_RANKS ? answers[needs[i].question].count : 1;
    double before = m->found[needs[i].question]++;
    sum += 1 / count;
    squares += (2 * before + 1) / (count * count);
    if (i + 1 < n && needs[i + 1].reach == needs[i].reach) continue;
    double mean = sum / questions, variance = squares / questions - mean * mean;
    double error = variance > 0 ? sqrt(variance / questions) : 0;
    if (mean - CONFIDENCE * error >= target - 1e-9) return needs[i].reach;
  }
  return INFINITY;
}

/* What one question of a row as it is reads, on average, by the reach found. */
static ty_status count_reading(calibration *m, double *lists, double *rows, ty_error *err) {
  double questions = (double)m->asked[RAW];
  *lists = *rows = 0;
  ty_status status = ty_ivf_crew_run(&m->crew, m->asked[RAW], count_task, m, err);
  for (uint64_t i = 0; i < m->asked[RAW] && status == TY_OK; i++) {
    *lists += m->answers[i].lists / questions;
    *rows += m->answers[i].rows / questions;
  }
  return status;
}

/* Asks the rows in m->held as these kinds of questions; raises what they need together, and the neighbours of each rank alone. */
static ty_status ask_kinds(calibration *m, int from, int to, double *together, double *alone, ty_error *err) {
  double target = m->r->ivf->target_recall;
  uint64_t first = m->first[from], count = m->first[to - 1] + m->asked[to - 1] - first;
  memset(m->answers + first, 0, (size_t)count * sizeof *m->answers);
  m->asking = first;
  ty_status status = ty_ivf_crew_run(&m->crew, count, ask_task, m, err);
  for (int kind = from; kind < to && status == TY_OK; kind++) {
    for (uint32_t rank = 0; rank <= ALL_RANKS; rank++) {
      double reach = smallest_reach(m, kind, rank, target);
      if (rank == ALL_RANKS && reach > *together) *together = reach;
      if (reach > *alone) *alone = reach;
    }
  }
  return status;
}

static void hold(calibration *m, ty_ivf_part *part, const uint64_t *rows, uint64_t count) {
  uint64_t at = 0;
  m->part = part;
  m->held = rows;
  m->held_count = count;
  for (int kind = 0; kind < QUESTION_KINDS; kind++) {
    m->first[kind] = at;
    m->asked[kind] = kind == RAW ? count : cut_count(count);
    at += m->asked[kind];
  }
}

/* Whether an exact question has to score a good part of the rows. */
static ty_status try_some(calibration *m, bool *hopeless, ty_error *err) {
  double scored = 0;
  *hopeless = false;
  if (m->asked[RAW] < 2 * TRIED) return TY_OK;
  memset(m->answers, 0, TRIED * sizeof *m->answers);
  m->asking = 0;
  ty_status status = ty_ivf_crew_run(&m->crew, TRIED, ask_task, m, err);
  for (uint32_t i = 0; i < TRIED; i++) scored += (double)m->answers[i].scored / TRIED;
  *hopeless = scored > SCORED_MOST * (double)m->filter.count;
  return status;
}

static ty_status calibrate_part(calibration *m, ty_ivf_part *part, ty_error *err) {
  const ty_span *span = &m->r->spans[part->span];
  double together = 0, alone = 0, lists = 0, rows = 0;
  hold(m, part, part->held, part->held_count);
  ty_filter_span(&m->filter, span->first, span->count);
  bool hopeless;
  ty_status status = try_some(m, &hopeless, err);
  part->nprobe = part->nlist;
  part->reach = part->reach_alone = INFINITY;
  if (status != TY_OK || hopeless) return status;
  status = ask_kinds(m, RAW, REST, &together, &alone, err);
  part->reach = together;
  part->reach_alone = alone;
  if (status == TY_OK && isfinite(part->reach)) status = count_reading(m, &lists, &rows, err);
  bool wide = rows > WIDE * (double)span->count && m->r->c->metric != TY_L2;
  if (status == TY_OK && wide) {
    m->wide = true;
    status = ask_kinds(m, REST, QUESTION_KINDS, &together, &alone, err);
    part->reach = together;
    part->reach_alone = alone;
    if (status == TY_OK && isfinite(part->reach)) status = count_reading(m, &lists, &rows, err);
  } else {
    ty_ivf_crew_step(&m->crew, m->asked[REST]);
  }
  if (status != TY_OK || !isfinite(part->reach)) return status;
  if (rows > ROWS_WORTH_IT * (double)span->count) {
    part->reach = part->reach_alone = INFINITY;
  } else {
    lists = ceil(lists);
    part->nprobe = lists < 1 ? 1 : lists > part->nlist ? part->nlist : (uint32_t)lists;
  }
  return TY_OK;
}

/* The rows that are asked of the whole base: one from each of equal runs of it, but held ones where the part has any. */
static void choose_rows(const calibration *m, uint64_t *rows) {
  uint64_t seed = 0xa110f17ull;
  for (uint64_t i = 0; i < m->base_asked; i++) {
    uint64_t from = m->base->count * i / m->base_asked, to = m->base->count * (i + 1) / m->base_asked;
    rows[i] = from + ty_random(&seed) % (to - from);
    const ty_ivf_part *part = part_of(m, rows[i]);
    if (part != NULL && part->held_count != 0) rows[i] = part->held[ty_random(&seed) % part->held_count];
  }
}

/* Questions that several partitions answer. The neighbours that a partition holds of them are nearer than those that it holds of questions
 * to it alone, its first or second mostly, and such a row lies farther from its centroid in the direction of the question than its tenth
 * does. Where most rows would be read anyway the partitions are read in full, which is no slower: 57 % of 30,000 rows by lists took 0.23 ms,
 * all of them 0.26, and 84 % of 29,451 texts as long as all. */
static ty_status calibrate_base(calibration *m, ty_error *err) {
  double reach = 0, together = 0, lists = 0, rows = 0, indexed = 0;
  uint64_t *held = malloc((size_t)(m->base_asked + 1) * sizeof *held);
  if (held == NULL) return no_memory(err);
  choose_rows(m, held);
  hold(m, NULL, held, m->base_asked);
  ty_filter_span(&m->filter, 0, m->base->count);
  ty_status status = ask_kinds(m, RAW, m->wide ? QUESTION_KINDS : REST, &together, &reach, err);
  if (!m->wide) ty_ivf_crew_step(&m->crew, m->asked[REST]);
  for (uint32_t i = 0; i < m->r->ivf->count; i++) {
    ty_ivf_part *part = &m->r->ivf->parts[i];
    if (part->reach_alone < reach) part->reach_alone = reach;
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
  uint32_t most = 1;
  bool measured = false;
  ty_ivf_crew_for(&m.crew, r, TY_PHASE_CALIBRATE);
  for (uint32_t i = 0; i < r->ivf->count; i++) {
    const ty_ivf_part *part = &r->ivf->parts[i];
    most = part->nlist > most ? part->nlist : most;
    indexed += part->list_starts[part->nlist] - part->list_starts[0];
    if (part->held_count > longest) longest = part->held_count;
    m.crew.total += part->held_count + 2 * cut_count(part->held_count);
  }
  if (longest == 0) return TY_OK; /* kept, with its reach */
  if (r->ivf->count > 1 || base->count - indexed > indexed / TY_IVF_OTHERS_SHARE)
    m.base_asked = base->count < BASE_ASKED ? base->count : BASE_ASKED;
  m.crew.total += m.base_asked + 2 * cut_count(m.base_asked);
  if (m.base_asked > longest) longest = m.base_asked;
  uint64_t all = longest + 2 * cut_count(longest);
  m.answers = malloc((size_t)all * sizeof *m.answers);
  m.needs = malloc((size_t)longest * NEIGHBOURS * sizeof *m.needs);
  m.found = malloc((size_t)longest * sizeof *m.found);
  bool fits = m.answers != NULL && m.needs != NULL && m.found != NULL;
  for (uint32_t i = 0; i < m.crew.threads; i++) {
    m.query[i] = malloc(r->c->dim * sizeof(float));
    m.row[i] = malloc(r->c->dim * sizeof(float));
    m.outlook[i] = malloc(most * sizeof **m.outlook);
    fits = fits && m.query[i] != NULL && m.row[i] != NULL && m.outlook[i] != NULL;
  }
  if (!fits) status = no_memory(err);
  for (uint32_t i = 0; i < r->ivf->count && status == TY_OK; i++) {
    if (r->ivf->parts[i].held_count != 0) status = calibrate_part(&m, &r->ivf->parts[i], err);
    measured = measured || isfinite(r->ivf->parts[i].reach);
  }
  if (status == TY_OK && measured && m.base_asked != 0) status = calibrate_base(&m, err);
  for (uint32_t i = 0; i < m.crew.threads; i++) {
    free(m.query[i]);
    free(m.row[i]);
    free(m.outlook[i]);
  }
  free(m.answers);
  free(m.needs);
  free(m.found);
  return status;
}
