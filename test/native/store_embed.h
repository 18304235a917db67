/* Puts whose vectors the kernel makes of the texts, beside puts of the same vectors. */
#pragma once

#define EMBED_DIM  512u /* of the smaller model */
#define EMBED_ROWS 700u
#define EMBED_MOST 300u

typedef struct embed_batch {
  uint32_t n;
  uint8_t *texts;
  char ids[EMBED_ROWS * 16];
  uint64_t text_ends[EMBED_ROWS], id_ends[EMBED_ROWS], key_ends[EMBED_ROWS];
  float *vectors;
} embed_batch;

/* Texts of several lengths; every seventh is longer than what is embedded, cut within a character; one is empty. Every
 * eleventh id is that of the row before: the call goes on with the later one. */
static embed_batch embed_rows(void) {
  static uint8_t texts[EMBED_ROWS * 1024];
  static float vectors[EMBED_ROWS * EMBED_DIM];
  embed_batch b = {.n = EMBED_ROWS, .texts = texts, .vectors = vectors};
  uint64_t at = 0, ids = 0;
  for (uint32_t i = 0; i < b.n; i++) {
    uint64_t from = at;
    for (uint32_t word = 0; word < (i == 30 ? 0 : i % 7 == 0 ? 90 : 1 + i % 20); word++)
      at += (uint64_t)sprintf((char *)b.texts + at, "w%llu ", (unsigned long long)(rng() % 5000));
    if (i % 7 == 0 && at - from > EMBED_MOST + 8) {
      memcpy(b.texts + from + EMBED_MOST - 1 - i % 3, "\xe2\x82\xac", 3); /* ends before, at and after the limit */
      at = from + EMBED_MOST + 8;
    }
    b.text_ends[i] = at;
    b.id_ends[i] = ids += (uint64_t)sprintf(b.ids + ids, "e%u", i % 11 == 10 ? i - 1 : i);
    uint64_t end = at - from < EMBED_MOST ? at - from : EMBED_MOST;
    while (end < at - from && end > 0 && (b.texts[from + end] & 0xc0) == 0x80) end--;
    ame_kernel_table()->embed(AME_MODEL_BIGRAM, AME_ROLE_DOCUMENT, b.texts + from, &end, 1, b.vectors + i * EMBED_DIM);
  }
  return b;
}

static ty_put_args embed_args(const embed_batch *b, bool by_model) {
  return (ty_put_args){.n = b->n,
                       .mode = TY_UPSERT,
                       .vectors = by_model ? NULL : b->vectors,
                       .model = by_model ? AME_MODEL_BIGRAM : 77,
                       .embed_most = EMBED_MOST,
                       .ids = (const uint8_t *)b->ids,
                       .id_ends = b->id_ends,
                       .texts = b->texts,
                       .text_ends = b->text_ends,
                       .key_ends = b->key_ends};
}

static ty_collection *embed_collection(const char *dtype, const char *metric, bool lexical, char dir[320]) {
  char schema[512];
  ty_collection *c = NULL;
  fresh_dir(dir);
  int bytes = snprintf(schema, sizeof schema,
                       "{\"name\":\"texts\",\"dim\":%u,\"dtype\":\"%s\",\"key_name\":\"s\",\"filter_columns\":[\"s\"],"
                       "\"telys_version\":\"1\",\"default_target_recall\":1,\"applied_tuner\":null,\"lexical\":%s,"
                       "\"embedder_profile\":{\"distance\":\"%s\"}}",
                       EMBED_DIM, dtype, lexical ? "true" : "false", metric);
  CHECK(ty_collection_new(env, dir, (uint8_t *)schema, (uint64_t)bytes, &c, &err) == TY_OK);
  CHECK(ty_begin(c, &err) == TY_OK && ty_save(c, &err) == TY_OK); /* an empty base: rows stay in the delta */
  return c;
}

/* Whether two collections hold the same rows, in the delta, to the bit. */
static bool embed_equal(const ty_collection *a, const ty_collection *b) {
  bool equal = a->delta.count == b->delta.count;
  for (uint64_t at = 0; at < a->delta.count && equal; at++) {
    const ty_payload *p = &a->delta.payload[at], *q = &b->delta.payload[at];
    equal = p->coded == q->coded && p->id.bytes == q->id.bytes && p->text.bytes == q->text.bytes &&
            p->terms.bytes == q->terms.bytes && memcmp(p->id.data, q->id.data, p->id.bytes) == 0 &&
            memcmp(p->text.data, q->text.data, p->text.bytes) == 0 &&
            memcmp(p->terms.data, q->terms.data, p->terms.bytes) == 0 &&
            memcmp(p->vector, q->vector, ty_form_bytes(ty_form_of(a, p->coded), EMBED_DIM)) == 0 &&
            a->delta.dead[at] == b->delta.dead[at];
  }
  return equal;
}

