/* How the bound works. A row x is stored beside codes with x = x^ + e, x^ = scale * codes, |e| <= err, |x^| <= norm; the query likewise,
 * q = q^ + d, |d| <= err_q. Then
 *
 *   <q, x> = <q^, x^> + <d, x^> + <q, e>,   so   |<q, x> - <q^, x^>| <= err_q * norm + |q| * err        (Cauchy-Schwarz),
 *
 * where <q^, x^> is a product of two scales and an integer that the kernel computes exactly. The score that ranks is not <q, x> but its
 * f32 sum, off by at most dim * 2^-22 * |q| * |x| (the kernel's contract; the textbook bound of any summation order is a quarter of it),
 * with |x| <= norm + err, plus what is lost among the denormals, less than 2^-149 a product. Add the rounding of the bound's own
 * arithmetic in doubles and no row can score outside of [lower, upper].
 *
 * A row whose upper bound is below the k-th best lower bound seen so far is out for good; the others are scored in f32, the most
 * promising first, until the next one's upper bound is below the k-th best score.
 *
 * Every figure that could overflow is a double: squares of f32 reach 1e77 and dimensions 65,536, far from 1e308. A summary that is
 * infinite itself (a row of 1e38s) yields the bounds -inf and +inf, that is: score it.
 */
#include "scan.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows looked at between two updates of the threshold. 512 rows of 384 codes are 192 KiB: they stay in the L2 cache. */
#define BLOCK     512u
#define DELTA_BIT (1ull << 63)

typedef struct candidate {
  double upper;
  uint64_t at; /* position; DELTA_BIT marks the delta */
} candidate;

typedef struct scan_state {
  const ame_kernel *k;
  uint32_t dim;
  uint64_t stride;
  const float *query;
  int8_t *query_codes;
  double scale, per_norm, per_err, slack; /* half width of a bound = per_norm * norm + per_err * err + slack */
  /* The k best lower bounds as a heap with the smallest first: once full, lower[0] is the threshold. */
  double *lower;
  uint64_t k_wanted, lower_count;
  double threshold;
  candidate *candidates;
  uint64_t count, capacity;
  const ty_segment *base, *delta;
  uint64_t screened, scored;
} scan_state;

float ty_scan_score(const ame_kernel *k, const float *query, const float *row, uint32_t dim) {
  float score;
  k->dot_f32(query, row, 1, dim, &score);
  if (isfinite(score)) return score;
  double sum = 0;
  for (uint32_t i = 0; i < dim; i++) sum += (double)query[i] * (double)row[i];
  return sum > FLT_MAX ? FLT_MAX : sum < -FLT_MAX ? -FLT_MAX : (float)sum;
}

static void prepare_query(scan_state *s) {
  ame_code_info info;
  s->k->quantize_i8(s->query, 1, s->dim, s->query_codes, &info);
  double squares = 0;
  for (uint32_t i = 0; i < s->dim; i++) squares += (double)s->query[i] * (double)s->query[i];
  double norm = sqrt(squares) * (1 + 0x1p-30); /* above the true one: a sum of 65,536 doubles is good to 2^-36 */
  double sum_error = (double)s->dim * 0x1p-22;
  double rounding = 1 + 0x1p-40;
  s->scale = info.scale;
  s->per_norm = ((double)info.err + norm * sum_error + (norm + (double)info.err) * 0x1p-40) * rounding;
  s->per_err = norm * (1 + sum_error) * rounding;
  s->slack = (double)s->dim * 0x1p-140;
}

/* Keeps the k best lower bounds. */
static void offer_lower(scan_state *s, double value) {
  double *heap = s->lower;
  if (s->lower_count < s->k_wanted) {
    uint64_t i = s->lower_count++;
    while (i > 0 && heap[(i - 1) / 2] > value) {
      heap[i] = heap[(i - 1) / 2];
      i = (i - 1) / 2;
    }
    heap[i] = value;
    if (s->lower_count == s->k_wanted) s->threshold = heap[0];
    return;
  }
  if (value <= heap[0]) return;
  uint64_t i = 0, n = s->k_wanted;
  for (;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= value) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = value;
  s->threshold = heap[0];
}

/* Forgets the candidates that fell behind the threshold since they were noted. */
static void drop_beaten(scan_state *s) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < s->count; i++) {
    if (s->candidates[i].upper >= s->threshold) s->candidates[kept++] = s->candidates[i];
  }
  s->count = kept;
}

