/* meaning: which rows have a vector of meaning, and where it lies. Uses os and rows. The vectors are in a file
 * (disk/meanings.h), which state/meanings.h reads when they are first needed. */
#pragma once

#include <pthread.h>
#include "os/spill.h"
#include "rows/collection.h"

/* Offsets of records are kept divided by this. */
#define TY_MEANING_STEP 16u

struct ty_meaning {
  pthread_mutex_t lock; /* of the reading of the file */
  _Atomic bool ready;   /* the file was read; what follows is set, and changes under the exclusive lock only */
  _Atomic bool usable;  /* there is a file, and it is not lost */
  uint64_t encoder;     /* whose vectors they are */
  const uint8_t *base;  /* the mapped file */
  ty_spill memory;      /* of `places` entries */
  uint64_t places;
  uint64_t live; /* live rows that have a vector */
};

/* NULL: out of memory. */
ty_meaning *ty_meaning_new(void);
/* NULL is fine. */
void ty_meaning_free(ty_env *env, ty_meaning *m);
/* Back to a file that was not read. */
void ty_meaning_forget(ty_env *env, ty_meaning *m);
/* Makes room for so many places. False: out of memory. */
bool ty_meaning_grow(ty_dir dir, ty_meaning *m, uint64_t places);

/* A row died, or lives again: under the exclusive lock. */
void ty_meaning_died(ty_meaning *m, ty_place place);
void ty_meaning_revived(ty_meaning *m, ty_place place);

/* The vectors of an open collection, as queries read them under the shared lock. */
typedef struct ty_meaning_view {
  const uint32_t *at;  /* by place: offset of its record from `base`, divided by TY_MEANING_STEP; 0: it has none. NULL:
                          no vector can be used */
  uint64_t places;     /* entries of `at`; rows at later places have none */
  const uint8_t *base; /* what ame_dot_records takes with `at` */
} ty_meaning_view;
/* The vector of a row; NULL: it has none. */
static inline const ame_encoding *ty_meaning_of(const ty_meaning_view *v, ty_place place) {
  if (place >= v->places || v->at[place] == 0) return NULL;
  return (const ame_encoding *)(const void *)(v->base + (uint64_t)v->at[place] * TY_MEANING_STEP);
}
