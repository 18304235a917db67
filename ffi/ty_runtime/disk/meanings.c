#include "disk/meanings.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "disk/slab.h"
#include "rows/damage.h"

ty_status ty_meaning_file_open(const ty_collection *c, ty_file *file, ty_error *err) {
  ty_status status = ty_file_map(c, file, ty_room_ahead(file->bytes), err);
  if (status == TY_OK) status = ty_slab_check(c, file, TY_SLAB_MEANING, err);
  return status;
}

ty_status ty_meaning_file_extend(const ty_collection *c, ty_file *file, uint64_t bytes, ty_error *err) {
  ty_status status = ty_file_still(c, file, bytes, err);
  if (status != TY_OK) return status;
  if (bytes > file->mapped) {
    ty_file longer = *file;
    longer.bytes = bytes;
    status = ty_file_map(c, &longer, ty_room_ahead(bytes), err);
    if (status != TY_OK) return status;
    ty_file_unmap(c, file);
    *file = longer;
  }
  file->bytes = bytes;
  ty_file_end(file);
  return TY_OK;
}

bool ty_meaning_is_valid(const ty_meaning_record *r) {
  bool least = false; /* a code that no encoder makes */
  for (uint32_t i = 0; i < AME_ENCODING_DIM; i++) least |= r->encoding.codes[i] == INT8_MIN;
  return !least && isfinite(r->encoding.scale) && r->encoding.scale >= 0 &&
         ty_all_zero(r->encoding.reserved, sizeof r->encoding.reserved);
}

static void note(const ty_collection *c, const ty_file *file, uint64_t at, uint64_t bytes, const char *what) {
  ty_damage d = ty_damage_of(file->name, TY_PART_MEANING, 0, at, bytes, what);
  ty_damage_note(c, &d);
}

/* Whether a block begins here that ends after the committed bytes, as no block of the named file does. */
static bool is_cut(const ame_kernel *k, const ty_file *file, uint64_t at) {
  ty_block_header b;
  if (file->bytes - at < sizeof b) return false;
  memcpy(&b, file->map + at, sizeof b);
  return ty_block_is_whole(k, &b, TY_MEANING_MAGIC) && b.payload_bytes > file->bytes - at - sizeof b;
}

bool ty_meaning_file_read(const ty_collection *c, const ty_file *file, uint64_t from, ty_meaning_file_fn each,
                          void *context) {
  const ame_kernel *k = c->env->kernel;
  const bool all = from == sizeof(ty_slab_header);
  /* Then no block has to be compared alone. */
  const bool whole = all && k->crc32c(0, file->map, (size_t)file->bytes) == file->crc;
  bool damaged = false;
  for (uint64_t at = from; at < file->bytes;) {
    ty_block_header b;
    const uint64_t next = ty_block_find(k, file, TY_MEANING_MAGIC, at, file->bytes, &b);
    if (next > at) {
      if (is_cut(k, file, at)) return false;
      note(c, file, at, next - at, "the header of a block does not match its checksum");
      damaged = true;
    }
    at = next;
    if (at == file->bytes) break;
    const uint64_t records = at + sizeof b;
    const uint8_t *payload = file->map + records;
    const bool formed = b.ops <= b.payload_bytes / sizeof(ty_meaning_record) &&
                        ty_align_up(b.ops * sizeof(ty_meaning_record)) == b.payload_bytes && b.time == 0 &&
                        ty_all_zero(b.reserved, sizeof b.reserved);
    const bool same = formed && (whole || k->crc32c(0, payload, (size_t)b.payload_bytes) == b.payload_crc);
    if (!formed) note(c, file, at, sizeof b, "a block is malformed");
    else if (!same) note(c, file, at, sizeof b + b.payload_bytes, "a block does not match its checksum");
    else each(context, &b, (const ty_meaning_record *)(const void *)payload, records);
    damaged |= !same;
    at = records + b.payload_bytes;
  }
  /* Where a block is damaged the checksum of the file says nothing. */
  return whole || damaged || !all;
}

static void flush(ty_meaning_writer *w) {
  const ame_kernel *k = w->append.c->env->kernel;
  if (w->records == 0 || w->result < 0) return;
  ty_buffer_align(&w->block, TY_ALIGN);
  if (w->block.failed) {
    w->result = -ENOMEM;
    return;
  }
  ty_block_header *b = (ty_block_header *)(void *)w->block.data;
  *b = (ty_block_header){.magic = TY_MEANING_MAGIC,
                         .ops = w->records,
                         .payload_bytes = w->block.bytes - sizeof *b,
                         .generation = w->append.generation,
                         .encoder = w->encoder};
  b->payload_crc = k->crc32c(0, b + 1, (size_t)b->payload_bytes);
  ty_block_seal(k, b);
  w->result = ty_append_put(&w->append, w->file, w->block.data, w->block.bytes);
  w->block.bytes = w->records = 0;
}

ty_status ty_meaning_file_begin(ty_meaning_writer *w, ty_error *err) {
  w->append.kind = TY_SLAB_MEANING;
  w->block = (ty_buffer){0};
  w->records = 0;
  w->result = 0;
  return ty_append_open(&w->append, w->file, err);
}

void ty_meaning_file_put(ty_meaning_writer *w, const ame_encoding *encoding, uint64_t row) {
  static const ty_block_header none;
  const ty_meaning_record r = {*encoding, row};
  if (w->records == 0) ty_buffer_append(&w->block, &none, sizeof none);
  ty_buffer_append(&w->block, &r, sizeof r);
  if (++w->records == TY_MEANING_BLOCK) flush(w);
}

ty_status ty_meaning_file_end(ty_meaning_writer *w, ty_error *err) {
  flush(w);
  ty_buffer_free(&w->block);
  if (w->result < 0) return ty_append_drop(&w->append, w->result, err);
  ty_append_sync(&w->append);
  return TY_OK;
}

ty_status ty_meaning_file_finish(ty_meaning_writer *w, ty_error *err) {
  bool lost = false;
  ty_status status = ty_append_finish(&w->append, &lost, err);
  if (lost) w->append.c->store->abandon_meaning = true;
  return status;
}