/* Makes room for one more block. Growing only where dropping did not free half keeps the list near the size it needs. */
static bool make_room(scan_state *s) {
  if (s->capacity - s->count >= BLOCK) return true;
  drop_beaten(s);
  if (s->capacity >= 2 * BLOCK && s->count <= s->capacity / 2 && s->capacity - s->count >= BLOCK) return true;
  uint64_t capacity = s->capacity == 0 ? 4 * BLOCK : 2 * s->capacity;
  uint64_t bytes;
  if (!ty_mul(capacity, sizeof(candidate), &bytes) || bytes > SIZE_MAX) return false;
  candidate *grown = realloc(s->candidates, (size_t)bytes);
  if (grown == NULL) return false;
  s->candidates = grown;
  s->capacity = capacity;
  return true;
}

/* Integer products of the selected rows of a block, dots[i] for offsets[i]. Runs of neighbours go to the kernel in one call, and the rows
 * a few runs ahead are asked of the memory meanwhile: a scattered filter otherwise waits for each row in turn (measured on one row in
 * eight of 100,000 x 384). Where most of a block is wanted all of it goes. */
static void screen_block(scan_state *s, const int8_t *codes, uint32_t n, const uint16_t *offsets, uint32_t selected,
                         int32_t *dots) {
  if (selected > n - n / 8) {
    int32_t all[BLOCK];
    s->k->dot_i8(s->query_codes, codes, n, s->stride, selected == n ? dots : all);
    for (uint32_t i = 0; selected != n && i < selected; i++) dots[i] = all[offsets[i]];
    s->screened += n;
    return;
  }
  for (uint32_t i = 0; i < selected;) {
    uint32_t end = i + 1;
    while (end < selected && offsets[end] == offsets[i] + (end - i)) end++;
    if (end - i < 4 && end + 3 < selected) {
      const int8_t *ahead = codes + (uint64_t)offsets[end + 3] * s->stride;
      for (uint64_t line = 0; line < s->stride && line < 1024; line += 64) __builtin_prefetch(ahead + line);
    }
    s->k->dot_i8(s->query_codes, codes + (uint64_t)offsets[i] * s->stride, end - i, s->stride, dots + i);
    i = end;
  }
  s->screened += selected;
}

/* Bounds of one row's score. Inlined twice: over a whole block the compiler sees neighbours and may use vectors. */
static inline void bound(const scan_state *s, const ame_code_info *x, int32_t dot, double *lower, double *upper) {
  double middle = s->scale * (double)x->scale * (double)dot;
  double half = s->per_norm * (double)x->norm + s->per_err * (double)x->err + s->slack;
  bool known = half <= DBL_MAX; /* false for infinity and for inf * 0 */
  double low = known ? middle - half : -INFINITY, high = known ? middle + half : INFINITY;
  *lower = low > FLT_MAX ? FLT_MAX : low; /* scores are cut to this range as well */
  *upper = high < -FLT_MAX ? -FLT_MAX : high;
}

static bool scan_block(scan_state *s, const ty_filter *filter, const ty_segment *segment, uint64_t first, uint32_t n) {
  uint16_t offsets[BLOCK];
  int32_t dots[BLOCK];
  double lower[BLOCK], upper[BLOCK];
  uint32_t selected = ty_filter_select(filter, segment, first, n, offsets);
  if (selected == 0) return true;
  if (!make_room(s)) return false;
  screen_block(s, segment->codes + first * s->stride, n, offsets, selected, dots);
  const ame_code_info *info = segment->info + first;
  if (selected == n) {
    for (uint32_t i = 0; i < n; i++) bound(s, info + i, dots[i], lower + i, upper + i);
  } else {
    for (uint32_t i = 0; i < selected; i++) bound(s, info + offsets[i], dots[i], lower + i, upper + i);
  }
  uint64_t mark = segment->is_base ? 0 : DELTA_BIT;
  for (uint32_t i = 0; i < selected; i++) {
    if (upper[i] < s->threshold) continue;
    s->candidates[s->count++] = (candidate){upper[i], (first + offsets[i]) | mark};
    offer_lower(s, lower[i]);
  }
  return true;
}

