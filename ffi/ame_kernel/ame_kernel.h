/* libame_kernel: pure computation. The whole ABI, with its contracts.
 *
 * Caveats, first:
 *  - No I/O, no allocation, no locks, no threads. The only global state is the CPU path, chosen once at first use;
 *    results do not depend on it.
 *  - The caller owns all memory and has checked all lengths: `n`, `dim` and `stride` describe memory that exists. A
 *    count of zero is always allowed and does nothing.
 *  - Strings are UTF-8 with an explicit length; invalid bytes are read as U+FFFD, NUL is an ordinary character.
 *  - Integers and floats are little-endian on every platform we build for.
 *
 * libty_runtime gets these functions as one table (`ame_kernel_table`), so it does not load this library itself. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AME_API __attribute__((visibility("default")))

/* Changes with any change of a signature, a struct or a contract below. */
#define AME_ABI_VERSION 14u
AME_API uint32_t ame_abi_version(void);

/* CPU paths. "scalar" is the reference for the others. The best supported one is chosen at first use. */
AME_API uint32_t ame_isa_count(void);
/* "scalar", "avx2", "avx512", "avx512_vbmi2", "neon", "neon_dot"; NULL beyond the count. */
AME_API const char *ame_isa_name(uint32_t index);
AME_API uint32_t ame_isa_supported(uint32_t index); /* 1 where this CPU and OS run it */
AME_API const char *ame_isa_active(void);
/* Forces a path by name, for tests and for diagnosis. Returns 0, or 1 when the name is unknown or unsupported here (the
 * active path then stays). Not to be called while other threads compute. */
AME_API int32_t ame_isa_force(const char *name);

/* Vectors. Rows are f32, row-major, contiguous (`dim` floats a row). Codes are int8 in [-127, 127], `stride` bytes a
 * row where stride = AME_CODE_STRIDE(dim); the pad bytes are zero. */
#define AME_CODE_STRIDE(dim) ((((size_t)(dim)) + 63u) & ~(size_t)63u)

/* A row's screening summary: x_hat = scale * codes approximates x. */
typedef struct ame_code_info {
  float scale; /* max |x_i| / 127; 0 for the zero row */
  float err;   /* an upper bound of ||x - x_hat||, rounding included */
  float norm;  /* an upper bound of ||x_hat||, rounding included */
  float bias;  /* 0; the caller may set a term that is added to every inner product with the row */
} ame_code_info;

/* Screening blocks, four bits a dimension. A row x is approximated by x^_i = offset + scale * (2 * code_i - 15) with
 * codes 0 .. 15: sixteen levels whose scale and offset are the least-squares fit to the row, so that e = x - x^ is
 * orthogonal to x^ up to rounding. That makes the bound of an inner product tighter than Cauchy-Schwarz alone: only the
 * part of the query across x^ contributes to <q, e>:
 *
 *   |<q, x> - <q, x^>| = |<q_across, e>| <= sqrt(||q||^2 - <q, x^>^2 / ||x^||^2) * ||e||.
 *
 * A row's codes are AME_I4_BYTES(dim) bytes: byte b of group g (4 bytes a group) holds dimension 8g + b in its low and
 * 8g + 4 + b in its high four bits; codes beyond dim are 0. A block holds sixteen rows side by side, so that one
 * 64-byte load feeds sixteen sums:
 *
 *   group g of row r at 64 g + 4 r, then f32 scale[16], offset[16], err[16], norm[16], bias[16]. */
#define AME_BLOCK_ROWS       16u
#define AME_I4_BYTES(dim)    ((((size_t)(dim)) + 7u) / 8u * 4u)
#define AME_BLOCK_BYTES(dim) (((((size_t)(dim)) + 7u) / 8u + 5u) * 64u)
/* The range that the bound is proved for, of the largest absolute value of a row and the length of a query, with dim up
 * to 131,072. Beyond it squares and
 * products overflow or underflow in f32, and a bound could be too small. */
#define AME_I4_LEAST 0x1p-50f
#define AME_I4_MOST  0x1p50f

/* How many times `rounding`, below, is added to err; isa/i4.h has the reason. */
#define AME_I4_ROUNDINGS 64

