/* What can be read of damaged files: damage of each section of a base, and of headers, operations and tails of deltas.
 * Every part that is read is the one that was put, and damage of one part leaves the others whole. */
#include "../../ffi/ty_runtime/rows/vector.h"
#include "damage_rows.h"
#include "store_salvage.h"

enum { ADDED = 40, SAVES = 3, ALL = ROWS + ADDED };
/* Parts of rows that are damaged. */
enum { VECTOR = 1, ID = 2, META = 4, TEXT = 8, NUMBER = 16, TIMES = 32, KEY = 64, ALL_PARTS = 127 };

static ty_env *env;
static float truth[ALL][WIDTH]; /* as they are stored */
/* The other parts of each row as they were put. */
static struct {
  char meta[256], text[256], keys[2][8];
  size_t meta_bytes, text_bytes;
} texts[ALL];
static char dir[320];
static bool has_lines;        /* no vector of the base can be read */
static uint32_t vectors[2];   /* sections that the base's vectors are read from */
static bool with_base = true; /* else only the delta is read */
static struct {
  char name[64];
  uint8_t *data;
  uint64_t bytes;
} base, delta;

/* What was found. */
typedef struct survey {
  uint64_t rows, puts, deletes, replaced, lost, restored;
  uint64_t lost_at, lost_bytes;   /* of the last one */
  uint32_t damaged, damaged_puts; /* parts */
} survey;

/* ---- Files ---- */

static void load(const char *prefix, char name[64], uint8_t **data, uint64_t *bytes) {
  const salvage_names names = salvage_list(dir);
  const char *found = names.bytes;
  for (uint64_t i = 0; i < names.count; found += strlen(found) + 1, i++) {
    if (strncmp(found, prefix, strlen(prefix)) != 0) continue;
    char path[640];
    snprintf(name, 64, "%s", found);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    *bytes = names.sizes[i];
    *data = malloc((size_t)*bytes);
    FILE *in = fopen(path, "rb");
    CHECK(*data != NULL && in != NULL && fread(*data, 1, (size_t)*bytes, in) == *bytes);
    if (in != NULL) fclose(in);
  }
}

static void write_at(const char *name, uint64_t at, const void *data, uint64_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  int fd = open(path, O_WRONLY);
  CHECK(fd >= 0 && pwrite(fd, data, (size_t)bytes, (off_t)at) == (ssize_t)bytes);
  close(fd);
}

static void cut_at(const char *name, uint64_t bytes) {
  char path[640];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  CHECK(truncate(path, (off_t)bytes) == 0);
}

static void put_back(void) {
  write_at(base.name, 0, base.data, base.bytes);
  write_at(delta.name, 0, delta.data, delta.bytes);
}

/* One bit of a byte, or bits of up to three bytes from `at` to `end`. */
static void damage_at(const char *name, const uint8_t *data, uint64_t at, uint64_t end, bool one_bit) {
  uint8_t bytes[3];
  const uint64_t n = one_bit || end - at < 2 ? 1 : end - at < 3 ? 2 : 3;
  memcpy(bytes, data + at, n);
  bytes[0] ^= one_bit ? 16 : 0x5b;
  if (n > 1) bytes[1] ^= 0xa7;
  if (n > 2) bytes[2] ^= 0x3d;
  write_at(name, at, bytes, n);
}

/* ---- Rows ---- */

/* The rows' vectors, as the collection reads them. */
static void take_truth(const ty_collection *c, const ty_segment *s) {
  static float scratch[WIDTH];
  ty_unpack u;
  ty_unpack_init(&u);
  for (uint64_t at = 0; at < s->count; at++) {
    char id[16] = {0};
    ty_slice own = ty_row_id(s, at, &u);
    memcpy(id, own.data, (size_t)own.bytes);
    memcpy(truth[strtoul(id + 1, NULL, 10)], ty_row_vector(c, s, at, scratch), sizeof scratch);
  }
}

