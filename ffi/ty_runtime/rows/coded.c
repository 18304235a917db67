/* Screening data of rows, codes, bounds and biases, computed from the stored and decoded forms.
 *
 * Bounds are for the decoded row: where the codes are the stored form they only cover the rounding of the decoding. */
#include "rows/coded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/coding.h"
#include "rows/vector.h"
#include "rows/vertical.h"

ty_status ty_coded_open(ty_coded *out, const ty_collection *c, uint64_t n, ty_error *err) {
  bool vertical = ty_delta_vertical(c), i8 = c->dtype != TY_INT4, i4 = !i8 || !vertical;
  const uint64_t widths[TY_CODED_ARRAYS] = {i4 ? AME_I4_BYTES(c->dim) : 0, i4 ? sizeof *out->i4_info : 0,
                                            sizeof *out->bias, i8 ? AME_CODE_STRIDE(c->dim) : 0,
                                            i8 ? sizeof *out->info : 0};
  bool good = true;
  *out = (ty_coded){.c = c, .scratch = malloc((size_t)c->dim * sizeof *out->scratch)};
  for (uint32_t i = 0; i < TY_CODED_ARRAYS && good; i++) {
    uint64_t bytes;
    if (widths[i] == 0) continue;
    good = ty_mul(n, widths[i], &bytes) && ty_spill_grow(ty_dir_of(c), &out->memory[i], 0, bytes);
  }
  if (!good || out->scratch == NULL) {
    ty_coded_free(out);
    return ty_fail(err, TY_NO_MEMORY, "out of memory for the codes of %llu rows", (unsigned long long)n);
  }
  out->i4 = out->memory[0].data;
  out->i4_info = out->memory[1].data;
  out->bias = out->memory[2].data;
  out->codes = out->memory[3].data;
  out->info = out->memory[4].data;
  return TY_OK;
}

void ty_coded_free(ty_coded *x) {
  for (uint32_t i = 0; i < TY_CODED_ARRAYS && x->c != NULL; i++) ty_spill_free(x->c->env, &x->memory[i]);
  free(x->scratch);
  *x = (ty_coded){0};
}

void ty_coded_evict(const ty_coded *x) {
  for (uint32_t i = 0; i < TY_CODED_ARRAYS; i++) ty_spill_evict(x->c->env, &x->memory[i]);
}

/* The smallest float that is not below a value of at least 0. */
static float above(double value) {
  float f = (float)value;
  return (double)f < value ? nextafterf(f, INFINITY) : f;
}

/* Off by 2^-24 of an element, or by 2^-150 among the denormals. */
float ty_decoding_err(float norm, uint32_t dim) { return above((double)norm * 0x1p-23 + (double)dim * 0x1p-149); }

/* `codes` has AME_CODE_STRIDE(dim) bytes. */
static ame_code_info info_of_i8(const ame_kernel *k, const int8_t *codes, float scale, uint32_t dim) {
  int32_t squares; /* at most 127^2 * 65,536 */
  k->dot_i8(codes, codes, 1, AME_CODE_STRIDE(dim), &squares);
  double norm = fabs((double)scale) * sqrt((double)squares) * (1 + 0x1p-40);
  return (ame_code_info){.scale = scale, .err = ty_decoding_err(above(norm), dim), .norm = above(norm)};
}

/* By bits, which are in the order of the absolute values: compilers put such maxima of floats in a row, at six times
 * the cost. NaN is the largest. */
static float largest_of(const float *row, uint32_t dim) {
  int32_t largest = 0;
  float out;
  for (uint32_t i = 0; i < dim; i++) {
    int32_t bits;
    memcpy(&bits, row + i, sizeof bits);
    bits &= INT32_MAX;
    largest = bits > largest ? bits : largest;
  }
  memcpy(&out, &largest, sizeof out);
  return out;
}

/* An element is offset + scale * (2 code - 15), rounded twice: together the row is off by less than `rounding`, which
 * ame_kernel.h defines. A row beyond the range that the bound is proved for, possible only in a forged file, is never
 * excluded. */
