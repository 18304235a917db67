#include "state/delta_sparse.h"

#include <stdlib.h>
#include <string.h>

#include "os/arena.h"
#include "rows/vector.h"
#include "rows/vertical.h"
#include "state/state.h"

/* A block that is being made. */
typedef struct fresh_block {
  const int8_t **codes; /* of each row */
  int8_t *stored;       /* room for the codes of rows that are stored without their zeros, or only in dense lines */
  uint32_t *directory;
  uint8_t *data;
  uint64_t bytes; /* of the data */
} fresh_block;

static uint64_t directory_bytes(const ty_collection *c) {
  return ty_align_up(((uint64_t)c->dim + 1) * sizeof(uint32_t));
}

/* Bytes of a block with its directory. */
static uint64_t block_bytes(const ty_collection *c, uint64_t data) {
  return directory_bytes(c) + ty_align_up(data + AME_SPARSE_SLACK);
}

static void make_block(const ty_collection *c, uint64_t first, void *scratch, fresh_block *b) {
  const ty_segment *s = &c->delta;
  const uint64_t stride = AME_CODE_STRIDE(c->dim) + TY_ALIGN;
  for (uint64_t i = 0; i < TY_SPARSE_ROWS; i++) {
    const ty_payload *own = &s->payload[first + i];
    int8_t *to = b->stored + i * stride;
    if (ty_form_of(c, own->coded) == TY_INT8) {
      b->codes[i] = (const int8_t *)ty_payload_stored(c, own, (uint8_t *)to) + sizeof(float);
    } else {
      ty_line_take(c, s, first + i, to);
      b->codes[i] = to;
    }
  }
  b->bytes = c->env->kernel->sparse_put(b->codes, TY_SPARSE_ROWS, c->dim, scratch, b->directory, b->data);
}

/* Blocks that are written and not published yet. */
typedef struct fresh_blocks {
  ty_growing bytes;       /* of the blocks there are, and then of the fresh ones */
  bool is_copy;           /* `bytes` is not the memory of the blocks there are */
  uint64_t *sizes, count; /* bytes of the data of each fresh one */
} fresh_blocks;

/* Appends a block. Without memory nothing changes. */
static bool append_block(const ty_collection *c, fresh_blocks *f, const fresh_block *b) {
  const uint64_t more = block_bytes(c, b->bytes), used = f->bytes.used;
  ty_spill grown = f->bytes.memory;
  if (grown.data == NULL || grown.bytes - used < more) {
    if (!ty_spill_copy(ty_dir_of(c), &f->bytes.memory, used, used + used / 2 + more, &grown)) return false;
    if (f->is_copy) ty_spill_free(c->env, &f->bytes.memory);
    f->is_copy = true;
  }
  uint8_t *to = (uint8_t *)grown.data + used;
  memcpy(to, b->directory, ((size_t)c->dim + 1) * sizeof(uint32_t));
  memcpy(to + directory_bytes(c), b->data, (size_t)b->bytes);
  f->bytes = (ty_growing){grown, used + more};
  f->sizes[f->count++] = b->bytes;
  return true;
}

/* The blocks there are, and the fresh ones after them. NULL: out of memory. */
static ame_sparse_block *list_blocks(const ty_collection *c, const ty_delta_sparse *s, const fresh_blocks *f) {
  ame_sparse_block *blocks = malloc((size_t)(s->count + f->count) * sizeof *blocks);
  const uint8_t *bytes = f->bytes.memory.data;
  uint64_t at = 0;
  for (uint64_t i = 0; blocks != NULL && i < s->count + f->count; i++) {
    const uint64_t data = i < s->count ? s->blocks[i].bytes : f->sizes[i - s->count];
    blocks[i] = (ame_sparse_block){.directory = (const uint32_t *)(const void *)(bytes + at),
                                   .data = bytes + at + directory_bytes(c),
                                   .bytes = (size_t)data,
                                   .lines = AME_SPARSE_LINES,
                                   .dim = c->dim};
    at += block_bytes(c, data);
  }
  return blocks;
}

/* Has queries read the fresh blocks, and takes their rows out of the dense lines. Without memory nothing changes. */
static void publish(ty_collection *c, fresh_blocks *f) {
  ty_delta_sparse *s = &c->state->delta.sparse;
  ty_vertical *v = &c->delta.vertical;
  ame_sparse_block *blocks = f->count > 0 ? list_blocks(c, s, f) : NULL, *before = s->blocks;
  if (blocks == NULL) {
    if (f->is_copy) ty_spill_free(c->env, &f->bytes.memory);
    return;
  }
  uint8_t *lines = (uint8_t *)(uintptr_t)v->lines;
  const uint64_t rows = f->count * TY_SPARSE_ROWS, taken = ty_lines_bytes(c, v->run, rows);
  pthread_rwlock_wrlock(&c->lock);
  ty_spill old = s->bytes.memory;
  s->bytes = f->bytes;
  s->blocks = blocks;
  s->count += f->count;
  v->sparse = blocks;
  v->sparse_rows += rows;
  memmove(lines, lines + taken, (size_t)ty_lines_bytes(c, v->run, c->delta.count - v->sparse_rows));
  pthread_rwlock_unlock(&c->lock);
  if (f->is_copy) ty_spill_free(c->env, &old);
  free(before);
}

/* How many blocks are to be made of the next rows. */
static uint64_t blocks_due(ty_collection *c) {
  ty_delta_sparse *s = &c->state->delta.sparse;
  const ty_segment *d = &c->delta;
  const uint64_t dense = d->count - d->vertical.sparse_rows, saved = c->state->kept_rows;
  if (!s->started || d->count < s->put_after) s->put_after = d->count;
  s->started = true;
  const uint64_t put = d->count - s->put_after;
  if (d->vertical.lines == NULL || c->dtype == TY_INT4 || put < TY_SPARSE_ROWS || put < dense / 4 ||
      saved < d->vertical.sparse_rows)
    return 0;
  return (saved - d->vertical.sparse_rows) / TY_SPARSE_ROWS;
}

void ty_delta_make_sparse(ty_collection *c) {
  const uint64_t due = blocks_due(c), first = c->delta.vertical.sparse_rows;
  if (due == 0) return;
  ty_arena memory = {0};
  fresh_block b = {.codes = ty_arena_take(&memory, TY_SPARSE_ROWS, sizeof *b.codes),
                   .stored = ty_arena_align(&memory, TY_SPARSE_ROWS, AME_CODE_STRIDE(c->dim) + TY_ALIGN),
                   .directory = ty_arena_take(&memory, (uint64_t)c->dim + 1, sizeof *b.directory),
                   .data = ty_arena_align(&memory, c->env->kernel->sparse_bound(TY_SPARSE_ROWS, c->dim), 1)};
  void *scratch = ty_arena_align(&memory, AME_SPARSE_SCRATCH, 1);
  fresh_blocks f = {.bytes = c->state->delta.sparse.bytes, .sizes = ty_arena_take(&memory, due, sizeof *f.sizes)};
  if (!memory.failed) {
    do make_block(c, first + f.count * TY_SPARSE_ROWS, scratch, &b);
    while (append_block(c, &f, &b) && f.count < due);
    publish(c, &f);
  }
  c->state->delta.sparse.put_after = c->delta.count;
  ty_arena_free(&memory);
}

void ty_delta_sparse_free(ty_env *env, ty_delta_sparse *s) {
  ty_spill_free(env, &s->bytes.memory);
  free(s->blocks);
  *s = (ty_delta_sparse){0};
}
