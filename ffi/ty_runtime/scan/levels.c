/* How the bounds work. A row x is stored beside codes with x = x^ + e, x^ = scale * codes, |e| <= err, |x^| <= norm;
 * the query likewise, q = q^ + d, |d| <= err_q. Then
 *
 *   <q, x> = <q^, x^> + <d, x^> + <q, e>,   so   |<q, x> - <q^, x^>| <= err_q * norm + |q| * err (Cauchy-Schwarz),
 *
 * where <q^, x^> is a product of two scales and an integer that the kernel computes exactly. The score that ranks is
 * not <q, x> but its f32 sum, off by at most dim * 2^-22 * |q| * |x| (the kernel's contract; the textbook bound of any
 * summation order is a quarter of it), with |x| <= norm + err, plus what is lost among the denormals, less than 2^-149
 * a product. Add the rounding of the bound's own arithmetic in doubles and no row can score outside of [lower, upper].
 *
 * There are two such levels. The 4-bit blocks are read from end to end (ame_kernel.h has their bound, which is
 * Cauchy-Schwarz for the part of the query across x^ only); rows that survive are bounded again by their 8-bit codes. A
 * row whose upper bound is below the k-th best lower bound so far is excluded. Of the survivors only those whose
 * estimate itself reaches that threshold get their 8-bit bound at once: an estimate is off by a twentieth of what the
 * bound allows for, so these raise the threshold, and most of the others are below it at the end (100,000 x 384
 * clustered rows: 3,800 survivors on the way, 100 at the end). The rows that are left are scored in f32:
 * first those with the highest upper bounds, then the others whose upper bounds reach the k-th best score. Rows stored
 * in four bits are their own 4-bit codes: they have one level.
 *
 * There is no level with fewer bits before these. It would read less, but a proved bound excludes too few rows. With
 * the threshold of the end of a scan, and rounding left out, one bit a dimension excludes 43 % of broad rows (broad-384
 * of test/bench/vectors) and 40 % of images (fashion-mnist). Two bits exclude 97 and 82 %, which leaves a row in most
 * blocks; four bits 99.9 and 98.9 %.
 *
 * All this is for inner products. For L2 the score -|q - x|^2 = 2 (<q, x> - |x|^2 / 2) - |q|^2 grows with <q, x> +
 * bias, where bias = -|x|^2 / 2 is kept with the codes; the value that is bounded is then (score + |q|^2) / 2.
 *
 * Every figure that could overflow is a double: squares of f32 reach 1e77 and dimensions 65,536, far from 1e308. An
 * infinite summary (a row of 1e38s) yields the bounds -inf and +inf: the row is scored. */

#include "scan/inside.h"

/* `least` and `most` are bounds from the other level: with an anchor, 4-bit codes of the rest can be finer than 8-bit
 * codes of the whole row. */
static inline void note_i8(ty_scanner *s, uint64_t at, const ame_code_info *x, int32_t dot, double least, double most) {
  double middle = s->scale * (double)x->scale * (double)dot;
  double half = s->per_norm * (double)x->norm + s->per_err * (double)x->err + s->slack;
  if (s->c->metric == TY_L2) {
    middle += (double)x->bias;
    half += fabs((double)x->bias) * 0x1p-22;
    half += (fabs(s->squared - 2 * middle) + 2 * half) * s->l2_rounding;
  }
  scan_note(s, at, middle, half, least, most);
}

/* Bounds a whole chunk by its 8-bit codes, in one call to the kernel. */
static void second_level_whole(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n,
                               const uint16_t *offsets, uint32_t selected) {
  int32_t dots[CHUNK_ROWS];
  uint64_t mark = segment->is_base ? 0 : DELTA_BIT;
  s->k->dot_i8(s->query_codes, segment->codes + first * s->stride, n, s->stride, dots);
  for (uint32_t i = 0; i < selected; i++)
    note_i8(s, (first + offsets[i]) | mark, segment->info + first + offsets[i], dots[offsets[i]], -INFINITY, INFINITY);
}

/* So many rows before their 8-bit codes are read. All rows of a chunk at once are more than the L1 cache holds: a
 * filter that a fifth of 100,000 x 384 rows match took 730 us instead of 480. */
#define AHEAD 8u
static void prefetch_codes(const ty_scanner *s, const ty_segment *segment, uint64_t at) {
  const int8_t *codes = segment->codes + at * s->stride;
  for (uint64_t line = 0; line < s->stride && line < 1024; line += 64) __builtin_prefetch(codes + line);
  __builtin_prefetch(segment->info + at);
}