static void make_texts(void) {
  for (uint32_t i = 0; i < ALL; i++) {
    texts[i].meta_bytes = row_meta(i, texts[i].meta);
    texts[i].text_bytes = row_text(i, texts[i].text);
    snprintf(texts[i].keys[0], sizeof texts[i].keys[0], "p%u", i % PARTS);
    snprintf(texts[i].keys[1], sizeof texts[i].keys[1], "k%u", i % 5);
  }
}

/* A base with all rows, and a delta with a block of deletes, blocks of new rows, and one of rows that are put again. */
static void make(void) {
  fresh_dir(dir);
  ty_collection *c = make_rows(env, dir);
  rows_older = 500;
  for (uint32_t i = 0; i + 1 < SAVES; i++) put_rows(c, ROWS + i * (ADDED / 2), ADDED / 2, TY_ADD);
  rows_older = 0;
  put_rows(c, 0, 3, TY_UPSERT);
  close_checked(c);
  c = open_saved(env, dir);
  has_lines = c->base.vertical.lines != NULL;
  vectors[0] = c->base.vectors != NULL ? TY_SECTION_VECTORS
               : c->base.codes != NULL ? TY_SECTION_CODES
                                       : TY_SECTION_BLOCKS;
  vectors[1] = vectors[0] == TY_SECTION_CODES ? TY_SECTION_INFO : vectors[0];
  take_truth(c, &c->base);
  take_truth(c, &c->delta);
  ty_collection_close(c);
  load("base-", base.name, &base.data, &base.bytes);
  load("delta-", delta.name, &delta.data, &delta.bytes);
}

static void drop(void) {
  free(base.data);
  free(delta.data);
  remove_tree(dir);
}

/* Reads the next part of a row: false with `part` in `damaged` where it is damaged. */
static bool take(const uint8_t **at, uint32_t part, uint32_t *damaged, ty_slice *out) {
  uint32_t bytes;
  memcpy(&bytes, *at, sizeof bytes);
  *at += sizeof bytes;
  *out = (ty_slice){bytes == TY_SALVAGE_ABSENT ? NULL : *at, bytes < TY_SALVAGE_ABSENT ? bytes : 0};
  *at += out->bytes;
  if (bytes == TY_SALVAGE_DAMAGED) *damaged |= part;
  return bytes != TY_SALVAGE_DAMAGED;
}

/* The same, which has to be what is expected where it is not damaged. */
static void compare(const uint8_t **at, const void *expected, uint64_t length, uint32_t part, uint32_t *damaged,
                    const char *what) {
  ty_slice out;
  if (take(at, part, damaged, &out))
    CHECK_MESSAGE(out.data != NULL && out.bytes == length && memcmp(out.data, expected, (size_t)length) == 0,
                  "%s: part %u is another one", what, part);
}

/* Compares a row with what was put; returns its damaged parts. Without its id nothing more is known of it. */
static uint32_t check_row(ty_salvage *s, const ty_salvage_row_args *item, const char *what) {
  static uint8_t out[4096] __attribute__((aligned(8)));
  uint32_t damaged = 0;
  char id[16];
  ty_slice vector, part;
  ty_salvage_row_args row = *item;
  row.out = out;
  row.out_capacity = sizeof out;
  if (!CHECK_MESSAGE(ty_salvage_read(s, &row, &err) == TY_OK, "%s: %s", what, err.message)) return ALL_PARTS;
  const uint8_t *at = out;
  const bool has_vector = take(&at, VECTOR, &damaged, &vector);
  if (!take(&at, ID, &damaged, &part)) return damaged;
  if (!CHECK(part.bytes < sizeof id)) return ALL_PARTS;
  memcpy(id, part.data, (size_t)part.bytes);
  id[part.bytes] = 0;
  const uint32_t i = (uint32_t)strtoul(id + 1, NULL, 10);
  if (!CHECK_MESSAGE(id[0] == 'r' && i < ALL, "%s: id '%s'", what, id)) return ALL_PARTS;
  if (has_vector)
    CHECK_MESSAGE(vector.bytes == sizeof truth[i] && memcmp(vector.data, truth[i], sizeof truth[i]) == 0,
                  "%s: another vector", what);
  compare(&at, texts[i].meta, texts[i].meta_bytes, META, &damaged, what);
  if (with_texts) compare(&at, texts[i].text, texts[i].text_bytes, TEXT, &damaged, what);
  else CHECK_MESSAGE(take(&at, TEXT, &damaged, &part) && part.data == NULL, "%s: a text", what);
  CHECK_MESSAGE(take(&at, 0, &damaged, &part) && part.data == NULL, "%s: terms", what);
  for (int k = 0; k < 2; k++) compare(&at, texts[i].keys[k], strlen(texts[i].keys[k]), KEY, &damaged, what);
  CHECK_MESSAGE(at == out + row.out_bytes, "%s: more bytes", what);
  return damaged;
}

