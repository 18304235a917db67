/* Collections whose codes are vertical (rows/vertical.h) against a look at every row: shapes that do not fill lines and
 * runs, rows and questions that bounds are most likely to be wrong for, deleted rows and rows that were rolled back, on
 * each CPU path. Arguments: a seed or -, then `few` for the smaller half of the shapes. */
#include "lines_damage.h"
#include "lines_parts.h"

enum { F32_CODES, F32_MIXED, INT8, INT4, FORMS };
enum { IN_BASE, IN_DELTA, IN_BOTH, SPLITS };
static const char *const form_names[] = {"f32", "f32", "int8", "int4"};

/* Ordinary rows and others; with `any` those that are not their codes are among them. */
static void put_random(ty_collection *c, uint32_t first, uint32_t n, bool any) {
  float *vectors = malloc((uint64_t)n * shape.dim * sizeof *vectors + 1);
  for (uint32_t i = 0; i < n; i++) {
    float *out = vectors + (uint64_t)i * shape.dim;
    const float *before = i == 0 ? NULL : vectors + (rng() % i) * shape.dim;
    if (chance(3)) adversarial_row(out, before, any);
    else ordinary_row(out);
    if (!any && is_f32() && !is_codes(out)) memset(out, 0, shape.dim * sizeof *out);
  }
  if (n > 0) put_lines(c, first, n, vectors);
  free(vectors);
}

static void begin(ty_collection *c) { CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message); }
static void save(ty_collection *c) { CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "save: %s", err.message); }

static void delete_row(ty_collection *c, uint32_t id) {
  char text[16];
  uint64_t end = (uint64_t)sprintf(text, "%u", id);
  ty_delete_args gone = {.n = 1, .ids = (const uint8_t *)text, .id_ends = &end};
  CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == rows[id].live);
  rows[id].live = false;
}

/* The first and the last row of a line, all of a line, all of a run, and some more. */
static void delete_patterns(ty_collection *c) {
  const ty_segment *segments[] = {&c->base, &c->delta};
  ty_unpack u;
  ty_unpack_init(&u);
  for (int s = 0; s < 2; s++) {
    for (uint64_t at = 0, n = segments[s]->count; at < n; at++) {
      uint64_t in = at % 128, line = at / 64;
      bool gone = in == 0 || in == 63 || in == 64 || in == 127 || line == 1 || line == 4 || line == 5 ||
                  (n > 2048 && at / 1024 == 1) || at + 1 == n || chance(40);
      char text[16] = "";
      ty_slice id = ty_row_id(segments[s], at, &u);
      memcpy(text, id.data, (size_t)id.bytes);
      if (gone && !segments[s]->dead[at]) delete_row(c, (uint32_t)strtoul(text, NULL, 10));
    }
  }
}

/* That the rows lie as they should: of a base by dimension where all of its live rows when it was written are codes. */
static void check_form(const ty_collection *c, bool rewritten) {
  bool codes = true;
  for (uint32_t id = 0; id < row_count && rewritten; id++)
    codes &= !rows[id].live || !is_f32() || is_codes(stored + (uint64_t)id * shape.dim);
  if (rewritten && c->base.count > 0)
    CHECK_MESSAGE((c->base.vertical.lines != NULL) == codes, "%s: the base lies otherwise", asked_of);
  if (c->delta.count > 0)
    CHECK_MESSAGE((c->delta.vertical.lines != NULL) == (c->base.count == 0 || c->base.vertical.lines != NULL),
                  "%s: the delta lies otherwise", asked_of);
}

/* Every question; `all`: with every condition. */
static void ask_all(ty_collection *c, bool all, const char *when) {
  char of[160];
  bool weighs = strcmp(model_metric, "inner_product") == 0;
  snprintf(of, sizeof of, "%s %s, %u rows of %u, %s", model_dtype, model_metric, row_count, shape.dim, when);
  asked_of = of;
  for (uint32_t weighted = 0; weighted <= weighs; weighted++) {
    for (uint32_t q = 0; q < ASK_COUNT; q++) {
      float *question = questions + (uint64_t)q * shape.dim;
      if (!weighted) make_question(q, stored + rng() % (row_count + 1) * shape.dim, question);
      find_truth(c, question, weighted, NULL, &truths[q]);
      if (!weighted && chance(3)) check_expected(c, question, &conditions[rng() % CONDITIONS], 1 + rng() % 40, true);
      uint64_t counts[] = {1, 10, truths[q].count + 5, truths[q].count};
      for (uint32_t i = 0; i < (all ? 3 : 2); i++)
        if (counts[i] > 0) check_ask(c, question, weighted, &truths[q], &conditions[0], counts[i]);
      for (uint32_t i = 1; i < CONDITIONS && all; i++)
        if (counts[rng() % 4] > 0)
          check_ask(c, question, weighted, truth_of(c, q, &conditions[i], weighted), &conditions[i],
                    1 + rng() % (chance(2) ? 12 : row_count + 1));
    }
    check_many(c, &conditions[0], 10, weighted);
    if (all) check_many(c, &conditions[1 + rng() % 6], row_count + 1, weighted);
  }
}

