#include "disk/walk.h"

#include <errno.h>
#include <string.h>

#include "disk/delta.h"
#include "disk/history.h"
#include "disk/idmap.h"
#include "disk/slab.h"
#include "rows/block.h"
#include "rows/vector.h"
#include "rows/vertical.h"

#define STEP         ((uint64_t)1 << 20) /* a millisecond; pages are evicted after each */
#define MAP_TRIES    10u
#define MAP_PAUSE_NS (20 * 1000 * 1000)

ty_part ty_part_of(uint32_t kind, uint32_t section) {
  if (kind == TY_SLAB_DELTA) return TY_PART_DELTA;
  if (kind == TY_SLAB_MEANING) return TY_PART_MEANING;
  if (kind == TY_SLAB_HISTORY) return TY_PART_HISTORY;
  if (kind != TY_SLAB_BASE) return kind == TY_SLAB_IVF ? TY_PART_IVF : TY_PART_WORDS;
  switch (section) {
  case TY_SECTION_CODES:
  case TY_SECTION_INFO:
  case TY_SECTION_BLOCKS:
  case TY_SECTION_CODING:
  case TY_SECTION_LINES:
  case TY_SECTION_LEVELS:
  case TY_SECTION_DIRECTORY:
  case TY_SECTION_RUNS: return TY_PART_CODES;
  case TY_SECTION_VECTORS: return TY_PART_VECTORS;
  case TY_SECTION_TEXTS: return TY_PART_TEXTS;
  case TY_SECTION_METAS: return TY_PART_METADATA;
  case TY_SECTION_SPANS:
  case TY_SECTION_SQUARES:
  case TY_SECTION_SPAN_SQUARES:
  case TY_SECTION_SYMBOLS: /* one of the two: symbols_lost */
  case TY_SECTION_SYMBOLS_AGAIN:
  case TY_SECTION_SUMS: return TY_PART_FILTER;
  default: return section >= TY_SECTION_BY_VALUE ? TY_PART_FILTER : TY_PART_BASE;
  }
}

static void note(const ty_walk *w, const ty_file *file, ty_part part, uint64_t offset, uint64_t bytes,
                 const char *what) {
  ty_damage d = ty_damage_of(file->name, part, 0, offset, bytes, what);
  ty_damage_note(w->c, &d);
}

/* The error about a file's header, less the name that it begins with. */
static void note_why(const ty_walk *w, const ty_file *file, ty_part part, uint64_t bytes, const ty_error *why) {
  size_t name = strlen(file->name);
  const char *what = why->message;
  if (strncmp(what, file->name, name) == 0) what += name + (what[name] == ':') + 1;
  note(w, file, part, 0, bytes, what);
}

/* Counts what was read and evicts it. */
static ty_status go_on(ty_walk *w, const uint8_t *data, uint64_t bytes, ty_error *err) {
  if (ty_cancelled(w->progress)) return ty_fail(err, TY_CANCELLED, "cancelled");
  w->c->env->os.evict(&w->c->env->os, data, (size_t)bytes);
  w->done += bytes;
  ty_progress_set(w->progress, w->done, w->total);
  return TY_OK;
}

/* The bytes of a section that is as it was written, NULL of another: what damage concerns is read from it. */
static const void *sound(const ty_walk *w, const ty_slab *slab, uint32_t id, uint64_t bytes) {
  const ty_slab_section *s = ty_slab_find(slab, id);
  if (s == NULL || s->bytes != bytes || ty_crc_mapped(w->c->env, 0, slab->file->map + s->offset, bytes) != s->crc)
    return NULL;
  return slab->file->map + s->offset;
}

