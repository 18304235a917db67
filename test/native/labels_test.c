/* Labels: rows and questions against BM25 computed from the texts, through puts, deletions, saves, rewrites and
 * reopening; the bounds of a put's and a question's labels; damaged stored terms. */
#include "../../ffi/ty_runtime/os/numbers.h"
#include "../../ffi/ty_runtime/disk/disk.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/lexical/labels.h"
#include "../../ffi/ty_runtime/lexical/tally.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;
static uint64_t state;

#define ROWS   160u
#define WORDS  12u
#define LABELS 9u
#define K1     1.2
#define B      0.6

/* One is another's folded form, one is a word of the texts, one is not UTF-8. */
static const char *const labels[LABELS] = {"Wombat",   "wombat", "keel",   "parse_URL", "parseURL",
                                           "\xff\xfe", "a b",    "deinen", "x"};
static const char *const words[WORDS] = {"keel",  "rudder", "mast",    "anchor", "tiller",  "the",
                                         "stern", "hatch",  "ballast", "wombat", "gunwale", "x"};

typedef struct row {
  bool live;
  uint32_t part, text_words[24], text_count;
  uint32_t labels; /* a bit each */
} row;
static row rows[ROWS];

/* ---- Changes ---- */

static void draw(row *r) {
  *r = (row){.live = true, .part = (uint32_t)(ty_random(&state) % 3), .text_count = (uint32_t)(ty_random(&state) % 24)};
  if (ty_random(&state) % 10 == 0) r->text_count = 0;
  /* The last words are rare. */
  for (uint32_t i = 0; i < r->text_count; i++)
    r->text_words[i] = (uint32_t)(ty_random(&state) % (1 + ty_random(&state) % WORDS));
  if (ty_random(&state) % 4 != 0) r->labels = (uint32_t)(ty_random(&state) & ty_random(&state)) % (1u << LABELS);
}

static void append_labels(ty_buffer *out, uint32_t bits) {
  for (uint32_t l = 0; l < LABELS; l++) {
    for (uint64_t n = bits >> l & 1 ? 1 + ty_random(&state) % 2 : 0; n > 0; n--) /* some twice */
      ty_buffer_append(out, labels[l], strlen(labels[l]) + 1);
  }
}

static void put_rows(ty_collection *c, uint32_t first, uint32_t n) {
  static float vectors[ROWS * DIM];
  static uint64_t ends[6][2 * ROWS];
  ty_buffer ids = {0}, texts = {0}, keys = {0}, named = {0};
  bool any = ty_random(&state) % 8 != 0, twice = n > 1 && ty_random(&state) % 3 == 0;
  for (uint32_t i = 0; i < n; i++) {
    row passing, *r = twice && i == 0 ? &passing : &rows[first + i]; /* the last row of an id wins */
    char text[16];
    draw(r);
    if (!any) r->labels = 0;
    ty_buffer_append(&ids, text, (uint64_t)snprintf(text, sizeof text, "%u", first + (r == &passing ? n - 1 : i)));
    for (uint32_t k = 0; k < r->text_count; k++)
      ty_buffer_append(&texts, text, (uint64_t)snprintf(text, sizeof text, "%s ", words[r->text_words[k]]));
    ty_buffer_append(&keys, text, (uint64_t)snprintf(text, sizeof text, "p%u", r->part));
    append_labels(&named, r->labels);
    ends[0][i] = ids.bytes;
    ends[1][i] = texts.bytes;
    ends[2][2 * i] = ends[2][2 * i + 1] = keys.bytes;
    ends[3][i] = named.bytes;
  }
  ty_put_args args = {.n = n,
                      .mode = TY_UPSERT,
                      .flags = TY_PUT_DROP_TEXT,
                      .vectors = vectors,
                      .ids = ids.data,
                      .id_ends = ends[0],
                      .texts = texts.data,
                      .text_ends = ends[1],
                      .keys = keys.data,
                      .key_ends = ends[2],
                      .labels = named.data,
                      .label_ends = any ? ends[3] : NULL};
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
  ty_buffer_free(&ids);
  ty_buffer_free(&texts);
  ty_buffer_free(&keys);
  ty_buffer_free(&named);
}

static void delete_row(ty_collection *c, uint32_t i) {
  char id[16];
  uint64_t end = (uint64_t)snprintf(id, sizeof id, "%u", i);
  ty_delete_args args = {.n = 1, .ids = (const uint8_t *)id, .id_ends = &end};
  CHECK(ty_delete(c, &args, &err) == TY_OK && args.removed == rows[i].live);
  rows[i].live = false;
}

