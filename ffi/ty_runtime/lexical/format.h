/* The stored form of the lexical index. All integers little-endian, parts one after the other:
 *
 *   head      64 bytes: ty_lexical_head
 *   lists     of each term of two rows or more, in ascending order of hash
 *   lengths   u32 a row: its tokens, by position in the base; begins at a multiple of 64
 *   fences    8 bytes for each TY_DICT_TERMS terms: u32 hash of the first one, u32 offset of their bits in the entries
 *   entries   the dictionary: dictionary.c
 *   foot      64 bytes: ty_lexical_foot
 *
 * A list of df rows is df / 128 blocks, a stream of the rest, and where there is a block the directory of blocks and
 * rest: u32 last position of each, u32 of each where it ends in the list, u8 of each its bound. A block is 128
 * postings:
 *
 *   u8 bits of a gap, u8 bits of a tf, u8 exceptions among the gaps, u8 among the tfs
 *   128 gaps packed, 128 times tf - 1 packed (ame_kernel.h, pack), the lower bits of each
 *   the exceptions of the gaps, then of the tfs: u8 which one, LEB128 of its upper bits
 *
 * A gap is the position less the smallest that can be: 0 for the first of a list, one more than the one before for all
 * others. A stream is for each posting LEB128 of 2 * gap + (tf is 1), and LEB128 of tf where it is not 1.
 *
 * A bound b: tf / (tf + norm) <= b / 255 for each posting of the block, at the mean length at the time of the build.
 * The mean moves later, or is a partition's, and with it norm = k1 (1 - b) + k1 b length / mean. Let r be that quotient
 * and m the ratio of the mean now to the mean then. If m <= 1, norm is not smaller than it was and r not larger. If m >
 * 1, norm is at least 1/m of what it was, so tf + norm is at least (tf + norm then) / m and r at most m times what it
 * was. So r <= b / 255 * max(1, m) whatever happens to the mean. */
#pragma once

#include "lexical/bits.h"
#include "rows/intact.h"

typedef struct ty_lexical_head {
  double k1, b;
  uint64_t docs;
  uint32_t version; /* of tokenising */
  uint32_t built;   /* 1: ty_build_lexical was called; 0: the index serves queries by both rankings only */
  uint8_t reserved[32];
} ty_lexical_head;
_Static_assert(sizeof(ty_lexical_head) == 64, "lexical head");

typedef struct ty_lexical_foot {
  uint64_t tokens, terms;
  uint64_t lists_bytes, entries_bytes; /* without padding */
  uint8_t reserved[28];
  uint32_t crc; /* of the head and the 60 bytes before */
} ty_lexical_foot;
_Static_assert(sizeof(ty_lexical_foot) == 64, "lexical foot");

/* Beyond this the norms leave the range of a float, and ranking by tf has long been linear. */
#define TY_LEXICAL_K1_MAX  1e6
#define TY_DICT_TERMS      64u
#define TY_DIRECTORY_BYTES 9u /* of a block */
#define TY_BOUND_ONE       255u

/* The parts of a stored index, in the mapping. What is read of them is compared with the checksums of `intact` first;
 * of fences and lengths ty_lexical_look has done that. */
typedef struct ty_lexical_image {
  const ty_intact *intact;
  uint64_t docs, tokens, terms;
  const uint8_t *lists;
  uint64_t lists_bytes;
  const uint32_t *lengths;
  const uint8_t *fences, *entries;
  uint64_t entries_bytes;
} ty_lexical_image;
/* Offsets of the parts in the image; false where the counts are out of range. */
typedef struct ty_lexical_layout {
  uint64_t lengths, fences, entries, foot, total;
} ty_lexical_layout;
static inline bool ty_image_good(const ty_lexical_image *x, const void *from, uint64_t bytes) {
  return ty_is_intact(x->intact, (uint64_t)((const uint8_t *)from - x->intact->data), bytes);
}
bool ty_lexical_place(uint64_t docs, const ty_lexical_foot *foot, ty_lexical_layout *out);
double ty_mean_length(uint64_t tokens, uint64_t docs); /* never 0 */
/* BM25's norms for a mean length; the weight is 0. */
ame_bm25 ty_lexical_norms(double k1, double b, double mean);

static inline uint32_t ty_load32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* ---- The dictionary: dictionary.c ---- */
typedef struct ty_dict_entry {
  uint32_t hash;
  uint32_t df;
  uint32_t doc, tf;     /* of a term of one row; it has no list */
  uint64_t list, bytes; /* of all others */
} ty_dict_entry;
/* Looks up a term; df is 0 where it is absent. False where the dictionary is damaged. */
bool ty_dict_look(const ty_lexical_image *x, uint32_t hash, ty_dict_entry *out);
/* The terms of one block, TY_DICT_TERMS of them but in the last; `block` is one that there is. False where it is
 * damaged: hashes ascend, but may not follow those of the block before. */
bool ty_dict_unpack(const ty_lexical_image *x, uint64_t block, ty_dict_entry *entries, uint32_t *count);
#define TY_DICT_BLOCK_MOST 4096u
/* Writes up to TY_DICT_TERMS entries, hashes and lists ascending; returns the bytes, at most TY_DICT_BLOCK_MOST. */
uint64_t ty_dict_pack(const ty_dict_entry *entries, uint32_t count, uint64_t docs, uint8_t *out);

/* ---- Blocks: block.c ---- */
#define TY_BLOCK_DOCS AME_PACK
#define TY_BLOCK_MOST (4 + 2 * (512 + 6 * TY_BLOCK_DOCS))
/* `docs` ascend from `next` on. Returns the bytes. */
uint64_t ty_block_pack(const ame_kernel *k, const uint32_t *docs, const uint32_t *tfs, uint64_t next, uint8_t *out);
/* The positions, which must end with `last`; false where the bytes are damaged. */
bool ty_block_docs(const ame_kernel *k, const uint8_t *block, uint64_t bytes, uint64_t next, uint32_t last,
                   uint32_t *docs);
bool ty_block_tfs(const ame_kernel *k, const uint8_t *block, uint64_t bytes, uint32_t *tfs);

#define TY_STREAM_MOST 15u /* bytes of one posting at most */
static inline uint64_t ty_stream_put(uint8_t *out, uint64_t gap, uint32_t tf) {
  uint64_t n = ty_leb_put(out, 2 * gap + (tf == 1));
  return tf == 1 ? n : n + ty_leb_put(out + n, tf);
}
/* Reads up to n postings of positions from *next on, below `docs`; returns how many, and 0 where the bytes are damaged
 * or at their end. */
uint32_t ty_stream_get(const uint8_t **at, const uint8_t *end, uint64_t *next, uint64_t docs, uint32_t n,
                       uint32_t *out_docs, uint32_t *out_tfs);
