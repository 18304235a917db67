#include "rows/vertical.h"

#include <math.h>
#include <string.h>

#include "rows/coded.h"

uint64_t ty_lines_bytes(const ty_collection *c, uint64_t run, uint64_t rows) {
  return (rows / run * ty_line_run_bytes(c, run) + ty_line_run_bytes(c, rows % run)) * c->dim;
}

ty_line_place ty_line_place_of(const ty_collection *c, uint64_t run, uint64_t rows, uint64_t at) {
  uint64_t block = at / run, first = block * run, left = rows - first;
  TY_ASSERT(at < rows);
  uint64_t bytes = ty_line_run_bytes(c, left < run ? left : run);
  return (ty_line_place){.block = block * ty_line_run_bytes(c, run) * c->dim,
                         .run = bytes,
                         .first = first,
                         .rows = bytes / AME_LINE * ty_line_rows(c)};
}

bool ty_delta_vertical(const ty_collection *c) {
  if (c->metric == TY_L2 || c->dtype == TY_F16) return false;
  return c->base.count >= c->env->vertical_least ? c->base.vertical.lines != NULL : c->hashed;
}

/* The byte of a row in the first dimension's run; `high`: its code is in the upper four bits. */
static uint64_t byte_of(const ty_collection *c, uint64_t at, bool *high) {
  uint64_t line = at / ty_line_rows(c), row = at % ty_line_rows(c);
  *high = row >= 64;
  return line * AME_LINE + AME_LINE_BYTE(row % 64);
}

float ty_line_width(float scale, float offset) {
  if (scale < 0) return INFINITY; /* only a forged file has it; the kernel's bound takes it to be positive */
  return (float)((fabs((double)offset) + 15 * fabs((double)scale)) * (1 + 0x1p-20));
}

/* Where AME_I4_BYTES have the code of a dimension. */
static uint64_t packed_byte(uint64_t d) { return d / 8 * 4 + d % 4; }
static uint32_t packed_shift(uint64_t d) { return d % 8 < 4 ? 0 : 4; }

void ty_line_put(const ty_collection *c, uint8_t *block, uint64_t run, uint64_t at, const void *codes) {
  bool high;
  uint8_t *to = block + byte_of(c, at, &high);
  const uint8_t *from = codes;
  if (c->dtype != TY_INT4) {
    for (uint64_t d = 0; d < c->dim; d++) to[d * run] = from[d] ^ 0x80;
    return;
  }
  const uint8_t kept = high ? 15 : 0xf0;
  for (uint64_t d = 0; d < c->dim; d++) {
    uint32_t code = from[packed_byte(d)] >> packed_shift(d) & 15u;
    to[d * run] = (uint8_t)((to[d * run] & kept) | code << (high ? 4 : 0));
  }
}

/* Rows that are put at once: a dimension of them is four times four bytes of one line. Row after row reads and writes
 * every line for each of them, which takes four times as long. */
#define TOGETHER 16u

/* One dimension of four rows: a byte each, where AME_LINE_BYTE has them. */
static inline uint32_t four_of(const uint8_t *codes, uint64_t stride) {
  return codes[0] | (uint32_t)codes[stride] << 8 | (uint32_t)codes[2 * stride] << 16 |
         (uint32_t)codes[3 * stride] << 24;
}

/* Dimensions that are put at once: the compiler makes vector code of the loop over them, a third of the time. */
#define DIMS_TOGETHER 16u

static void put_eight_bits(const ty_collection *c, uint8_t *to, const uint8_t *codes) {
  const uint64_t stride = AME_CODE_STRIDE(c->dim); /* a multiple of DIMS_TOGETHER */
  for (uint64_t first = 0; first < c->dim; first += DIMS_TOGETHER) {
    const uint64_t n = c->dim - first < DIMS_TOGETHER ? c->dim - first : DIMS_TOGETHER;
    for (uint32_t l = 0; l < TOGETHER / 4; l++) {
      const uint8_t *rows = codes + 4 * l * stride + first;
      uint32_t fours[DIMS_TOGETHER];
      for (uint32_t i = 0; i < DIMS_TOGETHER; i++) fours[i] = four_of(rows + i, stride) ^ 0x80808080u;
      for (uint64_t i = 0; i < n; i++) memcpy(to + (first + i) * AME_LINE + 16 * l, &fours[i], sizeof fours[i]);
    }
  }
}

/* Into the upper or the lower half of each byte. The upper half is that of rows 64 behind, which are put later: the
 * lower one is written without a look, since reading fresh memory first would cost a second fault for each page. */
static inline void put_half(uint8_t *to, uint32_t four, bool high) {
  if (high) {
    uint32_t kept;
    memcpy(&kept, to, sizeof kept);
    four = (kept & 0x0f0f0f0fu) | four << 4;
  }
  memcpy(to, &four, sizeof four);
}

static void put_four_bits(const ty_collection *c, uint8_t *to, bool high, const uint8_t *codes) {
  const uint64_t stride = AME_I4_BYTES(c->dim);
  for (uint64_t p = 0; p < stride; p++) {
    const uint64_t d = p / 4 * 8 + p % 4; /* as packed_byte and packed_shift have it; d + 4 is in the upper half */
    for (uint32_t l = 0; l < TOGETHER / 4; l++) {
      uint32_t four = four_of(codes + 4 * l * stride + p, stride);
      if (d < c->dim) put_half(to + d * AME_LINE + 16 * l, four & 0x0f0f0f0fu, high);
      if (d + 4 < c->dim) put_half(to + (d + 4) * AME_LINE + 16 * l, four >> 4 & 0x0f0f0f0fu, high);
    }
  }
}

