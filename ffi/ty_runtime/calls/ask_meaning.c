/* Ranks by meaning as well: the sentence encoder's vectors find rows that say the same in other words.
 *
 * A row's score becomes (1 - w) F + w z. F is its fused score by the other rankings. z is its cosine with the question,
 * brought to mean 0 and deviation 1 over the TY_FUSE_HEAD rows with the highest cosines; a row that is not among these
 * has the lowest z of them. w is small where a row has the question's words. It is 0 where the question or the rows are
 * not English prose, which is all that the encoder knows:
 *
 *   w    = gate * (W_LEAST + (h - W_LEAST) * clamp((C_HIGH - c) / (C_HIGH - C_LOW)))
 *   h    = W_FEW up to FEW_ROWS rows, falling with their logarithm to W_MANY at MANY_ROWS
 *   c    = the share of the question's words, by idf and worth, that a row has: the best of the first C_ROWS by words
 *   gate = the question's * clamp((the mean of the gates of the rows searched - GATE_LOW) / (GATE_HIGH - GATE_LOW))
 *
 * Without the gates a set of commit messages over code fell from .696 to .55 nDCG@10. */
#include <math.h>
#include <stdlib.h>

#include "calls/ask_run.h"
#include "os/numbers.h"
#include "state/meanings.h"

/* w for a question whose words a row has. */
#define W_LEAST 0.2
/* w for a question whose words no row has: among few rows, and among many. */
#define W_FEW     0.85
#define W_MANY    0.5
#define FEW_ROWS  200.0
#define MANY_ROWS 4000.0
/* w is W_LEAST if c is C_HIGH or more, and h if c is C_LOW or less. */
#define C_HIGH 0.4
#define C_LOW  0.1
/* Rows by words whose shares are computed. */
#define C_ROWS 10u
/* The whole question weighs at most as much as so many words that no row has. A long question says the same thing more
 * than once, so a row need not have all of its words. */
#define C_WORDS 3
/* A gate of an ame_encoding that is 1 in the formula. */
#define GATE_MAX 255.0
/* Mean gates of rows. Up to GATE_LOW meaning is left out: German texts and code have .10. From GATE_HIGH on it has its
 * whole weight: notes of which some have code have .85. */
#define GATE_LOW  0.2
#define GATE_HIGH 0.8
/* Positions that are selected at a time: their records, 36 KB, stay in the cache between the two loops. */
#define SCAN_ROWS 256u

typedef struct scan {
  const ty_ask_part *part; /* whose rows are scanned, by: */
  ty_meaning_view view;
  ame_encoding question;
  ame_topk best;
  uint64_t rows, gates; /* rows with a vector that are searched; the sum of their gates */
  uint16_t offsets[SCAN_ROWS];
  uint32_t at[SCAN_ROWS], places[SCAN_ROWS];
  int32_t dots[SCAN_ROWS];
  ame_hit hits[SCAN_ROWS];
} scan;

static void scan_step(scan *s, const ty_segment *segment, uint64_t first, uint32_t count) {
  const ty_collection *c = s->part->c;
  uint32_t found = ty_filter_select(&s->part->filter, segment, first, count, s->offsets), n = 0, hits = 0;
  ty_place before = segment->is_base ? 0 : (ty_place)c->base.count;
  for (uint32_t i = 0; i < found; i++) {
    ty_place place = before + (ty_place)(first + s->offsets[i]);
    if (place >= s->view.places || s->view.at[place] == 0) continue;
    s->at[n] = s->view.at[place];
    s->places[n++] = place;
  }
  c->env->kernel->dot_records(s->question.codes, s->view.base, s->at, n, s->dots);
  /* Most rows score less than the worst of the best so far. Their births are not read. */
  const float least = s->best.count < s->best.k ? -INFINITY : s->best.items[0].score;
  uint32_t gates = 0;
  for (uint32_t i = 0; i < n; i++) {
    const ame_encoding *row = ty_meaning_of(&s->view, s->places[i]);
    const float score = (float)s->dots[i] * row->scale;
    gates += row->gate;
    if (row->gate == 0 || score < least) continue;
    ty_ref ref = ty_ref_of(c, s->places[i]);
    s->hits[hits++] = (ame_hit){s->part->births + ref.segment->birth[ref.at], score, s->places[i]};
  }
  s->rows += n;
  s->gates += gates;
  c->env->kernel->topk_offer(&s->best, s->hits, hits);
}

static void scan_rows(scan *s, const ty_segment *segment, uint64_t first, uint64_t count) {
  for (uint64_t at = first, end = first + count; at < end;) {
    at = ty_filter_next(&s->part->filter, segment, at, end);
    uint32_t n = end - at < SCAN_ROWS ? (uint32_t)(end - at) : SCAN_ROWS;
    if (n > 0) scan_step(s, segment, at, n);
    at += n;
  }
}

