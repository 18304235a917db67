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
#include "os/assert.h"
#include "os/buffer.h"
#include "os/env.h"
#include "os/fail.h"
#include "os/resident.h"
#include "os/spill.h"
#include "work/work.h"

typedef struct ty_collection ty_collection;

/* ---- Filter columns
 * -------------------------------------------------------------------------------------------------- A column's encoded
 * values by code. Code 0 is the empty key, which never matches. */
typedef struct ty_dict {
  ty_buffer bytes; /* values one behind the other */
  uint64_t *ends;  /* by code */
  uint32_t count;  /* codes in use, at least 1 */
  uint32_t capacity;
  uint32_t *table; /* open addressing: code + 1, 0 empty; power of two */
  uint32_t table_size;
  uint64_t *live; /* by code: live rows that have it */
  uint32_t held;  /* codes that live rows have */
} ty_dict;
#define TY_NO_CODE 0xffffffffu
uint32_t ty_dict_find(const ty_dict *d, const ame_kernel *k, ty_slice value); /* TY_NO_CODE when absent */
uint32_t ty_dict_intern(ty_dict *d, const ame_kernel *k, ty_slice value);     /* TY_NO_CODE when memory ran out */
ty_slice ty_dict_value(const ty_dict *d, uint32_t code);
void ty_dict_count(ty_dict *d, uint32_t code, uint64_t rows); /* so many live rows more have the code */
void ty_dict_uncount(ty_dict *d, uint32_t code);              /* one less */
void ty_dict_free(ty_dict *d);

/* ---- Element types and metrics
 * --------------------------------------------------------------------------------------- The stored form of a row's
 * vector. What is stored is what a row is: answers, scores and exactness speak of the decoded vector. */
typedef enum ty_dtype {
  TY_F32,  /* dim floats */
  TY_F16,  /* dim halves */
  TY_INT8, /* f32 scale, then dim codes: scale * code, rounded to f32 */
  TY_INT4  /* f32 scale, f32 offset, then AME_I4_BYTES(dim): see ame_i4_info */
} ty_dtype;

/* How rows are ranked. Larger is better everywhere: a score is the inner product, the cosine, or the negative squared
 * distance. Rows of a cosine collection are scaled to unit length when they are put, questions when they are asked; the
 * rest is inner product. */
typedef enum ty_metric { TY_INNER_PRODUCT, TY_COSINE, TY_L2 } ty_metric;

/* ---- Segments ---- */
/* Where a delta row's payload stands: in the mapping of its file, or in memory while unsaved. */
typedef struct ty_payload {
  const uint8_t *vector; /* ty_vector_bytes(c) bytes in the stored form, 4-byte aligned at least */
  ty_slice id, meta, text, terms;
  uint8_t has_meta, has_text;
} ty_payload;

/* What is coded in four bits for a row: row - anchor, rotated by the kernel's one rotation or not, and mirrored. See
 * coding.h. */
typedef struct ty_coding {
  const float *anchor; /* dim floats, in the mapping; NULL: zero */
  const float *mirror; /* the same, a unit vector, or zero; NULL where anchor is */
  bool rotated;
} ty_coding;

typedef struct ty_segment {
  bool is_base;
  uint64_t count;
  uint64_t live;
  /* Screening. For L2 the bias of every summary is -||x||^2 / 2 of the decoded row, else 0. */
  const uint8_t *blocks; /* AME_BLOCK_BYTES(dim) for each sixteen rows by position, 64-byte aligned */
  ty_coding coding;      /* of the base's blocks and of the delta's; kept in the base */
  /* Columns, `count` entries each. */
  const int8_t *codes;       /* AME_CODE_STRIDE(dim) bytes a row, 64-byte aligned; NULL where dtype is int4 */
  const ame_code_info *info; /* with codes; err is about the decoded row, so of int8 next to nothing */
  const uint64_t *row;       /* ascending in the delta, not in the base */
  const uint64_t *birth;
  const uint32_t **keys; /* one array of codes per filter column; keys[0] is the partition */
  uint8_t *dead;         /* 1: deleted or superseded; always in memory */
  /* Base only: arrays in the mapping. */
  const uint8_t *vectors; /* f32 and f16: the stored form of each row; NULL where the codes or the blocks are the stored
                             form, which of f32 the codes are where they say every row of the base bit for bit */
  const uint64_t *id_ends, *meta_ends, *text_ends, *terms_ends; /* cumulative, count entries */
  const uint8_t *ids, *metas, *texts, *terms;
  const uint64_t *squares; /* sums over all rows, dim of them: weights.h; NULL where the metric has none */
  const uint8_t *presence; /* by row: bit 0 has metadata, bit 1 has text */
  /* Delta only. */
  ty_payload *payload;
} ty_segment;

/* The row's decoded vector: in place where f32 is stored as such, else in `scratch` (dim floats). vector.c */
const float *ty_row_vector(const ty_collection *c, const ty_segment *s, uint64_t at, float *scratch);
/* Bytes of a vector in the stored form. */
uint64_t ty_vector_bytes(const ty_collection *c);
/* A question as it is compared with rows: of a cosine collection scaled to unit length in `scratch` (dim floats),
 * weighted there (after ty_weights_sync), or `query` itself. */
