/* The section of the rows' times. */
#include "disk/base_writer.h"

/* Numbers of so many bytes each, of every row. */
static void put_numbers(base_writer *w, uint64_t first, uint8_t bytes, bool later) {
  for (uint64_t i = 0; bytes > 0 && i < w->r->count && base_go_on(w, i); i++) {
    ty_times t = ty_row_times(w->r->rows[i].segment, w->r->rows[i].at);
    uint64_t value = later ? t.updated - t.created : t.created - first;
    ty_slab_append(&w->slab, &value, bytes); /* the lowest bytes come first */
  }
}

void base_put_times(base_writer *w) {
  uint64_t first = TY_TIME_MAX, last = 0, latest = 0;
  for (uint64_t i = 0; i < w->r->count; i++) {
    ty_times t = ty_row_times(w->r->rows[i].segment, w->r->rows[i].at);
    TY_ASSERT(t.created <= t.updated && t.updated <= TY_TIME_MAX);
    if (t.created < first) first = t.created;
    if (t.created > last) last = t.created;
    if (t.updated - t.created > latest) latest = t.updated - t.created;
  }
  if (w->r->count == 0) first = 0;
  ty_times_head head = {.first = first,
                        .created_bytes = ty_time_bytes(w->r->count == 0 ? 0 : last - first),
                        .later_bytes = ty_time_bytes(latest)};
  ty_slab_section_start(&w->slab, TY_SECTION_TIMES);
  ty_slab_append(&w->slab, &head, sizeof head);
  put_numbers(w, first, head.created_bytes, false);
  put_numbers(w, first, head.later_bytes, true);
  ty_slab_section_end(&w->slab);
}
