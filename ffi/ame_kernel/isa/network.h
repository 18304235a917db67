/* The steps of the sentence encoder's network (encode/network.c) and the products of its vectors. A path's file
 * includes this after it has defined
 *
 *   code             a number of -127 .. 127 as linear_sums reads it
 *   TOKENS           how many tokens linear_sums takes at most
 *   GROUPS           how many groups of sixteen columns it takes
 *   linear_sums      out[i][j] = the exact sum of products of token i and column j
 *   record_products  four exact inner products with records, which differ only in their places
 *
 * Equal to the bit everywhere: products of codes are exact integers. Everything else is done in sixteen lanes, element
 * i in lane i % 16, in a fixed order, and every operation is rounded by itself. */
#pragma once

#include "isa/wide.h"

#include <math.h>

typedef code wide_code __attribute__((vector_size(16 * sizeof(code))));

/* n is a multiple of 16. tanh x = 1 - 2 / (e^2x + 1), with x not negative. */
static void squash(float *x, size_t n) {
  for (size_t i = 0; i < n; i += WIDE) {
    wide v, e;
    wide_load(&v, x + i);
    const wide_int sign = (wide_int)v & INT32_MIN;
    const wide most = (wide){0} + 20.0f;
    wide size = (wide)((wide_int)v & INT32_MAX);
    wide_int large = size > most;
    e = (wide)((large & (wide_int)most) | (~large & (wide_int)size)) * 2.0f;
    wide_exp(&e);
    v = 1.0f - 2.0f / (e + 1.0f);
    v = (wide)((wide_int)v | sign);
    wide_store(x + i, &v);
  }
}

/* The codes of one token: to nearest, ties to even, of x / (largest / 127). */
ISA_INLINE void codes_of(const float *x, size_t width, code *codes, isa_token *token) {
  wide most = {0};
  for (size_t i = 0; i < width; i += WIDE) {
    wide v;
    wide_load(&v, x + i);
    v = (wide)((wide_int)v & INT32_MAX);
    wide_raise(&most, &v);
  }
  float largest = wide_largest(&most), per = largest > 1e-30f ? 127.0f / largest : 0;
  wide_int sum = {0};
  for (size_t i = 0; i < width; i += WIDE) {
    wide v;
    wide_load(&v, x + i);
    v = v * per + ROUNDER;
    wide_int c = (wide_int)v - ROUNDER_BITS;
    sum += c;
    wide_code narrow = __builtin_convertvector(c, wide_code);
    memcpy(codes + i, &narrow, sizeof narrow);
  }
  token->scale = largest / 127.0f;
  token->sum = 0;
  for (int i = 0; i < WIDE; i++) token->sum += sum[i];
}

static void token_codes(const float *x, size_t tokens, size_t width, void *codes, isa_token *info) {
  for (size_t t = 0; t < tokens; t++) codes_of(x + t * width, width, (code *)codes + t * width, info + t);
}

static void norm_codes(const float *x, size_t tokens, size_t width, const float *gain, const float *bias, void *codes,
                       isa_token *info) {
  float out[ISA_NORM_WIDTH];
  for (size_t t = 0; t < tokens; t++) {
    const float *row = x + t * width;
    wide sum = {0}, squares = {0}, v, g, b;
    for (size_t i = 0; i < width; i += WIDE) {
      wide_load(&v, row + i);
      sum += v;
    }
    const float mean = wide_sum(&sum) / (float)width;
    for (size_t i = 0; i < width; i += WIDE) {
      wide_load(&v, row + i);
      v -= mean;
      squares += v * v;
    }
    const float per = 1.0f / sqrtf(wide_sum(&squares) / (float)width + 1e-6f);
    for (size_t i = 0; i < width; i += WIDE) {
      wide_load(&v, row + i);
      wide_load(&g, gain + i);
      wide_load(&b, bias + i);
      v = (v - mean) * (g * per) + b;
      wide_store(out + i, &v);
    }
    codes_of(out, width, (code *)codes + t * width, info + t);
  }
}

ISA_INLINE void linear_tile(const isa_linear *l, size_t column, const code *codes, const isa_token *info, int count,
                            isa_result result, float *out) {
  int32_t sums[TOKENS][WIDE * GROUPS] __attribute__((aligned(64)));
  linear_sums(l->weights + column * l->in, l->in, codes, info, count, sums);
  for (int g = 0; g < GROUPS; g++) {
    wide scale, bias;
    wide_load(&scale, l->scales + column + WIDE * g);
    wide_load(&bias, l->bias + column + WIDE * g);
    for (int i = 0; i < count; i++) {
      float *to = out + (size_t)i * l->out + column + WIDE * g;
      wide_int whole;
      memcpy(&whole, sums[i] + WIDE * g, sizeof whole);
      wide v = __builtin_convertvector(whole, wide) * info[i].scale * scale + bias, old = {0};
      if (result == ISA_POSITIVE) {
        wide_raise(&v, &old);
      } else if (result == ISA_ADD) {
        wide_load(&old, to);
        v = old + v;
      }
      wide_store(to, &v);
    }
  }
}

