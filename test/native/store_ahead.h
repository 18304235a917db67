/* Texts that are encoded before their put: it stores the same as without. */
#pragma once

/* Rows of different ids. */
static embed_batch ahead_rows(void) {
  embed_batch b = embed_rows();
  uint64_t ids = 0;
  for (uint32_t i = 0; i < b.n; i++) b.id_ends[i] = ids += (uint64_t)sprintf(b.ids + ids, "a%u", i);
  return b;
}

static ty_collection *ahead_collection(const char *dtype, char dir[320]) {
  return embed_collection(dtype, "inner_product\",\"provider\":\"svc", true, dir);
}

typedef struct ahead_call {
  ty_collection *c;
  ty_put_args args;
  ty_status status;
  ty_error err;
} ahead_call;

static void *ahead_on(void *argument) {
  ahead_call *a = argument;
  a->status = ty_encode_ahead(a->c, &a->args, NULL, &a->err);
  return NULL;
}

/* The first half of the rows is saved while the second one is encoded. */
static void test_ahead(void) {
  embed_batch b = ahead_rows();
  char dirs[2][320];
  ty_collection *by[2];
  for (int k = 0; k < 2; k++) {
    pthread_t thread;
    by[k] = ahead_collection("f32", dirs[k]);
    ahead_call half = {.c = by[k], .args = embed_args(&b, true)}, all = half;
    half.args.n = 200;
    CHECK(ty_begin(by[k], &err) == TY_OK);
    if (k == 1) ahead_on(&half);
    CHECK_MESSAGE(half.status == TY_OK && (half.args.ahead != NULL) == (k == 1), "%s", half.err.message);
    CHECK(ty_put(by[k], &half.args, NULL, &err) == TY_OK && half.args.inserted == 200 && half.args.ahead == NULL);
    if (k == 1) pthread_create(&thread, NULL, ahead_on, &all);
    CHECK_MESSAGE(ty_save(by[k], &err) == TY_OK, "%s", err.message);
    CHECK(ty_begin(by[k], &err) == TY_OK); /* the rows may still be encoded */
    if (k == 1) pthread_join(thread, NULL);
    CHECK_MESSAGE(all.status == TY_OK && (all.args.ahead != NULL) == (k == 1), "%s", all.err.message);
    CHECK(ty_put(by[k], &all.args, NULL, &err) == TY_OK && all.args.replaced == 200);
    CHECK(all.args.inserted == EMBED_ROWS - 200 && ty_save(by[k], &err) == TY_OK);
  }
  CHECK(by[0]->delta.count == EMBED_ROWS + 200 && embed_equal(by[0], by[1]));
  close_checked(by[1]);
  by[1] = open_saved(env, dirs[1]);
  CHECK(embed_equal(by[0], by[1]));
  close_checked(by[0]);
  close_checked(by[1]);
}

/* A put that cannot use it makes everything itself; one that fails closes it as well. */
static void test_ahead_unused(void) {
  embed_batch b = ahead_rows(), repeated;
  char dirs[2][320];
  ty_collection *by[2];
  for (int k = 0; k < 2; k++) {
    by[k] = ahead_collection("f32", dirs[k]);
    ty_put_args args = embed_args(&b, true);
    CHECK(ty_encode_ahead(by[k], &args, NULL, &err) == TY_OK);
    CHECK(ty_put(by[k], &args, NULL, &err) == TY_STATE && args.ahead == NULL); /* no change was begun */
    CHECK(ty_encode_ahead(by[k], &args, NULL, &err) == TY_OK);
    ty_ahead_close(args.ahead);
    ty_ahead_close(NULL);
    args.ahead = NULL;
    CHECK(ty_begin(by[k], &err) == TY_OK && ty_put(by[k], &args, NULL, &err) == TY_OK);
    CHECK(k == 0 || ty_encode_ahead(by[k], &args, NULL, &err) == TY_OK);
    args.mode = TY_ADD;
    CHECK(ty_put(by[k], &args, NULL, &err) == TY_KEY_EXISTS && args.ahead == NULL);
    CHECK(k == 0 || ty_encode_ahead(by[k], &args, NULL, &err) == TY_OK);
    ty_progress stop = {.cancel = 1};
    args.mode = TY_UPSERT;
    CHECK(ty_put(by[k], &args, &stop, &err) == TY_CANCELLED && args.ahead == NULL);
  }
  repeated = embed_rows();
  for (int k = 0; k < 2; k++) {
    ty_put_args args = embed_args(&repeated, true);
    CHECK(k == 0 || ty_encode_ahead(by[k], &args, NULL, &err) == TY_OK);
    CHECK(ty_put(by[k], &args, NULL, &err) == TY_OK && args.inserted == EMBED_ROWS - EMBED_ROWS / 11);
    CHECK(ty_save(by[k], &err) == TY_OK);
  }
  CHECK(embed_equal(by[0], by[1]));
  close_checked(by[0]);
  close_checked(by[1]);
}

static void test_ahead_refused(void) {
  embed_batch b = ahead_rows();
  char dir[320];
  ty_collection *c = ahead_collection("f32", dir);
  ty_put_args args = embed_args(&b, false);
  ty_progress stop = {.cancel = 1};
  CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_STATE && args.ahead == NULL);
  args = embed_args(&b, true);
  args.n = 0;
  CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_STATE);
  args.n = TY_AHEAD_ROWS_MAX + 1;
  CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_STATE);
  args = embed_args(&b, true);
  args.flags = TY_PUT_CHANGES;
  CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_STATE);
  args.flags = 0;
  args.model = AME_MODEL_MULTIGRAM;
  CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_INVALID && args.ahead == NULL);
  args.model = AME_MODEL_BIGRAM;
  CHECK(ty_encode_ahead(c, &args, &stop, &err) == TY_CANCELLED && args.ahead == NULL);
  close_checked(c);
  for (int k = 0; k < 2; k++) {
    c = k == 0 ? ahead_collection("int8", dir) : embed_collection("f32", "inner_product", true, dir);
    CHECK(ty_encode_ahead(c, &args, NULL, &err) == TY_STATE && args.ahead == NULL);
    close_checked(c);
  }
}
