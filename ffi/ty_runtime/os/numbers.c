#include "os/numbers.h"

#include <math.h>

#define LN_2 0.693147180559945309417
/* The last power of the series in ty_ln; the terms after it are below 2^-56 of the sum. */
#define LAST_TERM 21

uint64_t ty_leb_put(uint8_t *out, uint64_t value) {
  uint64_t n = 0;
  while (value >= 0x80) {
    out[n++] = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  out[n++] = (uint8_t)value;
  return n;
}

bool ty_leb_get(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  uint64_t result = 0;
  const uint8_t *p = *at;
  for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
    uint8_t byte = *p++;
    if (shift == 63 && byte > 1) return false;
    result |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *at = p;
      *value = result;
      return true;
    }
  }
  return false;
}

/* With x = m * 2^e, m from the root of 1/2 to that of 2, and s = (m - 1) / (m + 1), which is at most .172:
 * ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...). */
double ty_ln(double x) {
  int exponent;
  double m = frexp(x, &exponent), sum = 0;
  if (m < 0.707106781186547524) {
    m *= 2;
    exponent--;
  }
  const double s = (m - 1) / (m + 1), square = s * s;
  for (int k = LAST_TERM; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  return exponent * LN_2 + (2 * s + 2 * s * sum);
}