/* The columns of a group stay in the nearest cache while all tokens are multiplied by them. */
ISA_INLINE void linear_all(const isa_linear *l, const code *codes, const isa_token *info, size_t tokens,
                           isa_result result, float *out) {
  for (size_t column = 0; column < l->out; column += WIDE * GROUPS) {
    size_t t = 0;
    for (; t + TOKENS <= tokens; t += TOKENS) {
      linear_tile(l, column, codes + t * l->in, info + t, TOKENS, result, out + t * l->out);
    }
#define REST(n)                                                                                                        \
  case n: linear_tile(l, column, codes + t * l->in, info + t, n < TOKENS ? n : TOKENS, result, out + t * l->out); break
    switch (tokens - t) {
      REST(1);
      REST(2);
      REST(3);
      REST(4);
      REST(5);
      REST(6);
      REST(7);
    }
#undef REST
  }
}

static void linear(const isa_linear *l, const void *codes, const isa_token *info, size_t tokens, isa_result result,
                   float *out) {
  linear_all(l, codes, info, tokens, result, out);
}

#define QUERIES 4

/* weights[i][u] = <query i, key u> * per; keys lie dimension by dimension. */
ISA_INLINE void attend_scores(const float *const q[QUERIES], const float *keys, size_t padded, size_t dim, float per,
                              float weights[QUERIES][ISA_WINDOW]) {
  for (size_t u = 0; u < padded; u += WIDE) {
    wide sum[QUERIES] = {{0}};
    for (size_t k = 0; k < dim; k++) {
      wide key;
      wide_load(&key, keys + k * padded + u);
      for (int i = 0; i < QUERIES; i++) sum[i] += key * q[i][k];
    }
    for (int i = 0; i < QUERIES; i++) {
      sum[i] *= per;
      wide_store(weights[i] + u, &sum[i]);
    }
  }
}

/* Weights that add up to 1. Those from `tokens` to `padded` are as good as 0 and are not used. */
ISA_INLINE void attend_weigh(float *weights, size_t tokens, size_t padded) {
  for (size_t u = tokens; u < padded; u++) weights[u] = -1e30f;
  wide most, v, sum = {0};
  wide_load(&most, weights);
  for (size_t u = WIDE; u < padded; u += WIDE) {
    wide_load(&v, weights + u);
    wide_raise(&most, &v);
  }
  const float largest = wide_largest(&most);
  for (size_t u = 0; u < padded; u += WIDE) {
    wide_load(&v, weights + u);
    v -= largest;
    wide_exp(&v);
    wide_store(weights + u, &v);
    sum += v;
  }
  const float per = 1.0f / wide_sum(&sum);
  for (size_t u = 0; u < padded; u += WIDE) {
    wide_load(&v, weights + u);
    v *= per;
    wide_store(weights + u, &v);
  }
}

ISA_INLINE void attend_values(float weights[QUERIES][ISA_WINDOW], const float *values, size_t tokens, size_t dim,
                              int count, float *out, size_t step) {
  for (size_t k = 0; k < dim; k += WIDE) {
    wide sum[QUERIES] = {{0}};
    for (size_t u = 0; u < tokens; u++) {
      wide value;
      wide_load(&value, values + u * dim + k);
      for (int i = 0; i < QUERIES; i++) sum[i] += value * weights[i][u];
    }
    for (int i = 0; i < count; i++) wide_store(out + (size_t)i * step + k, &sum[i]);
  }
}

static void attend(const float *qkv, size_t tokens, size_t width, float *scratch, float *out) {
  const size_t dim = width / ISA_HEADS, step = 3 * width, padded = (tokens + WIDE - 1) / WIDE * WIDE;
  const float per = 1.0f / sqrtf((float)dim);
  float *keys = scratch, *values = scratch + dim * padded;
  float weights[QUERIES][ISA_WINDOW];
  for (size_t head = 0; head < ISA_HEADS; head++) {
    const float *first = qkv + head * dim;
    for (size_t u = 0; u < padded; u++) {
      for (size_t k = 0; k < dim; k++) keys[k * padded + u] = u < tokens ? first[u * step + width + k] : 0;
    }
    for (size_t u = 0; u < tokens; u++) memcpy(values + u * dim, first + u * step + 2 * width, dim * sizeof(float));
    for (size_t t = 0; t < tokens; t += QUERIES) {
      const int count = tokens - t < QUERIES ? (int)(tokens - t) : QUERIES;
      const float *q[QUERIES];
      for (int i = 0; i < QUERIES; i++) q[i] = first + (t + (size_t)(i < count ? i : 0)) * step;
      attend_scores(q, keys, padded, dim, per, weights);
      for (int i = 0; i < QUERIES; i++) attend_weigh(weights[i], tokens, padded);
      attend_values(weights, values, tokens, dim, count, out + t * width + head * dim, width);
    }
  }
}

static void dot_records(const int8_t *q, const uint8_t *base, const uint32_t *at, size_t n, int32_t *out) {
  const size_t ahead = 16; /* records, which may lie anywhere */
  const uint8_t *rows[4];
  for (size_t i = 0; i < n; i += 4) {
    const size_t left = n - i < 4 ? n - i : 4;
    for (size_t r = 0; r < 4; r++) rows[r] = base + 16 * (size_t)at[i + (r < left ? r : 0)];
    for (size_t r = 0; r < 4 && i + r + ahead < n; r++) {
      const uint8_t *next = base + 16 * (size_t)at[i + r + ahead];
      __builtin_prefetch(next);
      __builtin_prefetch(next + 64);
    }
    int32_t products[4];
    record_products(q, rows, products);
    memcpy(out + i, products, left * sizeof products[0]);
  }
}
