#include "state/gather.h"

#include "disk/disk.h"
#include "disk/slab.h"
#include "rows/checks.h"

typedef struct walk {
  const ty_collection *c;
  const ty_phases *phases;
  uint64_t done, total;
} walk;

/* False: cancelled. */
static bool go_on(void *context, uint64_t bytes) {
  walk *w = context;
  w->done += bytes;
  ty_phases_set(w->phases, TY_PHASE_CHECK, w->done, w->total);
  ty_touched(w->c->resident, TY_OF_BASE, bytes, TY_RESIDENT_MOST);
  return !ty_cancelled(w->phases->progress);
}

/* Sections that rows/checks.h compares, those that a rewrite makes again, and the symbols, which were copied when the
 * base was opened. */
static bool is_needed(uint32_t id) {
  switch (id) {
  case TY_SECTION_CODES:
  case TY_SECTION_INFO:
  case TY_SECTION_VECTORS:
  case TY_SECTION_SPANS:
  case TY_SECTION_METAS:
  case TY_SECTION_TEXTS:
  case TY_SECTION_SYMBOLS:
  case TY_SECTION_SYMBOLS_AGAIN:
  case TY_SECTION_BLOCKS:
  case TY_SECTION_CODING:
  case TY_SECTION_SQUARES:
  case TY_SECTION_LINES:
  case TY_SECTION_LEVELS:
  case TY_SECTION_RUNS:
  case TY_SECTION_DIRECTORY:
  case TY_SECTION_SPAN_SQUARES:
  case TY_SECTION_VECTOR_SUMS:
  case TY_SECTION_META_SUMS:
  case TY_SECTION_TEXT_SUMS:
  case TY_SECTION_CODE_SUMS:
  case TY_SECTION_SUMS: return false;
  default: return id < TY_SECTION_BY_VALUE;
  }
}

ty_status ty_source_check(ty_collection *c, const ty_phases *phases, ty_error *err) {
  const ty_file *file = &c->store->files.base;
  walk w = {.c = c, .phases = phases, .total = file->bytes};
  ty_slab slab;
  ty_slice bytes;
  ty_status status = ty_slab_open(c, file, TY_SLAB_BASE, &slab, err);
  bool going = true;
  for (uint32_t i = 0; status == TY_OK && going && i < slab.header->sections; i++) {
    const ty_slab_section *s = &slab.sections[i];
    if (!is_needed(s->id)) continue;
    status = ty_slab_get(c, &slab, s->id, UINT64_MAX, true, &bytes, err);
    going = go_on(&w, s->bytes);
  }
  if (status == TY_OK && going) going = ty_checks_again(c->base.checks, go_on, &w);
  if (status != TY_OK || going) return status;
  return ty_fail(err, TY_CANCELLED, "cancelled; the last saved state stands");
}

ty_status ty_source_rows(const ty_rebase *r, ty_error *err) {
  for (uint64_t i = 0; i < r->count; i++) {
    const ty_segment *s = r->rows[i].segment;
    const uint64_t at = r->rows[i].at;
    if (!s->is_base) continue;
    ty_read_row(r->c, r->rows[i], ty_row_stored_text(s, at).bytes, r->most);
    if (!ty_vector_intact(r->c, s, at)) return ty_row_damaged(r->c, s, at, TY_PART_VECTORS, err);
    if (!ty_text_intact(s, at)) return ty_row_damaged(r->c, s, at, TY_PART_TEXTS, err);
    if (!ty_meta_intact(s, at)) return ty_row_damaged(r->c, s, at, TY_PART_METADATA, err);
  }
  return TY_OK;
}
