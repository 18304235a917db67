/* The table of functions. It is constant and its pointer stays valid: a function that depends on the CPU path loads the
 * active path at each call, one load and one indirect call (about 2 ns) for a batch of rows. */
#include "embed/embed.h"
#include "isa/isa.h"
#include "search/steps.h"
#include "text/partners.h"

#include <math.h>

uint32_t ame_abi_version(void) { return AME_ABI_VERSION; }

static void dot_f32(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  isa_active()->dot_f32(q, rows, n, dim, out);
}

static void dot_i8(const int8_t *q, const int8_t *codes, size_t n, size_t stride, int32_t *out) {
  isa_active()->dot_i8(q, codes, n, stride, out);
}

static void quantize_i8(const float *rows, size_t n, size_t dim, int8_t *codes, ame_code_info *info) {
  isa_active()->quantize_i8(rows, n, dim, codes, info);
}

static void quantize_i4(const float *rows, size_t n, size_t dim, uint8_t *codes, ame_i4_info *info) {
  isa_active()->quantize_i4(rows, n, dim, codes, info);
}

static void rotate(float *rows, size_t n, size_t dim) { isa_active()->rotate(rows, n, dim); }

static void screen_i4(const ame_i4_query *q, const uint8_t *blocks, size_t n, size_t next, size_t dim, float threshold,
                      uint16_t *survivors, float *middle, float *half) {
  isa_active()->screen_i4(q, blocks, n, next, dim, threshold, survivors, middle, half);
}

static void screen_signs(const ame_sign_query *q, const uint8_t *blocks, size_t n, size_t dim, float threshold,
                         uint16_t *survivors, float *values) {
  isa_active()->screen_signs(q, blocks, n, dim, threshold, survivors, values);
}

static void dot_lines(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                      int32_t *dots) {
  isa_active()->dot_lines(q, block, run, first, n, next, dots);
}

static void dot_lines_i4(const ame_line_query *q, const uint8_t *block, size_t run, size_t first, size_t n, size_t next,
                         int32_t *dots) {
  isa_active()->dot_lines_i4(q, block, run, first, n, next, dots);
}

static void screen_lines(const ame_line_bound *b, const int32_t *dots, const float *scales, const float *offsets,
                         size_t n, float threshold, uint64_t *survivors) {
  isa_active()->screen_lines(b, dots, scales, offsets, n, threshold, survivors);
}

static size_t sparse_bound(size_t rows, size_t dim) {
  if (rows > AME_SPARSE_RUN || dim > AME_SPARSE_DIMS) return SIZE_MAX;
  return (rows + AME_LINE - 1) / AME_LINE * AME_LINE * dim; /* at most 2^29 */
}

static size_t sparse_put(const int8_t *const *rows, size_t n, size_t dim, void *scratch, uint32_t *directory,
                         uint8_t *data) {
  if (n > 0) return isa_active_sparse()->put(rows, n, dim, scratch, directory, data);
  memset(directory, 0, (dim + 1) * sizeof *directory);
  return 0;
}

static size_t sparse_pack(const uint8_t *dense, size_t lines, size_t dim, void *scratch, uint32_t *directory,
                          uint8_t *data) {
  return isa_active_sparse()->pack(dense, lines, dim, scratch, directory, data);
}

static int32_t sparse_rows(const ame_sparse_block *b, size_t n, int8_t *const *rows) {
  return isa_active_sparse()->rows(b, n, rows);
}

static int32_t sparse_take(const ame_sparse_block *b, size_t row, const uint32_t *dims, size_t n, int8_t *codes) {
  return isa_active_sparse()->take(b, row, dims, n, codes);
}

static int32_t dot_sparse(const ame_line_query *q, const ame_sparse_block *b, uint64_t lines,
                          const ame_sparse_block *next, int32_t *dots) {
  return isa_active_sparse()->dot(q, b, lines, next, dots);
}

static int32_t sparse_check(const ame_sparse_block *b, size_t first, size_t n) {
  return isa_active_sparse()->check(b, first, n);
}

static void squeeze_row(const int8_t *codes, size_t dim, size_t count, uint8_t *bits, uint8_t *out) {
  isa_active_sparse()->squeeze_row(codes, dim, count, bits, out);
}

static void spread_row(const uint8_t *bits, const uint8_t *packed, size_t count, size_t dim, int8_t *codes) {
  isa_active_sparse()->spread_row(bits, packed, count, dim, codes);
}

