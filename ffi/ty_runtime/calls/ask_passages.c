/* Scores the long rows of a fused ranking by their best passages as well.
 *
 * Shares of a passage: of three sets with long rows, chat logs whose turns have sessions gain .0070 ± .0030 nDCG@10,
 * scifact .0045 ± .0036, and logs without sessions lose .0019 ± .0026. Passages alone, without the whole rows, lose
 * .017 on scifact: what an abstract is about stands in all of it. */
#include <stdlib.h>

#include "calls/arguments.h"
#include "calls/ask_run.h"
#include "lexical/passage.h"
#include "os/plant.h"
#include "rows/checks.h"
#include "scan/heap.h"

#define WORDS_SHARE  0.3
#define VECTOR_SHARE 0.15
/* Rows that are scored by their passages: 3 us for a text of 1,400 bytes. */
#define ROWS_MOST 100u
/* Of those, the first whose passages are embedded, 6 us each. */
#define EMBEDDED_MOST 30u
/* Of a longer text the beginning is looked at; of one still longer nothing, as all of it is read for its checksum. */
#define READ_MOST ((uint64_t)64 << 10)
#define TEXT_MOST (4 * READ_MOST)
/* Of all texts of a question: a hundred rows of 5,000 characters. Texts of all scripts take 5 ms. */
#define ALL_MOST ((uint64_t)512 << 10)
/* Deviations that a passage may be from its row: among rows that score nearly the same, the deviation is nearly 0. */
#define APART_MOST 8.0

/* Passages are left out of rows that they cannot raise among the first: nothing after them looks at the scores of other
 * rows, unless the caller wants all candidates, rows have vectors of meaning, or one of the first is a turn. A third
 * to two thirds of a question's time over long texts go into passages. */
typedef struct rating {
  ty_ask_run *x;
  const ty_fuse_scales *scales;
  scan_bounds first; /* the scores of the first rows so far, those that have to be right; wanted 0: all have to */
  double scores[ROWS_MOST];
  uint64_t skipped[ROWS_MOST]; /* births of rows whose passages were left out */
  uint32_t skipped_count;
  /* Made for the first long row; most questions find none. */
  float *vector;
  ty_passage_finder finder;
  uint32_t embedded;
  uint64_t read; /* bytes of texts */
  ty_text_reader reader;
} rating;

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for the passages of a query");
}

static ty_status open_rating(rating *r, ty_error *err) {
  r->vector = malloc((size_t)r->x->dim * sizeof *r->vector);
  if (r->vector == NULL) return no_memory(err);
  return ty_passage_open(&r->finder, r->x->words, err);
}

/* How much better a passage is than its row, in deviations. */
static double apart(double passage, double row, const ty_fuse_scale *scale) {
  double z = (passage - row) / scale->deviation;
  return z > APART_MOST ? APART_MOST : z < -APART_MOST ? -APART_MOST : z;
}

/* The score by vector of a passage, as of a row. False where no vector is made. */
static bool rate_by_vector(rating *r, ty_slice passage, double *score) {
  const ty_ask_run *x = r->x;
  const ame_kernel *k = x->env->kernel;
  float dot;
  if (x->a->vector != NULL || r->embedded == EMBEDDED_MOST) return false;
  r->embedded++;
  if (k->embed((uint32_t)x->a->model, AME_ROLE_DOCUMENT, passage.data, &passage.bytes, 1, r->vector) != 0) return false;
  k->dot_f32(x->query, r->vector, 1, x->dim, &dot);
  *score = (double)dot;
  return true;
}

static double by_words_of(const rating *r, const ty_fused *f) {
  return f->words == UINT64_MAX ? r->scales->words.lowest : ty_ask_run_candidate(r->x, true, f->words).score;
}

/* Whether no passage of a row takes it to the first rows. While passages are still embedded, none is left out: the
 * first ones that have words of the question are embedded. */
static bool cannot_reach(const rating *r, const ty_fused *f, ty_ref ref, ty_slice text) {
  const ty_ask_run *x = r->x;
  if (r->first.wanted == 0 || r->first.count < r->first.wanted) return false;
  if (x->a->vector == NULL && r->embedded < EMBEDDED_MOST) return false;
  const double by_words = by_words_of(r, f), bound = ty_passage_bound(x->words, ref, by_words);
  const double gain = (1 - x->a->dense_weight) * WORDS_SHARE * apart(bound, by_words, &r->scales->words);
  return f->row.score + (gain > 0 ? gain : 0) + 1e-9 < r->first.threshold && ty_is_plain_text(text);
}

