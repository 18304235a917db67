/* The base is rewritten whole (state/rebase.h): the live rows are gathered in the order partition, birth, and then
 * everything that belongs to a base is made from them. */
#ifndef TY_REWRITE_H
#define TY_REWRITE_H

#include "rows/collection.h"
#include "work/work.h"

typedef struct ty_rebase {
  const ty_collection *c;
  ty_ref *rows; /* live rows; sorted by (partition code, birth); after ty_ivf_train by (partition code, list, birth) */
  uint64_t count;
  ty_span *spans; /* partitions of `rows`: first and count index into rows */
  uint32_t span_count;
  ty_phases phases;
  uint64_t most; /* resident of what is read: TY_RESIDENT_MOST, or the bound for building an index */
  /* IVF: what is wanted, and what ty_ivf_train made of it. */
  bool want_ivf, retrain_ivf; /* keep: reassign to the existing centroids, reach kept unless the rows changed much;
                                 retrain: k-means and calibration */
  uint64_t ivf_min_rows;
  double ivf_target_recall;
  uint32_t ivf_threads; /* 0: one for each processor, four at most; the index is the same with any number */
  ty_ivf *ivf;          /* made by ty_ivf_train, with centroids and list starts in memory; reach and nprobe set by
                           ty_ivf_calibrate */
  /* Lexical: what is wanted. */
  bool want_lexical;
  double k1, b;
} ty_rebase;

#endif
