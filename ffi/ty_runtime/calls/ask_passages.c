/* Scores the long rows of a fused ranking by their best passages as well.
 *
 * Shares of a passage: of three sets with long rows, chat logs whose turns have sessions gain .0070 ± .0030 nDCG@10,
 * scifact .0045 ± .0036, and logs without sessions lose .0019 ± .0026. Passages alone, without the whole rows, lose
 * .017 on scifact: what an abstract is about stands in all of it. */
#include <stdlib.h>

#include "calls/arguments.h"
#include "calls/ask_run.h"
#include "lexical/passage.h"
#include "rows/checks.h"

#define WORDS_SHARE  0.3
#define VECTOR_SHARE 0.15
/* Rows that are scored by their passages: 1.5 us each and 4 us a kilobyte. */
#define ROWS_MOST 100u
/* Of those, the first whose passages are embedded, 50 us each. */
#define EMBEDDED_MOST 30u
/* Of a longer text the beginning is looked at; of one still longer nothing, as all of it is read for its checksum. */
#define READ_MOST ((uint64_t)64 << 10)
#define TEXT_MOST (4 * READ_MOST)
/* Of all texts of a question: a hundred rows of 5,000 characters. Texts of all scripts take 5 ms. */
#define ALL_MOST ((uint64_t)512 << 10)
/* Deviations that a passage may be from its row: among rows that score nearly the same, the deviation is nearly 0. */
#define APART_MOST 8.0

typedef struct rating {
  ty_ask_run *x;
  const ty_fuse_scales *scales;
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

static ty_status rate(rating *r, ty_fused *f, ty_error *err) {
  const ty_ask_run *x = r->x;
  const ty_fuse_scale *words = &r->scales->words, *vector = &r->scales->vector;
  ty_ref ref = ty_ask_run_row(x, f).ref;
  ty_passage p;
  ty_status status = TY_OK;
  bool has_text;
  /* Coded, a text is at most twice as long. */
  if (r->read >= ALL_MOST || ty_row_stored_text(ref.segment, ref.at).bytes > 2 * TEXT_MOST) return TY_OK;
  ty_slice text = ty_row_text(ref.segment, ref.at, &r->reader, &has_text);
  if (r->reader.text.failed) return no_memory(err);
  if (!has_text || text.bytes > TEXT_MOST || !ty_is_long_text(text)) return TY_OK;
  if (!ty_text_intact(ref.segment, ref.at)) return TY_OK;
  if (r->vector == NULL) status = open_rating(r, err);
  text.bytes = ty_cut(text, READ_MOST);
  r->read += text.bytes;
  if (status == TY_OK) status = ty_passage_best(&r->finder, text, &p, err);
  if (status != TY_OK || p.score <= 0) return status;
  double by_words = f->words == UINT64_MAX ? words->lowest : ty_ask_run_candidate(x, true, f->words).score;
  double by_vector = f->vector == UINT64_MAX ? vector->lowest : ty_ask_run_candidate(x, false, f->vector).score;
  double weight = x->a->dense_weight, score;
  f->row.score += (1 - weight) * WORDS_SHARE * apart(p.score, by_words, words);
  if (rate_by_vector(r, (ty_slice){text.data + p.from, p.to - p.from}, &score))
    f->row.score += weight * VECTOR_SHARE * apart(score, by_vector, vector);
  return TY_OK;
}

ty_status ty_ask_run_passages(ty_ask_run *x, const ty_fuse_scales *scales, ty_error *err) {
  rating r = {.x = x, .scales = scales, .reader = {.most = TEXT_MOST + 1}};
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->count && i < ROWS_MOST && status == TY_OK; i++) status = rate(&r, &x->fused[i], err);
  if (status == TY_OK && r.vector != NULL) ty_fused_sort(x->fused, x->count);
  free(r.vector);
  ty_buffer_free(&r.reader.text);
  ty_passage_close(&r.finder);
  return status;
}
