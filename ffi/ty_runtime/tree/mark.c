#include "tree/tree.h"

static const uint64_t P1 = 0x9e3779b185ebca87ull, P2 = 0xc2b2ae3d27d4eb4full, P3 = 0x165667b19e3779f9ull,
                      P4 = 0x85ebca77c2b2ae63ull, P5 = 0x27d4eb2f165667c5ull;

static uint64_t rotate(uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }

static uint64_t read8(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

static uint64_t read4(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

static uint64_t round_of(uint64_t sum, uint64_t value) { return rotate(sum + value * P2, 31) * P1; }

static uint64_t merge(uint64_t hash, uint64_t sum) { return (hash ^ round_of(0, sum)) * P1 + P4; }

uint64_t ty_content_hash(const void *data, size_t bytes) {
  const uint8_t *p = data;
  size_t left = bytes;
  uint64_t hash = P5;
  if (left >= 32) {
    uint64_t a = P1 + P2, b = P2, c = 0, d = 0 - P1;
    for (; left >= 32; left -= 32, p += 32) {
      a = round_of(a, read8(p));
      b = round_of(b, read8(p + 8));
      c = round_of(c, read8(p + 16));
      d = round_of(d, read8(p + 24));
    }
    hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += (uint64_t)bytes;
  for (; left >= 8; left -= 8, p += 8) hash = rotate(hash ^ round_of(0, read8(p)), 27) * P1 + P4;
  for (; left >= 4; left -= 4, p += 4) hash = rotate(hash ^ (read4(p) * P1), 23) * P2 + P3;
  for (; left > 0; left--, p++) hash = rotate(hash ^ (*p * P5), 11) * P1;
  hash = (hash ^ (hash >> 33)) * P2;
  hash = (hash ^ (hash >> 29)) * P3;
  return hash ^ (hash >> 32);
}

double ty_mark_of(const ty_lstat *seen) {
  uint64_t words[] = {seen->size,
                      (uint64_t)seen->modified_s,
                      (uint64_t)seen->changed_s,
                      (uint64_t)seen->modified_ns << 32 | seen->changed_ns,
                      seen->inode,
                      (uint64_t)seen->kind};
  uint64_t mark = ty_content_hash(words, sizeof words) >> 11;
  return mark == 0 ? 1 : (double)mark;
}

double ty_changed_ms(const ty_lstat *seen) {
  double modified = (double)seen->modified_s * 1000 + (double)(seen->modified_ns / 1000000);
  double changed = (double)seen->changed_s * 1000 + (double)(seen->changed_ns / 1000000);
  return modified > changed ? modified : changed;
}
