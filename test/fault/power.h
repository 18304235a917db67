/* Power cuts: the calls of a workload are recorded; at each of them states of the directory are made that a power cut
 * could leave: what was synced, and of the rest some writes, whole or in pieces, and some changes of names. Each opens
 * to the last acknowledged state or the one of the operation under way, and can be saved to. */
#pragma once

#include "record.h"
#include "work/pool.h"

#define STATES_MAX  4096u
#define PLACES_MAX  256u
#define MATCHES_MAX 16u

/* A collection's directory in the recorded workload, and which states it may be in at the point of the replay. */
typedef struct cut_place {
  uint32_t directory; /* an object */
  bool nameless;      /* its own name is another's business: a copy */
  uint32_t matches[MATCHES_MAX];
  uint32_t match_count;
} cut_place;

static struct {
  content *states;
  uint32_t state_count;
  cut_place places[PLACES_MAX];
  uint32_t place_count;
  uint64_t *seen; /* hashes of states that were judged */
  uint64_t seen_size, distinct, made;
  char dir[320];
  uint64_t failed;
} cuts;

static uint32_t state_add(const content *s) {
  if (cuts.state_count == STATES_MAX) exit(2);
  cuts.states[cuts.state_count] = *s;
  return cuts.state_count++;
}

static uint32_t place_add(const char *dir, bool nameless, const content *s) {
  if (cuts.place_count == PLACES_MAX) exit(2);
  cut_place *p = &cuts.places[cuts.place_count];
  *p = (cut_place){.directory = directory_of(dir), .nameless = nameless, .match_count = 1};
  p->matches[0] = state_add(s);
  return cuts.place_count++;
}

/* ---- Recording ------------------------------------------------------------------------------------------------------
 */
typedef struct worked {
  char dir[320];
  ty_collection *handles[2];
  content now;
  uint32_t place;
} worked;

static void work_open(ty_env *env, worked *w) {
  fresh_dir(w->dir);
  w->now = nothing;
  w->place = place_add(w->dir, false, &w->now);
  for (int i = 0; i < 2; i++) w->handles[i] = open_new(env, w->dir);
}

static void work_close(worked *w) {
  for (int i = 0; i < 2; i++) ty_collection_close(w->handles[i]);
}

/* Runs one operation between its two marks. Whether it succeeded. */
static bool record_operation(ty_env *env, worked *w, uint32_t k) {
  ty_error e;
  char copy[340];
  content before = w->now, next;
  snprintf(copy, sizeof copy, "%s-copy-%u-%u", w->dir, k, record.count);
  event *begin = event_add(EVENT_BEGIN, w->place);
  uint32_t state = state_add(&before);
  begin->bytes = state;
  ty_status status = operate(env, w->handles[k / 2 % 2], w->dir, copy, op_kind(k), &before, &next, &e);
  call_fate_end();
  cuts.states[state] = next;
  event *end = event_add(EVENT_END, w->place);
  end->bytes = state;
  end->unsure = status != TY_OK;
  if (status == TY_OK) {
    w->now = next;
    CHECK_MESSAGE(holds(w->handles[k % 2], &next), "operation %u", k);
    if (op_kind(k) == OP_COPY && before.saved) {
      uint32_t place = place_add(copy, true, &before);
      event_add(EVENT_END, place)->bytes = cuts.places[place].matches[0];
      cuts.places[place].match_count = 0; /* until then anything may be there */
    }
  } else if (!holds(w->handles[k % 2], &before)) {
    CHECK_MESSAGE(holds(w->handles[k % 2], &next), "operation %u: neither old nor new: %s", k, e.message);
    w->now = next;
  }
  return status == TY_OK;
}

/* Runs the workload. Every fifth operation has a call that fails, so that what syncs failed to cover comes up too; it
 * is tried again by the same handle, which begins a fresh delta after a failed sync: another one does not know of it.
 */
static void record_workload(ty_env *env, uint32_t operations) {
  worked works[2];
  for (int i = 0; i < 2; i++) work_open(env, &works[i]);
  for (uint32_t k = 0; k < operations; k++) {
    worked *w = &works[op_second(k)];
    if (k % ANEW == 4) {
      work_close(w);
      work_open(env, w);
    }
    /* The second sync is that of a delta which was there before, after the manifest's. */
    if (k % 5 == 4)
      call_fate(FATE_FAIL, k % 2 ? 2 : 1 + rng() % 3, EIO,
                k % 2 ? CALL_SYNC : CALL_SYNC | CALL_SYNC_DIR | CALL_RENAME | CALL_WRITE, 0);
    if (record_operation(env, w, k)) continue;
    cuts.failed++;
    CHECK_MESSAGE(record_operation(env, w, k), "operation %u: the retry failed", k);
  }
  for (int i = 0; i < 2; i++) work_close(&works[i]);
}