static void note(ty_salvage *s, const ty_salvage_row_args *item, survey *f, const char *what) {
  f->restored = item->restored;
  switch (item->kind) {
  case TY_SALVAGE_ROW:
    if (item->file > 0) {
      f->puts++;
      f->replaced += item->replaced != UINT64_MAX;
      f->damaged_puts |= check_row(s, item, what);
      CHECK_MESSAGE(item->updated == model_clock &&
                        item->created == model_clock - (item->replaced == UINT64_MAX ? 500 : 0),
                    "%s: other times", what);
      break;
    }
    f->rows++;
    f->damaged |= check_row(s, item, what) | (item->row == UINT64_MAX ? NUMBER : 0);
    if (item->created == UINT64_MAX) f->damaged |= TIMES;
    else CHECK_MESSAGE(item->created == model_clock && item->updated == model_clock, "%s: other times", what);
    break;
  case TY_SALVAGE_DELETE: f->deletes++; break;
  case TY_SALVAGE_LOST:
    f->lost++;
    f->lost_at = item->at;
    f->lost_bytes = item->bytes;
  }
}

static survey look_at(const salvage_names *names, uint64_t dim, const char *what) {
  survey f = {0};
  ty_salvage *s = NULL;
  if (!CHECK_MESSAGE(salvage_open(env, dir, names, dim, &s, &err) == TY_OK, "%s: %s", what, err.message)) return f;
  ty_salvage_row_args item;
  do {
    CHECK(ty_salvage_next(s, &item, &err) == TY_OK);
    note(s, &item, &f, what);
  } while (item.kind != TY_SALVAGE_END);
  ty_salvage_close(s);
  return f;
}

static survey look(const char *what) {
  salvage_names names = {.count = 0};
  salvage_name(&names, with_base ? base.name : "", with_base ? base.bytes : 0);
  salvage_name(&names, delta.name, delta.bytes);
  return look_at(&names, WIDTH, what);
}

/* ---- The base ---- */

static uint32_t parts_of(uint32_t section) {
  if (section == vectors[0] || section == vectors[1]) return VECTOR;
  switch (section) {
  case TY_SECTION_ROW: return NUMBER;
  case TY_SECTION_ID_ENDS:
  case TY_SECTION_IDS: return ID;
  case TY_SECTION_META_ENDS:
  case TY_SECTION_METAS: return META;
  case TY_SECTION_TEXT_ENDS:
  case TY_SECTION_TEXTS: return TEXT;
  case TY_SECTION_TIMES: return TIMES;
  default: return section >= TY_SECTION_KEYS && section < TY_SECTION_BY_VALUE ? KEY : 0;
  }
}

/* Sections that follow from others, of which nothing is read. */
static bool is_read(uint32_t section) {
  return section == TY_SECTION_SUMS || section == TY_SECTION_SHAPE || section == TY_SECTION_PRESENCE ||
         parts_of(section) != 0;
}