/* ---- The truth ---- */

typedef struct truth {
  double score[ROWS], label_share[ROWS][LABELS], most;
  double rarity[WORDS]; /* of the words asked for */
  bool held[WORDS];
  uint32_t ranked, known;
} truth;

static double idf_of(double docs, double df) { return ty_ln(1 + (docs - df + 0.5) / (df + 0.5)); }

static uint32_t times_in(const row *r, uint32_t word) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < r->text_count; i++) n += r->text_words[i] == word;
  return n;
}

static bool seen(const row *r, int part) { return r->live && (part < 0 || r->part == (uint32_t)part); }

static void take_worth(void *worth, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)hash, (void)form;
  *(double *)worth = (double)ame_kernel_table()->term_worth(term, bytes);
}

/* Each of the words is one term of its own. */
static void weigh(const uint32_t *said, uint32_t asked, double share, int part, truth *t) {
  double docs = 0, tokens = 0;
  *t = (truth){0};
  for (uint32_t i = 0; i < ROWS; i++) {
    if (!seen(&rows[i], part)) continue;
    docs++;
    tokens += rows[i].text_count;
  }
  double mean = tokens == 0 ? 1 : tokens / docs;
  for (uint32_t w = 0; w < WORDS + LABELS; w++) {
    bool label = w >= WORDS;
    double df = 0, worth = 1;
    if (label ? (asked >> (w - WORDS) & 1) == 0 : said[w] == 0) continue;
    for (uint32_t i = 0; i < ROWS; i++)
      df += seen(&rows[i], part) && (label ? rows[i].labels >> (w - WORDS) & 1 : times_in(&rows[i], w)) > 0;
    if (!label) ame_kernel_table()->tokenize((const uint8_t *)words[w], strlen(words[w]), take_worth, &worth);
    if (!label) t->rarity[w] = idf_of(docs, df) * worth, t->held[w] = df > 0;
    if (df == 0) continue;
    t->known++;
    double weight = idf_of(docs, df) * (label ? share : worth * said[w] * 6 / (said[w] + 5.0)) * (K1 + 1);
    t->most += weight;
    for (uint32_t i = 0; i < ROWS; i++) {
      double tf = label ? rows[i].labels >> (w - WORDS) & 1 : times_in(&rows[i], w);
      if (!seen(&rows[i], part) || tf == 0) continue;
      double part_of = weight * tf / (tf + K1 * (1 - B + B * rows[i].text_count / mean));
      t->score[i] += part_of;
      if (label) t->label_share[i][w - WORDS] = part_of;
    }
  }
  for (uint32_t i = 0; i < ROWS; i++) t->ranked += t->score[i] > 0;
}

/* ---- Asking ---- */

static uint8_t answer[1 << 20] __attribute__((aligned(8)));

/* The shares of the labels of one row, and their sum with those of the words. */
static bool check_shares(const uint8_t *at, const uint8_t *end, const truth *t, uint32_t id, double score) {
  double sum = 0, close = 1e-5 * t->most;
  bool good = true;
  uint32_t found = 0, held = 0;
  while (at < end) {
    ty_term term;
    memcpy(&term, at, sizeof term);
    at += sizeof term;
    sum += term.share;
    for (uint32_t l = 0; l < LABELS; l++) {
      bool is = strlen(labels[l]) == term.term_bytes && memcmp(labels[l], at, term.term_bytes) == 0;
      if (!is || fabs(term.share - t->label_share[id][l]) > close) continue;
      found += term.tf == 1;
    }
    at += (term.term_bytes + 7) & ~7u;
  }
  for (uint32_t l = 0; l < LABELS; l++) held += t->label_share[id][l] > 0;
  good = at == end && sum == score && found >= held;
  return good;
}

