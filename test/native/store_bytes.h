/* Bytes that no writer of this version writes, and memory that runs out. */
#pragma once

#include "../../ffi/ty_runtime/lexical/format.h"
#include "../../ffi/ty_runtime/state/ids.h"
#include "store_kinds.h"

/* ---- Reserved fields ------------------------------------------------------------------------------------------------
 */
/* Sets one byte of a file, with checksums that fit, and opens the collection. */
static ty_status opened_with(const char *dir, const file *f, uint64_t at) {
  static uint8_t data[1 << 20];
  ty_collection *c = NULL;
  memcpy(data, f->data, f->bytes);
  CHECK(data[at] == 0);
  data[at] = 1;
  if (strncmp(f->name, "lexical-", 8) == 0) { /* the head and the foot of the index have a checksum of their own */
    const ame_kernel *k = ame_kernel_table();
    ty_slab_section section;
    memcpy(&section, data + sizeof(ty_slab_header), sizeof section);
    uint8_t *foot = data + section.offset + section.bytes - sizeof(ty_lexical_foot);
    uint32_t crc =
        k->crc32c(k->crc32c(0, data + section.offset, sizeof(ty_lexical_head)), foot, sizeof(ty_lexical_foot) - 4);
    memcpy(foot + sizeof(ty_lexical_foot) - 4, &crc, sizeof crc);
  }
  mend(dir, f, data);
  write_file(dir, f->name, data, f->bytes);
  ty_status status = ty_collection_open(env, dir, &c, &err);
  if (status == TY_OK) {
    ty_ask_args words = {.by = TY_BY_WORDS, TEXT_OF("text"), .top_k = 3, .column = TY_NO_FILTER, ANSWER_IN(answer)};
    ty_stats_args stats;
    status = ty_ask(c, &words, &err); /* an index that is damaged is done without */
    if (status == TY_OK && ty_stats(c, &stats, &err) == TY_OK && stats.values[TY_STAT_DAMAGES] > 0) status = TY_CORRUPT;
  }
  close_checked(c);
  for (int i = 0; i < file_count; i++) write_file(dir, files[i].name, files[i].data, files[i].bytes);
  return status;
}

static void check_reserved(const char *dir, const file *f, uint64_t at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += bytes > 8 ? bytes - 1 : 1)
    CHECK_MESSAGE(opened_with(dir, f, at + i) == TY_CORRUPT, "%s: reserved byte %llu is passed over", f->name,
                  (unsigned long long)(at + i));
}

static void test_reserved(void) {
  char dir[320];
  make_all_kinds(env, dir);
  const file *base = by_prefix("base-"), *delta = by_prefix("delta-"), *words = by_prefix("lexical-"),
             *lists = by_prefix("ivf-");
  CHECK(base != NULL && delta != NULL && words != NULL && lists != NULL);
  check_reserved(dir, base, offsetof(ty_slab_header, reserved), 12);
  check_reserved(dir, base, sizeof(ty_slab_header) + offsetof(ty_slab_section, reserved), 8);
  ty_slab_header head;
  bool coded = false;
  memcpy(&head, base->data, sizeof head);
  for (uint32_t i = 0; i < head.sections; i++) {
    ty_slab_section section;
    memcpy(&section, base->data + sizeof head + i * sizeof section, sizeof section);
    if (section.id != TY_SECTION_CODING) continue;
    coded = true;
    check_reserved(dir, base, section.offset + offsetof(ty_coding_head, reserved), 56);
  }
  CHECK(coded);
  check_reserved(dir, delta, offsetof(ty_slab_header, reserved), 12);
  check_reserved(dir, delta, offsetof(ty_slab_header, table_crc), 4);
  check_reserved(dir, delta, sizeof(ty_slab_header) + offsetof(ty_block_header, reserved), 20);
  check_reserved(dir, delta, sizeof(ty_slab_header) + sizeof(ty_block_header) + offsetof(ty_operation, sparse_bytes),
                 4);
  ty_slab_section section;
  memcpy(&section, words->data + sizeof head, sizeof section);
  check_reserved(dir, words, section.offset + offsetof(ty_lexical_head, reserved), 32);
  check_reserved(dir, words,
                 section.offset + section.bytes - sizeof(ty_lexical_foot) + offsetof(ty_lexical_foot, reserved), 28);
  memcpy(&section, lists->data + sizeof head, sizeof section);
  check_reserved(dir, lists, section.offset + 24, 40);
  check_reserved(dir, lists, section.offset + 64 + 12, 4); /* of the first part */
  for (int i = 0; i < file_count; i++) free(files[i].data);
}

/* A section is found by its id: with two of one id the length of one would go with the bytes of the other. */
static void test_sections_of_one_id(void) {
  static uint8_t data[1 << 20];
  char dir[320];
  make_all_kinds(env, dir);
  const file *base = by_prefix("base-");
  ty_slab_header head;
  memcpy(&head, base->data, sizeof head);
  for (uint32_t i = 1; i + 1 < head.sections; i++) { /* not the last, whose id is fixed */
    ty_collection *c = NULL;
    memcpy(data, base->data, base->bytes);
    memcpy(data + sizeof head + i * sizeof(ty_slab_section), data + sizeof head, sizeof(uint32_t));
    mend(dir, base, data);
    write_file(dir, base->name, data, base->bytes);
    CHECK(ty_collection_open(env, dir, &c, &err) == TY_CORRUPT && strstr(err.message, "two sections have one id"));
    ty_collection_close(c);
    for (int k = 0; k < file_count; k++) write_file(dir, files[k].name, files[k].data, files[k].bytes);
  }
  for (int i = 0; i < file_count; i++) free(files[i].data);
}

