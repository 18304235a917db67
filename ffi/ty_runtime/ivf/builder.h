/* An index that is being built. */
#pragma once

#include "ivf/ivf.h"
#include "os/numbers.h"
#include "work/crew.h"

/* A ty_ivf for up to `parts` parts. */
ty_ivf *ty_ivf_new(uint32_t parts);

typedef struct ty_ivf_builder {
  ty_rebase *r;
  const ame_kernel *k;
  uint64_t dim;
  ty_crew crew;
} ty_ivf_builder;

/* Rows of a partition that calibration queries, and of the whole base. With 1,000 queries to images read 2,718 rows
 * instead of 2,482, at a recall of 0.993 instead of 0.992, and the build takes 1.25 times as long. */
#define TY_IVF_HELD_MAX 500u

/* Rows held out of k-means, which calibration queries, by their index in the partition, ascending. */
typedef struct ty_ivf_held {
  uint64_t *rows;
  uint64_t count;
} ty_ivf_held;

uint32_t ty_ivf_lists_for(uint64_t rows);
/* The work of training a partition, in rows. */
uint64_t ty_ivf_train_work(uint64_t rows, uint64_t dim);
/* Rows that one task assigns: 2^29 multiplications where each is compared with all centroids. */
uint64_t ty_ivf_task_rows(uint64_t nlist, uint64_t dim);
/* TY_CORRUPT, for a vector that is not finite: base vectors are not checked when they are mapped, so a forged one with
 * a valid checksum is found here first. */
ty_status ty_ivf_not_finite(ty_error *err);
/* k-means over a sample of the span. Fills centroids and half_norms; held->rows is the caller's to free(), also on
 * failure. */
ty_status ty_ivf_train_part(ty_ivf_builder *b, const ty_span *span, uint32_t nlist, float *centroids, float *half_norms,
                            ty_ivf_held *held, ty_error *err);
/* Assigns every row of the span and sorts r->rows by list; sets the part's radii, codes and list starts, and its held
 * rows as positions. */
ty_status ty_ivf_assign_part(ty_ivf_builder *b, ty_ivf *ivf, const ty_span *span, const ty_ivf_held *held,
                             ty_ivf_part *part, ty_error *err);
