/* ivf: the rows of a partition in inverted lists by the nearest of nlist centroids, so that a query reads only the
 * lists near it. Uses os, work, rows and scan.
 *
 *   ivf.h        the index: building, storing, and the lists that queries read (probe.c; approximate ones: feed.c)
 *   builder.h    training and assigning; ask.h, near.h: the nearest centroid of rows
 *   signs.h      one bit a dimension of each row, by which an approximate query excludes most rows
 *   calibrate.h  how far into the spread of lists a query must reach */
#pragma once

#include "os/arena.h"
#include "rows/intact.h"
#include "rows/rewrite.h"
#include "scan/scanner.h"

/* The signs of a part: signs.h. */
typedef struct ty_ivf_signs {
  const float *mean;        /* of the centroids; NULL: the part has no signs */
  const uint8_t *centroids; /* blocks of the signs of each centroid less the mean */
  const uint8_t *rows;      /* blocks of the signs of each row less its centroid, list by list; NULL during a build */
  const uint64_t *starts;   /* nlist + 1: the first block of each list */
  const ty_intact *intact;  /* the section with the signs, compared as it is read; NULL during a build */
} ty_ivf_signs;

typedef struct ty_ivf_part {
  uint32_t span; /* index in collection.spans */
  uint32_t nlist;
  uint32_t nprobe;     /* mean number of lists that a query reads, as measured by the build; nlist: all, in one run */
  uint32_t held_count; /* during a build; else 0 */
  double reach;        /* how far into the spread of a list a query must reach: probe.c; infinite: it reads all lists */
  double reach_alone;  /* the same if other results of the query come from outside of this partition */
  double built_square; /* mean squared distance of rows from their centroids when these were trained: ty_ivf_drift */
  double calibrated_square; /* the same, and the number of rows, when the reach was measured */
  uint64_t calibrated_rows;
  const float *centroids;  /* nlist x dim */
  const float *half_norms; /* nlist; of the centroids */
  /* nlist; of the distances of a list's rows from its centroid: the root mean square, and an upper bound. */
  const float *rms, *most;
  const ame_code_info *info;   /* nlist; of the codes */
  const int8_t *codes;         /* nlist x AME_CODE_STRIDE(dim), of the centroids */
  const uint64_t *list_starts; /* nlist + 1 positions in the base, the first = span.first */
  ty_ivf_signs signs;
  /* The share of their proved width that bounds by 8-bit codes need in approximate queries, 0 to 1, measured with the
   * reach. The proof assumes that all errors of rounding add up; in most data they are independent and need a fifth of
   * the width, in some they need more. 1 in an index without signs. */
  double width_share;
  /* held_count positions in the base, of rows that the centroids were not trained on; NULL in an opened index. */
  const uint64_t *held;
} ty_ivf_part;
struct ty_ivf {
  uint64_t min_rows;
  double target_recall;
  uint32_t count;
  ty_ivf_part *parts;
  ty_intact signs; /* of all parts; no data where there are none */
  ty_arena memory; /* of the parts and their arrays */
};

/* Trains or reassigns, and reorders r->rows within each partition by list. Leaves r->ivf NULL where no partition is
 * large enough. */
ty_status ty_ivf_train(ty_rebase *r, ty_error *err);
/* Measures each partition's reach with held-out rows, in the new base (mapped). */
ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err);
/* Serialises for ivf-*.slab; and opens such bytes, with all checks against its base. */
ty_status ty_ivf_encode(const ty_ivf *ivf, uint32_t dim, ty_buffer *out, ty_error *err);
ty_status ty_ivf_open(const ty_collection *c, const ty_segment *base, const ty_span *spans, uint32_t span_count,
                      ty_slice bytes, ty_ivf **out, ty_error *err);
/* What an index was built with, of its first bytes. False, and nothing set, where they do not tell. */
bool ty_ivf_parameters(ty_slice bytes, uint64_t *min_rows, double *target_recall);
void ty_ivf_free(ty_ivf *ivf);
/* The mean squared distance of rows from their centroids, relative to when these were trained: 1 for a new index, more
 * as compactions assign other rows to its lists. From 1.25 on a rebuild is worth it. */
