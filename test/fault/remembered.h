/* What the history of a collection has to tell, kept small: a state has one, and there are thousands of states. */
#pragma once

#include "../native/store_history.h"

#define TOLD_SAVES   96u
#define TOLD_CHANGES 768u

typedef struct remembered_change {
  uint32_t save, id, kind, version; /* the index of its save; of the row before it, as its times */
  ty_times times;
} remembered_change;

typedef struct remembered {
  uint32_t save_count, change_count;
  struct {
    uint64_t time;
    uint32_t origin;
  } saves[TOLD_SAVES];
  remembered_change changes[TOLD_CHANGES];
} remembered;

/* Then the next operation has to drop the history. */
static bool remembered_is_long(const remembered *t) {
  return t->save_count + 2 > TOLD_SAVES || t->change_count + 2 * IDS > TOLD_CHANGES;
}

/* The origins of a workload; the first says nothing. The others have one length. */
static const char *const remembered_origins[] = {"", "{\"client\":\"one\"}", "{\"client\":\"two\"}"};

/* After a save that led from one state to the next. */
static void remembered_save(remembered *t, const model *before, const model *after, uint32_t origin) {
  static past_save s;
  past_change changes[2 * IDS];
  s = (past_save){.before = *before, .after = *after};
  const uint32_t n = past_changes(&s, changes);
  if (n == 0) return;
  if (t->save_count == TOLD_SAVES || t->change_count + n > TOLD_CHANGES) exit(2);
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t id = changes[i].id;
    t->changes[t->change_count++] =
        (remembered_change){t->save_count, id, changes[i].kind, before->version[id], before->times[id]};
  }
  t->saves[t->save_count].time = model_clock;
  t->saves[t->save_count++].origin = origin;
}

static void remembered_purge(remembered *t, uint64_t ids) {
  uint32_t changes = 0, saves = 0, last = UINT32_MAX;
  for (uint32_t i = 0; i < t->change_count; i++) {
    remembered_change x = t->changes[i];
    if (ids >> x.id & 1) continue;
    if (x.save != last) t->saves[saves++] = t->saves[x.save];
    last = x.save;
    x.save = saves - 1;
    t->changes[changes++] = x;
  }
  t->change_count = changes;
  t->save_count = saves;
}

static bool remembered_saves(ty_collection *c, const remembered *t) {
  ty_error e;
  ty_saves_args saves = {.out = answer, .out_capacity = sizeof answer};
  uint64_t at = 0;
  if (ty_saves(c, &saves, &e) != TY_OK || saves.out_count != t->save_count) return false;
  for (uint32_t i = t->save_count; i > 0; i--) {
    const ty_save_record *r = (const ty_save_record *)(const void *)(answer + at);
    const char *origin = remembered_origins[t->saves[i - 1].origin];
    if (r->time != t->saves[i - 1].time || r->origin_bytes != strlen(origin)) return false;
    if (memcmp(r + 1, origin, r->origin_bytes) != 0) return false;
    at += sizeof *r + padded(r->origin_bytes);
  }
  return at == saves.out_bytes;
}

/* Of one save any order is right, but a deletion before an addition of the same id. */
static const remembered_change *remembered_find(const remembered *t, bool *used, uint32_t save, const char *id,
                                                uint64_t bytes) {
  char name[64];
  for (uint32_t i = 0; i < t->change_count; i++) {
    const remembered_change *x = &t->changes[i];
    if (used[i] || x->save != save || content_id(x->id, name) != bytes || memcmp(name, id, bytes) != 0) continue;
    used[i] = true;
    return x;
  }
  return NULL;
}

/* Whether a collection tells this. */
static bool remembers(ty_collection *c, const remembered *t) {
  static model row;
  ty_error e;
  bool used[TOLD_CHANGES] = {false};
  uint64_t last = 0, at = 0, length;
  uint32_t save = UINT32_MAX;
  ty_changes_args args = {
      .to = UINT64_MAX, .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES, ANSWER_IN(past_answer)};
  if (!remembered_saves(c, t) || ty_changes(c, &args, &e) != TY_OK || args.out_count != t->change_count) return false;
  for (uint32_t i = 0; i < t->change_count; i++) {
    const ty_change_record *change = (const ty_change_record *)(const void *)(past_answer + at);
    const ty_record *r = (const ty_record *)(const void *)(change + 1);
    save += change->save.save != last; /* a save has changes, and a number above 0 */
    last = change->save.save;
    const remembered_change *x = remembered_find(t, used, save, (const char *)(r + 1), r->id_bytes);
    if (x == NULL || x->kind != change->kind || change->index != i) return false;
    length = sizeof *r + padded(r->id_bytes);
    row.version[x->id] = x->version;
    row.times[x->id] = x->times;
    const bool same = x->kind == TY_CHANGE_ADDED ? r->found == 0 : row_equal((const uint8_t *)r, &row, x->id, &length);
    if (!same) return false;
    at += sizeof *change + length;
  }
  return at == args.out_bytes;
}
