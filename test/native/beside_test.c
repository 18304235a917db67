/* Rewrites of the base beside writers: whatever others save meanwhile, rows, history and answers are, to the bit, those
 * of a collection that was compacted under the lock and then got the same saves. */
#include "../../ffi/ty_runtime/disk/format.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_history.h"

static ty_env *env;
static ty_error err;

/* A collection, by two handles that follow each other. */
typedef struct side {
  char dir[320];
  ty_collection *handles[2];
  model m;
  past past;
} side;
static side beside, control;

/* ---- The same on both sides -----------------------------------------------------------------------------------------
 */
typedef struct source {
  uint64_t rng, clock;
  uint32_t version;
} source;

enum { TO_SAVE, TO_NOTE, TO_DROP_MEANING, TO_DELETE };

static void act(side *s, int what, uint32_t most) {
  static const char *const origins[] = {"", "{}", "{\"client\":\"one\"}", "{\"client\":\"two\"}"};
  ty_collection *c = s->handles[rng() % 2];
  const model before = s->m;
  char json[32];
  const char *origin = origins[rng() % 4];
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "%s", err.message);
  if (origin[0] != 0) CHECK(ty_origin(c, (const uint8_t *)origin, strlen(origin), &err) == TY_OK);
  if (what == TO_NOTE) {
    const int n = snprintf(json, sizeof json, "{\"v\":%u}", (unsigned)(rng() % 1000));
    CHECK(ty_note(c, (const uint8_t *)"work", 4, (const uint8_t *)json, (uint64_t)n, &err) == TY_OK);
  } else if (what == TO_DROP_MEANING) {
    CHECK(ty_meaning_drop(c, &err) == TY_OK);
  } else {
    random_changes(c, &s->m, most);
  }
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  past_saved(&s->past, &before, &s->m, generation_of(c), origin[0] == 0 || origin[1] == '}' ? "" : origin);
}

static void act_on_both(int what, uint32_t most) {
  const source from = {rng_state, model_clock, next_version};
  act(&beside, what, most);
  rng_state = from.rng;
  model_clock = from.clock;
  next_version = from.version;
  act(&control, what, most);
}

static void act_at_random(void) {
  const uint64_t pick = rng() % 16;
  act_on_both(pick == 0 ? TO_DROP_MEANING : pick < 3 ? TO_NOTE : TO_SAVE, 1 + (uint32_t)(rng() % 12));
}

static void compact(side *s) {
  ty_compact_args args = {.keep = 1};
  ty_collection *c = s->handles[0];
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_compact(c, &args, NULL, &err) == TY_OK, "%s", err.message);
  past_rewritten(&s->past);
}

/* ---- Comparison -----------------------------------------------------------------------------------------------------
 */
/* Numbers of rows and births go on differently; everything else of an answer has to be equal, and their order. */
static uint64_t without_numbers(uint8_t *out, uint64_t count) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < count; i++) {
    ty_record r;
    memcpy(&r, out + at, sizeof r);
    r.row = r.birth = 0;
    memcpy(out + at, &r, sizeof r);
    at += sizeof r + padded(r.id_bytes) + (r.meta_bytes == TY_ABSENT ? 0 : padded(r.meta_bytes)) +
          (r.text_bytes == TY_ABSENT ? 0 : padded(r.text_bytes)) + padded(r.vector_bytes) + r.extra_bytes;
  }
  return at;
}

