/* Writing the history of a new base: what the old one has, then what its deltas have, less what is too old, too large
 * or purged. Whole saves are left out, the oldest first, so that none can be undone in part. */
#include <stdlib.h>
#include <string.h>

#include "os/plant.h"
#include "state/history.h"
#include "state/ids.h"

/* Bytes of history that any collection may have: a quarter of a small one would hold a few rows. */
#define BYTES_LEAST ((uint64_t)8 << 20)
/* For so long the newest save that replaced or deleted rows stays, whatever its size: what a mistake has just deleted
 * can be put back. */
#define NEWEST_MS ((uint64_t)24 * 60 * 60 * 1000)

/* Ids whose rows are purged, by hash. */
typedef struct purged {
  const ty_history_wish *wish;
  const ame_kernel *kernel;
  uint32_t *slots; /* index + 1; NULL: none */
  uint64_t mask;
} purged;

static ty_slice purged_id(const ty_history_wish *w, uint64_t i) {
  const uint64_t from = i == 0 ? 0 : w->id_ends[i - 1];
  return (ty_slice){w->ids + from, w->id_ends[i] - from};
}

static uint64_t slot_of(const purged *x, ty_slice id) {
  uint64_t slot = x->kernel->hash64(id.data, (size_t)id.bytes, 0x7067) & x->mask;
  for (; x->slots[slot] != 0; slot = (slot + 1) & x->mask) {
    ty_slice other = purged_id(x->wish, x->slots[slot] - 1);
    if (other.bytes == id.bytes && memcmp(other.data, id.data, (size_t)id.bytes) == 0) break;
  }
  return slot;
}

static bool purged_open(purged *x, const ty_collection *c, const ty_history_wish *wish) {
  uint64_t size = 16;
  *x = (purged){.wish = wish, .kernel = c->env->kernel};
  if (wish->n == 0) return true;
  while (size < wish->n * 2) size *= 2;
  x->mask = size - 1;
  x->slots = calloc((size_t)size, sizeof *x->slots);
  for (uint64_t i = 0; x->slots != NULL && i < wish->n; i++) x->slots[slot_of(x, purged_id(wish, i))] = (uint32_t)i + 1;
  return x->slots != NULL;
}

static bool is_purged(const purged *x, ty_slice id) {
  return x->slots != NULL && x->slots[slot_of(x, id)] != 0 && !TY_PLANTED(KEPT_PURGED);
}

/* Ids and changes are a few bytes each: appended one by one to a slab, a hundred thousand of them make a rewrite slower
 * by a twentieth. */
#define PIECE ((uint64_t)8 << 10)

/* What is written: the changes that stay, and the rows before those of the deltas in their form. */
typedef struct work {
  const ty_collection *c;
  ty_past past;
  purged purged;
  ty_unpack ids, metas;
  const uint8_t *before; /* the id read last */
  uint64_t first;        /* the first save that stays */
  uint8_t *damaged;      /* a bit for each change of the file */
  ty_growing rows;
  uint64_t *ends; /* of the rows of the deltas' changes, cumulative */
  ty_buffer saves, origins;
  ty_history_change change; /* the last one that was written: its ends are cumulative */
  uint8_t piece[PIECE];     /* of the section that is written */
  uint64_t piece_bytes;
  ty_error *err;
} work;

/* The id of a change. In a delta, ids lie between texts, and reading one makes the pages around it resident, so these
 * are counted. */
static ty_slice id_of(work *w, uint64_t change) {
  const ty_slice id = ty_past_id(&w->past, change, &w->ids);
  const uintptr_t now = (uintptr_t)id.data, before = (uintptr_t)w->before;
  const uint64_t apart = now > before ? now - before : before - now;
  ty_touched(w->c->resident, TY_OF_BASE | TY_OF_DELTA | TY_OF_OPERATIONS, apart < TY_SCATTERED ? apart : TY_SCATTERED,
             TY_RESIDENT_MOST);
  w->before = id.data;
  return id;
}

static bool stays(work *w, uint64_t change) {
  return w->purged.slots == NULL || !is_purged(&w->purged, id_of(w, change));
}

static ty_slice row_bytes(const work *w, uint64_t change) {
  const uint64_t of_file = w->past.file.change_count;
  if (change < of_file && (w->damaged[change / 8] >> change % 8 & 1)) return (ty_slice){0};
  if (change < of_file) return ty_history_bytes(&w->past.file, change);
  const uint64_t i = change - of_file, from = i == 0 ? 0 : w->ends[i - 1];
  return (ty_slice){(const uint8_t *)w->rows.memory.data + from, w->ends[i] - from};
}

/* Rows that are damaged are left out; their changes stay, without a row. With it, each later check of the collection
 * would find damage that nothing can mend. */
