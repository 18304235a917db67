/* Forged numbers of a history, with checksums that fit. For history_damage.h, whose checks it makes. */

/* A number of so many bytes at a place of a section, or of its entry in the table. */
typedef struct forged {
  const char *what;
  uint32_t section; /* 0: of the table */
  uint64_t at, bytes, value;
  int lost;
} forged;

#define OF_SAVE(n, member)   (n) * sizeof(ty_history_save) + offsetof(ty_history_save, member)
#define OF_CHANGE(n, member) (n) * sizeof(ty_history_change) + offsetof(ty_history_change, member)
#define OF_TABLE(n, member)  (n) * sizeof(ty_slab_section) + offsetof(ty_slab_section, member)

static const forged forgeries[] = {
    {"a number of a save", TY_HISTORY_SAVES, OF_SAVE(1, save), 8, 0, ALL_LOST},
    {"a save as the one before", TY_HISTORY_SAVES, OF_SAVE(1, save), 8, 1, ALL_LOST},
    {"a time", TY_HISTORY_SAVES, OF_SAVE(0, time), 8, (uint64_t)1 << 48, ALL_LOST},
    {"no end", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, 0, ALL_LOST},
    {"an end beyond all", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, UINT64_MAX, ALL_LOST},
    {"an end of all", TY_HISTORY_SAVES, OF_SAVE(0, end), 8, 1000, ALL_LOST},
    {"an origin beyond all", TY_HISTORY_SAVES, OF_SAVE(0, origin), 8, UINT64_MAX, ALL_LOST},
    {"a long origin", TY_HISTORY_SAVES, OF_SAVE(0, origin_bytes), 4, 0xffffffff, ALL_LOST},
    {"additions", TY_HISTORY_SAVES, OF_SAVE(0, added), 4, 0xffffffff, ALL_LOST},
    {"none added", TY_HISTORY_SAVES, OF_SAVE(0, added), 4, 0, ALL_LOST},
    {"reserved bytes", TY_HISTORY_SAVES, OF_SAVE(0, reserved), 8, 1, ALL_LOST},
    {"no id", TY_HISTORY_CHANGES, OF_CHANGE(0, id_end), 8, 0, ALL_LOST},
    {"a long id", TY_HISTORY_CHANGES, OF_CHANGE(0, id_end), 8, UINT64_MAX, ALL_LOST},
    {"an id before the first", TY_HISTORY_CHANGES, OF_CHANGE(1, id_end), 8, 1, ALL_LOST},
    {"a row of an addition", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, 8, ALL_LOST},
    {"an end of a row", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, 4, ALL_LOST},
    {"a row beyond all", TY_HISTORY_CHANGES, OF_CHANGE(0, row_end), 8, (uint64_t)0 - 8, ALL_LOST},
    {"kind 0", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 0, ALL_LOST},
    {"kind 2 for 1", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 2, ALL_LOST},
    {"kind 4", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 4, ALL_LOST},
    {"kind -1", TY_HISTORY_CHANGES, OF_CHANGE(0, kind), 4, 0xffffffff, ALL_LOST},
    {"saves of another section", 0, OF_TABLE(0, id), 4, 77, ALL_LOST},
    {"no rows", 0, OF_TABLE(3, bytes), 8, 0, ALL_LOST},
    {"no ids", 0, OF_TABLE(2, bytes), 8, 0, ALL_LOST},
    {"a part of a save", 0, OF_TABLE(0, bytes), 8, 8, ALL_LOST},
    {"a part of a change", 0, OF_TABLE(1, bytes), 8, 32, ALL_LOST},
    {"all of the memory", 0, OF_TABLE(4, bytes), 8, UINT64_MAX, ALL_LOST},
    {"before the file", 0, OF_TABLE(4, offset), 8, 0, ALL_LOST},
};

