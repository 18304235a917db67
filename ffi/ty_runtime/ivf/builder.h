/* An index that is being built. */
#ifndef TY_IVF_BUILDER_H
#define TY_IVF_BUILDER_H

#include "ivf/ivf.h"
#include "work/crew.h"

/* A ty_ivf with room for `parts` parts; every ty_ivf is made by this, because ty_ivf_free also frees its memory. */
ty_ivf *ty_ivf_new(uint32_t parts);
/* Memory that lives as long as the index, 64-byte aligned; NULL when there is none left. */
void *ty_ivf_memory(ty_ivf *ivf, uint64_t bytes);

/* A small generator with a fixed seed (splitmix64, Steele et al. 2014): builds are repeatable. */
static inline uint64_t ty_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

typedef struct ty_ivf_builder {
  ty_rebase *r;
  const ame_kernel *k;
  uint64_t dim;
  ty_crew crew;
} ty_ivf_builder;

/* Rows of the partition by their index in it, ascending, that k-means must not see and calibration asks about. */
typedef struct ty_ivf_held {
  uint64_t *rows;
  uint64_t count;
} ty_ivf_held;

uint32_t ty_ivf_lists_for(uint64_t rows);
/* What training and assigning a partition counts as work, in rows. */
uint64_t ty_ivf_train_work(uint64_t rows, uint64_t dim);
/* Rows that one task assigns: 2^29 multiplications where each is compared with all centroids. */
uint64_t ty_ivf_task_rows(uint64_t nlist, uint64_t dim);
/* Base vectors are mapped unread, so that a forged one, with a checksum that fits, is found here first: TY_CORRUPT. */
ty_status ty_ivf_not_finite(ty_error *err);
/* k-means over a sample of the span. Fills centroids and half_norms; held->rows is the caller's to free(), also on
 * failure. */
ty_status ty_ivf_train_part(ty_ivf_builder *b, const ty_span *span, uint32_t nlist, float *centroids, float *half_norms,
                            ty_ivf_held *held, ty_error *err);
/* Assigns every row of the span and puts r->rows in the order of lists; fills the part's radii, codes and list starts,
 * and turns held rows into positions. */
ty_status ty_ivf_assign_part(ty_ivf_builder *b, ty_ivf *ivf, const ty_span *span, const ty_ivf_held *held,
                             ty_ivf_part *part, ty_error *err);

#endif
