/* A full disk: adds fail and lose nothing, deletions work, a rewrite says how much room it needs before it writes; and
 * how good that estimate is. */
#include <math.h>
#include "../../ffi/ty_runtime/disk/ballast.h"
#include "../../ffi/ty_runtime/state/rebase.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

#define BATCH 500u

static size_t row_id(uint32_t i, char *out) { return (size_t)sprintf(out, "row-%05u", i); }

/* Rows with the numbers from .. from + n - 1, without a save; each has a text of some 300 bytes. */
static ty_status put_rows(ty_collection *c, uint32_t from, uint32_t n) {
  static float vectors[BATCH * DIM];
  static char ids[BATCH * 16], texts[BATCH * 400], keys[BATCH * 16];
  static uint64_t id_ends[BATCH], text_ends[BATCH], key_ends[BATCH * 2];
  uint64_t id_at = 0, text_at = 0, key_at = 0;
  for (uint32_t i = 0; i < n; i++) {
    content_vector(from + i, vectors + i * DIM);
    id_ends[i] = id_at += row_id(from + i, ids + id_at);
    for (int w = 0; w < 40; w++)
      text_at += (uint64_t)sprintf(texts + text_at, "w%llu ", (unsigned long long)(rng() % 3000));
    text_ends[i] = text_at;
    key_ends[2 * i] = key_at += (uint64_t)sprintf(keys + key_at, "p%u", (from + i) % 3);
    key_ends[2 * i + 1] = key_at += (uint64_t)sprintf(keys + key_at, "k%u", (from + i) % 2);
  }
  ty_put_args args = {.n = n,
                      .mode = TY_ADD,
                      .vectors = vectors,
                      .ids = (uint8_t *)ids,
                      .id_ends = id_ends,
                      .texts = (uint8_t *)texts,
                      .text_ends = text_ends,
                      .keys = (uint8_t *)keys,
                      .key_ends = key_ends};
  return ty_put(c, &args, NULL, &err);
}

/* The same rows, in one save. */
static ty_status add_rows(ty_collection *c, uint32_t from, uint32_t n) {
  if (!CHECK(ty_begin(c, &err) == TY_OK)) return TY_STATE;
  ty_status status = put_rows(c, from, n);
  if (status == TY_OK) return ty_save(c, &err);
  ty_rollback(c);
  return status;
}

static ty_status remove_row(ty_collection *c, uint32_t i) {
  char id[16];
  uint64_t end = row_id(i, id);
  ty_delete_args args = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
  if (!CHECK(ty_begin(c, &err) == TY_OK)) return TY_STATE;
  CHECK(ty_delete(c, &args, &err) == TY_OK && args.removed == 1);
  return ty_save(c, &err);
}

static uint64_t live_rows(ty_collection *c) {
  ty_count_args count = {.column = TY_NO_FILTER};
  CHECK(ty_count(c, &count, &err) == TY_OK);
  return count.count;
}

static uint64_t saved_rows(const char *dir) {
  ty_collection *c = NULL;
  if (!CHECK(ty_collection_open(env, dir, &c, &err) == TY_OK)) return 0;
  uint64_t rows = live_rows(c);
  close_checked(c);
  return rows;
}

static int64_t size_of(const char *dir, const char *name) {
  char path[640];
  struct stat st;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* Names of a directory's files, how many. */
static int file_names(const char *dir) {
  DIR *d = opendir(dir);
  int n = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) n += strncmp(e->d_name, ".", 1) != 0;
  closedir(d);
  return n;
}

