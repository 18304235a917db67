#include "calls/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "disk/disk.h"
#include "disk/json.h"
#include "rows/checks.h"
#include "state/ids.h"

/* Longer metadata are not looked into: a turn has little beside its text. */
#define META_MOST ((uint64_t)16 << 10)

/* Live rows before and after a row that may be turns two steps away. */
#define NEAR (2 * TY_TURN_REACH)
/* Births among which these are looked for, on each side: rows that died leave theirs until the next rewrite. */
#define BIRTHS_MOST (1u << 14)

/* Births from `from` to `to`, as in ty_order. */
typedef struct range {
  uint64_t from, to;
} range;

static int by_from(const void *a, const void *b) {
  const range *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

/* The births near the rows, in ascending ranges that do not touch. */
static uint64_t ranges_of(const ty_collection *c, const ty_ref *rows, uint64_t n, range *out) {
  const ty_place *order = ty_order(c);
  uint64_t count = 0, kept = 0, end = c->next_row - c->store->first_row;
  if (end > c->state->order_size) end = c->state->order_size;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t birth = rows[i].segment->birth[rows[i].at] - c->store->first_row;
    range r = {birth, birth};
    if (birth >= end) continue; /* of a damaged file */
    for (uint32_t live = 0; r.from > 0 && live < NEAR && birth - r.from < BIRTHS_MOST;) live += order[--r.from] != 0;
    for (uint32_t live = 0; r.to + 1 < end && live < NEAR && r.to - birth < BIRTHS_MOST;) live += order[++r.to] != 0;
    out[count++] = r;
  }
  qsort(out, (size_t)count, sizeof *out, by_from);
  for (uint64_t i = 0; i < count; i++) {
    if (kept > 0 && out[i].from <= out[kept - 1].to + 1) {
      if (out[i].to > out[kept - 1].to) out[kept - 1].to = out[i].to;
    } else {
      out[kept++] = out[i];
    }
  }
  return kept;
}

/* Adds a live row; one that the filter excludes does not count as a turn: it is marked as read. */
static bool add(ty_turns *t, const ty_filter *filter, ty_ref row) {
  if (t->count == t->capacity) {
    uint64_t capacity = t->capacity == 0 ? 256 : 2 * t->capacity;
    ty_turn *rows = capacity < TY_NO_TURN ? realloc(t->rows, (size_t)capacity * sizeof *rows) : NULL;
    if (rows == NULL) return false;
    t->rows = rows;
    t->capacity = capacity;
  }
  bool read = !ty_filter_allows(filter, row.segment, row.at);
  t->rows[t->count++] = (ty_turn){.birth = row.segment->birth[row.at], .ref = row, .number = (double)NAN, .read = read};
  return true;
}

ty_status ty_turns_open(ty_turns *t, const ty_collection *c, const ty_filter *filter, const ty_ref *rows, uint64_t n,
                        ty_unpack *metas, ty_error *err) {
  t->metas = metas;
  ty_status status = ty_order_need(c, err);
  if (status != TY_OK) return status;
  range *ranges = n < SIZE_MAX / sizeof *ranges ? malloc((size_t)(n + 1) * sizeof *ranges) : NULL;
  bool good = ranges != NULL;
  uint64_t count = good ? ranges_of(c, rows, n, ranges) : 0;
  for (uint64_t i = 0; i < count && good; i++) {
    for (uint64_t birth = ranges[i].from; birth <= ranges[i].to && good; birth++) {
      ty_place place = ty_order(c)[birth];
      good = place == 0 || add(t, filter, ty_ref_of(c, place - 1));
    }
  }
  free(ranges);
  return good ? TY_OK : ty_fail(err, TY_NO_MEMORY, "not enough memory for the turns of a conversation");
}

uint32_t ty_turns_find(const ty_turns *t, uint64_t birth) {
  uint64_t low = 0, high = t->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (t->rows[middle].birth < birth) low = middle + 1;
    else high = middle;
  }
  return low < t->count && t->rows[low].birth == birth ? (uint32_t)low : TY_NO_TURN;
}

