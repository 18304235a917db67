/* The stored form of the lexical index. All integers little-endian, sections 64-byte aligned and zero-padded, in this order:
 *
 *   header, 64 bytes: magic "TYLEX001", k1 f64, b f64, docs u64, tokens u64, terms u64, postings bytes u64, total bytes u64
 *   lengths   u32 * docs     tokens of each row, by position in the base
 *   hashes    u32 * terms    ascending
 *   dfs       u32 * terms    rows that hold the term
 *   offsets   u64 * (terms + 1) into the postings, ascending
 *   postings  for each term its rows in ascending position: LEB128 of 2 * gap + (tf is 1), then LEB128 of tf where it is not 1.
 *             gap is the position less the one before; for the first the position itself
 *
 * Built in two passes over the rows' terms: the first counts bytes, the second writes each posting where it belongs. Memory is the index
 * itself plus about 40 bytes a distinct term; nothing is sorted but the distinct terms.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lexical.h"

#define ROWS_PER_LOOK 1024u
/* Beyond this the norms leave the range of a float, and ranking by tf has long been linear. */
#define K1_MAX 1e6

typedef struct builder {
  const ty_rebase *r;
  ty_bag bag;
  uint32_t capacity;
  uint32_t *df, *last; /* by number: rows so far, and the last row's position */
  uint64_t *bytes;     /* first pass: bytes of the postings; second pass: where the next goes */
} builder;

static uint64_t leb_bytes(uint64_t v) {
  uint64_t n = 1;
  for (; v >= 128; v >>= 7) n++;
  return n;
}

static uint64_t section(uint64_t *at, uint64_t bytes) {
  uint64_t start = *at;
  *at = (start + bytes + 63) & ~(uint64_t)63;
  return start;
}

bool ty_lexical_place(const ty_lexical_header *h, ty_lexical_layout *out) {
  if (h->docs > UINT32_MAX || h->terms > UINT32_MAX || h->postings_bytes > UINT64_MAX / 4) return false;
  uint64_t at = sizeof *h;
  out->lengths = section(&at, h->docs * 4);
  out->hashes = section(&at, h->terms * 4);
  out->dfs = section(&at, h->terms * 4);
  out->offsets = section(&at, (h->terms + 1) * 8);
  out->postings = section(&at, h->postings_bytes);
  out->total = at;
  return true;
}

static bool grow(builder *b) {
  if (b->capacity >= b->bag.capacity) return true;
  size_t n = b->bag.capacity;
  uint32_t *df = realloc(b->df, n * sizeof *df);
  if (df != NULL) b->df = df;
  uint32_t *last = realloc(b->last, n * sizeof *last);
  if (last != NULL) b->last = last;
  uint64_t *bytes = realloc(b->bytes, n * sizeof *bytes);
  if (bytes != NULL) b->bytes = bytes;
  if (df == NULL || last == NULL || bytes == NULL) return false;
  b->capacity = (uint32_t)n;
  return true;
}

static ty_status no_memory(ty_error *err) {
  return ty_fail(err, TY_NO_MEMORY, "not enough memory to build the lexical index");
}

/* One pass over all rows. `postings` NULL: counts, and fills `lengths`. Else: writes. */
static ty_status pass(builder *b, uint32_t *lengths, uint64_t *tokens, uint8_t *postings, uint64_t postings_end,
                      ty_error *err) {
  const ty_rebase *r = b->r;
  for (uint64_t at = 0; at < r->count; at++) {
    if (at % ROWS_PER_LOOK == 0) {
      ty_rebase_progress(r, TY_PHASE_LEXICAL, at + (postings != NULL ? r->count : 0), 2 * r->count);
      if (ty_cancelled(r->progress)) return ty_fail(err, TY_CANCELLED, "the build of the lexical index was cancelled");
    }
    ty_ref ref = r->rows[at];
    ty_term_reader reader;
    bool whole = ty_terms_open(&reader, ty_row_terms(ref.segment, ref.at));
    while (whole && ty_terms_next(&reader)) {
      uint32_t known = b->bag.count,
               number = postings == NULL ? ty_bag_add(&b->bag, reader.hash) : ty_bag_find(&b->bag, reader.hash);
      if (number == TY_NO_TERM || !grow(b)) return no_memory(err);
      if (number == known) b->df[number] = 0, b->last[number] = 0, b->bytes[number] = 0;
      uint64_t gap = 2 * (at - b->last[number]) + (reader.tf == 1);
      if (postings == NULL) {
        b->bytes[number] += leb_bytes(gap) + (reader.tf == 1 ? 0 : leb_bytes(reader.tf));
      } else {
        uint8_t one[20];
        uint64_t n = ty_leb_put(one, gap);
        if (reader.tf != 1) n += ty_leb_put(one + n, reader.tf);
        if (n > postings_end - b->bytes[number])
          break; /* the terms changed between the passes: reported below as damaged */
        memcpy(postings + b->bytes[number], one, (size_t)n);
        b->bytes[number] += n;
      }
      b->df[number]++;
      b->last[number] = (uint32_t)at;
    }
    if (!whole || reader.seen != reader.distinct) {
      return ty_fail(err, TY_CORRUPT, "the stored terms of row %" PRIu64 " are damaged", ref.segment->row[ref.at]);
    }
    if (lengths != NULL) lengths[at] = (uint32_t)reader.tokens;
    if (tokens != NULL) *tokens += reader.tokens;
  }
  return TY_OK;
}

