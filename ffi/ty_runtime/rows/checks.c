#include "rows/checks.h"

#include <string.h>

#include "rows/vector.h"

/* Not so where the end of a part was read of a file that was truncated while it was open. */
static bool is_within(const ty_intact *x, uint64_t at, uint64_t bytes) {
  return at <= x->bytes && bytes <= x->bytes - at;
}

/* Whether a part of the base, which has the `nth` checksum of `sums`, can be read. Its own checksum is compared first:
 * a first question reads a row here and there, and neighbours that share a block with it may be damaged. */
static bool is_good(const ty_intact *x, const ty_intact *sums, uint64_t nth, uint64_t at, uint64_t bytes,
                    const ame_code_info *info) {
  uint32_t crc, own;
  if (x->states != NULL && !is_within(x, at, bytes)) return false;
  if (ty_intact_known(x, at, bytes)) return true;
  if (sums->data == NULL || !ty_is_intact(sums, nth * sizeof crc, sizeof crc)) return ty_is_intact(x, at, bytes);
  memcpy(&crc, sums->data + nth * sizeof crc, sizeof crc);
  own = x->kernel->crc32c(0, x->data + at, (size_t)bytes);
  if (info != NULL) own = x->kernel->crc32c(own, info, sizeof *info);
  return own == crc || ty_is_intact(x, at, bytes);
}

/* The same of parts that are short beside a block: a block is not read for one of them. */
static bool is_good_alone(const ty_intact *x, const ty_intact *sums, uint64_t nth, uint64_t at, uint64_t bytes) {
  uint32_t crc;
  if (x->states == NULL || bytes == 0) return true;
  if (!is_within(x, at, bytes)) return false;
  if (sums->data == NULL || !ty_is_intact(sums, nth * sizeof crc, sizeof crc)) return ty_is_intact(x, at, bytes);
  memcpy(&crc, sums->data + nth * sizeof crc, sizeof crc);
  if (x->kernel->crc32c(0, x->data + at, (size_t)bytes) == crc) return true;
  ty_damage d = ty_damage_of(x->file, x->part, x->section, x->offset + at, bytes, "bytes do not match their checksum");
  d.first = nth * x->per;
  d.rows = x->rows - d.first < x->per ? x->rows - d.first : x->per;
  ty_damage_add(x->damages, &d);
  return false;
}

bool ty_text_intact(const ty_segment *s, uint64_t at) {
  if (s->checks == NULL || s->text_ends == NULL) return true;
  uint64_t start = at == 0 ? 0 : s->text_ends[at - 1];
  if (s->checks->symbols_lost && s->text_ends[at] > start) return false;
  return is_good_alone(&s->checks->texts, &s->checks->text_sums, at, start, s->text_ends[at] - start);
}

/* A row is read from the beginning of its block on. */
bool ty_meta_intact(const ty_segment *s, uint64_t at) {
  if (s->checks == NULL || s->metas.ends == NULL) return true;
  uint64_t block = at / TY_PACKED_ROWS, start = block == 0 ? 0 : s->metas.ends[block - 1];
  return is_good_alone(&s->checks->metas, &s->checks->meta_sums, block, start, s->metas.ends[block] - start);
}

bool ty_codes_intact(const ty_collection *c, const ty_segment *s, uint64_t at) {
  const uint64_t stride = AME_CODE_STRIDE(c->dim);
  const ty_checks *k = s->checks;
  return k == NULL || is_good(&k->codes, &k->code_sums, at, at * stride, stride, s->info + at);
}

bool ty_block_intact(const ty_collection *c, const ty_segment *s, uint64_t at) {
  const uint64_t bytes = AME_BLOCK_BYTES(c->dim), block = at / AME_BLOCK_ROWS;
  const ty_checks *k = s->checks;
  if (k == NULL || c->dtype != TY_INT4) return k == NULL || ty_is_intact(&k->blocks, block * bytes, bytes);
  return is_good(&k->blocks, &k->vector_sums, block, block * bytes, bytes, NULL);
}

