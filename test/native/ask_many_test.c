/* ty_ask_many against ty_ask of one collection that has the rows of all of them; what it refuses; that it leaves no
 * lock behind; and that it runs beside writers. */
#include <pthread.h>
#include <stdatomic.h>

#include "../../ffi/ty_runtime/disk/disk.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/lexical/lexical.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

#define PARTS_MOST 5u
#define ROWS_MOST  400u

/* ---- Rows ---- */

typedef struct rows {
  uint32_t n;
  ty_buffer ids, metas, texts, keys;
  uint64_t id_ends[ROWS_MOST], meta_ends[ROWS_MOST], text_ends[ROWS_MOST], key_ends[2 * ROWS_MOST];
  float vectors[ROWS_MOST * DIM];
} rows;

/* Appends to a run of strings; returns where it ends. */
static uint64_t append(ty_buffer *b, const char *format, ...) {
  char text[64];
  va_list args;
  va_start(args, format);
  int bytes = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ty_buffer_append(b, text, (uint64_t)bytes);
  return b->bytes;
}

/* Row `id` of collection `part`: short or long, of a partition, some of them turns of a conversation. */
static void draw(rows *r, uint32_t part, uint32_t id) {
  static const char *const words[] = {"keel", "rudder", "mast", "anchor", "tiller", "stern", "ballast", "galley"};
  uint32_t n = r->n++, is_long = rng() % 9 == 0, count = is_long ? 260 : 2 + (uint32_t)(rng() % 12);
  r->id_ends[n] = append(&r->ids, "%u-%u", part, id);
  if (rng() % 3 == 0) append(&r->metas, "{\"session\":\"s%u-%u\",\"turn\":%u}", part, id / 6, id);
  r->meta_ends[n] = r->metas.bytes;
  for (uint32_t i = 0; i < count; i++)
    if (rng() % 3 == 0) append(&r->texts, "ox%u ", (unsigned)(rng() % 90));
    else append(&r->texts, "%s%s", words[rng() % 8], rng() % 9 == 0 ? ". " : " ");
  r->text_ends[n] = r->texts.bytes;
  r->key_ends[2 * n] = append(&r->keys, "p%u", (unsigned)(rng() % 3));
  r->key_ends[2 * n + 1] = append(&r->keys, "k%u", (unsigned)(rng() % 2));
  for (uint32_t i = 0; i < DIM; i++) r->vectors[n * DIM + i] = (float)((int)(rng() % 201) - 100) / 64;
}

static void free_rows(rows *r) {
  ty_buffer_free(&r->ids);
  ty_buffer_free(&r->metas);
  ty_buffer_free(&r->texts);
  ty_buffer_free(&r->keys);
}

static void put(ty_collection *c, const rows *r) {
  ty_put_args args = {.n = r->n,
                      .mode = TY_UPSERT,
                      .vectors = r->vectors,
                      .ids = r->ids.data,
                      .id_ends = r->id_ends,
                      .metas = r->metas.data,
                      .meta_ends = r->meta_ends,
                      .texts = r->texts.data,
                      .text_ends = r->text_ends,
                      .keys = r->keys.data,
                      .key_ends = r->key_ends};
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK,
                "put: %s", err.message);
}

static void delete(ty_collection *c, const char *id) {
  uint64_t end = strlen(id);
  ty_delete_args args = {.n = 1, .ids = (const uint8_t *)id, .id_ends = &end};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &args, &err) == TY_OK && ty_save(c, &err) == TY_OK);
}

static void compact(ty_collection *c) {
  ty_compact_args args = {0};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &args, NULL, &err) == TY_OK);
}

/* ---- Collections, and one with the rows of all ---- */

typedef struct library {
  uint64_t n;
  ty_collection *parts[PARTS_MOST];
  uint32_t counts[PARTS_MOST];
  ty_collection *one;
  char dirs[PARTS_MOST][320];
} library;

