/* The environment that collections are opened in; one a process. */
#pragma once

#include <pthread.h>
#include <stdio.h>

#include "os/fail.h"
#include "os/os.h"

/* Memory of arrays that were freed, for the next ones: see spill.c. */
#define TY_SPARE_BLOCKS 16u
typedef struct ty_spare {
  pthread_mutex_t lock;
  struct {
    void *data;
    uint64_t bytes;
  } blocks[TY_SPARE_BLOCKS];
  uint32_t count;
  uint64_t bytes; /* of all */
} ty_spare;

#define TY_LABEL_BYTES 40u
struct ty_env {
  const ame_kernel *kernel;
  ty_os os;
  uint64_t spill_from, spill_leave; /* see TY_SPILL_FROM and TY_SPILL_LEAVE */
  uint64_t rewrite_resident;        /* see TY_RESIDENT_REWRITE */
  uint64_t run_memory, run_chunk;   /* see TY_RUN_MEMORY */
  uint64_t vertical_least;          /* see TY_VERTICAL_LEAST and TY_VERTICAL_DENSITY */
  double vertical_density;
  uint64_t parted_least, expected_least;             /* see TY_PARTED_LEAST and TY_EXPECTED_LEAST */
  uint64_t weighed_from, summed_from, weighed_bytes; /* see TY_WEIGHED_FROM */
  uint64_t coded_from;                               /* see TY_CODED_FROM */
  char label[TY_LABEL_BYTES];                        /* what this process is, for the messages of others */
  _Atomic(const uint8_t *) model;                    /* of the sentence encoder, checked; NULL: none */
  uint64_t encoder;                                  /* its ame_encoder_id */
  struct ty_pool *pool;
  /* Tests set this to save from other handles during a rewrite beside writers: stage 0 is before it copies the saves,
   * stage 1 before it takes the lock at the end. */
  void (*beside)(void *context, int stage);
  void *beside_context;
  ty_spare spare;
};

/* A collection's directory and its environment. */
typedef struct ty_dir {
  ty_env *env;
  const char *path; /* at most TY_PATH_MAX - 128 bytes */
} ty_dir;

#define TY_PATH_MAX 4096u
/* The path of a file in a directory; names are shorter than 96 bytes. */
static inline void ty_path(const char *dir, const char *name, char out[TY_PATH_MAX]) {
  snprintf(out, TY_PATH_MAX, "%s/%s", dir, name);
}
