/* Damage of each section of a base, at its first byte, in its middle and at its last one, in live rows and dead ones:
 * answers are the true ones, or say what they lack, or name what is damaged; and a rewrite copies no damaged byte. */
#include "../../ffi/ty_runtime/rows/vector.h"
#include "damage_rows.h"

static ty_env *env;
static hits truth[QUESTIONS];

typedef struct damage_case {
  uint32_t section;
  uint64_t at; /* in the file */
  bool opened; /* flipped when the collection is open, before the section is read */
} damage_case;

static char base_path[640];
static void flip(uint64_t at) {
  FILE *f = fopen(base_path, "r+b");
  if (!CHECK(f != NULL && fseek(f, (long)at, SEEK_SET) == 0)) return;
  int byte = fgetc(f);
  CHECK(fseek(f, (long)at, SEEK_SET) == 0 && fputc(byte ^ 16, f) != EOF);
  fclose(f);
}

/* Sections that the rows' vectors as stored are read from. */
static bool has_rows(const ty_segment *b, uint32_t id) {
  if (b->vectors != NULL) return id == TY_SECTION_VECTORS;
  if (b->vertical.lines != NULL) return id == TY_SECTION_LINES || id == TY_SECTION_LEVELS || id == TY_SECTION_DIRECTORY;
  return b->codes != NULL ? id == TY_SECTION_CODES || id == TY_SECTION_INFO : id == TY_SECTION_BLOCKS;
}

static bool is_needed(uint32_t id) {
  switch (id) {
  case TY_SECTION_SHAPE:
  case TY_SECTION_ROW:
  case TY_SECTION_ID_ENDS:
  case TY_SECTION_IDS:
  case TY_SECTION_META_ENDS:
  case TY_SECTION_TEXT_ENDS:
  case TY_SECTION_PRESENCE:
  case TY_SECTION_TIMES: return true;
  default: return id >= TY_SECTION_KEYS && id < TY_SECTION_BY_VALUE;
  }
}

static bool is_as_read(uint32_t id) {
  return id == TY_SECTION_CODES || id == TY_SECTION_VECTORS || id == TY_SECTION_METAS || id == TY_SECTION_TEXTS ||
         id == TY_SECTION_BLOCKS || id == TY_SECTION_LINES;
}

/* Rows that cannot be got: of a text one, of metadata those of its block. */
static uint32_t check_gets(ty_collection *c, const damage_case *d, const char *what) {
  const bool strings = d->section == TY_SECTION_TEXTS || d->section == TY_SECTION_METAS;
  uint32_t failed = 0;
  for (uint32_t i = 0; i < ROWS; i += strings ? 1 : 13) {
    char id[16];
    if (is_dead(i) || get_row(c, i) == TY_OK) continue;
    snprintf(id, sizeof id, "'r%u'", i);
    CHECK_MESSAGE(strstr(err.message, id) != NULL && strstr(err.message, "base-") != NULL, "%s: %s", what, err.message);
    failed++;
  }
  uint32_t most = d->section == TY_SECTION_TEXTS ? 1 : d->section == TY_SECTION_METAS ? TY_PACKED_ROWS : 0;
  CHECK_MESSAGE(failed <= most, "%s: %u rows cannot be got", what, failed);
  return failed;
}

/* A rewrite fails, naming a live row, or its rows are the true ones. */
static void check_rewrite(ty_collection *c, bool derived, uint32_t failed, const char *what) {
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  ty_status status = ty_compact(c, &compact, NULL, &err);
  CHECK_MESSAGE(status == TY_OK || (status == TY_CORRUPT && !derived && strstr(err.message, "row 'r") != NULL),
                "%s: rewritten: %s", what, err.message);
  CHECK_MESSAGE(failed == 0 || status == TY_CORRUPT, "%s: a damaged row was copied", what);
  if (status != TY_OK) return;
  for (uint32_t i = 0; i < QUESTIONS; i++) check_hits(c, &truth[i], i, false, what);
  for (uint32_t i = 0; i < ROWS; i += 7) CHECK(is_dead(i) || get_row(c, i) == TY_OK);
  CHECK_MESSAGE(ty_validate(c, &err) == TY_OK && ty_verify(c, NULL, &err) == TY_OK, "%s: %s", what, err.message);
}

