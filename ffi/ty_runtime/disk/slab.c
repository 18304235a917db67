/* Slabs: written once from front to back, then mapped. The header and the table hold checksums of what follows and are
 * written last; an unfinished file has no magic number. */
#include <stdlib.h>
#include <string.h>
#include "disk/disk.h"
#include "disk/seal.h"
#include "disk/slab.h"
#include "os/plant.h"

_Static_assert(TY_WRITE_PIECE % TY_ALIGN == 0, "buffer flushes stay aligned");

void ty_slab_name(char out[64], uint32_t kind, uint64_t generation) {
  static const char *const roles[] = {"base", "ivf", "lexical", "delta", "meaning", "history"};
  snprintf(out, 64, "%s-%016llx.slab", roles[kind - TY_SLAB_BASE], (unsigned long long)generation);
}

ty_status ty_slab_create(ty_slab_writer *w, const ty_collection *c, uint32_t kind, uint64_t generation,
                         uint64_t base_generation, uint32_t sections, ty_error *err) {
  *w = (ty_slab_writer){.c = c, .fd = -1, .capacity = sections + 1, .err = err};
  ty_slab_name(w->name, kind, generation);
  w->header = (ty_slab_header){.magic = TY_SLAB_MAGIC,
                               .version = TY_SLAB_VERSION,
                               .kind = kind,
                               .generation = generation,
                               .base_generation = base_generation};
  w->offset = ty_align_up(sizeof w->header + w->capacity * sizeof *w->sections);
  w->sections = calloc(w->capacity, sizeof *w->sections);
  w->buffer = malloc(TY_WRITE_PIECE);
  if (w->sections == NULL || w->buffer == NULL)
    w->status = ty_fail(err, TY_NO_MEMORY, "out of memory writing %s", w->name);
  else w->status = ty_file_create(c, w->name, &w->fd, err);
  if (w->status == TY_OK) return TY_OK;
  free(w->sections);
  free(w->buffer);
  return w->status;
}

static void flush(ty_slab_writer *w) {
  if (w->status != TY_OK || w->buffered == 0) return;
  ty_os *os = &w->c->env->os;
  int result = os->pwrite(os, w->fd, w->buffer, (size_t)w->buffered, w->offset);
  if (result < 0) w->status = ty_fail_io(w->err, result, "write", w->name);
  w->offset += w->buffered;
  w->buffered = 0;
}

static void put(ty_slab_writer *w, const void *data, uint64_t bytes) {
  const uint8_t *p = data;
  while (bytes > 0 && w->status == TY_OK) {
    uint64_t n = TY_WRITE_PIECE - w->buffered < bytes ? TY_WRITE_PIECE - w->buffered : bytes;
    memcpy(w->buffer + w->buffered, p, (size_t)n);
    w->buffered += n;
    p += n;
    bytes -= n;
    if (w->buffered == TY_WRITE_PIECE) flush(w);
  }
}

void ty_slab_section_start(ty_slab_writer *w, uint32_t id) {
  static const uint8_t zero[TY_ALIGN];
  TY_ASSERT(w->header.sections < w->capacity && w->buffered < TY_WRITE_PIECE);
  uint64_t at = w->offset + w->buffered;
  put(w, zero, ty_align_up(at) - at);
  TY_ASSERT(w->status != TY_OK || (w->offset + w->buffered) % TY_ALIGN == 0);
  w->sections[w->header.sections] = (ty_slab_section){.id = id, .offset = w->offset + w->buffered};
  w->crc = 0;
}

/* Whether a section of this number has checksums of its blocks. */
static bool is_summed(uint32_t kind, uint32_t id) {
  return id != TY_SECTION_SUMS && (kind != TY_SLAB_BASE || id != TY_SECTION_LINES);
}

static void end_block(ty_slab_writer *w) {
  if (w->block_bytes == 0) return;
  ty_buffer_append(&w->sums, &w->block_crc, sizeof w->block_crc);
  w->block_crc = 0;
  w->block_bytes = 0;
}

