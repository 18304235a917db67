#include "disk/partial.h"

#include <string.h>

#include "disk/walk.h"

#define POLYNOMIAL 0x82f63b78u /* CRC-32C, reflected */
#define MEND_MOST  ((uint64_t)128 << 10)

bool ty_mend(const ame_kernel *k, uint8_t *data, uint64_t bytes, uint32_t crc, uint64_t *bits) {
  const uint32_t wrong = k->crc32c(0, data, (size_t)bytes) ^ crc;
  uint32_t change = POLYNOMIAL; /* by the last byte's highest bit; each step is one bit towards the front */
  if (wrong == 0 || bytes > MEND_MOST) return wrong == 0;
  for (uint64_t i = bytes * 8; i-- > 0; change = change & 1 ? change >> 1 ^ POLYNOMIAL : change >> 1) {
    if (change != wrong) continue;
    data[i / 8] ^= (uint8_t)(1u << i % 8);
    ++*bits;
    return true;
  }
  return false;
}

/* A header that is damaged in more than a bit may still say where the table is. */
static bool read_table(ty_partial *p, const ame_kernel *k, const ty_file *file) {
  ty_slab_header *h = &p->header;
  if (file->map == NULL || file->mapped < sizeof *h) return false;
  memcpy(h, file->map, sizeof *h);
  (void)ty_mend(k, (uint8_t *)h, sizeof *h - sizeof h->crc, h->crc, &p->bits);
  const uint64_t bytes = h->sections * sizeof *p->table;
  if (h->sections < 1 || h->sections > TY_SLAB_SECTIONS_MAX || bytes > file->mapped - sizeof *h) return false;
  memcpy(p->table, file->map + sizeof *h, (size_t)bytes);
  h->kind = TY_SLAB_BASE;
  return ty_mend(k, (uint8_t *)p->table, bytes, h->table_crc, &p->bits);
}

static bool is_within(const ty_file *file, const ty_slab_section *s) {
  uint64_t end;
  return s->offset % TY_ALIGN == 0 && ty_add(s->offset, s->bytes, &end) && end <= file->mapped;
}

/* Without checksums of its blocks a section is compared as a whole. */
static ty_status open_section(ty_partial *p, const ty_collection *c, const ty_slab_section *s, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  uint8_t *data = (uint8_t *)(uintptr_t)p->slab.file->map + s->offset;
  ty_intact *x = &p->sections[s - p->table];
  if (s->id == TY_SECTION_LINES || s->id == TY_SECTION_SUMS || ty_slab_find(&p->slab, s->id) != s) return TY_OK;
  if (p->slab.sums == NULL) (void)ty_mend(k, data, s->bytes, s->crc, &p->bits);
  ty_status status = ty_slab_intact(c, &p->slab, s->id, ty_part_of(TY_SLAB_BASE, s->id), x, err);
  for (uint64_t at = 0; status == TY_OK && x->sums != NULL && at < s->bytes; at += TY_SUM_BLOCK) {
    const uint64_t n = s->bytes - at < TY_SUM_BLOCK ? s->bytes - at : TY_SUM_BLOCK;
    (void)ty_mend(k, data + at, n, x->sums[at >> TY_SUM_SHIFT], &p->bits);
  }
  return status;
}

ty_status ty_partial_open(ty_partial *p, const ty_collection *c, const ty_file *file, ty_error *err) {
  const ame_kernel *k = c->env->kernel;
  ty_status status = TY_OK;
  p->slab = (ty_slab){&p->header, p->table, file, NULL};
  if (!read_table(p, k, file)) p->header.sections = 0;
  const ty_slab_section *end = p->table + p->header.sections, *last = end - 1;
  if (end > p->table && is_within(file, last) &&
      ty_mend(k, (uint8_t *)(uintptr_t)file->map + last->offset, last->bytes, last->crc, &p->bits))
    (void)ty_slab_sums(c, &p->slab, NULL);
  for (const ty_slab_section *s = p->table; s < end && status == TY_OK; s++) {
    if (is_within(file, s)) status = open_section(p, c, s, err);
  }
  return status;
}

const uint8_t *ty_partial_at(const ty_partial *p, uint32_t id, uint64_t at, uint64_t bytes, uint32_t sums,
                             uint64_t nth) {
  const ty_slab_section *s = ty_slab_find(&p->slab, id);
  const ty_intact *x = s == NULL ? NULL : &p->sections[s - p->table];
  if (x == NULL || x->data == NULL || at > x->bytes || bytes > x->bytes - at) return NULL;
  const uint8_t *sum = sums == 0 ? NULL : ty_partial_at(p, sums, nth * sizeof(uint32_t), sizeof(uint32_t), 0, 0);
  if (sum == NULL) return ty_is_intact(x, at, bytes) ? x->data + at : NULL;
  const uint32_t crc = x->kernel->crc32c(0, x->data + at, (size_t)bytes);
  return memcmp(&crc, sum, sizeof crc) == 0 ? x->data + at : NULL;
}
