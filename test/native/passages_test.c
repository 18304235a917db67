/* Passages: the best one of random texts against a search written from its description, bytes that are not text, and
 * the fused scores of long rows through saves, a rewrite and every CPU path. */
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "../../ffi/ty_runtime/lexical/passage.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;

#define TEXT_ROOM ((uint64_t)80 << 10)
#define PIECES    1200u
static uint8_t text[TEXT_ROOM];
static const char *const words[] = {"keel",
                                    "rudder",
                                    "mast",
                                    "anchor",
                                    "tiller",
                                    "stern",
                                    "hatch",
                                    "ballast",
                                    "wombat",
                                    "gunwale",
                                    "\xe6\xb8\xaf\xe5\x8f\xa3",
                                    "\xc3\xa9t\xc3\xa9",
                                    "a",
                                    "the"};
#define WORDS (sizeof words / sizeof *words)

/* ---- Texts ---- */

/* Words between blanks, sentences and lines, or none of those; sometimes one character over and over, or ASCII only
 * with short or long sentences, or with hardly a blank. */
static ty_slice draw(uint64_t most) {
  static const char *const gaps[] = {
      " ", " ", " ", " ", " ", ". ", "! ", "?\n", "\n", "\t", "", "\xe3\x80\x82", "...", "\xef\xbc\x9f"};
  uint64_t at = 0, kind = rng() % 9, room = 1 + rng() % most;
  while (at + 16 < room) {
    const char *word = words[kind == 0 ? 0 : rng() % WORDS], *gap = kind == 1 ? "" : gaps[rng() % (kind == 2 ? 5 : 14)];
    if (kind == 3) word = "x", gap = "\n";
    if (kind == 4) word = words[10], gap = "";
    if (kind > 5) {
      static const uint32_t stops[] = {6, 40, 90};
      while (word[0] & 0x80) word = words[rng() % WORDS];
      gap = rng() % stops[kind - 6] == 0 ? gaps[5 + rng() % 6] : kind == 8 ? "" : " ";
    }
    at += (uint64_t)sprintf((char *)text + at, "%s%s", word, gap);
  }
  return (ty_slice){text, at};
}

/* One sentence of as many characters as one has at most, or of one more or fewer, which ends in a word of questions. */
static ty_slice draw_longest(void) {
  const uint64_t bytes = 239 + rng() % 3;
  for (uint64_t i = 0; i < bytes; i++) text[i] = i % 2 == 0 ? 'b' : ' ';
  memcpy(text + bytes - 4, "keel", 4);
  text[bytes - 5] = ' ';
  return (ty_slice){text, bytes};
}

/* ---- The reference ---- */

typedef struct counted {
  const question *q;
  double tokens, tf[64];
} counted;

static void count(void *context, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  counted *c = context;
  (void)form, (void)term, (void)bytes;
  c->tokens++;
  for (uint32_t i = 0; i < c->q->count; i++) c->tf[i] += c->q->terms[i].hash == hash;
}

typedef struct piece {
  uint64_t from, to;
  uint32_t chars;
  counted has;
} piece;
static piece pieces[PIECES];

static bool starts(uint64_t at) { return (text[at] & 0xc0) != 0x80; }
static bool is_one_of(uint8_t byte, const char *set) { return byte != 0 && strchr(set, byte) != NULL; }

/* Whether a sentence may end before byte `at` of n. */
static bool may_end(uint64_t at, uint64_t n) {
  if (text[at - 1] == '\n') return true;
  if (is_one_of(text[at - 1], ".!?")) return at < n && is_one_of(text[at], " \n\t\r");
  return at >= 3 && (memcmp(text + at - 3, "\xe3\x80\x82", 3) == 0 || memcmp(text + at - 3, "\xef\xbc\x81", 3) == 0 ||
                     memcmp(text + at - 3, "\xef\xbc\x9f", 3) == 0);
}

/* Sentences of 80 to 240 characters; one that is longer ends after its last space among 240, or after 240. */
static uint32_t cut(uint64_t n) {
  uint32_t count = 0;
  for (uint64_t from = 0; from < n && count < PIECES; count++) {
    uint64_t ends[242] = {from}, end = 0, chars = 0, last = 0;
    for (uint64_t at = from; at < n && chars < 240; ends[++chars] = at)
      for (at++; at < n && !starts(at);) at++;
    for (uint64_t i = 80; i < chars && end == 0; i++) end = may_end(ends[i], n) ? i : 0;
    if (end == 0 && ends[chars] == n) end = chars;
    for (uint64_t i = 1; i <= chars; i++) last = text[ends[i] - 1] == ' ' ? i : last;
    if (end == 0) end = last > 0 ? last : chars;
    pieces[count] = (piece){.from = from, .to = ends[end], .chars = (uint32_t)end};
    from = ends[end];
  }
  return count;
}

