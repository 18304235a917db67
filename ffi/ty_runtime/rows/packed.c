#include "rows/packed.h"

#include <string.h>

#include "os/assert.h"
#include "os/numbers.h"

/* How far after a difference a place is sought where both rows are the same again, and for how many bytes they have to
 * be: a shorter one costs more than it saves. */
#define SEEK_MOST 24u
#define SAME      4u
#define NIBBLE    15u

static inline bool get_leb(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  if (*at < end && **at < 0x80) {
    *out = *(*at)++;
    return true;
  }
  return ty_leb_get(at, end, out);
}

/* Within buffers that have TY_PACKED_PIECE bytes more: a third of the time of memcpy for some bytes each. */
static inline void copy_pieces(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += TY_PACKED_PIECE) memcpy(to + at, from + at, TY_PACKED_PIECE);
}

/* A number that a step's byte has, or begins. */
static bool get_count(const uint8_t **at, const uint8_t *end, uint32_t nibble, uint64_t *out) {
  uint64_t more = 0;
  if (nibble == NIBBLE && !get_leb(at, end, &more)) return false;
  *out = more + nibble;
  return *out >= more;
}

/* Decodes the steps of a row of so many bytes. */
static bool get_steps(const uint8_t **at, const uint8_t *end, ty_slice before, uint8_t *out, uint64_t bytes) {
  uint64_t done = 0, from = 0;
  for (;;) {
    uint64_t copied, fresh, passed;
    if (!get_leb(at, end, &copied) || copied > before.bytes - from || copied > bytes - done) return false;
    if (copied > 0) copy_pieces(out + done, before.data + from, copied);
    done += copied;
    from += copied;
    if (done == bytes) return true;
    if (*at == end) return false;
    uint32_t head = *(*at)++;
    if (!get_count(at, end, head & NIBBLE, &fresh) || !get_count(at, end, head >> 4, &passed)) return false;
    if (fresh > bytes - done || fresh > (uint64_t)(end - *at) || passed > before.bytes - from) return false;
    if (fresh + passed == 0) return false; /* a row has so many steps at most as it has bytes here */
    if (fresh <= TY_PACKED_PIECE && end - *at >= (ptrdiff_t)TY_PACKED_PIECE) copy_pieces(out + done, *at, fresh);
    else memcpy(out + done, *at, (size_t)fresh);
    *at += fresh;
    done += fresh;
    from += passed;
    if (done == bytes) return true;
  }
}

/* Reads the row at u->at, which becomes u->row. A long one is where it lies: it has one step without a copy. */
static bool next_row(ty_unpack *u, const uint8_t *end, uint64_t most) {
  uint64_t bytes, zero, fresh;
  ty_slice before = u->row.bytes <= TY_PACKED_MOST ? u->row : (ty_slice){NULL, 0};
  if (!get_leb(&u->at, end, &bytes) || bytes > most) return false;
  if (bytes == 0) {
    u->row = (ty_slice){NULL, 0};
    return true;
  }
  if (bytes > TY_PACKED_MOST) {
    if (!ty_leb_get(&u->at, end, &zero) || zero != 0 || u->at == end || *u->at++ != NIBBLE ||
        !get_count(&u->at, end, NIBBLE, &fresh) || fresh != bytes || bytes > (uint64_t)(end - u->at))
      return false;
    u->row = (ty_slice){u->at, bytes};
    u->at += bytes;
    return true;
  }
  u->side ^= 1;
  uint8_t *out = u->sides[u->side];
  if (!get_steps(&u->at, end, before, out, bytes)) return false;
  u->row = (ty_slice){out, bytes};
  return true;
}

ty_slice ty_packed_at(ty_unpack *u, const ty_packed *p, uint64_t at, uint64_t most) {
  uint64_t block = at / TY_PACKED_ROWS;
  if (p->ends == NULL) return (ty_slice){NULL, 0};
  if (u->of == p && at + 1 == u->next) return u->row;
  if (u->of != p || at < u->next || block != u->next / TY_PACKED_ROWS || u->next % TY_PACKED_ROWS == 0) {
    u->of = p;
    u->next = block * TY_PACKED_ROWS;
    u->at = p->bytes + (block == 0 ? 0 : p->ends[block - 1]);
    u->row = (ty_slice){NULL, 0};
    u->side = 0;
  }
  while (u->next <= at) {
    if (!next_row(u, p->bytes + p->ends[block], most)) {
      u->of = NULL;
      u->damaged = true;
      return (ty_slice){NULL, 0};
    }
    u->next++;
  }
  return u->row;
}