/* Says of a section of a base whose rows its bytes are, as far as that is known. */
static void say_rows(const ty_walk *w, const ty_slab *slab, uint64_t rows, ty_intact *x) {
  const ty_collection *c = w->c;
  uint64_t packed = (rows + TY_PACKED_ROWS - 1) / TY_PACKED_ROWS;
  x->rows = rows;
  x->per = 1;
  switch (x->section) {
  case TY_SECTION_CODES: x->width = AME_CODE_STRIDE(c->dim); break;
  case TY_SECTION_INFO: x->width = sizeof(ame_code_info); break;
  case TY_SECTION_VECTORS: x->width = ty_vector_bytes(c); break;
  case TY_SECTION_ROW:
  case TY_SECTION_TEXT_ENDS: x->width = 8; break;
  case TY_SECTION_PRESENCE: x->width = 1; break;
  case TY_SECTION_DIRECTORY: x->per = TY_SPARSE_ROWS, x->width = ty_directory_bytes(c->dim); break;
  case TY_SECTION_BLOCKS: x->per = AME_BLOCK_ROWS, x->width = AME_BLOCK_BYTES(c->dim); break;
  case TY_SECTION_ID_ENDS:
  case TY_SECTION_META_ENDS: x->per = TY_PACKED_ROWS, x->width = 8; break;
  case TY_SECTION_IDS:
  case TY_SECTION_METAS:
    x->per = TY_PACKED_ROWS;
    x->ends = sound(w, slab, x->section - 1, packed * 8);
    break;
  case TY_SECTION_SYMBOLS:
  case TY_SECTION_SYMBOLS_AGAIN:
    if (x->part == TY_PART_TEXTS) x->per = rows, x->width = x->bytes;
    break;
  case TY_SECTION_TEXTS: x->ends = sound(w, slab, TY_SECTION_TEXT_ENDS, rows * 8); break;
  default:
    if (x->section >= TY_SECTION_KEYS && x->section < TY_SECTION_BY_VALUE && (x->section - TY_SECTION_KEYS) % 3 == 0)
      x->width = sizeof(uint32_t);
  }
  /* The ends are ascending only where they are as written. */
  if (x->width == 0 && x->ends == NULL) x->per = 0;
}

/* Whether a section is one of two tables of symbols that are both damaged. */
static bool symbols_lost(const ty_walk *w, const ty_slab *slab, uint32_t id) {
  return (id == TY_SECTION_SYMBOLS || id == TY_SECTION_SYMBOLS_AGAIN) &&
         !ty_slab_sound(w->c, slab, TY_SECTION_SYMBOLS) && !ty_slab_sound(w->c, slab, TY_SECTION_SYMBOLS_AGAIN);
}

static ty_status walk_section(ty_walk *w, const ty_slab *slab, const ty_slab_section *s, uint64_t rows, ty_error *err) {
  ty_intact x;
  uint32_t kind = slab->header->kind;
  const bool base = kind == TY_SLAB_BASE, lost = base && symbols_lost(w, slab, s->id);
  ty_status status = ty_slab_intact(w->c, slab, s->id, lost ? TY_PART_TEXTS : ty_part_of(kind, s->id), &x, err);
  if (status == TY_OK && base && rows > 0) say_rows(w, slab, rows, &x);
  for (uint64_t at = 0; at < s->bytes && status == TY_OK; at += STEP) {
    uint64_t n = s->bytes - at < STEP ? s->bytes - at : STEP;
    ty_is_intact(&x, at, n);
    status = go_on(w, x.data + at, n, err);
  }
  return status;
}

/* Whether the runs of all blocks fill the lines, in order and without a gap. A forged directory, whose checksum fits,
 * may list others: then some bytes would not be compared, and the length of a block could come out below zero. */
static bool fill_lines(const ty_line_runs *r) {
  uint64_t end = 0;
  for (uint64_t block = 0; block < r->blocks; block++) {
    if (r->directory != NULL && !ty_directory_good(r, block)) return false;
    const ty_line_run first = ty_line_run_of(r, block, 0), last = ty_line_run_of(r, block, r->dim - 1);
    if (first.at != end) return false;
    end = last.at + last.bytes;
  }
  return end == r->bytes;
}

/* Finds the runs of a vertical base and their checksums. False where the shape, the directory or these checksums are
 * damaged. */
static bool find_runs(const ty_walk *w, const ty_slab *slab, const ty_slab_section *s, uint64_t rows,
                      ty_line_runs *runs, const uint32_t **sums) {
  const ty_collection *c = w->c;
  const ty_slab_section *directory = ty_slab_find(slab, TY_SECTION_DIRECTORY);
  const uint64_t bytes = directory == NULL ? 0 : directory->bytes;
  const uint8_t *entries = directory == NULL ? NULL : sound(w, slab, TY_SECTION_DIRECTORY, bytes);
  if (rows == 0 || c->dim == 0 || (directory != NULL && entries == NULL)) return false;
  *runs = ty_line_runs_of(c, entries, rows, s->bytes);
  if (!ty_line_runs_fit(runs, bytes) || !fill_lines(runs)) return false;
  *sums = sound(w, slab, TY_SECTION_RUNS, runs->blocks * c->dim * sizeof **sums);
  return *sums != NULL;
}

/* Compares the lines of a vertical base run by run. Damaged runs of a block that lie side by side are noted as one
 * damage. Where the runs cannot be found, the section is compared as a whole. */