static void test_embedded_rows(void) {
  static const struct {
    const char *dtype, *metric;
    bool lexical;
  } cases[] = {{"f32", "inner_product", true},
               {"f32", "cosine", false},
               {"f16", "l2", false},
               {"int8", "cosine", true},
               {"int4", "inner_product", true}};
  embed_batch b = embed_rows();
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char dirs[2][320];
    ty_collection *by[2];
    for (int k = 0; k < 2; k++) {
      by[k] = embed_collection(cases[i].dtype, cases[i].metric, cases[i].lexical, dirs[k]);
      ty_put_args args = embed_args(&b, k == 1), one = args;
      ty_progress progress = {0};
      one.n = 1; /* alone, then again among the others */
      CHECK_MESSAGE(ty_begin(by[k], &err) == TY_OK && ty_put(by[k], &one, NULL, &err) == TY_OK && one.inserted == 1,
                    "%s", err.message);
      CHECK_MESSAGE(ty_put(by[k], &args, &progress, &err) == TY_OK, "%s", err.message);
      CHECK(args.replaced == 1 && args.inserted == EMBED_ROWS - EMBED_ROWS / 11 - 1);
      CHECK(progress.done == progress.total && progress.total == args.inserted + 1);
      CHECK_MESSAGE(ty_save(by[k], &err) == TY_OK, "%s", err.message);
    }
    CHECK_MESSAGE(by[0]->delta.count > EMBED_ROWS / 2 && embed_equal(by[0], by[1]),
                  "%s: rows of texts are not those of their vectors", cases[i].dtype);
    bool coded = strcmp(cases[i].dtype, "f32") == 0 && strcmp(cases[i].metric, "cosine") != 0;
    for (uint64_t at = 0; at < by[1]->delta.count && coded; at++) coded = by[1]->delta.payload[at].coded;
    CHECK(coded || strcmp(cases[i].dtype, "f32") != 0 || strcmp(cases[i].metric, "cosine") == 0);
    close_checked(by[1]);
    by[1] = open_saved(env, dirs[1]);
    CHECK_MESSAGE(embed_equal(by[0], by[1]), "%s: rows of texts are others after an open", cases[i].dtype);
    close_checked(by[0]);
    close_checked(by[1]);
  }
}

/* A put that is refused or cancelled leaves nothing. */
static void test_embedding_refused(void) {
  embed_batch b = embed_rows();
  char dir[320];
  ty_collection *c = embed_collection("f32", "inner_product", true, dir);
  ty_put_args args = embed_args(&b, true);
  CHECK(ty_begin(c, &err) == TY_OK);
  args.model = AME_MODEL_MULTIGRAM;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID && strstr(err.message, "2048 numbers") != NULL);
  args.model = 99;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  args.model = (uint64_t)1 << 32 | AME_MODEL_BIGRAM;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID);
  args = embed_args(&b, true);
  args.texts = NULL;
  args.text_ends = NULL;
  CHECK(ty_put(c, &args, NULL, &err) == TY_INVALID && strstr(err.message, "no texts to embed") != NULL);
  args = embed_args(&b, true);
  ty_progress stop = {.cancel = 1};
  CHECK(ty_put(c, &args, &stop, &err) == TY_CANCELLED && strstr(err.message, "no row") != NULL);
  CHECK(c->delta.count == 0 && c->store->ops == 0);
  args.embed_most = 0; /* nothing is embedded: zero rows */
  CHECK(ty_put(c, &args, NULL, &err) == TY_OK && c->delta.info[0].scale == 0);
  CHECK_MESSAGE(ty_save(c, &err) == TY_OK, "%s", err.message);
  close_checked(c);
}

/* Of several rows that cannot be stored the first is named, whichever thread finds one first. */
static void test_first_failure(void) {
  embed_batch b = embed_rows();
  char dir[320];
  ty_collection *c = embed_collection("f16", "inner_product", false, dir);
  ty_put_args args = embed_args(&b, false);
  args.mode = TY_UPSERT;
  for (uint32_t i = 90; i < EMBED_ROWS; i++) b.vectors[i * EMBED_DIM + 3] = 1e6f;
  CHECK(ty_begin(c, &err) == TY_OK);
  for (int i = 0; i < 20; i++) {
    CHECK_MESSAGE(ty_put(c, &args, NULL, &err) == TY_INVALID &&
                      strstr(err.message, "vectors[90][3] is 1000000") != NULL,
                  "%s", err.message);
    CHECK(c->delta.count == 0 && c->store->ops == 0);
  }
  ty_rollback(c);
  close_checked(c);
}