/* With rounding = 2^-19 * (|offset| * sqrt(dim) + |scale| * sqrt(sum of (2 code - 15)^2)). A row that is not all zero
 * and whose largest absolute value is outside of [AME_I4_LEAST, AME_I4_MOST] has err = +inf: it is never excluded.
 * Outside of [2^-100, 2^100] its scale, offset and codes are 0 and its norm is 1 as well. */
typedef struct ame_i4_info {
  float scale;
  float offset;
  float err;  /* at least (||x - x^|| + AME_I4_ROUNDINGS * rounding) * (1 + 2^-14) */
  float norm; /* at least max(||x^||, ||x - x^||), and at least 2^-100 */
} ame_i4_info;

/* A query to screening blocks. q^ = scale * codes as from quantize_i8. The half width of a row's bound is
 *   err * (across + per_err) + norm * per_norm + |bias| * per_bias,
 *   across = min(sqrt(max(length^2 - (m / norm)^2, length^2 / 256)), max(rest, length / 16)),
 * where m = <q^, x^>. A fit of scale and offset leaves an error that is orthogonal to x^ and to the vector of ones, so
 * that neither the part of the query along x^ nor its mean contributes. The floors, and the margin of err above ||x -
 * x^||, cover all rounding of this arithmetic in f32 (isa/i4.h). */
typedef struct ame_i4_query {
  const int8_t *codes; /* AME_CODE_STRIDE(dim) bytes */
  int32_t sum;         /* of the codes */
  float scale;
  float length; /* at least ||q^||, in [AME_I4_LEAST, AME_I4_MOST] */
  float per_err, per_norm;
  float per_bias; /* at least 2^-21 */
  float rest;     /* at least the length of q^ less its mean in every dimension; `length` if unknown */
} ame_i4_query;

/* Signs: one bit for each dimension of a row.
 *
 * A block is sixteen rows. It has sixteen bytes for each eight dimensions: byte r has the bits of row r, the first
 * dimension in the lowest bit. Zeros fill these up to whole lines of 64 bytes. Three columns of sixteen floats follow.
 *
 * A query is tables of sixteen bytes, 128 bytes for each 32 dimensions: the table at 16 i is for the low four bits of
 * byte i (0 to 3) of a row, the table at 64 + 16 i for its high four bits. An entry is at most AME_SIGN_ENTRY. The sum
 * of a row is the sum of the entries that its bits select, less AME_SIGN_ENTRY / 2 for each table. */
#define AME_SIGN_LINES(dim)       ((((size_t)(dim)) + 31u) / 32u)
#define AME_SIGN_BLOCK_BYTES(dim) ((AME_SIGN_LINES(dim) + 3u) * 64u)
#define AME_SIGN_TABLE_BYTES(dim) (AME_SIGN_LINES(dim) * 128u)
#define AME_SIGN_ENTRY            126u

/* The value of a row whose columns are x, y and z: (along * x + scale * y * sum) + across * z. */
typedef struct ame_sign_query {
  const uint8_t *tables;
  float scale, along, across;
} ame_sign_query;

/* Vertical codes: the codes of one dimension of many rows lie side by side, so that a query reads only the dimensions
 * in which it is not zero. A line is 64 bytes, the codes of AME_LINE_ROWS(bits) rows in one dimension; a run is some
 * consecutive lines of one dimension; a block is the runs of all dimensions, one after the other.
 *
 *   8 bits, 64 rows:  code + 128 of row 16 i + 4 l + e is byte 16 l + 4 i + e, with i, l and e from 0 to 3
 *   4 bits, 128 rows: a byte's low four bits are the code of the row that it would have with 8 bits, its high four bits
 *                     that of the row 64 later
 *
 * In this order the bytes of four dimensions, interleaved within 16 bytes, are the rows in order with four codes each,
 * as the instructions for products of bytes take them. */
#define AME_LINE            64u
#define AME_LINE_ROWS(bits) (512u / (bits))
#define AME_LINE_BYTE(row)  (((row) / 4 % 4) * 16 + ((row) / 16 % 4) * 4 + (row) % 4)
#define AME_LINE_TOGETHER   4u      /* dimensions read at a time */
#define AME_LINE_DIMS       131072u /* the most of a query: 127 * 128 times that is below 2^31 */