/* Bounds some rows of a chunk by their 8-bit codes. `known` may be NULL. */
static void second_level(ty_scanner *s, const ty_segment *segment, uint64_t first, const uint16_t *offsets,
                         uint32_t selected, const scan_range *known) {
  uint64_t mark = segment->is_base ? 0 : DELTA_BIT;
  for (uint32_t i = 0; i < AHEAD && i < selected; i++) prefetch_codes(s, segment, first + offsets[i]);
  for (uint32_t i = 0; i < selected; i++) {
    uint64_t at = first + offsets[i];
    int32_t dot;
    if (i + AHEAD < selected) prefetch_codes(s, segment, first + offsets[i + AHEAD]);
    if (!scan_good(s, segment, at, known == NULL ? -INFINITY : known[i].least,
                   known == NULL ? INFINITY : known[i].most))
      continue;
    s->k->dot_i8(s->query_codes, segment->codes + at * s->stride, 1, s->stride, &dot);
    note_i8(s, at | mark, segment->info + at, dot, known == NULL ? -INFINITY : known[i].least,
            known == NULL ? INFINITY : known[i].most);
  }
}

typedef struct screened {
  uint16_t survivors[CHUNK_BLOCKS + 1];
  float middle[(CHUNK_BLOCKS + 1) * AME_BLOCK_ROWS], half[(CHUNK_BLOCKS + 1) * AME_BLOCK_ROWS];
} screened;

/* The threshold for 4-bit bounds. L2: a row's squared distance d is rounded by l2_rounding * d, and d <= 2 |q|^2 + 4
 * |bias|; the second part is in per_bias, the first one in the anchor's slack. */
static float screen_threshold(const ty_scanner *s, int which) {
  if (!s->screen[which].proved) return -INFINITY;
  return nextafterf((float)(s->bounds.threshold - s->screen[which].value - s->screen[which].slack), -INFINITY);
}

static void first_level(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t next,
                        const uint16_t *wanted, uint32_t wanted_count);

/* The same where some of the blocks are damaged: rows are bounded by their 8-bit codes, or, where they are their
 * blocks, screened block by block, and those of damaged ones left out. */
static void without_blocks(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, const uint16_t *wanted,
                           uint32_t count) {
  uint16_t live[CHUNK_ROWS], own[AME_BLOCK_ROWS];
  if (wanted == NULL) {
    count = ty_filter_select(s->filter, segment, first, n, live);
    wanted = live;
  }
  if (segment->codes != NULL) {
    s->counts.trouble |= count > 0 ? TY_TROUBLE_CODES : 0;
    second_level(s, segment, first, wanted, count, NULL);
    return;
  }
  for (uint32_t i = 0; i < count;) {
    uint64_t start = (first + wanted[i]) / AME_BLOCK_ROWS * AME_BLOCK_ROWS, left = segment->count - start;
    bool good = ty_block_intact(s->c, segment, start);
    uint32_t some = 0;
    for (; i < count && first + wanted[i] - start < AME_BLOCK_ROWS; i++) {
      if (good) own[some++] = (uint16_t)(first + wanted[i] - start);
      else scan_leave_out(s, first + wanted[i]);
    }
    if (good) first_level(s, segment, start, left < AME_BLOCK_ROWS ? (uint32_t)left : AME_BLOCK_ROWS, 0, own, some);
  }
}

/* Whether `blocks` blocks from that of a row on can be read: one that is good among damaged ones can be alone. */
static bool blocks_good(const ty_scanner *s, const ty_segment *segment, uint64_t first, uint64_t blocks) {
  const uint64_t bytes = AME_BLOCK_BYTES(s->dim);
  if (segment->checks == NULL) return true;
  if (ty_is_intact(&segment->checks->blocks, first / AME_BLOCK_ROWS * bytes, blocks * bytes)) return true;
  return blocks == 1 && ty_block_intact(s->c, segment, first);
}

/* Screens at most CHUNK_ROWS rows, which may begin and end within a block; `next` rows after them are prefetched.
 * `wanted` lists the rows. NULL: all rows that are not dead, which is checked for the survivors only. */
