/* What the files of the kernel say to each other; ame_kernel.h is what they say to everybody else. */
#ifndef AME_KERNEL_INTERNAL_H
#define AME_KERNEL_INTERNAL_H

#include "isa.h"

void kernel_normalize(float *rows, size_t n, size_t dim);
uint32_t kernel_all_finite(const float *x, size_t n);
void kernel_dequantize_i4(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out);
void kernel_f32_to_f16(const float *x, size_t n, uint16_t *out);

void kernel_kmeans_half_norms(const float *centroids, size_t k, size_t dim, float *half_norms);
void kernel_kmeans_assign(const float *rows, size_t n, size_t dim, const float *centroids, const float *half_norms,
                          size_t k, uint32_t *assign, float *best);
void kernel_kmeans_seed(const float *rows, size_t n, size_t dim, size_t k, uint64_t seed, float *centroids,
                        float *distance);
float kernel_kmeans_update(const float *rows, size_t n, size_t dim, const uint32_t *assign, const float *best, size_t k,
                           float *centroids, double *sums, uint64_t *counts);

void kernel_topk_offer(ame_topk *heap, const ame_hit *hits, size_t n);
void kernel_topk_sort(ame_topk *heap);

void kernel_bm25_parts(const ame_bm25 *q, const uint32_t *docs, const uint32_t *tfs, const uint32_t *lengths, size_t n,
                       uint32_t *parts);
void kernel_pack(const uint32_t *values, uint32_t bits, uint8_t *out);
void kernel_unpack(const uint8_t *packed, uint32_t bits, uint32_t *out);
uint32_t kernel_ascend(uint32_t next, uint32_t *gaps);
size_t kernel_select(const uint32_t *sums, size_t n, uint32_t least, uint32_t *places);
void kernel_token_hashes(ame_token_cache *cache, const uint8_t *text, size_t bytes, ame_token_hash_fn fn, void *ctx);
uint32_t kernel_token_version(void);
float kernel_term_worth(const uint8_t *term, size_t bytes);
uint32_t kernel_crc32c(uint32_t crc, const void *data, size_t bytes);
uint64_t kernel_hash64(const void *data, size_t bytes, uint64_t seed);

#endif
