/* The stored forms of a vector: sizes, encoding, decoding. */
#include "rows/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rows/block.h"
#include "rows/sparse.h"
#include "rows/vertical.h"

#define CODER_FLOATS   65536u /* 256 KiB of rows at a time: with their codes they stay in the L2 cache */
#define GROUPS_AT_ONCE 64u    /* groups of eight codes read from a block at a time */

uint64_t ty_form_bytes(ty_dtype form, uint32_t dim) {
  switch (form) {
  case TY_F32: break;
  case TY_F16: return (uint64_t)dim * sizeof(uint16_t);
  case TY_INT8: return sizeof(float) + (uint64_t)dim;
  case TY_INT4: return TY_LEVELS_BYTES + AME_I4_BYTES(dim);
  }
  return (uint64_t)dim * sizeof(float);
}

uint64_t ty_vector_bytes(const ty_collection *c) { return ty_form_bytes(c->dtype, c->dim); }

const char *ty_dtype_limit(ty_dtype dtype) {
  return dtype == TY_F16 ? "f16 cannot hold (65504 at most)" : "int4 cannot hold (1.26e30 at most)";
}

/* ---- Reading ---- */

void ty_codes_decode(const int8_t *codes, float scale, uint32_t dim, float *out) {
  for (uint32_t i = 0; i < dim; i++) out[i] = scale * (float)codes[i];
}

const float *ty_vector_decode(const ty_collection *c, ty_dtype form, const uint8_t *stored, float *scratch) {
  const ame_kernel *k = c->env->kernel;
  ame_i4_info info = {0};
  float scale;
  switch (form) {
  case TY_F32: return (const float *)(const void *)stored;
  case TY_F16: k->f16_to_f32((const uint16_t *)(const void *)stored, c->dim, scratch); break;
  case TY_INT8:
    memcpy(&scale, stored, sizeof scale);
    ty_codes_decode((const int8_t *)(stored + sizeof scale), scale, c->dim, scratch);
    break;
  case TY_INT4:
    memcpy(&info.scale, stored, sizeof info.scale);
    memcpy(&info.offset, stored + sizeof info.scale, sizeof info.offset);
    k->dequantize_i4(stored + TY_LEVELS_BYTES, &info, c->dim, scratch);
    break;
  }
  return scratch;
}

/* Decodes a row in runs whose codes fit on the stack. */
static void decode_block(const ty_collection *c, const uint8_t *blocks, uint64_t at, float *out) {
  uint8_t codes[GROUPS_AT_ONCE * 4];
  ame_i4_info info = {0};
  ty_block_levels(blocks, c->dim, at, &info.scale, &info.offset);
  for (uint32_t first = 0; first < c->dim; first += GROUPS_AT_ONCE * 8) {
    uint32_t n = c->dim - first < GROUPS_AT_ONCE * 8 ? c->dim - first : GROUPS_AT_ONCE * 8;
    ty_block_codes(blocks, c->dim, at, first / 8, (n + 7) / 8, codes);
    c->env->kernel->dequantize_i4(codes, &info, n, out + first);
  }
}

const uint8_t *ty_payload_stored(const ty_collection *c, const ty_payload *p, uint8_t *scratch) {
  if (p->sparse_bytes == 0) return p->vector;
  ty_sparse_take(c->env->kernel, (ty_slice){p->vector, p->sparse_bytes}, c->dim, scratch);
  return scratch;
}

const float *ty_payload_vector(const ty_collection *c, const ty_payload *p, float *scratch) {
  if (p->sparse_bytes == 0) return ty_vector_decode(c, ty_form_of(c, p->coded), p->vector, scratch);
  ty_sparse_decode((ty_slice){p->vector, p->sparse_bytes}, c->dim, scratch);
  return scratch;
}

