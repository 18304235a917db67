/* Scores the long rows of a fused ranking by their best passages as well.
 *
 * Shares of a passage: of three sets with long rows, chat logs whose turns have sessions gain .0070 ± .0030 nDCG@10,
 * scifact .0045 ± .0036, and logs without sessions lose .0019 ± .0026. Passages alone, without the whole rows, lose
 * .017 on scifact: what an abstract is about stands in all of it. */
#include <math.h>
#include <stdlib.h>

#include "calls/arguments.h"
#include "calls/ask_run.h"
#include "lexical/passage.h"
#include "os/assert.h"
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
/* An embedded passage has unit length but for its rounding, and an inner product is rounded. */
#define DOT_ROUNDING (1 + 0x1p-10)
/* Deviations that a passage may be from its row: among rows that score nearly the same, the deviation is nearly 0. */
#define APART_MOST 8.0

/* A row whose passage is not embedded yet, or was not looked for. */
typedef struct postponed {
  uint64_t birth, place; /* of the row; its place in the fused ranking while that is not sorted */
  double score;          /* of the row so far */
  double with_meaning;   /* the same with meaning mixed in */
  double by_vector;      /* its score by vector */
  uint64_t from, bytes;  /* of the passage, in `passages`; 0 bytes: it was not looked for */
} postponed;

/* Passages are left out of rows that they cannot raise among the first: nothing after them looks at the scores of other
 * rows, unless the caller wants all candidates or one of the first is a turn. A quarter to a half of a question's time
 * over long texts goes into passages. */
typedef struct rating {
  ty_ask_run *x;
  const ty_fuse_scales *scales;
  /* The scores, with meaning, of the first rows so far, those that have to be right; wanted 0: all have to. */
  scan_bounds first;
  double scores[ROWS_MOST];
  postponed postponed[ROWS_MOST];
  uint32_t postponed_count;
  ty_buffer passages;
  /* Made for the first long row; most questions find none. */
  float *vector;
  ty_passage_finder finder;
  double dot_most; /* the inner product of the query and a passage, at most */
  uint32_t chosen; /* passages for embedding, some of which stay without */
  uint64_t read;   /* bytes of texts */
  ty_text_reader reader;
} rating;

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for the passages of a query");
}

static ty_status open_rating(rating *r, ty_error *err) {
  const ty_ask_run *x = r->x;
  float square = 0;
  r->vector = malloc((size_t)x->dim * sizeof *r->vector);
  if (r->vector == NULL) return no_memory(err);
  x->env->kernel->dot_f32(x->query, x->query, 1, x->dim, &square);
  r->dot_most = sqrt((double)square) * DOT_ROUNDING;
  return ty_passage_open(&r->finder, x->words, err);
}

/* How much better a passage is than its row, in deviations. */
static double apart(double passage, double row, const ty_fuse_scale *scale) {
  double z = (passage - row) / scale->deviation;
  return z > APART_MOST ? APART_MOST : z < -APART_MOST ? -APART_MOST : z;
}

/* What a row's score gets for the score by vector of its passage. */
static double vector_gain(const rating *r, double dot, double by_vector) {
  return r->x->a->dense_weight * VECTOR_SHARE * apart(dot, by_vector, &r->scales->vector);
}

/* Embeds a passage, for the score of its row. */
static void embed(rating *r, const postponed *p, ty_fused *f) {
  const ty_ask_run *x = r->x;
  const ame_kernel *k = x->env->kernel;
  float dot;
  if (k->embed((uint32_t)x->a->model, AME_ROLE_DOCUMENT, r->passages.data + p->from, &p->bytes, 1, r->vector) != 0)
    return;
  k->dot_f32(x->query, r->vector, 1, x->dim, &dot);
  f->row.score += vector_gain(r, (double)dot, p->by_vector);
}

/* Adds a final score to those that set the threshold. */
static void offer(rating *r, const ty_fused *f) {
  if (r->first.wanted > 0) bounds_offer(&r->first, ty_ask_run_with_meaning(r->x, f->row.score, f->row.birth));
}

static bool has_threshold(const rating *r) { return r->first.wanted > 0 && r->first.count == r->first.wanted; }

/* Whether a row with at most this score is certainly not among the first rows. */
static bool stays_behind(const rating *r, uint64_t birth, double score) {
  return has_threshold(r) && ty_ask_run_with_meaning(r->x, score, birth) + 1e-9 < r->first.threshold;
}

