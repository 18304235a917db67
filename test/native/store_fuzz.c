/* Stored data is a stranger: every file of a collection is damaged, bit by bit and end by end, with and without checksums that fit again, and
 * whatever is opened is asked everything. Run under AddressSanitizer: the one thing that must not happen is a read out of bounds.
 *
 * Without mended checksums, damage is also to be detected: by open, by ty_verify, or else the answers are right (padding).
 */
#include "../../ffi/ty_runtime/format.h"
#include "store_model.h"

static ty_env *env;
static ty_error err;
static const ame_kernel *kernel;

/* Asks everything; answers are not looked at. */
static void ask(ty_collection *c) {
  static uint8_t out[1 << 20] __attribute__((aligned(8)));
  float query[DIM], sample[IDS * DIM];
  content_vector(5, query);
  ty_search_args exact = {.query = query,
                          .top_k = 10,
                          .column = TY_NO_FILTER,
                          .target_recall = 1,
                          .what = 7,
                          .out = out,
                          .out_capacity = sizeof out};
  ty_search(c, &exact, &err);
  ty_search_args probed = {.query = query,
                           .top_k = 10,
                           .column = 0,
                           .key = (const uint8_t *)"p1",
                           .key_bytes = 2,
                           .target_recall = 0.5,
                           .what = 7,
                           .out = out,
                           .out_capacity = sizeof out};
  ty_search(c, &probed, &err);
  probed.weighted = exact.weighted = 1;
  ty_search(c, &exact, &err);
  ty_search(c, &probed, &err);
  ty_lexical_search_args words = {.query = (const uint8_t *)"text version words",
                                  .query_bytes = 18,
                                  .top_k = 10,
                                  .column = TY_NO_FILTER,
                                  .what = 15,
                                  .out = out,
                                  .out_capacity = sizeof out};
  ty_search_lexical(c, &words, &err);
  ty_ids_args ids = {.column = TY_NO_FILTER, .what = 7, .out = out, .out_capacity = sizeof out};
  ty_ids(c, &ids, &err);
  ty_sample_args some = {.n = IDS, .seed = 1, .out = sample};
  ty_sample(c, &some, &err);
  ty_stats_args stats;
  ty_stats(c, &stats, &err);
  ty_partitions_args partitions = {.out = out, .out_capacity = sizeof out};
  ty_partitions(c, &partitions, &err);
}

typedef struct file {
  char name[64];
  uint8_t *data;
  size_t bytes;
} file;
static file files[16];
static int file_count;

static void read_files(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  file_count = 0;
  while ((e = readdir(d)) != NULL) {
    if (e->d_name[0] == '.' || file_count == 16) continue;
    file *f = &files[file_count++];
    char path[640];
    snprintf(f->name, sizeof f->name, "%.63s", e->d_name);
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    FILE *in = fopen(path, "rb");
    f->data = malloc(1 << 20);
    f->bytes = fread(f->data, 1, 1 << 20, in);
    fclose(in);
  }
  closedir(d);
}

static void write_file(const char *dir, const char *name, const uint8_t *data, size_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *out = fopen(path, "wb");
  if (bytes > 0) fwrite(data, 1, bytes, out);
  fclose(out);
}

static file *by_prefix(const char *prefix) {
  for (int i = 0; i < file_count; i++) {
    if (strncmp(files[i].name, prefix, strlen(prefix)) == 0) return &files[i];
  }
  return NULL;
}

/* Makes every checksum of a damaged file fit again, as a stranger would, and writes a manifest that names it. */
static void mend(const char *dir, const file *f, uint8_t *data) {
  uint32_t crc = 0;
  if (strncmp(f->name, "delta-", 6) == 0) {
    ty_delta_header *h = (ty_delta_header *)(void *)data;
    h->crc = kernel->crc32c(0, h, sizeof *h - 4);
    for (size_t at = sizeof *h; at + sizeof(ty_block_header) <= f->bytes;) {
      ty_block_header *b = (ty_block_header *)(void *)(data + at);
      if (b->payload_bytes > f->bytes - at - sizeof *b || b->payload_bytes % TY_ALIGN != 0) break;
      b->payload_crc = kernel->crc32c(0, b + 1, b->payload_bytes);
      b->crc = kernel->crc32c(0, b, sizeof *b - 4);
      at += sizeof *b + b->payload_bytes;
    }
    crc = kernel->crc32c(0, data, f->bytes);
  } else {
    ty_slab_header *h = (ty_slab_header *)(void *)data;
    ty_slab_section *s = (ty_slab_section *)(void *)(data + sizeof *h);
    if (h->sections > TY_SLAB_SECTIONS_MAX || sizeof *h + h->sections * sizeof *s > f->bytes) return;
    for (uint32_t i = 0; i < h->sections; i++) {
      if (s[i].offset <= f->bytes && s[i].bytes <= f->bytes - s[i].offset)
        s[i].crc = kernel->crc32c(0, data + s[i].offset, s[i].bytes);
    }
    h->table_crc = kernel->crc32c(0, s, h->sections * sizeof *s);
    h->crc = kernel->crc32c(0, h, sizeof *h - 4);
    crc = kernel->crc32c(0, data, sizeof *h + h->sections * sizeof *s);
  }
  const file *m = by_prefix("collection.json");
  char key[128], *text = malloc(m->bytes + 64);
  memcpy(text, m->data, m->bytes);
  text[m->bytes] = 0;
  snprintf(key, sizeof key, "\"name\": \"%s\"", f->name);
  char *at = strstr(text, key), *sum = strstr(at, "\"crc32c\": ") + 10, *end = strchr(sum, '}');
  char tail[4096];
  snprintf(tail, sizeof tail, "%s", end);
  sprintf(sum, "%u%s", crc, tail);
  write_file(dir, "collection.json", (uint8_t *)text, strlen(text));
  free(text);
}

