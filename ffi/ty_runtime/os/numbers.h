/* Encodings and arithmetic that give the same bits on every machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* LEB128: numbers in as many bytes as they need, seven bits in each. */

uint64_t ty_leb_put(uint8_t *out, uint64_t value); /* up to 10 bytes; returns how many */
bool ty_leb_get(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* The bits of z, mixed: the last step of splitmix64 (Steele et al. 2014). */
static inline uint64_t ty_mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
/* splitmix64: a small generator, the same for the same seed. */
static inline uint64_t ty_random(uint64_t *state) { return ty_mix(*state += 0x9e3779b97f4a7c15u); }

/* The natural logarithm of a number from 2^-1022 on, with a relative error of at most 2^-50. That of the C library
 * differs in its last bit between systems, and so would scores. */
double ty_ln(double x);
