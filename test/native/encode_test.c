/* The sentence encoder on every CPU path that runs here: encode_test MODEL [few]. Without a model, as a build without
 * its package leaves it, only the inner products are tested. `few` leaves out the scalar path, whose encodings have the
 * sum that is tested, most texts of all paths but the next one, and what is alike on every path: for QEMU, which takes
 * ten times as long. */
#include "kernel_common.h"

#include "encode_damage.h"
#include "encode_model.h"
#include "encode_texts.h"

#define RECORDS 300u
#define STRIDE  144u

/* Every byte is possible in a record, and all differences of places. */
static void test_dot_records(const char *path) {
  static int32_t out[RECORDS];
  const guarded records = guarded_memory((size_t)RECORDS * STRIDE, GUARD_BEHIND);
  uint8_t *base = records.at;
  for (size_t i = 0; i < (size_t)RECORDS * STRIDE; i++) base[i] = (uint8_t)random_u64();
  for (size_t n = 0; n <= RECORDS; n = n < 9 ? n + 1 : n + 97) {
    const guarded places = guarded_memory(n * sizeof(uint32_t), GUARD_BEHIND);
    uint32_t *at = places.at;
    int8_t q[AME_ENCODING_DIM];
    for (size_t i = 0; i < n; i++) at[i] = (uint32_t)(random_u64() % RECORDS) * (STRIDE / 16) + i % 2;
    for (size_t i = 0; i < AME_ENCODING_DIM; i++) q[i] = (int8_t)(random_u64() % 4 ? random_u64() % 255 - 127 : 127);
    ame_dot_records(q, base, at, n, out);
    for (size_t i = 0; i < n; i++) {
      int32_t sum = 0;
      for (size_t j = 0; j < AME_ENCODING_DIM; j++) sum += q[j] * (int8_t)base[16 * at[i] + j];
      if (!CHECK_MESSAGE(out[i] == sum, "%s: record %zu of %zu has %d, not %d", path, i, n, out[i], sum)) break;
    }
    guarded_free(places);
  }
  guarded_free(records);
}

int main(int count, char **arguments) {
  kernel = ame_kernel_table();
  size_t bytes = 0;
  uint8_t *model = model_read(count > 1 ? arguments[1] : NULL, &bytes);
  if (!model) fprintf(stderr, "there is no model: encodings are not tested\n");
  const int few = count > 2 && strcmp(arguments[2], "few") == 0;
  int is_first = 1;
  if (model) CHECK(ame_encoder_check(model, bytes) == 0);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) {
      fprintf(stderr, "%s: not on this machine\n", path);
      continue;
    }
    test_dot_records(path);
    if (!model || (few && strcmp(path, "scalar") == 0)) continue;
    test_encodings(model, path, is_first, few && !is_first ? 5 : 1);
    test_stop(model);
    is_first = 0;
  }
  if (model && !few) {
    test_hostile(model);
    test_damage(model, bytes);
  }
  free(model);
  return check_report();
}
