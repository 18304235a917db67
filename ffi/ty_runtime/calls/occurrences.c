/* Where texts hold one of some strings, without a collection. A string has at least three bytes, so that it covers a
 * pair of bytes that begins at an even place of the text, wherever it stands. Only these pairs of a text are looked up:
 * for each string one pair that begins at an even offset in it and one at an odd offset, those that prose has least. */
#include <inttypes.h>
#include <string.h>

#include "calls/arguments.h"
#include "os/arena.h"
#include "os/env.h"

#define PAIRS ((uint64_t)1 << 16)
#define NODES (2u * TY_OCCURRENCES_MOST)

/* A pair of a string that is looked up. */
typedef struct node {
  ty_slice string;
  uint16_t offset; /* of the pair in the string */
  uint16_t next;   /* of the same pair, + 1; 0: none */
} node;

typedef struct sought {
  ty_occurrences_args *args;
  uint16_t *first; /* by pair: its first node + 1; 0: none */
  node nodes[NODES];
  uint32_t count;
} sought;

static uint32_t pair_of(const uint8_t *p) {
  uint16_t pair;
  memcpy(&pair, p, sizeof pair);
  return pair;
}

/* How common a byte is in texts. */
static uint32_t commonness(uint8_t byte) {
  if (byte >= 'a' && byte <= 'z') return memchr("jqxzkvbw", byte, 8) != NULL ? 4 : 6;
  return byte == ' ' || byte == '-' ? 6 : byte >= '0' && byte <= '9' ? 3 : 2;
}

static void add_pair(sought *s, ty_slice string, uint64_t from) {
  uint64_t best = from;
  for (uint64_t at = from; at + 2 <= string.bytes && at <= UINT16_MAX; at += 2) {
    if (commonness(string.data[at]) + commonness(string.data[at + 1]) <
        commonness(string.data[best]) + commonness(string.data[best + 1]))
      best = at;
  }
  uint16_t *first = &s->first[pair_of(string.data + best)];
  s->nodes[s->count] = (node){string, (uint16_t)best, *first};
  *first = (uint16_t)++s->count;
}

/* Notes the place of each string whose pair is at `pair`. False: there is no room. */
static bool look_at(const sought *s, uint64_t text, ty_slice bytes, uint64_t pair) {
  ty_occurrences_args *a = s->args;
  for (uint32_t i = s->first[pair_of(bytes.data + pair)]; i != 0; i = s->nodes[i - 1].next) {
    const node *x = &s->nodes[i - 1];
    if (x->offset > pair) continue;
    const uint64_t at = pair - x->offset;
    if (x->string.bytes > bytes.bytes - at || memcmp(bytes.data + at, x->string.data, (size_t)x->string.bytes) != 0)
      continue;
    if (a->out_count == a->out_capacity) return false;
    a->out[2 * a->out_count] = (uint32_t)text;
    a->out[2 * a->out_count++ + 1] = (uint32_t)at;
  }
  return true;
}

static bool search(const sought *s, uint64_t text) {
  const ty_slice bytes = ty_nth(s->args->texts, s->args->text_ends, text);
  for (uint64_t at = 0; at + 2 <= bytes.bytes; at += 2) {
    if (s->first[pair_of(bytes.data + at)] != 0 && !look_at(s, text, bytes, at)) return false;
  }
  return true;
}

static ty_status check_strings(const ty_occurrences_args *a, ty_error *err) {
  if (a->m > TY_OCCURRENCES_MOST)
    return ty_fail(err, TY_INVALID, "there are more than %u strings", TY_OCCURRENCES_MOST);
  ty_status status = ty_check_texts(a->strings, a->string_ends, a->m, err);
  for (uint64_t i = 0; i < a->m && status == TY_OK; i++) {
    if (ty_nth(a->strings, a->string_ends, i).bytes < 3)
      status = ty_fail(err, TY_INVALID, "string %" PRIu64 " has fewer than three bytes", i);
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
  sought *s = ty_arena_zero(&memory, 1, sizeof *s);
  uint16_t *first = ty_arena_zero(&memory, PAIRS, sizeof *first);
  if (memory.failed) {
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for a search in texts");
  } else {
    s->args = a;
    s->first = first;
    for (uint64_t i = 0; i < 2 * a->m; i++) add_pair(s, ty_nth(a->strings, a->string_ends, i / 2), i % 2);
  }
  for (uint64_t i = 0; i < a->n && status == TY_OK; i++) {
    if (!search(s, i)) status = ty_fail(err, TY_BUFFER, "there are more than %" PRIu64 " places", a->out_capacity);
  }
  ty_arena_free(&memory);
  return status;
}
