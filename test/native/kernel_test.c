/* libame_kernel against its header: every CPU path that runs here against the scalar one, the scalar one against
 * arithmetic in long double, and text against tables that say what a word becomes. */
#include "embed/prior.h"
#include "isa/crc32c_table.h"
#include "kernel_common.h"
#include "kernel_documents.h"

static const size_t lengths[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,  17,   31,  32,
                                 33, 63, 64, 65, 127, 255, 256, 384, 768, 1000, 1024};
#define LENGTHS (sizeof lengths / sizeof lengths[0])
#define ROWS    15

typedef enum shape {
  SHAPE_RANDOM,
  SHAPE_ZERO,
  SHAPE_DENORMAL,
  SHAPE_SMALLEST,
  SHAPE_HUGE,
  SHAPE_ONE_HOT,
  SHAPE_MIXED,
  SHAPES
} shape;

static void fill(float *x, size_t n, shape s) {
  for (size_t i = 0; i < n; i++) {
    switch (s) {
    case SHAPE_ZERO: x[i] = 0; break;
    case SHAPE_DENORMAL: x[i] = random_float() * 1e-40f; break;
    case SHAPE_SMALLEST: x[i] = i % 3 ? 0 : 1.4e-45f; break;
    case SHAPE_HUGE: x[i] = random_float() * 1e17f; break;
    case SHAPE_ONE_HOT: x[i] = i == n / 2 ? -3.0f : 0; break;
    case SHAPE_MIXED: x[i] = ldexpf(random_float(), (int)(random_u64() % 40) - 20); break;
    default: x[i] = random_float();
    }
  }
}

static void test_table(void) {
  CHECK(kernel == ame_kernel_table());
  CHECK(kernel->abi == AME_ABI_VERSION && ame_abi_version() == AME_ABI_VERSION);
  CHECK(kernel->size == sizeof(ame_kernel));
  CHECK(strcmp(ame_isa_name(0), "scalar") == 0);
  CHECK(ame_isa_name(ame_isa_count()) == NULL && !ame_isa_supported(ame_isa_count()));
  const char *best = ame_isa_active();
  uint32_t last = ame_isa_count() - 1;
  while (!ame_isa_supported(last)) last--;
  CHECK_MESSAGE(best == ame_isa_name(last), "%s is chosen, not %s", best, ame_isa_name(last));
  CHECK(ame_isa_force("abacus") == 1 && ame_isa_force(NULL) == 1 && ame_isa_active() == best);
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    int forced = ame_isa_force(ame_isa_name(i)) == 0;
    CHECK_MESSAGE(forced == (int)ame_isa_supported(i), "force of %s", ame_isa_name(i));
    if (forced) CHECK(strcmp(ame_isa_active(), ame_isa_name(i)) == 0);
  }
  ame_isa_force(best);
}

static void test_dot_f32(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l];
    float *q = memory(dim * sizeof(float)), *rows = memory(ROWS * dim * sizeof(float));
    float out[ROWS], scalar[ROWS], one;
    for (shape s = 0; s < SHAPES; s++) {
      fill(q, dim, s == SHAPE_ONE_HOT ? SHAPE_RANDOM : s);
      for (size_t i = 0; i < ROWS; i++) fill(rows + i * dim, dim, s);
      ame_isa_force("scalar");
      kernel->dot_f32(q, rows, ROWS, dim, scalar);
      ame_isa_force(path);
      kernel->dot_f32(q, rows, ROWS, dim, out);
      CHECK_MESSAGE(memcmp(out, scalar, sizeof out) == 0, "%s dot_f32 dim %zu shape %d is not the scalar one", path,
                    dim, s);
      for (size_t i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (size_t j = 0; j < dim; j++) sum += (long double)q[j] * rows[i * dim + j];
        double bound = (double)dim * 0x1p-22 * norm_of(q, dim) * norm_of(rows + i * dim, dim) + 1e-44;
        CHECK_MESSAGE(fabs((double)(out[i] - sum)) <= bound, "%s dot_f32 dim %zu shape %d: %g, not %Lg", path, dim, s,
                      out[i], sum);
        kernel->dot_f32(q, rows + i * dim, 1, dim, &one);
        CHECK_MESSAGE(memcmp(&one, &out[i], sizeof one) == 0, "%s dot_f32 dim %zu: a row's bits depend on its place",
                      path, dim);
      }
    }
    free(q);
    free(rows);
  }
  kernel->dot_f32(NULL, NULL, 0, 16, NULL);
}

static void test_dot_i8(const char *path) {
  const size_t strides[] = {0, 64, 128, 192, 384, 1024, 131072};
  for (size_t l = 0; l < sizeof strides / sizeof strides[0]; l++) {
    size_t stride = strides[l];
    int8_t *q = memory(stride), *codes = memory(ROWS * stride);
    int32_t out[ROWS];
    for (int extreme = 0; extreme < 3; extreme++) {
      for (size_t j = 0; j < stride; j++)
        q[j] = extreme ? (int8_t)(extreme == 1 ? 127 : -127) : (int8_t)(random_u64() % 255 - 127);
      for (size_t j = 0; j < ROWS * stride; j++)
        codes[j] = extreme ? (int8_t)(j / (stride ? stride : 1) % 2 ? 127 : -127) : (int8_t)(random_u64() % 255 - 127);
      kernel->dot_i8(q, codes, ROWS, stride, out);
      for (size_t i = 0; i < ROWS; i++) {
        int64_t sum = 0;
        for (size_t j = 0; j < stride; j++) sum += (int64_t)q[j] * codes[i * stride + j];
        CHECK_MESSAGE(out[i] == sum, "%s dot_i8 stride %zu: %d, not %lld", path, stride, out[i], (long long)sum);
      }
    }
    free(q);
    free(codes);
  }
}

static void test_quantize(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l], stride = AME_CODE_STRIDE(dim);
    float *rows = memory(ROWS * dim * sizeof(float));
    int8_t *codes = memory(ROWS * stride), *truth = memory(ROWS * stride);
    ame_code_info info[ROWS], truth_info[ROWS];
    for (shape s = 0; s < SHAPES; s++) {
      fill(rows, ROWS * dim, s);
      memset(codes, 0x55, ROWS * stride);
      kernel->quantize_i8(rows, ROWS, dim, codes, info);
      ame_isa_force("scalar");
      kernel->quantize_i8(rows, ROWS, dim, truth, truth_info);
      ame_isa_force(path);
      CHECK_MESSAGE(memcmp(codes, truth, ROWS * stride) == 0, "%s codes dim %zu shape %d", path, dim, s);
      CHECK_MESSAGE(memcmp(info, truth_info, sizeof info) == 0, "%s summaries dim %zu shape %d", path, dim, s);
      for (size_t i = 0; i < ROWS; i++) {
        long double err = 0, norm = 0;
        int good = 1;
        for (size_t j = 0; j < stride; j++) {
          long double hat = (long double)info[i].scale * codes[i * stride + j];
          long double x = j < dim ? (long double)rows[i * dim + j] : 0;
          good &= codes[i * stride + j] != -128 && (j < dim || codes[i * stride + j] == 0);
          good &= fabsl(x - hat) <= (long double)info[i].scale * 0.5001L || info[i].scale < 1e-38f;
          err += (x - hat) * (x - hat);
          norm += hat * hat;
        }
        CHECK_MESSAGE(good, "%s a code dim %zu shape %d", path, dim, s);
        CHECK_MESSAGE(info[i].err >= sqrtl(err) && info[i].norm >= sqrtl(norm), "%s bounds dim %zu shape %d", path, dim,
                      s);
        CHECK_MESSAGE(info[i].err <= sqrtl(err) * 1.000001L + 2e-45L &&
                          info[i].norm <= sqrtl(norm) * 1.000001L + 2e-45L,
                      "%s bounds too wide, dim %zu shape %d", path, dim, s);
        CHECK(info[i].bias == 0);
      }
    }
    free(rows);
    free(codes);
    free(truth);
  }
  const float ties[8] = {127, 0.5f, -0.5f, 1.5f, -1.5f, 0.25f, -126.5f, 2.5f};
  const int8_t expected[8] = {127, 1, -1, 2, -2, 0, -127, 3};
  int8_t codes[64];
  ame_code_info info;
  kernel->quantize_i8(ties, 1, 8, codes, &info);
  CHECK_MESSAGE(memcmp(codes, expected, 8) == 0, "%s ties away from zero", path);
}