static void try_section(const ty_slab_section *s) {
  const uint32_t always = has_lines ? VECTOR : 0;
  const uint64_t places[] = {0, s->bytes / 2, s->bytes - 1};
  for (int i = 0; i < 6; i++) {
    const bool one_bit = i % 2 == 0;
    const uint64_t at = s->offset + places[i / 2];
    char what[128];
    snprintf(what, sizeof what, "%s%s, section %u at %llu%s", model_dtype, has_lines ? " lines" : "", s->id,
             (unsigned long long)at, one_bit ? ", one bit" : "");
    damage_at(base.name, base.data, at, s->offset + s->bytes, one_bit);
    survey f = look(what);
    CHECK_MESSAGE(f.rows == ROWS && f.lost == 0 && f.damaged_puts == 0, "%s: %llu rows", what,
                  (unsigned long long)f.rows);
    if (one_bit) {
      CHECK_MESSAGE((f.damaged & ~always) == 0, "%s: parts %u are damaged", what, f.damaged);
      CHECK_MESSAGE(f.restored <= 1 && (f.restored == 1 || !is_read(s->id) || has_lines), "%s: restored %llu", what,
                    (unsigned long long)f.restored);
    } else {
      const uint32_t parts = parts_of(s->id) | always;
      CHECK_MESSAGE((f.damaged | always) == parts, "%s: parts %u are damaged, not %u", what, f.damaged, parts);
      CHECK_MESSAGE(f.restored == 0, "%s: a bit is restored", what);
    }
    put_back();
  }
}

static void try_base(void) {
  const ty_slab_header *h = (const ty_slab_header *)(const void *)base.data;
  const ty_slab_section *s = (const ty_slab_section *)(const void *)(h + 1);
  const uint32_t always = has_lines ? VECTOR : 0;
  const uint64_t table = sizeof *h + h->sections * sizeof *s;
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].bytes > 0) try_section(&s[i]);
  }
  for (uint64_t at = 0; at < table; at += at < sizeof *h ? 11 : 37) {
    for (int one_bit = 0; one_bit < 2; one_bit++) {
      damage_at(base.name, base.data, at, at < sizeof *h ? sizeof *h : table, one_bit);
      survey f = look("the base's header");
      /* In the header only the number of sections and the table's checksum are needed. */
      const bool needed = at >= sizeof *h || (at + 2 >= offsetof(ty_slab_header, sections) &&
                                              at < offsetof(ty_slab_header, table_crc) + sizeof h->table_crc);
      if (one_bit || !needed)
        CHECK_MESSAGE(f.rows == ROWS && f.lost == 0 && (f.damaged & ~always) == 0, "header at %llu",
                      (unsigned long long)at);
      else
        CHECK_MESSAGE(f.rows == 0 && f.lost == 1 && f.lost_at == 0 && f.lost_bytes == base.bytes, "header at %llu",
                      (unsigned long long)at);
      put_back();
    }
  }
  const uint64_t lengths[] = {0, 1, 63, 64, table - 1, table, base.bytes / 3, base.bytes / 2, base.bytes - 1};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    cut_at(base.name, lengths[i]);
    survey f = look("a base that ends early");
    CHECK(f.puts == ADDED + 3 && f.damaged_puts == 0 && f.lost == (lengths[i] < table));
    put_back();
  }
}

/* ---- Deltas ---- */

static void check_lost(const survey *f, uint64_t at, uint64_t end, uint64_t puts, uint64_t deletes, const char *what) {
  CHECK_MESSAGE(f->lost == 1 && f->lost_at == at && f->lost_bytes == end - at, "%s: %llu bytes at %llu are lost", what,
                (unsigned long long)f->lost_bytes, (unsigned long long)f->lost_at);
  CHECK_MESSAGE(f->puts == puts && f->deletes == deletes && f->damaged_puts == 0, "%s: %llu puts, %llu deletes", what,
                (unsigned long long)f->puts, (unsigned long long)f->deletes);
}

