/* A scan from its opening to its answer. How rows are excluded without a score is in levels.c. */
#include <string.h>

#include "rows/vector.h"
#include "scan/inside.h"

ty_status ty_scanner_open(const ty_collection *c, const ty_segment *base, const ty_segment *delta, const float *query,
                          uint64_t top_k, uint64_t rows, const ty_filter *filter, ty_scanner **out, ty_error *err) {
  ty_scanner *s = calloc(1, sizeof *s);
  *out = s;
  if (s == NULL) return ty_fail(err, TY_NO_MEMORY, "not enough memory for a search");
  s->c = c;
  s->k = c->env->kernel;
  s->filter = filter;
  s->base = base;
  s->delta = delta;
  s->dim = c->dim;
  s->stride = AME_CODE_STRIDE(c->dim);
  s->query = query;
  s->chunk = 1;
  s->bounds.wanted = top_k < rows ? top_k : rows;
  s->bounds.threshold = -INFINITY;
  scan_look(s);
  if (s->bounds.wanted == 0 || filter->none) return TY_OK;
  s->query_codes = ty_arena_align(&s->memory, s->stride, 1);
  s->row = ty_arena_take(&s->memory, s->dim, sizeof *s->row);
  s->bounds.items = ty_arena_take(&s->memory, s->bounds.wanted, sizeof *s->bounds.items);
  if (!s->memory.failed) {
    memset(s->query_codes, 0, s->stride);
    if (scan_prepare(s)) return TY_OK;
  }
  ty_scanner_close(s);
  *out = NULL;
  return ty_fail(err, TY_NO_MEMORY, "not enough memory for a search of %llu rows", (unsigned long long)rows);
}

void ty_scanner_close(ty_scanner *s) {
  if (s == NULL) return;
  ty_arena_free(&s->memory);
  free(s->coarse.items);
  free(s->candidates.items);
  free(s);
}

ty_status ty_scanner_feed(ty_scanner *s, const ty_range *range, ty_error *err) {
  if (s->bounds.wanted == 0 || s->filter->none) return TY_OK;
  TY_ASSERT(range->segment == s->base || range->segment == s->delta);
  TY_ASSERT(range->count <= range->segment->count && range->first <= range->segment->count - range->count);
  if (range->segment->vertical.lines != NULL) return scan_lines(s, range, err);
  const uint32_t *rows;
  uint64_t count = range->count;
  bool listed = ty_filter_rows(s->filter, range->segment, range->first, range->count, &rows, &count);
  for (uint64_t done = 0; done < count;) {
    uint64_t left = count - done, n = (uint64_t)s->chunk * AME_BLOCK_ROWS;
    if (n > left) n = left;
    if (!candidates_reserve(&s->candidates, CHUNK_ROWS, s->bounds.threshold) ||
        !candidates_reserve(&s->coarse, CHUNK_ROWS, s->bounds.threshold))
      return ty_fail(err, TY_NO_MEMORY, "not enough memory for the candidates of a search");
    if (listed) n = scan_listed(s, range->segment, rows + done, left);
    else scan_chunk(s, range->segment, range->first + done, (uint32_t)n, left - n);
    done += n;
    if (s->chunk < CHUNK_BLOCKS) s->chunk *= 2;
  }
  return scan_whole(s, err);
}

ty_status ty_scanner_feed_marked(ty_scanner *s, const ty_range *range, const uint16_t *marks, ty_error *err) {
  uint16_t offsets[TY_MARKED_ROWS];
  uint32_t n = (uint32_t)range->count, selected = 0;
  if (s->bounds.wanted == 0 || s->filter->none) return TY_OK;
  TY_ASSERT(range->segment == s->base && range->count <= TY_MARKED_ROWS && TY_MARKED_ROWS <= CHUNK_ROWS);
  TY_ASSERT(range->count <= range->segment->count && range->first <= range->segment->count - range->count);
  for (uint32_t i = 0; i < n; i += AME_BLOCK_ROWS) {
    for (uint32_t bits = marks[i / AME_BLOCK_ROWS]; bits != 0; bits &= bits - 1) {
      uint32_t at = i + (uint32_t)__builtin_ctz(bits);
      if (at < n && ty_filter_allows(s->filter, s->base, range->first + at)) offsets[selected++] = (uint16_t)at;
    }
  }
  s->counts.screened += n;
  if (selected == 0) return TY_OK;
  if (!candidates_reserve(&s->candidates, CHUNK_ROWS, s->bounds.threshold) ||
      !candidates_reserve(&s->coarse, CHUNK_ROWS, s->bounds.threshold))
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for the candidates of a search");
  scan_chosen(s, s->base, range->first, n, offsets, selected);
  return scan_whole(s, err);
}

double ty_scanner_threshold(const ty_scanner *s) { return s->bounds.threshold; }

ty_scan_counts ty_scanner_counts(const ty_scanner *s) { return s->counts; }

/* Prefetches a row that will be scored soon, or the start of a long one. The candidates of an approximate query lie far
 * apart in memory: it takes 33 us with rows of 1.5 KB prefetched whole, 36 with 512 bytes of each. */
#define PREFETCHED 4096u
static void prefetch_row(const ty_scanner *s, uint64_t at) {
  ty_ref ref = scan_ref(s, at);
  if (ref.segment->vertical.lines != NULL) {
    scan_lines_prefetch(s, ref.segment, ref.at);
    return;
  }
  uint64_t bytes = ty_vector_bytes(s->c);
  const ty_payload *own = ref.segment->is_base ? NULL : &ref.segment->payload[ref.at];
  const uint8_t *data = own == NULL ? ref.segment->vectors : own->coded ? NULL : own->vector;
  if (data == NULL) return;
  if (own == NULL) data += ref.at * bytes;
  for (uint64_t line = 0; line < bytes && line < PREFETCHED; line += 64) __builtin_prefetch(data + line);
}

