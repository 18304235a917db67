/* Words of a question that the rows do not have: which terms are searched for in their place, and what the answer says
 * of it. */
#include "../../ffi/ty_runtime/lexical/bag.h"
#include "../../ffi/ty_runtime/lexical/unknown.h"
#include "../../ffi/ty_runtime/state/state.h"
#include "../../ffi/ty_runtime/ivf/builder.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;
static uint64_t state;

/* ---- A collection of texts, ids 0, 1, 2, ... ---- */

static ty_collection *made(void) {
  FRESH_DIR(dir);
  ty_collection *c = open_new(env, dir);
  return c;
}

/* Texts from number `first` on; of partition "p<number % 3>" where `apart`. */
static void put_texts(ty_collection *c, const char *const *texts, uint32_t first, uint32_t n, bool apart,
                      uint64_t flags) {
  static float vectors[IDS * DIM];
  ty_buffer ids = {0}, all = {0}, keys = {0};
  uint64_t *ends = malloc((n + 1) * 3 * sizeof *ends), *text_ends = ends + n, *key_ends = malloc((2 * n + 1) * 8);
  for (uint32_t i = 0; i < n; i++) {
    char id[16], key[8];
    ty_buffer_append(&ids, id, (uint64_t)snprintf(id, sizeof id, "%u", first + i));
    ty_buffer_append(&all, texts[i], strlen(texts[i]));
    ty_buffer_append(&keys, key, (uint64_t)snprintf(key, sizeof key, "p%u", apart ? (first + i) % 3 : 0));
    ends[i] = ids.bytes;
    text_ends[i] = all.bytes;
    key_ends[2 * i] = key_ends[2 * i + 1] = keys.bytes;
  }
  float *rows = n > IDS ? calloc((size_t)n * DIM, sizeof *rows) : vectors;
  ty_put_args args = {.n = n,
                      .mode = TY_ADD,
                      .flags = flags,
                      .vectors = rows,
                      .ids = ids.data,
                      .id_ends = ends,
                      .texts = all.data,
                      .text_ends = text_ends,
                      .keys = keys.data,
                      .key_ends = key_ends};
  uint64_t *none = calloc(n + 1, sizeof *none);
  args.metas = ids.data;
  args.meta_ends = none;
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK && ty_save(c, &err) == TY_OK,
                "put: %s", err.message);
  if (rows != vectors) free(rows);
  free(none);
  free(ends);
  free(key_ends);
  ty_buffer_free(&ids);
  ty_buffer_free(&all);
  ty_buffer_free(&keys);
}

static void build(ty_collection *c) {
  ty_lexical_args lexical = {1.2, 0.6};
  CHECK_MESSAGE(ty_begin(c, &err) == TY_OK && ty_build_lexical(c, &lexical, NULL, &err) == TY_OK, "build: %s",
                err.message);
}

static ty_collection *built_of(const char *const *texts, uint32_t n) {
  ty_collection *c = made();
  put_texts(c, texts, 0, n, false, 0);
  build(c);
  return c;
}

/* ---- Asking ---- */

static uint8_t answer[1 << 20] __attribute__((aligned(8)));
static const char *asked_label; /* of all questions; NULL: none */