/* The weights at the end of an answer: each of the words once, in the order in which it was said first. */
static void check_weights(const ty_ask_args *a, const uint32_t *order, const truth *t) {
  const uint8_t *at = answer + a->out_bytes - a->weights * sizeof(ty_weight);
  bool given[WORDS] = {false};
  uint64_t n = 0;
  for (; *order != UINT32_MAX; order++) {
    ty_weight w;
    uint32_t hash;
    uint64_t end = strlen(words[*order]), out_end;
    if (given[*order]) continue;
    given[*order] = true;
    CHECK(n++ < a->weights);
    memcpy(&w, at, sizeof w);
    at += sizeof w;
    ty_terms_args args = {.n = 1,
                          .texts = (const uint8_t *)words[*order],
                          .text_ends = &end,
                          .out = &hash,
                          .out_capacity = 1,
                          .out_ends = &out_end};
    CHECK(ty_terms(env, &args, &err) == TY_OK && w.hash == hash);
    CHECK_MESSAGE(w.known == t->held[*order] && fabs(w.weight - t->rarity[*order]) <= 1e-9 * w.weight,
                  "%s: weight %g, known %u, not %g, %d", words[*order], w.weight, w.known, t->rarity[*order],
                  t->held[*order]);
  }
  CHECK(n == a->weights && n == a->words);
}

static void ask(ty_collection *c, int part) {
  static float vector[DIM];
  uint32_t said[WORDS] = {0}, asked = (uint32_t)(ty_random(&state) & ty_random(&state)) % (1u << LABELS);
  double share = 0.01 + (double)(ty_random(&state) % 400) / 100;
  char text[256] = "", key[4];
  uint32_t order[8];
  ty_buffer named = {0};
  if (ty_random(&state) % 5 == 0) asked = 0;
  uint64_t count = ty_random(&state) % 5;
  for (uint64_t i = 0; i < count; i++) {
    uint32_t w = order[i] = (uint32_t)(ty_random(&state) % WORDS);
    said[w]++;
    strcat(strcat(text, words[w]), " ");
  }
  order[count] = UINT32_MAX;
  append_labels(&named, asked);
  ty_buffer_append(&named, "nobody has this one", 20);
  truth t;
  weigh(said, asked, share, part, &t);
  ty_ask_args args = {.by = TY_BY_WORDS,
                      .text = (const uint8_t *)text,
                      .text_bytes = strlen(text),
                      .top_k = ROWS,
                      .column = part < 0 ? TY_NO_FILTER : 0,
                      .key = (const uint8_t *)key,
                      .key_bytes = (uint64_t)snprintf(key, sizeof key, "p%d", part),
                      .what = TY_WITH_EXPLAIN | TY_WITH_WEIGHTS,
                      .labels = named.data,
                      .label_bytes = named.bytes,
                      .label_share = share,
                      ANSWER_IN(answer)};
  CHECK_MESSAGE(ty_ask(c, &args, &err) == TY_OK, "ask: %s", err.message);
  CHECK_MESSAGE(args.out_count == t.ranked && args.known == t.known && args.replaced == 0,
                "'%s', labels %x, part %d: %d rows and %d known, not %d and %d", text, asked, part, (int)args.out_count,
                (int)args.known, (int)t.ranked, (int)t.known);
  double before = INFINITY;
  const uint8_t *at = answer;
  for (uint64_t i = 0; i < args.out_count; i++) {
    ty_record r;
    memcpy(&r, at, sizeof r);
    uint32_t id = (uint32_t)atoi((const char *)at + sizeof r);
    at += sizeof r + ((r.id_bytes + 7) & ~7u);
    CHECK_MESSAGE(id < ROWS && fabs(r.score - t.score[id]) <= 1e-5 * t.most && r.score <= before,
                  "'%s', labels %x, part %d: row %u has %g, not %g", text, asked, part, id, r.score, t.score[id]);
    CHECK(check_shares(at, at + r.extra_bytes, &t, id, r.score));
    before = r.score;
    at += (r.extra_bytes + 7) & ~7u;
  }
  CHECK((uint64_t)(at - answer) + args.weights * sizeof(ty_weight) == args.out_bytes);
  check_weights(&args, order, &t);
  args.by = TY_BY_BOTH;
  args.vector = vector;
  args.target_recall = 1;
  args.dense_weight = 0;
  args.top_k = 1;
  args.what = TY_WITH_SCORES;
  CHECK(ty_ask(c, &args, &err) == TY_OK && (args.known > 0) == (t.known > 0) && args.weights == 0);
  if (t.ranked > 0) {
    ty_scores scores;
    memcpy(&scores, answer + sizeof(ty_record) + 8, sizeof scores);
    CHECK(scores.words > 0);
  }
  ty_buffer_free(&named);
}

