/* What near_open.c makes and near.c reads. */
#ifndef TY_IVF_NEAR_STATE_H
#define TY_IVF_NEAR_STATE_H

#include "ivf/near.h"

#define TY_IVF_GROUPS_MAX 256u
/* The share of rows that are compared with all centroids in f32. */
#define TY_IVF_IN_F32 0u

struct ty_ivf_near {
  const ame_kernel *k;
  size_t dim, stride;
  uint32_t nlist, groups, share;
  const float *centroids, *half_norms;
  uint32_t *order, *starts;    /* lists by group; where a group starts in that order */
  int8_t *codes, *pivot_codes; /* of the lists in that order; of the pivots */
  /* A centroid's value is <x, c - m> - |c|^2 / 2, the largest for the nearest: scale times the product of codes, plus
   * bias. m is the mean of the centroids: what all of them share would take the codes' bits from what tells them apart.
   */
  float *scale, *bias, *pivot_scale, *pivot_bias;
};

#endif