/* A row that is codes times a scale of at most 17 bits, the largest code 127, comes back: scale, codes, and an error of
 * 0. */
static void test_coded_rows(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l], stride = AME_CODE_STRIDE(dim);
    float *row = memory(dim * sizeof(float));
    int8_t *codes = memory(stride), *wanted = memory(stride);
    for (int round = 0; round < 40 && dim > 0; round++) {
      ame_code_info info;
      float scale = (float)ldexp((double)(65536 + random_u64() % 65536), (int)(random_u64() % 180) - 130);
      int good = 1;
      for (size_t j = 0; j < dim; j++) wanted[j] = (int8_t)((int)(random_u64() % 255) - 127);
      wanted[random_u64() % dim] = round % 2 ? 127 : -127;
      for (size_t j = 0; j < dim; j++) row[j] = scale * (float)wanted[j];
      kernel->quantize_i8(row, 1, dim, codes, &info);
      CHECK_MESSAGE(memcmp(codes, wanted, dim) == 0, "%s codes of a coded row, dim %zu, scale %a", path, dim,
                    (double)scale);
      CHECK_MESSAGE(info.scale == scale && info.err == 0, "%s scale %a, error %a of a coded row, dim %zu, scale %a",
                    path, (double)info.scale, (double)info.err, dim, (double)scale);
      for (size_t j = 0; j < dim; j++) {
        float back = info.scale * (float)codes[j];
        good &= memcmp(&back, &row[j], sizeof back) == 0;
      }
      CHECK_MESSAGE(good, "%s a coded row does not come back, dim %zu, scale %a", path, dim, (double)scale);
    }
    free(row);
    free(codes);
    free(wanted);
  }
}

/* Every half to f32 and back, and f32 to half against the nearest of two neighbours. */
static void test_halves(const char *path) {
  enum { N = 65536 };
  uint16_t *all = memory(N * sizeof(uint16_t)), *back = memory(N * sizeof(uint16_t));
  float *wide = memory(N * sizeof(float)), *part = memory(N * sizeof(float));
  for (size_t i = 0; i < N; i++) all[i] = (uint16_t)i;
  kernel->f16_to_f32(all, N, wide);
  kernel->f32_to_f16(wide, N, back);
  int values = 1, round_trip = 1, nearest = 1, lengths_agree = 1;
  for (size_t i = 0; i < N; i++) {
    int exponent = (int)(i >> 10 & 31), fraction = (int)(i & 1023), is_nan = exponent == 31 && fraction;
    double size =
        exponent == 31 ? INFINITY : ldexp(exponent ? 1024 + fraction : fraction, (exponent ? exponent : 1) - 25);
    if (is_nan) {
      uint32_t bits, expected = (uint32_t)(i & 0x8000) << 16 | 0x7fc00000u | (uint32_t)fraction << 13;
      memcpy(&bits, &wide[i], 4);
      values &= bits == expected;
    } else {
      values &= (double)wide[i] == (i & 0x8000 ? -size : size) && !signbit(wide[i]) == !(i & 0x8000);
    }
    round_trip &= back[i] == (is_nan ? i | 0x200 : i);
  }
  CHECK_MESSAGE(values, "%s f16_to_f32", path);
  CHECK_MESSAGE(round_trip, "%s f16 there and back", path);
  for (size_t i = 0; i < 0x7c00; i++) { /* between a half and the next: below, at and above the middle */
    double above = i + 1 < 0x7c00 ? (double)wide[i + 1] : 65536;
    float middle = (float)(((double)wide[i] + above) / 2), x[3];
    uint16_t out[3];
    x[0] = nextafterf(middle, 0);
    x[1] = middle;
    x[2] = nextafterf(middle, INFINITY);
    for (int sign = 0; sign < 2; sign++) {
      kernel->f32_to_f16(x, 3, out);
      uint16_t s = (uint16_t)(sign << 15);
      nearest &= out[0] == (i | s) && out[1] == ((i + (i & 1)) | s) && out[2] == ((i + 1) | s);
      for (int k = 0; k < 3; k++) x[k] = -x[k];
    }
  }
  CHECK_MESSAGE(nearest, "%s f32_to_f16 is to nearest, ties to even", path);
  const float special[6] = {3e38f, -INFINITY, 1e-45f, -1e-45f, 0x1p-25f, NAN};
  uint16_t out[6];
  kernel->f32_to_f16(special, 6, out);
  CHECK(out[0] == 0x7c00 && out[1] == 0xfc00 && out[2] == 0 && out[3] == 0x8000 && out[4] == 0);
  CHECK((out[5] & 0x7fff) > 0x7c00);
  for (size_t n = 0; n < 40; n++) {
    memset(part, 0x77, 41 * sizeof(float));
    kernel->f16_to_f32(all + 1000, n, part);
    lengths_agree &= memcmp(part, wide + 1000, n * sizeof(float)) == 0 && ((const uint8_t *)(part + n))[0] == 0x77;
  }
  CHECK_MESSAGE(lengths_agree, "%s f16_to_f32 of every length", path);
  free(all);
  free(back);
  free(wide);
  free(part);
}

static void test_sq_l2(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l];
    float *q = memory(dim * sizeof(float)), *rows = memory(ROWS * dim * sizeof(float)), out[ROWS], truth[ROWS];
    for (int s = 0; s < 3; s++) { /* rows of their own, rows like the question, rows near to it */
      const float part = s == 0 ? 0 : (float)s, noise = s == 0 ? 1 : s == 1 ? 0 : 1e-5f;
      for (size_t j = 0; j < dim; j++) q[j] = random_gauss();
      for (size_t j = 0; j < ROWS * dim; j++) rows[j] = part * q[j % dim] + noise * random_gauss();
      kernel->sq_l2(q, rows, ROWS, dim, out);
      ame_isa_force("scalar");
      kernel->sq_l2(q, rows, ROWS, dim, truth);
      ame_isa_force(path);
      CHECK_MESSAGE(memcmp(out, truth, sizeof out) == 0, "%s sq_l2 dim %zu", path, dim);
      for (size_t i = 0; i < ROWS; i++) {
        long double sum = 0;
        for (size_t j = 0; j < dim; j++) {
          long double difference = (long double)q[j] - rows[i * dim + j];
          sum += difference * difference;
        }
        CHECK_MESSAGE(fabsl(out[i] - sum) <= sum * (long double)dim * 0x1p-22L, "%s sq_l2 dim %zu: %g, not %Lg", path,
                      dim, out[i], sum);
      }
    }
    free(q);
    free(rows);
  }
  kernel->sq_l2(NULL, NULL, 0, 16, NULL);
}

static void test_rows(const char *path) {
  for (size_t l = 0; l < LENGTHS; l++) {
    size_t dim = lengths[l];
    float *rows = memory(ROWS * dim * sizeof(float));
    for (shape s = 0; s < SHAPES; s++) {
      fill(rows, ROWS * dim, s);
      int zero = norm_of(rows, dim) == 0;
      kernel->normalize(rows, ROWS, dim);
      double norm = norm_of(rows, dim);
      CHECK_MESSAGE(zero ? norm == 0 : fabs(norm - 1) < 1e-6, "%s normalize dim %zu shape %d: %g", path, dim, s, norm);
    }
    fill(rows, ROWS * dim, SHAPE_RANDOM);
    CHECK(kernel->all_finite(rows, ROWS * dim) == 1);
    for (size_t i = 0; i < ROWS * dim; i += 1 + ROWS * dim / 5) {
      float keep = rows[i];
      rows[i] = i % 2 ? NAN : -INFINITY;
      CHECK(kernel->all_finite(rows, ROWS * dim) == 0);
      rows[i] = keep;
    }
    free(rows);
  }
}

