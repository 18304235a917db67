/* Damage guided by coverage: files that made the program do something new are damaged further. Checksums are mended, so
 * that what lies after them is reached. For store_fuzz.c, whose calls it makes. */
#pragma once

#include "cover.h"
#include "store_files.h"
#include "store_salvage.h"

/* Numbers at the edges of what parsers compare with. */
static uint64_t odd_number(uint64_t bytes) {
  static const uint64_t odd[] = {0,
                                 1,
                                 2,
                                 16,
                                 63,
                                 64,
                                 127,
                                 255,
                                 256,
                                 0x7fff,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000u,
                                 1u << 20,
                                 0xffffffffu,
                                 0x100000000u,
                                 INT64_MAX,
                                 UINT64_MAX - 63,
                                 UINT64_MAX};
  uint64_t pick = rng() % 24;
  return pick < sizeof odd / sizeof *odd ? odd[pick] : bytes - pick + 22;
}

/* Where the structure is, half of the time; in slabs where a section begins or ends. */
static size_t place_in(const uint8_t *data, size_t bytes, bool slab) {
  uint64_t pick = rng() % 4;
  if (pick == 0 || bytes <= 64) return rng() % bytes;
  if (pick == 1) return rng() % (bytes < 1024 ? bytes : 1024);
  const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
  if (!slab || h->sections == 0 || h->sections > TY_SLAB_SECTIONS_MAX || 64 + h->sections * 32 > bytes)
    return rng() % bytes;
  const ty_slab_section *s = (const ty_slab_section *)(const void *)(data + sizeof *h) + rng() % h->sections;
  uint64_t at = s->offset + (pick == 2 ? rng() % 64 : s->bytes - rng() % (s->bytes < 64 ? s->bytes + 1 : 64));
  return at < bytes ? at : rng() % bytes;
}

/* One change of a file's bytes; their number stays. */
static void change_bytes(uint8_t *data, size_t bytes, bool slab) {
  size_t at = place_in(data, bytes, slab), left = bytes - at;
  uint64_t number = odd_number(bytes), kind = rng() % 8;
  size_t length = 1 + rng() % 16;
  if (length > left) length = left;
  if (kind <= 1) data[at] ^= (uint8_t)(1u << rng() % 8);
  else if (kind == 2) data[at] = (uint8_t)rng();
  else if (kind == 3 && left >= 16) memcpy(data + at - at % 8, &number, 8);
  else if (kind == 4 && left >= 8) memcpy(data + at - at % 4, &number, 4);
  else if (kind == 5) data[at] = (uint8_t)(data[at] + (rng() % 2 == 0 ? 1 : -1) * (int)(1 + rng() % 4));
  else if (kind == 6) memmove(data + at, data + rng() % (bytes - length + 1), length);
  else memset(data + at, rng() % 2 == 0 ? 0 : 0xff, length);
}

/* One change of the manifest's text; its checksum is made again after it. */
static size_t change_text(char *text, size_t bytes, size_t capacity) {
  static const char *const tokens[] = {
      "null", "true", "-1",    "1e999", "0.5",     "[]",   "{}", "\"\"",
      "{",    "]",    "\"a\"", ",",     "\\ud800", "\xff", ": ", "18446744073709551616"};
  size_t at = rng() % bytes, most = bytes - at, length = 1 + rng() % 24;
  if (length > most) length = most;
  uint64_t kind = rng() % 5;
  if (kind == 0) text[at] = (char)rng();
  else if (kind == 1) memmove(text + at, text + at + length, bytes - at - length), bytes -= length;
  else {
    const char *token = kind == 4 ? text + rng() % (bytes - length + 1) : tokens[rng() % 16];
    char copy[64];
    size_t n = kind == 4 ? length : strlen(token);
    memcpy(copy, token, n);
    if (bytes + n >= capacity) return bytes;
    if (kind == 2) memmove(text + at + n, text + at, bytes - at), bytes += n;
    else if (n > most) return bytes;
    memcpy(text + at, copy, n);
  }
  return bytes;
}

/* Writes the input as its file, with checksums that fit. */
static void write_input(const char *dir, const cover_input *input, uint8_t *data) {
  const file *f = &files[input->file];
  if (strcmp(f->name, "collection.json") == 0) {
    data[input->bytes] = 0;
    bool whole = strlen((char *)data) == input->bytes && strstr((char *)data, "\"generation\": ") != NULL &&
                 strstr((char *)data, "\"crc32c\": ") != NULL;
    if (whole) write_sealed(dir, (char *)data);
    else write_file(dir, f->name, data, input->bytes);
    return;
  }
  if (strstr(f->name, ".slab") != NULL) mend(dir, f, data);
  write_file(dir, f->name, data, input->bytes);
}

/* `ask` and `rewrite` make the calls. */
static void guided(const char *dir, ty_env *env, uint64_t tries, void (*ask)(ty_collection *),
                   void (*rewrite)(ty_collection *)) {
  static uint8_t data[(1 << 20) + 64] __attribute__((aligned(64)));
  ty_error err;
  for (int i = 0; i < file_count; i++) {
    if (strncmp(files[i].name, "id_map", 6) != 0) cover_keep(i, files[i].data, files[i].bytes);
  }
  for (uint64_t i = 0; i < tries; i++) {
    uint64_t count = (uint64_t)cover_count, late = count < 8 ? count : 8; /* half of the time one of the latest */
    const cover_input *from = &cover_inputs[rng() % 2 == 0 ? rng() % count : count - 1 - rng() % late];
    cover_input input = *from;
    memcpy(data, from->data, from->bytes);
    bool text = strcmp(files[input.file].name, "collection.json") == 0;
    for (uint64_t n = 1 + rng() % 4; n > 0; n--) {
      if (text) input.bytes = change_text((char *)data, input.bytes, sizeof data - 64);
      else change_bytes(data, input.bytes, strstr(files[input.file].name, ".slab") != NULL);
      if (input.bytes == 0) break;
    }
    if (input.bytes == 0) continue;
    write_input(dir, &input, data);
    ty_collection *c = NULL;
    cover_begin();
    if (ty_collection_open(env, dir, &c, &err) == TY_OK) {
      ask(c);
      if (rng() % 8 == 0) rewrite(c);
      ty_verify(c, NULL, &err);
      ty_collection_close(c);
    }
    salvage_all(env, dir, DIM);
    if (cover_is_new()) cover_keep(input.file, data, input.bytes);
    restore_files(dir);
  }
  printf("%llu tries, %d inputs, %llu edges\n", (unsigned long long)tries, cover_count,
         (unsigned long long)cover_edges);
  cover_forget();
}