static ty_status walk_lines(ty_walk *w, const ty_slab *slab, const ty_slab_section *s, uint64_t rows, ty_error *err) {
  const ty_collection *c = w->c;
  const ame_kernel *k = c->env->kernel;
  const uint8_t *lines = slab->file->map + s->offset;
  const uint32_t *sums;
  ty_line_runs runs;
  ty_status status = TY_OK;
  if (!find_runs(w, slab, s, rows, &runs, &sums)) {
    ty_damage d =
        ty_damage_of(slab->file->name, TY_PART_CODES, s->id, s->offset, s->bytes, "bytes do not match their checksum");
    d.rows = rows;
    uint32_t crc = 0;
    for (uint64_t at = 0; at < s->bytes && status == TY_OK; at += STEP) {
      uint64_t n = s->bytes - at < STEP ? s->bytes - at : STEP;
      crc = k->crc32c(crc, lines + at, (size_t)n);
      status = go_on(w, lines + at, n, err);
    }
    if (status == TY_OK && crc != s->crc) ty_damage_note(c, &d);
    return status;
  }
  for (uint64_t b = 0; b < runs.blocks && status == TY_OK; b++) {
    const uint64_t from = ty_line_run_of(&runs, b, 0).at;
    ty_line_run bad = {0, 0}; /* the damaged runs just before this one, as one */
    for (uint32_t d = 0; d <= c->dim; d++) {
      const ty_line_run run = d == c->dim ? (ty_line_run){0, 0} : ty_line_run_of(&runs, b, d);
      bool good = d == c->dim || k->crc32c(0, lines + run.at, (size_t)run.bytes) == sums[b * c->dim + d];
      if (good && bad.bytes > 0) {
        ty_damage found = ty_damage_of(slab->file->name, TY_PART_CODES, s->id, s->offset + bad.at, bad.bytes,
                                       "bytes do not match their checksum");
        found.first = b * runs.block_rows;
        found.rows = ty_line_block_rows(&runs, b);
        ty_damage_note(c, &found);
      }
      bad = good ? (ty_line_run){0, 0} : (ty_line_run){bad.bytes > 0 ? bad.at : run.at, bad.bytes + run.bytes};
    }
    const ty_line_run end = ty_line_run_of(&runs, b, c->dim - 1);
    status = go_on(w, lines + from, end.at + end.bytes - from, err);
  }
  return status;
}

static ty_status walk_slab(ty_walk *w, ty_file *file, uint32_t kind, ty_error *err) {
  ty_slab slab;
  const ty_slab_header *h = (const ty_slab_header *)(const void *)file->map;
  if (w->unnamed && file->bytes >= sizeof *h) {
    uint64_t end = sizeof *h + (uint64_t)h->sections * sizeof(ty_slab_section);
    file->crc = end > file->bytes ? 0 : w->c->env->kernel->crc32c(0, file->map, (size_t)end);
  }
  ty_status status = ty_slab_open(w->c, file, kind, &slab, err);
  if (status == TY_CORRUPT) {
    note_why(w, file, kind == TY_SLAB_BASE ? TY_PART_BASE : ty_part_of(kind, 0), file->bytes, err);
    return TY_OK;
  }
  uint64_t rows = 0, known = ty_damage_count(w->c);
  if (status == TY_OK && kind == TY_SLAB_BASE) {
    const ty_shape *shape = sound(w, &slab, TY_SECTION_SHAPE, sizeof *shape);
    if (shape != NULL && shape->rows <= TY_ROWS_MAX && shape->dim == w->c->dim) rows = shape->rows;
  }
  for (uint32_t i = 0; status == TY_OK && i < slab.header->sections; i++) {
    const ty_slab_section *s = &slab.sections[i];
    if (s->id == TY_SECTION_SUMS) status = go_on(w, file->map + s->offset, s->bytes, err); /* compared when it opened */
    else if (kind == TY_SLAB_BASE && s->id == TY_SECTION_LINES) status = walk_lines(w, &slab, s, rows, err);
    else status = walk_section(w, &slab, s, rows, err);
  }
  /* A row that was damaged before a rewrite copied it lies in sections whose checksums fit. */
  if (status == TY_OK && kind == TY_SLAB_HISTORY && ty_damage_count(w->c) == known)
    status = ty_history_check(w->c, file, err);
  return status;
}

