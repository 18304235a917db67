#include "disk/history.h"

#include <stdlib.h>
#include <string.h>

#include "os/plant.h"
#include "rows/damage.h"
#include "rows/sparse.h"
#include "rows/vector.h"

/* Whether a save says of its changes what they are. */
static bool counts_fit(const ty_history_view *v, const ty_history_save *save, uint64_t from) {
  uint64_t counts[TY_CHANGE_DELETED + 1] = {0};
  for (uint64_t i = from; i < save->end; i++) counts[v->changes[i].kind]++;
  return save->added == counts[TY_CHANGE_ADDED] && save->replaced == counts[TY_CHANGE_REPLACED] &&
         save->deleted == counts[TY_CHANGE_DELETED];
}

/* Whether all cumulative ends lie in the order and in the sections that they point into. */
static bool ends_fit(const ty_history_view *v) {
  uint64_t id = 0, row = 0, change = 0, save = 0;
  for (uint64_t i = 0; i < v->change_count; i++) {
    const ty_history_change *x = &v->changes[i];
    if (x->id_end <= id || x->id_end - id > TY_ID_MAX || x->row_end < row || x->row_end % 8 != 0 ||
        x->kind < TY_CHANGE_ADDED || x->kind > TY_CHANGE_DELETED || (x->kind == TY_CHANGE_ADDED && x->row_end != row))
      return false;
    id = x->id_end;
    row = x->row_end;
  }
  for (uint64_t i = 0; i < v->save_count; i++) {
    const ty_history_save *x = &v->saves[i];
    if (x->save <= save || x->end <= change || x->end > v->change_count || !counts_fit(v, x, change) ||
        x->time > TY_TIME_MAX || x->origin > v->origin_bytes || x->origin_bytes > v->origin_bytes - x->origin ||
        x->origin_bytes > TY_ORIGIN_MAX || !ty_all_zero(x->reserved, sizeof x->reserved))
      return false;
    save = x->save;
    change = x->end;
  }
  return id == v->id_bytes && row == v->row_bytes && change == v->change_count;
}

ty_status ty_history_view_open(const ty_collection *c, const ty_file *file, bool compare, ty_history_view *out,
                               ty_error *err) {
  ty_slab slab;
  ty_slice saves = {0}, changes = {0}, ids = {0}, rows = {0}, origins = {0};
  *out = (ty_history_view){0};
  ty_status status = ty_slab_open(c, file, TY_SLAB_HISTORY, &slab, err);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_HISTORY_SAVES, UINT64_MAX, compare, &saves, err);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_HISTORY_CHANGES, UINT64_MAX, compare, &changes, err);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_HISTORY_IDS, UINT64_MAX, compare, &ids, err);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_HISTORY_ROWS, UINT64_MAX, false, &rows, err);
  if (status == TY_OK) status = ty_slab_get(c, &slab, TY_HISTORY_ORIGINS, UINT64_MAX, compare, &origins, err);
  if (status != TY_OK) return status;
  const ty_history_view v = {.file = file,
                             .saves = (const ty_history_save *)(const void *)saves.data,
                             .changes = (const ty_history_change *)(const void *)changes.data,
                             .ids = ids.data,
                             .rows = rows.data,
                             .origins = origins.data,
                             .save_count = saves.bytes / sizeof(ty_history_save),
                             .change_count = changes.bytes / sizeof(ty_history_change),
                             .id_bytes = ids.bytes,
                             .row_bytes = rows.bytes,
                             .origin_bytes = origins.bytes};
  if (saves.bytes % sizeof *v.saves != 0 || changes.bytes % sizeof *v.changes != 0 || v.change_count > UINT32_MAX ||
      (compare && !ends_fit(&v)))
    return ty_damaged(file, "its saves and changes do not fit together", sizeof(ty_slab_header), err);
  *out = v;
  return TY_OK;
}

/* The numbers may be read from a mapping that is cut off meanwhile. */
static ty_slice part(const uint8_t *section, uint64_t bytes, uint64_t from, uint64_t end) {
  return from <= end && end <= bytes ? (ty_slice){section + from, end - from} : (ty_slice){section, 0};
}

ty_slice ty_history_id(const ty_history_view *v, uint64_t change) {
  return part(v->ids, v->id_bytes, change == 0 ? 0 : v->changes[change - 1].id_end, v->changes[change].id_end);
}

ty_slice ty_history_origin(const ty_history_view *v, const ty_history_save *save) {
  const uint64_t from = save->origin;
  return part(v->origins, v->origin_bytes, from, from + save->origin_bytes);
}

ty_slice ty_history_bytes(const ty_history_view *v, uint64_t change) {
  return part(v->rows, v->row_bytes, change == 0 ? 0 : v->changes[change - 1].row_end, v->changes[change].row_end);
}

