/* Rows and questions of lines_test.c: ordinary ones, and those that bounds are most likely to be wrong for. */
#pragma once

#include <float.h>
#include "store_model.h"

#define MOST_ROWS 8800u

/* What the collection is. */
static struct shape {
  uint32_t dim;
  bool huge; /* with rows beyond 2^50: the kernel's bound is not proved for a segment that has one, and not used */
} shape;

static bool is_f32(void) { return strcmp(model_dtype, "f32") == 0; }
static bool is_int4(void) { return strcmp(model_dtype, "int4") == 0; }

static float random_unit(void) { return (float)(rng() >> 40) * 0x1p-23f - 1; }
static bool chance(uint32_t of) { return rng() % of == 0; }

/* Whether each element is a scale times a code, bit for bit, which is how f32 rows are codes. */
static bool is_codes(const float *row) {
  float largest = 0;
  for (uint32_t i = 0; i < shape.dim; i++) largest = fmaxf(largest, fabsf(row[i]));
  float scale = largest / 127.0f;
  for (uint32_t i = 0; i < shape.dim; i++) {
    double code = scale > 0 ? (double)row[i] * (127.0 / (double)largest) : 0;
    float decoded = scale * (float)(int)(code + copysign(0.5, code));
    if (memcmp(&decoded, &row[i], sizeof decoded) != 0) return false;
  }
  return true;
}

static void scaled_codes(float *out, float scale, uint32_t nonzero) {
  memset(out, 0, shape.dim * sizeof *out);
  for (uint32_t i = 0; i < nonzero; i++)
    out[rng() % shape.dim] = scale * (float)((int)(rng() % 255) - 127); /* a code of 0 is +0: the product may be -0 */
  for (uint32_t i = 0; i < shape.dim; i++) out[i] = out[i] == 0 ? 0 : out[i];
  out[rng() % shape.dim] = scale * (chance(2) ? 127 : -127);
}

static float short_scale(int exponent) { return (float)ldexp((double)(65536 + rng() % 65536), exponent - 17); }

/* A row of the text embedder's kind. */
static void ordinary_row(float *out) {
  scaled_codes(out, short_scale(-8), shape.dim < 64 ? shape.dim / 2 + 1 : shape.dim / 5);
}

/* `before` is an earlier row, or NULL; `any`: it need not be its codes. */
static void adversarial_row(float *out, const float *before, bool any) {
  const float huge = !shape.huge ? 1e9f : is_int4() ? 9e27f : 1e30f;
  switch (rng() % (any ? 18 : 12)) {
  case 0: memset(out, 0, shape.dim * sizeof *out); break;
  case 1: /* one element */
    memset(out, 0, shape.dim * sizeof *out);
    out[rng() % shape.dim] = short_scale(-3) * (chance(2) ? 127 : -127);
    break;
  case 2: scaled_codes(out, (float)(1 + rng() % 9) * 0x1p-149f, shape.dim / 2 + 1); break;
  case 3: scaled_codes(out, huge, shape.dim / 2 + 1); break;
  case 4:
    scaled_codes(out, is_int4() || !shape.huge ? huge : 0x1.5p120f, shape.dim);
    break; /* longer than a float can say */
  case 5:
  case 6:
    if (before == NULL) ordinary_row(out);
    else memcpy(out, before, shape.dim * sizeof *out);
    break;
  case 7: /* the same numbers in another order: sums that differ in their last bits */
    if (before == NULL) ordinary_row(out);
    else
      for (uint32_t i = 0; i < shape.dim; i++) out[i] = before[shape.dim - 1 - i];
    break;
  case 8: scaled_codes(out, short_scale(-8), shape.dim * 2); break;
  case 12:
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = random_unit();
    break;
  case 13: /* codes but for the sign of their zeros */
    ordinary_row(out);
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = out[i] == 0 ? -0.0f : out[i];
    break;
  case 14:
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = random_unit() * 1e-41f;
    break;
  case 15:
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = random_unit() * (chance(9) ? huge : 1e-9f);
    break;
  case 16:
  case 17: /* one element so large that the codes of most others are 0 */
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = random_unit();
    out[rng() % shape.dim] = 1000 + random_unit();
    break;
  default: ordinary_row(out);
  }
  if (!any && is_f32() && !is_codes(out)) ordinary_row(out);
}

/* ---- Questions ------------------------------------------------------------------------------------------------------
 */
enum {
  ASK_ZERO,
  ASK_ONE,
  ASK_THREE,
  ASK_ALIKE, /* all dimensions, the same in each */
  ASK_ALL,
  ASK_ROW,
  ASK_MINUS_ZERO,
  ASK_TINY,
  ASK_HUGE,
  ASK_LARGE_BESIDE_SMALL, /* elements whose 8-bit code is 0 */
  ASK_FAR_APART,          /* from 1e-38 to 1e38 */
  ASK_COUNT
};

static void some_elements(float *out, uint32_t n, float size) {
  for (uint32_t i = 0; i < n; i++) out[rng() % shape.dim] = random_unit() * size;
}

static void make_question(uint32_t kind, const float *row, float *out) {
  memset(out, 0, shape.dim * sizeof *out);
  switch (kind) {
  case ASK_ONE: some_elements(out, 1, 1); break;
  case ASK_THREE: some_elements(out, 3, 1); break;
  case ASK_ALIKE:
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = 0.1f;
    break;
  case ASK_ALL: some_elements(out, shape.dim * 3, 1); break;
  case ASK_ROW: memcpy(out, row, shape.dim * sizeof *out); break;
  case ASK_MINUS_ZERO:
    for (uint32_t i = 0; i < shape.dim; i++) out[i] = -0.0f;
    some_elements(out, shape.dim / 8, 1);
    break;
  case ASK_TINY: some_elements(out, 1 + shape.dim / 8, 1e-38f); break;
  case ASK_HUGE: some_elements(out, 1 + shape.dim / 8, 1e37f); break;
  case ASK_LARGE_BESIDE_SMALL:
    some_elements(out, shape.dim / 3, 1e-3f);
    out[rng() % shape.dim] = 1;
    break;
  case ASK_FAR_APART:
    for (uint32_t i = 0; i < shape.dim / 4 + 1; i++) some_elements(out, 1, (float)ldexp(1, (int)(rng() % 250) - 125));
    break;
  default: break;
  }
}