/* Of the first row. Its vector is longer than 4 bytes, its metadata and text shorter than those. */
#define OF_ROW(member) offsetof(ty_history_row, member)
static const forged forged_rows[] = {
    {"a long vector", TY_HISTORY_ROWS, OF_ROW(vector_bytes), 4, 0xffffffff, ROW_LOST},
    {"a short vector", TY_HISTORY_ROWS, OF_ROW(vector_bytes), 4, 4, ROW_LOST},
    {"long metadata", TY_HISTORY_ROWS, OF_ROW(meta_bytes), 4, 0xffffffff, ROW_LOST},
    {"a long text", TY_HISTORY_ROWS, OF_ROW(text_bytes), 4, 0x7fffffff, ROW_LOST},
    {"unknown flags", TY_HISTORY_ROWS, OF_ROW(flags), 4, 0xf0, ROW_LOST},
    {"no flags", TY_HISTORY_ROWS, OF_ROW(flags), 4, 0, ROW_LOST},
    {"created after it was updated", TY_HISTORY_ROWS, OF_ROW(created), 8, UINT64_MAX, ROW_LOST},
    {"an update in the future", TY_HISTORY_ROWS, OF_ROW(updated), 8, (uint64_t)1 << 48, ROW_LOST},
};

/* Writes `data` as the history, with checksums that fit. */
static void write_mended(const char *dir, uint8_t *data) {
  const file *f = by_prefix("history-");
  mend(dir, f, data);
  write_file(dir, f->name, data, f->bytes);
}

static void forge(const char *dir, const forged *x) {
  static uint8_t data[1 << 20] __attribute__((aligned(64)));
  const file *f = by_prefix("history-");
  memcpy(data, f->data, f->bytes);
  const ty_slab_section *s = x->section == 0 ? NULL : section_inside(data, f->bytes, x->section);
  memcpy(data + (s == NULL ? sizeof(ty_slab_header) : s->offset) + x->at, &x->value, x->bytes);
  write_mended(dir, data);
  check_damaged(dir, x->lost, x->what);
  restore_files(dir);
}

/* The first row's vector: of codes its bits and codes, of others numbers that no vector has. */
static void forge_vectors(const char *dir) {
  static uint8_t data[1 << 20] __attribute__((aligned(64)));
  const file *f = by_prefix("history-");
  for (uint32_t i = 0; i < 12; i++) {
    memcpy(data, f->data, f->bytes);
    uint8_t *row = data + section_inside(data, f->bytes, TY_HISTORY_ROWS)->offset;
    const ty_history_row *r = (const ty_history_row *)(const void *)row;
    uint8_t *vector = row + sizeof *r;
    const float odd = i % 2 == 0 ? NAN : INFINITY;
    const bool sparse = (r->flags & TY_HISTORY_SPARSE) != 0;
    int lost = ANY_LOST; /* other codes are another vector */
    if (i < 2 && strcmp(model_dtype, "f16") != 0) memcpy(vector, &odd, sizeof odd), lost = NOTHING_LOST;
    else if (sparse && i < 8) vector[sizeof(float) + i % 3] ^= (uint8_t)(1u << i), lost = NOTHING_LOST;
    else if (sparse && i < 10) vector[sizeof(float) + 3 + i % 2] = 0, lost = NOTHING_LOST;
    else memset(vector, i % 2 == 0 ? 0xff : 0x80, r->vector_bytes);
    write_mended(dir, data);
    ty_collection *c = open_saved(env, dir);
    ty_changes_args args = {.to = UINT64_MAX, .what = TY_WITH_VECTOR, ANSWER_IN(past_answer)};
    CHECK(ty_changes(c, &args, &err) == TY_OK);
    uint32_t missing = 0;
    for (uint64_t at = 0; at < args.out_bytes;) {
      const ty_change_record *change = (const ty_change_record *)(const void *)(past_answer + at);
      const ty_record *found = (const ty_record *)(const void *)(change + 1);
      missing += change->kind != TY_CHANGE_ADDED && !found->found;
      at += sizeof *change + sizeof *found + padded(found->id_bytes) + padded(found->vector_bytes);
    }
    CHECK_MESSAGE(lost == ANY_LOST || missing == 1, "%s: forged vector %u: %u rows missing", model_dtype, i, missing);
    CHECK((ty_verify(c, NULL, &err) == TY_OK) == (missing == 0));
    ty_collection_close(c);
    restore_files(dir);
  }
}
