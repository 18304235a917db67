/* Writing the stored form (format.h) front to back. One pass over the rows yields their lengths and, in runs, the
 * postings of those that the index before does not have; then the lists are written while the runs are merged with the
 * index before. Of memory that grows with the rows there are only the lengths, the dictionary, the new positions and
 * the postings of one list, in files where they are large (os/spill.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "lexical/builder.h"
#include "lexical/index.h"
#include "lexical/stored_terms.h"

#define ROWS_PER_LOOK 256u

static void pad(ty_lexical_builder *b, uint64_t bytes) {
  static const uint8_t zeros[64];
  ty_builder_put(b, zeros, bytes);
}

/* ---- The rows ---- */

static void take_hash(void *context, uint32_t hash) {
  ty_lexical_builder *b = context;
  b->length++;
  ty_runs_add(&b->runs, hash, 1);
}

static ty_status read_row(ty_lexical_builder *b, ty_ref row) {
  const ame_kernel *k = b->r->c->env->kernel;
  if (b->r->live_only && row.segment->dead[row.at] != 0) {
    b->length = 0;
    return TY_OK;
  }
  if (row.segment->is_base && b->r->kept != NULL) {
    b->length = b->r->kept->image.lengths[row.at];
    return TY_OK;
  }
  ty_term_reader reader;
  bool has_text, whole = ty_terms_open(&reader, ty_row_terms(row.segment, row.at));
  ty_slice text = ty_row_text(row.segment, row.at, &b->reader, &has_text);
  if (b->reader.text.failed) return ty_builder_no_memory(b->err);
  b->length = 0;
  /* As ty_tally_row, but the tokens go straight to the runs, which sort and count them. A delta row with both text
   * and terms gives its terms, unless the tokeniser has changed. */
  if (ty_terms_are_of_text(&reader, has_text, k)) {
    k->token_hashes(ty_token_cache(&b->cache, &b->texts), text.data, (size_t)text.bytes, take_hash, b);
  } else if (row.segment->is_base && ty_row_has_terms(row.segment, row.at)) {
    return ty_stored_terms_refusal(ty_stored_terms_lost(b->r->c), b->err);
  } else {
    while (whole && ty_terms_next(&reader)) {
      ty_runs_add(&b->runs, reader.hash, reader.tf);
      if (reader.sum > reader.tokens + TY_LABELS_MAX) break; /* malformed: add no more */
    }
    b->length = reader.tokens;
    if (!whole || !ty_terms_whole(&reader, has_text))
      return ty_fail(b->err, TY_CORRUPT, "the stored terms of row %" PRIu64 " are damaged", row.segment->row[row.at]);
  }
  uint64_t apart = row.segment == b->before.segment && row.at == b->before.at + 1 ? 0 : TY_SCATTERED;
  ty_rebase_read(b->r, row, apart + (has_text ? text.bytes : reader.distinct * sizeof(uint32_t)));
  b->before = row;
  if (b->length > INT32_MAX) return ty_fail(b->err, TY_INVALID, "a text has too many terms");
  return b->runs.failed ? ty_builder_no_memory(b->err) : TY_OK;
}

static ty_status read_rows(ty_lexical_builder *b) {
  const ty_rebase *r = b->r;
  ty_status status = TY_OK;
  uint32_t *lengths = ty_builder_room(b, &b->lengths, r->count * sizeof *lengths);
  if (lengths == NULL) return ty_builder_no_memory(b->err);
  for (uint64_t at = 0; at < r->count && status == TY_OK; at++) {
    if (at % ROWS_PER_LOOK == 0) status = ty_builder_look(b, TY_BUILD_ROWS_SHARE * (double)at / (double)r->count);
    if (status != TY_OK) break;
    ty_runs_row(&b->runs, at);
    status = read_row(b, r->rows[at]);
    lengths[at] = (uint32_t)b->length;
    b->foot.tokens += b->length;
  }
  return status;
}

/* ---- The whole ---- */

static ty_status build(ty_lexical_builder *b) {
  const ty_rebase *r = b->r;
  const ame_kernel *k = r->c->env->kernel;
  ty_lexical_head head = {
      .k1 = r->k1, .b = r->b, .docs = r->count, .version = k->token_version(), .built = r->lexical_built};
  ty_lexical_layout place;
  ty_status status = read_rows(b);
  if (status != TY_OK) return status;
  b->norms = ty_lexical_norms(r->k1, r->b, ty_mean_length(b->foot.tokens, r->count));
  b->norms.weight = 0x1p24f;
  ty_builder_put(b, &head, sizeof head);
  status = ty_builder_merge(b);
  if (status != TY_OK) return status;
  ty_builder_end(b);
  if (b->failed) return ty_builder_no_memory(b->err);
  b->foot.entries_bytes = b->entries.used;
  if (!ty_lexical_place(r->count, &b->foot, &place))
    return ty_fail(b->err, TY_INVALID, "the rows are too many for a lexical index");
  pad(b, place.lengths - sizeof head - b->foot.lists_bytes);
  ty_builder_put(b, ty_builder_lengths(b), b->lengths.used);
  ty_builder_put(b, b->fences.memory.data, b->fences.used);
  ty_builder_put(b, b->entries.memory.data, b->entries.used);
  pad(b, place.foot - place.entries - b->entries.used);
  b->foot.crc = k->crc32c(k->crc32c(0, &head, sizeof head), &b->foot, sizeof b->foot - sizeof b->foot.crc);
  ty_builder_put(b, &b->foot, sizeof b->foot);
  ty_builder_flush(b);
  return b->unwritten ? TY_IO : TY_OK;
}

ty_status ty_lexical_check(double k1, double b, ty_error *err) {
  if (!(k1 >= 0 && k1 <= TY_LEXICAL_K1_MAX))
    return ty_fail(err, TY_INVALID, "k1 must be in [0, %.0f], not %g", TY_LEXICAL_K1_MAX, k1);
  return b >= 0 && b <= 1 ? TY_OK : ty_fail(err, TY_INVALID, "b must be in [0, 1], not %g", b);
}

ty_status ty_lexical_encode(const ty_rebase *r, const ty_lexical_sink *sink, ty_error *err) {
  ty_status status = ty_lexical_check(r->k1, r->b, err);
  if (status != TY_OK) return status;
  ty_lexical_builder *b = calloc(1, sizeof *b);
  if (b == NULL) return ty_builder_no_memory(err);
  b->r = r;
  b->sink = sink;
  b->err = err;
  ty_runs_open(&b->runs, r->c);
  status = build(b);
  ty_runs_free(&b->runs);
  ty_buffer_free(&b->reader.text);
  ty_spill_free(r->c->env, &b->lengths.memory);
  ty_spill_free(r->c->env, &b->fences.memory);
  ty_spill_free(r->c->env, &b->entries.memory);
  ty_spill_free(r->c->env, &b->directory.memory);
  free(b->cache);
  free(b);
  return status;
}
