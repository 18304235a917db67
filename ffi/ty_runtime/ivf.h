/* What the files of the IVF index share. */
#ifndef TY_IVF_H
#define TY_IVF_H

#include "internal.h"

/* Rows between two looks at `cancel`: about 0.1 s of k-means at 600 centroids of 384 dimensions. */
#define TY_IVF_BLOCK 4096u

/* A ty_ivf with room for `parts` parts; every ty_ivf is made by this, because ty_ivf_free also frees what hangs on it. */
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

#endif
