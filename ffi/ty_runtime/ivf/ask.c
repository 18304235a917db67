#include "ivf/ask.h"

#include "rows/checks.h"
#include "rows/vector.h"

ty_ivf_asker ty_ivf_asker_open(const ty_ivf_builder *b, ty_arena *arena) {
  ty_ivf_asker a = {.rows = ty_arena_take(arena, b->dim * TY_IVF_NEAR_ROWS, sizeof *a.rows)};
  const ty_collection *c = b->r->c;
  const ty_checks *k = c->base.checks; /* whose codes were compared before the rewrite */
  bool damaged = k != NULL && ty_intact_any(&k->codes);
  if (c->base.codes == NULL || damaged || (c->delta.count > 0 && c->delta.codes == NULL))
    a.codes = ty_arena_take(arena, TY_IVF_NEAR_ROWS, AME_CODE_STRIDE(b->dim));
  return a;
}

ty_ivf_asked ty_ivf_ask(const ty_ivf_builder *b, const ty_ivf_asker *a, uint32_t i, uint64_t at) {
  ty_ref ref = b->r->rows[at];
  size_t stride = AME_CODE_STRIDE(b->dim);
  const float *row = ty_row_vector(b->r->c, ref.segment, ref.at, a->rows + i * b->dim);
  ty_read_row(b->r->c, ref, stride + ty_vector_bytes(b->r->c), b->r->most);
  if (ref.segment->codes != NULL && ty_codes_intact(b->r->c, ref.segment, ref.at))
    return (ty_ivf_asked){row, ref.segment->codes + ref.at * stride, (double)ref.segment->info[ref.at].scale};
  ame_code_info info;
  b->k->quantize_i8(row, 1, (size_t)b->dim, a->codes + i * stride, &info);
  return (ty_ivf_asked){row, a->codes + i * stride, (double)info.scale};
}