static double clamp(double v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

/* Sums the weights of the question's words that a row has. Of several substitutes of one word only the heaviest counts.
 */
static ty_status row_coverage(ty_ask_row row, double *out, ty_error *err) {
  const question *q = &row.part->words;
  double best[TY_UNKNOWN_MOST] = {0}, sum = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = &q->terms[i];
    uint32_t tf;
    if (t->information <= 0) continue;
    ty_status status = ty_question_tf(q, row.ref, t, &tf, err);
    if (ty_ask_run_in(row.part, status) != TY_OK) return status;
    if (tf == 0) continue;
    if (t->instead == TY_NO_TERM) sum += t->information;
    else if (t->information > best[t->instead]) best[t->instead] = t->information;
  }
  for (uint32_t i = 0; i < q->unknown_count; i++) sum += best[i];
  *out = sum;
  return TY_OK;
}

/* c of the formula. */
static ty_status best_coverage(const ty_ask_run *x, double *out, ty_error *err) {
  const question *q = x->words;
  double most = C_WORDS * ty_question_unknown(q), all = q->information < most ? q->information : most, best = 0;
  for (uint64_t i = 0; i < x->ranked[1] && i < C_ROWS; i++) {
    double sum;
    ty_status status = row_coverage(ty_ask_run_listed(x, true, i), &sum, err);
    if (status != TY_OK) return status;
    if (sum > best) best = sum;
  }
  *out = all > 0 ? best / all : 0;
  return TY_OK;
}

static ty_status weight_of(const ty_ask_run *x, const scan *s, double *out, ty_error *err) {
  double c, rows = (double)s->rows, mean = (double)s->gates / rows / GATE_MAX;
  double gate = (double)s->question.gate / GATE_MAX * clamp((mean - GATE_LOW) / (GATE_HIGH - GATE_LOW));
  *out = 0;
  if (gate <= 0) return TY_OK;
  double h = W_FEW + (W_MANY - W_FEW) * clamp(ty_ln(rows / FEW_ROWS) / ty_ln(MANY_ROWS / FEW_ROWS));
  ty_status status = best_coverage(x, &c, err);
  if (status == TY_OK) *out = gate * (W_LEAST + (h - W_LEAST) * clamp((C_HIGH - c) / (C_HIGH - C_LOW)));
  return status;
}