static ty_collection *saved(char dir[320]) {
  fresh_dir(dir);
  ty_collection *c = open_new(env, dir);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  return c;
}

/* Adds a collection of so many rows; `of_one_kind`: all of them k0. */
static void add(library *l, uint32_t count, bool of_one_kind) {
  rows r = {0};
  uint32_t i = (uint32_t)l->n++;
  l->parts[i] = saved(l->dirs[i]);
  l->counts[i] = count;
  for (uint32_t id = 0; id < count; id++) {
    draw(&r, i, id);
    if (of_one_kind) r.keys.data[r.keys.bytes - 1] = '0';
  }
  if (count > 0) put(l->parts[i], &r);
  if (count > 0) put(l->one, &r);
  free_rows(&r);
}

static void make(library *l, uint64_t n) {
  char dir[320];
  *l = (library){.one = saved(dir)};
  while (l->n < n) add(l, l->n == 1 ? 0 : 1 + (uint32_t)(rng() % ROWS_MOST), false);
}

/* Deletes rows, and rewrites some of the bases. */
static void change(library *l) {
  for (uint32_t i = 0; i < l->n; i++) {
    for (uint32_t k = l->counts[i] / 8; k > 0; k--) {
      char id[32];
      snprintf(id, sizeof id, "%u-%u", i, (unsigned)(rng() % l->counts[i]));
      delete(l->parts[i], id);
      delete(l->one, id);
    }
    if (rng() % 2 == 0) compact(l->parts[i]);
  }
  if (rng() % 2 == 0) compact(l->one);
}

static void close_all(library *l) {
  for (uint32_t i = 0; i < l->n; i++) close_checked(l->parts[i]);
  close_checked(l->one);
}

/* ---- Asking ---- */

static ty_ask_args asking(const float *vector, const char *text, const char *key, uint8_t *out, uint64_t room) {
  return (ty_ask_args){.by = TY_BY_BOTH,
                       .vector = vector,
                       .text = (const uint8_t *)text,
                       .text_bytes = strlen(text),
                       .top_k = 20,
                       .column = key == NULL     ? TY_NO_FILTER
                                 : key[0] == 'p' ? 0
                                                 : 1,
                       .key = (const uint8_t *)key,
                       .key_bytes = key == NULL ? 0 : strlen(key),
                       .target_recall = 1,
                       .dense_weight = 0.3,
                       .weighted = 1,
                       .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_SCORES | TY_WITH_TIMES | TY_WITH_EXPLAIN |
                               TY_WITH_WEIGHTS,
                       .out = out,
                       .out_capacity = room};
}

static uint64_t trouble[PARTS_MOST];
static ty_many_args many_of(library *l, const uint64_t *columns) {
  return (ty_many_args){.n = l->n, .collections = l->parts, .columns = columns, .trouble = trouble};
}

/* A record's bytes. */
static uint64_t record_bytes(const ty_record *r) {
  uint64_t meta = r->meta_bytes == TY_ABSENT ? 0 : r->meta_bytes, text = r->text_bytes == TY_ABSENT ? 0 : r->text_bytes;
  return sizeof *r + padded(r->id_bytes) + padded(meta) + padded(text) + padded(r->vector_bytes) +
         padded(r->extra_bytes);
}

static uint8_t other[1 << 20] __attribute__((aligned(8)));

