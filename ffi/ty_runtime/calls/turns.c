#include "calls/turns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "disk/json.h"
#include "rows/checks.h"

/* Longer metadata are not looked into: a turn has little beside its text. */
#define META_MOST ((uint64_t)16 << 10)

typedef struct births {
  uint64_t from, to;
} births;

static int by_birth(const void *a, const void *b) {
  const ty_turn *x = a, *y = b;
  return (x->birth > y->birth) - (x->birth < y->birth);
}

static int by_from(const void *a, const void *b) {
  const births *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

/* The births near the rows, in ascending ranges that do not touch. */
static uint64_t ranges_of(const ty_ref *rows, uint64_t n, births *out) {
  uint64_t count = 0;
  /* Two steps, each within the reach. */
  const uint64_t reach = 2 * TY_TURN_REACH;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t birth = rows[i].segment->birth[rows[i].at];
    out[i] = (births){birth < reach ? 0 : birth - reach, birth > UINT64_MAX - reach ? UINT64_MAX : birth + reach};
  }
  qsort(out, (size_t)n, sizeof *out, by_from);
  for (uint64_t i = 0; i < n; i++) {
    if (count > 0 && out[i].from <= out[count - 1].to) {
      if (out[i].to > out[count - 1].to) out[count - 1].to = out[i].to;
    } else {
      out[count++] = out[i];
    }
  }
  return count;
}

static bool add(ty_turns *t, const ty_segment *s, uint64_t at) {
  if (!ty_filter_allows(t->filter, s, at)) return true;
  if (t->count == t->capacity) {
    uint64_t capacity = t->capacity == 0 ? 256 : 2 * t->capacity;
    ty_turn *rows = capacity < TY_NO_TURN ? realloc(t->rows, (size_t)capacity * sizeof *rows) : NULL;
    if (rows == NULL) return false;
    t->rows = rows;
    t->capacity = capacity;
  }
  t->rows[t->count++] = (ty_turn){.birth = s->birth[at], .ref = {s, at}, .number = (double)NAN};
  return true;
}

/* The first range that does not end before a birth. */
static uint64_t range_at(const births *ranges, uint64_t n, uint64_t birth) {
  uint64_t low = 0, high = n;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ranges[middle].to < birth) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Rows first .. end of a segment. Births mostly ascend, so that most rows need one comparison or two. */
static bool look(ty_turns *t, const ty_segment *s, uint64_t first, uint64_t end, const births *ranges, uint64_t n) {
  uint64_t range = 0, before = 0;
  for (uint64_t at = first; at < end; at++) {
    uint64_t birth = s->birth[at];
    if (birth < before || (range < n && birth > ranges[range].to)) range = range_at(ranges, n, birth);
    before = birth;
    if (range < n && birth >= ranges[range].from && !add(t, s, at)) return false;
  }
  return true;
}

/* Rows first .. end of the base, where births ascend there. */
static bool look_sorted(ty_turns *t, uint64_t first, uint64_t end, const births *ranges, uint64_t n) {
  const uint64_t *birth = t->c->base.birth;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t low = first, high = end;
    while (low < high) {
      uint64_t middle = low + (high - low) / 2;
      if (birth[middle] < ranges[i].from) low = middle + 1;
      else high = middle;
    }
    for (; low < end && birth[low] <= ranges[i].to; low++)
      if (!add(t, &t->c->base, low)) return false;
    first = low;
  }
  return true;
}

/* Whether one of the rows is of a partition. */
static bool is_of_any(uint32_t partition, const ty_ref *rows, uint64_t n) {
  uint64_t i = 0;
  while (i < n && rows[i].segment->keys[0][rows[i].at] != partition) i++;
  return i < n;
}

ty_status ty_turns_open(ty_turns *t, const ty_collection *c, const ty_filter *filter, const ty_ref *rows, uint64_t n,
                        ty_unpack *metas, ty_error *err) {
  t->c = c;
  t->filter = filter;
  t->metas = metas;
  bool sorted = c->ivf == NULL && !c->ivf_lost.lost; /* else the rows lie by inverted list */
  births *ranges = n < SIZE_MAX / sizeof *ranges ? malloc((size_t)(n + 1) * sizeof *ranges) : NULL;
  if (ranges == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the turns of a conversation");
  uint64_t count = ranges_of(rows, n, ranges);
  bool good = true;
  for (uint32_t i = 0; i < c->span_count && good; i++) {
    const ty_span *s = &c->spans[i];
    uint64_t end = s->first + s->count;
    if (end <= filter->first || s->first >= filter->first + filter->count || !is_of_any(s->key, rows, n)) continue;
    good = sorted ? look_sorted(t, s->first, end, ranges, count) : look(t, &c->base, s->first, end, ranges, count);
  }
  good = good && look(t, &c->delta, 0, c->delta.count, ranges, count);
  free(ranges);
  if (!good) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the turns of a conversation");
  bool ascending = true;
  for (uint64_t i = 1; i < t->count && ascending; i++) ascending = t->rows[i - 1].birth < t->rows[i].birth;
  if (!ascending) qsort(t->rows, (size_t)t->count, sizeof *t->rows, by_birth);
  return TY_OK;
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
  bool may = has_meta && meta.bytes <= META_MOST && memmem(meta.data, (size_t)meta.bytes, key, sizeof key - 1) != NULL;
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
  for (uint32_t step = 1, sides = 3; sides != 0; step++) {
    for (int side = -1; side <= 1; side += 2) {
      uint32_t bit = side == direction ? 1 : 2, at = row + (uint32_t)side * step;
      if ((sides & bit) == 0) continue;
      const ty_turn *other = at < t->count ? &t->rows[at] : NULL;
      uint64_t apart = other == NULL ? UINT64_MAX : side < 0 ? from->birth - other->birth : other->birth - from->birth;
      if (apart > TY_TURN_REACH) {
        sides &= ~bit;
        continue;
      }
      if (!read_row(t, at) || !same_session(t, from, other)) continue;
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
