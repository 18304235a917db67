/* The digest of ty_count: equal for equal sets of live ids, whatever led to them, and for no others. */
#pragma once

#define DIGESTS 4096u
typedef struct digests { /* of all sets of ids that came up */
  uint64_t set[DIGESTS], digest[DIGESTS];
  uint32_t count;
} digests;

static void check_digest(digests *d, uint64_t set, uint64_t digest) {
  for (uint32_t i = 0; i < d->count; i++) CHECK((d->set[i] == set) == (d->digest[i] == digest));
  if (d->count < DIGESTS) d->set[d->count] = set, d->digest[d->count++] = digest;
}

/* Of all rows, and of those of each value of both columns. */
static void check_digests(ty_collection *c, const model *m, digests *d) {
  for (uint32_t value = 0; value < 1 + KEYS + 2; value++) {
    char key[16];
    uint64_t set = 0, rows = 0;
    for (uint32_t i = 0; i < IDS; i++) {
      uint32_t v = m->version[i];
      bool in = v != 0 && (value == 0 || (value <= KEYS ? v % KEYS == value - 1 : v % 2 == value - KEYS - 1));
      if (value == KEYS) in = false; /* the empty value matches no row */
      set |= (uint64_t)in << i;
      rows += in;
    }
    uint64_t bytes = value == 0      ? 0
                     : value <= KEYS ? content_key(value - 1, key)
                                     : (uint64_t)sprintf(key, "k%u", value - KEYS - 1);
    ty_count_args args = {
        .column = value == 0 ? TY_NO_FILTER : value > KEYS, .key = (uint8_t *)key, .key_bytes = bytes};
    CHECK(ty_count(c, &args, &err) == TY_OK && args.count == rows && args.digest == 0);
    args.digests = 1;
    CHECK(ty_count(c, &args, &err) == TY_OK && args.count == rows);
    check_digest(d, set, args.digest);
  }
}

static void test_digest(void) {
  static digests d;
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  check_digests(c, &m, &d);
  for (int round = 0; round < 60; round++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, round % 4 == 0 ? 30 : 4);
    check_digests(c, &m, &d);
    ty_compact_args compact = {0};
    CHECK(round % 7 == 6 ? ty_compact(c, &compact, NULL, &err) == TY_OK : ty_save(c, &err) == TY_OK);
    if (round % 11 == 5) {
      ty_collection_close(c);
      c = open_saved(env, dir);
    }
    check_digests(c, &m, &d);
  }
  ty_count_args wrong = {.column = 2, .digests = 1};
  CHECK(ty_count(c, &wrong, &err) == TY_INVALID && strstr(err.message, "filter column 2") != NULL);
  close_checked(c);
}