/* BM25 of pieces first .. end, as of a row. */
static double score_of(const question *q, uint32_t first, uint32_t end) {
  double score = 0, tokens = 0;
  for (uint32_t i = first; i < end; i++) tokens += pieces[i].has.tokens;
  for (uint32_t t = 0; t < q->count; t++) {
    const ame_bm25 *part = &q->terms[t].part;
    double tf = 0, norm = (double)part->fixed + (double)part->slope * tokens;
    for (uint32_t i = first; i < end; i++) tf += pieces[i].has.tf[t];
    if (tf > 0) score += ldexp((double)part->weight, -q->scale) * tf / (tf + norm);
  }
  return score;
}

static bool has_a_word(const question *q, const piece *p) {
  for (uint32_t t = 0; t < q->count; t++)
    if (p->has.tf[t] > 0) return true;
  return false;
}

/* The weight of piece k; a word that occurs n times in pieces first .. end counts an n-th each time. */
static double heaviness(const question *q, uint32_t k, uint32_t first, uint32_t end) {
  double weight = 0;
  for (uint32_t t = 0; t < q->count; t++) {
    double tf = 0;
    for (uint32_t i = first; i < end; i++) tf += pieces[i].has.tf[t];
    if (tf > 0) weight += pieces[k].has.tf[t] / tf * ldexp((double)q->terms[t].part.weight, -q->scale);
  }
  return weight;
}

/* Whether a passage is the best run of sentences of at most 600 characters that begins with one that has a word. */
static bool is_best(const question *q, ty_slice s, const ty_passage *got) {
  uint32_t n = cut(s.bytes);
  double best = 0, of_got = 0, question_share = 0, heaviest = 0, of_best = -1;
  for (uint32_t i = 0; i < n; i++) {
    pieces[i].has = (counted){.q = q};
    env->kernel->tokenize(s.data + pieces[i].from, pieces[i].to - pieces[i].from, count, &pieces[i].has);
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t end = i + 1, chars = pieces[i].chars;
    for (; end < n && chars + pieces[end].chars <= 600; end++) chars += pieces[end].chars;
    double score = has_a_word(q, &pieces[i]) ? score_of(q, i, end) : 0;
    if (score > best) best = score;
    if (got->from != pieces[i].from || got->to != pieces[end - 1].to) continue;
    of_got = score;
    for (uint32_t k = i; k < end; k++) {
      double weight = heaviness(q, k, i, end);
      if (weight > heaviest) heaviest = weight;
      if (pieces[k].from == got->best) of_best = weight;
    }
  }
  for (uint32_t t = 0; t < q->count; t++) {
    double tf = 0;
    for (uint32_t i = 0; i < n; i++) tf += pieces[i].has.tf[t];
    question_share += tf > 0 ? q->terms[t].information : 0;
  }
  if (fabs(got->question_share - (q->information > 0 ? fmin(1, question_share / q->information) : 1)) > 1e-9)
    return false;
  if (best == 0) return got->score == 0 && got->to == 0;
  return fabs(got->score - best) <= 1e-9 * best && fabs(of_got - best) <= 1e-9 * best &&
         fabs(of_best - heaviest) <= 1e-9 * heaviest;
}

/* ---- Collections of texts ---- */

static ty_collection *made(char dir[320]) {
  char schema[512];
  ty_collection *c = NULL;
  int bytes = snprintf(schema, sizeof schema,
                       "{\"name\":\"texts\",\"dim\":%u,\"dtype\":\"f32\",\"key_name\":\"s\",\"filter_columns\":[\"s\"],"
                       "\"telys_version\":\"1\",\"default_target_recall\":1,\"applied_tuner\":null,\"lexical\":true,"
                       "\"embedder_profile\":{\"provider\":\"svc\",\"distance\":\"inner_product\"}}",
                       env->kernel->embed_dim(AME_MODEL_BIGRAM));
  fresh_dir(dir);
  CHECK(ty_collection_new(env, dir, (const uint8_t *)schema, (uint64_t)bytes, &c, &err) == TY_OK);
  return c;
}

static void put(ty_collection *c, uint32_t number, ty_slice s) {
  char id[16];
  uint64_t end = (uint64_t)sprintf(id, "%u", number), key_end = 0;
  ty_put_args args = {.n = 1,
                      .mode = TY_UPSERT,
                      .model = AME_MODEL_BIGRAM,
                      .embed_most = TEXT_ROOM,
                      .ids = (const uint8_t *)id,
                      .id_ends = &end,
                      .texts = s.data,
                      .text_ends = &s.bytes,
                      .key_ends = &key_end};
  CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_OK, "put: %s", err.message);
}

