/* Reading the list of one term: its directory and each block are compared with their checksums first, and read as
 * untrusted input all the same: a block's positions must ascend to the last one in the directory. A damaged list fails
 * the query. */
#include "lexical/question.h"

static ty_status damaged(ty_error *err) { return ty_lexical_damaged(err, "postings"); }

/* Unpacks up to `most` postings of a stream. */
static void fill(ty_cursor *c, uint32_t most) {
  c->count = ty_stream_get(&c->at, c->end, &c->next, c->limit, most, c->p->docs, c->p->tfs);
  c->last = c->count > 0 ? c->p->docs[c->count - 1] : 0;
  c->from = 0;
  c->has_tfs = true;
  c->has_parts = false;
}

/* The next postings of a list that is a stream alone: all of a stored one, some of the delta's. */
static ty_status stream_on(ty_cursor *c, ty_error *err) {
  c->ended = c->at == c->end;
  if (c->ended) return TY_OK;
  fill(c, c->rest > 0 ? c->rest : TY_BLOCK_DOCS);
  bool good = c->rest > 0 ? c->count == c->rest && c->at == c->end : c->count > 0;
  return good ? TY_OK : damaged(err);
}

static ty_status open_stored(ty_cursor *c, const question *q, ty_error *err) {
  const ty_lexical_image *image = &q->x->image;
  const ty_dict_entry *e = &c->term->stored;
  c->image = image;
  c->limit = image->docs;
  c->lengths = image->lengths;
  c->ended = e->df == 0;
  if (e->df <= 1) {
    c->p->docs[0] = c->last = e->doc;
    c->p->tfs[0] = e->tf;
    c->count = e->df;
    c->has_tfs = true;
    return TY_OK;
  }
  c->list = image->lists + e->list;
  c->rest = e->df % TY_BLOCK_DOCS;
  uint64_t data = e->bytes;
  if (e->df >= TY_BLOCK_DOCS) {
    c->blocks = e->df / TY_BLOCK_DOCS + (c->rest > 0);
    if (data < (uint64_t)c->blocks * TY_DIRECTORY_BYTES) return damaged(err);
    data -= (uint64_t)c->blocks * TY_DIRECTORY_BYTES;
    c->directory = c->list + data;
    c->bound = (double)c->term->part.weight * q->drift / TY_BOUND_ONE;
  }
  c->at = c->list;
  c->end = c->list + data;
  if (!ty_image_good(image, c->list + (c->directory == NULL ? 0 : data), c->directory == NULL ? data : e->bytes - data))
    return damaged(err);
  return c->directory == NULL ? stream_on(c, err) : TY_OK;
}

ty_status ty_cursor_open(ty_cursor *c, const question *q, const query_term *t, bool delta, ty_postings *memory,
                         ty_error *err) {
  *c = (ty_cursor){.term = t, .k = q->c->env->kernel, .p = memory};
  if (!delta) return open_stored(c, q, err);
  c->limit = q->x->delta_count;
  c->lengths = q->x->delta_lengths;
  if (t->added != TY_NO_TERM) {
    const ty_list *list = &q->x->change[t->added].list;
    c->at = list->bytes;
    c->end = list->used == 0 ? list->bytes : list->bytes + list->used;
  }
  return stream_on(c, err);
}

ty_status ty_cursor_next(ty_cursor *c, ty_error *err) {
  if (c->directory == NULL) return stream_on(c, err);
  c->count = c->from = 0;
  c->has_tfs = c->has_parts = false;
  c->ended = ++c->block == c->blocks;
  return TY_OK;
}

ty_status ty_cursor_seek(ty_cursor *c, uint64_t doc, ty_error *err) {
  ty_status status = TY_OK;
  if (c->directory == NULL) {
    while (status == TY_OK && !c->ended && ty_cursor_last(c) < doc) status = stream_on(c, err);
    return status;
  }
  if (c->ended || ty_cursor_last(c) >= doc) return TY_OK;
  /* Steps that double, then a binary search: it is nearly always the next block, but another partition's may be far. */
  uint32_t low = c->block + 1, step = 1, high = low;
  while (high < c->blocks && ty_load32(c->directory + 4ull * high) < doc) {
    low = high + 1;
    high = c->blocks - high > step ? high + step : c->blocks;
    step *= 2;
  }
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (ty_load32(c->directory + 4ull * middle) < doc) low = middle + 1;
    else high = middle;
  }
  c->block = low;
  c->count = c->from = 0;
  c->has_tfs = c->has_parts = false;
  c->ended = low == c->blocks;
  return TY_OK;
}