ame_i4_info ty_stored_i4_info(const uint8_t *codes, float scale, float offset, uint32_t dim, const float *decoded) {
  float largest = largest_of(decoded, dim);
  int32_t sum = 0, sum_of_squares = 0; /* at most 15^2 * 65,536; codes beyond dim are 0 and add nothing */
  for (uint32_t i = 0; i < AME_I4_BYTES(dim); i++) {
    int32_t low = codes[i] & 15, high = codes[i] >> 4;
    sum += low + high;
    sum_of_squares += low * low + high * high;
  }
  double a = (double)scale, b = (double)offset, n = (double)dim;
  double steps = 2.0 * sum - 15 * n, squares = 4.0 * sum_of_squares - 60.0 * sum + 225 * n; /* of 2 code - 15 */
  if (!(largest <= AME_I4_MOST) || (largest > 0 && largest < AME_I4_LEAST))
    return (ame_i4_info){scale, offset, INFINITY, 1};
  double rounding = 0x1p-19 * (fabs(b) * sqrt(n) + fabs(a) * sqrt(squares));
  double hat =
      sqrt(fabs(b * b * n + 2 * a * b * steps + a * a * squares)) + rounding; /* more than cancellation can lose */
  double norm = hat * (1 + 0x1p-30);
  return (ame_i4_info){scale, offset, above((AME_I4_ROUNDINGS + 1) * rounding * (1 + 0x1p-14)),
                       above(norm > 0x1p-100 ? norm : 0x1p-100)};
}

static float bias_of(const float *row, uint32_t dim) {
  double lane[4] = {0};
  uint32_t i = 0;
  for (; i + 4 <= dim; i += 4) {
    for (uint32_t l = 0; l < 4; l++) lane[l] += (double)row[i + l] * (double)row[i + l];
  }
  for (; i < dim; i++) lane[0] += (double)row[i] * (double)row[i];
  return (float)(-0.5 * (lane[0] + lane[1] + lane[2] + lane[3]));
}

void ty_vector_screen(const ty_collection *c, ty_dtype form, const uint8_t *stored, const float *decoded, uint64_t n,
                      const ty_coded *to, uint64_t first) {
  const ame_kernel *k = c->env->kernel;
  uint32_t dim = c->dim;
  uint64_t bytes = ty_form_bytes(form, dim), stride = AME_CODE_STRIDE(dim), packed = AME_I4_BYTES(dim);
  if (form == TY_F32 || form == TY_F16)
    k->quantize_i8(decoded, (size_t)n, dim, to->codes + first * stride, to->info + first);
  if (form != TY_INT4 && to->i4 != NULL)
    ty_coding_quantize(k, &c->base.coding, dim, decoded, n, to->scratch, to->i4 + first * packed, to->i4_info + first);
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *at = stored + i * bytes;
    const float *row = decoded == NULL ? NULL : decoded + i * dim;
    float scale, offset, bias = c->metric == TY_L2 ? bias_of(row, dim) : 0;
    if (form == TY_INT8) {
      int8_t *codes = to->codes + (first + i) * stride;
      memcpy(&scale, at, sizeof scale);
      memcpy(codes, at + sizeof scale, dim);
      memset(codes + dim, 0, (size_t)stride - dim);
      to->info[first + i] = info_of_i8(k, codes, scale, dim);
    } else if (form == TY_INT4) {
      uint8_t *codes = to->i4 + (first + i) * packed;
      memcpy(&scale, at, sizeof scale);
      memcpy(&offset, at + sizeof scale, sizeof offset);
      memcpy(codes, at + TY_LEVELS_BYTES, (size_t)packed);
      to->i4_info[first + i] = ty_stored_i4_info(codes, scale, offset, dim, row);
    }
    to->bias[first + i] = bias;
    if (to->info != NULL) to->info[first + i].bias = bias;
  }
}

bool ty_coded_is_row(const ty_coded *x, uint64_t at, const float *decoded) {
  uint32_t dim = x->c->dim;
  const int8_t *codes = x->codes + at * AME_CODE_STRIDE(dim);
  ame_code_info *info = &x->info[at];
  TY_ASSERT(x->c->dtype == TY_F32);
  if (!ty_codes_are(codes, info->scale, dim, (const uint8_t *)decoded)) return false;
  float bias = info->bias;
  *info = info_of_i8(x->c->env->kernel, codes, info->scale, dim);
  info->bias = bias;
  return true;
}
