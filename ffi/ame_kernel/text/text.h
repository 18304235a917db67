/* Reading text: characters, folding, words, tokens. Uses no other folder. Tokens and vectors are made of these terms:
 * every change needs a new token format for lexical indexes and a new version of the embedding models. */
#pragma once

#include "ame_kernel.h"
#include "exact.h"

/* For functions that must be compiled with the constants of their callers: compilers may find them too long to
 * inline. */
#define TEXT_INLINE static inline __attribute__((always_inline))

typedef enum char_kind {
  CHAR_SEPARATOR,
  CHAR_LETTER,
  CHAR_DIGIT,
  CHAR_UNSPACED, /* Han, kana, Hangul, Thai, Lao, Khmer, Myanmar: spaces do not separate words, or not reliably */
  CHAR_SYMBOL,   /* emoji: each is a term of its own */
  CHAR_IGNORED   /* accents, joiners, direction marks: neither part of a term nor the end of one */
} char_kind;

/* Decodes the character at *at < bytes and advances *at. Invalid bytes are U+FFFD, one for each broken sequence. */
uint32_t text_next(const uint8_t *text, size_t bytes, size_t *at);
char_kind text_kind(uint32_t c);
int text_is_upper(uint32_t c);
#define TEXT_FOLD_MOST 4
/* Folds case, accents and other spellings of the same letters (ligatures, presentation forms, half and full width):
 * returns the number of characters in `out`, none for a combining mark without its letter. */
int text_fold(uint32_t c, uint32_t out[TEXT_FOLD_MOST]);
/* Writes c as UTF-8: 1 to 4 bytes. */
int text_encode(uint32_t c, uint8_t out[4]);

/* No term is longer. A longer word keeps its first bytes and ends in eight hexadecimal digits of the hash of all of it,
 * so that two long words with one beginning stay two terms. */
#define TERM_MAX  64
#define TERM_KEEP 56

typedef enum term_kind {
  TERM_WORD,  /* a plain word or number */
  TERM_TONED, /* a word of Vietnamese with its tones */
  TERM_BARE,  /* the same word without them, after it */
  TERM_PIECE, /* a piece of an identifier: camelCase, snake_case, letters and digits */
  TERM_WHOLE, /* the identifier after its pieces, without underscores, so that fooBar and foo_bar are one term */
  TERM_CHAR,  /* a character of an unspaced run of two or more */
  TERM_PAIR,  /* two neighbours of an unspaced run */
  TERM_LONE,  /* an unspaced run of one character */
  TERM_SYMBOL
} term_kind;

typedef void (*term_fn)(void *ctx, term_kind kind, const uint8_t *term, size_t bytes);

/* Calls `fn` for each folded, unstemmed term in order. Time is linear in `bytes` whatever they are. */
void text_scan(const uint8_t *text, size_t bytes, term_fn fn, void *ctx);

/* Porter's stemmer in place for words of 3 to 40 letters a-z; words with other letters keep their first six characters,
 * those in Arabic letters less their article and what is attached before it. Returns the new length. */
size_t text_stem(uint8_t *word, size_t bytes);

/* The identity of a term in an index. */
uint32_t text_term_hash(const uint8_t *term, size_t bytes);
/* Whether terms of a kind are stemmed. A word with tones is not: there is no inflection in Vietnamese. */
static inline int text_is_stemmed(term_kind kind) { return kind <= TERM_WHOLE && kind != TERM_TONED; }

/* Functions of the kernel's table. words.c: token_words; edits.c: term_edits; wanted.c: want_term and wanted_hashes;
 * token.c: the others, and ame_tokenize. */
void kernel_token_words(const uint8_t *text, size_t bytes, ame_word_fn fn, void *ctx);
uint32_t kernel_term_edits(const uint8_t *word, size_t bytes, ame_partner_fn fn, void *ctx);
void kernel_token_hashes(ame_token_cache *cache, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx);
void kernel_want_term(ame_wanted *wanted, const uint8_t *term, size_t bytes);
size_t kernel_wanted_hashes(const ame_wanted *wanted, const uint8_t *text, size_t bytes, ame_token_hash_fn fn,
                            void *ctx);
uint32_t kernel_token_version(void);
