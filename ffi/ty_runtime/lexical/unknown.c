/* Terms that the rows searched have, for words of a question that they do not have. */
#include <math.h>

#include "lexical/unknown.h"

/* A partner's share of the weight that its own rarity gives it, divided by the root of how many the word has. Mean gain
 * of nDCG@10 where one word of each question of seven development sets is misspelt, by words and fused: divided by the
 * root .038 and .029, by the number .036 and .028, not divided .038 and .030, and then questions as they are lose up to
 * .0009. The weight of the unknown word itself in place of the partner's lost .012 there. */
#define SHARE_SPELLING 0.7
/* For questions as they are, over samples of 40 to 100 rows of the same sets, 0.3, 0.5 and 0.7 gain .0007, .0008 and
 * .0001 by words; the most that a set loses of it is 0, .0005 and .0010. */
#define SHARE_OTHER 0.5
/* Of all rows' texts that are read to see whether they have a partner; a row's first kilobyte mostly tells. */
#define SAMPLE_BYTES ((uint64_t)1 << 20)

uint64_t ty_unknown_edits(const question *q) {
  uint64_t all = 0, edits;
  for (uint32_t i = 0; i < q->unknown_count; i++) {
    if (ty_spelling_tries(q, &q->unknown[i], &edits)) all += edits;
  }
  return all;
}

/* Adds a partner to one question of a chain, whose first one has its bytes; not one that it has anyway. */
static ty_status add_one(question *q, const question *first, query_term t, ty_error *err) {
  uint32_t known = q->bag.count, number = ty_bag_add(&q->bag, t.hash);
  if (number != TY_NO_TERM && number < known) return TY_OK;
  if (q != first) {
    uint64_t from = t.text;
    ty_status status = ty_question_lists(q, &t, err);
    q->failed = status != TY_OK;
    if (status != TY_OK) return status;
    t.text = q->text.bytes;
    ty_buffer_append(&q->text, first->text.data + from, (uint64_t)t.text_bytes + t.word_bytes + t.shown_bytes);
  }
  if (number == TY_NO_TERM || q->text.failed || !ty_question_add(q, &t))
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for a query");
  return TY_OK;
}

/* Adds the partners of an unknown word to the questions of a chain. */
static ty_status add(question *chain, uint32_t unknown, ty_partners *p, double share, ty_error *err) {
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < p->count; i++) {
    query_term *t = &p->items[i];
    t->count = chain->unknown[unknown].count;
    t->instead = unknown;
    t->share = share / sqrt(p->count);
    t->information = share * chain->unknown[unknown].information;
    for (question *q = chain; q != NULL && status == TY_OK; q = q->next) status = add_one(q, chain, *t, err);
  }
  return status;
}

ty_status ty_unknown_replace(question *q, ty_error *err) {
  ty_replacing r = {.q = q, .text_left = SAMPLE_BYTES};
  bool others = ty_other_words_help(q);
  ty_status status = TY_OK;
  for (uint32_t i = 0; i < q->unknown_count && status == TY_OK && q->docs > 0; i++) {
    ty_partners partners = {.count = 0};
    status = ty_spelling(&r, &q->unknown[i], &partners, err);
    bool spelt = partners.count > 0;
    if (status == TY_OK && !spelt && others) status = ty_other_words(&r, &q->unknown[i], &partners, err);
    if (status == TY_OK) status = add(q, i, &partners, spelt ? SHARE_SPELLING : SHARE_OTHER, err);
  }
  ty_spelling_free(&r);
  return status;
}
