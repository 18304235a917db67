#include "state/meanings.h"

#include <errno.h>
#include <string.h>

#include "rows/damage.h"
#include "state/ids.h"
#include "state/load.h"

uint64_t ty_meaning_base_generation(const ty_collection *c) {
  const ty_slab_header *base = (const ty_slab_header *)(const void *)c->store->files.base.map;
  return c->generation == 0 || base == NULL ? 0 : base->generation;
}

static void take(void *context, const ty_block_header *b, const ty_meaning_record *records, uint64_t at) {
  const ty_collection *c = context;
  ty_meaning *m = c->meaning;
  uint32_t *table = m->memory.data;
  if (b->encoder != m->encoder) return;
  for (uint64_t i = 0; i < b->ops; i++) {
    uint64_t offset = (at + i * sizeof *records) / TY_MEANING_STEP;
    ty_place place;
    if (offset > UINT32_MAX || !ty_meaning_is_valid(&records[i]) || !ty_place_of_row(c, records[i].row, &place))
      continue;
    if (place >= m->places || table[place] != 0) continue;
    table[place] = (uint32_t)offset;
    ty_ref row = ty_ref_of(c, place);
    m->live += !row.segment->dead[row.at];
  }
}

static void newest(void *context, const ty_block_header *b, const ty_meaning_record *records, uint64_t at) {
  (void)records, (void)at;
  *(uint64_t *)context = b->encoder;
}

/* Reads the blocks from `from` on, of the first `places` rows. */
static ty_status read_blocks(const ty_collection *c, uint64_t from, uint64_t places, ty_error *err) {
  ty_meaning *m = c->meaning;
  const ty_file *file = &c->store->meaning;
  if (!ty_meaning_grow(ty_dir_of(c), m, places)) return ty_fail(err, TY_NO_MEMORY, "out of memory for %s", file->name);
  m->base = file->map;
  if (m->places == 0 || ty_meaning_file_read(c, file, from, take, (void *)(uintptr_t)c)) return TY_OK;
  return ty_fail(err, TY_CORRUPT, "it is not the file that the manifest names");
}

static void note_lost(const ty_collection *c, const ty_error *why) {
  const ty_file *file = &c->store->files.meaning;
  ty_damage d = ty_damage_of(file->name, TY_PART_MEANING, 0, 0, file->bytes, why->message);
  ty_damage_note(c, &d);
}

/* Whether another process has saved since: it may have removed the file. */
static bool is_superseded(const ty_collection *c) {
  ty_stamp now;
  int result = c->env->os.stamp(&c->env->os, c->store->manifest_path, &now);
  return result < 0 ? result == -ENOENT : memcmp(&now, &c->store->stamp, sizeof now) != 0;
}

/* False: it has to be tried again. */
static bool read_file(const ty_collection *c) {
  ty_meaning *m = c->meaning;
  ty_file *file = &c->store->meaning;
  ty_error why;
  *file = c->store->files.meaning;
  if (file->name[0] == 0) return true;
  ty_status status = ty_meaning_file_open(c, file, &why);
  if (status == TY_OK) {
    /* A process without a model keeps the vectors of the last block's encoder. */
    if (atomic_load(&c->env->model) != NULL) m->encoder = c->env->encoder;
    else ty_meaning_file_read(c, file, sizeof(ty_slab_header), newest, &m->encoder);
    status = read_blocks(c, sizeof(ty_slab_header), c->base.count + c->state->kept_rows, &why);
  }
  if (status == TY_OK) {
    atomic_store(&m->usable, true);
    return true;
  }
  ty_meaning_forget(c->env, m);
  ty_file_unmap(c, file);
  if (!ty_is_lost(status, &why) || is_superseded(c)) return false;
  note_lost(c, &why);
  return true;
}

bool ty_meaning_load(const ty_collection *c) {
  ty_meaning *m = c->meaning;
  atomic_store_explicit(&c->store->wants_meaning, true, memory_order_relaxed);
  if (!atomic_load(&m->ready)) {
    pthread_mutex_lock(&m->lock);
    if (!atomic_load(&m->ready)) atomic_store(&m->ready, read_file(c));
    pthread_mutex_unlock(&m->lock);
  }
  return atomic_load(&m->ready) && atomic_load(&m->usable);
}

bool ty_meaning_missed(const ty_collection *c) {
  if (!atomic_load_explicit(&c->store->wants_meaning, memory_order_relaxed)) return false;
  return !ty_meaning_load(c) && !atomic_load(&c->meaning->ready);
}

ty_meaning_view ty_meaning_view_of(const ty_collection *c) {
  const ty_meaning *m = c->meaning;
  if (!ty_meaning_load(c)) return (ty_meaning_view){0};
  if (atomic_load(&c->env->model) != NULL && m->encoder != c->env->encoder) return (ty_meaning_view){0};
  return (ty_meaning_view){m->memory.data, m->places, m->base};
}

ty_status ty_meaning_check_truncated(const ty_collection *c, ty_error *err) {
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

void ty_meaning_follow(ty_collection *c, const ty_file *to) {
  ty_file *named = &c->store->files.meaning, *file = &c->store->meaning;
  ty_meaning *m = c->meaning;
  const bool same = strcmp(named->name, to->name) == 0, grows = same && to->bytes > named->bytes;
  const bool stays = same && to->bytes == named->bytes && to->crc == named->crc;
  TY_ASSERT_EXCLUSIVE(c);
  *named = *to;
  if (!same) c->store->abandon_meaning = false;
  if (!atomic_load(&m->ready) || stays || (grows && !atomic_load(&m->usable))) return;
  const uint64_t from = file->bytes;
  if (grows && ty_meaning_file_extend(c, file, to->bytes, NULL) == TY_OK &&
      read_blocks(c, from, ty_total_rows(c), NULL) == TY_OK) {
    file->crc = to->crc;
    return;
  }
  forget(c); /* the next need reads it again, and says what is wrong with it */
}
