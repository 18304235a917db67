/* What the files of the lexical index share.
 *
 * The base's inverted index is mapped and never changes. What happened since it was built lives beside it in memory: postings of the delta's
 * rows, and for each term by how much its document frequency differs from the stored one. So N, df and the mean length are always those
 * of the live rows, and a score is the same before and after a compaction.
 */
#ifndef TY_LEXICAL_H
#define TY_LEXICAL_H

#include "filter.h"

/* ---- A set of term hashes, numbered in order of arrival -------------------------------------------------------------*/
typedef struct ty_bag {
  uint32_t *hash; /* by number */
  uint32_t *table; /* open addressing: number + 1, 0 empty; a power of two, at most half full */
  uint32_t count, capacity, table_size;
} ty_bag;
#define TY_NO_TERM 0xffffffffu
uint32_t ty_bag_find(const ty_bag *b, uint32_t hash); /* TY_NO_TERM when absent */
uint32_t ty_bag_add(ty_bag *b, uint32_t hash);        /* the number, new or known; TY_NO_TERM when memory ran out */
void ty_bag_free(ty_bag *b);
/* Sorts by the upper 32 bits; `scratch` has room for n. Stable, linear: terms come by the million. */
void ty_sort_by_hash(uint64_t *items, uint64_t *scratch, uint64_t n);

/* ---- The index ------------------------------------------------------------------------------------------------------*/
typedef struct ty_list {
  ame_posting *items; /* doc is a position in the delta */
  uint32_t count, capacity;
} ty_list;

/* One question's accumulator: zero between questions. */
typedef struct ty_scores {
  struct ty_scores *next;
  uint64_t docs;   /* capacity */
  float *acc;      /* by document number */
  uint8_t *touched; /* by block of TY_SCORE_BLOCK documents */
} ty_scores;
#define TY_SCORE_BLOCK 256u

struct ty_lexical {
  /* The stored index, in the mapping (or in `copy`). */
  double k1, b;
  uint64_t docs, tokens, terms, postings_bytes;
  const uint32_t *lengths; /* tokens, by position in the base */
  const uint32_t *hashes;  /* ascending */
  const uint32_t *dfs;
  const uint64_t *offsets; /* terms + 1, into postings */
  const uint8_t *postings;
  void *copy;

  /* Below: changed by ty_lexical_sync only, under `lock`, or under the collection's exclusive lock (stale, restart). Once in step with the
   * segments it stays so while questions hold the collection's lock, and they read it without a lock. */
  pthread_mutex_t lock;
  bool stale;   /* something was noted since the last question */
  bool restart; /* what is below cannot be trusted: count again from the stored index */
  uint64_t live_docs, live_tokens;
  uint8_t *base_dead;  /* by position: 1 where the row's terms are already taken off */
  uint8_t *delta_dead; /* the same for the delta, delta_count entries */
  uint32_t *delta_lengths;
  uint64_t delta_count, delta_capacity;
  ty_bag changed;     /* terms that differ from the stored index */
  int64_t *df_change; /* by number in `changed` */
  ty_list *lists;     /* the delta's postings, by number in `changed` */
  uint32_t changed_capacity;
  float *norms; /* by document number, for the kernel */
  uint64_t norms_capacity, norms_delta;
  double norms_mean;
  ty_scores *idle; /* accumulators, under `lock` */
};

/* Documents are numbered for the kernel: base positions first, then the delta's from the next block on. */
static inline uint64_t ty_lexical_delta_start(const ty_lexical *x) {
  return (x->docs + TY_SCORE_BLOCK - 1) / TY_SCORE_BLOCK * TY_SCORE_BLOCK;
}
double ty_lexical_mean(const ty_lexical *x);
/* Brings the statistics in step with the segments. Takes and lets go of x->lock. */
ty_status ty_lexical_sync(ty_lexical *x, const ty_collection *c, ty_error *err);

/* ty_search_lexical for a caller that has entered the question already. */
ty_status ty_search_lexical_entered(ty_collection *c, ty_lexical_search_args *args, ty_error *err);

/* The stored form: see lexical_build.c. */
#define TY_LEXICAL_MAGIC "TYLEX001"
typedef struct ty_lexical_header {
  char magic[8];
  double k1, b;
  uint64_t docs, tokens, terms, postings_bytes, total;
} ty_lexical_header;

typedef struct ty_lexical_layout {
  uint64_t lengths, hashes, dfs, offsets, postings, total;
} ty_lexical_layout;
/* Where the sections stand; false where the counts cannot be. */
bool ty_lexical_place(const ty_lexical_header *h, ty_lexical_layout *out);

#endif
