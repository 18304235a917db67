#include "os/numbers.h"

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