static void score_one(ty_scanner *s, uint64_t at, uint32_t position, ame_topk *best) {
  ty_ref ref = scan_ref(s, at);
  if (ref.segment->is_base && ref.segment->vectors != NULL && !s->vectors_good &&
      !ty_vector_intact(s->c, ref.segment, ref.at)) {
    s->counts.again = true;
    return;
  }
  const float *row = ref.segment->vertical.lines != NULL ? scan_lines_row(s, ref.segment, ref.at)
                                                         : ty_row_vector(s->c, ref.segment, ref.at, s->row);
  float score = scan_score(s, row);
  ame_hit hit = {ref.segment->birth[ref.at], score, position}; /* ties by birth: its order survives a compaction */
  s->counts.scored++;
  s->k->topk_offer(best, &hit, 1);
}

/* Moves the candidates with the highest upper bounds to the front: as many as are wanted, and those with the same bound
 * as the last of these. Returns how many. The others mostly stay in the order of their positions in memory. The k best
 * lower bounds in s->bounds are lost. */
static uint64_t move_best(ty_scanner *s) {
  scan_candidate *rows = s->candidates.items;
  uint64_t best = 0;
  s->bounds.count = 0;
  s->bounds.threshold = -INFINITY;
  for (uint64_t i = 0; i < s->candidates.count; i++) bounds_offer(&s->bounds, rows[i].upper);
  for (uint64_t i = 0; i < s->candidates.count; i++) {
    if (rows[i].upper < s->bounds.threshold) continue;
    scan_candidate row = rows[i];
    rows[i] = rows[best];
    rows[best++] = row;
  }
  return best;
}

/* Scores candidates from .. to - 1, except those whose upper bounds are below the k-th best score by then. */
static void score_some(ty_scanner *s, uint64_t from, uint64_t to, ame_topk *best) {
  enum { AHEAD = 4 };
  const scan_candidate *rows = s->candidates.items;
  for (uint64_t i = from; i < to && i < from + AHEAD; i++) prefetch_row(s, rows[i].at);
  for (uint64_t i = from; i < to; i++) {
    if (i + AHEAD < to) prefetch_row(s, rows[i + AHEAD].at);
    bool beaten = best->count == best->k && rows[i].upper < scan_value(s, best->items[0].score);
    if (!beaten) score_one(s, rows[i].at, (uint32_t)i, best);
  }
}

/* Scores the candidates with the highest upper bounds first. After them, the k-th best score is nearly always the final
 * one. So the others need not be sorted by bounds: those whose bounds reach that score are scored in the order of
 * memory. If the bounds exclude few rows, sorting would make reads of memory random: 100,000 nearly equal rows of 384
 * dimensions took 45 ms with it, and 13 without. */
static void score_candidates(ty_scanner *s, ame_topk *best) {
  uint64_t first = move_best(s), kept = first;
  score_some(s, 0, first, best);
  double least = best->count == best->k ? scan_value(s, best->items[0].score) : -INFINITY;
  scan_candidate *rows = s->candidates.items;
  for (uint64_t i = first; i < s->candidates.count; i++) {
    if (rows[i].upper >= least) rows[kept++] = rows[i];
  }
  s->candidates.count = kept;
  score_some(s, first, kept, best);
}

ty_status ty_scanner_answer(ty_scanner *s, ty_scored **out, uint64_t *count, ty_error *err) {
  *out = NULL;
  *count = 0;
  if (s->bounds.wanted == 0 || s->filter->none) return TY_OK;
  TY_ASSERT(bounds_hold(&s->bounds));
  if (!scan_refine(s)) return ty_fail(err, TY_NO_MEMORY, "not enough memory for the candidates of a search");
  ty_status status = scan_whole(s, err);
  if (status != TY_OK) return status;
  candidates_drop(&s->candidates, s->bounds.threshold);
  const uint64_t n = s->candidates.count, all = n + s->expected_count;
  const uint64_t wanted = s->bounds.wanted < all ? s->bounds.wanted : all;
  if (all == 0) return TY_OK;
  /* The selection names candidates by 32 bits. */
  ame_hit *hits = all <= UINT32_MAX ? malloc((size_t)wanted * sizeof *hits) : NULL;
  *out = malloc((size_t)wanted * sizeof **out);
  if (hits == NULL || *out == NULL) {
    free(hits);
    return ty_fail(err, TY_NO_MEMORY, "not enough memory for an answer of %llu rows", (unsigned long long)wanted);
  }
  ame_topk best = {hits, wanted, 0};
  for (uint64_t i = 0; i < s->expected_count; i++) {
    const ty_ref ref = scan_ref(s, s->expected[i].at);
    const ame_hit hit = {ref.segment->birth[ref.at], s->expected[i].score, (uint32_t)(n + i)};
    s->k->topk_offer(&best, &hit, 1);
  }
  score_candidates(s, &best);
  TY_ASSERT(best.count <= wanted);
  s->k->topk_sort(&best);
  for (uint64_t i = 0; i < best.count && !s->counts.again; i++) {
    const uint32_t place = hits[i].position;
    uint64_t at = place < n ? s->candidates.items[place].at : s->expected[place - n].at;
    TY_ASSERT(place < all && (i == 0 || !(hits[i - 1].score < hits[i].score)));
    (*out)[i] = (ty_scored){scan_ref(s, at), hits[i].row, hits[i].score};
  }
  *count = s->counts.again ? 0 : best.count;
  free(hits);
  return TY_OK;
}
