/* The tables of partners against a decoder that reads them from the first byte to the last, terms that are in no table,
 * and bytes that are not valid. */
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ame_kernel/text/partners.h"
#include "../../ffi/ame_kernel/text/text.h"
#include "check.h"
#include "text/partners_table.h"

typedef struct item {
  uint8_t term[TERM_MAX], word[TERM_MAX];
  size_t term_bytes, word_bytes;
  uint32_t count, partners[AME_PARTNERS_MOST];
} item;

/* Which token of a word is the term of an entry. */
typedef struct text {
  const item *head;
  uint32_t hash;
} text;

/* What a look-up gave: places in `items`, UINT32_MAX for what differs from the item expected there. */
typedef struct given {
  const item *items;
  const item *head;
  uint32_t count, wrong;
} given;

static uint32_t load32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* A pair of characters is a token beside the characters. */
static void keep(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)form;
  text *t = ctx;
  if (bytes == t->head->term_bytes && memcmp(term, t->head->term, bytes) == 0) t->hash = hash;
}

static void expect(void *ctx, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                   size_t word_bytes) {
  given *g = ctx;
  const item *i = &g->items[g->head->partners[g->count++]];
  g->wrong += term_bytes != i->term_bytes || memcmp(term, i->term, term_bytes) != 0 ||
              hash != text_term_hash(i->term, i->term_bytes) || word_bytes != i->word_bytes ||
              memcmp(word, i->word, word_bytes) != 0;
}

static const uint8_t *decode_text(const uint8_t *at, uint8_t *bytes, size_t *length) {
  memcpy(bytes + at[0], at + 2, at[1]);
  *length = (size_t)at[0] + at[1];
  return at + 2 + at[1];
}

static item *decode(const uint8_t *table, size_t size, uint32_t *entries) {
  *entries = load32(table);
  const uint8_t *at = table + 4 * (1 + ((size_t)*entries + 15) / 16);
  item *items = calloc(*entries + 1u, sizeof *items);
  for (uint32_t i = 0; items != NULL && i < *entries; i++) {
    item *e = &items[i];
    CHECK(i % 16 != 0 || load32(table + 4 * (1 + i / 16)) == (size_t)(at - table));
    if (i > 0) memcpy(e->term, items[i - 1].term, TERM_MAX);
    at = decode_text(at, e->term, &e->term_bytes);
    memcpy(e->word, e->term, TERM_MAX);
    at = decode_text(at, e->word, &e->word_bytes);
    e->count = *at++;
    CHECK(e->count <= AME_PARTNERS_MOST);
    for (uint32_t p = 0; p < e->count; p++, at += 2) e->partners[p] = at[0] | (uint32_t)at[1] << 8;
  }
  CHECK(at == table + size);
  return items;
}

static void test_table(uint32_t kind, const uint8_t *table, size_t size) {
  const ame_kernel *k = ame_kernel_table();
  uint32_t entries, heads = 0;
  item *items = decode(table, size, &entries);
  uint8_t *shown = calloc(entries + 1u, 1); /* which are another one's partner: others need no word */
  if (!CHECK(items != NULL && shown != NULL && entries > 0)) return;
  for (uint32_t i = 0; i < entries; i++) {
    for (uint32_t p = 0; p < items[i].count; p++) shown[items[i].partners[p]] = 1;
  }
  for (uint32_t i = 0; i < entries; i++) {
    const item *e = &items[i];
    text token = {e, 0};
    k->tokenize(e->word, e->word_bytes, keep, &token);
    CHECK_MESSAGE(!shown[i] || token.hash == text_term_hash(e->term, e->term_bytes), "%.*s is not a token of %.*s",
                  (int)e->term_bytes, e->term, (int)e->word_bytes, e->word);
    given g = {items, e, 0, 0};
    uint32_t count = k->term_partners(kind, e->term, e->term_bytes, expect, &g);
    CHECK_MESSAGE(count == e->count + 1 && g.count == e->count && g.wrong == 0, "partners of %.*s", (int)e->term_bytes,
                  e->term);
    heads += count > 1;
  }
  CHECK(heads > entries / 4);
  free(shown);
  free(items);
}

static void never(void *ctx, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                  size_t word_bytes) {
  (void)hash, (void)term, (void)term_bytes, (void)word, (void)word_bytes;
  ++*(uint32_t *)ctx;
}

static void test_unknown(void) {
  const ame_kernel *k = ame_kernel_table();
  static const char *const terms[] = {"", "a", "automobi", "automobile", "automobilx", "zzzzzz", "\x01", "\xff\xff"};
  uint32_t given = 0;
  uint8_t longest[TERM_MAX + 1];
  memset(longest, 'a', sizeof longest);
  for (uint32_t kind = 0; kind < 4; kind++) {
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++)
      CHECK(k->term_partners(kind, (const uint8_t *)terms[i], strlen(terms[i]), never, &given) == 0);
    for (size_t bytes = TERM_MAX - 1; bytes <= TERM_MAX + 1; bytes++)
      CHECK(k->term_partners(kind, longest, bytes, never, &given) == 0);
  }
  CHECK(k->term_partners(2, (const uint8_t *)"automobil", 9, never, &given) == 0 && given == 0);
  CHECK(k->term_partners(AME_PARTNERS_MEANING, (const uint8_t *)"automobil", 9, never, &given) == given + 1 &&
        given > 0);
}

static void bounded(void *ctx, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                    size_t word_bytes) {
  uint32_t *sum = ctx;
  CHECK(term_bytes > 0 && term_bytes <= TERM_MAX && word_bytes <= TERM_MAX);
  *sum += hash;
  for (size_t i = 0; i < term_bytes; i++) *sum += term[i];
  for (size_t i = 0; i < word_bytes; i++) *sum += word[i];
}

/* Cut and changed tables, each in memory of exactly its size: sanitizers see what is read after it. */
static void test_forged(const uint8_t *table, size_t size) {
  static const char *const terms[] = {"abandon", "automobil", "nois", "zone", "perro", "собака", "医生", "a", "zzzz"};
  uint64_t state = 1;
  uint32_t sum = 0;
  for (uint32_t round = 0; round < 600; round++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    size_t kept = round % 3 == 0 ? size : (size_t)((state >> 33) % (round % 3 == 1 ? 64 : size));
    uint8_t *forged = malloc(kept + 1);
    if (!CHECK(forged != NULL)) return;
    memcpy(forged, table, kept);
    for (uint32_t i = 0; kept > 0 && i < round % 200; i++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      size_t within = i % 2 ? kept : kept < 5000 ? kept : 5000;
      forged[(state >> 33) % within] = (uint8_t)(state >> 25);
    }
    for (size_t i = 0; i < sizeof terms / sizeof terms[0]; i++) {
      const uint8_t *term = (const uint8_t *)terms[i];
      CHECK(text_partners(forged, kept, term, strlen(terms[i]), bounded, &sum) <= AME_PARTNERS_MOST + 1);
    }
    free(forged);
  }
}

int main(void) {
  test_table(AME_PARTNERS_MEANING, meanings, sizeof meanings);
  test_table(AME_PARTNERS_LANGUAGE, languages, sizeof languages);
  test_unknown();
  test_forged(meanings, sizeof meanings);
  test_forged(languages, sizeof languages);
  return check_report();
}
