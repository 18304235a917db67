/* Turns of conversations: those beside rows, and what they add to the scores of a fused ranking, against a search of
 * all rows written from the description; through changes, rewrites, an index and other processes. */
#include "../../ffi/ty_runtime/calls/turns.h"
#include "../../ffi/ty_runtime/disk/disk.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

#define ROWS     400u
#define SESSIONS 5u
#define PARTS    3u
#define NEAR     32u

typedef struct row {
  bool live;
  uint32_t part, session; /* SESSIONS: none */
  bool numbered, is_long;
  uint32_t turn, words;
  uint64_t order; /* of insertion */
} row;
static row rows[ROWS];
static uint64_t inserted;
static uint32_t turns_used[PARTS][SESSIONS];
static const char *key_name = "session";

/* ---- Changes ---- */

/* Session 0 has numbers in the order of insertion, 1 in another one, 2 has none; 3 has some, and odd ones; 4 is a
 * number itself. */
static void draw(uint32_t i) {
  row *r = &rows[i];
  if (!r->live) { /* else it is replaced, and keeps its place */
    r->part = (uint32_t)(rng() % PARTS);
    r->session = (uint32_t)(rng() % (SESSIONS + 1));
    uint32_t nth = turns_used[r->part][r->session % SESSIONS]++;
    r->turn = r->session % 2 == 0 ? nth : (nth & ~7u) | ((nth * 5 + 3) & 7);
    r->order = inserted++;
  }
  r->live = true;
  r->numbered = r->session < 2 || (r->session == 3 && rng() % 2 == 0);
  r->is_long = rng() % 8 == 0;
  r->words = (uint32_t)(rng() % 64);
}

static void append(ty_buffer *b, const char *format, ...) {
  char piece[256];
  va_list args;
  va_start(args, format);
  ty_buffer_append(b, piece, (uint64_t)vsnprintf(piece, sizeof piece, format, args));
  va_end(args);
}

/* The metadata as a caller may write them. */
static void append_meta(ty_buffer *b, const row *r) {
  static const char *const odd[] = {"{}",
                                    "{\"turn\":3}",
                                    "{\"session\":null,\"turn\":1}",
                                    "{\"session\":[\"a\"]}",
                                    "{\"session\":\"\"}",
                                    "{\"a\":{\"session\":\"s0\"}}",
                                    "[\"session\"]",
                                    "{\"session\":{}}"};
  static const char *const numbers[] = {"null", "\"7\"", "{\"turn\":1}", "true", "[]"};
  if (r->session == SESSIONS) append(b, "%s", odd[r->words % 8]);
  else if (r->session == 4) append(b, "{\"%s\":%u,\"x\":\"y\"}", key_name, r->part);
  else if (r->numbered) append(b, "{\"turn\":%u , \"%s\" : \"s%u\"}", r->turn, key_name, r->session);
  else if (r->words % 2 == 0) append(b, "{\"%s\":\"s%u\"}", key_name, r->session);
  else append(b, "{\"turn\":4,\"%s\":\"s%u\",\"turn\":%s}", key_name, r->session, numbers[r->words % 5]);
}

static void append_text(ty_buffer *b, const row *r) {
  static const char *const words[] = {"keel", "rudder", "mast", "anchor", "tiller", "stern"};
  for (uint32_t w = 0; w < 6; w++)
    if (r->words >> w & 1) append(b, "%s ", words[w]);
  for (uint32_t i = 0; r->is_long && i < 300; i++) append(b, "ox%u, ", i);
}

static void put(ty_collection *c, uint32_t first, uint32_t n) {
  static float vectors[ROWS * DIM];
  static uint64_t ends[4][2 * ROWS];
  ty_buffer parts[4] = {{0}};
  for (uint32_t i = 0; i < n; i++) {
    const row *r = &rows[first + i];
    for (uint32_t k = 0; k < DIM; k++) vectors[i * DIM + k] = (float)((r->words * 7 + k * (r->turn + 3)) % 13) - 6;
    append(&parts[0], "%u", first + i);
    append_text(&parts[1], r);
    append_meta(&parts[2], r);
    append(&parts[3], "p%u", r->part);
    for (uint32_t k = 0; k < 3; k++) ends[k][i] = parts[k].bytes;
    ends[3][2 * i] = ends[3][2 * i + 1] = parts[3].bytes;
  }
  ty_put_args args = {.n = n,
                      .mode = TY_UPSERT,
                      .vectors = vectors,
                      .ids = parts[0].data,
                      .id_ends = ends[0],
                      .texts = parts[1].data,
                      .text_ends = ends[1],
                      .metas = parts[2].data,
                      .meta_ends = ends[2],
                      .keys = parts[3].data,
                      .key_ends = ends[3]};
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
  for (uint32_t k = 0; k < 4; k++) ty_buffer_free(&parts[k]);
}