const float *ty_row_vector(const ty_collection *c, const ty_segment *s, uint64_t at, float *scratch) {
  TY_ASSERT(at < s->count);
  if (!s->is_base && (s->vertical.lines != NULL || !s->payload[at].coded))
    return ty_payload_vector(c, &s->payload[at], scratch);
  if (s->vectors != NULL) return ty_vector_decode(c, c->dtype, s->vectors + at * ty_vector_bytes(c), scratch);
  if (s->vertical.lines != NULL) ty_line_decode(c, s, at, scratch);
  else if (c->dtype == TY_INT4) decode_block(c, s->blocks, at, scratch);
  else ty_codes_decode(s->codes + at * AME_CODE_STRIDE(c->dim), s->info[at].scale, c->dim, scratch);
  return scratch;
}

/* Of a row that is its codes: the levels or the scale, and the codes. */
static void take_codes(const ty_collection *c, const ty_segment *s, uint64_t at, int8_t *codes, uint8_t *out) {
  const ty_vertical *v = &s->vertical;
  bool four = c->dtype == TY_INT4, vertical = v->lines != NULL;
  float levels[2] = {0, 0};
  if (vertical) ty_line_take(c, s, at, codes);
  else if (four) ty_block_codes(s->blocks, c->dim, at, 0, AME_I4_BYTES(c->dim) / 4, (uint8_t *)codes);
  else memcpy(codes, s->codes + at * AME_CODE_STRIDE(c->dim), c->dim);
  if (four && !vertical) ty_block_levels(s->blocks, c->dim, at, &levels[0], &levels[1]);
  else levels[0] = vertical ? v->scales[at] : s->info[at].scale;
  if (four && vertical) levels[1] = v->offsets[at];
  uint64_t head = four ? TY_LEVELS_BYTES : sizeof *levels;
  memcpy(out, levels, (size_t)head);
  memcpy(out + head, codes, four ? AME_I4_BYTES(c->dim) : c->dim);
}

void ty_row_codes(const ty_collection *c, const ty_segment *s, uint64_t at, int8_t *codes, uint8_t *out) {
  if (s->is_base || !s->payload[at].coded) {
    take_codes(c, s, at, codes, out);
    return;
  }
  const uint8_t *stored = ty_payload_stored(c, &s->payload[at], out);
  if (stored != out) memcpy(out, stored, sizeof(float) + c->dim);
}

void ty_row_stored(const ty_collection *c, const ty_segment *s, uint64_t at, int8_t *codes, uint8_t *out) {
  const uint8_t *stored = NULL;
  TY_ASSERT(at < s->count);
  if (c->dtype == TY_F32) stored = (const uint8_t *)ty_row_vector(c, s, at, (float *)(void *)out);
  else if (!s->is_base) stored = ty_payload_stored(c, &s->payload[at], out);
  else if (s->vectors != NULL) stored = s->vectors + at * ty_vector_bytes(c);
  if (stored == NULL) take_codes(c, s, at, codes, out);
  else if (stored != out) memcpy(out, stored, (size_t)ty_vector_bytes(c));
}

bool ty_codes_are(const int8_t *codes, float scale, uint32_t dim, const uint8_t *row) {
  uint32_t apart = 0;
  for (uint32_t i = 0; i < dim; i++) {
    float decoded = scale * (float)codes[i];
    uint32_t ours, stored;
    memcpy(&ours, &decoded, sizeof ours);
    memcpy(&stored, row + (uint64_t)i * sizeof stored, sizeof stored);
    apart |= ours ^ stored;
  }
  return apart == 0;
}

bool ty_row_is_codes(const ty_collection *c, const ty_segment *s, uint64_t at) {
  TY_ASSERT(c->dtype == TY_F32 && at < s->count);
  if (s->is_base ? s->vectors == NULL : s->payload[at].coded) return true;
  if (s->codes == NULL) return false; /* a delta's row that is its codes is stored as such */
  return ty_codes_are(s->codes + at * AME_CODE_STRIDE(c->dim), s->info[at].scale, c->dim,
                      s->is_base ? s->vectors + at * ty_vector_bytes(c) : s->payload[at].vector);
}

/* Whether scale times each code is finite, and no code INT8_MIN, with which the kernel's sums are not exact. The
 * largest product is that of the largest code; with an infinite scale even that of 0 is not a number. */
