/* The dictionary: terms in ascending order of hash, TY_DICT_TERMS a block; fences hold each block's first hash. Half of
 * all terms are in one row only; such a term takes some 4 bytes with its posting.
 *
 * A block of entries is bits (bits.h): 48 for where the first list of the block begins, 6 for the Rice parameter, then
 * for each term but the first, whose hash its fence has:
 *
 *   the hash less the smallest that can follow the one before, Rice
 *
 * and after all hashes, for each term:
 *
 *   one bit. 1: one row has the term; its position follows, in as many bits as docs - 1 has, and its tf, gamma
 *            0: df - 1 and the bytes of the list, gamma both; lists of a block lie one after the other
 *
 * Of the terms that are looked up for a misspelt word nearly all are absent, which the hashes alone tell. */

#include "lexical/format.h"
#include "lexical/terms.h"

#define LIST_BITS      48u
#define PARAMETER_BITS 6u

static unsigned bits_of(uint64_t v) { return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v); }

uint64_t ty_dict_pack(const ty_dict_entry *entries, uint32_t count, uint64_t docs, uint8_t *out) {
  ty_bits_out b = {.data = out};
  unsigned doc_bits = docs == 0 ? 0 : bits_of(docs - 1);
  uint64_t list = 0, span = count < 2 ? 0 : (entries[count - 1].hash - entries[0].hash) / (count - 1);
  for (uint32_t i = count; i-- > 0;) {
    if (entries[i].df > 1) list = entries[i].list;
  }
  unsigned parameter = bits_of(span) > 0 ? bits_of(span) - 1 : 0;
  ty_bits_put(&b, list, LIST_BITS);
  ty_bits_put(&b, parameter, PARAMETER_BITS);
  for (uint32_t i = 1; i < count; i++) ty_bits_put_rice(&b, entries[i].hash - entries[i - 1].hash - 1, parameter);
  for (uint32_t i = 0; i < count; i++) {
    const ty_dict_entry *e = &entries[i];
    ty_bits_put(&b, e->df == 1, 1);
    if (e->df == 1) {
      ty_bits_put(&b, e->doc, doc_bits);
      ty_bits_put_gamma(&b, e->tf);
    } else {
      ty_bits_put_gamma(&b, e->df - 1);
      ty_bits_put_gamma(&b, e->bytes);
    }
  }
  return ty_bits_end(&b);
}

/* Reads what is after the hashes of one term, whose list begins at *list, if it has one; moves that after it. */
static bool get_entry(const ty_lexical_image *x, ty_bits *b, unsigned doc_bits, uint64_t *list, ty_dict_entry *out) {
  bool one = ty_bits_get(b, 1) != 0;
  uint64_t first = one ? ty_bits_get(b, doc_bits) : ty_bits_gamma(b), second = ty_bits_gamma(b);
  if (!ty_bits_good(b)) return false;
  if (one) {
    if (first >= x->docs || second == 0 || second > TY_TF_MAX) return false;
    out->df = 1;
    out->doc = (uint32_t)first;
    out->tf = (uint32_t)second;
    return true;
  }
  if (first == 0 || first >= x->docs || second == 0 || *list > x->lists_bytes || second > x->lists_bytes - *list)
    return false;
  out->df = (uint32_t)first + 1;
  out->list = *list;
  out->bytes = second;
  *list += second;
  return true;
}

/* A block's bits, up to those of the next one, which are not read. False where they are damaged. */
static bool open_block(const ty_lexical_image *x, uint64_t block, ty_bits *out) {
  const uint8_t *fence = x->fences + 8 * block;
  uint64_t start = ty_load32(fence + 4), end = x->entries_bytes;
  if ((block + 1) * TY_DICT_TERMS < x->terms) end = ty_load32(fence + 12);
  if (start > end || end > x->entries_bytes || !ty_image_good(x, x->entries + start, end - start)) return false;
  *out = (ty_bits){.data = x->entries + start, .bytes = x->entries_bytes - start};
  return true;
}

bool ty_dict_unpack(const ty_lexical_image *x, uint64_t block, ty_dict_entry *entries, uint32_t *count) {
  uint64_t now = ty_load32(x->fences + 8 * block);
  ty_bits b;
  if (!open_block(x, block, &b)) return false;
  uint64_t left = x->terms - block * TY_DICT_TERMS, list = ty_bits_get(&b, LIST_BITS);
  unsigned parameter = (unsigned)ty_bits_get(&b, PARAMETER_BITS), doc_bits = x->docs == 0 ? 0 : bits_of(x->docs - 1);
  uint32_t n = left < TY_DICT_TERMS ? (uint32_t)left : TY_DICT_TERMS;
  if (parameter > 32) return false;
  for (uint32_t i = 0; i < n; i++) {
    if (i > 0) now += ty_bits_rice(&b, parameter) + 1;
    if (now > UINT32_MAX) return false;
    entries[i] = (ty_dict_entry){.hash = (uint32_t)now};
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!get_entry(x, &b, doc_bits, &list, &entries[i])) return false;
  }
  *count = n;
  return true;
}

/* The last block whose first hash is not above `hash`; UINT64_MAX: none. */
static uint64_t find_fence(const ty_lexical_image *x, uint32_t hash) {
  uint64_t low = 0, high = (x->terms + TY_DICT_TERMS - 1) / TY_DICT_TERMS;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (ty_load32(x->fences + 8 * middle) <= hash) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

bool ty_dict_look(const ty_lexical_image *x, uint32_t hash, ty_dict_entry *out) {
  *out = (ty_dict_entry){.hash = hash};
  uint64_t block = find_fence(x, hash);
  if (block == UINT64_MAX) return true;
  ty_bits b;
  if (!open_block(x, block, &b)) return false;
  uint64_t left = x->terms - block * TY_DICT_TERMS, count = left < TY_DICT_TERMS ? left : TY_DICT_TERMS;
  unsigned doc_bits = x->docs == 0 ? 0 : bits_of(x->docs - 1);
  uint64_t list = ty_bits_get(&b, LIST_BITS), now = ty_load32(x->fences + 8 * block);
  unsigned parameter = (unsigned)ty_bits_get(&b, PARAMETER_BITS);
  if (parameter > 32) return false;
  uint64_t at = 0;
  while (now < hash && ++at < count) now += ty_bits_rice(&b, parameter) + 1;
  if (!ty_bits_good(&b)) return false;
  if (now != hash || at == count) return true;
  for (uint64_t i = at + 1; i < count; i++) ty_bits_rice(&b, parameter);
  for (uint64_t i = 0;; i++) {
    ty_dict_entry passed, *to = i == at ? out : &passed;
    if (!get_entry(x, &b, doc_bits, &list, to)) return false;
    if (i == at) return true;
  }
}
