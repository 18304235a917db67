/* A lexical index in memory.
 *
 * The base's inverted index is mapped and never changes. Beside it in memory are the postings of the delta's rows and
 * the rows of the base that died, whose postings are not counted. So N, df and the mean length are always those of the
 * live rows, and a compaction does not change scores. */
#pragma once

#include "lexical/bag.h"
#include "lexical/format.h"
#include "lexical/lexical.h"
#include "lexical/tally.h"
#include "os/spill.h"

/* Postings of the delta's rows: a stream as in format.h, some 3 bytes a posting. */
typedef struct ty_list {
  uint8_t *bytes;
  uint32_t used, capacity;
  uint32_t next; /* the smallest position that can follow */
} ty_list;

typedef struct ty_change {
  int64_t added; /* live rows of the delta that hold it */
  ty_list list;  /* dead rows too, which ranking skips */
} ty_change;

/* How long live rows are. */
typedef struct ty_lengths {
  uint64_t docs, tokens;           /* of rows that have tokens and are not long */
  uint64_t long_docs, long_tokens; /* of long ones */
} ty_lengths;

/* Live rows of a partition. */
typedef struct ty_lexical_part {
  uint64_t base_docs, delta_docs;
  ty_lengths lengths;
  bool known; /* else not asked about yet */
} ty_lexical_part;

struct ty_lexical {
  /* Where the stored index cannot be read: TY_UNBUILT or TY_INDEX, and why. The rest is then empty, but
   * for the next two if its head can be read. */
  ty_status trouble;
  char message[512];
  bool built;           /* ty_build_lexical was called */
  _Atomic bool damaged; /* damage was found that opening it did not find */
  _Atomic bool looked;  /* at the fences and lengths, which are as they were written */
  double k1, b;
  /* The stored index, in the mapping; of one that was made of the rows' texts (rebuilt.h), in `memory`. */
  ty_lexical_image image;
  ty_intact intact; /* the image's bytes */
  ty_spill memory;
  struct ty_lexical *_Atomic rebuilt; /* in place of this one, which is not usable; NULL: not made yet */

  /* Below: changed by ty_lexical_sync only, under `lock`; stale and restart also under the collection's exclusive lock.
   * After ty_lexical_sync nothing changes while queries hold the collection's lock, and they read without `lock`; but
   * `parts` grows, and is read under `lock`. */
  pthread_mutex_t lock;
  bool stale;                     /* something was noted since the last sync */
  bool restart;                   /* the delta's rows may differ from the counted ones */
  bool broken;                    /* a sync failed half-way: the counts below are wrong */
  uint64_t base_docs, delta_docs; /* live rows */
  ty_lengths base_totals, delta_totals;
  uint8_t *base_dead;  /* by position: 1 where the row's tokens were subtracted */
  uint8_t *delta_dead; /* the same for the delta, delta_count entries */
  uint32_t *delta_lengths;
  uint64_t delta_count, delta_capacity;
  ty_bag changed;    /* terms of the delta's rows */
  ty_change *change; /* by number in `changed` */
  uint32_t changed_capacity;
  ty_lexical_part *parts; /* by code of the partition: statistics.h */
  uint32_t part_count;
  ty_tally tally; /* of the row that is added or subtracted */
};

static inline uint64_t ty_lexical_docs(const ty_lexical *x) { return x->base_docs + x->delta_docs; }
/* Updates the statistics from the segments. Takes and releases x->lock. */
ty_status ty_lexical_sync(ty_lexical *x, const ty_collection *c, ty_error *err);
/* How many rows a sync has to count, about; UINT64_MAX while another thread runs one. */
uint64_t ty_lexical_pending(ty_lexical *x, const ty_collection *c);
/* Compares the fences and the lengths with their checksums, once: all of them, as any query reads most of their pages,
 * and a look for each posting took a twentieth of a ranking. A sync does. TY_INDEX where they are damaged. */
ty_status ty_lexical_look(ty_lexical *x, ty_error *err);
/* Bytes that it will read; 0 once it has. */
uint64_t ty_lexical_unread(const ty_lexical *x);
/* Opens an index over `bytes`. Returns what is wrong with them, or NULL; k1, b and `built` are then those of the head
 * if that can be read. */
const char *ty_lexical_read(ty_lexical *x, const ame_kernel *k, uint64_t rows, const ty_intact *bytes);
/* TY_INDEX. */
ty_status ty_lexical_damaged(ty_error *err, const char *what);