static double objective(const float *rows, size_t n, size_t dim, const float *centroids, const uint32_t *assign) {
  long double s = 0;
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < dim; j++) {
      long double d = (long double)rows[i * dim + j] - centroids[assign[i] * dim + j];
      s += d * d;
    }
  }
  return (double)s;
}

static void test_kmeans(const char *path) {
  enum { N = 403, DIM = 33, K = 70 };
  float *rows = memory(sizeof(float) * N * DIM), *c = memory(sizeof(float) * K * DIM),
        *other = memory(sizeof(float) * K * DIM);
  float half[K], best[N], scratch[N];
  double *sums = memory(sizeof(double) * K * DIM);
  uint64_t counts[K];
  float scalar_best[N];
  uint32_t assign[N], part[N];
  fill(rows, N * DIM, SHAPE_RANDOM);
  kernel->kmeans_seed(rows, N, DIM, K, 7, c, scratch);
  ame_isa_force("scalar");
  kernel->kmeans_seed(rows, N, DIM, K, 7, other, scratch);
  ame_isa_force(path);
  CHECK_MESSAGE(memcmp(c, other, sizeof(float) * K * DIM) == 0, "%s seeding is the same on every path", path);
  double before = INFINITY;
  for (int round = 0; round < 12; round++) {
    kernel->kmeans_half_norms(c, K, DIM, half);
    ame_isa_force("scalar");
    kernel->kmeans_assign(rows, N, DIM, c, half, K, part, scalar_best);
    ame_isa_force(path);
    kernel->kmeans_assign(rows, N, DIM, c, half, K, assign, best);
    CHECK_MESSAGE(memcmp(part, assign, sizeof part) == 0 && memcmp(scalar_best, best, sizeof best) == 0,
                  "%s assigns otherwise than the scalar path", path);
    for (size_t i = 0; i < N; i++) {
      double least = INFINITY, mine = 0, square = 0;
      for (size_t j = 0; j < DIM; j++) square += (double)rows[i * DIM + j] * rows[i * DIM + j];
      for (size_t k = 0; k < K; k++) {
        double d = 0;
        for (size_t j = 0; j < DIM; j++)
          d += ((double)rows[i * DIM + j] - c[k * DIM + j]) * ((double)rows[i * DIM + j] - c[k * DIM + j]);
        if (d < least) least = d;
        if (k == assign[i]) mine = d;
      }
      CHECK_MESSAGE(mine <= least + 1e-4 && fabs(best[i] + square - mine) < 1e-4, "%s assign row %zu", path, i);
    }
    for (size_t i = 0; i < N; i += 3)
      kernel->kmeans_assign(rows + i * DIM, N - i < 3 ? N - i : 3, DIM, c, half, K, part + i, NULL);
    CHECK_MESSAGE(memcmp(part, assign, sizeof part) == 0, "%s an assignment depends on the batch", path);
    double now = objective(rows, N, DIM, c, assign);
    CHECK_MESSAGE(now <= before * (1 + 1e-6), "%s objective rose from %g to %g", path, before, now);
    before = now;
    float moved = kernel->kmeans_update(rows, N, DIM, assign, best, K, c, sums, counts);
    CHECK(moved >= 0);
    if (round == 5) memcpy(c, c + DIM, DIM * sizeof(float)); /* a twin loses all its rows */
    if (round == 5) before = INFINITY;
  }
  /* Ties go to the lowest index, and an empty centroid takes the farthest row. */
  float line[4] = {0, 0, 10, 1}, two[3] = {0, 0, 5};
  kernel->kmeans_half_norms(two, 3, 1, half);
  kernel->kmeans_assign(line, 4, 1, two, half, 3, assign, NULL);
  CHECK_MESSAGE(assign[0] == 0 && assign[1] == 0 && assign[2] == 2 && assign[3] == 0, "%s ties", path);
  uint32_t all[4] = {0, 0, 0, 0};
  kernel->kmeans_update(line, 4, 1, all, NULL, 3, two, sums, counts);
  CHECK_MESSAGE(two[1] == 10 && two[2] == 1 && two[0] == 0, "%s empty: %g %g %g", path, two[0], two[1], two[2]);
  float same[3] = {2, 2, 2};
  kernel->kmeans_seed(same, 3, 1, 3, 1, two, scratch);
  CHECK(two[0] == 2 && two[1] == 2 && two[2] == 2);
  kernel->kmeans_seed(same, 0, 1, 3, 1, two, scratch);
  kernel->kmeans_update(same, 0, 1, all, NULL, 3, two, sums, counts);
  free(rows);
  free(c);
  free(other);
  free(sums);
}

static int by_rank(const void *a, const void *b) {
  const ame_hit *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static void test_topk(void) {
  enum { N = 1000 };
  ame_hit hits[N], sorted[N], items[N + 5];
  const uint64_t sizes[] = {1, 2, 3, 10, 100, 999, 1000, 1005};
  for (int kind = 0; kind < 4; kind++) {
    for (size_t i = 0; i < N; i++) {
      float score = kind == 0   ? random_float()
                    : kind == 1 ? (float)(random_u64() % 7)
                    : kind == 2 ? (float)i
                                : -(float)i;
      hits[i] = (ame_hit){kind == 1 ? N - i : i, score, (uint32_t)i};
    }
    memcpy(sorted, hits, sizeof sorted);
    qsort(sorted, N, sizeof *sorted, by_rank);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      ame_topk heap = {items, sizes[s], 0};
      kernel->topk_offer(&heap, hits, 300);
      kernel->topk_offer(&heap, hits + 300, N - 300);
      uint64_t expected = sizes[s] < N ? sizes[s] : N;
      if (!CHECK(heap.count == expected)) continue;
      if (expected < N) CHECK(items[0].row == sorted[expected - 1].row);
      kernel->topk_sort(&heap);
      int good = 1;
      for (uint64_t i = 0; i < expected; i++)
        good &= items[i].row == sorted[i].row && items[i].position == sorted[i].position;
      CHECK_MESSAGE(good, "top %llu of kind %d", (unsigned long long)sizes[s], kind);
    }
  }
  ame_topk heap = {items, 2, 0};
  ame_hit strange[3] = {{1, NAN, 0}, {2, -INFINITY, 0}, {3, INFINITY, 0}};
  kernel->topk_offer(&heap, strange, 3);
  kernel->topk_sort(&heap);
  CHECK(heap.count == 2 && items[0].row == 3 && items[1].row == 2);
}

static void test_bm25(void) {
  const uint32_t docs[] = {0, 2, 3, 1}, tfs[] = {1, 3, 1000000, 1}, lengths[] = {10, 0x80000000u + 7, 0, 500};
  const ame_bm25 q = {1e6f, 0.3f, 0.01f};
  uint32_t parts[300], many[300], ones[300], length[300];
  kernel->bm25_parts(&q, docs, tfs, lengths, 4, parts);
  for (int i = 0; i < 4; i++) {
    float norm = q.slope * (float)(lengths[docs[i]] & 0x7fffffff);
    norm = q.fixed + norm;
    float above = q.weight * (float)tfs[i], below = (float)tfs[i] + norm, part = above / below;
    CHECK(parts[i] == (uint32_t)(part + 0.5f));
  }
  kernel->bm25_parts(&(ame_bm25){1e-6f, 1, 1}, docs, tfs, lengths, 4, parts); /* a posting is worth something */
  CHECK(parts[0] == 1 && parts[1] == 1 && parts[2] == 1 && parts[3] == 1);
  for (uint32_t i = 0; i < 300; i++) many[i] = i, ones[i] = 1 + i % 7, length[i] = (i * 37) % 400;
  for (size_t n = 0; n < 300; n += 23) { /* many at once are what each is alone */
    kernel->bm25_parts(&q, many, ones, length, n, parts);
    for (size_t i = 0; i < n; i++) {
      uint32_t one;
      kernel->bm25_parts(&q, many + i, ones + i, length, 1, &one);
      CHECK(one == parts[i]);
    }
  }
}

