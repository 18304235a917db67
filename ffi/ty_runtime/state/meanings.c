#include "state/meanings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disk/lock.h"
#include "rows/damage.h"
#include "state/ids.h"
#include "state/load.h"

uint64_t ty_meaning_base(const ty_collection *c) {
  const ty_slab_header *base = (const ty_slab_header *)(const void *)c->store->files.base.map;
  return c->generation == 0 || base == NULL ? 0 : base->generation;
}

bool ty_meaning_has_text(ty_ref row) {
  bool present;
  (void)ty_row_text(row.segment, row.at, &present);
  return present;
}

/* ---- Reading ---- */

static void take(void *context, const ty_block_header *b, const ty_meaning_record *records, uint64_t at) {
  const ty_collection *c = context;
  ty_meaning *m = c->meaning;
  uint32_t *table = m->memory.data;
  if (b->encoder != m->encoder) return;
  for (uint64_t i = 0; i < b->ops; i++) {
    uint64_t offset = (at + i * sizeof *records) / TY_MEANING_STEP;
    ty_place place;
    if (offset > UINT32_MAX || !ty_meaning_good(&records[i]) || !ty_place_of_row(c, records[i].row, &place)) continue;
    if (place < m->places && table[place] == 0) table[place] = (uint32_t)offset;
  }
}

static void newest(void *context, const ty_block_header *b, const ty_meaning_record *records, uint64_t at) {
  (void)records, (void)at;
  *(uint64_t *)context = b->encoder;
}

/* Reads the blocks from `from` on, of the first `places` rows. False: out of memory. */
static bool read_blocks(const ty_collection *c, uint64_t from, uint64_t places) {
  ty_meaning *m = c->meaning;
  if (!ty_meaning_grow(ty_dir_of(c), m, places)) return false;
  m->base = c->store->meaning.map;
  if (m->places > 0) ty_meanings_read(c, &c->store->meaning, from, take, (void *)(uintptr_t)c);
  return true;
}

static void note_lost(const ty_collection *c, const ty_error *why) {
  const ty_file *file = &c->store->files.meaning;
  ty_damage d = ty_damage_of(file->name, TY_PART_MEANING, 0, 0, file->bytes, why->message);
  ty_damage_note(c, &d);
}

/* Whether another process has saved since: it may have removed the file. */
static bool is_superseded(const ty_collection *c) {
  ty_stamp now;
  return c->env->os.stamp(&c->env->os, c->store->manifest_path, &now) < 0 ||
         memcmp(&now, &c->store->stamp, sizeof now) != 0;
}

/* False: it has to be tried again. */
static bool read_file(const ty_collection *c) {
  ty_meaning *m = c->meaning;
  ty_file *file = &c->store->meaning;
  ty_error why;
  *file = c->store->files.meaning;
  if (file->name[0] == 0) return true;
  ty_status status = ty_meanings_open(c, file, &why);
  bool usable = status == TY_OK;
  if (usable) {
    /* A process without a model keeps the vectors of the last block's encoder. */
    if (atomic_load(&c->env->model) != NULL) m->encoder = c->env->encoder;
    else ty_meanings_read(c, file, sizeof(ty_slab_header), newest, &m->encoder);
    usable = read_blocks(c, sizeof(ty_slab_header), c->base.count + c->state->kept_rows);
    if (!usable) status = TY_NO_MEMORY;
  }
  if (usable) {
    atomic_store(&m->usable, true);
    return true;
  }
  ty_file_unmap(c, file);
  if (!ty_is_lost(status, &why) || is_superseded(c)) return false;
  note_lost(c, &why);
  return true;
}

bool ty_meaning_need(const ty_collection *c) {
  ty_meaning *m = c->meaning;
  if (!atomic_load(&m->ready)) {
    pthread_mutex_lock(&m->lock);
    if (!atomic_load(&m->ready)) atomic_store(&m->ready, read_file(c));
    pthread_mutex_unlock(&m->lock);
  }
  return atomic_load(&m->ready) && atomic_load(&m->usable);
}

