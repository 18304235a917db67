/* Loading what a manifest names into a fresh object. */
#include <errno.h>
#include "disk/base.h"
#include "disk/delta.h"
#include "disk/slab.h"
#include "ivf/signs.h"
#include "lexical/lexical.h"
#include "rows/sparse.h"
#include "rows/vector.h"
#include "state/state.h"
#include "state/load.h"
#include "state/replay.h"

/* The parameters of a lost IVF index whose file does not have them: the defaults of src/checks/numbers.ts. */
#define MIN_ROWS ((uint64_t)20000)
#define RECALL   0.98

bool ty_is_lost(ty_status status, const ty_error *why) {
  static const int out_of_reach[] = {ENOENT, EACCES, EPERM, EIO, ELOOP, ENOTDIR, EISDIR, ENXIO, ENODEV};
  if (status != TY_IO) return status == TY_CORRUPT;
  for (size_t i = 0; i < sizeof out_of_reach / sizeof *out_of_reach; i++) {
    if (why->sys_errno == out_of_reach[i]) return true;
  }
  return false;
}

/* Notes that an index is done without, unless its damaged blocks are noted, beyond `before`. */
static void note_lost(const ty_collection *t, ty_part part, const ty_file *file, const ty_error *why, uint64_t before) {
  if (ty_damage_count(t) > before) return;
  ty_damage d = ty_damage_of(file->name[0] != 0 ? file->name : TY_MANIFEST_NAME, part, 0, 0, file->bytes, why->message);
  ty_damage_note(t, &d);
}

/* The largest partition had lists, whatever the least number of rows was; it may have lost rows since. */
static uint64_t least_rows(const ty_collection *t) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < t->span_count; i++) rows = t->spans[i].count > rows ? t->spans[i].count : rows;
  return rows / 2 < MIN_ROWS ? rows / 2 : MIN_ROWS;
}

/* Without signs, or where they are damaged, queries read the other codes. */
static ty_status open_signs(ty_collection *t, const ty_slab *slab, ty_error *err) {
  ty_error why;
  if (ty_slab_find(slab, TY_SECTION_SIGNS) == NULL) return TY_OK;
  ty_status status = ty_slab_intact(t, slab, TY_SECTION_SIGNS, TY_PART_IVF, &t->ivf->signs, &why);
  if (status == TY_OK) status = ty_signs_open(t->ivf, t->dim, &why);
  if (status == TY_CORRUPT) note_lost(t, TY_PART_IVF, slab->file, &why, UINT64_MAX);
  else if (status != TY_OK) *err = why;
  return status == TY_CORRUPT ? TY_OK : status;
}

/* Fails where it is damaged, missing or of another base; t->ivf_lost has then what a rewrite makes it again with. */
static ty_status open_ivf(ty_collection *t, const ty_collection *owner, ty_error *err) {
  ty_file *file = &t->store->files.ivf;
  ty_slab slab;
  ty_intact bytes;
  double recall = t->default_target_recall < 1 ? t->default_target_recall : RECALL;
  t->ivf_lost = (ty_ivf_lost){true, least_rows(t), recall};
  ty_status status = ty_file_map(t, file, 0, err);
  if (status == TY_OK) status = ty_slab_open(t, file, TY_SLAB_IVF, &slab, err);
  if (status == TY_OK) status = ty_slab_intact(t, &slab, TY_SECTION_INDEX, TY_PART_IVF, &bytes, err);
  if (status == TY_OK) {
    ty_slice all = {bytes.data, bytes.bytes};
    bool good = ty_is_intact(&bytes, 0, bytes.bytes);
    if (good || ty_is_intact(&bytes, 0, 1)) ty_ivf_parameters(all, &t->ivf_lost.min_rows, &t->ivf_lost.target_recall);
    if (!good)
      status = ty_damaged(file, "bytes do not match their checksum", ty_intact_where(&bytes, 0, bytes.bytes), err);
    else status = ty_ivf_open(owner, &t->base, t->spans, t->span_count, all, &t->ivf, err);
    if (status == TY_OK) status = open_signs(t, &slab, err);
  }
  t->ivf_lost.lost = status != TY_OK;
  return status;
}

static ty_status open_words(ty_collection *t, const ty_collection *owner, ty_error *err) {
  ty_file *file = &t->store->files.lexical;
  ty_slab slab;
  ty_intact bytes;
  ty_status status;
  if (file->name[0] == 0) status = ty_fail(err, TY_CORRUPT, "%s names none", TY_MANIFEST_NAME);
  else status = ty_file_map(t, file, 0, err);
  if (status == TY_OK) status = ty_slab_open(t, file, TY_SLAB_LEXICAL, &slab, err);
  if (status == TY_OK) status = ty_slab_intact(t, &slab, TY_SECTION_INDEX, TY_PART_WORDS, &bytes, err);
  if (status == TY_OK) status = ty_lexical_open(owner, &t->base, &bytes, &t->lexical_index, err);
  return status == TY_OK ? ty_lexical_refusal(t->lexical_index, err) : status;
}

