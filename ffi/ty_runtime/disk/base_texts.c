/* Writing the texts of a base: coded with a table of symbols (rows/symbols.h) where that makes them shorter.
 *
 * Rows of the base before have coded texts, which are copied as they are as long as its table is kept. When as many
 * texts were added as the base had when its table was made or last compared, a new one is made of a sample of all
 * texts. If that leaves 5 % less, it takes the place of the old one, and all texts are coded again. So the table fits a
 * collection that grows, and one whose rows are replaced, and one that stays the same is coded once. */
#include <stdlib.h>
#include <string.h>

#include "disk/base_writer.h"
#include "rows/symbols_sample.h"

typedef struct texts {
  base_writer *w;
  ty_symbols symbols;     /* of the new base, if `coder` is not NULL */
  ty_symbol_coder *coder; /* NULL: the texts are not coded */
  bool kept;              /* the symbols are those of the base before */
  double bytes;           /* of all texts, about */
  uint64_t count, fresh;  /* texts that are not empty, and those of them that are not in the base before */
  ty_text_reader reader;
  ty_buffer coded;
  ty_growing lengths; /* u32: of each row as stored */
} texts;

static void fail_memory(texts *t) { ty_slab_no_memory(&t->w->slab); }

/* Its checksum fits: it was not written by a writer. */
static void fail_malformed(texts *t) {
  if (t->w->slab.status == TY_OK)
    t->w->slab.status = ty_fail(t->w->slab.err, TY_CORRUPT, "a text of the base is malformed");
}

static ty_slice text_of(texts *t, ty_ref row) {
  bool present;
  ty_slice text = ty_row_text(row.segment, row.at, &t->reader, &present);
  if (t->reader.text.failed) fail_memory(t);
  if (t->reader.damaged) fail_malformed(t);
  return text;
}

static void count(texts *t) {
  const ty_rebase *r = t->w->r;
  const ty_segment *base = &r->c->base;
  uint64_t coded = 0, plain = 0;
  for (uint64_t i = 0; i < r->count; i++) {
    const ty_segment *s = r->rows[i].segment;
    const uint64_t bytes = ty_row_stored_text(s, r->rows[i].at).bytes;
    *(s->is_base && s->symbols != NULL ? &coded : &plain) += bytes;
    t->count += bytes > 0;
    t->fresh += bytes > 0 && !s->is_base;
  }
  t->bytes = (double)plain;
  if (coded > 0)
    t->bytes += (double)base->symbols->head.text_bytes * (double)coded / (double)base->text_ends[base->count - 1];
}

static ty_ref sampled(const void *context, uint64_t i) {
  const ty_rebase *r = context;
  const uint64_t bytes = ty_row_stored_text(r->rows[i].segment, r->rows[i].at).bytes;
  ty_rebase_read(r, r->rows[i], TY_SCATTERED + (bytes < TY_SAMPLED_BYTES ? bytes : TY_SAMPLED_BYTES));
  return r->rows[i];
}

/* Chooses symbols by a sample, if coding pays. */
static void train(texts *t, const ty_symbols *old) {
  const ty_rebase *r = t->w->r;
  double share;
  if (!ty_symbols_of_rows(&(ty_text_rows){sampled, r, r->count}, &t->reader, old, &t->symbols, &share)) fail_memory(t);
  if (t->reader.damaged) fail_malformed(t);
  t->symbols.head.trained = (uint32_t)t->count;
  t->kept = old != NULL && memcmp(t->symbols.symbols, old->symbols, sizeof old->symbols) == 0 &&
            memcmp(t->symbols.lengths, old->lengths, sizeof old->lengths) == 0;
}

/* Chooses the symbols of the new base. */
static void choose(texts *t) {
  const ty_collection *c = t->w->r->c;
  const ty_symbols *old = c->base.symbols;
  if (old != NULL && old->head.count == 0) old = NULL; /* they are damaged */
  if (t->bytes < (double)c->env->coded_from) return;
  if (old == NULL || old->head.added + t->fresh >= old->head.trained) {
    train(t, old);
  } else {
    t->symbols = *old;
    t->symbols.head.added += (uint32_t)t->fresh;
    t->symbols.head.text_bytes = 0;
    t->kept = true;
  }
  if (t->symbols.head.count == 0) return;
  t->coder = ty_symbol_coder_new(&t->symbols);
  if (t->coder == NULL) fail_memory(t);
}

/* The row's text as it is to be stored. */
static ty_slice stored_text(texts *t, ty_ref row) {
  uint64_t *bytes = &t->symbols.head.text_bytes;
  if (t->kept && row.segment->is_base) {
    const ty_slice stored = ty_row_stored_text(row.segment, row.at);
    const uint64_t decoded = ty_row_text_bytes(row.segment, row.at);
    if (decoded == 0 && stored.bytes > 0) fail_malformed(t);
    *bytes += decoded;
    return stored;
  }
  const ty_slice text = text_of(t, row);
  if (t->coder == NULL) return text;
  t->coded.bytes = 0;
  ty_symbols_encode(t->coder, text, &t->coded);
  if (t->coded.failed) fail_memory(t);
  *bytes += text.bytes;
  return (ty_slice){t->coded.data, t->coded.bytes};
}

static void put_texts(texts *t) {
  base_writer *w = t->w;
  ty_slab_section_start(&w->slab, TY_SECTION_TEXTS);
  for (uint64_t i = 0; i < w->r->count && base_go_on(w, i); i++) {
    const ty_slice s = stored_text(t, w->r->rows[i]);
    uint32_t *length = ty_growing_room(ty_dir_of(w->r->c), &t->lengths, sizeof *length);
    if (length == NULL) fail_memory(t);
    else *length = (uint32_t)s.bytes;
    base_append(w, s.data, s.bytes, NULL);
  }
  ty_slab_section_end(&w->slab);
}

static void put_ends(texts *t) {
  base_writer *w = t->w;
  const uint32_t *lengths = t->lengths.memory.data;
  uint64_t end = 0;
  ty_slab_section_start(&w->slab, TY_SECTION_TEXT_ENDS);
  for (uint64_t i = 0; i < w->r->count && w->slab.status == TY_OK; i++) {
    end += lengths[i];
    ty_slab_append(&w->slab, &end, sizeof end);
  }
  ty_slab_section_end(&w->slab);
}

void base_put_texts(base_writer *w) {
  texts t = {.w = w};
  count(&t);
  if (t.count == 0) return;
  choose(&t);
  put_texts(&t);
  if (t.coder != NULL) {
    ty_symbols_put(&t.symbols, &w->symbols);
    if (w->symbols.failed) fail_memory(&t);
    ty_slab_section_put(&w->slab, TY_SECTION_SYMBOLS, w->symbols.data, w->symbols.bytes);
  }
  put_ends(&t);
  base_put_crcs(w, TY_SECTION_TEXT_SUMS);
  ty_buffer_free(&t.reader.text);
  ty_buffer_free(&t.coded);
  ty_spill_free(w->r->c->env, &t.lengths.memory);
  free(t.coder);
}

void base_put_symbols_again(base_writer *w) {
  if (w->symbols.bytes > 0) ty_slab_section_put(&w->slab, TY_SECTION_SYMBOLS_AGAIN, w->symbols.data, w->symbols.bytes);
  ty_buffer_free(&w->symbols);
}