/* `abandoned`: the delta's last sync failed, so that the next save begins a fresh one; `compacted`: there is none. */
static void test_deletions(bool abandoned, bool compacted) {
  char dir[320], note[8192];
  ty_compact_args compact = {0};
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  int n = snprintf(note, sizeof note, "\"%*s\"", 7000, "x");
  CHECK(ty_begin(c, &err) == TY_OK && ty_note(c, (const uint8_t *)"n", 1, (uint8_t *)note, (uint64_t)n, &err) == TY_OK);
  CHECK(ty_save(c, &err) == TY_OK && size_of(dir, TY_BALLAST_NAME) == (int64_t)TY_BALLAST_BYTES);
  for (uint32_t i = 0; i < 4; i++) CHECK(add_rows(c, i * BATCH, BATCH) == TY_OK);
  if (compacted) CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  c->store->abandon_delta = abandoned;

  /* Fill it up. An add that fails is not a row, here and on disk. */
  ty_test_disk(env, 64 << 10);
  uint64_t rows = 4 * BATCH;
  uint32_t next = (uint32_t)rows;
  while (add_rows(c, next, 1) == TY_OK) next++, rows++;
  CHECK_MESSAGE(err.status == TY_IO && err.sys_errno == ENOSPC, "%s", err.message);
  CHECK(size_of(dir, TY_BALLAST_NAME) == (int64_t)TY_BALLAST_BYTES);
  ty_test_disk(env, 0);
  CHECK(add_rows(c, next, 1) == TY_IO && live_rows(c) == rows && saved_rows(dir) == rows);
  c->store->abandon_delta = abandoned;

  /* Several hundred deletions, one by one; then no blocks are left, and one that fails is not one. */
  uint32_t removed = 0;
  while (removed < rows && remove_row(c, removed) == TY_OK) removed++;
  CHECK_MESSAGE(removed >= 300, "after %u deletions: %s", removed, err.message);
  CHECK_MESSAGE(removed == rows || (err.status == TY_IO && err.sys_errno == ENOSPC), "%s", err.message);
  CHECK(live_rows(c) == rows - removed && saved_rows(dir) == rows - removed);
  CHECK(add_rows(c, next, 1) == TY_IO);

  /* A rewrite says what it needs, and makes no file. */
  int files = file_names(dir);
  ty_ivf_args ivf = {.min_rows = 100, .target_recall = 0.9};
  ty_lexical_args words = {.k1 = 1.2, .b = 0.6};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_IO);
  CHECK_MESSAGE(err.sys_errno == ENOSPC && strncmp(err.message, "compaction needs about ", 23) == 0 &&
                    strstr(err.message, "and 0.0 MiB are free") != NULL,
                "%s", err.message);
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_IO && err.sys_errno == ENOSPC);
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &words, NULL, &err) == TY_IO && err.sys_errno == ENOSPC);
  CHECK(file_names(dir) == files && live_rows(c) == rows - removed);

  /* With room everything works, and the ballast is back. */
  ty_test_disk(env, UINT64_MAX);
  CHECK(remove_row(c, removed) == TY_OK && size_of(dir, TY_BALLAST_NAME) == (int64_t)TY_BALLAST_BYTES);
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(add_rows(c, next, 1) == TY_OK && saved_rows(dir) == rows - removed);
  close_checked(c);
}

/* Begins where `begins`, and puts rows without saving. */
static void stage_rows(ty_collection *c, uint32_t from, uint32_t n, bool begins) {
  if (begins) CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(put_rows(c, from, n) == TY_OK);
}

/* Staged changes stay where the disk is full, wherever a save finds that out, and are saved once there is room.
 * `first`: by the first save of the collection. */
static void test_staged(bool first) {
  char dir[320];
  fresh_dir(dir);
  ty_test_disk(env, UINT64_MAX);
  ty_collection *c = open_new(env, dir);
  uint64_t rows = 0;
  if (!first) {
    CHECK(add_rows(c, 0, BATCH) == TY_OK);
    rows = BATCH;
  }
  uint32_t next = BATCH, failed = 0;
  stage_rows(c, next, 40, true);
  for (uint64_t room = 0;; room += 1024) {
    ty_test_disk(env, room);
    ty_status status = ty_save_staged(c, &err);
    if (status == TY_OK) break;
    if (!CHECK_MESSAGE(status == TY_FULL && err.sys_errno == ENOSPC, "%s", err.message)) return;
    failed++;
    CHECK(live_rows(c) == rows + next + 40 - BATCH);
    if (!first) CHECK(saved_rows(dir) == rows);
    ty_test_disk(env, UINT64_MAX);
    if (failed % 8 != 1) continue;
    stage_rows(c, next + 40, 1, false); /* the change goes on */
    next++;
  }
  CHECK_MESSAGE(failed > 10, "%u saves failed", failed);
  ty_test_disk(env, UINT64_MAX);
  rows += next + 40 - BATCH;
  CHECK(live_rows(c) == rows && saved_rows(dir) == rows && ty_begin(c, &err) == TY_OK);

  /* One that is given up leaves what was saved. */
  stage_rows(c, next + 40, 10, false);
  ty_test_disk(env, 0);
  CHECK(ty_save_staged(c, &err) == TY_FULL && err.sys_errno == ENOSPC);
  ty_rollback(c);
  ty_test_disk(env, UINT64_MAX);
  CHECK(live_rows(c) == rows && saved_rows(dir) == rows && remove_row(c, BATCH) == TY_OK);
  close_checked(c);
}

