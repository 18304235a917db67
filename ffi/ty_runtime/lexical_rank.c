/* Ranking a lexical question's rows.
 *
 * The kernel sums postings in f32. The best few are then scored again in doubles from their own terms, in the order of the terms' hashes,
 * and that is the score given and ranked by: it does not depend on where a row lies, so a compaction changes neither score nor order.
 * "A few" is more than asked by all that f32 rounding could have misplaced.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "lexical_question.h"

/* Further rows that are looked at again beyond top_k, where their f32 scores lie within rounding of the k-th. More than this many rows that
 * close have equal scores in practice, and those keep the order of their row numbers. */
#define SPARE 64u
/* A posting summed costs about 4 ns, a row scored again from its terms about 1 us: what one of the latter is worth in the former. */
#define POSTINGS_PER_ROW 256u
/* Rows looked at in the accumulator for the price of scoring one again. */
#define DOCS_PER_ROW 2000u

/* ---- Ranking --------------------------------------------------------------------------------------------------------*/

static ty_ref doc_ref(const question *q, uint64_t doc) {
  uint64_t start = ty_lexical_delta_start(q->x);
  return doc >= start ? (ty_ref){&q->c->delta, doc - start} : (ty_ref){&q->c->base, doc};
}

static void rank(question *q, const ty_filter *filter, ame_topk *best) {
  const ty_scores *s = q->scores;
  const ame_kernel *k = q->c->env->kernel;
  for (uint64_t block = 0; block < s->docs / TY_SCORE_BLOCK; block++) {
    if (s->touched[block] == 0) continue;
    const float *acc = s->acc + block * TY_SCORE_BLOCK;
    for (uint32_t i = 0; i < TY_SCORE_BLOCK; i += 16) {
      /* Sixteen at a time: nearly always none of them can enter. Equal scores can, by a smaller row number. */
      float least = best->count == best->k ? best->items[0].score : 0x1p-149f;
      int any = 0;
      for (uint32_t j = 0; j < 16; j++) any |= acc[i + j] >= least;
      if (!any) continue;
      for (uint32_t j = i; j < i + 16; j++) {
        if (acc[j] < least) continue;
        uint64_t doc = block * TY_SCORE_BLOCK + j;
        ty_ref ref = doc_ref(q, doc);
        if (!ty_filter_allows(filter, ref.segment, ref.at)) continue;
        ame_hit hit = {ref.segment->row[ref.at], acc[j], (uint32_t)doc};
        k->topk_offer(best, &hit, 1);
      }
    }
  }
}

/* How far an f32 sum of a row may lie from the exact one, relative to it: every term rounds a few times, and all are positive. */
static float rounding(const question *q) { return ((float)q->count + 8) * 0x1p-22f; }

double ty_question_share(const question *q, const query_term *t, uint32_t tf, ty_ref ref) {
  const ty_lexical *x = q->x;
  double length = ref.segment->is_base ? x->lengths[ref.at] : x->delta_lengths[ref.at];
  double norm = x->k1 * (1 - x->b + x->b * length / ty_lexical_mean(x));
  return t->idf * t->weight * (x->k1 + 1) * tf / (tf + norm);
}

ty_status ty_question_score(const question *q, ty_ref ref, uint32_t *tfs, double *score, ty_error *err) {
  ty_term_reader reader;
  *score = 0;
  uint32_t next = 0;
  bool whole = ty_terms_open(&reader, ty_row_terms(ref.segment, ref.at));
  while (whole && next < q->count) {
    if (!ty_terms_next(&reader)) {
      whole = reader.seen == reader.distinct;
      break;
    }
    while (next < q->count && (uint32_t)(q->by_hash[next] >> 32) < reader.hash) next++;
    if (next == q->count || (uint32_t)(q->by_hash[next] >> 32) != reader.hash) continue;
    uint32_t index = (uint32_t)q->by_hash[next++];
    *score += ty_question_share(q, &q->terms[index], reader.tf, ref);
    if (tfs != NULL) tfs[index] = reader.tf;
  }
  if (whole) return TY_OK;
  return ty_fail(err, TY_CORRUPT, "the stored terms of row %" PRIu64 " are damaged", ref.segment->row[ref.at]);
}