static void build(ty_collection *c) {
  ty_lexical_args args = {K1, B};
  CHECK_MESSAGE(ty_build_lexical(c, &args, NULL, &err) == TY_OK, "build: %s", err.message);
}

static void begin(ty_collection *c) { CHECK_MESSAGE(ty_begin(c, &err) == TY_OK, "begin: %s", err.message); }

/* ---- The index, rewritten ---- */

static ty_slice index_of(const ty_collection *c) {
  const ty_file *f = &c->store->files.lexical;
  return (ty_slice){f->map + sizeof(ty_slab_header) + sizeof(ty_slab_section),
                    f->bytes - sizeof(ty_slab_header) - sizeof(ty_slab_section)};
}

static void put_row_like(ty_collection *to, const ty_collection *c, uint64_t at) {
  static float vector[DIM];
  const row *r = NULL;
  ty_unpack u;
  ty_unpack_init(&u);
  ty_slice id = ty_row_id(&c->base, at, &u);
  char number[16] = {0}, key[4];
  memcpy(number, id.data, (size_t)id.bytes);
  r = &rows[atoi(number)];
  ty_buffer text = {0}, named = {0};
  for (uint32_t k = 0; k < r->text_count; k++) {
    ty_buffer_append(&text, words[r->text_words[k]], strlen(words[r->text_words[k]]));
    ty_buffer_append(&text, " ", 1);
  }
  append_labels(&named, r->labels);
  uint64_t key_bytes = (uint64_t)snprintf(key, sizeof key, "p%u", r->part), keys[2] = {key_bytes, key_bytes};
  ty_put_args args = {.n = 1,
                      .mode = TY_UPSERT,
                      .flags = TY_PUT_DROP_TEXT,
                      .vectors = vector,
                      .ids = id.data,
                      .id_ends = &id.bytes,
                      .texts = text.data,
                      .text_ends = &text.bytes,
                      .keys = (const uint8_t *)key,
                      .key_ends = keys,
                      .labels = named.data,
                      .label_ends = &named.bytes};
  CHECK_MESSAGE(ty_put(to, &args, NULL, &err) == TY_OK, "put: %s", err.message);
  ty_buffer_free(&text);
  ty_buffer_free(&named);
}

/* A rewrite of a collection that was rewritten often, whose terms are in its index only, against one of the same rows
 * that were just tokenised: the same bytes. */
static uint32_t compared;
static void check_rewritten(ty_collection *c) {
  FRESH_DIR(dir);
  ty_compact_args compact = {0};
  ty_buffer before = {0};
  ty_collection *fresh = open_new(env, dir);
  begin(c);
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK);
  ty_buffer_append(&before, index_of(c).data, index_of(c).bytes);
  begin(c);
  CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK);
  CHECK(index_of(c).bytes == before.bytes && memcmp(index_of(c).data, before.data, before.bytes) == 0);
  begin(fresh);
  for (uint64_t number = 0; number < c->base.count; number++) {
    for (uint64_t at = 0; at < c->base.count; at++) {
      if (c->base.row[at] == c->store->first_row + number) put_row_like(fresh, c, at);
    }
  }
  build(fresh);
  bool same = fresh->base.count == c->base.count; /* partitions may lie in another order there */
  for (uint64_t at = 0; at < c->base.count && same; at++)
    same = fresh->base.row[at] - fresh->store->first_row == c->base.row[at] - c->store->first_row;
  if (same)
    CHECK(index_of(fresh).bytes == before.bytes && memcmp(index_of(fresh).data, before.data, before.bytes) == 0);
  compared += same;
  ty_buffer_free(&before);
  close_checked(fresh);
}

