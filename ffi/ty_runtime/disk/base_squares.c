/* The sums of squares over a base's rows and over those of its large partitions. Counted while the section of the
 * stored rows is written, so that no row is read again. */
#include <string.h>
#include "disk/base_writer.h"
#include "rows/weights.h"

/* Ends `some`. */
static void end_some(base_writer *w) {
  base_sums *s = &w->sums;
  const ty_collection *c = w->r->c;
  const uint64_t bytes = (uint64_t)c->dim * sizeof *s->some;
  for (uint32_t d = 0; d < c->dim; d++) s->all[d] += s->some[d];
  void *stored = s->keep ? ty_growing_room(ty_dir_of(c), &s->stored, bytes) : NULL;
  if (stored != NULL) memcpy(stored, s->some, (size_t)bytes);
  else if (s->keep) ty_slab_no_memory(&w->slab);
  memset(s->some, 0, (size_t)bytes);
  s->keep = false;
}

uint64_t *base_sums_of(base_writer *w, uint64_t i, uint64_t *end) {
  base_sums *s = &w->sums;
  const ty_rebase *r = w->r;
  const uint64_t least = r->c->env->summed_from;
  if (i >= s->end) {
    end_some(w);
    s->keep = r->spans[s->span].count >= least;
    do s->end = r->spans[s->span].first + r->spans[s->span].count;
    while (++s->span < r->span_count && !s->keep && r->spans[s->span].count < least);
  }
  TY_ASSERT(i < s->end);
  *end = s->end;
  return s->some;
}

void base_count(base_writer *w, uint64_t i, const float *row) {
  uint64_t end;
  ty_weights_count(base_sums_of(w, i, &end), row, w->r->c->dim, false);
}

void base_put_squares(base_writer *w) {
  base_sums *s = &w->sums;
  const uint64_t bytes = (uint64_t)w->r->c->dim * sizeof *s->all;
  if (w->counted == 0) return;
  end_some(w);
  ty_slab_section_put(&w->slab, TY_SECTION_SQUARES, s->all, bytes);
  if (s->stored.used > 0) ty_slab_section_put(&w->slab, TY_SECTION_SPAN_SQUARES, s->stored.memory.data, s->stored.used);
}
