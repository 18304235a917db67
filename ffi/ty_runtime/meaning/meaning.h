/* meaning: which rows have a vector of meaning, and where in the mapped file it lies. Uses os and rows.
 * state/meanings.h reads the file (disk/meanings.h) when vectors are first needed. */
#pragma once

#include <pthread.h>
#include "os/spill.h"
#include "rows/collection.h"

/* Records lie at multiples of this, so their offsets are stored divided by it: 32 bits reach 64 GiB of file. */
#define TY_MEANING_STEP 16u

struct ty_meaning {
  pthread_mutex_t lock; /* held while the file is read */
  _Atomic bool ready;   /* the file was read: the fields below are set, and change under the exclusive lock only */
  _Atomic bool usable;  /* there is a file, and it is not lost */
  uint64_t encoder;     /* the one that made the vectors */
  const uint8_t *base;  /* the mapped file */
  ty_spill memory;      /* the table `at` of ty_meaning_view */
  uint64_t places;      /* its entries */
  uint64_t live;        /* live rows that have a vector */
};

/* NULL: out of memory. */
ty_meaning *ty_meaning_new(void);
/* NULL is fine. */
void ty_meaning_free(ty_env *env, ty_meaning *m);
/* Forgets what was read of the file. The next need reads it again; the caller unmaps it. */
void ty_meaning_forget(ty_env *env, ty_meaning *m);
/* Makes room for so many places. False: out of memory. */
bool ty_meaning_grow(ty_dir dir, ty_meaning *m, uint64_t places);

/* A row died, or lives again: under the exclusive lock. */
void ty_meaning_died(ty_meaning *m, ty_place place);
void ty_meaning_revived(ty_meaning *m, ty_place place);

/* The vectors of an open collection, as queries read them under the shared lock. A ty_place counts rows: those of the
 * base first, then those of the delta. */
typedef struct ty_meaning_view {
  const uint32_t *at;  /* for each place: the offset of the row's record from `base`, divided by TY_MEANING_STEP; 0: the
                          row has no vector. NULL: no vector can be used */
  uint64_t places;     /* entries of `at`; rows at later places have no vector */
  const uint8_t *base; /* the mapped file, as ame_dot_records takes it with `at` */
} ty_meaning_view;
/* The vector of a row; NULL: it has none. */
static inline const ame_encoding *ty_meaning_of(const ty_meaning_view *v, ty_place place) {
  if (place >= v->places || v->at[place] == 0) return NULL;
  return (const ame_encoding *)(const void *)(v->base + (uint64_t)v->at[place] * TY_MEANING_STEP);
}
