#include "rows/line_runs.h"

#include <string.h>

#include "rows/vertical.h"

uint64_t ty_line_run_bytes(const ty_collection *c, uint64_t rows) {
  return (rows + ty_line_rows(c) - 1) / ty_line_rows(c) * AME_LINE;
}

ty_line_runs ty_line_runs_of(const ty_collection *c, const uint8_t *directory, uint64_t rows, uint64_t bytes) {
  const uint64_t block_rows = directory == NULL ? TY_RUN_ROWS : TY_SPARSE_ROWS;
  TY_ASSERT(rows > 0);
  const uint64_t blocks = (rows + block_rows - 1) / block_rows;
  return (ty_line_runs){.directory = directory,
                        .bytes = bytes,
                        .rows = rows,
                        .blocks = blocks,
                        .block_rows = block_rows,
                        .run = ty_line_run_bytes(c, blocks > 1 ? block_rows : rows),
                        .last_run = ty_line_run_bytes(c, rows - (blocks - 1) * block_rows),
                        .dim = c->dim};
}

bool ty_line_runs_fit(const ty_line_runs *r, uint64_t directory_bytes) {
  if (r->directory != NULL) return directory_bytes == r->blocks * ty_directory_bytes(r->dim);
  return r->bytes == ((r->blocks - 1) * r->run + r->last_run) * r->dim;
}

/* Another process may cut the file off while it is open; the directory then reads as zeros. So each function here
 * checks the entries that it uses, although the directory was checked when the base was opened. */
static uint64_t start_of(const ty_line_runs *r, uint64_t block) {
  uint64_t at;
  memcpy(&at, r->directory + block * ty_directory_bytes(r->dim), sizeof at);
  return at;
}

static const uint32_t *entries_of(const ty_line_runs *r, uint64_t block) {
  return (const uint32_t *)(const void *)(r->directory + block * ty_directory_bytes(r->dim) + sizeof(uint64_t));
}

/* Bytes of the lines from `at` on: the data of a block that begins there have at most as many. */
static uint64_t room_of(const ty_line_runs *r, uint64_t at) { return at > r->bytes ? 0 : r->bytes - at; }

ty_line_run ty_line_run_of(const ty_line_runs *r, uint64_t block, uint32_t d) {
  TY_ASSERT(block < r->blocks && d < r->dim);
  if (r->directory == NULL) {
    const uint64_t run = block + 1 == r->blocks ? r->last_run : r->run;
    return (ty_line_run){block * r->run * r->dim + d * run, run};
  }
  const uint64_t at = start_of(r, block), room = room_of(r, at);
  const uint64_t from = entries_of(r, block)[d] >> 2, to = entries_of(r, block)[d + 1] >> 2;
  return from > to || to > room ? (ty_line_run){0, 0} : (ty_line_run){at + from, to - from};
}

ame_sparse_block ty_sparse_block_of(const ty_line_runs *r, const uint8_t *lines, uint64_t block) {
  const uint32_t *entries = entries_of(r, block);
  const uint64_t at = start_of(r, block), room = room_of(r, at), bytes = entries[r->dim] >> 2;
  const bool good = bytes <= room;
  return (ame_sparse_block){.directory = entries,
                            .data = good ? lines + at : lines,
                            .bytes = good ? (size_t)bytes : 0,
                            .lines = (size_t)((ty_line_block_rows(r, block) + AME_LINE - 1) / AME_LINE),
                            .dim = r->dim};
}

bool ty_directory_good(const ty_line_runs *r, uint64_t block) {
  const uint32_t *entries = entries_of(r, block);
  const uint64_t at = start_of(r, block), bytes = entries[r->dim] >> 2;
  bool good = bytes <= room_of(r, at) && entries[0] >> 2 == 0 && (entries[r->dim] & 3) == 0;
  for (uint32_t d = 0; d < r->dim; d++)
    good &= (entries[d] & 3) <= AME_SPARSE_MAPPED && entries[d] >> 2 < entries[d + 1] >> 2;
  return good && (r->dim % 2 == 1 || entries[r->dim + 1] == 0);
}
