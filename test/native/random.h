/* Deterministic numbers (SplitMix64). A failing test prints the seed it was given. */
#pragma once

#include <stdint.h>

static uint64_t rng_state = 1;
static uint64_t rng(void) {
  uint64_t z = rng_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
