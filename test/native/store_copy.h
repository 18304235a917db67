/* ty_copy: whole, or without a manifest, whichever call fails. */
#pragma once

static ty_status copy_to(ty_collection *c, const char *dir, uint64_t link, ty_progress *progress) {
  ty_copy_args args = {.dir = dir, .link = link};
  return ty_copy(c, &args, progress, &err);
}

static void new_dir(char dir[320]) {
  fresh_dir(dir);
  mkdir(dir, 0700);
}

static ino_t inode(const char *dir, const char *name) {
  char path[700];
  struct stat st = {0};
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* Whichever call fails, what has a manifest is whole. */
static void test_copy_fails(ty_collection *c, const model *m, uint64_t link) {
  char to[320];
  for (uint64_t n = 1, done = 0; n < CALLS_MOST && !done; n++) {
    new_dir(to);
    ty_test_fail(env, n, n % 2 ? EIO : ENOSPC, 0);
    ty_status status = copy_to(c, to, link, NULL);
    done = ty_test_fail(env, 0, 0, 0) < n;
    CHECK_MESSAGE(done ? status == TY_OK : true, "call %llu: %s", (unsigned long long)n, err.message);
    /* The last call to fail is the sync of the directory, after everything. Where a link fails bytes are copied. */
    if (has(to, "collection.json")) {
      CHECK_MESSAGE(saved_equal(env, to, m), "call %llu", (unsigned long long)n);
    } else {
      ty_collection *none = NULL;
      CHECK(status != TY_OK && ty_collection_open(env, to, &none, &err) != TY_OK);
    }
    remove_tree(to);
  }
}

static void test_copy(void) {
  char dir[320], to[320], name[64];
  fresh_dir(dir);
  new_dir(to);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  CHECK(copy_to(c, to, 0, NULL) == TY_NOT_FOUND); /* never saved */
  put_versions(c, &m, 0, 30, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  /* A change that is not saved is not in it, and the writer's lock is not waited for. */
  model saved = m;
  put_versions(c, &m, 5, 9, 40);
  ty_collection *other = open_saved(env, dir);
  CHECK_MESSAGE(copy_to(other, to, 0, NULL) == TY_OK, "%s", err.message);
  CHECK(saved_equal(env, to, &saved));
  close_checked(other);
  remove_tree(to);
  CHECK(ty_save(c, &err) == TY_OK);
  uint64_t before = fingerprint(dir);
  test_copy_fails(c, &m, 0);
  test_copy_fails(c, &m, 1);
  new_dir(to);
  ty_progress progress = {.cancel = 1};
  CHECK(copy_to(c, to, 0, &progress) == TY_CANCELLED && !has(to, "collection.json"));
  snprintf(name, sizeof name, "base-%016llx.slab", 1ull);
  CHECK(copy_to(c, to, 0, NULL) == TY_OK && inode(to, name) != inode(dir, name));
  CHECK(copy_to(c, to, 0, NULL) == TY_IO &&
        strstr(err.message, "create base-") != NULL); /* a name that is there stays */
  CHECK(copy_to(c, "/nowhere/at/all", 0, NULL) == TY_IO);
  remove_tree(to);
  new_dir(to);
  progress = (ty_progress){0};
  CHECK_MESSAGE(copy_to(c, to, 1, &progress) == TY_OK && progress.done == progress.total && progress.total > 0, "%s",
                err.message);
  CHECK(inode(to, name) == inode(dir, name) && inode(to, "id_map.npy") != inode(dir, "id_map.npy"));
  ty_collection *copy = open_saved(env, to);
  CHECK(ty_verify(copy, NULL, &err) == TY_OK && model_equal(copy, &m));
  /* What is done to one of them is not done to the other. */
  CHECK(ty_begin(copy, &err) == TY_OK && ty_compact(copy, &(ty_compact_args){0}, NULL, &err) == TY_OK);
  CHECK(model_equal(copy, &m) && fingerprint(dir) == before);
  close_checked(copy);
  close_checked(c);
}
