/* The files of a collection as bytes: read, damaged, given checksums that fit again, and written back. */
#pragma once

#include "slab_sums.h"
#include "store_model.h"
#include "store_sealed.h"

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

/* Writes all files back, each in place, and removes what was not there. */
static inline void restore_files(const char *dir) {
  DIR *d = opendir(dir);
  struct dirent *e;
  char path[640];
  while ((e = readdir(d)) != NULL) {
    bool known = e->d_name[0] == '.';
    for (int i = 0; i < file_count && !known; i++) known = strcmp(files[i].name, e->d_name) == 0;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (!known) unlink(path);
  }
  closedir(d);
  for (int i = 0; i < file_count; i++) write_file(dir, files[i].name, files[i].data, files[i].bytes);
}

static inline void free_files(void) {
  for (int i = 0; i < file_count; i++) free(files[i].data);
}

static file *by_prefix(const char *prefix) {
  for (int i = 0; i < file_count; i++) {
    if (strncmp(files[i].name, prefix, strlen(prefix)) == 0) return &files[i];
  }
  return NULL;
}

/* Makes every checksum of a damaged file fit again, as an attacker would, and writes a manifest that names it. */
static inline void mend(const char *dir, const file *f, uint8_t *data) {
  const ame_kernel *kernel = ame_kernel_table();
  uint32_t crc = 0;
  if (strncmp(f->name, "delta-", 6) == 0 || strncmp(f->name, "meaning-", 8) == 0) {
    ty_slab_header *h = (ty_slab_header *)(void *)data;
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
    if (h->sections > 0) mend_sections(data, f->bytes);
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
  write_sealed(dir, text);
  free(text);
}