/* Compares the two answers: all but the rows' numbers, and with one collection, which is the same, these too. */
static bool same(const library *l, const ty_ask_args *a, const ty_ask_args *b) {
  uint64_t at = 0;
  bool good = a->out_count == b->out_count && a->words == b->words && a->known == b->known &&
              a->replaced == b->replaced && a->weights == b->weights && a->fused == b->fused &&
              a->trouble == b->trouble;
  if (!good) return false;
  uint64_t places_at = 0;
  for (uint64_t i = 0; i < b->out_count; i++) {
    ty_record x, y;
    memcpy(&x, answer + places_at, sizeof x);
    memcpy(&y, other + at, sizeof y);
    if (l->n > 1) x.row = y.row, x.birth = y.birth;
    if (memcmp(&x, &y, sizeof x) != 0) return false;
    uint64_t bytes = record_bytes(&y);
    if (memcmp(answer + places_at + sizeof x, other + at + sizeof y, (size_t)(bytes - sizeof y)) != 0) return false;
    at += bytes;
    places_at += bytes;
  }
  /* The index of a row's collection is the number that its id begins with. */
  const uint8_t *record = answer;
  for (uint64_t i = 0; i < a->out_count; i++) {
    ty_record x;
    uint32_t place;
    memcpy(&x, record, sizeof x);
    memcpy(&place, answer + places_at + 4 * i, 4);
    good &= l->n == 1 || place == strtoul((const char *)record + sizeof x, NULL, 10);
    record += record_bytes(&x);
  }
  uint64_t rest = b->out_bytes - at;
  return good && a->out_bytes - places_at == rest + padded(4 * a->out_count) &&
         memcmp(answer + places_at + padded(4 * a->out_count), other + at, (size_t)rest) == 0;
}

static const char *const QUESTIONS[] = {"keel of the mast",
                                        "ox7 ox8 anchor",
                                        "ancor ballst", /* misspelt */
                                        "nobodysaidthis",
                                        "",
                                        "keel rudder mast anchor tiller stern ballast galley ox1 ox2 ox3 ox4"};

static void compare(library *l) {
  static const char *const keys[] = {NULL, "p0", "p2", "k1", "p9", "k9"};
  float vector[DIM];
  for (uint32_t i = 0; i < sizeof QUESTIONS / sizeof *QUESTIONS; i++) {
    for (uint32_t k = 0; k < sizeof keys / sizeof *keys; k++) {
      uint64_t columns[PARTS_MOST];
      model_query(vector);
      ty_ask_args a = asking(vector, QUESTIONS[i], keys[k], answer, sizeof answer), b = a;
      b.out = other;
      for (uint64_t p = 0; p < l->n; p++) columns[p] = a.column;
      ty_many_args many = many_of(l, columns);
      a.top_k = b.top_k = i % 2 == 0 ? 20 : 1 + rng() % 500;
      if (rng() % 4 == 0) a.what = b.what = a.what | TY_WITH_ALL;
      CHECK_MESSAGE(ty_ask_many(&many, &a, NULL, &err) == TY_OK, "ask many: %s", err.message);
      CHECK_MESSAGE(ty_ask(l->n == 1 ? l->parts[0] : l->one, &b, &err) == TY_OK, "ask: %s", err.message);
      CHECK_MESSAGE(same(l, &a, &b), "%u collections, question %u, key %s: another answer", (unsigned)l->n, i,
                    keys[k] == NULL ? "none" : keys[k]);
      CHECK(many.failed == l->n);
    }
  }
}

static void compare_passages(library *l) {
  static const uint8_t text[] = "The keel is long. Ox7 has no rudder, and an anchor was lost. Nothing else.";
  const uint32_t questions = sizeof QUESTIONS / sizeof *QUESTIONS;
  uint64_t end = sizeof text - 1, columns[PARTS_MOST];
  for (uint32_t i = 0; i < 2 * questions; i++) { /* without a filter, then with one */
    const char *question = QUESTIONS[i % questions];
    ty_passage_place x, y;
    ty_many_args many = many_of(l, columns);
    ty_passages_args a = {.text = (const uint8_t *)question,
                          .text_bytes = strlen(question),
                          .column = i < questions ? TY_NO_FILTER : 1,
                          .key = (const uint8_t *)"k1",
                          .key_bytes = 2,
                          .n = 1,
                          .texts = text,
                          .text_ends = &end,
                          .places = &x};
    ty_passages_args b = a;
    b.places = &y;
    for (uint64_t p = 0; p < l->n; p++) columns[p] = a.column;
    CHECK(ty_passages_many(&many, &a, &err) == TY_OK && ty_passages(l->one, &b, &err) == TY_OK);
    CHECK(memcmp(&x, &y, sizeof x) == 0);
  }
}