ty_meaning_view ty_meaning_at(const ty_collection *c) {
  const ty_meaning *m = c->meaning;
  if (!ty_meaning_need(c)) return (ty_meaning_view){0};
  if (atomic_load(&c->env->model) != NULL && m->encoder != c->env->encoder) return (ty_meaning_view){0};
  return (ty_meaning_view){m->memory.data, m->places, m->base};
}

ty_status ty_meaning_whole(const ty_collection *c, ty_error *err) {
  ty_meaning *m = c->meaning;
  const ty_file *file = &c->store->meaning;
  if (!atomic_load(&m->ready) || !atomic_load(&m->usable) || !ty_file_lost(file)) return TY_OK;
  atomic_store(&m->usable, false);
  ty_error why;
  ty_fail(&why, TY_CORRUPT, "%s was truncated, or could not be read, while it was in use", file->name);
  note_lost(c, &why);
  if (err != NULL) *err = why;
  return TY_CORRUPT;
}

static void forget(ty_collection *c) {
  ty_meaning_forget(c->env, c->meaning);
  ty_file_unmap(c, &c->store->meaning);
  c->store->meaning = (ty_file){0};
}

void ty_meaning_move(ty_collection *c, const ty_file *to) {
  ty_file *named = &c->store->files.meaning, *file = &c->store->meaning;
  ty_meaning *m = c->meaning;
  const bool same = strcmp(named->name, to->name) == 0, grows = same && to->bytes > named->bytes;
  const bool stays = same && to->bytes == named->bytes && to->crc == named->crc;
  TY_ASSERT_EXCLUSIVE(c);
  *named = *to;
  if (!same) c->store->abandon_meaning = false;
  if (!atomic_load(&m->ready) || stays || (grows && !atomic_load(&m->usable))) return;
  const uint64_t from = file->bytes;
  if (grows && ty_meanings_extend(c, file, to->bytes, NULL) == TY_OK && read_blocks(c, from, ty_total_rows(c))) {
    file->crc = to->crc;
    return;
  }
  forget(c); /* the next need reads it again, and says what is wrong with it */
}

/* ---- Writing ---- */

ty_status ty_meaning_stage(ty_collection *c, const ame_encoding *encoding, uint64_t row, ty_error *err) {
  const ty_meaning_record r = {*encoding, row};
  ty_buffer *staged = &c->store->staged;
  ty_buffer_append(staged, &r, sizeof r);
  if (!staged->failed) return TY_OK;
  staged->failed = false;
  return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
}

bool ty_meaning_changes(const ty_collection *c) {
  return c->store->staged.bytes > 0 || (c->store->drop_meaning && c->store->files.meaning.name[0] != 0);
}

static uint64_t staged_count(const ty_collection *c) { return c->store->staged.bytes / sizeof(ty_meaning_record); }
static const ty_meaning_record *staged_of(const ty_collection *c, uint64_t i) {
  return (const ty_meaning_record *)(const void *)c->store->staged.data + i;
}