static void test_pack(void) {
  uint32_t values[AME_PACK], back[AME_PACK];
  uint8_t packed[16 * 32 + 16];
  for (uint32_t bits = 0; bits <= 32; bits++) {
    for (uint32_t i = 0; i < AME_PACK; i++) values[i] = (uint32_t)random_u64();
    memset(packed, 0xa5, sizeof packed);
    kernel->pack(values, bits, packed);
    CHECK_MESSAGE(packed[16 * bits] == 0xa5 && packed[16 * bits + 15] == 0xa5, "pack %u writes too far",
                  (unsigned)bits);
    kernel->unpack(packed, bits, back);
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    int same = 1, placed = 1;
    for (uint32_t i = 0; i < AME_PACK; i++) {
      same &= back[i] == (values[i] & mask);
      for (uint32_t j = 0; j < bits; j++) { /* where the header says */
        uint32_t at = i / 4 * bits + j, word;
        memcpy(&word, packed + 16 * (at / 32) + 4 * (i % 4), sizeof word);
        placed &= (word >> at % 32 & 1) == (values[i] >> j & 1);
      }
    }
    CHECK_MESSAGE(same && placed, "pack %u", (unsigned)bits);
  }
}

static void test_ascend_select(void) {
  uint32_t gaps[AME_PACK], docs[AME_PACK], sums[100], places[101];
  for (uint32_t i = 0; i < AME_PACK; i++) gaps[i] = docs[i] = i % 5 == 0 ? 1000 : i % 3;
  uint32_t last = kernel->ascend(7, docs), next = 7;
  for (uint32_t i = 0; i < AME_PACK; i++) {
    CHECK(docs[i] == next + gaps[i]);
    next = docs[i] + 1;
  }
  CHECK(last == docs[AME_PACK - 1]);
  memset(docs, 0, sizeof docs);
  CHECK(kernel->ascend(0, docs) == AME_PACK - 1 && docs[0] == 0);
  for (uint32_t i = 0; i < 100; i++)
    sums[i] = (uint32_t)random_u64() % 50 == 0 ? 0x7fffffff : (uint32_t)random_u64() % 5;
  for (size_t n = 0; n <= 100; n++) {
    for (uint32_t least = 1; least < 7; least++) {
      size_t found = kernel->select(sums, n, least, places), at = 0;
      for (uint32_t i = 0; i < n; i++) {
        if (sums[i] >= least) CHECK(at < found && places[at] == i), at++;
      }
      CHECK(at == found);
    }
  }
}

typedef struct hashes {
  uint32_t count, at, wrong;
  uint32_t *hash;
} hashes;

static void note_token(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  (void)form, (void)term, (void)bytes;
  hashes *h = ctx;
  if (h->count < 4096) h->hash[h->count++] = hash;
}

static void compare_hash(void *ctx, uint32_t hash) {
  hashes *h = ctx;
  h->wrong += h->at >= h->count || h->hash[h->at] != hash;
  h->at++;
}

/* The same tokens, with a memory for words, without, and with one that has seen other texts. */
static void test_token_hashes(void) {
  static const char *const texts[] = {"",
                                      "a",
                                      "ab abc abcd abcdefg abcdefgh running Running runs RUN",
                                      "sixteen_letters_ exactlysixteenab exactlysixteenac seventeenlettersx",
                                      "getHTTPResponseCode x86_64 don't user's caf\xc3\xa9 na\xc3\xafve "
                                      "\xe4\xb8\xad\xe6\x96\x87\xe5\xad\x97 \xf0\x9f\x98\x80",
                                      "relational conditional rational valenci digitizer conformabli radicalli "
                                      "differentli vileli analogousli relational conditional"};
  ame_token_cache *cache = calloc(1, sizeof *cache);
  hashes h = {.hash = malloc(4096 * sizeof(uint32_t))};
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
      const uint8_t *text = (const uint8_t *)texts[i];
      h.count = h.at = 0;
      kernel->tokenize(text, strlen(texts[i]), note_token, &h);
      kernel->token_hashes(round == 1 ? NULL : cache, text, strlen(texts[i]), compare_hash, &h);
      CHECK(h.wrong == 0 && h.at == h.count);
    }
  }
  for (int round = 0; round < 2000; round++) { /* short words collide in the memory's places */
    char text[200];
    size_t n = random_u64() % sizeof text;
    for (size_t i = 0; i < n; i++) text[i] = " abcdeings_A1"[random_u64() % 13];
    h.count = h.at = 0;
    kernel->tokenize((uint8_t *)text, n, note_token, &h);
    kernel->token_hashes(cache, (uint8_t *)text, n, compare_hash, &h);
    CHECK(h.wrong == 0 && h.at == h.count);
  }
  CHECK(kernel->token_version() >= 1 && kernel->token_version() <= 255);
  free(h.hash);
  free(cache);
}

static void test_crc32c(const char *path) {
  /* RFC 3720, B.4. */
  uint8_t zeros[32] = {0}, ones[32], up[32], down[32];
  for (int i = 0; i < 32; i++) {
    ones[i] = 0xff;
    up[i] = (uint8_t)i;
    down[i] = (uint8_t)(31 - i);
  }
  const uint8_t scsi[48] = {0x01, 0xc0, 0, 0, 0, 0, 0,    0, 0,    0, 0, 0,    0, 0, 0, 0,
                            0x14, 0,    0, 0, 0, 0, 0x04, 0, 0,    0, 0, 0x14, 0, 0, 0, 0x18,
                            0x28, 0,    0, 0, 0, 0, 0,    0, 0x02, 0, 0, 0,    0, 0, 0, 0};
  CHECK_MESSAGE(kernel->crc32c(0, zeros, 32) == 0x8a9136aau, "%s zeros", path);
  CHECK_MESSAGE(kernel->crc32c(0, ones, 32) == 0x62a8ab43u, "%s ones", path);
  CHECK_MESSAGE(kernel->crc32c(0, up, 32) == 0x46dd794eu, "%s up", path);
  CHECK_MESSAGE(kernel->crc32c(0, down, 32) == 0x113fdb5cu, "%s down", path);
  CHECK_MESSAGE(kernel->crc32c(0, scsi, 48) == 0xd9963a56u, "%s iSCSI read", path);
  CHECK_MESSAGE(kernel->crc32c(0, "123456789", 9) == 0xe3069283u && kernel->crc32c(0, NULL, 0) == 0, "%s check value",
                path);
  uint8_t data[200];
  for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)random_u64();
  for (size_t n = 0; n <= sizeof data; n++) {
    uint32_t slow = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
      slow ^= data[i];
      for (int b = 0; b < 8; b++) slow = (slow >> 1) ^ (slow & 1 ? 0x82f63b78u : 0);
    }
    size_t cut = n / 3;
    CHECK_MESSAGE(kernel->crc32c(kernel->crc32c(0, data, cut), data + cut, n - cut) == ~slow, "%s crc of %zu bytes",
                  path, n);
  }
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) {
      for (int b = 0; b < 8; b++) c = (c >> 1) ^ (c & 1 ? 0x82f63b78u : 0);
      CHECK(crc32c_table[k][i] == c);
    }
  }
}

