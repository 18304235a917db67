/* A rewrite of the base (state/rebase.h): its rows are gathered in the order partition, birth, and all files of a base
 * are made from them. */
#pragma once

#include "rows/collection.h"
#include "work/work.h"

typedef struct ty_rebase {
  const ty_collection *c;
  ty_ref *rows; /* live rows, sorted by (partition code, birth); after ty_ivf_train by (partition code, list, birth) */
  uint64_t count;
  ty_span *spans; /* partitions of `rows`: first and count index into rows */
  uint32_t span_count;
  ty_phases phases;
  uint64_t most; /* resident bytes of rows that are read: os/resident.h */
  /* Copies of the delta's rows, to which `rows` refers instead of the delta: state/sorted.h. NULL: there are none. */
  const ty_segment *sorted;
  const ty_place *sorted_places; /* the place of the row that each is a copy of */
  ty_resident *sorted_resident;
  /* IVF: options, and the index from ty_ivf_train. */
  /* retrain_ivf: k-means and calibration, as where there is no index before; else rows are assigned to the existing
   * centroids, and the reach is kept unless the rows changed much. */
  bool want_ivf, retrain_ivf;
  uint64_t ivf_min_rows;
  double ivf_target_recall;
  uint32_t ivf_threads; /* 0: one for each processor, four at most; the index is the same with any number */
  ty_ivf *ivf;          /* from ty_ivf_train, in memory; ty_ivf_calibrate sets reach and nprobe */
  /* Lexical: options. */
  bool want_lexical, lexical_built; /* the second: ty_build_lexical was called */
  bool live_only;                   /* dead rows, which a rewrite has only to keep them, have no terms */
  double k1, b;
  ty_lexical *kept; /* has the terms of the base's rows, and matches its checksum; NULL: none does */
} ty_rebase;

/* The place in the collection of a row in `rows`; for a copy, that of the original. */
static inline ty_place ty_rebase_place(const ty_rebase *r, ty_ref row) {
  return row.segment == r->sorted ? r->sorted_places[row.at] : ty_place_of(r->c, row);
}
/* ty_read_row for a row in `rows`. */
static inline void ty_rebase_read(const ty_rebase *r, ty_ref row, uint64_t bytes) {
  if (row.segment == r->sorted) ty_touched(r->sorted_resident, TY_OF_DELTA, bytes, TY_RESIDENT_MOST);
  else ty_read_row(r->c, row, bytes, r->most);
}