static ty_status find_damaged(work *w) {
  const ty_collection *c = w->c;
  const uint64_t n = w->past.file.change_count;
  uint8_t *scratch = aligned_alloc(TY_ALIGN, (size_t)TY_HISTORY_SCRATCH(c->dim));
  w->damaged = calloc(1, (size_t)n / 8 + 1);
  if (scratch == NULL || w->damaged == NULL) {
    free(scratch);
    return ty_fail(w->err, TY_NO_MEMORY, "out of memory for the history");
  }
  for (uint64_t i = 0; i < n; i++) {
    if (!ty_history_row_good(c, &w->past.file, i, scratch)) w->damaged[i / 8] |= (uint8_t)(1u << i % 8);
  }
  free(scratch);
  return TY_OK;
}

/* Those of the deltas, damaged ones left out too. */
static ty_status make_rows(work *w) {
  const ty_collection *c = w->c;
  const uint64_t of_file = w->past.file.change_count, n = w->past.change_count - of_file;
  ty_buffer row = {0};
  ty_text_reader texts = {0};
  uint8_t *vector = ty_past_scratch(c);
  ty_status status = TY_OK;
  w->ends = malloc((size_t)(n + 1) * sizeof *w->ends);
  if (vector == NULL || w->ends == NULL) status = ty_fail(w->err, TY_NO_MEMORY, "out of memory for the history");
  for (uint64_t i = 0; i < n && status == TY_OK; i++) {
    ty_history_parts parts;
    row.bytes = 0;
    const uint64_t change = of_file + i;
    if (ty_past_kind(&w->past, change) != TY_CHANGE_ADDED && stays(w, change)) {
      if (ty_past_row(&w->past, change, &w->metas, &texts, vector, &parts)) ty_history_row_put(c, &parts, &row);
      ty_unpack_init(&w->metas);
      texts.damaged = false;
    }
    uint8_t *to = row.bytes == 0 ? NULL : ty_growing_room(ty_dir_of(c), &w->rows, row.bytes);
    if (row.failed || texts.text.failed || (row.bytes > 0 && to == NULL))
      status = ty_fail(w->err, TY_NO_MEMORY, "out of memory for the history");
    else if (to != NULL) memcpy(to, row.data, (size_t)row.bytes);
    w->ends[i] = w->rows.used;
  }
  ty_buffer_free(&row);
  ty_buffer_free(&texts.text);
  free(vector);
  return status;
}

/* Bytes of a save, with those of its changes that stay. */
static uint64_t save_bytes(work *w, const ty_past_save *save) {
  uint64_t bytes = sizeof(ty_history_save) + save->origin.bytes;
  for (uint64_t i = save->first; i < save->end; i++) {
    if (stays(w, i)) bytes += sizeof(ty_history_change) + id_of(w, i).bytes + row_bytes(w, i).bytes;
  }
  return bytes;
}

static void choose_first(work *w, uint64_t most) {
  const ty_past *p = &w->past;
  const uint64_t now = w->c->env->os.now(&w->c->env->os);
  uint64_t bytes = 0;
  bool kept = false; /* a save that replaced or deleted rows */
  for (w->first = p->save_count; w->first > p->from; w->first--) {
    const ty_past_save save = ty_past_save_at(p, w->first - 1);
    const bool newest = !kept && (save.time > now || now - save.time < NEWEST_MS);
    bytes += save_bytes(w, &save);
    if (bytes > most && !newest) return;
    kept |= save.replaced + save.deleted > 0;
  }
}

/* The saves that stay, and their origins: one that equals that of the save before is written once. */
static uint64_t make_saves(work *w) {
  uint64_t end = 0;
  ty_slice before = {0};
  uint64_t before_at = 0;
  for (uint64_t i = w->first; i < w->past.save_count; i++) {
    const ty_past_save save = ty_past_save_at(&w->past, i);
    ty_history_save out = {.save = save.save, .time = save.time};
    for (uint64_t k = save.first; k < save.end; k++) {
      if (!stays(w, k)) continue;
      const uint32_t kind = ty_past_kind(&w->past, k);
      out.added += kind == TY_CHANGE_ADDED;
      out.replaced += kind == TY_CHANGE_REPLACED;
      out.deleted += kind == TY_CHANGE_DELETED;
      end++;
    }
    if (out.added + out.replaced + out.deleted == 0) continue;
    const ty_slice origin = save.origin;
    const bool same = origin.bytes == before.bytes &&
                      (origin.bytes == 0 || memcmp(origin.data, before.data, (size_t)origin.bytes) == 0);
    if (!same) {
      before_at = w->origins.bytes;
      before = origin;
      ty_buffer_append(&w->origins, origin.data, origin.bytes);
    }
    out.origin = before_at;
    out.origin_bytes = (uint32_t)origin.bytes;
    out.end = end;
    ty_buffer_append(&w->saves, &out, sizeof out);
  }
  return end;
}

static void flush_piece(work *w, ty_slab_writer *slab) {
  ty_slab_append(slab, w->piece, w->piece_bytes);
  w->piece_bytes = 0;
}