/* Without the index its rows can be searched and replaced, and a rewrite is refused as long as one of them lives. */
static void check_lost(ty_collection *c) {
  char dir[320], path[400];
  ty_compact_args compact = {0};
  ty_stats_args stats;
  fresh_dir(dir);
  CHECK(mkdir(dir, 0700) == 0);
  begin(c);
  CHECK_MESSAGE(ty_copy(c, &(ty_copy_args){.dir = dir}, NULL, &err) == TY_OK, "copy: %s", err.message);
  ty_rollback(c);
  snprintf(path, sizeof path, "%s/%s", dir, c->store->files.lexical.name);
  CHECK(remove(path) == 0);
  ty_collection *lost = open_saved(env, dir);
  CHECK(ty_stats(lost, &stats, &err) == TY_OK);
  uint64_t terms = 0;
  for (uint64_t at = 0; at < c->base.count; at++) terms += ty_row_has_terms(&c->base, at);
  CHECK(terms > 0 && stats.values[TY_STAT_LEXICAL_LOST] == terms && stats.values[TY_STAT_LEXICAL_BUILT] == 0);
  begin(lost);
  CHECK(ty_compact(lost, &compact, NULL, &err) == TY_INDEX && strstr(err.message, "put these rows again") != NULL);
  begin(lost);
  for (uint64_t at = 0; at < c->base.count; at++) put_row_like(lost, c, at);
  CHECK_MESSAGE(ty_save(lost, &err) == TY_OK, "save: %s", err.message);
  CHECK(ty_stats(lost, &stats, &err) == TY_OK && stats.values[TY_STAT_LEXICAL_LOST] == 0);
  begin(lost);
  build(lost);
  for (int part = -1; part < 4; part++) ask(lost, part);
  close_checked(lost);
}

static void test_random_rows(void) {
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  static row before[ROWS];
  memset(rows, 0, sizeof rows);
  begin(c);
  put_rows(c, 0, ROWS / 2);
  build(c);
  for (uint32_t round = 0; round < 60; round++) {
    uint32_t first = (uint32_t)(ty_random(&state) % (ROWS - 20)), kind = (uint32_t)(ty_random(&state) % 6);
    memcpy(before, rows, sizeof rows);
    begin(c);
    if (kind <= 2) put_rows(c, first, 1 + (uint32_t)(ty_random(&state) % 20));
    if (kind >= 2) {
      for (uint32_t i = first; i < first + 6; i++) delete_row(c, i);
    }
    if (ty_random(&state) % 4 == 0) ask(c, -1); /* before the save */
    ty_compact_args compact = {0};
    if (kind == 4) CHECK(ty_compact(c, &compact, NULL, &err) == TY_OK);
    else if (kind == 5) ty_rollback(c);
    else CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "save: %s", err.message);
    if (kind == 5) memcpy(rows, before, sizeof rows);
    if (kind == 3) {
      close_checked(c);
      c = open_saved(env, dir);
    }
    for (int part = -1; part < 4; part++) ask(c, part);
    CHECK_MESSAGE(ty_validate(c, &err) == TY_OK, "%s", err.message);
  }
  check_rewritten(c);
  check_lost(c);
  close_checked(c);
}

/* ---- Bounds ---- */

static ty_status put_one(ty_collection *c, const void *named, uint64_t bytes, uint64_t flags) {
  static float vector[DIM];
  static const uint64_t id_end = 1, none = 0, keys[2] = {1, 1}, text_end = 4;
  ty_put_args args = {.n = 1,
                      .mode = TY_UPSERT,
                      .flags = flags,
                      .vectors = vector,
                      .ids = (const uint8_t *)"1",
                      .id_ends = &id_end,
                      .metas = (const uint8_t *)"",
                      .meta_ends = &none,
                      .texts = (const uint8_t *)"keel",
                      .text_ends = &text_end,
                      .keys = (const uint8_t *)"p",
                      .key_ends = keys,
                      .labels = named,
                      .label_ends = &bytes};
  return ty_put(c, &args, NULL, &err);
}

static ty_status ask_one(ty_collection *c, uint64_t by, const void *named, uint64_t bytes, double share) {
  static float vector[DIM];
  ty_ask_args args = {.by = by,
                      .vector = vector,
                      EXACTLY,
                      .top_k = 1,
                      .labels = named,
                      .label_bytes = bytes,
                      .label_share = share,
                      ANSWER_IN(answer)};
  ty_status status = ty_ask(c, &args, &err);
  return status == TY_OK && args.known != 1 ? TY_STATE : status;
}

