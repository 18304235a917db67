/* A misspelt word: the terms of the words one edit from it that the rows searched have. */
#include <stdlib.h>

#include "lexical/unknown.h"

/* Of more terms near a word the most frequent ones: each costs the reading of a row, and of a short word near a hundred
 * others none is likely. */
#define TERMS_MOST 64u
/* Every edit of the longest word with the largest alphabet. */
#define EDITS_MOST 4096u
/* Of a letter of the Latin alphabet: left out, swapped, replaced, one inserted before it. */
#define EDITS_A_LETTER 53u

typedef struct edit {
  uint32_t text, bytes; /* its term, in ty_edits.text */
} edit;

typedef struct near_term {
  query_term term;
  uint64_t df;
  uint32_t first, count; /* of its edits among the sorted ones */
} near_term;

struct ty_edits {
  uint64_t sorted[EDITS_MOST], scratch[EDITS_MOST]; /* hash << 32 | number */
  edit edits[EDITS_MOST];
  near_term near[EDITS_MOST];
  uint32_t count, near_count;
  ty_buffer text;
};

void ty_spelling_free(ty_replacing *r) {
  if (r->edits != NULL) ty_buffer_free(&r->edits->text);
  free(r->edits);
  r->edits = NULL;
}

static void take_edit(void *context, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                      size_t word_bytes) {
  struct ty_edits *e = context;
  (void)word, (void)word_bytes;
  if (e->count == EDITS_MOST) return;
  e->edits[e->count] = (edit){(uint32_t)e->text.bytes, (uint32_t)term_bytes};
  e->sorted[e->count] = (uint64_t)hash << 32 | e->count;
  e->count++;
  ty_buffer_append(&e->text, term, term_bytes);
}

static void pass_over(void *context, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                      size_t word_bytes) {
  (void)context, (void)hash, (void)term, (void)term_bytes, (void)word, (void)word_bytes;
}

/* Whether the table of meanings has the word: then it is spelt right, and only missing. Without this "pills" was
 * searched as "mill" and "garbage" as "garage". */
static bool is_word(const question *q, const query_term *t) {
  const uint8_t *term = q->text.data + t->text;
  return q->c->env->kernel->term_partners(AME_PARTNERS_MEANING, term, t->text_bytes, pass_over, NULL) > 0;
}

bool ty_spelling_tries(const question *q, const query_term *t, uint64_t *edits) {
  ty_slice word = ty_term_word(q, t);
  uint32_t letters = 0;
  for (uint64_t i = 0; i < word.bytes; i++) {
    if (word.data[i] >= '0' && word.data[i] <= '9') return false;
    letters += (word.data[i] & 0xc0) != 0x80;
  }
  *edits = (uint64_t)(letters + 1) * EDITS_A_LETTER;
  if (letters < AME_EDIT_LETTERS_LEAST || letters > AME_EDIT_LETTERS_MOST) return false;
  return q->c->env->kernel->term_worth(q->text.data + t->text, t->text_bytes) >= 1 && !is_word(q, t);
}

static int by_frequency(const void *a, const void *b) {
  const near_term *x = a, *y = b;
  if (x->df != y->df) return x->df > y->df ? -1 : 1;
  return (x->term.hash > y->term.hash) - (x->term.hash < y->term.hash);
}

/* The hashes that the rows searched have, each once, with all its edits. */
static ty_status look_up(question *q, struct ty_edits *e, ty_error *err) {
  ty_sort_by_hash(e->sorted, e->scratch, e->count);
  e->near_count = 0;
  for (uint32_t i = 0; i < e->count;) {
    near_term n = {.term = {.hash = (uint32_t)(e->sorted[i] >> 32)}, .first = i};
    for (; i < e->count && e->sorted[i] >> 32 == n.term.hash; i++) n.count++;
    ty_status status = ty_question_look(q, &n.term, &n.df, err);
    if (status != TY_OK) return status;
    if (n.df > 0) e->near[e->near_count++] = n;
  }
  qsort(e->near, e->near_count, sizeof *e->near, by_frequency);
  if (e->near_count > TERMS_MOST) e->near_count = TERMS_MOST;
  return TY_OK;
}

ty_status ty_spelling(ty_replacing *r, const query_term *word, ty_partners *out, ty_error *err) {
  question *q = r->q;
  uint64_t about;
  if (!ty_spelling_tries(q, word, &about)) return TY_OK;
  if (r->edits == NULL) r->edits = calloc(1, sizeof *r->edits);
  struct ty_edits *e = r->edits;
  if (e == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  e->count = 0;
  e->text.bytes = 0;
  ty_slice folded = ty_term_word(q, word);
  q->c->env->kernel->term_edits(folded.data, (size_t)folded.bytes, take_edit, e);
  if (e->text.failed) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  ty_status status = look_up(q, e, err);
  for (uint32_t i = 0; i < e->near_count && status == TY_OK && out->count < TY_PARTNERS_MOST; i++) {
    near_term *n = &e->near[i];
    ty_slice terms[8];
    uint32_t count = n->count < 8 ? n->count : 8;
    bool found;
    for (uint32_t k = 0; k < count; k++) {
      const edit *one = &e->edits[(uint32_t)e->sorted[n->first + k]];
      terms[k] = (ty_slice){e->text.data + one->text, one->bytes};
    }
    status = ty_sample_text(r, &n->term, terms, count, &found, err);
    if (status == TY_OK && found) out->items[out->count++] = n->term;
  }
  return status;
}