/* The ids, then each replacement: "0 1 | postgress>Postgres". Checks that the shares of each row are its score. */
static const char *ask(ty_collection *c, uint64_t by, const char *question, uint64_t bytes, const char *key,
                       ty_ask_args *args) {
  static char said[1 << 16];
  static float vector[DIM] = {1};
  size_t n = 0;
  *args = (ty_ask_args){.by = by,
                        .vector = vector,
                        .text = (const uint8_t *)question,
                        .text_bytes = bytes,
                        .top_k = 5,
                        .column = key == NULL ? TY_NO_FILTER : key[0] == 'k',
                        .key = (const uint8_t *)key,
                        .key_bytes = key == NULL ? 0 : strlen(key),
                        .target_recall = 1,
                        .dense_weight = 0.3,
                        .labels = (const uint8_t *)asked_label,
                        .label_bytes = asked_label == NULL ? 0 : strlen(asked_label) + 1,
                        .label_share = 1,
                        .what = TY_WITH_EXPLAIN | TY_WITH_SCORES,
                        .out = answer,
                        .out_capacity = sizeof answer};
  said[0] = 0;
  if (!CHECK_MESSAGE(ty_ask(c, args, &err) == TY_OK, "ask: %s", err.message)) return said;
  const uint8_t *at = answer;
  for (uint64_t i = 0; i < args->out_count; i++) {
    ty_record r;
    ty_scores scores;
    memcpy(&r, at, sizeof r);
    at += sizeof r;
    n += (size_t)snprintf(said + n, sizeof said - n, "%.*s ", (int)r.id_bytes, (const char *)at);
    at += (r.id_bytes + 7) & ~7u;
    const uint8_t *end = at + ((r.extra_bytes + 7) & ~7u);
    memcpy(&scores, at, sizeof scores);
    double sum = 0;
    for (at += sizeof scores; at < end;) {
      ty_term t;
      memcpy(&t, at, sizeof t);
      sum += t.share;
      CHECK(t.share > 0 && t.tf > 0 && t.term_bytes > 0);
      at += sizeof t + ((t.term_bytes + t.instead_bytes + 7) & ~7u);
    }
    CHECK(at == end && (isnan(scores.words) ? sum == 0 : sum == scores.words));
  }
  n += (size_t)snprintf(said + n, sizeof said - n, "|");
  uint32_t before = 0;
  for (uint64_t i = 0; i < args->replaced; i++) {
    ty_replacement r;
    memcpy(&r, at, sizeof r);
    at += sizeof r;
    CHECK(r.word >= before && r.word_bytes > 0 && r.partner_bytes > 0);
    before = r.word;
    n += (size_t)snprintf(said + n, sizeof said - n, " %.*s>%.*s", (int)r.word_bytes, (const char *)at,
                          (int)r.partner_bytes, (const char *)at + r.word_bytes);
    at += (r.word_bytes + r.partner_bytes + 7) & ~7u;
  }
  CHECK((uint64_t)(at - answer) == args->out_bytes && args->known <= args->words + args->replaced);
  return said;
}

static void check_asked(ty_collection *c, const char *question, const char *key, const char *want, int line) {
  ty_ask_args args;
  const char *got = ask(c, TY_BY_WORDS, question, strlen(question), key, &args);
  CHECK_MESSAGE(strcmp(got, want) == 0, "line %d, \"%s\": \"%s\", not \"%s\"", line, question, got, want);
}
#define ASKED(c, question, key, want) check_asked(c, question, key, want, __LINE__)

static void test_spelling(void) {
  static const char *const texts[] = {"The Postgres version in production is 14.2",
                                      "Redis runs in staging, user's caches are warm",
                                      "M\u00fcller and Quilter drink tea",
                                      "carpzx cartzx carpzx",
                                      "carpzx cartzx cardzx",
                                      "carpzx carezx",
                                      "carezx",
                                      "carezx",
                                      "abcdefghijklmnopqrsq abcdefghijklmnopqrstq zyx",
                                      "parseHTTPHeaderz"};
  ty_collection *c = built_of(texts, 10);
  ASKED(c, "postgress version in prodution", NULL, "0 1 | postgress>Postgres prodution>production");
  ASKED(c, "Muler", NULL, "2 | Muler>M\u00fcller");
  ASKED(c, "postgres postgress", NULL, "0 |"); /* the question has it anyway */
  ASKED(c, "postgress postgrees", NULL, "0 | postgress>Postgres");
  ASKED(c, "carazx", NULL, "3 4 5 6 7 | carazx>carezx carazx>carpzx carazx>cartzx"); /* the most frequent three */
  ASKED(c, "zyy", NULL, "|");
  ASKED(c, "cahces", NULL, "1 | cahces>caches");
  ASKED(c, "abcdefghijklmnopqrst", NULL,
        "8 | abcdefghijklmnopqrst>abcdefghijklmnopqrstq "
        "abcdefghijklmnopqrst>abcdefghijklmnopqrsq");
  ASKED(c, "abcdefghijklmnopqrstu", NULL, "|");
  ASKED(c, "abc1 1234 12345 x86", NULL, "|");
  ASKED(c, "parseHTTPHeadrz", NULL, "9 | headrz>headerz parseHTTPHeadrz>parseHTTPHeaderz");
  ASKED(c, "how do you when were", NULL, "|"); /* words that everyone knows are not misspelt */
  ASKED(c, "", NULL, "|");
  ASKED(c, "...", NULL, "|");
  ty_ask_args args;
  const char *said = ask(c, TY_BY_BOTH, "quantum", 7, NULL, &args);
  CHECK(args.out_count == 5 && args.fused == 1 && args.words == 1 && args.known == 0 && strchr(said, '>') == NULL);
  ask(c, TY_BY_BOTH, "postgress", 9, NULL, &args);
  CHECK(args.fused == 1 && args.words == 1 && args.known == 1 && args.replaced == 1);
  ask(c, TY_BY_BOTH, "redis runs", 10, NULL, &args);
  CHECK(args.fused == 1 && args.words == 2 && args.known == 2 && args.replaced == 0);
  ask(c, TY_BY_VECTOR, "redis", 5, NULL, &args);
  CHECK(args.fused == 0 && args.words == 0 && args.known == 0 && args.replaced == 0);

  /* Rows that came since, and rows that died. */
  static const char *const more[] = {"Kubernetes in Postgrez", "kubernetes"};
  put_texts(c, more, 10, 2, false, 0);
  ASKED(c, "kubrnetes", NULL, "11 10 | kubrnetes>Kubernetes");
  ASKED(c, "postgret", NULL, "10 0 | postgret>Postgres postgret>Postgrez");
  ty_delete_args gone = {.n = 1, .ids = (const uint8_t *)"0", .id_ends = (const uint64_t[]){1}};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && ty_save(c, &err) == TY_OK);
  ASKED(c, "postgret", NULL, "10 | postgret>Postgrez");
  ASKED(c, "prodution", NULL, "|");
  build(c);
  ASKED(c, "postgret prodution kubrnetes", NULL, "10 11 | postgret>Postgrez kubrnetes>Kubernetes");
  close_checked(c);
}

