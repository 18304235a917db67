/* Texts of a base, each coded by itself with one table of symbols (FSST: Boncz, Neumann, Leis, VLDB 2020), so that any
 * text is read without the others. English takes 57 % of its bytes.
 *
 * A symbol is 1 to 8 bytes and has a code of one byte. A text is coded from front to back: at each place by the longest
 * symbol that is there, or, if no symbol is, by TY_SYMBOL_ESCAPE and the byte as it is. So a text has one coded form
 * with a table, and equal texts have equal forms.
 *
 * symbols.c reads tables and texts, symbols_encode.c codes texts, symbols_train.c makes a table of a sample.
 * symbols_sample.h: makes one for rows. */
#pragma once

#include "os/buffer.h"

#define TY_SYMBOLS_MOST  255u
#define TY_SYMBOL_BYTES  8u
#define TY_SYMBOL_ESCAPE 255u
/* Texts of fewer bytes in all are not coded (ty_env.coded_from): a table has 1 to 2 KB, and takes 5 ms. */
#define TY_CODED_FROM      ((uint64_t)64 << 10)
#define TY_SYMBOLS_SECTION (sizeof(ty_symbols_head) + TY_SYMBOLS_MOST * (1 + TY_SYMBOL_BYTES)) /* bytes at most */

/* A stored table: this, then the length of each symbol (u8), then their bytes. Codes count the symbols in ascending
 * order of their bytes. */
typedef struct ty_symbols_head {
  uint32_t count;      /* of symbols, 1 to TY_SYMBOLS_MOST */
  uint32_t trained;    /* texts of the base when the table was made, or was compared with a new one */
  uint32_t added;      /* texts that later bases added to those */
  uint32_t reserved;   /* 0 */
  uint64_t text_bytes; /* of all texts of the base, not coded */
} ty_symbols_head;
_Static_assert(sizeof(ty_symbols_head) == 24, "symbols");

typedef struct ty_symbols {
  ty_symbols_head head;
  uint64_t symbols[256]; /* by code: the first byte is the lowest, those after the symbol are 0 */
  uint8_t lengths[256];  /* 0: no symbol has this code */
} ty_symbols;

/* Reads a stored table. False where it is malformed; `out` may have been written to. */
bool ty_symbols_read(ty_slice stored, ty_symbols *out);
/* Appends the stored form. */
void ty_symbols_put(const ty_symbols *s, ty_buffer *out);

/* Appends what coded bytes stand for; after `most` bytes it may stop. False where they are malformed, or memory ran out
 * (out->failed). Safe on any bytes. */
bool ty_symbols_decode(const ty_symbols *s, ty_slice coded, uint64_t most, ty_buffer *out);
/* How many bytes coded bytes stand for. UINT64_MAX: they are malformed. */
uint64_t ty_symbols_length(const ty_symbols *s, ty_slice coded);

/* Finds the symbols of a table in texts; 75 KB. */
typedef struct ty_symbol_coder ty_symbol_coder;
/* NULL: out of memory. The caller frees it with free(). `s` may change afterwards. */
ty_symbol_coder *ty_symbol_coder_new(const ty_symbols *s);
/* Appends the coded form of a text, at most twice as long. */
void ty_symbols_encode(const ty_symbol_coder *c, ty_slice text, ty_buffer *out);
/* Finds the longest symbol at a place of a text. Returns 256 + its code, and its length in *bytes; where there is none,
 * the byte there and 1. `left` bytes are left, at least 1. */
uint32_t ty_symbol_next(const ty_symbol_coder *c, const uint8_t *at, uint64_t left, uint32_t *bytes);
/* Makes a table of symbols for texts like the sample; the same for the same sample. Only `count` of its head is set, 0
 * where no symbol saves anything. False: out of memory. */
bool ty_symbols_train(ty_slice sample, ty_symbols *out);
