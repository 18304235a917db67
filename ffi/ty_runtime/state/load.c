/* Loading what a manifest names into a fresh object. */
#include <errno.h>
#include "disk/base.h"
#include "disk/delta.h"
#include "disk/slab.h"
#include "ivf/ivf.h"
#include "lexical/lexical.h"
#include "rows/vector.h"
#include "state/load.h"
#include "state/replay.h"
#include "state/undo.h"

static ty_status open_index(ty_collection *t, ty_file *file, uint32_t kind, bool check, ty_slice *out, ty_error *err) {
  ty_slab slab;
  ty_status status = ty_file_map(t, file, 0, err);
  if (status == TY_OK) status = ty_slab_open(t, file, kind, &slab, err);
  return status == TY_OK ? ty_slab_get(t, &slab, TY_SECTION_INDEX, UINT64_MAX, check, out, err) : status;
}

ty_status ty_open_indexes(ty_collection *t, const ty_collection *owner, ty_error *err) {
  ty_files *f = &t->store->files;
  ty_slice bytes;
  ty_status status = TY_OK;
  if (f->ivf.name[0] != 0) {
    status = open_index(t, &f->ivf, TY_SLAB_IVF, true, &bytes, err);
    if (status == TY_OK) status = ty_ivf_open(owner, &t->base, t->spans, t->span_count, bytes, &t->ivf, err);
    if (status != TY_OK) return status;
  }
  if (!t->words) return TY_OK;
  /* A lexical index checks what it reads at each read. A damaged or missing one does not keep the rows from being
   * opened. */
  ty_error why;
  if (f->lexical.name[0] == 0) status = ty_fail(&why, TY_CORRUPT, "%s names none", TY_MANIFEST_NAME);
  else status = open_index(t, &f->lexical, TY_SLAB_LEXICAL, false, &bytes, &why);
  if (status == TY_OK) status = ty_lexical_open(owner, &t->base, bytes, &t->lexical_index, err);
  else if (status == TY_CORRUPT || (status == TY_IO && why.sys_errno == ENOENT))
    status = ty_lexical_open_none(&why, &t->lexical_index, err);
  else if (err != NULL) *err = why;
  return status;
}

/* Reserves all of a delta's rows at once, so that the columns are not copied as they grow: the manifest's count,
 * bounded by the rows that the file can hold. */
static ty_status reserve_for(ty_collection *t, const ty_saved *m, const ty_file *file, ty_error *err) {
  uint64_t coded = ty_form_bytes(ty_form_of(t, t->dtype == TY_F32), t->dim), vector = ty_vector_bytes(t);
  uint64_t least = sizeof(ty_operation) + (coded < vector ? coded : vector);
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
  if (status == TY_OK) status = ty_open_indexes(t, owner, err);
  ty_block_span span = {.most = m->generation};
  /* The first one may be of the base's own generation. */
  if (status == TY_OK) span.above = ((const ty_slab_header *)(const void *)s->files.base.map)->generation - 1;
  for (uint32_t i = 0; i < s->files.delta_count && status == TY_OK; i++) {
    ty_file *file = &s->files.deltas[i];
    status = ty_delta_open(t, file, err);
    if (status == TY_OK) status = reserve_for(t, m, file, err);
    if (status == TY_OK) status = ty_delta_replay(t, file, 0, &span, err);
  }
  if (status != TY_OK) return status;
  if (ty_total_rows(t) != m->total_rows || t->base.live + t->delta.live != m->live_rows)
    return ty_fail(err, TY_CORRUPT, "%s: its counts of rows are not those of its files", TY_MANIFEST_NAME);
  t->generation = m->generation;
  s->manifest_bytes = m->text.bytes;
  ty_note_lexical(t);
  ty_mark(t);
  return TY_OK;
}