static void build(ty_collection *c, double k1) {
  ty_lexical_args lexical = {k1, 0.6};
  CHECK(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
}

/* Every question and text by both the finder and the call. */
static void test_best(void) {
  char dir[320];
  ty_collection *c = made(dir);
  static const char *const questions[] = {"keel", "keel keel rudder the", "anchor \xe6\xb8\xaf\xe5\x8f\xa3 wombat",
                                          "x",    "ete ballasts tillr",   "nobodysaidthis",
                                          ""};
  CHECK(ty_begin(c, &err) == TY_OK);
  for (uint32_t i = 0; i < 60; i++) put(c, i, draw(i % 4 == 0 ? 4000 : 120));
  CHECK(ty_save(c, &err) == TY_OK);
  for (uint32_t round = 0; round < 4; round++) {
    if (round > 0) build(c, round == 2 ? 0 : 1.2); /* before it all words weigh the same; k1 = 0: tf does not count */
    for (uint32_t i = 0; i < sizeof questions / sizeof *questions; i++) {
      ty_slice asked = {(const uint8_t *)questions[i], strlen(questions[i])};
      ty_filter filter;
      ty_lexical *index = ty_lexical_usable(c->lexical_index) ? c->lexical_index : NULL;
      question q = {.c = c, .x = index, .filter = &filter};
      ty_passage_finder finder;
      CHECK(ty_filter_open(c, TY_NO_FILTER, (ty_slice){NULL, 0}, &filter, &err) == TY_OK);
      CHECK(ty_question_prepare(&q, asked, &err) == TY_OK && ty_passage_open(&finder, &q, &err) == TY_OK);
      for (uint32_t k = 0; k < 60; k++) {
        ty_slice s = k % 20 == 1 ? draw_longest() : draw(k == 0 ? TEXT_ROOM : 1 + rng() % 8000);
        ty_passage found;
        ty_passage_place place;
        ty_passages_args args = {.text = asked.data,
                                 .text_bytes = asked.bytes,
                                 .column = TY_NO_FILTER,
                                 .n = 1,
                                 .texts = s.data,
                                 .text_ends = &s.bytes,
                                 .places = &place};
        CHECK(ty_passage_best(&finder, s, true, &found, &err) == TY_OK);
        CHECK_MESSAGE(is_best(&q, s, &found), "question %u: %llu .. %llu of %llu bytes, score %g", i,
                      (unsigned long long)found.from, (unsigned long long)found.to, (unsigned long long)s.bytes,
                      found.score);
        CHECK(ty_passages(c, &args, &err) == TY_OK && place.from == found.from && place.best == found.best &&
              place.to == found.to && place.question_share == found.question_share);
      }
      ty_passage_close(&finder);
      ty_filter_close(&filter);
      ty_question_free(&q);
    }
  }
  close_checked(c);
}

/* Bytes of every kind: a passage lies within the text, is not long, and nothing is read beyond the end. */
static void test_bytes(uint32_t rounds) {
  char dir[320];
  ty_collection *c = made(dir);
  CHECK(ty_begin(c, &err) == TY_OK);
  put(c, 0, (ty_slice){(const uint8_t *)"keel", 4});
  CHECK(ty_save(c, &err) == TY_OK);
  build(c, 1.2);
  for (uint32_t i = 0; i < rounds; i++) {
    uint64_t bytes = draw(i % 16 == 0 ? TEXT_ROOM : 3000).bytes;
    for (uint64_t n = rng() % 3 == 0 ? bytes : rng() % 9; bytes > 0 && n > 0; n--)
      text[rng() % bytes] = (uint8_t)(rng() % 2 == 0 ? 0x80 + rng() % 64 : rng());
    uint8_t *exact = malloc(bytes + 1); /* AddressSanitizer sees the first byte beyond */
    uint64_t ends[2] = {rng() % (bytes + 1), bytes};
    ty_passage_place places[2];
    memcpy(exact, text, bytes);
    exact = realloc(exact, bytes > 0 ? bytes : 1);
    ty_passages_args args = {.text = exact,
                             .text_bytes = rng() % 2 == 0 ? 4 : ends[0] % 200,
                             .column = TY_NO_FILTER,
                             .n = 2,
                             .texts = exact,
                             .text_ends = ends,
                             .places = places};
    if (rng() % 2 == 0) args.text = (const uint8_t *)"keel";
    if (args.text_bytes > 4 && args.text != exact) args.text_bytes = 4;
    if (args.text_bytes > bytes) args.text_bytes = bytes;
    CHECK(ty_passages(c, &args, &err) == TY_OK);
    for (uint32_t k = 0; k < 2; k++) {
      uint64_t most = k == 0 ? ends[0] : ends[1] - ends[0];
      CHECK(places[k].from <= places[k].best && places[k].best <= places[k].to && places[k].to <= most);
      CHECK(places[k].to - places[k].from <= 2400 && places[k].question_share >= 0 && places[k].question_share <= 1);
    }
    free(exact);
  }
  ty_passage_place place;
  uint64_t wrong[2] = {3, 1};
  ty_passages_args none = {.column = TY_NO_FILTER},
                   bad = {.column = TY_NO_FILTER, .n = 2, .texts = text, .text_ends = wrong};
  CHECK(ty_passages(c, &none, &err) == TY_OK && ty_passages(c, &bad, &err) == TY_INVALID);
  bad.places = &place;
  CHECK(ty_passages(c, &bad, &err) == TY_INVALID);
  none.text_bytes = 1;
  CHECK(ty_passages(c, &none, &err) == TY_INVALID);
  close_checked(c);
}

/* ---- Fused scores ---- */

#define ALL (TY_WITH_ALL | TY_WITH_SCORES)

static uint8_t answers[2][1 << 20] __attribute__((aligned(8)));

static bool by_meaning; /* questions are asked by meaning as well */

static uint64_t ask_for(ty_collection *c, const char *asked, uint64_t top_k, uint64_t what, uint8_t *out) {
  ty_ask_args args = {.by = TY_BY_BOTH,
                      .model = AME_MODEL_BIGRAM,
                      .embed_most = TEXT_ROOM,
                      .text = (const uint8_t *)asked,
                      .text_bytes = strlen(asked),
                      .top_k = top_k,
                      .column = TY_NO_FILTER,
                      .dense_weight = 0.3,
                      .target_recall = 1,
                      .what = what,
                      .out = out,
                      .out_capacity = sizeof answers[0]};
  args.meaning = by_meaning;
  CHECK_MESSAGE(ty_ask(c, &args, &err) == TY_OK && args.fused == 1, "ask: %s", err.message);
  CHECK(args.by_meaning == by_meaning);
  return args.out_bytes;
}

static uint64_t ask(ty_collection *c, const char *asked, uint64_t what, uint8_t *out) {
  return ask_for(c, asked, 10, what, out);
}

/* Whether two answers have the same rows in the same order, with the same scores. */
static bool alike(const uint8_t *a, const uint8_t *b, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += sizeof(ty_record) + 8 + sizeof(ty_scores)) {
    ty_record x, y;
    memcpy(&x, a + at, sizeof x);
    memcpy(&y, b + at, sizeof y);
    if (x.id_bytes != y.id_bytes || memcmp(a + at + sizeof x, b + at + sizeof y, 8) != 0) return false;
    if (x.score != y.score) return false; /* births change in a rewrite */
  }
  return true;
}