/* ---- Other versions -------------------------------------------------------------------------------------------------
 */
/* Writes over the start of a file that may be mapped. */
static void patch_file(const char *dir, const char *name, const uint8_t *data, size_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *out = fopen(path, "r+b");
  CHECK(out != NULL && fwrite(data, 1, bytes, out) == bytes);
  fclose(out);
}

/* Whether the directory has what `files` says, byte for byte, but for this file, which is `data`, and the manifest. */
static bool untouched(const char *dir, const file *changed, const uint8_t *data) {
  static uint8_t now[1 << 20];
  bool same = true;
  for (int i = 0; i < file_count; i++) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s", dir, files[i].name);
    FILE *in = fopen(path, "rb");
    size_t bytes = in == NULL ? 0 : fread(now, 1, sizeof now, in);
    if (in != NULL) fclose(in);
    if (strcmp(files[i].name, TY_MANIFEST_NAME) == 0) continue;
    same &= bytes == files[i].bytes && memcmp(now, &files[i] == changed ? data : files[i].data, bytes) == 0;
  }
  return same;
}

static bool names_both(const file *f, uint32_t version, bool damaged) {
  char said[256];
  snprintf(said, sizeof said, "%s is of format version %u, and this program's is %u%s", f->name, version,
           TY_SLAB_VERSION,
           damaged                     ? ""
           : version > TY_SLAB_VERSION ? ": use a newer release of svc; version 1.0.0 wrote it"
                                       : ": export the collection with the release that wrote it, and import it with "
                                         "this one; version 1.0.0 wrote it");
  return strcmp(err.message, said) == 0;
}

/* A file of any kind that is of another version: the collection is not opened, and nothing is touched. One that is only
 * damaged where the version stands is damage. */
static void test_versions(void) {
  static const char *const kinds[] = {"base-", "delta-", "ivf-", "lexical-"};
  static const uint32_t versions[] = {0, TY_SLAB_VERSION_LEAST - 1, TY_SLAB_VERSION + 1, UINT32_MAX};
  static uint8_t data[1 << 20];
  char dir[320], said[256];
  make_all_kinds(env, dir);
  for (int i = 0; i < 16; i++) {
    const file *f = by_prefix(kinds[i / 4]);
    uint32_t version = versions[i % 4];
    ty_collection *c = open_saved(env, dir), *other = NULL;
    memcpy(data, f->data, f->bytes);
    memcpy(data + offsetof(ty_slab_header, version), &version, sizeof version);
    patch_file(dir, f->name, data, sizeof(ty_slab_header));
    ty_status damaged = ty_collection_open(env, dir, &other, &err);
    CHECK(damaged == (i / 4 >= 2 ? TY_OK : TY_CORRUPT) && (damaged == TY_OK || names_both(f, version, true)));
    ty_collection_close(other);
    snprintf(said, sizeof said, "%s: is of format version %u, and this program's is %u at offset 0", f->name, version,
             TY_SLAB_VERSION);
    CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_CORRUPT && strcmp(err.message, said) == 0, "%s", err.message);
    mend(dir, f, data);
    patch_file(dir, f->name, data, f->bytes);
    CHECK(ty_verify(c, NULL, &err) == TY_VERSION && names_both(f, version, false));
    ty_collection_close(c);
    CHECK(ty_collection_open(env, dir, &other, &err) == TY_VERSION && names_both(f, version, false) && other == NULL);
    CHECK(untouched(dir, f, data));
    for (int k = 0; k < file_count; k++) write_file(dir, files[k].name, files[k].data, files[k].bytes);
  }
  for (int i = 0; i < file_count; i++) free(files[i].data);
}

/* ---- Memory ---------------------------------------------------------------------------------------------------------
 */
/* The sanitizer's allocator ends the program otherwise. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* The table of ids cannot be built for so many rows: no id is taken for unknown because of it. The first look-up of a
 * few ids needs no table. */
static void test_find_without_memory(void) {
  char dir[320], id[64];
  fresh_dir(dir);
  model m = {0};
  ty_collection *c = open_new(env, dir);
  put_versions(c, &m, 0, 5, 1);
  CHECK(ty_save(c, &err) == TY_OK);
  close_checked(c);
  c = open_saved(env, dir);
  uint64_t end = content_id(2, id), live = c->base.live;
  ty_ref row;
  bool found = true;
  CHECK(ty_begin(c, &err) == TY_OK);
  c->base.live = (uint64_t)1 << 58;
  CHECK(ty_find(c, (ty_slice){(uint8_t *)id, end}, &row, &found, &err) == TY_NO_MEMORY && !found);
  ty_get_args get = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end, ANSWER_IN(answer)};
  CHECK(ty_get(c, &get, &err) == TY_OK && ((const ty_record *)(const void *)answer)->found == 1);
  CHECK(ty_get(c, &get, &err) == TY_NO_MEMORY);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
  CHECK(ty_delete(c, &gone, &err) == TY_NO_MEMORY && gone.removed == 0);
  ty_ids_args page = {
      .column = TY_NO_FILTER, .after = (uint8_t *)id, .after_bytes = end, .out = answer, .out_capacity = sizeof answer};
  CHECK(ty_ids(c, &page, &err) == TY_NO_MEMORY);
  c->base.live = live;
  CHECK(ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1);
  m.version[2] = 0;
  CHECK(ty_save(c, &err) == TY_OK && saved_equal(env, dir, &m));
  close_checked(c);
}