/* ---- States that a power cut leaves ---------------------------------------------------------------------------------
 */
/* How what is not sure fares in one state. */
typedef struct cut {
  uint32_t writes, names; /* of 16, how many survive */
  uint32_t unit;          /* in which pieces a surviving write may be torn; 0: it is whole */
  uint8_t fill;           /* what lies in a file where no write survived */
} cut;

static cut cut_pick(void) {
  static const uint32_t chances[] = {0, 16, 8, 2, 14};
  static const uint32_t units[] = {0, 512, 4096};
  return (cut){chances[rng() % 5], chances[rng() % 5], units[rng() % 3], rng() % 4 == 0 ? 0xa5 : 0};
}

static bool survives(const event *e, uint32_t chance) { return e->sure || rng() % 16 < chance; }

/* The bytes of a file at event `to`. */
static void file_at(uint32_t o, uint32_t to, const cut *how, ty_buffer *out) {
  out->bytes = 0;
  for (uint32_t i = 0; i < to; i++) {
    const event *e = &record.events[i];
    if (e->object != o || (e->kind != EVENT_WRITE && e->kind != EVENT_TRUNCATE) || !survives(e, how->writes)) continue;
    uint64_t end = e->kind == EVENT_WRITE ? e->offset + e->bytes : e->bytes;
    if (out->capacity < end) {
      out->capacity = end * 2 + 4096;
      out->data = realloc(out->data, out->capacity);
    }
    if (out->bytes < end) memset(out->data + out->bytes, how->fill, end - out->bytes);
    if (out->bytes < end || e->kind == EVENT_TRUNCATE) out->bytes = end;
    for (uint64_t at = 0, n; e->kind == EVENT_WRITE && at < e->bytes; at += n) {
      uint64_t unit = how->unit == 0 || e->sure ? e->bytes : how->unit - (e->offset + at) % how->unit;
      n = unit < e->bytes - at ? unit : e->bytes - at;
      if (n == e->bytes || rng() % 2) memcpy(out->data + e->offset + at, e->data + at, n);
    }
  }
}

static uint64_t hash_on(uint64_t h, const uint8_t *data, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i++) h = (h ^ data[i]) * 0x100000001b3u;
  return h ^ bytes * 0x9e3779b97f4a7c15u;
}

static bool seen_before(uint64_t h) {
  h |= h == 0;
  for (uint64_t i = h;; i++) {
    uint64_t *slot = &cuts.seen[i & (cuts.seen_size - 1)];
    if (*slot == h) return true;
    if (*slot != 0) continue;
    *slot = h;
    return cuts.distinct++ >= cuts.seen_size / 2;
  }
}

/* Makes the directory of a place as a cut before event `to` leaves it. False: it was judged before. `there`: whether
 * the directory is there at all. */
static bool cut_make(const cut_place *p, uint32_t to, const cut *how, bool *there) {
  static ty_buffer bytes;
  static struct {
    char name[64];
    uint32_t object;
  } names[64];
  uint32_t count = 0;
  uint64_t h = p->directory; /* what is right of one state may be wrong of another */
  for (uint32_t i = 0; i < p->match_count; i++) h = hash_on(h, (const uint8_t *)&p->matches[i], sizeof *p->matches);
  *there = p->nameless;
  for (uint32_t i = 0; i < to; i++) {
    const event *e = &record.events[i];
    if (e->kind == EVENT_LINK && e->object == p->directory) *there = *there || survives(e, how->names);
    bool renames = e->kind == EVENT_RENAME;
    if (e->at != p->directory || (e->kind != EVENT_LINK && e->kind != EVENT_UNLINK && !renames)) continue;
    if (!survives(e, how->names)) continue;
    if (e->kind != EVENT_LINK) {
      for (uint32_t k = 0; k < count; k++) {
        if (strcmp(names[k].name, e->name) == 0) names[k] = names[--count];
      }
    }
    if (e->kind == EVENT_UNLINK) continue;
    const char *name = renames ? e->to : e->name;
    uint32_t k = 0;
    while (k < count && strcmp(names[k].name, name) != 0) k++;
    if (k == count) count++;
    if (count > 64) exit(2);
    snprintf(names[k].name, sizeof names[k].name, "%s", name);
    names[k].object = e->object;
  }
  cuts.made++;
  remove_tree(cuts.dir);
  if (!*there) return !seen_before(h);
  mkdir(cuts.dir, 0700);
  for (uint32_t k = 0; k < count; k++) {
    char path[640];
    file_at(names[k].object, to, how, &bytes);
    h = hash_on(hash_on(h, (const uint8_t *)names[k].name, strlen(names[k].name)), bytes.data, bytes.bytes);
    snprintf(path, sizeof path, "%s/%s", cuts.dir, names[k].name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, bytes.data, bytes.bytes) == (ssize_t)bytes.bytes);
    close(fd);
  }
  return !seen_before(h);
}