static void test_bounds(void) {
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  uint8_t longest[TY_LABEL_MAX + 2];
  memset(longest, 'l', sizeof longest);
  longest[TY_LABEL_MAX] = longest[TY_LABEL_MAX + 1] = 0;
  uint8_t *many = malloc(2 * (TY_LABELS_MAX + 1));
  for (uint32_t i = 0; i <= TY_LABELS_MAX; i++) many[2 * i] = (uint8_t)(1 + i % 200), many[2 * i + 1] = 0;
  begin(c);
  CHECK(put_one(c, "a", 2, 0) == TY_INVALID && strstr(err.message, "not kept") != NULL);
  CHECK(put_one(c, "a", 1, TY_PUT_DROP_TEXT) == TY_INVALID && strstr(err.message, "NUL") != NULL);
  CHECK(put_one(c, "", 1, TY_PUT_DROP_TEXT) == TY_INVALID && strstr(err.message, "0 bytes") != NULL);
  CHECK(put_one(c, "a\0\0b", 5, TY_PUT_DROP_TEXT) == TY_INVALID && strstr(err.message, "0 bytes") != NULL);
  CHECK(put_one(c, many, 2 * (TY_LABELS_MAX + 1), TY_PUT_DROP_TEXT) == TY_INVALID);
  CHECK(put_one(c, many, 2 * TY_LABELS_MAX, TY_PUT_DROP_TEXT) == TY_OK);
  CHECK(put_one(c, NULL, 0, TY_PUT_DROP_TEXT) == TY_OK);
  CHECK(put_one(c, longest, TY_LABEL_MAX + 1, TY_PUT_DROP_TEXT) == TY_OK);
  build(c);
  longest[TY_LABEL_MAX] = 'l';
  begin(c);
  CHECK(put_one(c, longest, TY_LABEL_MAX + 2, TY_PUT_DROP_TEXT) == TY_INVALID && strstr(err.message, "257") != NULL);
  ty_rollback(c);
  CHECK(ask_one(c, TY_BY_WORDS, longest, TY_LABEL_MAX + 2, 1) == TY_INVALID);
  longest[TY_LABEL_MAX] = 0;
  CHECK(ask_one(c, TY_BY_WORDS, longest, TY_LABEL_MAX + 1, 1) == TY_OK);
  CHECK(ask_one(c, TY_BY_BOTH, longest, TY_LABEL_MAX + 1, 1e6) == TY_OK);
  CHECK(ask_one(c, TY_BY_VECTOR, longest, TY_LABEL_MAX + 1, 1) == TY_INVALID);
  CHECK(ask_one(c, TY_BY_WORDS, "a", 1, 1) == TY_INVALID && ask_one(c, TY_BY_WORDS, NULL, 1, 1) == TY_INVALID);
  static const double wrong[] = {0, -1, NAN, INFINITY, 1.1e6};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK(ask_one(c, TY_BY_WORDS, longest, TY_LABEL_MAX + 1, wrong[i]) == TY_INVALID);
  free(many);
  close_checked(c);
}

/* A put's terms that are cut off, or too many for their bytes or tokens, are damage and not another row. */
static void test_damage(void) {
  static const uint8_t named[] = "one\0two\0three";
  const ame_kernel *k = ame_kernel_table();
  ty_tally tally = {0};
  ty_buffer b = {0};
  CHECK(ty_terms_encode(&tally, k, (ty_slice){(const uint8_t *)"keel keel mast", 14}, NULL,
                        (ty_slice){named, sizeof named}, &b, &err) == TY_OK);
  uint8_t bytes[64];
  for (uint64_t cut = 0; cut <= b.bytes + 1; cut++) {
    memcpy(bytes, b.data, (size_t)b.bytes);
    bytes[b.bytes] = 0;
    uint64_t row_number = 7;
    ty_payload payload = {.terms = {bytes, cut}};
    ty_segment s = {.count = 1, .row = &row_number, .payload = &payload};
    ty_status status = ty_tally_row(&tally, k, (ty_ref){&s, 0}, &err);
    CHECK((status == TY_OK) == (cut == 0 || cut == b.bytes));
    if (cut == b.bytes) CHECK(tally.tokens == 3 && tally.count == 5);
  }
  ty_term_reader r;
  for (uint8_t tokens = 0; tokens < 9; tokens++) { /* keel twice, mast, and three labels */
    bytes[2] = tokens;
    CHECK(ty_terms_open(&r, (ty_slice){bytes, b.bytes}));
    while (ty_terms_next(&r)) continue;
    CHECK(ty_terms_whole(&r, false) == (tokens <= 6));
  }
  ty_tally_free(&tally);
  ty_buffer_free(&b);
}

int main(int argc, char **argv) {
  if (!program_begin(argc, argv, "labels-test", 1, &state, &env)) return 2;
  for (uint32_t i = 0; i < 8 && (i < 4 || compared == 0); i++) test_random_rows();
  CHECK(compared > 0);
  test_bounds();
  test_damage();
  return program_end(env);
}
