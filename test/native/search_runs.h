/* Runs of terms that are laid aside in many pieces of memory come back in the order of their rows. Included by
 * search_test.c. */
typedef struct runs_seen {
  uint64_t last, postings, disorder;
  uint32_t of_word;
} runs_seen;

static void runs_posting(void *context, uint64_t row, uint32_t tf) {
  runs_seen *s = context;
  s->disorder += row < s->last;
  s->last = row;
  s->postings++;
  s->of_word += tf;
}

static ty_status runs_term(void *context, uint32_t hash) {
  runs_seen *s = context;
  CHECK(hash != 12345 || (s->of_word == 4 && s->last == 2));
  s->last = 0;
  s->of_word = 0;
  return TY_OK;
}

/* A text that fills a hundred runs holds a word in its first and in its last one, and so do the rows after it. Where
 * runs of one row were told apart by where they lie, the word's rows came out of order as soon as a later piece of
 * memory lay below an earlier one. */
static void test_runs(uint64_t seed) {
  ty_env env = {.kernel = ame_kernel_table(), .run_memory = 800, .run_chunk = 600, .spill_from = TY_SPILL_FROM};
  ty_collection c = {.env = &env};
  ty_error err = {0};
  runs_seen seen = {0};
  ty_runs r;
  ty_runs_open(&r, &c);
  ty_runs_row(&r, 0);
  ty_runs_add(&r, 12345, 1);
  for (int i = 0; i < 10000; i++) ty_runs_add(&r, (uint32_t)(test_random(&seed) >> 20) | 1u << 20, 1);
  ty_runs_add(&r, 12345, 1);
  for (uint64_t row = 1; row < 3; row++) {
    ty_runs_row(&r, row);
    ty_runs_add(&r, 12345, 1);
  }
  ty_runs_sink sink = {.posting = runs_posting, .term = runs_term, .ctx = &seen};
  CHECK(ty_runs_merge(&r, &sink, &err) == TY_OK && seen.disorder == 0 && seen.postings > 9000);
  ty_runs_free(&r);
}