bool ty_vector_intact(const ty_collection *c, const ty_segment *s, uint64_t at) {
  const uint64_t bytes = ty_vector_bytes(c);
  if (s->checks == NULL) return true;
  if (s->vectors != NULL) return is_good(&s->checks->vectors, &s->checks->vector_sums, at, at * bytes, bytes, NULL);
  if (s->vertical.lines != NULL) return ty_line_sums_all(&s->checks->lines, at);
  return c->dtype == TY_INT4 ? ty_block_intact(c, s, at) : ty_codes_intact(c, s, at);
}

bool ty_checks_again(const ty_checks *k, ty_go_on go_on, void *context) {
  bool going = true;
  const ty_intact *all[] = {&k->codes,     &k->vectors,   &k->blocks,    &k->vector_sums,
                            &k->meta_sums, &k->text_sums, &k->lines.sums};
  for (size_t i = 0; i < sizeof all / sizeof *all && going; i++) going = ty_intact_again(all[i], go_on, context);
  return going && ty_line_sums_again(&k->lines, go_on, context);
}

/* The offset in the file of what is damaged of a row. */
static uint64_t where(const ty_collection *c, const ty_segment *s, uint64_t at, ty_part part) {
  const ty_checks *k = s->checks;
  uint64_t bytes = ty_vector_bytes(c), start;
  if (part == TY_PART_TEXTS) {
    if (k->symbols_lost) return k->symbols_at;
    start = at == 0 ? 0 : s->text_ends[at - 1];
    return k->texts.offset + start;
  }
  if (part == TY_PART_METADATA) {
    start = at < TY_PACKED_ROWS ? 0 : s->metas.ends[at / TY_PACKED_ROWS - 1];
    return k->metas.offset + start;
  }
  if (s->vectors != NULL) return ty_intact_where(&k->vectors, at * bytes, bytes);
  if (s->vertical.lines != NULL) return ty_line_sums_where(&k->lines, at);
  bytes = c->dtype == TY_INT4 ? AME_BLOCK_BYTES(c->dim) : AME_CODE_STRIDE(c->dim);
  return c->dtype == TY_INT4 ? ty_intact_where(&k->blocks, at / AME_BLOCK_ROWS * bytes, bytes)
                             : ty_intact_where(&k->codes, at * bytes, bytes);
}

static const char *file_of(const ty_checks *k) { return k->lines.lines != NULL ? k->lines.sums.file : k->blocks.file; }

ty_status ty_row_damaged(const ty_collection *c, const ty_segment *s, uint64_t at, ty_part part, ty_error *err) {
  ty_unpack u;
  ty_unpack_init(&u);
  ty_slice id = ty_row_id(s, at, &u);
  const char *what = part == TY_PART_TEXTS ? "text" : part == TY_PART_METADATA ? "metadata" : "vector";
  if (part == TY_PART_TEXTS && s->checks->symbols_lost)
    return ty_fail(
        err, TY_CORRUPT,
        "the text of row '%.*s' cannot be read, because the symbols that texts are coded with are damaged: %s "
        "at offset %llu",
        (int)id.bytes, (const char *)id.data, file_of(s->checks), (unsigned long long)where(c, s, at, part));
  return ty_fail(err, TY_CORRUPT, "the %s of row '%.*s' does not match its checksum: %s at offset %llu", what,
                 (int)id.bytes, (const char *)id.data, file_of(s->checks), (unsigned long long)where(c, s, at, part));
}

ty_status ty_rows_damaged(const ty_collection *c, const ty_segment *base, const uint64_t *rows, uint32_t named,
                          uint64_t count, ty_error *err) {
  char names[512];
  int used = 0;
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint32_t i = 0; i < named; i++) {
    ty_slice id = ty_row_id(base, rows[i], &u);
    used += snprintf(names + used, sizeof names - (size_t)used, "%s'%.*s'", i == 0 ? "" : ", ",
                     (int)(id.bytes < 100 ? id.bytes : 100), (const char *)id.data);
  }
  if (count > named)
    snprintf(names + used, sizeof names - (size_t)used, " and %llu more", (unsigned long long)(count - named));
  return ty_fail(err, TY_CORRUPT,
                 "the vectors of rows %s do not match their checksums, and these rows have no text: %s at offset %llu",
                 names, file_of(base->checks), (unsigned long long)where(c, base, rows[0], TY_PART_VECTORS));
}