static bool codes_good(const ty_collection *c, const uint8_t *stored) {
  const uint8_t *codes = stored + sizeof(float);
  float scale;
  uint8_t least = 128, most = 128; /* of the codes + 128: every CPU has the smaller of unsigned bytes */
  memcpy(&scale, stored, sizeof scale);
  for (uint32_t i = 0; i < c->dim; i++) {
    const uint8_t code = codes[i] ^ 0x80;
    least = code < least ? code : least;
    most = code > most ? code : most;
  }
  return least > 0 && isfinite(scale * (float)(least - 128)) && isfinite(scale * (float)(most - 128));
}

bool ty_vector_good(const ty_collection *c, ty_dtype form, const uint8_t *stored, const float *decoded) {
  if (form == TY_INT8) return codes_good(c, stored);
  if (!c->env->kernel->all_finite(decoded, c->dim)) return false;
  bool good = true;
  if (form == TY_INT4) {
    const uint8_t *codes = stored + TY_LEVELS_BYTES;
    for (uint64_t i = c->dim; i < AME_I4_BYTES(c->dim) * 2; i++) /* beyond the last dimension */
      good &= (codes[i / 8 * 4 + i % 4] >> (i % 8 < 4 ? 0 : 4) & 15) == 0;
  }
  return good;
}

/* ---- Storing ---- */

ty_status ty_coder_open(ty_coder *w, const ty_collection *c, uint64_t rows, ty_error *err) {
  uint64_t room = CODER_FLOATS / c->dim;
  if (room > TY_CODER_ROWS) room = TY_CODER_ROWS;
  if (room > rows) room = rows;
  *w = (ty_coder){.c = c, .room = room < 1 ? 1 : room};
  w->rows = malloc((size_t)(w->room * c->dim) * sizeof *w->rows);
  w->stored = c->dtype == TY_F32 ? (uint8_t *)w->rows : malloc((size_t)(w->room * ty_vector_bytes(c)));
  w->codes = aligned_alloc(64, (size_t)(w->room * AME_CODE_STRIDE(c->dim) + TY_ALIGN));
  if (w->rows != NULL && w->stored != NULL && w->codes != NULL) return TY_OK;
  ty_coder_free(w);
  return ty_fail(err, TY_NO_MEMORY, "out of memory for vectors");
}

void ty_coder_free(ty_coder *w) {
  if ((void *)w->stored != (void *)w->rows) free(w->stored);
  free(w->rows);
  free(w->codes);
  *w = (ty_coder){0};
}

static bool store_f16(ty_coder *w, uint64_t n, uint64_t *bad) {
  uint16_t *out = (uint16_t *)(void *)w->stored;
  uint64_t count = n * w->c->dim;
  w->c->env->kernel->f32_to_f16(w->rows, (size_t)count, out);
  unsigned over = 0;
  for (uint64_t i = 0; i < count; i++) over |= (out[i] & 0x7c00u) == 0x7c00u;
  for (*bad = 0; over && (out[*bad] & 0x7c00u) != 0x7c00u;) ++*bad;
  return !over;
}

/* The scale with which the rounded codes of a row of unit length have unit length again, so that scores are cosines.
 * Without it int8 scored up to 1.003. */
static float unit_scale(const int8_t *codes, uint32_t dim, float scale) {
  int64_t squares = 0;
  for (uint32_t i = 0; i < dim; i++) squares += (int64_t)codes[i] * codes[i];
  return squares == 0 ? scale : (float)(1 / sqrt((double)squares));
}

/* The same for scale and offset of four bits. `row` is scratch. */
static void unit_levels(const ty_coder *w, const uint8_t *codes, ame_i4_info *info, float *row) {
  double squares = 0;
  w->c->env->kernel->dequantize_i4(codes, info, w->c->dim, row);
  for (uint32_t i = 0; i < w->c->dim; i++) squares += (double)row[i] * (double)row[i];
  if (!(squares > 0)) return;
  info->scale = (float)((double)info->scale / sqrt(squares));
  info->offset = (float)((double)info->offset / sqrt(squares));
}

