#include "state/delta_sparse.h"

#include <stdlib.h>
#include <string.h>

#include "os/arena.h"
#include "rows/vertical.h"
#include "state/state.h"

/* Bytes of the first part, which stays in memory, and of the others, which go to files. Nothing is copied when a part
 * is full; what is left of it is not used. */
#define PART_FIRST TY_SPILL_FROM
#define PART_NEXT  ((uint64_t)32 << 20)

/* The parts and blocks with those that are not published yet. */
typedef struct fresh_blocks {
  ty_spill *parts;
  uint64_t part_count, used;
  ame_sparse_block *blocks;
  uint64_t count;
} fresh_blocks;

static uint64_t directory_bytes(const ty_collection *c) {
  return ty_align_up(((uint64_t)c->dim + 1) * sizeof(uint32_t));
}

/* Bytes of a block with its directory. */
static uint64_t block_bytes(const ty_collection *c, uint64_t data) {
  return directory_bytes(c) + ty_align_up(data + AME_SPARSE_SLACK);
}

/* The lists with room for so many blocks more. False: out of memory. */
static bool fresh_open(const ty_delta_sparse *s, uint64_t more, fresh_blocks *f) {
  *f = (fresh_blocks){.part_count = s->part_count, .used = s->used, .count = s->count};
  f->parts = malloc((size_t)(s->part_count + more) * sizeof *f->parts);
  f->blocks = malloc((size_t)(s->count + more) * sizeof *f->blocks);
  if (f->parts == NULL || f->blocks == NULL) return false;
  if (s->part_count > 0) memcpy(f->parts, s->parts, (size_t)s->part_count * sizeof *f->parts);
  if (s->count > 0) memcpy(f->blocks, s->blocks, (size_t)s->count * sizeof *f->blocks);
  return true;
}

/* Room for the largest block, in the last part or a new one. NULL: out of memory. */
static uint8_t *block_room(const ty_collection *c, fresh_blocks *f) {
  const uint64_t most = block_bytes(c, c->env->kernel->sparse_bound(TY_SPARSE_ROWS, c->dim));
  if (f->part_count == 0 || f->parts[f->part_count - 1].bytes - f->used < most) {
    const uint64_t bytes = f->part_count == 0 ? PART_FIRST : PART_NEXT;
    ty_spill part = {0};
    if (!ty_spill_grow(ty_dir_of(c), &part, 0, bytes < most ? most : bytes)) return NULL;
    f->parts[f->part_count++] = part;
    f->used = 0;
  }
  return (uint8_t *)f->parts[f->part_count - 1].data + f->used;
}

/* Makes a block of dense lines. Without memory nothing changes. */
static bool make_block(const ty_collection *c, const uint8_t *lines, void *scratch, fresh_blocks *f) {
  uint8_t *to = block_room(c, f);
  if (to == NULL) return false;
  uint32_t *directory = (uint32_t *)(void *)to;
  ame_sparse_block b = {directory, to + directory_bytes(c), 0, AME_SPARSE_LINES, c->dim};
  b.bytes = c->env->kernel->sparse_pack(lines, b.lines, b.dim, scratch, directory, to + directory_bytes(c));
  f->blocks[f->count++] = b;
  f->used += block_bytes(c, b.bytes);
  return true;
}

/* The column of lines without its first `taken` bytes, in memory; `data` NULL: it stays as it is. One that went to a
 * file, because many rows were read into it or put before blocks were made, would be evicted and mapped again every few
 * thousand rows: a quarter of the page faults of an import of 400,000 notes. */
static ty_spill lines_in_memory(const ty_collection *c, uint64_t taken, uint64_t rows, uint64_t *capacity) {
  const ty_spill *column = &c->state->delta.columns[TY_COLUMN_LINES];
  const ty_spill rest = {(uint8_t *)column->data + taken, column->bytes - taken, column->in_file};
  const uint64_t room = (rows / TY_SPARSE_ROWS + 2) * TY_SPARSE_ROWS, run = c->delta.vertical.run;
  ty_spill out = {0};
  if (column->in_file && ty_lines_bytes(c, run, room) <= c->env->spill_from &&
      ty_spill_copy(ty_dir_of(c), &rest, ty_lines_bytes(c, run, rows), ty_lines_bytes(c, run, room), &out))
    *capacity = room;
  return out;
}

/* Has queries read the fresh blocks, and takes their rows out of the dense lines. */
static void publish(ty_collection *c, fresh_blocks *f, bool locked) {
  ty_delta_memory *m = &c->state->delta;
  ty_delta_sparse *s = &m->sparse;
  ty_vertical *v = &c->delta.vertical;
  ty_spill *parts = s->parts;
  ame_sparse_block *blocks = s->blocks;
  uint8_t *lines = (uint8_t *)(uintptr_t)v->lines;
  const uint64_t rows = (f->count - s->count) * TY_SPARSE_ROWS, taken = ty_lines_bytes(c, v->run, rows);
  const uint64_t left = c->delta.count - v->sparse_rows - rows;
  ty_spill fresh = lines_in_memory(c, taken, left, &m->lines_capacity);
  if (!locked) pthread_rwlock_wrlock(&c->lock);
  s->parts = f->parts;
  s->part_count = f->part_count;
  s->used = f->used;
  s->blocks = f->blocks;
  s->count = f->count;
  v->sparse = f->blocks;
  v->sparse_rows += rows;
  if (fresh.data == NULL) {
    memmove(lines, lines + taken, (size_t)ty_lines_bytes(c, v->run, left));
  } else {
    const ty_spill old = m->columns[TY_COLUMN_LINES];
    v->lines = (m->columns[TY_COLUMN_LINES] = fresh).data;
    fresh = old;
  }
  if (!locked) pthread_rwlock_unlock(&c->lock);
  if (fresh.data != NULL) ty_spill_free(c->env, &fresh); /* only read under the lock */
  f->parts = parts;
  f->blocks = blocks;
}