/* Copies a collection; base_path becomes that of its base. */
static void copy_files(const char *from, const char *to) {
  static uint8_t data[4 << 20];
  DIR *d = opendir(from);
  struct dirent *e;
  mkdir(to, 0700);
  while ((e = readdir(d)) != NULL) {
    char path[640];
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    snprintf(path, sizeof path, "%s/%s", from, e->d_name);
    FILE *in = fopen(path, "rb");
    size_t n = in == NULL ? 0 : fread(data, 1, sizeof data, in);
    if (in != NULL) fclose(in);
    snprintf(path, sizeof path, "%s/%s", to, e->d_name);
    FILE *out = fopen(path, "wb");
    if (CHECK(out != NULL && fwrite(data, 1, n, out) == n)) fclose(out);
    if (strncmp(e->d_name, "base-", 5) == 0) snprintf(base_path, sizeof base_path, "%s", path);
  }
  closedir(d);
}

static void try_case(const char *from, const damage_case *d) {
  char dir[320], what[200];
  ty_collection *c = NULL;
  fresh_dir(dir);
  copy_files(from, dir);
  snprintf(what, sizeof what, "%s %s%s%s, section %u at %llu%s", model_dtype, model_metric,
           model_vertical ? " lines" : "", with_texts ? " texts" : "", d->section, (unsigned long long)d->at,
           d->opened ? ", open" : "");
  if (!d->opened) flip(d->at);
  ty_status status = ty_collection_open(env, dir, &c, &err);
  if (is_needed(d->section)) {
    CHECK_MESSAGE(status == TY_CORRUPT && strstr(err.message, "base-") != NULL, "%s: %s", what, err.message);
  } else if (CHECK_MESSAGE(status == TY_OK, "%s: %s", what, err.message)) {
    if (d->opened) flip(d->at);
    const bool rows = has_rows(&c->base, d->section);
    for (uint32_t i = 0; i < QUESTIONS; i++) check_hits(c, &truth[i], i, rows, what);
    uint32_t failed = check_gets(c, d, what);
    CHECK_MESSAGE(ty_verify(c, NULL, &err) == TY_CORRUPT, "%s: not found", what);
    bool derived = !rows && d->section != TY_SECTION_TEXTS && d->section != TY_SECTION_METAS;
    check_rewrite(c, derived, failed, what);
    ty_collection_close(c);
  }
  remove_tree(dir);
}

/* Damage of what was read before is not seen again, but no rewrite copies it. */
static void try_late(const char *from, const damage_case *d) {
  char dir[320], what[200];
  fresh_dir(dir);
  copy_files(from, dir);
  snprintf(what, sizeof what, "%s, section %u at %llu, read before", model_dtype, d->section,
           (unsigned long long)d->at);
  ty_collection *c = open_saved(env, dir);
  for (uint32_t i = 0; i < QUESTIONS; i++) check_hits(c, &truth[i], i, false, what);
  flip(d->at);
  check_rewrite(c, false, 0, what);
  ty_collection_close(c);
  remove_tree(dir);
}

static void try_all(const char *dir) {
  char copy[320];
  uint8_t *data = malloc(4 << 20);
  fresh_dir(copy);
  copy_files(dir, copy);
  FILE *f = fopen(base_path, "rb");
  if (!CHECK(data != NULL && f != NULL && fread(data, 1, 4 << 20, f) > sizeof(ty_slab_header))) return;
  fclose(f);
  const ty_slab_header *h = (const ty_slab_header *)(const void *)data;
  const ty_slab_section *s = (const ty_slab_section *)(const void *)(h + 1);
  for (uint32_t i = 0; i < h->sections; i++) {
    if (s[i].bytes == 0) continue;
    const uint64_t places[] = {0, s[i].bytes / 2 + rng() % (s[i].bytes / 2 + 1) / 2, s[i].bytes - 1};
    for (int p = 0; p < 3; p++) {
      damage_case d = {s[i].id, s[i].offset + places[p], is_as_read(s[i].id) && p == 1};
      try_case(dir, &d);
      if (p == 1 && is_as_read(d.section)) try_late(dir, &d);
    }
  }
  free(data);
  remove_tree(copy);
}