static void sift_down(candidate *heap, uint64_t n, uint64_t i) {
  candidate moving = heap[i];
  for (;;) {
    uint64_t child = 2 * i + 1;
    if (child >= n) break;
    if (child + 1 < n && heap[child + 1].upper > heap[child].upper) child++;
    if (heap[child].upper <= moving.upper) break;
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = moving;
}

static ty_ref candidate_ref(const scan_state *s, uint64_t at) {
  return (ty_ref){at & DELTA_BIT ? s->delta : s->base, at & ~DELTA_BIT};
}

/* Scores candidates best upper bound first and stops at the first that cannot enter any more. A popped candidate moves behind the heap,
 * as in heapsort, so its index there names it for the kernel's selection. */
static void score_candidates(scan_state *s, ame_topk *best) {
  uint64_t n = s->count;
  for (uint64_t i = n / 2; i-- > 0;) sift_down(s->candidates, n, i);
  while (n > 0) {
    candidate top = s->candidates[0];
    if (best->count == best->k && top.upper < (double)best->items[0].score) return;
    n--;
    s->candidates[0] = s->candidates[n];
    s->candidates[n] = top;
    if (n > 0) {
      sift_down(s->candidates, n, 0);
      /* The next row is fetched from memory while this one is multiplied. */
      ty_ref next = candidate_ref(s, s->candidates[0].at);
      const char *ahead = (const char *)ty_row_vector(next.segment, next.at, s->dim);
      uint64_t bytes = (uint64_t)s->dim * sizeof(float);
      for (uint64_t line = 0; line < bytes && line < 512; line += 64) __builtin_prefetch(ahead + line);
    }
    ty_ref ref = candidate_ref(s, top.at);
    ame_hit hit = {ref.segment->row[ref.at],
                   ty_scan_score(s->k, s->query, ty_row_vector(ref.segment, ref.at, s->dim), s->dim), (uint32_t)n};
    s->scored++;
    s->k->topk_offer(best, &hit, 1);
  }
}

ty_status ty_scan_top(const ame_kernel *k, uint32_t dim, const float *query, uint64_t top_k, const ty_filter *filter,
                      const ty_range *ranges, uint64_t range_count, ty_scored **out, uint64_t *count, ty_scan *counts,
                      ty_error *err) {
  ty_status status = TY_OK;
  scan_state s = {.k = k, .dim = dim, .stride = AME_CODE_STRIDE(dim), .query = query, .threshold = -INFINITY};
  ame_hit *hits = NULL;
  *out = NULL;
  *count = 0;
  uint64_t rows = 0;
  for (uint64_t i = 0; i < range_count; i++) {
    rows += ranges[i].count;
    if (ranges[i].segment->is_base)
      s.base = ranges[i].segment;
    else
      s.delta = ranges[i].segment;
  }
  s.k_wanted = top_k < rows ? top_k : rows; /* memory follows what there is, not what was asked */
  if (s.k_wanted == 0 || filter->none) return TY_OK;

  s.query_codes = aligned_alloc(64, s.stride);
  s.lower = s.k_wanted <= SIZE_MAX / sizeof(ame_hit) ? malloc((size_t)s.k_wanted * sizeof(double)) : NULL;
  if (s.query_codes == NULL || s.lower == NULL) goto no_memory;
  memset(s.query_codes, 0, s.stride);
  prepare_query(&s);

  for (uint64_t i = 0; i < range_count; i++) {
    for (uint64_t done = 0; done < ranges[i].count;) {
      uint64_t left = ranges[i].count - done;
      uint32_t n = left < BLOCK ? (uint32_t)left : BLOCK;
      if (!scan_block(&s, filter, ranges[i].segment, ranges[i].first + done, n)) goto no_memory;
      done += n;
    }
  }
  drop_beaten(&s);
  if (s.count == 0) goto done;
  if (s.count > UINT32_MAX) goto no_memory; /* the selection names candidates by 32 bits */
  if (s.k_wanted > s.count) s.k_wanted = s.count;
  hits = malloc((size_t)s.k_wanted * sizeof *hits);
  *out = malloc((size_t)s.k_wanted * sizeof **out);
  if (hits == NULL || *out == NULL) goto no_memory;
  ame_topk best = {hits, s.k_wanted, 0};
  score_candidates(&s, &best);
  k->topk_sort(&best);
  for (uint64_t i = 0; i < best.count; i++) {
    (*out)[i] = (ty_scored){candidate_ref(&s, s.candidates[hits[i].position].at), hits[i].row, hits[i].score};
  }
  *count = best.count;
  goto done;

no_memory:
  status = ty_fail(err, TY_NO_MEMORY, "not enough memory for a search of %llu rows", (unsigned long long)rows);
done:
  counts->screened += s.screened;
  counts->scored += s.scored;
  free(hits);
  free(s.candidates);
  free(s.lower);
  free(s.query_codes);
  return status;
}
