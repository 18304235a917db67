/* Arrays that spill into files; a part of store_test.c. */
static bool spill_holds(const ty_spill *s, uint64_t used, uint64_t bytes) {
  const uint8_t *data = s->data;
  bool good = s->bytes >= bytes && (uintptr_t)data % TY_ALIGN == 0;
  for (uint64_t i = 0; i < bytes && good; i++) good = data[i] == (i < used ? (uint8_t)(i * 7 + 1) : 0);
  return good;
}

static uint32_t spill_names(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  uint32_t count = 0;
  while (d != NULL && (e = readdir(d)) != NULL) count += strncmp(e->d_name, "spill", 5) == 0;
  if (d != NULL) closedir(d);
  return count;
}

/* Grows twice, from memory into a file and on, with the n-th system call failing: then it is in memory. Returns how
 * many calls there were. */
static uint64_t spill_once(ty_collection *c, const char *dir, uint64_t n) {
  const uint64_t used = 3000, sizes[] = {used, 70000, 500000};
  ty_spill s = {0};
  ty_test_fail(env, n, EIO, 0);
  CHECK(ty_spill_grow(ty_dir_of(c), &s, 0, sizes[0]) && !s.in_file);
  for (uint64_t i = 0; i < used; i++) ((uint8_t *)s.data)[i] = (uint8_t)(i * 7 + 1);
  for (int i = 1; i < 3; i++) CHECK(ty_spill_grow(ty_dir_of(c), &s, used, sizes[i]) && spill_holds(&s, used, sizes[i]));
  CHECK(n > 0 || s.in_file);
  ty_spill_evict(c->env, &s);
  CHECK(spill_holds(&s, used, sizes[2]));
  CHECK(n > 0 || spill_names(dir) == 0);
  ty_spill_free(c->env, &s);
  CHECK(s.data == NULL && !s.in_file);
  return ty_test_fail(env, 0, 0, 0);
}

static void test_spill(void) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  uint64_t kept = env->spill_from, n = 0;
  env->spill_from = 64000;
  CHECK(ty_begin(c, &err) == TY_OK); /* makes the directory */
  while (n < CALLS_MOST && spill_once(c, dir, n) >= n) n++;
  CHECK_MESSAGE(n > 6 && n < CALLS_MOST, "ended at call %llu", (unsigned long long)n);
  env->spill_from = kept;
  /* A name whose removal failed goes with the next rewrite, here the first save. */
  CHECK(spill_names(dir) > 0);
  ty_rollback(c);
  put_versions(c, &m, 0, 3, 1);
  CHECK(ty_save(c, &err) == TY_OK && spill_names(dir) == 0 && saved_equal(env, dir, &m));
  close_checked(c);
}