/* Changes that are dropped leave codes after the rows that stay. */
static void roll_back(ty_collection *c, uint32_t n, bool any) {
  static line_row before[MOST_ROWS];
  uint32_t count = row_count, born = births;
  memcpy(before, rows, sizeof rows);
  begin(c);
  put_random(c, row_count, n, any);
  delete_row(c, 0);
  ask_all(c, false, "before a rollback");
  ty_rollback(c);
  memcpy(rows, before, sizeof rows);
  row_count = count;
  births = born;
  ask_all(c, false, "after a rollback");
  begin(c);
  put_random(c, row_count, n / 3 + 1, any);
  ask_all(c, false, "after a rollback");
  save(c);
}

static void rewrite(ty_collection *c, bool lists, const char *when) {
  ty_compact_args compact = {0};
  ty_ivf_args ivf = {.min_rows = 40, .target_recall = 0.9};
  c->env->rewrite_resident = chance(2) ? 0 : UINT64_MAX; /* by copies of the delta's rows or not */
  ty_status status = lists ? ty_build_ivf(c, &ivf, NULL, &err) : ty_compact(c, &compact, NULL, &err);
  CHECK_MESSAGE(status == TY_OK, "%s: %s", when, err.message);
  asked_of = when;
  check_form(c, true);
  decoded_equal(c);
}

static void test_life(ty_env *env, int form, const char *metric, uint32_t dim, uint32_t n, int split, bool lists) {
  char dir[320];
  uint32_t first = split == IN_BASE ? n : split == IN_DELTA ? 0 : (uint32_t)(rng() % n);
  bool any = form != F32_CODES;
  model_dtype = form_names[form];
  model_metric = metric;
  shape = (struct shape){dim, chance(3)};
  stored = malloc((uint64_t)(n * 3 / 2 + 2) * dim * sizeof *stored);
  questions = malloc((uint64_t)ASK_COUNT * dim * sizeof *questions);
  memset(stored, 0, (uint64_t)(n * 3 / 2 + 2) * dim * sizeof *stored);
  fresh_dir(dir);
  ty_collection *c = lines_new(env, dir), *other;
  begin(c);
  if (first > 0) {
    put_random(c, 0, first, any && form != F32_MIXED); /* so that the base is vertical */
    rewrite(c, false, "the first base");
    ask_all(c, split == IN_BASE, "the first base");
  } else if (chance(2)) { /* else the first save makes a base of the rows */
    save(c);
  } else {
    ty_rollback(c);
  }
  begin(c);
  put_random(c, first, n - first, any);
  check_form(c, false);
  ask_all(c, true, "unsaved");
  save(c);
  other = open_saved(env, dir);
  if (other != NULL) ask_all(other, false, "opened");
  roll_back(c, n / 3 + 1, any);
  begin(c);
  put_random(c, n / 2, n > 3 ? 3 : 1, any); /* rows that replace others */
  delete_patterns(c);
  ask_all(c, true, "with deleted rows");
  save(c);
  begin(c);
  rewrite(c, lists, "rewritten");
  ask_all(c, true, "rewritten");
  if (other != NULL) ask_all(other, false, "followed");
  CHECK(whole(c));
  ty_collection_close(other);
  close_checked(c);
  other = open_saved(env, dir); /* what was written can be opened */
  if (other != NULL) ask_all(other, false, "opened at the end");
  close_checked(other);
  remove_tree(dir);
  free(stored);
  free(questions);
}