/* The metadata of a row where they may have a session; else empty. */
static ty_slice meta_of(const ty_segment *s, uint64_t at, ty_unpack *metas) {
  static const char key[] = "\"session\"";
  bool has_meta;
  ty_slice meta = {NULL, 0};
  if (!ty_meta_intact(s, at)) return meta;
  meta = ty_row_meta(s, at, metas, &has_meta);
  if (!has_meta || meta.bytes == 0 || meta.bytes > META_MOST) return (ty_slice){NULL, 0}; /* empty: it is damaged */
  bool may = memmem(meta.data, (size_t)meta.bytes, key, sizeof key - 1) != NULL;
  return may && ty_json_check(meta, &meta) ? meta : (ty_slice){NULL, 0};
}

static bool is_key(ty_slice key, const char *name) {
  return key.bytes == strlen(name) && memcmp(key.data, name, (size_t)key.bytes) == 0;
}

/* The session, as JSON, and the number of a turn. */
static bool read_turn(ty_slice meta, ty_slice *session, double *number) {
  ty_json_walk w;
  ty_slice key, value;
  *session = (ty_slice){NULL, 0};
  *number = (double)NAN;
  if (meta.bytes == 0 || !ty_json_walk_start(&w, meta, true)) return false;
  while (ty_json_walk_next(&w, &key, &value)) {
    double n;
    bool is_number = ty_json_double(value, &n);
    bool is_text = ty_json_is_string(value) && value.bytes > sizeof "\"\"" - 1;
    if (is_key(key, "session")) *session = is_number || is_text ? value : (ty_slice){NULL, 0};
    if (is_key(key, "turn")) *number = is_number ? n : (double)NAN;
  }
  return session->bytes > 0;
}

bool ty_is_turn(const ty_segment *s, uint64_t at, ty_unpack *metas) {
  ty_slice session;
  double number;
  return read_turn(meta_of(s, at, metas), &session, &number);
}

/* Reads a row's session. False where it has none. */
static bool read_row(ty_turns *t, uint32_t row) {
  ty_turn *r = &t->rows[row];
  if (r->read) return r->session > 0;
  r->read = true;
  ty_slice session;
  if (!read_turn(meta_of(r->ref.segment, r->ref.at, t->metas), &session, &r->number)) return false;
  uint64_t at = t->sessions.bytes;
  ty_buffer_append(&t->sessions, session.data, session.bytes);
  if (t->sessions.failed || at >= UINT32_MAX) return false;
  r->session = (uint32_t)at + 1;
  r->session_bytes = (uint32_t)session.bytes;
  return true;
}

static bool same_session(const ty_turns *t, const ty_turn *a, const ty_turn *b) {
  const ty_segment *s = a->ref.segment, *o = b->ref.segment;
  if (a->session_bytes != b->session_bytes || s->keys[0][a->ref.at] != o->keys[0][b->ref.at]) return false;
  const uint8_t *data = t->sessions.data;
  return memcmp(data + a->session - 1, data + b->session - 1, a->session_bytes) == 0;
}

/* Whether a is before b in their session. */
static bool is_before(const ty_turn *a, const ty_turn *b) {
  if (a->number < b->number || a->number > b->number) return a->number < b->number;
  return a->birth < b->birth;
}

/* Whether no turn can be between two: their numbers follow each other, or the rows do and have no numbers. */
static bool is_adjacent(const ty_turn *a, const ty_turn *b) {
  return isnan(a->number) ? isnan(b->number) != 0 : fabs(a->number - b->number) == 1;
}

bool ty_turns_step(ty_turns *t, uint32_t row, int direction, uint32_t *out) {
  *out = TY_NO_TURN;
  if (!read_row(t, row)) return !t->sessions.failed;
  const ty_turn *from = &t->rows[row];
  /* The rows that were inserted next first: most often one of them is it. */
  for (uint32_t step = 1; step <= TY_TURN_REACH; step++) {
    for (int side = -1; side <= 1; side += 2) {
      uint32_t at = row + (uint32_t)side * step; /* beyond the last row where it is before the first */
      if (at >= t->count || !read_row(t, at) || !same_session(t, from, &t->rows[at])) continue;
      const ty_turn *other = &t->rows[at];
      if (direction < 0 ? !is_before(other, from) : !is_before(from, other)) continue;
      bool nearer =
          *out == TY_NO_TURN || (direction < 0 ? is_before(&t->rows[*out], other) : is_before(other, &t->rows[*out]));
      if (nearer) *out = at;
      if (is_adjacent(from, other)) return !t->sessions.failed;
    }
  }
  return !t->sessions.failed;
}

void ty_turns_close(ty_turns *t) {
  free(t->rows);
  ty_buffer_free(&t->sessions);
}
