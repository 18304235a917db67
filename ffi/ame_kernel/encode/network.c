/* The network: pieces and their places to numbers, two layers of attention and dense steps (Vaswani et al., 2017, with
 * the norm before each step), the mean of all pieces, one more layer. Matrices are products of bytes, whose sums are
 * exact; so the result is the same to the bit on every CPU path. */
#include "encode/encode.h"

#include <math.h>

typedef struct run {
  const encoder_model *m;
  const isa_path *isa;
  encoder_scratch *s;
  const uint32_t *stop;
  size_t count;
} run;

static int is_stopped(const run *r) { return r->stop && __atomic_load_n(r->stop, __ATOMIC_RELAXED) != 0; }

static void look_up(const run *r, const uint16_t *ids, float *x) {
  for (size_t t = 0; t < r->count; t++, x += ENCODER_INPUT) {
    const int8_t *codes = r->m->embeddings + (size_t)ids[t] * ENCODER_INPUT;
    const float scale = r->m->embedding_scales[ids[t]], *timing = r->m->timing + t * ENCODER_INPUT;
    for (size_t i = 0; i < ENCODER_INPUT; i++) x[i] = scale * (float)codes[i] + timing[i];
  }
}

static void linear_of(const run *r, const isa_linear *l, const float *x, isa_result result, float *out) {
  r->isa->token_codes(x, r->count, l->in, r->s->codes, r->s->info);
  r->isa->linear(l, r->s->codes, r->s->info, r->count, result, out);
}

static void normed_linear_of(const run *r, const isa_linear *l, const float *x, const float *gain, const float *bias,
                             isa_result result, float *out) {
  r->isa->norm_codes(x, r->count, l->in, gain, bias, r->s->codes, r->s->info);
  r->isa->linear(l, r->s->codes, r->s->info, r->count, result, out);
}

/* `x` is overwritten, `out` the result. They are the same but in the first layer, whose input is narrower. */
static int32_t run_layer(const run *r, const encoder_layer *l, float *x, float *heads_out, float *out) {
  encoder_scratch *s = r->s;
  const size_t width = l->qkv.in;
  if (l->skip.weights) linear_of(r, &l->skip, x, ISA_SET, out);
  normed_linear_of(r, &l->qkv, x, l->gain[0], l->bias[0], ISA_SET, s->widest);
  if (is_stopped(r)) return 1;
  r->isa->attend(s->widest, r->count, width, s->heads, heads_out);
  if (is_stopped(r)) return 1;
  linear_of(r, &l->out, heads_out, ISA_ADD, out);
  normed_linear_of(r, &l->dense[0], out, l->gain[1], l->bias[1], ISA_POSITIVE, s->widest);
  if (is_stopped(r)) return 1;
  linear_of(r, &l->dense[1], s->widest, ISA_ADD, out);
  return is_stopped(r);
}

static float length_of(const float *x, size_t n) {
  float lane[16] = {0};
  for (size_t i = 0; i < n; i += 16) {
    for (size_t j = 0; j < 16; j++) lane[j] += x[i + j] * x[i + j];
  }
  return sqrtf(isa_sum16(lane));
}

int32_t encoder_window(const encoder_model *m, const uint16_t *ids, size_t count, encoder_scratch *s,
                       const uint32_t *stop, float out[ENCODER_WIDTH]) {
  run r = {m, isa_active(), s, stop, count};
  if (is_stopped(&r)) return 1;
  look_up(&r, ids, s->a);
  if (run_layer(&r, &m->layers[0], s->a, s->a, s->b)) return 1;
  if (run_layer(&r, &m->layers[1], s->b, s->a, s->b)) return 1;
  float mean[ENCODER_WIDTH] = {0};
  for (size_t t = 0; t < count; t++) {
    for (size_t i = 0; i < ENCODER_WIDTH; i++) mean[i] += s->b[t * ENCODER_WIDTH + i];
  }
  for (size_t i = 0; i < ENCODER_WIDTH; i++) mean[i] /= (float)count;
  r.count = 1;
  linear_of(&r, &m->hidden, mean, ISA_SET, out);
  r.isa->squash(out, ENCODER_WIDTH);
  const float length = length_of(out, ENCODER_WIDTH);
  for (size_t i = 0; i < ENCODER_WIDTH; i++) out[i] = length > 0 ? out[i] / length : 0;
  return 0;
}