const float *ty_query_prepare(const ty_collection *c, const float *query, bool weighted, float *scratch);
ty_slice ty_row_id(const ty_segment *s, uint64_t at);
ty_slice ty_row_meta(const ty_segment *s, uint64_t at, bool *present);
ty_slice ty_row_text(const ty_segment *s, uint64_t at, bool *present);
/* The row's retained tokens for the lexical index: see "Terms" below. Empty where the collection is not lexical, and of
 * a base's row whose text is stored; ty_tally_row reads either. */
ty_slice ty_row_terms(const ty_segment *s, uint64_t at);

/* A contiguous run of the base that holds one partition's rows. */
typedef struct ty_span {
  uint32_t key; /* code in column 0 */
  uint32_t pad;
  uint64_t first, count;
} ty_span;

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
typedef struct ty_lexical
    ty_lexical; /* the base's inverted index, and the delta's in memory, and the statistics of live rows */

/* ---- Weighted questions: weights.h ---- */
typedef struct ty_weights ty_weights;

/* ---- The collection ---- */
#define TY_MAX_COLUMNS 32u

struct ty_collection {
  ty_env *env;
  char *dir;
  pthread_rwlock_t lock; /* shared by questions; exclusive where the fields below change */

  /* Schema: fixed after creation. Of a saved collection the base says what the metric is. */
  uint32_t dim;
  ty_dtype dtype;
  ty_metric metric;
  uint32_t columns; /* at least 1 */
  bool lexical;     /* the schema's flag: tokens are retained */
  ty_buffer schema; /* the schema's JSON as given: raw slices of it are written back into each manifest */
  double default_target_recall;

  /* State as last saved or followed, plus unsaved changes. */
  uint64_t generation; /* 0: never saved */
  uint64_t next_row;   /* the next internal row number */
  ty_segment base, delta;
  ty_span *spans; /* of the base, by partition */
  uint32_t span_count;
  ty_dict dicts[TY_MAX_COLUMNS];
  ty_ivf *ivf;               /* NULL: none */
  ty_lexical *lexical_index; /* NULL: not built */
  ty_weights *weights;
  ty_resident *resident;
  struct ty_store *store; /* files, lock, id table, unsaved blocks: known to the storage files only (store.h) */
  pthread_mutex_t submitted_lock;
  pthread_cond_t submitted_none;
  uint64_t submitted; /* calls handed to ty_submit that have not returned: closing waits for them */
  _Atomic uint64_t searches;
};

static inline ty_dir ty_dir_of(const ty_collection *c) { return (ty_dir){c->env, c->dir}; }

/* A live row named by segment and position. */
typedef struct ty_ref {
  const ty_segment *segment;
  uint64_t at;
} ty_ref;

/* ty_touched of a rewrite, which made `bytes` resident to read a part of a row. */
static inline void ty_read_row(const ty_collection *c, ty_ref row, uint64_t bytes, uint64_t most) {
  ty_touched(c->resident, row.segment->is_base ? TY_OF_BASE : TY_OF_DELTA | TY_OF_OPERATIONS, bytes, most);
}

/* Looks an external id up among the live rows: `found` tells. TY_NO_MEMORY where the table for it could not be built.
 */
ty_status ty_find(const ty_collection *c, ty_slice id, ty_ref *out, bool *found, ty_error *err);
/* Appends one record (ty_record and its parts) to an answer; counts bytes even where the buffer is full. */
typedef struct ty_answer {
  uint8_t *out;
  uint64_t capacity, bytes, count;
} ty_answer;
void ty_answer_row(ty_answer *a, const ty_collection *c, ty_ref ref, double score, uint64_t what, ty_slice extra);
/* TY_OK, or TY_BUFFER where bytes > capacity. */
ty_status ty_answer_end(const ty_answer *a, ty_error *err);

/* Enters a question: follows other processes' saves where no change is under way, then takes the lock shared. ty_leave
 * lets go. */
ty_status ty_enter(ty_collection *c, ty_error *err);
void ty_leave(ty_collection *c);

/* ---- How the storage files and the index files meet
 * ------------------------------------------------------------------ The base is rewritten by one function (rebase.c,
 * storage). It gathers the live rows in the order partition, birth, and then asks the index files for their part. */
typedef struct ty_rebase {
  const ty_collection *c;
  ty_ref *rows; /* live rows; sorted by (partition code, birth); after ty_ivf_train by (partition code, list, birth) */
  uint64_t count;
  ty_span *spans; /* partitions of `rows`: first and count index into rows */
  uint32_t span_count;
  ty_phases phases;
  uint64_t most; /* resident of what is read: TY_RESIDENT_MOST, or the bound for building an index */
  /* IVF: what is wanted, and what ty_ivf_train made of it. */
  bool want_ivf, retrain_ivf; /* keep: reassign to the existing centroids, reach kept unless the rows changed much;
                                 retrain: k-means and calibration */
  uint64_t ivf_min_rows;
  double ivf_target_recall;
  uint32_t ivf_threads; /* 0: one for each processor, four at most; the index is the same with any number */
  ty_ivf *ivf;          /* made by ty_ivf_train, with centroids and list starts in memory; reach and nprobe set by
                           ty_ivf_calibrate */
  /* Lexical: what is wanted. */
  bool want_lexical;
  double k1, b;
} ty_rebase;

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