static void test_hash64(void) {
  uint8_t data[100] = {0};
  uint64_t seen[300];
  size_t count = 0;
  for (size_t n = 0; n <= sizeof data; n++) seen[count++] = kernel->hash64(data, n, 1);
  for (size_t i = 0; i < sizeof data; i++) {
    data[i] = 1;
    seen[count++] = kernel->hash64(data, sizeof data, 1);
    data[i] = 0;
  }
  CHECK(kernel->hash64(data, 9, 1) != kernel->hash64(data, 9, 2));
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) CHECK_MESSAGE(seen[i] != seen[j], "hash64 %zu and %zu", i, j);
  }
}

/* ---- Text ---- */

typedef struct token_case {
  const char *name, *text, *terms; /* terms joined by a space */
} token_case;

static const token_case token_cases[] = {
    {"empty", "", ""},
    {"separators only", " .,;!? \t\r\n--- ", ""},
    {"case and stem", "The Running dogs ran", "the run dog ran"},
    {"Porter: step 1", "caresses ponies cats feed agreed plastered motoring sing",
     "caress poni cat feed agre plaster motor sing"},
    {"Porter: e and doubles", "conflated sized hopping falling hissing failing filing happy sky",
     "conflat size hop fall hiss fail file happi sky"},
    {"Porter: step 2", "relational conditional valenci digitizer radically vietnamization sensibiliti",
     "relat condit valenc digit radic vietnam sensibl"},
    {"Porter: step 3", "triplicate formative formalize electrical hopeful goodness",
     "triplic form formal electr hope good"},
    {"Porter: step 4", "revival allowance inference airliner adjustable replacement adoption",
     "reviv allow infer airlin adjust replac adopt"},
    {"Porter: step 5", "probate rate cease controll roll", "probat rate ceas control roll"},
    {"Porter: y", "yes toy syzygy crying dyed yyyyyyy", "ye toi syzygi cry dy yyyyyyi"},
    {"stop words stay", "to be or not", "to be or not"},
    {"one letter", "a I x", "a i x"},
    {"possessive", "The author's dog, Anna\xe2\x80\x99s cat", "the author dog anna cat"},
    {"apostrophe", "don't l'homme 'quoted'", "don t l homm quot"},
    {"camel case", "fooBar", "foo bar foobar"},
    {"snake case meets camel case", "foo_bar", "foo bar foobar"},
    {"acronym in front", "HTTPServer parseJSON", "http server httpserver pars json parsejson"},
    {"constant", "MAX_VALUE", "max valu maxvalu"},
    {"underscores outside", "__init__ _x", "init x"},
    {"letters and digits", "utf8 sha256sum x86_64", "utf 8 utf8 sha 256 sum sha256sum 86 64 x8664"},
    {"one-letter piece", "iPhone getX", "phone iphon get getx"},
    {"numbers", "3.14 2024-05-01 1e9", "3 14 2024 05 01 1 9 1e9"},
    {"capitals", "NASA Covid", "nasa covid"},
    {"accents", "Caf\xc3\xa9 na\xc3\xafve \xc3\x85ngstr\xc3\xb6m", "cafe naiv angstrom"},
    {"combining accent", "Cafe\xcc\x81", "cafe"},
    {"sharp s, ligatures, stroke",
     "Stra\xc3\x9f"
     "e \xc5\x93uvre \xc3\xb8l",
     "strass oeuvr ol"},
    {"Greek and its final sigma", "\xce\x9f\xce\x94\xce\x9f\xce\xa3 \xce\xbf\xce\xb4\xcf\x8c\xcf\x82",
     "\xce\xbf\xce\xb4\xce\xbf\xcf\x83 \xce\xbf\xce\xb4\xce\xbf\xcf\x83"},
    {"Cyrillic", "\xd0\x9c\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0",
     "\xd0\xbc\xd0\xbe\xd1\x81\xd0\xba\xd0\xb2\xd0\xb0"},
    {"Arabic alef and marks", "\xd8\xa3\xd9\x8e\xd8\xa8", "\xd8\xa7\xd8\xa8"},
    {"Hebrew, right to left mark", "\xe2\x80\x8f\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"},
    {"Han pairs", "\xe5\x8c\x97\xe4\xba\xac\xe5\xb8\x82",
     "\xe5\x8c\x97 \xe5\x8c\x97\xe4\xba\xac \xe4\xba\xac \xe4\xba\xac\xe5\xb8\x82 \xe5\xb8\x82"},
    {"one Han character", "\xe6\xb0\xb4 x", "\xe6\xb0\xb4 x"},
    {"katakana is hiragana", "\xe3\x82\xab\xe3\x83\x8a", "\xe3\x81\x8b \xe3\x81\x8b\xe3\x81\xaa \xe3\x81\xaa"},
    {"Hangul pairs", "\xed\x95\x9c\xea\xb5\xad", "\xed\x95\x9c \xed\x95\x9c\xea\xb5\xad \xea\xb5\xad"},
    {"Thai pairs", "\xe0\xb9\x84\xe0\xb8\x97\xe0\xb8\xa2",
     "\xe0\xb9\x84 \xe0\xb9\x84\xe0\xb8\x97 \xe0\xb8\x97 \xe0\xb8\x97\xe0\xb8\xa2 \xe0\xb8\xa2"},
    {"Latin beside Han", "iPad\xe6\xb0\xb4", "pad ipad \xe6\xb0\xb4"},
    {"full width", "\xef\xbc\xa1\xef\xbc\xa2\xef\xbc\x91", "ab 1 ab1"},
    {"Russian keeps its beginning",
     "\xd0\xbf\xd1\x80\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\xd0\xb5\xd0\xbb\xd1\x8c\xd1\x81\xd1\x82\xd0\xb2\xd0\xb0\x20\xd0"
     "\xbf\xd1\x80\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\xd0\xb5\xd0\xbb\xd1\x8c\xd1\x81\xd1\x82\xd0\xb2\xd1\x83",
     "\xd0\xbf\xd1\x80\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82\x20\xd0\xbf\xd1\x80\xd0\xb0\xd0\xb2\xd0\xb8\xd1\x82"},
    {"the Arabic article goes",
     "\xd8\xa7\xd9\x84\xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd8\xa9\x20\xd9\x88\xd8\xa7\xd9\x84\xd9\x85\xd8\xaf\xd8\xb1\xd8"
     "\xb3\xd8\xa9\x20\xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd8\xa9",
     "\xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd9\x87\x20\xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd9\x87\x20\xd9\x85\xd8\xaf\xd8\xb1"
     "\xd8\xb3\xd9\x87"},
    {"an article that leaves two letters stays", "\xd8\xa7\xd9\x84\xd8\xa7\xd8\xa8",
     "\xd8\xa7\xd9\x84\xd8\xa7\xd8\xa8"},
    {"what is written with an Arabic word goes, with the article and without", "برنامج البرنامج وبرنامج وبالبرنامج",
     "رنامج رنامج رنامج رنامج"},
    {"where it leaves three letters it stays", "كتاب وقال لعبه", "كتاب وقال لعبه"},
    {"an article after wa and li", "وللمدرسة فالمدرسة لمدرسة", "مدرسه مدرسه مدرسه"},
    {"Arabic without end", "وووووووووووو", "وووو"},
    {"Vietnamese with its tones and without", "Phở HÀ NỘI được", "phở pho ha nội noi được duoc"},
    {"Vietnamese in letters and marks", "Pho\u031b\u0309 HA\u0300 NO\u0323\u0302I \u0111u\u031bo\u031b\u0323c",
     "phở pho ha nội noi được duoc"},
    {"marks in another order, half composed", "no\u0302\u0323i n\u1ecd\u0302i n\u00f4\u0323i",
     "nội noi nội noi nội noi"},
    {"a later tone counts", "no\u0301\u0323i", "nọi noi"},
    {"accents of other languages", "là château não ĩ x\u0302\u0323 e\u0306\u031b z\u0309", "la chateau nao i x e z"},
    {"Vietnamese in an identifier", "phở_bò Việt1", "pho bo phobo viet 1 viet1"},
    {"Vietnamese in quotation marks", "“Nguyễn’s” Đặng", "nguyễn nguyen đặng dang"},
    {"Arabic digits", "\xd9\xa1\xd9\xa2\xd9\xa3", "123"},
    {"characters of a run", "\xe7\x8c\xab\xe3\x81\x8c\xe5\xa5\xbd\xe3\x81\x8d \xe7\x8c\xab",
     "\xe7\x8c\xab \xe7\x8c\xab\xe3\x81\x8c \xe3\x81\x8c \xe3\x81\x8c\xe5\xa5\xbd \xe5\xa5\xbd "
     "\xe5\xa5\xbd\xe3\x81\x8d \xe3\x81\x8d \xe7\x8c\xab"},
    {"Hangul composed", "\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4",
     "\xed\x95\x9c \xed\x95\x9c\xea\xb5\xad \xea\xb5\xad \xea\xb5\xad\xec\x96\xb4 \xec\x96\xb4"},
    {"Hangul in letters",
     "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab\xe1\x84\x80\xe1\x85\xae\xe1\x86\xa8\xe1\x84\x8b\xe1\x85\xa5",
     "\xed\x95\x9c \xed\x95\x9c\xea\xb5\xad \xea\xb5\xad \xea\xb5\xad\xec\x96\xb4 \xec\x96\xb4"},
    {"Hangul, a syllable and its last letter", "\xed\x95\x98\xe1\x86\xab\xea\xb5\xad",
     "\xed\x95\x9c \xed\x95\x9c\xea\xb5\xad \xea\xb5\xad"},
    {"letters of Hangul that are not a syllable", "\xe1\x85\xa1\xe1\x86\xab \xe1\x84\x92",
     "\xe1\x85\xa1 \xe1\x85\xa1\xe1\x86\xab \xe1\x86\xab \xe1\x84\x92"},
    {"Hangul cut short after its first letter", "\xe1\x84\x92", "\xe1\x84\x92"},
    {"kana composed", "\xe3\x82\xac\xe3\x83\x91\xe3\x83\x85\xe3\x83\xb4",
     "\xe3\x81\x8c \xe3\x81\x8c\xe3\x81\xb1 \xe3\x81\xb1 \xe3\x81\xb1\xe3\x81\xa5 \xe3\x81\xa5 "
     "\xe3\x81\xa5\xe3\x82\x94 \xe3\x82\x94"},
    {"kana and marks of sound",
     "\xe3\x82\xab\xe3\x82\x99\xe3\x83\x8f\xe3\x82\x9a\xe3\x83\x84\xe3\x82\x99\xe3\x82\xa6\xe3\x82\x99",
     "\xe3\x81\x8c \xe3\x81\x8c\xe3\x81\xb1 \xe3\x81\xb1 \xe3\x81\xb1\xe3\x81\xa5 \xe3\x81\xa5 "
     "\xe3\x81\xa5\xe3\x82\x94 \xe3\x82\x94"},
    {"hiragana and marks of sound",
     "\xe3\x81\x8b\xe3\x82\x99\xe3\x81\xaf\xe3\x82\x9a\xe3\x81\xa4\xe3\x82\x99\xe3\x81\x86\xe3\x82\x99\xe3\x82\x9d\xe3"
     "\x82\x99",
     "\xe3\x81\x8c \xe3\x81\x8c\xe3\x81\xb1 \xe3\x81\xb1 \xe3\x81\xb1\xe3\x81\xa5 \xe3\x81\xa5 "
     "\xe3\x81\xa5\xe3\x82\x94 \xe3\x82\x94 \xe3\x82\x94\xe3\x82\x9e \xe3\x82\x9e"},
    {"katakana without hiragana, voiced", "\xe3\x83\xb7\xe3\x83\xba \xe3\x83\xaf\xe3\x82\x99\xe3\x83\xb2\xe3\x82\x99",
     "\xe3\x83\xb7 \xe3\x83\xb7\xe3\x83\xba \xe3\x83\xba \xe3\x83\xb7 \xe3\x83\xb7\xe3\x83\xba \xe3\x83\xba"},
    {"a mark of sound where none goes", "\xe3\x81\xaa\xe3\x82\x99\xe3\x81\xab \xef\xbe\x9e",
     "\xe3\x81\xaa \xe3\x81\xaa\xe3\x81\xab \xe3\x81\xab"},
    {"half-width katakana", "\xef\xbd\xb6\xef\xbe\x9e\xef\xbe\x8a\xef\xbe\x9f\xef\xbd\xb0\xef\xbe\x84",
     "\xe3\x81\x8c \xe3\x81\x8c\xe3\x81\xb1 \xe3\x81\xb1 \xe3\x81\xb1\xe3\x83\xbc \xe3\x83\xbc "
     "\xe3\x83\xbc\xe3\x81\xa8 \xe3\x81\xa8"},
    {"Latin ligatures",
     "\xef\xac\x81le e\xef\xac\x80"
     "ect e\xef\xac\x83"
     "cient wa\xef\xac\x84"
     "e \xef\xac\x82ow \xef\xac\x85op \xef\xac\x86op",
     "file effect effici waffl flow stop stop"},
    {"Armenian ligature", "\xef\xac\x93 \xd5\xb4\xd5\xb6", "\xd5\xb4\xd5\xb6 \xd5\xb4\xd5\xb6"},
    {"Arabic presentation forms",
     "\xef\xbb\xa3\xef\xba\xaa\xef\xba\xad\xef\xba\xb3\xef\xba\x94 \xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd8\xa9",
     "\xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd9\x87 \xd9\x85\xd8\xaf\xd8\xb1\xd8\xb3\xd9\x87"},
    {"Arabic lam-alef and Allah",
     "\xef\xbb\xbb \xef\xbb\xb7\xef\xbb\xa3\xef\xba\xae \xef\xb7\xb2 \xd9\x84\xd8\xa7 \xd9\x84\xd8\xa3\xd9\x85\xd8\xb1 "
     "\xd8\xa7\xd9\x84\xd9\x84\xd9\x87",
     "\xd9\x84\xd8\xa7 \xd9\x84\xd8\xa7\xd9\x85\xd8\xb1 \xd8\xa7\xd9\x84\xd9\x84\xd9\x87 \xd9\x84\xd8\xa7 "
     "\xd9\x84\xd8\xa7\xd9\x85\xd8\xb1 \xd8\xa7\xd9\x84\xd9\x84\xd9\x87"},
    {"an Arabic mark on its own", "\xef\xb9\xb6 \xef\xb9\xb7", ""},
    {"Arabic letters with a separate hamza",
     "\xdb\x80\xdb\x82\xdb\x93 \xdb\x95\xd9\x94\xdb\x81\xd9\x94\xdb\x92\xd9\x94",
     "\xdb\x95\xdb\x81\xdb\x92 \xdb\x95\xdb\x81\xdb\x92"},
    {"Hebrew letters with points", "\xef\xac\xaa\xef\xac\xb5 \xd7\xa9\xd7\x95", "\xd7\xa9\xd7\x95 \xd7\xa9\xd7\x95"},
    {"micro sign", "\xc2\xb5m \xce\xbcm", "\xce\xbcm \xce\xbcm"},
    {"Ohm, Kelvin, double-struck R", "\xe2\x84\xa6 \xe2\x84\xaa \xe2\x84\x9d", "\xcf\x89 k r"},
    {"mathematical letters",
     "\xf0\x9d\x90\x87\xf0\x9d\x90\x9e\xf0\x9d\x90\xa5\xf0\x9d\x90\xa5\xf0\x9d\x90\xa8 "
     "\xf0\x9d\x93\x97\xf0\x9d\x93\xb2 \xf0\x9d\x9b\x82\xf0\x9d\x9b\x93\xf0\x9d\x9b\x9a\xf0\x9d\x9a\xaf",
     "hello hi \xce\xb1\xcf\x83\xcf\x89\xce\xb8"},
    {"mathematical digits", "\xf0\x9d\x9f\x92\xf0\x9d\x9f\x9a", "42"},
    {"subscripts, a circled number, a Roman one", "x\xe2\x82\x82 \xe2\x91\xab \xe2\x85\xa7", "x2 12 viii"},
    {"Devanagari nukta", "\xe0\xa4\x95\xe0\xa4\xbc\xe0\xa4\xb2\xe0\xa4\xae \xe0\xa5\x98\xe0\xa4\xb2\xe0\xa4\xae",
     "\xe0\xa4\x95\xe0\xa4\xbc\xe0\xa4\xb2\xe0\xa4\xae \xe0\xa4\x95\xe0\xa4\xbc\xe0\xa4\xb2\xe0\xa4\xae"},
    {"Bengali vowel of two parts",
     "\xe0\xa6\xad\xe0\xa6\xbe\xe0\xa6\xb2\xe0\xa7\x8b \xe0\xa6\xad\xe0\xa6\xbe\xe0\xa6\xb2\xe0\xa7\x87\xe0\xa6\xbe",
     "\xe0\xa6\xad\xe0\xa6\xbe\xe0\xa6\xb2\xe0\xa7\x87\xe0\xa6\xbe "
     "\xe0\xa6\xad\xe0\xa6\xbe\xe0\xa6\xb2\xe0\xa7\x87\xe0\xa6\xbe"},
    {"Tamil vowel of two parts",
     "\xe0\xae\xaa\xe0\xaf\x8a\xe0\xae\xa9\xe0\xaf\x8d \xe0\xae\xaa\xe0\xaf\x86\xe0\xae\xbe\xe0\xae\xa9\xe0\xaf\x8d",
     "\xe0\xae\xaa\xe0\xaf\x86\xe0\xae\xbe\xe0\xae\xa9\xe0\xaf\x8d "
     "\xe0\xae\xaa\xe0\xaf\x86\xe0\xae\xbe\xe0\xae\xa9\xe0\xaf\x8d"},
    {"Thai sara am", "\xe0\xb8\x99\xe0\xb8\xb3 \xe0\xb8\x99\xe0\xb9\x8d\xe0\xb8\xb2",
     "\xe0\xb8\x99 \xe0\xb8\x99\xe0\xb9\x8d \xe0\xb9\x8d \xe0\xb9\x8d\xe0\xb8\xb2 \xe0\xb8\xb2 \xe0\xb8\x99 "
     "\xe0\xb8\x99\xe0\xb9\x8d \xe0\xb9\x8d \xe0\xb9\x8d\xe0\xb8\xb2 \xe0\xb8\xb2"},
    {"Han with a second number", "\xef\xa7\x91\xe6\x9c\x88", "\xe5\x85\xad \xe5\x85\xad\xe6\x9c\x88 \xe6\x9c\x88"},
    {"capitals with accents are capitals", "\xc4\x8cL\xc3\x81NEK C\xcc\x8cLA\xcc\x81NEK", "clanek clanek"},
    {"ae and o stroke with accents", "\xc7\xbd\xc7\xbf \xc3\xa6\xcc\x81\xc3\xb8\xcc\x81", "aeo aeo"},
    {"a mark of sound cut short", "\xe3\x81\x8b\xe3\x82", "\xe3\x81\x8b"},
    {"Hangul cut short", "\xe1\x84\x92\xe1\x85", "\xe1\x84\x92"},
    {"emoji family is three", "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
     "\xf0\x9f\x91\xa8 \xf0\x9f\x91\xa9 \xf0\x9f\x91\xa7"},
    {"soft hyphen", "co\xc2\xadoperate", "cooper"},
    {"lone continuation", "a\x80z", "a z"},
    {"overlong slash", "a\xc0\xafz", "a z"},
    {"surrogate", "a\xed\xa0\x80z", "a z"},
    {"beyond U+10FFFF", "a\xf4\x90\x80\x80z", "a z"},
    {"cut short", "abc\xe6\xb0", "abc"},
    {"broken, then whole", "\xe6\xb0\x61", "a"},
};