static void sum_blocks(ty_slab_writer *w, const uint8_t *data, uint64_t bytes) {
  while (bytes > 0) {
    uint64_t room = TY_SUM_BLOCK - w->block_bytes, n = bytes < room ? bytes : room;
    w->block_crc = w->c->env->kernel->crc32c(w->block_crc, data, (size_t)n);
    w->block_bytes += n;
    data += n;
    bytes -= n;
    if (w->block_bytes == TY_SUM_BLOCK) end_block(w);
  }
}

void ty_slab_append(ty_slab_writer *w, const void *data, uint64_t bytes) {
  if (bytes == 0 || w->status != TY_OK) return;
  w->crc = w->c->env->kernel->crc32c(w->crc, data, (size_t)bytes);
  if (is_summed(w->header.kind, w->sections[w->header.sections].id)) sum_blocks(w, data, bytes);
  put(w, data, bytes);
}

void ty_slab_section_end(ty_slab_writer *w) {
  ty_slab_section *section = &w->sections[w->header.sections++];
  TY_ASSERT(w->header.sections <= w->capacity && section->offset <= w->offset + w->buffered);
  section->bytes = w->offset + w->buffered - section->offset;
  section->crc = w->crc;
  end_block(w);
}

void ty_slab_section_put(ty_slab_writer *w, uint32_t id, const void *data, uint64_t bytes) {
  ty_slab_section_start(w, id);
  ty_slab_append(w, data, bytes);
  ty_slab_section_end(w);
}

void ty_slab_no_memory(ty_slab_writer *w) {
  if (w->status == TY_OK) w->status = ty_fail(w->err, TY_NO_MEMORY, "out of memory writing %s", w->name);
}

ty_status ty_slab_finish(ty_slab_writer *w, ty_file *out) {
  ty_os *os = &w->c->env->os;
  const ame_kernel *k = w->c->env->kernel;
  ty_slab_section_put(w, TY_SECTION_SUMS, w->sums.data, w->sums.bytes);
  flush(w);
  if (w->sums.failed) ty_slab_no_memory(w);
  w->header.bytes = w->offset;
  uint64_t table = w->header.sections * sizeof *w->sections;
  w->header.table_crc = k->crc32c(0, w->sections, (size_t)table);
  w->header.crc = k->crc32c(0, &w->header, sizeof w->header - sizeof w->header.crc);
  uint8_t *head = w->buffer; /* it is empty now */
  memcpy(head, &w->header, sizeof w->header);
  memcpy(head + sizeof w->header, w->sections, (size_t)table);
  int result = 0;
  if (w->status == TY_OK && (result = os->pwrite(os, w->fd, head, (size_t)(sizeof w->header + table), 0)) < 0)
    w->status = ty_fail_io(w->err, result, "write", w->name);
  if (w->status == TY_OK && (result = os->sync(os, w->fd)) < 0) w->status = ty_fail_io(w->err, result, "sync", w->name);
  result = os->close(os, w->fd);
  if (w->status == TY_OK && result < 0) w->status = ty_fail_io(w->err, result, "close", w->name);
  if (w->status == TY_OK) {
    *out = (ty_file){.bytes = w->header.bytes, .crc = k->crc32c(0, head, (size_t)(sizeof w->header + table))};
    memcpy(out->name, w->name, sizeof out->name);
  } else {
    ty_file_remove(w->c, w->name);
  }
  free(w->sections);
  free(w->buffer);
  ty_buffer_free(&w->sums);
  return w->status;
}

