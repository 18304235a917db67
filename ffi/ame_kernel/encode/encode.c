/* The call: a text's gate, its encodings by windows, and what is kept of them. */
#include "encode/encode.h"

#include <math.h>

/* A window after the first one that has fewer pieces says too little. */
#define WINDOW_LEAST 16u
/* Of 100 pieces: with more that are unknown, a text is not one that the encoder knows. */
#define UNKNOWN_MOST 15u
#define GATE_MOST    255u

size_t ame_encoder_scratch(void) { return (sizeof(encoder_scratch) + 63) / 64 * 64; }

/* How far a text is English prose, by letters a piece: words of other languages, names and code fall into many short
 * pieces. A question's gate rises from 1.75 to 2.15 letters a piece, a row's from 1.9 to 2.2. Whole numbers, so that it
 * is the same everywhere. */
static uint8_t gate_of(const encoder_tokens *t, uint32_t role) {
  const uint32_t from = role == AME_ENCODE_QUESTION ? 175 : 190, range = role == AME_ENCODE_QUESTION ? 40 : 30;
  if (t->pieces == 0 || t->unknown * 100 > t->pieces * UNKNOWN_MOST) return 0;
  if (t->letters * 100 <= t->pieces * from) return 0;
  const uint32_t above = t->letters * 100 - t->pieces * from, most = t->pieces * range;
  return (uint8_t)(above >= most ? GATE_MOST : (above * GATE_MOST + most / 2) / most);
}

/* The windows' encodings, weighed by how many pieces they have. */
static int32_t encode_windows(const encoder_model *m, const encoder_tokens *t, encoder_scratch *s, const uint32_t *stop,
                              float out[ENCODER_WIDTH]) {
  for (size_t i = 0; i < ENCODER_WIDTH; i++) out[i] = 0;
  for (uint32_t at = 0; at < t->count; at += ENCODER_WINDOW) {
    const uint32_t count = t->count - at < ENCODER_WINDOW ? t->count - at : ENCODER_WINDOW;
    float one[ENCODER_WIDTH];
    if (at > 0 && count < WINDOW_LEAST) break;
    if (encoder_window(m, t->ids + at, count, s, stop, one)) return 1;
    for (size_t i = 0; i < ENCODER_WIDTH; i++) out[i] += (float)count * one[i];
  }
  return 0;
}

/* Codes of the projection, in whole numbers from the largest one, and their scale. */
static void keep(const encoder_model *m, const float encoding[ENCODER_WIDTH], encoder_scratch *s, ame_encoding *out) {
  const isa_path *isa = isa_active();
  float x[AME_ENCODING_DIM], largest = 0;
  int32_t squares = 0;
  isa->token_codes(encoding, 1, ENCODER_WIDTH, s->codes, s->info);
  isa->linear(&m->projection, s->codes, s->info, 1, ISA_SET, x);
  for (size_t i = 0; i < AME_ENCODING_DIM; i++) largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
  for (size_t i = 0; i < AME_ENCODING_DIM; i++) {
    float y = largest > 1e-30f ? x[i] * (127.0f / largest) : 0;
    y = y > 127 ? 127 : y;    /* rounding may lead beyond it */
    y = y >= -127 ? y : -127; /* nor is NaN an integer: a model's floats are not checked */
    out->codes[i] = (int8_t)(y + copysignf(0.5f, y));
    squares += out->codes[i] * out->codes[i];
  }
  out->scale = squares > 0 ? 1.0f / sqrtf((float)squares) : 0;
}

int32_t ame_encode(const uint8_t *model, uint32_t role, const uint8_t *text, size_t bytes, void *scratch,
                   const uint32_t *stop, ame_encoding *out) {
  encoder_model m;
  encoder_tokens tokens;
  float encoding[ENCODER_WIDTH];
  encoder_open(model, &m);
  encoder_tokenize(&m, text, bytes, &tokens);
  memset(out, 0, sizeof *out);
  out->gate = gate_of(&tokens, role);
  if (out->gate == 0 && role != AME_ENCODE_ALWAYS) return 0;
  if (tokens.count == 0) tokens.ids[tokens.count++] = 0;
  if (encode_windows(&m, &tokens, scratch, stop, encoding)) return 1;
  keep(&m, encoding, scratch, out);
  return 0;
}

void ame_dot_records(const int8_t q[AME_ENCODING_DIM], const uint8_t *base, const uint32_t *at, size_t n,
                     int32_t *out) {
  isa_active()->dot_records(q, base, at, n, out);
}