static void first_level(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t next,
                        const uint16_t *wanted, uint32_t wanted_count) {
  screened found;
  uint16_t offsets[CHUNK_ROWS];
  uint32_t survivors = 0;
  uint64_t block = first / AME_BLOCK_ROWS, block_bytes = AME_BLOCK_BYTES(s->dim);
  uint32_t skip = (uint32_t)(first % AME_BLOCK_ROWS), blocks = (skip + n + AME_BLOCK_ROWS - 1) / AME_BLOCK_ROWS;
  uint64_t end = (first + n + next) / AME_BLOCK_ROWS, ahead = end > block + blocks ? end - (block + blocks) : 0;
  TY_ASSERT(blocks <= CHUNK_BLOCKS + 1 && (next == 0 || first + n + next <= segment->count));
  int which = segment->is_base ? 0 : 1;
  if (!blocks_good(s, segment, first, blocks)) {
    without_blocks(s, segment, first, n, wanted, wanted_count);
    return;
  }
  s->k->screen_i4(&s->screen[which].query, segment->blocks + block * block_bytes, blocks, ahead, s->dim,
                  screen_threshold(s, which), found.survivors, found.middle, found.half);
  if (wanted == NULL) {
    for (uint32_t b = 0; b < blocks; b++) {
      for (uint32_t bits = found.survivors[b]; bits != 0; bits &= bits - 1) {
        uint32_t at =
            b * AME_BLOCK_ROWS + (uint32_t)__builtin_ctz(bits); /* counted from the start of the first block */
        if (at < skip || at - skip >= n || segment->dead[first + (at - skip)]) continue;
        offsets[survivors++] = (uint16_t)(at - skip);
      }
    }
  } else {
    for (uint32_t i = 0; i < wanted_count; i++) {
      uint32_t at = skip + wanted[i];
      offsets[survivors] = wanted[i];
      survivors += (found.survivors[at / AME_BLOCK_ROWS] >> (at % AME_BLOCK_ROWS)) & 1u;
    }
  }
  uint64_t mark = segment->is_base ? 0 : DELTA_BIT;
  double value = s->screen[which].value, slack = s->screen[which].proved ? s->screen[which].slack : INFINITY;
  if (segment->codes == NULL) {
    for (uint32_t i = 0; i < survivors; i++) {
      uint32_t at = skip + offsets[i];
      scan_note(s, (first + offsets[i]) | mark, value + (double)found.middle[at], (double)found.half[at] + slack,
                -INFINITY, INFINITY);
    }
    return;
  }
  uint32_t promising = 0;
  scan_range known[CHUNK_ROWS];
  for (uint32_t i = 0; i < survivors; i++) {
    uint32_t at = skip + offsets[i];
    double middle = value + (double)found.middle[at], half = (double)found.half[at] + slack, upper = middle + half;
    if (middle < s->bounds.threshold && upper <= DBL_MAX) {
      if (upper < s->value_least) upper = s->value_least;
      s->coarse.items[s->coarse.count++] = (scan_candidate){upper, (first + offsets[i]) | mark};
    } else {
      bool bounded = half <= DBL_MAX && fabs(middle) <= DBL_MAX;
      known[promising] = bounded ? (scan_range){middle - half, upper} : (scan_range){-INFINITY, INFINITY};
      offsets[promising++] = offsets[i];
    }
  }
  second_level(s, segment, first, offsets, promising, known);
}

/* Of a chunk of rows of which more than one in so many are wanted the blocks are screened, of others the 8-bit codes
 * are read. With 384 dimensions a scattered row is 7 lines of memory and a block of sixteen 53, one after the other.
 * Measured with 64, 384 and 768 dimensions where a tenth to two fifths of 100,000 rows match. */
static uint64_t blocks_pay(const ty_scanner *s) { return s->stride < 256 ? 8 : 4; }

void scan_chunk(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, uint64_t next) {
  TY_ASSERT(n > 0 && n <= CHUNK_ROWS && first + n <= segment->count);
  TY_ASSERT(s->candidates.capacity - s->candidates.count >= n && s->coarse.capacity - s->coarse.count >= n);
  bool screens = s->screen[segment->is_base ? 0 : 1].proved || segment->codes == NULL;
  if (screens && ty_filter_live_only(s->filter, segment)) {
    s->counts.screened += n;
    first_level(s, segment, first, n, next, NULL, 0);
    return;
  }
  uint16_t offsets[CHUNK_ROWS];
  uint32_t selected = ty_filter_select(s->filter, segment, first, n, offsets);
  s->counts.screened += selected;
  if (selected == 0) return;
  if (screens && (segment->codes == NULL || selected > n / blocks_pay(s)))
    first_level(s, segment, first, n, next, offsets, selected);
  else if (selected > n - n / 8 && (s->codes_good || !segment->is_base))
    second_level_whole(s, segment, first, n, offsets, selected);
  else second_level(s, segment, first, offsets, selected, NULL);
}

void scan_chosen(ty_scanner *s, const ty_segment *segment, uint64_t first, uint32_t n, const uint16_t *offsets,
                 uint32_t selected) {
  bool screens = s->screen[segment->is_base ? 0 : 1].proved || segment->codes == NULL;
  if (screens && (segment->codes == NULL || selected > n / blocks_pay(s)))
    first_level(s, segment, first, n, 0, offsets, selected);
  else second_level(s, segment, first, offsets, selected, NULL);
}