static bool answers_equal(void) {
  static uint8_t other[1 << 20] __attribute__((aligned(8)));
  bool same = true;
  for (int i = 0; i < 36; i++) {
    char text[64], key[8];
    float query[DIM];
    model_query(query);
    const int bytes = snprintf(text, sizeof text, "text of version %u with word", (unsigned)(rng() % 60));
    const int key_bytes = snprintf(key, sizeof key, "p%u", (unsigned)(i / 12));
    ty_ask_args ask = {.by = (uint64_t)(1 + i % 3),
                       .vector = query,
                       .text = (const uint8_t *)text,
                       .text_bytes = (uint64_t)bytes,
                       .top_k = 1 + rng() % 12,
                       .column = i % 12 < 6 ? TY_NO_FILTER : 0,
                       .key = (const uint8_t *)key,
                       .key_bytes = i % 12 < 6 ? 0 : (uint64_t)key_bytes,
                       .target_recall = 1,
                       .weighted = i % 2 && model_is("inner_product"),
                       .meaning = i % 4 < 2,
                       .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_SCORES | TY_WITH_TIMES |
                               (i % 3 == 1 ? TY_WITH_EXPLAIN : 0),
                       ANSWER_IN(answer)};
    if (i % 5 == 0) ask.under_column = 1, ask.under = (const uint8_t *)"k1", ask.under_bytes = 2;
    ty_ask_args again = ask;
    const ty_status one = ty_ask(beside.handles[0], &ask, &err);
    again.out = other;
    const ty_status two = ty_ask(control.handles[0], &again, &err);
    if (one != two || (one != TY_OK && one != TY_UNBUILT)) {
      fprintf(stderr, "question %d by %d: %d %d %s\n", i, (int)ask.by, one, two, err.message);
      same = false;
    }
    if (one != TY_OK || two != TY_OK) continue;
    const bool good = ask.out_count == again.out_count && ask.out_bytes == again.out_bytes &&
                      ask.by_meaning == again.by_meaning && ask.meaning_weight == again.meaning_weight &&
                      without_numbers(answer, ask.out_count) == without_numbers(other, again.out_count) &&
                      memcmp(answer, other, ask.out_bytes) == 0;
    if (!good)
      fprintf(stderr, "question %d by %d differs: count %d bytes %d meaning %d/%d weight %g/%g\n", i, (int)ask.by,
              ask.out_count == again.out_count, ask.out_bytes == again.out_bytes, (int)ask.by_meaning,
              (int)again.by_meaning, ask.meaning_weight, again.meaning_weight);
    same &= good;
  }
  return same;
}

static uint32_t leftovers, bases;
static void count_name(void *context, const char *name) {
  (void)context;
  leftovers += strstr(name, ".tmp-") != NULL;
  bases += strncmp(name, "base-", 5) == 0;
}

static bool all_equal(const side *s) {
  for (int i = 0; i < 2; i++)
    if (!model_equal(s->handles[i], &s->m) || !history_equal(s->handles[i], &s->past)) return false;
  ty_collection *fresh = open_saved(env, s->dir);
  const bool same = fresh != NULL && model_equal(fresh, &s->m) && history_equal(fresh, &s->past) &&
                    ty_verify(fresh, NULL, &err) == TY_OK;
  ty_collection_close(fresh);
  leftovers = bases = 0;
  CHECK(env->os.list(&env->os, s->dir, count_name, NULL) == 0);
  return same && leftovers == 0 && bases == 1;
}

/* ---- One at a time --------------------------------------------------------------------------------------------------
 */
static struct {
  enum { SAVES, REWRITTEN, CANCELLED, TWICE } how;
  int stage; /* of what happens but for saves */
  ty_progress progress;
} plan;

static void many_rows(void *context, int stage);

static ty_status compact_beside(ty_progress *progress) {
  ty_collection *own = NULL;
  ty_compact_args args = {.keep = 1};
  CHECK(ty_collection_at(env, beside.dir, &own, &err) == TY_OK);
  const ty_status status = ty_compact_beside(own, &args, progress, &err);
  if (status == TY_OK && env->beside != many_rows) CHECK(model_equal(own, &beside.m));
  ty_collection_close(own);
  return status;
}

static void meanwhile(void *context, int stage) {
  (void)context;
  for (uint64_t n = rng() % 4; n > 0; n--) act_at_random();
  if (stage == plan.stage) {
    if (plan.how == REWRITTEN) compact(&beside);
    if (plan.how == CANCELLED) plan.progress.cancel = 1;
    if (plan.how == TWICE) {
      env->beside = NULL;
      CHECK(compact_beside(NULL) == TY_BUSY && strstr(err.message, "compacting the collection already") != NULL);
      env->beside = meanwhile;
    }
  }
  for (uint64_t n = rng() % 3; n > 0; n--) act_at_random();
}

