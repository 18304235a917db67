/* Inverting in bounded memory: postings are added row by row and read term by term. Whenever the memory is full its
 * items are sorted, compressed and stored as a run, and in the end all runs are merged (Witten, Moffat and Bell, 1999,
 * ch. 5). Memory is TY_RUN_MEMORY for any number of rows; the runs, some 3 bytes a posting, are in nameless files once
 * they take some megabytes. */
#pragma once

#include "os/spill.h"
#include "rows/collection.h"

/* Of items, and one and a half times that to sort and compress them; ty_env_open sets it, tests set another. More
 * memory means fewer runs, but merging them takes as long. */
#define TY_RUN_MEMORY ((uint64_t)6 << 20)
/* Runs are stored in chunks of so many bytes, each with its own mapping. */
#define TY_RUN_CHUNK ((uint64_t)32 << 20)

typedef struct ty_run {
  const uint8_t *at, *end;
  uint64_t first_row;
  uint32_t number; /* in order of creation: a long text's runs all begin with its row */
  uint32_t hash;   /* of the next group */
  uint64_t count;  /* its postings */
} ty_run;

typedef struct ty_runs {
  const ty_collection *c;
  uint64_t memory; /* of items */
  uint64_t *items; /* hash << 32 | (row - first_row) << 12 | tf - 1 */
  uint8_t *scratch;
  uint64_t count, capacity;
  uint64_t row, first_row; /* the row of the terms that are added, and the first one of the run */
  ty_spill *chunks;        /* of runs */
  uint64_t *used;
  uint32_t chunk_count;
  ty_run *runs;
  uint32_t run_count, run_capacity;
  bool failed; /* memory ran out */
} ty_runs;

void ty_runs_open(ty_runs *r, const ty_collection *c);
void ty_runs_row(ty_runs *r, uint64_t row); /* ascending: the next terms are of this row */
void ty_runs_add(ty_runs *r, uint32_t hash, uint32_t tf);
/* Calls `posting` for each row of a hash in ascending order, then `term` for the hash, hashes ascending. A row may
 * follow itself: its tfs add up. Ends with the first status that is not TY_OK. */
typedef struct ty_runs_sink {
  void (*posting)(void *ctx, uint64_t row, uint32_t tf);
  ty_status (*term)(void *ctx, uint32_t hash);
  void *ctx;
} ty_runs_sink;
ty_status ty_runs_merge(ty_runs *r, const ty_runs_sink *sink, ty_error *err);
void ty_runs_free(ty_runs *r);