/* A ballast that another process has emptied is made again, where the disk is not nearly full. */
static void test_kept(void) {
  char dir[320], path[640];
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  snprintf(path, sizeof path, "%s/%s", dir, TY_BALLAST_NAME);
  CHECK(truncate(path, 0) == 0);
  ty_collection *other = open_saved(env, dir);
  ty_test_disk(env, TY_BALLAST_LEAVE);
  CHECK(add_rows(other, 0, 1) == TY_OK && size_of(dir, TY_BALLAST_NAME) == 0);
  ty_test_disk(env, 2 * TY_BALLAST_LEAVE);
  CHECK(add_rows(other, 1, 1) == TY_OK && size_of(dir, TY_BALLAST_NAME) == (int64_t)TY_BALLAST_BYTES);
  CHECK(truncate(path, 0) == 0);
  for (uint32_t i = 2; i < 70; i++) CHECK(add_rows(other, i, 1) == TY_OK);
  CHECK(size_of(dir, TY_BALLAST_NAME) == (int64_t)TY_BALLAST_BYTES);
  ty_test_disk(env, UINT64_MAX);
  /* Without it adds and deletions go on, until the disk is full. */
  CHECK(unlink(path) == 0 && remove_row(other, 3) == TY_OK);
  close_checked(other);
  close_checked(c);
}

/* The estimate beside what a rewrite took: from a base and a delta, and from a delta alone. */
static void test_estimate(bool based, bool ivf, bool keep) {
  FRESH_DIR(dir);
  ty_compact_args compact = {.keep = keep};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  for (uint32_t i = 0; i < 4; i++) CHECK(add_rows(c, i * BATCH, BATCH) == TY_OK);
  if (based) CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  for (uint32_t i = 4; i < 6; i++) CHECK(add_rows(c, i * BATCH, BATCH) == TY_OK);
  for (uint32_t i = 0; i < 200; i++) CHECK(remove_row(c, i * 13) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK);
  ty_rebase_wish wish = ty_rebase_keep(c);
  ty_ivf_args index = {.min_rows = 100, .target_recall = 0.9};
  if (ivf) wish.ivf = wish.retrain = true;
  wish.history.drop = !keep && !ivf;
  uint64_t need = ty_room_need(c, &wish);
  CHECK((ivf ? ty_build_ivf(c, &index, NULL, &err) : ty_compact(c, &compact, NULL, &err)) == TY_OK);
  const ty_files *f = &c->store->files;
  uint64_t took = f->base.bytes + f->lexical.bytes + f->ivf.bytes + f->history.bytes + f->id_map.bytes +
                  f->meaning.bytes + c->store->manifest_bytes;
  double ratio = (double)need / (double)took;
  CHECK_MESSAGE(ratio > 0.85 && ratio < 1.25,
                "%s %s vertical %d based %d ivf %d keep %d: estimated %llu, took %llu: %.3f", model_dtype, model_metric,
                model_vertical, based, ivf, keep, (unsigned long long)need, (unsigned long long)took, ratio);
  close_checked(c);
}

/* What survives a power cut is not the matter here, and two thousand saves wait long for a disk. */
static int no_sync(ty_os *os, int fd) {
  (void)os, (void)fd;
  return 0;
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "full-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  env->os.sync = env->os.sync_dir = no_sync;
  for (int i = 0; i < 4; i++) test_deletions(i & 1, i & 2);
  test_kept();
  test_staged(false);
  test_staged(true);
  for (int i = 0; i < 4; i++) {
    static const char *const dtypes[] = {"f32", "f16", "int8", "int4"};
    model_dtype = dtypes[i];
    for (int j = 0; j < 3; j++) test_estimate(j > 0, j == 2, i % 2);
  }
  model_codes = ALL_CODES;
  set_vertical(env, true);
  for (int i = 0; i < 3; i++) {
    static const char *const dtypes[] = {"f32", "int8", "int4"};
    model_dtype = dtypes[i];
    for (int j = 0; j < 2; j++) test_estimate(j > 0, false, i != 1);
  }
  return program_end(env);
}