typedef struct collected {
  char joined[4096];
  size_t length, count, longest, bare;
  uint32_t hash;
} collected;

static void collect(void *ctx, uint32_t hash, ame_form form, const uint8_t *term, size_t bytes) {
  collected *c = ctx;
  c->bare += form == AME_FORM_BARE;
  if (c->length + bytes + 2 < sizeof c->joined) {
    if (c->length) c->joined[c->length++] = ' ';
    memcpy(c->joined + c->length, term, bytes);
    c->length += bytes;
    c->joined[c->length] = 0;
  }
  c->count++;
  c->hash = c->hash * 31 + hash;
  if (bytes > c->longest) c->longest = bytes;
}

static collected tokens_of(const void *text, size_t bytes) {
  collected c = {{0}, 0, 0, 0, 0, 0};
  uint8_t *exact = memory(bytes);
  memcpy(exact, text, bytes);
  kernel->tokenize(exact, bytes, collect, &c);
  free(exact);
  return c;
}

static void test_tokens(void) {
  for (size_t i = 0; i < sizeof token_cases / sizeof token_cases[0]; i++) {
    const token_case *t = &token_cases[i];
    collected c = tokens_of(t->text, strlen(t->text));
    CHECK_MESSAGE(strcmp(c.joined, t->terms) == 0, "%s: \"%s\", not \"%s\"", t->name, c.joined, t->terms);
  }
  CHECK(strcmp(tokens_of("a\0b", 3).joined, "a b") == 0);
  /* What is stored on disk: a change here is a change of format. */
  CHECK_MESSAGE(tokens_of("memory", 6).hash == 0x34e77a74u, "hash of memori: 0x%08x", tokens_of("memory", 6).hash);

  enum { LONG = 1000000 };
  uint8_t *word = memory(LONG);
  memset(word, 'q', LONG);
  collected c = tokens_of(word, LONG), shorter = tokens_of(word, LONG - 1);
  CHECK(c.count == 1 && c.longest <= 64 && c.hash != shorter.hash);
  for (size_t i = 0; i < LONG; i++) word[i] = i % 2 ? 'q' : 'Q';
  c = tokens_of(word, LONG);
  CHECK(c.count == LONG / 2 + 1 && c.longest <= 64);
  memset(word, '_', LONG);
  CHECK(tokens_of(word, LONG).count == 0);
  memset(word, 0xcc, LONG); /* never a character */
  CHECK(tokens_of(word, LONG).count == 0);
  for (size_t i = 0; i < LONG; i++) word[i] = i % 2 ? 0x81 : 0xcc; /* U+0301 for ever */
  CHECK(tokens_of(word, LONG).count == 0);
  free(word);
}