/* The largest code times the scale may round to infinity if an element is the largest float: the scale is reduced. */
static void store_i8(ty_coder *w, uint64_t n) {
  uint32_t dim = w->c->dim;
  uint64_t bytes = ty_vector_bytes(w->c), stride = AME_CODE_STRIDE(dim);
  w->c->env->kernel->quantize_i8(w->rows, (size_t)n, dim, w->codes, w->i8_info);
  for (uint64_t i = 0; i < n; i++) {
    float scale = w->i8_info[i].scale;
    while (isinf(scale * 127.0f)) scale = nextafterf(scale, 0);
    if (w->c->metric == TY_COSINE) scale = unit_scale(w->codes + i * stride, dim, scale);
    memcpy(w->stored + i * bytes, &scale, sizeof scale);
    memcpy(w->stored + i * bytes + sizeof scale, w->codes + i * stride, dim);
  }
}

/* The kernel has no levels for rows beyond 2^100 and returns an infinite error. Those below 2^-100 become the zero
 * row. */
static bool store_i4(ty_coder *w, uint64_t n, uint64_t *bad) {
  uint32_t dim = w->c->dim;
  uint64_t bytes = ty_vector_bytes(w->c), packed = AME_I4_BYTES(dim);
  w->c->env->kernel->quantize_i4(w->rows, (size_t)n, dim, (uint8_t *)w->codes, w->i4_info);
  for (uint64_t i = 0; i < n; i++) {
    for (uint64_t k = i * dim; isinf(w->i4_info[i].err) && k < (i + 1) * dim; k++) {
      *bad = k;
      if (fabsf(w->rows[k]) > 0x1p100f) return false;
    }
    if (w->c->metric == TY_COSINE)
      unit_levels(w, (const uint8_t *)w->codes + i * packed, &w->i4_info[i], w->rows + i * dim);
    memcpy(w->stored + i * bytes, &w->i4_info[i].scale, sizeof(float));
    memcpy(w->stored + i * bytes + sizeof(float), &w->i4_info[i].offset, sizeof(float));
    memcpy(w->stored + i * bytes + TY_LEVELS_BYTES, (uint8_t *)w->codes + i * packed, (size_t)packed);
  }
  return true;
}

/* Whether a row has unit length but for the rounding of its elements, as one that was stored: scaled and rounded once
 * more, one of some hundreds would be another, and a copy of a collection would differ from it. With f16 the elements
 * have to be halves: the rounding of others would be as coarse as what is let pass here. */
static bool has_unit_length(const ty_coder *w, const float *row) {
  const ame_kernel *k = w->c->env->kernel;
  uint32_t dim = w->c->dim;
  double squares = 0, most = w->c->dtype == TY_F16 ? 0x1p-9 : 0x1p-22;
  for (uint32_t i = 0; i < dim; i++) squares += (double)row[i] * (double)row[i];
  if (!(fabs(squares - 1) <= most)) return false;
  for (uint32_t i = 0; w->c->dtype == TY_F16 && i < dim; i++) {
    uint16_t half;
    float back;
    k->f32_to_f16(row + i, 1, &half);
    k->f16_to_f32(&half, 1, &back);
    if (back != row[i]) return false;
  }
  return true;
}

bool ty_coder_store(ty_coder *w, uint64_t n, uint64_t *bad) {
  TY_ASSERT(n <= w->room);
  const ty_collection *c = w->c;
  bool good = true;
  *bad = 0;
  for (uint64_t i = 0; c->metric == TY_COSINE && i < n; i++)
    if (!has_unit_length(w, w->rows + i * c->dim)) c->env->kernel->normalize(w->rows + i * c->dim, 1, c->dim);
  switch (c->dtype) {
  case TY_F32: return true; /* stored as they are */
  case TY_F16: good = store_f16(w, n, bad); break;
  case TY_INT8: store_i8(w, n); break;
  case TY_INT4: good = store_i4(w, n, bad); break;
  }
  for (uint64_t i = 0; good && i < n; i++)
    ty_vector_decode(c, c->dtype, w->stored + i * ty_vector_bytes(c), w->rows + i * c->dim);
  return good;
}