static void append(work *w, ty_slab_writer *slab, const void *data, uint64_t bytes) {
  if (bytes == 0) return;
  if (bytes > PIECE - w->piece_bytes) flush_piece(w, slab);
  if (bytes > PIECE) {
    ty_slab_append(slab, data, bytes);
    return;
  }
  memcpy(w->piece + w->piece_bytes, data, (size_t)bytes);
  w->piece_bytes += bytes;
}

/* Calls `each` with every change that stays. */
typedef void (*change_fn)(work *w, ty_slab_writer *slab, uint64_t change);
static void each_change(work *w, ty_slab_writer *slab, uint32_t section, change_fn each) {
  const uint64_t from =
      w->first < w->past.save_count ? ty_past_save_at(&w->past, w->first).first : w->past.change_count;
  ty_slab_section_start(slab, section);
  for (uint64_t i = from; i < w->past.change_count; i++) {
    if (stays(w, i)) each(w, slab, i);
  }
  flush_piece(w, slab);
  ty_slab_section_end(slab);
}

static void put_id(work *w, ty_slab_writer *slab, uint64_t change) {
  const ty_slice id = id_of(w, change);
  append(w, slab, id.data, id.bytes);
}

static void put_row(work *w, ty_slab_writer *slab, uint64_t change) {
  const ty_slice row = row_bytes(w, change);
  append(w, slab, row.data, row.bytes);
}

static void put_change(work *w, ty_slab_writer *slab, uint64_t change) {
  const ty_slice row = row_bytes(w, change);
  ty_history_change *next = &w->change;
  next->id_end += id_of(w, change).bytes;
  next->row_end += row.bytes;
  next->kind = ty_past_kind(&w->past, change);
  next->row_crc = row.bytes == 0 ? 0 : w->c->env->kernel->crc32c(0, row.data, (size_t)row.bytes);
  append(w, slab, next, sizeof *next);
}

static ty_status write_slab(work *w, const ty_history_place *place, ty_file *out) {
  ty_slab_writer slab;
  ty_status status = ty_slab_create(&slab, place->dir, TY_SLAB_HISTORY, place->generation, place->base_generation,
                                    TY_HISTORY_ORIGINS, w->err);
  if (status != TY_OK) return status;
  ty_slab_section_put(&slab, TY_HISTORY_SAVES, w->saves.data, w->saves.bytes);
  each_change(w, &slab, TY_HISTORY_CHANGES, put_change);
  each_change(w, &slab, TY_HISTORY_IDS, put_id);
  each_change(w, &slab, TY_HISTORY_ROWS, put_row);
  ty_slab_section_put(&slab, TY_HISTORY_ORIGINS, w->origins.data, w->origins.bytes);
  return ty_slab_finish(&slab, out);
}

ty_status ty_history_write(const ty_collection *c, const ty_history_place *place, const ty_history_wish *wish,
                           ty_file *out, ty_error *err) {
  if (wish->drop) return TY_OK;
  const ty_files *files = place->files;
  const uint64_t share = (files->base.bytes + files->ivf.bytes + files->lexical.bytes) / 100;
  const uint64_t percent = c->history.percent;
  const uint64_t most = percent > 0 && share > UINT64_MAX / percent ? UINT64_MAX : share * percent;
  work w = {.c = c, .err = err};
  ty_unpack_init(&w.ids);
  ty_unpack_init(&w.metas);
  ty_status status = ty_past_open_readable(c, wish->unsaved && c->store->ops > 0, &w.past, err);
  /* Nor for deltas that were cut off since: the save reads them again and says so. */
  if (status == TY_CORRUPT) {
    ty_past_close(&w.past);
    return TY_OK;
  }
  if (status == TY_OK && !purged_open(&w.purged, c, wish))
    status = ty_fail(err, TY_NO_MEMORY, "out of memory for the history");
  if (status == TY_OK) status = find_damaged(&w);
  if (status == TY_OK) status = make_rows(&w);
  if (status == TY_OK) {
    if (TY_PLANTED(FORGOTTEN_SAVE) && w.past.save_count > w.past.from)
      w.past.change_count = ty_past_save_at(&w.past, --w.past.save_count).first;
    choose_first(&w, most > BYTES_LEAST ? most : BYTES_LEAST);
    const uint64_t changes = make_saves(&w);
    if (w.saves.failed || w.origins.failed) status = ty_fail(err, TY_NO_MEMORY, "out of memory for the history");
    else if (changes > 0) status = write_slab(&w, place, out);
  }
  if (status == TY_OK && out->name[0] != 0) status = ty_file_map(place->dir, out, 0, err);
  ty_buffer_free(&w.saves);
  ty_buffer_free(&w.origins);
  ty_spill_free(c->env, &w.rows.memory);
  free(w.damaged);
  free(w.ends);
  free(w.purged.slots);
  ty_past_close(&w.past);
  return status;
}