bool ty_history_row_read(const ty_collection *c, ty_slice bytes, uint32_t crc, ty_history_parts *out) {
  ty_history_row r;
  if (bytes.bytes < sizeof r) return false;
  if (c->env->kernel->crc32c(0, bytes.data, (size_t)bytes.bytes) != crc && !TY_PLANTED(NO_ROW_SUM)) return false;
  memcpy(&r, bytes.data, sizeof r);
  const uint64_t room = bytes.bytes - sizeof r;
  const uint32_t flags = TY_HAS_META | TY_HAS_TEXT | TY_HISTORY_SPARSE | (c->dtype == TY_F32 ? TY_AS_CODES : 0);
  const uint64_t used = (uint64_t)r.vector_bytes + r.meta_bytes + r.text_bytes;
  if (used > room || room - used >= 8 || (r.flags & ~flags) != 0 || r.meta_bytes > TY_META_MAX ||
      r.text_bytes > TY_TEXT_MAX || (!(r.flags & TY_HAS_META) && r.meta_bytes > 0) ||
      (!(r.flags & TY_HAS_TEXT) && r.text_bytes > 0) || r.updated < r.created || r.updated > TY_TIME_MAX)
    return false;
  const uint8_t *at = bytes.data + sizeof r;
  *out = (ty_history_parts){.times = {r.created, r.updated},
                            .vector = {at, r.vector_bytes},
                            .meta = {at + r.vector_bytes, r.meta_bytes},
                            .text = {at + r.vector_bytes + r.meta_bytes, r.text_bytes},
                            .flags = r.flags};
  return true;
}

void ty_history_row_put(const ty_collection *c, const ty_history_parts *row, ty_buffer *out) {
  const bool codes = ty_form_of(c, (row->flags & TY_AS_CODES) != 0) == TY_INT8;
  const int8_t *dense = (const int8_t *)row->vector.data + sizeof(float);
  const uint64_t sparse = codes ? ty_sparse_bytes(dense, c->dim) : UINT64_MAX;
  const bool shorter = sparse < row->vector.bytes;
  const ty_history_row r = {.created = row->times.created,
                            .updated = row->times.updated,
                            .meta_bytes = (uint32_t)row->meta.bytes,
                            .text_bytes = (uint32_t)row->text.bytes,
                            .vector_bytes = (uint32_t)(shorter ? sparse : row->vector.bytes),
                            .flags = row->flags | (shorter ? TY_HISTORY_SPARSE : 0)};
  ty_buffer_append(out, &r, sizeof r);
  uint8_t *to = shorter ? ty_buffer_room(out, sparse) : NULL;
  if (to != NULL) {
    float scale;
    memcpy(&scale, row->vector.data, sizeof scale);
    ty_sparse_put(c->env->kernel, scale, dense, c->dim, sparse, to);
    out->bytes += sparse;
  } else {
    ty_buffer_append(out, row->vector.data, row->vector.bytes);
  }
  ty_buffer_append(out, row->meta.data, row->meta.bytes);
  ty_buffer_append(out, row->text.data, row->text.bytes);
  ty_buffer_align(out, 8);
}

bool ty_history_vector(const ty_collection *c, const ty_history_parts *row, uint8_t *scratch, uint8_t *out) {
  const ty_dtype form = ty_form_of(c, (row->flags & TY_AS_CODES) != 0);
  const uint64_t bytes = ty_form_bytes(form, c->dim);
  const bool sparse = (row->flags & TY_HISTORY_SPARSE) != 0, converts = form != c->dtype;
  uint8_t *stored = converts ? scratch : out;
  if (sparse && (form != TY_INT8 || !ty_sparse_good(row->vector, c->dim))) return false;
  if (sparse) ty_sparse_take(c->env->kernel, row->vector, c->dim, stored);
  if (!sparse && row->vector.bytes != bytes) return false;
  if (!sparse) memcpy(stored, row->vector.data, (size_t)bytes);
  if (!converts) return true;
  return ty_vector_good(c, form, stored, NULL) &&
         ty_vector_decode(c, form, stored, (float *)(void *)out) == (const float *)(const void *)out;
}

bool ty_history_row_good(const ty_collection *c, const ty_history_view *v, uint64_t change, uint8_t *scratch) {
  ty_history_parts row;
  uint8_t *stored = scratch + TY_HISTORY_SCRATCH(c->dim) / 2;
  const ty_slice bytes = ty_history_bytes(v, change);
  if (bytes.bytes == 0) return true;
  if (!ty_history_row_read(c, bytes, v->changes[change].row_crc, &row)) return false;
  if (c->dim == 0) return true; /* its manifest is damaged, which has the dimension */
  return ty_history_vector(c, &row, scratch, stored) &&
         ty_vector_good(c, c->dtype, stored, ty_vector_decode(c, c->dtype, stored, (float *)(void *)scratch));
}

ty_status ty_history_check(const ty_collection *c, const ty_file *file, ty_error *err) {
  ty_history_view v;
  ty_error why;
  ty_status status = ty_history_view_open(c, file, true, &v, &why);
  if (status != TY_OK) {
    ty_damage d = ty_damage_of(file->name, TY_PART_HISTORY, 0, 0, file->bytes, "its saves and changes cannot be read");
    ty_damage_note(c, &d);
    return TY_OK;
  }
  uint8_t *scratch = aligned_alloc(TY_ALIGN, (size_t)TY_HISTORY_SCRATCH(c->dim));
  if (scratch == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for a row of the history");
  for (uint64_t i = 0; i < v.change_count; i++) {
    if (ty_history_row_good(c, &v, i, scratch)) continue;
    const ty_slice row = ty_history_bytes(&v, i);
    ty_damage d = ty_damage_of(file->name, TY_PART_HISTORY, TY_HISTORY_ROWS, (uint64_t)(row.data - file->map),
                               row.bytes, "a row does not match its checksum or its format");
    ty_damage_note(c, &d);
  }
  free(scratch);
  return TY_OK;
}
