/* The statistics that weigh a lexical query: how many live rows there are, how long they are, and how many hold a term.
 *
 * Under a filter on the partition key they are those of the partition: what other partitions hold changes neither order
 * nor score, as if the partition were a collection of its own. Under other filters, and without one, they are those of
 * all rows: rows of one value need not have a language of their own, and their rows lie scattered, so that counting
 * would read every list. */
#pragma once

#include "lexical/index.h"
#include "scan/filter.h"

typedef struct ty_scope {
  const ty_collection *c;
  ty_lexical *x;
  bool whole;                     /* all live rows, which may be those of one partition */
  uint32_t code;                  /* of the partition; read where not whole */
  uint64_t first, end;            /* positions in the base that have its rows, or all of them */
  uint64_t base_docs, delta_docs; /* live rows */
  ty_lengths lengths;
} ty_scope;

static inline uint64_t ty_scope_docs(const ty_scope *s) { return s->base_docs + s->delta_docs; }
/* The rows whose statistics weigh a query with the filter (ty_filter_partition). After ty_lexical_sync. A partition's
 * rows are read the first time that it is asked about. */
ty_status ty_scope_open(const ty_collection *c, ty_lexical *x, const ty_filter *f, ty_scope *out, ty_error *err);
/* How many of the rows hold a term, of which `stored` and `added` (TY_NO_TERM: none) are the entries in the dictionary
 * and among the changed terms. TY_INDEX where its list is damaged. */
ty_status ty_scope_count(const ty_scope *s, const ty_dict_entry *stored, uint32_t added, uint64_t *df, ty_error *err);

/* The length that BM25 compares rows with, of `docs` rows with these lengths. */
double ty_lengths_mean(const ty_lengths *l, uint64_t docs);
/* The lengths of both together. */
ty_lengths ty_lengths_sum(const ty_lengths *a, const ty_lengths *b);
/* Counts a row of the segment that came (1) or died (-1). */
void ty_lengths_count(ty_lengths *l, const ty_segment *s, uint64_t at, uint64_t tokens, int sign);

/* ---- Kept for the partitions that were asked about; under x->lock ---- */
/* A row of the segment came (1) or died (-1). */
void ty_parts_count(ty_lexical *x, const ty_segment *s, uint64_t at, uint64_t tokens, int sign);
void ty_parts_forget(ty_lexical *x); /* all of them */
