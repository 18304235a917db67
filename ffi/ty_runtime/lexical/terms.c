/* Reading a row's stored terms; tally.c writes them. */

#include "lexical/bits.h"
#include "lexical/terms.h"
#include "ty_runtime.h"

unsigned ty_terms_parameter(uint64_t distinct) {
  unsigned top = distinct <= 1 ? 0 : 63 - (unsigned)__builtin_clzll(distinct);
  return top > 31 ? 0 : 31 - top;
}

bool ty_terms_open(ty_term_reader *r, ty_slice terms) {
  memset(r, 0, sizeof *r);
  if (terms.bytes == 0) return true;
  r->version = terms.data[0];
  r->at = terms.data + 1;
  r->end = terms.data + terms.bytes;
  if (r->version == 0 || !ty_leb_get(&r->at, r->end, &r->distinct) || !ty_leb_get(&r->at, r->end, &r->tokens))
    return false;
  uint64_t bits = (uint64_t)(r->end - r->at) * 8;
  /* The fewest bits that a term can take: bounds what a malformed row makes the caller allocate. */
  return r->distinct <= bits / (2 + ty_terms_parameter(r->distinct)) && r->tokens <= INT32_MAX;
}

bool ty_terms_next(ty_term_reader *r) {
  if (r->seen >= r->distinct) return false;
  ty_bits b = {.data = r->at, .bytes = (uint64_t)(r->end - r->at), .at = r->bit};
  uint64_t hash = (r->seen == 0 ? 0 : (uint64_t)r->hash + 1) + ty_bits_rice(&b, ty_terms_parameter(r->distinct));
  uint64_t tf = ty_bits_gamma(&b);
  if (!ty_bits_good(&b) || hash > UINT32_MAX || tf == 0 || tf > TY_TF_MAX) return false;
  r->bit = b.at;
  r->hash = (uint32_t)hash;
  r->tf = (uint32_t)tf;
  r->sum += tf;
  r->seen++;
  return true;
}

bool ty_terms_whole(const ty_term_reader *r, bool has_text) {
  return r->seen == r->distinct && (r->bit + 7) / 8 == (uint64_t)(r->end - r->at) && r->sum >= r->tokens &&
         r->sum - r->tokens <= (has_text ? 0 : TY_LABELS_MAX);
}

bool ty_terms_good(ty_slice terms, uint32_t version) {
  ty_term_reader r;
  if (terms.bytes == 0 || !ty_terms_open(&r, terms) || r.version != version) return false;
  while (ty_terms_next(&r)) continue;
  return ty_terms_whole(&r, false);
}
