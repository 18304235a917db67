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

/* The blocks in `bytes`: those that there are, and the new one after them. NULL: out of memory. */
static ame_sparse_block *list_blocks(const ty_collection *c, const ty_delta_sparse *s, const uint8_t *bytes,
                                     const fresh_block *b) {
  ame_sparse_block *blocks = malloc((size_t)(s->count + 1) * sizeof *blocks);
  uint64_t at = 0;
  for (uint64_t i = 0; blocks != NULL && i <= s->count; i++) {
    const uint64_t data = i == s->count ? b->bytes : s->blocks[i].bytes;
    blocks[i] = (ame_sparse_block){.directory = (const uint32_t *)(const void *)(bytes + at),
                                   .data = bytes + at + directory_bytes(c),
                                   .bytes = (size_t)data,
                                   .lines = AME_SPARSE_LINES,
                                   .dim = c->dim};
    at += block_bytes(c, data);
  }
  return blocks;
}

/* Appends the block and takes its rows out of the dense lines. Without memory nothing changes. */
static void append_block(ty_collection *c, const fresh_block *b) {
  ty_delta_sparse *s = &c->state->delta.sparse;
  ty_vertical *v = &c->delta.vertical;
  const uint64_t more = block_bytes(c, b->bytes), used = s->bytes.used;
  ty_spill grown = s->bytes.memory;
  const bool grows = grown.data == NULL || grown.bytes - used < more;
  if (grows && !ty_spill_copy(ty_dir_of(c), &s->bytes.memory, used, used + used / 2 + more, &grown)) return;
  uint8_t *to = (uint8_t *)grown.data + used;
  memcpy(to, b->directory, ((size_t)c->dim + 1) * sizeof(uint32_t));
  memcpy(to + directory_bytes(c), b->data, (size_t)b->bytes);
  ame_sparse_block *blocks = list_blocks(c, s, grown.data, b), *before = s->blocks;
  if (blocks == NULL) {
    if (grows) ty_spill_free(c->env, &grown);
    return;
  }
  uint8_t *lines = (uint8_t *)(uintptr_t)v->lines;
  const uint64_t taken = ty_lines_bytes(c, v->run, TY_SPARSE_ROWS);
  pthread_rwlock_wrlock(&c->lock);
  ty_spill old = s->bytes.memory;
  s->bytes = (ty_growing){grown, used + more};
  s->blocks = blocks;
  s->count++;
  v->sparse = blocks;
  v->sparse_rows += TY_SPARSE_ROWS;
  memmove(lines, lines + taken, (size_t)ty_lines_bytes(c, v->run, c->delta.count - v->sparse_rows));
  pthread_rwlock_unlock(&c->lock);
  if (grows) ty_spill_free(c->env, &old);
  free(before);
}

void ty_delta_make_sparse(ty_collection *c) {
  ty_delta_sparse *s = &c->state->delta.sparse;
  const ty_segment *d = &c->delta;
  const uint64_t first = d->vertical.sparse_rows;
  if (!s->started) s->first_put = d->count;
  s->started = true;
  if (d->vertical.lines == NULL || c->dtype == TY_INT4 || d->count - s->first_put < first + TY_SPARSE_ROWS ||
      c->state->kept_rows < first + TY_SPARSE_ROWS)
    return;
  ty_arena memory = {0};
  fresh_block b = {.codes = ty_arena_take(&memory, TY_SPARSE_ROWS, sizeof *b.codes),
                   .stored = ty_arena_align(&memory, TY_SPARSE_ROWS, AME_CODE_STRIDE(c->dim) + TY_ALIGN),
                   .directory = ty_arena_take(&memory, (uint64_t)c->dim + 1, sizeof *b.directory),
                   .data = ty_arena_align(&memory, c->env->kernel->sparse_bound(TY_SPARSE_ROWS, c->dim), 1)};
  void *scratch = ty_arena_align(&memory, AME_SPARSE_SCRATCH, 1);
  if (!memory.failed) {
    make_block(c, first, scratch, &b);
    append_block(c, &b);
  }
  ty_arena_free(&memory);
}

void ty_delta_sparse_free(ty_env *env, ty_delta_sparse *s) {
  ty_spill_free(env, &s->bytes.memory);
  free(s->blocks);
  *s = (ty_delta_sparse){0};
}