static int by_score(const void *a, const void *b) {
  const double x = ((const postponed *)a)->with_meaning, y = ((const postponed *)b)->with_meaning;
  return (x < y) - (x > y);
}

/* Embeds the passages that were found, those of the best rows first. Passages that cannot take their row to the first
 * rows stay postponed. */
static void embed_postponed(rating *r) {
  uint32_t left = 0;
  qsort(r->postponed, r->postponed_count, sizeof *r->postponed, by_score);
  for (uint32_t i = 0; i < r->postponed_count; i++) {
    const postponed p = r->postponed[i];
    const double gain = TY_PLANTED(PASSAGE_NO_GAIN) ? 0 : vector_gain(r, r->dot_most, p.by_vector);
    if (stays_behind(r, p.birth, p.score + gain)) {
      r->postponed[left++] = p;
      continue;
    }
    ty_fused *f = &r->x->fused[p.place];
    embed(r, &p, f);
    offer(r, f);
  }
  r->postponed_count = left;
}

static double by_words_of(const rating *r, const ty_fused *f) {
  return f->words == UINT64_MAX ? r->scales->words.lowest : ty_ask_run_candidate(r->x, true, f->words).score;
}

/* What a row's score gets for a passage that is so many deviations better by words. */
static double words_gain(const rating *r, double deviations) {
  return (1 - r->x->a->dense_weight) * WORDS_SHARE * deviations;
}

/* Whether a row stays behind the first rows, even if its passage is so many deviations better by words. False while
 * passages are still chosen for embedding: those are the first ones that have words of the question. */
static bool gains_too_little(const rating *r, const ty_fused *f, double deviations) {
  if (r->x->a->vector == NULL && r->chosen < EMBEDDED_MOST) return false;
  return stays_behind(r, f->row.birth, f->row.score + (deviations > 0 ? words_gain(r, deviations) : 0));
}

/* Whether no passage of a row takes it to the first rows. */
static bool cannot_reach(const rating *r, const ty_fused *f, ty_ref ref, ty_slice text) {
  if (!has_threshold(r)) return false; /* never of several collections, where the bound would read another one's rows */
  const double by_words = by_words_of(r, f), bound = ty_passage_bound(r->x->words, ref, by_words);
  return gains_too_little(r, f, apart(bound, by_words, &r->scales->words)) && ty_is_plain_text(text);
}

/* Adds to the score of a row for its passage by words. A passage for embedding is stored for embed_postponed. */
static ty_status rate_text(rating *r, ty_fused *f, ty_slice text, ty_error *err) {
  const ty_ask_run *x = r->x;
  const uint64_t from = r->passages.bytes;
  ty_passage p;
  ty_status status = r->vector == NULL ? open_rating(r, err) : TY_OK;
  if (status == TY_OK) status = ty_passage_best(&r->finder, text, false, &p, err);
  if (status != TY_OK || p.score <= 0) return status;
  f->row.score += words_gain(r, apart(p.score, by_words_of(r, f), &r->scales->words));
  if (x->a->vector != NULL || r->chosen == EMBEDDED_MOST) return TY_OK;
  TY_ASSERT(f >= x->fused && f < x->fused + x->count);
  ty_buffer_append(&r->passages, text.data + p.from, p.to - p.from);
  if (r->passages.failed) return no_memory(err);
  r->chosen++;
  r->postponed[r->postponed_count++] = (postponed){
      .birth = f->row.birth,
      .place = (uint64_t)(f - x->fused),
      .score = f->row.score,
      .with_meaning = ty_ask_run_with_meaning(x, f->row.score, f->row.birth),
      .by_vector = f->vector == UINT64_MAX ? r->scales->vector.lowest : ty_ask_run_candidate(x, false, f->vector).score,
      .from = from,
      .bytes = p.to - p.from,
  };
  return TY_OK;
}

/* Whether a text of so many bytes may have passages; has_passages counts its characters. */
static bool may_have_passages(uint64_t bytes) { return bytes > TY_LONG_TEXT_CHARS && bytes <= TEXT_MOST; }

static bool has_passages(ty_ref ref, ty_slice text) {
  return ty_is_long_text(text) && ty_text_intact(ref.segment, ref.at);
}

static ty_slice beginning(ty_slice text) { return (ty_slice){text.data, ty_cut(text, READ_MOST)}; }