ty_status ty_slab_check(const ty_collection *c, const ty_file *file, uint32_t kind, ty_error *err) {
  if (file->bytes < sizeof(ty_slab_header)) return ty_damaged(file, "no room for a header", file->bytes, err);
  const ty_slab_header *h = (const ty_slab_header *)(const void *)file->map;
  const char *base = kind == TY_SLAB_BASE ? file->name : c->store->files.base.name;
  bool sound = h->crc == c->env->kernel->crc32c(0, h, sizeof *h - sizeof h->crc) || TY_PLANTED(NO_HEADER_SUM),
       known = h->version >= TY_SLAB_VERSION_LEAST && h->version <= TY_SLAB_VERSION,
       grows = kind == TY_SLAB_DELTA || kind == TY_SLAB_MEANING;
  char name[64];
  if (h->magic != TY_SLAB_MAGIC) {
    ty_status status = ty_damaged(file, "not a slab", 0, err);
    /* The header of a slab is written last. */
    return ty_all_zero(h, sizeof *h) ? ty_incomplete(status, err) : status;
  }
  if (sound && !known) return ty_other_version(file->name, h->version, err);
  if (!known) /* its version may be what is damaged */
    return ty_fail(err, TY_CORRUPT, "%s is of format version %u, and this program's is %u", file->name, h->version,
                   TY_SLAB_VERSION);
  if (!sound) return ty_damaged(file, "the header does not match its checksum", 0, err);
  if (!ty_all_zero(h->reserved, sizeof h->reserved)) return ty_damaged(file, "a reserved field is not zero", 0, err);
  ty_slab_name(name, kind, h->generation);
  if (h->kind != kind || strcmp(name, file->name) != 0 || h->bytes != (grows ? sizeof *h : file->bytes) ||
      (h->sections == 0) != grows || h->sections > TY_SLAB_SECTIONS_MAX || (grows && h->table_crc != 0))
    return ty_damaged(file, "the header is not of this file", 0, err);
  /* By the base's name, which its header has to agree with: the base itself may be damaged. */
  ty_slab_name(name, TY_SLAB_BASE, h->base_generation);
  if (base[0] != 0 && strcmp(name, base) != 0) return ty_damaged(file, "it belongs to another base", 0, err);
  return TY_OK;
}

static uint64_t blocks_of(const ty_slab_header *h, const ty_slab_section *s) {
  return is_summed(h->kind, s->id) ? ty_sum_blocks(s->bytes) : 0;
}

ty_status ty_slab_sums(const ty_collection *c, ty_slab *slab, ty_error *err) {
  static const ty_part parts[] = {TY_PART_FILTER, TY_PART_IVF, TY_PART_WORDS,
                                  [TY_SLAB_HISTORY - TY_SLAB_BASE] = TY_PART_HISTORY};
  const ty_slab_header *h = slab->header;
  const ty_slab_section *last = &slab->sections[h->sections - 1];
  uint64_t blocks = 0; /* at most 256 times 2^48 */
  for (uint32_t i = 0; i < h->sections; i++) {
    blocks += blocks_of(h, &slab->sections[i]);
    if ((slab->sections[i].id == TY_SECTION_SUMS) != (i + 1 == h->sections))
      return ty_damaged(slab->file, "its last section is not that of the checksums of blocks", sizeof *h, err);
  }
  if (last->bytes != blocks * sizeof *slab->sums)
    return ty_damaged(slab->file, "it has not a checksum for each block", last->offset, err);
  const uint8_t *data = slab->file->map + last->offset;
  if (c->env->kernel->crc32c(0, data, (size_t)last->bytes) == last->crc || TY_PLANTED(NO_SUMS_SUM)) {
    slab->sums = (const uint32_t *)(const void *)data;
  } else {
    ty_damage d = ty_damage_of(slab->file->name, parts[h->kind - TY_SLAB_BASE], last->id, last->offset, last->bytes,
                               "the checksums of blocks do not match theirs");
    ty_damage_note(c, &d);
  }
  return TY_OK;
}

