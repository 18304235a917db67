/* ty_copy: whole, or without a manifest, whichever call fails. */
#ifndef STORE_COPY_H
#define STORE_COPY_H

static ty_status copy_to(ty_collection *c, const char *dir, ty_progress *progress) {
  ty_copy_args args = {dir};
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "%s", err.message);
  ty_status status = ty_copy(c, &args, progress, &err);
  ty_error kept = err;
  ty_rollback(c);
  err = kept;
  return status;
}

static void test_copy(void) {
  char dir[320], to[320];
  fresh_dir(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK(ty_copy(c, &(ty_copy_args){dir}, NULL, &err) == TY_STATE); /* never saved */
  ty_rollback(c);
  CHECK(ty_copy(c, &(ty_copy_args){dir}, NULL, &err) == TY_STATE); /* no change is under way */
  put_versions(c, &m, 0, 30, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  put_versions(c, &m, 5, 9, 40);
  CHECK(ty_copy(c, &(ty_copy_args){dir}, NULL, &err) == TY_STATE); /* a change that is not saved */
  CHECK(ty_save(c, &err) == TY_OK);
  uint64_t before = fingerprint(dir);
  for (uint64_t n = 1, done = 0; n < CALLS_MOST && !done; n++) {
    fresh_dir(to);
    mkdir(to, 0700);
    CHECK(ty_begin(c, &err) == TY_OK);
    ty_test_fail(env, n, n % 2 ? EIO : ENOSPC, 0);
    ty_status status = ty_copy(c, &(ty_copy_args){to}, NULL, &err);
    done = ty_test_fail(env, 0, 0, 0) < n;
    ty_rollback(c);
    CHECK_MESSAGE(done ? status == TY_OK : status != TY_OK || has(to, "collection.json"), "call %llu: %s",
                  (unsigned long long)n, err.message);
    /* What opens is whole: the last call to fail is the sync of the directory, behind everything. */
    if (has(to, "collection.json")) {
      CHECK_MESSAGE(saved_equal(env, to, &m), "call %llu", (unsigned long long)n);
    } else {
      ty_collection *none = NULL;
      CHECK(status != TY_OK && ty_collection_open(env, to, &none, &err) != TY_OK);
    }
    remove_tree(to);
  }
  fresh_dir(to);
  mkdir(to, 0700);
  ty_progress progress = {.cancel = 1};
  CHECK(copy_to(c, to, &progress) == TY_CANCELLED && !has(to, "collection.json"));
  CHECK(copy_to(c, to, NULL) == TY_IO && strstr(err.message, "create base-") != NULL); /* a name that is there stays */
  CHECK(copy_to(c, "/nowhere/at/all", NULL) == TY_IO);
  remove_tree(to);
  fresh_dir(to);
  mkdir(to, 0700);
  progress = (ty_progress){0};
  CHECK_MESSAGE(copy_to(c, to, &progress) == TY_OK && progress.done == progress.total && progress.total > 0, "%s",
                err.message);
  ty_collection *copy = open_saved(env, to);
  CHECK(ty_verify(copy, NULL, &err) == TY_OK && model_equal(copy, &m));
  close_checked(copy);
  CHECK(fingerprint(dir) == before);
  close_checked(c);
}

#endif
