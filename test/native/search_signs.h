/* Signs of the rows of an IVF index: recall with and without them, the same answers on every CPU path, and damage. Part
 * of search_test.c, after search_ivf.h. */

/* Recall holds with signs, and for an index that a version without signs has written, of which the reach is the same.
 */
static void test_signs_recall(uint64_t seed, uint32_t dim, int set, ty_metric metric, double target) {
  ivf_case x;
  double probed;
  case_open(&x, dim, 6000, 100, set, metric, target, &seed);
  for (int without = 0; without < 2; without++) {
    for (uint32_t i = 0; i < x.f->c.ivf->count && without == 1; i++) x.f->c.ivf->parts[i].signs = (ty_ivf_signs){0};
    for (int all = 0; all < 2; all++) {
      double recall = recall_of(&x, set, 150, 10, all ? TY_NO_FILTER : 0, target, &probed, &seed);
      CHECK_MESSAGE(recall >= target - 0.02, "%s dim %u metric %d%s: recall %.4f of %.2f", set_names[set],
                    (unsigned)dim, (int)metric, without ? " without signs" : "", recall, target);
    }
  }
  case_close(&x);
}

/* With dead rows, on every CPU path: the same lists are read and the same rows found. (Scores differ by rounding.) */
static void test_signs_paths(uint64_t seed, int set, ty_metric metric) {
  ivf_case x;
  const char *active = ame_isa_active();
  uint32_t dim = 100;
  case_open(&x, dim, 3000, 50, set, metric, 0.9, &seed);
  fixture *f = x.f;
  float *query = malloc(dim * 4ul);
  uint64_t first[64], rows[64];
  for (int i = 0; i < 100; i++) fixture_kill(f, test_random(&seed) % f->count);
  for (int i = 0; i < 30; i++) {
    uint64_t count = 0, probed = 0, same = 0;
    bool any = false;
    set_row(query, dim, x.centres, set, &seed);
    ty_ask_args args = search_args(query, 10, i % 2 == 0 ? 0 : TY_NO_FILTER, i % 2 == 0 ? "k1" : NULL, 0.9);
    for (uint32_t path = 0; path < ame_isa_count(); path++) {
      ty_error err;
      if (ame_isa_force(ame_isa_name(path)) != 0) continue;
      CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK);
      uint64_t n = answer_rows(rows, args.out_count);
      if (!any) {
        count = n;
        probed = args.probed_lists;
        memcpy(first, rows, sizeof first);
        any = true;
      }
      same = 0;
      for (uint64_t j = 0; j < count; j++) {
        for (uint64_t k = 0; k < n; k++) same += first[j] == rows[k];
      }
      CHECK_MESSAGE(n == count && same == count && args.probed_lists == probed, "%s metric %d: %s answers otherwise",
                    set_names[set], (int)metric, ame_isa_name(path));
    }
  }
  CHECK(ame_isa_force(active) == 0);
  free(query);
  case_close(&x);
}

/* Any bytes of the right size are queried without harm; other sizes are refused. */
static void test_signs_damage(uint64_t seed) {
  ivf_case x;
  case_open(&x, 64, 3000, 0, LOOSE, TY_INNER_PRODUCT, 0.9, &seed);
  fixture *f = x.f;
  ty_error err;
  ty_intact *signs = &f->c.ivf->signs;
  uint8_t *data = (uint8_t *)(uintptr_t)signs->data;
  float query[64] = {1};
  for (int i = 0; i < 300; i++) {
    uint64_t bytes = i % 3 == 0 ? 4 : 1 + test_random(&seed) % 4096;
    uint64_t at = test_random(&seed) % (i % 2 == 0 ? 512 : signs->bytes - bytes) / 4 * 4;
    const float odd[] = {NAN, INFINITY, -INFINITY, 1e38f, -1e38f, 1e-42f};
    if (i % 3 == 0) memcpy(data + at, &odd[test_random(&seed) % 6], 4);
    else memset(data + at, (int)test_random(&seed), (size_t)bytes);
    CHECK(ty_signs_open(f->c.ivf, f->c.dim, &err) == TY_OK);
    query[i % 64] = (float)test_normal(&seed);
    ty_ask_args args = search_args(query, 10, TY_NO_FILTER, NULL, 0.9);
    CHECK(ty_ask_entered(&f->c, &args, &err) == TY_OK);
  }
  for (int i = -64; i <= 64; i += 128) {
    signs->bytes += (uint64_t)(int64_t)i;
    CHECK(ty_signs_open(f->c.ivf, f->c.dim, &err) == TY_CORRUPT);
    signs->bytes -= (uint64_t)(int64_t)i;
  }
  case_close(&x);
}

static void test_signs_all(uint64_t seed) {
  for (int set = 0; set < ADVERSARIAL; set++) {
    if (!taken(seed + (uint64_t)set)) continue;
    test_signs_recall(seed + (uint64_t)set, 64, set, TY_INNER_PRODUCT, 0.9);
    test_signs_recall(seed + (uint64_t)set, 100, set, TY_L2, 0.95);
    test_signs_recall(seed + (uint64_t)set, 130, set, TY_COSINE, 0.98);
  }
  for (int set = 0; set < ADVERSARIAL; set++) {
    if (!taken(seed + (uint64_t)(7 * set))) continue;
    test_signs_paths(seed + (uint64_t)set, set, TY_INNER_PRODUCT);
    test_signs_paths(seed + (uint64_t)set, set, TY_L2);
  }
  test_signs_damage(seed);
}