/* Operations of a block that are of rows: all but an origin, which is the last one. */
static uint64_t rows_of(const ty_block_header *b) {
  const uint8_t *at = (const uint8_t *)(b + 1), *end = at + b->payload_bytes;
  uint64_t n = 0;
  for (ty_operation op; at < end; at += op.bytes) {
    memcpy(&op, at, sizeof op);
    n += op.kind != TY_OPERATION_ORIGIN;
  }
  return n;
}

static void try_block(uint64_t at, const ty_block_header *b, const survey *whole) {
  const uint64_t first = at + sizeof *b, end = first + b->payload_bytes;
  const bool deletes = ((const ty_operation *)(const void *)(b + 1))->kind == TY_OPERATION_DELETE;
  const uint64_t puts_left = whole->puts - (deletes ? 0 : rows_of(b)),
                 deletes_left = whole->deletes - (deletes ? rows_of(b) : 0);
  for (uint64_t i = at; i < end; i += i < first ? 5 : b->payload_bytes / 9 + 1) {
    damage_at(delta.name, delta.data, i, i < first ? first : end, false);
    survey f = look("a block");
    check_lost(&f, at, end, puts_left, deletes_left, "a block");
    put_back();
    damage_at(delta.name, delta.data, i, end, true);
    f = look("a bit of a block");
    /* A wrong bit of the checksum itself is not restored. */
    if (i >= at + offsetof(ty_block_header, crc) && i < first)
      check_lost(&f, at, end, puts_left, deletes_left, "a bit");
    else CHECK(f.lost == 0 && f.restored == 1 && f.puts == whole->puts && f.deletes == whole->deletes);
    put_back();
  }
  const uint64_t cuts[] = {at + 1, at + 63, first, first + 64, end - 1};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    cut_at(delta.name, cuts[i]);
    survey f = look("a delta that ends early");
    CHECK(f.lost == 2 || (f.lost == 1 && cuts[i] == at));
    CHECK(f.lost_at == cuts[i] && f.lost_bytes == delta.bytes - cuts[i] && f.damaged_puts == 0);
    put_back();
  }
}

/* Writes an operation at `at` of the block at `block`, whose checksums are made to fit. */
static void write_operation(uint64_t block, uint64_t at, const ty_operation *op) {
  const ame_kernel *k = ame_kernel_table();
  ty_block_header b;
  memcpy(&b, delta.data + block, sizeof b);
  uint8_t *payload = malloc((size_t)b.payload_bytes);
  if (!CHECK(payload != NULL)) return;
  memcpy(payload, delta.data + block + sizeof b, (size_t)b.payload_bytes);
  memcpy(payload + at - block - sizeof b, op, sizeof *op);
  b.payload_crc = k->crc32c(0, payload, (size_t)b.payload_bytes);
  b.crc = k->crc32c(0, &b, sizeof b - sizeof b.crc);
  write_at(delta.name, block, &b, sizeof b);
  write_at(delta.name, block + sizeof b, payload, b.payload_bytes);
  free(payload);
}

/* Lengths and filter values that do not fit, with checksums that do: the block says nothing. */
static void try_lengths(uint64_t block, const survey *whole) {
  const uint64_t at = block + sizeof(ty_block_header);
  ty_operation sound;
  memcpy(&sound, delta.data + at, sizeof sound);
  const uint64_t ops = rows_of((const ty_block_header *)(const void *)(delta.data + block));
  if (!CHECK(sound.kind == TY_OPERATION_PUT)) return;
  static const uint64_t lengths[] = {0, 63, 65, 1u << 30, UINT64_MAX - 63, UINT64_MAX};
  for (uint32_t i = 0; i < 22; i++) {
    const uint32_t wrong = i % 2 == 0 ? 1u << 20 : 0xffffffffu;
    ty_operation op = sound;
    if (i < 2) op.id_bytes = wrong;
    else if (i < 4) op.meta_bytes = wrong;
    else if (i < 6) op.terms_bytes = wrong;
    else if (i < 8) op.text_bytes = wrong;
    else if (i < 10) op.keys_bytes = wrong;
    else if (i < 12) op.id_bytes--, op.keys_bytes++; /* of the same length together */
    else if (i < 14) op.kind = wrong;
    else if (i < 16) op.id_bytes = 0;
    else op.bytes = lengths[i - 16];
    write_operation(block, at, &op);
    survey f = look("lengths");
    CHECK_MESSAGE(f.lost == 1 && f.lost_at == block && f.puts == whole->puts - ops && f.damaged_puts == 0,
                  "lengths %u: %llu lost, %llu puts", i, (unsigned long long)f.lost, (unsigned long long)f.puts);
  }
  put_back();
}

