/* Memory that the environment keeps of freed arrays. */
#pragma once

/* It is given out again, zero, and only so much of it is kept. */
static void test_spare(void) {
  ty_dir dir = {env, "."};
  ty_spill some[64] = {0}, first = {0}, next = {0};
  uint64_t from = env->spill_from, sum = 0;
  env->spill_from = UINT64_MAX; /* in memory */
  CHECK(ty_spill_grow(dir, &first, 0, 128 << 10));
  uintptr_t was = (uintptr_t)first.data;
  memset(first.data, 0xee, (size_t)first.bytes);
  ty_spill_free(env, &first);
  CHECK(ty_spill_grow(dir, &next, 0, 100 << 10) && (uintptr_t)next.data == was && next.bytes >= 100 << 10);
  for (uint64_t i = 0; i < next.bytes; i++) sum += ((uint8_t *)next.data)[i];
  CHECK(sum == 0 && (uintptr_t)next.data % 64 == 0);
  ty_spill_free(env, &next);
  CHECK(ty_spill_grow(dir, &first, 0, 132 << 10)); /* the next call has some rows more */
  was = (uintptr_t)first.data;
  ty_spill_free(env, &first);
  CHECK(ty_spill_grow(dir, &next, 0, 140 << 10) && (uintptr_t)next.data == was);
  ty_spill_free(env, &next);
  for (uint32_t i = 0; i < 64; i++) CHECK(ty_spill_grow(dir, &some[i], 0, (uint64_t)(1 + i) << 15));
  for (uint32_t i = 0; i < 64; i++) ty_spill_free(env, &some[i]);
  CHECK(env->spare.count <= TY_SPARE_BLOCKS && env->spare.bytes > 0 && env->spare.bytes <= TY_SPARE_BYTES);
  env->spill_from = from;
}
