/* Packed strings: rows read in order, in any order and again, of every length; damaged bytes. */
#include <stdlib.h>
#include <string.h>

#include "../../ffi/ty_runtime/os/env.h"
#include "../../ffi/ty_runtime/rows/packed.h"
#include "check.h"

#define ROWS 1000u

static uint64_t state;
static ty_slice rows[ROWS];

static uint64_t draw(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

/* Like the row before in places, of other lengths, long now and then; `most` bytes. */
static void make_rows(uint64_t most) {
  for (uint32_t i = 0; i < ROWS; i++) {
    uint64_t bytes = draw(6) == 0 ? draw(most + 1) : draw(most < 200 ? most + 1 : 200);
    if (draw(20) == 0) bytes = 0;
    if (most > TY_PACKED_MOST && draw(9) == 0) bytes = TY_PACKED_MOST - 1 + draw(3);
    uint8_t *data = malloc((size_t)bytes + 1);
    ty_slice before = i == 0 ? (ty_slice){NULL, 0} : rows[i - 1];
    uint64_t shift = draw(3), same = draw(12);
    for (uint64_t at = 0; at < bytes; at++) {
      bool copied = draw(12) <= same && at + shift < before.bytes;
      data[at] = copied ? before.data[at + shift] : (uint8_t)draw(4);
      if (draw(40) == 0) shift = draw(8);
    }
    rows[i] = (ty_slice){data, bytes};
  }
}

static void free_rows(void) {
  for (uint32_t i = 0; i < ROWS; i++) free((void *)(uintptr_t)rows[i].data);
}

static void pack(ty_buffer *bytes, uint64_t *ends) {
  for (uint32_t i = 0; i < ROWS; i++) {
    ty_packed_put(bytes, i % TY_PACKED_ROWS == 0 ? (ty_slice){NULL, 0} : rows[i - 1], rows[i]);
    ends[i / TY_PACKED_ROWS] = bytes->bytes;
  }
}

static bool is_row(ty_slice s, uint32_t i) {
  return s.bytes == rows[i].bytes && (s.bytes == 0 || memcmp(s.data, rows[i].data, (size_t)s.bytes) == 0);
}

static void test_reads(uint64_t most) {
  static uint64_t ends[ROWS];
  static ty_unpack u;
  ty_buffer bytes = {0};
  make_rows(most);
  pack(&bytes, ends);
  ty_packed p = {ends, bytes.data}, none = {NULL, NULL};
  ty_unpack_init(&u);
  for (uint32_t i = 0; i < ROWS; i++) CHECK(is_row(ty_packed_at(&u, &p, i, most), i));
  for (uint32_t n = 0; n < 2000; n++) {
    uint32_t i = (uint32_t)draw(ROWS);
    CHECK(is_row(ty_packed_at(&u, &p, i, most), i) && is_row(ty_packed_at(&u, &p, i, most), i));
    if (n % 50 == 0) CHECK(ty_packed_at(&u, &none, i, most).bytes == 0);
    if (i + 1 < ROWS) CHECK(is_row(ty_packed_at(&u, &p, i + 1, most), i + 1));
  }
  CHECK(!u.damaged);
  uint32_t longest = 0;
  for (uint32_t i = 0; i < ROWS; i++) longest = rows[i].bytes > rows[longest].bytes ? i : longest;
  CHECK(ty_packed_at(&u, &p, longest, rows[longest].bytes - 1).bytes == 0 && u.damaged);
  ty_buffer_free(&bytes);
  free_rows();
}

/* Whatever the bytes, reads stay within them, and a row is not longer than allowed. Cut off, its last row is damaged.
 */
static void test_damage(uint64_t most) {
  static uint64_t ends[ROWS];
  static ty_unpack u;
  ty_buffer bytes = {0};
  uint64_t found = 0;
  make_rows(most);
  pack(&bytes, ends);
  uint64_t last = ends[ROWS / TY_PACKED_ROWS];
  for (uint32_t n = 0; n < 3000; n++) {
    uint8_t *copy = malloc((size_t)bytes.bytes);
    uint32_t at = (uint32_t)draw(bytes.bytes), block = 0;
    memcpy(copy, bytes.data, (size_t)bytes.bytes);
    while (ends[block] <= at) block++;
    copy[at] ^= (uint8_t)(1u << draw(8));
    if (n % 3 == 0) copy[at] = 0xff;
    ty_packed p = {ends, copy};
    ty_unpack_init(&u);
    for (uint32_t i = block * TY_PACKED_ROWS; i < ROWS && i < (block + 1) * TY_PACKED_ROWS; i++) {
      ty_slice s = ty_packed_at(&u, &p, i, most);
      uint8_t sum = 0;
      for (uint64_t k = 0; k < s.bytes; k++) sum ^= s.data[k];
      CHECK(s.bytes <= most && sum == sum);
    }
    found += u.damaged;
    free(copy);
  }
  CHECK_MESSAGE(found > 10, "%d damaged rows were found", (int)found);
  for (uint64_t cut = 1; cut <= 4 && rows[ROWS - 1].bytes > 0; cut++) {
    ty_packed p = {ends, bytes.data};
    ends[ROWS / TY_PACKED_ROWS] = last - cut;
    ty_unpack_init(&u);
    CHECK(ty_packed_at(&u, &p, ROWS - 1, most).bytes == 0 && u.damaged);
  }
  ty_buffer_free(&bytes);
  free_rows();
}

/* Windows of a file differ in three numbers: a tenth of the bytes. */
static void test_windows(void) {
  ty_buffer bytes = {0};
  char before[200], row[200];
  uint64_t raw = 0;
  for (int i = 0; i < 160; i++) {
    int n = snprintf(
        row, sizeof row,
        "{\"repo_id\":\"0123456789abcdef\",\"path\":\"src/memory/repositories.ts\",\"language\":\"typescript\","
        "\"chunk\":%d,\"start_line\":%d,\"end_line\":%d}",
        i, i * 30 + 1, i * 30 + 40);
    bool first = i % (int)TY_PACKED_ROWS == 0;
    ty_packed_put(&bytes, first ? (ty_slice){NULL, 0} : (ty_slice){(uint8_t *)before, strlen(before)},
                  (ty_slice){(uint8_t *)row, (uint64_t)n});
    memcpy(before, row, sizeof row);
    raw += (uint64_t)n;
  }
  CHECK_MESSAGE(bytes.bytes * 5 < raw, "%d of %d bytes", (int)bytes.bytes, (int)raw);
  ty_buffer_free(&bytes);
}

/* Where rows are the same again is searched by nearness, then with the fewest bytes of the row: other steps would
 * decode to the same rows, but equal rows are to have equal bases. */
static void test_steps(void) {
  static uint64_t ends[ROWS];
  ty_buffer bytes = {0};
  uint64_t hash = 0xcbf29ce484222325u;
  state = 11;
  make_rows(512);
  pack(&bytes, ends);
  for (uint64_t i = 0; i < bytes.bytes; i++) hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
  CHECK_MESSAGE(hash == 0xa53dc13d63e812ddu, "%llx", (unsigned long long)hash);
  ty_buffer_free(&bytes);
  free_rows();
}

int main(void) {
  static const uint64_t most[] = {16, 512, 3 * TY_PACKED_MOST};
  state = 5;
  for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
    test_reads(most[i]);
    test_damage(most[i]);
  }
  test_windows();
  test_steps();
  return check_report();
}
