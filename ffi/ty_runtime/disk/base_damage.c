/* What of a base can be done without, as it follows from the rest or concerns some rows only. */
#include "disk/base_reader.h"
#include "rows/block.h"
#include "rows/vertical.h"

/* `rows`: how many it concerns, 0 where it is not of rows. */
static void note(const base_reader *r, uint32_t id, ty_part part, uint64_t rows, const char *what) {
  const ty_slab_section *s = ty_slab_find(&r->slab, id);
  /* The table itself may have been cut off since it was read. */
  const uint64_t offset = s == NULL ? 0 : s->offset, bytes = s == NULL ? r->slab.file->bytes : s->bytes;
  ty_damage d = ty_damage_of(r->slab.file->name, part, id, offset, bytes, what);
  d.rows = rows;
  ty_damage_note(r->c, &d);
}

bool base_derived(base_reader *r, uint32_t id, const char *what) {
  if (ty_slab_sound(r->c, &r->slab, id)) return true;
  note(r, id, TY_PART_FILTER, 0, what);
  return false;
}

/* Their order and number are checked like those of a section. */
void base_make_spans(base_reader *r, ty_span *spans, uint32_t count) {
  const uint32_t *codes = r->c->base.keys[0];
  uint32_t made = 0;
  for (uint64_t at = 0; at < r->rows; at++) {
    if (made == 0 || spans[made - 1].key != codes[at]) {
      if (made == count) return; /* the rows that are left show it */
      spans[made++] = (ty_span){.key = codes[at], .first = at};
    }
    spans[made - 1].count++;
  }
}

/* Rows of four bits are never transformed, so nothing is lost with their coding. */
void base_lose_coding(base_reader *r) {
  const ty_intact *x = &r->checks->blocks;
  note(r, TY_SECTION_CODING, TY_PART_CODES, 0, "how the blocks are coded does not match its checksum");
  r->c->base.coding = (ty_coding){0};
  if (r->c->dtype != TY_INT4) ty_intact_condemn(x, 0, x->bytes, NULL);
}

void base_lose_symbols(base_reader *r) {
  const ty_slab_section *s = ty_slab_find(&r->slab, TY_SECTION_SYMBOLS);
  note(r, TY_SECTION_SYMBOLS, TY_PART_TEXTS, r->rows,
       "the symbols that texts are coded with do not match their checksum");
  r->checks->symbols_lost = true;
  r->checks->symbols_at = s == NULL ? 0 : s->offset;
}

/* Compares a section block by block; calls for the bytes of each damaged one. */
static void each_damaged(base_reader *r, uint32_t id, void (*lose)(base_reader *r, uint64_t from, uint64_t to)) {
  ty_intact x;
  if (r->status == TY_OK) r->status = ty_slab_intact(r->c, &r->slab, id, TY_PART_CODES, &x, r->err);
  for (uint64_t at = 0; r->status == TY_OK && at < x.bytes; at += TY_SUM_BLOCK) {
    uint64_t bytes = x.bytes - at < TY_SUM_BLOCK ? x.bytes - at : TY_SUM_BLOCK;
    if (!ty_is_intact(&x, at, bytes)) lose(r, at, at + bytes);
  }
}

static void lose_codes(base_reader *r, uint64_t from, uint64_t to) {
  const uint64_t stride = AME_CODE_STRIDE(r->c->dim), each = sizeof(ame_code_info);
  uint64_t first = from / each, end = (to + each - 1) / each;
  ty_intact_condemn(&r->checks->codes, first * stride, (end - first) * stride, NULL);
}

void base_lose_info(base_reader *r) { each_damaged(r, TY_SECTION_INFO, lose_codes); }

/* The levels are two or three arrays of floats, one after the other: a byte of any of them is of one row's block. */
static void lose_levels(base_reader *r, uint64_t from, uint64_t to) {
  for (uint64_t i = from / sizeof(float); i < to / sizeof(float); i++)
    ty_line_sums_lose(&r->checks->lines, i % r->rows);
}

void base_lose_levels(base_reader *r) { each_damaged(r, TY_SECTION_LEVELS, lose_levels); }

static void lose_directory(base_reader *r, uint64_t from, uint64_t to) {
  const uint64_t each = ty_directory_bytes(r->c->dim);
  for (uint64_t block = from / each; block * each < to; block++)
    ty_line_sums_lose(&r->checks->lines, block * TY_SPARSE_ROWS);
}

void base_lose_directory(base_reader *r) { each_damaged(r, TY_SECTION_DIRECTORY, lose_directory); }

void base_line_sums(base_reader *r, const ty_line_runs *runs) {
  ty_line_sums *x = &r->checks->lines;
  base_as_read(r, TY_SECTION_RUNS, runs->blocks * r->c->dim, sizeof(uint32_t), TY_PART_FILTER, &x->sums);
  if (r->status != TY_OK) return;
  const ty_slab_section *s = ty_slab_find(&r->slab, TY_SECTION_LINES);
  x->lines = r->c->base.vertical.lines;
  x->offset = s->offset;
  x->crc = s->crc;
  x->runs = *runs;
  r->status = ty_line_sums_open(x, r->err);
}