static void answers(void) {
  for (uint64_t n = 1; n <= PARTS_MOST; n += 2) {
    library l;
    make(&l, n);
    compare(&l);
    change(&l);
    compare(&l);
    compare_passages(&l);
    close_all(&l);
  }
}

/* Under a filter on a column that is not the partition key all rows count, also those of a collection in which no row
 * has the value: in the second one none ever had it, and the third one's rewrite forgets it. */
static void value_of_some(void) {
  library l;
  char dir[320];
  l = (library){.one = saved(dir)};
  add(&l, 60, false);
  add(&l, 60, true);
  add(&l, 1, true);
  compare(&l);
  compare_passages(&l);
  rows r = {0};
  draw(&r, 2, 1);
  r.keys.data[r.keys.bytes - 1] = '1';
  put(l.parts[2], &r);
  put(l.one, &r);
  free_rows(&r);
  compare(&l);
  delete(l.parts[2], "2-1");
  delete(l.one, "2-1");
  compare(&l);
  compact(l.parts[2]);
  compare(&l);
  close_all(&l);
}

/* ---- Failures ---- */

/* Whether no lock of a collection is held. */
static bool is_free(library *l) {
  bool free = true;
  for (uint64_t i = 0; i < l->n; i++) {
    bool own = pthread_rwlock_trywrlock(&l->parts[i]->lock) == 0;
    if (own) pthread_rwlock_unlock(&l->parts[i]->lock);
    free &= own;
  }
  return free;
}

static void failures(void) {
  library l;
  float vector[DIM] = {1};
  uint64_t columns[PARTS_MOST] = {TY_NO_FILTER, TY_NO_FILTER, TY_NO_FILTER};
  make(&l, 3);
  ty_many_args many = many_of(&l, columns);
  ty_ask_args a = asking(vector, "keel", NULL, answer, sizeof answer), good = a;
  ty_progress progress = {.cancel = 1};
  CHECK(ty_ask_many(&many, &a, &progress, &err) == TY_CANCELLED && many.failed == 3 && is_free(&l));
  a.most_bytes = 1;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_LARGE && many.failed == 3 && is_free(&l));
  a = good;
  a.out_capacity = 8;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_BUFFER && a.out_bytes > 8 && many.failed == 3 && is_free(&l));
  a.out_capacity = a.out_bytes;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_OK && is_free(&l));
  a = good;
  a.by = TY_BY_WORDS;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_INVALID && is_free(&l));
  a = good;
  columns[2] = 9;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_INVALID && many.failed == 2 && is_free(&l));
  columns[2] = TY_NO_FILTER;
  ty_collection *twice[] = {l.parts[0], l.parts[1], l.parts[0]};
  many.collections = twice;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_INVALID && is_free(&l));
  many.collections = l.parts;
  many.n = 0;
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_INVALID);
  many.n = 3;
  remove_tree(l.dirs[1]);
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_NOT_FOUND && many.failed == 1 && is_free(&l));
  ty_collection *others[] = {l.parts[0], l.parts[2]};
  many = (ty_many_args){.n = 2, .collections = others, .columns = columns, .trouble = trouble};
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_OK && a.out_count > 0);
  ty_collection_close(l.parts[1]);
  close_checked(l.parts[0]);
  close_checked(l.parts[2]);
  close_checked(l.one);
}