static void try_delta(const survey *whole) {
  uint64_t last = 0;
  for (uint64_t at = 0; at < sizeof(ty_slab_header); at += 9) {
    damage_at(delta.name, delta.data, at, sizeof(ty_slab_header), false);
    survey f = look("the delta's header");
    CHECK(f.lost == 0 && f.puts == whole->puts && f.deletes == whole->deletes);
    put_back();
  }
  for (uint64_t at = sizeof(ty_slab_header); at < delta.bytes;) {
    const ty_block_header *b = (const ty_block_header *)(const void *)(delta.data + at);
    if (!CHECK(b->magic == TY_BLOCK_MAGIC)) return;
    try_block(at, b, whole);
    last = at;
    at += sizeof *b + b->payload_bytes;
  }
  try_lengths(last, whole);
}

/* ---- Files and arguments ---- */

static void try_names(const survey *whole) {
  salvage_names names = {.count = 0};
  char long_name[101] = "delta-";
  memset(long_name + 6, 'a', 94);
  salvage_name(&names, base.name, base.bytes);
  salvage_name(&names, "delta-00000000000000ff.slab", 640);
  salvage_name(&names, long_name, 64);
  salvage_name(&names, "delta-/../x", 64);
  salvage_name(&names, delta.name, delta.bytes);
  survey f = look_at(&names, WIDTH, "names");
  CHECK(f.rows == ROWS && f.lost == 3 && f.puts == whole->puts && f.deletes == whole->deletes);
  names = (salvage_names){.count = 0};
  salvage_name(&names, "", 0);
  f = look_at(&names, WIDTH, "without files");
  CHECK(f.rows == 0 && f.lost == 0);
}

static uint32_t restored_sum(const uint8_t *data, uint64_t bytes) {
  return ame_kernel_table()->crc32c(0, data, (size_t)bytes);
}

/* What the manifest says of the rows counts only where the base cannot say it. */
static void try_schemas(const survey *whole) {
  static const uint64_t dims[] = {0, 1, WIDTH - 1, WIDTH + 1, WIDTH * 2, 65536, 65537, UINT64_MAX};
  const char *dtype = model_dtype;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    model_dtype = (const char *[]){"f32", "f16", "int8", "int4"}[i % 4];
    const salvage_names names = salvage_list(dir);
    survey f = look_at(&names, dims[i], "another schema");
    CHECK(f.rows == ROWS && f.puts == whole->puts && f.damaged == whole->damaged && f.damaged_puts == 0);
    model_dtype = dtype;
    /* Without the shape no row is taken for another one. */
    const ty_slab_section *s = (const ty_slab_section *)(const void *)(base.data + sizeof(ty_slab_header));
    CHECK(s->id == TY_SECTION_SHAPE);
    damage_at(base.name, base.data, s->offset + 9, s->offset + s->bytes, false);
    f = look_at(&names, dims[i], "another dimension, and no shape");
    CHECK(f.rows == ROWS && f.damaged == VECTOR && (f.puts == 0 || f.damaged_puts == VECTOR));
    f = look_at(&names, WIDTH, "no shape");
    CHECK(f.rows == ROWS && f.puts == whole->puts && f.damaged == whole->damaged && f.damaged_puts == 0);
    put_back();
  }
}

