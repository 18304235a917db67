/* Words that are one edit from a word: what a misspelt word may have been (Damerau, "A technique for computer detection
 * and correction of spelling errors", 1964: four in five misspelt words are one such edit from the right one). */
#include "text/text.h"

#include <string.h>

/* A script that is written in letters: its characters, and those of them that edits use, less what folding changes. */
typedef struct script {
  uint16_t first, last;
  uint16_t from, to;
} script;

/* Not those without spaces between words, and no syllabaries: of a syllable a reader mistakes a part. Words are
 * folded: a Latin letter beyond a to z in one has no other form. */
static const script scripts[] = {
    {0x0061, 0x007a, 0x0061, 0x007a}, /* Latin, three ranges */
    {0x00c0, 0x02af, 0x0061, 0x007a}, {0x1e00, 0x1eff, 0x0061, 0x007a}, {0x0370, 0x03ff, 0x03b1, 0x03c9}, /* Greek */
    {0x0400, 0x052f, 0x0430, 0x045f},                                                                     /* Cyrillic */
    {0x0531, 0x0587, 0x0561, 0x0586},                                                                     /* Armenian */
    {0x05d0, 0x05f2, 0x05d0, 0x05ea},                                                                     /* Hebrew */
    {0x0620, 0x06ff, 0x0621, 0x064a},                                                                     /* Arabic */
    {0x0900, 0x097f, 0x0904, 0x094c}, /* Devanagari */
    {0x0980, 0x09ff, 0x0985, 0x09cc}, /* Bengali */
    {0x0a00, 0x0a7f, 0x0a05, 0x0a4c}, /* Gurmukhi */
    {0x0a80, 0x0aff, 0x0a85, 0x0acc}, /* Gujarati */
    {0x0b00, 0x0b7f, 0x0b05, 0x0b4c}, /* Oriya */
    {0x0b80, 0x0bff, 0x0b85, 0x0bcc}, /* Tamil */
    {0x0c00, 0x0c7f, 0x0c05, 0x0c4c}, /* Telugu */
    {0x0c80, 0x0cff, 0x0c85, 0x0ccc}, /* Kannada */
    {0x0d00, 0x0d7f, 0x0d05, 0x0d4c}, /* Malayalam */
    {0x0d80, 0x0dff, 0x0d85, 0x0ddf}, /* Sinhala */
    {0x10d0, 0x10ff, 0x10d0, 0x10f0}, /* Georgian */
};
#define ALPHABET_MOST 80u

/* NULL where no script of the table has the character. */
static const script *script_of(uint32_t c) {
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    if (c >= scripts[i].first && c <= scripts[i].last) return &scripts[i];
  }
  return NULL;
}

typedef struct edits {
  ame_partner_fn fn;
  void *ctx;
  uint32_t letters[AME_EDIT_LETTERS_MOST], alphabet[ALPHABET_MOST];
  uint32_t n, alphabet_n, count;
} edits;

/* Reads a word; 0 where it is none of letters of one script, or too short or long. */
static int read_word(edits *e, const uint8_t *word, size_t bytes) {
  const script *one = NULL;
  for (size_t at = 0; at < bytes;) {
    uint32_t c = text_next(word, bytes, &at);
    const script *s = script_of(c);
    if (s == NULL || e->n == AME_EDIT_LETTERS_MOST || text_kind(c) != CHAR_LETTER) return 0;
    if (one != NULL && s->from != one->from) return 0;
    one = s;
    e->letters[e->n++] = c;
  }
  if (e->n < AME_EDIT_LETTERS_LEAST) return 0;
  for (uint32_t c = one->from; c <= one->to && e->alphabet_n < ALPHABET_MOST; c++) {
    uint32_t folded[TEXT_FOLD_MOST];
    if (text_kind(c) == CHAR_LETTER && text_fold(c, folded) == 1 && folded[0] == c) e->alphabet[e->alphabet_n++] = c;
  }
  return 1;
}

/* A folded character of the table takes three bytes at most. */
_Static_assert((AME_EDIT_LETTERS_MOST + 1) * 3 <= TERM_MAX, "an edit is a term");

/* The word's letters from .. to, as UTF-8. */
static size_t put(uint8_t *out, size_t at, const uint32_t *letters, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) at += (size_t)text_encode(letters[i], out + at);
  return at;
}

/* The word with letters from .. to replaced by n others. */
static void emit(edits *e, uint32_t from, uint32_t to, const uint32_t *others, uint32_t n) {
  uint8_t word[TERM_MAX + 4], stem[TERM_MAX + 4];
  size_t bytes = put(word, put(word, put(word, 0, e->letters, 0, from), others, 0, n), e->letters, to, e->n);
  memcpy(stem, word, bytes);
  size_t stemmed = text_stem(stem, bytes);
  e->fn(e->ctx, text_term_hash(stem, stemmed), stem, stemmed, word, bytes);
  e->count++;
}

uint32_t kernel_term_edits(const uint8_t *word, size_t bytes, ame_partner_fn fn, void *ctx) {
  edits e = {.fn = fn, .ctx = ctx};
  if (!read_word(&e, word, bytes)) return 0;
  const uint32_t *w = e.letters;
  for (uint32_t i = 0; i < e.n; i++) { /* of two equal neighbours one */
    if (i == 0 || w[i] != w[i - 1]) emit(&e, i, i + 1, NULL, 0);
  }
  for (uint32_t i = 0; i + 1 < e.n; i++) {
    if (w[i] != w[i + 1]) emit(&e, i, i + 2, (uint32_t[]){w[i + 1], w[i]}, 2);
  }
  for (uint32_t i = 0; i < e.n; i++) {
    for (uint32_t a = 0; a < e.alphabet_n; a++) {
      if (e.alphabet[a] != w[i]) emit(&e, i, i + 1, &e.alphabet[a], 1);
    }
  }
  for (uint32_t i = 0; i <= e.n; i++) {
    for (uint32_t a = 0; a < e.alphabet_n; a++) { /* a letter beside itself is inserted after it */
      if (i == e.n || e.alphabet[a] != w[i]) emit(&e, i, i, &e.alphabet[a], 1);
    }
  }
  return e.count;
}
