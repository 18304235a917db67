/* Another word for one that the rows searched do not have: of like meaning, or in another language. */

#include "lexical/unknown.h"

/* A question with more known terms than these says without the unknown one what it is about. By words, messages of
 * commits over code lost .004 where partners were always searched for, and lose .001 with this bound; other sets change
 * by at most .0003. Four and six are as good. */
#define KNOWN_MOST 5u
/* Terms of less worth, of every second text, do not count as known. */
#define KNOWN_WORTH 0.6f

/* The partners of a word in one table. */
typedef struct listed {
  uint32_t hashes[AME_PARTNERS_MOST], bytes[AME_PARTNERS_MOST], count;
  uint8_t terms[AME_PARTNERS_MOST][64];
} listed;

static void take_partner(void *context, uint32_t hash, const uint8_t *term, size_t term_bytes, const uint8_t *word,
                         size_t word_bytes) {
  listed *l = context;
  (void)word, (void)word_bytes;
  TY_ASSERT(l->count < AME_PARTNERS_MOST && term_bytes <= sizeof l->terms[0]);
  memcpy(l->terms[l->count], term, term_bytes);
  l->hashes[l->count] = hash;
  l->bytes[l->count++] = (uint32_t)term_bytes;
}

static bool has(const ty_partners *p, uint32_t hash) {
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->items[i].hash == hash) return true;
  }
  return false;
}

bool ty_other_words_help(const question *q) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < q->count; i++) {
    const query_term *t = &q->terms[i];
    if (t->instead != TY_NO_TERM || t->label) continue;
    known += q->c->env->kernel->term_worth(q->text.data + t->text, t->text_bytes) >= KNOWN_WORTH;
  }
  return known <= KNOWN_MOST;
}

ty_status ty_other_words(ty_replacing *r, const query_term *word, ty_partners *out, ty_error *err) {
  static const uint32_t kinds[] = {AME_PARTNERS_MEANING, AME_PARTNERS_LANGUAGE};
  question *q = r->q;
  ty_status status = TY_OK;
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    listed l = {.count = 0};
    q->c->env->kernel->term_partners(kinds[k], q->text.data + word->text, word->text_bytes, take_partner, &l);
    for (uint32_t i = 0; i < l.count && status == TY_OK && out->count < TY_PARTNERS_MOST; i++) {
      query_term t = {.hash = l.hashes[i]};
      ty_slice term = {l.terms[i], l.bytes[i]};
      uint64_t df;
      bool found = false;
      status = ty_question_look(q, &t, &df, err);
      if (status == TY_OK && df > 0 && !has(out, t.hash)) status = ty_sample_text(r, &t, &term, 1, &found, err);
      if (status == TY_OK && found) out->items[out->count++] = t;
    }
  }
  return status;
}