static void try_arguments(void) {
  static uint8_t out[4096];
  ty_salvage *s = NULL;
  const salvage_names names = salvage_list(dir);
  if (!CHECK(salvage_open(env, dir, &names, WIDTH, &s, &err) == TY_OK)) return;
  ty_salvage_row_args row = {.file = 2, .out = out, .out_capacity = sizeof out};
  CHECK(ty_salvage_read(s, &row, &err) == TY_INVALID);
  row = (ty_salvage_row_args){.out = out, .out_capacity = 1};
  CHECK(ty_salvage_read(s, &row, &err) == TY_BUFFER && row.out_bytes > 1);
  const uint64_t places[] = {ROWS, 1, UINT64_MAX, UINT64_MAX - 63, 64, delta.bytes, delta.bytes - 64};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    row = (ty_salvage_row_args){.file = i > 0, .at = places[i], .out = out, .out_capacity = sizeof out};
    uint32_t mark;
    CHECK(ty_salvage_read(s, &row, &err) == TY_OK && row.out_bytes == 7 * sizeof mark);
    memcpy(&mark, out, sizeof mark);
    CHECK(mark == TY_SALVAGE_DAMAGED);
  }
  ty_salvage_close(s);
  uint8_t bytes[64] = {1, 2, 3};
  const uint32_t crc = restored_sum(bytes, sizeof bytes);
  CHECK(ty_restore_bit(env, bytes, sizeof bytes, crc) == 0);
  bytes[9] ^= 4;
  CHECK(ty_restore_bit(env, bytes, sizeof bytes, crc) == 1 && bytes[9] == 0 && bytes[1] == 2);
  bytes[9] = 5, bytes[40] = 5;
  CHECK(ty_restore_bit(env, bytes, sizeof bytes, crc) == 2 && bytes[9] == 5 && bytes[40] == 5);
}

/* Files that are truncated while they are read: rows are damaged, and the process lives. */
static void try_truncated(void) {
  static ty_salvage_row_args items[2 * ALL];
  const salvage_names names = salvage_list(dir);
  const uint64_t lengths[] = {0, 100, base.bytes / 2};
  for (int i = 0; i < 6; i++) {
    ty_salvage *s = NULL;
    uint64_t n = 0, damaged = 0;
    if (!CHECK(salvage_open(env, dir, &names, WIDTH, &s, &err) == TY_OK)) return;
    if (i >= 3) cut_at(base.name, lengths[i - 3]), cut_at(delta.name, lengths[i - 3] / 100);
    do CHECK(ty_salvage_next(s, &items[n], &err) == TY_OK);
    while (items[n++].kind != TY_SALVAGE_END);
    if (i < 3) cut_at(base.name, lengths[i]), cut_at(delta.name, lengths[i] / 100);
    for (uint64_t k = 0; k < n; k++) {
      if (items[k].kind == TY_SALVAGE_ROW) damaged += check_row(s, &items[k], "truncated") != 0;
      else damaged += items[k].kind == TY_SALVAGE_LOST;
    }
    CHECK_MESSAGE(damaged > 0, "cut to %llu: no row is damaged", (unsigned long long)lengths[i % 3]);
    ty_salvage_close(s);
    put_back();
  }
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "salvage-test", 2, &seed, &env)) return 1;
  salvage_dim = WIDTH;
  make_texts();
  for (size_t i = 0; i < sizeof damage_kinds / sizeof *damage_kinds; i++) {
    set_kind(env, &damage_kinds[i], i % 3 != 1);
    make();
    survey whole = look("undamaged");
    CHECK(has_lines == damage_kinds[i].lines && whole.rows == ROWS && whole.deletes == ROWS / 10 &&
          whole.puts == ADDED + 3 && whole.replaced == 3 && whole.lost == 0 && whole.restored == 0 &&
          whole.damaged == (has_lines ? VECTOR : 0) && whole.damaged_puts == 0);
    try_base();
    with_base = false;
    try_delta(&whole);
    with_base = true;
    try_names(&whole);
    try_schemas(&whole);
    try_arguments();
    try_truncated();
    drop();
  }
  return program_end(env);
}
