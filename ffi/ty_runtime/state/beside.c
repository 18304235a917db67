#include "state/beside.h"

#include <errno.h>
#include <fcntl.h>

#include "disk/disk.h"
#include "disk/lock.h"
#include "os/plant.h"
#include "rows/damage.h"
#include "state/commit.h"
#include "state/decision.h"
#include "state/load.h"
#include "state/tail.h"
#include "work/pool.h"

/* Copying without the lock ends with a round that copied fewer bytes than this: the rest is copied under the lock. */
#define ROUND_LEAST ((uint64_t)1 << 20)
/* The most rounds. Each copies what was saved during the one before. */
#define ROUNDS 8
/* How often the lock is tried at the end, with a pause after each try. Saves are copied every TRIES_ROUND tries. */
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
  int base_fd; /* the old base, which stays locked until the end; -1: not open */
  ty_status status;
} beside;

/* Locks the base that is replaced, so that only one process rewrites it beside writers. */
static ty_status take_base(beside *b) {
  const ty_file *file = &b->c->store->files.base;
  ty_os *os = &b->c->env->os;
  /* NFS only locks files that are open for writing. */
  b->base_fd = ty_file_open(b->c, file->name, O_RDWR);
  if (b->base_fd == -EACCES) b->base_fd = ty_file_open(b->c, file->name, O_RDONLY);
  if (b->base_fd < 0) return ty_fail_io(b->err, b->base_fd, "open", file->name);
  ty_status status = ty_file_same(b->c, file, b->base_fd, file->bytes, b->err);
  if (status != TY_OK) return status;
  const int result = os->lock(os, b->base_fd);
  if (result >= 0) return TY_OK;
  if (result == -EWOULDBLOCK) return ty_fail(b->err, TY_BUSY, "another process is compacting the collection already");
  return ty_fail_io(b->err, result, "lock", file->name);
}

static ty_status cancelled(const beside *b) {
  if (!ty_cancelled(b->progress)) return TY_OK;
  return ty_fail(b->err, TY_CANCELLED, "cancelled; the last saved state stands");
}

/* Refuses if damage is known, or vectors of meaning cannot be read: the new state would be without them. No caller
 * asked for this compaction, so it must not remove what a repair may still save. */
static ty_status check_whole(const beside *b) {
  const ty_collection *c = b->c;
  const bool named = c->store->files.meaning.name[0] != 0;
  if (ty_damage_count(c) == 0 && (!named || ty_meaning_load(c))) return TY_OK;
  ty_fail(b->err, TY_IO, "a file is damaged or could not be read: nothing was compacted");
  if (b->err != NULL) b->err->sys_errno = EIO;
  return TY_IO;
}

/* Follows the saves of others. TY_BUSY if they replaced a file that this rewrite has read. */
static ty_status follow(beside *b, ty_error *err) {
  bool replaced = false;
  pthread_rwlock_wrlock(&b->c->lock);
  ty_status status = ty_follow_additions(b->c, &replaced, err);
  pthread_rwlock_unlock(&b->c->lock);
  if (status == TY_OK && replaced)
    status = ty_fail(err, TY_BUSY, "its base, an index or the history was replaced meanwhile: nothing was compacted");
  return status;
}

/* Follows the saves of others, and copies them. */
static ty_status catch_up(beside *b) {
  ty_status status = follow(b, b->err);
  return status == TY_OK ? ty_tail_copy(&b->tail, b->err) : status;
}

/* Another rewrite removes the files of this one as soon as it has replaced the base, and opening them then fails. That
 * is not an error of the disk. */
static ty_status failed(beside *b, ty_status status) {
  ty_error why;
  if (status != TY_IO && status != TY_CORRUPT && status != TY_NOT_FOUND) return status;
  if (follow(b, &why) != TY_BUSY) return status;
  if (b->err != NULL) *b->err = why;
  return TY_BUSY;
}

/* Lets a test save from other handles. */
static void at_stage(const beside *b, int stage) {
  const ty_env *env = b->c->env;
  if (env->beside != NULL) env->beside(env->beside_context, stage);
}

static ty_status write_unlocked(beside *b) {
  ty_collection *c = b->c;
  const uint64_t generation = c->generation;
  ty_status status = ty_rewriting_open(&b->w, c, b->wish, b->progress, b->err);
  if (status != TY_OK) return status;
  b->w.t->store->temporary_names = true;
  ty_rewriting_plan(&b->w, generation, c->next_row + TY_BESIDE_ROWS);
  status = ty_rewriting_write(&b->w, b->err);
  if (status == TY_OK) status = ty_tail_open(&b->tail, &b->w, b->err);
  if (status == TY_OK) at_stage(b, 0);
  /* Before the rounds, which copy what is saved during this one. */
  if (status == TY_OK) status = ty_decision_ask(c, TY_STAGE_WRITTEN, b->err);
  for (int i = 0; i < ROUNDS && status == TY_OK; i++) {
    const uint64_t before = b->tail.bytes;
    status = catch_up(b);
    if (status == TY_OK) status = cancelled(b);
    if (b->tail.bytes - before < ROUND_LEAST) break;
  }
  return status == TY_OK ? ty_tail_sync(&b->tail, b->err) : failed(b, status);
}