/* A query to vertical codes: the dimensions in which its codes (as from quantize_i8) are not zero. */
typedef struct ame_line_query {
  const uint32_t *dims;
  const int8_t *codes;
  size_t count; /* of both; a multiple of AME_LINE_TOGETHER, at most AME_LINE_DIMS; where need be with dimensions whose
                   code is 0 */
  int32_t sum;  /* of the codes */
  int32_t adds; /* dot_sparse only: 1 adds to what `dots` contains, such as products in other dimensions; else 0 */
} ame_line_query;

/* How rows of vertical codes are bounded from above, from the product p = <q's codes, codes> of each:
 *
 *   8 bits: scale * (by * p) + min(scale * per_scale, most) + each
 *   4 bits: offset * by_offset + scale * (by * (2 p - 15 sum)) + min((|offset| + 15 scale) * per_scale, most) + each
 *
 * Each operation is rounded to f32, in this order, except that 2 p - 15 sum is computed in 32-bit integers and rounded
 * once. The caller's factors include the rounding: at most 2^-20 of the sum of the sizes of the three or four terms,
 * and 2^-148 for underflow. All are finite, scales are not negative, and all so small that nothing
 * overflows. */
typedef struct ame_line_bound {
  float by, by_offset;
  float per_scale, most, each;
  int32_t sum;
} ame_line_bound;

/* Sparse vertical codes: a block of up to AME_SPARSE_RUN rows with 8 bits. Every run has the same number of lines, 1 to
 * AME_SPARSE_LINES, with the bytes of dense lines: a code of 0 is the byte 0x80, also for rows after the last one. Each
 * run is stored in the smallest of three forms:
 *
 *   dense   its lines
 *   bitmap  for each line 8 bytes: bit i is set where byte i of the line is not 0x80. Then those bytes, in order
 *   mapped  for each line 1 byte, its map: bit i is set where byte i of the line's bitmap is not 0. Then those bytes of
 *           the bitmaps, then the bytes of the lines that are not 0x80
 *
 * The directory has an entry for each dimension, 4 times the offset of its run in the data plus its form, and one more
 * for the end of the data, with form 0. Runs lie in the order of their dimensions, without gaps. The largest entry is
 * 4 * AME_SPARSE_RUN * AME_SPARSE_DIMS = 2^31.
 *
 * Directory and data may be damaged: every function checks what it relies on, and reads nothing but the directory and
 * `bytes` + AME_SPARSE_SLACK bytes of data. They must not change during a call. */
#define AME_SPARSE_RUN   4096u
#define AME_SPARSE_LINES (AME_SPARSE_RUN / AME_LINE)
#define AME_SPARSE_SLACK 64u /* bytes after the data that are readable; their contents do not matter */
#define AME_SPARSE_DIMS  AME_LINE_DIMS
typedef enum ame_sparse_form { AME_SPARSE_DENSE, AME_SPARSE_BITMAP, AME_SPARSE_MAPPED } ame_sparse_form;
typedef struct ame_sparse_block {
  const uint32_t *directory; /* dim + 1 entries */
  const uint8_t *data;
  size_t bytes; /* of the data: 0 to lines * AME_LINE * dim */
  size_t lines; /* of each run: 1 to AME_SPARSE_LINES */
  size_t dim;   /* at most AME_SPARSE_DIMS */
} ame_sparse_block;
/* Bytes of scratch that sparse_put needs, at a multiple of 64. */
#define AME_SPARSE_SCRATCH 311296u

/* The weight of a term of a query: see bm25_parts. */
typedef struct ame_bm25 {
  float weight;       /* above 0, at most 2^30 */
  float fixed, slope; /* not negative */
} ame_bm25;

/* Numbers packed at a time. */
#define AME_PACK 128u

/* One candidate of a top-k selection. Better = larger score, then smaller row. */
typedef struct ame_hit {
  uint64_t row;
  float score;
  uint32_t position; /* opaque to the kernel */
} ame_hit;