ty_status ty_slab_open(const ty_collection *c, const ty_file *file, uint32_t kind, ty_slab *out, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  ty_status status = ty_slab_check(c, file, kind, err);
  if (status != TY_OK) return status;
  const ty_slab_header *h = (const ty_slab_header *)(const void *)file->map;
  uint64_t table = h->sections * sizeof(ty_slab_section), end = sizeof *h + table;
  const ty_slab_section *sections = (const ty_slab_section *)(file->map + sizeof *h);
  if (end > file->bytes) return ty_damaged(file, "no room for the section table", sizeof *h, err);
  if (h->table_crc != k->crc32c(0, sections, (size_t)table) && !TY_PLANTED(NO_TABLE_SUM))
    return ty_damaged(file, "the section table does not match its checksum", sizeof *h, err);
  if (file->crc != k->crc32c(0, file->map, (size_t)end) && !TY_PLANTED(NO_HEADER_SUM) && !TY_PLANTED(NO_TABLE_SUM))
    return ty_damaged(file, "the header is not the one the manifest names", 0, err);
  for (uint32_t i = 0; i < h->sections; i++) {
    uint64_t stop;
    if (sections[i].offset % TY_ALIGN != 0 || sections[i].offset < end ||
        !ty_add(sections[i].offset, sections[i].bytes, &stop) || stop > file->bytes)
      return ty_damaged(file, "a section lies outside the file", sizeof *h + i * sizeof *sections, err);
    if (sections[i].reserved != 0)
      return ty_damaged(file, "a reserved field is not zero", sizeof *h + i * sizeof *sections, err);
  }
  *out = (ty_slab){h, sections, file, NULL};
  /* A section is found by its id: with the length of another one, reads would go beyond its end. */
  for (uint32_t i = 0; i < h->sections; i++)
    if (ty_slab_find(out, sections[i].id) != &sections[i])
      return ty_damaged(file, "two sections have one id", sizeof *h + i * sizeof *sections, err);
  return ty_slab_sums(c, out, err);
}

const ty_slab_section *ty_slab_find(const ty_slab *slab, uint32_t id) {
  for (uint32_t i = 0; i < slab->header->sections; i++) {
    if (slab->sections[i].id == id) return &slab->sections[i];
  }
  return NULL;
}

static bool is_sound(const ty_collection *c, const ty_slab *slab, const ty_slab_section *s) {
  return ty_crc_mapped(c->env, 0, slab->file->map + s->offset, s->bytes) == s->crc;
}

bool ty_slab_sound(const ty_collection *c, const ty_slab *slab, uint32_t id) {
  const ty_slab_section *s = ty_slab_find(slab, id);
  return s != NULL && is_sound(c, slab, s);
}

ty_status ty_slab_get(const ty_collection *c, const ty_slab *slab, uint32_t id, uint64_t bytes, bool check,
                      ty_slice *out, ty_error *err) {
  const ty_slab_section *s = ty_slab_find(slab, id);
  if (s == NULL) return ty_fail(err, TY_CORRUPT, "%s has no section %u", slab->file->name, id);
  if (bytes != UINT64_MAX && s->bytes != bytes)
    return ty_damaged(slab->file, "a section is not as long as it must be", s->offset, err);
  if (check && !is_sound(c, slab, s) && !TY_PLANTED(NO_SECTION_SUM))
    return ty_fail(err, TY_CORRUPT, "%s: section %u does not match its checksum at offset %llu", slab->file->name, id,
                   (unsigned long long)s->offset);
  *out = (ty_slice){slab->file->map + s->offset, s->bytes};
  return TY_OK;
}

ty_status ty_slab_intact(const ty_collection *c, const ty_slab *slab, uint32_t id, ty_part part, ty_intact *out,
                         ty_error *err) {
  uint64_t before = 0;
  TY_ASSERT(is_summed(slab->header->kind, id));
  const ty_slab_section *s = ty_slab_find(slab, id);
  if (s == NULL) return ty_fail(err, TY_CORRUPT, "%s has no section %u", slab->file->name, id);
  for (const ty_slab_section *i = slab->sections; i < s; i++) before += blocks_of(slab->header, i);
  *out = (ty_intact){.data = slab->file->map + s->offset,
                     .bytes = s->bytes,
                     .sums = slab->sums == NULL ? NULL : slab->sums + before,
                     .damages = c->damages,
                     .kernel = c->env->kernel,
                     .part = part,
                     .section = id,
                     .offset = s->offset};
  memcpy(out->file, slab->file->name, sizeof out->file);
  ty_status status = ty_intact_open(out, err);
  if (status != TY_OK || slab->sums != NULL) return status;
  if (is_sound(c, slab, s)) ty_intact_pass(out);
  else ty_intact_condemn(out, 0, out->bytes, "bytes do not match their checksum");
  return TY_OK;
}
