/* Coverage of the code under test, as counters that the compiler puts at each edge
 * (-fsanitize-coverage=inline-8bit-counters), and a corpus of inputs that reached something new. Built without them,
 * nothing is new and inputs are changed blindly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *cover_counters, *cover_end;
static uint8_t *cover_seen; /* of each counter a bit for each order of magnitude */
static uint64_t cover_edges;

/* Called before main, by each file of code, with the counters of all. */
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop) {
  cover_counters = start;
  cover_end = stop;
}

static void cover_begin(void) {
  if (cover_counters == NULL) return;
  if (cover_seen == NULL) cover_seen = calloc((size_t)(cover_end - cover_counters), 1);
  memset(cover_counters, 0, (size_t)(cover_end - cover_counters));
}

/* Whether an edge was reached since cover_begin that was not before, or in another order of magnitude. */
static bool cover_is_new(void) {
  size_t n = cover_counters == NULL ? 0 : (size_t)(cover_end - cover_counters);
  bool is_new = false;
  for (size_t i = 0; i < n; i++) {
    uint8_t count = cover_counters[i], bit = 1;
    if (count == 0) continue;
    for (; count > 1 && bit < 0x80; count >>= 1) bit = (uint8_t)(bit << 1);
    if (cover_seen[i] == 0) cover_edges++;
    if ((cover_seen[i] & bit) == 0) is_new = true;
    cover_seen[i] |= bit;
  }
  return is_new;
}

/* An input: a file of the collection by its place among them, and other bytes of it. */
typedef struct cover_input {
  int file;
  uint8_t *data;
  size_t bytes;
} cover_input;
#define COVER_INPUTS_MAX 4096
static cover_input cover_inputs[COVER_INPUTS_MAX];
static int cover_count;

static void cover_keep(int file, const uint8_t *data, size_t bytes) {
  if (cover_count == COVER_INPUTS_MAX) return;
  cover_inputs[cover_count] = (cover_input){.file = file, .data = malloc(bytes > 0 ? bytes : 1), .bytes = bytes};
  memcpy(cover_inputs[cover_count++].data, data, bytes);
}

static void cover_forget(void) {
  for (int i = 0; i < cover_count; i++) free(cover_inputs[i].data);
  cover_count = 0;
}