/* A row of which a part is damaged is deleted: then nothing is left that is, and it is rewritten. */
static void try_dead(const char *from, uint32_t section, uint64_t at, uint32_t row) {
  char dir[320], id[16];
  fresh_dir(dir);
  copy_files(from, dir);
  flip(at);
  ty_collection *c = open_saved(env, dir);
  uint64_t end = (uint64_t)sprintf(id, "r%u", row);
  ty_delete_args gone = {.n = 1, .ids = (uint8_t *)id, .id_ends = &end};
  CHECK(ty_begin(c, &err) == TY_OK && ty_delete(c, &gone, &err) == TY_OK && gone.removed == 1);
  CHECK(ty_save(c, &err) == TY_OK);
  ty_compact_args compact = {0};
  CHECK(ty_begin(c, &err) == TY_OK);
  CHECK_MESSAGE(ty_compact(c, &compact, NULL, &err) == TY_OK, "section %u: %s", section, err.message);
  close_checked(c);
  remove_tree(dir);
}

static void try_deleted(const char *dir) {
  ty_collection *c = open_saved(env, dir);
  const ty_segment *b = &c->base;
  const uint8_t *map = c->store->files.base.map;
  uint64_t at = b->count / 2;
  while (b->dead[at]) at++;
  uint64_t text = b->text_ends == NULL ? 0 : (uint64_t)(b->texts - map) + b->text_ends[at - 1];
  uint64_t vector = b->vectors == NULL ? 0 : (uint64_t)(b->vectors - map) + at * ty_vector_bytes(c);
  uint64_t codes =
      b->vectors != NULL || b->codes == NULL ? 0 : (uint64_t)((const uint8_t *)b->codes - map) + at * WIDTH;
  ty_unpack u;
  ty_unpack_init(&u);
  char id[16] = {0};
  ty_slice own = ty_row_id(b, at, &u);
  memcpy(id, own.data, (size_t)own.bytes);
  const uint32_t row = (uint32_t)strtoul(id + 1, NULL, 10);
  ty_collection_close(c);
  if (CHECK(!is_dead(row))) {
    if (text != 0) try_dead(dir, TY_SECTION_TEXTS, text, row);
    if (vector != 0) try_dead(dir, TY_SECTION_VECTORS, vector, row);
    if (codes != 0) try_dead(dir, TY_SECTION_CODES, codes, row);
  }
}

int main(int argc, char **argv) {
  uint64_t seed;
  if (!program_begin(argc, argv, "damage-test", 2, &seed, &env)) return 1;
  rng_state = seed;
  env->summed_from = 256;
  for (size_t i = 0; i < 2 * sizeof damage_kinds / sizeof *damage_kinds; i++) {
    char dir[320];
    set_kind(env, &damage_kinds[i / 2], i % 2 == 0);
    fresh_dir(dir);
    ty_collection *c = make_rows(env, dir);
    CHECK((c->base.vertical.lines != NULL) == damage_kinds[i / 2].lines);
    CHECK((c->base.symbols != NULL) == with_texts);
    for (uint32_t q = 0; q < QUESTIONS; q++) {
      ask_rows(c, q, &truth[q]);
      CHECK(truth[q].status == TY_OK && truth[q].count > 0 && truth[q].trouble == 0);
    }
    close_checked(c);
    try_all(dir);
    try_deleted(dir);
    remove_tree(dir);
  }
  return program_end(env);
}