/* By birth, for a search among them. */
static int by_birth(const void *a, const void *b) {
  const ty_meaning_hit *x = a, *y = b;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

ty_meaning_hit *ty_ask_run_meant(const ty_ask_run *x, uint64_t birth) {
  if (x->meant_count == 0) return NULL;
  return bsearch(&(ty_meaning_hit){.birth = birth}, x->meant, (size_t)x->meant_count, sizeof *x->meant, by_birth);
}

/* Whether the row of a hit has its birth: births of a damaged file may lead to another part. */
static bool is_of(const ty_ask_part *part, const ame_hit *hit) {
  if (hit->position >= ty_total_rows(part->c)) return false;
  ty_ref ref = ty_ref_of(part->c, (ty_place)hit->position);
  return part->births + ref.segment->birth[ref.at] == hit->row;
}

/* Stores the ranking, and what mixes it in. False: out of memory. */
static bool store_ranking(ty_ask_run *x, const scan *s, double weight) {
  uint64_t n = 0;
  float scale = s->question.scale;
  x->meant = malloc((size_t)s->best.count * sizeof *x->meant);
  if (x->meant == NULL) return false;
  for (uint64_t i = 0; i < s->best.count; i++) {
    const ame_hit *hit = &s->best.items[i];
    const ty_ask_part *part = ty_ask_run_part(x, hit->row);
    if (!is_of(part, hit)) continue;
    const uint32_t number = (uint32_t)(part - x->parts);
    x->meant[n++] = (ty_meaning_hit){hit->row, (double)(hit->score * scale), (ty_place)hit->position, number, false};
  }
  x->meant_count = n;
  if (n == 0) return true;
  double sum = 0, squares = 0, lowest = x->meant[n - 1].score;
  for (uint64_t i = 0; i < n; i++) sum += x->meant[i].score;
  double mean = sum / (double)n;
  for (uint64_t i = 0; i < n; i++) squares += (x->meant[i].score - mean) * (x->meant[i].score - mean);
  double deviation = sqrt(squares / (double)n);
  x->meaning = (ty_fuse_scale){lowest, mean, deviation > 0 ? deviation : 1};
  qsort(x->meant, (size_t)n, sizeof *x->meant, by_birth);
  x->a->by_meaning = 1;
  x->a->meaning_weight = weight;
  return true;
}

/* Mixes a fused score with the cosine of the row. `hit` NULL: the ranking lacks the row, and the lowest cosine counts.
 */
static double mixed(const ty_ask_run *x, double fused, const ty_meaning_hit *hit) {
  const double z = ((hit == NULL ? x->meaning.lowest : hit->score) - x->meaning.mean) / x->meaning.deviation;
  return (1 - x->a->meaning_weight) * fused + x->a->meaning_weight * z;
}

double ty_ask_run_with_meaning(const ty_ask_run *x, double fused, uint64_t birth) {
  return x->meant_count == 0 ? fused : mixed(x, fused, ty_ask_run_meant(x, birth));
}

void ty_ask_run_mix_meaning(ty_ask_run *x) {
  const uint64_t known = x->count;
  if (x->meant_count == 0) return;
  for (uint64_t i = 0; i < known; i++) {
    ty_meaning_hit *hit = ty_ask_run_meant(x, x->fused[i].row.birth);
    if (hit != NULL) hit->listed = true;
    x->fused[i].row.score = mixed(x, x->fused[i].row.score, hit);
  }
  for (uint64_t i = 0; i < x->meant_count; i++) {
    const ty_meaning_hit *hit = &x->meant[i];
    const double score = mixed(x, x->least, hit);
    if (!hit->listed) x->fused[x->count++] = (ty_fused){{hit->birth, score}, UINT64_MAX, UINT64_MAX};
  }
  x->least = mixed(x, x->least, NULL);
}

static ty_status encode(const ty_ask_run *x, ame_encoding *out, ty_error *err) {
  const ame_kernel *k = x->env->kernel;
  void *scratch = aligned_alloc(64, (k->encoder_scratch() + 63) & ~(size_t)63);
  if (scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to encode a query");
  k->encode(atomic_load(&x->env->model), AME_ENCODE_QUESTION, x->a->text, (size_t)x->a->text_bytes, scratch, NULL, out);
  free(scratch);
  return TY_OK;
}

static ty_status rank_by_meaning(ty_ask_run *x, scan *s, ty_error *err) {
  ame_hit hits[TY_FUSE_HEAD];
  double w;
  s->best = (ame_topk){hits, TY_FUSE_HEAD, 0};
  ty_status status = encode(x, &s->question, err);
  if (status != TY_OK || s->question.gate == 0) return status;
  for (uint64_t i = 0; i < x->n; i++) {
    const ty_ask_part *part = &x->parts[i];
    s->part = part;
    s->view = ty_meaning_view_of(part->c);
    if (part->filter.none || s->view.at == NULL) continue;
    scan_rows(s, &part->c->base, part->filter.first, part->filter.count);
    scan_rows(s, &part->c->delta, 0, part->c->delta.count);
    /* Pages of a file that is truncated while it is read become zeros. Then the answer is made without it. */
    if (ty_meaning_check_truncated(part->c, NULL) != TY_OK) return TY_OK;
  }
  if (s->best.count == 0) return TY_OK;
  x->env->kernel->topk_sort(&s->best);
  status = weight_of(x, s, &w, err);
  if (status != TY_OK || w <= 0) return status;
  return store_ranking(x, s, w) ? TY_OK : ty_fail(err, TY_NO_MEMORY, "not enough memory to rank by meaning");
}

/* Whether a row of the parts that are searched may have a vector. */
static bool has_vectors(const ty_ask_run *x) {
  if (!x->a->meaning || atomic_load(&x->env->model) == NULL) return false;
  for (uint64_t i = 0; i < x->n; i++)
    if (!x->parts[i].filter.none && ty_meaning_view_of(x->parts[i].c).at != NULL) return true;
  return false;
}

uint64_t ty_ask_run_meaning_cost(const ty_ask_run *x) {
  uint64_t rows = 0;
  if (!x->a->meaning || atomic_load(&x->env->model) == NULL) return 0;
  for (uint64_t i = 0; i < x->n; i++) {
    const ty_ask_part *part = &x->parts[i];
    if (ty_meaning_view_of(part->c).at != NULL) rows += part->filter.count + part->c->delta.count;
  }
  return rows * sizeof(ty_meaning_record);
}

ty_status ty_ask_run_meaning(ty_ask_run *x, ty_error *err) {
  if (!has_vectors(x)) return TY_OK;
  scan *s = malloc(sizeof *s);
  if (s == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory to rank by meaning");
  s->rows = s->gates = 0;
  ty_status status = rank_by_meaning(x, s, err);
  free(s);
  return status;
}