static void change(ty_collection *c) {
  CHECK(ty_begin(c, &err) == TY_OK);
  uint32_t first = (uint32_t)(rng() % ROWS), n = 1 + (uint32_t)(rng() % 60);
  if (n > ROWS - first) n = ROWS - first;
  if (rng() % 3 == 0) {
    for (uint32_t i = first; i < first + n; i++) {
      char id[16];
      uint64_t end = (uint64_t)sprintf(id, "%u", i);
      ty_delete_args args = {.n = 1, .ids = (const uint8_t *)id, .id_ends = &end};
      CHECK(ty_delete(c, &args, &err) == TY_OK && args.removed == rows[i].live);
      rows[i].live = false;
    }
  } else {
    for (uint32_t i = first; i < first + n; i++) draw(i);
    put(c, first, n);
  }
  CHECK(ty_save(c, &err) == TY_OK);
}

/* ---- The reference ---- */

static uint32_t in_order[ROWS], places[ROWS], live_rows;

static void order_rows(void) {
  live_rows = 0;
  for (uint32_t i = 0; i < ROWS; i++) {
    if (!rows[i].live) continue;
    uint32_t at = live_rows++;
    for (; at > 0 && rows[in_order[at - 1]].order > rows[i].order; at--) in_order[at] = in_order[at - 1];
    in_order[at] = i;
  }
  for (uint32_t at = 0; at < live_rows; at++) places[in_order[at]] = at;
}

static bool precedes(const row *a, const row *b) {
  return a->numbered && b->numbered && a->turn != b->turn ? a->turn < b->turn : a->order < b->order;
}

/* Whether the row is of that session, live, near, and on that side. */
static bool is_candidate(uint32_t of, uint32_t i, int direction) {
  const row *a = &rows[of], *b = &rows[i];
  uint32_t apart = places[of] > places[i] ? places[of] - places[i] : places[i] - places[of];
  return b->live && i != of && b->session == a->session && b->part == a->part && apart <= NEAR &&
         (direction < 0 ? precedes(b, a) : precedes(a, b));
}

/* The turn right beside a row; ROWS: none. */
static uint32_t beside(uint32_t of, int direction) {
  uint32_t best = ROWS;
  for (uint32_t i = 0; i < ROWS && rows[of].session < SESSIONS; i++) {
    if (!is_candidate(of, i, direction)) continue;
    if (best == ROWS || (direction < 0 ? precedes(&rows[best], &rows[i]) : precedes(&rows[i], &rows[best]))) best = i;
  }
  return best;
}

/* ---- Comparisons ---- */

static void check_neighbours(ty_collection *c, const char *when) {
  ty_buffer ids = {0};
  static uint64_t ends[ROWS];
  for (uint32_t i = 0; i < ROWS; i++) {
    append(&ids, "%u", i);
    ends[i] = ids.bytes;
  }
  ty_neighbours_args args = {.n = ROWS, .ids = ids.data, .id_ends = ends, ANSWER_IN(answer)};
  if (!CHECK_MESSAGE(ty_neighbours(c, &args, &err) == TY_OK, "%s: %s", when, err.message)) return;
  uint64_t at = 0, wrong = 0;
  for (uint32_t i = 0; i < 2 * ROWS; i++) {
    uint32_t of = i / 2, want = rows[of].live ? beside(of, i % 2 == 0 ? -1 : 1) : ROWS, got = ROWS;
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    if (r.found) got = (uint32_t)strtoul((const char *)answer + at + sizeof r, NULL, 10);
    at += sizeof r + padded(r.id_bytes);
    /* Where some turns have numbers and others not there is no one order. */
    bool mixed = rows[of].session == 3 && got < ROWS && is_candidate(of, got, i % 2 == 0 ? -1 : 1);
    wrong += got != want && !mixed;
  }
  CHECK_MESSAGE(wrong == 0, "%s: %llu of %u turns are not those beside the row", when, (unsigned long long)wrong,
                2 * ROWS);
  ty_buffer_free(&ids);
}

typedef struct hit {
  uint32_t id;
  double score;
} hit;