static void test_scripts(void) {
  static const char *const texts[] = {
      "\u043a\u043e\u043d\u0444\u0438\u0433\u0443\u0440\u0430\u0446\u0438\u044f",        /* Russian */
      "\u03b2\u03ac\u03c3\u03b7 \u03b4\u03b5\u03b4\u03bf\u03bc\u03ad\u03bd\u03c9\u03bd", /* Greek */
      "\u05de\u05e2\u05e8\u05db\u05ea\u05d9\u05dd",                                      /* Hebrew */
      "\u0642\u0627\u0639\u062f\u0629",                                                  /* Arabic */
      "\u0921\u0947\u091f\u093e\u092c\u0947\u0938",                                      /* Hindi */
      "\u6570\u636e\u5e93\u914d\u7f6e",                                                  /* Chinese */
  };
  ty_collection *c = built_of(texts, 6);
  ASKED(c, "\u043a\u043e\u043d\u0444\u0433\u0443\u0440\u0430\u0446\u0438\u044f", NULL,
        "0 | \u043a\u043e\u043d\u0444\u0433\u0443\u0440\u0430\u0446\u0438\u044f>"
        "\u043a\u043e\u043d\u0444\u0438\u0433\u0443\u0440\u0430\u0446\u0438\u044f");
  ASKED(c, "\u03b4\u03b5\u03b4\u03bd\u03bf\u03bc\u03ad\u03bd\u03c9\u03bd", NULL,
        "1 | \u03b4\u03b5\u03b4\u03bd\u03bf\u03bc\u03ad\u03bd\u03c9\u03bd>"
        "\u03b4\u03b5\u03b4\u03bf\u03bc\u03ad\u03bd\u03c9\u03bd");
  ASKED(c, "\u05de\u05e8\u05e2\u05db\u05ea\u05d9\u05dd", NULL,
        "2 | \u05de\u05e8\u05e2\u05db\u05ea\u05d9\u05dd>\u05de\u05e2\u05e8\u05db\u05ea\u05d9\u05dd");
  ASKED(c, "\u0642\u0639\u062f\u0629", NULL, "3 | \u0642\u0639\u062f\u0629>\u0642\u0627\u0639\u062f\u0629");
  ASKED(c, "\u0921\u0947\u091f\u092c\u0947\u0938", NULL,
        "4 | \u0921\u0947\u091f\u092c\u0947\u0938>\u0921\u0947\u091f\u093e\u092c\u0947\u0938");
  ASKED(c, "\u6570\u7f6e\u5e93", NULL, "5 |"); /* characters, no words */
  close_checked(c);
}

