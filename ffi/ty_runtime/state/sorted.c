#include "state/sorted.h"

#include <string.h>

#include "os/fail.h"
#include "rows/vector.h"

/* Copies are read as vectors: 4-byte aligned at least. */
#define COPY_ALIGN 8u

typedef struct sorter {
  const ty_collection *c;
  ty_rebase *r;
  ty_sorted *s;
  ty_spill order;  /* u32 for each row of the delta: the index of its copy + 1; 0: it has none */
  ty_spill begins; /* u64 for each copy: where its bytes begin; then the end of the last one */
  uint64_t rows;
} sorter;

static void evict(void *owner, unsigned kind) {
  const ty_sorted *s = owner;
  (void)kind;
  ty_spill_evict(s->env, &s->bytes);
  ty_spill_evict(s->env, &s->columns);
}

/* Bytes of a payload's copy: its parts follow each other, the vector first. */
static uint64_t bytes_of(const ty_collection *c, const ty_payload *p) {
  const ty_slice parts[] = {p->id, p->meta, p->text, p->terms};
  uint64_t bytes = ty_payload_bytes(c, p);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) bytes += parts[i].bytes;
  return bytes;
}

static void move(ty_slice *part, uint8_t **to) {
  if (part->bytes > 0) memcpy(*to, part->data, (size_t)part->bytes);
  part->data = *to;
  *to += part->bytes;
}

static ty_payload copy_payload(const ty_collection *c, const ty_payload *from, uint8_t *to) {
  ty_payload p = *from;
  const uint64_t vector = ty_payload_bytes(c, from);
  memcpy(to, from->vector, (size_t)vector);
  p.vector = to;
  to += vector;
  move(&p.id, &to);
  move(&p.meta, &to);
  move(&p.text, &to);
  move(&p.terms, &to);
  return p;
}

/* Room for a column of the copies, after `used` bytes, to which it adds. With NULL it only adds. */
static void *column(uint8_t *memory, uint64_t rows, uint64_t width, uint64_t *used) {
  void *at = memory == NULL ? NULL : memory + *used;
  *used += ty_align_up(rows * width);
  return at;
}

/* Places the columns of the copies in `memory`, and returns how many bytes they take. */
static uint64_t place_columns(sorter *x, uint8_t *memory) {
  ty_sorted *s = x->s;
  const ty_segment *d = &x->c->delta;
  ty_segment *to = &s->segment;
  uint64_t used = 0;
  to->vertical.scales = column(memory, x->rows, sizeof *to->vertical.scales, &used);
  to->vertical.norms = column(memory, x->rows, sizeof *to->vertical.norms, &used);
  to->vertical.errs = d->vertical.errs == NULL ? NULL : column(memory, x->rows, sizeof *to->vertical.errs, &used);
  to->row = column(memory, x->rows, sizeof *to->row, &used);
  to->birth = column(memory, x->rows, sizeof *to->birth, &used);
  to->created = column(memory, x->rows, sizeof *to->created, &used);
  to->updated = column(memory, x->rows, sizeof *to->updated, &used);
  to->payload = column(memory, x->rows, sizeof *to->payload, &used);
  to->dead = column(memory, x->rows, sizeof *to->dead, &used);
  s->places = column(memory, x->rows, sizeof *s->places, &used);
  for (uint32_t k = 0; k < x->c->columns; k++) s->keys[k] = column(memory, x->rows, sizeof *s->keys[k], &used);
  to->keys = (const uint32_t **)s->keys;
  return used;
}

/* Sets an element of a column. The columns of a segment are const, because elsewhere they are parts of mapped files. */
#define SET(column, at, from) memcpy((void *)(uintptr_t)&(column)[at], &(from), sizeof *(column))

static void copy_row(sorter *x, uint64_t at, uint64_t k, uint8_t *to) {
  const ty_segment *d = &x->c->delta;
  ty_segment *s = &x->s->segment;
  SET(s->vertical.scales, k, d->vertical.scales[at]);
  SET(s->vertical.norms, k, d->vertical.norms[at]);
  if (s->vertical.errs != NULL) SET(s->vertical.errs, k, d->vertical.errs[at]);
  SET(s->row, k, d->row[at]);
  SET(s->birth, k, d->birth[at]);
  SET(s->created, k, d->created[at]);
  SET(s->updated, k, d->updated[at]);
  for (uint32_t i = 0; i < x->c->columns; i++) x->s->keys[i][k] = d->keys[i][at];
  s->dead[k] = d->dead[at];
  s->payload[k] = copy_payload(x->c, &d->payload[at], to);
  x->s->places[k] = (ty_place)(x->c->base.count + at);
}

