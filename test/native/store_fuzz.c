/* Stored data is untrusted input: every file of a collection is damaged, bit by bit and end by end, with and without
 * checksums that fit again, and whatever opens gets every kind of call. Run under AddressSanitizer: the one thing that
 * must not happen is a read out of bounds. What is left of the files is read too.
 *
 * Without mended checksums, damage is also to be detected: by open, by ty_verify, or else the answers are right
 * (padding).
 */
#include "../../ffi/ty_runtime/disk/format.h"
#include "store_files.h"
#include "store_guided.h"
#include "store_reads.h"

static ty_env *env;
static ty_error err;

static void ask(ty_collection *c) {
  ask_all(c);
  ty_validate(c, &err);
}

/* Opens the directory's collection. 1 where the damage was reported, or does no harm. */
static int reported(const char *dir, const model *m) {
  ty_collection *c = NULL;
  if (ty_collection_open(env, dir, &c, &err) != TY_OK) return 1;
  int good = ty_verify(c, NULL, &err) != TY_OK || model_equal(c, m);
  ask(c);
  ty_collection_close(c);
  return good;
}

static void damage(const char *dir, const model *m, uint64_t tries) {
  static uint8_t data[1 << 20];
  for (uint64_t i = 0; i < tries; i++) {
    file *f = &files[rng() % (uint64_t)file_count];
    memcpy(data, f->data, f->bytes);
    uint64_t kind = rng() % 4, at = rng() % f->bytes;
    if (rng() % 2 == 0) at = rng() % (f->bytes < 1024 ? f->bytes : 1024); /* where the structure is */
    size_t bytes = f->bytes;
    if (kind == 0) bytes = at;
    else if (kind == 1) data[at] = (uint8_t)rng();
    else if (kind == 2) memset(data + at, rng() % 2 ? 0xff : 0, f->bytes - at < 8 ? f->bytes - at : 8);
    else data[at] ^= (uint8_t)(1u << rng() % 8);
    write_file(dir, f->name, data, bytes);
    salvage_all(env, dir, DIM);
    CHECK_MESSAGE(reported(dir, m), "try %llu: %s, kind %d at %llu: neither reported nor harmless",
                  (unsigned long long)i, f->name, (int)kind, (unsigned long long)at);
    bool slab = strstr(f->name, ".slab") != NULL;
    if (slab && kind != 0) {
      mend(dir, f, data);
      write_file(dir, f->name, data, bytes);
      salvage_all(env, dir, rng() % 4 == 0 ? rng() % 100 : DIM);
      ty_collection *c = NULL;
      if (ty_collection_open(env, dir, &c, &err) == TY_OK) {
        model_equal(c, m); /* it may well differ; it must not crash */
        ask(c);
        if (ty_begin(c, &err) == TY_OK) {
          ty_compact_args compact = {.keep = rng() % 2};
          ty_compact(c, &compact, NULL, &err);
          ask(c);
        }
        ty_collection_close(c);
      }
      restore_files(dir);
    }
    write_file(dir, f->name, f->data, f->bytes);
  }
  CHECK(saved_equal(env, dir, m));
}

/* Everything that reads rows and writes them again, those of the history too. */
static void rewrite(ty_collection *c) {
  static batch b;
  uint64_t changes[IDS];
  ty_compact_args compact = {.keep = rng() % 2};
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  static uint8_t out[1 << 20] __attribute__((aligned(8)));
  float queries[2 * DIM];
  uint64_t counts[2];
  content_vector(5, queries);
  content_vector(6, queries + DIM);
  ty_search_many_args many = {.queries = queries,
                              .n = 2,
                              .top_k = 5,
                              .column = TY_NO_FILTER,
                              .target_recall = 0.5,
                              .what = 7,
                              .counts = counts,
                              ANSWER_IN(out)};
  ty_search_many(c, &many, NULL, &err);
  b.n = 0;
  for (uint32_t i = 0; i < 4; i++) changes[i] = rng() % 40, batch_add(&b, i, 1);
  ty_put_args put = batch_args(&b, TY_UPSERT);
  put.flags |= TY_PUT_CHANGES;
  put.vectors = NULL;
  put.changes = changes;
  if (ty_begin(c, &err) == TY_OK) {
    ty_put(c, &put, NULL, &err);
    if (ty_save(c, &err) != TY_OK) ty_rollback(c);
  }
  if (ty_begin(c, &err) == TY_OK) ty_build_ivf(c, &ivf, NULL, &err);
  ask(c);
  if (ty_begin(c, &err) == TY_OK) ty_build_lexical(c, &lexical, NULL, &err);
  if (ty_begin(c, &err) == TY_OK) ty_compact(c, &compact, NULL, &err);
  ask(c);
}

/* Numbers that no writer writes, where rows and their bounds are, with checksums that fit: no arithmetic may be
 * undefined over them. */