/* A selection of the best `k` hits in caller-owned memory: a binary heap with the worst kept hit at items[0]. */
typedef struct ame_topk {
  ame_hit *items; /* k entries */
  uint64_t k;     /* at least 1 */
  uint64_t count; /* 0 at first */
} ame_topk;

typedef enum ame_form {
  AME_FORM_OWN,
  AME_FORM_BARE /* the token before, a word of Vietnamese, without its tones: as those write it who leave them out */
} ame_form;

/* Receives one token. A bare form comes right after its word. `term` is the folded, stemmed form, valid during the call
 * only; `hash` its 32-bit identity. */
typedef void (*ame_token_fn)(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t term_bytes);

/* A cache for token_hashes: words of at most 16 bytes with the hash of their stem. In the caller's memory, all zero at
 * first, used by one thread at a time. */
#define AME_TOKEN_CACHE_BITS 14u
typedef struct ame_token_slot {
  uint64_t low, high;
  uint32_t bytes, hash;
} ame_token_slot;
typedef struct ame_token_cache {
  ame_token_slot slots[1u << AME_TOKEN_CACHE_BITS];
} ame_token_cache;
typedef void (*ame_token_hash_fn)(void *ctx, uint32_t hash);

/* The first two bytes of some terms: bit (second & 31) of seconds[first & 31]. Begin with all zero. */
typedef struct ame_wanted {
  uint32_t seconds[32];
} ame_wanted;

/* Receives a token of the text-th text of a call, and how often it is there. */
typedef void (*ame_met_fn)(void *ctx, uint64_t text, uint32_t hash, uint32_t count);

/* A token with the word it was made of; valid during the call only. */
typedef struct ame_word {
  const uint8_t *term; /* as ame_token_fn has it */
  size_t term_bytes;
  const uint8_t *word; /* folded, not stemmed */
  size_t word_bytes;
  size_t from, to; /* where it is written in the text; of a part of an identifier or of a run: where all of that is */
  uint32_t hash;
  uint32_t part; /* 1: only a part of what is written there, or its form without tones */
  ame_form form;
} ame_word;
/* Returns 1 to stop, 0 to go on. */
typedef uint32_t (*ame_word_fn)(void *ctx, const ame_word *w);

/* Tables of partners of terms. */
#define AME_PARTNERS_MEANING  0u /* other words with a like meaning, English */
#define AME_PARTNERS_LANGUAGE 1u /* words of another language, to and from English */
#define AME_PARTNERS_MOST     20u

/* Receives a term that may stand for another one: `term` and `hash` as tokenize gives them, and a word that has this
 * term, for messages. Both valid during the call only, of 1 to 64 bytes. */
typedef void (*ame_partner_fn)(void *ctx, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                               size_t word_bytes);
/* Letters of a word that term_edits takes. */
#define AME_EDIT_LETTERS_LEAST 4u
#define AME_EDIT_LETTERS_MOST  20u

/* Text. */
#define AME_MODEL_MULTIGRAM 0u
#define AME_MODEL_BIGRAM    1u
#define AME_ROLE_DOCUMENT   0u
#define AME_ROLE_QUERY      1u

/* Dimension of a model's vectors; 0 for an unknown model. */
AME_API uint32_t ame_embed_dim(uint32_t model);
/* Version of a model's vectors: raised by any change that changes a bit of any vector. */
AME_API uint32_t ame_embed_version(uint32_t model);
/* Embeds n texts: text i is bytes[ends[i-1] .. ends[i]) with ends[-1] = 0. Writes n x dim floats, each row of unit
 * length (a text without any feature gets the zero row). Deterministic to the bit on every CPU path and platform.
 * Returns 0, or 1 for an unknown model, an unknown role, or ends that are not ascending. */
AME_API int32_t ame_embed(uint32_t model, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n,
                          float *out);

/* Calls `fn` for each token of a text in order: Unicode words folded in case and accents and stemmed, the pieces of
 * identifiers (camelCase, snake_case, digits) beside the whole, n-grams of scripts written without spaces; words of
 * Vietnamese with their tones and without.
 * Deterministic everywhere. */