/* Maps the history when the collection is opened, so that later saves do not change what is read. Its contents are
 * compared at first use. A collection is open without one that is missing or damaged. */
static ty_status open_history(ty_collection *t, ty_error *err) {
  ty_file *file = &t->store->files.history;
  ty_error why;
  if (file->name[0] == 0) return TY_OK;
  ty_status status = ty_file_map(t, file, 0, &why);
  if (status == TY_OK) status = ty_slab_check(t, file, TY_SLAB_HISTORY, &why);
  if (status == TY_OK) return TY_OK;
  ty_file_unmap(t, file);
  if (ty_is_lost(status, &why)) {
    note_lost(t, TY_PART_HISTORY, file, &why, UINT64_MAX);
    return TY_OK;
  }
  if (err != NULL) *err = why;
  return status;
}

ty_status ty_open_indexes(ty_collection *t, const ty_collection *owner, bool spare, ty_error *err) {
  const ty_files *f = &t->store->files;
  ty_error why;
  uint64_t before = ty_damage_count(t);
  ty_status status = f->ivf.name[0] != 0 ? open_ivf(t, owner, &why) : TY_OK;
  if (spare && ty_is_lost(status, &why)) {
    note_lost(t, TY_PART_IVF, &f->ivf, &why, before);
    status = TY_OK;
  }
  before = ty_damage_count(t);
  if (status == TY_OK && t->words) status = open_words(t, owner, &why);
  if (spare && t->words && (t->lexical_index != NULL || ty_is_lost(status, &why))) { /* open, if not usable, or lost */
    if (status != TY_OK && status != TY_UNBUILT) note_lost(t, TY_PART_WORDS, &f->lexical, &why, before);
    return t->lexical_index != NULL ? TY_OK : ty_lexical_open_none(owner, &why, &t->lexical_index, err);
  }
  if (status != TY_OK && err != NULL) *err = why;
  return status;
}

ty_status ty_reserve_delta_rows(ty_collection *t, const ty_saved *m, const ty_file *file, ty_error *err) {
  const bool is_codes = ty_form_of(t, t->dtype == TY_F32) == TY_INT8;
  const uint64_t sparse = ty_sparse_least(t->dim), vector = ty_vector_bytes(t);
  const uint64_t least = sizeof(ty_operation) + (is_codes && sparse < vector ? sparse : vector);
  uint64_t most = file->bytes / least, named = m->total_rows - ty_total_rows(t);
  if (m->total_rows < ty_total_rows(t)) return TY_OK; /* damaged: ty_load reports it */
  return ty_delta_reserve(t, named < most ? named : most, true, err);
}

ty_status ty_load(ty_collection *t, const ty_collection *owner, const ty_saved *m, ty_error *err) {
  struct ty_store *s = t->store;
  ty_status status = ty_adopt_schema(t, &m->schema, err);
  if (status == TY_OK) status = ty_files_copy(&s->files, &m->files, err);
  if (status == TY_OK) status = ty_file_map(t, &s->files.base, 0, err);
  if (status == TY_OK) status = ty_base_open(t, err);
  if (status == TY_OK) status = ty_open_indexes(t, owner, true, err);
  if (status == TY_OK) status = open_history(t, err);
  ty_block_span span = {.most = m->generation};
  /* The first one may be of the base's own generation. */
  if (status == TY_OK) span.above = ((const ty_slab_header *)(const void *)s->files.base.map)->generation - 1;
  for (uint32_t i = 0; i < s->files.delta_count && status == TY_OK; i++) {
    ty_file *file = &s->files.deltas[i];
    status = ty_delta_open(t, file, err);
    if (status == TY_OK) status = ty_reserve_delta_rows(t, m, file, err);
    if (status == TY_OK) status = ty_delta_replay(t, file, 0, true, &span, err);
  }
  /* What was read of a file that was truncated meanwhile are zeros. */
  ty_status whole = ty_files_whole(&s->files, err);
  if (whole != TY_OK) return whole;
  if (status != TY_OK) return status;
  if (ty_total_rows(t) != m->total_rows || t->base.live + t->delta.live != m->live_rows)
    return ty_fail(err, TY_CORRUPT, "%s: its counts of rows are not those of its files", TY_MANIFEST_NAME);
  t->generation = m->generation;
  s->version = (uint32_t)m->version;
  s->manifest_bytes = m->text.bytes;
  ty_note_lexical(t);
  ty_mark(t);
  return TY_OK;
}