/* What is not in the partition is unknown in it, and no partner. */
static void test_partition(void) {
  static const char *const texts[] = {"keel wombatx",        "rudder wombatz", "mast alone",
                                      "wombatx oar harborx", "rudder",         "mast"};
  ty_collection *c = made();
  put_texts(c, texts, 0, 6, true, 0);
  build(c);
  ASKED(c, "wombaty", "p0", "0 3 | wombaty>wombatx");
  ASKED(c, "wombaty", "p1", "1 | wombaty>wombatz");
  ASKED(c, "wombaty", "p2", "|");
  ASKED(c, "harbory", "p0", "3 | harbory>harborx");
  ASKED(c, "harbory", "p9", "|");
  ty_ask_args args;
  ask(c, TY_BY_WORDS, "wombatx", 7, "p9", &args);
  CHECK(args.out_count == 0 && args.words == 1 && args.known == 0);
  ask(c, TY_BY_WORDS, "wombatx", 7, "k9", &args); /* another column: what all rows have is known */
  CHECK(args.out_count == 0 && args.words == 1 && args.known == 1);
  static const char *const lone[] = {"mizzenx", "mizzenx", "mizzenx", "mizzenz"};
  put_texts(c, lone, 6, 4, true, 0); /* numbers 6, 7, 8, 9 in p0, p1, p2, p0 */
  ASKED(c, "mizzeny", "p2", "8 | mizzeny>mizzenx");
  close_checked(c);
}

/* Of rows without texts nothing says which term a hash is. */
static void test_dropped_texts(void) {
  static const char *const texts[] = {"wombatx alpha", "wombatx beta"}, *const more[] = {"wombatx gamma"};
  ty_collection *c = made();
  put_texts(c, texts, 0, 2, false, TY_PUT_DROP_TEXT);
  build(c);
  ASKED(c, "wombaty", NULL, "|");
  ASKED(c, "wombatx", NULL, "0 1 |");
  put_texts(c, more, 2, 1, false, 0);
  ASKED(c, "wombaty", NULL, "0 1 2 | wombaty>wombatx"); /* one row tells */
  close_checked(c);
}

/* ---- Much of everything ---- */

static void test_many_near(void) {
  enum { NEAR = 300 };
  static char text[NEAR][32];
  const char *texts[NEAR];
  for (uint32_t i = 0; i < NEAR; i++) {
    strcpy(text[i], "qwzxqwzxqwzxqw");
    text[i][i / 25] = (char)('a' + i % 25);
    texts[i] = text[i];
  }
  ty_collection *c = built_of(texts, NEAR);
  ty_ask_args args;
  ask(c, TY_BY_WORDS, "qwzxqwzxqwzxqw", 14, NULL, &args);
  CHECK(args.replaced <= 3);
  const char *said = ask(c, TY_BY_WORDS, "qwzxqwzxqwzxqwq", 15, NULL, &args);
  CHECK_MESSAGE(args.replaced <= 3, "%s", said);
  close_checked(c);
}

static void test_long_questions(ty_collection *c) {
  enum { BYTES = 64 << 10 };
  char *question = malloc(BYTES);
  for (int kind = 0; kind < 3; kind++) {
    for (uint32_t i = 0; i < BYTES; i++) {
      uint32_t r = (uint32_t)ty_random(&state);
      question[i] = kind == 0 ? "abcdefghijklmnopqrstuvwxyz "[r % 27] : kind == 1 ? (char)r : i % 9 == 8 ? ' ' : 'q';
    }
    ty_ask_args args;
    ask(c, TY_BY_WORDS, question, BYTES, NULL, &args);
    CHECK(args.words > 0 && args.replaced <= TY_UNKNOWN_MOST * TY_PARTNERS_MOST);
  }
  free(question);
}