enum { EMBED_MOST = 2048 };
#define UNIT 1e-5 /* a row's scale has 17 bits */

static void embed_one(uint32_t model, uint32_t role, const void *text, size_t bytes, float *out) {
  uint8_t *exact = memory(bytes);
  memcpy(exact, text, bytes);
  uint64_t end = bytes;
  CHECK(kernel->embed(model, role, exact, &end, 1, out) == 0);
  free(exact);
}

static double cosine(uint32_t model, const char *question, const char *document) {
  float q[EMBED_MOST], d[EMBED_MOST], out;
  embed_one(model, AME_ROLE_QUERY, question, strlen(question), q);
  embed_one(model, AME_ROLE_DOCUMENT, document, strlen(document), d);
  kernel->dot_f32(q, d, 1, ame_embed_dim(model), &out);
  return out;
}

/* The bits of a vector in one number. A difference here is a new ame_embed_version. */
static uint32_t bits_of(uint32_t model, uint32_t role, const char *text) {
  float v[EMBED_MOST];
  embed_one(model, role, text, strlen(text), v);
  return kernel->crc32c(0, v, ame_embed_dim(model) * sizeof(float));
}

static const struct pinned {
  uint32_t model, role;
  const char *text;
  uint32_t crc;
} pinned[] = {
#include "kernel_pinned.h"
};

