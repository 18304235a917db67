/* The history of saves against a model, what becomes of damaged ones, and what limits them. */
#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/rows/vector.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_files.h"
#include "store_history.h"

static ty_env *env;
static ty_error err;

#include "history_cases.h"
#include "history_limits.h"
#include "history_random.h"

#include "history_damage.h"

/* Of each dtype and metric, rows that are codes and rows that are not, sparse ones, side by side and vertical. */
static void test_random_kinds(uint64_t seed, int steps) {
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"}, *const metrics[] = {"inner_product", "cosine",
                                                                                          "l2"};
  for (uint32_t i = 0; i < 24; i += stride) {
    model_dtype = dtypes[i % 4];
    model_metric = metrics[i / 4 % 3];
    model_codes = i % 8 < 4 ? NO_CODES : i % 3 == 0 ? ALL_CODES : MOST_CODES;
    model_sparse = i % 2 == 0;
    set_vertical(env, i >= 12 && i / 4 % 3 < 2);
    test_random_history(seed + i, steps);
  }
  model_dtype = "f32";
  model_metric = "inner_product";
  model_codes = NO_CODES;
  model_sparse = false;
  set_vertical(env, false);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "history-test", 2, &seed, &env)) return 2;
  test_one_save();
  test_rows_of_files();
  test_refused_origins();
  test_refused_changes();
  test_adopt_refused();
  test_too_large();
  test_full_disk();
  test_version_7();
  for (int adopts = 0; adopts < 2; adopts++) {
    test_failing_calls(adopts, EIO, 0);
    test_failing_calls(adopts, ENOSPC, 1);
  }
  test_damaged_history(seed);
  test_random_kinds(seed, 30);
  return program_end(env);
}