static void test_bounds(void) {
  static char text[200][64];
  const char *texts[200];
  for (uint32_t i = 0; i < 200; i++) {
    char *at = text[i];
    for (uint32_t w = 0; w < 6; w++) {
      for (uint32_t l = 0; l < 5; l++) *at++ = (char)('a' + ty_random(&state) % 26);
      *at++ = ' ';
    }
    *at = 0;
    texts[i] = text[i];
  }
  ty_collection *c = built_of(texts, 200);
  test_long_questions(c);
  /* The 33rd unknown word is passed over. */
  char question[2000] = "";
  for (uint32_t i = 0; i < 40; i++) {
    char word[8];
    memcpy(word, text[i], 5);
    word[2] = word[2] == 'q' ? 'w' : 'q';
    word[5] = ' ', word[6] = 0;
    strcat(question, word);
  }
  ty_ask_args args;
  ask(c, TY_BY_WORDS, question, strlen(question), NULL, &args);
  CHECK_MESSAGE(args.replaced >= 25 && args.replaced <= 40, "%llu", (unsigned long long)args.replaced);
  close_checked(c);
}

/* ---- Other words ---- */

static ame_kernel changed; /* the kernel with some functions of the test's */

static void note_hash(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t n) {
  (void)form, (void)term, (void)n;
  memcpy(ctx, &hash, sizeof hash);
}

/* car: automobile, vehicle, motorcar, lorry, coach; wagen, in another language: car, automobile. */
static uint32_t term_partners(uint32_t kind, const uint8_t *term, size_t n, ame_partner_fn fn, void *ctx) {
  static const char *const meanings[] = {"automobil", "vehicl", "motorcar", "lorri", "coach"};
  static const char *const languages[] = {"car", "automobil"};
  bool is_car = n == 3 && memcmp(term, "car", 3) == 0, is_wagen = n == 5 && memcmp(term, "wagen", 5) == 0;
  bool meaning = kind == AME_PARTNERS_MEANING && is_car, language = kind == AME_PARTNERS_LANGUAGE && is_wagen;
  const char *const *list = meaning ? meanings : languages;
  uint32_t count = meaning ? 5 : language ? 2 : 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *one = (const uint8_t *)list[i];
    uint32_t hash = 0;
    ame_tokenize(one, strlen(list[i]), note_hash, &hash);
    fn(ctx, hash, one, strlen(list[i]), one, strlen(list[i]));
  }
  return count;
}

static void test_other_words(void) {
  changed = *ame_kernel_table();
  changed.term_partners = term_partners;
  const ame_kernel *before = env->kernel;
  env->kernel = &changed;
  static const char *const texts[] = {"the Automobile broke down",  "a lorry and a lorry", "motorcars", "coach",
                                      "carsy is near a car's name", "the price of it"};
  ty_collection *c = made();
  put_texts(c, texts, 0, 4, true, 0);
  put_texts(c, texts + 5, 5, 1, true, 0);
  build(c);
  ASKED(c, "car price", NULL, "5 2 1 0 | car>Automobile car>motorcars car>lorry"); /* the best three of those there */
  ASKED(c, "car", "p0", "3 0 | car>Automobile car>coach");
  ASKED(c, "wagen", NULL, "0 | wagen>Automobile");
  ASKED(c, "wagen", "p1", "|");
  ASKED(c, "automobile car", "p0", "0 3 | car>coach"); /* the other it has anyway */
  ASKED(c, "coach", NULL, "3 |");                      /* a word that the rows have is not replaced */
  asked_label = "car";
  ASKED(c, "price", NULL, "5 |"); /* nor a label that they lack */
  asked_label = NULL;
  put_texts(c, texts + 4, 4, 1, true, 0);
  ASKED(c, "car", NULL, "4 |");
  ASKED(c, "carsz", NULL, "4 | carsz>carsy carsz>car"); /* a spelling before another word */
  close_checked(c);
  ty_collection *dropped = made();
  put_texts(dropped, texts, 0, 4, false, TY_PUT_DROP_TEXT);
  build(dropped);
  ASKED(dropped, "car", NULL, "|");
  close_checked(dropped);
  env->kernel = before;
}

/* ---- Hashes that collide ---- */

static uint32_t mask = UINT32_MAX;

typedef struct passing {
  void *fn, *ctx;
} passing;

