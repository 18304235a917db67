/* k-means: seeding, assignment, update, equal to the bit on every path. */
#include "search/steps.h"

#include "isa/isa.h"

#include <math.h>

void kernel_kmeans_half_norms(const float *centroids, size_t k, size_t dim, float *half_norms) {
  for (size_t j = 0; j < k; j++) {
    const float *c = centroids + j * dim;
    double lane[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < dim; i++) {
      double v = (double)c[i];
      lane[i % 4] += v * v;
    }
    half_norms[j] = (float)(((lane[0] + lane[2]) + (lane[1] + lane[3])) / 2);
  }
}

/* ||x - c||^2 - ||x||^2 = 2 (||c||^2 / 2 - <x, c>): one inner product a pair. Centroids are taken in blocks of TILE,
 * whose products fit the stack: 64 of 384 floats are 96 KB and stay in the L2 cache while all rows of a group of four
 * are compared with them. */
#define TILE 64

void kernel_kmeans_assign(const float *rows, size_t n, size_t dim, const float *centroids, const float *half_norms,
                          size_t k, uint32_t *assign, float *best) {
  const isa_path *isa = isa_active();
  float product[4 * TILE];
  for (size_t i = 0; k && i < n; i += 4) {
    size_t count = n - i < 4 ? n - i : 4;
    const float *q[4];
    for (size_t r = 0; r < 4; r++) q[r] = rows + (i + (r < count ? r : count - 1)) * dim;
    float least[4] = {0, 0, 0, 0};
    uint32_t nearest[4] = {0, 0, 0, 0};
    for (size_t from = 0; from < k; from += TILE) {
      size_t width = k - from < TILE ? k - from : TILE;
      isa->dot_f32_tile(q, centroids + from * dim, width, dim, product);
      for (size_t r = 0; r < count; r++) {
        for (size_t j = 0; j < width; j++) {
          float d = half_norms[from + j] - product[r * width + j];
          if (d < least[r] || from + j == 0) {
            least[r] = d;
            nearest[r] = (uint32_t)(from + j);
          }
        }
      }
    }
    for (size_t r = 0; r < count; r++) {
      assign[i + r] = nearest[r];
      if (best) best[i + r] = 2.0f * least[r];
    }
  }
}

/* The next number of splitmix64, in [0, 1): enough for sampling, and the same everywhere. */
static double next_unit(uint64_t *state) { return (double)(isa_mix(*state += ISA_GOLDEN) >> 11) * 0x1p-53; }

static size_t sample(const float *distance, size_t n, uint64_t *state) {
  double total = 0, at = 0;
  for (size_t i = 0; i < n; i++) total += (double)distance[i];
  double u = next_unit(state);
  size_t last = (size_t)(u * (double)n); /* all rows are centroids already: any row is good */
  if (!(total > 0)) return last < n ? last : n - 1;
  double target = u * total;
  for (size_t i = 0; i < n; i++) {
    if (!(distance[i] > 0)) continue;
    at += (double)distance[i];
    last = i;
    if (at > target) break;
  }
  return last;
}

#define SEED_BLOCK 256

void kernel_kmeans_seed(const float *rows, size_t n, size_t dim, size_t k, uint64_t seed, float *centroids,
                        float *distance) {
  if (!n) return;
  const isa_path *isa = isa_active();
  uint64_t state = seed;
  float fresh[SEED_BLOCK];
  for (size_t j = 0; j < k; j++) {
    size_t pick = j ? sample(distance, n, &state) : (size_t)(next_unit(&state) * (double)n);
    if (pick >= n) pick = n - 1;
    float *c = centroids + j * dim;
    memcpy(c, rows + pick * dim, dim * sizeof(float));
    for (size_t i = 0; i < n; i += SEED_BLOCK) {
      size_t count = n - i < SEED_BLOCK ? n - i : SEED_BLOCK;
      isa->sq_l2(c, rows + i * dim, count, dim, fresh);
      for (size_t r = 0; r < count; r++) {
        if (j == 0 || fresh[r] < distance[i + r]) distance[i + r] = fresh[r];
      }
    }
  }
}

/* In the order of falling distance of rows from their own centroid, the first row after (last, last_row) that is not
 * alone in its cluster; n when there is none. Following that order needs no list of the rows already taken. */
static size_t farthest(const isa_path *isa, const float *rows, size_t n, size_t dim, const uint32_t *assign,
                       const float *centroids, const uint64_t *counts, float *last, size_t *last_row) {
  float most = -1;
  size_t found = n;
  for (size_t i = 0; i < n; i++) {
    if (counts[assign[i]] < 2) continue;
    float d;
    isa->sq_l2(rows + i * dim, centroids + (size_t)assign[i] * dim, 1, dim, &d);
    if (d > *last || (d == *last && i <= *last_row)) continue;
    if (d > most) {
      most = d;
      found = i;
    }
  }
  *last = most;
  *last_row = found;
  return found;
}

/* `best` holds the same distances less ||x||^2. It is not used: as a difference of two large numbers it orders rows
 * near their centroid badly, and empty centroids are rare. */
float kernel_kmeans_update(const float *rows, size_t n, size_t dim, const uint32_t *assign, const float *best, size_t k,
                           float *centroids, double *sums, uint64_t *counts) {
  (void)best;
  if (!n || !k) return 0;
  const isa_path *isa = isa_active();
  memset(sums, 0, k * dim * sizeof(double));
  memset(counts, 0, k * sizeof(uint64_t));
  for (size_t i = 0; i < n; i++) {
    double *s = sums + (size_t)assign[i] * dim;
    const float *row = rows + i * dim;
    counts[assign[i]]++;
    for (size_t j = 0; j < dim; j++) s[j] += (double)row[j];
  }
  float last = INFINITY;
  size_t last_row = 0;
  for (size_t c = 0; c < k; c++) {
    if (counts[c]) continue;
    size_t row = farthest(isa, rows, n, dim, assign, centroids, counts, &last, &last_row);
    if (row == n) break;
    counts[assign[row]]--;
    double *from = sums + (size_t)assign[row] * dim, *to = sums + c * dim;
    for (size_t j = 0; j < dim; j++) {
      double v = (double)rows[row * dim + j];
      from[j] -= v;
      to[j] = v;
    }
    counts[c] = 1;
  }
  float moved = 0;
  for (size_t c = 0; c < k; c++) {
    if (!counts[c]) continue;
    double move = 0, count = (double)counts[c];
    float *centroid = centroids + c * dim;
    for (size_t j = 0; j < dim; j++) {
      float mean = (float)(sums[c * dim + j] / count);
      double d = (double)mean - (double)centroid[j];
      move += d * d;
      centroid[j] = mean;
    }
    if ((float)move > moved) moved = (float)move;
  }
  return moved;
}