void ty_lines_put(const ty_collection *c, uint8_t *lines, uint64_t at, uint64_t n, const void *codes) {
  const uint64_t rows = ty_line_rows(c), bytes = c->dtype == TY_INT4 ? AME_I4_BYTES(c->dim) : AME_CODE_STRIDE(c->dim);
  const uint8_t *from = codes;
  for (uint64_t end = at + n, some; at < end; at += some, from += some * bytes) {
    uint8_t *block = lines + at / rows * AME_LINE * c->dim;
    bool high;
    some = at % TOGETHER == 0 && end - at >= TOGETHER ? TOGETHER : 1;
    if (some == 1) ty_line_put(c, block, AME_LINE, at % rows, from);
    else if (c->dtype != TY_INT4) put_eight_bits(c, block + byte_of(c, at % rows, &high), from);
    else put_four_bits(c, block + byte_of(c, at % rows, &high), at % rows >= 64, from);
  }
}

ty_line_source ty_line_source_of(const ty_collection *c, const ty_segment *s, uint64_t at) {
  bool high;
  TY_ASSERT(!ty_is_sparse(s, at));
  at -= s->vertical.sparse_rows;
  ty_line_place p = ty_line_place_of(c, s->vertical.run, s->count - s->vertical.sparse_rows, at);
  uint64_t byte = byte_of(c, at - p.first, &high);
  return (ty_line_source){s->vertical.lines + p.block + byte, p.run, high ? 4 : 0};
}

void ty_line_take(const ty_collection *c, const ty_segment *s, uint64_t at, void *codes) {
  if (ty_is_sparse(s, at)) {
    (void)c->env->kernel->sparse_take(ty_sparse_block_at(s, at), at % TY_SPARSE_ROWS, NULL, c->dim, codes);
    memset((uint8_t *)codes + c->dim, 0, AME_CODE_STRIDE(c->dim) - c->dim);
    return;
  }
  ty_line_source x = ty_line_source_of(c, s, at);
  uint8_t *to = codes;
  if (c->dtype != TY_INT4) {
    for (uint64_t d = 0; d < c->dim; d++) to[d] = x.bytes[d * x.run] ^ 0x80;
    memset(to + c->dim, 0, AME_CODE_STRIDE(c->dim) - c->dim);
    return;
  }
  memset(to, 0, AME_I4_BYTES(c->dim));
  for (uint64_t d = 0; d < c->dim; d++)
    to[packed_byte(d)] |= (uint8_t)((x.bytes[d * x.run] >> x.shift & 15u) << packed_shift(d));
}

static inline float level(uint8_t byte, const ty_line_source *x, float scale, float offset) {
  float levels = scale * (float)((int)(byte >> x->shift & 15) * 2 - 15); /* rounded before the sum, as by the kernel */
  return offset + levels;
}

/* Codes that are decoded at a time, in 5 KB of the stack. */
#define DECODED 1024u

/* Decodes elements of a row of a sparse block: those in `dims`, or the first `count` if that is NULL. */
static void decode_sparse(const ty_collection *c, const ty_segment *s, uint64_t at, const uint32_t *dims,
                          uint64_t count, float *out) {
  const float scale = s->vertical.scales[at];
  uint32_t each[DECODED];
  int8_t codes[DECODED];
  for (uint64_t first = 0, n; first < count; first += n) {
    n = count - first < DECODED ? count - first : DECODED;
    const uint32_t *some = dims == NULL ? each : dims + first;
    for (uint64_t i = 0; dims == NULL && i < n; i++) each[i] = (uint32_t)(first + i);
    (void)c->env->kernel->sparse_take(ty_sparse_block_at(s, at), at % TY_SPARSE_ROWS, some, (size_t)n, codes);
    for (uint64_t i = 0; i < n; i++) out[some[i]] = scale * (float)codes[i];
  }
}

void ty_line_decode(const ty_collection *c, const ty_segment *s, uint64_t at, float *out) {
  if (ty_is_sparse(s, at)) {
    decode_sparse(c, s, at, NULL, c->dim, out);
    return;
  }
  ty_line_source x = ty_line_source_of(c, s, at);
  const float scale = s->vertical.scales[at];
  if (c->dtype == TY_INT4) {
    const float offset = s->vertical.offsets[at];
    for (uint64_t d = 0; d < c->dim; d++) out[d] = level(x.bytes[d * x.run], &x, scale, offset);
  } else {
    for (uint64_t d = 0; d < c->dim; d++) out[d] = scale * (float)((int)x.bytes[d * x.run] - 128);
  }
}

void ty_line_decode_some(const ty_collection *c, const ty_segment *s, uint64_t at, const uint32_t *dims, uint64_t count,
                         float *out) {
  if (ty_is_sparse(s, at)) {
    decode_sparse(c, s, at, dims, count, out);
    return;
  }
  ty_line_source x = ty_line_source_of(c, s, at);
  const float scale = s->vertical.scales[at];
  if (c->dtype == TY_INT4) {
    const float offset = s->vertical.offsets[at];
    for (uint64_t i = 0; i < count; i++) out[dims[i]] = level(x.bytes[dims[i] * x.run], &x, scale, offset);
  } else {
    for (uint64_t i = 0; i < count; i++) out[dims[i]] = scale * (float)((int)x.bytes[dims[i] * x.run] - 128);
  }
}

ame_code_info ty_line_info(const ty_collection *c, const ty_segment *s, uint64_t at) {
  const ty_vertical *v = &s->vertical;
  float err = v->errs == NULL ? 0 : v->errs[at];
  return (ame_code_info){
      .scale = v->scales[at], .err = err > 0 ? err : ty_decoding_err(v->norms[at], c->dim), .norm = v->norms[at]};
}
