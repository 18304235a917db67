/* ivf: rows of a partition grouped by the nearest of nlist centroids, so that a question reads only the groups near it.
 * Uses os, work, rows and scan.
 *
 *   ivf.h        the index, its building and storing, and what questions read of it
 *   builder.h    training and assigning; ask.h, near.h: rows and the nearest centroid
 *   calibrate.h  how far into the lists a question must reach
 */
#ifndef TY_IVF_H
#define TY_IVF_H

#include "rows/rewrite.h"
#include "scan/scanner.h"

typedef struct ty_ivf_part {
  uint32_t span; /* index in collection.spans */
  uint32_t nlist;
  uint32_t nprobe; /* lists that a question reads on average, as measured when the index was built; nlist: all of them,
                      in one run */
  uint32_t held_count; /* while the index is built; 0 afterwards */
  double reach; /* how far into the spread of a list a question looks for an answer: probe.c; infinite: everywhere */
  double reach_alone;  /* the same where the other answers of a question do not come from this partition */
  double built_square; /* mean squared distance of a row from its centroid when the centroids were made: ty_ivf_drift */
  double calibrated_square; /* the same, and the number of rows, when the reach was measured */
  uint64_t calibrated_rows;
  const float *centroids;    /* nlist x dim */
  const float *half_norms;   /* nlist; of the centroids */
  const float *rms, *most;   /* nlist; of the distances of a list's rows from its centroid the root of the mean square,
                                and a bound of all */
  const ame_code_info *info; /* nlist; of the codes */
  const int8_t *codes;       /* nlist x AME_CODE_STRIDE(dim), of the centroids */
  const uint64_t *list_starts; /* nlist + 1 positions in the base, the first = span.first */
  const uint64_t
      *held; /* held_count positions in the base of rows that the centroids were not made from; NULL when opened */
} ty_ivf_part;
struct ty_ivf {
  uint64_t min_rows;
  double target_recall;
  uint32_t count;
  ty_ivf_part *parts;
};

/* Trains or reassigns, and reorders r->rows within each partition by list. Leaves r->ivf NULL where no partition is
 * large enough. */
ty_status ty_ivf_train(ty_rebase *r, ty_error *err);
/* Once the new base exists (as `base`, mapped): finds each partition's reach on held-out rows. */
ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err);
/* Serialises for ivf-*.slab; and opens such bytes, checking everything against the base it belongs to. */
ty_status ty_ivf_encode(const ty_ivf *ivf, uint32_t dim, ty_buffer *out, ty_error *err);
ty_status ty_ivf_open(const ty_collection *c, const ty_segment *base, const ty_span *spans, uint32_t span_count,
                      ty_slice bytes, ty_ivf **out, ty_error *err);
void ty_ivf_free(ty_ivf *ivf);
/* How much farther rows lie from their centroids than when those were made, as a ratio of mean squared distances: 1 for
 * a fresh index, more as compactions assign rows to lists that were not made for them. From 1.25 on a rebuild is worth
 * it. */
double ty_ivf_drift(const ty_ivf_part *part);

/* Rows read otherwise, of the delta mostly, count as setting the bar from this part of the rows of lists on. */
#define TY_IVF_OTHERS_SHARE 10u

/* ---- Questions: probe.c ---- */
typedef struct ty_ivf_question {
  const ty_collection *c;
  int8_t *codes;
  double squares, norm;                   /* |q|^2 as summed; at least |q| */
  double scale, per_norm, per_err, slack; /* of the bound of an inner product by 8-bit codes, as in scan/question.c */
  double sum_error;                       /* of a score in f32, relative to |q| |x| (for L2 to the squared distance) */
  double value_least;
} ty_ivf_question;

/* What is known of the values of a list's rows before any is read; the scale is that of ty_scanner_threshold. */
typedef struct ty_ivf_outlook {
  double middle; /* about their mean */
  double spread; /* a row of the list lies in reach r if its value is at most middle + r * spread */
  double most;   /* no row's value is above */
} ty_ivf_outlook;

ty_status ty_ivf_question_open(const ty_collection *c, const float *query, ty_ivf_question *out, ty_error *err);
void ty_ivf_question_close(ty_ivf_question *q);
/* Of all lists of a part. */
void ty_ivf_look(const ty_ivf_question *q, const ty_ivf_part *part, ty_ivf_outlook *out);

/* Feeds the rows of parts, each with its reach, list by list, the most promising first, until no list is left that has
 * a row in reach. */
ty_status ty_ivf_feed_near(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                           const ty_ivf_part *const *parts, uint32_t count, bool alone, uint64_t *probed,
                           ty_error *err);
/* Feeds the rows of a part less those of lists that provably hold none of the answer: the answer is the exact one. */
ty_status ty_ivf_feed_exact(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                            const ty_ivf_part *part, uint64_t top_k, ty_error *err);
/* The same in two steps, for questions that share a pass over the rows: the most promising lists of those that
 * `outlook`, as from ty_ivf_look, knows, where it notes what was taken; then the rest of the lists from .. to, in the
 * order in which they lie in memory. */
ty_status ty_ivf_feed_first(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part, uint64_t top_k,
                            ty_ivf_outlook *outlook, ty_error *err);
ty_status ty_ivf_feed_rest(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part,
                           const ty_ivf_outlook *outlook, uint32_t from, uint32_t to, ty_error *err);

#endif