/* ---- Writing ---- */

static void put_leb(ty_buffer *out, uint64_t value) {
  uint8_t bytes[10];
  ty_buffer_append(out, bytes, ty_leb_put(bytes, value));
}

static void put_step(ty_buffer *out, uint64_t copied, const uint8_t *data, uint64_t fresh, uint64_t passed) {
  uint64_t low = fresh < NIBBLE ? fresh : NIBBLE, high = passed < NIBBLE ? passed : NIBBLE;
  uint8_t head = (uint8_t)(low | high << 4);
  put_leb(out, copied);
  ty_buffer_append(out, &head, 1);
  if (low == NIBBLE) put_leb(out, fresh - NIBBLE);
  if (high == NIBBLE) put_leb(out, passed - NIBBLE);
  ty_buffer_append(out, data, fresh);
}

static uint32_t four_bytes(const uint8_t *at) {
  uint32_t bytes;
  memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

/* How far after `at` a place is sought. */
static uint64_t reach_of(uint64_t bytes, uint64_t at) {
  return bytes - at - SAME < SEEK_MOST ? bytes - at - SAME : SEEK_MOST;
}

/* The nearest place after where both are the same again. False: there is none near. All places of one distance are
 * compared together: one by one takes three times as long. */
static bool meet(ty_slice before, uint64_t from, ty_slice row, uint64_t done, uint64_t *fresh, uint64_t *passed) {
  uint32_t ours[SEEK_MOST + 1], theirs[SEEK_MOST + 1]; /* theirs from the last one on */
  if (row.bytes - done < SAME || before.bytes - from < SAME) return false;
  const uint64_t f_most = reach_of(row.bytes, done), p_most = reach_of(before.bytes, from);
  for (uint64_t f = 0; f <= f_most; f++) ours[f] = four_bytes(row.data + done + f);
  for (uint64_t p = 0; p <= p_most; p++) theirs[p_most - p] = four_bytes(before.data + from + p);
  for (uint64_t sum = 1; sum <= f_most + p_most; sum++) {
    uint64_t first = sum > p_most ? sum - p_most : 0, end = sum < f_most ? sum : f_most;
    const uint32_t *other = theirs + (p_most + first - sum);
    uint32_t same = 0;
    for (uint64_t f = first; f <= end; f++) same |= ours[f] == other[f - first];
    if (!same) continue;
    while (ours[first] != *other) first++, other++;
    *fresh = first;
    *passed = sum - first;
    return true;
  }
  return false;
}

/* How many bytes are the same at the beginning of both. */
static uint64_t same_bytes(const uint8_t *a, const uint8_t *b, uint64_t bytes) {
  uint64_t at = 0, x, y;
  for (; at + sizeof x <= bytes; at += sizeof x) {
    memcpy(&x, a + at, sizeof x);
    memcpy(&y, b + at, sizeof y);
    if (x != y) return at + (uint64_t)__builtin_ctzll(x ^ y) / 8;
  }
  while (at < bytes && a[at] == b[at]) at++;
  return at;
}

void ty_packed_put(ty_buffer *out, ty_slice before, ty_slice row) {
  uint64_t done = 0, from = 0;
  put_leb(out, row.bytes);
  if (row.bytes == 0) return;
  if (row.bytes > TY_PACKED_MOST || before.bytes > TY_PACKED_MOST) before = (ty_slice){NULL, 0};
  for (;;) {
    uint64_t fresh = row.bytes, passed = 0, left = row.bytes - done, beside = before.bytes - from;
    uint64_t copied = beside == 0 ? 0 : same_bytes(row.data + done, before.data + from, left < beside ? left : beside);
    done += copied;
    from += copied;
    if (done == row.bytes) {
      put_leb(out, copied);
      return;
    }
    fresh -= done;
    if (!meet(before, from, row, done, &fresh, &passed)) fresh = row.bytes - done;
    put_step(out, copied, row.data + done, fresh, passed);
    done += fresh;
    from += passed;
    if (done == row.bytes) return;
  }
}