/* A row is an f32 scale times codes of eight bits, to the bit: what the storage gives up its f32 copy for. */
static void check_coded(const float *row, uint32_t dim) {
  int8_t *codes = aligned_alloc(64, AME_CODE_STRIDE(dim));
  ame_code_info info;
  kernel->quantize_i8(row, 1, dim, codes, &info);
  for (uint32_t i = 0; i < dim; i++) {
    float back = info.scale * (float)codes[i];
    CHECK(memcmp(&back, &row[i], sizeof back) == 0);
  }
  free(codes);
}

static void test_embed(const char *path) {
  CHECK(ame_embed_dim(AME_MODEL_MULTIGRAM) == EMBED_MOST && ame_embed_dim(AME_MODEL_BIGRAM) == 512 &&
        ame_embed_dim(2) == 0);
  CHECK(ame_embed_version(AME_MODEL_MULTIGRAM) >= 1 && ame_embed_version(2) == 0);
  for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++) {
    uint32_t crc = bits_of(pinned[i].model, pinned[i].role, pinned[i].text);
    CHECK_MESSAGE(crc == pinned[i].crc, "%s pinned %zu: 0x%08x, not 0x%08x", path, i, crc, pinned[i].crc);
  }
  float out[2 * EMBED_MOST];
  uint64_t falling[2] = {3, 1}, rising[2] = {3, 3};
  CHECK(kernel->embed(9, 0, (const uint8_t *)"abc", rising, 1, out) == 1);
  CHECK(kernel->embed(0, 9, (const uint8_t *)"abc", rising, 1, out) == 1);
  CHECK(kernel->embed(0, 0, (const uint8_t *)"abc", falling, 2, out) == 1);
  CHECK(kernel->embed(0, 0, NULL, NULL, 0, NULL) == 0);
  CHECK(kernel->embed(0, 0, (const uint8_t *)"abc", rising, 2, out) == 0);
  CHECK(fabs(norm_of(out, EMBED_MOST) - 1) < UNIT && norm_of(out + EMBED_MOST, EMBED_MOST) == 0);

  for (uint32_t m = 0; m < 2; m++) {
    uint32_t dim = ame_embed_dim(m);
    float a[EMBED_MOST], b[EMBED_MOST];
    for (size_t i = 0; i < sizeof token_cases / sizeof token_cases[0]; i++) {
      const char *text = token_cases[i].text;
      for (uint32_t role = 0; role < 2; role++) {
        embed_one(m, role, text, strlen(text), a);
        double norm = norm_of(a, dim);
        CHECK_MESSAGE(*token_cases[i].terms ? fabs(norm - 1) < UNIT : norm == 0, "model %u %s: norm %g", m,
                      token_cases[i].name, norm);
        if (role == AME_ROLE_QUERY) CHECK(a[dim - 1] == 0);
        if (role == AME_ROLE_DOCUMENT) check_coded(a, dim);
      }
    }
    CHECK(cosine(m, "how do I configure the database", "Configuring databases: the connection string") >
          cosine(m, "how do I configure the database", "The weather in Paris was fine all week"));
    CHECK(cosine(m, "parse json", "function parseJSON(text)") > cosine(m, "parse json", "function openFile(path)"));
    /* Vectors in a batch are those of the texts alone. */
    const char *batch = "first text here second";
    uint64_t ends[2] = {15, 22};
    CHECK(kernel->embed(m, 0, (const uint8_t *)batch, ends, 2, out) == 0);
    embed_one(m, 0, "first text here", 15, a);
    embed_one(m, 0, " second", 7, b);
    CHECK(memcmp(out, a, dim * sizeof(float)) == 0 && memcmp(out + dim, b, dim * sizeof(float)) == 0);
  }
  /* More distinct words than a block holds, and ten thousand repeats. */
  enum { LONG = 400000 };
  uint8_t *text = memory(LONG);
  for (size_t i = 0; i < LONG; i++) text[i] = i % 7 ? (uint8_t)('a' + random_u64() % 26) : ' ';
  embed_one(0, 0, text, LONG, out);
  CHECK(fabs(norm_of(out, EMBED_MOST) - 1) < UNIT);
  check_coded(out, EMBED_MOST);
  for (size_t i = 0; i < LONG; i++) text[i] = (uint8_t)"repeat "[i % 7];
  embed_one(0, 0, text, LONG, out);
  CHECK(fabs(norm_of(out, EMBED_MOST) - 1) < UNIT);
  check_coded(out, EMBED_MOST);
  free(text);
  /* A word said a thousand times is still found, and a text is more than what it repeats. */
  char many[8001] = "";
  for (int i = 0; i < 1000; i++) memcpy(many + 8 * i, "giraffe ", 8);
  CHECK(cosine(0, "giraffe", many) > 0.1 &&
        cosine(0, "giraffe", many) > cosine(0, "giraffe", "a walk in the zoo with elephants"));
}

/* Weights of the table: function words little, the unlisted all, short words something. */
static void test_prior(void) {
  static const char *listed[] = {"the", "und", "que", "\xe7\x9a\x84"};
  for (size_t i = 0; i < sizeof listed / sizeof listed[0]; i++) {
    uint64_t hash = text_hash((const uint8_t *)listed[i], strlen(listed[i]));
    float weight = text_prior(hash, 1, 3);
    CHECK_MESSAGE(weight > 0 && weight < 0.6f, "%s weighs %g", listed[i], (double)weight);
  }
  uint32_t heavy = 0;
  for (uint32_t i = 0; i < 10000; i++) {
    uint8_t word[16];
    size_t n = (size_t)snprintf((char *)word, sizeof word, "qx%uzv", i);
    float weight = text_prior(text_hash(word, n), 1, n);
    CHECK(weight > 0 && weight <= 1);
    heavy += weight == 1;
  }
  CHECK_MESSAGE(heavy > 9900, "only %u of 10000 unlisted words weigh 1", heavy);
  CHECK(text_prior(text_hash((const uint8_t *)"q", 1), 1, 1) < text_prior(text_hash((const uint8_t *)"qz", 2), 1, 2));
}

int main(int argc, char **argv) {
  kernel = ame_kernel_table();
  if (argc > 1 && strcmp(argv[1], "--pin") == 0) { /* prints kernel_pinned.h's numbers, after a change of version */
    for (size_t i = 0; i < sizeof pinned / sizeof pinned[0]; i++)
      printf("0x%08x\n", bits_of(pinned[i].model, pinned[i].role, pinned[i].text));
    return 0;
  }
  test_table();
  for (uint32_t i = 0; i < ame_isa_count(); i++) {
    const char *path = ame_isa_name(i);
    if (ame_isa_force(path)) {
      fprintf(stderr, "%s: not on this machine\n", path);
      continue;
    }
    test_dot_f32(path);
    test_dot_i8(path);
    test_quantize(path);
    test_coded_rows(path);
    test_halves(path);
    test_sq_l2(path);
    test_rows(path);
    test_kmeans(path);
    test_crc32c(path);
    test_embed(path);
    test_documents(path);
  }
  test_topk();
  test_bm25();
  test_pack();
  test_ascend_select();
  test_token_hashes();
  test_hash64();
  test_tokens();
  test_prior();
  return check_report();
}