static void f16_to_f32(const uint16_t *x, size_t n, float *out) { isa_active()->f16_to_f32(x, n, out); }

static uint32_t crc32c(uint32_t crc, const void *data, size_t bytes) { return isa_active()->crc32c(crc, data, bytes); }

static void sq_l2(const float *q, const float *rows, size_t n, size_t dim, float *out) {
  isa_active()->sq_l2(q, rows, n, dim, out);
}

/* The norm is taken in double: no finite row overflows it, and no row but the zero row comes out as 0. */
static void normalize(float *rows, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++) {
    float *row = rows + i * dim;
    double lane[4] = {0, 0, 0, 0};
    size_t j = 0;
    for (; j + 4 <= dim; j += 4) {
      for (size_t l = 0; l < 4; l++) lane[l] += (double)row[j + l] * (double)row[j + l];
    }
    for (; j < dim; j++) lane[0] += (double)row[j] * (double)row[j];
    double norm = sqrt((lane[0] + lane[2]) + (lane[1] + lane[3]));
    if (!(norm > 0)) continue;
    double inverse = 1 / norm;
    for (j = 0; j < dim; j++) row[j] = (float)((double)row[j] * inverse);
  }
}

/* A float is finite unless its exponent is all ones. Read as integers, because a compiler may assume floats to be
 * finite. */
static uint32_t all_finite(const float *x, size_t n) {
  for (size_t i = 0; i < n;) {
    size_t end = n - i > 1024 ? i + 1024 : n;
    uint32_t bad = 0;
    for (; i < end; i++) {
      uint32_t bits;
      memcpy(&bits, x + i, sizeof bits);
      bad |= (bits & 0x7f800000u) == 0x7f800000u;
    }
    if (bad) return 0;
  }
  return 1;
}

static const ame_kernel table = {
    .abi = AME_ABI_VERSION,
    .size = sizeof(ame_kernel),
    .dot_f32 = dot_f32,
    .dot_i8 = dot_i8,
    .quantize_i8 = quantize_i8,
    .quantize_i4 = quantize_i4,
    .dequantize_i4 = kernel_dequantize_i4,
    .screen_i4 = screen_i4,
    .screen_signs = screen_signs,
    .dot_lines = dot_lines,
    .dot_lines_i4 = dot_lines_i4,
    .screen_lines = screen_lines,
    .sparse_bound = sparse_bound,
    .sparse_put = sparse_put,
    .sparse_pack = sparse_pack,
    .sparse_rows = sparse_rows,
    .sparse_take = sparse_take,
    .dot_sparse = dot_sparse,
    .sparse_check = sparse_check,
    .squeeze_row = squeeze_row,
    .spread_row = spread_row,
    .f32_to_f16 = kernel_f32_to_f16,
    .f16_to_f32 = f16_to_f32,
    .sq_l2 = sq_l2,
    .rotate = rotate,
    .normalize = normalize,
    .all_finite = all_finite,
    .kmeans_half_norms = kernel_kmeans_half_norms,
    .kmeans_assign = kernel_kmeans_assign,
    .kmeans_seed = kernel_kmeans_seed,
    .kmeans_update = kernel_kmeans_update,
    .topk_offer = kernel_topk_offer,
    .topk_sort = kernel_topk_sort,
    .bm25_parts = kernel_bm25_parts,
    .pack = kernel_pack,
    .unpack = kernel_unpack,
    .ascend = kernel_ascend,
    .select = kernel_select,
    .crc32c = crc32c,
    .hash64 = kernel_hash64,
    .embed_dim = ame_embed_dim,
    .embed = ame_embed,
    .embed_terms = kernel_embed_terms,
    .tokenize = ame_tokenize,
    .token_hashes = kernel_token_hashes,
    .want_term = kernel_want_term,
    .wanted_hashes = kernel_wanted_hashes,
    .token_words = kernel_token_words,
    .term_edits = kernel_term_edits,
    .token_version = kernel_token_version,
    .term_worth = kernel_term_worth,
    .term_partners = kernel_term_partners,
    .encoder_check = ame_encoder_check,
    .encoder_id = ame_encoder_id,
    .encoder_scratch = ame_encoder_scratch,
    .encode = ame_encode,
    .dot_records = ame_dot_records,
};

const ame_kernel *ame_kernel_table(void) { return &table; }
