/* Numbers as all machines store and compute them: LEB128, and the logarithm, which is pinned to its bits. */
#include "../../ffi/ty_runtime/os/numbers.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "random.h"

#define ROUNDS 200000u

static void test_leb(void) {
  uint8_t bytes[10];
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const uint64_t value = rng() >> rng() % 64;
    const uint64_t n = ty_leb_put(bytes, value);
    const uint8_t *at = bytes;
    uint64_t read;
    CHECK(n <= sizeof bytes && ty_leb_get(&at, bytes + n, &read) && read == value && at == bytes + n);
    at = bytes;
    CHECK(!ty_leb_get(&at, bytes + n - 1, &read) && at == bytes);
  }
  const uint8_t large[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}, *at = large;
  uint64_t read;
  CHECK(!ty_leb_get(&at, large + sizeof large, &read));
}

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Near 1, on both sides, the logarithm is near 0, and has as many correct bits there. */
static void test_log(void) {
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const double part = (double)(rng() >> 11) * 0x1p-53;
    const double x = i % 2 == 0 ? 1 + ldexp(i % 4 == 0 ? part : -part / 2, -(int)(rng() % 50))
                                : ldexp(1 + part, (int)(rng() % 2000) - 1000);
    const double truth = log(x);
    CHECK_MESSAGE(fabs(ty_ln(x) - truth) <= fabs(truth) * 0x1p-50, "the logarithm of %a is %a, not %a", x, ty_ln(x),
                  truth);
  }
  static const struct {
    double x;
    uint64_t bits;
  } pinned[] = {{1, 0},
                {2, 0x3fe62e42fefa39ef},
                {3, 0x3ff193ea7aad030a},
                {10, 0x40026bb1bbb55515},
                {1.5, 0x3fd9f323ecbf984c},
                {1e6, 0x402ba18a998fffa0},
                {0.1, 0xc0026bb1bbb55515},
                {1 + 1e-9, 0x3e112e0bffdb1b44}};
  for (uint32_t i = 0; i < sizeof pinned / sizeof *pinned; i++)
    CHECK_MESSAGE(bits_of(ty_ln(pinned[i].x)) == pinned[i].bits, "of %g: 0x%llx", pinned[i].x,
                  (unsigned long long)bits_of(ty_ln(pinned[i].x)));
}

int main(void) {
  test_leb();
  test_log();
  return check_report();
}
