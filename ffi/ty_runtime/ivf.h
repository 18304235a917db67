/* What the files of the IVF index share. */
#ifndef TY_IVF_H
#define TY_IVF_H

#include "work/crew.h"
#include "internal.h"
#include "scan.h"

/* ---- Memory: ivf.c ---- */
/* A ty_ivf with room for `parts` parts; every ty_ivf is made by this, because ty_ivf_free also frees what hangs on it.
 */
ty_ivf *ty_ivf_new(uint32_t parts);
/* Memory that lives as long as the index, 64-byte aligned; NULL when there is none left. */
void *ty_ivf_memory(ty_ivf *ivf, uint64_t bytes);

/* A small generator with a fixed seed (splitmix64, Steele et al. 2014): builds are repeatable. */
static inline uint64_t ty_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* ---- Building: ivf_train.c, ivf_assign.c ---- */
typedef struct ty_ivf_builder {
  ty_rebase *r;
  const ame_kernel *k;
  uint64_t dim;
  ty_crew crew;
} ty_ivf_builder;

/* Rows of the partition by their index in it, ascending, that k-means must not see and calibration asks about. */
typedef struct ty_ivf_held {
  uint64_t *rows;
  uint64_t count;
} ty_ivf_held;

uint32_t ty_ivf_lists_for(uint64_t rows);
/* What training and assigning a partition counts as work, in rows. */
uint64_t ty_ivf_train_work(uint64_t rows, uint64_t dim);
/* Rows that one task assigns: 2^29 multiplications where each is compared with all centroids. */
uint64_t ty_ivf_task_rows(uint64_t nlist, uint64_t dim);
/* Base vectors are mapped unread, so that a damaged one, whose checksum a stranger made fit, is met here first:
 * TY_CORRUPT. */
ty_status ty_ivf_not_finite(ty_error *err);
/* k-means over a sample of the span. Fills centroids and half_norms; held->rows is the caller's to free(), also on
 * failure. */
ty_status ty_ivf_train_part(ty_ivf_builder *b, const ty_span *span, uint32_t nlist, float *centroids, float *half_norms,
                            ty_ivf_held *held, ty_error *err);
/* Assigns every row of the span and puts r->rows in the order of lists; fills the part's radii, codes and list starts,
 * and turns held rows into positions. */
ty_status ty_ivf_assign_part(ty_ivf_builder *b, ty_ivf *ivf, const ty_span *span, const ty_ivf_held *held,
                             ty_ivf_part *part, ty_error *err);

/* Rows read otherwise, of the delta mostly, count as setting the bar from this part of the rows of lists on. */
#define TY_IVF_OTHERS_SHARE 10u

/* ---- Questions: ivf_probe.c ---- */
typedef struct ty_ivf_question {
  const ty_collection *c;
  int8_t *codes;
  double squares, norm;                   /* |q|^2 as summed; at least |q| */
  double scale, per_norm, per_err, slack; /* of the bound of an inner product by 8-bit codes, as in scan.c */
  double sum_error;                       /* of a score in f32, relative to |q| |x| (for L2 to the squared distance) */
  double value_least;
} ty_ivf_question;

/* What is known of the values of a list's rows before any is read; the scale is that of ty_scanner_threshold. */
typedef struct ty_ivf_outlook {
  double middle; /* about their mean */
  double spread; /* a row of the list lies in reach r if its value is at most middle + r * spread */
  double most;   /* no row's value is above */
} ty_ivf_outlook;

ty_status ty_ivf_question_open(const ty_collection *c, const float *query, ty_ivf_question *out, ty_error *err);
void ty_ivf_question_close(ty_ivf_question *q);
/* Of all lists of a part. */
void ty_ivf_look(const ty_ivf_question *q, const ty_ivf_part *part, ty_ivf_outlook *out);

/* Feeds the rows of parts, each with its reach, list by list, the most promising first, until no list is left that has
 * a row in reach. */
ty_status ty_ivf_feed_near(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                           const ty_ivf_part *const *parts, uint32_t count, bool alone, uint64_t *probed,
                           ty_error *err);
/* Feeds the rows of a part less those of lists that provably hold none of the answer: the answer is the exact one. */
ty_status ty_ivf_feed_exact(const ty_ivf_question *q, ty_scanner *scanner, const ty_segment *base,
                            const ty_ivf_part *part, uint64_t top_k, ty_error *err);
/* The same in two steps, for questions that share a pass over the rows: the most promising lists of those that
 * `outlook`, as from ty_ivf_look, knows, where it notes what was taken; then the rest of the lists from .. to, in the
 * order in which they lie in memory. */
ty_status ty_ivf_feed_first(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part, uint64_t top_k,
                            ty_ivf_outlook *outlook, ty_error *err);
ty_status ty_ivf_feed_rest(ty_scanner *scanner, const ty_segment *base, const ty_ivf_part *part,
                           const ty_ivf_outlook *outlook, uint32_t from, uint32_t to, ty_error *err);

#endif