ty_status ty_lexical_encode(const ty_rebase *r, ty_buffer *out, ty_error *err) {
  if (!(r->k1 >= 0 && r->k1 <= K1_MAX)) return ty_fail(err, TY_INVALID, "k1 must be in [0, %g], not %g", K1_MAX, r->k1);
  if (!(r->b >= 0 && r->b <= 1)) return ty_fail(err, TY_INVALID, "b must be in [0, 1], not %g", r->b);
  if (r->count > UINT32_MAX / 2) return ty_fail(err, TY_INVALID, "a lexical index holds at most 2,147,483,647 rows");
  ty_lexical_header header = {.k1 = r->k1, .b = r->b, .docs = r->count};
  ty_lexical_layout place;
  builder b = {.r = r};
  uint64_t *order = NULL;
  uint32_t *lengths = malloc((size_t)(r->count + 1) * sizeof *lengths);
  ty_status status = lengths == NULL ? no_memory(err) : pass(&b, lengths, &header.tokens, NULL, 0, err);
  if (status != TY_OK) goto done;

  uint64_t n = b.bag.count;
  header.terms = n;
  for (uint64_t i = 0; i < n; i++) header.postings_bytes += b.bytes[i];
  order = malloc((size_t)(2 * n + 1) * sizeof *order);
  memcpy(header.magic, TY_LEXICAL_MAGIC, sizeof header.magic);
  uint64_t end, start = out->bytes;
  if (order == NULL || !ty_lexical_place(&header, &place) || !ty_add(start, place.total, &end) || end > SIZE_MAX) {
    status = no_memory(err);
    goto done;
  }
  header.total = place.total;
  if (out->capacity < end) { /* one exact growth: doubling would cost a second index in memory */
    uint8_t *grown = realloc(out->data, (size_t)end);
    if (grown == NULL) {
      status = no_memory(err);
      goto done;
    }
    out->data = grown;
    out->capacity = end;
  }
  uint8_t *to = out->data + start;
  memset(to, 0, (size_t)place.total);
  memcpy(to, &header, sizeof header);
  if (r->count != 0) memcpy(to + place.lengths, lengths, (size_t)r->count * 4);
  for (uint64_t i = 0; i < n; i++) order[i] = (uint64_t)b.bag.hash[i] << 32 | i;
  ty_sort_by_hash(order, order + n, n);
  uint64_t offset = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint32_t number = (uint32_t)order[i];
    memcpy(to + place.hashes + 4 * i, &b.bag.hash[number], 4);
    memcpy(to + place.dfs + 4 * i, &b.df[number], 4);
    memcpy(to + place.offsets + 8 * i, &offset, 8);
    uint64_t bytes = b.bytes[number];
    b.bytes[number] = offset;
    b.last[number] = 0;
    offset += bytes;
  }
  memcpy(to + place.offsets + 8 * n, &offset, 8);
  status = pass(&b, NULL, NULL, to + place.postings, header.postings_bytes, err);
  if (status == TY_OK) out->bytes = end;
done:
  free(order);
  free(lengths);
  free(b.df);
  free(b.last);
  free(b.bytes);
  ty_bag_free(&b.bag);
  return status;
}
