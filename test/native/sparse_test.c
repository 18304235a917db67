/* Vectors without their zeros, on every CPU path that runs here: every density and number of dimensions, and bytes that
 * are not one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/rows/sparse.h"
#include "check.h"
#include "random.h"

#define DIM_MOST 300u
#define ROUNDS   20000u

static const ame_kernel *kernel;
static uint8_t stored[sizeof(float) + DIM_MOST], taken[sizeof(float) + DIM_MOST];
static float floats[DIM_MOST];

static void fill(uint32_t dim, uint32_t percent) {
  const float scale = (float)ldexp((double)(rng() % 1000), -10);
  memcpy(stored, &scale, sizeof scale);
  for (uint32_t i = 0; i < dim; i++)
    stored[sizeof scale + i] = rng() % 100 < percent ? (uint8_t)(rng() % 2 ? 1 + rng() % 127 : 129 + rng() % 127) : 0;
}

static void check_equal(ty_slice sparse, uint32_t dim) {
  float scale;
  memcpy(&scale, stored, sizeof scale);
  CHECK(ty_sparse_good(sparse, dim));
  ty_sparse_take(kernel, sparse, dim, taken);
  CHECK(memcmp(taken, stored, sizeof scale + dim) == 0);
  ty_sparse_decode(sparse, dim, floats);
  for (uint32_t i = 0; i < dim; i++) {
    const float wanted = scale * (float)(int8_t)stored[sizeof scale + i];
    if (!CHECK(memcmp(&floats[i], &wanted, sizeof wanted) == 0)) return;
  }
}

/* Cut off, extended and changed; what is good has one form only, so that no change leaves the same vector. */
static void check_changed(uint8_t *data, uint64_t bytes, uint32_t dim) {
  const uint64_t head = ty_sparse_least(dim);
  for (uint64_t cut = 0; cut < bytes; cut += 1 + bytes / 7) CHECK(!ty_sparse_good((ty_slice){data, cut}, dim));
  CHECK(!ty_sparse_good((ty_slice){data, bytes + 1}, dim));
  const uint64_t at = sizeof(float) + rng() % (bytes - sizeof(float));
  const uint8_t before = data[at];
  data[at] = (uint8_t)(before ^ 1u << rng() % 8);
  const ty_slice changed = {data, bytes};
  if (at < head) CHECK(!ty_sparse_good(changed, dim));
  /* Nothing is read beyond the bytes, whatever they are: the sanitizers see it. */
  ty_sparse_take(kernel, changed, dim, taken);
  ty_sparse_decode(changed, dim, floats);
  data[at] = before;
}

/* One vector on one path. `truth` is what the scalar path has written, or is to write. */
static void check_path(const char *path, uint32_t dim, uint64_t bytes, uint8_t *truth) {
  uint8_t *data = malloc((size_t)bytes + 1); /* exact but for one byte, which is not 0 */
  float scale;
  memcpy(&scale, stored, sizeof scale);
  if (!CHECK(data != NULL)) return;
  data[bytes] = 1;
  ty_sparse_put(kernel, scale, (const int8_t *)stored + sizeof scale, dim, bytes, data);
  CHECK(data[bytes] == 1);
  if (strcmp(path, "scalar") == 0) memcpy(truth, data, (size_t)bytes);
  CHECK_MESSAGE(memcmp(truth, data, (size_t)bytes) == 0, "%s: %u dimensions, other bytes", path, dim);
  check_equal((ty_slice){data, bytes}, dim);
  check_changed(data, bytes, dim);
  free(data);
}

int main(void) {
  static uint8_t truth[sizeof(float) + (DIM_MOST + 7) / 8 + DIM_MOST];
  kernel = ame_kernel_table();
  for (uint32_t round = 0; round < ROUNDS; round++) {
    const uint32_t dim = 1 + (uint32_t)(rng() % DIM_MOST), percent = round % 5 == 0 ? 0 : (uint32_t)(rng() % 101);
    fill(dim, percent);
    const uint64_t bytes = ty_sparse_bytes((const int8_t *)stored + sizeof(float), dim);
    for (uint32_t i = 0; i < ame_isa_count(); i++) {
      if (ame_isa_force(ame_isa_name(i)) == 0) check_path(ame_isa_name(i), dim, bytes, truth);
    }
  }
  return check_report();
}
