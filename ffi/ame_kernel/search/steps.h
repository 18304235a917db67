/* search: k-means, top-k, BM25, packed postings and a hash for tables in memory. Uses isa/. Contracts are those of the
 * table in ame_kernel.h. */
#pragma once

#include "ame_kernel.h"
#include "exact.h"

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

uint64_t kernel_hash64(const void *data, size_t bytes, uint64_t seed);
