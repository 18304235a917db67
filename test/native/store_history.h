/* A model of the history: what every save that is remembered has changed, and the comparison of a collection's with it.
 */
#pragma once

#include "store_model.h"

#define PAST_SAVES  160u
#define DAY_MS      ((uint64_t)24 * 60 * 60 * 1000)
#define CHANGES_MAX (PAST_SAVES * IDS)

/* A save, by the rows before and after it. */
typedef struct past_save {
  uint64_t save, time;
  char origin[32]; /* empty: not known */
  model before, after;
  uint64_t purged; /* a bit for each id that is forgotten */
} past_save;

typedef struct past {
  past_save saves[PAST_SAVES]; /* the oldest first, also those that are too old but in the files */
  uint32_t count;
  uint64_t days; /* 0: none is remembered */
} past;

static inline void past_begin(past *p) {
  p->count = 0;
  p->days = 30;
}

/* A change that a save has made. */
typedef struct past_change {
  uint32_t id, kind;
} past_change;

/* A replaced row keeps the birth of the row before it; one that was deleted and added again has another. */
static inline uint32_t past_changes(const past_save *s, past_change out[2 * IDS]) {
  uint32_t n = 0;
  for (uint32_t id = 0; id < IDS; id++) {
    const bool had = s->before.version[id] != 0, has = s->after.version[id] != 0;
    const bool same = had && has && s->before.birth[id] == s->after.birth[id];
    if (s->purged >> id & 1) continue;
    if (same && s->before.version[id] != s->after.version[id]) out[n++] = (past_change){id, TY_CHANGE_REPLACED};
    if (had && !same) out[n++] = (past_change){id, TY_CHANGE_DELETED};
    if (has && !same) out[n++] = (past_change){id, TY_CHANGE_ADDED};
  }
  return n;
}

static inline uint64_t generation_of(ty_collection *c) {
  ty_error e;
  ty_stats_args stats = {0};
  CHECK_MESSAGE(ty_stats(c, &stats, &e) == TY_OK, "%s", e.message);
  return stats.values[TY_STAT_GENERATION];
}

static inline void past_drop(past *p, uint32_t n) {
  memmove(p->saves, p->saves + n, (p->count - n) * sizeof *p->saves);
  p->count -= n;
}

/* After a save that led from one state to the next. */
static inline void past_saved(past *p, const model *before, const model *after, uint64_t save, const char *origin) {
  past_change changes[2 * IDS];
  if (p->count == PAST_SAVES) check_at(0, __FILE__, __LINE__, "too many saves for the model"), p->count--;
  past_save *s = &p->saves[p->count];
  *s = (past_save){.save = save, .time = model_clock, .before = *before, .after = *after};
  snprintf(s->origin, sizeof s->origin, "%s", origin);
  p->count += past_changes(s, changes) > 0;
}

/* The first that is not too old. */
static inline uint32_t past_from(const past *p) {
  const uint64_t age = p->days * DAY_MS;
  uint32_t i = 0;
  while (i < p->count && model_clock > age && p->saves[i].time < model_clock - age) i++;
  return i;
}

/* After a rewrite of the base, which forgets what is too old. */
static inline void past_rewritten(past *p) { past_drop(p, p->days == 0 ? p->count : past_from(p)); }

static inline void past_purge(past *p, uint32_t id) {
  past_change changes[2 * IDS];
  uint32_t to = 0;
  for (uint32_t i = 0; i < p->count; i++) {
    p->saves[i].purged |= (uint64_t)1 << id;
    if (past_changes(&p->saves[i], changes) > 0) p->saves[to++] = p->saves[i];
  }
  p->count = to;
}

/* ---- Comparison -----------------------------------------------------------------------------------------------------
 */
static uint8_t past_answer[1 << 21] __attribute__((aligned(8)));
/* Where the changes of the last answer begin in it; of the history the first is number `past_first`. */
static uint64_t past_offset[CHANGES_MAX + 1], past_first, past_number;
static uint32_t past_id[CHANGES_MAX], past_kind[CHANGES_MAX], past_version[CHANGES_MAX];

/* With it a row may be missing, of a history that is damaged: how many are. */
static bool past_may_lose;
static uint32_t past_lost;

/* One change, which has to be one of those that are expected, and is struck out there. */
static inline bool change_equal(const past_save *s, past_change *expected, uint32_t n, uint64_t index, uint64_t *at) {
  ty_change_record change;
  ty_record row;
  char id[64];
  memcpy(&change, past_answer + *at, sizeof change);
  memcpy(&row, past_answer + *at + sizeof change, sizeof row);
  uint32_t i = 0;
  /* Of one id a deletion comes before an addition, in both. */
  for (; i < n; i++) {
    if (expected[i].kind == 0 || content_id(expected[i].id, id) != row.id_bytes) continue;
    if (memcmp(id, past_answer + *at + sizeof change + sizeof row, row.id_bytes) == 0) break;
  }
  if (i == n || expected[i].kind != change.kind || change.index != index || change.save.save != s->save) return false;
  past_id[past_number] = expected[i].id;
  past_kind[past_number] = expected[i].kind;
  past_version[past_number] = s->before.version[expected[i].id];
  expected[i].kind = 0;
  uint64_t length = sizeof row + padded(row.id_bytes);
  const bool none = row.found == 0 && row.vector_bytes == 0 && row.extra_bytes == 0 && row.meta_bytes == TY_ABSENT &&
                    row.text_bytes == TY_ABSENT && row.row == 0;
  const bool lost = past_may_lose && none && change.kind != TY_CHANGE_ADDED;
  past_lost += lost;
  if (change.kind == TY_CHANGE_ADDED || lost
          ? !none
          : !row_equal(past_answer + *at + sizeof change, &s->before, past_id[past_number], &length))
    return false;
  *at += sizeof change + length;
  past_offset[++past_number] = *at;
  return true;
}