double ty_ivf_drift(const ty_ivf_part *part);

/* If the rows that are read without lists, mostly the delta's, are more than one in so many of the rows in lists,
 * reach_alone applies. */
#define TY_IVF_OTHERS_SHARE 10u

/* ---- Queries: probe.c, feed.c ---- */
typedef struct ty_ivf_question {
  const ty_collection *c;
  const float *query;
  int8_t *codes;
  uint8_t *tables;                        /* of an ame_sign_query; NULL: the query reads no signs */
  float sign_scale;                       /* of an ame_sign_query */
  double sign_lost;                       /* the squared distance of the query from its codes in the tables */
  double squares, norm;                   /* |q|^2 as summed; an upper bound of |q| */
  double scale, per_norm, per_err, slack; /* of the bound of an inner product by 8-bit codes, as in scan/question.c */
  double sum_error;                       /* of a score in f32, relative to |q| |x| (for L2 to the squared distance) */
  double value_least;
} ty_ivf_question;

/* Bounds of the values of a list's rows before any is read, on the scale of ty_scanner_threshold. */
typedef struct ty_ivf_outlook {
  double middle; /* about their mean */
  double spread; /* a row of the list is in reach r if its value is at most middle + r * spread */
  double most;   /* no row's value is above */
} ty_ivf_outlook;

/* <q, c> of a centroid by 8-bit codes, and half the width of its bound. */
typedef struct ty_ivf_product {
  double middle, width;
} ty_ivf_product;
ty_ivf_product ty_ivf_product_of(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, int32_t dot);

/* `query` must live until the close. `near`: also for ty_ivf_feed_near and ty_ivf_estimate. */
ty_status ty_ivf_question_open(const ty_collection *c, const float *query, bool near, ty_ivf_question *out,
                               ty_error *err);
void ty_ivf_question_close(ty_ivf_question *q);
/* The outlook of a list, from the product with its centroid. */
ty_ivf_outlook ty_ivf_outlook_of(const ty_ivf_question *q, const ty_ivf_part *part, uint32_t list, ty_ivf_product p);
/* Computes the outlooks of all lists of a part. */
void ty_ivf_look(const ty_ivf_question *q, const ty_ivf_part *part, ty_ivf_outlook *out);
/* Estimates the outlooks of all lists of a part: middles, which are rarely too low, and spreads. An approximate query
 * computes the outlook only of lists that attain the threshold by these estimates. A middle that is not known is
 * infinite. */
void ty_ivf_estimate(const ty_ivf_question *q, const ty_ivf_part *part, float *middle, float *spread);

/* Feeds all rows of a list. */
ty_status ty_ivf_feed_list(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part, uint32_t list,
                           ty_error *err);
/* Feeds the rows of parts list by list, the most promising first and without those that signs exclude, until no list is
 * left whose reach, its part's `reach` or `reach_alone`, attains the threshold. *probed counts the lists. */
ty_status ty_ivf_feed_near(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                           const ty_ivf_part *const *parts, uint32_t count, bool alone, uint64_t *probed,
                           ty_error *err);
/* Feeds the rows of a part but for lists whose bound excludes them: the result is exact. */
ty_status ty_ivf_feed_exact(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                            const ty_ivf_part *part, uint64_t top_k, ty_error *err);
/* The same in two steps, for queries that share a pass over the rows: first the most promising lists by `outlook` (from
 * ty_ivf_look), which are marked there as read; then the others of the lists from .. to - 1, in the order of memory. */
ty_status ty_ivf_feed_first(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part, uint64_t top_k,
                            ty_ivf_outlook *outlook, ty_error *err);
ty_status ty_ivf_feed_rest(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part,
                           const ty_ivf_outlook *outlook, uint32_t from, uint32_t to, ty_error *err);