static void pass_token(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t n) {
  const passing *p = ctx;
  ((ame_token_fn)p->fn)(p->ctx, hash & mask, form, term, n);
}
static void pass_hash(void *ctx, uint32_t hash) {
  const passing *p = ctx;
  ((ame_token_hash_fn)p->fn)(p->ctx, hash & mask);
}
static uint32_t pass_word(void *ctx, const ame_word *w) {
  const passing *p = ctx;
  ame_word masked = *w;
  masked.hash &= mask;
  return ((ame_word_fn)p->fn)(p->ctx, &masked);
}
static void pass_edit(void *ctx, uint32_t hash, const uint8_t *term, size_t n, const uint8_t *word, size_t bytes) {
  const passing *p = ctx;
  ((ame_partner_fn)p->fn)(p->ctx, hash & mask, term, n, word, bytes);
}
static void tokenize(const uint8_t *text, size_t n, ame_token_fn fn, void *ctx) {
  ame_kernel_table()->tokenize(text, n, pass_token, &(passing){(void *)fn, ctx});
}
static void token_hashes(ame_token_cache *cache, const uint8_t *text, size_t n, ame_token_hash_fn fn, void *ctx) {
  ame_kernel_table()->token_hashes(cache, text, n, pass_hash, &(passing){(void *)fn, ctx});
}
static void token_words(const uint8_t *text, size_t n, ame_word_fn fn, void *ctx) {
  ame_kernel_table()->token_words(text, n, pass_word, &(passing){(void *)fn, ctx});
}
static uint32_t term_edits(const uint8_t *word, size_t n, ame_partner_fn fn, void *ctx) {
  return ame_kernel_table()->term_edits(word, n, pass_edit, &(passing){(void *)fn, ctx});
}

/* With hashes of eleven bits every other word has an edit whose hash a row has by chance. */
static void test_collisions(void) {
  changed = *ame_kernel_table();
  changed.tokenize = tokenize;
  changed.token_hashes = token_hashes;
  changed.token_words = token_words;
  changed.term_edits = term_edits;
  const ame_kernel *before = env->kernel;
  env->kernel = &changed;
  mask = 0x7ff;
  static const char *const texts[] = {"wombatx keel rudder mast anchor tiller bosun galley",
                                      "stern hatch ballast capstan fathom gunwale", "halyard jib lanyard mizzen"};
  ty_collection *c = built_of(texts, 3);
  uint32_t alone = 0;
  for (uint32_t i = 0; i < 200; i++) {
    char question[16] = "qqqqqq";
    /* No row has these four letters: six of any kind are now and then one edit from a word. */
    for (uint32_t l = 0; l < 4; l++) question[l] = "qv"[ty_random(&state) % 2];
    for (uint32_t l = 4; l < 6; l++) question[l] = (char)('a' + ty_random(&state) % 26);
    ty_ask_args args;
    const char *said = ask(c, TY_BY_WORDS, question, 6, NULL, &args);
    CHECK_MESSAGE(args.replaced == 0, "%s: %s", question, said);
    alone += args.known == 0;
  }
  CHECK(alone > 150);
  ty_ask_args args;
  CHECK(strstr(ask(c, TY_BY_WORDS, "wombaty", 7, NULL, &args), "| wombaty>wombatx") != NULL && args.replaced == 1);
  CHECK(strstr(ask(c, TY_BY_WORDS, "halyrd", 6, NULL, &args), "| halyrd>halyard") != NULL && args.replaced == 1);
  close_checked(c);
  env->kernel = before;
}

/* Of any number, hashes spread or all alike in their upper bits; equal ones stay in their order. */
static void test_sort(void) {
  static uint64_t items[3000], scratch[3000];
  static const uint64_t counts[] = {0, 1, 2, 47, 48, 49, 300, 1024, 1025, 3000};
  static const uint32_t masks[] = {UINT32_MAX, 0xff, 0xff000000, 0x00010100, 0};
  for (uint32_t i = 0; i < sizeof counts / sizeof *counts * 5; i++) {
    uint64_t n = counts[i / 5];
    for (uint64_t k = 0; k < n; k++) items[k] = (uint64_t)((uint32_t)ty_random(&state) & masks[i % 5]) << 32 | k;
    ty_sort_by_hash(items, scratch, n);
    bool sorted = true;
    for (uint64_t k = 1; k < n; k++) sorted &= items[k - 1] < items[k];
    CHECK_MESSAGE(sorted, "%u items of mask %x", (unsigned)n, masks[i % 5]);
  }
}

int main(int argc, char **argv) {
  if (!program_begin(argc, argv, "unknown-test", 1, &state, &env)) return 2;
  test_spelling();
  test_scripts();
  test_partition();
  test_dropped_texts();
  test_many_near();
  test_bounds();
  test_other_words();
  test_collisions();
  test_sort();
  return program_end(env);
}
