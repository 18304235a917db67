/* What lives in memory while a collection is open, shared by the files of this folder.
 *
 * A collection is a base (sealed, mapped, rows in the order partition, IVF list, insertion) and a delta (rows since the
 * base, in the order they were written). Both are a ty_segment: columns side by side, so that one scan serves both.
 * Positions (`at`) index a segment; row numbers identify a row for ever and are never reused.
 */
#ifndef TY_INTERNAL_H
#define TY_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "calls/answer.h"
#include "os/assert.h"
#include "os/fail.h"
#include "os/spill.h"
#include "rows/coded.h"
#include "rows/rewrite.h"
#include "rows/vector.h"

typedef struct ty_collection ty_collection;

/* ---- Terms ----
 * A row's tokens as stored, where its text is not: a byte of the version of tokenising (ame_kernel.h, token_version),
 * number of distinct terms, number of tokens (LEB128 each), then bits (bits.h) for each term in ascending order of
 * hash: the hash less the smallest that can follow the one before, Rice with ty_terms_parameter; tf, gamma. A row
 * without a term has no bytes. */
#define TY_TERM_MOST 16u                        /* bytes of one term at most */
#define TY_TF_MAX    (1u << 30)                 /* of a term in a row, which has 64 MiB of text at most */
unsigned ty_terms_parameter(uint64_t distinct); /* near the best for hashes, which are spread evenly */
typedef struct ty_term_reader {
  const uint8_t *at, *end;
  uint64_t distinct, tokens, seen;
  uint64_t bit; /* from `at` */
  uint32_t hash;
  uint32_t tf;
  uint32_t version; /* 0: no terms */
  unsigned parameter;
} ty_term_reader;
bool ty_terms_open(ty_term_reader *r, ty_slice terms); /* false: malformed; an empty slice is zero terms */
bool ty_terms_next(ty_term_reader *r);                 /* false at the end or where malformed (then seen < distinct) */
uint64_t ty_leb_put(uint8_t *out, uint64_t value);     /* up to 10 bytes; returns how many */
bool ty_leb_get(const uint8_t **at, const uint8_t *end, uint64_t *value);

/* ---- A mapped file ---- */
typedef struct ty_file {
  char name[64];  /* in the collection's directory; empty: none */
  uint64_t bytes; /* committed */
  uint32_t crc;   /* of the committed bytes: for slabs of their header and section table, which hold the sections' own;
                     for the   delta of every committed byte; for id_map.npy of what follows its header */
  const uint8_t *map; /* at least `bytes` long */
  uint64_t mapped;
  uint64_t device,
      inode; /* of what is mapped: its name may come to stand for another file, and that one may be longer */
} ty_file;

/* ---- IVF: ivf.c ---- */
typedef struct ty_ivf_part {
  uint32_t span; /* index in collection.spans */
  uint32_t nlist;
  uint32_t nprobe; /* lists that a question reads on average, as measured when the index was built; nlist: all of them,
                      in one run */
  uint32_t held_count; /* while the index is built; 0 afterwards */
  double
      reach; /* how far into the spread of a list a question looks for an answer: ivf_probe.c; infinite: everywhere */
  double reach_alone;  /* the same where the other answers of a question do not come from this partition */
  double built_square; /* mean squared distance of a row from its centroid when the centroids were made: ty_ivf_drift */
  double calibrated_square; /* the same, and the number of rows, when the reach was measured */
  uint64_t calibrated_rows;
  const float *centroids;    /* nlist x dim */
  const float *half_norms;   /* nlist; of the centroids */
  const float *rms, *most;   /* nlist; of the distances of a list's rows from its centroid the root of the mean square,
                                and a bound of all */
  const ame_code_info *info; /* nlist; of the codes */
  const int8_t *codes;       /* nlist x AME_CODE_STRIDE(dim), of the centroids */
  const uint64_t *list_starts; /* nlist + 1 positions in the base, the first = span.first */
  const uint64_t
      *held; /* held_count positions in the base of rows that the centroids were not made from; NULL when opened */
} ty_ivf_part;
typedef struct ty_ivf {
  ty_file file;
  uint64_t min_rows;
  double target_recall;
  uint32_t count;
  ty_ivf_part *parts;
} ty_ivf;

/* ---- Lexical: lexical.c ---- */
/* Looks an external id up among the live rows: `found` tells. TY_NO_MEMORY where the table for it could not be built.
 */
ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err);
/* Enters a question: follows other processes' saves where no change is under way, then takes the lock shared. ty_leave
 * lets go. */
ty_status ty_enter(ty_collection *c, ty_error *err);
void ty_leave(ty_collection *c);

/* Trains or reassigns, and reorders r->rows within each partition by list. Leaves r->ivf NULL where no partition is
 * large enough. */
ty_status ty_ivf_train(ty_rebase *r, ty_error *err);
/* Once the new base exists (as `base`, mapped): finds each partition's reach on held-out rows. */
ty_status ty_ivf_calibrate(ty_rebase *r, const ty_segment *base, ty_error *err);
/* Serialises for ivf-*.slab; and opens such bytes, checking everything against the base it belongs to. */
ty_status ty_ivf_encode(const ty_ivf *ivf, uint32_t dim, ty_buffer *out, ty_error *err);
ty_status ty_ivf_open(const ty_collection *c, const ty_segment *base, const ty_span *spans, uint32_t span_count,
                      ty_slice bytes, ty_ivf **out, ty_error *err);
void ty_ivf_free(ty_ivf *ivf);
/* How much farther rows lie from their centroids than when those were made, as a ratio of mean squared distances: 1 for
 * a fresh index, more as compactions assign rows to lists that were not made for them. From 1.25 on a rebuild is worth
 * it. */
double ty_ivf_drift(const ty_ivf_part *part);

/* Opens the inverted index of lexical-*.slab. One of another way of tokenising, or damaged, is no failure: lexical
 * questions are then refused, with a sentence that says what to do, until an index is built. lexical_build.h writes
 * one. */
ty_status ty_lexical_open(const ty_collection *c, const ty_segment *base, ty_slice bytes, ty_lexical **out,
                          ty_error *err);
/* The same for bytes that could not even be found: `why` is what was wrong with the file. */
ty_status ty_lexical_open_none(const ty_error *why, ty_lexical **out, ty_error *err);
/* TY_INVALID where k1 or b is out of range. */
ty_status ty_lexical_check(double k1, double b, ty_error *err);
void ty_lexical_free(ty_lexical *x);
bool ty_lexical_usable(const ty_lexical *x); /* false for NULL as well */
/* False where they could not be read; of an index that is not usable `terms` is 0. */
bool ty_lexical_parameters(const ty_lexical *x, double *k1, double *b, uint64_t *terms);
/* Called under the exclusive lock when rows come to the delta and when a row dies, so that the next question sees it.
 * Cheap: only notes; the work may be done at the next lexical question (which then takes its own mutex). A failure to
 * allocate is remembered and reported by that question. */
void ty_lexical_added(ty_lexical *x, uint64_t first_delta_at);
void ty_lexical_died(ty_lexical *x);
/* The delta was emptied or re-read from its start: forget what was noted of it. */
void ty_lexical_reset(ty_lexical *x);

#endif