/* Many saves into a delta, whose first rows become sparse meanwhile. */
static void test_sparse_delta(ty_env *env, int form) {
  enum { SAVES = 6, OF_SAVE = 900 };
  char dir[320];
  const uint32_t most = SAVES * OF_SAVE + OF_SAVE / 2;
  model_dtype = form_names[form];
  model_metric = "inner_product";
  shape = (struct shape){7, false};
  stored = calloc((uint64_t)most * shape.dim, sizeof *stored);
  questions = malloc((uint64_t)ASK_COUNT * shape.dim * sizeof *questions);
  row_count = 0;
  fresh_dir(dir);
  ty_collection *c = lines_new(env, dir), *other;
  begin(c);
  put_random(c, 0, 100, false);
  rewrite(c, false, "the base before many saves");
  for (uint32_t i = 0; i < SAVES; i++) {
    begin(c);
    put_random(c, 100 + i * OF_SAVE, OF_SAVE, true);
    save(c);
  }
  begin(c);
  put_random(c, 100 + SAVES * OF_SAVE, 1, false);
  CHECK(c->delta.vertical.sparse_rows == TY_SPARSE_ROWS);
  ask_all(c, true, "sparse delta");
  save(c);
  other = open_saved(env, dir);
  if (other != NULL) CHECK(other->delta.vertical.sparse_rows == 0);
  if (other != NULL) ask_all(other, false, "opened dense");
  roll_back(c, 100, true);
  begin(c);
  put_random(c, 200, 3, true); /* rows that replace sparse ones */
  delete_patterns(c);
  ask_all(c, true, "sparse delta, with deleted rows");
  save(c);
  CHECK(c->delta.vertical.sparse_rows == TY_SPARSE_ROWS && whole(c));
  begin(c);
  rewrite(c, false, "sparse delta rewritten");
  ask_all(c, false, "rewritten from a sparse delta");
  if (other != NULL) ask_all(other, false, "followed");
  ty_collection_close(other);
  close_checked(c);
  remove_tree(dir);
  free(stored);
  free(questions);
}

/* Rows of seven dimensions, and a directory. */
static void small_shape(char dir[320], int form) {
  model_dtype = form_names[form];
  model_metric = "inner_product";
  shape = (struct shape){7, false};
  stored = calloc((uint64_t)MOST_ROWS * shape.dim, sizeof *stored);
  questions = malloc((uint64_t)ASK_COUNT * shape.dim * sizeof *questions);
  row_count = 0;
  fresh_dir(dir);
}

/* Replaces sparse rows, asks about them, and ends a test of that shape. */
static void end_small_shape(ty_collection *c, const char *what, const char *dir) {
  begin(c);
  put_random(c, 100, 3, true);
  ask_all(c, true, what);
  save(c);
  close_checked(c);
  remove_tree(dir);
  free(stored);
  free(questions);
}

/* A handle that opened a long delta and puts as many rows again: two blocks become sparse at once, and the lines of the
 * rest return from their file to memory. Who opens the delta then reads the same blocks. */
static void test_sparse_opened(ty_env *env, int form) {
  enum { FOUND = 4300, SAVES = 6, OF_SAVE = 700 };
  char dir[320];
  small_shape(dir, form);
  const uint64_t spill_from = env->spill_from;
  env->spill_from = (uint64_t)TY_DENSE_LOADED * shape.dim;
  ty_collection *c = lines_new(env, dir);
  begin(c);
  put_random(c, 0, 100, false);
  rewrite(c, false, "the base before a long delta");
  begin(c);
  put_random(c, 100, FOUND, true);
  save(c);
  close_checked(c);
  c = open_saved(env, dir);
  if (c == NULL) return;
  for (uint32_t i = 0; i < SAVES; i++) {
    begin(c);
    put_random(c, 100 + FOUND + i * OF_SAVE, OF_SAVE, true);
    CHECK(c->delta.vertical.sparse_rows == 0);
    save(c);
  }
  CHECK(c->state->delta.columns[TY_COLUMN_LINES].in_file);
  begin(c);
  put_random(c, 100 + FOUND + SAVES * OF_SAVE, 1, false);
  CHECK(c->delta.vertical.sparse_rows == 2 * TY_SPARSE_ROWS);
  CHECK(!c->state->delta.columns[TY_COLUMN_LINES].in_file);
  ask_all(c, true, "two blocks at once");
  save(c);
  CHECK(whole(c));
  close_checked(c);
  c = open_saved(env, dir);
  env->spill_from = spill_from;
  if (c == NULL) return;
  CHECK(c->delta.vertical.sparse_rows == 2 * TY_SPARSE_ROWS && whole(c));
  ask_all(c, true, "opened sparse");
  end_small_shape(c, "opened sparse, with replaced rows", dir);
}