static int by_score(const void *a, const void *b) {
  const answer_row *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static ty_status score_rows(const question *q, answer_row *rows, uint64_t n, ty_error *err) {
  for (uint64_t i = 0; i < n; i++) {
    ty_status status = ty_question_score(q, rows[i].ref, NULL, &rows[i].score, err);
    if (status != TY_OK) return status;
  }
  qsort(rows, (size_t)n, sizeof *rows, by_score);
  return TY_OK;
}

/* The ranked rows with their final scores, once every term is summed; *out is the caller's to free. */
static ty_status choose(question *q, const ty_filter *filter, uint64_t top_k, answer_row **out, uint64_t *count,
                        ty_error *err) {
  ty_status status = TY_OK;
  uint64_t rows = q->c->base.count + q->c->delta.count, wanted;
  if (!ty_add(top_k, SPARE, &wanted) || wanted > rows) wanted = rows;
  ame_hit *hits = wanted <= SIZE_MAX / sizeof(answer_row) ? malloc((size_t)wanted * sizeof *hits) : NULL;
  if (hits == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
  ame_topk best = {hits, wanted, 0};
  rank(q, filter, &best);
  q->c->env->kernel->topk_sort(&best);
  uint64_t n = best.count;
  if (n > top_k) {
    float reach = hits[top_k - 1].score * (1 - rounding(q));
    n = top_k;
    while (n < best.count && hits[n].score >= reach) n++;
  }
  answer_row *ranked = malloc((size_t)(n + 1) * sizeof *ranked);
  if (ranked == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
    goto done;
  }
  for (uint64_t i = 0; i < n; i++) ranked[i] = (answer_row){doc_ref(q, hits[i].position), hits[i].row, 0};
  status = score_rows(q, ranked, n, err);
  if (status != TY_OK) goto done;
  *count = n < top_k ? n : top_k;
  *out = ranked;
  ranked = NULL;
done:
  free(ranked);
  free(hits);
  return status;
}

/* Tries to answer before the remaining terms are summed (the MaxScore idea of Turtle and Flood, 1995). They can add at most `rest` to any
 * row, so a row that is further than that behind the k-th best is out; if only a few are left these are scored from their own terms. The
 * words of a question that stand in half of the rows are nearly all of its postings and nearly none of its score. *out stays NULL where
 * more than `most` rows are left. */
static ty_status choose_early(question *q, const ty_filter *filter, uint64_t top_k, double rest, uint64_t most,
                              answer_row **out, uint64_t *count, ty_error *err) {
  ty_status status = TY_OK;
  ame_hit *hits = malloc((size_t)top_k * sizeof *hits);
  answer_row *rows = malloc((size_t)most * sizeof *rows);
  uint64_t n = 0;
  if (hits == NULL || rows == NULL) {
    status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a lexical search");
    goto done;
  }
  ame_topk best = {hits, top_k, 0};
  rank(q, filter, &best);
  if (best.count < top_k) goto done;
  double cut = (double)hits[0].score * (1 - (double)rounding(q)) - rest * (1 + (double)rounding(q));
  if (!(cut > 0)) goto done;
  float least = (float)(cut * (1 - 0x1p-20));
  const ty_scores *s = q->scores;
  for (uint64_t block = 0; block < s->docs / TY_SCORE_BLOCK; block++) {
    if (s->touched[block] == 0) continue;
    const float *acc = s->acc + block * TY_SCORE_BLOCK;
    for (uint32_t i = 0; i < TY_SCORE_BLOCK; i++) {
      if (acc[i] < least) continue;
      ty_ref ref = doc_ref(q, block * TY_SCORE_BLOCK + i);
      if (!ty_filter_allows(filter, ref.segment, ref.at)) continue;
      if (n == most) goto done;
      rows[n++] = (answer_row){ref, ref.segment->row[ref.at], 0};
    }
  }
  status = score_rows(q, rows, n, err);
  if (status != TY_OK) goto done;
  *count = top_k;
  *out = rows;
  rows = NULL;
done:
  free(hits);
  free(rows);
  return status;
}

/* Sums the terms, the weightiest first, until the answer is certain. */
ty_status ty_question_rank(question *q, const ty_filter *filter, uint64_t top_k, answer_row **out, uint64_t *count,
                           ty_error *err) {
  double rest = 0; /* the most that the terms not yet summed can add to a row */
  uint64_t left = 0, tried = UINT64_MAX;
  for (uint32_t i = 0; i < q->count; i++) {
    rest += q->terms[i].idf * q->terms[i].weight * (q->x->k1 + 1);
    left += (uint64_t)q->terms[i].df;
  }
  uint64_t overhead = (q->c->base.count + q->c->delta.count) / DOCS_PER_ROW;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = q->rarest[i];
    /* Only where it may pay, and after a failure not before a fifth of what was left is summed. */
    if (i > 0 && top_k < left / POSTINGS_PER_ROW / 2 && left / POSTINGS_PER_ROW > 2 * top_k + overhead &&
        left < tried - tried / 5) {
      ty_status status = choose_early(q, filter, top_k, rest, left / POSTINGS_PER_ROW, out, count, err);
      if (status != TY_OK || *out != NULL) return status;
      tried = left;
    }
    ty_status status = ty_question_sum(q, t, filter, err);
    if (status != TY_OK) return status;
    rest -= t->idf * t->weight * (q->x->k1 + 1);
    if (rest < 0) rest = 0;
    left -= (uint64_t)t->df;
  }
  return choose(q, filter, top_k, out, count, err);
}
