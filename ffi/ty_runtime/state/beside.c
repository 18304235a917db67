#include "state/beside.h"

#include <errno.h>
#include <fcntl.h>

#include "disk/disk.h"
#include "disk/lock.h"
#include "os/plant.h"
#include "rows/damage.h"
#include "state/commit.h"
#include "state/load.h"
#include "state/tail.h"
#include "work/pool.h"

/* So much is copied while others wait for the lock. */
#define TAIL_LEAST ((uint64_t)1 << 20)
/* Rounds of copying without it, at most: each has what was saved during the one before. */
#define ROUNDS 8
/* The lock is tried so often, with a pause in between, and what others save is copied after some tries. */
#define TRIES       600000u
#define TRIES_ROUND 512u
#define PAUSE_NS    ((uint64_t)1000000)

typedef struct beside {
  ty_collection *c;
  const ty_rebase_wish *wish;
  ty_progress *progress;
  ty_error *err;
  ty_rewriting w;
  ty_tail tail;
  int base; /* the open file of the base, with a lock of its own; -1: none */
  ty_status status;
} beside;

/* One process at a time does it for a base. */
static ty_status take_base(beside *b) {
  const ty_file *file = &b->c->store->files.base;
  ty_os *os = &b->c->env->os;
  /* Over NFS such a lock needs a file that may be written to. */
  b->base = ty_file_open(b->c, file->name, O_RDWR);
  if (b->base == -EACCES) b->base = ty_file_open(b->c, file->name, O_RDONLY);
  if (b->base < 0) return ty_fail_io(b->err, b->base, "open", file->name);
  ty_status status = ty_file_same(b->c, file, b->base, file->bytes, b->err);
  if (status != TY_OK) return status;
  const int result = os->lock(os, b->base);
  if (result >= 0) return TY_OK;
  if (result == -EWOULDBLOCK) return ty_fail(b->err, TY_BUSY, "another process compacts it already");
  return ty_fail_io(b->err, result, "lock", file->name);
}

static ty_status cancelled(const beside *b) {
  if (!ty_cancelled(b->progress)) return TY_OK;
  return ty_fail(b->err, TY_CANCELLED, "cancelled; the last saved state stands");
}

/* What is damaged, or could not be read just now, would be missing from the new state. A user who did not ask for a
 * compaction must not lose it. */
static ty_status check_whole(const beside *b) {
  const ty_collection *c = b->c;
  const bool named = c->store->files.meaning.name[0] != 0;
  if (ty_damage_count(c) == 0 && (!named || ty_meaning_load(c))) return TY_OK;
  ty_fail(b->err, TY_IO, "a file is damaged or could not be read: nothing was compacted");
  if (b->err != NULL) b->err->sys_errno = EIO;
  return TY_IO;
}

/* Follows what was saved, and copies it. */
static ty_status catch_up(beside *b) {
  bool other = false;
  pthread_rwlock_wrlock(&b->c->lock);
  ty_status status = ty_follow_more(b->c, &other, b->err);
  pthread_rwlock_unlock(&b->c->lock);
  if (status == TY_OK && other)
    status = ty_fail(b->err, TY_BUSY, "its base or an index was replaced meanwhile: nothing was compacted");
  return status == TY_OK ? ty_tail_copy(&b->tail, b->err) : status;
}

static void at_stage(const beside *b, int stage) {
  const ty_env *env = b->c->env;
  if (env->beside != NULL) env->beside(env->beside_context, stage);
}

static ty_status write_aside(beside *b) {
  ty_collection *c = b->c;
  const uint64_t generation = c->generation;
  ty_status status = ty_rewriting_open(&b->w, c, b->wish, b->progress, b->err);
  if (status != TY_OK) return status;
  b->w.t->store->aside = true;
  ty_rewriting_plan(&b->w, generation, c->next_row + TY_BESIDE_ROWS);
  status = ty_rewriting_write(&b->w, b->err);
  if (status == TY_OK) status = ty_tail_open(&b->tail, &b->w, b->err);
  if (status == TY_OK) at_stage(b, 0);
  for (int i = 0; i < ROUNDS && status == TY_OK; i++) {
    const uint64_t before = b->tail.bytes;
    status = catch_up(b);
    if (status == TY_OK) status = cancelled(b);
    if (b->tail.bytes - before < TAIL_LEAST) break;
  }
  return status == TY_OK ? ty_tail_sync(&b->tail, b->err) : status;
}