AME_API void ame_tokenize(const uint8_t *text, size_t bytes, ame_token_fn fn, void *ctx);

/* Meaning: a sentence encoder, whose model the caller maps. A text's encoding is 128 codes: scale * codes has unit
 * length, and the inner product of two is the cosine of what the texts mean. */
#define AME_ENCODING_DIM 128u
typedef struct ame_encoding {
  int8_t codes[AME_ENCODING_DIM]; /* -127 .. 127; all 0 with gate 0, unless AME_ENCODE_ALWAYS */
  float scale;
  uint8_t gate;        /* 0 .. 255: how far the text is of the kind that the encoder knows, English prose */
  uint8_t reserved[3]; /* 0 */
} ame_encoding;

/* The gates of rows and questions differ. ALWAYS: encodes whatever the gate is, which is that of a row. */
typedef enum ame_encode_role { AME_ENCODE_ROW, AME_ENCODE_QUESTION, AME_ENCODE_ALWAYS } ame_encode_role;

/* 0, or 1 if the bytes are not a model of this version or do not begin at a multiple of 64. Checks all that the other
 * functions rely on, once: they take a model that this has accepted and that has not changed since. */
AME_API int32_t ame_encoder_check(const uint8_t *model, size_t bytes);
/* Identifies the model and the method: encodings of two ids are not comparable. */
AME_API uint64_t ame_encoder_id(const uint8_t *model);
/* Bytes that one ame_encode needs, at a multiple of 64. */
AME_API size_t ame_encoder_scratch(void);
/* Encodes a text: its first 256 pieces, which are some 200 words, out of its first 32 KB. Bit-equal on every path.
 * Returns 0, or 1 if *stop, read atomically, became nonzero; `stop` may be NULL. It is read every two milliseconds
 * or more often, on the scalar path every thirty. */
AME_API int32_t ame_encode(const uint8_t *model, uint32_t role, const uint8_t *text, size_t bytes, void *scratch,
                           const uint32_t *stop, ame_encoding *out);
/* out[i] = <q, the AME_ENCODING_DIM codes at base + 16 * at[i]>, exact for every byte. q is -127 .. 127. */
AME_API void ame_dot_records(const int8_t q[AME_ENCODING_DIM], const uint8_t *base, const uint32_t *at, size_t n,
                             int32_t *out);

