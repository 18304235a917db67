/* A table is made in rounds. A round codes a part of the sample with the symbols so far, and counts the symbols and
 * pairs of symbols that follow each other. The next round's symbols are those of both that cover the most bytes. */
#include <stdlib.h>
#include <string.h>

#include "rows/symbols.h"

#define ITEMS    512u /* bytes, then symbols */
#define SLOTS    32768u
#define SLOTS_IN (SLOTS / 4 * 3) /* candidates at most */
/* A symbol of one byte counts as more: without it the byte takes two. */
#define OF_ONE 8u

/* The part of the sample that each round reads, in 128ths. The last round makes no longer symbols, and drops those that
 * others have taken the place of. */
static const uint32_t PARTS[] = {8, 38, 68, 98, 128};
#define ROUNDS (sizeof PARTS / sizeof *PARTS)

typedef struct candidate {
  uint64_t symbol, gain;
  uint32_t bytes; /* 0: a free slot */
} candidate;

typedef struct training {
  ty_symbols *table;
  uint32_t singles[ITEMS];
  uint32_t pairs[ITEMS][ITEMS];
  uint32_t count;
  candidate slots[SLOTS];
  candidate best[TY_SYMBOLS_MOST];
} training;

static uint64_t symbol_of(const training *t, uint32_t item) {
  return item < 256 ? item : t->table->symbols[item - 256];
}

static uint32_t bytes_of(const training *t, uint32_t item) { return item < 256 ? 1 : t->table->lengths[item - 256]; }

static void count_items(training *t, const ty_symbol_coder *c, ty_slice sample) {
  uint32_t before = ITEMS, bytes;
  for (uint64_t at = 0; at < sample.bytes; at += bytes) {
    const uint32_t item = ty_symbol_next(c, sample.data + at, sample.bytes - at, &bytes);
    t->singles[item]++;
    if (before < ITEMS) t->pairs[before][item]++;
    /* A symbol may grow by one byte too. */
    if (before < ITEMS && bytes > 1) t->pairs[before][sample.data[at]]++;
    before = item;
  }
}

static void add(training *t, uint64_t symbol, uint32_t bytes, uint64_t gain) {
  uint64_t slot = (symbol ^ bytes) * 0x9e3779b97f4a7c15u >> 49; /* of SLOTS */
  while (t->slots[slot].bytes != 0 && (t->slots[slot].symbol != symbol || t->slots[slot].bytes != bytes))
    slot = (slot + 1) % SLOTS;
  candidate *to = &t->slots[slot];
  if (to->bytes == 0 && t->count++ >= SLOTS_IN) return;
  *to = (candidate){symbol, to->gain + gain, bytes};
}

static void add_pairs(training *t, uint32_t first, uint32_t least) {
  const uint64_t symbol = symbol_of(t, first);
  const uint32_t bytes = bytes_of(t, first);
  for (uint32_t second = 0; second < ITEMS && bytes < TY_SYMBOL_BYTES; second++) {
    const uint32_t n = t->pairs[first][second];
    if (n < least) continue;
    const uint32_t room = TY_SYMBOL_BYTES - bytes, more = bytes_of(t, second), both = more < room ? more : room;
    const uint64_t end = symbol_of(t, second) << 8 * bytes; /* what is beyond 8 bytes is cut off */
    add(t, symbol | end, bytes + both, (uint64_t)n * (bytes + both));
  }
}

static int compare(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  const uint64_t left = __builtin_bswap64(x->symbol), right = __builtin_bswap64(y->symbol);
  if (left != right) return left < right ? -1 : 1;
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool is_better(const candidate *a, const candidate *b) {
  return a->gain != b->gain ? a->gain > b->gain : compare(a, b) < 0;
}

/* The best candidates become the table. */
static void choose(training *t) {
  uint32_t n = 0, worst = 0;
  for (uint32_t i = 0; i < SLOTS; i++) {
    const candidate *from = &t->slots[i];
    if (from->bytes == 0 || (n == TY_SYMBOLS_MOST && !is_better(from, &t->best[worst]))) continue;
    t->best[n < TY_SYMBOLS_MOST ? n++ : worst] = *from;
    for (uint32_t k = worst = 0; k < n && n == TY_SYMBOLS_MOST; k++)
      if (is_better(&t->best[worst], &t->best[k])) worst = k;
  }
  qsort(t->best, n, sizeof *t->best, compare);
  memset(t->table, 0, sizeof *t->table);
  t->table->head.count = n;
  for (uint32_t i = 0; i < n; i++) {
    t->table->symbols[i] = t->best[i].symbol;
    t->table->lengths[i] = (uint8_t)t->best[i].bytes;
  }
}

/* Makes the table of a round's counts. */
static void make(training *t, uint32_t part, bool last) {
  const uint32_t least = 5 * part / 128 < 2 ? 2 : 5 * part / 128;
  memset(t->slots, 0, sizeof t->slots);
  t->count = 0;
  for (uint32_t item = 0; item < ITEMS; item++) {
    const uint32_t n = t->singles[item], bytes = n == 0 ? 0 : bytes_of(t, item);
    if (n < least) continue;
    add(t, symbol_of(t, item), bytes, (uint64_t)n * bytes * (bytes == 1 ? OF_ONE : 1));
    if (!last) add_pairs(t, item, least);
  }
  choose(t);
}

bool ty_symbols_train(ty_slice sample, ty_symbols *out) {
  training *t = malloc(sizeof *t);
  memset(out, 0, sizeof *out);
  if (t == NULL) return false;
  t->table = out;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    ty_symbol_coder *c = ty_symbol_coder_new(out);
    if (c == NULL) {
      free(t);
      return false;
    }
    memset(t->singles, 0, sizeof t->singles);
    memset(t->pairs, 0, sizeof t->pairs);
    count_items(t, c, (ty_slice){sample.data, sample.bytes * PARTS[round] / 128});
    free(c);
    make(t, PARTS[round], round + 1 == ROUNDS);
  }
  free(t);
  return true;
}