/* Opens what stands in the directory. 1 where the damage was told, or does no harm. */
static int told(const char *dir, const model *m) {
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
    if (kind == 0)
      bytes = at;
    else if (kind == 1)
      data[at] = (uint8_t)rng();
    else if (kind == 2)
      memset(data + at, rng() % 2 ? 0xff : 0, f->bytes - at < 8 ? f->bytes - at : 8);
    else
      data[at] ^= (uint8_t)(1u << rng() % 8);
    write_file(dir, f->name, data, bytes);
    CHECK_MESSAGE(told(dir, m), "try %llu: %s, kind %d at %llu: neither told nor harmless", (unsigned long long)i,
                  f->name, (int)kind, (unsigned long long)at);
    bool slab = strstr(f->name, ".slab") != NULL;
    if (slab && kind != 0) {
      mend(dir, f, data);
      write_file(dir, f->name, data, bytes);
      ty_collection *c = NULL;
      if (ty_collection_open(env, dir, &c, &err) == TY_OK) {
        model_equal(c, m); /* it may well differ; it must not crash */
        ask(c);
        if (ty_begin(c, &err) == TY_OK) {
          ty_compact_args compact;
          ty_compact(c, &compact, NULL, &err);
        }
        ty_collection_close(c);
      }
      for (int k = 0; k < file_count; k++) write_file(dir, files[k].name, files[k].data, files[k].bytes);
    }
    write_file(dir, f->name, f->data, f->bytes);
  }
  CHECK(saved_equal(env, dir, m));
}

/* Bytes behind the committed ones: what a killed writer leaves. */
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
  ty_compact_args compact;
  CHECK(ty_begin(c, &err) == TY_OK && ty_compact(c, &compact, NULL, &err) == TY_OK);
  char path[640];
  snprintf(path, sizeof path, "%s/base-00000000000000ff.slab", dir);
  CHECK(access(path, F_OK) != 0);
  snprintf(path, sizeof path, "%s/collection.json.tmp-1", dir);
  CHECK(access(path, F_OK) != 0);
  snprintf(path, sizeof path, "%s/repo-1.fingerprints", dir);
  CHECK(access(path, F_OK) == 0);
  ty_collection_close(c);
}

/* One collection with everything in it. */
static void fuzz(uint64_t tries) {
  char dir[320];
  fresh_dir(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  ty_ivf_args ivf = {.min_rows = 4, .target_recall = 0.9};
  ty_lexical_args lexical = {1.2, 0.75};
  CHECK(ty_begin(c, &err) == TY_OK);
  for (int i = 0; i < 6; i++) random_changes(c, &m, 30);
  CHECK(ty_build_ivf(c, &ivf, NULL, &err) == TY_OK && ty_begin(c, &err) == TY_OK &&
        ty_build_lexical(c, &lexical, NULL, &err) == TY_OK);
  for (int i = 0; i < 4; i++) {
    CHECK(ty_begin(c, &err) == TY_OK);
    random_changes(c, &m, 5);
    CHECK(ty_save(c, &err) == TY_OK);
  }
  ty_collection_close(c);
  read_files(dir);
  damage(dir, &m, tries);
  torn_tail(dir, &m);
  for (int i = 0; i < file_count; i++) free(files[i].data);
}

int main(int argc, char **argv) {
  uint64_t seed;
  uint64_t tries = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500;
  kernel = ame_kernel_table();
  if (!program_begin(argc, argv, "store-fuzz", 1, &seed, &env)) return 2;
  rng_state = seed;
  static const char *const dtypes[] = {"f32", "f16", "int8", "int4"}, *const metrics[] = {"inner_product", "cosine", "l2"};
  for (uint64_t i = 0; i < 5; i++) { /* the last: of f32, a base whose codes are its rows */
    model_dtype = dtypes[i % 4];
    model_metric = metrics[i == 4 ? 0 : (seed + i) % 3];
    model_codes = i == 4 ? ALL_CODES : NO_CODES;
    fuzz(i == 0 ? tries - 4 * (tries / 5) : tries / 5);
  }
  return program_end(env);
}