/* One whose lexical index is damaged has its rows ranked by vector alone. */
static void damaged_index(void) {
  library l;
  float vector[DIM] = {1};
  uint64_t columns[PARTS_MOST] = {TY_NO_FILTER, TY_NO_FILTER, TY_NO_FILTER}, listed = 0;
  make(&l, 3);
  compact(l.parts[2]);
  compact(l.parts[0]);
  ty_lexical_found_damage(l.parts[2]->lexical_index);
  ty_many_args many = many_of(&l, columns);
  ty_ask_args a = asking(vector, "keel mast ox7", NULL, answer, sizeof answer);
  a.top_k = 2 * ROWS_MOST; /* all: the third may have one row, which need not be among the best */
  CHECK(ty_ask_many(&many, &a, NULL, &err) == TY_OK && a.fused == 1);
  CHECK(a.trouble == TY_TROUBLE_WORDS && trouble[0] == 0 && trouble[1] == 0 && trouble[2] == TY_TROUBLE_WORDS);
  const uint8_t *at = answer;
  for (uint64_t i = 0; i < a.out_count; i++) {
    ty_record r;
    ty_scores scores;
    memcpy(&r, at, sizeof r);
    bool is_third = at[sizeof r] == '2';
    memcpy(&scores, at + record_bytes(&r) - padded(r.extra_bytes) + sizeof(ty_times), sizeof scores);
    CHECK(!is_third || isnan(scores.words));
    listed += is_third;
    at += record_bytes(&r);
  }
  CHECK(listed > 0);
  close_all(&l);
}

/* ---- Threads ---- */

typedef struct stage {
  library *l;
  _Atomic bool ends;
} stage;

/* Asks all of them, in one order or the other. */
static void *ask_on(void *context, bool backwards) {
  stage *s = context;
  ty_error own;
  float vector[DIM] = {1};
  static const uint64_t columns[PARTS_MOST] = {TY_NO_FILTER, TY_NO_FILTER, TY_NO_FILTER};
  ty_collection *parts[3] = {s->l->parts[0], s->l->parts[1], s->l->parts[2]};
  if (backwards) parts[0] = s->l->parts[2], parts[2] = s->l->parts[0];
  uint8_t *out = malloc(1 << 20);
  for (uint32_t i = 0; i < 60; i++) {
    ty_many_args many = {.n = 3, .collections = parts, .columns = columns};
    ty_ask_args a = asking(vector, "keel mast", NULL, out, 1 << 20);
    ty_status status = ty_ask_many(&many, &a, NULL, &own);
    CHECK_MESSAGE(status == TY_OK || status == TY_BUSY, "ask: %s", own.message);
  }
  free(out);
  s->ends = true;
  return NULL;
}
static void *ask_forwards(void *context) { return ask_on(context, false); }
static void *ask_backwards(void *context) { return ask_on(context, true); }

static _Atomic uint32_t done_count;
static void note_done(uint32_t token, int32_t status) {
  CHECK(status == TY_OK);
  done_count += token;
}

static void beside_writers(void) {
  library l;
  make(&l, 3);
  stage s = {.l = &l};
  pthread_t threads[2];
  CHECK(pthread_create(&threads[0], NULL, ask_forwards, &s) == 0);
  CHECK(pthread_create(&threads[1], NULL, ask_backwards, &s) == 0);
  for (uint32_t i = 0; !s.ends || i < 10; i++) {
    rows r = {0};
    draw(&r, i % 3, i % ROWS_MOST);
    put(l.parts[i % 3], &r);
    free_rows(&r);
    if (i % 16 == 5) compact(l.parts[i % 3]);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK(is_free(&l));
  /* Closing waits for a search that was handed to a worker. */
  float vector[DIM] = {1};
  static const uint64_t columns[PARTS_MOST] = {TY_NO_FILTER, TY_NO_FILTER, TY_NO_FILTER};
  ty_many_args many = many_of(&l, columns);
  ty_ask_args a = asking(vector, "keel mast", NULL, answer, sizeof answer);
  CHECK(ty_submit_many(&many, &a, NULL, &err, note_done, 1) == TY_OK);
  close_all(&l);
  while (done_count == 0) sched_yield();
  CHECK(a.out_count > 0);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "ask-many", 2, &seed, &env)) return 2;
  rng_state = seed;
  env->weighed_from = 40;
  answers();
  value_of_some();
  failures();
  damaged_index();
  beside_writers();
  return program_end(env);
}
