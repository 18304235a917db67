/* Texts that the test of ranking by meaning draws, and a stand-in of the encoder for them: a text's vector follows from
 * its bytes, its gate from its last four characters. */
#pragma once

#include "store_model.h"

#define TERMS_MOST  24u
#define GATE_DIGITS 4u

static ty_env *env;
static ty_error err;

/* ---- The encoder ---- */

static const char marks[GATE_DIGITS] = {'.', '!', '?', ';'}; /* no token has any of these */

static size_t write_gate(uint8_t gate, char *out) {
  for (uint32_t i = 0; i < GATE_DIGITS; i++) out[i] = marks[gate >> (6 - 2 * i) & 3];
  return GATE_DIGITS;
}

static uint8_t gate_of(const uint8_t *text, size_t bytes) {
  uint32_t gate = 0;
  for (size_t i = bytes - GATE_DIGITS; i < bytes; i++) {
    const char *mark = memchr(marks, text[i], sizeof marks);
    CHECK(mark != NULL);
    gate = gate << 2 | (mark == NULL ? 0 : (uint32_t)(mark - marks));
  }
  return (uint8_t)gate;
}

static int32_t marked_encode(const uint8_t *model, uint32_t role, const uint8_t *text, size_t bytes, void *scratch,
                             const uint32_t *stop, ame_encoding *out) {
  if (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED) != 0) return 1;
  memset(scratch, 1, stand_in_scratch()); /* two calls with one scratch would be a race */
  *out = (ame_encoding){.gate = gate_of(text, bytes)};
  if (out->gate == 0) return 0;
  uint64_t state = ame_kernel_table()->hash64(text, bytes, model[0] + role);
  int32_t squares = 1;
  for (uint32_t i = 0; i < AME_ENCODING_DIM; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    out->codes[i] = (int8_t)((int)((state >> 33) % 255) - 127);
    squares += out->codes[i] * out->codes[i];
  }
  out->scale = 1 / sqrtf((float)squares);
  return 0;
}

static bool marked_env(void) {
  static ame_kernel kernel;
  kernel = *stand_in_kernel();
  kernel.encode = marked_encode;
  if (ty_env_open(&kernel, 2, &env, &err) != TY_OK) return false;
  env->os.now = model_now;
  return ty_env_model(env, meaning_models[0], MEANING_MODEL_BYTES, &err) == TY_OK;
}

/* ---- Texts ---- */

static const char *const words[] = {"the",    "of",     "harbour", "rudder", "lantern", "copper",  "window", "garden",
                                    "silver", "bridge", "market",  "winter", "pepper",  "kitchen", "velvet", "thunder",
                                    "pillow", "candle", "meadow",  "wagon",  "saddle",  "marble",  "cotton", "falcon"};
#define WORDS (sizeof words / sizeof *words)

typedef struct terms {
  uint32_t count, hashes[TERMS_MOST];
  double worth[TERMS_MOST];
} terms;

static bool has_term(const terms *t, uint32_t hash) {
  for (uint32_t i = 0; i < t->count; i++)
    if (t->hashes[i] == hash) return true;
  return false;
}

static void add_term(void *context, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  terms *t = context;
  if (has_term(t, hash)) return;
  CHECK(form == AME_FORM_OWN && t->count < TERMS_MOST);
  t->worth[t->count] = (double)ame_kernel_table()->term_worth(term, bytes);
  t->hashes[t->count++] = hash;
}

/* The distinct terms, in their order. */
static terms terms_of(const char *text, size_t bytes) {
  terms t = {0};
  ame_kernel_table()->tokenize((const uint8_t *)text, bytes, add_term, &t);
  return t;
}

/* Words of which the first are frequent and the last are rare. One in `wrong` gets another letter, and one in `wrong`
 * is replaced by letters that no row has. */
static size_t write_words(uint32_t n, uint32_t wrong, char *out) {
  size_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    size_t from = at;
    uint64_t what = wrong == 0 ? 2 : rng() % wrong;
    at += (size_t)sprintf(out + at, "%s", words[rng() % (1 + rng() % WORDS)]);
    if (what == 0 && at - from > 5) out[from + 3] = 'q';
    for (; what == 1 && from < at; from++) out[from] = "bcdfgklm"[rng() % 8];
    out[at++] = ' ';
  }
  return at;
}
