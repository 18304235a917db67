/* Writing vectors of meaning: staged ones with a save, those that are kept with a new base. */
#include <stdlib.h>
#include <string.h>

#include "state/ids.h"
#include "state/meanings.h"

ty_status ty_meaning_stage(ty_collection *c, const ame_encoding *encoding, uint64_t row, ty_error *err) {
  const ty_meaning_record r = {*encoding, row};
  ty_buffer *staged = &c->store->staged;
  ty_buffer_append(staged, &r, sizeof r);
  if (!staged->failed) return TY_OK;
  staged->failed = false;
  return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
}

static uint64_t staged_count(const ty_collection *c) { return c->store->staged.bytes / sizeof(ty_meaning_record); }
static const ty_meaning_record *staged_of(const ty_collection *c, uint64_t i) {
  return (const ty_meaning_record *)(const void *)c->store->staged.data + i;
}

/* The place of the row of a staged record; false where it is not live any more. */
static bool staged_place(const ty_collection *c, uint64_t i, ty_place *out) {
  if (!ty_place_of_row(c, staged_of(c, i)->row, out)) return false;
  ty_ref row = ty_ref_of(c, *out);
  return !row.segment->dead[row.at];
}

static bool has_staged(const ty_collection *c) {
  ty_place place;
  for (uint64_t i = 0; i < staged_count(c); i++) {
    if (staged_place(c, i, &place)) return true;
  }
  return false;
}

/* The staged records of rows that are live, by place: index + 1. NULL: out of memory. */
static uint32_t *staged_by_place(const ty_collection *c) {
  uint32_t *by_place = calloc((size_t)ty_total_rows(c) + 1, sizeof *by_place);
  ty_place place;
  for (uint64_t i = 0; by_place != NULL && i < staged_count(c); i++) {
    if (staged_place(c, i, &place)) by_place[place] = (uint32_t)i + 1;
  }
  return by_place;
}

/* What a row's vector is written from; NULL: it has none. */
static const ame_encoding *vector_of(const ty_collection *c, const ty_meaning_view *view, const uint32_t *staged,
                                     ty_place place) {
  if (staged != NULL && staged[place] != 0) return &staged_of(c, staged[place] - 1)->encoding;
  return ty_meaning_of(view, place);
}

static uint64_t encoder_of(const ty_collection *c) {
  return atomic_load(&c->env->model) != NULL ? c->env->encoder : c->meaning->encoder;
}

/* The records of all live rows, for a fresh file. */
static void put_all(const ty_collection *c, const ty_meaning_view *view, const uint32_t *staged, ty_meaning_writer *w) {
  for (uint64_t place = 0; place < ty_total_rows(c); place++) {
    ty_ref row = ty_ref_of(c, (ty_place)place);
    const ame_encoding *vector = row.segment->dead[row.at] ? NULL : vector_of(c, view, staged, (ty_place)place);
    if (vector != NULL) ty_meaning_file_put(w, vector, row.segment->row[row.at]);
  }
}

static void put_staged(const ty_collection *c, ty_meaning_writer *w) {
  ty_place place;
  for (uint64_t i = 0; i < staged_count(c); i++) {
    if (staged_place(c, i, &place)) ty_meaning_file_put(w, &staged_of(c, i)->encoding, staged_of(c, i)->row);
  }
}

ty_status ty_meaning_append(ty_collection *c, ty_files *files, uint64_t generation, ty_meaning_save *s, ty_error *err) {
  if (c->store->drop_meaning) files->meaning = (ty_file){0};
  /* As with a delta, the save after a failed sync writes another file: other handles do not know of the failure. */
  const bool renew = c->store->abandon_meaning && files->meaning.name[0] != 0;
  if (!renew && !has_staged(c)) return TY_OK;
  const ty_meaning_view view = c->store->drop_meaning ? (ty_meaning_view){0} : ty_meaning_view_of(c);
  if (files->meaning.name[0] != 0 && !atomic_load(&c->meaning->ready))
    return TY_OK; /* a fresh file would lose the other vectors */
  /* What is appended to has to be what is mapped. */
  const bool fresh = view.at == NULL || renew;
  uint32_t *staged = fresh ? staged_by_place(c) : NULL;
  if (fresh && staged == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
  ty_file file = fresh ? (ty_file){0} : c->store->meaning;
  s->write = (ty_meaning_writer){.append = {.c = c, .generation = generation}, .file = &file, .encoder = encoder_of(c)};
  ty_status status = ty_meaning_file_begin(&s->write, err);
  if (status == TY_OK) {
    if (fresh) put_all(c, &view, staged, &s->write);
    else put_staged(c, &s->write);
    status = ty_meaning_file_end(&s->write, err);
    s->open = status == TY_OK;
  }
  s->write.file = NULL;
  files->meaning = (ty_file){.bytes = file.bytes, .crc = file.crc};
  memcpy(files->meaning.name, file.name, sizeof file.name);
  free(staged);
  return status;
}

void ty_meaning_failed(ty_collection *c, const ty_files *files) {
  const ty_file *have = &c->store->files.meaning;
  if (files->meaning.name[0] == 0) return;
  if (strcmp(have->name, files->meaning.name) != 0) ty_file_remove(c, files->meaning.name);
  else if (files->meaning.bytes > have->bytes) ty_file_cut(c, &c->store->meaning);
}

ty_status ty_meaning_rewrite(ty_collection *t, const ty_rebase *r, uint64_t generation, ty_meaning_save *s,
                             ty_error *err) {
  const ty_collection *c = r->c;
  const ty_meaning_view view = c->store->drop_meaning ? (ty_meaning_view){0} : ty_meaning_view_of(c);
  *s = (ty_meaning_save){.write = {.append = {.c = t, .generation = generation},
                                   .file = &t->store->files.meaning,
                                   .encoder = encoder_of(c)}};
  if (view.at == NULL && c->store->staged.bytes == 0) return TY_OK;
  uint32_t *staged = c->store->staged.bytes > 0 ? staged_by_place(c) : NULL;
  if (staged == NULL && c->store->staged.bytes > 0)
    return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
  ty_status status = TY_OK;
  for (uint64_t i = 0; i < r->count && status == TY_OK; i++) {
    const ame_encoding *vector = vector_of(c, &view, staged, ty_rebase_place(r, r->rows[i]));
    if (vector != NULL) status = ty_meaning_rewrite_put(s, vector, t->base.row[i], err);
  }
  free(staged);
  return status;
}

ty_status ty_meaning_rewrite_put(ty_meaning_save *s, const ame_encoding *encoding, uint64_t row, ty_error *err) {
  if (!s->open) {
    ty_status status = ty_meaning_file_begin(&s->write, err);
    if (status != TY_OK) return status;
    s->open = true;
  }
  ty_meaning_file_put(&s->write, encoding, row);
  return TY_OK;
}

ty_status ty_meaning_rewrite_end(ty_meaning_save *s, ty_error *err) {
  if (!s->open) return TY_OK;
  s->open = false;
  ty_status status = ty_meaning_file_end(&s->write, err);
  return status == TY_OK ? ty_meaning_file_finish(&s->write, err) : status;
}