/* Where the block's bytes are. False where they are damaged. */
static bool block_bytes(const ty_cursor *c, const uint8_t **block, uint64_t *bytes) {
  TY_ASSERT(c->directory != NULL && c->block < c->blocks);
  const uint8_t *ends = c->directory + 4ull * c->blocks;
  uint64_t start = c->block == 0 ? 0 : ty_load32(ends + 4ull * (c->block - 1)), end = ty_load32(ends + 4ull * c->block);
  if (start > end || end > (uint64_t)(c->end - c->list)) return false;
  *block = c->list + start;
  *bytes = end - start;
  return ty_image_good(c->image, *block, *bytes);
}

ty_status ty_cursor_docs(ty_cursor *c, ty_error *err) {
  const uint8_t *block;
  uint64_t bytes, first = ty_cursor_first(c);
  if (c->count > 0) return TY_OK;
  uint32_t last = ty_cursor_last(c);
  if (last >= c->limit || !block_bytes(c, &block, &bytes)) return damaged(err);
  if (c->block + 1 == c->blocks && c->rest > 0) {
    c->at = block;
    c->next = first;
    fill(c, c->rest);
    return c->count == c->rest && c->last == last ? TY_OK : damaged(err);
  }
  if (!ty_block_docs(c->k, block, bytes, first, last, c->p->docs)) return damaged(err);
  c->count = TY_BLOCK_DOCS;
  c->from = 0;
  return TY_OK;
}

static ty_status need_tfs(ty_cursor *c, ty_error *err) {
  const uint8_t *block;
  uint64_t bytes;
  if (c->has_tfs) return TY_OK;
  if (!block_bytes(c, &block, &bytes) || !ty_block_tfs(c->k, block, bytes, c->p->tfs)) return damaged(err);
  c->has_tfs = true;
  return TY_OK;
}

ty_status ty_cursor_tfs(ty_cursor *c, ty_error *err) {
  ty_status status = ty_cursor_docs(c, err);
  return status == TY_OK ? need_tfs(c, err) : status;
}

ty_status ty_cursor_parts(ty_cursor *c, ty_error *err) {
  if (c->count > 0 && c->has_parts) return TY_OK;
  ty_status status = ty_cursor_tfs(c, err);
  if (status != TY_OK) return status;
  c->k->bm25_parts(&c->term->part, c->p->docs, c->p->tfs, c->lengths, c->count, c->p->parts);
  c->has_parts = true;
  return TY_OK;
}

uint32_t ty_cursor_lower(const ty_cursor *c, uint64_t doc) {
  TY_ASSERT(c->from <= c->count);
  const uint32_t *docs = c->p->docs + c->from;
  uint32_t n = c->count - c->from, base = 0;
  while (n > 0) {
    uint32_t half = n / 2;
    bool below = docs[base + half] < doc;
    base = below ? base + half + 1 : base;
    n = below ? n - half - 1 : half;
  }
  return c->from + base;
}

ty_status ty_cursor_find(ty_cursor *c, uint64_t doc, uint32_t *tf, ty_error *err) {
  *tf = 0;
  ty_status status = c->ended ? TY_OK : ty_cursor_docs(c, err);
  if (status != TY_OK || c->ended) return status;
  c->from = ty_cursor_lower(c, doc);
  if (c->from == c->count || c->p->docs[c->from] != doc) return TY_OK;
  status = need_tfs(c, err);
  if (status == TY_OK) *tf = c->p->tfs[c->from];
  return status;
}

uint32_t ty_cursor_part(const ty_cursor *c, uint32_t doc, uint32_t tf) {
  uint32_t part;
  c->k->bm25_parts(&c->term->part, &doc, &tf, c->lengths, 1, &part);
  return part;
}