/* Block by block. Where a block's header is damaged, the next one is looked for after it. */
static ty_status walk_blocks(ty_walk *w, const ty_file *file, uint32_t kind, ty_error *err) {
  const ame_kernel *k = w->c->env->kernel;
  const ty_part part = ty_part_of(kind, 0);
  const bool delta = kind == TY_SLAB_DELTA;
  ty_status status = ty_slab_check(w->c, file, kind, err);
  if (status == TY_VERSION) return status;
  if (status != TY_OK) note_why(w, file, part, sizeof(ty_slab_header), err);
  bool whole = status == TY_OK;
  uint32_t crc = k->crc32c(0, file->map, sizeof(ty_slab_header));
  status = TY_OK;
  for (uint64_t at = sizeof(ty_slab_header); at < file->bytes && status == TY_OK;) {
    ty_block_header b;
    const uint64_t next = ty_block_find(k, file, delta ? TY_BLOCK_MAGIC : TY_MEANING_MAGIC, at, file->bytes, &b);
    if (next > at) {
      note(w, file, part, at, next - at, "the header of a block does not match its checksum");
      whole = false;
      status = go_on(w, file->map + at, next - at, err);
      at = next;
      continue;
    }
    const uint64_t bytes = sizeof b + b.payload_bytes;
    crc = ty_crc_mapped(w->c->env, crc, file->map + at, bytes);
    if (ty_crc_mapped(w->c->env, 0, file->map + at + sizeof b, b.payload_bytes) != b.payload_crc) {
      char what[128];
      snprintf(what, sizeof what, "the block of save %llu, with %llu %s, does not match its checksum",
               (unsigned long long)b.generation, (unsigned long long)b.ops, delta ? "operations" : "records");
      note(w, file, part, at, bytes, what);
      whole = false;
    }
    status = go_on(w, file->map + at, bytes, err);
    at += bytes;
  }
  if (status == TY_OK && whole && !w->unnamed && crc != file->crc)
    note(w, file, part, 0, file->bytes, "it is not the file that the manifest names");
  return status;
}

static ty_status walk_file(ty_walk *w, ty_file *file, uint32_t kind, ty_error *err) {
  ty_status status = file->map == NULL ? ty_file_map(w->c, file, 0, err) : TY_OK;
  ty_part part = kind == TY_SLAB_BASE ? TY_PART_BASE : ty_part_of(kind, 0);
  if (status == TY_CORRUPT || (status == TY_IO && err->sys_errno == ENOENT)) {
    if (err->sys_errno > TY_NOT_REGULAR) note_why(w, file, part, file->bytes, err);
    else
      note(w, file, part, 0, file->bytes, status == TY_IO ? "it is missing" : "it is shorter than its committed bytes");
    w->done += file->bytes;
    return TY_OK;
  }
  if (status != TY_OK) return status;
  const bool blocks = kind == TY_SLAB_DELTA || kind == TY_SLAB_MEANING;
  return blocks ? walk_blocks(w, file, kind, err) : walk_slab(w, file, kind, err);
}

ty_status ty_walk_file(ty_walk *w, ty_file *file, uint32_t kind, ty_error *err) {
  ty_damage d;
  ty_status status = file->name[0] == 0 ? TY_OK : walk_file(w, file, kind, err);
  if (status != TY_OK || !w->stops || ty_damage_copy(w->c, &d, 1) == 0) return status;
  return ty_fail(err, TY_CORRUPT, "%s: %s at offset %llu", d.file, d.what, (unsigned long long)d.offset);
}

ty_status ty_walk_files(ty_walk *w, ty_error *err) {
  ty_files *f = &w->c->store->files;
  w->total = ty_files_bytes(f);
  ty_status status = ty_walk_file(w, &f->base, TY_SLAB_BASE, err);
  for (uint32_t i = 0; i < f->delta_count && status == TY_OK; i++)
    status = ty_walk_file(w, &f->deltas[i], TY_SLAB_DELTA, err);
  if (status == TY_OK) status = ty_walk_file(w, &f->ivf, TY_SLAB_IVF, err);
  if (status == TY_OK) status = ty_walk_file(w, &f->lexical, TY_SLAB_LEXICAL, err);
  if (status == TY_OK) status = ty_walk_file(w, &f->history, TY_SLAB_HISTORY, err);
  return status == TY_OK ? ty_walk_file(w, &f->meaning, TY_SLAB_MEANING, err) : status;
}

ty_status ty_walk_id_map(const ty_walk *w, ty_error *err) {
  ty_status status = ty_id_map_check(w->c, err);
  for (uint32_t i = 1; i < MAP_TRIES && status != TY_OK && !ty_cancelled(w->progress); i++) {
    w->c->env->os.pause(&w->c->env->os, MAP_PAUSE_NS);
    status = ty_id_map_check(w->c, err);
  }
  return status;
}