/* Makes blocks of the next rows: so many, or, without memory, fewer. */
static uint64_t make_blocks(ty_collection *c, uint64_t wanted, bool locked) {
  const ty_vertical *v = &c->delta.vertical;
  ty_arena memory = {0};
  void *scratch = ty_arena_align(&memory, AME_SPARSE_SCRATCH, 1);
  fresh_blocks f;
  uint64_t made = 0;
  TY_ASSERT(v->run == AME_LINE);
  if (fresh_open(&c->state->delta.sparse, wanted, &f) && !memory.failed) {
    while (made < wanted && make_block(c, v->lines + ty_lines_bytes(c, v->run, made * TY_SPARSE_ROWS), scratch, &f))
      made++;
    if (made > 0) publish(c, &f, locked);
  }
  free(f.parts);
  free(f.blocks);
  ty_arena_free(&memory);
  return made;
}

static bool has_lines(const ty_collection *c) { return c->delta.vertical.lines != NULL && c->dtype != TY_INT4; }

void ty_delta_make_sparse(ty_collection *c) {
  ty_delta_sparse *s = &c->state->delta.sparse;
  const ty_segment *d = &c->delta;
  const uint64_t dense = d->count - d->vertical.sparse_rows, saved = c->state->kept_rows;
  if (!s->started || d->count < s->put_after) s->put_after = d->count;
  s->started = true;
  const uint64_t put = d->count - s->put_after;
  if (!has_lines(c) || put < TY_SPARSE_ROWS || put < dense / 4 || saved < d->vertical.sparse_rows + TY_SPARSE_ROWS)
    return;
  const uint64_t due = (saved - d->vertical.sparse_rows) / TY_SPARSE_ROWS, made = make_blocks(c, due, false);
  /* The next block is made of what is left, once it is full: later, the lines would outgrow their column. */
  s->put_after = made == due ? d->vertical.sparse_rows : d->count;
}

void ty_delta_sparse_loaded(ty_collection *c) {
  const uint64_t dense = c->delta.count - c->delta.vertical.sparse_rows;
  if (has_lines(c) && dense >= TY_DENSE_LOADED) (void)make_blocks(c, dense / TY_SPARSE_ROWS, true);
}

bool ty_delta_sparse_prepare(ty_collection *c, uint64_t more, ty_delta_before *out) {
  ty_delta_memory *m = &c->state->delta;
  ty_vertical *v = &c->delta.vertical;
  const uint64_t dense = c->delta.count - v->sparse_rows;
  if (!ty_delta_vertical(c) || c->dtype == TY_INT4 || dense + more < TY_DENSE_LOADED) return false;
  *out = (ty_delta_before){.lines_capacity = m->lines_capacity,
                           .sparse_rows = v->sparse_rows,
                           .block_count = m->sparse.count,
                           .part_count = m->sparse.part_count,
                           .used = m->sparse.used};
  if (dense == 0) return true;
  const uint64_t room = dense < TY_DENSE_LOADED ? TY_DENSE_LOADED : m->lines_capacity;
  ty_spill *lines = &m->columns[TY_COLUMN_LINES], fresh = {0};
  if (!ty_spill_copy(ty_dir_of(c), lines, ty_lines_bytes(c, v->run, dense), ty_lines_bytes(c, v->run, room), &fresh))
    return false;
  out->lines = *lines;
  *lines = fresh;
  v->lines = fresh.data;
  m->lines_capacity = room;
  return true;
}

void ty_delta_sparse_restore(ty_collection *c, ty_delta_before *before) {
  ty_delta_memory *m = &c->state->delta;
  ty_delta_sparse *s = &m->sparse;
  for (uint64_t i = before->part_count; i < s->part_count; i++) ty_spill_free(c->env, &s->parts[i]);
  s->part_count = before->part_count;
  s->used = before->used;
  s->count = before->block_count;
  c->delta.vertical.sparse_rows = before->sparse_rows;
  if (before->lines.data == NULL) return;
  ty_spill_free(c->env, &m->columns[TY_COLUMN_LINES]);
  m->columns[TY_COLUMN_LINES] = before->lines;
  m->lines_capacity = before->lines_capacity;
  c->delta.vertical.lines = before->lines.data;
  before->lines = (ty_spill){0};
}

void ty_delta_before_free(const ty_collection *c, ty_delta_before *before) {
  ty_spill_free(c->env, &before->lines);
  *before = (ty_delta_before){0};
}

void ty_delta_sparse_evict(ty_env *env, const ty_delta_sparse *s) {
  for (uint64_t i = 0; i < s->part_count; i++) ty_spill_evict(env, &s->parts[i]);
}

void ty_delta_sparse_free(ty_env *env, ty_delta_sparse *s) {
  for (uint64_t i = 0; i < s->part_count; i++) ty_spill_free(env, &s->parts[i]);
  free(s->parts);
  free(s->blocks);
  *s = (ty_delta_sparse){0};
}