static void begin_both(void) {
  side *const sides[] = {&beside, &control};
  for (int i = 0; i < 2; i++) {
    side *s = sides[i];
    memset(&s->m, 0, sizeof s->m);
    past_begin(&s->past);
    fresh_dir(s->dir);
    for (int k = 0; k < 2; k++) s->handles[k] = open_new(env, s->dir);
  }
  act_on_both(TO_SAVE, 12);
}

static void end_both(void) {
  side *const sides[] = {&beside, &control};
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < 2; k++) close_checked(sides[i]->handles[k]);
    remove_tree(sides[i]->dir);
  }
}

static void build_indexes(side *s, bool lists) {
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  ty_collection *c = s->handles[0];
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  if (lists) CHECK(ty_begin(c, &err) == TY_OK && ty_build_ivf(c, &ivf, NULL, &err) == TY_OK);
}

static void test_random(uint64_t seed, int rounds) {
  rng_state = seed;
  model_clock = 1000000;
  next_version = 1;
  begin_both();
  if (seed % 4 > 0) build_indexes(&beside, seed % 4 == 3), build_indexes(&control, seed % 4 == 3);
  if (seed % 4 > 0) past_rewritten(&beside.past), past_rewritten(&control.past);
  for (int round = 0; round < rounds; round++) {
    for (uint64_t n = rng() % 4; n > 0; n--) act_at_random();
    plan.how = rng() % 3 > 0 ? SAVES : 1 + (int)(rng() % 3);
    plan.stage = (int)(rng() % 2);
    plan.progress = (ty_progress){0};
    compact(&control);
    if (plan.how == SAVES || plan.how == TWICE) past_rewritten(&beside.past);
    env->beside = meanwhile;
    const ty_status status = compact_beside(&plan.progress);
    env->beside = NULL;
    const ty_status expected = plan.how == REWRITTEN ? TY_BUSY : plan.how == CANCELLED ? TY_CANCELLED : TY_OK;
    CHECK_MESSAGE(status == expected, "seed %llu round %d, kind %d: %s", (unsigned long long)seed, round, plan.how,
                  err.message);
    CHECK_MESSAGE(all_equal(&beside), "seed %llu round %d, kind %d: %s %s", (unsigned long long)seed, round, plan.how,
                  model_dtype, model_metric);
    CHECK_MESSAGE(answers_equal(), "seed %llu round %d, kind %d: answers of %s %s", (unsigned long long)seed, round,
                  plan.how, model_dtype, model_metric);
  }
  CHECK(all_equal(&control));
  end_both();
}

/* ---- Limits ---------------------------------------------------------------------------------------------------------
 */
static void test_refused(void) {
  FRESH_DIR(dir);
  ty_collection *own = NULL;
  ty_compact_args args = {.keep = 1};
  /* Nothing was saved. */
  CHECK(ty_collection_at(env, dir, &own, &err) == TY_OK);
  CHECK_MESSAGE(ty_compact_beside(own, &args, NULL, &err) == TY_NOT_FOUND, "%s", err.message);
  ty_collection_close(own);
  args.n = 1;
  begin_both();
  CHECK(ty_compact_beside(beside.handles[0], &args, NULL, &err) == TY_INVALID);
  /* Another holds the lock. */
  args.n = 0;
  CHECK(ty_begin(beside.handles[0], &err) == TY_OK);
  CHECK(ty_compact_beside(beside.handles[1], &args, &(ty_progress){.cancel = 1}, &err) == TY_CANCELLED);
  ty_rollback(beside.handles[0]);
  end_both();
}

/* The collection is read before the lock is taken: a large one takes seconds. */
static ty_collection *watched;
static int (*lock_before)(ty_os *os, int fd);
static uint64_t locked_unread;
static int lock_watched(ty_os *os, int fd) {
  locked_unread += watched->generation == 0;
  return lock_before(os, fd);
}

