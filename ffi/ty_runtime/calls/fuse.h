/* One ranking out of two. Scores of different kinds cannot be added as they are: each list is brought to mean 0 and
 * deviation 1 first (z-scores). Reciprocal ranks (k = 60) on the same candidates lost on each of eight development
 * sets, in the mean .638 against .650: they give a weak ranking's order the weight of a strong one's. */
#ifndef TY_FUSE_H
#define TY_FUSE_H

#include <stdint.h>

/* Mean and deviation are those of so many candidates of a ranking, so that an answer's first hits hardly depend on how
 * many were asked for. */
#define TY_FUSE_HEAD 100u

/* How many candidates of each ranking are looked at for top_k fused rows. */
static inline uint64_t ty_fuse_depth(uint64_t top_k) {
  uint64_t depth = top_k > UINT64_MAX / 3 ? UINT64_MAX : top_k * 3;
  return depth > TY_FUSE_HEAD ? depth : TY_FUSE_HEAD;
}

/* A candidate of one ranking. Births name rows: no two live rows have the same. */
typedef struct ty_candidate {
  uint64_t birth;
  double score;
} ty_candidate;

/* Its places in the rankings; UINT64_MAX where one does not list it. */
typedef struct ty_fused {
  uint64_t birth;
  double score;
  uint64_t vector, words;
} ty_fused;

/* Fuses two rankings, each best first without repetition. `out` has room for both; returns how many rows there are,
 * best first, ties by earlier birth. The ranking by vector counts `weight`, the one by words the rest.
 *
 * A candidate that one ranking does not list gets that ranking's lowest score: it is at most as good as the last one
 * listed. A ranking by words shorter than TY_FUSE_HEAD is all there is: what it does not list scores 0 there. (Without
 * that the only row with a rare word had the mean score of its own list, and of 322 such rows 126 were not first.) */
uint64_t ty_fuse(const ty_candidate *vector, uint64_t vector_count, const ty_candidate *words, uint64_t words_count,
                 double weight, ty_fused *out);

#endif