static ty_status rate(rating *r, ty_fused *f, ty_error *err) {
  ty_ref ref = ty_ask_run_row(r->x, f).ref;
  bool has_text;
  ty_slice text = {NULL, 0};
  const ty_slice stored = ty_row_stored_text(ref.segment, ref.at);
  /* Coded, a text is at most twice as long. */
  if (r->read >= ALL_MOST || stored.bytes > 2 * TEXT_MOST || !ty_may_be_long(stored)) return TY_OK;
  bool left_out = gains_too_little(r, f, TY_PLANTED(PASSAGE_NOT_APART) ? 0 : APART_MOST);
  if (!left_out) text = ty_row_text(ref.segment, ref.at, &r->reader, &has_text);
  if (r->reader.text.failed) return no_memory(err);
  const uint64_t bytes = left_out ? ty_row_text_bytes(ref.segment, ref.at) : text.bytes;
  if (!may_have_passages(bytes)) return TY_OK;
  /* Counted whether it was read or not, so that the limit is met at the same row. */
  r->read += bytes < READ_MOST ? bytes : READ_MOST;
  if (!left_out) {
    if (!has_passages(ref, text)) return TY_OK;
    /* The beginning of a longer text may end in a part of a term. */
    left_out = bytes <= READ_MOST && cannot_reach(r, f, ref, text);
  }
  if (!left_out) return rate_text(r, f, beginning(text), err);
  r->postponed[r->postponed_count++] = (postponed){.birth = f->row.birth, .score = f->row.score};
  return TY_OK;
}

static ty_status rate_postponed(rating *r, const postponed *p, ty_fused *f, ty_error *err) {
  f->row.score = p->score;
  if (p->bytes > 0) {
    embed(r, p, f);
    return TY_OK;
  }
  ty_ref ref = ty_ask_run_row(r->x, f).ref;
  bool has_text;
  const ty_slice text = ty_row_text(ref.segment, ref.at, &r->reader, &has_text);
  if (r->reader.text.failed) return no_memory(err);
  return has_passages(ref, text) ? rate_text(r, f, beginning(text), err) : TY_OK;
}

/* Rates all rows that are postponed, after meaning was mixed in. */
static ty_status rate_all_postponed(rating *r, ty_error *err) {
  ty_ask_run *x = r->x;
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < x->count && status == TY_OK; i++) {
    ty_fused f = x->fused[i];
    uint32_t k = 0;
    while (k < r->postponed_count && r->postponed[k].birth != f.row.birth) k++;
    if (k == r->postponed_count) continue;
    status = rate_postponed(r, &r->postponed[k], &f, err);
    x->fused[i].row.score = ty_ask_run_with_meaning(x, f.row.score, f.row.birth);
  }
  if (status == TY_OK) ty_fused_sort(x->fused, x->count);
  return status;
}

/* How many of the first rows have to be right; 0: all. */
static uint64_t first_rows(const ty_ask_run *x) {
  const uint64_t first = x->a->top_k > TY_TURNS_LOOKED ? x->a->top_k : TY_TURNS_LOOKED;
  if (x->n > 1 || (x->a->what & TY_WITH_ALL) != 0) return 0;
  return first < ROWS_MOST ? first : 0;
}

ty_status ty_ask_run_passages(ty_ask_run *x, const ty_fuse_scales *scales, ty_error *err) {
  rating r = {.x = x, .scales = scales, .first = {.wanted = first_rows(x)}, .reader = {.most = TEXT_MOST + 1}};
  ty_status status = TY_OK;
  r.first.items = r.scores;
  for (uint64_t i = 0; i < x->count && i < ROWS_MOST && status == TY_OK; i++) {
    const uint32_t before = r.chosen;
    status = rate(&r, &x->fused[i], err);
    if (r.chosen == before) offer(&r, &x->fused[i]); /* else its score is not final */
    else if (r.chosen == EMBEDDED_MOST) embed_postponed(&r);
  }
  if (status == TY_OK && r.chosen > 0 && r.chosen < EMBEDDED_MOST) embed_postponed(&r);
  if (status == TY_OK) ty_ask_run_mix_meaning(x);
  if (status == TY_OK && (r.vector != NULL || x->meant_count > 0)) ty_fused_sort(x->fused, x->count);
  if (status == TY_OK && r.postponed_count > 0 && ty_ask_run_has_turns(x) && !TY_PLANTED(PASSAGE_LEFT_OUT))
    status = rate_all_postponed(&r, err);
  free(r.vector);
  ty_buffer_free(&r.passages);
  ty_buffer_free(&r.reader.text);
  ty_passage_close(&r.finder);
  return status;
}