static void test_read_before(void) {
  ty_compact_args args = {.keep = 1};
  begin_both();
  CHECK(ty_collection_at(env, beside.dir, &watched, &err) == TY_OK);
  lock_before = env->os.lock;
  env->os.lock = lock_watched;
  CHECK_MESSAGE(ty_compact_beside(watched, &args, NULL, &err) == TY_OK, "%s", err.message);
  env->os.lock = lock_before;
  ty_count_args all = {.column = TY_NO_FILTER}; /* random changes may have left none */
  CHECK(ty_count(beside.handles[0], &all, &err) == TY_OK);
  CHECK_MESSAGE(locked_unread == 0 && args.live_rows == all.count, "%llu unread, %llu rows of %llu",
                (unsigned long long)locked_unread, (unsigned long long)args.live_rows, (unsigned long long)all.count);
  ty_collection_close(watched);
  end_both();
}

/* Saves of more than is copied at a time, and ids that the new id map has no room for. */
static void many_rows(void *context, int stage) {
  enum { ROWS = 1500, BYTES = 2500 };
  static float vectors[ROWS * DIM];
  static char ids[ROWS * 512], texts[ROWS * BYTES];
  static uint64_t id_ends[ROWS], text_ends[ROWS], none[ROWS], keys[ROWS * 2];
  ty_collection *c = beside.handles[0];
  uint64_t at = 0;
  (void)context;
  for (uint32_t i = 0; i < ROWS; i++) {
    at += (uint64_t)sprintf(ids + at, "%s%d-%u",
                            stage == 1 && i == 7 ? "an identifier that is longer than any before, "
                                                   "so that each entry needs more room "
                                                 : "",
                            stage, i);
    id_ends[i] = at;
    memset(texts + i * BYTES, 'a' + (int)(i % 26), BYTES);
    text_ends[i] = (i + 1ull) * BYTES;
    vectors[i * DIM] = (float)i;
  }
  ty_put_args args = {.n = ROWS,
                      .mode = TY_ADD,
                      .vectors = vectors,
                      .ids = (uint8_t *)ids,
                      .id_ends = id_ends,
                      .metas = (uint8_t *)ids,
                      .meta_ends = none,
                      .texts = (uint8_t *)texts,
                      .text_ends = text_ends,
                      .keys = (uint8_t *)ids,
                      .key_ends = keys};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK, "%s", err.message);
}

static void test_large(void) {
  begin_both();
  env->beside = many_rows;
  CHECK_MESSAGE(compact_beside(NULL) == TY_OK, "%s", err.message);
  env->beside = NULL;
  for (int stage = 0; stage < 2; stage++) {
    char id[16];
    uint64_t end = (uint64_t)sprintf(id, "%d-%d", stage, 1499);
    ty_get_args get = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end, .what = TY_WITH_TEXT, ANSWER_IN(answer)};
    CHECK(ty_get(beside.handles[1], &get, &err) == TY_OK);
    const ty_record *r = (const ty_record *)(const void *)answer;
    CHECK(r->found == 1 && r->text_bytes == 2500 && answer[sizeof *r + padded(end)] == 'a' + 1499 % 26);
  }
  ty_stats_args stats;
  CHECK(ty_stats(beside.handles[0], &stats, &err) == TY_OK && stats.values[TY_STAT_DELTA_ROWS] == 3000);
  end_both();
}

/* Another rewrite replaces the base while this one writes its files, and removes them. */
static int (*system_open)(ty_os *os, const char *path, int flags, int mode);
static int open_after_rewrite(ty_os *os, const char *path, int flags, int mode) {
  if (strstr(path, ".slab.tmp-") != NULL && (flags & O_CREAT) == 0) {
    env->os.open = system_open;
    compact(&beside);
  }
  return system_open(os, path, flags, mode);
}

static void test_replaced_while_writing(void) {
  begin_both();
  system_open = env->os.open;
  env->os.open = open_after_rewrite;
  CHECK_MESSAGE(compact_beside(NULL) == TY_BUSY, "%s", err.message);
  CHECK(env->os.open == system_open && strstr(err.message, "replaced meanwhile") != NULL);
  CHECK(all_equal(&beside));
  end_both();
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "beside-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  test_refused();
  test_read_before();
  test_large();
  test_replaced_while_writing();
  each_kind(env, seed * 24, 10, test_random);
  return program_end(env);
}
