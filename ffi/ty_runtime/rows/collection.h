/* rows: the rows of an open collection in memory, and the forms of a vector. Uses os, and work for the phases of a
 * rewrite.
 *
 *   collection.h  an open collection; the parts of higher folders are opaque here
 *   segment.h     the base and the delta, column by column
 *   times.h       when rows were put
 *   packed.h      ids and metadata of a base, as what they differ in from the row before
 *   symbols.h     texts of a base, coded with a table of symbols
 *   dict.h        the values of a filter column; by_value.h: the base's rows in their order
 *   vector.h      stored forms of a vector, written and read; sparse.h: sparse vectors, without zeros
 *   coded.h       screening data of rows: codes, bounds and biases
 *   coding.h      the transformation of rows before they are coded in four bits
 *   block.h       the screening blocks of sixteen rows
 *   vertical.h    codes that lie dimension by dimension, of rows with many zeros; line_runs.h: where in a base each
 *                 dimension of them is
 *   weights.h     weighted queries
 *   damage.h      what is known to be damaged; intact.h: blocks with checksums, compared when they are first read;
 *                 line_sums.h: runs of vertical codes; checks.h: all of these of a base, and the rows they concern
 *   rewrite.h     the rows of a base that is being written
 *
 * A collection is a base (sealed, mapped, rows in the order partition, IVF list, insertion) and a delta (rows since the
 * base, in the order they were written).
 *
 * Locking. A change (begin .. save) belongs to one thread at a time, by `change`; only that thread writes, and it may
 * read everything without the collection's lock. Queries read under the shared lock; a change takes it exclusively
 * while it modifies data that queries read. Another process's save is followed under the exclusive lock, and only while
 * no change is open. */
#pragma once

#include "os/assert.h"
#include "os/resident.h"
#include "rows/segment.h"

#define TY_MAX_COLUMNS 32u

/* The stored form of a row's vector. Results, scores and exactness are those of the decoded vector. */
typedef enum ty_dtype {
  TY_F32,  /* dim floats */
  TY_F16,  /* dim halves */
  TY_INT8, /* f32 scale, then dim codes: scale * code, rounded to f32 */
  TY_INT4  /* f32 scale, f32 offset, then AME_I4_BYTES(dim): see ame_i4_info */
} ty_dtype;

/* How rows are ranked. Larger is better everywhere: a score is the inner product, the cosine, or the negative squared
 * distance. Rows of a cosine collection are scaled to unit length when they are put and queries when they are run; then
 * the score is the inner product. */
typedef enum ty_metric { TY_INNER_PRODUCT, TY_COSINE, TY_L2 } ty_metric;

typedef struct ty_ivf ty_ivf;
typedef struct ty_lexical ty_lexical; /* the base's inverted index, the delta's, and the statistics of live rows */
typedef struct ty_weights ty_weights;
typedef struct ty_meaning ty_meaning; /* which rows have a vector of meaning */
typedef struct ty_damage_list ty_damage_list;

/* Of an IVF index that cannot be read: what it was built with. */
typedef struct ty_ivf_lost {
  bool lost;
  uint64_t min_rows;
  double target_recall;
} ty_ivf_lost;

/* For how long, and in which share of the collection's bytes, history is kept: by the note "history" of the manifest.
 */
typedef struct ty_history_rule {
  uint64_t days;    /* 0: no history */
  uint64_t percent; /* of the bytes of the base and its indexes */
} ty_history_rule;

struct ty_collection {
  ty_env *env;
  char *dir;
  pthread_rwlock_t lock; /* shared by queries; exclusive where the fields below change */

  /* Schema: fixed after creation. The metric of a saved collection is stored in the base. */
  uint32_t dim;
  ty_dtype dtype;
  ty_metric metric;
  uint32_t columns; /* at least 1 */
  bool lexical;     /* the schema's flag: tokens are retained */
  bool words;       /* lexical, or a collection of texts: it has a lexical index */
  bool hashed;      /* its embedder is the kernel's: most rows have many zeros and are their 8-bit codes */
  ty_buffer schema; /* the schema's JSON as given: slices of it are copied into each manifest */
  double default_target_recall;
  ty_history_rule history;

  /* State as last saved or followed, plus unsaved changes. */
  uint64_t generation; /* 0: never saved */
  uint64_t next_row;   /* the next internal row number */
  ty_segment base, delta;
  ty_span *spans; /* of the base, by partition */
  uint32_t span_count;
  ty_dict dicts[TY_MAX_COLUMNS];
  ty_ivf *ivf;               /* NULL: none, or none that can be read */
  ty_ivf_lost ivf_lost;      /* the manifest names one; queries do without, a rewrite makes it again */
  ty_lexical *lexical_index; /* NULL: a collection of vectors alone */
  ty_weights *weights;
  ty_meaning *meaning;
  ty_resident *resident;
  ty_damage_list *damages; /* of this state: damage.h */
  struct ty_store *store;  /* its files: disk/disk.h */
  struct ty_state *state;  /* changes, and tables over the rows: state/state.h */
  pthread_mutex_t submitted_lock;
  pthread_cond_t submitted_none;
  uint64_t submitted;           /* calls of ty_submit that have not returned: closing waits for them */
  struct ty_decision *decision; /* NULL: no other program decides its saves; state/decision.h */
  _Atomic uint64_t searches;
};

static inline ty_dir ty_dir_of(const ty_collection *c) { return (ty_dir){c->env, c->dir}; }
static inline uint64_t ty_total_rows(const ty_collection *c) { return c->base.count + c->delta.count; }
static inline ty_ref ty_ref_of(const ty_collection *c, ty_place p) {
  TY_ASSERT(p < ty_total_rows(c));
  return p < c->base.count ? (ty_ref){&c->base, p} : (ty_ref){&c->delta, p - c->base.count};
}
static inline ty_place ty_place_of(const ty_collection *c, ty_ref r) {
  TY_ASSERT((r.segment == &c->base || r.segment == &c->delta) && r.at < r.segment->count);
  return (ty_place)(r.segment->is_base ? r.at : c->base.count + r.at);
}
/* ty_touched for a rewrite that read part of a row and so made `bytes` resident. */
static inline void ty_read_row(const ty_collection *c, ty_ref row, uint64_t bytes, uint64_t most) {
  ty_touched(c->resident, row.segment->is_base ? TY_OF_BASE : TY_OF_DELTA | TY_OF_OPERATIONS, bytes, most);
}
