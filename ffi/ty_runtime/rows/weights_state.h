/* What weights.c and weights_part.c share. */
#pragma once

#include "rows/weights.h"

/* The counted rows of one segment, or of a run of the base. */
typedef struct part {
  uint64_t *sums; /* dim */
  uint8_t *dead;  /* 1: not in the sums; `rows` of them */
  uint64_t first; /* the position of the first */
  uint64_t rows, capacity;
  uint64_t counted; /* rows in the sums */
  bool restart;     /* the counts are invalid */
  bool unread;      /* a live row is not in the sums, though counted: its vector is damaged */
  bool afresh;      /* stored sums are not used: a dead row in them cannot be subtracted */
} part;

/* The weights of a partition, which do not change: of other rows there are others. */
typedef struct ty_factors {
  _Atomic uint32_t held; /* by its place and by queries */
  double factor[];
} ty_factors;

/* Smoothing: the mean over all dimensions has the weight of so many rows in each, and is added so many times to each
 * dimension's. Mean nDCG@10 rises with these from .646 to .659 on eight sets and from .558 to .583 on 21 others (in
 * 1,024 dimensions); half or twice these values are nearly as good. */
#define WEIGHTS_PRIOR_ROWS 20.0
/* A partition's dimensions are smoothed by so many average rows. With those of all of 10 conversations (locomo, 590
 * rows each) in its place nDCG@10 is .499 dense and .506 fused, where the words too are of the conversation; with 20 as
 * for a whole collection .501 and .502, with 1,000 .500 and .504, with 1,500 .499 and .505, with 3,000 .497 and .505,
 * even .494 and .508. In 70 meetings (QMSum) it is .331 and .327; with 20 .339 and .327, with 1,500 .332 and .326. Six
 * other sets beside each other as partitions gain .001 to .005 dense and up to .0015 fused on the weights of all rows.
 * A mean of other sets' rows to smooth towards was no better than an even one. */
#define WEIGHTS_PARTITION_PRIOR_ROWS 1500.0

/* A partition. */
typedef struct scoped {
  uint32_t code;    /* in column 0 */
  uint64_t used;    /* when it was asked for */
  uint64_t version; /* of the changes that it follows */
  part base;        /* its sums are those of the delta's rows too */
  uint64_t seen;    /* rows of the delta that were looked at */
  uint32_t *rows;   /* those of the partition: position * 2, + 1 where not in the sums */
  uint64_t row_count, row_capacity;
  uint64_t counted;    /* of these, in the sums */
  uint32_t trouble;    /* TY_TROUBLE_FILTER: its stored sums are damaged */
  ty_factors *factors; /* NULL: all rows are zero */
} scoped;

struct ty_weights {
  pthread_mutex_t lock;
  bool stale; /* ty_weights_note was called since the last sync */
  part base, delta;
  float *row;       /* scratch, dim floats */
  double *factor;   /* dim; multiplies the query's elements */
  bool even;        /* all live rows are zero: no weighting */
  uint64_t version; /* one more with each ty_weights_note */
  bool moved;       /* rows of partitions lie elsewhere: all are counted again */
  scoped *scoped;
  uint32_t scoped_count;
  uint64_t clock;  /* of `used` */
  uint64_t counts; /* rows counted so far, on or off */
};

ty_status weights_no_memory(ty_error *err);
/* Adds or subtracts a row. False: its vector is damaged, and nothing was done. */
bool weights_count_row(const ty_collection *c, uint64_t *sums, const ty_segment *s, uint64_t at, bool off);
/* Allocates for `count` rows of a segment; after a restart begins with `stored`, the sums of all of them, if any. */
ty_status weights_prepare(const ty_collection *c, part *p, const ty_segment *s, uint64_t count, const uint64_t *stored,
                          ty_error *err);
/* Counts what came or died. Where a row that died cannot be read, counts all live rows again. */
void weights_follow(const ty_collection *c, part *p, const ty_segment *s, uint64_t count);
/* The factors of `rows` rows with sums `a` and, unless NULL, `b`, smoothed by `prior` average rows. False, and none,
 * where all rows are zero. */
bool weights_factors(const uint64_t *a, const uint64_t *b, double rows, double prior, uint32_t dim, double *factor);
/* Counts all live rows, under the mutex. */
ty_status weights_sync(const ty_collection *c, ty_error *err);
/* weights_part.c. The weights of a partition, under the mutex. */
ty_status weights_of_partition(const ty_collection *c, uint32_t code, ty_weighing *out, ty_error *err);
/* The sums of a partition, counted, under the mutex: valid until it is released. */
ty_status weights_partition_sums(const ty_collection *c, uint32_t code, const uint64_t **sums, uint32_t *trouble,
                                 ty_error *err);
/* Memory for factors, held once. */
ty_factors *weights_new_factors(uint32_t dim);
uint64_t weights_partition_pending(const ty_collection *c, uint32_t code);
void weights_partitions_free(ty_weights *w);