/* Finds which copy each row of the delta gets, and where its bytes begin. False: out of memory, or a row has no 8-bit
 * codes. */
static bool measure(sorter *x) {
  const ty_collection *c = x->c;
  const ty_rebase *r = x->r;
  if (!ty_spill_grow(ty_dir_of(c), &x->order, 0, c->delta.count * sizeof(uint32_t)) ||
      !ty_spill_grow(ty_dir_of(c), &x->begins, 0, (c->delta.count + 1) * sizeof(uint64_t)))
    return false;
  uint32_t *order = x->order.data;
  uint64_t *begins = x->begins.data;
  for (uint64_t i = 0; i < r->count; i++)
    if (!r->rows[i].segment->is_base) order[r->rows[i].at] = (uint32_t)++x->rows;
  for (uint64_t at = 0; at < c->delta.count; at++) {
    const ty_payload *p = &c->delta.payload[at];
    if (order[at] == 0) continue;
    if (ty_form_of(c, p->coded) != TY_INT8) return false;
    begins[order[at]] = (bytes_of(c, p) + COPY_ALIGN - 1) / COPY_ALIGN * COPY_ALIGN;
  }
  for (uint64_t k = 0; k < x->rows; k++) begins[k + 1] += begins[k];
  return true;
}

/* Room in a file, where it is too much for memory. */
static bool take_room(const ty_collection *c, ty_spill *s, uint64_t bytes) {
  return ty_spill_grow(ty_dir_of(c), s, 0, bytes) && (s->in_file || bytes <= c->env->spill_from);
}

/* False: without room, or cancelled. */
static bool copy(sorter *x) {
  const ty_collection *c = x->c;
  const ty_rebase *r = x->r;
  ty_sorted *s = x->s;
  const uint32_t *order = x->order.data;
  const uint64_t *begins = x->begins.data;
  s->segment =
      (ty_segment){.count = x->rows, .live = x->rows, .vertical = c->delta.vertical, .coding = c->delta.coding};
  s->segment.vertical.sparse_rows = 0;
  if (!take_room(c, &s->columns, place_columns(x, NULL)) || !take_room(c, &s->bytes, begins[x->rows])) return false;
  (void)place_columns(x, s->columns.data);
  for (uint64_t at = 0; at < c->delta.count; at++) {
    if (at % 1024 == 0 && ty_cancelled(r->phases.progress)) return false;
    if (order[at] == 0) continue;
    const uint64_t k = order[at] - 1, bytes = begins[k + 1] - begins[k];
    copy_row(x, at, k, (uint8_t *)s->bytes.data + begins[k]);
    ty_read_row(c, (ty_ref){&c->delta, at}, bytes, TY_RESIDENT_MOST);
    ty_touched(&s->resident, TY_OF_DELTA, bytes, TY_RESIDENT_MOST);
  }
  return true;
}

void ty_sort_rows(ty_rebase *r, ty_sorted *out) {
  const ty_collection *c = r->c;
  *out = (ty_sorted){.env = c->env, .resident = {.evict = evict, .owner = out}};
  sorter x = {.c = c, .r = r, .s = out};
  if (measure(&x) && copy(&x)) {
    uint64_t k = 0;
    for (uint64_t i = 0; i < r->count; i++)
      if (!r->rows[i].segment->is_base) r->rows[i] = (ty_ref){&out->segment, k++};
    r->sorted = &out->segment;
    r->sorted_places = out->places;
    r->sorted_resident = &out->resident;
  } else {
    ty_sorted_free(out);
  }
  ty_spill_free(c->env, &x.order);
  ty_spill_free(c->env, &x.begins);
}

void ty_sorted_free(ty_sorted *s) {
  if (s->env == NULL) return;
  ty_spill_free(s->env, &s->bytes);
  ty_spill_free(s->env, &s->columns);
}