typedef struct ame_kernel {
  uint32_t abi;  /* AME_ABI_VERSION */
  uint32_t size; /* sizeof(ame_kernel) */

  /* out[i] = <q, row i>, bit-equal on every path. The error is at most dim * 2^-22 * ||q|| * ||row||. */
  void (*dot_f32)(const float *q, const float *rows, size_t n, size_t dim, float *out);
  /* out[i] = <q, codes i>, exact in 32 bits (stride <= 65,536 * 2). q is one code row of the same stride, pad zero. */
  void (*dot_i8)(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out);
  /* Codes and summaries of n rows. Codes round to nearest, ties away from zero. Rows are finite. Bit-equal on every
   * path. */
  void (*quantize_i8)(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info);
  /* Codes (AME_I4_BYTES(dim) bytes a row) and summaries of n rows. Of several clipped ranges the one with the smallest
   * error is taken. Rows are finite. Bit-equal on every path. */
  void (*quantize_i4)(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info);
  /* Turns each row by one fixed rotation of its dimension, in place: coordinates become alike in size, inner products
   * stay, but for rounding of at most 2^-18 of the row's length. Rows are finite; one whose length is above 2^100 may
   * overflow. Bit-equal on every path. */
  void (*rotate)(float *rows, size_t n, size_t dim);
  /* out[i] = offset + scale * (2 code_i - 15), product and sum each rounded to f32. Bit-equal on every path. */
  void (*dequantize_i4)(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out);
  /* Screens n consecutive blocks. At least `next` more blocks follow them, which are only prefetched. Bit r of
   * survivors[i] is set unless row r of block i has middle + half < threshold; a bound that is not a number survives.
   * For blocks with any survivor middle and half (sixteen floats a block, middle with bias) are written for all sixteen
   * rows, for others they are not written. Bit-equal on every path. */
  void (*screen_i4)(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t next, size_t dim, float threshold,
                    uint16_t *survivors, float *middle, float *half);
  /* Screens n consecutive blocks of signs of up to 65,536 dimensions. Bit r of survivors[i] is set unless the value of
   * row r of block i is below `threshold`. `values` gets the values, sixteen for each block; it may be NULL. Bit-equal
   * on every path. */
  void (*screen_signs)(const ame_sign_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                       uint16_t *survivors, float *values);
  /* dots[r] = <q's codes, codes of row r>, exact whatever the bytes are (byte 0 is -128), for the rows of lines `first`
   * .. first + n - 1 of a block of runs of `run` bytes, a multiple of AME_LINE. `next` is the distance in bytes from
   * the block to the one that will be read after it, of as long runs; it is prefetched and need not exist. 0: none. */
  void (*dot_lines)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                    int32_t *dots);
  void (*dot_lines_i4)(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                       int32_t *dots);
  /* Bit r % 64 of survivors[r / 64] is set where the upper bound of row r of n is not below `threshold`, or no number;
   * bits beyond n are 0. With 8 bits `offsets` is NULL. Bit-equal on every path. */
  void (*screen_lines)(const ame_line_bound *b, const int32_t *dots, const float *scales, const float *offsets,
                       size_t n, float threshold, uint64_t *survivors);
  /* The most bytes of data that a block of `rows` rows can need: 0 to AME_SPARSE_RUN rows, dim 0 to AME_SPARSE_DIMS;
   * SIZE_MAX beyond these. */
  size_t (*sparse_bound)(size_t rows, size_t dim);
  /* Makes a block of n rows (up to AME_SPARSE_RUN) of `dim` codes each. It writes dim + 1 entries of the directory and
   * the data, and returns the bytes of the data; `data` must have sparse_bound(n, dim) bytes. The block has (n + 63) /
   * 64 lines. A code of -128 is allowed. Bit-equal on every path. */
  size_t (*sparse_put)(const int8_t *const *rows, size_t n, size_t dim, void *scratch, uint32_t *directory,
                       uint8_t *data);
  /* The same from 1 to AME_SPARSE_LINES lines of each dimension, in dense blocks whose runs are one line, one block
   * after the other: bit-equal to sparse_put of their rows. */
  size_t (*sparse_pack)(const uint8_t *dense, size_t lines, size_t dim, void *scratch, uint32_t *directory,
                        uint8_t *data);
  /* The reverse: reads the codes of the first n rows of a block (up to 64 * lines), `dim` bytes each. Returns 0, or 1
   * if a run is damaged: all codes of that run are then 0. */
  int32_t (*sparse_rows)(const ame_sparse_block *b, size_t n, int8_t *const *rows);
  /* Reads the codes of one row (below 64 * lines) in n dimensions (below dim): those in `dims`, or the first n if that
   * is NULL. Returns 0, or 1 if what it reads of a run is damaged: that code is then 0. It does not read all of a run,
   * so some damage is not found. */
  int32_t (*sparse_take)(const ame_sparse_block *b, size_t row, const uint32_t *dims, size_t n, int8_t *codes);
  /* dots[64 * l + r] = <q's codes, codes of row r of line l>, exact, for each line l whose bit is set in `lines`. Bits
   * from the block's number of lines on are ignored, and the dots of other lines are not written. Ask for all lines of
   * a block in one call: each call goes through the runs from their beginning. `next` is the block that will be read
   * next, or NULL: its directory and runs are prefetched, so its struct and directory must be readable. The query's
   * dimensions are below the dim of both blocks. Returns 0, or 1 if a run of these dimensions is damaged, which counts
   * as codes of 0. Equal to dot_lines of the dense form; if q->adds is 1, plus what `dots` contained. */
  int32_t (*dot_sparse)(const ame_line_query *q, const ame_sparse_block *b, uint64_t lines,
                        const ame_sparse_block *next, int32_t *dots);
  /* Checks n dimensions from `first` on. Returns 0 if sparse_put may have written their runs, and, if these are all
   * dimensions, the directory; else 1. It does not check that each form is the smallest, nor how many rows there are.
   * No other function needs this check to stay within the data: it also finds what does them no harm, such as a code of
   * 0 that a bitmap lists. */
  int32_t (*sparse_check)(const ame_sparse_block *b, size_t first, size_t n);
  /* One row without its zeros. squeeze_row writes a bit for each of `dim` codes to (dim + 7) / 8 bytes at `bits`, set
   * where the code is not 0, the first in the lowest bit, and these codes to `out`; no more than `count`, which is how
   * many there are. spread_row is the reverse for any bits: codes beyond `count` are 0. Bit-equal on every path. */
  void (*squeeze_row)(const int8_t *codes, size_t dim, size_t count, uint8_t *bits, uint8_t *out);
  void (*spread_row)(const uint8_t *bits, const uint8_t *packed, size_t count, size_t dim, int8_t *codes);
  /* IEEE 754 half precision, to nearest, ties to even; overflow gives infinity. Bit-equal on every path. */
  void (*f32_to_f16)(const float *x, size_t n, uint16_t *out);
  void (*f16_to_f32)(const uint16_t *x, size_t n, float *out);
  /* out[i] = ||q - row i||^2, bit-equal on every path. Relative error at most dim * 2^-22. */
  void (*sq_l2)(const float *q, const float *rows, size_t n, size_t dim, float *out);
  /* Scales each row to unit length in place; a zero row stays. */
  void (*normalize)(float *rows, size_t n, size_t dim);
  /* 1 when all n floats are finite. */
  uint32_t (*all_finite)(const float *x, size_t n);

  /* k-means with squared Euclidean distance. assign: the nearest of k centroids of each row (lowest index on ties);
   * `best` (may be NULL) gets ||x - c||^2 less ||x||^2. half_norms[j] = ||c_j||^2 / 2, from kmeans_half_norms. */
  void (*kmeans_half_norms)(const float *centroids, size_t k, size_t dim, float *half_norms);
  void (*kmeans_assign)(const float *rows, size_t n, size_t dim, const float *centroids, const float *half_norms,
                        size_t k, uint32_t *assign, float *best);
  /* k-means++ seeding (Arthur and Vassilvitskii, 2007) on rows; `distance` is scratch of n floats. Determined by
   * `seed`. */
  void (*kmeans_seed)(const float *rows, size_t n, size_t dim, size_t k, uint64_t seed, float *centroids,
                      float *distance);
  /* One Lloyd update from an assignment: centroids become means; an empty one takes the row farthest from its own
   * centroid. `sums` is scratch of k x dim doubles, `counts` of k. Returns the largest squared move of a centroid. */
  float (*kmeans_update)(const float *rows, size_t n, size_t dim, const uint32_t *assign, const float *best, size_t k,
                         float *centroids, double *sums, uint64_t *counts);

  /* Offers n hits to a selection. A hit that is not better than the worst of a full heap is dropped. */
  void (*topk_offer)(ame_topk *heap, const ame_hit *hits, size_t n);
  /* Orders items[0 .. count) best first; the selection is not a heap afterwards. */
  void (*topk_sort)(ame_topk *heap);

  /* parts[i] = max(1, weight * tf / (tf + norm) rounded to a whole number), norm = fixed + slope * lengths[docs[i]];
   * each operation is rounded to f32; the last one adds 0.5 and truncates. tfs are 1 .. 2^31 - 1; of lengths the low 31
   * bits are used. Equal on every path. */
  void (*bm25_parts)(const ame_bm25 *q, const uint32_t *docs, const uint32_t *tfs, const uint32_t *lengths, size_t n,
                     uint32_t *parts);
  /* AME_PACK numbers in 16 * bits bytes, bits from 0 to 32: value i has bits i / 4 * bits .. of lane i % 4, lanes are
   * words of 32 bits side by side. pack keeps the low `bits` of a value. */
  void (*pack)(const uint32_t *values, uint32_t bits, uint8_t *out);
  void (*unpack)(const uint8_t *packed, uint32_t bits, uint32_t *out);
  /* Turns AME_PACK gaps into positions, in place, modulo 2^32: the first is next + gap, each other the position before
   * + 1 + gap. Returns the last one. */
  uint32_t (*ascend)(uint32_t next, uint32_t *gaps);
  /* Writes the indices of sums of at least `least`, ascending; returns how many. `least` is not 0 and all numbers are
   * below 2^31; `places` has n + 1 entries. */
  size_t (*select)(const uint32_t *sums, size_t n, uint32_t least, uint32_t *places);

  /* CRC-32C (Castagnoli, RFC 3720 B.4), resumable: crc of a prefix goes in, 0 at first. */
  uint32_t (*crc32c)(uint32_t crc, const void *data, size_t bytes);
  /* A fast 64-bit hash for in-memory tables; never stored. */
  uint64_t (*hash64)(const void *data, size_t bytes, uint64_t seed);

  uint32_t (*embed_dim)(uint32_t model);
  int32_t (*embed)(uint32_t model, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n, float *out);
  /* The same, and calls `fn` for the tokens of each text, in the order of the texts: their hashes as those of
   * token_hashes, in any order, one hash several times perhaps, the counts of all in sum the same. A text is read once
   * for both. */
  int32_t (*embed_terms)(uint32_t model, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n,
                         float *out, ame_met_fn fn, void *ctx);
  void (*tokenize)(const uint8_t *text, size_t bytes, ame_token_fn fn, void *ctx);
  /* The hashes of the same tokens in the same order. `cache` may be NULL. */
  void (*token_hashes)(ame_token_cache *cache, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx);
  /* Adds a term, as `tokenize` gives it, to those that wanted_hashes looks for. */
  void (*want_term)(ame_wanted *wanted, const uint8_t *term, size_t bytes);
  /* Calls `fn` with the hash of each token that may be one of these terms, in order: of all that are, and of some that
   * are not. Returns how many tokens the text has. Most words are neither stemmed nor hashed. */
  size_t (*wanted_hashes)(const ame_wanted *wanted, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx);
  /* The same tokens in the same order with their words, until `fn` returns 1. */
  void (*token_words)(const uint8_t *text, size_t bytes, ame_word_fn fn, void *ctx);
  /* All words that are one edit from a folded word (a letter left out, two neighbours swapped, a letter replaced, one
   * inserted; each word once, deletions first, then swaps, replacements, insertions, each from the start of the word),
   * with their terms. Letters are those of the word's script. Returns how many: 0 for a word that is not
   * AME_EDIT_LETTERS_LEAST to AME_EDIT_LETTERS_MOST letters of one alphabet. Deterministic everywhere. */
  uint32_t (*term_edits)(const uint8_t *word, size_t bytes, ame_partner_fn fn, void *ctx);
  /* 1 to 255; changes with any change of the tokens of a text or of their hashes. */
  uint32_t (*token_version)(void);
  /* The weight of a token of a query in addition to its rarity in the collection, in (0, 1]: small for function words
   * of many languages. */
  float (*term_worth)(const uint8_t *term, size_t bytes);
  /* Calls `fn` for each partner of a term, best first, at most AME_PARTNERS_MOST; returns one more than how many, or
   * 0 for a term, or a kind, that no table has. `term` is a token's, `kind` one of AME_PARTNERS_. At most some two
   * microseconds. */
  uint32_t (*term_partners)(uint32_t kind, const uint8_t *term, size_t term_bytes, ame_partner_fn fn, void *ctx);

  int32_t (*encoder_check)(const uint8_t *model, size_t bytes);
  uint64_t (*encoder_id)(const uint8_t *model);
  size_t (*encoder_scratch)(void);
  int32_t (*encode)(const uint8_t *model, uint32_t role, const uint8_t *text, size_t bytes, void *scratch,
                    const uint32_t *stop, ame_encoding *out);
  void (*dot_records)(const int8_t q[AME_ENCODING_DIM], const uint8_t *base, const uint32_t *at, size_t n,
                      int32_t *out);
} ame_kernel;

/* The table bound to the active path. The pointer stays valid; after ame_isa_force its functions run the forced
 * path. */
AME_API const ame_kernel *ame_kernel_table(void);
