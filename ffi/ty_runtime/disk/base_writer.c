#include "disk/base_writer.h"

#include "rows/vector.h"

bool base_go_on(base_writer *w, uint64_t i) {
  const ty_ref *rows = w->r->rows;
  bool next = i > 0 && rows[i].segment == rows[i - 1].segment && rows[i].at == rows[i - 1].at + 1;
  /* All parts of a delta's row lie side by side: reading a vector makes the rest of the row resident. */
  const ty_segment *s = rows[i].segment;
  uint64_t apart = !next ? TY_SCATTERED : s->is_base ? 0 : ty_payload_bytes(w->r->c, &s->payload[rows[i].at]);
  uint64_t before = w->written;
  w->written = w->slab.offset + w->slab.buffered;
  ty_rebase_read(w->r, rows[i], w->written - before + apart);
  if (w->slab.status == TY_OK && ++w->done % 1024 == 0) {
    ty_phases_set(&w->r->phases, TY_PHASE_WRITE, w->done, w->total);
    if (ty_cancelled(w->r->phases.progress))
      w->slab.status = ty_fail(w->slab.err, TY_CANCELLED, "cancelled; the last saved state stands");
  }
  return w->slab.status == TY_OK;
}

void base_column(base_writer *w, uint32_t id, base_row_fn append) {
  ty_slab_section_start(&w->slab, id);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) append(w, w->r->rows[i]);
  ty_slab_section_end(&w->slab);
}

void base_append(base_writer *w, const void *data, uint64_t bytes, const ame_code_info *info) {
  const ame_kernel *k = w->r->c->env->kernel;
  uint32_t crc = k->crc32c(0, data, (size_t)bytes);
  if (info != NULL) crc = k->crc32c(crc, info, sizeof *info);
  ty_slab_append(&w->slab, data, bytes);
  ty_buffer_append(&w->crcs, &crc, sizeof crc);
}

void base_put_crcs(base_writer *w, uint32_t id) {
  ty_slab_section_put(&w->slab, id, w->crcs.data, w->crcs.bytes);
  if (w->crcs.failed) ty_slab_no_memory(&w->slab);
  ty_buffer_free(&w->crcs);
}
