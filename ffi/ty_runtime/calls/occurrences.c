/* Where texts hold one of some strings, without a collection. A string has at least two bytes, so that of every two
 * neighbouring pairs of a text one is looked up: as the first two bytes of a string, or as its second and third. Many
 * pairs of prose are in some string; the three bytes there exclude most of these places. */
#include <inttypes.h>
#include <string.h>

#include "calls/arguments.h"
#include "os/arena.h"
#include "os/env.h"

#define PAIRS       ((uint64_t)1 << 16)
#define TRIPLE_BITS 15u
/* What a pair may be of a string. */
#define BEGINS  1u
#define FOLLOWS 2u

typedef struct sought {
  ty_occurrences_args *args;
  uint8_t *places;                           /* by pair: BEGINS, FOLLOWS */
  uint8_t *firsts;                           /* by pair: the first string that begins with it, + 1 */
  uint8_t triples[(1u << TRIPLE_BITS) / 8u]; /* a bit is set where a string may begin with three bytes of this hash */
  uint8_t nexts[TY_OCCURRENCES_MOST];        /* the next string that begins with the same pair, + 1 */
} sought;

static uint32_t pair_of(const uint8_t *p) {
  uint16_t pair;
  memcpy(&pair, p, sizeof pair);
  return pair;
}

static uint32_t triple_of(const uint8_t *p) {
  return ((uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2]) * 0x9e3779b1u >> (32 - TRIPLE_BITS);
}

static void add(sought *s, uint64_t i) {
  const ty_slice string = ty_nth(s->args->strings, s->args->string_ends, i);
  const uint32_t pair = pair_of(string.data);
  s->places[pair] |= BEGINS;
  s->nexts[i] = s->firsts[pair];
  s->firsts[pair] = (uint8_t)(i + 1);
  for (uint32_t third = 0; third < 256; third++) {
    const uint8_t begin[3] = {string.data[0], string.data[1], (uint8_t)third};
    const uint32_t triple = triple_of(begin);
    if (string.bytes > 2 && string.data[2] != third) continue;
    s->places[pair_of(begin + 1)] |= FOLLOWS;
    s->triples[triple / 8] |= (uint8_t)(1u << triple % 8);
  }
}

/* Notes the place, if a string is there. False: there is no room for it. */
static bool look_at(sought *s, uint64_t text, ty_slice bytes, uint64_t at) {
  ty_occurrences_args *a = s->args;
  if (bytes.bytes - at > 2) {
    const uint32_t triple = triple_of(bytes.data + at);
    if ((s->triples[triple / 8] >> triple % 8 & 1) == 0) return true;
  }
  for (uint32_t i = s->firsts[pair_of(bytes.data + at)]; i != 0; i = s->nexts[i - 1]) {
    const ty_slice string = ty_nth(a->strings, a->string_ends, i - 1);
    if (string.bytes > bytes.bytes - at || memcmp(bytes.data + at, string.data, (size_t)string.bytes) != 0) continue;
    if (a->out_count == a->out_capacity) return false;
    a->out[2 * a->out_count] = (uint32_t)text;
    a->out[2 * a->out_count++ + 1] = (uint32_t)at;
    return true;
  }
  return true;
}

static bool search(sought *s, uint64_t text) {
  const ty_slice bytes = ty_nth(s->args->texts, s->args->text_ends, text);
  for (uint64_t at = 0; at + 2 <= bytes.bytes; at += 2) {
    const uint32_t place = s->places[pair_of(bytes.data + at)];
    if (place == 0) continue;
    if ((place & FOLLOWS) != 0 && at > 0 && !look_at(s, text, bytes, at - 1)) return false;
    if ((place & BEGINS) != 0 && !look_at(s, text, bytes, at)) return false;
  }
  /* The last two of an odd number of bytes. */
  return bytes.bytes % 2 == 0 || bytes.bytes < 2 || look_at(s, text, bytes, bytes.bytes - 2);
}

static ty_status check_strings(const ty_occurrences_args *a, ty_error *err) {
  if (a->m > TY_OCCURRENCES_MOST)
    return ty_fail(err, TY_INVALID, "there are more than %u strings", TY_OCCURRENCES_MOST);
  ty_status status = ty_check_texts(a->strings, a->string_ends, a->m, err);
  for (uint64_t i = 0; i < a->m && status == TY_OK; i++) {
    if (ty_nth(a->strings, a->string_ends, i).bytes < 2)
      status = ty_fail(err, TY_INVALID, "string %" PRIu64 " has fewer than two bytes", i);
  }
  return status;
}

ty_status ty_occurrences(ty_occurrences_args *a, ty_error *err) {
  a->out_count = 0;
  ty_status status = ty_check_texts(a->texts, a->text_ends, a->n, err);
  if (status == TY_OK) status = check_strings(a, err);
  if (status != TY_OK) return status;
  if (a->out_capacity > 0 && a->out == NULL) return ty_fail(err, TY_INVALID, "there is no memory for the answer");
  ty_arena memory = {0};
  sought s = {.args = a, .places = ty_arena_zero(&memory, PAIRS, 1), .firsts = ty_arena_zero(&memory, PAIRS, 1)};
  if (memory.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory for a search in texts");
  for (uint64_t i = 0; i < a->m && status == TY_OK; i++) add(&s, i);
  for (uint64_t i = 0; i < a->n && status == TY_OK; i++) {
    if (!search(&s, i)) status = ty_fail(err, TY_BUFFER, "there are more than %" PRIu64 " places", a->out_capacity);
  }
  ty_arena_free(&memory);
  return status;
}
