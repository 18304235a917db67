#include "rows/packed.h"

#include <string.h>

#include "os/assert.h"
#include "os/leb.h"

/* How far behind a difference a place is sought where both rows are the same again, and for how many bytes they have to
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

/* The nearest place behind where both are the same again. False: there is none near. */
static bool meet(ty_slice before, uint64_t from, ty_slice row, uint64_t done, uint64_t *fresh, uint64_t *passed) {
  for (uint64_t sum = 1; sum <= 2 * SEEK_MOST; sum++) {
    for (uint64_t f = sum > SEEK_MOST ? sum - SEEK_MOST : 0; f <= sum && f <= SEEK_MOST; f++) {
      uint64_t p = sum - f;
      if (done + f + SAME > row.bytes || from + p + SAME > before.bytes) continue;
      if (memcmp(row.data + done + f, before.data + from + p, SAME) != 0) continue;
      *fresh = f;
      *passed = p;
      return true;
    }
  }
  return false;
}

void ty_packed_put(ty_buffer *out, ty_slice before, ty_slice row) {
  uint64_t done = 0, from = 0;
  put_leb(out, row.bytes);
  if (row.bytes == 0) return;
  if (row.bytes > TY_PACKED_MOST || before.bytes > TY_PACKED_MOST) before = (ty_slice){NULL, 0};
  for (;;) {
    uint64_t copied = 0, fresh = row.bytes, passed = 0;
    while (done + copied < row.bytes && from + copied < before.bytes &&
           row.data[done + copied] == before.data[from + copied])
      copied++;
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