static void test_states(void) {
  static const char *const questions[] = {"keel rudder", "wombat gunwale anchor the mast", "tiller"};
  char dir[320];
  ty_collection *c = made(dir);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  for (uint32_t i = 0; i < 90; i++) put(c, i, draw(i % 3 == 0 ? 6000 : 200));
  CHECK(ty_save(c, &err) == TY_OK);
  build(c, 1.2);
  CHECK(ty_begin(c, &err) == TY_OK);
  for (uint32_t i = 60; i < 120; i++) put(c, i, draw(i % 3 == 0 ? 6000 : 200)); /* some are put again */
  CHECK(ty_save(c, &err) == TY_OK);
  for (uint32_t i = 0; i < 3; i++) {
    uint64_t bytes = ask(c, questions[i], ALL, answers[0]);
    for (uint32_t path = 0; path < ame_isa_count(); path++) {
      if (!ame_isa_supported(path) || ame_isa_force(ame_isa_name(path)) != 0) continue;
      CHECK_MESSAGE(ask(c, questions[i], ALL, answers[1]) == bytes && alike(answers[0], answers[1], bytes), "%s: %s",
                    ame_isa_name(path), questions[i]);
    }
    bytes = ask(c, questions[i], ALL, answers[0]);
    ty_collection *other = open_saved(env, dir);
    CHECK(ask(other, questions[i], ALL, answers[1]) == bytes && alike(answers[0], answers[1], bytes));
    CHECK(ty_begin(other, &err) == TY_OK && ty_compact(other, &compact, NULL, &err) == TY_OK);
    CHECK(ask(other, questions[i], ALL, answers[1]) == bytes && alike(answers[0], answers[1], bytes));
    ty_collection_close(other);
    CHECK(ask(c, questions[i], ALL, answers[1]) == bytes && alike(answers[0], answers[1], bytes));
    CHECK(ty_begin(c, &err) == TY_OK);
    put(c, i, draw(3000));
    CHECK(ty_save(c, &err) == TY_OK);
  }
  close_checked(c);
}

#include "passages_first.h"

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "passages-test", 2, &seed, &env)) return 2;
  rng_state = seed;
  test_best();
  test_bytes(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 300);
  test_states();
  test_all_first();
  ty_env_close(env);
  if (!prose_env()) return 2;
  by_meaning = true;
  test_all_first();
  return program_end(env);
}