/* Whether what opens in the directory is one of the states that it may be in, and one more save works. */
static bool cut_judge(ty_env *judge, const cut_place *p, ty_error *e) {
  ty_collection *c = NULL;
  content s = nothing, after;
  ty_status status = ty_collection_open(judge, cuts.dir, &c, e);
  bool found = false;
  if (status != TY_OK && status != TY_NOT_FOUND) return false;
  for (uint32_t i = 0; i < p->match_count && !found; i++) {
    s = cuts.states[p->matches[i]];
    found = status == TY_OK ? s.saved && holds(c, &s) : !s.saved;
  }
  if (!found) {
    if (status == TY_OK) snprintf(e->message, sizeof e->message, "it opens to other rows");
    ty_collection_close(c);
    return false;
  }
  /* No ty_verify before the save: the id map, whose appended entries are not synced, may lack some. */
  source kept = source_now();
  if (status != TY_OK) c = open_new(judge, cuts.dir);
  status = operate(judge, c, cuts.dir, "", OP_UPSERT, &s, &after, e);
  if (status == TY_OK) status = ty_verify(c, NULL, e);
  bool good = status == TY_OK && holds(c, &after) && saved_holds(judge, cuts.dir, &after, e);
  ty_collection_close(c);
  source_set(kept);
  return good;
}

static void match_only(cut_place *p, uint32_t state) {
  p->matches[0] = state;
  p->match_count = 1;
}

static void match_also(cut_place *p, uint32_t state) {
  if (p->match_count == MATCHES_MAX) exit(2);
  p->matches[p->match_count++] = state;
}

/* Records the workload and judges at least `wanted` states, spread over all of its calls. */
static void test_power_cuts(ty_env *env, ty_env *judge, uint64_t seed, uint32_t operations, uint64_t wanted) {
  ty_error e;
  rng_state = seed;
  record.events = calloc(EVENTS_MAX, sizeof *record.events);
  cuts.states = calloc(STATES_MAX, sizeof *cuts.states);
  cuts.seen_size = (uint64_t)1 << 20;
  cuts.seen = calloc(cuts.seen_size, sizeof *cuts.seen);
  /* The delta is synced by the saving thread, at the last moment: its other thread is kept occupied. */
  int idle = open(root, O_RDONLY);
  CHECK(ty_side_sync(env, idle));
  recorder = &recording;
  record_workload(env, operations);
  recorder = NULL;
  fresh_dir(cuts.dir);
  uint32_t active = 0;
  uint64_t more = 0;
  for (uint32_t i = 0; i < record.count && !enough(); i++) {
    const event *at = &record.events[i];
    if (at->kind == EVENT_SYNC) event_settle(i);
    /* Of these the object is a place; of others it is a file. */
    if (at->kind == EVENT_BEGIN) active = at->object, match_also(&cuts.places[active], (uint32_t)at->bytes);
    if (at->kind == EVENT_END && !at->unsure)
      active = at->object, match_only(&cuts.places[active], (uint32_t)at->bytes);
    /* The number of states goes with the events, and more are made where a rename is not sure yet. */
    if (at->kind == EVENT_RENAME) more += wanted / 300 + 1;
    uint64_t until = wanted * (i + 1) / record.count + more;
    while (cuts.distinct < until && cuts.made < 20 * until && !enough()) {
      cut how = cut_pick();
      bool there;
      cut_place *p = &cuts.places[rng() % 8 == 0 ? rng() % cuts.place_count : active];
      if (p->match_count == 0) continue;
      if (!cut_make(p, i + 1, &how, &there)) continue;
      check_at(cut_judge(judge, p, &e), "power.h", __LINE__,
               "a cut after event %u of %u (seed %llu, %s): writes %u, names %u, pieces of %u: %s", i, record.count,
               (unsigned long long)seed, strrchr(record.objects[p->directory].path, '/') + 1, how.writes, how.names,
               how.unit, e.message);
    }
  }
}
