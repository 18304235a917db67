/* Text to vector without a model file: features are hashed with a sign into two thousand dimensions (Weinberger et al.,
 * "Feature Hashing for Large Scale Multitask Learning", 2009).
 *
 * Equal to the bit everywhere, because: features are added in the order of the text; every operation is an IEEE 754
 * sum, product, quotient or square root, whose rounding is defined; nothing is contracted to a fused multiply-add; and
 * of libm only sqrt is used, and frexp and ldexp, which are exact.
 *
 * A text is read in blocks of up to BLOCK_WORDS distinct terms, so that repeats are counted in a fixed 225 KB of stack
 * whatever its length. Up to about 20 KB of prose a block is the whole text; in a longer one a word saturates
 * separately in each block, which suits long texts. */
#include <math.h>

#include "embed/embed.h"

static const model models[] = {
    [AME_MODEL_MULTIGRAM] = {.dim = 2048,
                             .pad_dims = 16,
                             .version = 3,
                             .word = 0.7f,
                             .stem = 1.0f,
                             .grams = 0.7f,
                             .pair = 0.3f,
                             .piece = 1.0f,
                             .whole = 0.8f,
                             .bare = 0.5f,
                             .character = 1.0f,
                             .saturation = 1.6f,
                             .pad = 3.7f,
                             .gram_from = MULTIGRAM_FROM,
                             .gram_to = MULTIGRAM_TO,
                             .first_gram = 2.0f},
    [AME_MODEL_BIGRAM] = {.dim = 512,
                          .pad_dims = 8,
                          .version = 3,
                          .word = 1.0f,
                          .stem = 0,
                          .grams = 1.2f,
                          .pair = 0,
                          .piece = 0.8f,
                          .whole = 0.8f,
                          .bare = 0.5f,
                          .character = 1.0f,
                          .saturation = 1.5f,
                          .pad = 3.5f,
                          .gram_from = BIGRAM_FROM,
                          .gram_to = BIGRAM_TO,
                          .first_gram = 1.5f},
};
#define MODELS (sizeof models / sizeof models[0])

static void embed_text(state *s, uint32_t role, const uint8_t *text, size_t bytes, float *out) {
  s->before = 0;
  memset(s->sum, 0, s->m->dim * sizeof s->sum[0]);
  embed_count(s, text, bytes);
  int empty = s->used == 0; /* a block is flushed only when another term follows */
  embed_flush(s);
  if (empty) memset(out, 0, s->m->dim * sizeof *out);
  else embed_finish(s, role, out);
}

uint32_t ame_embed_dim(uint32_t id) { return id < MODELS ? models[id].dim : 0; }

uint32_t ame_embed_version(uint32_t id) { return id < MODELS ? models[id].version : 0; }

/* Slots for the terms of a text of so many bytes: at most three terms in two bytes. */
static uint32_t table_of(uint64_t bytes, uint32_t most) {
  uint32_t slots = 32;
  while (slots < most && slots / 4 < bytes) slots *= 2;
  return slots;
}

int32_t kernel_embed_terms(uint32_t id, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n,
                           float *out, ame_met_fn fn, void *ctx) {
  if (id >= MODELS || role > AME_ROLE_QUERY) return 1;
  uint64_t longest = n ? ends[0] : 0;
  for (uint64_t i = 1; i < n; i++) {
    if (ends[i] < ends[i - 1]) return 1;
    if (ends[i] - ends[i - 1] > longest) longest = ends[i] - ends[i - 1];
  }
  state s; /* about 225 KB */
  const model *m = &models[id];
  float unit = sqrtf(m->word * m->word + m->stem * m->stem + m->grams * m->grams);
  s.m = m;
  s.met = fn;
  s.met_ctx = ctx;
  s.used_dims = m->dim - m->pad_dims;
  s.word = m->word / unit;
  s.stem = m->stem / unit;
  s.grams = m->grams / unit;
  unit = sqrtf(m->word * m->word + m->grams * m->grams);
  s.word_alone = m->word / unit;
  s.grams_alone = m->grams / unit;
  s.used = s.arena_used = 0;
  /* Clears only the slots that can be used: clearing all would be most of the time of a query. */
  s.slot_mask = table_of(longest, SLOTS) - 1;
  uint32_t known = table_of(n ? ends[n - 1] / 4 : 0, KNOWN_SLOTS);
  s.known_shift = 64 - (uint32_t)__builtin_ctz(known);
  memset(s.hash, 0, ((size_t)s.slot_mask + 1) * sizeof s.hash[0]);
  memset(s.known, 0, known * sizeof s.known[0]);
  memset(s.pairs, 0, sizeof s.pairs);
  embed_roots(&s);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t from = i ? ends[i - 1] : 0;
    s.text = i;
    embed_text(&s, role, bytes + from, (size_t)(ends[i] - from), out + i * m->dim);
  }
  return 0;
}

int32_t ame_embed(uint32_t id, uint32_t role, const uint8_t *bytes, const uint64_t *ends, uint64_t n, float *out) {
  return kernel_embed_terms(id, role, bytes, ends, n, out, NULL, NULL);
}
