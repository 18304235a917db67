/* Writing the lists, term by term as the runs are merged, and the dictionary's entries with them. */

#include "lexical/builder.h"

#define TERMS_PER_LOOK 4096u

/* The bound of the current block, rounded up. Parts are in units of 2^-24 and too small by at most half a unit and six
 * roundings to f32. */
#define PARTS_SHORT 64u
static uint8_t bound_of(const ty_lexical_builder *b) {
  uint32_t parts[TY_BLOCK_DOCS], most = 0;
  b->r->c->env->kernel->bm25_parts(&b->norms, b->docs, b->tfs, ty_builder_lengths(b), b->count, parts);
  for (uint32_t i = 0; i < b->count; i++) most = parts[i] > most ? parts[i] : most;
  uint64_t bound = ((uint64_t)(most + PARTS_SHORT) * TY_BOUND_ONE) / (uint64_t)b->norms.weight + 1;
  return (uint8_t)(bound < TY_BOUND_ONE ? bound : TY_BOUND_ONE);
}

static void put_list(ty_lexical_builder *b, const uint8_t *data, uint64_t bytes) {
  ty_builder_put(b, data, bytes);
  b->list += bytes;
}

/* Adds a block, or the rest, to the directory. */
static void note(ty_lexical_builder *b) {
  uint8_t *at = ty_builder_room(b, &b->directory, TY_DIRECTORY_BYTES);
  uint32_t end = (uint32_t)b->list;
  if (at == NULL) return;
  memcpy(at, &b->docs[b->count - 1], 4);
  memcpy(at + 4, &end, 4);
  at[8] = bound_of(b);
}

static void put_block(ty_lexical_builder *b) {
  uint8_t block[TY_BLOCK_MOST];
  put_list(b, block, ty_block_pack(b->r->c->env->kernel, b->docs, b->tfs, b->next, block));
  note(b);
  b->next = (uint64_t)b->docs[b->count - 1] + 1;
  b->count = 0;
}

void ty_builder_posting(void *context, uint64_t row, uint32_t tf) {
  ty_lexical_builder *b = context;
  if (b->count > 0 && b->docs[b->count - 1] == row) {
    b->tfs[b->count - 1] += tf;
    return;
  }
  if (b->count == TY_BLOCK_DOCS) put_block(b); /* only now: the next run may begin with the same row */
  b->docs[b->count] = (uint32_t)row;
  b->tfs[b->count++] = tf;
  b->df++;
}

static void put_directory(ty_lexical_builder *b) {
  const uint8_t *d = b->directory.memory.data;
  uint64_t n = b->directory.used / TY_DIRECTORY_BYTES;
  for (uint64_t i = 0; i < n; i++) put_list(b, d + i * TY_DIRECTORY_BYTES, 4);
  for (uint64_t i = 0; i < n; i++) put_list(b, d + i * TY_DIRECTORY_BYTES + 4, 4);
  for (uint64_t i = 0; i < n; i++) put_list(b, d + i * TY_DIRECTORY_BYTES + 8, 1);
}

void ty_builder_end(ty_lexical_builder *b) {
  uint8_t packed[TY_DICT_BLOCK_MOST];
  if (b->term_count == 0) return;
  uint8_t *fence = ty_builder_room(b, &b->fences, 8);
  uint32_t start = (uint32_t)b->entries.used;
  uint64_t bytes = ty_dict_pack(b->terms, b->term_count, b->r->count, packed);
  uint8_t *at = fence == NULL ? NULL : ty_builder_room(b, &b->entries, bytes);
  if (at != NULL) {
    memcpy(fence, &b->terms[0].hash, 4);
    memcpy(fence + 4, &start, 4);
    memcpy(at, packed, (size_t)bytes);
  }
  b->term_count = 0;
}

ty_status ty_builder_term(void *context, uint32_t hash) {
  ty_lexical_builder *b = context;
  ty_dict_entry *e = &b->terms[b->term_count];
  *e = (ty_dict_entry){
      .hash = hash, .df = (uint32_t)b->df, .doc = b->docs[0], .tf = b->tfs[0], .list = b->foot.lists_bytes};
  if (b->df > 1) {
    if (b->count == TY_BLOCK_DOCS) {
      put_block(b);
    } else {
      uint8_t stream[TY_BLOCK_DOCS * TY_STREAM_MOST];
      uint64_t bytes = 0, next = b->next;
      for (uint32_t i = 0; i < b->count; i++) {
        TY_ASSERT(b->docs[i] >= next && b->tfs[i] > 0);
        bytes += ty_stream_put(stream + bytes, b->docs[i] - next, b->tfs[i]);
        next = (uint64_t)b->docs[i] + 1;
      }
      put_list(b, stream, bytes);
      if (b->directory.used > 0) note(b);
    }
    if (b->list > UINT32_MAX) return ty_fail(b->err, TY_INVALID, "a term stands in too many rows for a lexical index");
    put_directory(b);
    e->bytes = b->list;
    b->foot.lists_bytes += b->list;
  }
  b->count = 0;
  b->next = b->df = b->list = b->directory.used = 0;
  b->foot.terms++;
  if (++b->term_count == TY_DICT_TERMS) ty_builder_end(b);
  if (b->entries.used > UINT32_MAX)
    return ty_fail(b->err, TY_INVALID, "the rows have too many terms for a lexical index");
  if (b->failed) return ty_builder_no_memory(b->err);
  if (b->foot.terms % TERMS_PER_LOOK != 0) return TY_OK;
  return ty_builder_look(b, TY_BUILD_ROWS_SHARE + (1 - TY_BUILD_ROWS_SHARE) * hash * 0x1p-32);
}
