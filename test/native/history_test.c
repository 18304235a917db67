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
  each_kind(env, seed, 30, test_random_history);
  return program_end(env);
}
