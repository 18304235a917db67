/* Inverting in bounded memory: postings come row by row, and go term by term. What does not fit is sorted, squeezed and
 * laid aside as a run, and in the end all runs are merged (Witten, Moffat and Bell, 1999, ch. 5). Memory is
 * TY_RUN_MEMORY whatever the rows; the runs, some 3 bytes a posting, lie in nameless files once they are some
 * megabytes.
 */
#ifndef TY_LEXICAL_RUNS_H
#define TY_LEXICAL_RUNS_H

#include "os/spill.h"
#include "rows/collection.h"

/* Of items, and one and a half times that to sort and squeeze them; ty_env_open sets it, tests set another. More would
 * mean fewer runs to merge, which takes no less time. */
#define TY_RUN_MEMORY ((uint64_t)20 << 20)
/* Runs are laid aside in pieces of so many bytes, each a mapping of its own. */
#define TY_RUN_CHUNK ((uint64_t)32 << 20)

typedef struct ty_run {
  const uint8_t *at, *end;
  uint64_t first_row;
  uint32_t number; /* in order of making: a long text's runs all begin with its row */
  uint32_t hash;   /* of the group that comes next */
  uint64_t count;  /* its postings */
} ty_run;

typedef struct ty_runs {
  const ty_collection *c;
  uint64_t memory; /* of items */
  uint64_t *items; /* hash << 32 | (row - first_row) << 12 | tf - 1 */
  uint8_t *scratch;
  uint64_t count, capacity;
  uint64_t row, first_row; /* the row that terms come of, and the first one of the run */
  ty_spill *chunks;        /* of runs */
  uint64_t *used;
  uint32_t chunk_count;
  ty_run *runs;
  uint32_t run_count, run_capacity;
  bool failed; /* memory ran out */
} ty_runs;

void ty_runs_open(ty_runs *r, const ty_collection *c);
void ty_runs_row(ty_runs *r, uint64_t row); /* ascending: what follows is of this row */
void ty_runs_add(ty_runs *r, uint32_t hash, uint32_t tf);
/* Calls `term` for each hash in ascending order once, and before it `posting` for each of its rows in ascending order;
 * a row may come more than once in a row, then its tfs add up. Ends with the first status that is not TY_OK. */
typedef struct ty_runs_sink {
  void (*posting)(void *ctx, uint64_t row, uint32_t tf);
  ty_status (*term)(void *ctx, uint32_t hash);
  void *ctx;
} ty_runs_sink;
ty_status ty_runs_merge(ty_runs *r, const ty_runs_sink *sink, ty_error *err);
void ty_runs_free(ty_runs *r);

#endif