/* Reads the manifest into `text`, and writes it with one live row fewer than its files have. */
static void miscount(const char *dir, char *text, size_t size) {
  char path[640], edited[8192];
  snprintf(path, sizeof path, "%s/collection.json", dir);
  FILE *in = fopen(path, "rb");
  text[fread(text, 1, size - 1, in)] = 0;
  fclose(in);
  char *at = strstr(text, "\"live_rows\": ") + strlen("\"live_rows\": "), *rest = at;
  const unsigned long long rows = strtoull(at, &rest, 10);
  snprintf(edited, sizeof edited, "%.*s%llu%s", (int)(at - text), text, rows - 1, rest);
  write_sealed(dir, edited);
}

/* A handle that follows many saves at once turns their rows and its own dense rows into blocks. If the saves cannot be
 * applied, it has its own rows as before. */
static void test_sparse_followed(ty_env *env, int form, uint32_t found) {
  enum { SAVES = 10, ALL = MOST_ROWS - 200 };
  const uint32_t of_save = (ALL - found) / SAVES;
  char dir[320], manifest[8192];
  small_shape(dir, form);
  ty_collection *c = lines_new(env, dir);
  begin(c);
  put_random(c, 0, 100, false);
  rewrite(c, false, "the base before a long delta");
  if (found > 0) {
    begin(c);
    put_random(c, 100, found, true);
    save(c);
  }
  ty_collection *other = open_saved(env, dir);
  if (other == NULL) return;
  const uint64_t sparse = other->delta.vertical.sparse_rows;
  for (uint32_t i = 0; i < SAVES; i++) {
    begin(c);
    put_random(c, 100 + found + i * of_save, of_save, true);
    save(c);
  }
  miscount(dir, manifest, sizeof manifest);
  ty_stats_args stats = {0};
  CHECK(ty_stats(other, &stats, &err) == TY_CORRUPT);
  CHECK(other->delta.count == found && other->delta.vertical.sparse_rows == sparse);
  CHECK(other->state->delta.sparse.count * TY_SPARSE_ROWS == sparse);
  write_file(dir, "collection.json", (uint8_t *)manifest, strlen(manifest));
  ask_all(other, false, "followed many saves");
  const uint64_t dense = other->delta.count - other->delta.vertical.sparse_rows;
  CHECK(other->delta.count == found + SAVES * of_save && dense < TY_DENSE_LOADED && whole(other));
  ty_collection_close(c);
  end_small_shape(other, "followed, with replaced rows", dir);
}

/* The checksum of a base of rows of the old one and of a delta, of which some replace others and some are dead. */
enum { IN_PLACE, COPIED, WITHOUT_ROOM }; /* for the copies */
static uint32_t rewritten_sum(ty_env *env, int form, uint64_t seed, int how) {
  char dir[320];
  ty_compact_args compact = {0};
  model_dtype = form_names[form];
  model_metric = "inner_product";
  shape = (struct shape){37, false};
  stored = calloc(1000 * shape.dim, sizeof *stored);
  rng_state = seed;
  fresh_dir(dir);
  ty_collection *c = lines_new(env, dir);
  begin(c);
  put_random(c, 0, 300, false);
  rewrite(c, false, "the base before copies");
  begin(c);
  put_random(c, 300, 500, false);
  put_random(c, 200, 200, false);
  delete_row(c, 250);
  delete_row(c, 20);
  delete_row(c, 700);
  save(c);
  begin(c);
  env->rewrite_resident = how == IN_PLACE ? UINT64_MAX : 0;
  if (how == WITHOUT_ROOM) ty_test_disk(env, 3 * ty_files_bytes(&c->store->files));
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK && whole(c));
  ty_test_disk(env, UINT64_MAX);
  decoded_equal(c);
  uint32_t sum = c->store->files.base.crc; /* of its table, which has the checksums of all sections */
  close_checked(c);
  remove_tree(dir);
  free(stored);
  return sum;
}

/* Copies of a delta's rows become the same base as the rows. */
static void test_copies(ty_env *env) {
  const uint64_t seed = rng();
  for (int form = 0; form < FORMS; form++) {
    const uint32_t sum = rewritten_sum(env, form, seed, IN_PLACE);
    CHECK(rewritten_sum(env, form, seed, COPIED) == sum && rewritten_sum(env, form, seed, WITHOUT_ROOM) == sum);
  }
}

