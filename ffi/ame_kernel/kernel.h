/* What the files of the kernel say to each other; ame_kernel.h is what they say to everybody else. */
#ifndef AME_KERNEL_INTERNAL_H
#define AME_KERNEL_INTERNAL_H

#include "isa.h"

void kernel_normalize(float *rows, size_t n, size_t dim);
uint32_t kernel_all_finite(const float *x, size_t n);
void kernel_dequantize_i4(const uint8_t *codes, const ame_i4_info *info, size_t dim, float *out);
void kernel_f32_to_f16(const float *x, size_t n, uint16_t *out);

void kernel_kmeans_half_norms(const float *centroids, size_t k, size_t dim, float *half_norms);
void kernel_kmeans_assign(const float *rows, size_t n, size_t dim, const float *centroids, const float *half_norms, size_t k,
                          uint32_t *assign, float *best);
void kernel_kmeans_seed(const float *rows, size_t n, size_t dim, size_t k, uint64_t seed, float *centroids, float *distance);
float kernel_kmeans_update(const float *rows, size_t n, size_t dim, const uint32_t *assign, const float *best, size_t k,
                           float *centroids, double *sums, uint64_t *counts);

void kernel_topk_offer(ame_topk *heap, const ame_hit *hits, size_t n);
void kernel_topk_sort(ame_topk *heap);

void kernel_bm25_accumulate(const ame_posting *postings, size_t n, float idf, float k1, const float *norms, float *acc);
uint32_t kernel_crc32c(uint32_t crc, const void *data, size_t bytes);
uint64_t kernel_hash64(const void *data, size_t bytes, uint64_t seed);

#endif