static void *run_aside(void *context) {
  beside *b = context;
  ty_lower_priority(false);
  b->status = write_aside(b);
  return NULL;
}

static ty_status lock_again(beside *b) {
  ty_os *os = &b->c->env->os;
  ty_status status = TY_BUSY;
  for (uint32_t i = 0; i < TRIES; i++) {
    status = ty_lock_again(b->c, "compacting", b->err);
    if (status != TY_BUSY) return status;
    status = cancelled(b);
    if (status == TY_OK && i % TRIES_ROUND == TRIES_ROUND - 1) status = catch_up(b);
    if (status != TY_OK) return status;
    os->pause(os, PAUSE_NS);
  }
  return ty_fail(b->err, TY_BUSY, "its lock was not free: nothing was compacted");
}

/* Gives all files their names. */
static ty_status settle(beside *b) {
  ty_collection *t = b->w.t;
  const ty_files *files = &t->store->files;
  const ty_file *const each[] = {&files->base,    &files->ivf,    &files->lexical, &files->history,
                                 &files->meaning, &files->id_map, files->deltas};
  ty_status status = TY_OK;
  for (size_t i = 0; i < sizeof each / sizeof *each && status == TY_OK; i++) {
    if (each[i] != NULL && each[i]->name[0] != 0) status = ty_file_settle(t, each[i]->name, b->err);
  }
  return status;
}

static ty_status commit(beside *b, ty_beside *out) {
  ty_collection *c = b->c, *t = b->w.t;
  ty_schema schema;
  ty_status status = catch_up(b);
  if (status == TY_OK) status = ty_tail_end(&b->tail, b->err);
  if (status == TY_OK) status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, b->err);
  if (status == TY_OK) status = ty_adopt_schema(t, &schema, b->err);
  if (status == TY_OK) status = check_whole(b);
  if (status == TY_OK) status = cancelled(b);
  if (status == TY_OK) status = settle(b);
  if (status != TY_OK) return status;
  t->store->aside = false;
  status = TY_PLANTED(NO_ASIDE_SYNC) ? TY_OK : ty_file_sync_dir(c, c->dir, b->err);
  ty_next next = {.schema_of = t,
                  .files = &t->store->files,
                  .generation = c->generation + 1,
                  .live = c->base.live + c->delta.live,
                  .total = b->w.r.count + (c->delta.count - b->tail.delta_rows)};
  if (status == TY_OK) status = ty_commit(c, &next, b->err);
  out->unknown = next.unknown;
  out->live = next.live;
  out->reclaimed = b->tail.places - b->w.r.count;
  if (status == TY_OK) ty_clear_away(t);
  return status;
}

/* After a failure, with the lock or without it. No other process writes files with these temporary names or of this
 * generation. */
static void remove_all(beside *b) {
  struct ty_store *s = b->w.t->store;
  for (int i = 0; i < 2; i++) {
    s->aside = i == 0;
    ty_rewriting_remove(&b->w);
    if (s->aside && s->files.id_map.name[0] != 0) ty_file_remove(b->w.t, s->files.id_map.name);
  }
}

ty_status ty_rebase_beside(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, ty_beside *out,
                           ty_error *err) {
  beside b = {.c = c, .wish = wish, .progress = progress, .err = err, .base = -1, .w = {.c = c}};
  pthread_t thread;
  *out = (ty_beside){0};
  TY_ASSERT(c->generation > 0 && c->store->ops == 0 && c->store->version == TY_SLAB_VERSION);
  ty_status status = check_whole(&b);
  if (status == TY_OK) status = take_base(&b);
  if (status == TY_OK) {
    ty_clear_away(c);                                /* what a killed one left */
    status = ty_save_changes(c, &out->unknown, err); /* only for a generation that no other file has */
  }
  if (status == TY_OK) status = ty_lock_rest(c, err);
  if (status == TY_OK) {
    if (ty_start_thread(&thread, run_aside, &b) == 0) pthread_join(thread, NULL);
    else b.status = write_aside(&b);
    status = b.status;
    if (status == TY_OK) at_stage(&b, 1);
    if (status == TY_OK) status = lock_again(&b);
    if (status == TY_OK) status = commit(&b, out);
    ty_tail_close(&b.tail);
    if (status != TY_OK && ty_lock_lost(c, err)) status = TY_IO, out->unknown = true;
    else if (status != TY_OK && !out->unknown && b.w.t != NULL) remove_all(&b);
  }
  ty_rewriting_close(&b.w);
  if (b.base >= 0) c->env->os.close(&c->env->os, b.base);
  return status;
}
