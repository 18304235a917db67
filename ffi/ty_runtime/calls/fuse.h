/* Fuses two rankings. Their scores have different scales, so each list is normalised to mean 0 and deviation 1 first
 * (z-scores). Reciprocal ranks (k = 60) on the same candidates were worse on each of eight development sets, .638 on
 * average against .650: they give a weak ranking's order the weight of a strong one's. */
#pragma once

#include <stdint.h>

/* Mean and deviation are of so many candidates of a ranking, so that the first hits hardly depend on top_k. */
#define TY_FUSE_HEAD 100u

/* Candidates of each ranking for top_k fused rows. */
static inline uint64_t ty_fuse_depth(uint64_t top_k) {
  uint64_t depth = top_k > UINT64_MAX / 3 ? UINT64_MAX : top_k * 3;
  return depth > TY_FUSE_HEAD ? depth : TY_FUSE_HEAD;
}

/* A candidate of one ranking. Births identify rows: no two live rows share one. */
typedef struct ty_candidate {
  uint64_t birth;
  double score;
} ty_candidate;

/* A fused row with its places in the rankings; UINT64_MAX where one does not list it. */
typedef struct ty_fused {
  ty_candidate row; /* first: rows are sorted as candidates are */
  uint64_t vector, words;
} ty_fused;

/* Normalises a ranking's scores to deviations from the mean. */
typedef struct ty_fuse_scale {
  double lowest; /* score of rows that the ranking lacks */
  double mean, deviation;
} ty_fuse_scale;

typedef struct ty_fuse_scales {
  ty_fuse_scale vector, words;
} ty_fuse_scales;

/* Fuses two rankings, each best first without repetition, into `out`, which has space for both; returns the number of
 * rows, best first, ties by earlier birth. The ranking by vector has weight `weight`, the one by words 1 - `weight`.
 *
 * A candidate that a ranking lacks gets that ranking's lowest score: it is at most as good as the last one listed. A
 * ranking by words shorter than TY_FUSE_HEAD is complete: rows that it lacks score 0 there. (Without that the only row
 * with a rare word had the mean score of its own list, and of 322 such rows 126 were not first.) */
uint64_t ty_fuse(const ty_candidate *vector, uint64_t vector_count, const ty_candidate *words, uint64_t words_count,
                 double weight, ty_fused *out, ty_fuse_scales *scales);
/* The fused score of a row that neither ranking lists. */
double ty_fuse_least(const ty_fuse_scales *scales, double weight);
/* Best first, ties by earlier birth. */
void ty_fused_sort(ty_fused *rows, uint64_t n);