static ty_status rate_text(rating *r, ty_fused *f, ty_slice text, ty_error *err) {
  const ty_ask_run *x = r->x;
  const ty_fuse_scale *words = &r->scales->words, *vector = &r->scales->vector;
  ty_passage p;
  ty_status status = r->vector == NULL ? open_rating(r, err) : TY_OK;
  if (status == TY_OK) status = ty_passage_best(&r->finder, text, false, &p, err);
  if (status != TY_OK || p.score <= 0) return status;
  double by_vector = f->vector == UINT64_MAX ? vector->lowest : ty_ask_run_candidate(x, false, f->vector).score;
  double weight = x->a->dense_weight, score;
  f->row.score += (1 - weight) * WORDS_SHARE * apart(p.score, by_words_of(r, f), words);
  if (rate_by_vector(r, (ty_slice){text.data + p.from, p.to - p.from}, &score))
    f->row.score += weight * VECTOR_SHARE * apart(score, by_vector, vector);
  return TY_OK;
}

static ty_status rate(rating *r, ty_fused *f, ty_error *err) {
  ty_ref ref = ty_ask_run_row(r->x, f).ref;
  bool has_text;
  const ty_slice stored = ty_row_stored_text(ref.segment, ref.at);
  /* Coded, a text is at most twice as long. */
  if (r->read >= ALL_MOST || stored.bytes > 2 * TEXT_MOST || !ty_may_be_long(stored)) return TY_OK;
  ty_slice text = ty_row_text(ref.segment, ref.at, &r->reader, &has_text);
  if (r->reader.text.failed) return no_memory(err);
  if (!has_text || text.bytes > TEXT_MOST || !ty_is_long_text(text)) return TY_OK;
  if (!ty_text_intact(ref.segment, ref.at)) return TY_OK;
  const bool whole = text.bytes <= READ_MOST; /* else it may end in a part of a term */
  text.bytes = ty_cut(text, READ_MOST);
  r->read += text.bytes;
  if (!whole || !cannot_reach(r, f, ref, text)) return rate_text(r, f, text, err);
  r->skipped[r->skipped_count++] = f->row.birth;
  return TY_OK;
}

/* Rates the rows that were left out. */
static ty_status rate_skipped(rating *r, ty_error *err) {
  ty_ask_run *x = r->x;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->count && status == TY_OK; i++) {
    bool skipped = false, has_text;
    for (uint32_t k = 0; k < r->skipped_count; k++) skipped |= r->skipped[k] == x->fused[i].row.birth;
    if (!skipped) continue;
    ty_ref ref = ty_ask_run_row(x, &x->fused[i]).ref;
    ty_slice text = ty_row_text(ref.segment, ref.at, &r->reader, &has_text);
    if (r->reader.text.failed) return no_memory(err);
    text.bytes = ty_cut(text, READ_MOST);
    status = rate_text(r, &x->fused[i], text, err);
  }
  if (status == TY_OK) ty_fused_sort(x->fused, x->count);
  return status;
}

/* How many of the first rows have to be right; 0: all. */
static uint64_t first_rows(const ty_ask_run *x) {
  const uint64_t first = x->a->top_k > TY_TURNS_LOOKED ? x->a->top_k : TY_TURNS_LOOKED;
  if (x->n > 1 || (x->a->what & TY_WITH_ALL) != 0 || ty_ask_run_meaning_cost(x) > 0) return 0;
  return first < ROWS_MOST ? first : 0;
}

ty_status ty_ask_run_passages(ty_ask_run *x, const ty_fuse_scales *scales, ty_error *err) {
  rating r = {.x = x, .scales = scales, .first = {.wanted = first_rows(x)}, .reader = {.most = TEXT_MOST + 1}};
  ty_status status = TY_OK;
  r.first.items = r.scores;
  for (uint64_t i = 0; i < x->count && i < ROWS_MOST && status == TY_OK; i++) {
    status = rate(&r, &x->fused[i], err);
    if (r.first.wanted > 0) bounds_offer(&r.first, x->fused[i].row.score);
  }
  if (status == TY_OK && r.vector != NULL) ty_fused_sort(x->fused, x->count);
  if (status == TY_OK && r.skipped_count > 0 && ty_ask_run_has_turns(x) && !TY_PLANTED(PASSAGE_LEFT_OUT))
    status = rate_skipped(&r, err);
  free(r.vector);
  ty_buffer_free(&r.reader.text);
  ty_passage_close(&r.finder);
  return status;
}