static void *run_unlocked(void *context) {
  beside *b = context;
  ty_lower_priority(false);
  b->status = write_unlocked(b);
  return NULL;
}

static ty_status take_lock(beside *b) {
  ty_os *os = &b->c->env->os;
  ty_status status = TY_BUSY;
  for (uint32_t i = 0; i < TRIES; i++) {
    status = ty_lock_resume(b->c, "compacting", b->err);
    if (status != TY_BUSY) return status;
    status = cancelled(b);
    if (status == TY_OK && i % TRIES_ROUND == TRIES_ROUND - 1) status = catch_up(b);
    if (status != TY_OK) return status;
    os->pause(os, PAUSE_NS);
  }
  return ty_fail(b->err, TY_BUSY, "other processes held its lock all the time: nothing was compacted");
}

/* Gives all files of the new state their own names. */
static ty_status give_names(beside *b) {
  ty_collection *t = b->w.t;
  const ty_files *files = &t->store->files;
  const ty_file *const each[] = {&files->base,    &files->ivf,    &files->lexical, &files->history,
                                 &files->meaning, &files->id_map, files->deltas};
  ty_status status = TY_OK;
  for (size_t i = 0; i < sizeof each / sizeof *each && status == TY_OK; i++) {
    if (each[i] != NULL && each[i]->name[0] != 0) status = ty_file_give_name(t, each[i]->name, b->err);
  }
  return status;
}

/* Copies the rest of the saves and commits the new state, under the lock. */
static ty_status commit(beside *b, ty_beside *out) {
  ty_collection *c = b->c, *t = b->w.t;
  ty_schema schema;
  ty_status status = catch_up(b);
  if (status == TY_OK) status = ty_tail_end(&b->tail, b->err);
  if (status == TY_OK) status = ty_schema_read((ty_slice){c->schema.data, c->schema.bytes}, &schema, b->err);
  if (status == TY_OK) status = ty_adopt_schema(t, &schema, b->err);
  if (status == TY_OK) status = check_whole(b);
  if (status == TY_OK) status = cancelled(b);
  if (status == TY_OK) status = give_names(b);
  if (status != TY_OK) return status;
  t->store->temporary_names = false;
  status = TY_PLANTED(NO_SYNC_OF_NAMES) ? TY_OK : ty_file_sync_dir(c, c->dir, b->err);
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

/* Removes the files of the new state after a failure, with the lock or without it: those with temporary names, and
 * those that have their own already. No other process writes files with these temporary names, or of this generation.
 * The id map has no generation in its name, so the one that has its own name stays. It is a copy, whose checksum is
 * wrong now: the next save that adds rows writes it again. */
static void remove_all(beside *b) {
  struct ty_store *s = b->w.t->store;
  s->temporary_names = true;
  ty_rewriting_remove(&b->w);
  if (s->files.id_map.name[0] != 0) ty_file_remove(b->w.t, s->files.id_map.name);
  s->temporary_names = false;
  ty_rewriting_remove(&b->w);
}

ty_status ty_rebase_beside(ty_collection *c, const ty_rebase_wish *wish, ty_progress *progress, ty_beside *out,
                           ty_error *err) {
  beside b = {.c = c, .wish = wish, .progress = progress, .err = err, .base_fd = -1, .w = {.c = c}};
  pthread_t thread;
  *out = (ty_beside){0};
  TY_ASSERT(c->generation > 0 && c->store->ops == 0 && c->store->version == TY_SLAB_VERSION);
  ty_status status = check_whole(&b);
  if (status == TY_OK) status = take_base(&b);
  if (status == TY_OK) {
    ty_clear_away(c); /* files of a rewrite that was killed */
    /* Nothing is staged: this save only takes a generation, which no other file can have then. */
    status = ty_save_changes(c, &out->unknown, err);
  }
  if (status == TY_OK) status = ty_lock_suspend(c, err);
  if (status == TY_OK) {
    if (ty_start_thread(&thread, run_unlocked, &b) == 0) pthread_join(thread, NULL);
    else b.status = write_unlocked(&b);
    status = b.status;
    if (status == TY_OK) at_stage(&b, 1);
    if (status == TY_OK) status = take_lock(&b);
    if (status == TY_OK) status = ty_decision_ask(c, TY_STAGE_BEGUN, err);
    if (status == TY_OK) status = commit(&b, out);
    ty_tail_close(&b.tail);
    if (status != TY_OK && b.w.id_map_moved) c->store->id_map_checked = false;
    if (status != TY_OK && ty_lock_lost(c, err)) status = TY_IO, out->unknown = true;
    else if (status != TY_OK && !out->unknown && b.w.t != NULL) remove_all(&b);
  }
  ty_rewriting_close(&b.w);
  if (b.base_fd >= 0) c->env->os.close(&c->env->os, b.base_fd);
  return status;
}