/* The staged records of rows that are live, by place: index + 1. NULL: out of memory. */
static uint32_t *staged_by_place(const ty_collection *c) {
  uint32_t *by_place = calloc((size_t)ty_total_rows(c) + 1, sizeof *by_place);
  for (uint64_t i = 0; by_place != NULL && i < staged_count(c); i++) {
    ty_place place;
    if (!ty_place_of_row(c, staged_of(c, i)->row, &place)) continue;
    ty_ref row = ty_ref_of(c, place);
    if (!row.segment->dead[row.at]) by_place[place] = (uint32_t)i + 1;
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
static void put_all(const ty_collection *c, const ty_meaning_view *view, const uint32_t *staged, ty_meanings_write *w) {
  for (uint64_t place = 0; place < ty_total_rows(c); place++) {
    ty_ref row = ty_ref_of(c, (ty_place)place);
    const ame_encoding *vector = row.segment->dead[row.at] ? NULL : vector_of(c, view, staged, (ty_place)place);
    if (vector != NULL) ty_meanings_put(w, vector, row.segment->row[row.at]);
  }
}

static void put_staged(const ty_collection *c, const uint32_t *staged, ty_meanings_write *w) {
  for (uint64_t i = 0; i < staged_count(c); i++) {
    ty_place place;
    const ty_meaning_record *r = staged_of(c, i);
    if (ty_place_of_row(c, r->row, &place) && staged[place] == i + 1) ty_meanings_put(w, &r->encoding, r->row);
  }
}

static uint64_t live_staged(const ty_collection *c, const uint32_t *staged) {
  uint64_t n = 0;
  for (uint64_t place = 0; place < ty_total_rows(c); place++) n += staged[place] != 0;
  return n;
}

ty_status ty_meaning_append(ty_collection *c, ty_files *files, uint64_t generation, ty_meaning_save *s, ty_error *err) {
  if (c->store->drop_meaning) files->meaning = (ty_file){0};
  if (c->store->staged.bytes == 0) return TY_OK;
  uint32_t *staged = staged_by_place(c);
  if (staged == NULL) return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
  ty_status status = TY_OK;
  if (live_staged(c, staged) > 0) {
    const ty_meaning_view view = c->store->drop_meaning ? (ty_meaning_view){0} : ty_meaning_at(c);
    if (files->meaning.name[0] != 0 && !atomic_load(&c->meaning->ready))
      goto done; /* a fresh file would lose the rest */
    /* What is appended to has to be what is mapped. */
    bool fresh = view.at == NULL || c->store->abandon_meaning;
    if (fresh) files->meaning = (ty_file){0};
    else files->meaning = c->store->meaning;
    s->write = (ty_meanings_write){.append = {.c = c, .generation = generation}, .file = &files->meaning};
    s->write.encoder = encoder_of(c);
    status = ty_meanings_begin(&s->write, err);
    if (status == TY_OK) {
      if (fresh) put_all(c, &view, staged, &s->write);
      else put_staged(c, staged, &s->write);
      status = ty_meanings_end(&s->write, err);
      s->open = status == TY_OK;
    }
    files->meaning.map = NULL;
    files->meaning.guard = NULL;
    files->meaning.mapped = 0;
  }
done:
  free(staged);
  return status;
}

void ty_meaning_failed(ty_collection *c, const ty_files *files) {
  const ty_file *have = &c->store->files.meaning;
  if (files->meaning.name[0] == 0) return;
  if (strcmp(have->name, files->meaning.name) != 0) ty_file_remove(c, files->meaning.name);
  else if (files->meaning.bytes > have->bytes) ty_file_cut(c, &c->store->meaning);
}

ty_status ty_meaning_rewrite(ty_collection *t, const ty_rebase *r, uint64_t generation, ty_error *err) {
  const ty_collection *c = r->c;
  const ty_meaning_view view = c->store->drop_meaning ? (ty_meaning_view){0} : ty_meaning_at(c);
  if (view.at == NULL && c->store->staged.bytes == 0) return TY_OK;
  uint32_t *staged = c->store->staged.bytes > 0 ? staged_by_place(c) : NULL;
  if (staged == NULL && c->store->staged.bytes > 0)
    return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors of meaning");
  ty_meanings_write w = {.append = {.c = t, .generation = generation}, .file = &t->store->files.meaning};
  w.encoder = encoder_of(c);
  ty_status status = TY_OK;
  bool open = false;
  t->store->lock_fd = c->store->lock_fd;
  for (uint64_t i = 0; i < r->count && status == TY_OK; i++) {
    const ame_encoding *vector = vector_of(c, &view, staged, ty_place_of(c, r->rows[i]));
    if (vector == NULL) continue;
    if (!open) status = ty_meanings_begin(&w, err);
    open = status == TY_OK;
    if (open) ty_meanings_put(&w, vector, t->base.row[i]);
  }
  if (open) status = ty_meanings_end(&w, err);
  if (open && status == TY_OK) status = ty_meanings_finish(&w, err);
  t->store->lock_fd = -1;
  free(staged);
  return status;
}