/* ---- How many rows are scored ---------------------------------------------------------------------------------------
 */
static void close_rows(ty_collection *c, const char *dir, float *vectors, float *query) {
  ty_rollback(c);
  close_checked(c);
  remove_tree(dir);
  free(vectors);
  free(query);
  free(stored);
}

/* A bound that became useless shows in the rows that are scored. */
static void test_scored(ty_env *env, const char *dtype, uint32_t dim, uint32_t dims, bool in_base) {
  enum { ROWS = 2049, TOP = 10 };
  char dir[320];
  model_dtype = dtype;
  model_metric = "inner_product";
  shape.dim = dim;
  float *vectors = malloc((uint64_t)ROWS * dim * sizeof *vectors), *query = calloc(dim, sizeof *query);
  stored = malloc((uint64_t)ROWS * dim * sizeof *stored);
  fresh_dir(dir);
  ty_collection *c = lines_new(env, dir);
  for (uint32_t i = 0; i < ROWS; i++) {
    ordinary_row(vectors + (uint64_t)i * dim);
    ame_kernel_table()->normalize(vectors + (uint64_t)i * dim, 1, dim);
  }
  begin(c);
  put_lines(c, 0, ROWS, vectors);
  asked_of = "ordinary rows";
  check_form(c, false);
  if (in_base) rewrite(c, false, asked_of);
  for (uint32_t i = 0; i < 20; i++) {
    memset(query, 0, dim * sizeof *query);
    some_elements(query, dims, 1);
    find_truth(c, query, false, NULL, &truths[0]);
    uint64_t scored = check_ask(c, query, false, &truths[0], &conditions[0], TOP);
    CHECK_MESSAGE(scored <= 2 * TOP + 20, "%s, %u of %u dimensions: %llu rows are scored", dtype, dims, dim,
                  (unsigned long long)scored);
  }
  close_rows(c, dir, vectors, query);
}

/* ---- Rows that are bounded by a part of the dimensions --------------------------------------------------------------
 */
/* Some rows have much of row 0, so that questions of its elements, large in few dimensions, have a high threshold. */
static void test_parts(ty_env *env, const char *dtype) {
  enum { ROWS = 5000, LIKE = 150, ASKED = 24, MOST = 200 };
  char dir[320];
  model_dtype = dtype;
  model_metric = "inner_product";
  shape = (struct shape){256, false};
  row_count = 0;
  float *vectors = malloc((uint64_t)ROWS * shape.dim * sizeof *vectors), *query = calloc(shape.dim, sizeof *query);
  stored = malloc((uint64_t)ROWS * shape.dim * sizeof *stored);
  fresh_dir(dir);
  ty_collection *c = lines_new(env, dir);
  for (uint32_t i = 0; i < ROWS; i++) {
    float *row = vectors + (uint64_t)i * shape.dim;
    ordinary_row(row);
    for (uint32_t d = 0; d < shape.dim && i % LIKE == 0; d++) row[d] = chance(3) ? row[d] : vectors[d];
    ame_kernel_table()->normalize(row, 1, shape.dim);
  }
  begin(c);
  put_lines(c, 0, ROWS, vectors);
  asked_of = "rows of which some are alike";
  rewrite(c, false, asked_of);
  for (uint32_t i = 0; i < ASKED; i++) {
    const double fall = 0.6 + 0.39 * (double)i / ASKED;
    memset(query, 0, shape.dim * sizeof *query);
    for (uint32_t k = 0; k < 4 * (1 + i); k++) {
      const uint32_t d = (uint32_t)(rng() % shape.dim);
      query[d] = (vectors[d] + 0.01f * random_unit()) * (float)pow(fall, k);
    }
    find_truth(c, query, false, NULL, &truths[0]);
    for (uint32_t k = 1; k < MOST; k *= 3) check_ask(c, query, false, &truths[0], &conditions[0], k);
    check_ask(c, query, false, &truths[0], &conditions[1 + rng() % (CONDITIONS - 1)], 7);
    check_expected(c, query, &conditions[0], 1 + rng() % 60, true);
  }
  close_rows(c, dir, vectors, query);
}

/* Rows whose score is their bound, in a base of two sparse blocks, the last one short; some of them dead; beside a
 * dense delta, and beside one whose first rows are sparse. */