static uint32_t ask(ty_collection *c, const char *part, hit *out) {
  float vector[DIM];
  model_query(vector);
  ty_ask_args args = {.by = TY_BY_BOTH,
                      .vector = vector,
                      TEXT_OF("keel anchor stern"),
                      .top_k = 50,
                      .column = part == NULL ? TY_NO_FILTER : 0,
                      .key = (const uint8_t *)part,
                      .key_bytes = part == NULL ? 0 : 2,
                      .dense_weight = 0.3,
                      .target_recall = 1,
                      .what = TY_WITH_ALL,
                      ANSWER_IN(answer)};
  CHECK_MESSAGE(ty_ask(c, &args, &err) == TY_OK, "ask: %s", err.message);
  uint64_t at = 0;
  for (uint64_t i = 0; i < args.out_count; i++) {
    ty_record r;
    memcpy(&r, answer + at, sizeof r);
    out[i] = (hit){(uint32_t)strtoul((const char *)answer + at + sizeof r, NULL, 10), r.score};
    at += sizeof r + padded(r.id_bytes);
  }
  return (uint32_t)args.out_count;
}

/* Rows get of the 30 best .4 of the score of a turn beside them and .16 of one two away, a long one a quarter of that;
 * `plain` holds the same rows without sessions. */
static void check_scores(ty_collection *c, ty_collection *plain, const char *part) {
  static hit before[2 * ROWS], after[2 * ROWS];
  static double want[ROWS];
  static bool listed[ROWS];
  uint32_t n = ask(plain, part, before), heads = n < 30 ? n : 30;
  bool has_turns = false;
  memset(listed, 0, sizeof listed);
  for (uint32_t i = 0; i < n; i++) want[before[i].id] = before[i].score, listed[before[i].id] = true;
  for (uint32_t i = 0; i < heads && i < 10; i++) has_turns |= rows[before[i].id].session < SESSIONS;
  for (uint32_t i = 0; i < heads && has_turns; i++) {
    if (before[i].score <= 0) continue;
    for (int direction = -1; direction <= 1; direction += 2) {
      uint32_t one = beside(before[i].id, direction), two = one < ROWS ? beside(one, direction) : ROWS;
      if (one < ROWS) want[one] += before[i].score * (rows[one].is_long ? 0.1 : 0.4);
      if (two < ROWS) want[two] += before[i].score * (rows[two].is_long ? 0.04 : 0.16);
    }
  }
  uint32_t found = ask(c, part, after), wrong = 0, new = 0;
  for (uint32_t i = 0; i < found; i++) {
    uint32_t id = after[i].id;
    wrong += !rows[id].live || (part != NULL && rows[id].part != (uint32_t)(part[1] - '0'));
    wrong += i > 0 && after[i].score > after[i - 1].score;
    if (!listed[id]) new++;
    else if (rows[id].session != 3) wrong += !(fabs(after[i].score - want[id]) <= 1e-9);
    listed[id] = false;
  }
  for (uint32_t i = 0; i < ROWS; i++) wrong += listed[i];
  CHECK_MESSAGE(wrong == 0 && found == n + new, "%u of %u scores are wrong, of %s", wrong, found,
                part == NULL ? "all" : part);
}

/* ---- Lives ---- */

static void rebuild(ty_collection *c, bool ivf) {
  ty_ivf_args lists = {.min_rows = 4, .target_recall = 0.9};
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE((ivf ? ty_build_ivf(c, &lists, NULL, &err) : ty_compact(c, &compact, NULL, &err)) == TY_OK, "%s",
                err.message);
}

static void test_life(void) {
  FRESH_DIR(dir);
  FRESH_DIR(beside_it);
  memset(rows, 0, sizeof rows);
  memset(turns_used, 0, sizeof turns_used);
  ty_collection *c = open_new(env, dir), *plain = open_new(env, beside_it);
  for (uint32_t round = 0; round < 24; round++) {
    change(c);
    if (round % 3 != 0) continue;
    order_rows();
    ty_collection *other = open_saved(env, dir);
    check_neighbours(c, "in the delta");
    check_neighbours(other, "in another process");
    if (round % 2 == 0) rebuild(other, round % 4 == 0);
    check_neighbours(other, "rewritten");
    check_neighbours(c, "rewritten by another process");
    ty_collection_close(other);
    /* The same rows in the same order, without sessions. */
    key_name = "chat";
    CHECK(ty_begin(plain, &err) == TY_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
      char id[16];
      uint64_t end = (uint64_t)sprintf(id, "%u", i);
      ty_delete_args args = {.n = 1, .ids = (const uint8_t *)id, .id_ends = &end};
      CHECK(ty_delete(plain, &args, &err) == TY_OK);
    }
    for (uint32_t i = 0; i < live_rows; i++) put(plain, in_order[i], 1);
    CHECK(ty_save(plain, &err) == TY_OK);
    key_name = "session";
    check_scores(c, plain, NULL);
    check_scores(c, plain, "p1");
    CHECK(whole(c));
  }
  close_checked(plain);
  close_checked(c);
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "turns-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  for (uint32_t i = 0; i < 3; i++) test_life();
  return program_end(env);
}
