/* A look-up is a binary search of the blocks' first terms, at most sixteen entries of one block, and as many for each
 * partner: half a microsecond to two. A hash table of whole entries would be faster and half as large again. */
#include "text/partners.h"

#include "text/partners_table.h"
#include "text/text.h"

#include <string.h>

#define BLOCK 16u

typedef struct reader {
  const uint8_t *bytes;
  size_t size;
  uint32_t entries, blocks;
} reader;

/* An entry, and where the next one begins. */
typedef struct entry {
  uint8_t term[TERM_MAX], word[TERM_MAX];
  size_t term_bytes, word_bytes;
  const uint8_t *partners;
  uint32_t count;
  size_t next;
} entry;

static uint32_t load32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int open_table(reader *r, const uint8_t *bytes, size_t size) {
  if (size < 4) return 0;
  *r = (reader){bytes, size, load32(bytes), 0};
  r->blocks = r->entries / BLOCK + (r->entries % BLOCK != 0);
  return r->entries <= 1u << 16 && size / 4 > r->blocks;
}

static size_t block_start(const reader *r, uint32_t block) { return load32(r->bytes + 4 * (1 + (size_t)block)); }

/* Replaces what is after the first `kept` bytes of `text` by the string at *at. 0 where it is too long or cut. */
static int read_text(const reader *r, size_t *at, uint8_t text[TERM_MAX], size_t length, size_t *out) {
  if (*at > r->size || r->size - *at < 2) return 0;
  size_t kept = r->bytes[*at], more = r->bytes[*at + 1];
  *at += 2;
  if (kept > length || kept + more > TERM_MAX || r->size - *at < more) return 0;
  memcpy(text + kept, r->bytes + *at, more);
  *at += more;
  *out = kept + more;
  return 1;
}

/* The entry at `at`; e has the entry before it in the block, or a term of no bytes. */
static int read_entry(const reader *r, size_t at, entry *e) {
  if (!read_text(r, &at, e->term, e->term_bytes, &e->term_bytes)) return 0;
  memcpy(e->word, e->term, e->term_bytes);
  if (!read_text(r, &at, e->word, e->term_bytes, &e->word_bytes)) return 0;
  if (at >= r->size) return 0;
  e->count = r->bytes[at++];
  if (e->count > AME_PARTNERS_MOST || r->size - at < 2 * (size_t)e->count) return 0;
  e->partners = r->bytes + at;
  e->next = at + 2 * (size_t)e->count;
  return 1;
}

static int read_first(const reader *r, uint32_t block, entry *e) {
  e->term_bytes = 0;
  return read_entry(r, block_start(r, block), e);
}

static int read_place(const reader *r, uint32_t place, entry *e) {
  if (place >= r->entries || !read_first(r, place / BLOCK, e)) return 0;
  for (uint32_t i = 0; i < place % BLOCK; i++) {
    if (!read_entry(r, e->next, e)) return 0;
  }
  return 1;
}

static int compare(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes) {
  int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);
  return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static int find(const reader *r, const uint8_t *term, size_t bytes, entry *e) {
  uint32_t low = 0, high = r->blocks; /* the block before `high` is the last whose first term may not be after */
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (!read_first(r, middle, e)) return 0;
    if (compare(e->term, e->term_bytes, term, bytes) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0 || !read_first(r, low - 1, e)) return 0;
  uint32_t left = r->entries - (low - 1) * BLOCK;
  for (uint32_t i = 1;; i++) {
    int order = compare(e->term, e->term_bytes, term, bytes);
    if (order >= 0) return order == 0;
    if (i == BLOCK || i == left || !read_entry(r, e->next, e)) return 0;
  }
}

uint32_t text_partners(const uint8_t *table, size_t table_bytes, const uint8_t *term, size_t term_bytes,
                       ame_partner_fn fn, void *ctx) {
  reader r;
  entry head, partner;
  if (term_bytes == 0 || term_bytes > TERM_MAX || !open_table(&r, table, table_bytes)) return 0;
  if (!find(&r, term, term_bytes, &head)) return 0;
  uint32_t given = 0;
  for (uint32_t i = 0; i < head.count; i++) {
    uint32_t place = head.partners[2 * i] | (uint32_t)head.partners[2 * i + 1] << 8;
    if (!read_place(&r, place, &partner) || partner.term_bytes == 0) continue;
    fn(ctx, text_term_hash(partner.term, partner.term_bytes), partner.term, partner.term_bytes, partner.word,
       partner.word_bytes);
    given++;
  }
  return given + 1;
}

uint32_t kernel_term_partners(uint32_t kind, const uint8_t *term, size_t term_bytes, ame_partner_fn fn, void *ctx) {
  if (kind == AME_PARTNERS_MEANING) return text_partners(meanings, sizeof meanings, term, term_bytes, fn, ctx);
  if (kind == AME_PARTNERS_LANGUAGE) return text_partners(languages, sizeof languages, term, term_bytes, fn, ctx);
  return 0;
}