static void test_tight(ty_env *env, const char *dtype, int by, bool sparse) {
  enum { SAVES = 4, OF_SAVE = 1000 };
  char dir[320];
  const uint32_t saved = PART_BASE + PART_DELTA;
  model_dtype = dtype;
  model_metric = "inner_product";
  shape = (struct shape){PART_DIM, false};
  stored = malloc((uint64_t)MOST_ROWS * PART_DIM * sizeof *stored);
  fresh_dir(dir);
  make_tight(by);
  place_rows();
  ty_collection *c = lines_new(env, dir);
  begin(c);
  put_tight(c, 0, PART_BASE);
  rewrite(c, false, "rows whose score is their bound");
  check_tight(c, by, "a base");
  begin(c);
  for (uint32_t id = 0, n = 0; id < PART_BASE; id++)
    if (is_tight(id) && n++ % 3 == 0) delete_row(c, id);
  check_tight(c, by, "with dead rows");
  put_tight(c, PART_BASE, PART_DELTA);
  check_tight(c, by, "beside a dense delta");
  save(c);
  for (uint32_t i = 0; i < SAVES && sparse; i++) {
    begin(c);
    put_tight(c, saved + i * OF_SAVE, OF_SAVE);
    save(c);
  }
  begin(c);
  put_tight(c, row_count, 1);
  if (sparse) {
    CHECK(is_int4() || c->delta.vertical.sparse_rows == TY_SPARSE_ROWS);
    check_tight(c, by, "beside a sparse delta");
  }
  close_rows(c, dir, NULL, NULL);
}

int main(int argc, char **argv) {
  static const uint32_t dims[] = {1, 3, 4, 20, 64, 200, 2048};
  static const uint32_t counts[] = {1, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 2049, 4095, 4097};
  static const char *const metrics[] = {"inner_product", "cosine"};
  ty_env *env;
  uint64_t seed;
  bool few = argc > 2 && strcmp(argv[2], "few") == 0;
  if (!program_begin(argc, argv, "lines-test", 2, &seed, &env)) return 2;
  char best[16];
  snprintf(best, sizeof best, "%s", ame_isa_active());
  set_vertical(env, true);
  rng_state = seed;
  for (uint32_t path = 0; path < ame_isa_count(); path++) {
    const char *name = ame_isa_name(path);
    bool is_best = strcmp(name, best) == 0;
    if (ame_isa_force(name) != 0) continue;
    /* What a shape is combined with differs from seed to seed. */
    for (uint32_t n = 0; n < sizeof counts / sizeof *counts; n++) {
      for (uint32_t d = 0; d < sizeof dims / sizeof *dims; d++) {
        bool large = dims[d] == 2048 || counts[n] > 1000;
        if (few ? large || !chance(6) : !chance(is_best ? (large ? 4 : 1) : large ? 20 : 6)) continue;
        for (int form = 0; form < FORMS; form++) {
          if (large && (form + (int)(n + d)) % FORMS != (int)(seed % FORMS)) continue;
          test_life(env, form, metrics[rng() % 2], dims[d], counts[n], (int)(rng() % SPLITS), chance(3));
        }
      }
    }
  }
  CHECK(ame_isa_force(best) == 0);
  for (int form = 0; form < FORMS; form++) test_life(env, form, metrics[form % 2], 20, 1100, IN_BOTH, true);
  test_life(env, F32_CODES, "inner_product", 7, 4160, IN_BASE, false); /* two sparse blocks */
  test_parts(env, "int8");
  test_parts(env, "int4");
  for (int i = 0; i < (few ? 4 : 12); i++) test_tight(env, i % 4 < 2 ? "int8" : "f32", i % 2, i < 2);
  test_tight(env, "int4", BY_WIDTH, false);
  test_sparse_delta(env, F32_MIXED);
  test_sparse_delta(env, INT8);
  test_sparse_opened(env, F32_MIXED);
  test_sparse_opened(env, INT8);
  test_sparse_followed(env, F32_MIXED, 0);
  test_sparse_followed(env, INT8, 4300);
  if (!few) {
    test_life(env, (int)(seed % FORMS), "inner_product", 65536, 65, IN_BOTH, false);
    for (int i = 0; i < 4; i++) test_scored(env, i % 2 ? "int4" : "int8", 2048, 48, i < 2);
  }
  for (int i = 0; i < 4; i++) test_scored(env, i % 2 ? "int4" : "int8", 64, 0, i < 2); /* a query of zeros */
  test_copies(env);
  test_damage(env);
  return program_end(env);
}