/* Whether of the next chunk's rows so many are listed. */
static bool is_dense(const ty_scanner *s, const uint32_t *rows, uint64_t n) {
  uint64_t wide = (uint64_t)s->chunk * AME_BLOCK_ROWS, most = wide / blocks_pay(s);
  return most < n && rows[most] < rows[0] / AME_BLOCK_ROWS * AME_BLOCK_ROWS + wide;
}

/* Screens the first of the rows listed, in a chunk of blocks; where not all blocks `pay`, in neighbouring ones. */
static uint32_t listed_blocks(ty_scanner *s, const ty_segment *segment, const uint32_t *rows, uint64_t n, bool pay) {
  uint16_t offsets[CHUNK_ROWS];
  uint32_t first = rows[0] / AME_BLOCK_ROWS * AME_BLOCK_ROWS, end = first, taken = 0;
  for (; taken < n && rows[taken] - first < s->chunk * AME_BLOCK_ROWS; taken++) {
    if (!pay && rows[taken] >= end + AME_BLOCK_ROWS) break;
    end = (rows[taken] / AME_BLOCK_ROWS + 1) * AME_BLOCK_ROWS;
    offsets[taken] = (uint16_t)(rows[taken] - first);
  }
  uint32_t after = rows[n - 1] + 1;
  first_level(s, segment, first, end - first, pay && after > end ? after - end : 0, offsets, taken);
  return taken;
}

/* Bounds the first of the rows listed by their 8-bit codes, up to where blocks pay. */
static uint32_t listed_codes(ty_scanner *s, const ty_segment *segment, const uint32_t *rows, uint64_t n, bool screens) {
  uint64_t mark = segment->is_base ? 0 : DELTA_BIT;
  uint32_t taken = 0;
  for (uint32_t i = 0; i < AHEAD && i < n; i++) prefetch_codes(s, segment, rows[i]);
  for (; taken < n && taken < CHUNK_ROWS; taken++) {
    if (screens && is_dense(s, rows + taken, n - taken)) break;
    if (taken + AHEAD < n) prefetch_codes(s, segment, rows[taken + AHEAD]);
    if (!scan_good(s, segment, rows[taken], -INFINITY, INFINITY)) continue;
    int32_t dot;
    s->k->dot_i8(s->query_codes, segment->codes + rows[taken] * s->stride, 1, s->stride, &dot);
    note_i8(s, rows[taken] | mark, segment->info + rows[taken], dot, -INFINITY, INFINITY);
  }
  return taken;
}

uint32_t scan_listed(ty_scanner *s, const ty_segment *segment, const uint32_t *rows, uint64_t n) {
  TY_ASSERT(n > 0 && s->candidates.capacity - s->candidates.count >= CHUNK_ROWS &&
            s->coarse.capacity - s->coarse.count >= CHUNK_ROWS);
  bool coded = segment->codes != NULL, screens = s->screen[segment->is_base ? 0 : 1].proved || !coded;
  bool dense = screens && is_dense(s, rows, n);
  uint32_t taken =
      dense || !coded ? listed_blocks(s, segment, rows, n, dense) : listed_codes(s, segment, rows, n, screens);
  TY_ASSERT(taken > 0 && taken <= n && taken <= CHUNK_ROWS);
  s->counts.screened += taken;
  return taken;
}

bool scan_refine(ty_scanner *s) {
  candidates_drop(&s->coarse, s->bounds.threshold);
  const scan_candidate *coarse = s->coarse.items;
  uint64_t n = s->coarse.count;
  if (n == 0) return true;
  if (!candidates_reserve(&s->candidates, n, s->bounds.threshold)) return false;
  for (uint64_t i = 0; i < n + AHEAD; i++) {
    if (i < n && coarse[i].upper >= s->bounds.threshold) {
      ty_ref ref = scan_ref(s, coarse[i].at);
      prefetch_codes(s, ref.segment, ref.at);
    }
    if (i < AHEAD || coarse[i - AHEAD].upper < s->bounds.threshold) continue;
    ty_ref ref = scan_ref(s, coarse[i - AHEAD].at);
    if (!scan_good(s, ref.segment, ref.at, -INFINITY, coarse[i - AHEAD].upper)) continue;
    int32_t dot;
    s->k->dot_i8(s->query_codes, ref.segment->codes + ref.at * s->stride, 1, s->stride, &dot);
    note_i8(s, coarse[i - AHEAD].at, ref.segment->info + ref.at, dot, -INFINITY, coarse[i - AHEAD].upper);
  }
  s->coarse.count = 0;
  return true;
}