static void numbers(const char *dir, uint64_t tries) {
  static uint8_t data[1 << 20];
  static const uint32_t odd[] = {0x7fc00000u, 0xffc00001u, 0x7f800000u, 0xff800000u, 0x7f7fffffu,
                                 0xff7fffffu, 1u,          0x80000000u, 0x4f000000u, 0xcf000000u};
  for (uint64_t i = 0; i < tries; i++) {
    const uint64_t pick = rng() % 6;
    file *f = pick == 0 ? by_prefix("ivf-") : pick == 1 ? by_prefix("history-") : NULL;
    if (f == NULL) f = by_prefix("base-");
    memcpy(data, f->data, f->bytes);
    const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
    const ty_slab_section *sections = (const ty_slab_section *)(const void *)(data + sizeof *h);
    const ty_slab_section *section = &sections[rng() % h->sections];
    if (section->bytes < 4) continue;
    for (uint64_t hits = 1 + rng() % 8; hits > 0; hits--) {
      uint64_t at = section->offset + rng() % (section->bytes / 4) * 4, run = rng() % 3 == 0 ? 16 : 1;
      for (; run > 0 && at + 4 <= section->offset + section->bytes; run--, at += 4)
        memcpy(data + at, &odd[rng() % 10], 4);
    }
    mend(dir, f, data);
    write_file(dir, f->name, data, f->bytes);
    ty_collection *c = NULL;
    if (ty_collection_open(env, dir, &c, &err) == TY_OK) {
      ask(c);
      rewrite(c);
      ty_collection_close(c);
    }
    for (int k = 0; k < file_count; k++) write_file(dir, files[k].name, files[k].data, files[k].bytes);
  }
}

/* Bytes after the committed ones: what a killed writer leaves. */
static void torn_tail(const char *dir, model *m) {
  static uint8_t data[1 << 20];
  for (int i = 0; i < file_count; i++) {
    if (strcmp(files[i].name, "collection.json") == 0) continue;
    memcpy(data, files[i].data, files[i].bytes);
    for (int k = 0; k < 5000; k++) data[files[i].bytes + (size_t)k] = (uint8_t)rng();
    write_file(dir, files[i].name, data, files[i].bytes + 5000);
  }
  write_file(dir, "base-00000000000000ff.slab", data, 100);
  write_file(dir, "collection.json.tmp-1", data, 100);
  write_file(dir, "repo-1.fingerprints", data, 100);
  CHECK(saved_equal(env, dir, m));
  ty_collection *c = open_saved(env, dir);
  for (int i = 0; i < 3; i++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, m, 5);
    CHECK(ty_save(c, &err) == TY_OK && saved_equal(env, dir, m) && model_equal(c, m));
  }
  CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_OK, "verify: %s", err.message);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  char path[640];
  snprintf(path, sizeof path, "%s/base-00000000000000ff.slab", dir);
  CHECK(access(path, F_OK) != 0);
  snprintf(path, sizeof path, "%s/collection.json.tmp-1", dir);
  CHECK(access(path, F_OK) != 0);
  snprintf(path, sizeof path, "%s/repo-1.fingerprints", dir);
  CHECK(access(path, F_OK) == 0);
  close_checked(c);
}

/* Begins a change and puts new rows with a `created` of their own. */
static void put_dated(ty_collection *c, model *m) {
  static batch b;
  uint64_t created[IDS], updated[IDS];
  b.n = 0;
  for (uint32_t id = 0; id < IDS; id++) {
    if (m->version[id] != 0 || b.n == 3) continue;
    created[b.n] = 1000;
    updated[b.n] = 2000 + id;
    batch_add(&b, id, next_version);
    model_put(m, id, next_version++);
    m->times[id] = (ty_times){1000, 2000 + id};
  }
  ty_put_args args = batch_args(&b, TY_ADD);
  args.created = created;
  args.updated = updated;
  CHECK(ty_begin(c, &err) == TY_OK && ty_put(c, &args, NULL, &err) == TY_OK);
}

static bool by_coverage; /* see store_guided.h */

/* One collection with everything in it. */
static void fuzz(uint64_t tries) {
  FRESH_DIR(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  for (int i = 0; i < 2; i++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    for (int k = 0; k < 6; k++) random_changes(c, &m, 30);
    CHECK(ty_save(c, &err) == TY_OK);
  }
  put_dated(c, &m);
  CHECK(ty_build_ivf(c, &ivf, NULL, &err) == TY_OK && ty_begin(c, &err) == TY_OK &&
        ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 5);
    CHECK(ty_origin(c, (const uint8_t *)"{\"client\": 1}", i % 2 ? 12 : 13, &err) == TY_OK &&
          ty_save(c, &err) == TY_OK);
  }
  put_dated(c, &m);
  CHECK(ty_save(c, &err) == TY_OK);
  close_checked(c);
  read_files(dir);
  model_damaged = true;
  if (by_coverage) {
    guided(dir, env, tries, ask, rewrite);
  } else {
    damage(dir, &m, tries);
    numbers(dir, tries / 4);
  }
  model_damaged = false;
  if (!by_coverage) torn_tail(dir, &m);
  free_files();
}

int main(int argc, char **argv) {
  uint64_t seed;
  uint64_t tries = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500;
  by_coverage = argc > 3 && strcmp(argv[3], "guided") == 0;
  if (!program_begin(argc, argv, "store-fuzz", 1, &seed, &env)) return 2;
  rng_state = seed;
  env->weighed_from = env->summed_from = 4; /* of partitions of a few rows some have sums */
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"}, *const metrics[] = {"inner_product", "cosine",
                                                                                          "l2"};
  /* Rows side by side of each dtype, then of f32 where a base's codes are its rows; then vertical ones of f32, int8 and
   * int4, and of f32 where some are not their codes; and rows with labels in place of texts. */
  for (uint64_t i = 0; i < 10; i++) {
    static const int kinds[] = {0, 1, 2, 3, 0, 0, 2, 3, 0, 0};
    model_labelled = i == 9;
    set_vertical(env, i > 4);
    model_dtype = dtypes[kinds[i]];
    model_metric = metrics[i == 4 ? 0 : (seed + i) % (i > 4 ? 2 : 3)];
    model_codes = i == 4 || i == 5 ? ALL_CODES : i == 8 ? MOST_CODES : NO_CODES;
    fuzz(i == 0 ? tries - 9 * (tries / 10) : tries / 10);
  }
  return program_end(env);
}