static inline bool changes_equal(ty_collection *c, const past *p) {
  ty_error e;
  ty_changes_args args = {
      .to = UINT64_MAX, .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES, ANSWER_IN(past_answer)};
  past_change expected[2 * IDS];
  uint64_t at = 0, index = 0;
  if (ty_changes(c, &args, &e) != TY_OK) return false;
  past_number = past_lost = 0;
  for (uint32_t i = 0; i < p->count && p->days > 0; i++) {
    const past_save *s = &p->saves[i];
    const uint32_t n = past_changes(s, expected);
    if (i == past_from(p)) past_first = index;
    if (i < past_from(p)) {
      index += n;
      continue;
    }
    for (uint32_t k = 0; k < n; k++) {
      if (at >= args.out_bytes || !change_equal(s, expected, n, index++, &at)) return false;
    }
  }
  return at == args.out_bytes && args.out_count == past_number;
}

static inline bool saves_equal(ty_collection *c, const past *p) {
  ty_error e;
  ty_saves_args args = {.out = answer, .out_capacity = sizeof answer};
  past_change changes[2 * IDS];
  uint64_t firsts[PAST_SAVES + 1] = {0}, at = 0, count = 0;
  if (ty_saves(c, &args, &e) != TY_OK) return false;
  for (uint32_t i = 0; i < p->count; i++) firsts[i + 1] = firsts[i] + past_changes(&p->saves[i], changes);
  for (uint32_t i = p->count; i > past_from(p) && p->days > 0; i--, count++) {
    const past_save *s = &p->saves[i - 1];
    uint32_t counts[TY_CHANGE_DELETED + 1] = {0};
    for (uint32_t n = past_changes(s, changes); n > 0; n--) counts[changes[n - 1].kind]++;
    const ty_save_record want = {.save = s->save,
                                 .time = s->time,
                                 .first = firsts[i - 1],
                                 .added = counts[TY_CHANGE_ADDED],
                                 .replaced = counts[TY_CHANGE_REPLACED],
                                 .deleted = counts[TY_CHANGE_DELETED],
                                 .origin_bytes = (uint32_t)strlen(s->origin)};
    if (at + sizeof want + want.origin_bytes > args.out_bytes || memcmp(answer + at, &want, sizeof want) != 0 ||
        memcmp(answer + at + sizeof want, s->origin, want.origin_bytes) != 0)
      return false;
    at += sizeof want + padded(want.origin_bytes);
  }
  return at == args.out_bytes && count == args.out_count;
}

/* Ranges, limits and ids select of the whole answer, which changes_equal has left. */
static inline bool parts_equal(ty_collection *c, const past *p) {
  ty_error e;
  char id[64];
  const uint64_t n = past_number, from = n == 0 ? 0 : rng() % n, to = n == 0 ? 0 : from + rng() % (n - from + 1);
  ty_changes_args args = {.from = past_first + from,
                          .to = past_first + to,
                          .what = TY_WITH_META | TY_WITH_TEXT | TY_WITH_VECTOR | TY_WITH_TIMES,
                          ANSWER_IN(answer)};
  if (ty_changes(c, &args, &e) != TY_OK || args.out_count != to - from) return false;
  if (memcmp(answer, past_answer + past_offset[from], args.out_bytes) != 0) return false;
  args.limit = 1;
  args.to = UINT64_MAX;
  if (ty_changes(c, &args, &e) != TY_OK || args.out_count != (n > from)) return false;
  ty_saves_args saves = {.limit = 1, .before = p->count == 0 ? 1 : p->saves[p->count - 1].save, ANSWER_IN(answer)};
  if (ty_saves(c, &saves, &e) != TY_OK) return false;
  const uint32_t seen = p->days == 0 ? 0 : p->count - past_from(p);
  if (saves.out_count != (seen > 1)) return false;
  if (seen > 1 && ((const ty_save_record *)(const void *)answer)->save != p->saves[p->count - 2].save) return false;
  const uint32_t wanted = (uint32_t)(rng() % IDS);
  args = (ty_changes_args){.to = UINT64_MAX,
                           .id = (const uint8_t *)id,
                           .id_bytes = content_id(wanted, id),
                           .what = args.what,
                           ANSWER_IN(answer)};
  if (ty_changes(c, &args, &e) != TY_OK) return false;
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t length = past_offset[i + 1] - past_offset[i];
    if (past_id[i] != wanted) continue;
    if (at + length > args.out_bytes || memcmp(answer + at, past_answer + past_offset[i], length) != 0) return false;
    at += length;
  }
  return at == args.out_bytes;
}

static inline bool history_equal(ty_collection *c, const past *p) {
  past_offset[0] = past_first = 0;
  return saves_equal(c, p) && changes_equal(c, p) && parts_equal(c, p);
}

/* The last change of an id that has a row before it, or UINT64_MAX. */
static inline uint64_t last_change(ty_collection *c, const char *id, uint64_t id_bytes) {
  ty_error e;
  ty_changes_args args = {.to = UINT64_MAX, .id = (const uint8_t *)id, .id_bytes = id_bytes, ANSWER_IN(answer)};
  uint64_t last = UINT64_MAX;
  CHECK_MESSAGE(ty_changes(c, &args, &e) == TY_OK, "%s", e.message);
  for (uint64_t at = 0; at < args.out_bytes; at += sizeof(ty_change_record) + sizeof(ty_record) + padded(id_bytes)) {
    const ty_change_record *change = (const ty_change_record *)(const void *)(answer + at);
    if (change->kind != TY_CHANGE_ADDED) last = change->index;
  }
  return last;
}
