/* Data that near_open.c makes for near.c. */
#pragma once

#include "ivf/near.h"

#define TY_IVF_GROUPS_MAX 256u
/* The `share` of rows that are compared with all centroids in f32. */
#define TY_IVF_IN_F32 0u

struct ty_ivf_near {
  ty_arena memory;
  const ame_kernel *k;
  size_t dim, stride;
  uint32_t nlist, groups, share;
  const float *centroids, *half_norms;
  uint32_t *order, *starts;    /* lists by group; start of each group in `order` */
  int8_t *codes, *pivot_codes; /* of the lists in `order`; of the pivots */
  /* A centroid's value is <x, c - m> - |c|^2 / 2, largest for the nearest: scale times the product of codes, plus bias.
   * m is the mean of the centroids, subtracted so that the codes' bits are not spent on their common part. */
  float *scale, *bias, *pivot_scale, *pivot_bias;
};
